"""The head of every sheet: its title, what it is for, and the master check."""

from __future__ import annotations

from pyxl.cells import letter
from pyxl.plan import Formula, Highlight, Sheet

FIRST_ROW = 4  # the first row below the head
MASTER = (3, 2)


def start(title: str, heading: str, purpose: str) -> Sheet:
    """A new sheet with its head."""
    sheet = Sheet(title)
    sheet.put(1, 1, heading, "title")
    sheet.put(2, 1, purpose, "note")
    sheet.heights[1] = 24
    return sheet


def show_master(sheet: Sheet, master: Formula, computed_on: Sheet) -> None:
    """Show the master check in the head of a sheet: the formula itself where it is computed, else a link to it."""
    row, column = MASTER
    own = sheet is computed_on
    sheet.put(row, 1, "Master check", "label")
    sheet.put(row, column, master if own else Formula(computed_on.address(row, column), master.value), "check")
    sheet.highlights.extend(check_highlights(f"{letter(column)}{row}"))


def check_highlights(cells: str) -> list[Highlight]:
    """Green for OK, red for anything else that is not empty."""
    first = cells.partition(":")[0]
    return [
        Highlight(cells, f'IF(ISERROR({first}),TRUE,AND({first}<>"OK",{first}<>""))', "failed"),
        Highlight(cells, f'{first}="OK"', "passed"),
    ]
