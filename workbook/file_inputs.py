"""The inputs that stand in a workbook, found by key: what a user typed, and the catalogues behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyxl import reader
from pyxl.cells import Formula, Place, Value
from pyxl.errors import UserError
from pyxl.quantity import Failure, Kind
from workbook import catalogue
from workbook.analysis import analysis
from workbook.study import unit_in_words

MODEL_SHEET, CONSTANTS = "Analysis", "Constants"  # sheets
CATALOGUES = ("Hardware", "Models", "Choices")


@dataclass(frozen=True)
class Mistyped:
    """A cell that holds no number where one is needed, or nothing at all where Python has no value for it."""

    place: Place
    strategy: str
    key: str
    reason: str


@dataclass(frozen=True)
class Inputs:
    """What a workbook says: its sheets, by strategy its inputs, the tables' columns, and the constants."""

    sheets: Mapping[str, reader.Grid]
    rows: reader.ModelRows
    strategies: Mapping[str, Mapping[str, Any]]
    columns: Mapping[str, tuple[Any, ...]]
    constants: Mapping[str, Any]
    mistyped: tuple[Mistyped, ...]

    def values(self) -> dict[str, dict[str, Any]]:
        """Every quantity of every strategy, computed in Python."""
        return {
            name: analysis.compute({**self.constants, **inputs}, self.columns)
            for name, inputs in self.strategies.items()
        }


def read_inputs(found: Mapping[Place, Any], recalculated: Mapping[Place, Value]) -> Inputs:
    """The inputs in a workbook's contents. Raises `UserError` where it is not ours or lacks some."""
    sheets = reader.grids(found)
    mistyped: list[Mistyped] = []

    def typed(grid: reader.Grid, place: tuple[int, int], key: str, strategy: str = "") -> Any:
        value = _typed(key, reader.value_at(grid, *place, recalculated))
        if isinstance(value, Failure):
            mistyped.append(Mistyped(grid.place(*place), strategy, key, value.reason))
        return value

    for title in (*CATALOGUES, CONSTANTS):
        if title not in sheets:
            raise UserError(
                f"this is no solbook workbook: it has no sheet '{title}'; if it was renamed or deleted, give it its "
                "name back"
            )
    columns: dict[str, tuple[Any, ...]] = {}
    for title in CATALOGUES:
        for table in reader.keyed_tables(sheets[title]):
            columns[f"{table.title}.name"] = tuple(table.rows.values())
            for key in catalogue.table_columns().get(table.title, {}):
                if key in table.columns:
                    places = ((row, table.columns[key]) for row in table.rows)
                    columns[f"{table.title}.{key}"] = tuple(typed(table.grid, place, key) for place in places)
    missing = [key for key in analysis.columns if key not in columns]
    if missing:
        raise UserError(
            f"the workbook lacks the catalogue column {missing[0]}: was it deleted, or its table's row of keys?"
        )
    constants = {
        key: typed(sheets[CONSTANTS], place, key)
        for key, place in sheets[CONSTANTS].listed("Key", "Value").items()
        if key in analysis.quantities and analysis[key].kind is Kind.CONSTANT
    }
    rows = reader.model_rows(sheets, MODEL_SHEET, analysis.quantities, recalculated)
    strategies = {
        strategy: {
            name: typed(rows.grid, (row, rows.columns[strategy]), name, strategy)
            for name, row in rows.rows.items()
            if _is_input(name, rows.content(name, strategy))
        }
        for strategy in rows.columns
    }
    return Inputs(sheets, rows, strategies, columns, constants, tuple(mistyped))


def _typed(name: str, value: Any) -> Any:
    """A cell's value as the quantity or column needs it: an empty number counts as 0, anything else is an error."""
    unit = analysis[name].unit
    if unit == "text":
        return value
    if value is None:
        return 0
    if isinstance(value, str | bool):
        return Failure("#VALUE!", f"{name} is '{value}': write a number in {unit_in_words(unit)}")
    return value


def _is_input(name: str, content: Any) -> bool:
    kind = analysis[name].kind
    typed_over = content is not None and not isinstance(content, Formula)
    return kind is Kind.INPUT or (kind is Kind.LOOKUP and typed_over)
