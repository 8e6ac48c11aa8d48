"""Placement: which layers the devices of a pipeline hold, and what a rank holds of each.

The layers are cut into chunks, one per device and virtual stage. Chunk c goes to device c, round after round; where
the schedule mirrors stages, a device holds chunk d and the d-th from the end. Which devices the analysis looks at is
said in `devices`.
"""

from pyxl.operations import ceil, least, most, where
from workbook.devices import device_quantity
from workbook.model import analysis, quantity

COUNT = "#,##0"

analysis.section("Weights per rank")


@quantity("1", "Attention replicated by tensor parallelism, one layer", number_format=COUNT)
def replicated_attention_parameters(
    query_down_parameters,
    key_value_down_parameters,
    splits_query_rope,
    latent_attention,
    query_input_width,
    num_attention_heads,
    qk_rope_head_dim,
):
    """Down-projections of MLA, and the rotary query projection where the layout does not split it.

    Source: Zhang and Su 2025, arXiv 2502.07846, section 3
    """
    return (
        query_down_parameters
        + key_value_down_parameters
        + (1 - splits_query_rope) * latent_attention * query_input_width * num_attention_heads * qk_rope_head_dim
    )


@quantity("1", "Ranks that split key-value heads")
def key_value_ranks(latent_attention, tensor_parallel_size, num_key_value_heads):
    """Tensor ranks with different key-value heads; beyond the number of heads, ranks hold copies. With MLA every query
    head has its own.

    Source: Megatron-LM, num_query_groups below the tensor parallel size
    """
    return where(latent_attention == 1, tensor_parallel_size, least(tensor_parallel_size, num_key_value_heads))


@quantity("1", "Attention, one layer, per rank", number_format=COUNT)
def rank_attention_parameters(
    query_up_parameters,
    splits_query_rope,
    query_input_width,
    num_attention_heads,
    qk_rope_head_dim,
    latent_attention,
    attention_output_parameters,
    tensor_parallel_size,
    key_value_up_parameters,
    key_value_ranks,
    replicated_attention_parameters,
):
    """Projections to and from the heads are split by tensor parallelism, the rest is replicated."""
    return (
        (
            query_up_parameters
            - (1 - splits_query_rope) * latent_attention * query_input_width * num_attention_heads * qk_rope_head_dim
            + attention_output_parameters
        )
        / tensor_parallel_size
        + key_value_up_parameters / key_value_ranks
        + replicated_attention_parameters
    )


@quantity("1", "Vectors of a layer, per rank", number_format=COUNT)
def rank_vector_parameters(attention_vector_parameters, attention_norm_parameters, block_norm_parameters):
    """Norms and bias terms, which every tensor rank holds."""
    return attention_vector_parameters + attention_norm_parameters + block_norm_parameters


@quantity("1", "Shared experts and router, one layer, per rank", number_format=COUNT)
def rank_shared_parameters(shared_expert_parameters, splits_shared_experts, tensor_parallel_size, router_parameters):
    """Shared experts, split by tensor parallelism where the layout says so, and the router."""
    return shared_expert_parameters / where(splits_shared_experts == 1, tensor_parallel_size, 1) + router_parameters


@quantity("1", "Dense layer, dense state per rank", number_format=COUNT)
def rank_dense_layer_parameters(
    rank_attention_parameters, rank_vector_parameters, dense_mlp_parameters, tensor_parallel_size
):
    """A layer with a dense MLP, split by tensor parallelism."""
    return rank_attention_parameters + rank_vector_parameters + dense_mlp_parameters / tensor_parallel_size


@quantity("1", "MoE layer, dense state per rank", number_format=COUNT)
def rank_moe_layer_parameters(
    rank_attention_parameters, rank_vector_parameters, shards_shared_with_experts, rank_shared_parameters
):
    """What a MoE layer holds apart from experts: sharded over all data-parallel ranks."""
    return (
        rank_attention_parameters + rank_vector_parameters + (1 - shards_shared_with_experts) * rank_shared_parameters
    )


@quantity("1", "MoE layer, expert state per rank", number_format=COUNT)
def rank_expert_layer_parameters(
    n_routed_experts,
    expert_parallel_size,
    expert_parameters,
    expert_tensor_parallel_size,
    shards_shared_with_experts,
    rank_shared_parameters,
):
    """The rank's own routed experts of one layer: sharded over the expert-data-parallel ranks."""
    return (
        n_routed_experts / expert_parallel_size * expert_parameters / expert_tensor_parallel_size
        + shards_shared_with_experts * rank_shared_parameters
    )


analysis.section("Stages")


@quantity("1", "Chunks")
def chunks(pipeline_parallel_size, virtual_stages):
    """Pieces that the layers are cut into: one per device and virtual stage."""
    return pipeline_parallel_size * virtual_stages


@quantity("1", "Layers to spread")
def layers_to_spread(num_hidden_layers, first_stage_fewer_layers, last_stage_fewer_layers):
    """Layers, with as many more as the first and the last chunk are to have fewer."""
    return num_hidden_layers + first_stage_fewer_layers + last_stage_fewer_layers


@quantity("1", "Layers of a larger chunk", number_format="0.##")
def layers_per_chunk(rounds_layers, layers_to_spread, chunks):
    """Layers of the larger chunks, which come first."""
    return where(rounds_layers == 1, ceil(layers_to_spread / chunks), layers_to_spread / chunks)


@quantity("1", "Larger chunks", number_format="0.##")
def larger_chunks(rounds_layers, balances_layers, chunks, layers_to_spread, layers_per_chunk):
    """How many chunks are as large: all where work divides evenly, all but the last where they are filled in order."""
    return where(
        rounds_layers == 0,
        chunks,
        where(balances_layers == 1, layers_to_spread - chunks * (layers_per_chunk - 1), chunks - 1),
    )


@quantity("1", "Layers of a smaller chunk", number_format="0.##")
def layers_per_smaller_chunk(layers_to_spread, larger_chunks, layers_per_chunk, chunks):
    """Layers of the other chunks: one fewer where the layout balances, else what remains.

    Source: Zhang and Su 2025, arXiv 2502.07846, Table 4, fills stages in order (61 layers on 16: 15 times 4, then 1)
    """
    return where(
        larger_chunks < chunks,
        (layers_to_spread - larger_chunks * layers_per_chunk) / most(1, chunks - larger_chunks),
        layers_per_chunk,
    )


@quantity("1", "Chunks per device")
def chunks_per_device(virtual_stages, parameter_copies):
    """Chunks that a device holds, both copies counted."""
    return virtual_stages * parameter_copies


@quantity("1", "First device: number")
def first_device_index(pipeline_parallel_size):
    """Devices of a pipeline are numbered from 0."""
    return least(0, pipeline_parallel_size)


@quantity("1", "Devices with dense layers first")
def dense_devices(num_moe_layers, num_dense_layers, first_stage_fewer_layers, layers_per_chunk):
    """How many devices of a MoE model have dense layers in their first chunk, at least one counted."""
    return where(num_moe_layers > 0, most(1, ceil((num_dense_layers + first_stage_fewer_layers) / layers_per_chunk)), 1)


@quantity("1", "Mixed device: number")
def mixed_device_index(dense_devices, pipeline_parallel_size):
    """The last device with dense layers in its first chunk: the first one if there is no other."""
    return least(dense_devices, pipeline_parallel_size) - 1


@quantity("1", "Middle device: number")
def middle_device_index(mirrors_stages, larger_chunks, chunks, dense_devices):
    """The first device behind device 0 without dense layers in its first chunk; where stages are mirrored and most
    chunks are larger ones, the innermost, which holds two of those. There may be none: all of it is 0 then.
    """
    return most(dense_devices, where(mirrors_stages * (2 * larger_chunks - chunks) > 0, ceil(chunks / 2) - 1, 1))


@quantity("1", "Last device: number")
def last_device_index(pipeline_parallel_size):
    """The same as the first without a pipeline."""
    return pipeline_parallel_size - 1


@device_quantity("1", "exists")
def exists(index, pipeline_parallel_size):
    """1 where the pipeline has this device."""
    return where(index < pipeline_parallel_size, 1, 0)


@device_quantity("1", "copies of the embedding")
def embeddings(exists, index, mirrors_stages, parameter_copies, pipeline_parallel_size):
    """1 where the device holds the first chunk: the first device, with two copies the last one too."""
    return exists * most(
        where(index == 0, 1, 0), where(index == pipeline_parallel_size - 1, mirrors_stages * (parameter_copies - 1), 0)
    )


@device_quantity("1", "copies of the head")
def heads(exists, index, mirrors_stages, parameter_copies, pipeline_parallel_size):
    """1 where the device holds the last chunk: the last device, where stages are mirrored the first one."""
    return exists * most(
        where(index == 0, mirrors_stages, 0),
        where(index == pipeline_parallel_size - 1, 1 - mirrors_stages * (2 - parameter_copies), 0),
    )


@device_quantity("1", "smaller chunks")
def smaller_chunks(mirrors_stages, index, larger_chunks, chunks, virtual_stages, pipeline_parallel_size):
    """How many of the device's chunks have fewer layers than the larger ones."""
    return where(
        mirrors_stages == 1,
        where(index >= larger_chunks, 1, 0) + where(chunks - 1 - index >= larger_chunks, 1, 0),
        virtual_stages - least(virtual_stages, most(0, ceil((larger_chunks - index) / pipeline_parallel_size))),
    )


@device_quantity("1", "layers", number_format="0.##")
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


@device_quantity("1", "number of the first chunk")
def first_chunk(exists, index, mirrors_stages, parameter_copies, pipeline_parallel_size):
    """The first of the device's chunks; with two copies of every stage a device behind the middle holds those of its
    mirror image.
    """
    return exists * where(
        mirrors_stages * (parameter_copies - 1) == 1, least(index, pipeline_parallel_size - 1 - index), index
    )


@device_quantity("1", "layers before")
def layers_before(first_chunk, layers_per_chunk, larger_chunks, layers_per_smaller_chunk, first_stage_fewer_layers):
    """Layers in front of the device's first chunk."""
    return most(
        0,
        first_chunk * layers_per_chunk
        - most(0, first_chunk - larger_chunks) * (layers_per_chunk - layers_per_smaller_chunk)
        - first_stage_fewer_layers,
    )


@device_quantity("1", "layers in the first chunk")
def first_chunk_layers(
    first_chunk, larger_chunks, layers_per_chunk, layers_per_smaller_chunk, first_stage_fewer_layers
):
    """Layers of the device's first chunk, which holds its dense layers."""
    return where(first_chunk < larger_chunks, layers_per_chunk, layers_per_smaller_chunk) - where(
        first_chunk == 0, first_stage_fewer_layers, 0
    )


@device_quantity("1", "dense layers", number_format="0.##")
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


@device_quantity("1", "MoE layers", number_format="0.##")
def moe_layers(layers, dense_layers, heads, num_prediction_layers):
    """The rest, and multi-token-prediction layers beside the head."""
    return layers - dense_layers + heads * num_prediction_layers


@quantity("1", "Output head on a rank", number_format=COUNT)
def rank_head_parameters(
    head_parameters,
    pipeline_parallel_size,
    mirrors_stages,
    tied_embeddings,
    vocab_size,
    hidden_size,
    tensor_parallel_size,
    final_norm_parameters,
):
    """Output matrix and final norm; a tied head is a copy of the embedding where another device holds that.

    Source: Megatron-LM, share_embeddings_and_output_weights; DeepSeek-V3 report, arXiv 2412.19437, section 3.2.3
    """
    return (
        head_parameters
        + where(
            least(pipeline_parallel_size - 1, 1 - mirrors_stages) > 0, tied_embeddings * vocab_size * hidden_size, 0
        )
    ) / tensor_parallel_size + final_norm_parameters


@quantity("1", "Prediction projections on a rank", number_format=COUNT)
def rank_prediction_parameters(num_prediction_layers, hidden_size, norm_vectors):
    """Projection and norms of multi-token-prediction layers, beside their MoE layer."""
    return num_prediction_layers * (2 * hidden_size**2 + 2 * norm_vectors * hidden_size + norm_vectors * hidden_size)


@device_quantity("1", "dense state", number_format=COUNT)
def dense_parameters(
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


@device_quantity("1", "expert state", number_format=COUNT)
def expert_parameters(moe_layers, rank_expert_layer_parameters):
    """Routed experts of the device."""
    return moe_layers * rank_expert_layer_parameters
