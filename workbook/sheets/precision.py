"""Precision: one chosen strategy under several precision recipes. Compute shrinks, most bytes do not."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.layout import scenario_sheet
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.layout.summary_sheet import verdict_highlights
from pyxl.plan import Chart, Reference, Series, Sheet
from pyxl.readings.number import OK
from pyxl.scenario import POSSIBLE, Scenario, shown
from workbook.analysis import analysis
from workbook.study import Study

TITLE, HEADING = "Precision", "Precision ladder"
RECIPES = ("BF16", "FP8 (DeepSeek-V3)", "NVFP4", "FP8 (DeepSeek-V3), FP8 gathers")
COUNT = 3
TIMES = ("compute_time", "bubble_time", "hbm_time", "scale_up_time", "scale_out_time", "step_time_lower_bound")
RESULTS = (*TIMES, "bound", "device_memory", "memory_fits")
COLORS = ("1F3864", "4472C4", "9DC3E6")
CHART_ROWS = 26

ladder = Scenario(analysis, "precision", RESULTS, "the device has no rate for this recipe, or a number is missing")


def sheet(
    study: Study, chosen: str, placed: ModelSheet, places: Mapping[str, Reference]
) -> tuple[Sheet, Mapping[str, Reference]]:
    """The sheet, and its rows as references for checks."""
    laid_out = start(
        TITLE,
        HEADING,
        "The chosen strategy under other precision recipes, all else as it is. Choose a strategy in B5, recipes in "
        "the row below the head. The numbers are the recipes' own, also where the strategy types over a look-up.",
    )
    recipes = _recipes(study, chosen)
    table = scenario_sheet.lay_out(laid_out, ladder, recipes, study.values, chosen, placed, places, CHART_ROWS)
    across = {name: table.references[shown(name)] for name in RESULTS}
    laid_out.highlights.extend(verdict_highlights(across, {"bound": "compute", "memory_fits": "yes"}))
    first, last = table.rows[shown(TIMES[0])], table.rows[shown(TIMES[-1])]
    laid_out.charts.append(
        Chart(
            "clustered",
            "Seconds per step that each resource needs, by precision recipe",
            f"A{table.rows[shown(RESULTS[-1])] + 2}",
            [
                Series(
                    laid_out.address(table.rows[ladder.source], column),
                    laid_out.range((first, column), (last, column)),
                    color=color,
                )
                for column, color in zip(table.columns, COLORS, strict=False)
            ],
            categories=laid_out.range((first, 1), (last, 1)),
            y_title="seconds",
            y_format="0.0",
            y_range=(0.0, None),
            size=(30.0, 12.0),
        )
    )
    return laid_out, {f"{HEADING}.{key}": place for key, place in table.references.items()}


def _recipes(study: Study, chosen: str) -> tuple[str, ...]:
    """The first recipes that the device of the chosen strategy can run."""
    values = study.values[chosen]
    known = (recipe for recipe in RECIPES if recipe in study.columns["Precision.name"])
    possible = [recipe for recipe in known if ladder.under(recipe, values, study.columns)[POSSIBLE] == OK]
    return tuple(possible[:COUNT]) or (values[ladder.source],)
