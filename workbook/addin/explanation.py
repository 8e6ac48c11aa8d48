"""Explain: what the selected cell means, on a sheet of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyxl.cells import letter
from pyxl.open_book import Formulas
from pyxl.quantity import Failure
from pyxl.style import fill
from workbook.addin.opened import opened
from workbook.addin.own_sheets import as_text, head, own_sheet
from workbook.explanation import Explanation, of_cell

if TYPE_CHECKING:
    import xlwings as xw

TITLE = "Explain"
FIRST_ROW = 4
WIDTHS = (44, 100, 22, 14, 12)
INDENT = "    "
EMPTY = [""] * len(WIDTHS)
TREE_HEAD = ["Computed from", "Quantity, and where it is from", "Value", "Unit", ""]
MOVERS_HEAD = ["Moves it most, at this point", "Quantity", "Value", "Unit", "% for 1 %"]


def explain(book: xw.Book, cell: tuple[str, str] | None = None, formulas: Formulas | None = None) -> Explanation:
    """Explain a cell (sheet and address; None: the selected one), and write it to the sheet Explain.

    Raises `UserError` for a cell that holds no quantity.
    """
    read = opened(book, formulas)
    if cell is None:
        sheet, row, column = read.cursor()
        cell = sheet, f"{letter(column)}{row}"
    found = of_cell(read, cell)
    _write(book, found)
    return found


def _write(book: xw.Book, found: Explanation) -> None:
    sheet = own_sheet(book, TITLE)
    head(sheet, found.heading, WIDTHS)
    lines: list[list[Any]] = [[name, value, "", "", ""] for name, value in found.facts.items()]
    if found.term.terms:
        lines += [EMPTY, TREE_HEAD, *_tree(found)]
    if found.movers:
        lines += [EMPTY, MOVERS_HEAD]
        lines += [[each.key, each.label, each.value, each.unit, each.elasticity] for each in found.movers]
    top, bottom = FIRST_ROW, FIRST_ROW + len(lines) - 1
    table = sheet.range((top, 1), (bottom, len(WIDTHS)))
    table.value = [list(map(as_text, line)) for line in lines]
    table.horizontal_alignment = "left"
    table.wrap_text = True
    sheet.range((top, 1), (bottom, 1)).font.bold = True
    sheet.range((top, len(WIDTHS)), (bottom, len(WIDTHS))).number_format = "+0.000;-0.000"
    for line in (line for line, content in enumerate(lines) if content in (TREE_HEAD, MOVERS_HEAD)):
        cells = sheet.range((top + line, 1), (top + line, len(WIDTHS)))
        cells.font.bold = True
        cells.color = fill("header")
    sheet.activate()


def _tree(found: Explanation) -> Iterator[list[Any]]:
    for level, term in found.below():
        value = str(term.value) if isinstance(term.value, Failure) else term.value
        yield [INDENT * level + term.key, "; ".join((term.label, *term.remarks)), value, term.unit, ""]
