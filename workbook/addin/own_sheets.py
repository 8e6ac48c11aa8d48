"""Sheets that the add-in writes into an open workbook: they are its own, and it never touches another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyxl.errors import UserError

if TYPE_CHECKING:
    import xlwings as xw

POINTS = 5.6  # of a character of the usual font
OWNER = "Written by solbook, anew each time: what you type here is lost."


def own_sheet(book: xw.Book, title: str, *, keep: bool = False) -> xw.Sheet:
    """A sheet of ours, at the end, empty unless we `keep` what is on it; under another title where that is taken."""
    names = {sheet.name.casefold(): sheet for sheet in book.sheets}
    for candidate in (title, f"{title} (solbook)"):
        sheet = names.get(candidate.casefold())
        if sheet is None:
            try:
                return book.sheets.add(candidate, after=book.sheets[-1])
            except Exception as error:  # each spreadsheet has its own
                raise UserError(f"{book.name} takes no new sheet: is its structure protected? ({error})") from error
        if _is_ours(sheet):
            try:
                if not keep:
                    sheet.clear()
            except Exception as error:
                raise UserError(f"cannot write to the sheet '{candidate}': is it protected? ({error})") from error
            return sheet
    raise UserError(f"{book.name} has sheets '{title}' and '{title} (solbook)' that are not ours: rename one")


def other_sheets(book: xw.Book) -> list[xw.Sheet]:
    """The sheets that the add-in did not write."""
    return [sheet for sheet in book.sheets if not _is_ours(sheet)]


def _is_ours(sheet: xw.Sheet) -> bool:
    return bool(sheet["A2"].value == OWNER)


def head(sheet: xw.Sheet, heading: str, widths: Sequence[float]) -> None:
    """The first two rows of a sheet of ours, and the widths of its columns, after which rows take their heights."""
    unit = POINTS if sheet.book.app.engine.type == "remote" else 1  # in the browser, widths are in points
    for column, width in enumerate(widths, start=1):
        sheet.range((1, column)).column_width = width * unit
    sheet["A1"].value = heading
    sheet["A1"].font.bold = True
    sheet["A1"].font.size = 16
    sheet["A2"].value = OWNER
    sheet["A2"].font.italic = True


def as_text(value: Any) -> Any:
    """A value as a cell takes it: no text is taken for a formula, and one that begins with ' keeps that."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "'", "+", "-", "@")) else value
