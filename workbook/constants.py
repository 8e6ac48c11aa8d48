"""Constants: numbers of the field that readers question, each with its reason and source."""

from workbook.model import analysis

analysis.section("Constants")

analysis.constant(
    "flops_per_multiply_add",
    "FLOP/token",
    "FLOPs of one multiply-add",
    2,
    """One multiplication and one addition per weight and token.
    Source: Kaplan et al. 2020, arXiv 2001.08361, section 2.1""",
)
analysis.constant(
    "backward_forward_ratio",
    "1",
    "Backward FLOPs / forward FLOPs",
    2,
    """Each matrix multiplication of the forward pass has two of the same size in the backward pass: one for the
    gradient of its input, one for the gradient of its weight.
    Source: Kaplan et al. 2020, arXiv 2001.08361, section 2.1; Narayanan et al. 2021, arXiv 2104.04473, appendix""",
)
analysis.constant(
    "weight_gradient_forward_ratio",
    "1",
    "Weight-gradient FLOPs / forward FLOPs",
    1,
    """The weight-gradient half of the backward pass (W in the notation of zero-bubble pipelines).
    Source: Qi et al. 2023, arXiv 2401.10241, section 2""",
)
analysis.constant(
    "ranks_per_device",
    "1/device",
    "Ranks per device",
    1,
    """One process drives one device; degrees of parallelism count ranks.
    Source: Megatron-LM and PyTorch convention""",
)
analysis.constant(
    "keys_per_token",
    "1/token",
    "Keys per token of context",
    1,
    """Each token of the context offers one key to attend to.
    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2""",
)
analysis.constant(
    "forward_collectives_per_tensor_block",
    "1",
    "Collectives per tensor-parallel block, forward",
    2,
    """With sequence parallelism each block (attention, MLP) begins with an all-gather and ends with a reduce-scatter.
    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2""",
)
analysis.constant(
    "attention_probability_bytes",
    "byte/token",
    "Bytes kept per attention score, unfused attention",
    5,
    """Softmax input and output in 2 bytes each and a 1-byte dropout mask, where attention is not fused.
    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.1""",
)
analysis.constant(
    "gradient_accesses_per_microbatch",
    "1",
    "HBM accesses per gradient and micro-batch",
    2,
    """Accumulating a micro-batch reads and writes each main gradient once.
    Source: Megatron-LM, gradient accumulation fusion""",
)
analysis.constant(
    "weight_reads_per_microbatch",
    "1",
    "HBM reads per weight and micro-batch",
    2,
    """Weights do not stay in cache between passes: one read in the forward, one in the backward pass.
    Source: roofline model, Williams et al. 2009""",
)
analysis.constant(
    "state_accesses_per_step",
    "1",
    "HBM accesses per optimizer state and step",
    2,
    """The optimizer reads and writes each of its states once per step.
    Source: Kingma and Ba 2014, arXiv 1412.6980, algorithm 1""",
)
analysis.constant(
    "activation_accesses",
    "1",
    "HBM accesses per kept activation",
    2,
    """A kept activation is written once in the forward and read once in the backward pass: the least possible.
    Source: roofline model, Williams et al. 2009""",
)
analysis.constant("seconds_per_hour", "s/hour", "Seconds per hour", 3600, "Source: definition")
analysis.constant("hours_per_day", "hour/day", "Hours per day", 24, "Source: definition")
analysis.constant(
    "tokens_per_trillion",
    "token",
    "Tokens in a trillion",
    1_000_000_000_000,
    """The unit in which training runs are priced.
    Source: DeepSeek-V3 report, arXiv 2412.19437, section 1 (180K device-hours per trillion tokens)""",
)
analysis.constant(
    "relative_tolerance",
    "1",
    "Tolerance of checks",
    1e-9,
    """Two routes to one number may differ by rounding only.
    Source: double precision keeps 15 digits""",
)
analysis.constant(
    "roofline_left_edge",
    "FLOP/byte",
    "Left edge of the roofline chart",
    10,
    "Source: a choice of the chart",
)
analysis.constant(
    "roofline_off_chart",
    "FLOP/byte",
    "Left of the roofline chart",
    0.001,
    """Where operators stand that the model does not have: a logarithmic axis has no 0.
    Source: a choice of the chart""",
)
analysis.constant(
    "roofline_right_edge",
    "FLOP/byte",
    "Right edge of the roofline chart",
    10_000,
    "Source: a choice of the chart",
)
analysis.constant(
    "roofline_label_step",
    "1",
    "Step between labels of the roofline chart",
    1.28,
    "Source: a choice of the chart: fifteen labels within two decades",
)
analysis.constant(
    "softmax_statistic_bytes_per_head",
    "byte/token",
    "Bytes of softmax statistics per query and head",
    4,
    """Fused attention keeps the logarithm of the sum of exponentials in FP32.
    Source: Dao 2023, arXiv 2307.08691, section 3.1""",
)
analysis.constant(
    "dropout_mask_bytes_per_element",
    "byte/token",
    "Bytes per element of a dropout mask",
    1,
    """One byte says whether an element was dropped.
    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.1""",
)
analysis.constant(
    "router_score_bytes_per_expert",
    "byte/token",
    "Bytes per router score",
    4,
    """Scores of experts are computed and kept in FP32.
    Source: DeepSeek-V3 report, arXiv 2412.19437, section 3.3.1 (gating stays in high precision); Megatron-Core""",
)
