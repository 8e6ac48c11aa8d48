"""Memory per device: weights, gradients, optimizer states and activations, and the stage where they peak.

Three stages stand for all: the first (embedding, dense layers, most micro-batches in flight), the first one
in the middle without dense layers, and the last (head). Every other stage holds no more than one of these.
"""

from pyxl.operations import ceil, least, most, where
from workbook.model import analysis, quantity

analysis.section("Weights per rank")
COUNT = "#,##0"
SIGNED_BYTES = '#,##0.00,,," GB"'  # a format with conditions loses the sign of a negative number


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
    pipeline_parallel_size, vocab_size, hidden_size, head_parameters, final_norm_parameters, tensor_parallel_size
):
    """Output matrix and final norm; a tied head is a copy of the embedding where the stages differ."""
    return (
        where(pipeline_parallel_size > 1, vocab_size * hidden_size, head_parameters) / tensor_parallel_size
        + final_norm_parameters
    )


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


analysis.section("Activations")


@quantity("1", "Activation slots, first stage")
def activation_slots(
    keeps_all_microbatches,
    num_microbatches,
    in_flight_per_stage,
    pipeline_parallel_size,
    in_flight_extra,
    parameter_copies,
):
    """Micro-batches that the schedule lets the first stage keep at once; a device with two stages shares them out.

    Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2; DeepSeek-V3 report, arXiv 2412.19437, Table 2
    """
    return where(
        keeps_all_microbatches == 1,
        num_microbatches,
        (in_flight_per_stage * pipeline_parallel_size + in_flight_extra) / parameter_copies,
    )


@quantity("1", "In-flight micro-batches, first stage")
def first_stage_in_flight(num_microbatches, activation_slots):
    """Micro-batches whose activations the stage keeps at once: no more than there are."""
    return least(num_microbatches, activation_slots)


@quantity("1", "In-flight micro-batches, middle stage")
def middle_stage_in_flight(num_microbatches, activation_slots, in_flight_decline, middle_stage_index):
    """With 1F1B each later stage has one slot fewer."""
    return least(num_microbatches, most(1, activation_slots - in_flight_decline * middle_stage_index))


@quantity("1", "In-flight micro-batches, last stage")
def last_stage_in_flight(num_microbatches, activation_slots, in_flight_decline, pipeline_parallel_size):
    """With 1F1B the last stage has one slot."""
    return least(num_microbatches, most(1, activation_slots - in_flight_decline * (pipeline_parallel_size - 1)))


@quantity("byte/token", "Layer input")
def layer_input_bytes(hidden_size, activation_bytes):
    """The residual stream at the start of a layer: kept under every policy."""
    return hidden_size * activation_bytes


@quantity("byte/token", "Attention internals, kept")
def attention_internal_bytes(
    keeps_internals,
    num_attention_heads,
    value_head_dim,
    latent_attention,
    q_lora_rank,
    kv_lora_rank,
    qk_rope_head_dim,
    hidden_size,
    activation_bytes,
):
    """Attention output, MLA's latents and the residual stream between attention and MLP."""
    return (
        keeps_internals
        * (
            num_attention_heads * value_head_dim
            + latent_attention * (q_lora_rank + kv_lora_rank + qk_rope_head_dim)
            + hidden_size
        )
        * activation_bytes
    )


@quantity("byte/token", "Attention probabilities, kept")
def attention_kept_probability_bytes(
    keeps_probabilities, num_attention_heads, sequence_length, keys_per_token, attention_probability_bytes
):
    """Scores and probabilities of unfused attention; fused attention keeps none.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.1
    """
    return keeps_probabilities * num_attention_heads * sequence_length * keys_per_token * attention_probability_bytes


@quantity("byte/token", "Attention, kept")
def attention_kept_bytes(
    keeps_norm_outputs,
    hidden_size,
    linear_input_bytes,
    keeps_projections,
    repeats_up_projections,
    latent_attention,
    num_attention_heads,
    query_head_dim,
    key_value_width,
    activation_bytes,
    attention_internal_bytes,
    attention_kept_probability_bytes,
):
    """Kept by attention per token and layer: norm output, queries, keys and values, output and latents.

    A policy that projects queries, keys and values up again keeps them where there is no latent to do so from.
    """
    return (
        keeps_norm_outputs * hidden_size * linear_input_bytes
        + most(keeps_projections, repeats_up_projections * (1 - latent_attention))
        * (num_attention_heads * query_head_dim + key_value_width)
        * activation_bytes
        + attention_internal_bytes
        + attention_kept_probability_bytes
    )


@quantity("byte/token", "Dense MLP, kept")
def dense_mlp_kept_bytes(
    keeps_norm_outputs,
    hidden_size,
    keeps_products,
    intermediate_size,
    linear_input_bytes,
    keeps_internals,
    mlp_matrices,
    gate_bytes,
):
    """Kept by a dense MLP per token and layer: its input, the outputs of gate and up, their product."""
    return (
        keeps_norm_outputs * hidden_size + keeps_products * intermediate_size
    ) * linear_input_bytes + keeps_internals * (mlp_matrices - 1) * intermediate_size * gate_bytes


@quantity("1", "Expert width per token")
def expert_width_per_token(num_experts_per_tok, moe_intermediate_size, shared_expert_intermediate_size):
    """Inner width of all experts that a token visits."""
    return num_experts_per_tok * moe_intermediate_size + shared_expert_intermediate_size


@quantity("byte/token", "MoE, kept")
def moe_kept_bytes(
    keeps_norm_outputs,
    hidden_size,
    keeps_internals,
    num_experts_per_tok,
    keeps_products,
    expert_width_per_token,
    linear_input_bytes,
    mlp_matrices,
    gate_bytes,
):
    """Kept by a MoE layer per token: its input, a dispatched copy per expert, gate, up and product of each.

    With balanced routing a rank receives as many expert rows as its own tokens send, whatever the expert
    parallel size.
    """
    return (
        keeps_norm_outputs * hidden_size
        + keeps_internals * num_experts_per_tok * hidden_size
        + keeps_products * expert_width_per_token
    ) * linear_input_bytes + keeps_internals * (mlp_matrices - 1) * expert_width_per_token * gate_bytes


@quantity("byte/token", "Dense layer, kept")
def dense_layer_kept_bytes(layer_input_bytes, attention_kept_bytes, dense_mlp_kept_bytes):
    """Activations that a dense layer keeps per token."""
    return layer_input_bytes + attention_kept_bytes + dense_mlp_kept_bytes


@quantity("byte/token", "MoE layer, kept")
def moe_layer_kept_bytes(layer_input_bytes, attention_kept_bytes, moe_kept_bytes):
    """Activations that a MoE layer keeps per token."""
    return layer_input_bytes + attention_kept_bytes + moe_kept_bytes


@quantity("token", "Tokens per micro-batch and rank", number_format="#,##0.##")
def rank_microbatch_tokens(microbatch_tokens, tensor_parallel_size):
    """Sequence parallelism splits the activations of a micro-batch over the tensor ranks."""
    return microbatch_tokens / tensor_parallel_size


@quantity("byte", "Logits")
def logits_memory(microbatch_tokens, vocab_size, tensor_parallel_size, logit_bytes, num_prediction_layers):
    """Logits of one micro-batch on the last stage, the vocabulary split over the tensor ranks; each prediction layer
    has its own.
    """
    return microbatch_tokens * vocab_size / tensor_parallel_size * logit_bytes * (1 + num_prediction_layers)


@quantity("byte", "Layer at work")
def working_layer_memory(
    rank_microbatch_tokens,
    repeats_layer,
    num_attention_heads,
    query_head_dim,
    key_value_width,
    value_head_dim,
    mlp_matrices,
    intermediate_size,
    expert_width_per_token,
    num_experts_per_tok,
    hidden_size,
    activation_bytes,
):
    """With full recomputation the activations of the one layer at work live again for its backward pass."""
    return (
        repeats_layer
        * rank_microbatch_tokens
        * activation_bytes
        * (
            num_attention_heads * (query_head_dim + value_head_dim)
            + key_value_width
            + mlp_matrices * most(intermediate_size, expert_width_per_token)
            + num_experts_per_tok * hidden_size
        )
    )


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
