"""Sweeps: a million strategies at once, for a script that looks for the best one.

from workbook import study, sweep

found = sweep.sweep(study.load(), {"devices": 1024, "pipeline_parallel_size": sizes, "zero_stage": stages})
valid = (found["failed_checks"] == 0) & (found["memory_fits"] == "yes")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbook.analysis import analysis
from workbook.study import Study

HEADLINES = (
    "step_time_lower_bound", "step_time_upper_bound", "compute_time", "bubble_time", "hbm_time", "scale_up_time",
    "scale_out_time", "bound", "device_memory", "memory_fits", "model_flops_utilization",
    "tokens_per_second_per_device", "training_days", "training_cost", "failed_checks", "total_parameters",
)  # fmt: skip


def sweep(study: Study, inputs: Mapping[str, Any], wanted: Iterable[str] = HEADLINES) -> dict[str, Any]:
    """The wanted quantities of many strategies by key, as numpy arrays, with the tables and constants of a study.

    Inputs are numbers and texts, or numpy arrays of them that meet as numpy arrays do: entries side by side, a
    row and a column give a table. A value that cannot be computed is nan, or an empty text, and fails a check:
    the numbers of a strategy with `failed_checks` mean nothing. Raises `UserError` for what makes no sweep.
    """
    return analysis.sweep({**study.constants, **inputs}, study.columns, wanted)
