"""Elasticities: by how many per cent the step time changes for one per cent of each input."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.elasticities import Elasticities
from pyxl.layout import elasticities_sheet
from pyxl.layout.elasticities_sheet import ELASTICITY, LABEL
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.plan import Chart, Reference, Series, Sheet
from pyxl.quantity import Kind, Quantity
from workbook.analysis import analysis
from workbook.catalogue import HARDWARE
from workbook.study import Study

TITLE = "Elasticities"
HOW_TO_READ = (
    "An elasticity of -0.50 says that 1 % more of the input makes the step 0.5 % shorter, all else as it is. 0 "
    "stands for inputs that do not matter here; those that never do are left out.",
    "Under perfect overlap only the resource that binds counts: what the others need may change without effect. A "
    "derivative is in seconds of step time per unit of its quantity.",
    "It holds for small changes. Degrees of parallelism are whole numbers and may have to divide others: take theirs "
    "as a direction. What is rounded up to whole numbers counts as constant.",
    "Where two limits are equal, say a degree that just fills a node, more has another slope than less: one of both is "
    "shown. Where two resources take equally long, it is that of the one which bound names.",
)


def _is_source(quantity: Quantity) -> bool:
    """Numbers that a user types, and those of the device."""
    measured = f"{HARDWARE}.name" in quantity.ingredients
    return quantity.unit != "text" and (quantity.kind is Kind.INPUT or measured)


step_time = Elasticities(
    analysis, tuple(quantity.name for quantity in analysis if _is_source(quantity)), "step_time_lower_bound"
)


def sheet(
    study: Study, chosen: str, placed: ModelSheet, places: Mapping[str, Reference]
) -> tuple[Sheet, Mapping[str, Reference]]:
    """The sheet, and its elasticities as references for checks."""
    laid_out = start(
        TITLE,
        "Elasticities of the step time",
        "By how many per cent the step time's lower bound changes for one per cent of each input. "
        "Choose a strategy in B5.",
    )
    table = elasticities_sheet.lay_out(
        laid_out, step_time, study.values, chosen, placed, places, ("bound",), HOW_TO_READ
    )
    first, last = table.lines[0], table.lines[-1]
    laid_out.charts.append(
        Chart(
            "bars",
            "Per cent of step time for one per cent of the input",
            f"H{elasticities_sheet.TOP}",
            [Series("Elasticity", laid_out.range((first, ELASTICITY), (last, ELASTICITY)))],
            categories=laid_out.range((first, LABEL), (last, LABEL)),
            y_format="0.0",
            size=(20.0, 0.5 * len(table.lines) + 3),
        )
    )
    return laid_out, table.references
