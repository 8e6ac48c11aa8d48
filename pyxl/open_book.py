"""Reads a workbook that is open in a spreadsheet, through xlwings: what its cells hold and what they show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyxl.cells import Formula, Place, Value, letter, plain

if TYPE_CHECKING:
    import xlwings as xw

Formulas = Mapping[str, Sequence[Sequence[Any]]]


def sheet_titles(book: xw.Book) -> list[str]:
    """The titles of all sheets."""
    return [sheet.name for sheet in book.sheets]


def _table(content: Any) -> Sequence[Sequence[Any]]:
    """The contents of a range, which is no table where it is one cell, or one row."""
    if not isinstance(content, tuple | list):
        return ((content,),)
    return content if content and isinstance(content[0], tuple | list) else (content,)


def read(
    book: xw.Book, titles: Iterable[str], formulas: Formulas | None = None
) -> tuple[dict[Place, Any], dict[Place, Value]]:
    """Of the sheets with these titles: what each cell that is not empty holds, a `Formula` or a value, and its value.

    An error is its text, such as "#DIV/0!". Where a spreadsheet gives formulas only to be waited for, as the one in the
    browser does, the caller hands in those of each sheet's used range.
    """
    held: dict[Place, Any] = {}
    shown: dict[Place, Value] = {}
    sheets = {sheet.name: sheet for sheet in book.sheets}  # looking one up by its title takes milliseconds
    for title in titles:
        if title in sheets:
            used = sheets[title].used_range
            top, left = used.row, used.column
            values = used.options(ndim=2, err_to_str=True).value
            texts = _table(used.formula if formulas is None else formulas[title])
            for row, (line, written) in enumerate(zip(values, texts, strict=True), start=top):
                for column, (value, text) in enumerate(zip(line, written, strict=True), start=left):
                    if value is None and not text:
                        continue
                    place = title, f"{letter(column)}{row}"
                    shown[place] = "" if value is None else plain(value)
                    # A text may begin with = as well: it is what it shows.
                    is_formula = isinstance(text, str) and text.startswith("=") and text != value
                    held[place] = Formula(text) if is_formula else plain(value)
    return held, shown
