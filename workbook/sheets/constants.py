"""Constants: numbers of the field."""

from __future__ import annotations

from pyxl.layout.header import FIRST_ROW, start
from pyxl.plan import Reference, Sheet
from pyxl.quantity import Kind
from pyxl.style import number_format
from workbook.analysis import analysis
from workbook.study import Study


def sheet(study: Study) -> tuple[dict[str, Reference], Sheet]:
    """The sheet, and every constant as a reference."""
    constants = start(
        "Constants", "Constants", "Numbers of the field, each with its reason and source. All strategies use them."
    )
    top = FIRST_ROW + 1
    constants.put_row(top, 1, ["Key", "Value", "Unit", "Constant", "Reason", "Source"], "header")
    constants.widths.update({1: 36, 2: 22, 3: 14, 4: 44, 5: 100, 6: 80})
    places = {}
    quantities = (q for q in analysis.quantities.values() if q.kind is Kind.CONSTANT)
    for row, quantity in enumerate(quantities, start=top + 1):
        value = study.constants.get(quantity.name, quantity.value)
        constants.put(row, 1, quantity.name, "key")
        constants.put(row, 2, value, "constant", number_format(quantity.unit) if quantity.unit == "token" else None)
        constants.put(row, 3, quantity.unit, "note")
        constants.put(row, 4, quantity.label, "label")
        constants.put(row, 5, quantity.note, "prose")
        constants.put(row, 6, quantity.source, "prose")
        constants.fit_height(row)
        places[quantity.name] = Reference(constants.address(row, 2), value)
    return places, constants
