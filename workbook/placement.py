"""Placement: which layers a stage holds, and what a rank holds of each.

Three stages stand for all: the first (embedding, dense layers, most micro-batches in flight), the first one
in the middle without dense layers, and the last (head). Every other stage holds no more than one of these.
"""

from pyxl.operations import ceil, least, most, where
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


@quantity("1", "Layers per stage")
def layers_per_stage(num_hidden_layers, pipeline_parallel_size):
    """Layers of every stage but the last, which takes what remains.

    Source: Zhang and Su 2025, arXiv 2502.07846, Table 4 (61 layers on 16 stages: 15 times 4, then 1)
    """
    return ceil(num_hidden_layers / pipeline_parallel_size)


@quantity("1", "First stage: dense layers")
def first_stage_dense_layers(num_dense_layers, layers_per_stage):
    """Dense layers come first."""
    return least(num_dense_layers, layers_per_stage)


@quantity("1", "First stage: MoE layers")
def first_stage_moe_layers(layers_per_stage, first_stage_dense_layers):
    """The rest of the first stage."""
    return layers_per_stage - first_stage_dense_layers


@quantity("1", "Middle stage: number")
def middle_stage_index(num_moe_layers, num_dense_layers, layers_per_stage):
    """The first stage behind stage 0 that has no dense layer (stage 1 of a dense model)."""
    return where(num_moe_layers > 0, most(1, ceil(num_dense_layers / layers_per_stage)), 1)


@quantity("1", "Middle stage: layers")
def middle_stage_layers(middle_stage_index, pipeline_parallel_size, layers_per_stage):
    """Layers of the middle stage; 0 where there is no stage between the first and the last."""
    return where(middle_stage_index < pipeline_parallel_size - 1, layers_per_stage, 0)


@quantity("1", "Middle stage: MoE layers")
def middle_stage_moe_layers(num_moe_layers, middle_stage_layers):
    """All of them, unless the model is dense."""
    return where(num_moe_layers > 0, middle_stage_layers, 0)


@quantity("1", "Middle stage: dense layers")
def middle_stage_dense_layers(middle_stage_layers, middle_stage_moe_layers):
    """None, unless the model is dense."""
    return middle_stage_layers - middle_stage_moe_layers


@quantity("1", "Last stage: layers")
def last_stage_layers(num_hidden_layers, pipeline_parallel_size, layers_per_stage):
    """What the other stages leave; without pipeline the first stage has all layers and this one only the head."""
    return where(pipeline_parallel_size > 1, num_hidden_layers - (pipeline_parallel_size - 1) * layers_per_stage, 0)


@quantity("1", "Last stage: MoE layers")
def last_stage_moe_layers(last_stage_layers, num_moe_layers, num_prediction_layers):
    """MoE layers come last; multi-token-prediction layers stand on the last stage too."""
    return least(last_stage_layers, num_moe_layers) + num_prediction_layers


@quantity("1", "Last stage: dense layers")
def last_stage_dense_layers(last_stage_layers, num_moe_layers):
    """Dense layers of the last stage."""
    return last_stage_layers - least(last_stage_layers, num_moe_layers)


@quantity("1", "Output head on the last stage", number_format=COUNT)
def last_stage_head_parameters(
    head_parameters,
    pipeline_parallel_size,
    tied_embeddings,
    vocab_size,
    hidden_size,
    tensor_parallel_size,
    final_norm_parameters,
):
    """Output matrix and final norm; a tied head is a copy of the embedding where the stages differ."""
    return (
        head_parameters + where(pipeline_parallel_size > 1, tied_embeddings * vocab_size * hidden_size, 0)
    ) / tensor_parallel_size + final_norm_parameters


@quantity("1", "Prediction projections on the last stage", number_format=COUNT)
def last_stage_prediction_parameters(num_prediction_layers, hidden_size, norm_vectors):
    """Projection and norms of multi-token-prediction layers, beside their MoE layer."""
    return num_prediction_layers * (2 * hidden_size**2 + 2 * norm_vectors * hidden_size + norm_vectors * hidden_size)


@quantity("1", "First stage: dense state per rank", number_format=COUNT)
def first_stage_dense_parameters(
    first_stage_dense_layers,
    rank_dense_layer_parameters,
    first_stage_moe_layers,
    rank_moe_layer_parameters,
    embedding_parameters,
    tensor_parallel_size,
):
    """Embedding, and all of its layers but the experts."""
    return (
        first_stage_dense_layers * rank_dense_layer_parameters
        + first_stage_moe_layers * rank_moe_layer_parameters
        + embedding_parameters / tensor_parallel_size
    )


@quantity("1", "First stage: expert state per rank", number_format=COUNT)
def first_stage_expert_parameters(first_stage_moe_layers, rank_expert_layer_parameters):
    """The rank's experts of the first stage."""
    return first_stage_moe_layers * rank_expert_layer_parameters


@quantity("1", "Middle stage: dense state per rank", number_format=COUNT)
def middle_stage_dense_parameters(
    middle_stage_dense_layers, rank_dense_layer_parameters, middle_stage_moe_layers, rank_moe_layer_parameters
):
    """All of its layers but the experts."""
    return middle_stage_dense_layers * rank_dense_layer_parameters + middle_stage_moe_layers * rank_moe_layer_parameters


@quantity("1", "Middle stage: expert state per rank", number_format=COUNT)
def middle_stage_expert_parameters(middle_stage_moe_layers, rank_expert_layer_parameters):
    """The rank's experts of the middle stage."""
    return middle_stage_moe_layers * rank_expert_layer_parameters


@quantity("1", "Last stage: head and layers, dense state per rank", number_format=COUNT)
def last_stage_dense_parameters(
    last_stage_dense_layers,
    rank_dense_layer_parameters,
    last_stage_moe_layers,
    rank_moe_layer_parameters,
    last_stage_head_parameters,
    last_stage_prediction_parameters,
):
    """Output head, and all of its layers but the experts."""
    return (
        last_stage_dense_layers * rank_dense_layer_parameters
        + last_stage_moe_layers * rank_moe_layer_parameters
        + last_stage_head_parameters
        + last_stage_prediction_parameters
    )


@quantity("1", "Last stage: expert state per rank", number_format=COUNT)
def last_stage_expert_parameters(last_stage_moe_layers, rank_expert_layer_parameters):
    """The rank's experts of the last stage."""
    return last_stage_moe_layers * rank_expert_layer_parameters
