"""Memory per device: published tables to the byte, what activations grow with, and two routes to the peak."""

from typing import Any

import pytest

from workbook import study
from workbook.analysis import analysis
from workbook.stages import stages

COLUMNS = study.load().columns
ZHANG_SU = study.load("zhang-su-memory")
DEEPSEEK = {"pipeline_parallel_size": 16, "expert_parallel_size": 64}


def values(**inputs: Any) -> dict[str, Any]:
    return analysis.compute(inputs, COLUMNS)


def test_a_four_layer_stage_to_the_parameter() -> None:
    """Zhang and Su 2025, arXiv 2502.07846, Table 6: TP2, EP8, ETP1, parameters of one device by module."""
    ours = ZHANG_SU.values["No ZeRO"]
    split, replicated = 318_767_104, 110_886_912
    experts, routers, norms = 5_813_305_344, 7_340_032, 65_536
    assert 4 * ours["replicated_attention_parameters"] == replicated
    assert 4 * ours["rank_attention_parameters"] == split + replicated
    assert 4 * ours["rank_vector_parameters"] == norms
    assert ours["middle_device_dense_parameters"] == split + replicated + norms
    assert ours["middle_device_expert_parameters"] == experts + routers
    assert ours["middle_device_dense_parameters"] + ours["middle_device_expert_parameters"] == 6_250_364_928


@pytest.mark.parametrize(
    ("strategy", "weights", "gradients", "optimizer"),
    [
        ("No ZeRO", 12_500_729_856, 25_001_459_712, 50_002_919_424),
        ("ZeRO-1 (os)", 12_500_729_856, 25_001_459_712, 5_928_075_264),
        ("ZeRO-2 (os+g)", 12_500_729_856, 2_964_037_632, 5_928_075_264),
        ("ZeRO-3 (os+g+params)", 1_482_018_816, 2_964_037_632, 5_928_075_264),
    ],
)
def test_a_four_layer_stage_to_the_byte(strategy: str, weights: int, gradients: int, optimizer: int) -> None:
    """Zhang and Su 2025, arXiv 2502.07846, Table 8: it prints 81.54, 40.46, 19.92 and 9.66 GiB."""
    ours = ZHANG_SU.values[strategy]
    assert ours["middle_device_weight_memory"] == weights
    assert ours["middle_device_gradient_memory"] == gradients
    assert ours["middle_device_optimizer_memory"] == optimizer


def test_the_degrees_of_the_paper() -> None:
    """Zhang and Su 2025, arXiv 2502.07846, Table 5: DP 32, expert DP 8; and the shipped study passes every check."""
    ZHANG_SU.require_valid()
    for ours in ZHANG_SU.values.values():
        assert (ours["data_parallel_size"], ours["expert_data_parallel_size"]) == (32, 8)


def test_layers_of_the_stages() -> None:
    """Zhang and Su 2025, arXiv 2502.07846, Table 4: 15 stages of 4 layers, the last has 1."""
    rows = stages.compute_rows(ZHANG_SU.values["No ZeRO"])
    assert [row["layers"] for row in rows if row["exists"]] == [4] * 15 + [1]
    assert [row["dense_layers"] for row in rows[:2]] == [3, 0]


def test_all_stages_together_are_the_model() -> None:
    """Zhang and Su 2025, arXiv 2502.07846, Table 4: the stages sum to 671B; no copy is counted twice."""
    ours = values(pipeline_parallel_size=16)
    rows = stages.compute_rows(ours)
    assert (
        sum(row["dense_parameters"] + row["expert_parameters"] for row in rows)
        == ours["total_parameters"]
        == 671_026_404_352
    )
    average = (ours["rank_dense_parameters"] + ours["rank_expert_parameters"]) * 16
    assert average == pytest.approx(671_026_404_352, rel=1e-12)


def test_a_tied_head_is_a_copy_on_another_stage() -> None:
    """The embedding is needed at both ends of a pipeline (Narayanan et al. 2021, arXiv 2104.04473, section 2.2)."""
    alone, piped = (values(model="llama-3.2-1b", pipeline_parallel_size=size) for size in (1, 2))
    assert alone["rank_head_parameters"] == alone["hidden_size"]
    assert piped["rank_head_parameters"] == alone["embedding_parameters"] + alone["hidden_size"]


def test_prediction_layers_stand_on_the_last_stage() -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, section 3.2.3: the deepest layers, head and MTP module together."""
    off, on = (values(**DEEPSEEK, multi_token_prediction=switch) for switch in ("off", "on"))
    more = on["last_device_dense_parameters"] - off["last_device_dense_parameters"]
    assert more == off["rank_moe_layer_parameters"] + 2 * 7168**2 + 3 * 7168
    assert on["last_device_moe_layers"] - off["last_device_moe_layers"] == 1
    assert on["logits_memory"] == 2 * off["logits_memory"]
    assert on["middle_device_memory"] == off["middle_device_memory"]
    assert on["first_device_memory"] == off["first_device_memory"]


POLICIES = ("none, unfused attention", "none", "selective (DeepSeek-V3)", "full")


@pytest.mark.parametrize("policy", POLICIES)
def test_activations_are_linear_in_the_micro_batch(policy: str) -> None:
    one, four = (values(**DEEPSEEK, recomputation=policy, micro_batch_size=size) for size in (1, 4))
    for device in ("first", "middle", "last"):
        assert four[f"{device}_device_activation_memory"] == 4 * one[f"{device}_device_activation_memory"]
    assert four["middle_device_weight_memory"] == one["middle_device_weight_memory"]


@pytest.mark.parametrize(
    ("schedule", "virtual", "first", "second", "last"),
    [
        ("GPipe", 1, 120, 120, 120),
        ("1F1B", 1, 16, 15, 1),
        ("interleaved 1F1B", 2, 16 + 15 / 2, 14 + 15 / 2, 1 + 15 / 2),
        ("ZB1P", 1, 16, 16, 16),
        ("ZB-V", 2, 16, 16, 16),
        ("DualPipe", 1, 17 / 2, 17 / 2, 17 / 2),
        ("DualPipeV", 2, 33 / 2, 33 / 2, 33 / 2),
    ],
)
def test_micro_batches_in_flight(schedule: str, virtual: int, first: float, second: float, last: float) -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, Table 2: PP, and PP + 1 over DualPipe's two stages; DualPipeV has twice as
    many stages. GPipe keeps all (Narayanan et al. 2021, arXiv 2104.04473, section 2.2). Interleaving keeps
    1 + (p - 1) / (p v) times as much on the first device (Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.3)."""
    ours = values(**DEEPSEEK, pipeline_schedule=schedule, virtual_stages=virtual)
    assert ours["num_microbatches"] == 120
    assert [ours[f"{device}_device_in_flight"] for device in ("first", "middle", "last")] == [first, second, last]


def test_no_more_in_flight_than_there_are() -> None:
    for schedule in ("1F1B", "ZB1P"):
        assert values(**DEEPSEEK, pipeline_schedule=schedule, global_batch_size=512)["first_device_in_flight"] == 4


def test_dualpipe_holds_two_stages() -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, section 3.2.3: shallowest and deepest layers on one device."""
    single, dual = (values(**DEEPSEEK, pipeline_schedule=schedule) for schedule in ("1F1B", "DualPipe"))
    for state in ("weight", "gradient"):
        both = single[f"first_device_{state}_memory"] + single[f"last_device_{state}_memory"]
        assert dual[f"first_device_{state}_memory"] == dual[f"last_device_{state}_memory"] == both
    assert (
        dual["first_device_optimizer_memory"]
        == (single["first_device_optimizer_memory"] + single["last_device_optimizer_memory"]) / 2
    )


@pytest.mark.parametrize("zero", ["DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3"])
def test_replicas_hold_less_of_what_is_sharded(zero: str) -> None:
    """HSDP: shards stay within a replica (Zhao et al. 2023, arXiv 2304.11277, section 3.2.2)."""
    one, eight = (values(zero_stage=zero, data_parallel_replicas=replicas) for replicas in (1, 8))
    assert eight["optimizer_shards"] == (1 if zero == "DDP" else one["optimizer_shards"] / 8)
    assert (eight["last_device_memory"] > one["last_device_memory"]) == (zero != "DDP")


def test_sharding_saves_in_order() -> None:
    """Rajbhandari et al. 2020, arXiv 1910.02054, figure 1."""
    needs = [values(zero_stage=stage, **DEEPSEEK)["device_memory"] for stage in ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")]
    assert needs == sorted(needs, reverse=True)


def test_a_gathered_layer_is_whole() -> None:
    """FSDP, arXiv 2304.11277: the unit at work has all weights and gradients, 2 bytes each; an MoE layer of DeepSeek-V3
    has 11,507,286,272 parameters, 256 of them router correction."""
    assert values(zero_stage="ZeRO-3")["gathered_layer_memory"] == (11_507_286_272 - 256) * (2 + 2)
    assert values(zero_stage="ZeRO-2")["gathered_layer_memory"] == 0
    small = values(model="llama-3.2-1b", zero_stage="ZeRO-3")
    assert small["gathered_layer_memory"] == 128_256 * 2048 * (2 + 2)


def test_without_a_pipeline_one_device_holds_both_ends() -> None:
    ours = values()
    assert ours["first_device_memory"] == ours["last_device_memory"] == ours["largest_device_memory"]
    assert ours["device_memory"] == ours["first_device_memory"] + ours["passing_memory"] + 2e9
    assert ours["first_device_layers"] == ours["last_device_layers"] == 61
    held = ours["first_device_dense_parameters"] + ours["first_device_expert_parameters"]
    assert held == ours["total_parameters"] == 671_026_404_352


def test_fits_is_need_against_capacity() -> None:
    need = values(**DEEPSEEK)["device_memory"]
    for capacity, fits in ((need, "yes"), (need - 1, "no")):
        ours = values(**DEEPSEEK, memory_capacity=capacity)
        assert ours["memory_fits"] == fits
        assert ours["memory_left"] == capacity - need


def _valid_strategies() -> list[dict[str, Any]]:
    found = []
    schedules = (
        ("1F1B", 1), ("GPipe", 1), ("ZB1P", 1), ("interleaved 1F1B", 2), ("interleaved 1F1B", 3), ("ZB-V", 2),
        ("DualPipe", 1), ("DualPipeV", 2),
    )  # fmt: skip
    for model, ep in (("deepseek-v3", 8), ("kimi-k2", 8), ("gpt-oss-120b", 4), ("llama-3-70b", 1), ("llama-3.2-1b", 1)):
        for pp in (1, 2, 4, 8, 16):
            for schedule, virtual in schedules:
                for tp, policy, zero, layout, fewer in (
                    (1, "none", "ZeRO-1", "balanced", 2),
                    (8, "full", "ZeRO-3", "in order", 0),
                    (2, "selective (DeepSeek-V3)", "DDP", "balanced", 0),
                    (2, "none", "ZeRO-2", "even", 0),
                ):
                    ours = values(
                        model=model, expert_parallel_size=ep, pipeline_parallel_size=pp, pipeline_schedule=schedule,
                        tensor_parallel_size=tp, recomputation=policy, zero_stage=zero, precision="BF16",
                        global_batch_size=4096, virtual_stages=virtual, stage_layout=layout,
                        last_stage_fewer_layers=fewer,
                    )  # fmt: skip
                    if ours["failed_checks"] == 0:
                        found.append(ours)
    return found


VALID_STRATEGIES = _valid_strategies()


def test_three_devices_stand_for_all() -> None:
    """The sheet Stages lists every device; the analysis looks at the first, one in the middle and the last."""
    assert len(VALID_STRATEGIES) > 400
    for ours in VALID_STRATEGIES:
        rows = stages.compute_rows(ours)
        assert max(row["memory"] for row in rows) == pytest.approx(ours["largest_device_memory"], rel=1e-12)
        if ours["rounds_layers"]:
            busiest = max(row["compute"] for row in rows)
            assert busiest == pytest.approx(ours["busiest_device_compute_time"], rel=1e-12)


def test_first_and_last_device_are_rows_of_all() -> None:
    for ours in VALID_STRATEGIES:
        rows = [row for row in stages.compute_rows(ours) if row["exists"]]
        assert rows[0]["memory"] == pytest.approx(ours["first_device_memory"], rel=1e-12)
        assert rows[-1]["memory"] == pytest.approx(ours["last_device_memory"], rel=1e-12)


def test_devices_of_a_pipeline_hold_the_model() -> None:
    """Layers, parameters and compute of all devices are the model's, once per copy."""
    for ours in VALID_STRATEGIES:
        rows, copies = stages.compute_rows(ours), ours["parameter_copies"]
        assert sum(row["layers"] for row in rows) == pytest.approx(copies * ours["num_hidden_layers"], rel=1e-12)
        assert sum(row["dense_layers"] for row in rows) == pytest.approx(copies * ours["num_dense_layers"], rel=1e-12)
        held = sum(row["dense_parameters"] + row["expert_parameters"] for row in rows) / ours["pipeline_parallel_size"]
        assert held == pytest.approx(ours["rank_dense_parameters"] + ours["rank_expert_parameters"], rel=1e-12)
        computed = sum(row["compute"] for row in rows) / ours["pipeline_parallel_size"]
        assert computed == pytest.approx(3 * ours["forward_time"], rel=1e-12)


@pytest.mark.parametrize("microbatches", [4, 8, 16, 64])
def test_1f1b_keeps_no_more_micro_batches_than_there_are(microbatches: int) -> None:
    """Narayanan et al. 2021, arXiv 2104.04473, section 2.2: stage i of p keeps min(m, p - i) micro-batches."""
    inputs = {"pipeline_parallel_size": 16, "devices": 16, "global_batch_size": microbatches, "micro_batch_size": 1}
    ours = values(**inputs)
    assert [row["in_flight"] for row in stages.compute_rows(ours)][:16] == [
        min(microbatches, 16 - i) for i in range(16)
    ]


def test_weights_that_stay_gathered_are_kept_whole() -> None:
    """Llama 3, arXiv 2407.21783, section 3.3.2: no reshard after forward keeps gradients and states sharded only."""
    kept, sharded = (
        values(zero_stage=stage, micro_batch_size=7.5) for stage in ("ZeRO-3, no reshard after forward", "ZeRO-3")
    )
    assert kept["first_device_weight_memory"] == 2048 * sharded["first_device_weight_memory"]
    assert kept["first_device_gradient_memory"] == sharded["first_device_gradient_memory"]


def test_key_value_heads_are_copied_where_there_are_fewer_than_ranks() -> None:
    """Llama 3 70B has 8 key-value heads of 128: on 16 ranks each still holds one, 2 x 8192 x 128 weights."""
    ours = values(model="llama-3-70b", tensor_parallel_size=16, devices=16)
    assert ours["rank_attention_parameters"] == 2 * 8192 * 8192 / 16 + 2 * 8192 * 128
