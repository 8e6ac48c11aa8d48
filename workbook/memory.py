"""Memory per device: weights, gradients, optimizer states and activations, and the stage where they peak."""

from pyxl.operations import most, where
from workbook.devices import device_quantity
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
    """Ranks that share dense optimizer states; the two copies of a stage share them too."""
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


@device_quantity("byte", "weights")
def weight_memory(dense_parameters, weight_shards, expert_parameters, expert_weight_shards, weight_bytes):
    """Dense and expert weights, each over its own shard group."""
    return (dense_parameters / weight_shards + expert_parameters / expert_weight_shards) * weight_bytes


@device_quantity("byte", "gradients")
def gradient_memory(dense_parameters, gradient_shards, expert_parameters, expert_gradient_shards, gradient_bytes):
    """Dense and expert gradients, each over its own shard group."""
    return (dense_parameters / gradient_shards + expert_parameters / expert_gradient_shards) * gradient_bytes


@device_quantity("byte", "optimizer states")
def optimizer_memory(dense_parameters, optimizer_shards, expert_parameters, expert_optimizer_shards, optimizer_bytes):
    """Dense and expert optimizer states, each over its own shard group."""
    return (dense_parameters / optimizer_shards + expert_parameters / expert_optimizer_shards) * optimizer_bytes


@device_quantity("byte", "activations")
def activation_memory(
    in_flight,
    rank_microbatch_tokens,
    dense_layers,
    dense_layer_kept_bytes,
    moe_layers,
    moe_layer_kept_bytes,
):
    """Kept activations of all micro-batches in flight."""
    return (
        in_flight * rank_microbatch_tokens * (dense_layers * dense_layer_kept_bytes + moe_layers * moe_layer_kept_bytes)
    )


@device_quantity("byte", "at work")
def work_memory(exists, heads, logits_memory, head_weight_gradient_memory, working_layer_memory):
    """What lives only while a micro-batch is worked on: of the output head, or of a layer."""
    return exists * most(heads * (logits_memory + head_weight_gradient_memory), working_layer_memory)


@device_quantity("byte", "all")
def memory(weight_memory, gradient_memory, optimizer_memory, activation_memory, work_memory):
    """All that the device keeps of its chunks and works on; what passes through, and the allowance, come on top."""
    return weight_memory + gradient_memory + optimizer_memory + activation_memory + work_memory


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
    rank_head_parameters,
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
                most(embedding_parameters / tensor_parallel_size, rank_head_parameters),
            ),
        )
        * (weight_gather_bytes + gradient_reduce_bytes)
    )


@quantity("byte", "Largest device of the pipeline")
def largest_device_memory(first_device_memory, mixed_device_memory, middle_device_memory, last_device_memory):
    """What the device with the largest need keeps."""
    return most(first_device_memory, mixed_device_memory, middle_device_memory, last_device_memory)


@quantity("byte", "Pipeline buffers")
def pipeline_buffer_memory(
    pipeline_parallel_size, rank_microbatch_tokens, hidden_size, activation_bytes, residual_copies
):
    """One micro-batch's activations as received from the stage before, and gradients from the one behind."""
    return where(
        pipeline_parallel_size > 1, 2 * rank_microbatch_tokens * hidden_size * activation_bytes * residual_copies, 0
    )


@quantity("byte", "Passing through")
def passing_memory(gathered_layer_memory, layer_weight_gradient_memory, linear_input_memory, pipeline_buffer_memory):
    """What every device needs besides: weights gathered, gradients not yet added up, inputs gathered, messages."""
    return gathered_layer_memory + layer_weight_gradient_memory + linear_input_memory + pipeline_buffer_memory


@quantity("byte", "Memory per device")
def device_memory(largest_device_memory, passing_memory, memory_allowance):
    """Peak over the devices, with the allowance for what is not modelled."""
    return largest_device_memory + passing_memory + memory_allowance


@quantity("byte", "Memory left", number_format=SIGNED_BYTES)
def memory_left(memory_capacity, device_memory):
    """Capacity minus need; negative where it does not fit."""
    return memory_capacity - device_memory


@quantity("text", "Fits in memory")
def memory_fits(device_memory, memory_capacity):
    """Whether the peak stays below the capacity."""
    return where(device_memory <= memory_capacity, "yes", "no")
