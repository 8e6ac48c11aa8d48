"""Recompute on the shipped workbook, open in a real LibreOffice: it finds exactly what was done."""

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlwings as xw

from pyxl.errors import UserError
from workbook import addin
from workbook.addin.opened import opened as read
from workbook.addin.recomputation import CHANGED, DIFFERS, MISSING, NOT_UNDERSTOOD, OVERWRITTEN, Recomputation, examine
from workbook.comparison import NO_FORMULAS
from workbook.sheets.checks import ENGINE

pytestmark = pytest.mark.libreoffice

OWN = "PP16 EP64 ZeRO-1 DualPipe"
Cell = Callable[[str, str], xw.Range]


@pytest.fixture
def book(opened: xw.Book) -> xw.Book:
    return opened


def causes(found: Recomputation) -> list[tuple[str, str, str]]:
    """Strategy, quantity and verdict of all that is to be mended."""
    return [(line.difference.strategy, line.difference.quantity, line.verdict) for line in found.causes]


def engine_line(book: xw.Book) -> Any:
    """What the sheet Checks says of the Python engine."""
    checks = book.sheets["Checks"].used_range.value
    return next(row[1] for row in checks if row[0] == ENGINE.name)


def engine_line_anywhere(book: xw.Book) -> Any:
    """The same, wherever its columns stand."""
    row = next(row for row in book.sheets["Checks"].used_range.value if ENGINE.name in row)
    return row[row.index(ENGINE.name) + 1] or row[row.index(ENGINE.name) + 2]


def test_a_fresh_workbook_agrees_and_says_so(book: xw.Book) -> None:
    found = addin.recompute(book)
    assert found.verdict == engine_line(book) == book.sheets["Summary"]["B3"].value == "OK"
    assert str(found) == f"All {len(found.lines):,} values agree with the Python engine."
    assert not found.remarks
    shown = book.sheets["Engine"].used_range.value
    assert len(shown) > len(found.lines) > 13_000
    assert [row[8] for row in shown].count("agrees") + [row[8] for row in shown].count("input") == len(found.lines)


def test_edited_inputs_moved_rows_and_inserted_columns_are_no_difference(book: xw.Book, cell: Cell) -> None:
    cell("devices", OWN).value = 1024
    cell("scale_out_measured", OWN).value = 40e9
    analysis = book.sheets["Analysis"]
    row = cell("compute_time").row
    analysis.range("300:300").insert("down")
    moved = analysis.range(f"{row + 1}:{row + 1}").impl.api.RangeAddress
    analysis.impl.api.moveRange(analysis.range("A300").impl.api.getCellByPosition(0, 0).CellAddress, moved)
    analysis.range("D:D").insert("right")
    found = examine(read(book))
    assert causes(found) == []
    assert found.verdict == "OK"
    assert read(book).inputs.strategies[OWN]["scale_out_measured"] == 40e9
    assert read(book).inputs.rows.rows["compute_time"] == 300


def test_a_number_typed_over_a_formula_is_found(book: xw.Book, cell: Cell) -> None:
    where = cell("compute_time")
    where.value = 1.5
    found = addin.recompute(book)
    assert causes(found) == [(OWN, "compute_time", OVERWRITTEN)]
    assert "it should be " in found.causes[0].difference.why
    assert found.followers > 5
    assert engine_line(book).startswith("1 thing to mend")
    assert book.sheets["Summary"]["B3"].value == "see the sheet Checks"


def test_a_changed_formula_is_found_and_told_in_names(book: xw.Book, cell: Cell) -> None:
    where = cell("scale_out_bytes")
    where.formula = where.formula + "*2"
    found = examine(read(book))
    assert causes(found) == [(OWN, "scale_out_bytes", CHANGED)]
    assert found.causes[0].difference.why.startswith("the formula is ")
    assert "*2: it should be " in found.causes[0].difference.why


def test_a_changed_formula_that_gives_the_same_is_found(book: xw.Book, cell: Cell) -> None:
    where = cell("scale_out_bytes")
    where.formula = where.formula + "*1"
    found = examine(read(book))
    assert causes(found) == [(OWN, "scale_out_bytes", CHANGED)]
    assert "happens to give the same" in found.causes[0].difference.why


def test_a_deleted_row_is_found_and_what_needs_it_follows(book: xw.Book, cell: Cell) -> None:
    row = cell("scale_out_bytes").row
    book.sheets["Analysis"].range(f"{row}:{row}").delete("up")
    found = examine(read(book))
    assert causes(found) == [("all", "scale_out_bytes", MISSING)]
    assert found.followers > 5


@pytest.mark.parametrize(
    ("quantity", "value", "words"),
    [
        ("devices", "many", "devices is 'many': write a number in device"),
        ("devices", None, "the cell is empty: write a number"),
        ("zero_stage", "ZeRO-9", "zero_stage is 'ZeRO-9': "),
        ("zero_stage", None, "the cell is empty: choose a name"),
        ("hardware", "H900", "hardware is 'H900': "),
    ],
)
def test_an_input_that_makes_no_sense_is_not_understood(
    book: xw.Book, cell: Cell, quantity: str, value: Any, words: str
) -> None:
    where = cell(quantity)
    where.value = value
    found = examine(read(book))
    assert causes(found) == [(OWN, quantity, NOT_UNDERSTOOD)]
    assert words in found.causes[0].difference.why
    assert where.value == value


def test_manual_calculation_is_told_from_a_broken_formula(book: xw.Book, cell: Cell) -> None:
    book.app.calculation = "manual"
    try:
        cell("devices").value = 1024
        found = examine(read(book))
    finally:
        book.app.calculation = "automatic"
    assert {line.verdict for line in found.causes} == {DIFFERS}
    assert "calculation is set to manual" in found.causes[0].difference.why


@pytest.mark.parametrize("quantity", ["compute_time", "hbm_peak"])
def test_an_emptied_formula_is_found(book: xw.Book, cell: Cell, quantity: str) -> None:
    cell(quantity).clear_contents()
    found = examine(read(book))
    assert causes(found) == [(OWN, quantity, MISSING)]
    assert found.causes[0].difference.why.startswith("the cell is empty: it should be ")


def test_a_text_for_a_number_hides_nothing_that_was_done_elsewhere(book: xw.Book, cell: Cell) -> None:
    cell("sequence_length", "HSDP 64 x 32").value = "four"
    cell("compute_time").value = 1.5
    cell("micro_batch_size", "ZeRO-1").value = -1
    assert sorted(causes(examine(read(book)))) == [
        ("HSDP 64 x 32", "sequence_length", NOT_UNDERSTOOD),
        (OWN, "compute_time", OVERWRITTEN),
        ("ZeRO-1", "micro_batch_size", NOT_UNDERSTOOD),
    ]


def test_a_deleted_or_emptied_constant_is_found(book: xw.Book) -> None:
    constants = book.sheets["Constants"]
    rows = {key: row for row, key in enumerate(constants.range("A1:A40").value, 1)}
    constants.range((rows["relative_tolerance"], 2)).clear_contents()
    constants.range(f"{rows['flops_per_multiply_add']}:{rows['flops_per_multiply_add']}").delete("up")
    found = examine(read(book))
    assert {(line.difference.quantity, line.verdict) for line in found.causes} == {
        ("flops_per_multiply_add", MISSING),
        ("", NOT_UNDERSTOOD),
    }


@pytest.mark.parametrize("column", ["A", "B"])
def test_columns_inserted_on_other_sheets_are_no_difference(book: xw.Book, column: str) -> None:
    for title in ("Constants", "Checks", "Hardware", "Choices", "Roofline", "Summary", "Elasticities"):
        book.sheets[title].range(f"{column}:{column}").insert("right")
    assert causes(addin.recompute(book)) == []
    assert set(book.sheets["Checks"].range(f"{column}1:{column}99").value) == {None}
    assert engine_line_anywhere(book) == "OK"


def test_one_edited_look_up_does_not_condemn_its_table(book: xw.Book, cell: Cell) -> None:
    where = cell("hbm_peak")
    where.formula = re.sub(r"\$(\d+)", lambda row: f"${int(row[1]) + 2}", where.formula)
    assert causes(examine(read(book))) == [(OWN, "hbm_peak", CHANGED)]


def test_an_input_may_hold_a_formula(book: xw.Book, cell: Cell) -> None:
    cell("devices").formula = "=2*512"
    found = examine(read(book))
    assert causes(found) == []
    assert read(book).inputs.strategies[OWN]["devices"] == 1024


def test_a_date_is_the_number_that_it_stands_for(book: xw.Book, cell: Cell) -> None:
    cell("devices").value = datetime.date(1905, 8, 9)  # as Excel makes of "9/8/1905"
    examine(read(book))
    assert read(book).inputs.strategies[OWN]["devices"] == 2048


def test_notes_beside_the_strategies_are_one_thing_to_mend(book: xw.Book, cell: Cell) -> None:
    analysis = book.sheets["Analysis"]
    column = max(read(book).inputs.rows.columns.values()) + 2
    analysis.range((4, column)).value = "todo"
    analysis.range((9, column)).value = "ask Ann"
    found = examine(read(book))
    assert [line.difference.why for line in found.causes] == [NO_FORMULAS]


def test_a_strategy_may_be_named_by_a_number(book: xw.Book, cell: Cell) -> None:
    book.sheets["Analysis"].range((4, cell("devices").column)).value = 2024
    assert examine(read(book)).verdict == "OK"


def test_a_check_that_fails_is_told(book: xw.Book, cell: Cell) -> None:
    cell("expert_parallel_size").value = 7
    found = examine(read(book))
    assert causes(found) == []
    assert any("expert_parallel_size must divide" in remark for remark in found.remarks)


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_a_saved_and_reopened_workbook_agrees(book: xw.Book, cell: Cell, tmp_path: Path, suffix: str) -> None:
    cell("devices").value = 1024
    cell("compute_time", "ZeRO-1").value = 1.5
    addin.recompute(book)
    path = tmp_path / f"saved{suffix}"
    book.save(path)
    again = book.app.books.open(path)
    try:
        assert causes(addin.recompute(again)) == [("ZeRO-1", "compute_time", OVERWRITTEN)]
        assert [sheet.name for sheet in again.sheets].count("Engine") == 1
    finally:
        if again.name != book.name:
            again.close()


def test_a_workbook_of_another_version_is_told(book: xw.Book) -> None:
    about = book.sheets["About"]
    row = next(n for n, (_, text) in enumerate(about.range("A1:B30").value, 1) if str(text).startswith("solbook "))
    about.range((row, 2)).value = "solbook 0.0.1, from definitions in Python"
    found = addin.recompute(book)
    assert found.verdict == "OK"
    assert any("this workbook is of solbook 0.0.1" in remark for remark in found.remarks)
    models = book.sheets["Models"]
    models.range("B:B").delete("left")  # a column that this version looks up
    with pytest.raises(UserError, match=r"lacks the catalogue column .*; this workbook is of solbook 0\.0\.1"):
        addin.recompute(book)


def test_a_sheet_that_somebody_called_engine_is_left_alone(book: xw.Book) -> None:
    own = book.sheets.add("Engine", after=book.sheets[-1])
    own["A1"].value = "mine"
    addin.recompute(book)
    assert own["A1"].value == "mine"
    assert book.sheets["Engine (solbook)"]["A1"].value == "Python engine"


def test_a_protected_workbook_recomputes_and_refuses_what_would_change_it(
    app: xw.App, solbook: Any, tmp_path: Path
) -> None:
    path = tmp_path / "protected.xlsx"
    assert solbook("build", "-o", path, "--protect").returncode == 0
    book = app.books.open(path)
    try:
        assert addin.recompute(book).verdict == engine_line(book) == "OK"
        before = book.sheets["Hardware"].used_range.value
        with pytest.raises(UserError, match="is it protected"):
            addin.add_strategy(book, OWN)
        assert book.sheets["Hardware"].used_range.value == before
    finally:
        book.close()
