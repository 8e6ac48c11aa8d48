"""Verdict: what the step time means for the run, and what would turn the strategy compute-bound."""

from pyxl.operations import least, most, where
from workbook.memory import SIGNED_BYTES
from workbook.model import analysis, quantity

analysis.section("Verdict")
PERCENT = "0.0%"
COST_IF_PRICED = '[=0]"price unknown";$#,##0'
ENERGY_IF_POWERED = '[=0]"power unknown";[>=1000000000]#,##0.00,,," GWh";#,##0.0,," MWh"'


@quantity("1", "Communication / compute", number_format="0.00")
def communication_compute_ratio(network_time, pipeline_time):
    """Busier network over compute and bubble: above 1 the strategy waits for its network."""
    return network_time / pipeline_time


@quantity("1", "Model FLOPs utilization (MFU)", number_format=PERCENT)
def model_flops_utilization(counted_step_flops, world_size, utilization_peak, step_time_lower_bound):
    """FLOPs of the step as the convention counts them (by default causal, no recomputation) over what its peak (by
    default of BF16) would do in the step time.

    Source: Chowdhery et al. 2022, arXiv 2204.02311, appendix B; DeepSeek's own figures, arXiv 2505.09343, Table 4
    """
    return counted_step_flops / (world_size * utilization_peak * step_time_lower_bound)


@quantity("1", "Hardware FLOPs utilization (HFU)", number_format=PERCENT)
def hardware_flops_utilization(
    step_tokens, hardware_flops_per_token, world_size, utilization_peak, step_time_lower_bound
):
    """The same with recomputation counted: how busy the tensor cores are, rather than how much of it is of use.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 6; Chowdhery et al. 2022, arXiv 2204.02311, section 4.1
    """
    return step_tokens * hardware_flops_per_token / (world_size * utilization_peak * step_time_lower_bound)


@quantity("FLOP/s", "Model FLOP/s per device")
def model_flops_per_second(counted_step_flops, world_size, step_time_lower_bound):
    """Counted FLOPs per device and second."""
    return counted_step_flops / world_size / step_time_lower_bound


@quantity("token/s/device", "Tokens per second and device", number_format="#,##0")
def tokens_per_second_per_device(step_tokens, step_time_lower_bound, devices):
    """Throughput of one device at the speed of light."""
    return step_tokens / step_time_lower_bound / devices


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


@quantity("USD", "Cost of the run at the lowest price", number_format=COST_IF_PRICED)
def training_cost_low(training_device_hours, device_price_low):
    """The same at the lowest price of the hardware that was found, whatever the strategy's own is; unknown (0) where
    the sheet Hardware has none.
    """
    return training_device_hours * device_price_low


@quantity("USD", "Cost of the run at the highest price", number_format=COST_IF_PRICED)
def training_cost_high(training_device_hours, device_price_high):
    """The same at the highest price that was found; unknown (0) where the sheet Hardware has none."""
    return training_device_hours * device_price_high


@quantity("W*hour", "Energy of the run at full power", number_format=ENERGY_IF_POWERED)
def training_energy(device_power, world_size, training_days, hours_per_day):
    """Accelerators alone, each at its full power for the days of the run: an upper figure for that time, as a device
    that waits draws less. A run that takes longer than the lower bound takes more; hosts, network and cooling come on
    top. Unknown (0) where the sheet Hardware has no power.
    """
    return device_power * world_size * training_days * hours_per_day


analysis.section("Break-even")
NONE_IF_ZERO = '[=0]"none";#,##0.0'


@quantity("byte/s", "Break-even scale-out bandwidth")
def break_even_scale_out_bandwidth(scale_out_bytes, pod_bytes, oversubscription, pipeline_time):
    """Scale-out bandwidth per device at which its traffic takes exactly as long as compute and bubble, also through the
    links between pods, which are slower by the oversubscription.
    """
    return most(scale_out_bytes, pod_bytes * oversubscription) / pipeline_time


@quantity("byte/s", "Break-even scale-up bandwidth")
def break_even_scale_up_bandwidth(scale_up_bytes, pipeline_time):
    """Scale-up bandwidth per device at which its traffic takes exactly as long as compute and bubble."""
    return scale_up_bytes / pipeline_time


@quantity("byte", "Scale-out bytes hidden by compute")
def hidden_scale_out_bytes(pipeline_time, scale_out_ceiling):
    """Bytes that the NIC moves while the device computes one step."""
    return pipeline_time * scale_out_ceiling


@quantity("byte", "Scale-out traffic that grows with tokens")
def token_scale_out_bytes(scale_out_bytes, data_parallel_scale_out_bytes):
    """Activations sent between ranks; the rest, weights and gradients, does not depend on the batch."""
    return scale_out_bytes - data_parallel_scale_out_bytes


@quantity("byte", "Hidden bytes left for weights and gradients", number_format=SIGNED_BYTES)
def spare_scale_out_bytes(hidden_scale_out_bytes, token_scale_out_bytes):
    """What the NIC can still move while the device computes, once activations are sent; negative where they alone
    keep it busier than compute.
    """
    return hidden_scale_out_bytes - token_scale_out_bytes


@quantity("token", "Break-even tokens per device", number_format=NONE_IF_ZERO)
def break_even_tokens_per_device(spare_scale_out_bytes, tokens_per_device, data_parallel_scale_out_bytes):
    """Tokens per device and step at which scale-out takes exactly as long as compute and bubble: with more, compute
    takes longer. The batch and the micro-batch grow together, the number of micro-batches stays. None (0) where
    activations alone keep the NIC busier than compute. What binds there is said below.
    """
    return where(
        spare_scale_out_bytes > 0, tokens_per_device * data_parallel_scale_out_bytes / spare_scale_out_bytes, 0
    )


@quantity("1", "Break-even tokens / tokens", number_format="0.###")
def tokens_at_break_even(break_even_tokens_per_device, tokens_per_device):
    """How many times as many tokens a device has at break-even; 0 for none."""
    return break_even_tokens_per_device / tokens_per_device


@quantity("1", "Break-even batch", number_format=NONE_IF_ZERO)
def break_even_global_batch_size(global_batch_size, tokens_at_break_even):
    """Sequences per step at which a device has its break-even tokens; none (0) where there are none."""
    return global_batch_size * tokens_at_break_even


@quantity("s", "HBM at break-even tokens")
def hbm_time_at_break_even_tokens(
    weight_hbm_bytes, gradient_hbm_bytes, optimizer_hbm_bytes, activation_hbm_bytes, tokens_at_break_even, hbm_ceiling
):
    """Weights, gradients and states move as before, activations grow with the tokens."""
    return (
        weight_hbm_bytes + gradient_hbm_bytes + optimizer_hbm_bytes + activation_hbm_bytes * tokens_at_break_even
    ) / hbm_ceiling


@quantity("s", "Scale-up at break-even tokens")
def scale_up_time_at_break_even_tokens(
    data_parallel_scale_up_bytes, scale_up_bytes, tokens_at_break_even, scale_up_ceiling
):
    """Weights and gradients are sent as before, activations grow with the tokens."""
    return where(
        scale_up_bytes > 0,
        (data_parallel_scale_up_bytes + (scale_up_bytes - data_parallel_scale_up_bytes) * tokens_at_break_even)
        / scale_up_ceiling,
        0,
    )


@quantity("s", "Between pods at break-even tokens")
def pod_time_at_break_even_tokens(data_parallel_pod_bytes, pod_bytes, tokens_at_break_even, pod_ceiling):
    """Weights and gradients are sent as before, activations grow with the tokens."""
    return where(
        pod_bytes > 0,
        (data_parallel_pod_bytes + (pod_bytes - data_parallel_pod_bytes) * tokens_at_break_even) / pod_ceiling,
        0,
    )


@quantity("text", "Bound by, from break-even tokens")
def bound_at_break_even_tokens(
    tokens_at_break_even,
    hbm_time_at_break_even_tokens,
    scale_up_time_at_break_even_tokens,
    pod_time_at_break_even_tokens,
    pipeline_time,
):
    """What binds with slightly more than the break-even tokens: another word than compute means that there it still
    does not turn compute-bound.
    """
    return where(
        tokens_at_break_even > 0,
        where(
            pod_time_at_break_even_tokens
            > most(
                hbm_time_at_break_even_tokens, scale_up_time_at_break_even_tokens, pipeline_time * tokens_at_break_even
            ),
            "between pods",
            where(
                most(hbm_time_at_break_even_tokens, scale_up_time_at_break_even_tokens)
                > pipeline_time * tokens_at_break_even,
                where(hbm_time_at_break_even_tokens > scale_up_time_at_break_even_tokens, "HBM", "scale-up"),
                "compute",
            ),
        ),
        "none",
    )


@quantity("1", "Pipeline keeps its place")
def pipeline_keeps_place(pipeline_inside_data, pipeline_inside_tensor):
    """1 where a pipeline lies in the same nodes however many there are: not if its stages stand farthest apart."""
    return most(pipeline_inside_data, pipeline_inside_tensor)


@quantity("1", "Copies of a stage in a node, on very many nodes")
def persistent_copies_in_node(pipeline_keeps_place, copies_in_node):
    """Both, if a node holds the whole pipeline however many nodes there are."""
    return where(pipeline_keeps_place == 1, copies_in_node, 1)


@quantity("byte", "Dense weights and gradients, on very many nodes")
def persistent_dense_bytes(dense_collective_bytes, enters_node_once, shard_ranks_per_node, persistent_copies_in_node):
    """What the NIC would bring in of the dense state's tensors if nothing came from the own node: they reach every
    node whole, however many nodes there are.
    """
    return dense_collective_bytes / where(enters_node_once == 1, shard_ranks_per_node * persistent_copies_in_node, 1)


@quantity("byte", "Expert weights and gradients, on very many nodes")
def persistent_expert_bytes(
    expert_collective_bytes, enters_node_once, expert_shard_ranks_per_node, persistent_copies_in_node
):
    """The same of the expert state's tensors."""
    return expert_collective_bytes / where(
        enters_node_once == 1, expert_shard_ranks_per_node * persistent_copies_in_node, 1
    )


@quantity("byte", "Dense weights and gradients from the own node")
def local_dense_bytes(persistent_dense_bytes, shard_ranks_per_node, persistent_copies_in_node, shard_size):
    """The part that the own node spares the NIC, a full node of the shard group: half of it on twice the nodes."""
    return persistent_dense_bytes * shard_ranks_per_node * persistent_copies_in_node / shard_size


@quantity("byte", "Expert weights and gradients from the own node")
def local_expert_bytes(
    persistent_expert_bytes, expert_shard_ranks_per_node, persistent_copies_in_node, expert_shard_size
):
    """The same of the expert state's tensors."""
    return persistent_expert_bytes * expert_shard_ranks_per_node * persistent_copies_in_node / expert_shard_size


@quantity("byte", "Pipeline messages, on very many nodes")
def persistent_pipeline_bytes(pipeline_bytes, pipeline_keeps_place, pipeline_remote_share):
    """What a device of the pipeline sends out, if it is not all inside a node."""
    return pipeline_bytes * where(pipeline_keeps_place == 1, pipeline_remote_share, 1)


@quantity("byte", "Hidden bytes left for weights and gradients, per node", number_format=SIGNED_BYTES)
def spare_persistent_bytes(
    hidden_scale_out_bytes,
    expert_scale_out_bytes,
    tensor_scale_out_bytes,
    expert_tensor_scale_out_bytes,
    context_scale_out_bytes,
    persistent_pipeline_bytes,
    dense_replica_bytes,
    replica_scale_out_share,
    expert_replica_bytes,
    expert_replica_scale_out_share,
):
    """What the NIC can still move while the device computes, once activations and messages between replicas are sent,
    which all shrink with more nodes; negative where those alone keep it busier than compute.
    """
    return (
        hidden_scale_out_bytes
        - expert_scale_out_bytes
        - tensor_scale_out_bytes
        - expert_tensor_scale_out_bytes
        - context_scale_out_bytes
        - persistent_pipeline_bytes
        - dense_replica_bytes * replica_scale_out_share
        - expert_replica_bytes * expert_replica_scale_out_share
    )


@quantity("1", "Nodes / break-even nodes", number_format="0.000")
def nodes_over_break_even(
    spare_persistent_bytes, persistent_dense_bytes, local_dense_bytes, persistent_expert_bytes, local_expert_bytes
):
    """How much fewer nodes make scale-out take exactly as long as compute and bubble: where dense state, expert state,
    or both cross nodes. The largest holds, as a group that fits into a node sends nothing out. 0 where activations
    alone keep the NIC busier than compute.
    """
    return where(
        spare_persistent_bytes > 0,
        most(
            persistent_dense_bytes / (spare_persistent_bytes + local_dense_bytes),
            persistent_expert_bytes / (spare_persistent_bytes + local_expert_bytes),
            (persistent_dense_bytes + persistent_expert_bytes)
            / (spare_persistent_bytes + local_dense_bytes + local_expert_bytes),
        ),
        0,
    )


@quantity("1", "Nodes of the smaller shard group", number_format="0.###")
def shard_group_nodes(
    shard_size, parameter_copies, shard_ranks_per_node, expert_shard_size, expert_shard_ranks_per_node
):
    """Of one copy of a stage. Below 1 where replicas share a node."""
    return least(shard_size / shard_ranks_per_node, expert_shard_size / expert_shard_ranks_per_node) / parameter_copies


@quantity("1", "Shard groups at break-even", number_format="0.###")
def break_even_shard_groups(
    data_parallel_replicas, shard_group_nodes, nodes_over_break_even, shard_size, expert_shard_size, parameter_copies
):
    """At least 1 where the shard groups still stand at the break-even nodes: each needs a rank, and with replicas a
    whole node, now and then.
    """
    return where(
        data_parallel_replicas > 1,
        shard_group_nodes / most(1, nodes_over_break_even),
        where(
            nodes_over_break_even > 0,
            least(shard_size, expert_shard_size) / parameter_copies / nodes_over_break_even,
            0,
        ),
    )


@quantity("1", "Break-even nodes exist")
def break_even_nodes_exist(nodes_over_break_even, break_even_shard_groups):
    """1 unless activations alone keep the NIC busier than compute, or so few nodes are too small for the degrees of
    parallelism.
    """
    return where(nodes_over_break_even > 0, where(break_even_shard_groups >= 1, 1, 0), 0)


@quantity("1", "Break-even nodes", number_format=NONE_IF_ZERO)
def break_even_nodes(break_even_nodes_exist, nodes, nodes_over_break_even):
    """Nodes at which scale-out takes exactly as long as compute and bubble: with fewer, compute takes longer. The batch
    and the number of micro-batches stay, so the micro-batch shrinks as nodes are added and need not be whole. None
    (0) where no number does. What binds there is said below.
    """
    return where(break_even_nodes_exist == 1, nodes / nodes_over_break_even, 0)


@quantity("s", "HBM at break-even nodes")
def hbm_time_at_break_even_nodes(
    weight_hbm_bytes,
    gradient_hbm_bytes,
    optimizer_hbm_bytes,
    shards_optimizer,
    activation_hbm_bytes,
    nodes_over_break_even,
    hbm_ceiling,
):
    """Weights and gradients move as before; activations, and states where they are sharded, shrink with more nodes."""
    return (
        weight_hbm_bytes
        + gradient_hbm_bytes
        + optimizer_hbm_bytes * where(shards_optimizer == 1, nodes_over_break_even, 1)
        + activation_hbm_bytes * nodes_over_break_even
    ) / hbm_ceiling


@quantity("s", "Scale-up at break-even nodes")
def scale_up_time_at_break_even_nodes(
    data_parallel_scale_up_bytes, enters_node_once, scale_up_bytes, nodes_over_break_even, scale_up_ceiling
):
    """Activations shrink with more nodes, and in the flat model so does the part of weights that the own node has."""
    return where(
        scale_up_bytes > 0,
        (
            data_parallel_scale_up_bytes * where(enters_node_once == 1, 1, nodes_over_break_even)
            + (scale_up_bytes - data_parallel_scale_up_bytes) * nodes_over_break_even
        )
        / scale_up_ceiling,
        0,
    )


@quantity("text", "Bound by, from break-even nodes")
def bound_at_break_even_nodes(
    break_even_nodes_exist,
    hbm_time_at_break_even_nodes,
    scale_up_time_at_break_even_nodes,
    pipeline_time,
    nodes_over_break_even,
):
    """What binds with slightly fewer than the break-even nodes."""
    return where(
        break_even_nodes_exist == 1,
        where(
            most(hbm_time_at_break_even_nodes, scale_up_time_at_break_even_nodes)
            > pipeline_time * nodes_over_break_even,
            where(hbm_time_at_break_even_nodes > scale_up_time_at_break_even_nodes, "HBM", "scale-up"),
            "compute",
        ),
        "none",
    )


@quantity("text", "Bound by, if scale-out were free")
def bound_without_scale_out(scale_up_time, pipeline_time, hbm_time, device_bound):
    """What binds once scale-out no longer does, with this batch on these nodes: "compute" means that the break-even
    bandwidth makes the strategy compute-bound, another word that it only moves the bottleneck there.
    """
    return where(scale_up_time > most(pipeline_time, hbm_time), "scale-up", device_bound)
