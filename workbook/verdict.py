"""Verdict: what the step time means for the run, and what would turn the strategy compute-bound."""

from pyxl.operations import least, most, where
from workbook.model import analysis, quantity

analysis.section("Verdict")
PERCENT = "0.0%"


@quantity("1", "Communication / compute", number_format="0.00")
def communication_compute_ratio(network_time, pipeline_time):
    """Busier network over compute and bubble: above 1 the strategy waits for its network."""
    return network_time / pipeline_time


@quantity("1", "Model FLOPs utilization (MFU)", number_format=PERCENT)
def model_flops_utilization(step_flops, world_size, bf16_peak, step_time):
    """Model FLOPs of the step (causal, no recomputation) over what the BF16 datasheet peak would do in the step time.

    Source: Chowdhery et al. 2022, arXiv 2204.02311, appendix B; DeepSeek divides by the BF16 peak too (arXiv 2505.09343)
    """
    return step_flops / (world_size * bf16_peak * step_time)


@quantity("1", "MFU, full square", number_format=PERCENT)
def model_flops_utilization_full_square(
    step_tokens, training_flops_per_token_full_square, world_size, bf16_peak, step_time
):
    """The same with masked attention entries counted (non-causal)."""
    return step_tokens * training_flops_per_token_full_square / (world_size * bf16_peak * step_time)


@quantity("FLOP/s", "Model FLOP/s per device")
def model_flops_per_second(step_flops, world_size, step_time):
    """Model FLOPs (causal) per device and second."""
    return step_flops / world_size / step_time


@quantity("token/s/device", "Tokens per second and device", number_format="#,##0")
def tokens_per_second_per_device(step_tokens, step_time, devices):
    """Throughput of one device at the speed of light."""
    return step_tokens / step_time / devices


@quantity("device*hour", "Device-hours per trillion tokens", number_format="#,##0")
def device_hours_per_trillion_tokens(tokens_per_trillion, tokens_per_second_per_device, seconds_per_hour):
    """Device-hours that a trillion tokens take (DeepSeek-V3 needed 180 thousand)."""
    return tokens_per_trillion / tokens_per_second_per_device / seconds_per_hour


@quantity("device*hour", "Device-hours of the run", number_format="#,##0")
def training_device_hours(device_hours_per_trillion_tokens, training_tokens, tokens_per_trillion):
    """Device-hours of the whole training run."""
    return device_hours_per_trillion_tokens * (training_tokens / tokens_per_trillion)


@quantity("day", "Days of the run", number_format="#,##0.0")
def training_days(training_device_hours, devices, hours_per_day):
    """Wall-clock days of the whole training run, without interruptions."""
    return training_device_hours / devices / hours_per_day


@quantity("USD", "Cost of the run", number_format="$#,##0")
def training_cost(training_device_hours, device_hour_price):
    """Device-hours times their price."""
    return training_device_hours * device_hour_price


analysis.section("Break-even")
NONE_IF_ZERO = '[=0]"none";#,##0.0'


@quantity("byte/s", "Break-even scale-out bandwidth")
def break_even_scale_out_bandwidth(scale_out_bytes, pipeline_time):
    """Scale-out bandwidth per device at which its traffic takes exactly as long as compute and bubble."""
    return scale_out_bytes / pipeline_time


@quantity("byte", "Scale-out bytes hidden by compute")
def hidden_scale_out_bytes(pipeline_time, scale_out_ceiling):
    """Bytes that the NIC moves while the device computes one step."""
    return pipeline_time * scale_out_ceiling


@quantity("byte", "Scale-out traffic that grows with tokens")
def token_scale_out_bytes(scale_out_bytes, data_parallel_scale_out_bytes):
    """Activations sent between ranks; the rest, weights and gradients, does not depend on the batch."""
    return scale_out_bytes - data_parallel_scale_out_bytes


@quantity("byte", "Hidden bytes left for weights and gradients")
def spare_scale_out_bytes(hidden_scale_out_bytes, token_scale_out_bytes):
    """What the NIC can still move while the device computes, once activations are sent; negative where they alone
    keep it busier than compute.
    """
    return hidden_scale_out_bytes - token_scale_out_bytes


@quantity("token", "Break-even tokens per device", number_format=NONE_IF_ZERO)
def break_even_tokens_per_device(
    spare_scale_out_bytes, tokens_per_device, data_parallel_scale_out_bytes, hidden_scale_out_bytes
):
    """Tokens per device and step at which scale-out takes exactly as long as compute and bubble: more make the
    strategy compute-bound. The batch and the micro-batch grow together, the number of micro-batches stays. None
    where activations alone keep the NIC busier than compute.
    """
    return where(
        spare_scale_out_bytes > 0,
        tokens_per_device
        * data_parallel_scale_out_bytes
        / where(spare_scale_out_bytes > 0, spare_scale_out_bytes, hidden_scale_out_bytes),
        0,
    )


@quantity("byte", "Scale-out traffic that does not shrink with nodes")
def persistent_scale_out_bytes(
    dense_collective_bytes,
    expert_collective_bytes,
    enters_node_once,
    shard_ranks_in_node,
    expert_shard_ranks_in_node,
    shard_scale_out_share,
    expert_shard_scale_out_share,
):
    """Weights and gradients reach every node whole, however many nodes there are; activations per device shrink."""
    return dense_collective_bytes * where(
        shard_scale_out_share > 0, 1 / where(enters_node_once == 1, shard_ranks_in_node, 1), 0
    ) + expert_collective_bytes * where(
        expert_shard_scale_out_share > 0, 1 / where(enters_node_once == 1, expert_shard_ranks_in_node, 1), 0
    )


@quantity("byte", "Hidden bytes left for persistent traffic")
def spare_persistent_bytes(hidden_scale_out_bytes, scale_out_bytes, persistent_scale_out_bytes):
    """What the NIC can still move while the device computes, once the traffic that shrinks with nodes is sent."""
    return hidden_scale_out_bytes - scale_out_bytes + persistent_scale_out_bytes


@quantity("1", "Break-even nodes", number_format=NONE_IF_ZERO)
def break_even_nodes(nodes, spare_persistent_bytes, persistent_scale_out_bytes, hidden_scale_out_bytes):
    """Nodes at which scale-out takes exactly as long as compute and bubble, the batch and the number of micro-batches
    unchanged: fewer make the strategy compute-bound, more make it wait for the network. None where no number does.
    """
    return where(
        least(spare_persistent_bytes, persistent_scale_out_bytes) > 0,
        nodes
        * spare_persistent_bytes
        / where(persistent_scale_out_bytes > 0, persistent_scale_out_bytes, hidden_scale_out_bytes),
        0,
    )


@quantity("text", "Bound by, if scale-out were free")
def bound_without_scale_out(scale_up_time, pipeline_time, hbm_time, device_bound):
    """What binds once scale-out no longer does: "compute" means that the break-even values make the strategy
    compute-bound, another word that they only move the bottleneck there.
    """
    return where(scale_up_time > most(pipeline_time, hbm_time), "scale-up", device_bound)
