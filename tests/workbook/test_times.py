"""Times: DeepSeek-V3's step against its speed of light, bubbles in closed form, and ceilings."""

import math
from typing import Any

import pytest

from workbook import study
from workbook.analysis import analysis

SHIPPED = study.load()
COLUMNS = SHIPPED.columns
DEEPSEEK = {"pipeline_parallel_size": 16, "expert_parallel_size": 64, "pipeline_schedule": "DualPipe"}
MEASURED_STEP = 19.926  # s, arXiv 2505.09343, Table 4 (MPFT)
RESOURCES = ("pipeline_time", "compute_time", "hbm_time", "scale_up_time", "scale_out_time", "pod_time")
EVERY_STRATEGY = [(name, strategy) for name in study.names() for strategy in study.load(name).strategies]


def values(**inputs: Any) -> dict[str, Any]:
    return analysis.compute({"recomputation": "none", "stage_layout": "even"} | inputs, COLUMNS)


def close(expected: float) -> Any:
    return pytest.approx(expected, rel=0.005)


def test_flops_of_a_step() -> None:
    """15,360 sequences of 4096 tokens at 250.450 GFLOP per token (arXiv 2412.19437, section 4.2)."""
    ours = values()
    assert (ours["step_tokens"], ours["tokens_per_device"]) == (62_914_560, 30_720)
    assert ours["step_flops"] == pytest.approx(1.57569e19, rel=1e-5)


@pytest.mark.parametrize(
    ("inputs", "seconds"),
    [
        ({"precision": "BF16", "bf16_measured": 757.7e12}, 10.154),
        ({"precision": "BF16", "ceilings": "datasheet", "bf16_peak": 989e12}, 7.779),
        ({"precision": "FP8 (DeepSeek-V3)", "fp8_measured": 1456.6e12, "bf16_measured": 757.7e12}, 6.000),
        ({"precision": "FP8 (DeepSeek-V3)", "fp8_measured": 1456.6e12, "bf16_measured": 1456.6e12}, 5.282),
    ],
)
def test_speed_of_light_of_compute(inputs: dict[str, Any], seconds: float) -> None:
    """Best rates of the Smol Training Playbook and the H100 data sheet; 213.549 of 250.450 GFLOP per token in FP8."""
    ours = values(**inputs)
    assert ours["compute_time"] == pytest.approx(seconds, abs=0.001)
    assert ours["pipeline_time"] == pytest.approx(ours["compute_time"])
    assert ours["forward_time"] == pytest.approx(ours["compute_time"] / 3)


def test_deepseeks_measured_step_is_slower_than_light() -> None:
    """arXiv 2505.09343, Table 4: 19.926 s a step. No resource may need longer than what was measured."""
    for bandwidth_model in ("flat", "hierarchical"):
        for ceilings in ("measured", "datasheet"):
            ours = values(**DEEPSEEK, recomputation="selective (DeepSeek-V3)", bandwidth_model=bandwidth_model,
                          ceilings=ceilings)  # fmt: skip
            assert max(ours[key] for key in RESOURCES) <= ours["step_time_lower_bound"] < MEASURED_STEP


def test_dispatch_takes_about_as_long_as_compute() -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, section 3.2.1: computation to communication of about 1 : 1."""
    ours = values(**DEEPSEEK)
    messages = ours["expert_scale_out_bytes"] / ours["scale_out_ceiling"]
    assert messages / ours["compute_time"] == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("recomputation", ["none", "full"])
@pytest.mark.parametrize(
    ("schedule", "stages", "virtual", "bubble"),
    [
        ("1F1B", 16, 1, lambda f, b, w: 15 * (f + b)),
        ("GPipe", 16, 1, lambda f, b, w: 15 * (f + b)),
        ("interleaved 1F1B", 8, 4, lambda f, b, w: 7 * (f + b) / 4),
        ("ZB1P", 16, 1, lambda f, b, w: 15 * (f + b - 2 * w)),
        ("ZB-V", 8, 2, lambda f, b, w: 7 * (f + b - 3 * w) / 2),
        ("DualPipe", 16, 1, lambda f, b, w: 7 * ((f + b) + b - 3 * w)),
        ("DualPipeV", 8, 2, lambda f, b, w: 7 * ((f + b) + b - 3 * w) / 2),
        ("1F1B", 1, 1, lambda f, b, w: 0),
        ("ZB1P", 1, 1, lambda f, b, w: 0),
        ("DualPipe", 2, 1, lambda f, b, w: 0),
    ],
)
def test_bubble(schedule: str, stages: int, virtual: int, bubble: Any, recomputation: str) -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, Table 2, and DualPipe README: DualPipeV on PP / 2 devices, each chunk half
    of a device's layers; F&B, a pair run together, takes F + B. Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2:
    interleaving divides the bubble by the chunks. Qi et al. 2023, arXiv 2401.10241: none in ZB-V if F = B - W = W."""
    ours = values(pipeline_parallel_size=stages, pipeline_schedule=schedule, recomputation=recomputation,
                  virtual_stages=virtual)  # fmt: skip
    f, b, w = (ours[f"{key}_time"] for key in ("forward_pass", "backward_pass", "weight_gradient"))
    assert (f + b) * ours["num_microbatches"] == pytest.approx(3 * ours["forward_time"])
    assert ours["bubble_time"] == pytest.approx(bubble(f, b, w), abs=1e-12)
    assert ours["pipeline_time"] == pytest.approx(ours["compute_time"] + ours["bubble_time"])


def test_the_busiest_device_sets_the_pace() -> None:
    """61 layers on 16 stages: four of them on most, and without the head's two fewer the last would compute longest."""
    even, full, relieved = (
        values(pipeline_parallel_size=16, pipeline_schedule="ZB1P", stage_layout=layout, last_stage_fewer_layers=fewer)
        for layout, fewer in (("even", 0), ("balanced", 0), ("balanced", 2))
    )
    assert even["busiest_device_compute_time"] == 0
    assert relieved["busiest_device_compute_time"] == pytest.approx(
        120 * 3 * 4 * relieved["moe_layer_forward_time"], rel=1e-12
    )
    assert full["busiest_device_compute_time"] == pytest.approx(
        120 * 3 * (3 * full["moe_layer_forward_time"] + full["head_forward_time"]), rel=1e-12
    )
    assert even["pipeline_time"] <= relieved["pipeline_time"] < full["pipeline_time"]


def test_bubbles_of_short_sequences() -> None:
    """B = 2 F and, without scores and values, W = F (Qi et al. 2023, arXiv 2401.10241, section 2): 45, 15 and 14
    forward passes."""
    forwards = []
    for schedule in ("1F1B", "ZB1P", "DualPipe"):
        ours = values(**DEEPSEEK | {"pipeline_schedule": schedule, "sequence_length": 1})
        forwards.append(ours["bubble_time"] / ours["forward_pass_time"])
    assert forwards == pytest.approx([45, 15, 14], rel=1e-3)


def test_scores_and_values_have_no_weight_gradient() -> None:
    """Qi et al. 2023, arXiv 2401.10241, Table 1: F and W of GPT take 24 h + 4 s and 24 h, with the full square."""
    ours = values(model="gpt-3-175b", precision="BF16", pipeline_parallel_size=8, sequence_length=2048, vocab_size=8)
    hidden, sequence = 12288, 2048 / 2  # half of it here
    share = ours["weight_gradient_time"] / ours["forward_pass_time"]
    assert share == pytest.approx(24 * hidden / (24 * hidden + 4 * sequence), rel=1e-4)


def test_recomputation_does_not_wait_for_gradients() -> None:
    """Stages recompute while the gradient is on its way: the bubble is that without recomputation."""
    none, full = (values(pipeline_parallel_size=16, recomputation=policy) for policy in ("none", "full"))
    assert full["bubble_time"] == none["bubble_time"] > 0
    assert full["compute_time"] > none["compute_time"]


def test_the_share_of_the_bubble() -> None:
    """Narayanan et al. 2021, arXiv 2104.04473, section 2.2.1: (p - 1) / m of the ideal time."""
    ours = values(pipeline_parallel_size=16)
    assert ours["bubble_time"] / ours["compute_time"] == pytest.approx(15 / ours["num_microbatches"])


@pytest.mark.parametrize(("name", "strategy"), EVERY_STRATEGY)
def test_every_quantity_of_a_shipped_strategy_is_finite(name: str, strategy: str) -> None:
    loaded = study.load(name)
    loaded.require_valid()
    for key, value in loaded.values[strategy].items():
        assert isinstance(value, str) or math.isfinite(value), key


@pytest.mark.parametrize(("name", "strategy"), EVERY_STRATEGY)
def test_the_busiest_resource_sets_the_step(name: str, strategy: str) -> None:
    ours = study.load(name).values[strategy]
    way = ours["compute_time"] + ours["bubble_time"] + ours["pipeline_traversal_latency"]
    assert ours["step_time_lower_bound"] == max(way, *(ours[key] for key in RESOURCES))
    names = {
        "compute": "pipeline_time", "HBM": "hbm_time", "scale-up": "scale_up_time", "scale-out": "scale_out_time",
        "between pods": "pod_time",
    }  # fmt: skip
    assert ours[names[ours["bound"]]] == pytest.approx(ours["step_time_lower_bound"], rel=1e-4)
    assert ours["step_time_lower_bound"] <= ours["step_time_upper_bound"] <= 5 * ours["step_time_lower_bound"]


@pytest.mark.parametrize("strategy", SHIPPED.strategies)
def test_datasheet_rates_are_faster_than_measured_ones(strategy: str) -> None:
    datasheet, measured = (
        analysis.compute({**SHIPPED.strategies[strategy], "ceilings": choice}, COLUMNS)
        for choice in ("datasheet", "measured")
    )
    for key in ("compute_time", "hbm_time"):
        assert datasheet[key] < measured[key]
    for key in ("scale_up_time", "scale_out_time", "step_time_lower_bound"):
        assert datasheet[key] <= measured[key]


def test_rates_are_inverse_to_times() -> None:
    one, two = (values(**DEEPSEEK, scale_out_measured=50e9 * factor) for factor in (1, 2))
    assert two["scale_out_time"] == one["scale_out_time"] / 2
    assert two["pipeline_time"] == one["pipeline_time"]
