"""Memory per device: weights, gradients, optimizer states and activations, and the stage where they peak."""

from pyxl.operations import most, where
from workbook.model import analysis, quantity

SIGNED_BYTES = '#,##0.00,,," GB"'  # a format with conditions loses the sign of a negative number

analysis.section("Memory")


@quantity("1", "Weight shards")
def weight_shards(shards_weights, shard_size):
    """Ranks that share dense weights."""
    return where(shards_weights == 1, shard_size, 1)


@quantity("1", "Gradient shards")
def gradient_shards(shards_gradients, shard_size):
    """Ranks that share dense gradients."""
    return where(shards_gradients == 1, shard_size, 1)


@quantity("1", "Optimizer shards")
def optimizer_shards(shards_optimizer, shard_size):
    """Ranks that share dense optimizer states."""
    return where(shards_optimizer == 1, shard_size, 1)


@quantity("1", "Expert weight shards")
def expert_weight_shards(shards_weights, expert_shard_size):
    """Ranks that share expert weights."""
    return where(shards_weights == 1, expert_shard_size, 1)


@quantity("1", "Expert gradient shards")
def expert_gradient_shards(shards_gradients, expert_shard_size):
    """Ranks that share expert gradients."""
    return where(shards_gradients == 1, expert_shard_size, 1)


@quantity("1", "Expert optimizer shards")
def expert_optimizer_shards(shards_optimizer, expert_shard_size):
    """Ranks that share expert optimizer states."""
    return where(shards_optimizer == 1, expert_shard_size, 1)


@quantity("byte", "Optimizer bytes per parameter", number_format="0.##")
def optimizer_bytes(master_weight_bytes, moment_bytes):
    """Master weight and both moments."""
    return master_weight_bytes + moment_bytes


@quantity("byte", "First stage: weights")
def first_stage_weight_memory(
    first_stage_dense_parameters, weight_shards, first_stage_expert_parameters, expert_weight_shards, weight_bytes
):
    """Dense and expert weights, each over its own shard group."""
    return (
        first_stage_dense_parameters / weight_shards + first_stage_expert_parameters / expert_weight_shards
    ) * weight_bytes


@quantity("byte", "First stage: gradients")
def first_stage_gradient_memory(
    first_stage_dense_parameters, gradient_shards, first_stage_expert_parameters, expert_gradient_shards, gradient_bytes
):
    """Dense and expert gradients, each over its own shard group."""
    return (
        first_stage_dense_parameters / gradient_shards + first_stage_expert_parameters / expert_gradient_shards
    ) * gradient_bytes


@quantity("byte", "First stage: optimizer states")
def first_stage_optimizer_memory(
    first_stage_dense_parameters,
    optimizer_shards,
    first_stage_expert_parameters,
    expert_optimizer_shards,
    optimizer_bytes,
):
    """Dense and expert optimizer states, each over its own shard group."""
    return (
        first_stage_dense_parameters / optimizer_shards + first_stage_expert_parameters / expert_optimizer_shards
    ) * optimizer_bytes


@quantity("byte", "First stage: activations")
def first_stage_activation_memory(
    first_stage_in_flight,
    rank_microbatch_tokens,
    first_stage_dense_layers,
    dense_layer_kept_bytes,
    first_stage_moe_layers,
    moe_layer_kept_bytes,
):
    """Kept activations of all micro-batches in flight."""
    return (
        first_stage_in_flight
        * rank_microbatch_tokens
        * (first_stage_dense_layers * dense_layer_kept_bytes + first_stage_moe_layers * moe_layer_kept_bytes)
    )


@quantity("byte", "First stage")
def first_stage_memory(
    first_stage_weight_memory, first_stage_gradient_memory, first_stage_optimizer_memory, first_stage_activation_memory
):
    """All that one copy of the stage keeps on a rank."""
    return (
        first_stage_weight_memory
        + first_stage_gradient_memory
        + first_stage_optimizer_memory
        + first_stage_activation_memory
    )


@quantity("byte", "Middle stage: weights")
def middle_stage_weight_memory(
    middle_stage_dense_parameters, weight_shards, middle_stage_expert_parameters, expert_weight_shards, weight_bytes
):
    """Dense and expert weights, each over its own shard group."""
    return (
        middle_stage_dense_parameters / weight_shards + middle_stage_expert_parameters / expert_weight_shards
    ) * weight_bytes


@quantity("byte", "Middle stage: gradients")
def middle_stage_gradient_memory(
    middle_stage_dense_parameters,
    gradient_shards,
    middle_stage_expert_parameters,
    expert_gradient_shards,
    gradient_bytes,
):
    """Dense and expert gradients, each over its own shard group."""
    return (
        middle_stage_dense_parameters / gradient_shards + middle_stage_expert_parameters / expert_gradient_shards
    ) * gradient_bytes


@quantity("byte", "Middle stage: optimizer states")
def middle_stage_optimizer_memory(
    middle_stage_dense_parameters,
    optimizer_shards,
    middle_stage_expert_parameters,
    expert_optimizer_shards,
    optimizer_bytes,
):
    """Dense and expert optimizer states, each over its own shard group."""
    return (
        middle_stage_dense_parameters / optimizer_shards + middle_stage_expert_parameters / expert_optimizer_shards
    ) * optimizer_bytes


@quantity("byte", "Middle stage: activations")
def middle_stage_activation_memory(
    middle_stage_in_flight,
    rank_microbatch_tokens,
    middle_stage_dense_layers,
    dense_layer_kept_bytes,
    middle_stage_moe_layers,
    moe_layer_kept_bytes,
):
    """Kept activations of all micro-batches in flight."""
    return (
        middle_stage_in_flight
        * rank_microbatch_tokens
        * (middle_stage_dense_layers * dense_layer_kept_bytes + middle_stage_moe_layers * moe_layer_kept_bytes)
    )


@quantity("byte", "Middle stage")
def middle_stage_memory(
    middle_stage_weight_memory,
    middle_stage_gradient_memory,
    middle_stage_optimizer_memory,
    middle_stage_activation_memory,
):
    """All that one copy of the stage keeps on a rank."""
    return (
        middle_stage_weight_memory
        + middle_stage_gradient_memory
        + middle_stage_optimizer_memory
        + middle_stage_activation_memory
    )


@quantity("byte", "Last stage: weights")
def last_stage_weight_memory(
    last_stage_dense_parameters, weight_shards, last_stage_expert_parameters, expert_weight_shards, weight_bytes
):
    """Dense and expert weights, each over its own shard group."""
    return (
        last_stage_dense_parameters / weight_shards + last_stage_expert_parameters / expert_weight_shards
    ) * weight_bytes


@quantity("byte", "Last stage: gradients")
def last_stage_gradient_memory(
    last_stage_dense_parameters, gradient_shards, last_stage_expert_parameters, expert_gradient_shards, gradient_bytes
):
    """Dense and expert gradients, each over its own shard group."""
    return (
        last_stage_dense_parameters / gradient_shards + last_stage_expert_parameters / expert_gradient_shards
    ) * gradient_bytes


@quantity("byte", "Last stage: optimizer states")
def last_stage_optimizer_memory(
    last_stage_dense_parameters,
    optimizer_shards,
    last_stage_expert_parameters,
    expert_optimizer_shards,
    optimizer_bytes,
):
    """Dense and expert optimizer states, each over its own shard group."""
    return (
        last_stage_dense_parameters / optimizer_shards + last_stage_expert_parameters / expert_optimizer_shards
    ) * optimizer_bytes


@quantity("byte", "Last stage: activations")
def last_stage_activation_memory(
    last_stage_in_flight,
    rank_microbatch_tokens,
    last_stage_dense_layers,
    dense_layer_kept_bytes,
    last_stage_moe_layers,
    moe_layer_kept_bytes,
    logits_memory,
):
    """Kept activations of all micro-batches in flight, and the logits of one."""
    return (
        last_stage_in_flight
        * rank_microbatch_tokens
        * (last_stage_dense_layers * dense_layer_kept_bytes + last_stage_moe_layers * moe_layer_kept_bytes)
        + logits_memory
    )


@quantity("byte", "Last stage")
def last_stage_memory(
    last_stage_weight_memory, last_stage_gradient_memory, last_stage_optimizer_memory, last_stage_activation_memory
):
    """All that one copy of the stage keeps on a rank."""
    return (
        last_stage_weight_memory
        + last_stage_gradient_memory
        + last_stage_optimizer_memory
        + last_stage_activation_memory
    )


@quantity("byte", "Largest stage")
def largest_stage_memory(pipeline_parallel_size, first_stage_memory, middle_stage_memory, last_stage_memory):
    """The stage with the largest need, one copy of it; without pipeline the first and the last are one."""
    return where(
        pipeline_parallel_size > 1,
        most(first_stage_memory, middle_stage_memory, last_stage_memory),
        first_stage_memory + last_stage_memory,
    )


@quantity("byte", "Gathered layer")
def gathered_layer_memory(
    shards_weights,
    num_moe_layers,
    rank_moe_layer_parameters,
    rank_expert_layer_parameters,
    rank_dense_layer_parameters,
    pipeline_parallel_size,
    embedding_parameters,
    tensor_parallel_size,
    last_stage_head_parameters,
    weight_gather_bytes,
    gradient_reduce_bytes,
):
    """Where weights are sharded, the layer at work is whole: gathered weights, and its gradient before it is reduced.
    In small models without pipeline the embedding or the output head is the largest such unit.

    Source: Zhao et al. 2023 (PyTorch FSDP), arXiv 2304.11277, section 3, one unit per transformer layer
    """
    return (
        shards_weights
        * most(
            where(num_moe_layers > 0, rank_moe_layer_parameters + rank_expert_layer_parameters, 0),
            rank_dense_layer_parameters,
            where(
                pipeline_parallel_size > 1,
                0,
                most(embedding_parameters / tensor_parallel_size, last_stage_head_parameters),
            ),
        )
        * (weight_gather_bytes + gradient_reduce_bytes)
    )


@quantity("byte", "First device")
def first_device_memory(first_stage_memory, parameter_copies, last_stage_memory):
    """The device of the first stage; with two copies of parameters it holds the last stage too.

    Source: DeepSeek-V3 report, arXiv 2412.19437, section 3.2.3
    """
    return first_stage_memory + (parameter_copies - 1) * last_stage_memory


@quantity("byte", "Middle device")
def middle_device_memory(middle_stage_memory, parameter_copies):
    """A device in the middle of the pipeline; with two copies of parameters it holds two such stages."""
    return middle_stage_memory * parameter_copies


@quantity("byte", "Last device")
def last_device_memory(last_stage_memory, pipeline_parallel_size, parameter_copies, first_stage_memory):
    """The device of the last stage, with the first one where it holds both: two copies, or no pipeline at all."""
    return last_stage_memory + where(pipeline_parallel_size > 1, parameter_copies - 1, 1) * first_stage_memory


@quantity("byte", "Memory per device")
def device_memory(
    first_device_memory, middle_device_memory, last_device_memory, gathered_layer_memory, working_layer_memory
):
    """Peak over the stages. Not modelled: communication buffers, allocator fragmentation, CUDA context."""
    return (
        most(first_device_memory, middle_device_memory, last_device_memory)
        + gathered_layer_memory
        + working_layer_memory
    )


@quantity("byte", "Memory left", number_format=SIGNED_BYTES)
def memory_left(memory_capacity, device_memory):
    """Capacity minus need; negative where it does not fit."""
    return memory_capacity - device_memory


@quantity("text", "Fits in memory")
def memory_fits(device_memory, memory_capacity):
    """Whether the peak stays below the capacity."""
    return where(device_memory <= memory_capacity, "yes", "no")
