"""Times: what each resource needs for a step, and the two bounds that follow.

The lower bound is one: each term is work that some device must do on some resource at the rate of its ceiling, or an
order of work that the schedule prescribes. What an implementation might save is not in it: every time below counts
only what the strategy cannot do without.
"""

from pyxl.operations import least, most, where
from workbook.devices import device_quantity
from workbook.model import analysis, quantity

analysis.section("Ceilings")


@quantity("FLOP/s", "BF16 ceiling")
def bf16_ceiling(uses_measured, bf16_measured, bf16_peak, communication_sm_share):
    """Rate that BF16 matrix multiplications are taken to run at, on the compute units that communication leaves."""
    return where(uses_measured == 1, bf16_measured, bf16_peak) * (1 - communication_sm_share)


@quantity("FLOP/s", "FP8 ceiling")
def fp8_ceiling(uses_measured, fp8_measured, fp8_peak, communication_sm_share):
    """Rate that FP8 matrix multiplications are taken to run at."""
    return where(uses_measured == 1, fp8_measured, fp8_peak) * (1 - communication_sm_share)


@quantity("FLOP/s", "FP4 ceiling")
def fp4_ceiling(uses_measured, fp4_measured, fp4_peak, communication_sm_share):
    """Rate that FP4 matrix multiplications are taken to run at."""
    return where(uses_measured == 1, fp4_measured, fp4_peak) * (1 - communication_sm_share)


@quantity("FLOP/s", "Ceiling of attention projections")
def attention_linear_ceiling(attention_linear_level, fp4_ceiling, fp8_ceiling, bf16_ceiling):
    """Rate of the linear layers of attention under the precision recipe."""
    return where(
        attention_linear_level == 2, fp4_ceiling, where(attention_linear_level == 1, fp8_ceiling, bf16_ceiling)
    )


@quantity("FLOP/s", "Ceiling of MLPs and experts")
def mlp_linear_ceiling(mlp_linear_level, fp4_ceiling, fp8_ceiling, bf16_ceiling):
    """Rate of MLPs and experts under the precision recipe."""
    return where(mlp_linear_level == 2, fp4_ceiling, where(mlp_linear_level == 1, fp8_ceiling, bf16_ceiling))


@quantity("FLOP/s", "Ceiling of the attention core")
def attention_core_ceiling(attention_core_level, fp4_ceiling, fp8_ceiling, bf16_ceiling):
    """Rate of scores and values under the precision recipe."""
    return where(attention_core_level == 2, fp4_ceiling, where(attention_core_level == 1, fp8_ceiling, bf16_ceiling))


@quantity("FLOP/s", "Ceiling of the output head")
def head_ceiling(head_level, fp4_ceiling, fp8_ceiling, bf16_ceiling):
    """Rate of the output head under the precision recipe."""
    return where(head_level == 2, fp4_ceiling, where(head_level == 1, fp8_ceiling, bf16_ceiling))


@quantity("byte/s", "HBM ceiling")
def hbm_ceiling(uses_measured, hbm_measured, hbm_peak):
    """Rate of device memory."""
    return where(uses_measured == 1, hbm_measured, hbm_peak)


@quantity("byte/s", "Scale-up ceiling")
def scale_up_ceiling(uses_measured, scale_up_measured, scale_up_peak):
    """Rate of the scale-up network per device and direction."""
    return where(uses_measured == 1, scale_up_measured, scale_up_peak)


@quantity("byte/s", "Scale-out ceiling")
def scale_out_ceiling(uses_measured, scale_out_measured, scale_out_peak, nics_per_device):
    """Rate of a device's part of its node's NICs, in one direction; one NIC where nothing else is said."""
    return where(uses_measured == 1, scale_out_measured, scale_out_peak) * where(
        nics_per_device > 0, nics_per_device, 1
    )


@quantity("byte/s", "Ceiling between pods")
def pod_ceiling(scale_out_ceiling, oversubscription):
    """Rate of a device's part of the links into its pod."""
    return scale_out_ceiling / oversubscription


analysis.section("Times")


@quantity("s/token", "Layers, forward, one token")
def layers_forward_time_per_token(
    attention_linear_forward_flops_per_token,
    attention_linear_ceiling,
    mlp_linear_forward_flops_per_token,
    mlp_linear_ceiling,
    attention_forward_flops_per_token,
    attention_core_ceiling,
    router_forward_flops_per_token,
    bf16_ceiling,
):
    """Forward pass of one token through all layers, each matrix multiplication at the ceiling of its precision."""
    return (
        attention_linear_forward_flops_per_token / attention_linear_ceiling
        + mlp_linear_forward_flops_per_token / mlp_linear_ceiling
        + attention_forward_flops_per_token / attention_core_ceiling
        + router_forward_flops_per_token / bf16_ceiling
    )


@quantity("s/token", "Output head, forward, one token")
def head_forward_time_per_token(head_forward_flops_per_token, head_ceiling):
    """Forward pass of one token through the output head."""
    return head_forward_flops_per_token / head_ceiling


@quantity("s", "Forward compute per step")
def forward_time(tokens_per_device, layers_forward_time_per_token, head_forward_time_per_token):
    """Matrix multiplications of all forward passes, spread evenly over the devices."""
    return tokens_per_device * (layers_forward_time_per_token + head_forward_time_per_token)


@quantity("s", "Compute")
def compute_time(
    tokens_per_device,
    attention_linear_flops_per_token,
    attention_linear_ceiling,
    mlp_linear_flops_per_token,
    mlp_linear_ceiling,
    attention_core_flops_per_token,
    attention_core_ceiling,
    head_flops_per_token,
    head_ceiling,
    router_flops_per_token,
    bf16_ceiling,
):
    """All matrix multiplications of a step, recomputation included, each at the ceiling of its precision.

    A bound: the cluster must execute these FLOPs, on average a device executes this many, and some device executes no
    fewer than the average. Recomputation counts whole modules, as the strategy says; an implementation that stops
    before a module's last matrix, whose result nobody needs, saves that.
    """
    return tokens_per_device * (
        attention_linear_flops_per_token / attention_linear_ceiling
        + mlp_linear_flops_per_token / mlp_linear_ceiling
        + attention_core_flops_per_token / attention_core_ceiling
        + head_flops_per_token / head_ceiling
        + router_flops_per_token / bf16_ceiling
    )


@quantity("s", "Dense layer, forward, one micro-batch")
def dense_layer_forward_time(
    rank_microbatch_tokens,
    flops_per_multiply_add,
    attention_linear_parameters,
    attention_linear_ceiling,
    dense_mlp_linear_parameters,
    mlp_linear_ceiling,
    attention_forward_flops_per_token,
    num_hidden_layers,
    num_prediction_layers,
    attention_core_ceiling,
):
    """Compute of a rank in one dense layer; the attention core is an average over layers with and without window."""
    return rank_microbatch_tokens * (
        flops_per_multiply_add
        * (attention_linear_parameters / attention_linear_ceiling + dense_mlp_linear_parameters / mlp_linear_ceiling)
        + attention_forward_flops_per_token / (num_hidden_layers + num_prediction_layers) / attention_core_ceiling
    )


@quantity("s", "MoE layer, forward, one micro-batch")
def moe_layer_forward_time(
    dense_layer_forward_time,
    rank_microbatch_tokens,
    flops_per_multiply_add,
    num_experts_per_tok,
    expert_linear_parameters,
    shared_expert_parameters,
    dense_mlp_linear_parameters,
    mlp_linear_ceiling,
    router_linear_parameters,
    bf16_ceiling,
):
    """As a dense layer, with experts and router in place of the dense MLP."""
    return dense_layer_forward_time + rank_microbatch_tokens * flops_per_multiply_add * (
        (num_experts_per_tok * expert_linear_parameters + shared_expert_parameters - dense_mlp_linear_parameters)
        / mlp_linear_ceiling
        + router_linear_parameters / bf16_ceiling
    )


@quantity("s", "Output head, forward, one micro-batch")
def head_forward_time(
    rank_microbatch_tokens,
    head_forward_time_per_token,
    flops_per_multiply_add,
    num_prediction_layers,
    hidden_size,
    mlp_linear_ceiling,
):
    """Compute of a rank in the output head; with prediction layers in theirs, and in their projections."""
    return rank_microbatch_tokens * (
        head_forward_time_per_token
        + flops_per_multiply_add * num_prediction_layers * 2 * hidden_size**2 / mlp_linear_ceiling
    )


@device_quantity("s", "forward, one micro-batch")
def forward_pass(
    dense_layers,
    dense_layer_forward_time,
    moe_layers,
    moe_layer_forward_time,
    heads,
    head_forward_time,
    parameter_copies,
):
    """Compute of the device's chunks; where it holds two copies a micro-batch passes one of them."""
    return (
        dense_layers * dense_layer_forward_time + moe_layers * moe_layer_forward_time + heads * head_forward_time
    ) / parameter_copies


@quantity("s", "Busiest device: compute")
def busiest_device_compute_time(
    rounds_layers,
    num_microbatches,
    backward_forward_ratio,
    first_device_forward_pass,
    mixed_device_forward_pass,
    middle_device_forward_pass,
    last_device_forward_pass,
):
    """Forward and backward passes of the device with most work, all micro-batches. 0 where the layout is taken to be
    even, as then there is none. What is recomputed is left out.

    A bound: this device executes these FLOPs, one after the other.
    """
    return (
        rounds_layers
        * num_microbatches
        * (1 + backward_forward_ratio)
        * most(
            first_device_forward_pass, mixed_device_forward_pass, middle_device_forward_pass, last_device_forward_pass
        )
    )


@quantity("s", "HBM")
def hbm_time(hbm_bytes, hbm_ceiling):
    """Device memory traffic of a step.

    A bound: weights, gradients, states and kept activations are larger than any cache, so each must pass the memory as
    often as it is counted, the fewest times that the strategy allows.
    """
    return hbm_bytes / hbm_ceiling


@quantity("s", "Scale-up")
def scale_up_time(scale_up_bytes, scale_up_ceiling):
    """Scale-up (NVLink) traffic of a step.

    A bound under the bandwidth model: a rank lacks these bytes, and they reach it through its own scale-up port.
    """
    return where(scale_up_bytes > 0, scale_up_bytes / scale_up_ceiling, 0)


@quantity("s", "Scale-out")
def scale_out_time(scale_out_bytes, scale_out_ceiling):
    """Scale-out (InfiniBand) traffic of a step.

    A bound under the bandwidth model: a rank, or with the hierarchical model its node, lacks these bytes, and they
    enter through its own NICs. The flat model is a choice of algorithm: rings that enter each node once do with less.
    """
    return where(scale_out_bytes > 0, scale_out_bytes / scale_out_ceiling, 0)


@quantity("s", "Between pods")
def pod_time(pod_bytes, pod_ceiling):
    """Traffic of a step through the links into a pod.

    A bound under the bandwidth model: a pod lacks these bytes, and they enter through its own links.
    """
    return where(pod_bytes > 0, pod_bytes / pod_ceiling, 0)


@quantity("s", "Forward pass of a micro-batch (F)")
def forward_pass_time(forward_time, num_microbatches):
    """Compute of one micro-batch's forward pass on its stage."""
    return forward_time / num_microbatches


@quantity("s", "Backward pass of a micro-batch (B)")
def backward_pass_time(backward_forward_ratio, forward_pass_time):
    """Compute of one micro-batch's full backward pass on its stage. Recomputation is left out: it needs no gradient and
    may be done while waiting for one.

    Source: Athlur et al. 2022 (Varuna), arXiv 2111.04007 (recomputation is a task of its own)
    """
    return backward_forward_ratio * forward_pass_time


@quantity("s", "Attention core of a micro-batch, forward")
def attention_core_pass_time(
    tokens_per_device, attention_forward_flops_per_token, attention_core_ceiling, num_microbatches
):
    """Scores and values of one micro-batch's forward pass on its stage."""
    return tokens_per_device * attention_forward_flops_per_token / attention_core_ceiling / num_microbatches


@quantity("s", "Weight gradient of a micro-batch (W)")
def weight_gradient_time(weight_gradient_forward_ratio, forward_pass_time, attention_core_pass_time):
    """The part of a backward pass that only yields weight gradients and may be put off: scores and values have none.

    Source: Qi et al. 2023, arXiv 2401.10241, Table 1 (F, B and W: 24 h + 4 s, 24 h + 8 s and 24 h per element)
    """
    return weight_gradient_forward_ratio * (forward_pass_time - attention_core_pass_time)


@quantity("s", "Idle per slot of the bubble")
def bubble_slot_time(
    bubble_forward,
    bubble_overlapped,
    forward_pass_time,
    bubble_backward,
    backward_pass_time,
    bubble_weight_gradient,
    weight_gradient_time,
    virtual_stages,
):
    """What one slot leaves idle, in terms of the passes of a chunk; a forward and a backward pass run together (F&B)
    take as long as one after the other. Never below 0: weight gradients cannot fill more than there is.
    """
    return (
        most(
            0,
            (bubble_forward + bubble_overlapped) * forward_pass_time
            + (bubble_backward + bubble_overlapped) * backward_pass_time
            + bubble_weight_gradient * weight_gradient_time,
        )
        / virtual_stages
    )


@quantity("s", "Bubble")
def bubble_time(pipeline_parallel_size, bubble_stage_divisor, bubble_slot_time):
    """Idle compute of the pipeline: slots times what each leaves idle, with stages of equal work.

    A bound for the schedule: the order of passes that it prescribes leaves the last device idle until the first
    micro-batch has reached it, and the first device until the last gradient has come back.
    Source: DeepSeek-V3 report, arXiv 2412.19437, Table 2; DualPipe README; Narayanan et al. 2021, arXiv 2104.04473
    """
    return (pipeline_parallel_size / bubble_stage_divisor - 1) * bubble_slot_time


@quantity("s", "Compute and bubble")
def pipeline_time(compute_time, bubble_time, busiest_device_compute_time, relative_tolerance):
    """How long the tensor cores are taken: while a stage waits in the bubble, no other work can use them. At least as
    long as the device with most work computes, whose own waiting is left out; where both are equal but for rounding,
    the former counts.
    """
    return where(
        busiest_device_compute_time > (compute_time + bubble_time) * (1 + relative_tolerance),
        busiest_device_compute_time,
        compute_time + bubble_time,
    )


@quantity("s", "Slower network")
def network_time(scale_out_time, scale_up_time, pod_time):
    """The busiest of the networks."""
    return most(scale_out_time, scale_up_time, pod_time)


@quantity("s", "Step time, lower bound")
def step_time_lower_bound(pipeline_time, compute_time, bubble_time, pipeline_traversal_latency, hbm_time, network_time):
    """The speed of light: every resource works at its ceiling and all overlap, so the busiest one sets the time, with
    the bubble and the way through the pipeline that no schedule of this kind can hide.

    A bound: no device moves its bytes or executes its FLOPs faster than its ceilings, whatever overlaps.
    """
    return most(pipeline_time, compute_time + bubble_time + pipeline_traversal_latency, hbm_time, network_time)


@quantity("s", "Optimizer step")
def optimizer_time(optimizer_hbm_bytes, hbm_ceiling):
    """Reads and writes of the optimizer's states; part of the HBM time, as it may overlap with other work."""
    return optimizer_hbm_bytes / hbm_ceiling


@quantity("1", "Data parallel bytes once per step")
def step_collective_share(
    weight_gathers_per_step,
    weight_gather_bytes,
    gradient_reductions_per_step,
    gradient_gathers_per_step,
    gradient_reduce_bytes,
    weight_gathers,
    gradient_collectives,
):
    """Part of the weights and gradients sent that comes before or behind all micro-batches, not with each of them."""
    return least(
        1,
        (
            weight_gathers_per_step * weight_gather_bytes
            + (gradient_reductions_per_step + gradient_gathers_per_step) * gradient_reduce_bytes
        )
        / (weight_gathers * weight_gather_bytes + gradient_collectives * gradient_reduce_bytes),
    )


@quantity("s", "Scale-out of data parallel collectives once per step")
def step_scale_out_time(step_collective_share, data_parallel_scale_out_bytes, scale_out_ceiling):
    """Gathers and reductions before and behind all micro-batches, through the NICs."""
    return step_collective_share * where(
        data_parallel_scale_out_bytes > 0, data_parallel_scale_out_bytes / scale_out_ceiling, 0
    )


@quantity("s", "Data parallel collectives once per step, between pods")
def step_pod_time(step_collective_share, data_parallel_pod_bytes, pod_ceiling):
    """The same through the links between pods."""
    return step_collective_share * where(data_parallel_pod_bytes > 0, data_parallel_pod_bytes / pod_ceiling, 0)


@quantity("s", "Scale-up and latency of data parallel collectives once per step")
def step_scale_up_time(step_collective_share, data_parallel_scale_up_bytes, scale_up_ceiling, data_parallel_latency):
    """The same over the scale-up network, and the latency of all their hops."""
    return step_collective_share * (
        where(data_parallel_scale_up_bytes > 0, data_parallel_scale_up_bytes / scale_up_ceiling, 0)
        + data_parallel_latency
    )


@quantity("s", "Data parallel collectives once per step")
def step_collective_time(step_scale_out_time, step_pod_time, step_scale_up_time):
    """Gathers and reductions before and behind all micro-batches, no overlap; bytes between pods pass NICs and links
    between pods at once.
    """
    return most(step_scale_out_time, step_pod_time) + step_scale_up_time


@quantity("s", "HBM, networks and latency, no overlap")
def exposed_time(
    hbm_time,
    optimizer_time,
    scale_up_time,
    latency_time,
    step_scale_up_time,
    scale_out_time,
    step_scale_out_time,
    pod_time,
    step_pod_time,
):
    """What the passes of all micro-batches take besides compute if nothing overlaps."""
    return (
        hbm_time
        - optimizer_time
        + scale_up_time
        + latency_time
        - step_scale_up_time
        + most(scale_out_time - step_scale_out_time, pod_time - step_pod_time)
    )


@quantity("s", "Passes of all micro-batches, no overlap")
def serial_pass_time(compute_time, busiest_device_compute_time, exposed_time):
    """Compute, HBM, networks and latency one after the other, without what comes once per step."""
    return most(compute_time, busiest_device_compute_time) + exposed_time


@quantity("1", "Slots of the bubble per micro-batch", number_format="0.000")
def bubble_slots_per_microbatch(pipeline_parallel_size, bubble_stage_divisor, virtual_stages, num_microbatches):
    """How many times longer the passes of all micro-batches take where each slot idles as long as one of them."""
    return (pipeline_parallel_size / bubble_stage_divisor - 1) / (virtual_stages * num_microbatches)


@quantity("s", "Step time, upper bound")
def step_time_upper_bound(
    serial_pass_time,
    bubble_time,
    bubble_slots_per_microbatch,
    exposed_time,
    compute_time,
    backward_forward_ratio,
    forward_time,
    step_collective_time,
    optimizer_time,
):
    """The other extreme: nothing overlaps. One resource works after the other at its ceiling, the slots of the bubble
    wait for all of them, recomputation included, and the optimizer comes last. Kernels below the ceilings make real
    steps longer still.
    """
    return (
        serial_pass_time
        + bubble_time
        + bubble_slots_per_microbatch * (exposed_time + compute_time - (1 + backward_forward_ratio) * forward_time)
        + step_collective_time
        + optimizer_time
    )


@quantity("text", "Slower network's name")
def network_bound(pod_time, scale_up_time, scale_out_time):
    """Which network is busiest."""
    return where(
        pod_time > most(scale_up_time, scale_out_time),
        "between pods",
        where(scale_out_time >= scale_up_time, "scale-out", "scale-up"),
    )


@quantity("text", "Busier engine's name")
def device_bound(pipeline_time, hbm_time):
    """Whether the tensor cores or the memory of a device are busier."""
    return where(pipeline_time >= hbm_time, "compute", "HBM")


@quantity("text", "Bound by")
def bound(pipeline_time, hbm_time, network_time, device_bound, network_bound):
    """The resource that sets the lower bound."""
    return where(most(pipeline_time, hbm_time) >= network_time, device_bound, network_bound)
