"""Export: a strategy's column becomes a study file, so that work done by hand in cells is not lost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pyxl.cells import Formula, coordinates
from pyxl.errors import UserError
from pyxl.open_book import Formulas
from pyxl.quantity import Kind
from workbook.addin.opened import Opened, opened
from workbook.analysis import analysis
from workbook.file_inputs import CATALOGUES, CONSTANTS, MODEL_SHEET
from workbook.file_study import study_of
from workbook.problems import problems
from workbook.study import LONGEST_TITLE, load
from workbook.study_text import study_text

if TYPE_CHECKING:
    import xlwings as xw

LONGEST_STEM = 60


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
    description = f"Written by the add-in's Export from the sheet {MODEL_SHEET}."
    title = f"{name}, exported from {read.book.name}"[:LONGEST_TITLE]
    study = study_of(read.inputs, read.shown, title, description, [name])
    try:
        target.write_text(study_text(study), encoding="utf-8")
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
