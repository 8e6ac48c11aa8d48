"""FLOP conventions: what a published FLOP/s or MFU counts, one switch for each habit, and the measured run it is of.

The matrix multiplications of layers and output head are counted by everyone. Whether masked attention entries, the
embedding, routers and recomputation count, and which peak divides, is a row of the table Conventions.
"""

from pyxl.operations import where
from workbook.model import analysis, quantity

analysis.section("FLOP conventions")


@quantity("FLOP/token", "Attention as counted, forward")
def counted_attention_forward_flops_per_token(
    counts_full_square, attention_forward_flops_per_token_full_square, attention_forward_flops_per_token
):
    """Scores and values of all layers: the full square, or the half of it that the causal mask leaves."""
    return where(
        counts_full_square == 1, attention_forward_flops_per_token_full_square, attention_forward_flops_per_token
    )


@quantity("FLOP/token", "Counted: attention")
def counted_attention_flops_per_token(backward_forward_ratio, counted_attention_forward_flops_per_token):
    """Forward and backward, without what fused kernels compute again inside the backward pass."""
    return (1 + backward_forward_ratio) * counted_attention_forward_flops_per_token


@quantity("FLOP/token", "Counted: linear layers")
def counted_linear_flops_per_token(
    backward_forward_ratio,
    low_precision_forward_flops_per_token,
    high_precision_forward_flops_per_token,
    router_forward_flops_per_token,
):
    """Forward and backward of all weight matrices but routers; the output head always counts, tied or not."""
    return (1 + backward_forward_ratio) * (
        low_precision_forward_flops_per_token + high_precision_forward_flops_per_token - router_forward_flops_per_token
    )


@quantity("FLOP/token", "Counted: routers")
def counted_router_flops_per_token(counts_router, backward_forward_ratio, router_forward_flops_per_token):
    """Forward and backward of the routers, where they count."""
    return counts_router * (1 + backward_forward_ratio) * router_forward_flops_per_token


@quantity("FLOP/token", "Counted: embedding")
def counted_embedding_flops_per_token(
    counts_embedding, backward_forward_ratio, flops_per_multiply_add, embedding_parameters
):
    """The embedding as if its look-up multiplied each of its weights, where it counts: formulas of the form 6 N with
    all parameters do so.
    """
    return counts_embedding * (1 + backward_forward_ratio) * flops_per_multiply_add * embedding_parameters


@quantity("FLOP/token", "Recomputation, attention as counted")
def recomputation_flops_per_token(
    recomputed_attention_linear_flops_per_token,
    recomputed_mlp_linear_flops_per_token,
    recomputed_attention_core_flops_per_token,
    counted_attention_forward_flops_per_token,
    attention_forward_flops_per_token,
):
    """What this strategy's recomputation repeats, whether it counts or not. The recomputed attention is causal; it is
    scaled to the square that counts.
    """
    return (
        recomputed_attention_linear_flops_per_token
        + recomputed_mlp_linear_flops_per_token
        + recomputed_attention_core_flops_per_token
        * counted_attention_forward_flops_per_token
        / attention_forward_flops_per_token
    )


@quantity("FLOP/token", "Counted: recomputation")
def counted_recomputation_flops_per_token(counts_recomputation, recomputation_flops_per_token):
    """Recomputation, where it counts: not in model FLOPs, but in hardware FLOPs."""
    return counts_recomputation * recomputation_flops_per_token


@quantity("FLOP/token", "Counted FLOPs per token")
def counted_flops_per_token(
    counted_attention_flops_per_token,
    counted_linear_flops_per_token,
    counted_router_flops_per_token,
    counted_embedding_flops_per_token,
    counted_recomputation_flops_per_token,
):
    """Training FLOPs of one token as the convention counts them: what MFU and FLOP/s are computed from."""
    return (
        counted_attention_flops_per_token
        + counted_linear_flops_per_token
        + counted_router_flops_per_token
        + counted_embedding_flops_per_token
        + counted_recomputation_flops_per_token
    )


@quantity("FLOP/token", "Hardware FLOPs per token")
def hardware_flops_per_token(counted_flops_per_token, counts_recomputation, recomputation_flops_per_token):
    """Counted FLOPs with recomputation, whether the convention counts it or not.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 6
    """
    return counted_flops_per_token + (1 - counts_recomputation) * recomputation_flops_per_token


@quantity("FLOP", "Counted FLOPs per step", number_format='#,##0.0,,,,," PFLOP"')
def counted_step_flops(step_tokens, counted_flops_per_token):
    """Counted FLOPs of one optimizer step over the whole cluster."""
    return step_tokens * counted_flops_per_token


@quantity("FLOP/s", "Peak that divides")
def utilization_peak(divides_by_linear_peak, mlp_linear_level, fp4_peak, fp8_peak, bf16_peak):
    """Datasheet peak that 100 % stands for: of BF16 whatever the recipe, or of the format that linear layers run in."""
    return where(
        divides_by_linear_peak * mlp_linear_level == 2,
        fp4_peak,
        where(divides_by_linear_peak * mlp_linear_level == 1, fp8_peak, bf16_peak),
    )


analysis.section("Measured run")
NONE_IF_ZERO = '[=0]"none";0.00'


@quantity("1", "Measured / lower bound", number_format=NONE_IF_ZERO)
def measured_over_lower_bound(measured_step_time, step_time_lower_bound):
    """How many times as long as at the speed of light the measured step takes. Below 1 the run did other than this
    strategy says: other collectives, kernels above these ceilings, or another configuration.
    """
    return measured_step_time / step_time_lower_bound


@quantity(
    "FLOP/s",
    "Measured FLOP/s per device",
    number_format='[=0]"none";[>=1000000000000000]#,##0.00,,,,," PFLOP/s";0.00,,,," TFLOP/s"',
)
def measured_flops_per_second(counted_step_flops, world_size, measured_step_time):
    """Counted FLOPs per device and second of the measured step.

    Source: DeepSeek-V3: 385 TFLOP/s causal, 432 full square, arXiv 2505.09343, Table 4
    """
    return where(measured_step_time > 0, counted_step_flops / world_size / measured_step_time, 0)


@quantity("1", "Measured MFU", number_format=f"{NONE_IF_ZERO}%")
def measured_flops_utilization(measured_flops_per_second, utilization_peak):
    """Measured FLOP/s over the peak that divides.

    Source: DeepSeek-V3: 38.94 % causal, 43.73 % full square, arXiv 2505.09343, Table 4
    """
    return measured_flops_per_second / utilization_peak
