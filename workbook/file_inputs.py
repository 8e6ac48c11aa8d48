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

CATALOGUES = ("Hardware", "Models", "Choices")  # sheets


@dataclass(frozen=True)
class Inputs:
    """What a workbook says: its sheets, by strategy its inputs, the tables' columns, and the constants."""

    sheets: Mapping[str, reader.Grid]
    rows: reader.ModelRows
    strategies: Mapping[str, Mapping[str, Any]]
    columns: Mapping[str, tuple[Any, ...]]
    constants: Mapping[str, Any]

    def values(self) -> dict[str, dict[str, Any]]:
        """Every quantity of every strategy, computed in Python."""
        return {
            name: analysis.compute({**self.constants, **inputs}, self.columns)
            for name, inputs in self.strategies.items()
        }


def read_inputs(found: Mapping[Place, Any], recalculated: Mapping[Place, Value]) -> Inputs:
    """The inputs in a workbook's contents. Raises `UserError` where it is not ours or lacks some."""
    sheets = reader.grids(found)
    expected = catalogue.table_columns()
    columns: dict[str, tuple[Any, ...]] = {}
    for title in CATALOGUES:
        if title not in sheets:
            raise UserError(f"this is no solbook workbook: it has no sheet '{title}'")
        for table in reader.keyed_tables(sheets[title]):
            lines = table.lines(recalculated)
            for column in ("name", *expected.get(table.title, {})):
                if column in table.columns:
                    columns[f"{table.title}.{column}"] = tuple(
                        line[column] if column == "name" else _typed(column, line[column]) for line in lines
                    )
    missing = [key for key in analysis.columns if key not in columns]
    if missing:
        raise UserError(f"the workbook lacks the catalogue column {missing[0]}")
    constants = _constants(sheets, recalculated)
    rows = reader.model_rows(sheets, "Analysis", analysis.quantities, recalculated)
    strategies = {
        strategy: {
            name: _typed(name, reader.value_at(rows.grid, rows.rows[name], rows.columns[strategy], recalculated))
            for name in rows.rows
            if _is_input(name, rows.content(name, strategy))
        }
        for strategy in rows.columns
    }
    return Inputs(sheets, rows, strategies, columns, constants)


def _typed(name: str, value: Any) -> Any:
    """A cell's value as the quantity or column needs it: an empty number counts as 0, a text as one is an error."""
    unit = analysis[name].unit
    if value is None and unit != "text":
        return 0
    if isinstance(value, str) and unit != "text":
        return Failure("#VALUE!", f"{name} is '{value}': write a number in {unit}")
    return value


def _is_input(name: str, content: Any) -> bool:
    kind = analysis[name].kind
    typed_over = content is not None and not isinstance(content, Formula)
    return kind is Kind.INPUT or (kind is Kind.LOOKUP and typed_over)


def _constants(sheets: Mapping[str, reader.Grid], recalculated: Mapping[Place, Value]) -> dict[str, Any]:
    grid = sheets.get("Constants")
    if grid is None:
        raise UserError("this is no solbook workbook: it has no sheet 'Constants'")
    return {
        key: _typed(key, reader.value_at(grid, row, 2, recalculated))
        for row, key in grid.column(1)
        if key in analysis.quantities and analysis[key].kind is Kind.CONSTANT
    }
