"""Workbook files are read as other readers read them, whoever saved them."""

import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.worksheet.formula import ArrayFormula

from pyxl.archive import packed, parts
from pyxl.cells import Formula, plain
from pyxl.workbook_file import read

SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A workbook with a cell of every kind, written by openpyxl."""
    made: Any = openpyxl.Workbook()
    sheet = made.active
    sheet.title = "Some"
    sheet.append([1, 2.5, "text", True, "=A1*2", '=IF(A1>0,"a","b")'])
    sheet.append(["two\nlines", "<&>", None, False, "='Some'!A1", 1e300])
    sheet["H9"] = "far"
    made.create_sheet("Gone").sheet_state = "hidden"
    sheet.protection.sheet = True
    sheet.column_dimensions["C"].hidden = sheet.row_dimensions[2].hidden = True
    made.save(tmp_path / "book.xlsx")
    return tmp_path / "book.xlsx"


def with_cells(path: Path, cells: str, strings: str = "") -> Path:
    """The workbook with other cells in its first sheet, as XML."""
    contents = parts(path.read_bytes())
    head = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    contents[SHEET] = head + cells.encode() + b"</sheetData></worksheet>"
    if strings:
        table = f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{strings}</sst>'
        contents["xl/sharedStrings.xml"] = table.encode()
    path.write_bytes(packed(contents))
    return path


def test_contents_are_those_that_openpyxl_reads(book: Path) -> None:
    other: Any = openpyxl.load_workbook(book)
    expected = {
        (sheet.title, cell.coordinate): plain(cell.value)
        for sheet in other
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None
    }
    assert read(book).held == expected
    assert isinstance(read(book).held["Some", "E1"], Formula)
    assert ("Some", "E1") not in read(book).stored


@pytest.mark.libreoffice
def test_a_file_that_libreoffice_saved_says_the_same(book: Path, app: Any, tmp_path: Path) -> None:
    with app.books.open(shutil.copyfile(book, tmp_path / "saved.xlsx")) as opened:
        opened.save()
    saved, before = read(tmp_path / "saved.xlsx"), read(book)
    rewritten = {("Some", "D1"): "=TRUE()", ("Some", "D2"): "=FALSE()", ("Some", "E2"): "=Some!A1"}
    assert saved.held == before.held | rewritten
    assert saved.stored["Some", "E1"] == 2
    assert saved.stored["Some", "F1"] == "a"


def test_what_is_hidden_and_protected_is_known(book: Path) -> None:
    some, gone = read(book).sheets
    assert (some.is_protected, some.hidden_rows, some.hidden_columns, gone.state) == (True, {2}, {3}, "hidden")


def test_truth_is_written_in_words_too(book: Path) -> None:
    contents = parts(book.read_bytes())
    contents[SHEET] = contents[SHEET].replace(b'hidden="1"', b'hidden="true"')
    book.write_bytes(packed(contents))
    assert read(book).sheets[0].hidden_columns == {3}


def test_a_formula_that_a_range_shares_is_each_cell_s_own(book: Path) -> None:
    rows = (
        '<row r="1"><c r="A1"><v>3</v></c><c r="B1"><f t="shared" ref="B1:B3" si="0">A1*$A$1+C1</f><v>9</v></c></row>'
        '<row r="2"><c r="B2"><f t="shared" si="0"/><v>0</v></c></row>'
        '<row r="3"><c r="B3"><f t="shared" si="0"/></c></row>'
    )
    path = with_cells(book, rows)
    theirs: Any = openpyxl.load_workbook(path).worksheets[0]
    held = read(path).held
    assert [held["Some", f"B{row}"] for row in (1, 2, 3)] == [theirs[f"B{row}"].value for row in (1, 2, 3)]
    assert held["Some", "B3"] == "=A3*$A$1+C3"


def test_an_array_formula_is_its_formula(book: Path) -> None:
    path = with_cells(book, '<row r="1"><c r="A1"><f t="array" ref="A1">SUM(B1:B9*2)</f><v>4</v></c></row>')
    theirs = openpyxl.load_workbook(path).worksheets[0]["A1"].value
    assert isinstance(theirs, ArrayFormula)
    assert read(path).held["Some", "A1"] == theirs.text


def test_cells_without_addresses_follow_each_other(book: Path) -> None:
    path = with_cells(book, "<row><c><v>1</v></c><c><v>2</v></c></row><row><c><v>3</v></c></row>")
    assert read(path).held == {("Some", "A1"): 1, ("Some", "B1"): 2, ("Some", "A2"): 3}


def test_texts_of_several_runs_are_one_and_reading_aids_are_left_out(book: Path) -> None:
    strings = '<si><r><t>a</t></r><r><t xml:space="preserve"> b</t></r><rPh sb="0" eb="1"><t>x</t></rPh></si>'
    cells = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>c_x000D_d</t></is></c></row>'
    assert read(with_cells(book, cells, strings)).held == {("Some", "A1"): "a b", ("Some", "B1"): "c\rd"}
