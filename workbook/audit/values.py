"""Values: stored ones that are not what the formulas give, and inputs that no quantity can be computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten

from pyxl.cells import Formula, Place, coordinates
from pyxl.changes import Comparison, What
from pyxl.plan import Formula as Planned
from workbook.analysis import analysis
from workbook.audit.findings import Finding, Kind
from workbook.audit.naming import Names
from workbook.comparison import (
    A_NUMBER,
    ABSENT,
    ANOTHER_VALUE,
    EMPTY,
    NO_FORMULAS,
    NO_NAME,
    TYPED_OVER,
    Difference,
    agree,
    compare,
)
from workbook.contents import Contents
from workbook.file_inputs import CONSTANTS, MODEL_SHEET
from workbook.problems import problems

CALCULATIONS = (What.FORMULA, What.OVERWRITTEN, What.EMPTIED, What.BROKEN)
FORMULAS = (Kind.FORMULA_CHANGED, Kind.OVERWRITTEN, Kind.EMPTIED)
FEW = 0.5  # share of formulas with a stored value below which a program has stored none
TOLD = 3
LONGEST_REASON = 200  # lists of names are long


def senseless_inputs(read: Contents) -> Iterator[Finding]:
    """Inputs that a drop-down or rule would have refused."""
    names = read.inputs.rows
    keys = {place: (key, s) for s in names.columns for key in names.rows for place in (names.place(key, s),)}
    for (sheet, cell), why in problems(read).items():
        key, strategy = keys.get((sheet, cell), ("", ""))
        said, shown = shorten(why, LONGEST_REASON, placeholder=" ..."), read.shown.get((sheet, cell))
        strategies = (strategy,) if strategy else ()
        yield Finding(Kind.UNREADABLE, sheet, cell, key or "input", said, strategies, new=shown)


def merged(findings: Sequence[Finding]) -> list[Finding]:
    """Findings of which those of an input that makes no sense say what it was before, instead of a second one."""
    senseless = {(each.sheet, each.cell): each for each in findings if each.kind is Kind.UNREADABLE and each.cell}
    before = {
        (each.sheet, each.cell): each
        for each in findings
        if each.kind in (Kind.INPUT_CHANGED, Kind.CATALOGUE_CHANGED, Kind.CONSTANT_CHANGED)
    }
    return [
        replace(before[place], kind=each.kind, text=f"{before[place].text}; {each.text}", new=each.new)
        if senseless.get(place := (each.sheet, each.cell)) is each and place in before
        else each
        for each in findings
        if (each.sheet, each.cell) not in senseless or each.kind is Kind.UNREADABLE
    ]


def stale_values(read: Contents, comparison: Comparison, names: Names, added: Sequence[Finding]) -> Iterator[Finding]:
    """Stored values that are old, told in one finding, and strategies that are not complete.

    A value that differs because a formula before it was changed is as its formula gives it: it is not told. `added` is
    what was found in strategies that the user added.
    """
    formulas = [place for place, content in read.held.items() if isinstance(content, Formula)]
    stored = sum(place in read.shown for place in formulas)
    if stored < FEW * len(formulas):
        text = f"{len(formulas) - stored:,} formulas have no stored value: open the file in a spreadsheet and save it"
        yield Finding(Kind.NOT_STORED, "", "", "stored values", text)
        return
    compared = list(compare(read.inputs, read.shown))
    changed = _Changed(comparison, names, added)
    differing = [
        difference
        for difference, equal in compared
        if not equal and difference.quantity and not changed.explains(difference)
    ]
    for each in differing:
        if each.why not in (ANOTHER_VALUE, TYPED_OVER, EMPTY) and each.expected != A_NUMBER:
            title = comparison.sheets[each.sheet].title
            yield Finding(Kind.UNREADABLE, title, each.cell, each.quantity, each.why, (each.strategy,))
    old = {(each.sheet, each.cell): each.expected for each in differing if each.cell and each.why == ANOTHER_VALUE}
    if not changed.any and not old and not _inputs_differ(comparison):
        old = dict(_unlike_plan(read, comparison, {(each.sheet, each.cell) for each, _ in compared}))
    if old:
        yield _stale(read, comparison, old)


def _stale(read: Contents, comparison: Comparison, old: Mapping[Place, object]) -> Finding:
    first, *_ = old
    shown = read.shown.get(first, "")
    examples = ", ".join(f"{comparison.sheets[sheet].title}!{cell}" for sheet, cell in list(old)[:TOLD])
    more = " ..." if len(old) > TOLD else ""
    count = "1 stored value is" if len(old) == 1 else f"{len(old):,} stored values are"
    text = f"{count} not what the formulas give ({examples}{more}): recalculate and save"
    sheet, cell = first
    return Finding(
        Kind.STALE,
        comparison.sheets[sheet].title,
        cell,
        "stored values",
        text,
        (),
        shown,
        getattr(old[first], "code", old[first]),
    )


class _Changed:
    """Which differences follow from formulas that were changed."""

    def __init__(self, comparison: Comparison, names: Names, added: Sequence[Finding]) -> None:
        changes = [
            change for change in comparison.changes if change.what in CALCULATIONS and _is_calculation(change.cell)
        ]
        self._cells = {(change.sheet, change.now) for change in changes}
        self._quantities = {names.of(c.sheet, c.place).quantity for c in changes if c.sheet == MODEL_SHEET}
        in_added = [each for each in added if each.kind in FORMULAS]
        self._quantities |= {each.quantity for each in in_added}
        deleted = comparison.sheets[MODEL_SHEET].rows.deleted if MODEL_SHEET in comparison.sheets else ()
        self._quantities |= {names.keys[row] for row in deleted if row in names.keys}
        self._lost_lines = any(s.rows.deleted or s.columns.deleted for s in comparison.sheets.values())
        self.any = bool(changes) or bool(in_added) or self._lost_lines or bool(comparison.deleted)
        self._shared = CONSTANTS in comparison.deleted
        self._follows: dict[str, bool] = {}

    def explains(self, difference: Difference) -> bool:
        """Whether somebody's change of a formula is why a value differs."""
        if difference.why in (TYPED_OVER, EMPTY) or difference.found == ABSENT:
            return difference.why not in (NO_FORMULAS, NO_NAME)
        if difference.cell and (difference.sheet, coordinates(difference.cell)) in self._cells:
            return True
        if difference.sheet == MODEL_SHEET and difference.quantity in analysis.quantities:
            return self._shared or self._follow(difference.quantity)
        return self.any

    def _follow(self, quantity: str) -> bool:
        if quantity not in self._follows:
            self._follows[quantity] = False
            self._follows[quantity] = quantity in self._quantities or any(map(self._follow, analysis.needs[quantity]))
        return self._follows[quantity]


def _is_calculation(cell: object) -> bool:
    return isinstance(getattr(cell, "content", None), Planned) and getattr(cell, "style", "") != "input"


def _inputs_differ(comparison: Comparison) -> bool:
    return any(not _is_calculation(change.cell) for change in comparison.changes) or any(
        sheet.added or sheet.is_rearranged for sheet in comparison.sheets.values()
    )


def _unlike_plan(read: Contents, comparison: Comparison, compared: set[Place]) -> Iterator[tuple[Place, object]]:
    """Formulas of an unchanged workbook that no quantity is compared by: labels, headings."""
    for title, sheet in comparison.sheets.items():
        grid = read.sheets[title]
        for (row, column), cell in sheet.plan.cells.items():
            if isinstance(cell.content, Planned) and row in sheet.rows.now and column in sheet.columns.now:
                place = grid.place(sheet.rows.now[row], sheet.columns.now[column])
                if place not in compared and not agree(read.shown.get(place), cell.content.value):
                    yield place, cell.content.value
