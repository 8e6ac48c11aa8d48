"""Operators: a second route to FLOPs and weights, and shapes as published kernels have them."""

from typing import Any

import pytest

from workbook import study
from workbook.analysis import analysis
from workbook.operators import operators

COLUMNS = study.load().columns
STRATEGIES = [
    {"micro_batch_size": 7.5},
    {"tensor_parallel_size": 8, "expert_parallel_size": 64, "pipeline_parallel_size": 4},
    {"tensor_parallel_size": 8, "expert_tensor_parallel_size": 8, "pipeline_parallel_size": 16},
    {"tensor_parallel_size": 2, "multi_token_prediction": "on"},
    {"model": "llama-3-70b", "tensor_parallel_size": 8},
    {"model": "gpt-oss-20b", "tensor_parallel_size": 4},
    {"model": "qwen3-30b-a3b", "tensor_parallel_size": 8, "expert_parallel_size": 16},
    {"model": "gpt-2"},
    {"model": "qwen2-57b-a14b", "expert_parallel_size": 8, "tensor_parallel_size": 4},
    {"model": "llama-4-maverick", "sequence_length": 20_000, "tensor_parallel_size": 8},
    {"model": "gemma-3-27b", "tensor_parallel_size": 2},
    {"model": "bloom-176b", "tensor_parallel_size": 4},
    {"model": "glm-4.5", "multi_token_prediction": "on"},
]


def lines(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict(zip((row.name for row in operators.rows), operators.compute_rows(values), strict=True))


@pytest.mark.parametrize("inputs", STRATEGIES)
def test_operators_add_up_to_the_forward_pass(inputs: dict[str, Any]) -> None:
    values = analysis.compute(inputs, COLUMNS)
    executed = sum(line["total_flops"] for line in lines(values).values()) * values["tensor_parallel_size"]
    assert executed == pytest.approx(values["microbatch_tokens"] * values["forward_flops_per_token"], rel=1e-12)


@pytest.mark.parametrize("inputs", STRATEGIES)
def test_operators_read_the_weights_that_memory_holds(inputs: dict[str, Any]) -> None:
    """All but the embedding, norms and bias terms, which no operator multiplies; a tied head is read all the same."""
    values = analysis.compute(inputs, COLUMNS)
    read = 0
    for line in lines(values).values():
        width = values["weight_operand_bytes" if line["precision_level"] else "weight_bytes"]
        read += line["weight_bytes_read"] * line["count"] / width
    held = (values["rank_dense_parameters"] + values["rank_expert_parameters"]) * values["pipeline_parallel_size"]
    layers = values["num_hidden_layers"] + values["num_prediction_layers"]
    tables = values["vocab_size"] * values["hidden_size"] / values["tensor_parallel_size"]
    unread = values["embedding_parameters"] / values["tensor_parallel_size"]
    again = tables * (
        values["tied_embeddings"] * (values["pipeline_parallel_size"] == 1) + values["num_prediction_layers"]
    )
    vectors = layers * (
        values["rank_vector_parameters"] + values["expert_parameters"] - values["expert_linear_parameters"]
    )
    assert read == pytest.approx(held - unread + again, rel=1e-3, abs=2 * vectors)


def test_the_shapes_are_those_of_published_kernels() -> None:
    """DeepGEMM README: N x K of 2112 x 7168 (both down-projections), 24576 x 1536, 32768 x 512, 7168 x 16384, 4096 x
    7168 and 7168 x 2048; 8192 rows per expert with EP64 and 4096 tokens per rank."""
    ours = lines(analysis.compute({"pipeline_parallel_size": 16, "expert_parallel_size": 64}, COLUMNS))
    shapes = {name: (line["n"], line["k"]) for name, line in ours.items()}
    assert shapes["Query down"][0] + shapes["Key-value down"][0] == 2112
    assert shapes["Query up"] == (24576, 1536)
    assert shapes["Key-value up"] == (32768, 512)
    assert shapes["Attention output"] == (7168, 16384)
    assert shapes["Expert in"] == (4096, 7168)
    assert shapes["Expert out"] == (7168, 2048)
    assert ours["Expert in"]["m"] == 8192


def test_operators_that_a_model_lacks_stand_off_the_chart() -> None:
    values = analysis.compute({"model": "llama-3-70b"}, COLUMNS)
    absent = {name for name, line in lines(values).items() if line["operator_bound"] == "none"}
    assert {"Query down", "Key-value down", "Router", "Expert in", "Shared expert out"} <= absent
    assert all(0 < lines(values)[name]["intensity"] < values["roofline_left_edge"] for name in absent)
