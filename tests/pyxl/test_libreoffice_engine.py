"""What is written for Excel with xlwings does the same on a real LibreOffice."""

import datetime
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.formula import ArrayFormula

from pyxl.archive import packed, parts
from pyxl.errors import MissingProgram, UserError
from pyxl.libreoffice import engine
from pyxl.libreoffice.running import bridge

xw: Any = pytest.importorskip("xlwings")
np: Any = pytest.importorskip("numpy")
pd: Any = pytest.importorskip("pandas")

pytestmark = pytest.mark.libreoffice

NOON = datetime.datetime(2024, 2, 29, 12, 0)


@pytest.fixture
def book(app: Any) -> Iterator[Any]:
    book = app.books.add()
    yield book
    if book.impl in list(app.impl.books):
        book.close()


@pytest.fixture
def sheet(book: Any) -> Any:
    return book.sheets[0]


def saved(tmp_path: Path, **cells: Any) -> Path:
    """A workbook file with these cells on its one sheet, "In Puts"."""
    made: Any = Workbook()
    made.active.title = "In Puts"
    for address, value in cells.items():
        made.active[address] = value
    made.save(tmp_path / "made.xlsx")
    return tmp_path / "made.xlsx"


class TestValues:
    @pytest.mark.parametrize("value", [1.5, -3e-20, "text", "123", "größe", True, False, None, NOON, 1e300])
    def test_come_back_as_they_went(self, sheet: Any, value: Any) -> None:
        sheet["B2"].value = value
        assert sheet["B2"].value == value
        assert type(sheet["B2"].value) is type(value)

    def test_of_a_range_keep_their_places(self, sheet: Any) -> None:
        rows = [[1.0, "a", None], [True, NOON, 2.0]]
        sheet["B2"].value = rows
        assert sheet["B2:D3"].value == rows
        assert sheet["B2:D2"].value == rows[0]
        assert sheet["B2:B3"].value == [1.0, True]
        assert sheet["A1:B2"].options(ndim=2, empty="").value == [["", ""], ["", 1.0]]

    def test_of_other_kinds(self, sheet: Any) -> None:
        sheet["A1"].value = [np.float64(2.5), np.int64(3), np.nan, datetime.date(2024, 2, 29), pd.Timestamp(NOON)]
        assert sheet["A1:E1"].value == [2.5, 3.0, None, datetime.datetime(2024, 2, 29), NOON]
        assert sheet["B1"].options(numbers=int).value == 3
        assert sheet["D1"].options(dates=datetime.date).value == datetime.date(2024, 2, 29)
        with pytest.raises(TypeError, match="a cell cannot hold"):
            sheet["A1"].value = object()

    def test_fill_a_range(self, sheet: Any) -> None:
        sheet["A1:B3"].value = 7
        assert sheet["A1:C3"].value == [[7.0, 7.0, None]] * 3

    def test_errors_are_none_unless_asked_for(self, sheet: Any) -> None:
        sheet["A1"].value = ["=1/0", "=NA()", "=nonsense", '="a"*1', "=A1+1", "=1E+300*1E+300"]
        assert sheet["A1:F1"].value == [None] * 6
        assert sheet["A1:F1"].options(err_to_str=True).value == [
            "#DIV/0!", "#N/A", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!",
        ]  # fmt: skip
        assert sheet["A1"].options(err_to_str=True).value == "#DIV/0!"

    def test_of_formulas_have_their_kind(self, sheet: Any) -> None:
        sheet["A1"].value = ["=1>2", "=DATE(2024,2,29)", '="x"&1', "=2*3", '=""', "=TIME(12,0,0)"]
        assert sheet["A1:F1"].value == [False, datetime.datetime(2024, 2, 29), "x1", 6.0, None, 0.5]

    def test_as_table_array_and_dictionary(self, sheet: Any) -> None:
        table = pd.DataFrame({"size": [1.5, 2.5], "name": ["a", "b"]}, index=pd.Index([10.0, 20.0], name="key"))
        sheet["B2"].value = table
        back = sheet["B2"].options(pd.DataFrame, expand="table").value
        pd.testing.assert_frame_equal(back, table, check_dtype=False, check_index_type=False)
        array = np.arange(6.0).reshape(2, 3)
        sheet["F1"].value = array
        assert (sheet["F1"].options(np.array, expand="table").value == array).all()
        sheet["F10"].value = {"a": 1.0, "b": 2.0}
        assert sheet["F10"].options(dict, expand="table").value == {"a": 1.0, "b": 2.0}

    def test_many(self, sheet: Any) -> None:
        rows = [[float(row * column) for column in range(75)] for row in range(1000)]
        sheet["A1"].value = rows
        assert sheet.used_range.value == rows

    def test_that_do_not_fit_are_refused(self, sheet: Any) -> None:
        with pytest.raises(ValueError, match="do not fit"):
            sheet["A1:B2"].raw_value = [[1.0]]
        with pytest.raises(IndexError, match="outside the sheet"):
            sheet[(0, 0)].offset(0, 20_000).value = 1


class TestFormulas:
    FORMULAS = (
        "=A1*$B$2+A$3",
        '=IF(A1>=1,"it\'s; ""so"", A1",\'In Puts\'!A1:B2)',
        "=SUM('In Puts'!$A:$B)+SUM(2:3)",
        "=INDEX({1,2;3,4},2,1)*5%",
        '=-A1^2&"x"',
        "=_xlfn.ISFORMULA(A1)",
        "=_xlfn.STDEV.S(A1:A3)",
        "=CEILING(A1,2)",
        "=RANDBETWEEN(1,2)",
        "=A1*1.5E-20",
        "=IF(A1,,2)",
        "=LOG10(A1)+rate",
        "=IFERROR(MATCH(\"x\",'In Puts'!A1:A9,0),NA())",
        "='it''s'!A1",
        '="1E-020"&A1',
    )

    @pytest.fixture
    def filled(self, sheet: Any) -> Any:
        sheet.book.sheets.add("In Puts")
        sheet.book.sheets.add("it's")
        sheet.book.names.add("rate", "=0.5")
        return sheet

    def test_come_back_in_excel_s_syntax(self, filled: Any) -> None:
        filled["E1"].options(transpose=True).formula = list(self.FORMULAS)
        assert [row[0] for row in filled[0 : len(self.FORMULAS), 4].formula] == list(self.FORMULAS)

    @pytest.mark.parametrize("formula", FORMULAS)
    def test_one_by_one(self, filled: Any, formula: str) -> None:
        filled["E1"].formula = formula
        assert filled["E1"].formula == formula
        filled["E2"].formula2 = formula
        assert filled["E2"].formula2 == formula

    def test_are_what_the_file_holds(self, app: Any, tmp_path: Path) -> None:
        texts = {f"C{row}": text for row, text in enumerate(self.FORMULAS[:11], 1)}
        book = app.books.open(saved(tmp_path, A1=2, **texts))
        try:
            assert {address: book.sheets[0][address].formula for address in texts} == texts
        finally:
            book.close()

    def test_may_be_typed_in_small_letters(self, sheet: Any) -> None:
        sheet["C1"].formula = "=sum(a1:$b$2)+a3"
        assert sheet["C1"].formula == "=SUM(A1:$B$2)+A3"

    def test_may_lack_the_prefix_of_younger_functions(self, sheet: Any) -> None:
        sheet["A1"].value = [1, 3]
        sheet["C1"].formula = '=STDEV.S(A1:B1)&IFNA(1," IFNA(x)")'
        assert sheet["C1"].formula == '=_xlfn.STDEV.S(A1:B1)&_xlfn.IFNA(1," IFNA(x)")'
        assert sheet["C1"].value == "1.41421356237311"

    def test_fill_a_range_moving_on(self, sheet: Any) -> None:
        sheet["A1"].value = [[1], [2], [3]]
        sheet["B1:C3"].formula = "=A1*10"
        assert sheet["B1:C3"].formula == (("=A1*10", "=B1*10"), ("=A2*10", "=B2*10"), ("=A3*10", "=B3*10"))
        assert sheet["B1:C3"].value == [[10.0, 100.0], [20.0, 200.0], [30.0, 300.0]]

    def test_of_constants_are_what_one_types(self, sheet: Any) -> None:
        sheet["A1"].value = [1, 0.1, 1e20, "text", "'=A1", "123", None]
        assert sheet["A1:G1"].formula == (("1", "0.1", "1E+20", "text", "'=A1", "123", ""),)
        assert sheet["E1"].value == "=A1"

    def test_lost_references(self, book: Any, sheet: Any) -> None:
        book.sheets.add("Gone")
        sheet["A1"].formula = "=Gone!B2+SUM(Gone!A1:$B$2)"
        sheet["A2"].formula = "=D5*2"
        sheet["A3"].formula = "=#REF!+A1"
        book.sheets["Gone"].delete()
        sheet["D:D"].delete()
        assert sheet["A1"].formula == "=#REF!B2+SUM(#REF!A1:$B$2)"
        assert sheet["A2"].formula == "=#REF!*2"
        assert sheet["A3"].formula == "=#REF!+A1"
        assert sheet["A2"].options(err_to_str=True).value == "#REF!"

    def test_array(self, app: Any, tmp_path: Path) -> None:
        path = saved(tmp_path, A1=1, A2=2, B1=ArrayFormula("B1", "=SUM(A1:A2*2)"))
        book = app.books.open(path)
        try:
            sheet = book.sheets[0]
            assert (sheet["B1"].value, sheet["B1"].has_array, sheet["A1"].has_array) == (6.0, True, False)
            assert sheet["B1"].formula == sheet["B1"].formula_array == "=SUM(A1:A2*2)"
            sheet["D1:D2"].formula_array = "=A1:A2*3"
            assert sheet["D1:D2"].value == [3.0, 6.0]
            assert sheet["A1"].formula_array is None
            with pytest.raises(UserError, match="is it part of an array formula"):
                sheet["D1"].value = 1
        finally:
            book.close()

    # The stand-ins for references save 97 % of LibreOffice's work: they may never change what it says.

    REFERENCE = st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["", "", "Plain!", "'In Puts'!", "'it''s; \"A1\"'!", "AB12_!", "'A.B1'!", "größe!"]),
        st.sampled_from(["", "$"]),
        st.sampled_from(["A", "E", "R", "AB", "XFC"]),
        st.sampled_from(["", "$"]),
        st.integers(1, 1_048_575),
    )
    RANGE = st.one_of(
        st.builds("{}:{}".format, REFERENCE, st.sampled_from(["B3", "$XFC$1048575", "E11"])),
        st.sampled_from(["A:A", "$B:C", "1:1", "'In Puts'!$A:$B", "Plain!2:7"]),
    )
    TEXT = st.text(alphabet="aA1;,'\"!.$()E+-{}[]# ü", max_size=6).map(lambda text: '"' + text.replace('"', '""') + '"')
    LEAF = st.one_of(
        REFERENCE,
        RANGE.map("SUM({})".format),
        TEXT,
        st.integers(0, 10**6).map(str),
        st.sampled_from(["0.1", "TRUE()", "5%", "rate", "E1_rate", '{1,2;3,"A1"}', "NA()", "1.5E+30", "unknown"]),
    )
    FORMULA = st.recursive(
        LEAF,
        lambda inner: st.one_of(
            st.builds("{}{}{}".format, inner, st.sampled_from(["+", "*", "^", "&", "=", "<>", ">=", "-", "/"]), inner),
            st.builds(
                "{}({},{})".format, st.sampled_from(["MAX", "IF", "ATAN2", "CEILING", "_xlfn.IFNA"]), inner, inner
            ),
            st.builds("({})".format, inner),
            st.builds("-{}".format, inner),
            st.builds("LOG10({})".format, inner),
            st.builds("IF({},,{})".format, inner, inner),
        ),
        max_leaves=12,
    ).map("={}".format)

    @pytest.fixture
    def places(self, app: Any) -> Iterator[Any]:
        book = app.books.add()
        for name in ("Plain", "In Puts", 'it\'s; "A1"', "AB12_", "A.B1", "größe"):
            book.sheets.add(name)
        for name in ("rate", "E1_rate"):
            book.names.add(name, "=0.5")
        yield book.sheets.add("Formulas")
        book.close()

    @settings(
        max_examples=80,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(formula=FORMULA)
    def test_are_printed_as_libreoffice_prints_each_by_itself(
        self, places: Any, printed_alone: Any, formula: str
    ) -> None:
        cell, syntax = places["C5"], places.book.impl.syntax
        cell.formula = formula
        native = cell.api.getCellByPosition(0, 0).Formula
        assert [cell.formula] == [printed_alone(syntax, native)]
        cell.formula = cell.formula
        assert cell.api.getCellByPosition(0, 0).Formula == native


class TestNames:
    def test_are_listed_added_changed_and_deleted(self, book: Any, sheet: Any) -> None:
        sheet["B2"].value = 5
        other = book.sheets.add("In Puts", after=sheet)
        book.names.add("rate", "=Sheet1!$B$2")
        other.names.add("local", "='In Puts'!$A$1:$B$2")
        book.names.add("half", "=0.5")
        assert [name.name for name in book.names] == ["half", "rate", "'In Puts'!local"]
        assert book.names["RATE"].refers_to == "=Sheet1!$B$2"
        assert book.names["rate"].refers_to_range.value == sheet["rate"].value == 5.0
        assert other["local"].address == "$A$1:$B$2"
        assert [name.name for name in other.names] == ["'In Puts'!local"]
        assert "local" not in book.names
        assert sheet["B2"].name.name == "rate"
        with pytest.raises(ValueError, match=r"the name half is no range: =0\.5"):
            _ = book.names["half"].refers_to_range
        book.names["half"].refers_to = "=Sheet1!$C$3"
        book.names["half"].name = "third"
        sheet["D4:E5"].name = "block"
        assert book.names["third"].refers_to == "=Sheet1!$C$3"
        assert book.names["block"].refers_to_range.address == "$D$4:$E$5"
        book.names["third"].delete()
        assert "third" not in book.names
        with pytest.raises(KeyError):
            book.names("third")

    def test_that_are_none_are_refused(self, sheet: Any) -> None:
        with pytest.raises(ValueError, match="'A1' cannot be a name"):
            sheet.book.names.add("A1", "=1")
        with pytest.raises(ValueError, match="'nowhere' is no address and no name"):
            _ = sheet["nowhere"]


class TestSheets:
    def test_are_added_renamed_moved_and_deleted(self, book: Any, sheet: Any) -> None:
        added = book.sheets.add("New", after=sheet)
        assert [each.name for each in book.sheets] == ["Sheet1", "New"]
        assert book.sheets.active == added
        assert (added.index, book.sheets["new"], "New" in book.sheets) == (2, added, True)
        added.name = "Renamed"
        added.move(before=sheet)
        assert book.sheet_names == ["Renamed", "Sheet1"]
        sheet.activate()
        assert book.sheets.active == sheet
        with pytest.raises(ValueError, match="already present"):
            added.name = "sheet1"
        added.visible = False
        assert (added.visible, sheet.visible) == (False, True)
        added.delete()
        with pytest.raises(UserError, match="'Sheet1' is the only sheet"):
            sheet.delete()
        with pytest.raises(KeyError):
            book.sheets("Renamed")

    def test_are_copied_within_and_between_books(self, app: Any, book: Any, sheet: Any) -> None:
        sheet["A1"].value = [1, "=A1*2"]
        copy = sheet.copy()
        assert (copy.name, copy["B1"].formula, copy["B1"].value) == ("Sheet1 (2)", "=A1*2", 2.0)
        other = app.books.add()
        moved = sheet.copy(before=other.sheets[0], name="Copied")
        assert (moved.index, moved["B1"].value) == (1, 2.0)
        other.close()

    def test_know_what_they_use(self, sheet: Any) -> None:
        sheet["C3"].value = [[1, 2], [3, 4]]
        assert sheet.used_range.address == "$C$3:$D$4"
        assert sheet.cells.shape[1] == 16384
        sheet["C3"].color = "#ff0000"
        sheet.clear_contents()
        assert (sheet["C3"].value, sheet["C3"].color) == (None, (255, 0, 0))
        sheet.clear()
        assert sheet["C3"].color is None


class TestRanges:
    def test_addresses(self, sheet: Any) -> None:
        assert sheet["b2:D9"].address == "$B$2:$D$9"
        assert sheet.range((2, 3), (4, 5)).address == "$C$2:$E$4"
        assert (sheet["B:C"].address, sheet["2:3"].address) == ("$B:$C", "$2:$3")
        assert sheet["B:C"].shape == (1_048_576, 2)
        assert sheet["B2:D9"][1:3, -1].address == "$D$3:$D$4"
        assert sheet["B2"].offset(-1, 2).resize(2, 2).get_address(False, False) == "D1:E2"
        assert sheet["B2"].get_address(external=True) == f"'[{sheet.book.name}]Sheet1'!$B$2"
        assert sheet["B2:C3"](3).address == "$B$3"
        assert [cell.address for cell in sheet["A1:B1"]] == ["$A$1", "$B$1"]

    def test_where_ctrl_and_an_arrow_lead(self, sheet: Any) -> None:
        sheet["B2"].value = [[1, 2, 3], ['=""', None, 4], [5, None, None]]
        assert sheet["B2"].end("down").address == "$B$4"
        assert sheet["B2"].end("right").address == "$D$2"
        assert sheet["B4"].end("down").address == "$B$1048576"
        assert sheet["B4"].end("up").address == "$B$2"
        assert sheet["D3"].end("left").address == "$B$3"
        assert sheet["C9"].end("up").address == "$C$2"
        assert sheet["B2"].current_region.address == "$B$2:$D$4"
        assert sheet["B2"].expand("right").address == "$B$2:$D$2"

    def test_copying_a_column_moves_its_references(self, book: Any, sheet: Any) -> None:
        sheet["A1"].value = [[2], ["=A1*10"], ["=$A$1"]]
        sheet["A2"].number_format = "0.00%"
        sheet["A:A"].copy(sheet["C1"])
        sheet["C1"].value = 7
        assert sheet["C1:C3"].formula == (("7",), ("=C1*10",), ("=$A$1",))
        assert sheet["C1:C3"].value == [7.0, 70.0, 2.0]
        assert sheet["C2"].number_format == "0.00%"
        other = book.sheets.add()
        sheet["A1:A2"].copy(other["B2"])
        assert other["B3"].formula == "=B2*10"

    def test_inserting_and_deleting(self, sheet: Any) -> None:
        sheet["A1"].value = [[1, 2], [3, 4], ["=A1", "=B2"]]
        sheet["B:B"].insert("right")
        assert sheet["C3"].formula == "=C2"
        sheet["2:2"].insert("down")
        assert sheet["C4"].formula == "=C3"
        sheet["A1"].insert("right")
        assert sheet["A4"].formula == "=B1"
        sheet["A1"].delete("left")
        sheet["2:2"].delete()
        sheet["B:B"].delete()
        assert sheet["A1:B3"].formula == (("1", "2"), ("3", "4"), ("=A1", "=B2"))
        sheet["A1:B2"].move(sheet["E5"])
        assert sheet["A3:B3"].formula == (("=E5", "=F6"),)

    def test_looks(self, sheet: Any) -> None:
        cells = sheet["B2:C3"]
        cells.value = 0.5
        for name, value in {
            "number_format": "0.00%",
            "color": (255, 128, 0),
            "wrap_text": True,
            "horizontal_alignment": "center",
            "vertical_alignment": "top",
            "row_height": 30,
            "column_width": 20,
        }.items():
            setattr(cells, name, value)
            if name not in ("row_height", "column_width"):
                assert getattr(cells, name) == value
        assert (cells.row_height, cells.column_width) == (pytest.approx(30, abs=0.1), pytest.approx(20, abs=0.1))
        for name, value in {
            "bold": True,
            "italic": True,
            "size": 13,
            "name": "Courier New",
            "color": (0, 0, 255),
        }.items():
            assert getattr(cells.font, name) != value
            setattr(cells.font, name, value)
            assert getattr(cells.font, name) == value
        assert sheet["A2:B2"].font.bold is None
        assert sheet["A2:B2"].number_format is None
        assert sheet["A1"].number_format == "General"
        cells.color = None
        assert cells.color is None
        cells.clear_formats()
        assert (cells.font.bold, cells.number_format, cells.value) == (False, "General", [[0.5, 0.5]] * 2)
        with pytest.raises(ValueError, match="is no number format"):
            cells.number_format = "0.0[["
        sheet["A:B"].columns.hidden = True
        assert (sheet["A:A"].columns.hidden, sheet["A:C"].columns.hidden) == (True, None)

    def test_autofit(self, sheet: Any) -> None:
        sheet["A1"].value = "a text much longer than a column is wide"
        before = sheet["A1"].column_width
        sheet.autofit("columns")
        assert sheet["A1"].column_width > before

    def test_notes_and_links(self, sheet: Any) -> None:
        assert sheet["B2"].note is None
        sheet["B2"].add_note("why")
        assert (sheet["B2"].note.text, [note.location.address for note in sheet.notes]) == ("why", ["$B$2"])
        sheet["B2"].note.text = "because"
        assert sheet["B2"].note.text == "because"
        sheet["B2"].note.delete()
        assert sheet["B2"].note is None
        sheet["A1"].add_hyperlink("https://example.org", "there")
        assert (sheet["A1"].value, sheet["A1"].hyperlink) == ("there", "https://example.org")

    @pytest.mark.parametrize("change", [
        lambda sheet: setattr(sheet["A1"], "value", 2),
        lambda sheet: setattr(sheet["A1"], "formula", "=1"),
        lambda sheet: setattr(sheet["A1"], "color", "#ff0000"),
        lambda sheet: setattr(sheet["A1"].font, "bold", True),
        lambda sheet: setattr(sheet["A1"], "number_format", "0.0"),
        lambda sheet: sheet["B1"].copy(sheet["A1"]),
        lambda sheet: sheet["A1"].add_note("x"),
        lambda sheet: sheet["A:A"].insert("right"),
        lambda sheet: sheet.clear(),
        lambda sheet: sheet.autofit(),
    ])  # fmt: skip
    def test_of_a_protected_sheet_are_not_changed_silently(self, sheet: Any, change: Any) -> None:
        sheet["A1"].value = 1
        sheet.api.protect("")
        with pytest.raises(UserError, match="the sheet 'Sheet1' is protected"):
            change(sheet)
        assert sheet["A1"].value == 1.0

    def test_unlocked_cells_of_a_protected_sheet_may_change(self, sheet: Any) -> None:
        protection = sheet["B1"].api.CellProtection
        protection.IsLocked = False
        sheet["B1"].api.CellProtection = protection
        sheet.api.protect("")
        sheet["B1"].value = 3
        assert sheet["B1"].value == 3.0
        with pytest.raises(UserError, match="is protected"):
            sheet["A1:B1"].value = 4


class TestBooks:
    @pytest.mark.parametrize("suffix", ["xlsx", "ods"])
    def test_are_saved_and_opened_again(self, app: Any, book: Any, sheet: Any, tmp_path: Path, suffix: str) -> None:
        sheet["A1"].value = [2, "=A1*3", "text"]
        sheet["A1"].number_format = "0.00"
        sheet["A1"].name = "rate"
        path = tmp_path / f"saved.{suffix}"
        book.save(path)
        assert (book.name, book.fullname) == (path.name, str(path))
        sheet["A1"].value = 5
        book.save()
        book.close()
        again = app.books.open(path)
        assert again.sheets[0]["A1:C1"].value == [5.0, 15.0, "text"]
        assert again.sheets[0]["B1"].formula == "=A1*3"
        assert again.names["rate"].refers_to == "=Sheet1!$A$1"
        assert app.books.open(path) == again
        assert xw.Book(str(path)) == app.books[path.name] == again
        again.close()

    def test_saved_as_excel_s_are_read_by_others(self, book: Any, sheet: Any, tmp_path: Path) -> None:
        sheet["A1"].value = [2, "=_xlfn.ISFORMULA(A1)", True]
        book.save(tmp_path / "saved.xlsx")
        cells: Any = load_workbook(tmp_path / "saved.xlsx").active
        assert [cell.value for cell in cells[1]] == [2, "=_xlfn.ISFORMULA(A1)", True]

    def test_are_computed_anew_when_opened(self, app: Any, tmp_path: Path) -> None:
        path = saved(tmp_path, A1=2, A2="=A1*3")
        written = parts(path.read_bytes())
        path.write_bytes(packed({name: re.sub(b"<v></v>|<v ?/>", b"<v>999</v>", written[name]) for name in written}))
        assert load_workbook(path, data_only=True)["In Puts"]["A2"].value == 999
        with app.books.open(path) as book:
            assert book.sheets["In Puts"]["A2"].value == 6.0

    def test_are_printed(self, book: Any, sheet: Any, tmp_path: Path) -> None:
        sheet["A1"].value = 1
        book.to_pdf(tmp_path / "printed.pdf")
        sheet.to_pdf(tmp_path / "sheet.pdf")
        assert (tmp_path / "printed.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / "sheet.pdf").read_bytes().startswith(b"%PDF")

    def test_know_the_selection(self, app: Any, book: Any, sheet: Any) -> None:
        sheet["B2:C3"].select()
        assert book.selection == app.selection == sheet["B2:C3"]

    def test_know_who_calls(self, app: Any, book: Any) -> None:
        book.set_mock_caller()
        assert xw.Book.caller() == book
        other = app.books.add()
        assert app.books.active == other
        book.activate()
        assert app.books.active == book
        other.close()

    @pytest.mark.parametrize(
        ("name", "content", "reason"),
        [
            ("x.xlsx", b"no zip", "is no Excel workbook"),
            ("x.ods", b"no zip", "cannot open .*x.ods"),
            ("x.txt", b"", "is no workbook: it ends in none of .xlsx"),
        ],
    )
    def test_that_are_none_are_refused(self, app: Any, tmp_path: Path, name: str, content: bytes, reason: str) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=reason):
            app.books.open(tmp_path / name)

    def test_cannot_be_saved_anywhere(self, book: Any, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"its name must end in one of \.xlsx"):
            book.save(tmp_path / "x.txt")
        (tmp_path / "folder.xlsx").mkdir()
        with pytest.raises(UserError, match=r"cannot write .* is it read-only, a folder, or open elsewhere"):
            book.save(tmp_path / "folder.xlsx")

    def test_locked_by_somebody_else_are_refused(self, app: Any, tmp_path: Path) -> None:
        path = saved(tmp_path)
        lock = tmp_path / ".~lock.made.xlsx#"
        lock.write_text("Ada,ada,her host,29.11.2026 22:25,file:///home/ada/profile;")
        with pytest.raises(UserError, match=r"open in another LibreOffice \(Ada on her host since 29.11.2026 22:25\)"):
            app.books.open(path)
        assert lock.exists()
        app.books.open(path, read_only=True).close()

    def test_locked_by_a_run_of_ours_that_was_killed_are_opened(self, app: Any, tmp_path: Path) -> None:
        path = saved(tmp_path, A1=3)
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        profile = tmp_path / f"solbook-{dead.pid}-abc"
        profile.mkdir()
        lock = f",root,{os.uname().nodename},29.11.2026 22:25,{profile.as_uri()};"
        (tmp_path / ".~lock.made.xlsx#").write_text(lock)
        book = app.books.open(path)
        assert book.sheets[0]["A1"].value == 3.0
        book.close()

    def test_of_a_protected_structure_keep_their_sheets(self, book: Any) -> None:
        book.api.protect("")
        with pytest.raises(UserError, match=r"the structure of .* is protected"):
            book.sheets.add()


class TestApp:
    def test_calculates_when_told_to(self, app: Any, sheet: Any) -> None:
        sheet["A1"].value = [1, "=A1*2"]
        with app.properties(calculation="manual"):
            assert app.calculation == "manual"
            sheet["A1"].value = 5
            assert sheet["B1"].value == 2.0
            app.calculate()
            assert sheet["B1"].value == 10.0
        assert app.calculation == "automatic"
        with pytest.raises(NotImplementedError, match="semiautomatic"):
            app.calculation = "semiautomatic"

    def test_shows_what_it_does(self, app: Any, sheet: Any, caplog: pytest.LogCaptureFixture) -> None:
        with app.properties(screen_updating=False, status_bar="Computing"):
            assert (app.screen_updating, app.status_bar) == (False, "Computing")
            assert sheet.book.api.hasControllersLocked()
        assert (app.screen_updating, app.status_bar) == (True, False)
        assert not sheet.book.api.hasControllersLocked()
        with caplog.at_level("INFO"):
            assert app.alert("It differs.", "Recompute", "yes_no") == "no"
        assert "Recompute: It differs." in caplog.text

    def test_names_what_it_lacks(self, sheet: Any) -> None:
        for name in ("charts", "tables", "pictures", "shapes"):
            with pytest.raises(NotImplementedError, match=f"xlwings' Sheet.{name} is not available on LibreOffice"):
                getattr(sheet, name)
        with pytest.raises(NotImplementedError, match=r"xlwings' Range.merge is not available"):
            sheet["A1:B2"].merge()
        with pytest.raises(NotImplementedError, match=r"xlwings' Sheet.show_gridlines is not available"):
            sheet.show_gridlines = False

    def test_is_told_apart(self, app: Any) -> None:
        assert xw.apps.active == app == xw.apps[app.pid]
        assert app.engine.name == "libreoffice"
        assert app.version.major >= 7


class TestLeavesNothing:
    """No process, profile or lock of ours is left, however the block is left."""

    @pytest.fixture
    def path(self, tmp_path: Path, leaves_nothing: Callable[[], list[str]]) -> Iterator[Path]:
        path = saved(tmp_path, A1=1)
        yield path
        assert not (tmp_path / ".~lock.made.xlsx#").exists()

    def test_at_the_end(self, path: Path, leaves_nothing: Callable[[], list[str]]) -> None:
        with engine.started() as app:
            app.books.open(path)
            assert leaves_nothing()
            assert (path.parent / ".~lock.made.xlsx#").exists()

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_when_the_block_raises(self, path: Path, error: type[BaseException]) -> None:
        def run() -> None:
            with engine.started() as app:
                app.books.open(path)
                raise error

        with pytest.raises(error):
            run()

    def test_when_libreoffice_raises(self, path: Path) -> None:
        missing = bridge().getClass("com.sun.star.container.NoSuchElementException")
        with pytest.raises(missing), engine.started() as app:
            app.books.open(path).api.Sheets.getByName("no such sheet")

    def test_when_it_was_killed(self, path: Path) -> None:
        with engine.started() as app:
            app.books.open(path)
            os.killpg(app.pid, 9)

    def test_when_the_script_is_asked_to_end(self, path: Path) -> None:
        script = (
            "import sys, tempfile, time; tempfile.tempdir = sys.argv[2]\n"
            "from pyxl.libreoffice import engine\n"
            "with engine.started() as app:\n"
            "    app.books.open(sys.argv[1]); print('ready', flush=True); time.sleep(60)\n"
        )
        command = [sys.executable, "-c", script, str(path), str(tempfile.tempdir)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.terminate()
            assert process.wait(30) == 143

    def test_by_quitting(self, path: Path) -> None:
        with engine.started() as app:
            app.books.open(path)
            app.quit()

    def test_as_excel_s_users_start_it(self, path: Path, app: Any) -> None:
        with xw.App(visible=False, add_book=False) as another:
            assert another != app
            assert another.books.open(path).sheets[0]["A1"].value == 1.0
        assert xw.apps.active == app


class TestInside:
    """In code that LibreOffice runs, as far as it shows from outside."""

    @pytest.fixture
    def inner(self, app: Any) -> Iterator[Any]:
        inner = engine.inside(app.impl.context)
        yield inner
        xw.apps.impl.running.remove(inner.impl)
        del xw.Book._mock_caller

    def test_the_caller_is_the_current_document(self, inner: Any, tmp_path: Path) -> None:
        first, second = inner.books.add(), inner.books.open(saved(tmp_path, A1=1))
        assert xw.Book.caller() == second
        first.activate()
        assert xw.Book.caller() == first
        assert engine.inside(inner.impl.context) == inner
        first.close()
        second.close()
        with pytest.raises(UserError, match="no workbook is open in LibreOffice"):
            xw.Book.caller()

    def test_libreoffice_is_never_ended(self, inner: Any) -> None:
        for end in (inner.quit, inner.kill):
            with pytest.raises(NotImplementedError, match="its windows are the user's"):
                end()

    def test_a_message_box_without_a_screen_is_nobody_s_consent(self, inner: Any) -> None:
        book = inner.books.add()
        assert inner.alert("Go on?", "SOL", "ok_cancel") == "cancel"
        book.close()


def test_imports_the_standard_library_only_until_it_is_used() -> None:
    script = """
import sys
sys.modules["xlwings"] = sys.modules["openpyxl"] = sys.modules["lxml"] = None
from pyxl.errors import MissingProgram
from pyxl.libreoffice import engine, running
try:
    engine.inside(None)
except MissingProgram as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "the package xlwings is not installed: pip install 'solbook[addin]'"
    assert MissingProgram is not None
