"""The sheet Engine: what the workbook's formulas give beside what Python computes, and messages of the add-in."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyxl.quantity import Failure
from pyxl.readings.number import OK
from pyxl.style import fill
from workbook import __version__
from workbook.addin.own_sheets import as_text, head, own_sheet
from workbook.analysis import analysis

if TYPE_CHECKING:
    import xlwings as xw

    from workbook.addin.recomputation import Line, Recomputation

TITLE = "Engine"
HEADING = "Python engine"
HEADS = (
    "Sheet",
    "Cell",
    "Strategy or row",
    "Quantity",
    "Unit",
    "In the workbook",
    "In Python",
    "Relative",
    "Verdict",
    "Why",
)
VERDICT_COLUMN = HEADS.index("Verdict") + 1
WIDTHS = (12, 8, 46, 40, 12, 22, 22, 11, 22, 120)
MESSAGE = (3, 1)  # what an action said last
FIRST_REMARK = 4
MOST_CAUSES = 500
UNCOMPARED = ("input", "input not understood")


def write(book: xw.Book, found: Recomputation) -> None:
    """Write the sheet anew: the verdict, what is to be mended, and every value."""
    sheet = own_sheet(book, TITLE)
    head(sheet, HEADING, WIDTHS)
    now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    said = [
        f"{len(found.lines):,} values compared by solbook {__version__} on {now}.",
        *found.remarks,
        "All agree." if found.verdict == OK else found.verdict.partition(":")[0] + ".",
    ]
    sheet.range((FIRST_REMARK, 1), (FIRST_REMARK + len(said) - 1, 1)).value = [[line] for line in said]
    verdict = sheet.range((FIRST_REMARK + len(said) - 1, 1))
    verdict.font.bold = True
    verdict.color = fill("passed" if found.verdict == OK else "bad")
    row = FIRST_REMARK + len(said) + 1
    if found.causes:
        causes = found.causes[:MOST_CAUSES]
        sheet.range((row + 2, len(HEADS)), (row + 1 + len(causes), len(HEADS))).wrap_text = True
        more = len(found.causes) - len(causes)
        row = _table(sheet, row, f"To mend{f' ({more:,} more below)' if more else ''}", causes) + 1
    _table(sheet, row, "Every value", found.lines)
    sheet.activate()


def write_message(book: xw.Book, message: str, *, show: bool) -> None:
    """Write a message above the comparison; `show` the sheet, or leave the user where they are."""
    before = book.sheets.active
    sheet = own_sheet(book, TITLE, keep=True)
    if sheet["A1"].value != HEADING:
        head(sheet, HEADING, WIDTHS)
    cell = sheet.range(MESSAGE)
    cell.value = as_text(" ".join(message.split("\n")))
    cell.color = fill("bad" if show else "passed")
    (sheet if show else before).activate()


def _table(sheet: xw.Sheet, row: int, title: str, lines: tuple[Line, ...]) -> int:
    """Write a table under its title; returns the row behind it."""
    sheet.range((row, 1)).value = title
    sheet.range((row, 1)).font.bold = True
    heads = sheet.range((row + 1, 1), (row + 1, len(HEADS)))
    heads.value = [list(HEADS)]
    heads.font.bold = True
    heads.color = fill("header")
    first, last = row + 2, row + 1 + len(lines)
    sheet.range((first, 1), (last, len(HEADS))).value = [_cells(line) for line in lines]
    sheet.range((first, HEADS.index("Relative") + 1), (last, HEADS.index("Relative") + 1)).number_format = "0.0E+00"
    start = first
    for number, line in enumerate(lines, start=first):  # runs of one colour, each painted at once
        following = lines[number - first + 1] if number < last else None
        if following is None or following.is_fine != line.is_fine:
            painted = sheet.range((start, VERDICT_COLUMN), (number, VERDICT_COLUMN))
            painted.color = fill("passed" if line.is_fine else "bad")
            start = number + 1
    return last + 1


def _cells(line: Line) -> list[Any]:
    difference = line.difference
    quantity = analysis.quantities.get(difference.quantity)
    return [
        difference.sheet,
        difference.cell,
        as_text(difference.strategy),
        difference.quantity,
        quantity.unit if quantity else "",
        _shown(difference.found),
        _shown(difference.expected),
        "" if line.verdict in UNCOMPARED else _relative(difference.found, difference.expected),
        line.verdict,
        as_text(difference.why),
    ]


def _shown(value: Any) -> Any:
    if isinstance(value, Failure):
        return value.code
    return "" if value is None else as_text(value)


def _relative(found: Any, expected: Any) -> Any:
    if isinstance(found, str | bool | None) or not isinstance(expected, int | float):
        return ""
    scale = max(abs(found), abs(expected))
    return abs(found - expected) / scale if scale else 0.0
