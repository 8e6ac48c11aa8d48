"""Activations: what a layer keeps per token for its backward pass, tensor by tensor, and for how many micro-batches."""

from pyxl.operations import least, most, where
from workbook.model import analysis, quantity

analysis.section("Activations")


@quantity("1", "Activation slots, first device", number_format="0.##")
def activation_slots(
    keeps_all_microbatches,
    num_microbatches,
    in_flight_per_stage,
    pipeline_parallel_size,
    in_flight_extra,
    in_flight_interleaved,
    virtual_stages,
    parameter_copies,
):
    """Micro-batches that the schedule lets the first device keep at once, in terms of all its layers: a device with
    several chunks or copies shares the slots out.

    Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2; Korthikanti et al. 2022, arXiv 2205.05198, section
    4.2.3; DeepSeek-V3 report, arXiv 2412.19437, Table 2
    """
    return where(
        keeps_all_microbatches == 1,
        num_microbatches,
        (
            in_flight_per_stage * pipeline_parallel_size
            + (in_flight_extra + in_flight_interleaved * (pipeline_parallel_size - 1)) / virtual_stages
        )
        / parameter_copies,
    )


@quantity("1", "In-flight micro-batches, first device", number_format="0.##")
def first_device_in_flight(num_microbatches, activation_slots):
    """Micro-batches whose activations the device keeps at once: no more than there are."""
    return least(num_microbatches, activation_slots)


@quantity("1", "In-flight micro-batches, mixed device", number_format="0.##")
def mixed_device_in_flight(num_microbatches, activation_slots, in_flight_decline, mixed_device_index, virtual_stages):
    """With 1F1B each later device has one slot fewer."""
    return least(num_microbatches, most(1, activation_slots - in_flight_decline * mixed_device_index / virtual_stages))


@quantity("1", "In-flight micro-batches, middle device", number_format="0.##")
def middle_device_in_flight(num_microbatches, activation_slots, in_flight_decline, middle_device_index, virtual_stages):
    """With 1F1B each later device has one slot fewer."""
    return least(num_microbatches, most(1, activation_slots - in_flight_decline * middle_device_index / virtual_stages))


@quantity("1", "In-flight micro-batches, last device", number_format="0.##")
def last_device_in_flight(
    num_microbatches, activation_slots, in_flight_decline, pipeline_parallel_size, virtual_stages
):
    """With 1F1B the last device has one slot."""
    return least(
        num_microbatches,
        most(1, activation_slots - in_flight_decline * (pipeline_parallel_size - 1) / virtual_stages),
    )


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
def rank_microbatch_tokens(microbatch_tokens, tensor_parallel_size, context_parallel_size):
    """Context ranks and, with sequence parallelism, tensor ranks carry a part of each micro-batch."""
    return microbatch_tokens / (tensor_parallel_size * context_parallel_size)


@quantity("byte", "Logits")
def logits_memory(rank_microbatch_tokens, vocab_size, logit_bytes, num_prediction_layers):
    """Logits of one micro-batch on the last stage, the vocabulary split over the tensor ranks; each prediction layer
    has its own.
    """
    return rank_microbatch_tokens * vocab_size * logit_bytes * (1 + num_prediction_layers)


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
