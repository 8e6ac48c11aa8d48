"""The sheet that holds the settings of an xlwings add-in: keys in column A from the first row on, values beside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyxl.plan import Sheet


@dataclass(frozen=True)
class Setting:
    """A setting and why it has this value. A text, also for yes and no: Excel translates those of its own."""

    key: str
    value: str
    why: str


def settings_sheet(project: str, settings: Iterable[Setting]) -> Sheet:
    """The settings of an add-in, which is `xlwings` or one made after it; they go before the user's own ones."""
    sheet = Sheet(f"{project}.conf")
    sheet.widths.update({1: 34, 2: 60, 3: 100})
    for row, setting in enumerate(settings, start=1):
        sheet.put(row, 1, setting.key, "key")
        sheet.put(row, 2, setting.value, "input")
        sheet.put(row, 3, setting.why, "note")
    return sheet
