"""Operators: the matrix multiplications of one forward micro-batch on one rank, for the roofline chart.

Each multiplies an M x K input with a K x N weight, `count` times over all layers. Tensor parallelism splits N or K;
weights that it replicates see the rank's own tokens only. The FLOPs are a second route to the total of the analysis,
which the sheet Checks compares.
"""

from typing import Any

from pyxl.operations import least, where
from pyxl.rows import RowModel
from workbook.analysis import analysis

operators = RowModel(analysis)
operators.section("Operators")

operators.input("m", "token", "M", None, "Rows: tokens that the weight is multiplied with at once.")
operators.input("n", "1", "N", None, "Columns of the weight on this rank; keys per query for attention.")
operators.input("k", "1", "K", None, "Inner dimension on this rank; width of its heads for attention.")
operators.input("count", "1", "Count", None, "Times per micro-batch, over all layers.")
operators.input(
    "precision_level", "1", "Precision level", None, "Format of the precision recipe: 0 for BF16, 1 for FP8, 2 for FP4."
)
operators.input(
    "has_weight", "1", "Has a weight", None, "1 for a weight matrix, 0 for attention, whose operands are activations."
)
operators.input(
    "label_level",
    "1",
    "Label level",
    None,
    "How high above the roof the chart writes the operator's name: the lower its intensity the higher, so that no "
    "line to a name crosses another name.",
)


@operators.quantity("FLOP/s", "Compute ceiling")
def rate(precision_level, fp4_ceiling, fp8_ceiling, bf16_ceiling):
    """Rate of the operator's precision."""
    return where(precision_level == 2, fp4_ceiling, where(precision_level == 1, fp8_ceiling, bf16_ceiling))


@operators.quantity("FLOP", "FLOPs, once")
def flops(flops_per_multiply_add, m, n, k):
    """A multiply-add per row, column and inner element."""
    return flops_per_multiply_add * m * n * k


@operators.quantity("byte", "Weight bytes, once")
def weight_bytes_read(has_weight, n, k, precision_level, weight_operand_bytes, weight_bytes):
    """The weight is read once, in the operator's precision."""
    return has_weight * n * k * where(precision_level > 0, weight_operand_bytes, weight_bytes)


@operators.quantity("byte", "Activation bytes, once")
def activation_bytes_moved(m, k, precision_level, linear_input_bytes, activation_bytes, has_weight, n):
    """Input read once and output written once. Fused attention reads queries, keys and values, and writes its output:
    twice the heads' width.
    """
    return m * k * where(precision_level > 0, linear_input_bytes, activation_bytes) + m * activation_bytes * where(
        has_weight == 1, n, k
    )


@operators.quantity("FLOP/byte", "Intensity", number_format="#,##0.0")
def intensity(count, flops, weight_bytes_read, activation_bytes_moved, roofline_off_chart):
    """FLOPs per byte of HBM traffic, each operand moved once. An operator that the model does not have stands left
    of the chart, out of sight.
    """
    return where(count > 0, flops / (weight_bytes_read + activation_bytes_moved), roofline_off_chart)


@operators.quantity("FLOP/byte", "Intensity of its label", number_format="#,##0.0")
def label_intensity(intensity):
    """Where the chart writes the operator's name: above its point."""
    return intensity


@operators.quantity("FLOP/s", "Attainable")
def attainable(rate, intensity, hbm_ceiling):
    """The roof above the operator: its compute ceiling, or what HBM feeds at its intensity."""
    return least(rate, intensity * hbm_ceiling)


@operators.quantity("FLOP/s", "Height of its label")
def label_height(mlp_linear_ceiling, roofline_label_step, label_level):
    """Where the chart writes the operator's name: each at a height of its own."""
    return mlp_linear_ceiling * roofline_label_step**label_level


@operators.quantity("FLOP", "FLOPs, all layers")
def total_flops(flops, count):
    """FLOPs of the micro-batch's forward pass on this rank, were it to run all layers."""
    return flops * count


@operators.quantity("s", "Time, all layers")
def time(count, total_flops, attainable):
    """Time at the roof."""
    return where(count > 0, total_flops / attainable, 0)


@operators.quantity("text", "Bound by")
def operator_bound(count, attainable, rate):
    """Which roof the operator is under; none for an operator that the model does not have."""
    return where(count > 0, where(attainable < rate, "HBM", "compute"), "none")


def all_tokens(microbatch_tokens, context_parallel_size):
    return microbatch_tokens / context_parallel_size


def own_tokens(rank_microbatch_tokens):
    return rank_microbatch_tokens


def hidden(hidden_size):
    return hidden_size


def attention_layers(num_hidden_layers, num_prediction_layers):
    return num_hidden_layers + num_prediction_layers


def dense_layers(num_dense_layers):
    return num_dense_layers


def moe_layers(num_moe_layers, num_prediction_layers):
    return num_moe_layers + num_prediction_layers


def moe_layers_with_shared_experts(num_moe_layers, num_prediction_layers, shared_expert_intermediate_size):
    return (num_moe_layers + num_prediction_layers) * least(1, shared_expert_intermediate_size)


def layers_with_latent_query(num_hidden_layers, num_prediction_layers, latent_attention, q_lora_rank):
    return (num_hidden_layers + num_prediction_layers) * least(latent_attention, q_lora_rank)


def layers_with_latent(num_hidden_layers, num_prediction_layers, latent_attention):
    return (num_hidden_layers + num_prediction_layers) * latent_attention


def expert_rows(
    rank_microbatch_tokens, expert_parallel_size, num_experts_per_tok, expert_tensor_parallel_size, n_routed_experts
):
    sent = rank_microbatch_tokens * expert_parallel_size * num_experts_per_tok
    return where(n_routed_experts > 0, sent * expert_tensor_parallel_size / n_routed_experts, 0)


def local_experts(num_moe_layers, num_prediction_layers, n_routed_experts, expert_parallel_size):
    return (num_moe_layers + num_prediction_layers) * n_routed_experts / expert_parallel_size


def shared_tokens(microbatch_tokens, context_parallel_size, splits_shared_experts, rank_microbatch_tokens):
    return where(splits_shared_experts == 1, microbatch_tokens / context_parallel_size, rank_microbatch_tokens)


def attention_linear(attention_linear_level):
    return attention_linear_level


def mlp_linear(mlp_linear_level):
    return mlp_linear_level


ATTENTION: dict[str, Any] = {"precision_level": attention_linear, "has_weight": 1}
MLP: dict[str, Any] = {"precision_level": mlp_linear, "has_weight": 1}

operators.row(
    "Query down",
    label_level=8,
    **ATTENTION,
    m=own_tokens,
    k=hidden,
    n=lambda q_lora_rank: q_lora_rank,
    count=layers_with_latent_query,
)
operators.row(
    "Query up",
    label_level=11,
    **ATTENTION,
    m=all_tokens,
    k=lambda query_input_width: query_input_width,
    n=lambda num_attention_heads, query_head_dim, tensor_parallel_size: (
        num_attention_heads * query_head_dim / tensor_parallel_size
    ),
    count=attention_layers,
)
operators.row(
    "Key-value down",
    label_level=13,
    **ATTENTION,
    m=own_tokens,
    k=hidden,
    n=lambda kv_lora_rank, qk_rope_head_dim: kv_lora_rank + qk_rope_head_dim,
    count=layers_with_latent,
)
operators.row(
    "Key-value up",
    label_level=14,
    **ATTENTION,
    m=lambda rank_microbatch_tokens, key_value_ranks: rank_microbatch_tokens * key_value_ranks,
    k=lambda latent_attention, kv_lora_rank, hidden_size: where(latent_attention == 1, kv_lora_rank, hidden_size),
    n=lambda key_value_up_parameters, latent_attention, kv_lora_rank, hidden_size, key_value_ranks: (
        key_value_up_parameters / where(latent_attention == 1, kv_lora_rank, hidden_size) / key_value_ranks
    ),
    count=attention_layers,
)
operators.row(
    "Attention core",
    label_level=12,
    precision_level=lambda attention_core_level: attention_core_level,
    has_weight=0,
    m=all_tokens,
    k=lambda num_attention_heads, query_head_dim, value_head_dim, tensor_parallel_size: (
        num_attention_heads * (query_head_dim + value_head_dim) / tensor_parallel_size
    ),
    n=lambda attended_keys_causal, num_hidden_layers, num_prediction_layers: (
        attended_keys_causal / (num_hidden_layers + num_prediction_layers)
    ),
    count=attention_layers,
)
operators.row(
    "Attention output",
    label_level=3,
    **ATTENTION,
    m=all_tokens,
    k=lambda num_attention_heads, value_head_dim, tensor_parallel_size: (
        num_attention_heads * value_head_dim / tensor_parallel_size
    ),
    n=hidden,
    count=attention_layers,
)
operators.row(
    "Dense MLP in",
    label_level=4,
    **MLP,
    m=all_tokens,
    k=hidden,
    n=lambda mlp_matrices, intermediate_size, tensor_parallel_size: (
        (mlp_matrices - 1) * intermediate_size / tensor_parallel_size
    ),
    count=dense_layers,
)
operators.row(
    "Dense MLP out",
    label_level=2,
    **MLP,
    m=all_tokens,
    k=lambda intermediate_size, tensor_parallel_size: intermediate_size / tensor_parallel_size,
    n=hidden,
    count=dense_layers,
)
operators.row(
    "Router",
    label_level=15,
    precision_level=0,
    has_weight=1,
    m=own_tokens,
    k=hidden,
    n=lambda n_routed_experts, shared_expert_gate: n_routed_experts + shared_expert_gate,
    count=moe_layers,
)
operators.row(
    "Expert in",
    label_level=5,
    **MLP,
    m=expert_rows,
    k=hidden,
    n=lambda mlp_matrices, moe_intermediate_size, expert_tensor_parallel_size: (
        (mlp_matrices - 1) * moe_intermediate_size / expert_tensor_parallel_size
    ),
    count=local_experts,
)
operators.row(
    "Expert out",
    label_level=9,
    **MLP,
    m=expert_rows,
    k=lambda moe_intermediate_size, expert_tensor_parallel_size: moe_intermediate_size / expert_tensor_parallel_size,
    n=hidden,
    count=local_experts,
)
operators.row(
    "Shared expert in",
    label_level=6,
    **MLP,
    m=shared_tokens,
    k=hidden,
    n=lambda mlp_matrices, shared_expert_intermediate_size, splits_shared_experts, tensor_parallel_size: (
        (mlp_matrices - 1)
        * shared_expert_intermediate_size
        / where(splits_shared_experts == 1, tensor_parallel_size, 1)
    ),
    count=moe_layers_with_shared_experts,
)
operators.row(
    "Shared expert out",
    label_level=10,
    **MLP,
    m=shared_tokens,
    k=lambda shared_expert_intermediate_size, splits_shared_experts, tensor_parallel_size: (
        shared_expert_intermediate_size / where(splits_shared_experts == 1, tensor_parallel_size, 1)
    ),
    n=hidden,
    count=moe_layers_with_shared_experts,
)
operators.row(
    "Prediction projection",
    label_level=1,
    **MLP,
    m=own_tokens,
    k=lambda hidden_size: 2 * hidden_size,
    n=hidden,
    count=lambda num_prediction_layers: num_prediction_layers,
)
operators.row(
    "Output head",
    label_level=7,
    precision_level=lambda head_level: head_level,
    has_weight=1,
    m=all_tokens,
    k=hidden,
    n=lambda vocab_size, tensor_parallel_size: vocab_size / tensor_parallel_size,
    count=lambda num_prediction_layers: 1 + num_prediction_layers,
)
operators.close(also=("forward_flops_per_token",))
