"""Stages: what each pipeline stage of one strategy holds on a rank, one row per stage.

A second route to the analysis, which looks at three stages only: the sheet Checks compares their peaks.
"""

from pyxl.operations import least, most, where
from pyxl.rows import RowModel
from workbook.analysis import analysis

STAGES = 32

stages = RowModel(analysis)
stages.section("Stages")

stages.input("stage", "1", "Stage", None, "Number of the stage, from 0.")


@stages.quantity("1", "Exists")
def exists(stage, pipeline_parallel_size):
    """1 where the pipeline has this stage."""
    return where(stage < pipeline_parallel_size, 1, 0)


@stages.quantity("1", "Is first")
def is_first(stage):
    """1 for the stage with the embedding."""
    return where(stage == 0, 1, 0)


@stages.quantity("1", "Is last")
def is_last(stage, pipeline_parallel_size):
    """1 for the stage with the output head."""
    return where(stage == pipeline_parallel_size - 1, 1, 0)


@stages.quantity("1", "Layers")
def layers(exists, stage, layers_per_stage, num_hidden_layers):
    """Layers in order, each stage filled before the next."""
    return exists * least(layers_per_stage, most(0, num_hidden_layers - stage * layers_per_stage))


@stages.quantity("1", "Dense layers")
def dense_layers(layers, num_dense_layers, stage, layers_per_stage):
    """Dense layers come first."""
    return least(layers, most(0, num_dense_layers - stage * layers_per_stage))


@stages.quantity("1", "MoE layers")
def moe_layers(layers, dense_layers, is_last, num_prediction_layers):
    """The rest, and multi-token-prediction layers on the last stage."""
    return layers - dense_layers + is_last * num_prediction_layers


@stages.quantity("1", "Dense state", number_format="#,##0")
def dense_state(
    dense_layers,
    rank_dense_layer_parameters,
    moe_layers,
    rank_moe_layer_parameters,
    is_first,
    embedding_parameters,
    tensor_parallel_size,
    is_last,
    last_stage_head_parameters,
    last_stage_prediction_parameters,
):
    """Parameters of the stage on a rank without routed experts."""
    return (
        dense_layers * rank_dense_layer_parameters
        + moe_layers * rank_moe_layer_parameters
        + is_first * embedding_parameters / tensor_parallel_size
        + is_last * (last_stage_head_parameters + last_stage_prediction_parameters)
    )


@stages.quantity("1", "Expert state", number_format="#,##0")
def expert_state(moe_layers, rank_expert_layer_parameters):
    """Routed experts of the stage on a rank."""
    return moe_layers * rank_expert_layer_parameters


@stages.quantity("byte", "Weights")
def weights(dense_state, weight_shards, expert_state, expert_weight_shards, weight_bytes):
    """Weights of the stage on a rank."""
    return (dense_state / weight_shards + expert_state / expert_weight_shards) * weight_bytes


@stages.quantity("byte", "Gradients")
def gradients(dense_state, gradient_shards, expert_state, expert_gradient_shards, gradient_bytes):
    """Gradients of the stage on a rank."""
    return (dense_state / gradient_shards + expert_state / expert_gradient_shards) * gradient_bytes


@stages.quantity("byte", "Optimizer states")
def optimizer_states(dense_state, optimizer_shards, expert_state, expert_optimizer_shards, optimizer_bytes):
    """Optimizer states of the stage on a rank."""
    return (dense_state / optimizer_shards + expert_state / expert_optimizer_shards) * optimizer_bytes


@stages.quantity("1", "In-flight micro-batches", number_format="0.##")
def in_flight(exists, num_microbatches, activation_slots, in_flight_decline, stage):
    """Micro-batches whose activations the stage keeps at once."""
    return exists * least(num_microbatches, most(1, activation_slots - in_flight_decline * stage))


@stages.quantity("byte", "Activations")
def activations(
    in_flight,
    rank_microbatch_tokens,
    dense_layers,
    dense_layer_kept_bytes,
    moe_layers,
    moe_layer_kept_bytes,
    is_last,
    logits_memory,
):
    """Kept activations, and on the last stage the logits of one micro-batch."""
    return (
        in_flight * rank_microbatch_tokens * (dense_layers * dense_layer_kept_bytes + moe_layers * moe_layer_kept_bytes)
        + is_last * logits_memory
    )


@stages.quantity("byte", "Memory")
def memory(weights, gradients, optimizer_states, activations):
    """All that one copy of the stage keeps on a rank."""
    return weights + gradients + optimizer_states + activations


for _number in range(STAGES):
    stages.row(f"Stage {_number}", stage=_number)

stages.close(also=("largest_stage_memory",))
