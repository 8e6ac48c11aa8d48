"""Parallelism: how many members of each group share a node, against ranks that are laid out one by one."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbook import study
from workbook.analysis import analysis

COLUMNS = study.load().columns
ORDERS = {
    "tp-cp-dp-pp": "tcdp",
    "tp-cp-pp-dp": "tcpd",
    "pp-tp-cp-dp": "ptcd",
}
Grid = dict[str, int]


def powers(most: int) -> Any:
    return st.integers(0, most).map(lambda exponent: 2**exponent)


def laid_out(sizes: Grid, order: str) -> dict[tuple[int, int], int]:
    """Number of each rank by its pipeline stage and its place among the ranks of that stage."""
    numbers = {}
    for number in range(sizes["t"] * sizes["c"] * sizes["d"] * sizes["p"]):
        rest, place = number, {}
        for dimension in ORDERS[order]:
            rest, place[dimension] = divmod(rest, sizes[dimension])
        within = place["t"] + sizes["t"] * (place["c"] + sizes["c"] * place["d"])
        numbers[place["p"], within] = number
    return numbers


def most_in_one_node(ranks: list[int], node: int) -> int:
    homes = [rank // node for rank in ranks]
    return max(map(homes.count, homes))


@settings(deadline=None, max_examples=300)
@given(
    tensor=powers(3), context=powers(2), data=powers(4), stages=powers(4), node=powers(4), experts=powers(4),
    expert_tensor=powers(2), replicas=powers(2), order=st.sampled_from(sorted(ORDERS)),
)  # fmt: skip
def test_groups_in_a_node(
    tensor: int, context: int, data: int, stages: int, node: int, experts: int, expert_tensor: int, replicas: int,
    order: str,
) -> None:  # fmt: skip
    """MoE Parallel Folding, arXiv 2504.14960, section 3: experts have a grid of their own over the ranks of a stage."""
    expert_data = tensor * context * data / (experts * expert_tensor)
    assume(expert_data >= replicas <= data)
    sizes = {"t": tensor, "c": context, "d": data, "p": stages}
    found = analysis.compute(
        {
            "devices": tensor * context * data * stages, "scale_up_domain": node, "tensor_parallel_size": tensor,
            "context_parallel_size": context, "pipeline_parallel_size": stages, "expert_parallel_size": experts,
            "expert_tensor_parallel_size": expert_tensor, "data_parallel_replicas": replicas, "rank_order": order,
        },
        COLUMNS,
    )  # fmt: skip
    numbers = laid_out(sizes, order)
    every, grid, expert_grid = tensor * context, data // replicas, int(expert_data) // replicas
    groups = {
        "tensor_ranks_in_node": range(tensor),
        "context_ranks_in_node": range(0, every, tensor),
        "shard_ranks_in_node": range(0, every * grid, tensor),
        "replicas_in_node": range(0, every * data, every * grid),
        "expert_tensor_ranks_in_node": range(expert_tensor),
        "expert_ranks_in_node": range(0, expert_tensor * experts, expert_tensor),
        "expert_shard_ranks_in_node": range(0, every * data // replicas, expert_tensor * experts),
        "expert_replicas_in_node": range(0, every * data, expert_tensor * experts * expert_grid),
    }
    for name, places in groups.items():
        assert found[name] == most_in_one_node([numbers[0, place] for place in places], node), name
    pipeline = [numbers[stage, 0] for stage in range(stages)]
    assert found["pipeline_is_remote"] == (most_in_one_node(pipeline, node) < stages)


@pytest.mark.parametrize("order", ORDERS)
def test_groups_in_a_pod_are_those_of_a_node_as_large(order: str) -> None:
    inputs = {"rank_order": order, "pipeline_parallel_size": 4, "expert_parallel_size": 32, "devices": 1024,
              "tensor_parallel_size": 2, "context_parallel_size": 2, "data_parallel_replicas": 2}  # fmt: skip
    pod = analysis.compute({**inputs, "pod_devices": 64}, COLUMNS)
    node = analysis.compute({**inputs, "scale_up_domain": 64}, COLUMNS)
    for group in ("tensor_ranks", "context_ranks", "shard_ranks", "replicas", "expert_ranks", "expert_shard_ranks",
                  "expert_replicas", "copies"):  # fmt: skip
        assert pod[f"{group}_in_pod"] == node[f"{group}_in_node"], group
