"""Latency: how long the messages of a step are under way, however few bytes they carry.

Between n ranks, g of them in one node: flat, a collective goes round a ring of n - 1 hops; hierarchical, round the node
and round the nodes; where switches add up, it takes one hop in each network. All of it can be hidden by other work,
so it counts in the upper bound only; the way of one micro-batch through the pipeline cannot.
"""

from pyxl.operations import least, most, where
from workbook.model import analysis, quantity
from workbook.parallelism import GROUPS

analysis.section("Latency")


for group in GROUPS:
    if group.name == "context":
        continue  # it exchanges in ways of its own

    @quantity(
        "s",
        f"One collective, {group.label}",
        called=f"{group.name}_collective_latency",
        size=group.size,
        ranks_in_node=group.ranks_in_node,
    )
    def collective_latency(
        reduces_in_network, size, ranks_in_node, scale_out_latency, scale_up_latency, enters_node_once
    ):
        """Hops of one collective of the group."""
        return where(
            reduces_in_network == 1,
            least(1, size / ranks_in_node - 1) * scale_out_latency + least(1, ranks_in_node - 1) * scale_up_latency,
            where(
                enters_node_once == 1,
                (size / ranks_in_node - 1) * scale_out_latency + (ranks_in_node - 1) * scale_up_latency,
                (size - 1) * where(size > ranks_in_node, scale_out_latency, scale_up_latency),
            ),
        )


@quantity("s", "One exchange, context parallel group")
def context_exchange_latency(
    context_parallel_size, context_ranks_in_node, context_hops_in_turn, scale_out_latency, scale_up_latency
):
    """A ring passes every rank in turn, other exchanges take one hop."""
    return where(context_hops_in_turn == 1, context_parallel_size - 1, least(1, context_parallel_size - 1)) * where(
        context_parallel_size > context_ranks_in_node, scale_out_latency, scale_up_latency
    )


@quantity("s", "One dispatch or combine")
def expert_exchange_latency(expert_nodes, expert_ranks_in_node, scale_out_latency, scale_up_latency):
    """One hop to the other node and one inside it."""
    return where(expert_nodes > 1, scale_out_latency, 0) + where(expert_ranks_in_node > 1, scale_up_latency, 0)


@quantity("s", "One pipeline message")
def pipeline_message_latency(pipeline_is_remote, scale_out_latency, scale_up_latency):
    """One hop from stage to stage."""
    return where(pipeline_is_remote == 1, scale_out_latency, scale_up_latency)


@quantity("1", "Layers on a device, average stage", number_format="0.##")
def layers_per_device(num_hidden_layers, num_prediction_layers, parameter_copies, pipeline_parallel_size):
    """Layers of all chunks and copies; weights and gradients of each travel in a collective of their own."""
    return (num_hidden_layers + num_prediction_layers) * parameter_copies / pipeline_parallel_size


@quantity("s", "Data parallel latency")
def data_parallel_latency(
    layers_per_device,
    weight_gathers,
    gradient_collectives,
    shard_collective_latency,
    num_moe_layers,
    num_hidden_layers,
    expert_shard_collective_latency,
    reduces_in_network,
    replica_collective_latency,
    expert_replica_collective_latency,
):
    """Gathers and reductions of all layers of a device; MoE layers have some more for their experts."""
    return layers_per_device * (
        (weight_gathers + gradient_collectives)
        * (shard_collective_latency + num_moe_layers / num_hidden_layers * expert_shard_collective_latency)
        + (2 - reduces_in_network)
        * (replica_collective_latency + num_moe_layers / num_hidden_layers * expert_replica_collective_latency)
    )


@quantity("s", "Tensor parallel latency")
def tensor_latency(
    num_microbatches,
    tensor_blocks,
    tensor_forward_collectives,
    repeats_layer,
    tensor_backward_collectives,
    tensor_collective_latency,
):
    """Collectives of all blocks and micro-batches."""
    return (
        num_microbatches
        * tensor_blocks
        * (tensor_forward_collectives * (1 + repeats_layer) + tensor_backward_collectives)
        * tensor_collective_latency
    )


@quantity("1", "MoE layers, average stage", number_format="0.##")
def moe_layers_per_stage(num_moe_layers, num_prediction_layers, pipeline_parallel_size):
    """MoE layers that a micro-batch passes on a device."""
    return (num_moe_layers + num_prediction_layers) / pipeline_parallel_size


@quantity("s", "Expert latency")
def expert_latency(
    num_microbatches,
    moe_layers_per_stage,
    expert_passes,
    expert_exchange_latency,
    forward_collectives_per_tensor_block,
    expert_tensor_collective_latency,
):
    """Dispatch and combine of all MoE layers and micro-batches, and the collectives of experts split over ranks."""
    return (
        num_microbatches
        * moe_layers_per_stage
        * expert_passes
        * (2 * expert_exchange_latency + forward_collectives_per_tensor_block * expert_tensor_collective_latency)
    )


@quantity("s", "Context parallel latency")
def context_latency(
    num_microbatches,
    context_exchange_layers,
    pipeline_parallel_size,
    context_forward_passes,
    repeats_layer,
    context_backward_passes,
    context_exchange_latency,
):
    """Exchanges of all layers and micro-batches."""
    return (
        num_microbatches
        * context_exchange_layers
        / pipeline_parallel_size
        * (context_forward_passes * (1 + repeats_layer) + context_backward_passes)
        * context_exchange_latency
    )


@quantity("s", "Pipeline latency")
def pipeline_latency(num_microbatches, pipeline_messages, pipeline_message_latency):
    """Messages of all micro-batches between stages."""
    return num_microbatches * pipeline_messages * pipeline_message_latency


@quantity("s", "Latency of all messages")
def latency_time(data_parallel_latency, tensor_latency, expert_latency, context_latency, pipeline_latency):
    """What a step waits if nothing hides its messages."""
    return data_parallel_latency + tensor_latency + expert_latency + context_latency + pipeline_latency


@quantity("s", "Latency of the way through the pipeline")
def pipeline_traversal_latency(
    pipeline_parallel_size, bubble_stage_divisor, stages_in_node, scale_out_latency, scale_up_latency
):
    """A micro-batch must reach the last device, or from both ends the middle, and its gradient must return: no schedule
    hides these hops. One of them leaves each node on the way.
    """
    return 2 * (
        (pipeline_parallel_size / bubble_stage_divisor - 1) * scale_up_latency
        + most(0, pipeline_parallel_size / bubble_stage_divisor / stages_in_node - 1)
        * (scale_out_latency - scale_up_latency)
    )
