"""Recompute: every quantity as the workbook's formulas give it and as Python computes it, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyxl.cells import Formula, Place
from pyxl.errors import UserError
from pyxl.open_book import Formulas
from pyxl.quantity import Kind
from pyxl.readings.formula import formula
from pyxl.readings.number import OK
from workbook.addin import engine_sheet
from workbook.addin.opened import MODEL_SHEET, Opened, opened
from workbook.analysis import analysis
from workbook.catalogue import Table
from workbook.comparison import ABSENT, TYPED_OVER, Difference, compare
from workbook.sheets.checks import ENGINE
from workbook.study import checked

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
    lines = list(_classified(read, compared, dict(_problems(read))))
    remarks = [remark for remark in (STALE if read.is_manual else "", read.age) if remark]
    return Recomputation(tuple(lines), tuple(remarks))


def _problems(read: Opened) -> Iterator[tuple[Place, str]]:
    """Why no quantity can be computed from some inputs, by their cells: empty ones, and words that no table has."""
    tables = {
        key.removesuffix(".name"): Table(key, (), [{"name": str(name)} for name in names if name is not None])
        for key, names in read.inputs.columns.items()
        if key.endswith(".name")
    }
    rows = read.inputs.rows
    for strategy, typed in read.inputs.strategies.items():
        for name, value in typed.items():
            quantity, place = analysis[name], rows.place(name, strategy)
            why = None
            if rows.content(name, strategy) is None:
                if quantity.value != 0 and quantity.value is not None:
                    why = f"the cell is empty: {'choose a name' if quantity.choices else 'write a number'}"
            elif quantity.choices:
                try:
                    checked(quantity, value, "", tables)
                except UserError as error:
                    why = str(error).removeprefix(": ")
            if why:
                yield place, why


def _classified(read: Opened, compared: list[tuple[Difference, bool]], problems: Mapping[Place, str]) -> Iterator[Line]:
    unequal = {(d.strategy, d.quantity) for d, equal in compared if not equal and d.sheet == MODEL_SHEET}
    for difference, equal in compared:
        line = _line(read, difference, equal, unequal)
        if why := problems.get((difference.sheet, difference.cell)):
            line = Line(replace(difference, why=why), NOT_UNDERSTOOD)
        elif not equal and line.verdict == DIFFERS and read.is_manual:
            line = Line(replace(difference, why=STALE), DIFFERS)
        yield line


def _line(read: Opened, difference: Difference, equal: bool, unequal: set[tuple[str, str]]) -> Line:
    name, strategy = difference.quantity, difference.strategy
    in_model = difference.sheet == MODEL_SHEET and name in analysis.quantities and strategy in read.inputs.strategies
    if not equal:
        if difference.found == ABSENT:
            return Line(difference, MISSING)
        if difference.expected == "a number":
            return Line(difference, NOT_UNDERSTOOD)
        if difference.why == TYPED_OVER:
            should = f"it should be {_definition(name)}" if in_model else "it should be a formula"
            return Line(replace(difference, why=f"a value was typed over the formula: {should}"), OVERWRITTEN)
    if in_model and not equal and _lost_ingredients(read, name, strategy):
        return Line(replace(difference, why="a row that it needs is missing"), FOLLOWS)
    if in_model and read.located.is_changed(name, strategy):
        return Line(replace(difference, why=_changed(read, name, strategy, equal)), CHANGED)
    if equal:
        is_input = in_model and analysis[name].kind is Kind.INPUT
        return Line(replace(difference, why=""), INPUT if is_input else AGREES)
    if in_model and (sources := sorted(n for n in analysis.needs[name] if (strategy, n) in unequal)):
        return Line(replace(difference, why=f"follows from {', '.join(sources)}"), FOLLOWS)
    if not in_model and unequal:
        return Line(replace(difference, why=f"follows from the sheet {MODEL_SHEET}"), FOLLOWS)
    return Line(replace(difference, why="the formula is as it should be, its value is not: recalculate"), DIFFERS)


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
    row = next((row for row, name in checks.column(1) if name == ENGINE.name), None) if checks else None
    if row is not None:
        read.book.sheets["Checks"].range((row, 2)).value = verdict
