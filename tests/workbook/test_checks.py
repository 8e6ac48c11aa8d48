"""Checks: each fails alone for an input that violates it, and says in words what is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from pyxl.errors import UserError
from workbook import study
from workbook.analysis import analysis

SHIPPED = study.load()
EP64 = {"pipeline_parallel_size": 16, "expert_parallel_size": 64}
DENSE = {"model": "llama-3-70b", "precision": "BF16"}
VIOLATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "check_degrees": (
        {**DENSE, "devices": 12, "scale_up_domain": 6, "tensor_parallel_size": 0.5, "global_batch_size": 24},
        "every degree of parallelism must be a whole number from 1",
    ),
    "check_model": ({"num_attention_heads": 0}, "model is no row of the sheet Models, or its row lacks a size"),
    "check_hardware": ({"memory_capacity": 0}, "hardware is no row of the sheet Hardware, or its row lacks"),
    "check_choices": ({"keeps_internals": "some"}, "is no row of its table in Choices"),
    "check_bytes": ({"combine_bytes": 0}, "every byte width of the precision recipe must be above 0"),
    "check_whole": ({"vocab_size": 129280.5}, "hidden_size, vocab_size and sequence_length must be whole numbers"),
    "check_routing": ({"topk_group": 99}, "topk_group at most n_group"),
    "check_run": ({"training_tokens": 0}, "training_tokens must be above 0"),
    "check_sizes": ({"vocab_size": 0}, "must be above 0"),
    "check_heads": (
        {"tensor_parallel_size": 6, "devices": 12, "scale_up_domain": 6},
        "tensor_parallel_size must divide the model's num_attention_heads",
    ),
    "check_devices": (
        {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "devices": 24, "global_batch_size": 15},
        "tensor_parallel_size x context_parallel_size x pipeline_parallel_size must divide devices",
    ),
    "check_expert_devices": (
        {"expert_parallel_size": 64, "devices": 96},
        "expert_parallel_size x expert_tensor_parallel_size x pipeline_parallel_size must divide devices",
    ),
    "check_experts": ({"expert_parallel_size": 512}, "expert_parallel_size must divide the model's n_routed_experts"),
    "check_moe_layers": (
        {**DENSE, "num_hidden_layers": 96},
        "the model has more num_hidden_layers than num_dense_layers but no experts",
    ),
    "check_expert_tensor": (
        {**DENSE, "expert_tensor_parallel_size": 4},
        "expert_tensor_parallel_size must divide the width of an expert, and be 1 for a dense model",
    ),
    "check_replicas": (EP64 | {"data_parallel_replicas": 4}, "data_parallel_replicas must divide"),
    "check_microbatches": ({"micro_batch_size": 7}, "must divide global_batch_size"),
    "check_tensor_nodes": (
        {"tensor_parallel_size": 16, "scale_up_domain": 12},
        "tensor_parallel_size must divide the scale-up domain or be a multiple of it",
    ),
    "check_stages": ({"pipeline_parallel_size": 32, "stage_layout": "in order"}, "there are too few layers"),
    "check_sequence_parallelism": (
        {"tensor_parallel_size": 8, "expert_parallel_size": 8, "sequence_parallelism": "off"},
        "need sequence_parallelism = on",
    ),
    "check_context": (
        {"context_parallel_size": 3, "devices": 6144, "scale_up_domain": 3},
        "context_parallel_size must divide sequence_length",
    ),
    "check_dense_layers": (
        {"pipeline_parallel_size": 2, "virtual_stages": 16, "pipeline_schedule": "interleaved 1F1B"},
        "dense layers reach into the second stage of a device",
    ),
    "check_layout": (
        {"stage_layout": "in order", "pipeline_schedule": "DualPipeV", "virtual_stages": 2},
        "stage_layout 'in order' needs a schedule with one stage per device",
    ),
    "check_virtual_stages": ({"virtual_stages": 2}, "virtual_stages does not fit pipeline_schedule"),
    "check_network": ({"oversubscription": 0.5}, "oversubscription at least 1"),
    "check_schedule": (
        {"pipeline_parallel_size": 3, "devices": 2040, "global_batch_size": 6800, "pipeline_schedule": "DualPipe"},
        "pipeline_parallel_size must be even for this pipeline_schedule",
    ),
    "check_schedule_microbatches": (
        {**EP64, "pipeline_schedule": "DualPipe", "global_batch_size": 1024},
        "this pipeline_schedule needs more micro-batches",
    ),
    "check_window": ({"sliding_window_layers": 62}, "more windowed, chunked or dense layers than layers"),
    "check_compute_rates": ({"fp8_measured": 0}, "the hardware has no such compute rate"),
    "check_hbm": ({"hbm_measured": 0}, "HBM bandwidth is unknown: set ceilings=datasheet, or fill in hbm_measured"),
    "check_scale_up": ({"scale_up_measured": 0}, "scale-up bandwidth is unknown"),
    "check_scale_out": ({"scale_out_measured": 0}, "scale-out bandwidth is unknown"),
    "check_convention": (
        {"flop_convention": "no such convention"},
        "flop_convention is no row of its table in Choices, or the hardware lacks the peak",
    ),
    "check_measured": ({"measured_step_time": -1}, "measured_step_time must be above 0, or 0 for none"),
    "check_key_value_heads": (
        {**DENSE, "num_key_value_heads": 6, "tensor_parallel_size": 4},
        "tensor_parallel_size must divide the model's num_key_value_heads, or be a multiple of it",
    ),
}


def values(**inputs: Any) -> dict[str, Any]:
    return analysis.compute({"micro_batch_size": 0.5} | inputs, SHIPPED.columns)


def test_every_check_has_a_violation_here() -> None:
    assert set(VIOLATIONS) == set(analysis.series["checks"])


@pytest.mark.parametrize("check", VIOLATIONS)
def test_each_check_fails_alone_and_says_why(check: str) -> None:
    inputs, message = VIOLATIONS[check]
    ours = values(**inputs)
    assert [name for name in analysis.series["checks"] if ours[name] != "OK"] == [check]
    assert message in ours[check]
    assert ours["failed_checks"] == 1


@pytest.mark.parametrize("check", VIOLATIONS)
def test_a_study_names_the_strategy_and_the_reason(check: str) -> None:
    inputs, message = VIOLATIONS[check]
    strategies = {"Good one": {"micro_batch_size": 0.5}, "Bad one": {"micro_batch_size": 0.5} | inputs}
    with pytest.raises(UserError) as error:
        replace(SHIPPED, strategies=strategies).require_valid()
    assert str(error.value).startswith("deepseek-v3-h800: strategy 'Bad one': ")
    assert message in str(error.value)


@pytest.mark.parametrize("name", study.names())
def test_shipped_studies_pass_every_check(name: str) -> None:
    loaded = study.load(name)
    loaded.require_valid()
    for ours in loaded.values.values():
        assert ours["failed_checks"] == 0


def test_a_strategy_that_cannot_be_computed_is_named() -> None:
    with pytest.raises(UserError, match="strategy 'Bad one': model is no row of the sheet Models"):
        replace(SHIPPED, strategies={"Bad one": {"model": "no such model"}}).require_valid()


def test_a_rate_that_the_device_lacks() -> None:
    """A100 has no FP8 tensor cores (NVIDIA A100 data sheet): its cell is empty, which reads as 0."""
    ours = values(hardware="A100 SXM4 80GB")
    assert "no such compute rate" in ours["check_compute_rates"]
    assert ours["failed_checks"] == 1
    assert values(hardware="A100 SXM4 80GB", precision="BF16")["check_compute_rates"] == "OK"
