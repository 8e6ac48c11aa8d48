"""Sheets that document the others: every distinct formula once, and every source with what it supports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pyxl.cells import letter
from pyxl.layout.header import FIRST_ROW
from pyxl.layout.model_sheet import FIRST_SLOT, ModelSheet
from pyxl.operations import Expression
from pyxl.plan import Formula, Sheet
from pyxl.quantity import Model
from pyxl.readings.words import words


def lay_out_formulas(sheet: Sheet, model: Model, placed: ModelSheet, others: Iterable[Sheet]) -> None:
    """Every distinct formula once: each row of the model as its first strategy has it, then those of other sheets."""
    header = ["Sheet", "Cell", "Key", "Unit", "Formula in words", "Excel formula in that cell"]
    sheet.put_row(FIRST_ROW + 1, 1, header, "header")
    sheet.widths.update({1: 12, 2: 10, 3: 42, 4: 16, 5: 100, 6: 100})
    sheet.freeze = f"A{FIRST_ROW + 2}"
    sheet.title_rows = (1, FIRST_ROW + 1)
    title, column = placed.sheet.title, letter(FIRST_SLOT)
    lines = [
        (title, f"{column}{placed.rows[name]}", name, model[name].unit, model[name].expression, text)
        for name, text in ((name, placed.formula(name, FIRST_SLOT)) for name in placed.templates)
    ]
    seen = {id(quantity.expression) for quantity in model}
    for other in others:
        lines.extend((other.title, cell, "", "", expression, text) for cell, expression, text in _distinct(other, seen))
    for line, (where, cell, key, unit, expression, text) in enumerate(lines, start=FIRST_ROW + 2):
        assert expression is not None
        sheet.put(line, 1, where, "note")
        sheet.put(line, 2, cell, "note")
        sheet.put(line, 3, key or None, "key")
        sheet.put(line, 4, unit or None, "note")
        sheet.put(line, 5, words(expression), "words")
        sheet.put(line, 6, f"={text}", "words")


def _distinct(sheet: Sheet, seen: set[int]) -> Iterator[tuple[str, Expression, str]]:
    """The first cell of each expression on a sheet that was not seen before."""
    for (row, column), cell in sheet.cells.items():
        content = cell.content
        if isinstance(content, Formula) and content.expression is not None and id(content.expression) not in seen:
            seen.add(id(content.expression))
            yield f"{letter(column)}{row}", content.expression, content.text


def lay_out_sources(sheet: Sheet, uses: Iterable[tuple[str, str]]) -> None:
    """One line per source with all that it supports; `uses` pairs a source with a user of it."""
    grouped: dict[str, list[str]] = {}
    for source, user in uses:
        if source:
            grouped.setdefault(source, []).append(user)
    sheet.put_row(FIRST_ROW + 1, 1, ["Source", "Supports"], "header")
    sheet.widths.update({1: 110, 2: 110})
    sheet.freeze = f"A{FIRST_ROW + 2}"
    sheet.title_rows = (1, FIRST_ROW + 1)
    for line, source in enumerate(sorted(grouped, key=str.casefold), start=FIRST_ROW + 2):
        sheet.put(line, 1, source, "prose")
        sheet.put(line, 2, ", ".join(dict.fromkeys(grouped[source])), "prose")
        sheet.fit_height(line)


def lay_out_prose(sheet: Sheet, row: int, paragraphs: Sequence[tuple[str, str]]) -> int:
    """Pairs of a heading and a text, one under the other; returns the next free row."""
    for heading, text in paragraphs:
        sheet.put(row, 1, heading, "label")
        sheet.put(row, 2, text, "prose")
        sheet.fit_height(row)
        row += 1
    return row
