"""Collectives: every message of a step by group and link, for one rank, of one strategy.

A second route to the traffic of the analysis, which adds collectives up: the sheet Checks compares the totals. A row is
one kind of collective: `count` of them per step, each over a full tensor of the group, of which the shares say how much
a rank gets through each network. Shares of experts are copies: a token may be sent several times.
"""

from typing import Any

from pyxl.operations import Symbol, most, where
from pyxl.rows import RowModel
from workbook.analysis import analysis
from workbook.parallelism import GROUPS

collectives = RowModel(analysis)
collectives.section("Collectives")

collectives.input("operation", "text", "Operation", None, "What the ranks do together.")
collectives.input("group_size", "1", "Group size", None, "Ranks that take part.")
collectives.input("group_ranks_in_node", "1", "Of them in a node", None, "Ranks of the group that share a node.")
collectives.input(
    "tensor", "byte", "Full tensor", None, "Bytes of one collective, whole; of experts: of one copy each."
)
collectives.input("count", "1", "Times per step", None, "Collectives of this kind that a rank takes part in per step.")
collectives.input("scale_out_share", "1", "Scale-out share", None, "Part of the tensor that reaches a rank's NIC.")
collectives.input("scale_up_share", "1", "Scale-up share", None, "Part that reaches a rank by the scale-up network.")
collectives.input("pod_share", "1", "Share between pods", None, "Part that reaches a rank from other pods.")
collectives.input("latency", "s", "Latency, once", None, "Hops of one collective, one after the other.")


@collectives.quantity("text", "Algorithm")
def algorithm(group_size, enters_node_once, reduces_in_network):
    """How the ranks do it: the bandwidth model of the strategy, where there is a group at all."""
    return where(
        group_size > 1,
        where(
            enters_node_once == 1, where(reduces_in_network == 1, "hierarchical, switches add", "hierarchical"), "flat"
        ),
        "none",
    )


@collectives.quantity("byte", "Scale-out, once")
def scale_out_once(tensor, scale_out_share):
    """Bytes of one collective through a rank's NIC."""
    return tensor * scale_out_share


@collectives.quantity("byte", "Scale-up, once")
def scale_up_once(tensor, scale_up_share):
    """Bytes of one collective through a rank's scale-up port."""
    return tensor * scale_up_share


@collectives.quantity("byte", "Scale-out, per step")
def scale_out_total(count, scale_out_once):
    """Bytes of all of them through a rank's NIC."""
    return count * scale_out_once


@collectives.quantity("byte", "Scale-up, per step")
def scale_up_total(count, scale_up_once):
    """Bytes of all of them through a rank's scale-up port."""
    return count * scale_up_once


@collectives.quantity("byte", "Between pods, per step")
def pod_total(count, tensor, pod_share):
    """Bytes of all of them from other pods."""
    return count * tensor * pod_share


@collectives.quantity("s", "Scale-out time")
def scale_out_link_time(scale_out_total, scale_out_ceiling):
    """Time of the NIC."""
    return where(scale_out_total > 0, scale_out_total / scale_out_ceiling, 0)


@collectives.quantity("s", "Scale-up time")
def scale_up_link_time(scale_up_total, scale_up_ceiling):
    """Time of the scale-up port."""
    return where(scale_up_total > 0, scale_up_total / scale_up_ceiling, 0)


@collectives.quantity("s", "Time between pods")
def pod_link_time(pod_total, pod_ceiling):
    """Time of a rank's part of the links between pods."""
    return where(pod_total > 0, pod_total / pod_ceiling, 0)


@collectives.quantity("s", "Latency, per step")
def latency_total(count, latency):
    """Hops of all of them."""
    return count * latency


def shard_latency(layers_per_device, shard_collective_latency):
    return layers_per_device * shard_collective_latency


def expert_shard_latency(layers_per_device, num_moe_layers, num_hidden_layers, expert_shard_collective_latency):
    return layers_per_device * num_moe_layers / num_hidden_layers * expert_shard_collective_latency


def replica_latency(layers_per_device, replica_collective_latency):
    return layers_per_device * replica_collective_latency


def expert_replica_latency(layers_per_device, num_moe_layers, num_hidden_layers, expert_replica_collective_latency):
    return layers_per_device * num_moe_layers / num_hidden_layers * expert_replica_collective_latency


def gradient_reductions(gradient_reductions_per_step, gradient_reductions_per_microbatch, microbatches_per_copy):
    return gradient_reductions_per_step + gradient_reductions_per_microbatch * microbatches_per_copy


def gradient_gathers(gradient_gathers_per_step, reduces_in_network):
    return gradient_gathers_per_step * (1 - reduces_in_network)


# Where switches add up, gathers only receive and reductions only send: those of the direction with less to do take no
# time of their own, which a full tensor of 0 stands for.
def gathered(reduces_in_network: Any, tensor: Any, gathers: Any, reductions: Any) -> Any:
    return where(reduces_in_network == 1, where(gathers > reductions, tensor, 0), tensor)


def reduced(reduces_in_network: Any, tensor: Any, gathers: Any, reductions: Any) -> Any:
    return where(reduces_in_network == 1, where(gathers > reductions, 0, tensor), tensor)


def dense_gathered(reduces_in_network, dense_gather_tensor, weight_gathers, dense_reduce_tensor, gradient_collectives):
    gathers, reductions = dense_gather_tensor * weight_gathers, dense_reduce_tensor * gradient_collectives
    return gathered(reduces_in_network, dense_gather_tensor, gathers, reductions)


def dense_reduced(reduces_in_network, dense_reduce_tensor, dense_gather_tensor, weight_gathers, gradient_collectives):
    gathers, reductions = dense_gather_tensor * weight_gathers, dense_reduce_tensor * gradient_collectives
    return reduced(reduces_in_network, dense_reduce_tensor, gathers, reductions)


def expert_gathered(
    reduces_in_network, expert_gather_tensor, weight_gathers, expert_reduce_tensor, gradient_collectives
):
    gathers, reductions = expert_gather_tensor * weight_gathers, expert_reduce_tensor * gradient_collectives
    return gathered(reduces_in_network, expert_gather_tensor, gathers, reductions)


def expert_reduced(
    reduces_in_network, expert_reduce_tensor, expert_gather_tensor, weight_gathers, gradient_collectives
):
    gathers, reductions = expert_gather_tensor * weight_gathers, expert_reduce_tensor * gradient_collectives
    return reduced(reduces_in_network, expert_reduce_tensor, gathers, reductions)


def tensor_gathers(num_microbatches, tensor_blocks, repeats_layer, shards_sequence, reduces_in_network):
    halves_of_all_reduces = (1 - shards_sequence) * (1 - reduces_in_network)
    return (
        num_microbatches
        * tensor_blocks
        * (2 + repeats_layer + shards_sequence)
        * most(shards_sequence, halves_of_all_reduces)
    )


def tensor_reductions(num_microbatches, tensor_blocks, repeats_layer):
    return num_microbatches * tensor_blocks * (2 + repeats_layer)


def tensor_gathered(
    reduces_in_network,
    tensor_gathered_bytes,
    num_microbatches,
    tensor_blocks,
    repeats_layer,
    shards_sequence,
    tensor_reduced_bytes,
):
    once = tensor_gathered_bytes / (num_microbatches * tensor_blocks * (2 + repeats_layer + shards_sequence))
    return gathered(reduces_in_network, once, tensor_gathered_bytes, tensor_reduced_bytes)


def tensor_reduced(
    reduces_in_network,
    tensor_reduced_bytes,
    num_microbatches,
    tensor_blocks,
    repeats_layer,
    tensor_gathered_bytes,
):
    once = tensor_reduced_bytes / (num_microbatches * tensor_blocks * (2 + repeats_layer))
    return reduced(reduces_in_network, once, tensor_gathered_bytes, tensor_reduced_bytes)


def expert_tensor_tensor(
    expert_tensor_collective_bytes,
    num_microbatches,
    moe_layers_per_stage,
    expert_passes,
    forward_collectives_per_tensor_block,
):
    count = num_microbatches * moe_layers_per_stage * expert_passes * forward_collectives_per_tensor_block
    return where(count > 0, expert_tensor_collective_bytes / count, 0)


def context_tensor(microbatch_tokens, exchanges_heads, context_parallel_size, context_exchange_width, activation_bytes):
    tokens = microbatch_tokens / where(exchanges_heads == 1, context_parallel_size, 1)
    return tokens * context_exchange_width * activation_bytes


def context_forward(
    num_microbatches, context_exchange_layers, pipeline_parallel_size, context_forward_passes, repeats_layer
):
    layers = num_microbatches * context_exchange_layers / pipeline_parallel_size
    return layers * context_forward_passes * (1 + repeats_layer)


def context_backward(num_microbatches, context_exchange_layers, pipeline_parallel_size, context_backward_passes):
    return num_microbatches * context_exchange_layers / pipeline_parallel_size * context_backward_passes


def dispatched(rank_microbatch_tokens, hidden_size, dispatch_bytes):
    return rank_microbatch_tokens * hidden_size * dispatch_bytes


def combined(rank_microbatch_tokens, hidden_size, combine_bytes):
    return rank_microbatch_tokens * hidden_size * combine_bytes


def expert_forward(num_microbatches, moe_layers_per_stage, expert_passes):
    return num_microbatches * moe_layers_per_stage * (expert_passes - 1)


def expert_backward(num_microbatches, moe_layers_per_stage):
    return num_microbatches * moe_layers_per_stage


def message(rank_microbatch_tokens, hidden_size, activation_bytes):
    return rank_microbatch_tokens * hidden_size * activation_bytes


def expert_pod_share(expert_scale_out_copies, expert_share_outside_pod):
    return expert_scale_out_copies * expert_share_outside_pod


# The groups: how many ranks, how many of them in a node, which shares of a tensor reach a rank, how long a hop takes.
LATENCIES: dict[str, Any] = {
    "shard": shard_latency,
    "expert_shard": expert_shard_latency,
    "replica": replica_latency,
    "expert_replica": expert_replica_latency,
    "context": Symbol("context_exchange_latency"),
}
SHARD, EXPERT_SHARD, REPLICA, EXPERT_REPLICA, TENSOR, CONTEXT, EXPERT_TENSOR = (
    {
        "group_size": Symbol(group.size),
        "group_ranks_in_node": Symbol(group.ranks_in_node),
        "scale_out_share": Symbol(f"{group.name}_scale_out_share"),
        "scale_up_share": Symbol(f"{group.name}_scale_up_share"),
        "pod_share": Symbol(f"{group.name}_pod_share"),
        "latency": LATENCIES.get(group.name, Symbol(f"{group.name}_collective_latency")),
    }
    for group in GROUPS
)
EXPERT: dict[str, Any] = {
    "group_size": lambda expert_parallel_size: expert_parallel_size,
    "group_ranks_in_node": lambda expert_ranks_in_node: expert_ranks_in_node,
    "scale_out_share": lambda expert_scale_out_copies: expert_scale_out_copies,
    "scale_up_share": lambda expert_scale_up_copies: expert_scale_up_copies,
    "pod_share": expert_pod_share,
    "latency": lambda expert_exchange_latency: expert_exchange_latency,
}
PIPELINE: dict[str, Any] = {
    "group_size": lambda pipeline_parallel_size: pipeline_parallel_size,
    "group_ranks_in_node": lambda stages_in_node: stages_in_node,
    "scale_out_share": lambda pipeline_remote_share: pipeline_remote_share,
    "scale_up_share": lambda pipeline_remote_share: 1 - pipeline_remote_share,
    "pod_share": lambda pipeline_pod_share: pipeline_pod_share,
    "latency": lambda pipeline_message_latency: pipeline_message_latency,
}

collectives.row(
    "Weights, dense state",
    operation="all-gather",
    **SHARD,
    tensor=dense_gathered,
    count=lambda weight_gathers: weight_gathers,
)
collectives.row(
    "Gradients, dense state",
    operation="reduce-scatter",
    **SHARD,
    tensor=dense_reduced,
    count=gradient_reductions,
)
collectives.row(
    "Reduced gradients, dense state",
    operation="all-gather",
    **SHARD,
    tensor=lambda dense_reduce_tensor: dense_reduce_tensor,
    count=gradient_gathers,
)
collectives.row(
    "Weights, experts",
    operation="all-gather",
    **EXPERT_SHARD,
    tensor=expert_gathered,
    count=lambda weight_gathers: weight_gathers,
)
collectives.row(
    "Gradients, experts",
    operation="reduce-scatter",
    **EXPERT_SHARD,
    tensor=expert_reduced,
    count=gradient_reductions,
)
collectives.row(
    "Reduced gradients, experts",
    operation="all-gather",
    **EXPERT_SHARD,
    tensor=lambda expert_reduce_tensor: expert_reduce_tensor,
    count=gradient_gathers,
)
collectives.row(
    "Gradients of replicas, dense state",
    operation="all-reduce",
    **REPLICA,
    tensor=lambda dense_reduce_tensor, shard_size: dense_reduce_tensor / shard_size,
    count=lambda reduces_in_network: 2 - reduces_in_network,
)
collectives.row(
    "Gradients of replicas, experts",
    operation="all-reduce",
    **EXPERT_REPLICA,
    tensor=lambda expert_reduce_tensor, expert_shard_size: expert_reduce_tensor / expert_shard_size,
    count=lambda reduces_in_network: 2 - reduces_in_network,
)
collectives.row(
    "Tensor parallel, gathers",
    operation="all-gather",
    **TENSOR,
    tensor=tensor_gathered,
    count=tensor_gathers,
)
collectives.row(
    "Tensor parallel, reductions",
    operation="reduce-scatter",
    **TENSOR,
    tensor=tensor_reduced,
    count=tensor_reductions,
)
collectives.row(
    "Expert tensor parallel",
    operation="all-gather and reduce-scatter",
    **EXPERT_TENSOR,
    tensor=expert_tensor_tensor,
    count=lambda num_microbatches, moe_layers_per_stage, expert_passes, forward_collectives_per_tensor_block: (
        num_microbatches * moe_layers_per_stage * expert_passes * forward_collectives_per_tensor_block
    ),
)
collectives.row(
    "Context parallel, forward",
    operation="exchange",
    **CONTEXT,
    tensor=context_tensor,
    count=context_forward,
)
collectives.row(
    "Context parallel, backward",
    operation="exchange",
    **CONTEXT,
    tensor=context_tensor,
    count=context_backward,
)
collectives.row(
    "Dispatch to experts, forward",
    operation="all-to-all",
    **EXPERT,
    tensor=dispatched,
    count=expert_forward,
)
collectives.row(
    "Combine from experts, forward",
    operation="all-to-all",
    **EXPERT,
    tensor=combined,
    count=expert_forward,
)
collectives.row(
    "Dispatch to experts, backward",
    operation="all-to-all",
    **EXPERT,
    tensor=dispatched,
    count=expert_backward,
)
collectives.row(
    "Combine from experts, backward",
    operation="all-to-all",
    **EXPERT,
    tensor=combined,
    count=expert_backward,
)
collectives.row(
    "Pipeline messages",
    operation="send",
    **PIPELINE,
    tensor=message,
    count=lambda num_microbatches, pipeline_messages: num_microbatches * pipeline_messages,
)

collectives.close(also=("scale_out_bytes", "scale_up_bytes", "pod_bytes", "latency_time"))
