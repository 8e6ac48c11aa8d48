"""FLOPs: matrix multiplications of the forward and backward pass; a multiply-add counts as two.

Norms, rotary embedding, softmax and activation functions count as nothing, as is the field's habit.
"""

from pyxl.operations import ceil, least, where
from workbook.model import analysis, quantity

analysis.section("FLOPs")


@quantity("1", "Linear weights per token, low precision", number_format="#,##0")
def low_precision_linear_parameters(
    num_hidden_layers,
    attention_linear_parameters,
    num_dense_layers,
    dense_mlp_linear_parameters,
    num_moe_layers,
    num_experts_per_tok,
    expert_linear_parameters,
    shared_expert_parameters,
):
    """Weights multiplied per token that may run in FP8: linear layers of attention, dense MLPs and experts.

    Source: DeepSeek-V3 report, arXiv 2412.19437, section 3.3.1
    """
    return (
        num_hidden_layers * attention_linear_parameters
        + num_dense_layers * dense_mlp_linear_parameters
        + num_moe_layers * (num_experts_per_tok * expert_linear_parameters + shared_expert_parameters)
    )


@quantity("1", "Linear weights per token, high precision", number_format="#,##0")
def high_precision_linear_parameters(num_moe_layers, router_linear_parameters, vocab_size, hidden_size):
    """Weights multiplied per token that stay in BF16: routers and the output head (also where it is tied)."""
    return num_moe_layers * router_linear_parameters + vocab_size * hidden_size


@quantity("1", "Linear weights of a prediction layer, low precision", number_format="#,##0")
def prediction_low_precision_parameters(
    num_prediction_layers,
    attention_linear_parameters,
    num_experts_per_tok,
    expert_linear_parameters,
    shared_expert_parameters,
    hidden_size,
):
    """Weights multiplied per token in multi-token-prediction layers that may run in FP8."""
    return num_prediction_layers * (
        attention_linear_parameters
        + num_experts_per_tok * expert_linear_parameters
        + shared_expert_parameters
        + 2 * hidden_size**2
    )


@quantity("1", "Linear weights of a prediction layer, high precision", number_format="#,##0")
def prediction_high_precision_parameters(num_prediction_layers, router_linear_parameters, vocab_size, hidden_size):
    """Weights multiplied per token in multi-token-prediction layers that stay in BF16: router and output head."""
    return num_prediction_layers * (router_linear_parameters + vocab_size * hidden_size)


@quantity("FLOP/token", "Low-precision linear layers, forward")
def low_precision_forward_flops_per_token(
    flops_per_multiply_add, low_precision_linear_parameters, prediction_low_precision_parameters
):
    """Each weight is multiplied once per token."""
    return flops_per_multiply_add * (low_precision_linear_parameters + prediction_low_precision_parameters)


@quantity("FLOP/token", "High-precision linear layers, forward")
def high_precision_forward_flops_per_token(
    flops_per_multiply_add, high_precision_linear_parameters, prediction_high_precision_parameters
):
    """Each weight is multiplied once per token."""
    return flops_per_multiply_add * (high_precision_linear_parameters + prediction_high_precision_parameters)


@quantity("FLOP/token", "Attention per attended key and layer, forward")
def attention_forward_flops_per_key(flops_per_multiply_add, num_attention_heads, query_head_dim, value_head_dim):
    """A query is multiplied with one key, and the probability with one value, in every head."""
    return flops_per_multiply_add * num_attention_heads * (query_head_dim + value_head_dim)


@quantity("1", "Attended keys, all layers, full square")
def attended_keys_full_square(num_hidden_layers, num_prediction_layers, sequence_length, keys_per_token):
    """Keys per query summed over layers, masked ones included and windows ignored.

    Source: torch.utils.flop_counter counts so
    """
    return (num_hidden_layers + num_prediction_layers) * sequence_length * keys_per_token


@quantity("token", "Window")
def attention_window(sliding_window, sequence_length):
    """Keys that a windowed layer reaches at most."""
    return least(sliding_window, sequence_length)


@quantity("1", "Attended keys, windowed layers, causal")
def attended_keys_windowed(sliding_window_layers, attention_window, sequence_length, keys_per_token):
    """Keys per query in windowed layers, on average over the sequence: the band below the diagonal."""
    return (
        sliding_window_layers
        * keys_per_token
        * (attention_window - attention_window * attention_window / (2 * sequence_length))
    )


@quantity("token", "Chunk")
def attention_chunk(attention_chunk_size, sequence_length):
    """Tokens of a chunk; the whole sequence where there are no chunks."""
    return where(attention_chunk_size > 0, least(attention_chunk_size, sequence_length), sequence_length)


@quantity("1", "Chunks")
def attention_chunks(sequence_length, attention_chunk):
    """Chunks of the sequence; the last one may be shorter."""
    return ceil(sequence_length / attention_chunk)


@quantity("1", "Attended keys, chunked layers, causal")
def attended_keys_chunked(chunked_attention_layers, keys_per_token, attention_chunks, attention_chunk, sequence_length):
    """Keys per query in chunked layers, on average over the sequence: half of the square of each chunk."""
    return (
        chunked_attention_layers
        * keys_per_token
        * (
            (attention_chunks - 1) * attention_chunk * attention_chunk
            + (sequence_length - (attention_chunks - 1) * attention_chunk)
            * (sequence_length - (attention_chunks - 1) * attention_chunk)
        )
        / (2 * sequence_length)
    )


@quantity("1", "Attended keys, all layers, causal")
def attended_keys_causal(
    num_hidden_layers,
    num_prediction_layers,
    sliding_window_layers,
    chunked_attention_layers,
    sequence_length,
    keys_per_token,
    attended_keys_windowed,
    attended_keys_chunked,
):
    """Keys per query summed over layers with the causal mask: half of the square, the field's habit.

    Source: Dao 2023, arXiv 2307.08691, section 4.1; Megatron-LM num_floating_point_operations
    """
    return (
        (num_hidden_layers + num_prediction_layers - sliding_window_layers - chunked_attention_layers)
        * sequence_length
        * keys_per_token
        / 2
        + attended_keys_windowed
        + attended_keys_chunked
    )


@quantity("FLOP/token", "Attention, forward, causal")
def attention_forward_flops_per_token(attended_keys_causal, attention_forward_flops_per_key):
    """Scores and values of all layers with the causal mask."""
    return attended_keys_causal * attention_forward_flops_per_key


@quantity("FLOP/token", "Attention, forward, full square")
def attention_forward_flops_per_token_full_square(attended_keys_full_square, attention_forward_flops_per_key):
    """Scores and values of all layers, masked entries included."""
    return attended_keys_full_square * attention_forward_flops_per_key


@quantity("FLOP/token", "Forward, causal")
def forward_flops_per_token(
    low_precision_forward_flops_per_token, high_precision_forward_flops_per_token, attention_forward_flops_per_token
):
    """The forward pass of one token."""
    return (
        low_precision_forward_flops_per_token
        + high_precision_forward_flops_per_token
        + attention_forward_flops_per_token
    )


@quantity("FLOP/token", "Forward, full square")
def forward_flops_per_token_full_square(
    low_precision_forward_flops_per_token,
    high_precision_forward_flops_per_token,
    attention_forward_flops_per_token_full_square,
):
    """The forward pass of one token, masked attention entries included."""
    return (
        low_precision_forward_flops_per_token
        + high_precision_forward_flops_per_token
        + attention_forward_flops_per_token_full_square
    )


@quantity("FLOP/token", "Backward, causal")
def backward_flops_per_token(backward_forward_ratio, forward_flops_per_token):
    """The backward pass of one token, without recomputation."""
    return backward_forward_ratio * forward_flops_per_token


@quantity("FLOP/token", "Backward, full square")
def backward_flops_per_token_full_square(backward_forward_ratio, forward_flops_per_token_full_square):
    """The backward pass of one token, masked attention entries included."""
    return backward_forward_ratio * forward_flops_per_token_full_square


@quantity("FLOP/token", "Training FLOPs per token")
def training_flops_per_token(forward_flops_per_token, backward_flops_per_token):
    """Model FLOPs: forward and backward with the causal mask, without recomputation.

    Source: DeepSeek-V3: 250 GFLOP per token, arXiv 2505.09343, Table 2
    """
    return forward_flops_per_token + backward_flops_per_token


@quantity("FLOP/token", "Training FLOPs per token, full square")
def training_flops_per_token_full_square(forward_flops_per_token_full_square, backward_flops_per_token_full_square):
    """Model FLOPs with masked attention entries included."""
    return forward_flops_per_token_full_square + backward_flops_per_token_full_square


@quantity("token", "Tokens per step", number_format="#,##0")
def step_tokens(global_batch_size, sequence_length):
    """Tokens of one optimizer step."""
    return global_batch_size * sequence_length


@quantity("FLOP", "FLOPs per step", number_format='#,##0.0,,,,," PFLOP"')
def step_flops(step_tokens, training_flops_per_token):
    """Model FLOPs of one optimizer step over the whole cluster."""
    return step_tokens * training_flops_per_token


@quantity("FLOP/token", "Attention projections, forward")
def attention_linear_forward_flops_per_token(
    flops_per_multiply_add, num_hidden_layers, num_prediction_layers, attention_linear_parameters
):
    """Linear layers of attention, of all layers."""
    return flops_per_multiply_add * (num_hidden_layers + num_prediction_layers) * attention_linear_parameters


@quantity("FLOP/token", "MLPs and experts, forward")
def mlp_linear_forward_flops_per_token(low_precision_forward_flops_per_token, attention_linear_forward_flops_per_token):
    """The other linear layers: MLPs, experts that the token visits, projections of prediction layers."""
    return low_precision_forward_flops_per_token - attention_linear_forward_flops_per_token


@quantity("FLOP/token", "Output head, forward")
def head_forward_flops_per_token(flops_per_multiply_add, num_prediction_layers, vocab_size, hidden_size):
    """The output head, once more for each prediction layer."""
    return flops_per_multiply_add * (1 + num_prediction_layers) * vocab_size * hidden_size


@quantity("FLOP/token", "Routers, forward")
def router_forward_flops_per_token(
    flops_per_multiply_add, num_moe_layers, num_prediction_layers, router_linear_parameters
):
    """Routers of all MoE layers, those of prediction layers included, which every recipe keeps in BF16."""
    return flops_per_multiply_add * (num_moe_layers + num_prediction_layers) * router_linear_parameters


@quantity("FLOP/token", "Recomputed, attention projections")
def recomputed_attention_linear_flops_per_token(
    repeats_layer,
    attention_linear_forward_flops_per_token,
    repeats_up_projections,
    latent_attention,
    flops_per_multiply_add,
    num_hidden_layers,
    num_prediction_layers,
    query_up_parameters,
    key_value_up_parameters,
):
    """Linear layers of attention computed a second time in the backward pass: all of them, or MLA's up-projections."""
    return (
        repeats_layer * attention_linear_forward_flops_per_token
        + repeats_up_projections
        * latent_attention
        * flops_per_multiply_add
        * (num_hidden_layers + num_prediction_layers)
        * (query_up_parameters + key_value_up_parameters)
    )


@quantity("FLOP/token", "Recomputed, MLPs and experts")
def recomputed_mlp_linear_flops_per_token(
    repeats_layer,
    mlp_linear_forward_flops_per_token,
    flops_per_multiply_add,
    repeats_dense_mlps,
    num_dense_layers,
    dense_mlp_linear_parameters,
    repeats_experts,
    num_moe_layers,
    num_prediction_layers,
    num_experts_per_tok,
    expert_linear_parameters,
    shared_expert_parameters,
):
    """MLPs and experts computed a second time in the backward pass: with the whole layer, or alone."""
    return repeats_layer * mlp_linear_forward_flops_per_token + flops_per_multiply_add * (
        repeats_dense_mlps * num_dense_layers * dense_mlp_linear_parameters
        + repeats_experts
        * (num_moe_layers + num_prediction_layers)
        * (num_experts_per_tok * expert_linear_parameters + shared_expert_parameters)
    )


@quantity("FLOP/token", "Recomputed, attention core")
def recomputed_attention_core_flops_per_token(repeats_layer, repeats_attention, attention_forward_flops_per_token):
    """Scores and values computed a second time in the backward pass."""
    return (repeats_layer + repeats_attention) * attention_forward_flops_per_token


@quantity("FLOP/token", "Executed by attention projections")
def attention_linear_flops_per_token(
    backward_forward_ratio, attention_linear_forward_flops_per_token, recomputed_attention_linear_flops_per_token
):
    """Forward, backward and recomputation."""
    return (
        1 + backward_forward_ratio
    ) * attention_linear_forward_flops_per_token + recomputed_attention_linear_flops_per_token


@quantity("FLOP/token", "Executed by MLPs and experts")
def mlp_linear_flops_per_token(
    backward_forward_ratio, mlp_linear_forward_flops_per_token, recomputed_mlp_linear_flops_per_token
):
    """Forward, backward and recomputation."""
    return (1 + backward_forward_ratio) * mlp_linear_forward_flops_per_token + recomputed_mlp_linear_flops_per_token


@quantity("FLOP/token", "Executed by the attention core")
def attention_core_flops_per_token(
    backward_forward_ratio, attention_forward_flops_per_token, recomputed_attention_core_flops_per_token
):
    """Forward, backward and recomputation."""
    return (1 + backward_forward_ratio) * attention_forward_flops_per_token + recomputed_attention_core_flops_per_token


@quantity("FLOP/token", "Executed by the output head")
def head_flops_per_token(backward_forward_ratio, head_forward_flops_per_token):
    """Forward and backward; it is never repeated."""
    return (1 + backward_forward_ratio) * head_forward_flops_per_token


@quantity("FLOP/token", "Executed by routers")
def router_flops_per_token(backward_forward_ratio, router_forward_flops_per_token):
    """Forward and backward."""
    return (1 + backward_forward_ratio) * router_forward_flops_per_token


@quantity("FLOP/token", "Executed FLOPs per token")
def executed_flops_per_token(
    attention_linear_flops_per_token,
    mlp_linear_flops_per_token,
    attention_core_flops_per_token,
    head_flops_per_token,
    router_flops_per_token,
):
    """What the devices execute, recomputation included (hardware FLOPs)."""
    return (
        attention_linear_flops_per_token
        + mlp_linear_flops_per_token
        + attention_core_flops_per_token
        + head_flops_per_token
        + router_flops_per_token
    )
