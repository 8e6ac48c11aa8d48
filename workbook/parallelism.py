"""Parallelism: sizes of the groups that ranks form, and how much of each group one node and one pod hold.

Ranks stand in a row, each node and each pod a stretch of it. The members of a group stand a fixed number of ranks
apart, its stride, so that a node holds as many of them as strides fit into it. Dense layers see the grid tensor x
context x data x pipeline, routed experts the grid expert tensor x expert x expert data x pipeline over the same ranks:
the ranks of a stage in their order, wherever the rank order puts the other stages.
"""

from typing import NamedTuple

from pyxl.operations import least, most, where
from workbook.model import analysis, quantity

analysis.section("Parallelism")


@quantity("1", "Ranks", number_format="#,##0")
def world_size(devices, ranks_per_device):
    """Ranks of the whole job."""
    return devices * ranks_per_device


@quantity("1", "Ranks in a node")
def node_ranks(scale_up_domain, ranks_per_device):
    """Ranks that the scale-up network joins."""
    return scale_up_domain * ranks_per_device


@quantity("1", "Ranks in a pod")
def pod_ranks(pod_devices, ranks_per_device, world_size, node_ranks):
    """Ranks that the scale-out network joins without blocking: the whole cluster where no pod is given."""
    return most(where(pod_devices > 0, pod_devices * ranks_per_device, world_size), node_ranks)


@quantity("1", "Nodes", number_format="#,##0.##")
def nodes(world_size, node_ranks):
    """Scale-up domains of the cluster."""
    return world_size / node_ranks


@quantity("1", "Data parallel size (DP)")
def data_parallel_size(world_size, tensor_parallel_size, context_parallel_size, pipeline_parallel_size):
    """Ranks that hold the same attention weights and see different sequences."""
    return world_size / (tensor_parallel_size * context_parallel_size * pipeline_parallel_size)


@quantity("1", "Expert data parallel size")
def expert_data_parallel_size(world_size, pipeline_parallel_size, expert_parallel_size, expert_tensor_parallel_size):
    """Ranks that hold the same routed experts.

    Source: MoE Parallel Folding, arXiv 2504.14960, section 3
    """
    return world_size / (pipeline_parallel_size * expert_parallel_size * expert_tensor_parallel_size)


@quantity("1", "Data-parallel ranks of a shard group")
def data_shard_size(data_parallel_size, data_parallel_replicas):
    """Data-parallel ranks that share dense state, without context ranks."""
    return data_parallel_size / data_parallel_replicas


@quantity("1", "Shard group size")
def shard_size(data_shard_size, context_parallel_size, parameter_copies):
    """Ranks that dense state is sharded over: context ranks hold the same weights and shard them too, as do the devices
    with the other copy of a stage where the schedule keeps two.

    Source: Megatron-LM, distributed optimizer over the group of data and context parallel ranks
    """
    return data_shard_size * context_parallel_size * parameter_copies


@quantity("1", "Expert data parallel ranks of a shard group")
def expert_data_shard_size(expert_data_parallel_size, data_parallel_replicas):
    """Expert data parallel ranks that share routed experts' state, of one copy of a stage."""
    return expert_data_parallel_size / data_parallel_replicas


@quantity("1", "Expert shard group size")
def expert_shard_size(expert_data_shard_size, parameter_copies):
    """Ranks that routed experts' state is sharded over."""
    return expert_data_shard_size * parameter_copies


@quantity("1", "Micro-batches")
def num_microbatches(global_batch_size, data_parallel_size, micro_batch_size):
    """Micro-batches that each rank passes through its stage per step: gradients are accumulated over them."""
    return global_batch_size / (data_parallel_size * micro_batch_size)


@quantity("token", "Tokens per micro-batch", number_format="#,##0")
def microbatch_tokens(micro_batch_size, sequence_length):
    """Tokens of one micro-batch."""
    return micro_batch_size * sequence_length


@quantity("token", "Tokens per device and step", number_format="#,##0.##")
def tokens_per_device(step_tokens, world_size):
    """Tokens of a step divided by the ranks."""
    return step_tokens / world_size


@quantity("token", "Tokens through a rank's stage", number_format="#,##0.##")
def tokens_per_rank(step_tokens, data_parallel_size, tensor_parallel_size, context_parallel_size):
    """Tokens of a step that pass a rank's stage: context ranks carry a part each, and with sequence parallelism tensor
    ranks.
    """
    return step_tokens / (data_parallel_size * tensor_parallel_size * context_parallel_size)


analysis.section("Parallelism: strides")


@quantity("1", "Stride of the tensor parallel group")
def tensor_stride(pipeline_inside_tensor, pipeline_parallel_size):
    """Ranks from one tensor rank to the next: neighbours, unless pipeline stages come first."""
    return where(pipeline_inside_tensor == 1, pipeline_parallel_size, 1)


@quantity("1", "Stride of the context parallel group")
def context_stride(tensor_stride, tensor_parallel_size):
    """Ranks from one context rank to the next."""
    return tensor_stride * tensor_parallel_size


@quantity("1", "Stride of the data parallel group")
def data_stride(context_stride, context_parallel_size, pipeline_inside_data, pipeline_parallel_size):
    """Ranks from one data-parallel rank to the next."""
    return context_stride * context_parallel_size * where(pipeline_inside_data == 1, pipeline_parallel_size, 1)


@quantity("1", "Stride of the replica group")
def replica_stride(data_stride, data_shard_size):
    """Ranks from one replica of a shard to the next."""
    return data_stride * data_shard_size


@quantity("1", "Stride of the pipeline")
def pipeline_stride(
    pipeline_inside_tensor,
    pipeline_inside_data,
    context_stride,
    context_parallel_size,
    world_size,
    pipeline_parallel_size,
):
    """Ranks from one stage to the next: farthest apart in Megatron's order."""
    return where(
        pipeline_inside_tensor == 1,
        1,
        where(pipeline_inside_data == 1, context_stride * context_parallel_size, world_size / pipeline_parallel_size),
    )


# A group has members in a node and in a pod by one formula each: `area` stands for either.
for area in ("node", "pod"):
    analysis.section(f"Parallelism: groups in a {area}")

    @quantity("1", f"Copies of a stage in a {area}", called=f"copies_in_{area}", area_ranks=f"{area}_ranks")
    def copies(pipeline_parallel_size, pipeline_stride, area_ranks, parameter_copies):
        """Where a schedule keeps two copies of every stage, both stand there only if the whole pipeline does."""
        return where(pipeline_parallel_size * pipeline_stride > area_ranks, 1, parameter_copies)

    @quantity("1", f"Tensor ranks in a {area}", called=f"tensor_ranks_in_{area}", area_ranks=f"{area}_ranks")
    def tensor_ranks(tensor_parallel_size, area_ranks, tensor_stride):
        """Members of a tensor parallel group that stand there."""
        return least(tensor_parallel_size, most(1, area_ranks / tensor_stride))

    @quantity("1", f"Context ranks in a {area}", called=f"context_ranks_in_{area}", area_ranks=f"{area}_ranks")
    def context_ranks(context_parallel_size, area_ranks, context_stride):
        """Members of a context parallel group that stand there."""
        return least(context_parallel_size, most(1, area_ranks / context_stride))

    @quantity(
        "1",
        f"Shard ranks that a {area} has room for",
        called=f"shard_ranks_per_{area}",
        context_ranks=f"context_ranks_in_{area}",
        area_ranks=f"{area}_ranks",
    )
    def shard_ranks_at_most(context_ranks, area_ranks, data_stride):
        """Members of a shard group that stand there, if the group is large enough."""
        return context_ranks * most(1, area_ranks / data_stride)

    @quantity(
        "1",
        f"Shard ranks in a {area}",
        called=f"shard_ranks_in_{area}",
        room=f"shard_ranks_per_{area}",
        copies=f"copies_in_{area}",
    )
    def shard_ranks(data_shard_size, context_parallel_size, room, copies):
        """Members of a shard group that stand there, with those of the other copy of a stage."""
        return least(data_shard_size * context_parallel_size, room) * copies

    @quantity("1", f"Replicas in a {area}", called=f"replicas_in_{area}", area_ranks=f"{area}_ranks")
    def replicas(data_parallel_replicas, area_ranks, replica_stride):
        """Members of a replica group (same shard, other copy) that stand there."""
        return least(data_parallel_replicas, most(1, area_ranks / replica_stride))

    @quantity(
        "1",
        f"Ranks of a stage that a {area} has room for",
        called=f"stage_ranks_per_{area}",
        tensor_ranks=f"tensor_ranks_in_{area}",
        shard_ranks=f"shard_ranks_per_{area}",
    )
    def stage_ranks(tensor_ranks, shard_ranks):
        """Ranks of one pipeline stage: what expert groups are formed of, expert tensor ranks first."""
        return tensor_ranks * shard_ranks

    @quantity(
        "1",
        f"Expert tensor ranks in a {area}",
        called=f"expert_tensor_ranks_in_{area}",
        stage_ranks=f"stage_ranks_per_{area}",
    )
    def expert_tensor_ranks(expert_tensor_parallel_size, stage_ranks):
        """Members of an expert tensor parallel group that stand there."""
        return least(expert_tensor_parallel_size, stage_ranks)

    @quantity("1", f"Expert ranks in a {area}", called=f"expert_ranks_in_{area}", stage_ranks=f"stage_ranks_per_{area}")
    def expert_ranks(expert_parallel_size, stage_ranks, expert_tensor_parallel_size):
        """Members of an expert parallel group that stand there."""
        return least(expert_parallel_size, most(1, stage_ranks / expert_tensor_parallel_size))

    @quantity(
        "1",
        f"Expert shard ranks that a {area} has room for",
        called=f"expert_shard_ranks_per_{area}",
        stage_ranks=f"stage_ranks_per_{area}",
    )
    def expert_shard_ranks_at_most(stage_ranks, expert_tensor_parallel_size, expert_parallel_size):
        """Members of an expert shard group that stand there, if the group is large enough."""
        return most(1, stage_ranks / (expert_tensor_parallel_size * expert_parallel_size))

    @quantity(
        "1",
        f"Expert shard ranks in a {area}",
        called=f"expert_shard_ranks_in_{area}",
        room=f"expert_shard_ranks_per_{area}",
        copies=f"copies_in_{area}",
    )
    def expert_shard_ranks(expert_data_shard_size, room, copies):
        """Members of an expert shard group that stand there, with those of the other copy of a stage."""
        return least(expert_data_shard_size, room) * copies

    @quantity(
        "1",
        f"Expert replicas in a {area}",
        called=f"expert_replicas_in_{area}",
        room=f"expert_shard_ranks_per_{area}",
    )
    def expert_replicas(data_parallel_replicas, room, expert_data_shard_size):
        """Members of an expert replica group that stand there."""
        return least(data_parallel_replicas, most(1, room / expert_data_shard_size))


analysis.section("Parallelism: what leaves a node or pod")


@quantity("1", "Pipeline neighbours are remote")
def pipeline_is_remote(pipeline_parallel_size, pipeline_stride, node_ranks):
    """1 where some stage boundary crosses nodes; the slowest boundary sets the pace."""
    return where(pipeline_parallel_size > 1, where(pipeline_parallel_size * pipeline_stride > node_ranks, 1, 0), 0)


@quantity("1", "Stages in a node")
def stages_in_node(
    pipeline_is_remote,
    pipeline_inside_data,
    pipeline_inside_tensor,
    node_ranks,
    pipeline_stride,
    pipeline_parallel_size,
):
    """Devices of a pipeline that share a node. Stages that stand farthest apart are taken to have a node each, also on
    a cluster with fewer nodes than stages.
    """
    return where(
        pipeline_is_remote == 1,
        where(pipeline_inside_data + pipeline_inside_tensor > 0, most(1, node_ranks / pipeline_stride), 1),
        pipeline_parallel_size,
    )


@quantity("1", "Nodes of an expert group")
def expert_nodes(expert_parallel_size, expert_ranks_in_node):
    """Nodes that the experts of one layer are spread over."""
    return expert_parallel_size / expert_ranks_in_node


@quantity("1", "Remote experts outside the pod")
def expert_share_outside_pod(expert_parallel_size, expert_ranks_in_pod, expert_ranks_in_node):
    """Part of the expert ranks on other nodes that stand in other pods."""
    return where(
        expert_parallel_size > expert_ranks_in_node,
        (expert_parallel_size - expert_ranks_in_pod) / most(1, expert_parallel_size - expert_ranks_in_node),
        0,
    )


class Group(NamedTuple):
    """Ranks that take part in a collective together: where its quantities' names begin, what it is called, its size,
    and how many of its ranks share a node and a pod.
    """

    name: str
    label: str
    size: str
    ranks_in_node: str
    ranks_in_pod: str


GROUPS = tuple(
    Group(name, label, size, f"{ranks}_in_node", f"{ranks}_in_pod")
    for name, label, size, ranks in (
        ("shard", "shard group", "shard_size", "shard_ranks"),
        ("expert_shard", "expert shard group", "expert_shard_size", "expert_shard_ranks"),
        ("replica", "replica group", "data_parallel_replicas", "replicas"),
        ("expert_replica", "expert replica group", "data_parallel_replicas", "expert_replicas"),
        ("tensor", "tensor parallel group", "tensor_parallel_size", "tensor_ranks"),
        ("context", "context parallel group", "context_parallel_size", "context_ranks"),
        (
            "expert_tensor",
            "expert tensor parallel group",
            "expert_tensor_parallel_size",
            "expert_tensor_ranks",
        ),
    )
)
