"""Activations: what a layer keeps per token for its backward pass, tensor by tensor, and for how many micro-batches.

Every row in byte/token is of one layer and of one token of those that a rank counts as its own: a micro-batch's
tokens divided by the tensor and context ranks. Tensor ranks hold all of these tokens in a part of the heads and of the
MLP's width, which comes to the whole width of their own. Rows state what there is; the recomputation policy's switches
(`keeps_...`) say which part of it stays until the backward pass.
"""

from pyxl.operations import least, most, where
from workbook.devices import device_quantity
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


@device_quantity("1", "in-flight micro-batches", number_format="0.##")
def in_flight(exists, num_microbatches, activation_slots, in_flight_decline, index, virtual_stages):
    """Micro-batches whose activations the device keeps at once: with 1F1B each later device keeps one fewer."""
    return exists * least(num_microbatches, most(1, activation_slots - in_flight_decline * index / virtual_stages))


@quantity("token", "Tokens per micro-batch and rank", number_format="#,##0.##")
def rank_microbatch_tokens(microbatch_tokens, tensor_parallel_size, context_parallel_size):
    """Context ranks and, with sequence parallelism, tensor ranks carry a part of each micro-batch."""
    return microbatch_tokens / (tensor_parallel_size * context_parallel_size)


@quantity("1", "Copies of the residual stream")
def residual_copies(shards_sequence, tensor_parallel_size):
    """Without sequence parallelism every tensor rank holds the residual stream and the norms of all their tokens.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, sections 4.2.1 and 4.2.2
    """
    return where(shards_sequence == 1, 1, tensor_parallel_size)


analysis.section("Activations of attention")


@quantity("byte/token", "Layer input")
def layer_input_bytes(hidden_size, activation_bytes, residual_copies):
    """The residual stream at the start of a layer, which is also the input of its first norm: kept always."""
    return hidden_size * activation_bytes * residual_copies


@quantity("byte/token", "Norm output")
def attention_norm_output_bytes(hidden_size, linear_input_bytes, residual_copies):
    """Input of the projections to queries, keys and values, or to their latents."""
    return hidden_size * linear_input_bytes * residual_copies


@quantity("byte/token", "Latents")
def latent_bytes(latent_attention, q_lora_rank, kv_lora_rank, qk_rope_head_dim, activation_bytes, residual_copies):
    """MLA: compressed queries, keys and values, and the shared rotary key. Not split by tensor parallelism.

    Source: DeepSeek-V2, arXiv 2405.04434, section 2.1
    """
    return latent_attention * (q_lora_rank + kv_lora_rank + qk_rope_head_dim) * activation_bytes * residual_copies


@quantity("byte/token", "Norm outputs of latents")
def latent_norm_output_bytes(latent_attention, q_lora_rank, kv_lora_rank, linear_input_bytes, residual_copies):
    """MLA: inputs of the up-projections."""
    return latent_attention * (q_lora_rank + kv_lora_rank) * linear_input_bytes * residual_copies


@quantity("byte/token", "Queries, keys and values")
def query_key_value_bytes(
    num_attention_heads, query_head_dim, key_value_width, tensor_parallel_size, key_value_ranks, activation_bytes
):
    """Inputs of the attention core, after rotary embedding; key-value heads fewer than tensor ranks have copies."""
    return (
        num_attention_heads * query_head_dim + key_value_width * tensor_parallel_size / key_value_ranks
    ) * activation_bytes


@quantity("byte/token", "Attention scores")
def attention_score_bytes(num_attention_heads, sequence_length, keys_per_token, attention_probability_bytes):
    """Scores and probabilities, masked ones included, where attention is not fused; fused attention has none.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.1
    """
    return num_attention_heads * sequence_length * keys_per_token * attention_probability_bytes


@quantity("byte/token", "Attention output")
def attention_output_bytes(
    num_attention_heads, value_head_dim, activation_bytes, exchanges_heads, context_parallel_size
):
    """Output of the attention core, which in the same format is also the input of the output projection. Where context
    ranks exchange heads it exists before and after the exchange.

    Source: Transformer Engine, FusedAttnFunc and AttnFuncWithCPAndQKVOA2A (saves the output before its all-to-all)
    """
    return (
        num_attention_heads
        * value_head_dim
        * activation_bytes
        * (1 + exchanges_heads * where(context_parallel_size > 1, 1, 0))
    )


@quantity("byte/token", "Softmax statistics")
def softmax_statistic_bytes(num_attention_heads, softmax_statistic_bytes_per_head):
    """Fused attention keeps one number per query and head instead of the probabilities.

    Source: Dao 2023, arXiv 2307.08691, section 3.1
    """
    return num_attention_heads * softmax_statistic_bytes_per_head


@quantity("byte/token", "Output projection input")
def projection_input_bytes(num_attention_heads, value_head_dim, linear_input_bytes, activation_bytes):
    """The attention output once more, where linear layers keep their inputs in another format than attention.

    Source: Transformer Engine, Linear with FP8 (saves the quantised input)
    """
    return where(linear_input_bytes < activation_bytes, num_attention_heads * value_head_dim * linear_input_bytes, 0)


@quantity("byte/token", "Attention, kept")
def attention_kept_bytes(
    keeps_norm_outputs,
    attention_norm_output_bytes,
    latent_norm_output_bytes,
    keeps_internals,
    latent_bytes,
    latent_attention,
    keeps_up_projections,
    keeps_projections,
    query_key_value_bytes,
    keeps_probabilities,
    attention_score_bytes,
    keeps_attention_output,
    attention_output_bytes,
    repeats_attention,
    softmax_statistic_bytes,
    keeps_projection_input,
    projection_input_bytes,
):
    """Each tensor of attention times its switch; softmax statistics are of fused attention only."""
    return (
        keeps_norm_outputs * (attention_norm_output_bytes + latent_norm_output_bytes)
        + keeps_internals * latent_bytes
        + where(latent_attention == 1, keeps_up_projections, keeps_projections) * query_key_value_bytes
        + keeps_probabilities * attention_score_bytes
        + keeps_attention_output * attention_output_bytes
        + keeps_attention_output * (1 - most(keeps_probabilities, repeats_attention)) * softmax_statistic_bytes
        + keeps_projection_input * projection_input_bytes
    )


analysis.section("Activations of MLPs")


@quantity("byte/token", "MLP input")
def mlp_residual_bytes(hidden_size, activation_bytes, residual_copies):
    """The residual stream between attention and MLP, which is also the input of the second norm."""
    return hidden_size * activation_bytes * residual_copies


@quantity("byte/token", "Dropout masks")
def dropout_mask_bytes(hidden_size, dropout_mask_bytes_per_element, residual_copies):
    """Masks of the dropout behind attention and behind the MLP, in models that are trained with it.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.1
    """
    return 2 * hidden_size * dropout_mask_bytes_per_element * residual_copies


@quantity("byte/token", "Dense MLP: norm output")
def dense_norm_output_bytes(hidden_size, linear_input_bytes, residual_copies):
    """Input of gate and up."""
    return hidden_size * linear_input_bytes * residual_copies


@quantity("byte/token", "Dense MLP: gate and up")
def dense_gate_bytes(mlp_matrices, intermediate_size, gate_bytes):
    """Inputs of the activation function."""
    return (mlp_matrices - 1) * intermediate_size * gate_bytes


@quantity("byte/token", "Dense MLP: product")
def dense_product_bytes(intermediate_size, linear_input_bytes):
    """Output of the activation function (times up), the input of down."""
    return intermediate_size * linear_input_bytes


@quantity("byte/token", "Dense MLP, kept")
def dense_mlp_kept_bytes(
    keeps_norm_outputs, dense_norm_output_bytes, keeps_gates, dense_gate_bytes, keeps_products, dense_product_bytes
):
    """Each tensor of a dense MLP times its switch."""
    return (
        keeps_norm_outputs * dense_norm_output_bytes
        + keeps_gates * dense_gate_bytes
        + keeps_products * dense_product_bytes
    )


@quantity("byte/token", "MoE: norm output")
def moe_norm_output_bytes(hidden_size, activation_bytes, residual_copies):
    """Input of router and shared experts, in the router's format."""
    return hidden_size * activation_bytes * residual_copies


@quantity("byte/token", "MoE: router scores")
def router_score_bytes(n_routed_experts, router_score_bytes_per_expert, residual_copies):
    """Every expert's score."""
    return n_routed_experts * router_score_bytes_per_expert * residual_copies


@quantity("1", "Expert rows per token")
def expert_rows_per_token(num_experts_per_tok, expert_tensor_parallel_size, residual_copies):
    """Rows that a rank's experts work on, per token of its own. With balanced routing the rank receives from the others
    as many rows as it sends, whatever the expert parallel size; with expert tensor parallelism each rank sees the rows
    of the whole expert tensor group.

    Source: MoE Parallel Folding, arXiv 2504.14960, section 3
    """
    return num_experts_per_tok * most(expert_tensor_parallel_size, residual_copies)


@quantity("byte/token", "MoE: expert inputs")
def expert_input_bytes(expert_rows_per_token, hidden_size, linear_input_bytes):
    """A dispatched copy of the token for each of its experts, in the order of experts."""
    return expert_rows_per_token * hidden_size * linear_input_bytes


@quantity("1", "Expert width per token")
def expert_width_per_token(
    expert_rows_per_token, moe_intermediate_size, expert_tensor_parallel_size, shared_expert_intermediate_size
):
    """Inner width of all expert rows, each rank's part of it, and of the shared experts."""
    return expert_rows_per_token * moe_intermediate_size / expert_tensor_parallel_size + shared_expert_intermediate_size


@quantity("byte/token", "MoE: gate and up")
def expert_gate_bytes(mlp_matrices, expert_width_per_token, gate_bytes):
    """Inputs of the experts' activation function."""
    return (mlp_matrices - 1) * expert_width_per_token * gate_bytes


@quantity("byte/token", "MoE: products")
def expert_product_bytes(expert_width_per_token, linear_input_bytes):
    """Outputs of the experts' activation function (times up, times the router's weight), the inputs of down."""
    return expert_width_per_token * linear_input_bytes


@quantity("byte/token", "MoE: expert outputs")
def expert_output_bytes(expert_rows_per_token, hidden_size, activation_bytes):
    """Outputs of the experts, which are needed again where the router's weights are applied to them and not to the
    products before.

    Source: Megatron-Core MoE, arXiv 2603.07685, section 4.1.2 (memory-efficient permutation does without)
    """
    return expert_rows_per_token * hidden_size * activation_bytes


@quantity("byte/token", "MoE, kept")
def moe_kept_bytes(
    keeps_norm_outputs,
    moe_norm_output_bytes,
    keeps_internals,
    router_score_bytes,
    keeps_expert_inputs,
    expert_input_bytes,
    keeps_expert_gates,
    expert_gate_bytes,
    keeps_expert_products,
    expert_product_bytes,
    keeps_expert_outputs,
    expert_output_bytes,
):
    """Each tensor of a MoE block times its switch."""
    return (
        keeps_norm_outputs * moe_norm_output_bytes
        + keeps_internals * router_score_bytes
        + keeps_expert_inputs * expert_input_bytes
        + keeps_expert_gates * expert_gate_bytes
        + keeps_expert_products * expert_product_bytes
        + keeps_expert_outputs * expert_output_bytes
    )


analysis.section("Activations of a layer")


@quantity("byte/token", "Residual stream and masks, kept")
def residual_kept_bytes(
    layer_input_bytes, keeps_internals, mlp_residual_bytes, keeps_dropout_masks, dropout_mask_bytes
):
    """What a layer keeps outside attention and MLP."""
    return layer_input_bytes + keeps_internals * mlp_residual_bytes + keeps_dropout_masks * dropout_mask_bytes


@quantity("byte/token", "Dense layer, kept")
def dense_layer_kept_bytes(residual_kept_bytes, attention_kept_bytes, dense_mlp_kept_bytes):
    """Activations that a dense layer keeps per token."""
    return residual_kept_bytes + attention_kept_bytes + dense_mlp_kept_bytes


@quantity("byte/token", "MoE layer, kept")
def moe_layer_kept_bytes(residual_kept_bytes, attention_kept_bytes, moe_kept_bytes):
    """Activations that a MoE layer keeps per token."""
    return residual_kept_bytes + attention_kept_bytes + moe_kept_bytes


analysis.section("Activations at work")


@quantity("byte/token", "Attention, all tensors")
def attention_whole_bytes(
    layer_input_bytes,
    attention_norm_output_bytes,
    latent_bytes,
    latent_norm_output_bytes,
    query_key_value_bytes,
    attention_output_bytes,
    softmax_statistic_bytes,
    mlp_residual_bytes,
):
    """Everything that the backward pass of fused attention, its norm and the residual stream needs."""
    return (
        layer_input_bytes
        + attention_norm_output_bytes
        + latent_bytes
        + latent_norm_output_bytes
        + query_key_value_bytes
        + attention_output_bytes
        + softmax_statistic_bytes
        + mlp_residual_bytes
    )


@quantity("byte/token", "Dense layer at work")
def dense_layer_work_bytes(
    num_dense_layers,
    attention_whole_bytes,
    dense_norm_output_bytes,
    dense_gate_bytes,
    dense_product_bytes,
    dense_layer_kept_bytes,
    repeats_attention,
    attention_score_bytes,
    mlp_matrices,
    intermediate_size,
    hidden_size,
    residual_copies,
    activation_bytes,
):
    """In the backward pass of a dense layer: what recomputation restores, and the gradients of the layer's output and
    of gate and up, the widest that live together.
    """
    return where(
        num_dense_layers > 0,
        most(
            0,
            attention_whole_bytes
            + dense_norm_output_bytes
            + dense_gate_bytes
            + dense_product_bytes
            - dense_layer_kept_bytes,
        )
        + repeats_attention * attention_score_bytes
        + ((mlp_matrices - 1) * intermediate_size + hidden_size * residual_copies) * activation_bytes,
        0,
    )


@quantity("byte/token", "MoE layer at work")
def moe_layer_work_bytes(
    num_moe_layers,
    attention_whole_bytes,
    moe_norm_output_bytes,
    router_score_bytes,
    expert_input_bytes,
    expert_gate_bytes,
    expert_product_bytes,
    moe_layer_kept_bytes,
    repeats_attention,
    attention_score_bytes,
    expert_rows_per_token,
    hidden_size,
    dispatch_bytes,
    combine_bytes,
    residual_copies,
    activation_bytes,
):
    """In a MoE layer: what recomputation restores, the layer's output or its gradient, and the rows on their way to the
    experts and back, each as sent and as received, which live until the layer is done.

    Source: Megatron-Core, MoELayer.forward (holds permuted, dispatched, expert output and combined rows at once)
    """
    return where(
        num_moe_layers > 0,
        most(
            0,
            attention_whole_bytes
            + moe_norm_output_bytes
            + router_score_bytes
            + expert_input_bytes
            + expert_gate_bytes
            + expert_product_bytes
            - moe_layer_kept_bytes,
        )
        + repeats_attention * attention_score_bytes
        + 2 * expert_rows_per_token * hidden_size * (dispatch_bytes + combine_bytes)
        + hidden_size * residual_copies * activation_bytes,
        0,
    )


@quantity("byte", "Layer at work")
def working_layer_memory(rank_microbatch_tokens, dense_layer_work_bytes, moe_layer_work_bytes):
    """What the layer at work needs beyond what is kept of it, whichever kind of layer needs most."""
    return rank_microbatch_tokens * most(dense_layer_work_bytes, moe_layer_work_bytes)


@quantity("byte", "Linear input at work")
def linear_input_memory(rank_microbatch_tokens, hidden_size, activation_bytes, tensor_parallel_size, shards_sequence):
    """The gradient of a linear layer's input, of all the tensor ranks' tokens before it is scattered; and with sequence
    parallelism that input itself, gathered from them.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2 (the gathered input is not kept)
    """
    return (
        rank_microbatch_tokens
        * hidden_size
        * activation_bytes
        * tensor_parallel_size
        * (1 + shards_sequence * where(tensor_parallel_size > 1, 1, 0))
    )


@quantity("byte", "Output head at work")
def logits_memory(
    rank_microbatch_tokens,
    vocab_size,
    activation_bytes,
    logit_bytes,
    num_prediction_layers,
    hidden_size,
    residual_copies,
):
    """On the last stage, between forward and backward pass of one micro-batch: logits, the softmax that the loss keeps,
    the vocabulary split over the tensor ranks, and input and output of the final norm. Each prediction layer has its
    own.
    """
    return (
        rank_microbatch_tokens
        * (1 + num_prediction_layers)
        * (vocab_size * (activation_bytes + logit_bytes) + 2 * hidden_size * activation_bytes * residual_copies)
    )


@quantity("byte", "Weight gradients at work")
def layer_weight_gradient_memory(
    shards_weights,
    rank_attention_parameters,
    num_dense_layers,
    dense_mlp_linear_parameters,
    tensor_parallel_size,
    num_moe_layers,
    expert_linear_parameters,
    expert_tensor_parallel_size,
    shared_expert_parameters,
    weight_bytes,
):
    """A gradient in the weights' format for each kind of matrix of a layer, one expert standing for all, beside the
    accumulated ones: autograd is handed one, even where kernels accumulate in place. Where weights are sharded, the
    gathered layer has its own.

    Source: Transformer Engine, get_dummy_wgrad (kept for each shape)
    """
    return (
        (1 - shards_weights)
        * weight_bytes
        * (
            rank_attention_parameters
            + where(num_dense_layers > 0, dense_mlp_linear_parameters / tensor_parallel_size, 0)
            + where(
                num_moe_layers > 0,
                expert_linear_parameters / expert_tensor_parallel_size
                + shared_expert_parameters / tensor_parallel_size,
                0,
            )
        )
    )


@quantity("byte", "Weight gradient of the output head at work")
def head_weight_gradient_memory(shards_weights, vocab_size, hidden_size, tensor_parallel_size, weight_bytes):
    """As for a layer, but alive only while the head's backward pass runs, together with the logits.

    Source: Megatron-Core, LinearWithGradAccumulationAndAsyncCommunication.backward
    """
    return (1 - shards_weights) * weight_bytes * vocab_size * hidden_size / tensor_parallel_size
