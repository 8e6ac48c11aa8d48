"""The sheet of a row model: a chosen strategy, what is imported of it, and one line per member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyxl.cells import letter
from pyxl.layout.chosen import choose, lay_out_taken
from pyxl.layout.header import FIRST_ROW
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import symbols
from pyxl.plan import Formula, Reference, Sheet, quoted
from pyxl.quantity import Kind
from pyxl.readings.formula import formula
from pyxl.rows import RowModel
from pyxl.style import number_format


@dataclass(frozen=True)
class PlacedRows:
    """Where a row model's table stands: its columns by quantity, its lines, and all of it as references."""

    columns: Mapping[str, int]
    lines: range
    references: Mapping[str, Reference]


def lay_out(
    sheet: Sheet,
    model: RowModel,
    strategies: Mapping[str, Mapping[str, Any]],
    chosen: str,
    parent: ModelSheet,
    catalogue: Mapping[str, Reference],
) -> PlacedRows:
    """Lay out a row model; the references of its columns and imports are keyed "title.name"."""
    shown = choose(sheet, strategies, chosen, parent)
    # Right of the table, so that a reader meets the table first.
    beside = FIRST_ROW + 3, len(model.quantities) + 3
    taken = {name: name for name in model.imports}
    places = lay_out_taken(sheet, beside, shown, model.parent, taken, catalogue)
    outside = f"{quoted(sheet.title)}!"
    references = {
        f"{sheet.title}.{name}": place if name in catalogue else Reference(outside + place.address, place.value)
        for name, place in places.items()
    }
    references[f"{sheet.title}.strategy"] = shown.cell
    return _table(sheet, model, strategies[chosen], places, references)


def _table(
    sheet: Sheet,
    model: RowModel,
    parent_values: Mapping[str, Any],
    imports: Mapping[str, Reference],
    references: Mapping[str, Reference],
) -> PlacedRows:
    rows = model.compute_rows(parent_values)
    quantities = list(model.quantities.values())
    top = FIRST_ROW + 3
    columns = {quantity.name: column for column, quantity in enumerate(quantities, start=2)}
    sheet.put(top, 1, next(iter(model.sections())), "header")
    sheet.put(top + 1, 1, "unit", "note")
    for quantity in quantities:
        sheet.put(top, columns[quantity.name], quantity.label, "header")
        sheet.put(top + 1, columns[quantity.name], quantity.unit, "note")
        sheet.widths[columns[quantity.name]] = 15
    sheet.heights[top] = 32
    sheet.widths.update({1: 26, 2: 32})
    for offset, (row, values) in enumerate(zip(model.rows, rows, strict=True)):
        line = top + 2 + offset
        own = {name: Reference(f"${letter(columns[name])}{line}", values[name]) for name in columns}
        scope = dict(imports) | own
        sheet.put(line, 1, row.name, "label")
        for quantity in quantities:
            expression = row.given.get(quantity.name, quantity.expression)
            assert expression is not None
            text = formula(expression, lambda key, scope=scope: scope[key].address)  # type: ignore[misc]
            literal = quantity.kind is Kind.INPUT and not symbols(expression)
            value = values[quantity.name]
            content = value if literal else Formula(text, value, expression)
            shown = number_format(quantity.unit, quantity.number_format)
            sheet.put(
                line,
                columns[quantity.name],
                content,
                "constant" if literal else "word" if quantity.unit == "text" else "calculation",
                shown,
            )
    lines = range(top + 2, top + 2 + len(rows))
    own_columns = {
        f"{sheet.title}.{name}": Reference(
            sheet.range((lines[0], column), (lines[-1], column)), tuple(values[name] for values in rows)
        )
        for name, column in columns.items()
    }
    return PlacedRows(columns, lines, {**references, **own_columns})
