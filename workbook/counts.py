"""Counts of one model: parameters by component and FLOPs of a batch, whatever the cluster."""

from __future__ import annotations

from typing import Any

from workbook import catalogue
from workbook.analysis import analysis

COMPONENTS = (
    "embedding_parameters", "attention_parameters", "norm_parameters", "dense_mlp_total_parameters",
    "routed_expert_parameters", "shared_expert_total_parameters", "router_total_parameters", "head_parameters",
)  # fmt: skip


def counts(reference: str, batch: int, sequence_length: int) -> dict[str, Any]:
    """Parameters and FLOPs of a model given by name or by the path of its config.json.

    `forward_flops` and `backward_flops` count the full attention square, as torch's FLOP counter does; the
    causal ones count half of it. Raises `UserError` for a model that cannot be counted.
    """
    table = catalogue.model(reference)
    tables = {**catalogue.choices(), table.name: table, catalogue.HARDWARE: catalogue.hardware()}
    name = table.rows[0]["name"]
    values = analysis.compute({"model": name, "sequence_length": sequence_length}, catalogue.columns(tables.values()))
    tokens = batch * sequence_length

    def flops(key: str) -> int | float:
        exact = values[key] * tokens
        return int(exact) if exact == int(exact) else exact

    return {
        "model": name,
        "batch": batch,
        "sequence_length": sequence_length,
        "total_parameters": values["total_parameters"],
        "total_parameters_with_router_correction": values["total_parameters_with_router_correction"],
        "active_parameters": values["active_parameters"],
        "active_parameters_with_router_correction": values["active_parameters_with_router_correction"],
        "parameters": {component: values[component] for component in COMPONENTS},
        "forward_flops": flops("forward_flops_per_token_full_square"),
        "backward_flops": flops("backward_flops_per_token_full_square"),
        "forward_flops_causal": flops("forward_flops_per_token"),
        "backward_flops_causal": flops("backward_flops_per_token"),
        "training_flops_per_token": values["training_flops_per_token"],
        "training_flops_per_token_full_square": values["training_flops_per_token_full_square"],
    }
