"""Sweeps: numpy arrays as inputs give what one computation at a time gives."""

import math
import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from pyxl.quantity import Failure, Kind
from workbook import study
from workbook.analysis import analysis
from workbook.sweep import HEADLINES, sweep

SHIPPED = study.load()
CHECKED = (
    *HEADLINES, *analysis.series["checks"], "break_even_scale_out_bandwidth", "break_even_tokens_per_device",
    "break_even_nodes", "bound_without_scale_out",
)  # fmt: skip
USUAL: Mapping[str, tuple[Any, ...]] = {
    "tensor_parallel_size": (1, 2, 4, 8),
    "pipeline_parallel_size": (1, 2, 4, 8, 16),
    "expert_parallel_size": (1, 2, 8, 64),
    "data_parallel_replicas": (1, 1, 2),
    "micro_batch_size": (1, 2, 4, 7.5),
    "global_batch_size": (15360, 1920),
    "devices": (2048, 256, 512),
    "sequence_length": (4096, 32768),
    **{
        quantity.name: tuple(name for name in SHIPPED.columns[f"{quantity.choices}.name"] if name)
        for quantity in analysis
        if quantity.kind is Kind.INPUT and quantity.choices
    },
}
ODD: Mapping[str, tuple[Any, ...]] = {
    name: ("unknown",) if analysis[name].unit == "text" else (0, -2, 0.5, 3, 1e9) for name in USUAL
} | {"scale_out_measured": (0, 50e9), "num_hidden_layers": (0, 61), "expert_tensor_parallel_size": (0, 1, 8)}


def assert_same(inputs: dict[str, Any], swept: dict[str, Any], places: Iterable[int]) -> None:
    found = sweep(SHIPPED, inputs | swept, CHECKED)
    for place in places:
        strategy = inputs | {name: array[place].item() for name, array in swept.items()}
        alone = analysis.compute(strategy, SHIPPED.columns)
        for key in CHECKED:
            if isinstance(alone[key], Failure):
                assert found[key][place] == "" if analysis[key].unit == "text" else math.isnan(found[key][place]), key
            elif isinstance(alone[key], str):
                assert found[key][place] == alone[key], (key, strategy)
            else:
                assert found[key][place] == pytest.approx(alone[key], rel=1e-12, abs=1e-12), (key, strategy)


@pytest.mark.parametrize("strategy", SHIPPED.strategies)
def test_ten_thousand_bandwidths(strategy: str) -> None:
    bandwidths = np.geomspace(1e8, 1e13, 10_000)
    assert_same(dict(SHIPPED.strategies[strategy]), {"scale_out_measured": bandwidths}, range(0, 10_000, 777))


def draw(dice: random.Random, name: str) -> Any:
    return dice.choice(USUAL[name] if name in USUAL and dice.random() < 0.98 else ODD[name])


@pytest.mark.parametrize("seed", range(20))
def test_random_strategies_valid_or_not(seed: int) -> None:
    """Each seed sweeps some inputs and sets or leaves the others; now and then to what no strategy can have."""
    dice = random.Random(seed)
    names = dice.sample(sorted(ODD), seed + 1)
    swept = {name: np.array([draw(dice, name) for _ in range(40)]) for name in names}
    given = {name: draw(dice, name) for name in sorted(ODD.keys() - swept.keys()) if dice.random() < 0.2}
    assert_same(given, swept, range(40))


def test_models_and_hardware_can_be_swept_too() -> None:
    models = np.array(["deepseek-v3", "llama-3-70b", "kimi-k2", "gpt-oss-20b"])
    devices = np.array(["H800 SXM5 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "MI300X 192GB"])
    assert_same({"precision": "BF16", "ceilings": "datasheet"}, {"model": models, "hardware": devices}, range(4))


def test_a_grid() -> None:
    """Two swept inputs meet as numpy arrays do: a row and a column give a table."""
    bandwidths, batches = np.array([20e9, 40e9, 80e9]), np.array([[3072], [15360]])
    found = sweep(SHIPPED, {"scale_out_measured": bandwidths, "global_batch_size": batches, "zero_stage": "ZeRO-3"})[
        "step_time_lower_bound"
    ]
    assert found.shape == (2, 3)
    assert (np.diff(found, axis=1) <= 0).all()
    assert (np.diff(found, axis=0) >= 0).all()


def test_constants_of_the_study_hold() -> None:
    changed = study.load(settings=("seconds_per_hour=7200",))
    days, usual = (sweep(each, {"micro_batch_size": np.array([1])}, ["training_days"]) for each in (changed, SHIPPED))
    assert days["training_days"] == usual["training_days"] / 2
