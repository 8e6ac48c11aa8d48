"""The sheet of a model: one row per quantity, one column per strategy.

Every row has one formula, the same along the row: a reference is in the formula's own column or goes to a
catalogue. So a column copied into the next free slot is a new strategy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

from pyxl.cells import letter
from pyxl.layout.header import FIRST_ROW, check_highlights
from pyxl.plan import Formula, Highlight, Reference, Sheet, Validation
from pyxl.quantity import Kind, Model, Quantity
from pyxl.readings.formula import formula
from pyxl.readings.words import words
from pyxl.style import number_format

KEY, LABEL, UNIT, WORDS, SOURCE, NOTE, FIRST_SLOT = range(1, 8)
SLOTS = 16
SPARE_SLOTS = 4
MARGIN = 8
HEADER_ROW = FIRST_ROW
_COLUMN = "\x00"  # stands for the letters of the formula's own column until they are known

CELL_STYLES = {
    Kind.INPUT: "input",
    Kind.LOOKUP: "look-up",
    Kind.CALCULATION: "calculation",
    Kind.CHECK: "check",
}


@dataclass(frozen=True)
class ModelSheet:
    """A laid-out model: where its rows are, and each row's formula for any column."""

    sheet: Sheet
    rows: Mapping[str, int]
    templates: Mapping[str, str]
    slots: int

    def formula(self, name: str, column: int) -> str:
        """The formula of a quantity in a column."""
        return self.templates[name].replace(_COLUMN, letter(column))

    def head(self, slot: int) -> str:
        """The address of the name in a slot from 0."""
        return self.sheet.address(HEADER_ROW, FIRST_SLOT + slot)

    def across(self, name: str, values: Iterable[Any]) -> Reference:
        """A quantity over all slots, and some columns behind them: users delete columns, and overlook the last slot."""
        row = HEADER_ROW if name == "strategy" else self.rows[name]
        width = self.slots + MARGIN
        cells = self.sheet.range((row, FIRST_SLOT), (row, FIRST_SLOT + width - 1))
        return Reference(cells, tuple(islice(chain(values, repeat(None)), width)))


def _section_rows(model: Model, constants: str) -> tuple[dict[str, int], dict[str, int]]:
    rows: dict[str, int] = {}
    titles: dict[str, int] = {}
    row = HEADER_ROW + 1
    for title, quantities in model.sections().items():
        if title == constants:
            continue
        titles[title] = row
        for quantity in quantities:
            row += 1
            rows[quantity.name] = row
        row += 2
    return rows, titles


def lay_out(
    sheet: Sheet,
    model: Model,
    strategies: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]],
    catalogue: Mapping[str, Reference],
    results: Sequence[str],
    constants: str = "Constants",
) -> ModelSheet:
    """Lay out a model on a sheet.

    `strategies` gives, by name, the inputs as typed and the computed values; `catalogue` places constants and
    table columns; `results` names the quantities to show as headline results.
    """
    slots = max(SLOTS, len(strategies) + SPARE_SLOTS)
    rows, titles = _section_rows(model, constants)

    def address(name: str) -> str:
        if name in catalogue:
            return catalogue[name].address
        members = model.series.get(name)
        if members:
            return f"{_COLUMN}{rows[members[0]]}:{_COLUMN}{rows[members[-1]]}"
        return f"{_COLUMN}{rows[name]}"

    templates = {
        name: formula(model[name].expression, address)  # type: ignore[arg-type]
        for name in rows
        if model[name].expression is not None
    }
    laid_out = ModelSheet(sheet, rows, templates, slots)
    _head(sheet, strategies, slots)
    for title, row in titles.items():
        for column in range(1, FIRST_SLOT + slots):
            sheet.put(row, column, title if column == 1 else None, "section")
    for name, row in rows.items():
        _describe(sheet, row, model[name])
        _validate(sheet, row, model[name], catalogue, slots)
        style = "result" if name in results else CELL_STYLES[model[name].kind]
        style = "word" if style == "calculation" and model[name].unit == "text" else style
        shown = number_format(model[name].unit, model[name].number_format)
        for column, (inputs, values) in enumerate(strategies.values(), start=FIRST_SLOT):
            typed = name in inputs or name not in templates
            content = inputs.get(name, values[name]) if typed else Formula(laid_out.formula(name, column), values[name])
            sheet.put(row, column, content, style, shown)
    _highlight(sheet, model, rows, slots)
    return laid_out


def _head(sheet: Sheet, strategies: Mapping[str, Any], slots: int) -> None:
    sheet.put_row(HEADER_ROW, 1, ["Key", "Quantity", "Unit", "Formula in words", "Source", "Note"], "header")
    names = list(strategies)
    for slot in range(slots):
        sheet.put(HEADER_ROW, FIRST_SLOT + slot, names[slot] if slot < len(names) else None, "name")
        sheet.widths[FIRST_SLOT + slot] = 25
    sheet.free_columns = range(FIRST_SLOT + len(names), FIRST_SLOT + slots)
    sheet.heights[HEADER_ROW] = 44
    sheet.widths.update({KEY: 40, LABEL: 42, UNIT: 15, WORDS: 60, SOURCE: 40, NOTE: 60})
    sheet.folded_columns = (WORDS, NOTE)
    sheet.freeze = f"{letter(WORDS)}{HEADER_ROW + 1}"
    sheet.title_rows = (1, HEADER_ROW)


def _describe(sheet: Sheet, row: int, quantity: Quantity) -> None:
    sheet.put(row, KEY, quantity.name, "key")
    sheet.put(row, LABEL, quantity.label, "label")
    sheet.put(row, UNIT, quantity.unit, "note")
    spelled = words(quantity.expression) if quantity.expression is not None else "input"
    sheet.put(row, WORDS, spelled, "words")
    sheet.put(row, SOURCE, quantity.source or None, "note")
    sheet.put(row, NOTE, quantity.note, "note")


def _slot_cells(first: int, last: int, slots: int) -> str:
    return f"{letter(FIRST_SLOT)}{first}:{letter(FIRST_SLOT + slots - 1)}{last}"


def _validate(sheet: Sheet, row: int, quantity: Quantity, catalogue: Mapping[str, Reference], slots: int) -> None:
    if quantity.kind is not Kind.INPUT:
        return
    allowed = catalogue[f"{quantity.choices}.name"].address if quantity.choices else ""
    sheet.validations.append(Validation(_slot_cells(row, row, slots), allowed, quantity.label, quantity.note))


def _highlight(sheet: Sheet, model: Model, rows: Mapping[str, int], slots: int) -> None:
    """A typed-over look-up or calculation is seen at once, as is a failed check.

    ISFORMULA stands in conditional formats only: no cell's value depends on it.
    """
    kinds: dict[Kind, list[int]] = {}
    for name, row in rows.items():
        kinds.setdefault(model[name].kind, []).append(row)
    styles = {Kind.LOOKUP: "override", Kind.CALCULATION: "overwritten", Kind.CHECK: "overwritten"}
    for kind, style in styles.items():
        for first, last in _runs(kinds.get(kind, [])):
            cell = f"{letter(FIRST_SLOT)}{first}"
            typed_over = f'AND(NOT(_xlfn.ISFORMULA({cell})),{cell}<>"")'
            sheet.highlights.append(Highlight(_slot_cells(first, last, slots), typed_over, style))
    for first, last in _runs(kinds.get(Kind.CHECK, [])):
        sheet.highlights.extend(check_highlights(_slot_cells(first, last, slots)))


def _runs(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Consecutive rows as (first, last)."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        if runs and runs[-1][1] == row - 1:
            runs[-1] = (runs[-1][0], row)
        else:
            runs.append((row, row))
    return runs
