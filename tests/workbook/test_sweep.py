"""Sweeps: numpy arrays as inputs give what one computation at a time gives."""

from typing import Any

import numpy as np
import pytest

from workbook import study
from workbook.analysis import analysis

SHIPPED = study.load()
NUMBERS = (
    "compute_time", "bubble_time", "hbm_time", "scale_up_time", "scale_out_time", "step_time_lower_bound",
    "device_memory", "model_flops_utilization", "training_days", "break_even_scale_out_bandwidth",
    "break_even_tokens_per_device", "break_even_nodes", "failed_checks",
)  # fmt: skip
TEXTS = ("bound", "memory_fits", "bound_without_scale_out", "check_microbatches", "check_schedule")


def assert_same(inputs: dict[str, Any], swept: dict[str, Any], places: Any) -> None:
    arrays = analysis.compute(inputs | swept, SHIPPED.columns)
    for place in places:
        alone = analysis.compute(inputs | {name: array[place].item() for name, array in swept.items()}, SHIPPED.columns)
        for key in NUMBERS:
            assert np.broadcast_to(arrays[key], next(iter(swept.values())).shape)[place] == pytest.approx(
                alone[key], rel=1e-12, abs=1e-12
            ), key
        for key in TEXTS:
            assert np.broadcast_to(arrays[key], next(iter(swept.values())).shape)[place] == alone[key], key


@pytest.mark.parametrize("strategy", SHIPPED.strategies)
def test_ten_thousand_bandwidths(strategy: str) -> None:
    bandwidths = np.geomspace(1e8, 1e13, 10_000)
    assert_same(dict(SHIPPED.strategies[strategy]), {"scale_out_measured": bandwidths}, range(0, 10_000, 777))


def test_choices_can_be_swept_too() -> None:
    schedules = np.array(["1F1B", "GPipe", "ZB1P", "DualPipe"] * 3)
    sizes = np.array([2, 4, 8, 16, 1, 1, 1, 2, 3, 5, 7, 11])
    assert_same({}, {"pipeline_schedule": schedules, "pipeline_parallel_size": sizes}, range(12))


def test_models_and_hardware_can_be_swept_too() -> None:
    models = np.array(["deepseek-v3", "llama-3-70b", "kimi-k2", "gpt-oss-20b"])
    devices = np.array(["H800 SXM5 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "MI300X 192GB"])
    assert_same({"precision": "BF16", "ceilings": "datasheet"}, {"model": models, "hardware": devices}, range(4))


def test_a_grid() -> None:
    """Two swept inputs meet as numpy arrays do: a row and a column give a table."""
    bandwidths, batches = np.array([20e9, 40e9, 80e9]), np.array([[3072], [15360]])
    arrays = analysis.compute(
        {"scale_out_measured": bandwidths, "global_batch_size": batches, "zero_stage": "ZeRO-3"}, SHIPPED.columns
    )
    assert arrays["step_time_lower_bound"].shape == (2, 3)
    assert (np.diff(arrays["step_time_lower_bound"], axis=1) <= 0).all()
    assert (np.diff(arrays["step_time_lower_bound"], axis=0) >= 0).all()
