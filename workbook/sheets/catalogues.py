"""Hardware, Models and Choices: the tables behind the drop-downs."""

from __future__ import annotations

from pyxl.layout.header import FIRST_ROW, start
from pyxl.layout.table import SPARE_ROWS, Field, place_table
from pyxl.plan import Reference, Sheet, letter
from workbook import catalogue
from workbook.analysis import analysis
from workbook.study import Study


def sheets(study: Study) -> tuple[dict[str, Reference], list[Sheet]]:
    """The sheets, and every table column as a reference."""
    labels = {q.name: q.label for q in analysis.quantities.values()}
    units = {c.key: c.unit for c in analysis.columns.values()}
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
    row = FIRST_ROW + 1
    for table in study.tables.values():
        fields = [Field(name, labels[name], units[f"{table.name}.{name}"]) for name in table.columns]
        if table.name == catalogue.HARDWARE:
            places |= place_table(hardware, FIRST_ROW + 1, table.name, fields, table.rows, table.sources)
        elif table.name == catalogue.MODELS:
            places |= place_table(models, FIRST_ROW + 1, table.name, fields, table.rows, table.sources)
        else:
            places |= place_table(choices, row, table.name, fields, table.rows, table.sources, spare=2)
            row += len(table.rows) + 7
    for each, name in ((hardware, catalogue.HARDWARE), (models, catalogue.MODELS)):
        # Sources stand right of the numbers, too wide for paper; the sheet Sources prints them.
        last = FIRST_ROW + 3 + len(study.tables[name].rows) + SPARE_ROWS
        each.print_area = f"A1:{letter(len(study.tables[name].columns) + 1)}{last}"
        each.freeze = f"B{FIRST_ROW + 4}"
        each.heights[FIRST_ROW + 1] = 46
    for each in (hardware, models, choices):
        each.widths[1] = 34
    return places, [hardware, models, choices]
