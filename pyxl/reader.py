"""Reads a workbook of ours back by key, never by address: rows and columns may have been moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

from pyxl.cells import Formula, Place, Value, coordinates, letter, whole
from pyxl.errors import UserError
from pyxl.layout.table import source_head
from pyxl.naming import LAST_ROW


@dataclass(frozen=True)
class Grid:
    """The cells of one sheet by row and column number."""

    title: str
    cells: Mapping[tuple[int, int], Any]

    @cached_property
    def _lines(self) -> tuple[dict[int, list[tuple[int, Any]]], dict[int, list[tuple[int, Any]]]]:
        rows: dict[int, list[tuple[int, Any]]] = {}
        columns: dict[int, list[tuple[int, Any]]] = {}
        for (row, column), content in sorted(self.cells.items(), key=itemgetter(0)):
            rows.setdefault(row, []).append((column, content))
            columns.setdefault(column, []).append((row, content))
        return rows, columns

    def column(self, number: int) -> list[tuple[int, Any]]:
        """The cells of a column that are not empty, from top to bottom, as (row, content)."""
        return self._lines[1].get(number, [])

    def row(self, number: int) -> list[tuple[int, Any]]:
        """The cells of a row that are not empty, from left to right, as (column, content)."""
        return self._lines[0].get(number, [])

    def place(self, row: int, column: int) -> Place:
        """The place of a cell as evaluators name it."""
        return self.title, f"{letter(column)}{row}"

    @cached_property
    def _texts(self) -> dict[str, list[tuple[int, int]]]:
        found: dict[str, list[tuple[int, int]]] = {}
        for row, line in self._lines[0].items():
            for column, content in line:
                if isinstance(content, str):
                    found.setdefault(content, []).append((row, column))
        return found

    def find(self, text: str) -> list[tuple[int, int]]:
        """Where a text stands, from top to bottom."""
        return self._texts.get(text, [])

    def beside(self, label: str) -> tuple[int, int] | None:
        """The next content to the right of a label; None where there is none."""
        for row, column in self.find(label):
            for number, _ in self.row(row):
                if number > column:
                    return row, number
        return None

    def listed(self, key: str, value: str) -> dict[Any, tuple[int, int]]:
        """The places below the head `value`, by what stands beside them below the head `key`."""
        for row, column in self.find(key):
            beside = next((number for number, content in self.row(row) if content == value), None)
            if beside is not None:
                return {content: (line, beside) for line, content in self.column(column) if line > row}
        return {}


def grids(contents: Mapping[Place, Any]) -> dict[str, Grid]:
    """The sheets of a workbook's contents."""
    sheets: dict[str, dict[tuple[int, int], Any]] = {}
    for (title, address), content in contents.items():
        sheets.setdefault(title, {})[coordinates(address)] = content
    return {title: Grid(title, cells) for title, cells in sheets.items()}


@dataclass(frozen=True)
class ModelRows:
    """Where a model's quantities and strategies stand on its sheet."""

    grid: Grid
    head: int
    rows: Mapping[str, int]
    columns: Mapping[str, int]
    odd_columns: Mapping[int, str]  # with a name but no formulas, or with formulas but no name

    def place(self, quantity: str, strategy: str) -> Place:
        """The place of a quantity of a strategy."""
        return self.grid.place(self.rows[quantity], self.columns[strategy])

    def content(self, quantity: str, strategy: str) -> Any:
        """What the cell holds: a `Formula`, a value or None."""
        return self.grid.cells.get((self.rows[quantity], self.columns[strategy]))


def model_rows(
    sheets: Mapping[str, Grid], title: str, keys: Iterable[str], recalculated: Mapping[Place, Value]
) -> ModelRows:
    """Find keys in the column headed "Key" and strategies in the row of that head, behind the described columns.

    Raises `UserError` where the sheet is not ours.
    """
    grid = sheets.get(title)
    heads = grid.find("Key") if grid else []
    if grid is None or not heads:
        raise UserError(
            f"this is no solbook workbook: it has no sheet '{title}' with a column headed 'Key'; if one was renamed or "
            "deleted, give it its name back"
        )
    head_row, key_column = heads[0]
    wanted = set(keys)
    rows = {content: row for row, content in grid.column(key_column) if content in wanted}
    described = [column for column, content in grid.row(head_row) if content == "Note"]
    if not described:
        raise UserError(f"the sheet '{title}' has no column headed 'Note': strategies stand behind it")
    lines = set(rows.values())
    filled = {column for (row, column), content in grid.cells.items() if row in lines and isinstance(content, Formula)}
    columns: dict[str, int] = {}
    odd: dict[int, str] = {}
    named = {column for column, _ in grid.row(head_row)}
    for column in sorted(column for column in named | filled if column > described[0]):
        name = str(value_at(grid, head_row, column, recalculated) or "")
        if name.casefold() in (other.casefold() for other in columns):
            raise UserError(f"the sheet '{title}' has two strategies named '{name}': give each its own name")
        if name and column in filled:
            columns[name] = column
        else:
            odd[column] = name
    if not columns:
        raise UserError(f"the sheet '{title}' has no strategies")
    return ModelRows(grid, head_row, rows, columns, odd)


@dataclass(frozen=True)
class KeyedTable:
    """A table of a catalogue sheet: its title, the columns of its keys, and the rows of its names.

    It lies between the row of its keys and `end`, where the next table or nothing follows.
    """

    title: str
    grid: Grid
    key_row: int
    end: int
    columns: Mapping[str, int]
    rows: Mapping[int, str]

    @cached_property
    def heads(self) -> dict[Any, int]:
        """The columns by what stands above the units and keys: labels, and the heads of sources."""
        return {content: column for column, content in self.grid.row(self.key_row - 2)}

    def source(self, row: int, label: str = "") -> str:
        """The source of a row's number in the column with this label; without one, that of the row."""
        column = self.heads.get(source_head(label))
        return str(self.grid.cells.get((row, column)) or "") if column else ""

    def lines(self, recalculated: Mapping[Place, Value]) -> list[dict[str, Any]]:
        """The rows: a value (or None) per key."""
        return [
            {key: value_at(self.grid, row, column, recalculated) for key, column in self.columns.items()}
            | {"name": name}
            for row, name in self.rows.items()
        ]


def keyed_tables(grid: Grid) -> Iterator[KeyedTable]:
    """The tables of a catalogue sheet: each has a row of keys that begins with "name", two rows below its title."""
    keys = [place for place in grid.find("name") if (place[0] - 2, place[1]) in grid.cells]
    ends = [row - 2 for row, _ in keys[1:]]
    for (key_row, first), end in zip(keys, [*ends, LAST_ROW], strict=False):
        yield KeyedTable(
            str(grid.cells[key_row - 2, first]),
            grid,
            key_row,
            end,
            {str(content): column for column, content in grid.row(key_row) if column >= first},
            {row: str(whole(name)) for row, name in grid.column(first) if key_row < row < end},
        )


def value_at(grid: Grid, row: int, column: int, recalculated: Mapping[Place, Value]) -> Any:
    """The value of a cell, as recalculated where it holds a formula; whole numbers as int, None if empty."""
    content = grid.cells.get((row, column))
    return whole(recalculated.get(grid.place(row, column)) if isinstance(content, Formula) else content)
