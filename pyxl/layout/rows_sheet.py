"""The sheet of a row model: a chosen strategy, what is imported of it, and one line per member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyxl.layout.header import FIRST_ROW
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Operation, Symbol, apply, symbols
from pyxl.plan import Formula, Reference, Sheet, Validation, formula_cell, letter
from pyxl.quantity import Kind, Model
from pyxl.readings.formula import formula
from pyxl.rows import RowModel
from pyxl.style import number_format


def lay_out(
    sheet: Sheet,
    model: RowModel,
    strategies: Mapping[str, Mapping[str, Any]],
    chosen: str,
    parent: ModelSheet,
    catalogue: Mapping[str, Reference],
) -> dict[str, Reference]:
    """Lay out a row model; returns its columns and imports as references, keyed "title.name".

    The table starts below the head, the imports stand right of it, so that a reader meets the table first.
    """
    selector = sheet.address(FIRST_ROW + 1, 2)
    sheet.put(FIRST_ROW + 1, 1, "Strategy", "label")
    sheet.put(FIRST_ROW + 1, 2, chosen, "input")
    sheet.validations.append(
        Validation(f"B{FIRST_ROW + 1}", parent.across("strategy"), "Strategy", "A column of the sheet Analysis.")
    )
    places = _imports(sheet, model, Reference(selector, chosen), strategies, parent, catalogue)
    own = {f"{sheet.title}.{name}": place for name, place in places.items()}
    return own | _table(sheet, model, strategies[chosen], places)


def _imports(
    sheet: Sheet,
    model: RowModel,
    chosen: Reference,
    strategies: Mapping[str, Mapping[str, Any]],
    parent: ModelSheet,
    catalogue: Mapping[str, Reference],
) -> dict[str, Reference]:
    places = {name: catalogue[name] for name in model.imports if name in catalogue}
    top, column = FIRST_ROW + 3, len(model.quantities) + 3
    sheet.put_row(top, column, ["Taken from Analysis", "Unit", "Value"], "header")
    sheet.widths.update({column: 40, column + 1: 12, column + 2: 18})
    padding = (None,) * (parent.slots - len(strategies))
    names = Reference(parent.across("strategy"), (*strategies, *padding))
    for row, name in enumerate((name for name in model.imports if name not in catalogue), start=top + 1):
        quantity = model.parent[name]
        values = Reference(parent.across(name), (*(each[name] for each in strategies.values()), *padding))
        scope = {"chosen": chosen, "names": names, "values": values}
        look_up = apply(Operation.PICK, Symbol("chosen"), Symbol("names"), Symbol("values"))
        cell = formula_cell(look_up, scope)
        sheet.put(row, column, name, "key")
        sheet.put(row, column + 1, quantity.unit, "note")
        sheet.put(row, column + 2, cell, "look-up", number_format(quantity.unit, quantity.number_format))
        places[name] = Reference(sheet.address(row, column + 2), cell.value)
    return places


def _table(
    sheet: Sheet, model: RowModel, parent_values: Mapping[str, Any], imports: Mapping[str, Reference]
) -> dict[str, Reference]:
    rows = model.compute_rows(parent_values)
    quantities = list(model.quantities.values())
    top = FIRST_ROW + 3
    columns = {quantity.name: column for column, quantity in enumerate(quantities, start=2)}
    sheet.put(top, 1, model_title(model), "header")
    sheet.put(top + 1, 1, "unit", "note")
    for quantity in quantities:
        sheet.put(top, columns[quantity.name], quantity.label, "header")
        sheet.put(top + 1, columns[quantity.name], quantity.unit, "note")
        sheet.widths[columns[quantity.name]] = 15
    sheet.heights[top] = 32
    sheet.widths[1] = 26
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
            content = values[quantity.name] if literal else Formula(text, values[quantity.name])
            shown = number_format(quantity.unit, quantity.number_format)
            sheet.put(line, columns[quantity.name], content, "constant" if literal else "calculation", shown)
    first, last = top + 2, top + 1 + len(rows)
    return {
        f"{sheet.title}.{name}": Reference(
            sheet.range((first, column), (last, column)), tuple(values[name] for values in rows)
        )
        for name, column in columns.items()
    }


def model_title(model: Model) -> str:
    """The title of a model's first section."""
    return next(iter(model.sections()))
