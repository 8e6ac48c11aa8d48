"""A sheet about one strategy: the cell in which a reader chooses it, and what is looked up of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyxl.cells import letter
from pyxl.layout.header import FIRST_ROW
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Expression, Symbol, pick
from pyxl.plan import Formula, Reference, Sheet, Validation, formula_cell
from pyxl.quantity import Model
from pyxl.style import number_format

ROW, COLUMN = FIRST_ROW + 1, 2
TAKEN: Expression = pick(Symbol("chosen strategy"), Symbol("strategies"), Symbol("quantity"))


@dataclass(frozen=True)
class Chosen:
    """The strategy that a sheet shows, with its values; `cell` is where its name stands."""

    values: Mapping[str, Any]
    cell: Reference
    parent: ModelSheet
    strategies: Mapping[str, Mapping[str, Any]]

    def take(self, name: str) -> Formula:
        """A look-up of a quantity in the column of the chosen strategy."""
        row = self.parent.across(name, (each[name] for each in self.strategies.values()))
        names = self.parent.across("strategy", self.strategies)
        return formula_cell(TAKEN, {"chosen strategy": self.cell, "strategies": names, "quantity": row})


def choose(sheet: Sheet, strategies: Mapping[str, Mapping[str, Any]], name: str, parent: ModelSheet) -> Chosen:
    """Put the cell in which a strategy is chosen. It is linked to the strategy's head, so that renaming keeps it."""
    sheet.put(ROW, 1, "Strategy", "label")
    sheet.put(ROW, COLUMN, Formula(parent.head(list(strategies).index(name)), name), "input")
    sheet.validations.append(
        Validation(
            f"{letter(COLUMN)}{ROW}",
            parent.across("strategy", strategies).address,
            "Strategy",
            "A column of the sheet Analysis.",
        )
    )
    return Chosen(strategies[name], Reference(sheet.address(ROW, COLUMN), name), parent, strategies)


def lay_out_taken(
    sheet: Sheet,
    at: tuple[int, int],
    chosen: Chosen,
    model: Model,
    taken: Mapping[str, str],
    catalogue: Mapping[str, Reference],
) -> dict[str, Reference]:
    """A table of what the sheet takes of the chosen strategy, and where each key of `taken`, a quantity, stands.

    Constants are not looked up: all strategies share them.
    """
    top, column = at
    places = {key: catalogue[name] for key, name in taken.items() if name in catalogue}
    sheet.put_row(top, column, ["Taken from Analysis", "Unit", "Value"], "header")
    sheet.widths.update({column: 40, column + 1: 12, column + 2: 18})
    looked_up = (key for key in taken if key not in places)
    for row, key in enumerate(looked_up, start=top + 1):
        quantity = model[taken[key]]
        cell = chosen.take(quantity.name)
        sheet.put(row, column, quantity.name, "key")
        sheet.put(row, column + 1, quantity.unit, "note")
        sheet.put(row, column + 2, cell, "look-up", number_format(quantity.unit, quantity.number_format))
        places[key] = Reference(f"${letter(column + 2)}${row}", cell.value)
    return places
