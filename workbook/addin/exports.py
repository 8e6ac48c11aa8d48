"""Export: a strategy's column becomes a study file, so that work done by hand in cells is not lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyxl import reader
from pyxl.cells import Formula, coordinates
from pyxl.errors import MissingProgram, UserError
from pyxl.open_book import Formulas
from pyxl.quantity import Kind
from workbook import catalogue
from workbook.addin.opened import Opened, opened
from workbook.addin.problems import problems
from workbook.analysis import analysis
from workbook.catalogue import HARDWARE, KINDS, MODELS, Table
from workbook.comparison import agree
from workbook.file_inputs import CATALOGUES, CONSTANTS, MODEL_SHEET
from workbook.sheets import measured
from workbook.sheets.measured import READ_AT, TITLE, Read
from workbook.study import load

if TYPE_CHECKING:
    import xlwings as xw

LONGEST_STEM = 60
IN_STUDIES = {HARDWARE: "hardware", MODELS: "models"}


def export(
    book: xw.Book, path: str | Path | None = None, strategy: str | None = None, formulas: Formulas | None = None
) -> Path:
    """Write a strategy (None: the one at the cursor) to a study file, and return its path (None: beside the workbook).

    Catalogue rows that the strategy uses and that do not ship with solbook, or were edited, go into the file too, as do
    constants that were changed. Raises `UserError` where an input is not understood, or the file exists.
    """
    read = opened(book, formulas)
    name = strategy or read.selected_strategy()
    if name not in read.inputs.strategies:
        raise UserError(f"there is no strategy '{name}': there are {', '.join(read.inputs.strategies)}")
    _require_sense(read, name)
    target = Path(path) if path else _free_path(book, name)
    if target.exists():
        raise UserError(f"{target} exists: give another name")
    text = study_text(read, name)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror}") from error
    try:
        load(str(target)).require_valid()
    except UserError:
        target.unlink()
        raise
    return target


def _require_sense(read: Opened, name: str) -> None:
    """Raise `UserError` for the first input of a strategy that a study cannot say."""
    rows, shared = read.inputs.rows, {CONSTANTS, *CATALOGUES}
    for (sheet, cell), why in problems(read).items():
        if sheet in shared or coordinates(cell)[1] == rows.columns[name]:
            raise UserError(f"{sheet}!{cell}: {why}")
    for quantity in analysis:
        key, calculated = quantity.name, quantity.kind in (Kind.CALCULATION, Kind.CHECK)
        if quantity.kind is not Kind.CONSTANT and key not in rows.rows:
            raise UserError(f"the sheet {MODEL_SHEET} lacks the row {key}: a study has no way to say that")
        if key not in rows.rows:
            continue
        content, (sheet, cell) = rows.content(key, name), rows.place(key, name)
        typed_over = calculated and not isinstance(content, Formula)
        if typed_over or (quantity.kind is not Kind.INPUT and content is None) or read.located.is_changed(key, name):
            advice = "bring the formula back, or type a value over a look-up"
            raise UserError(f"{sheet}!{cell}: the formula of {key} was changed, which no study can say: {advice}")


def _free_path(book: xw.Book, name: str) -> Path:
    stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:LONGEST_STEM] or "strategy"
    folder = Path(book.fullname).parent
    numbered = (folder / (f"{stem}.toml" if number == 1 else f"{stem}-{number}.toml") for number in range(1, 1000))
    return next(path for path in numbered if not path.exists())


def study_text(read: Opened, name: str) -> str:
    """The study file of one strategy."""
    try:
        import tomlkit
    except ModuleNotFoundError as error:
        raise MissingProgram("exporting needs the package tomlkit: pip install tomlkit") from error

    common = {key: value for key, value in read.inputs.constants.items() if not agree(value, analysis[key].value)}
    content: dict[str, Any] = {
        "title": f"{name}, exported from {read.book.name}"[:200],
        "description": f"Written by the add-in's Export from the sheet {MODEL_SHEET}.",
        "common": common,
        "strategies": {name: _inputs(read, name)},
        **_own_rows(read, name),
    }
    return tomlkit.dumps({key: value for key, value in content.items() if value})


def _inputs(read: Opened, name: str) -> dict[str, Any]:
    """Every input that is not empty, and every look-up that was typed over."""
    rows = read.inputs.rows
    typed = read.inputs.strategies[name]
    return {key: value for key, value in typed.items() if rows.content(key, name) is not None}


def _own_rows(read: Opened, name: str) -> dict[str, Any]:
    """Catalogue rows in use that are not as they ship, as `workbook.catalogue.own_tables` reads them."""
    shipped = {table.name: table for table in catalogue.shipped()}
    found: dict[str, Any] = {}
    for sheet in CATALOGUES:
        for placed in reader.keyed_tables(read.sheets[sheet]):
            if placed.title not in shipped:
                continue
            for line, row_name in placed.rows.items():
                if row_name.casefold() in _used(read, name, placed.title):
                    own = _own_row(read, placed, line, shipped[placed.title], row_name)
                    if own is not None:
                        place = found.setdefault(IN_STUDIES.get(placed.title, "choices"), {})
                        if placed.title not in IN_STUDIES:
                            place = place.setdefault(placed.title, {})
                        place[row_name] = own
    return found


def _used(read: Opened, name: str, table: str) -> set[str]:
    """The names of a table's rows that a strategy uses."""
    rows, values = read.inputs.rows, read.inputs.strategies[name]
    keys = [quantity.name for quantity in analysis if quantity.choices == table]
    return {str(values.get(key, read.shown.get(rows.place(key, name)))).casefold() for key in keys if key in rows.rows}


def _own_row(read: Opened, placed: reader.KeyedTable, line: int, shipped: Table, name: str) -> dict[str, Any] | None:
    """A row as a study file has it, or None where it ships with the same values."""
    values = {
        key: reader.value_at(placed.grid, line, placed.columns[key], read.shown)
        for key in shipped.columns
        if key in placed.columns
    }
    same = next((row for row in shipped.rows if row["name"].casefold() == name.casefold()), None)
    if same is not None and all(agree(values.get(key), same[key]) for key in shipped.columns):
        return None
    if placed.title == HARDWARE:
        numbers = {key: value for key, value in values.items() if value is not None}
        own: dict[str, Any] = {
            key: {"value": value, "unit": analysis[key].unit}
            | _provenance(placed.source(line, analysis[key].label), value, same and same[key])
            for key, value in numbers.items()
        }
        linked = {key for key in numbers if isinstance(placed.grid.cells[line, placed.columns[key]], Formula)}
        curves = [
            {"number": curve.key, "read_at": curve.values[READ_AT], "points": curve.points}
            | _provenance(curve.source, numbers[curve.key], same and same[curve.key])
            for curve in _curves(read)
            if curve.device.casefold() == name.casefold() and curve.key in linked
        ]
        return own | ({"curve": curves} if curves else {})
    empty = {key: "" if analysis[key].unit == "text" else 0 for key in values}
    filled = {key: empty[key] if value is None else value for key, value in values.items()}
    return filled | {"source": placed.source(line) or f"the workbook {read.book.name}"}


def _curves(read: Opened) -> Iterator[Read]:
    return measured.read(read.sheets[TITLE], read.shown) if TITLE in read.sheets else iter(())


def _provenance(written: str, value: Any, shipped: Any) -> dict[str, str]:
    """Kind and source of a number: one that was typed over a shipped one has lost its source."""
    kind, separator, source = written.partition(": ")
    if separator and kind in KINDS and (shipped is None or agree(value, shipped)):
        return {"kind": kind, "source": source}
    return {"kind": "assumed", "source": f"typed into the workbook{f', in place of {written}' if written else ''}"}
