"""What the cells of a workbook are called: quantity and strategy, catalogue row and column, or label and head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyxl.cells import letter
from pyxl.changes import ComparedSheet, Comparison, Position
from pyxl.formula_text import Target, renamed
from pyxl.plan import Cell
from pyxl.reader import Grid, KeyedTable, keyed_tables
from workbook.analysis import analysis
from workbook.file_inputs import CATALOGUES, CONSTANTS, MODEL_SHEET
from workbook.sheets import measured

LABELS = ("key", "label", "header", "section", "headline")


@dataclass(frozen=True)
class Named:
    """What a cell is: its quantity (a key where it has one), the strategy or catalogue row, and the unit."""

    quantity: str
    strategy: str = ""
    unit: str = ""


class Names:
    """The names of cells by where the plan has them, and of references by where they point to now."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._by_title = {sheet.title.casefold(): sheet for sheet in comparison.sheets.values()}
        self._grids: dict[str, Grid] = {}
        self._tables: dict[str, list[KeyedTable]] = {}

    def _grid(self, title: str) -> Grid:
        if title not in self._grids:
            plan = self._comparison.sheets[title].plan
            self._grids[title] = Grid(title, {p: c.content for p, c in plan.cells.items() if c.content is not None})
        return self._grids[title]

    def tables(self, title: str) -> list[KeyedTable]:
        """The tables of a catalogue sheet, as they were laid out."""
        if title not in self._tables:
            self._tables[title] = list(keyed_tables(self._grid(title)))
        return self._tables[title]

    @cached_property
    def keys(self) -> dict[int, str]:
        """The quantities of the sheet Analysis by row."""
        return {row: key for key, row in self.rows.items()}

    @cached_property
    def rows(self) -> dict[str, int]:
        """The rows of the sheet Analysis by quantity."""
        grid = self._grid(MODEL_SHEET)
        _, column = grid.find("Key")[0]
        return {key: row for row, key in grid.column(column) if key in analysis.quantities}

    @cached_property
    def strategies(self) -> dict[int, str]:
        """The strategies by column, as they are called now."""
        sheet, grid = self._comparison.sheets[MODEL_SHEET], self._grid(MODEL_SHEET)
        head, _ = grid.find("Key")[0]
        found = {}
        for column, name in grid.row(head):
            if sheet.plan.cells[head, column].style == "name":
                now = sheet.rows.now.get(head, 0), sheet.columns.now.get(column, 0)
                found[column] = str(sheet.cells.get(now) or name)
        return found

    def of(self, title: str, place: Position) -> Named:
        """What the plan has in a place."""
        row, column = place
        if title == MODEL_SHEET and row in self.keys and column in self.strategies:
            key = self.keys[row]
            return Named(key, self.strategies[column], analysis[key].unit)
        cell = self._comparison.sheets[title].plan.cells.get(place)  # none where a formula points to an empty cell
        if cell is not None and cell.style == "name":
            return Named("strategy", self.strategies.get(column, ""), "text")
        if title in CATALOGUES:
            for table in self.tables(title):
                if table.key_row < row < table.end:
                    return self._of_table(table, place)
        if title == measured.TITLE and (named := self._of_curve(place)):
            return named
        key = self._label(title, place)
        if title == CONSTANTS and key in analysis.quantities:
            return Named(key, "", analysis[key].unit)
        head = self._head(title, place)
        unit = analysis[key].unit if key in analysis.quantities else ""
        return Named(", ".join(dict.fromkeys(filter(None, (key, head)))) or f"{letter(column)}{row}", "", unit)

    def _of_table(self, table: KeyedTable, place: Position) -> Named:
        row, column = place
        name = table.rows.get(row, f"row {row}")
        key = next((key for key, number in table.columns.items() if number == column), "")
        if key in analysis.quantities:
            return Named(f"{table.title}.{key}", name, analysis[key].unit)
        head = next((str(head) for head, number in table.heads.items() if number == column), key)
        return Named(f"{table.title}.{key or head}", name)

    def _of_curve(self, place: Position) -> Named | None:
        """A point of a measured curve, or where it is read."""
        row = place[0]
        cells = self._comparison.sheets[measured.TITLE].plan.cells
        top = max((head for head, _ in self._grid(measured.TITLE).find(measured.READ_AT) if head < row), default=None)
        head = self._head(measured.TITLE, place)
        if top is None or head not in (*measured.HEADS, *measured.POINT_HEADS):
            return None
        device, key = (shown(cells[top + 2, measured.HEADS.index(what) + 1].content) for what in measured.HEADS[:2])
        unit = analysis[str(key)].unit
        is_size = head in (measured.READ_AT, measured.SIZE, measured.STEP)
        return Named(f"{key}, {head}", str(device), unit.removesuffix("/s") if is_size else unit)

    def _label(self, title: str, place: Position) -> str:
        """The nearest label or key to the left, or the first text of the row."""
        row, column = place
        cells = self._comparison.sheets[title].plan.cells
        for left in range(column, 0, -1):
            cell = cells.get((row, left))
            if cell is not None and cell.style in LABELS and isinstance(cell.content, str):
                return cell.content
        texts = (content for _, content in self._grid(title).row(row) if isinstance(content, str))
        return next(texts, "")[:60]

    def _head(self, title: str, place: Position) -> str:
        """The nearest head above."""
        row, column = place
        cells = self._comparison.sheets[title].plan.cells
        above = (cells.get((number, column)) for number in range(row - 1, 0, -1))
        heads = (cell.content for cell in above if cell is not None and cell.style == "header")
        return str(next(heads, None) or "")

    # References, where they point to now

    def in_names(self, title: str, now: Position, text: str) -> str:
        """A formula that stands in a sheet of the plan, with names in place of references."""
        return renamed(text, lambda target: self._reference(title, now, target))

    def as_planned(self, title: str, place: Position, text: str) -> str:
        """A formula of the plan, with names in place of references."""
        return renamed(text, lambda target: self._original(title, place, target))

    def _reference(self, own: str, now: Position, target: Target) -> str | None:
        home = self._comparison.sheets[own]
        sheet = self._by_title.get((target.sheet or home.title).casefold())
        if sheet is None:
            return None
        ends = sheet.origin(*target.first), sheet.origin(*target.last)
        if ends[0] is None or ends[1] is None:
            return None
        place = home.origin(*now)
        return self._name(sheet, own, ends[0], ends[1], place[1] if place else 0)

    def _original(self, own: str, place: Position, target: Target) -> str | None:
        sheet = self._comparison.sheets.get(target.sheet or own)
        return None if sheet is None else self._name(sheet, own, target.first, target.last, place[1])

    def _name(self, sheet: ComparedSheet, own: str, first: Position, last: Position, column: int) -> str | None:
        title = sheet.plan.title
        if title == MODEL_SHEET:
            return self._of_analysis(first, last, column if own == MODEL_SHEET else 0)
        if title in CATALOGUES:
            for table in self.tables(title):
                key = next((key for key, number in table.columns.items() if number == first[1] == last[1]), None)
                if key and table.key_row < first[0] <= last[0] < table.end:
                    return f"{table.title}.{key}" + (f" of '{table.rows.get(first[0])}'" if first == last else "")
        if first != last:
            return None
        named = self.of(title, first)
        return named.quantity if title in (CONSTANTS, own) else f"[{title}: {named.quantity}]"

    def _of_analysis(self, first: Position, last: Position, column: int) -> str | None:
        top, bottom = self.keys.get(first[0]), self.keys.get(last[0])
        if top is None or bottom is None:
            return None
        spans = {(members[0], members[-1]): series for series, members in analysis.series.items()}
        name = top if top == bottom else spans.get((top, bottom), f"{top} to {bottom}")
        if first[1] != last[1]:
            return f"{name} of all strategies"
        if first[1] == column:
            return name
        return f"{name} of '{self.strategies[first[1]]}'" if first[1] in self.strategies else None


def is_input(cell: Cell) -> bool:
    """Whether a cell is for the user to fill."""
    return cell.style in ("input", "name")


def shown(value: Any) -> Any:
    """A value of a plan or a file as a finding tells it."""
    return getattr(value, "value", value)
