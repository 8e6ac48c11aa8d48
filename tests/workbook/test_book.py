"""The workbook as a user, an auditor and a script meet it: live formulas, portable, plain, reproducible."""

import os
import re
import socket
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas
import pytest
from openpyxl import load_workbook
from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.utils.cell import get_column_letter, range_boundaries

from pyxl import reader
from pyxl.cells import Formula, Place
from pyxl.layout.model_sheet import SLOTS, SPARE_SLOTS
from pyxl.naming import is_cell_address
from pyxl.plan import Formula as PlannedFormula
from pyxl.plan import Plan
from pyxl.quantity import Kind
from pyxl.workbook_file import read
from workbook.analysis import analysis
from workbook.study import Study

PORTABLE = {"IF", "IFERROR", "MIN", "MAX", "SUM", "SUMPRODUCT", "CEILING", "INDEX", "MATCH", "AND", "OR", "NOT"}
ONE_STRATEGY = ("Roofline", "Stages", "Collectives", "Precision", "Recomputation", "Elasticities")
CALCULATED = [q.name for q in analysis.quantities.values() if q.kind not in (Kind.INPUT, Kind.CONSTANT)]
INPUTS = [q.name for q in analysis.quantities.values() if q.kind is Kind.INPUT]


@pytest.fixture(scope="module")
def book(shipped: Path) -> Any:
    """The shipped workbook in openpyxl."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_workbook(shipped)


@pytest.fixture(scope="module")
def formulas(held: Mapping[Place, Any]) -> dict[Place, str]:
    return {place: content for place, content in held.items() if isinstance(content, Formula)}


@pytest.fixture(scope="module")
def stored(shipped: Path) -> dict[Place, Any]:
    """What a program that computes nothing shows."""
    return read(shipped).stored


def tokens(formula: str) -> list[Token]:
    return list(Tokenizer(formula).items)


def references(formula: str) -> Iterator[str]:
    return (token.value for token in tokens(formula) if token.subtype == Token.RANGE)


def functions(formula: str) -> set[str]:
    return {token.value.rstrip("(") for token in tokens(formula) if token.type == Token.FUNC and token.value != ")"}


def cells(area: str) -> Iterator[tuple[int, int]]:
    for part in area.split():
        left, top, right, bottom = range_boundaries(part)
        yield from ((row, column) for row in range(top, bottom + 1) for column in range(left, right + 1))


# Formulas


@pytest.mark.parametrize("name", CALCULATED)
def test_a_row_has_one_formula(name: str, rows: reader.ModelRows) -> None:
    """The same in every strategy's column: each reference is in its own column, or fixed on another sheet."""
    shapes = set()
    for strategy, column in rows.columns.items():
        formula = rows.content(name, strategy)
        assert isinstance(formula, Formula), (strategy, formula)
        own = get_column_letter(column)
        for reference in references(formula):
            fixed = re.fullmatch(r"\w+!\$[A-Z]+\$\d+(:\$[A-Z]+\$\d+)?", reference)
            assert fixed or re.fullmatch(rf"{own}\d+(:{own}\d+)?", reference), (strategy, reference)
            assert not reference.startswith("Analysis!")
        shapes.add("".join(re.sub(rf"\b{own}(?=\d)", "*", t.value) for t in tokens(formula)))
    assert len(shapes) == 1


def test_only_inputs_are_typed_numbers(planned: Plan, held: Mapping[Place, Any], rows: reader.ModelRows) -> None:
    for (sheet, cell), content in held.items():
        if sheet in ("Summary", "Checks") and not isinstance(content, str):
            assert cell.startswith("A"), (sheet, cell)  # the numbers of the slots
    typed = {
        name for name in rows.rows for strategy in rows.columns if not isinstance(rows.content(name, strategy), Formula)
    }
    assert typed == set(INPUTS)


def test_formulas_are_of_the_portable_subset(formulas: Mapping[Place, str]) -> None:
    for place, formula in formulas.items():
        assert functions(formula) <= PORTABLE, place
        assert len(formula) <= 8192, place
    assert set().union(*map(functions, formulas.values())) > {"IF", "INDEX", "MATCH"}


def test_numbers_in_formulas_of_the_analysis_are_algebra(formulas: Mapping[Place, str]) -> None:
    """Anything but 0, 1 and 2 is a row of Constants with a source."""
    for (sheet, cell), formula in formulas.items():
        if sheet == "Analysis":
            numbers = {token.value for token in tokens(formula) if token.subtype == Token.NUMBER}
            assert numbers <= {"0", "1", "2"}, (cell, formula)


def test_only_conditional_formats_ask_whether_a_cell_is_a_formula(book: Any) -> None:
    asked = set()
    for sheet in book.worksheets:
        for formatting in sheet.conditional_formatting:
            for rule in formatting.rules:
                asked |= functions(f"={rule.formula[0]}")
    assert asked <= PORTABLE | {"_xlfn.ISFORMULA", "ISERROR"}
    assert "_xlfn.ISFORMULA" in asked


# Structure


def test_nothing_is_merged_hidden_or_linked(book: Any, shipped: Path) -> None:
    for sheet in book.worksheets:
        assert not sheet.merged_cells.ranges
        assert sheet.sheet_state == "visible"
        assert not [row for row, dimension in sheet.row_dimensions.items() if dimension.hidden]
        # Folded away behind a visible button, not hidden.
        assert all(dimension.outlineLevel for dimension in sheet.column_dimensions.values() if dimension.hidden)
    parts = zipfile.ZipFile(shipped).namelist()
    assert [
        part for part in parts if re.search("vba|macro|external|connection|query|embed|oleObject", part, re.I)
    ] == []
    assert len(set(parts)) == len(parts)


def test_no_defined_name_looks_like_a_cell(book: Any) -> None:
    names = [*book.defined_names, *(name for sheet in book.worksheets for name in sheet.defined_names)]
    assert [name for name in names if is_cell_address(name)] == []


@pytest.fixture
def slots(study: Study) -> int:
    """Columns for strategies on the sheet Analysis, lines on the sheet Summary."""
    return max(SLOTS, len(study.strategies) + SPARE_SLOTS)


def test_every_input_has_a_validation(book: Any, rows: reader.ModelRows, slots: int) -> None:
    """In all slots, so that a copied or an empty column has them too."""
    validated = {place for rule in book["Analysis"].data_validations.dataValidation for place in cells(str(rule.sqref))}
    first = min(rows.columns.values())
    assert validated == {(rows.rows[name], first + slot) for name in INPUTS for slot in range(slots)}
    for title in ONE_STRATEGY:
        inputs = {(c.row, c.column) for row in book[title].iter_rows() for c in row if c.style == "solbook input"}
        assert inputs
        rules = book[title].data_validations.dataValidation
        assert inputs == {place for rule in rules for place in cells(str(rule.sqref))}


def test_every_drop_down_offers_what_its_cells_hold(
    book: Any, stored: Mapping[Place, Any], rows: reader.ModelRows
) -> None:
    checked = 0
    for sheet in book.worksheets:
        for rule in sheet.data_validations.dataValidation:
            if rule.type != "list":
                continue
            title, area = rule.formula1.lstrip("=").split("!")
            offered = {stored.get((title, f"{get_column_letter(c)}{r}")) for r, c in cells(area.replace("$", ""))}
            for row, column in cells(str(rule.sqref)):
                value = stored.get((sheet.title, f"{get_column_letter(column)}{row}"))
                assert value is None or value in offered, (sheet.title, row, column)
                checked += value is not None
    choices = sum(analysis[name].choices is not None for name in INPUTS)
    models = sum(stored.get(("Models", f"A{row}")) is not None for row in range(8, 100))
    cases = sum(stored.get((s, f"{c}8")) is not None for s in ("Precision", "Recomputation") for c in "DEFGH")
    assert checked == choices * len(rows.columns) + len(ONE_STRATEGY) + cases + models


def test_every_calculation_is_explained(held: Mapping[Place, Any], rows: reader.ModelRows) -> None:
    head = rows.grid.row(min(row for row, content in rows.grid.column(1) if content == "Key"))
    column = {content: number for number, content in head}
    for name, row in rows.rows.items():
        for described in ("Quantity", "Unit", "Formula in words", "Note"):
            text = rows.grid.cells.get((row, column[described]))
            assert text, (name, described)
            assert not isinstance(text, Formula)


def test_every_sheet_shows_that_all_checks_hold(book: Any, stored: Mapping[Place, Any]) -> None:
    grids = reader.grids(stored)
    for sheet in book.sheetnames:
        (row,) = [row for row, content in grids[sheet].column(1) if content == "Master check"]
        assert [content for _, content in grids[sheet].row(row)] == ["Master check", "OK"], sheet


def test_the_summary_has_a_line_per_slot(
    formulas: Mapping[Place, str], stored: Mapping[Place, Any], study: Study, slots: int
) -> None:
    """The first show the strategies, the others wait for more."""
    free = [""] * (slots - len(study.strategies))
    summary = reader.grids(stored)["Summary"]
    head, column = min(place for place, content in summary.cells.items() if content == "Step time, lower bound")
    lines = [row for row in range(head + 1, head + 1 + slots) if summary.place(row, column) in formulas]
    assert len(lines) == slots
    name = next(number for number, content in summary.row(head) if content == "Strategy")
    names, times = ([summary.cells.get((row, c), "") for row in lines] for c in (name, column))
    assert names == [*study.strategies, *free]
    assert times == [*(values["step_time_lower_bound"] for values in study.values.values()), *free]


def test_sheets_stand_in_reading_order(book: Any) -> None:
    assert book.sheetnames == [
        "Summary", "Analysis", *ONE_STRATEGY, "Hardware", "Models", "Choices", "Constants", "Checks", "Formulas",
        "Validation", "Sources", "Study", "About",
    ]  # fmt: skip
    assert book.active.title == "Summary"


# Stored values


@pytest.mark.parametrize("engine", ["openpyxl", "calamine"])
def test_scripts_and_previews_see_every_value(engine: Any, planned: Plan, shipped: Path) -> None:
    frames = pandas.read_excel(shipped, sheet_name=None, header=None, engine=engine)
    seen = 0
    for sheet in planned.sheets:
        for (row, column), cell in sheet.cells.items():
            if isinstance(cell.content, PlannedFormula) and cell.content.value != "":
                assert frames[sheet.title].iat[row - 1, column - 1] == cell.content.value, (sheet.title, row, column)
                seen += isinstance(cell.content.value, int | float)
    assert seen > 1000


# The file


@pytest.mark.parametrize(
    "environment",
    [
        {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
        {"TZ": "America/New_York", "PYTHONHASHSEED": "2", "LC_ALL": "C", "USER": "somebody", "LOGNAME": "somebody"},
    ],
)
def test_the_file_is_the_same_whoever_builds_it(
    environment: dict[str, str], shipped: Path, solbook: Any, tmp_path: Path
) -> None:
    env = os.environ | environment | {"HOME": str(tmp_path)}
    built = solbook("build", "-o", "again.xlsx", cwd=tmp_path, env=env)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "again.xlsx").read_bytes() == shipped.read_bytes()


def test_the_file_tells_nothing_of_where_and_when_it_was_built(solbook: Any, tmp_path: Path) -> None:
    env = os.environ | {"USER": "unmistakable", "LOGNAME": "unmistakable", "HOME": "/home/unmistakable"}
    assert solbook("build", "-o", "private.xlsx", cwd=tmp_path, env=env).returncode == 0
    with zipfile.ZipFile(tmp_path / "private.xlsx") as archive:
        text = b"".join(archive.read(part) for part in archive.namelist()).decode()
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        dates = re.findall(r"\d{4}-\d\d-\d\dT[\d:]+", archive.read("docProps/core.xml").decode())
    assert set(dates) == {"2000-01-01T00:00:00"}
    root = str(Path(__file__).parents[2])
    for private in ("unmistakable", str(tmp_path), root, socket.gethostname(), str(Path.home()) + "/"):
        assert private not in text


def test_protection_locks_calculations_and_leaves_inputs_open(
    solbook: Any, rows: reader.ModelRows, tmp_path: Path
) -> None:
    path = tmp_path / "protected.xlsx"
    assert solbook("build", "--protect", "-o", path).returncode == 0
    book: Any = load_workbook(path)
    assert all(sheet.protection.sheet and sheet.protection.password is None for sheet in book.worksheets)
    for name in rows.rows:
        for strategy in rows.columns:
            sheet, address = rows.place(name, strategy)
            free = analysis[name].kind in (Kind.INPUT, Kind.LOOKUP)
            assert book[sheet][address].protection.locked != free, (name, strategy)


def test_without_protection_no_sheet_is_locked(book: Any) -> None:
    assert not [sheet.title for sheet in book.worksheets if sheet.protection.sheet]
