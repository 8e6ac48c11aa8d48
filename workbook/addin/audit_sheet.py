"""Audit: what was done to the open workbook since it was built, on a sheet of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyxl.open_book import Formulas, read
from pyxl.style import fill
from workbook import __version__
from workbook.addin.opened import is_manual
from workbook.addin.own_sheets import as_text, head, other_sheets, own_sheet
from workbook.contents import Contents

if TYPE_CHECKING:
    import xlwings as xw

    from workbook.audit.findings import Audit, Finding

TITLE = "Audit"
VERDICT = (3, 1)
FIRST_ROW = 6
HIDDEN, VERY_HIDDEN = 0, 2  # as Excel on Windows says it; other spreadsheets say False
SAVED_ONLY = (
    "Protection, drop-downs, hidden rows and columns, broken names, links to other files and macros are seen only in a "
    "saved file: solbook audit FILE"
)


def audit(book: xw.Book, formulas: Formulas | None = None) -> Audit:
    """Compare the workbook with what solbook lays out for its study, and write the sheet Audit.

    Raises `UserError` where it is not ours.
    """
    from workbook.audit import examine  # no other action lays a workbook out

    sheets = other_sheets(book)
    held, shown = read(book, [sheet.name for sheet in sheets], formulas)
    found = examine(Contents(held, shown), book.name, seen=_seen(book, sheets))
    _write(book, found)
    return found


def _seen(book: xw.Book, sheets: list[xw.Sheet]) -> Iterator[Finding]:
    """What the spreadsheet says of the workbook besides its cells."""
    from workbook.audit.file import hidden_sheet, manual_calculation

    for sheet in sheets:
        visible = sheet.visible
        if visible in (HIDDEN, VERY_HIDDEN):
            yield hidden_sheet(sheet.name, in_menus=visible == HIDDEN)
    if is_manual(book):
        yield manual_calculation()


def _write(book: xw.Book, found: Audit) -> None:
    from workbook.audit.table import HEADS, WIDTHS, row

    sheet = own_sheet(book, TITLE)
    head(sheet, f"Audit of {found.name}", WIDTHS)
    verdict = sheet.range(VERDICT)
    verdict.value = f"solbook {__version__}: {found.verdict}."
    verdict.font.bold = True
    verdict.color = fill("bad" if found.findings else "passed")
    sheet.range((VERDICT[0] + 1, 1)).value = SAVED_ONLY
    below = FIRST_ROW
    if found.findings:
        heads = sheet.range((FIRST_ROW, 1), (FIRST_ROW, len(HEADS)))
        heads.value = [list(HEADS)]
        heads.font.bold = True
        heads.color = fill("header")
        below = FIRST_ROW + 1 + len(found.findings)
        table = sheet.range((FIRST_ROW + 1, 1), (below - 1, len(HEADS)))
        table.horizontal_alignment = "left"
        table.wrap_text = True
        table.value = [list(map(as_text, row(finding))) for finding in found.findings]
        below += 1
    if found.remarks:
        remarks = sheet.range((below, 1), (below + len(found.remarks) - 1, 1))
        remarks.value = [[f"remark: {remark}"] for remark in found.remarks]
    sheet.activate()
