"""Analysis: the model, one row per quantity and one column per strategy."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.layout import model_sheet
from pyxl.layout.header import start
from pyxl.plan import Reference
from workbook.analysis import analysis
from workbook.study import Study

RESULTS = (
    "total_parameters",
    "active_parameters",
    "training_flops_per_token",
    "step_flops",
    "device_memory",
    "memory_fits",
    "compute_time",
    "hbm_time",
    "scale_up_time",
    "scale_out_time",
    "bubble_time",
    "step_time_lower_bound",
    "bound",
    "model_flops_utilization",
    "tokens_per_second_per_device",
    "device_hours_per_trillion_tokens",
    "training_days",
    "training_cost",
)


def sheet(study: Study, places: Mapping[str, Reference]) -> model_sheet.ModelSheet:
    """The sheet with where its rows are."""
    laid_out = start(
        "Analysis",
        "Analysis",
        "One row per quantity, one formula per row, one column per strategy. "
        "To add a strategy, copy a strategy's column into the next free one and change its inputs (yellow).",
    )
    strategies = {name: (inputs, study.values[name]) for name, inputs in study.strategies.items()}
    return model_sheet.lay_out(laid_out, analysis, strategies, places, RESULTS)
