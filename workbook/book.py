"""The book: which sheets the workbook has, and in which order they are read."""

from __future__ import annotations

from pyxl.layout.header import show_master
from pyxl.plan import Plan
from workbook.sheets import (
    analysis,
    catalogues,
    checks,
    collectives,
    constants,
    documentation,
    roofline,
    stages,
    summary,
)
from workbook.study import Study


def plan(study: Study, *, protect: bool = False) -> Plan:
    """The whole workbook of a study."""
    table_places, tables = catalogues.sheets(study)
    constant_places, constants_sheet = constants.sheet(study)
    places = table_places | constant_places
    placed = analysis.sheet(study, places)
    chosen = _chosen(study)
    roofline_sheet, roofline_places = roofline.sheet(study, chosen, placed, places)
    stages_sheet, stage_places = stages.sheet(study, chosen, placed, places)
    collectives_sheet, collective_places = collectives.sheet(study, chosen, placed, places)
    summary_sheet, summary_places = summary.sheet(study, placed)
    known = {**places, **roofline_places, **stage_places, **collective_places, **summary_places}
    checks_sheet, master = checks.sheet(study, placed, known)
    sheets = [
        summary_sheet,
        placed.sheet,
        roofline_sheet,
        stages_sheet,
        collectives_sheet,
        *tables,
        constants_sheet,
        checks_sheet,
        documentation.formulas(placed, (summary_sheet, roofline_sheet, stages_sheet, collectives_sheet, checks_sheet)),
        documentation.sources(study),
    ]
    sheets.append(documentation.about(sheets))
    for sheet in sheets:
        show_master(sheet, master, checks_sheet)
    return Plan(study.title, study.description, sheets, protect)


def _chosen(study: Study) -> str:
    """The strategy that Roofline and Stages open with: the fastest that fits, else the first."""
    fitting = {name: v["step_time_lower_bound"] for name, v in study.values.items() if v["memory_fits"] == "yes"}
    return min(fitting, key=fitting.__getitem__) if fitting else next(iter(study.strategies))
