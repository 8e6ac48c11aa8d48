"""Times: what each resource needs for a step, and the step time that follows.

Work is spread evenly over the devices, so each time is the least that the resource can take.
"""

from pyxl.operations import most, where
from workbook.model import analysis, quantity

analysis.section("Ceilings")


@quantity("FLOP/s", "BF16 ceiling")
def bf16_ceiling(uses_measured, bf16_measured, bf16_peak):
    """Rate that BF16 matrix multiplications are taken to run at."""
    return where(uses_measured == 1, bf16_measured, bf16_peak)


@quantity("FLOP/s", "FP8 ceiling")
def fp8_ceiling(uses_measured, fp8_measured, fp8_peak):
    """Rate that FP8 matrix multiplications are taken to run at."""
    return where(uses_measured == 1, fp8_measured, fp8_peak)


@quantity("FLOP/s", "Linear ceiling")
def linear_ceiling(linear_in_fp8, fp8_ceiling, bf16_ceiling):
    """Rate of the linear layers under the precision recipe."""
    return where(linear_in_fp8 == 1, fp8_ceiling, bf16_ceiling)


@quantity("byte/s", "HBM ceiling")
def hbm_ceiling(uses_measured, hbm_measured, hbm_peak):
    """Rate of device memory."""
    return where(uses_measured == 1, hbm_measured, hbm_peak)


@quantity("byte/s", "Scale-up ceiling")
def scale_up_ceiling(uses_measured, scale_up_measured, scale_up_peak):
    """Rate of the scale-up network per device and direction."""
    return where(uses_measured == 1, scale_up_measured, scale_up_peak)


@quantity("byte/s", "Scale-out ceiling")
def scale_out_ceiling(uses_measured, scale_out_measured, scale_out_peak):
    """Rate of the NIC per device and direction."""
    return where(uses_measured == 1, scale_out_measured, scale_out_peak)


analysis.section("Times")


@quantity("s", "Forward compute per step")
def forward_time(
    tokens_per_device,
    low_precision_forward_flops_per_token,
    linear_ceiling,
    high_precision_forward_flops_per_token,
    attention_forward_flops_per_token,
    bf16_ceiling,
):
    """Matrix multiplications of all forward passes, each at the ceiling of its precision."""
    return tokens_per_device * (
        low_precision_forward_flops_per_token / linear_ceiling
        + (high_precision_forward_flops_per_token + attention_forward_flops_per_token) / bf16_ceiling
    )


@quantity("s", "Compute")
def compute_time(
    tokens_per_device, low_precision_flops_per_token, linear_ceiling, high_precision_flops_per_token, bf16_ceiling
):
    """All matrix multiplications of a step, recomputation included, each at the ceiling of its precision.

    No schedule is faster: the devices' tensor cores cannot execute these FLOPs in less.
    """
    return tokens_per_device * (
        low_precision_flops_per_token / linear_ceiling + high_precision_flops_per_token / bf16_ceiling
    )


@quantity("s", "HBM")
def hbm_time(hbm_bytes, hbm_ceiling):
    """Device memory traffic of a step."""
    return hbm_bytes / hbm_ceiling


@quantity("s", "Scale-up")
def scale_up_time(scale_up_bytes, scale_up_ceiling):
    """Scale-up (NVLink) traffic of a step."""
    return scale_up_bytes / scale_up_ceiling


@quantity("s", "Scale-out")
def scale_out_time(scale_out_bytes, scale_out_ceiling):
    """Scale-out (InfiniBand) traffic of a step."""
    return scale_out_bytes / scale_out_ceiling


@quantity("s", "Forward pass of a micro-batch (F)")
def forward_pass_time(forward_time, num_microbatches):
    """Compute of one micro-batch's forward pass on its stage."""
    return forward_time / num_microbatches


@quantity("s", "Backward pass of a micro-batch (B)")
def backward_pass_time(compute_time, forward_time, num_microbatches):
    """Compute of one micro-batch's full backward pass on its stage, recomputation included."""
    return (compute_time - forward_time) / num_microbatches


@quantity("s", "Weight gradient of a micro-batch (W)")
def weight_gradient_time(weight_gradient_forward_ratio, forward_pass_time):
    """The part of a backward pass that only yields weight gradients and may be put off."""
    return weight_gradient_forward_ratio * forward_pass_time


@quantity("s", "Bubble")
def bubble_time(
    pipeline_parallel_size,
    bubble_stage_divisor,
    bubble_forward,
    forward_pass_time,
    bubble_backward,
    backward_pass_time,
    bubble_weight_gradient,
    weight_gradient_time,
    bubble_overlapped,
):
    """Idle compute of the pipeline: slots times what each leaves idle; a forward and a backward pass run together take
    as long as one after the other.

    Source: DeepSeek-V3 report, arXiv 2412.19437, Table 2; DualPipe README
    """
    return (pipeline_parallel_size / bubble_stage_divisor - 1) * (
        (bubble_forward + bubble_overlapped) * forward_pass_time
        + (bubble_backward + bubble_overlapped) * backward_pass_time
        + bubble_weight_gradient * weight_gradient_time
    )


@quantity("s", "Compute and bubble")
def pipeline_time(compute_time, bubble_time):
    """How long the tensor cores are taken: while a stage waits in the bubble, no other work can use them."""
    return compute_time + bubble_time


@quantity("s", "Slower network")
def network_time(scale_up_time, scale_out_time):
    """The busier of the two networks."""
    return most(scale_up_time, scale_out_time)


@quantity("s", "Step time, lower bound")
def step_time_lower_bound(pipeline_time, hbm_time, network_time):
    """The speed of light: every resource works at its ceiling and all overlap, so the busiest one sets the time."""
    return most(pipeline_time, hbm_time, network_time)


@quantity("s", "Step time, upper bound")
def step_time_upper_bound(pipeline_time, hbm_time, scale_up_time, scale_out_time):
    """The other extreme: one resource after the other."""
    return pipeline_time + hbm_time + scale_up_time + scale_out_time


@quantity("text", "Slower network's name")
def network_bound(scale_out_time, scale_up_time):
    """Which network is busier."""
    return where(scale_out_time >= scale_up_time, "scale-out", "scale-up")


@quantity("text", "Busier engine's name")
def device_bound(pipeline_time, hbm_time):
    """Whether the tensor cores or the memory of a device are busier."""
    return where(pipeline_time >= hbm_time, "compute", "HBM")


@quantity("text", "Bound by")
def bound(pipeline_time, hbm_time, network_time, device_bound, network_bound):
    """The resource that sets the step time under perfect overlap."""
    return where(most(pipeline_time, hbm_time) >= network_time, device_bound, network_bound)
