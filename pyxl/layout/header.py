"""The head of every sheet: its title, what it is for, and the master check."""

from __future__ import annotations

from pyxl.plan import Formula, Highlight, Sheet

FIRST_ROW = 4  # the first row below the head


def start(title: str, heading: str, purpose: str, master: Formula | None) -> Sheet:
    """A new sheet with its head."""
    sheet = Sheet(title)
    sheet.put(1, 1, heading, "title")
    sheet.put(2, 1, purpose, "note")
    sheet.heights[1] = 24
    if master is not None:
        sheet.put(3, 1, "Master check", "label")
        sheet.put(3, 2, master, "check")
        sheet.highlights.extend(check_highlights("B3"))
    return sheet


def check_highlights(cells: str) -> list[Highlight]:
    """Green for OK, red for anything else that is not empty."""
    first = cells.partition(":")[0]
    return [
        Highlight(cells, f'AND({first}<>"OK",{first}<>"")', "failed"),
        Highlight(cells, f'{first}="OK"', "passed"),
    ]
