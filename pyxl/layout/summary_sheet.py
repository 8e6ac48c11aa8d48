"""The first sheet: one line per strategy slot, the headline answer, and the charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Expression, Symbol, where
from pyxl.plan import Highlight, Reference, Sheet, formula_cell
from pyxl.quantity import Model
from pyxl.style import number_format


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of the summary: a quantity of the model, or an expression over such."""

    title: str
    quantity: str
    expression: Expression | None = None


def lay_out(
    sheet: Sheet,
    row: int,
    model: Model,
    placed: ModelSheet,
    strategies: Mapping[str, Mapping[str, Any]],
    headings: Sequence[Heading],
) -> dict[str, Reference]:
    """Lay the table out from `row` on; returns its columns as references, keyed by quantity, and "strategy"."""
    names = list(strategies)
    sheet.put(row, 1, "Strategy", "header")
    sheet.widths[1] = 40
    sheet.heights[row] = 42
    columns: dict[str, list[Any]] = {"strategy": [], **{heading.quantity: [] for heading in headings}}
    for column, heading in enumerate(headings, start=2):
        sheet.put(row, column, heading.title, "header")
        sheet.widths[column] = 14
    for slot in range(placed.slots):
        line = row + 1 + slot
        name = names[slot] if slot < len(names) else ""
        values = strategies.get(name, {})

        def resolve(key: str, slot: int = slot, line: int = line, name: str = name, values: Any = values) -> Reference:
            if key == "own name":
                return Reference(f"$A{line}", name)
            return Reference(placed.slot(key, slot), name if key == "strategy" else values.get(key))

        own = formula_cell(where(Symbol("strategy") == "", "", Symbol("strategy")), resolve)
        sheet.put(line, 1, own, "result")
        columns["strategy"].append(own.value)
        for column, heading in enumerate(headings, start=2):
            quantity = model.quantities.get(heading.quantity)
            shown = heading.expression if heading.expression is not None else Symbol(heading.quantity)
            cell = formula_cell(where(Symbol("own name") == "", "", shown), resolve)
            unit_format = number_format(quantity.unit, quantity.number_format) if quantity else number_format("s")
            sheet.put(line, column, cell, "calculation", unit_format)
            columns[heading.quantity].append(cell.value)
    first, last = row + 1, row + placed.slots
    return {
        key: Reference(sheet.range((first, column), (last, column)), tuple(columns[key]))
        for column, key in enumerate(columns, start=1)
    }


def verdict_highlights(places: Mapping[str, Reference], good: Mapping[str, str]) -> list[Highlight]:
    """Green where a column shows its good word, red where it shows another."""
    rules: list[Highlight] = []
    for key, word in good.items():
        cells = places[key].address.rpartition("!")[2].replace("$", "")
        first = cells.partition(":")[0]
        rules.append(Highlight(cells, f'{first}="{word}"', "good"))
        rules.append(Highlight(cells, f'AND({first}<>"{word}",{first}<>"")', "bad"))
    return rules
