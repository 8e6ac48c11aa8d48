"""The book: which sheets the workbook has, and in which order they are read."""

from __future__ import annotations

from collections.abc import Sequence

from pyxl.layout.header import show_master
from pyxl.plan import Plan, Sheet
from workbook.sheets import (
    analysis,
    catalogues,
    checks,
    collectives,
    constants,
    documentation,
    elasticities,
    precision,
    recomputation,
    roofline,
    stages,
    summary,
    validation,
)
from workbook.sheets import study as study_sheet
from workbook.study import Study

OF_ONE_STRATEGY = (roofline, stages, collectives, precision, recomputation, elasticities)


def plan(study: Study, *, protect: bool = False, further: Sequence[Sheet] = ()) -> Plan:
    """The whole workbook of a study, with `further` sheets behind all others."""
    table_places, tables = catalogues.sheets(study)
    constant_places, constants_sheet = constants.sheet(study)
    places = table_places | constant_places
    placed = analysis.sheet(study, places)
    summary_sheet, known = summary.sheet(study, placed)
    shown = []
    for module in OF_ONE_STRATEGY:
        laid_out, found = module.sheet(study, _chosen(study), placed, places)
        shown.append(laid_out)
        known |= found
    checks_sheet, master = checks.sheet(study, placed, places | known)
    sheets = [
        summary_sheet,
        placed.sheet,
        *shown,
        *tables,
        constants_sheet,
        checks_sheet,
        documentation.formulas(placed, (summary_sheet, *shown, *tables, checks_sheet)),
        validation.sheet(),
        documentation.sources(study),
        study_sheet.sheet(study, _options(protect=protect, addin=bool(further))),
    ]
    sheets.append(documentation.about(sheets, further))
    for sheet in sheets:
        show_master(sheet, master, checks_sheet)
    return Plan(study.title, study.description, [*sheets, *further], protect)


def _options(*, protect: bool, addin: bool) -> tuple[str, ...]:
    return tuple(option for option, given in ((study_sheet.PROTECT, protect), (study_sheet.ADDIN, addin)) if given)


def _chosen(study: Study) -> str:
    """The strategy that sheets of one strategy open with: the fastest that fits, else the first."""
    fitting = {name: v["step_time_lower_bound"] for name, v in study.values.items() if v["memory_fits"] == "yes"}
    return min(fitting, key=fitting.__getitem__) if fitting else next(iter(study.strategies))
