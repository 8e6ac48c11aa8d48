"""Stages: what each device of one strategy's pipeline holds and computes, one row per device.

A second route to the analysis, which looks at three devices only: the sheet Checks compares their peaks and sums.
"""

from pyxl.operations import ceil, least, most, where
from pyxl.rows import RowModel
from workbook.analysis import analysis

STAGES = 64

stages = RowModel(analysis)
stages.section("Stages")

stages.input("stage", "1", "Device", None, "Number of the device in its pipeline, from 0.")


@stages.quantity("1", "Exists")
def exists(stage, pipeline_parallel_size):
    """1 where the pipeline has this device."""
    return where(stage < pipeline_parallel_size, 1, 0)


@stages.quantity("1", "Embeddings")
def embeddings(exists, stage, mirrors_stages, parameter_copies, pipeline_parallel_size):
    """1 where the device holds the first chunk: the first device, with two copies the last one too."""
    return exists * most(
        where(stage == 0, 1, 0), where(stage == pipeline_parallel_size - 1, mirrors_stages * (parameter_copies - 1), 0)
    )


@stages.quantity("1", "Heads")
def heads(exists, stage, mirrors_stages, parameter_copies, pipeline_parallel_size):
    """1 where the device holds the last chunk: the last device, where stages are mirrored the first one."""
    return exists * most(
        where(stage == 0, mirrors_stages, 0),
        where(stage == pipeline_parallel_size - 1, 1 - mirrors_stages * (2 - parameter_copies), 0),
    )


@stages.quantity("1", "Smaller chunks")
def smaller_chunks(mirrors_stages, stage, larger_chunks, chunks, virtual_stages, pipeline_parallel_size):
    """How many of the device's chunks have fewer layers than the larger ones."""
    return where(
        mirrors_stages == 1,
        where(stage >= larger_chunks, 1, 0) + where(chunks - 1 - stage >= larger_chunks, 1, 0),
        virtual_stages - least(virtual_stages, most(0, ceil((larger_chunks - stage) / pipeline_parallel_size))),
    )


@stages.quantity("1", "Layers", number_format="0.##")
def layers(
    exists,
    chunks_per_device,
    layers_per_chunk,
    smaller_chunks,
    layers_per_smaller_chunk,
    embeddings,
    first_stage_fewer_layers,
    heads,
    last_stage_fewer_layers,
):
    """Layers of all chunks and copies on the device."""
    return (
        exists * (chunks_per_device * layers_per_chunk - smaller_chunks * (layers_per_chunk - layers_per_smaller_chunk))
        - embeddings * first_stage_fewer_layers
        - heads * last_stage_fewer_layers
    )


@stages.quantity("1", "Number of the first chunk")
def first_chunk(stage, mirrors_stages, parameter_copies, pipeline_parallel_size):
    """The first of the device's chunks; with two copies of every stage a device behind the middle holds those of its
    mirror image.
    """
    return where(mirrors_stages * (parameter_copies - 1) == 1, least(stage, pipeline_parallel_size - 1 - stage), stage)


@stages.quantity("1", "Layers before")
def layers_before(first_chunk, layers_per_chunk, larger_chunks, layers_per_smaller_chunk, first_stage_fewer_layers):
    """Layers in front of the device's first chunk."""
    return most(
        0,
        first_chunk * layers_per_chunk
        - most(0, first_chunk - larger_chunks) * (layers_per_chunk - layers_per_smaller_chunk)
        - first_stage_fewer_layers,
    )


@stages.quantity("1", "Layers in the first chunk")
def first_chunk_layers(
    first_chunk, larger_chunks, layers_per_chunk, layers_per_smaller_chunk, first_stage_fewer_layers
):
    """Layers of the device's first chunk, which holds its dense layers."""
    return where(first_chunk < larger_chunks, layers_per_chunk, layers_per_smaller_chunk) - where(
        first_chunk == 0, first_stage_fewer_layers, 0
    )


@stages.quantity("1", "Dense layers", number_format="0.##")
def dense_layers(
    num_moe_layers,
    exists,
    pipeline_parallel_size,
    num_dense_layers,
    first_chunk_layers,
    layers_before,
    layers,
):
    """Dense layers come first."""
    return where(
        num_moe_layers > 0,
        exists
        * where(
            pipeline_parallel_size > 1,
            least(first_chunk_layers, most(0, num_dense_layers - layers_before)),
            num_dense_layers,
        ),
        layers,
    )


@stages.quantity("1", "MoE layers", number_format="0.##")
def moe_layers(layers, dense_layers, heads, num_prediction_layers):
    """The rest, and multi-token-prediction layers beside the head."""
    return layers - dense_layers + heads * num_prediction_layers


@stages.quantity("1", "Dense state", number_format="#,##0")
def dense_state(
    dense_layers,
    rank_dense_layer_parameters,
    moe_layers,
    rank_moe_layer_parameters,
    embeddings,
    embedding_parameters,
    tensor_parallel_size,
    heads,
    rank_head_parameters,
    rank_prediction_parameters,
):
    """Parameters of the device without routed experts."""
    return (
        dense_layers * rank_dense_layer_parameters
        + moe_layers * rank_moe_layer_parameters
        + embeddings * embedding_parameters / tensor_parallel_size
        + heads * (rank_head_parameters + rank_prediction_parameters)
    )


@stages.quantity("1", "Expert state", number_format="#,##0")
def expert_state(moe_layers, rank_expert_layer_parameters):
    """Routed experts of the device."""
    return moe_layers * rank_expert_layer_parameters


@stages.quantity("byte", "Weights")
def weights(dense_state, weight_shards, expert_state, expert_weight_shards, weight_bytes):
    """Weights of the device."""
    return (dense_state / weight_shards + expert_state / expert_weight_shards) * weight_bytes


@stages.quantity("byte", "Gradients")
def gradients(dense_state, gradient_shards, expert_state, expert_gradient_shards, gradient_bytes):
    """Gradients of the device."""
    return (dense_state / gradient_shards + expert_state / expert_gradient_shards) * gradient_bytes


@stages.quantity("byte", "Optimizer states")
def optimizer_states(dense_state, optimizer_shards, expert_state, expert_optimizer_shards, optimizer_bytes):
    """Optimizer states of the device."""
    return (dense_state / optimizer_shards + expert_state / expert_optimizer_shards) * optimizer_bytes


@stages.quantity("1", "In-flight micro-batches", number_format="0.##")
def in_flight(exists, num_microbatches, activation_slots, in_flight_decline, stage, virtual_stages):
    """Micro-batches whose activations the device keeps at once."""
    return exists * least(num_microbatches, most(1, activation_slots - in_flight_decline * stage / virtual_stages))


@stages.quantity("byte", "Activations")
def activations(
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


@stages.quantity("byte", "At work")
def work(exists, heads, logits_memory, head_weight_gradient_memory, working_layer_memory):
    """What lives only while a micro-batch is worked on: of the output head, or of a layer."""
    return exists * most(heads * (logits_memory + head_weight_gradient_memory), working_layer_memory)


@stages.quantity("byte", "Memory")
def memory(weights, gradients, optimizer_states, activations, work):
    """All that the device keeps of its chunks and works on; what passes through, and the allowance, come on top."""
    return weights + gradients + optimizer_states + activations + work


@stages.quantity("s", "Compute, forward and backward")
def compute(
    num_microbatches,
    backward_forward_ratio,
    dense_layers,
    dense_layer_forward_time,
    moe_layers,
    moe_layer_forward_time,
    heads,
    head_forward_time,
    parameter_copies,
):
    """Matrix multiplications of a step on the device, without recomputation."""
    return (
        num_microbatches
        * (1 + backward_forward_ratio)
        * (dense_layers * dense_layer_forward_time + moe_layers * moe_layer_forward_time + heads * head_forward_time)
        / parameter_copies
    )


for _number in range(STAGES):
    stages.row(f"Device {_number}", stage=_number)

stages.close(also=("largest_device_memory", "forward_time", "num_hidden_layers", "busiest_device_compute_time"))
