"""A table with one line per strategy slot of a model's sheet, each column a quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyxl.cells import letter
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Apply, Expression, Symbol, item, where
from pyxl.plan import Highlight, Reference, Sheet, formula_cell
from pyxl.quantity import Model
from pyxl.style import number_format

NUMBER, STRATEGY, FIRST = 1, 2, 3
INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of the summary: a quantity of the model, or an expression over such; `unit` formats the latter.

    `free` is what a free slot holds.
    """

    title: str
    quantity: str
    expression: Expression | None = None
    unit: str = "s"
    free: str | int = ""

    def shown(self, failed: str) -> Expression:
        """What a strategy's line shows: the quantity, or that its checks failed."""
        own = self.expression if self.expression is not None else Symbol(self.quantity)
        shown: Expression = own if self.quantity == failed else where(Symbol(failed) == 0, own, INVALID)
        return shown

    def link(self, failed: str) -> Expression:
        """The same for any line: taken out of its slot, and nothing in a free one."""
        link: Expression = where(Symbol("own name") == "", self.free, _in_slot(self.shown(failed)))
        return link


def lay_out(
    sheet: Sheet,
    row: int,
    model: Model,
    placed: ModelSheet,
    strategies: Mapping[str, Mapping[str, Any]],
    headings: Sequence[Heading],
    failed: str,
) -> dict[str, Reference]:
    """Lay the table out from `row` on; returns its columns as references, keyed by quantity, and "strategy".

    Where the quantity `failed` is not 0, a strategy's numbers mean nothing and its line says so.

    Each line takes the slot with its number out of a whole row of the model's sheet, so that columns may be
    inserted, moved and deleted there.
    """
    sheet.put_row(row, NUMBER, ["Slot", "Strategy", *(heading.title for heading in headings)], "header")
    sheet.heights[row] = 42
    sheet.widths.update({NUMBER: 13, STRATEGY: 40, **{FIRST + offset: 14 for offset in range(len(headings))}})
    across = _Across(placed, strategies)
    name = item(Symbol("strategy"), Symbol("slot"))
    name_link = where(name == "", "", name)
    links = [heading.link(failed) for heading in headings]
    columns: dict[str, list[Any]] = {"strategy": [], **{heading.quantity: [] for heading in headings}}
    for slot in range(1, placed.slots + 1):
        line = row + slot
        own = {"slot": Reference(f"${letter(NUMBER)}{line}", slot)}
        place = partial(_place, own, across)
        sheet.put(line, NUMBER, slot, "constant")
        cell = formula_cell(name_link, place)
        sheet.put(line, STRATEGY, cell, "result")
        own["own name"] = Reference(f"${letter(STRATEGY)}{line}", cell.value)
        columns["strategy"].append(cell.value)
        for column, (heading, link) in enumerate(zip(headings, links, strict=True), start=FIRST):
            cell = formula_cell(link, place)
            quantity = model.quantities.get(heading.quantity)
            shown = number_format(quantity.unit, quantity.number_format) if quantity else number_format(heading.unit)
            sheet.put(line, column, cell, "word" if quantity and quantity.unit == "text" else "calculation", shown)
            columns[heading.quantity].append(cell.value)
    first, last = row + 1, row + placed.slots
    return {
        key: Reference(sheet.range((first, column), (last, column)), tuple(columns[key]))
        for column, key in enumerate(columns, start=STRATEGY)
    }


class _Across(dict[str, Reference]):
    """Rows of the model's sheet over all slots, made as they are asked for."""

    def __init__(self, placed: ModelSheet, strategies: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self._placed, self._strategies = placed, strategies

    def __missing__(self, key: str) -> Reference:
        values = self._strategies if key == "strategy" else (each[key] for each in self._strategies.values())
        self[key] = self._placed.across(key, values)
        return self[key]


def _place(own: Mapping[str, Reference], across: _Across, key: str) -> Reference:
    """A name's cell in the line itself, or its row over all slots."""
    return own.get(key) or across[key]


def _in_slot(expression: Expression) -> Expression:
    """The expression with each quantity taken out of the line's slot."""
    if isinstance(expression, Symbol):
        found: Expression = item(expression, Symbol("slot"))
        return found
    if isinstance(expression, Apply):
        return Apply(expression.operation, tuple(_in_slot(operand) for operand in expression.operands))
    return expression


def verdict_highlights(places: Mapping[str, Reference], good: Mapping[str, str]) -> list[Highlight]:
    """Green where a column shows its good word, red where it shows another; "none" is neither."""
    rules: list[Highlight] = []
    for key, word in good.items():
        cells = places[key].address.rpartition("!")[2].replace("$", "")
        first = cells.partition(":")[0]
        rules.append(Highlight(cells, f'{first}="{word}"', "good"))
        rules.append(Highlight(cells, f'AND({first}<>"{word}",{first}<>"",{first}<>"none")', "bad"))
    return rules
