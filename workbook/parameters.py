"""Parameters: every weight of the model, exact to the integer, without buffers that are not trained."""

from collections.abc import Callable

from pyxl.operations import where
from pyxl.quantity import Function
from workbook.model import analysis, quantity

analysis.section("Parameters")
COUNT = "#,##0"


def parameters(label: str) -> Callable[[Function], Function]:
    return quantity("1", label, number_format=COUNT)


@parameters("Query head width")
def query_head_dim(latent_attention, qk_nope_head_dim, qk_rope_head_dim, head_dim):
    """Width of one query or key head: with MLA the part without and the part with rotary embedding.

    Source: DeepSeek-V2, arXiv 2405.04434, section 2.1
    """
    return where(latent_attention == 1, qk_nope_head_dim + qk_rope_head_dim, head_dim)


@parameters("Value head width")
def value_head_dim(latent_attention, v_head_dim, head_dim):
    """Width of one value head."""
    return where(latent_attention == 1, v_head_dim, head_dim)


@parameters("Key-value width")
def key_value_width(
    latent_attention, num_attention_heads, query_head_dim, value_head_dim, num_key_value_heads, head_dim
):
    """Elements of keys and values per token once projected: with MLA every query head has its own."""
    return where(
        latent_attention == 1,
        num_attention_heads * (query_head_dim + value_head_dim),
        2 * num_key_value_heads * head_dim,
    )


@parameters("Query down-projection")
def query_down_parameters(latent_attention, hidden_size, q_lora_rank):
    """MLA: compresses the query to its latent (W_DQ); 0 where queries are not compressed."""
    return latent_attention * hidden_size * q_lora_rank


@parameters("Query projection input width")
def query_input_width(latent_attention, q_lora_rank, hidden_size):
    """What queries are projected from: their latent, or the residual stream."""
    return where(latent_attention * q_lora_rank > 0, q_lora_rank, hidden_size)


@parameters("Query projection")
def query_up_parameters(query_input_width, num_attention_heads, query_head_dim):
    """Projects to all query heads (W_Q; with MLA W_UQ and W_QR together)."""
    return query_input_width * num_attention_heads * query_head_dim


@parameters("Key-value down-projection")
def key_value_down_parameters(latent_attention, hidden_size, kv_lora_rank, qk_rope_head_dim):
    """MLA: compresses keys and values to their latent, and projects the one shared rotary key (W_DKV, W_KR)."""
    return latent_attention * hidden_size * (kv_lora_rank + qk_rope_head_dim)


@parameters("Key-value projection")
def key_value_up_parameters(
    latent_attention, kv_lora_rank, num_attention_heads, qk_nope_head_dim, v_head_dim, hidden_size, key_value_width
):
    """Projects to keys and values: from the latent with MLA (W_UK, W_UV), else from the residual stream."""
    return where(
        latent_attention == 1,
        kv_lora_rank * num_attention_heads * (qk_nope_head_dim + v_head_dim),
        hidden_size * key_value_width,
    )


@parameters("Attention output projection")
def attention_output_parameters(num_attention_heads, value_head_dim, hidden_size):
    """Projects the heads back to the residual stream (W_O)."""
    return num_attention_heads * value_head_dim * hidden_size


@parameters("Attention matrices, one layer")
def attention_linear_parameters(
    query_down_parameters,
    query_up_parameters,
    key_value_down_parameters,
    key_value_up_parameters,
    attention_output_parameters,
):
    """All weight matrices of attention in one layer.

    Source: DeepSeek-V3: 187,105,280 from its configuration
    """
    return (
        query_down_parameters
        + query_up_parameters
        + key_value_down_parameters
        + key_value_up_parameters
        + attention_output_parameters
    )


@parameters("Attention vectors, one layer")
def attention_vector_parameters(
    query_key_value_bias,
    num_attention_heads,
    query_head_dim,
    key_value_width,
    attention_output_bias,
    hidden_size,
    attention_sinks,
):
    """Bias terms of the projections and learned attention sinks."""
    return (
        query_key_value_bias * (num_attention_heads * query_head_dim + key_value_width)
        + attention_output_bias * hidden_size
        + attention_sinks * num_attention_heads
    )


@parameters("Attention norms, one layer")
def attention_norm_parameters(latent_attention, q_lora_rank, kv_lora_rank, query_key_norm_size):
    """Norms inside attention: of the two latents with MLA, of queries and keys with QK-norm."""
    return latent_attention * (q_lora_rank + kv_lora_rank) + query_key_norm_size


@parameters("Attention, one layer")
def attention_layer_parameters(attention_linear_parameters, attention_vector_parameters, attention_norm_parameters):
    """All parameters of attention in one layer."""
    return attention_linear_parameters + attention_vector_parameters + attention_norm_parameters


@parameters("Block norms, one layer")
def block_norm_parameters(block_norms, norm_vectors, hidden_size):
    """The norms before, and in some families behind, attention and MLP."""
    return block_norms * norm_vectors * hidden_size


@parameters("Dense MLP matrices, one layer")
def dense_mlp_linear_parameters(mlp_matrices, hidden_size, intermediate_size):
    """The weight matrices of a dense MLP."""
    return mlp_matrices * hidden_size * intermediate_size


@parameters("Dense MLP, one layer")
def dense_mlp_parameters(
    dense_mlp_linear_parameters, mlp_bias, mlp_matrices, intermediate_size, hidden_size, activation_parameters
):
    """A dense MLP with its bias terms, one vector per matrix as wide as its output, and its activation."""
    return (
        dense_mlp_linear_parameters
        + mlp_bias * ((mlp_matrices - 1) * intermediate_size + hidden_size)
        + activation_parameters
    )


@parameters("Expert matrices, one expert")
def expert_linear_parameters(mlp_matrices, hidden_size, moe_intermediate_size):
    """The weight matrices of one routed expert."""
    return mlp_matrices * hidden_size * moe_intermediate_size


@parameters("Expert, one expert")
def expert_parameters(expert_linear_parameters, expert_bias, mlp_matrices, moe_intermediate_size, hidden_size):
    """One routed expert with its bias terms."""
    return expert_linear_parameters + expert_bias * ((mlp_matrices - 1) * moe_intermediate_size + hidden_size)


@parameters("Shared experts, one layer")
def shared_expert_parameters(mlp_matrices, hidden_size, shared_expert_intermediate_size):
    """The experts that every token visits, of one layer."""
    return mlp_matrices * hidden_size * shared_expert_intermediate_size


@parameters("Router matrix, one layer")
def router_linear_parameters(hidden_size, n_routed_experts, shared_expert_gate):
    """Scores every routed expert, and in some families the shared ones, for every token."""
    return hidden_size * (n_routed_experts + shared_expert_gate)


@parameters("Router, one layer")
def router_parameters(router_linear_parameters, router_bias, n_routed_experts):
    """The router with its trained bias terms."""
    return router_linear_parameters + router_bias * n_routed_experts


@parameters("MoE layers")
def num_moe_layers(num_hidden_layers, num_dense_layers):
    """Layers whose MLP is a mixture of experts."""
    return num_hidden_layers - num_dense_layers


@parameters("Prediction layers trained")
def num_prediction_layers(num_nextn_predict_layers, trains_prediction_layers):
    """Multi-token-prediction layers in this run; each is one more MoE layer with its own projection."""
    return num_nextn_predict_layers * trains_prediction_layers


@parameters("Embedding")
def embedding_parameters(vocab_size, learned_positions, hidden_size):
    """Token table and, where positions are learned, position table."""
    return (vocab_size + learned_positions) * hidden_size


@parameters("Output head")
def head_parameters(tied_embeddings, vocab_size, hidden_size, head_bias):
    """The output matrix, none of its own where it is the embedding table, and its bias terms."""
    return (1 - tied_embeddings) * vocab_size * hidden_size + head_bias * vocab_size


@parameters("Final norm")
def final_norm_parameters(outer_norms, norm_vectors, hidden_size):
    """The norm before the output head, and in some families one behind the embedding."""
    return outer_norms * norm_vectors * hidden_size


@parameters("Attention, all layers")
def attention_parameters(num_hidden_layers, attention_layer_parameters):
    """Attention of all layers."""
    return num_hidden_layers * attention_layer_parameters


@parameters("Norms, all layers")
def norm_parameters(num_hidden_layers, block_norm_parameters, final_norm_parameters):
    """Block norms of all layers and the final norm."""
    return num_hidden_layers * block_norm_parameters + final_norm_parameters


@parameters("Dense MLPs, all layers")
def dense_mlp_total_parameters(num_dense_layers, dense_mlp_parameters):
    """Dense MLPs of all dense layers."""
    return num_dense_layers * dense_mlp_parameters


@parameters("Routed experts, all layers")
def routed_expert_parameters(num_moe_layers, n_routed_experts, expert_parameters):
    """Routed experts of all MoE layers."""
    return num_moe_layers * n_routed_experts * expert_parameters


@parameters("Shared experts, all layers")
def shared_expert_total_parameters(num_moe_layers, shared_expert_parameters):
    """Shared experts of all MoE layers."""
    return num_moe_layers * shared_expert_parameters


@parameters("Routers, all layers")
def router_total_parameters(num_moe_layers, router_parameters):
    """Routers of all MoE layers."""
    return num_moe_layers * router_parameters


@parameters("Prediction layer, one")
def prediction_layer_parameters(
    attention_layer_parameters,
    block_norm_parameters,
    n_routed_experts,
    expert_parameters,
    shared_expert_parameters,
    router_parameters,
    hidden_size,
    norm_vectors,
):
    """A MoE layer, the projection of two hidden states to one, and three norms; embedding and head are shared.

    Source: DeepSeek-V3 report, arXiv 2412.19437, section 2.2 and README_WEIGHTS.md (11.5B unique parameters)
    """
    return (
        attention_layer_parameters
        + block_norm_parameters
        + n_routed_experts * expert_parameters
        + shared_expert_parameters
        + router_parameters
        + 2 * hidden_size**2
        + 2 * norm_vectors * hidden_size
        + norm_vectors * hidden_size
    )


@parameters("Prediction layers, all")
def prediction_parameters(num_prediction_layers, prediction_layer_parameters):
    """All multi-token-prediction layers that are trained."""
    return num_prediction_layers * prediction_layer_parameters


@parameters("Total parameters")
def total_parameters(
    embedding_parameters,
    attention_parameters,
    norm_parameters,
    dense_mlp_total_parameters,
    routed_expert_parameters,
    shared_expert_total_parameters,
    router_total_parameters,
    head_parameters,
    prediction_parameters,
):
    """Every trained parameter, as Hugging Face counts them: router correction biases are buffers, not parameters.

    Source: DeepSeek-V3: 671,026,404,352 (transformers on the meta device)
    """
    return (
        embedding_parameters
        + attention_parameters
        + norm_parameters
        + dense_mlp_total_parameters
        + routed_expert_parameters
        + shared_expert_total_parameters
        + router_total_parameters
        + head_parameters
        + prediction_parameters
    )


@parameters("Router correction biases")
def router_correction_terms(router_correction_bias, n_routed_experts, num_moe_layers, num_prediction_layers):
    """Biases that balance the experts' load and get no gradient; checkpoints store them.

    Source: DeepSeek-V3 report, arXiv 2412.19437, section 2.1.2
    """
    return router_correction_bias * n_routed_experts * (num_moe_layers + num_prediction_layers)


@parameters("Total parameters with router correction")
def total_parameters_with_router_correction(total_parameters, router_correction_terms):
    """Total as a checkpoint stores it (DeepSeek-V3: 671,026,419,200)."""
    return total_parameters + router_correction_terms


@parameters("Idle expert parameters")
def idle_expert_parameters(
    num_moe_layers, num_prediction_layers, n_routed_experts, num_experts_per_tok, expert_parameters
):
    """Routed experts that a given token does not visit."""
    return (num_moe_layers + num_prediction_layers) * (n_routed_experts - num_experts_per_tok) * expert_parameters


@parameters("Active parameters")
def active_parameters(total_parameters, idle_expert_parameters):
    """Parameters that one token passes through, embedding and head included."""
    return total_parameters - idle_expert_parameters


@parameters("Active parameters with router correction")
def active_parameters_with_router_correction(active_parameters, router_correction_terms):
    """Active parameters as a checkpoint stores them (DeepSeek-V3: 37,552,297,472)."""
    return active_parameters + router_correction_terms
