"""What somebody did to a workbook since it was laid out: its plan compared with what stands there now.

Cells are compared wherever they stand: rows and columns may have been moved, and sheets renamed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from pyxl import cells
from pyxl.alignment import Lines, aligned
from pyxl.formula_text import Target, references, same
from pyxl.plan import Cell, Formula, Plan, Sheet

PRECISION = 1e-14  # of numbers that a program wrote and read: it may round the last digit
LIKENESS = 0.5  # share of a sheet's texts that one under another title must have

Position = tuple[int, int]
Cells = Mapping[Position, Any]


class What(Enum):
    """What was done to a cell."""

    VALUE = "a value was changed"
    FILLED = "an empty cell was filled"
    EMPTIED = "the cell was emptied"
    OVERWRITTEN = "a value was typed over the formula"
    FORMULA = "the formula was changed"
    MADE_FORMULA = "a formula was typed over the value"
    BROKEN = "the formula refers to what was deleted"


@dataclass(frozen=True)
class Change:
    """A cell that holds something else than it was given. `place` is where it was laid out, `now` where it stands."""

    what: What
    sheet: str
    place: Position
    now: Position
    cell: Cell
    new: Any


@dataclass(frozen=True)
class ComparedSheet:
    """A sheet of the plan and what stands in its place: `title` is its own now."""

    plan: Sheet
    title: str
    cells: Cells
    rows: Lines
    columns: Lines

    def places(self, row: int, column: int) -> set[Position]:
        """Where a cell of the plan may stand now."""
        return {(r, c) for r in self.rows.places(row) for c in self.columns.places(column)}

    def origin(self, row: int, column: int) -> Position | None:
        """Where the plan had the cell that stands here now."""
        before = self.rows.originally.get(row), self.columns.originally.get(column)
        return None if None in before else before  # type: ignore[return-value]

    @cached_property
    def added(self) -> tuple[Position, ...]:
        """Cells that the plan does not have."""
        filled = {place for row, column in self._empty for place in self.places(row, column)}
        return tuple(p for p in self.cells if self.origin(*p) not in self.plan.cells and p not in filled)

    @cached_property
    def _empty(self) -> tuple[Position, ...]:
        return tuple(place for place, cell in self.plan.cells.items() if _is_empty(cell.content))

    @property
    def is_rearranged(self) -> bool:
        """Whether any row or column stands elsewhere than it did."""
        return any(line != now for lines in (self.rows, self.columns) for line, now in lines.now.items())


@dataclass(frozen=True)
class Comparison:
    """The sheets by the plan's titles, those that are gone, and those that were added."""

    sheets: Mapping[str, ComparedSheet]
    deleted: tuple[str, ...]
    added: tuple[str, ...]

    @cached_property
    def renamed(self) -> dict[str, str]:
        """New titles by the plan's."""
        return {title: sheet.title for title, sheet in self.sheets.items() if sheet.title != title}

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """All cells that hold something else."""
        return tuple(change for title in self.sheets for change in self._changes(title))

    @cached_property
    def _folded(self) -> dict[str, ComparedSheet]:
        return {title.casefold(): sheet for title, sheet in self.sheets.items()}

    @cached_property
    def _is_in_place(self) -> bool:
        return not self.renamed and not any(sheet.is_rearranged for sheet in self.sheets.values())

    def _changes(self, title: str) -> Iterator[Change]:
        sheet = self.sheets[title]
        for (row, column), cell in sheet.plan.cells.items():
            if row in sheet.rows.deleted or column in sheet.columns.deleted:
                continue
            if _is_empty(cell.content):
                for now in sorted(sheet.places(row, column) & sheet.cells.keys()):
                    yield Change(What.FILLED, title, (row, column), now, cell, sheet.cells[now])
                continue
            now = sheet.rows.now[row], sheet.columns.now[column]
            new = sheet.cells.get(now)
            if (what := self._what(title, cell.content, new)) is not None:
                yield Change(what, title, (row, column), now, cell, new)

    def _what(self, title: str, old: Any, new: Any) -> What | None:
        if _is_empty(new):
            return What.EMPTIED
        if not isinstance(old, Formula):
            if isinstance(new, cells.Formula):
                return What.MADE_FORMULA
            return None if _is_same_value(old, new) else What.VALUE
        if not isinstance(new, cells.Formula):
            return What.OVERWRITTEN
        if self._is_in_place and new == f"={old.text}":
            return None
        if same(old.text, new, self.is_same_target(title)):
            return None
        broken = "#REF!" in new and any(self._is_gone(title, each) for each in references(old.text))
        return What.BROKEN if broken else What.FORMULA

    def _sheet_of(self, own: str, target: Target) -> ComparedSheet | None:
        return self._folded.get((target.sheet or own).casefold())

    def _is_gone(self, own: str, target: Target) -> bool:
        sheet = self._sheet_of(own, target)
        return (
            sheet is None
            or any(row in sheet.rows.deleted for row in range(target.first[0], target.last[0] + 1))
            or any(column in sheet.columns.deleted for column in range(target.first[1], target.last[1] + 1))
        )

    def is_same_target(self, title: str) -> Callable[[Target, Target], bool]:
        """Whether a reference of the plan, in a formula on a sheet, and one that is found there mean the same cells."""
        return lambda before, after: self._is_same_target(title, before, after)

    def _is_same_target(self, own: str, before: Target, after: Target) -> bool:
        sheet = self._sheet_of(own, before)
        title = after.sheet or self.sheets[own].title
        if sheet is None or title.casefold() != sheet.title.casefold():
            return False
        return all(
            _is_same_span(lines, (before.first[axis], before.last[axis]), (after.first[axis], after.last[axis]))
            or self._ends_as_others(sheet, axis, before, after)
            for axis, lines in enumerate((sheet.rows, sheet.columns))
        )

    def _ends_as_others(self, sheet: ComparedSheet, axis: int, before: Target, after: Target) -> bool:
        """Whether a range ends in empty lines behind all others, some of which were inserted or deleted: only the other
        formulas tell how many, by where most of them end now.
        """
        lines, last = (sheet.rows, sheet.columns)[axis], before.last[axis]
        if last in lines.now or lines.first_left(last) is not None:
            return False
        ends = self._ends[sheet.plan.title, axis, last]
        end = max(ends, key=ends.__getitem__, default=None)
        is_told = end is not None and ends[end] > 1 and after.last[axis] == end
        return is_told and after.first[axis] in lines.places(before.first[axis])

    @cached_property
    def _ends(self) -> Mapping[tuple[str, int, int], Counter[int]]:
        """Where the ranges of all formulas end now, by the sheet, axis and line in which they ended."""
        found: dict[tuple[str, int, int], Counter[int]] = defaultdict(Counter)
        for title, sheet in self.sheets.items():
            for (row, column), cell in sheet.plan.cells.items():
                if not isinstance(cell.content, Formula) or ":" not in cell.content.text:
                    continue
                new = sheet.cells.get((sheet.rows.now.get(row, 0), sheet.columns.now.get(column, 0)))
                for before, after in zip(references(cell.content.text), references(str(new)), strict=False):
                    if before.first != before.last and (of := self._sheet_of(title, before)):
                        for axis in (0, 1):
                            found[of.plan.title, axis, before.last[axis]][after.last[axis]] += 1
        return found


def compare(plan: Plan, found: Mapping[str, Cells]) -> Comparison:
    """Compare a plan with the contents of a workbook's sheets."""
    titles = _matched(plan.sheets, found)
    compared = {
        sheet.title: _compared(sheet, titles[sheet.title], found) for sheet in plan.sheets if sheet.title in titles
    }
    added = tuple(title for title in found if title not in titles.values())
    return Comparison(compared, tuple(s.title for s in plan.sheets if s.title not in titles), added)


def _matched(sheets: Sequence[Sheet], found: Mapping[str, Cells]) -> dict[str, str]:
    """The titles under which the plan's sheets stand: those under which their texts are found, or their own."""
    ours = {sheet.title: _texts(cell.content for cell in sheet.cells.values()) for sheet in sheets}
    theirs = {title: _texts(contents.values()) for title, contents in found.items()}

    def likeness(title: str, other: str) -> float:
        return len(ours[title] & theirs[other]) / max(1, len(ours[title]))

    # Among the plan's titles first: a copy under a title of the user's own takes none from a sheet that was edited.
    pairs = sorted(
        ((title, other) for title in ours for other in found),
        key=lambda pair: (pair[1] in ours, likeness(*pair), pair[0] == pair[1]),
        reverse=True,
    )
    alike = [pair for pair in pairs if likeness(*pair) >= LIKENESS]
    known: dict[str, str] = {}
    for title, other in (*alike, *((title, title) for title in ours if title in found)):
        if title not in known and other not in known.values():
            known[title] = other
    return known


def _texts(contents: Iterable[Any]) -> set[str]:
    return {content for content in contents if isinstance(content, str) and content}


def _compared(sheet: Sheet, title: str, found: Mapping[str, Cells]) -> ComparedSheet:
    laid_out = {place: cell.content for place, cell in sheet.cells.items()}
    rows, columns = (aligned(_lines(laid_out, axis), _lines(found[title], axis)) for axis in (0, 1))
    return ComparedSheet(sheet, title, found[title], rows, columns)


def _lines(contents: Cells, axis: int) -> dict[int, dict[int, Any]]:
    """What stands in each row (axis 0) or column (axis 1) that is not empty, without formulas."""
    lines: dict[int, dict[int, Any]] = defaultdict(dict)
    for place, content in contents.items():
        if not _is_empty(content):
            line = lines[place[axis]]
            if not isinstance(content, Formula | cells.Formula):
                line[place[1 - axis]] = content
    return lines


def _is_empty(content: Any) -> bool:
    return content is None or content == ""


def _is_same_value(old: Any, new: Any) -> bool:
    if isinstance(old, str) or isinstance(new, str):
        return bool(old == new)
    return abs(float(old) - float(new)) <= PRECISION * abs(float(old))


def _is_same_span(lines: Lines, before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether a range of rows (or columns) is the one that it was, wherever its lines stand."""
    if before[0] == before[1]:
        return after[0] == after[1] and after[0] in lines.places(before[0])
    first = lines.first_left(before[0]) if before[0] in lines.deleted else before[0]
    last = lines.last_left(before[1]) if before[1] in lines.deleted else before[1]
    span = range(before[0], before[1] + 1)
    covered = all(after[0] <= lines.now[line] <= after[1] for line in span if line in lines.now)
    if first is not None and first > before[1]:  # all filled lines are gone, the empty ones behind them are left
        return after[1] in lines.places(before[1]) and after[1] - after[0] < before[1] - before[0]
    if first is not None and last is not None and after[0] in lines.places(first) and after[1] in lines.places(last):
        return covered
    # sorted rows leave the range where it was, over the same rows
    left = sum(line not in lines.deleted for line in span)
    return covered and after[1] - after[0] + 1 == left and not lines.moved.isdisjoint(span)
