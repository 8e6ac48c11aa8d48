"""Verdict: what binds DeepSeek-V3 on 2048 H800, the cost of a run, and break-even values put back into the engine."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbook import study
from workbook.analysis import analysis

SHIPPED = study.load()
COLUMNS = SHIPPED.columns
OWN = "PP16 EP64 ZeRO-1 DualPipe"
MEASURED_STEP = 19.926  # s, arXiv 2505.09343, Table 4 (MPFT)
EVERY_STRATEGY: dict[str, dict[str, Any]] = {
    f"{name}: {strategy}": dict(inputs)
    for name in study.names()
    for strategy, inputs in study.load(name).strategies.items()
}
RANK_ORDERS = COLUMNS["RankOrder.name"]
TOUCH = 1 + 1e-6


def values(inputs: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    return analysis.compute({**inputs, **changes}, COLUMNS)


def with_bandwidth(inputs: Mapping[str, Any], bandwidth: float) -> dict[str, Any]:
    return values(inputs, scale_out_measured=bandwidth, scale_out_peak=bandwidth)


def with_tokens(inputs: Mapping[str, Any], base: Mapping[str, Any], tokens: float) -> dict[str, Any]:
    factor = tokens / base["tokens_per_device"]
    sizes = {name: base[name] * factor for name in ("global_batch_size", "micro_batch_size")}
    return values(inputs, **sizes)


def with_nodes(inputs: Mapping[str, Any], base: Mapping[str, Any], nodes: float) -> dict[str, Any]:
    factor = nodes / base["nodes"]
    return values(inputs, devices=base["devices"] * factor, micro_batch_size=base["micro_batch_size"] / factor)


def scale_out(ours: Mapping[str, Any]) -> float:
    """Time of the NICs or of the links between pods, whichever takes longer: both have the NIC's bandwidth."""
    return max(ours["scale_out_time"], ours["pod_time"])


def assert_even(ours: Mapping[str, Any]) -> None:
    assert ours["scale_out_time"] == pytest.approx(ours["pipeline_time"], rel=1e-9)


def assert_flips(over: Mapping[str, Any], under: Mapping[str, Any]) -> None:
    """Scale-out is over compute on one side of the break-even value and under it on the other; the verdict follows
    wherever nothing else binds."""
    assert scale_out(over) > over["pipeline_time"]
    assert under["scale_out_time"] < under["pipeline_time"]
    if over["bound_without_scale_out"] == "compute":
        assert over["bound"] in ("scale-out", "between pods")
    if under["bound_without_scale_out"] == "compute" and under["pod_time"] < under["pipeline_time"]:
        assert under["bound"] == "compute"


def assert_bandwidth_breaks_even(inputs: Mapping[str, Any]) -> None:
    base = values(inputs)
    bandwidth = base["break_even_scale_out_bandwidth"]
    sent = max(base["scale_out_bytes"], base["pod_bytes"] * base["oversubscription"])
    assert bandwidth * base["pipeline_time"] == pytest.approx(sent)
    if bandwidth > 0:
        even = with_bandwidth(inputs, bandwidth)
        assert scale_out(even) == pytest.approx(even["pipeline_time"], rel=1e-9)
        assert_flips(with_bandwidth(inputs, bandwidth / TOUCH), with_bandwidth(inputs, bandwidth * TOUCH))


def assert_tokens_break_even(inputs: Mapping[str, Any]) -> None:
    base = values(inputs)
    tokens = base["break_even_tokens_per_device"]
    if tokens > 0:
        found = with_tokens(inputs, base, tokens)
        assert found["num_microbatches"] == pytest.approx(base["num_microbatches"])
        assert_even(found)
        assert_flips(with_tokens(inputs, base, tokens / TOUCH), with_tokens(inputs, base, tokens * TOUCH))
    elif base["data_parallel_scale_out_bytes"] > 0:  # none: no batch is large enough
        huge = with_tokens(inputs, base, base["tokens_per_device"] * 1e6)
        assert huge["scale_out_time"] >= huge["pipeline_time"]


def assert_nodes_break_even(inputs: Mapping[str, Any]) -> None:
    base = values(inputs)
    nodes = base["break_even_nodes"]
    if nodes > 0:
        found = with_nodes(inputs, base, nodes)
        assert found["num_microbatches"] == pytest.approx(base["num_microbatches"])
        assert_even(found)
        assert_flips(with_nodes(inputs, base, nodes * TOUCH), with_nodes(inputs, base, nodes / TOUCH))
    elif base["data_parallel_replicas"] == 1:  # none: the fewest nodes that hold the degrees still wait for the network
        group = min(base["shard_size"], base["expert_shard_size"]) / base["parameter_copies"]
        fewest = with_nodes(inputs, base, base["nodes"] / group)
        assert fewest["scale_out_time"] >= fewest["pipeline_time"] or fewest["nodes"] <= 1  # or all is in one


PROOFS = (assert_bandwidth_breaks_even, assert_tokens_break_even, assert_nodes_break_even)


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize("strategy", EVERY_STRATEGY)
def test_break_even_put_back(strategy: str, proof: Any) -> None:
    proof(EVERY_STRATEGY[strategy])


@pytest.mark.parametrize("proof", PROOFS)
@settings(deadline=None)
@given(
    strategy=st.sampled_from(sorted(EVERY_STRATEGY)),
    exponent=st.floats(8.5, 13),
    bandwidth_model=st.sampled_from(["flat", "hierarchical"]),
    scale_up_domain=st.sampled_from([1, 4, 8, 16, 64]),
    replicas=st.sampled_from([1, 1, 2]),
    rank_order=st.sampled_from(RANK_ORDERS),
)
def test_break_even_put_back_for_any_bandwidth(
    proof: Any, strategy: str, exponent: float, bandwidth_model: str, scale_up_domain: int, replicas: int,
    rank_order: str,
) -> None:  # fmt: skip
    rate = 10**exponent
    base = values(EVERY_STRATEGY[strategy])
    if proof is assert_nodes_break_even:  # exact with one copy of each stage, and with stages apart
        assume(base["parameter_copies"] == 1 and base["pipeline_inside_tensor"] == 0)
    proof(
        EVERY_STRATEGY[strategy]
        | {
            "scale_out_measured": rate, "scale_out_peak": rate, "bandwidth_model": bandwidth_model,
            "scale_up_domain": scale_up_domain, "data_parallel_replicas": replicas, "rank_order": rank_order,
        }
    )  # fmt: skip


def test_a_cluster_inside_one_node_breaks_even_once_it_leaves_it() -> None:
    inputs = {"model": "llama-3-70b", "devices": 64, "scale_up_domain": 64, "precision": "BF16", "zero_stage": "ZeRO-3",
              "pipeline_parallel_size": 2}  # fmt: skip
    assert values(inputs)["scale_out_bytes"] == 0
    assert values(inputs)["break_even_nodes"] > 1
    assert_nodes_break_even(inputs)


def test_break_even_is_none_where_activations_alone_take_too_long() -> None:
    """ZeRO-3 EP64: with full recomputation the expert all-to-all alone outlasts compute, whatever the batch."""
    ours = values(SHIPPED.strategies["ZeRO-3 EP64"])
    assert ours["token_scale_out_bytes"] / ours["scale_out_ceiling"] > ours["pipeline_time"]
    assert ours["break_even_tokens_per_device"] == ours["break_even_nodes"] == 0


def test_break_even_bandwidth_of_fsdp() -> None:
    """3 x 2 P (n - 8) / n bytes in the compute time of a step."""
    ours = SHIPPED.values["ZeRO-3 (FSDP)"]
    sent = 6 * 671_026_404_352 * 2040 / 2048
    assert ours["break_even_scale_out_bandwidth"] == pytest.approx(sent / ours["compute_time"], rel=1e-12)


def test_fsdp_waits_for_the_network() -> None:
    """ZeRO-3 at large scale: 44 against 141 TFLOP/s per device (Narayanan et al. 2021, arXiv 2104.04473, Table 2)."""
    flat, hierarchical = (SHIPPED.values[f"ZeRO-3 (FSDP){model}"] for model in ("", " hierarchical"))
    assert flat["bound"] == "scale-out"
    assert hierarchical["bound"] in ("scale-out", "scale-up")
    assert flat["communication_compute_ratio"] > hierarchical["communication_compute_ratio"] > 1


@pytest.mark.parametrize("model", ["", " hierarchical"])
def test_deepseeks_own_strategy_is_compute_bound(model: str) -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, section 3.2: communication is hidden; and it fits in 80 GB."""
    ours = SHIPPED.values[OWN + model]
    assert (ours["bound"], ours["memory_fits"], ours["bound_without_scale_out"]) == ("compute", "yes", "compute")
    assert ours["communication_compute_ratio"] < 1


@pytest.mark.parametrize("strategy", SHIPPED.strategies)
def test_the_ratio_says_who_waits(strategy: str) -> None:
    ours = SHIPPED.values[strategy]
    waits = ours["bound"] in ("scale-out", "scale-up")
    assert not waits or ours["communication_compute_ratio"] > 1
    assert (ours["break_even_scale_out_bandwidth"] > ours["scale_out_ceiling"]) == (
        ours["scale_out_time"] > ours["pipeline_time"]
    )


def at_measured_step(name: str, **given: Any) -> Any:
    """One quantity of DeepSeek's own strategy from the step time that was measured, not the speed of light."""
    function = analysis[name].function
    assert function is not None
    ingredients = SHIPPED.values[OWN] | {"step_time_lower_bound": MEASURED_STEP, "bf16_peak": 989e12} | given
    return function(*(ingredients[parameter] for parameter in analysis[name].parameters))


def test_rates_at_the_measured_step() -> None:
    """385 TFLOP/s, MFU 38.94 % at 19.926 s a step (arXiv 2505.09343, Table 4); routers count here."""
    assert at_measured_step("model_flops_per_second") == pytest.approx(386.1e12, rel=0.0005)
    assert at_measured_step("model_flops_utilization") == pytest.approx(0.3894, rel=0.005)


def test_device_hours_at_the_measured_step() -> None:
    """180 thousand H800 hours per trillion tokens, 3.7 days of 2048, 2664 thousand and 5.328 M USD for 14.8 trillion
    tokens (DeepSeek-V3 report, arXiv 2412.19437, section 1 and Table 1)."""
    rate = at_measured_step("tokens_per_second_per_device")
    hours = at_measured_step("device_hours_per_trillion_tokens", tokens_per_second_per_device=rate)
    assert hours == pytest.approx(180e3, rel=0.002)
    assert at_measured_step("training_days", training_device_hours=hours) == pytest.approx(3.7, rel=0.015)
    run = at_measured_step("training_device_hours", device_hours_per_trillion_tokens=hours)
    assert run == pytest.approx(2664e3, rel=0.002)
    assert at_measured_step("training_cost", training_device_hours=run) == pytest.approx(5.328e6, rel=0.002)


def test_cost_range_and_energy_at_the_measured_step() -> None:
    """2664 thousand hours (Table 1) of 700 W are 1.865 GWh, and cost 7.2 to 32.7 M USD at prices of an H100."""
    run = {"training_device_hours": 2664e3, "training_days": 2664e3 / 2048 / 24}
    prices = {"device_price_low": 2.69, "device_price_high": 12.29}
    assert at_measured_step("training_energy", **run) == pytest.approx(1.865e9, rel=0.001)
    assert at_measured_step("training_cost_low", **run, **prices) == pytest.approx(7.166e6, rel=0.001)
    assert at_measured_step("training_cost_high", **run, **prices) == pytest.approx(32.74e6, rel=0.001)


def test_unknown_power_and_price_are_said_and_nothing_else_needs_them() -> None:
    """No price of an H800 was found, and nothing of a TPU's power."""
    tpu = study.load("deepseek-v3-tpu-v5p")
    tpu.require_valid()
    unknown = [(SHIPPED, "training_cost_low", "price"), (SHIPPED, "training_cost_high", "price")]
    for loaded, key, what in [*unknown, (tpu, "training_energy", "power")]:
        assert {values[key] for values in loaded.values.values()} == {0}
        assert (analysis[key].number_format or "").startswith(f'[=0]"{what} unknown";')
    assert all(values["training_cost_low"] > 0 for values in tpu.values.values())


@pytest.mark.parametrize("strategy", SHIPPED.strategies)
def test_days_and_cost_follow_from_the_step(strategy: str) -> None:
    ours = SHIPPED.values[strategy]
    steps = ours["training_tokens"] / ours["step_tokens"]
    assert ours["training_days"] == pytest.approx(steps * ours["step_time_lower_bound"] / 86_400)
    assert ours["training_cost"] == pytest.approx(2 * 2048 * 24 * ours["training_days"])
    assert ours["device_hours_per_trillion_tokens"] * 14.8 == pytest.approx(ours["training_device_hours"])
    assert ours["model_flops_per_second"] == pytest.approx(ours["model_flops_utilization"] * ours["bf16_peak"])


@pytest.mark.parametrize("name", SHIPPED.strategies)
def test_what_binds_at_break_even_is_what_binds_there(name: str) -> None:
    """With a little more tokens per device, or on a few nodes fewer, than at break-even; micro-batches stay."""
    ours = SHIPPED.values[name]
    more_tokens = ours["tokens_at_break_even"] * 1.0001
    fewer_nodes = ours["nodes_over_break_even"] * ours["break_even_nodes_exist"] * 1.0001
    for quantity, times, changed in (
        ("bound_at_break_even_tokens", more_tokens, {"global_batch_size": ours["global_batch_size"] * more_tokens}),
        ("bound_at_break_even_nodes", fewer_nodes, {"devices": ours["devices"] / (fewer_nodes or 1)}),
    ):
        scaled = changed | {"micro_batch_size": ours["micro_batch_size"] * times}
        bound = analysis.compute({**SHIPPED.strategies[name], **scaled}, SHIPPED.columns)["bound"] if times else "none"
        assert ours[quantity] == bound, quantity


PODS = {"model": "llama-3-70b", "devices": 1024, "global_batch_size": 1024, "zero_stage": "ZeRO-3", "precision": "BF16",
        "pod_devices": 64, "oversubscription": 8}  # fmt: skip


def test_oversubscribed_links_need_more_bandwidth() -> None:
    """At break-even the links between pods, not the NICs, take as long as compute."""
    bandwidth = values(PODS)["break_even_scale_out_bandwidth"]
    found = with_bandwidth(PODS, bandwidth)
    assert found["pod_time"] == pytest.approx(found["pipeline_time"], rel=1e-9)
    assert found["scale_out_time"] < found["pipeline_time"]
    assert with_bandwidth(PODS, bandwidth / TOUCH)["bound"] == "between pods"
    assert with_bandwidth(PODS, bandwidth * TOUCH)["bound"] == "compute"


def test_more_tokens_may_leave_the_links_between_pods_to_bind() -> None:
    base = values(PODS)
    assert base["bound_at_break_even_tokens"] == "between pods"
    more = with_tokens(PODS, base, base["break_even_tokens_per_device"] * TOUCH)
    assert more["scale_out_time"] < more["pipeline_time"]
    assert more["bound"] == "between pods"
