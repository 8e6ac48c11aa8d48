"""Hardware, Models and Choices: the tables behind the drop-downs; and Measured, which some of the hardware is from."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.cells import letter
from pyxl.layout.header import FIRST_ROW, start
from pyxl.layout.table import Field, place_table
from pyxl.plan import Reference, Sheet
from workbook import catalogue
from workbook.analysis import analysis
from workbook.catalogue import Table
from workbook.sheets import measured
from workbook.study import Study

LOWEST_CHOICE = -100  # bubble coefficients may be negative
CHOICE_SPARE_ROWS = 2


def sheets(study: Study) -> tuple[dict[str, Reference], list[Sheet]]:
    """The sheets, and every table column as a reference."""
    hardware = start(
        "Hardware",
        "Hardware",
        "One row per device: datasheet and measured rates per device and direction, dense. "
        "Add a device in the next free row. An empty cell is an unknown number.",
    )
    models = start(
        "Models", "Models", "One row per model, after its Hugging Face configuration. Add a model in the next free row."
    )
    choices = start("Choices", "Choices", "Each row is a choice of a drop-down; a new choice is a new row.")
    places: dict[str, Reference] = {}
    last = FIRST_ROW - 1
    for name, table in study.tables.items():
        if name not in (catalogue.HARDWARE, catalogue.MODELS):
            fields = _fields(table, places, LOWEST_CHOICE)
            found, last = place_table(
                choices, last + 2, name, fields, table.rows, table.sources, spare=CHOICE_SPARE_ROWS
            )
            places |= found
    for sheet, name in ((hardware, catalogue.HARDWARE), (models, catalogue.MODELS)):
        table = study.tables[name]
        fields = _fields(table, places, 0)
        formulas = measured.ceilings(study) if sheet is hardware else {}
        found, bottom = place_table(sheet, FIRST_ROW + 1, name, fields, table.rows, table.sources, formulas=formulas)
        places |= found
        # Sources stand right of the numbers, too wide for paper; the sheet Sources prints them.
        sheet.print_area = f"A1:{letter(len(fields) + 1)}{bottom}"
        sheet.freeze = f"B{FIRST_ROW + 4}"
        sheet.heights[FIRST_ROW + 1] = 46
    for sheet in (hardware, models, choices):
        sheet.widths[1] = 34
    curves, measured_sheets = measured.sheets(study, places)
    return places | curves, [hardware, models, choices, *measured_sheets]


def _fields(table: Table, places: Mapping[str, Reference], lowest: int) -> list[Field]:
    quantities = [analysis[name] for name in table.columns]
    return [
        Field(
            quantity.name,
            quantity.label,
            quantity.unit,
            quantity.note,
            places[f"{quantity.choices}.name"].address if quantity.choices else "",
            lowest,
        )
        for quantity in quantities
    ]
