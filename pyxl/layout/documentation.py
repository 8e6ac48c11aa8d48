"""Sheets that document the others: every distinct formula once, and every source with what it supports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyxl.layout.header import FIRST_ROW
from pyxl.layout.model_sheet import FIRST_SLOT, ModelSheet
from pyxl.plan import Sheet, letter
from pyxl.quantity import Model
from pyxl.readings.words import words


def lay_out_formulas(sheet: Sheet, model: Model, placed: ModelSheet) -> None:
    """One line per row of the model: its formula as the first strategy's column has it, and in words."""
    header = ["Row", "Key", "Unit", "Formula in words", f"Excel formula, column {letter(FIRST_SLOT)}"]
    sheet.put_row(FIRST_ROW + 1, 1, header, "header")
    sheet.widths.update({1: 14, 2: 44, 3: 16, 4: 100, 5: 100})
    sheet.freeze = f"A{FIRST_ROW + 2}"
    sheet.title_rows = (1, FIRST_ROW + 1)
    line = FIRST_ROW + 1
    for name in placed.templates:
        quantity = model[name]
        assert quantity.expression is not None
        line += 1
        sheet.put(line, 1, placed.rows[name], "note")
        sheet.put(line, 2, name, "key")
        sheet.put(line, 3, quantity.unit, "note")
        sheet.put(line, 4, words(quantity.expression), "words")
        sheet.put(line, 5, f"={placed.formula(name, FIRST_SLOT)}", "words")


def lay_out_sources(sheet: Sheet, uses: Iterable[tuple[str, str]]) -> None:
    """One line per source with all that it supports; `uses` pairs a source with a user of it."""
    grouped: dict[str, list[str]] = {}
    for source, user in uses:
        if source:
            grouped.setdefault(source, []).append(user)
    sheet.put_row(FIRST_ROW + 1, 1, ["Source", "Supports"], "header")
    sheet.widths.update({1: 110, 2: 110})
    sheet.freeze = f"A{FIRST_ROW + 2}"
    for line, source in enumerate(sorted(grouped, key=str.casefold), start=FIRST_ROW + 2):
        sheet.put(line, 1, source, "text")
        sheet.put(line, 2, ", ".join(dict.fromkeys(grouped[source])), "note")


def lay_out_prose(sheet: Sheet, row: int, paragraphs: Sequence[tuple[str, str]]) -> int:
    """Pairs of a heading and a text, one under the other; returns the next free row."""
    for heading, text in paragraphs:
        sheet.put(row, 1, heading, "label")
        sheet.put(row, 2, text, "prose")
        sheet.heights[row] = 15 * max(1, -(-len(text) // 125))
        row += 1
    return row
