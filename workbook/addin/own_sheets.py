"""Sheets that the add-in writes into an open workbook: they are its own, and it never touches another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyxl.errors import UserError

if TYPE_CHECKING:
    import xlwings as xw

OWNER = "Written by solbook, anew each time: what you type here is lost."


def own_sheet(book: xw.Book, title: str) -> xw.Sheet:
    """An empty sheet of ours, at the end; under another title where somebody has a sheet of that name."""
    names = {sheet.name.casefold(): sheet for sheet in book.sheets}
    for candidate in (title, f"{title} (solbook)"):
        sheet = names.get(candidate.casefold())
        if sheet is None:
            try:
                return book.sheets.add(candidate, after=book.sheets[-1])
            except Exception as error:  # each spreadsheet has its own
                raise UserError(f"{book.name} takes no new sheet: is its structure protected? ({error})") from error
        if sheet["A2"].value == OWNER:
            try:
                sheet.clear()
            except Exception as error:
                raise UserError(f"cannot write to the sheet '{candidate}': is it protected? ({error})") from error
            return sheet
    raise UserError(f"{book.name} has sheets '{title}' and '{title} (solbook)' that are not ours: rename one")


def head(sheet: xw.Sheet, heading: str) -> None:
    """The first two rows of a sheet of ours."""
    sheet["A1"].value = heading
    sheet["A1"].font.bold = True
    sheet["A1"].font.size = 16
    sheet["A2"].value = OWNER
    sheet["A2"].font.italic = True
