"""Traffic: bytes that a device receives per step over each network, collective by collective.

A collective over a tensor of V bytes in a group of n ranks, g of them in one node, brings each rank
V * (n - 1) / n bytes. Flat: those from other nodes, V * (n - g) / n, come through the rank's own NIC.
Hierarchical: each of them enters the node once, V * (n - g) / n / g per rank, and the scale-up network
passes everything on, V * (g - 1) / g.
"""

from pyxl.operations import least, most, where
from workbook.model import analysis, quantity

analysis.section("Traffic: shares of a collective")
SHARE = "0.0000"


@quantity("1", "Scale-out share, shard group", number_format=SHARE)
def shard_scale_out_share(shard_size, shard_ranks_in_node, enters_node_once):
    """Part of a tensor that reaches a rank's NIC in a collective, over the dense state's shard group."""
    return (shard_size - shard_ranks_in_node) / shard_size / where(enters_node_once == 1, shard_ranks_in_node, 1)


@quantity("1", "Scale-up share, shard group", number_format=SHARE)
def shard_scale_up_share(shard_ranks_in_node, enters_node_once, shard_size):
    """Part of a tensor that reaches a rank by the scale-up network, over the dense state's shard group."""
    return (shard_ranks_in_node - 1) / where(enters_node_once == 1, shard_ranks_in_node, shard_size)


@quantity("1", "Scale-out share, expert shard group", number_format=SHARE)
def expert_shard_scale_out_share(expert_shard_size, expert_shard_ranks_in_node, enters_node_once):
    """Part of a tensor that reaches a rank's NIC in a collective, over the expert state's shard group."""
    return (
        (expert_shard_size - expert_shard_ranks_in_node)
        / expert_shard_size
        / where(enters_node_once == 1, expert_shard_ranks_in_node, 1)
    )


@quantity("1", "Scale-up share, expert shard group", number_format=SHARE)
def expert_shard_scale_up_share(expert_shard_ranks_in_node, enters_node_once, expert_shard_size):
    """Part of a tensor that reaches a rank by the scale-up network, over the expert state's shard group."""
    return (expert_shard_ranks_in_node - 1) / where(
        enters_node_once == 1, expert_shard_ranks_in_node, expert_shard_size
    )


@quantity("1", "Scale-out share, replica group", number_format=SHARE)
def replica_scale_out_share(data_parallel_replicas, replicas_in_node, enters_node_once):
    """Part of a tensor that reaches a rank's NIC in a collective, over the group of replicas."""
    return (
        (data_parallel_replicas - replicas_in_node)
        / data_parallel_replicas
        / where(enters_node_once == 1, replicas_in_node, 1)
    )


@quantity("1", "Scale-up share, replica group", number_format=SHARE)
def replica_scale_up_share(replicas_in_node, enters_node_once, data_parallel_replicas):
    """Part of a tensor that reaches a rank by the scale-up network, over the group of replicas."""
    return (replicas_in_node - 1) / where(enters_node_once == 1, replicas_in_node, data_parallel_replicas)


@quantity("1", "Scale-out share, expert replica group", number_format=SHARE)
def expert_replica_scale_out_share(data_parallel_replicas, expert_replicas_in_node, enters_node_once):
    """Part of a tensor that reaches a rank's NIC in a collective, over the group of expert replicas."""
    return (
        (data_parallel_replicas - expert_replicas_in_node)
        / data_parallel_replicas
        / where(enters_node_once == 1, expert_replicas_in_node, 1)
    )


@quantity("1", "Scale-up share, expert replica group", number_format=SHARE)
def expert_replica_scale_up_share(expert_replicas_in_node, enters_node_once, data_parallel_replicas):
    """Part of a tensor that reaches a rank by the scale-up network, over the group of expert replicas."""
    return (expert_replicas_in_node - 1) / where(enters_node_once == 1, expert_replicas_in_node, data_parallel_replicas)


@quantity("1", "Scale-out share, tensor parallel group", number_format=SHARE)
def tensor_scale_out_share(tensor_parallel_size, tensor_ranks_in_node, enters_node_once):
    """Part of a tensor that reaches a rank's NIC in a collective, over the tensor parallel group."""
    return (
        (tensor_parallel_size - tensor_ranks_in_node)
        / tensor_parallel_size
        / where(enters_node_once == 1, tensor_ranks_in_node, 1)
    )


@quantity("1", "Scale-up share, tensor parallel group", number_format=SHARE)
def tensor_scale_up_share(tensor_ranks_in_node, enters_node_once, tensor_parallel_size):
    """Part of a tensor that reaches a rank by the scale-up network, over the tensor parallel group."""
    return (tensor_ranks_in_node - 1) / where(enters_node_once == 1, tensor_ranks_in_node, tensor_parallel_size)


analysis.section("Traffic: data parallel")


@quantity("1", "Dense state per rank, average stage", number_format="#,##0")
def rank_dense_parameters(
    num_dense_layers,
    rank_dense_layer_parameters,
    num_moe_layers,
    num_prediction_layers,
    rank_moe_layer_parameters,
    embedding_parameters,
    tensor_parallel_size,
    last_stage_head_parameters,
    last_stage_prediction_parameters,
    pipeline_parallel_size,
    parameter_copies,
):
    """All that is not a routed expert, spread evenly over the stages, once per copy that a device holds."""
    return (
        (
            num_dense_layers * rank_dense_layer_parameters
            + (num_moe_layers + num_prediction_layers) * rank_moe_layer_parameters
            + embedding_parameters / tensor_parallel_size
            + last_stage_head_parameters
            + last_stage_prediction_parameters
        )
        / pipeline_parallel_size
        * parameter_copies
    )


@quantity("1", "Expert state per rank, average stage", number_format="#,##0")
def rank_expert_parameters(
    num_moe_layers, num_prediction_layers, rank_expert_layer_parameters, pipeline_parallel_size, parameter_copies
):
    """Routed experts, spread evenly over the stages, once per copy that a device holds."""
    return (
        (num_moe_layers + num_prediction_layers)
        * rank_expert_layer_parameters
        / pipeline_parallel_size
        * parameter_copies
    )


@quantity("1", "Micro-batches per copy", number_format="0.##")
def microbatches_per_copy(num_microbatches, parameter_copies):
    """Micro-batches that pass one copy of a stage: with two copies on a device each sees half of them."""
    return num_microbatches / parameter_copies


@quantity("1", "Weight gathers", number_format="0.##")
def weight_gathers(weight_gathers_per_step, weight_gathers_per_microbatch, microbatches_per_copy):
    """All-gathers of the weights per step: with ZeRO-3 in every forward and backward pass.

    Source: Rajbhandari et al. 2020, arXiv 1910.02054, section 7
    """
    return weight_gathers_per_step + weight_gathers_per_microbatch * microbatches_per_copy


@quantity("1", "Gradient collectives", number_format="0.##")
def gradient_collectives(
    gradient_reductions_per_step, gradient_reductions_per_microbatch, microbatches_per_copy, gradient_gathers_per_step
):
    """Reduce-scatters of the gradients per step, and the all-gather half where gradients are all-reduced."""
    return (
        gradient_reductions_per_step
        + gradient_reductions_per_microbatch * microbatches_per_copy
        + gradient_gathers_per_step
    )


@quantity("byte", "One weight gather, dense state")
def dense_gather_tensor(rank_dense_parameters, weight_gather_bytes):
    """Full tensor of one all-gather."""
    return rank_dense_parameters * weight_gather_bytes


@quantity("byte", "One gradient reduction, dense state")
def dense_reduce_tensor(rank_dense_parameters, gradient_reduce_bytes):
    """Full tensor of one reduce-scatter."""
    return rank_dense_parameters * gradient_reduce_bytes


@quantity("byte", "One weight gather, expert state")
def expert_gather_tensor(rank_expert_parameters, weight_gather_bytes):
    """Full tensor of one all-gather."""
    return rank_expert_parameters * weight_gather_bytes


@quantity("byte", "One gradient reduction, expert state")
def expert_reduce_tensor(rank_expert_parameters, gradient_reduce_bytes):
    """Full tensor of one reduce-scatter."""
    return rank_expert_parameters * gradient_reduce_bytes


@quantity("byte", "Data parallel tensors per step, dense state")
def dense_collective_bytes(dense_gather_tensor, weight_gathers, dense_reduce_tensor, gradient_collectives):
    """Full tensors of all gathers and reductions of a step."""
    return dense_gather_tensor * weight_gathers + dense_reduce_tensor * gradient_collectives


@quantity("byte", "Data parallel tensors per step, expert state")
def expert_collective_bytes(expert_gather_tensor, weight_gathers, expert_reduce_tensor, gradient_collectives):
    """Full tensors of all gathers and reductions of a step."""
    return expert_gather_tensor * weight_gathers + expert_reduce_tensor * gradient_collectives


@quantity("byte", "Replica tensors per step, dense state")
def dense_replica_bytes(dense_reduce_tensor, shard_size):
    """Between replicas each shard of the gradients is all-reduced once per step: two passes over it."""
    return 2 * dense_reduce_tensor / shard_size


@quantity("byte", "Replica tensors per step, expert state")
def expert_replica_bytes(expert_reduce_tensor, expert_shard_size):
    """Between replicas each shard of the gradients is all-reduced once per step: two passes over it."""
    return 2 * expert_reduce_tensor / expert_shard_size


@quantity("byte", "Data parallel, scale-out")
def data_parallel_scale_out_bytes(
    dense_collective_bytes,
    shard_scale_out_share,
    expert_collective_bytes,
    expert_shard_scale_out_share,
    dense_replica_bytes,
    replica_scale_out_share,
    expert_replica_bytes,
    expert_replica_scale_out_share,
):
    """Gathers and reductions of weights and gradients through the NIC."""
    return (
        dense_collective_bytes * shard_scale_out_share
        + expert_collective_bytes * expert_shard_scale_out_share
        + dense_replica_bytes * replica_scale_out_share
        + expert_replica_bytes * expert_replica_scale_out_share
    )


@quantity("byte", "Data parallel, scale-up")
def data_parallel_scale_up_bytes(
    dense_collective_bytes,
    shard_scale_up_share,
    expert_collective_bytes,
    expert_shard_scale_up_share,
    dense_replica_bytes,
    replica_scale_up_share,
    expert_replica_bytes,
    expert_replica_scale_up_share,
):
    """Gathers and reductions of weights and gradients over the scale-up network."""
    return (
        dense_collective_bytes * shard_scale_up_share
        + expert_collective_bytes * expert_shard_scale_up_share
        + dense_replica_bytes * replica_scale_up_share
        + expert_replica_bytes * expert_replica_scale_up_share
    )


analysis.section("Traffic: experts")


@quantity("1", "Node limit of a token")
def node_limit(topk_group, expert_nodes, n_group):
    """Nodes that node-limited routing lets a token reach: its expert groups, spread over the nodes.

    Source: DeepSeek-V3 report, arXiv 2412.19437, section 2.1.2
    """
    return topk_group * most(1, expert_nodes / n_group)


@quantity("1", "Nodes hit by unlimited routing", number_format="0.00")
def expected_nodes(expert_nodes, num_experts_per_tok):
    """Distinct nodes that a token's experts stand on if each is as likely as any other; 0 for a dense model."""
    return where(num_experts_per_tok > 0, expert_nodes * (1 - (1 - 1 / expert_nodes) ** num_experts_per_tok), 0)


@quantity("1", "Nodes per token", number_format="0.00")
def nodes_per_token(node_limit, expert_nodes, num_experts_per_tok, expected_nodes):
    """Distinct nodes that a token is sent to."""
    return where(node_limit < expert_nodes, least(node_limit, num_experts_per_tok), expected_nodes)


@quantity("1", "Remote nodes per token", number_format="0.00")
def remote_nodes_per_token(worst_case_nodes, nodes_per_token, expert_nodes):
    """Those that are not the token's own: the home node is as likely as any other, in the worst case it is none."""
    return where(
        worst_case_nodes == 1,
        least(nodes_per_token, expert_nodes - 1),
        nodes_per_token * (1 - 1 / expert_nodes),
    )


@quantity("1", "Copies per token, scale-out", number_format="0.00")
def expert_scale_out_copies(forwards_in_node, remote_nodes_per_token, num_experts_per_tok, expert_nodes):
    """Copies of a token that leave through the NIC: one per remote node, or one per remote expert."""
    return where(forwards_in_node == 1, remote_nodes_per_token, num_experts_per_tok * (1 - 1 / expert_nodes))


@quantity("1", "Copies per token, scale-up", number_format="0.00")
def expert_scale_up_copies(forwards_in_node, num_experts_per_tok, expert_ranks_in_node, expert_nodes):
    """Copies of a token that cross the scale-up network: forwarding adds those that came in from other nodes. Each
    expert counts, even where two of a token's experts share a device.
    """
    return num_experts_per_tok * (1 - 1 / expert_ranks_in_node) / where(forwards_in_node == 1, 1, expert_nodes)


@quantity("byte", "Bytes per copy, all layers and passes")
def expert_bytes_per_copy(
    tokens_per_device,
    num_moe_layers,
    num_prediction_layers,
    hidden_size,
    repeats_layer,
    dispatch_bytes,
    combine_bytes,
):
    """Per step and device, if each token had one copy: dispatch and combine, forward and backward, in each MoE layer.

    Source: DeepSeek-V3 report, arXiv 2412.19437, section 3.3.3 (FP8 dispatch, BF16 combine)
    """
    return (
        tokens_per_device
        * (num_moe_layers + num_prediction_layers)
        * hidden_size
        * (2 + repeats_layer)
        * (dispatch_bytes + combine_bytes)
    )


@quantity("byte", "Experts, scale-out")
def expert_scale_out_bytes(expert_bytes_per_copy, expert_scale_out_copies):
    """Expert all-to-all through the NIC."""
    return expert_bytes_per_copy * expert_scale_out_copies


@quantity("byte", "Experts, scale-up")
def expert_scale_up_bytes(expert_bytes_per_copy, expert_scale_up_copies):
    """Expert all-to-all over the scale-up network."""
    return expert_bytes_per_copy * expert_scale_up_copies


analysis.section("Traffic: tensor and pipeline parallel")


@quantity("1", "Tensor blocks of a MoE MLP")
def moe_tensor_blocks(expert_tensor_parallel_size, splits_shared_experts, shared_expert_intermediate_size):
    """1 where the MLP of a MoE layer is split over tensor ranks, its experts or its shared experts."""
    return where(
        expert_tensor_parallel_size + least(1, splits_shared_experts * shared_expert_intermediate_size) > 1, 1, 0
    )


@quantity("1", "Tensor blocks, average stage", number_format="0.##")
def tensor_blocks(
    num_hidden_layers,
    num_prediction_layers,
    num_dense_layers,
    num_moe_layers,
    moe_tensor_blocks,
    pipeline_parallel_size,
):
    """Attention and MLP blocks that tensor parallelism brackets with collectives."""
    return (
        num_hidden_layers
        + num_prediction_layers
        + num_dense_layers
        + (num_moe_layers + num_prediction_layers) * moe_tensor_blocks
    ) / pipeline_parallel_size


@quantity("byte", "Tensor parallel tensors per step")
def tensor_collective_bytes(
    step_tokens,
    data_parallel_size,
    hidden_size,
    activation_bytes,
    tensor_blocks,
    forward_collectives_per_tensor_block,
    repeats_layer,
    backward_collectives_per_tensor_block,
):
    """Full tensors of all gathers and reduce-scatters of a step: forward, recomputation and backward."""
    return (
        step_tokens
        / data_parallel_size
        * hidden_size
        * activation_bytes
        * tensor_blocks
        * (forward_collectives_per_tensor_block * (1 + repeats_layer) + backward_collectives_per_tensor_block)
    )


@quantity("byte", "Tensor parallel, scale-out")
def tensor_scale_out_bytes(tensor_collective_bytes, tensor_scale_out_share):
    """Through the NIC, where a tensor parallel group spans nodes."""
    return tensor_collective_bytes * tensor_scale_out_share


@quantity("byte", "Tensor parallel, scale-up")
def tensor_scale_up_bytes(tensor_collective_bytes, tensor_scale_up_share):
    """Over the scale-up network."""
    return tensor_collective_bytes * tensor_scale_up_share


@quantity("byte", "Pipeline messages")
def pipeline_bytes(pipeline_parallel_size, tokens_per_rank, hidden_size, activation_bytes):
    """An inner stage sends activations on and gradients back for every token; with two stages, one of both."""
    return least(2, pipeline_parallel_size - 1) * tokens_per_rank * hidden_size * activation_bytes


@quantity("byte", "Pipeline, scale-out")
def pipeline_scale_out_bytes(pipeline_bytes, pipeline_is_remote):
    """Through the NIC."""
    return pipeline_bytes * pipeline_is_remote


@quantity("byte", "Pipeline, scale-up")
def pipeline_scale_up_bytes(pipeline_bytes, pipeline_is_remote):
    """Over the scale-up network."""
    return pipeline_bytes * (1 - pipeline_is_remote)


analysis.section("Traffic")


@quantity("byte", "Scale-out traffic")
def scale_out_bytes(
    data_parallel_scale_out_bytes, expert_scale_out_bytes, tensor_scale_out_bytes, pipeline_scale_out_bytes
):
    """All bytes that pass a device's NIC per step, in one direction."""
    return data_parallel_scale_out_bytes + expert_scale_out_bytes + tensor_scale_out_bytes + pipeline_scale_out_bytes


@quantity("byte", "Scale-up traffic")
def scale_up_bytes(data_parallel_scale_up_bytes, expert_scale_up_bytes, tensor_scale_up_bytes, pipeline_scale_up_bytes):
    """All bytes that pass a device's scale-up port per step, in one direction."""
    return data_parallel_scale_up_bytes + expert_scale_up_bytes + tensor_scale_up_bytes + pipeline_scale_up_bytes


@quantity("byte", "HBM: weights")
def weight_hbm_bytes(
    rank_dense_parameters,
    rank_expert_parameters,
    microbatches_per_copy,
    weight_reads_per_microbatch,
    repeats_layer,
    weight_bytes,
):
    """Weights are read in the forward and in the backward pass of every micro-batch, and again where layers are
    repeated.
    """
    return (
        (rank_dense_parameters + rank_expert_parameters)
        * microbatches_per_copy
        * (weight_reads_per_microbatch + repeats_layer)
        * weight_bytes
    )


@quantity("byte", "HBM: gradients")
def gradient_hbm_bytes(
    rank_dense_parameters,
    rank_expert_parameters,
    microbatches_per_copy,
    gradient_accesses_per_microbatch,
    gradient_bytes,
):
    """Gradients are accumulated with every micro-batch."""
    return (
        (rank_dense_parameters + rank_expert_parameters)
        * microbatches_per_copy
        * gradient_accesses_per_microbatch
        * gradient_bytes
    )


@quantity("byte", "HBM: optimizer")
def optimizer_hbm_bytes(
    rank_dense_parameters,
    optimizer_shards,
    rank_expert_parameters,
    expert_optimizer_shards,
    state_accesses_per_step,
    optimizer_bytes,
):
    """The rank's shard of the optimizer states is read and written once per step."""
    return (
        (rank_dense_parameters / optimizer_shards + rank_expert_parameters / expert_optimizer_shards)
        * state_accesses_per_step
        * optimizer_bytes
    )


@quantity("byte", "HBM: activations")
def activation_hbm_bytes(
    tokens_per_rank,
    num_dense_layers,
    dense_layer_kept_bytes,
    num_moe_layers,
    num_prediction_layers,
    moe_layer_kept_bytes,
    pipeline_parallel_size,
    activation_accesses,
):
    """Kept activations are written once and read once; what kernels stream in between is not counted."""
    return (
        tokens_per_rank
        * (num_dense_layers * dense_layer_kept_bytes + (num_moe_layers + num_prediction_layers) * moe_layer_kept_bytes)
        / pipeline_parallel_size
        * activation_accesses
    )


@quantity("byte", "HBM traffic")
def hbm_bytes(weight_hbm_bytes, gradient_hbm_bytes, optimizer_hbm_bytes, activation_hbm_bytes):
    """The least that a device's memory must move per step."""
    return weight_hbm_bytes + gradient_hbm_bytes + optimizer_hbm_bytes + activation_hbm_bytes
