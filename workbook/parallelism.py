"""Parallelism: sizes of the groups that ranks form, and how much of each group one node holds.

Ranks are ordered as in Megatron-LM: tensor parallel ranks are neighbours, then expert and data parallel
ranks, pipeline stages are farthest apart.
"""

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


@quantity("1", "Nodes", number_format="#,##0.##")
def nodes(world_size, node_ranks):
    """Scale-up domains of the cluster."""
    return world_size / node_ranks


@quantity("1", "Data parallel size (DP)")
def data_parallel_size(world_size, tensor_parallel_size, pipeline_parallel_size):
    """Ranks that hold the same attention weights and see different tokens."""
    return world_size / (tensor_parallel_size * pipeline_parallel_size)


@quantity("1", "Expert data parallel size")
def expert_data_parallel_size(world_size, pipeline_parallel_size, expert_parallel_size, expert_tensor_parallel_size):
    """Ranks that hold the same routed experts.

    Source: MoE Parallel Folding, arXiv 2504.14960, section 3
    """
    return world_size / (pipeline_parallel_size * expert_parallel_size * expert_tensor_parallel_size)


@quantity("1", "Shard group size")
def shard_size(data_parallel_size, data_parallel_replicas):
    """Ranks that dense state is sharded over."""
    return data_parallel_size / data_parallel_replicas


@quantity("1", "Expert shard group size")
def expert_shard_size(expert_data_parallel_size, data_parallel_replicas):
    """Ranks that routed experts' state is sharded over."""
    return expert_data_parallel_size / data_parallel_replicas


@quantity("1", "Micro-batches")
def num_microbatches(global_batch_size, data_parallel_size, micro_batch_size):
    """Micro-batches that each rank passes through its stage per step."""
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
def tokens_per_rank(step_tokens, data_parallel_size, tensor_parallel_size):
    """Tokens of a step that pass a rank's stage; with sequence parallelism each tensor rank carries its part."""
    return step_tokens / (data_parallel_size * tensor_parallel_size)


@quantity("1", "Tensor ranks in a node")
def tensor_ranks_in_node(tensor_parallel_size, node_ranks):
    """Members of a tensor parallel group that share a node."""
    return least(tensor_parallel_size, node_ranks)


@quantity("1", "Shard ranks in a node")
def shard_ranks_in_node(shard_size, node_ranks, tensor_parallel_size):
    """Members of a shard group that share a node."""
    return least(shard_size, most(1, node_ranks / tensor_parallel_size))


@quantity("1", "Replicas in a node")
def replicas_in_node(data_parallel_replicas, node_ranks, tensor_parallel_size, shard_size):
    """Members of a replica group (same shard, other copy) that share a node."""
    return least(data_parallel_replicas, most(1, node_ranks / (tensor_parallel_size * shard_size)))


@quantity("1", "Expert ranks in a node")
def expert_ranks_in_node(expert_parallel_size, node_ranks, expert_tensor_parallel_size):
    """Members of an expert parallel group that share a node."""
    return least(expert_parallel_size, most(1, node_ranks / expert_tensor_parallel_size))


@quantity("1", "Expert shard ranks in a node")
def expert_shard_ranks_in_node(expert_shard_size, node_ranks, expert_parallel_size, expert_tensor_parallel_size):
    """Members of an expert shard group that share a node."""
    return least(expert_shard_size, most(1, node_ranks / (expert_parallel_size * expert_tensor_parallel_size)))


@quantity("1", "Expert replicas in a node")
def expert_replicas_in_node(
    data_parallel_replicas, node_ranks, expert_parallel_size, expert_tensor_parallel_size, expert_shard_size
):
    """Members of an expert replica group that share a node."""
    return least(
        data_parallel_replicas,
        most(1, node_ranks / (expert_parallel_size * expert_tensor_parallel_size * expert_shard_size)),
    )


@quantity("1", "Nodes of an expert group")
def expert_nodes(expert_parallel_size, expert_ranks_in_node):
    """Nodes that the experts of one layer are spread over."""
    return expert_parallel_size / expert_ranks_in_node


@quantity("1", "Pipeline neighbours are remote")
def pipeline_is_remote(pipeline_parallel_size, data_parallel_size, tensor_parallel_size, node_ranks):
    """1 where some stage boundary crosses nodes; the slowest boundary sets the pace."""
    return where(pipeline_parallel_size * data_parallel_size * tensor_parallel_size > node_ranks, 1, 0)
