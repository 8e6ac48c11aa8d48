"""Recompute: every quantity as the workbook's formulas give it and as Python computes it, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyxl.cells import Formula
from pyxl.open_book import Formulas
from pyxl.quantity import Kind
from pyxl.readings.formula import formula
from pyxl.readings.number import OK
from workbook.addin import engine_sheet
from workbook.addin.opened import Opened, opened
from workbook.analysis import analysis
from workbook.comparison import ABSENT, EMPTY, TYPED_OVER, Difference, compare
from workbook.file_inputs import MODEL_SHEET
from workbook.problems import problems
from workbook.sheets.checks import ENGINE

if TYPE_CHECKING:
    import xlwings as xw

AGREES, DIFFERS, INPUT, FOLLOWS = "agrees", "differs", "input", "follows"
OVERWRITTEN, CHANGED, MISSING, NOT_UNDERSTOOD = "overwritten", "formula changed", "missing", "input not understood"
STALE = "calculation is set to manual, so values may be old: recalculate (F9)"


@dataclass(frozen=True)
class Line:
    """A quantity of the workbook compared: what was found and expected, and the verdict on it."""

    difference: Difference
    verdict: str

    @property
    def is_fine(self) -> bool:
        """Whether nothing is to be said about it."""
        return self.verdict in (AGREES, INPUT)


@dataclass(frozen=True)
class Recomputation:
    """All quantities compared. `causes` are what somebody did; what only follows from it is counted."""

    lines: tuple[Line, ...]
    remarks: tuple[str, ...]

    @property
    def causes(self) -> tuple[Line, ...]:
        """What is to be mended."""
        return tuple(line for line in self.lines if not line.is_fine and line.verdict != FOLLOWS)

    @property
    def followers(self) -> int:
        """How many quantities differ only because of the causes."""
        return sum(line.verdict == FOLLOWS for line in self.lines)

    @property
    def verdict(self) -> str:
        """OK, or in a line what is wrong."""
        if not self.causes and not self.followers:
            return OK
        found = len(self.causes)
        said = f"{found:,} thing{'s' * (found != 1)} to mend, {self.followers:,} values follow from them"
        return f"{said}: see the sheet {engine_sheet.TITLE}"

    def __str__(self) -> str:
        if self.verdict == OK:
            return f"All {len(self.lines):,} values agree with the Python engine."
        listed = (f"{where(line.difference)}: {line.difference.why}" for line in self.causes)
        return "\n".join([self.verdict, *listed])


def where(difference: Difference) -> str:
    """Where a difference is, for people."""
    place = f"{difference.sheet}!{difference.cell}" if difference.cell else difference.sheet
    return f"{place} ({', '.join(filter(None, (difference.quantity, difference.strategy)))})"


def recompute(book: xw.Book, formulas: Formulas | None = None) -> Recomputation:
    """Compute everything in Python from the inputs in the workbook and write the sheet Engine, and a line in Checks.

    Inputs are found by key: rows and columns may have been moved. Nothing else in the workbook changes. Raises
    `UserError` where it is not ours, or lacks inputs.
    """
    read = opened(book, formulas)
    found = examine(read)
    engine_sheet.write(book, found)
    _note_in_checks(read, found.verdict)
    return found


def examine(read: Opened) -> Recomputation:
    """Compare, and say why what differs does."""
    compared = list(compare(read.inputs, read.shown))
    lines = list(_classified(read, compared))
    remarks = [remark for remark in (STALE if read.is_manual else "", read.age) if remark]
    remarks += _failing(compared)
    return Recomputation(tuple(lines), tuple(remarks))


def _failing(compared: list[tuple[Difference, bool]]) -> Iterator[str]:
    """What the workbook's own checks say, in Python too."""
    for difference, _ in compared:
        is_check = difference.sheet == MODEL_SHEET and difference.quantity in analysis.series["checks"]
        if is_check and isinstance(difference.expected, str) and difference.expected != OK:
            yield f"A check fails in '{difference.strategy}': {difference.expected}"


def _classified(read: Opened, compared: list[tuple[Difference, bool]]) -> Iterator[Line]:
    unequal = {(d.strategy, d.quantity) for d, equal in compared if not equal and d.sheet == MODEL_SHEET}
    senseless = problems(read)
    for difference, equal in compared:
        line = _line(read, difference, equal, unequal)
        if why := senseless.pop((difference.sheet, difference.cell), ""):
            line = Line(replace(difference, why=why), NOT_UNDERSTOOD)
        elif not equal and line.verdict == DIFFERS and read.is_manual:
            line = Line(replace(difference, why=STALE), DIFFERS)
        yield line
    for (sheet, cell), why in senseless.items():  # of cells that are not compared
        yield Line(Difference(sheet, cell, "", "", "", "", why), NOT_UNDERSTOOD)


def _line(read: Opened, difference: Difference, equal: bool, unequal: set[tuple[str, str]]) -> Line:
    name, strategy = difference.quantity, difference.strategy
    in_model = difference.sheet == MODEL_SHEET and name in analysis.quantities and strategy in read.inputs.strategies
    if not equal:
        if difference.found == ABSENT:
            return Line(difference, MISSING)
        if difference.why in (TYPED_OVER, EMPTY):
            empty = difference.why == EMPTY
            what = "the cell is empty" if empty else "a value was typed over the formula"
            should = _definition(name) if in_model else "a formula"
            why = f"{what}: it should be {should}"
            return Line(replace(difference, why=why), MISSING if empty else OVERWRITTEN)
    if in_model and not equal and _lost_ingredients(read, name, strategy):
        return Line(replace(difference, why="a row that it needs is missing"), FOLLOWS)
    if in_model and read.located.is_changed(name, strategy):
        return Line(replace(difference, why=_changed(read, name, strategy, equal)), CHANGED)
    if equal:
        is_input = in_model and analysis[name].kind is Kind.INPUT
        return Line(replace(difference, why=""), INPUT if is_input else AGREES)
    if in_model:
        if sources := sorted(each for each in analysis.needs[name] if (strategy, each) in unequal):
            return Line(replace(difference, why=f"follows from {', '.join(sources)}"), FOLLOWS)
        return Line(replace(difference, why="the formula is as it should be, its value is not: recalculate"), DIFFERS)
    affected = {each for each, _ in unequal}
    if affected and (difference.sheet != "Summary" or not affected.isdisjoint(("all", strategy)) or not strategy):
        return Line(replace(difference, why=f"follows from the sheet {MODEL_SHEET}"), FOLLOWS)
    return Line(replace(difference, why="the formula was changed, or one that it refers to"), DIFFERS)


def _lost_ingredients(read: Opened, name: str, strategy: str) -> bool:
    """Whether a quantity is computed from rows that were deleted."""
    column = read.inputs.rows.columns[strategy]
    return analysis[name].expression is not None and read.located.formula(name, column) is None


def _definition(name: str) -> str:
    """A quantity's formula in Excel's syntax, with names in place of references."""
    expression = analysis[name].expression
    return formula(expression, str) if expression is not None else "an input"


def _changed(read: Opened, name: str, strategy: str, equal: bool) -> str:
    content = read.inputs.rows.content(name, strategy)
    assert isinstance(content, Formula)
    same = ", which happens to give the same" if equal else ""
    return f"the formula is {read.located.in_names(content, strategy)}{same}: it should be {_definition(name)}"


def _note_in_checks(read: Opened, verdict: str) -> None:
    """The line of the master check. Workbooks of earlier versions have none."""
    checks = read.sheets.get("Checks")
    place = checks.listed("Check", "Result").get(ENGINE.name) if checks else None
    if place is not None:
        read.book.sheets["Checks"].range(place).value = verdict
