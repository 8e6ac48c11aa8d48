"""Relations that hold for whatever strategy: thousands are drawn at random and swept, before and after a change.

The numbers themselves are not known here; how one must move when another does is.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyxl.quantity import Kind
from workbook import study
from workbook.analysis import analysis
from workbook.collectives import collectives
from workbook.stages import STAGES, stages
from workbook.sweep import sweep

Arrays = Mapping[str, Any]
SHIPPED = study.load()
DRAWN = 40_000  # one in seven is valid
NOISE = 1e-9
BOUNDS = ("step_time_lower_bound", "step_time_upper_bound")
TRAFFIC = ("scale_out_bytes", "scale_up_bytes", "pod_bytes")
RATES = (
    "bf16_peak", "bf16_measured", "fp8_peak", "fp8_measured", "fp4_peak", "fp4_measured", "hbm_peak", "hbm_measured",
    "scale_up_peak", "scale_up_measured", "scale_out_peak", "scale_out_measured", "nics_per_device",
)  # fmt: skip
RESULTS = (
    *BOUNDS, "device_memory", "memory_fits",
    *(quantity.name for title in ("Verdict", "Break-even", "Measured run") for quantity in analysis.sections()[title]),
)  # fmt: skip
# Inputs that change no result, each with the reason.
DEAD = {
    "router_correction_bias": "counted in checkpoints only: no gradient, no state, no multiplication",
    "least_virtual_stages": "says which strategies are valid",
    "most_virtual_stages": "says which strategies are valid",
    "stages_multiple": "says which strategies are valid",
    "microbatches_per_stage": "says which strategies are valid",
}


def rows(table: str) -> list[str]:
    return [name for name in SHIPPED.columns[f"{table}.name"] if name]


@cache
def pool() -> dict[str, Any]:
    """Strategies that pass every check, as arrays by input."""
    dice = np.random.default_rng(2024)

    def power(least: int, most: int) -> Any:
        return 2 ** dice.integers(least, most + 1, DRAWN)

    def mostly_one(values: Any) -> Any:
        return np.where(dice.random(DRAWN) < 0.6, 1, values)

    drawn: dict[str, Any] = {
        quantity.name: dice.choice(np.array(rows(quantity.choices)), DRAWN)
        for quantity in analysis
        if quantity.kind is Kind.INPUT and quantity.choices
    }
    tensor, context, stages, data = power(0, 3), mostly_one(power(0, 2)), power(0, 4), power(0, 7)
    schedule = drawn["pipeline_schedule"]
    chunks = np.where(np.isin(schedule, ["ZB-V", "DualPipeV"]), 2, 1)
    drawn |= {
        "devices": tensor * context * stages * data,
        "tensor_parallel_size": tensor,
        "context_parallel_size": context,
        "pipeline_parallel_size": stages,
        "virtual_stages": np.where(schedule == "interleaved 1F1B", power(1, 2), chunks),
        "expert_parallel_size": mostly_one(power(0, 6)),
        "expert_tensor_parallel_size": mostly_one(tensor),
        "data_parallel_replicas": np.minimum(data, mostly_one(power(0, 3))),
        "sequence_length": power(11, 15),
        "micro_batch_size": (micro_batch := power(0, 1)),
        "global_batch_size": data * micro_batch * power(0, 6),
        "ceilings": np.where(dice.random(DRAWN) < 0.7, "datasheet", "measured"),
        "pod_devices": np.where(dice.random(DRAWN) < 0.5, 0, 576),
        "oversubscription": dice.choice([1.0, 3.0], DRAWN),
        "communication_sm_share": dice.choice([0.0, 0.15], DRAWN),
        "measured_step_time": dice.choice([0.0, 10.0], DRAWN),
    }
    valid = sweep(SHIPPED, drawn, ["failed_checks"])["failed_checks"] == 0
    return {name: values[valid] for name, values in drawn.items()}


def swept(names: Iterable[str], **changes: Any) -> Arrays:
    return sweep(SHIPPED, {**pool(), **changes}, (*names, "failed_checks"))


def strategy(place: int) -> dict[str, Any]:
    return {name: values[place].item() for name, values in pool().items()}


def assert_never(bad: Any, *shown: Arrays) -> None:
    """No strategy for which `bad` holds; the first one is shown, with its values."""
    places = np.flatnonzero(bad)
    if len(places):
        first = places[0]
        values = [{name: array[first].item() for name, array in arrays.items()} for arrays in shown]
        pytest.fail(f"{len(places)} of {len(bad)} strategies, the first: {strategy(first)}: {values}")


def valid(*arrays: Arrays) -> Any:
    return np.logical_and.reduce([each["failed_checks"] == 0 for each in arrays])


def assert_no_more(few: Arrays, many: Arrays, names: Iterable[str]) -> None:
    """Where both are valid, none of the named is larger in `few` than in `many`."""
    some = valid(few, many)
    assert some.sum() > 30
    for name in names:
        assert_never(some & (few[name] > many[name] * (1 + NOISE)), few, many)


def assert_same(one: Arrays, other: Arrays, names: Iterable[str], factor: float = 1) -> None:
    some = valid(one, other)
    assert some.sum() > 30
    for name in names:
        assert_never(some & ~np.isclose(one[name] * factor, other[name], rtol=NOISE, atol=0), one, other)


def test_the_pool_has_all_sorts() -> None:
    drawn = pool()
    assert len(drawn["devices"]) > 3000
    for name, values in drawn.items():
        known = rows(analysis[name].choices or "") if analysis[name].choices else [0, 1]
        assert len(np.unique(values)) >= len(known) * 0.7, name


def differs(one: Any, other: Any) -> Any:
    """Where two results differ; what cannot be computed is equal to itself."""
    return (one != other) & ((one == one) | (other == other))  # noqa: PLR0124 (nan is not)


def test_every_result_of_a_valid_strategy_has_a_value() -> None:
    base = swept(RESULTS)
    for name in RESULTS:
        assert_never(valid(base) & ((base[name] != base[name]) | (base[name] == "")), base)


def test_no_input_is_dead() -> None:
    """Whatever a user may set changes some result of some strategy."""
    base = swept(RESULTS)
    settable = [quantity for quantity in analysis if quantity.kind in (Kind.INPUT, Kind.LOOKUP)]
    usual = swept([quantity.name for quantity in settable])
    dead = set()
    for quantity in settable:
        if quantity.unit == "text":
            alternatives: list[Any] = rows(str(quantity.choices))
        else:
            values = usual[quantity.name]
            flag = set(np.unique(values)) <= {0, 1}
            alternatives = [1 - values if flag else np.where(values == 0, 2, 2 * values), np.full(len(values), 3.0)]
        for alternative in alternatives:
            changed = swept(RESULTS, **{quantity.name: alternative})
            if any(differs(changed[name], base[name])[valid(base)].any() for name in RESULTS):
                break
        else:
            dead.add(quantity.name)
    assert dead == set(DEAD)


def test_lower_and_upper_bound() -> None:
    base = swept(BOUNDS)
    assert_never(base["step_time_lower_bound"] > base["step_time_upper_bound"] * (1 + NOISE), base)


@pytest.mark.parametrize("rate", RATES)
@settings(deadline=None, max_examples=3)
@given(factor=st.floats(1, 100))
def test_a_faster_device_is_never_slower(rate: str, factor: float) -> None:
    known = swept([rate])[rate]
    known = np.where(np.isfinite(known), known, 0)
    usual, faster = (swept(BOUNDS, **{rate: np.maximum(known, known > 0) * each}) for each in (1, factor))
    assert_no_more(faster, usual, BOUNDS)


def test_more_memory_never_fits_less() -> None:
    names = (*BOUNDS, "device_memory")
    capacity = swept(["memory_capacity"])["memory_capacity"]
    usual, larger = (swept([*names, "memory_fits"], memory_capacity=capacity * factor) for factor in (1, 1.5))
    assert_never((usual["memory_fits"] == "yes") & (larger["memory_fits"] == "no"), usual, larger)
    assert_same(usual, larger, names)


def test_a_clock_half_as_fast_takes_twice_as_long() -> None:
    """All rates halved, all latencies doubled."""
    clocks = [*RATES[:-1], "scale_up_latency", "scale_out_latency"]
    known = {name: np.nan_to_num(values) for name, values in swept(clocks).items() if name in clocks}
    slower = {name: values / 2 if name in RATES else values * 2 for name, values in known.items()}
    assert_same(swept(BOUNDS, **known), swept(BOUNDS, **slower), BOUNDS, factor=2)


def test_without_latency_nothing_waits() -> None:
    base = swept(["latency_time", "pipeline_traversal_latency"], scale_up_latency=0, scale_out_latency=0)
    assert_never((base["latency_time"] != 0) | (base["pipeline_traversal_latency"] != 0), base)


def test_twice_the_devices_do_half_the_work() -> None:
    """At a fixed batch, by data or by context parallelism."""
    names = ("tokens_per_device", "compute_time", "forward_time")
    base = swept(names)
    assert_same(swept(names, devices=2 * pool()["devices"]), base, names, factor=2)
    doubled = {name: 2 * pool()[name] for name in ("devices", "context_parallel_size")}
    assert_same(swept(names, **doubled), base, names, factor=2)


def test_context_ranks_share_a_micro_batch() -> None:
    """On as many devices, with half the data parallel size and half the micro-batches' tokens on each rank."""
    total, part = ("tokens_per_device", "compute_time"), ("rank_microbatch_tokens", "working_layer_memory")
    base, more = (swept([*total, *part], context_parallel_size=each * pool()["context_parallel_size"],
                        recomputation="none", context_parallel_algorithm="ring") for each in (1, 2))  # fmt: skip
    assert_same(more, base, total)
    assert_same(more, base, part, factor=2)


def test_a_larger_batch_takes_longer_and_pays() -> None:
    """HBM is left out of the second: only the first micro-batch writes gradients without reading them."""
    shared = ("pipeline_time", "network_time")
    base, twice = (
        swept([*BOUNDS, *shared], global_batch_size=each * pool()["global_batch_size"], data_parallel_replicas=1)
        for each in (1, 2)
    )
    assert_no_more(base, twice, BOUNDS)
    assert_no_more(twice, {**base, **{name: 2 * base[name] for name in shared}}, shared)


def test_tied_embeddings_change_parameters_and_no_flops() -> None:
    flops = ("step_flops", "executed_flops_per_token", "compute_time", "counted_flops_per_token")
    parameters = ("total_parameters", "rank_dense_parameters")
    untied, tied = (swept([*flops, *parameters], tied_embeddings=each, counts_embedding=0) for each in (0, 1))
    assert_same(untied, tied, flops)
    assert_never(untied["total_parameters"] <= tied["total_parameters"], untied, tied)
    assert_no_more(tied, untied, parameters)


def test_bytes_enter_a_node_once_or_several_times() -> None:
    """Scale-out: flat, hierarchical, and less where switches add up. Scale-up passes on what did not come in."""
    flat, once, added = (swept(TRAFFIC, bandwidth_model=each) for each in rows("Bandwidth"))
    assert_no_more(once, flat, ["scale_out_bytes", "pod_bytes"])
    assert_no_more(flat, once, ["scale_up_bytes"])
    assert_no_more(added, once, TRAFFIC)


def test_rank_order_moves_bytes_from_one_network_to_the_other() -> None:
    """A rank needs what it needs, whoever its neighbours are, if each fetches for itself."""
    alone = {"bandwidth_model": "flat", "expert_dispatch": "one copy per expert"}
    totals = []
    for order in rows("RankOrder"):
        sent = swept(TRAFFIC, **alone, rank_order=order)
        totals.append({**sent, "total": sent["scale_out_bytes"] + sent["scale_up_bytes"]})
    for other in totals[1:]:
        assert_same(totals[0], other, ["total"])


def test_a_node_as_large_as_the_cluster_sends_nothing_out() -> None:
    base = swept(TRAFFIC, scale_up_domain=pool()["devices"], pod_devices=0)
    assert_never(valid(base) & (base["scale_out_bytes"] + base["pod_bytes"] > 0), base)


def test_oversubscription_and_pods() -> None:
    names = (*BOUNDS, "pod_time")
    more, less = (swept(names, pod_devices=576, oversubscription=each) for each in (4, 2))
    assert_no_more(less, more, names)
    large, small = (swept(names, pod_devices=each, oversubscription=4) for each in (1152, 576))
    assert_no_more(large, small, names)
    assert_no_more(swept(BOUNDS, pod_devices=0), small, BOUNDS)


def test_a_copy_per_node() -> None:
    expected, worst, plain = (swept(TRAFFIC, expert_dispatch=each) for each in rows("Dispatch"))
    assert_no_more(expected, worst, TRAFFIC)
    assert_no_more(expected, plain, ["scale_out_bytes"])


def test_without_sequence_parallelism_more_is_kept() -> None:
    names = [f"{device}_device_activation_memory" for device in ("first", "mixed", "middle", "last")]
    on, off = (swept([*names, "device_memory"], sequence_parallelism=each) for each in ("on", "off"))
    assert_no_more(on, off, [*names, "device_memory"])
    assert_never((pool()["tensor_parallel_size"] == 1) & (on["device_memory"] != off["device_memory"]), on, off)


def test_recomputation_keeps_less_and_computes_more() -> None:
    names = ("compute_time", "first_device_activation_memory", *BOUNDS)
    none, full = (swept(names, recomputation=each) for each in ("none", "full"))
    for policy in rows("Recomputation"):
        some = swept(names, recomputation=policy)
        assert_no_more(none, some, ["compute_time"])
        assert_no_more(some, full, ["compute_time"])
        assert_no_more(full, some, ["first_device_activation_memory"])


def test_more_shards_hold_less() -> None:
    names = [f"first_device_{state}_memory" for state in ("weight", "gradient", "optimizer")]
    ladder = [swept(names, zero_stage=stage) for stage in ("ZeRO-3", "ZeRO-2", "ZeRO-1", "DDP")]
    for more, less in pairwise(ladder):
        assert_no_more(more, less, names)


def test_more_chunks_never_make_a_larger_bubble() -> None:
    interleaved = {"pipeline_schedule": "interleaved 1F1B", "stage_layout": "even"}
    one = swept(["bubble_time"], **interleaved | {"pipeline_schedule": "1F1B"}, virtual_stages=1)
    two, four = (swept(["bubble_time"], **interleaved, virtual_stages=each) for each in (2, 4))
    assert_same(two, one, ["bubble_time"], factor=2)
    assert_same(four, two, ["bubble_time"], factor=2)


def test_no_schedule_has_a_larger_bubble_than_1f1b_in_short_sequences() -> None:
    short = {"sequence_length": 64, "context_parallel_size": 1, "stage_layout": "even"}
    usual = swept(["bubble_time", "compute_time"], **short, pipeline_schedule="1F1B", virtual_stages=1)
    for schedule in ("ZB1P", "DualPipe"):
        other = swept(["bubble_time", "compute_time"], **short, pipeline_schedule=schedule, virtual_stages=1)
        assert_no_more(other, usual, ["bubble_time", "compute_time"])


def some_of(condition: Callable[[Arrays], Any], count: int) -> list[int]:
    """Places of a few strategies of the pool for which the condition holds."""
    found = np.flatnonzero(condition(pool()))
    return [int(place) for place in found[:: max(1, len(found) // count)]]


def test_stages_add_up() -> None:
    """Layers, parameters and compute of all devices, against the whole model and the averages of the analysis."""
    for place in some_of(lambda drawn: drawn["pipeline_parallel_size"] > 1, 400):
        ours = analysis.compute(strategy(place), SHIPPED.columns)
        devices = stages.compute_rows(ours)[: min(STAGES, ours["pipeline_parallel_size"])]
        totals = {
            name: sum(device[name] for device in devices)
            for name in ("layers", "dense_parameters", "expert_parameters")
        }
        depth = len(devices)
        assert totals["layers"] == pytest.approx(ours["num_hidden_layers"] * ours["parameter_copies"])
        assert totals["dense_parameters"] == pytest.approx(ours["rank_dense_parameters"] * depth, rel=NOISE)
        assert totals["expert_parameters"] == pytest.approx(ours["rank_expert_parameters"] * depth, rel=NOISE)
        compute = sum(device["compute"] for device in devices) / depth
        assert compute == pytest.approx(3 * ours["forward_time"], rel=NOISE), strategy(place)
        assert max(device["compute"] for device in devices) >= compute * (1 - NOISE)
        assert max(device["memory"] for device in devices) == pytest.approx(ours["largest_device_memory"], rel=NOISE)


def test_no_collective_beats_its_link() -> None:
    """A rank receives (n - 1) / n of each tensor, through one network or the other, whatever the bandwidth model; and
    none of it faster than its link's ceiling."""
    for place in some_of(lambda drawn: drawn["devices"] > 8, 100):
        ours = analysis.compute(strategy(place), SHIPPED.columns)
        for row in collectives.compute_rows(ours):
            if row["operation"] not in ("all-to-all", "send"):
                received = row["scale_out_once"] + row["scale_up_once"]
                assert received == pytest.approx(row["tensor"] * (1 - 1 / row["group_size"]), rel=NOISE), row
            for link in ("scale_out", "scale_up"):
                bytes_sent = row[f"{link}_total"]
                assert bytes_sent / (ours[f"{link}_ceiling"] or 1) <= ours[f"{link}_time"] * (1 + NOISE)
        assert ours["step_time_lower_bound"] >= max(ours[f"{link}_time"] for link in ("scale_out", "scale_up", "pod"))


def test_dualpipe_devices_hold_what_their_mirror_images_hold() -> None:
    """deepseek-ai/DualPipe: device d of 32 has stages d and 31 - d, so DeepSeek-V3's third dense layer is on two."""
    ours = analysis.compute(
        {"pipeline_parallel_size": 32, "expert_parallel_size": 16, "pipeline_schedule": "DualPipe"}, SHIPPED.columns
    )
    devices = stages.compute_rows(ours)[:32]
    assert [device["dense_layers"] for device in devices] == [2, 1, *[0] * 28, 1, 2]
    for one, other in zip(devices[:16], devices[:15:-1], strict=True):
        assert one["memory"] == other["memory"]
