"""Add hardware, add model: a further row of a catalogue, with its sources; look-ups and drop-downs cover it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyxl import reader
from pyxl.errors import UserError
from pyxl.layout.table import source_head
from pyxl.open_book import Formulas
from workbook import catalogue
from workbook.addin.opened import Opened, opened
from workbook.addin.own_sheets import as_text
from workbook.analysis import analysis
from workbook.catalogue import Table
from workbook.comparison import agree
from workbook.file_inputs import CATALOGUES

if TYPE_CHECKING:
    import xlwings as xw


def add_hardware(book: xw.Book, path: str | Path, formulas: Formulas | None = None) -> str:
    """Add the device of a hardware file to the sheet Hardware and say where. Raises `UserError` where it cannot be."""
    return _add(opened(book, formulas), catalogue.hardware_device(path))


def add_model(book: xw.Book, path: str | Path, formulas: Formulas | None = None) -> str:
    """Add the model of a Hugging Face config.json to the sheet Models. Raises `UserError` where it cannot be added."""
    return _add(opened(book, formulas), catalogue.model(path))


def _add(read: Opened, table: Table) -> str:
    return "\n".join(add_rows(read, [(table, table.rows[0]["name"])]))


def add_rows(read: Opened, wanted: Sequence[tuple[Table, str]]) -> list[str]:
    """Add rows of tables of ours to the workbook's, and say where each is; those that are there already stay.

    Raises `UserError`, before anything is written, where one has other values there or finds no free row.
    """
    said, new, taken = [], [], set[tuple[str, int]]()
    for table, name in wanted:
        placed = _placed(read, table.name)
        sheet = placed.grid.title
        line = next((line for line, present in placed.rows.items() if present.casefold() == name.casefold()), None)
        if line is None:
            line = _free_row(read, placed, taken)
            taken.add((placed.title, line))
            new.append((placed, line, table, name))
            said.append(f"'{name}' is in row {line} of the sheet {sheet}, and in the drop-downs.")
        elif all(agree(_held(read, placed, line, key), _row(table, name)[key]) for key in table.columns):
            said.append(f"'{name}' is in row {line} of the sheet {sheet} already.")
        else:
            raise UserError(f"the sheet {sheet} has '{name}' in row {line} with other values: rename one of the two")
    for placed, line, table, name in new:
        _write(read, placed, line, table, name)
    return said


def _row(table: Table, name: str) -> dict[str, Any]:
    return next(row for row in table.rows if row["name"].casefold() == name.casefold())


def _write(read: Opened, placed: reader.KeyedTable, line: int, table: Table, name: str) -> None:
    row, sheet = _row(table, name), read.book.sheets[placed.grid.title]
    contents = {column: as_text(row.get(key)) for key, column in placed.columns.items()}
    first, last = min(contents), max(contents)
    try:
        sheet.range((line, first), (line, last)).value = [[contents.get(n) for n in range(first, last + 1)]]
        for column, source in _sources(placed, table, name).items():
            sheet.range((line, column)).value = as_text(source)
    except Exception as error:  # each spreadsheet has its own
        raise UserError(f"cannot write to the sheet {placed.grid.title}: is it protected? ({error})") from error


def _held(read: Opened, placed: reader.KeyedTable, line: int, key: str) -> Any:
    column = placed.columns.get(key)
    return None if column is None else reader.value_at(placed.grid, line, column, read.shown)


def _placed(read: Opened, title: str) -> reader.KeyedTable:
    for sheet in CATALOGUES:
        for table in reader.keyed_tables(read.sheets[sheet]):
            if table.title == title:
                return table
    raise UserError(f"the workbook has no table '{title}': its title or its row of keys was changed")


def _free_row(read: Opened, placed: reader.KeyedTable, taken: Collection[tuple[str, int]]) -> int:
    """The first empty row behind the table's last one that look-ups cover and that is not taken."""
    last = read.located.last_row(placed.title)
    for row in range(max((row for row in placed.rows if row <= last), default=placed.key_row) + 1, last + 1):
        if not placed.grid.row(row) and (placed.title, row) not in taken:
            return row
    raise UserError(
        f"the table {placed.title} has no free row: insert one above row {last} of the sheet {placed.grid.title}"
    )


def _sources(placed: reader.KeyedTable, table: Table, name: str) -> dict[int, Any]:
    """Where the row's sources go: each into its own column where there is one, the others together into the last."""
    found: dict[int, Any] = {}
    others = []
    for key in (*table.columns, "name"):
        source = table.sources.get((name, key))
        column = placed.heads.get(source_head("" if key == "name" else analysis[key].label))
        if source and column:
            found[column] = source
        elif source:
            others.append(f"{key}: {source}" if key != "name" else source)
    if others:
        last = placed.heads.get(source_head(), max(placed.heads.values()) + 1)
        found[last] = "; ".join(filter(None, (found.get(last), *others)))
    return found
