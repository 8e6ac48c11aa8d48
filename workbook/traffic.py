"""Traffic: bytes that a device receives per step over each network, collective by collective.

An all-gather of V bytes in a group of n ranks, g of them in one node and p in one pod, must bring each rank the
V * (n - 1) / n bytes that it does not have; a reduce-scatter must take as many away, added up on the way or not.
Flat: those of other nodes, V * (n - g) / n, come through the rank's own NIC. Hierarchical: each of them enters the node
once, V * (n - g) / n / g per rank, and the scale-up network passes everything on, V * (g - 1) / g. The same holds for
pods. An all-reduce is both. Where switches add up, a rank only sends in a reduce-scatter and only receives in an
all-gather: the direction that is busier counts, which of an all-reduce is V once.
"""

from pyxl.operations import least, most, where
from workbook.model import analysis, quantity
from workbook.parallelism import GROUPS

analysis.section("Traffic: shares of a collective")
SHARE = "0.0000"


@quantity("1", "Context ranks of a node need the same bytes")
def context_shares_bytes(enters_node_once, exchanges_heads):
    """1 where keys and values enter a node once for all of its ranks; where heads are exchanged each rank has its own.

    Source: Jacobs et al. 2023 (DeepSpeed Ulysses), arXiv 2309.14509, section 3.2 (all-to-all)
    """
    return enters_node_once * (1 - exchanges_heads)


for group in GROUPS:
    # Where heads are exchanged each context rank needs bytes of its own, so that none is passed on in a node.
    once = "context_shares_bytes" if group.name == "context" else "enters_node_once"

    @quantity(
        "1",
        f"Scale-out share, {group.label}",
        number_format=SHARE,
        called=f"{group.name}_scale_out_share",
        size=group.size,
        ranks_in_node=group.ranks_in_node,
        once=once,
    )
    def scale_out_share(size, ranks_in_node, once):
        """Part of a tensor that reaches a rank's NIC in a collective of the group."""
        return (size - ranks_in_node) / size / where(once == 1, ranks_in_node, 1)

    @quantity(
        "1",
        f"Scale-up share, {group.label}",
        number_format=SHARE,
        called=f"{group.name}_scale_up_share",
        size=group.size,
        ranks_in_node=group.ranks_in_node,
        once=once,
    )
    def scale_up_share(ranks_in_node, once, size):
        """Part of a tensor that reaches a rank by the scale-up network in a collective of the group."""
        return (ranks_in_node - 1) / where(once == 1, ranks_in_node, size)

    @quantity(
        "1",
        f"Share between pods, {group.label}",
        number_format=SHARE,
        called=f"{group.name}_pod_share",
        size=group.size,
        ranks_in_pod=group.ranks_in_pod,
        once=once,
    )
    def pod_share(size, ranks_in_pod, once):
        """Part of a tensor that reaches a rank from other pods in a collective of the group."""
        return (size - ranks_in_pod) / size / where(once == 1, ranks_in_pod, 1)


analysis.section("Traffic: data parallel")


@quantity("1", "Layers per rank, average stage", number_format="#,##0")
def rank_layer_parameters(
    num_dense_layers,
    rank_dense_layer_parameters,
    num_moe_layers,
    num_prediction_layers,
    rank_moe_layer_parameters,
    rank_prediction_parameters,
    pipeline_parallel_size,
    parameter_copies,
):
    """All layers but the routed experts, spread evenly over the stages, once per copy that a device holds."""
    return (
        (
            num_dense_layers * rank_dense_layer_parameters
            + (num_moe_layers + num_prediction_layers) * rank_moe_layer_parameters
            + rank_prediction_parameters
        )
        / pipeline_parallel_size
        * parameter_copies
    )


@quantity("1", "Dense state per rank, average stage", number_format="#,##0")
def rank_dense_parameters(
    rank_layer_parameters,
    embedding_parameters,
    tensor_parallel_size,
    rank_head_parameters,
    pipeline_parallel_size,
    parameter_copies,
):
    """All that is not a routed expert, spread evenly over the stages, once per copy that a device holds."""
    return (
        rank_layer_parameters
        + (embedding_parameters / tensor_parallel_size + rank_head_parameters)
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
    gradient_reductions_per_step,
    gradient_reductions_per_microbatch,
    microbatches_per_copy,
    gradient_gathers_per_step,
    reduces_in_network,
):
    """Reduce-scatters of the gradients per step, and the all-gather half where gradients are all-reduced, unless
    switches add them up.
    """
    return (
        gradient_reductions_per_step
        + gradient_reductions_per_microbatch * microbatches_per_copy
        + gradient_gathers_per_step * (1 - reduces_in_network)
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
def dense_collective_bytes(
    reduces_in_network, dense_gather_tensor, weight_gathers, dense_reduce_tensor, gradient_collectives
):
    """Full tensors of all gathers and reductions of a step. Where switches add up, a rank only sends in a reduction and
    only receives in a gather: the larger of them counts.
    """
    return where(
        reduces_in_network == 1,
        most(dense_gather_tensor * weight_gathers, dense_reduce_tensor * gradient_collectives),
        dense_gather_tensor * weight_gathers + dense_reduce_tensor * gradient_collectives,
    )


@quantity("byte", "Data parallel tensors per step, expert state")
def expert_collective_bytes(
    reduces_in_network, expert_gather_tensor, weight_gathers, expert_reduce_tensor, gradient_collectives
):
    """Full tensors of all gathers and reductions of a step, or the larger of them where switches add up."""
    return where(
        reduces_in_network == 1,
        most(expert_gather_tensor * weight_gathers, expert_reduce_tensor * gradient_collectives),
        expert_gather_tensor * weight_gathers + expert_reduce_tensor * gradient_collectives,
    )


@quantity("byte", "Replica tensors per step, dense state")
def dense_replica_bytes(dense_reduce_tensor, shard_size, reduces_in_network):
    """Between replicas each shard of the gradients is all-reduced once per step: two passes over it, or one."""
    return (2 - reduces_in_network) * dense_reduce_tensor / shard_size


@quantity("byte", "Replica tensors per step, expert state")
def expert_replica_bytes(expert_reduce_tensor, expert_shard_size, reduces_in_network):
    """Between replicas each shard of the gradients is all-reduced once per step: two passes over it, or one."""
    return (2 - reduces_in_network) * expert_reduce_tensor / expert_shard_size


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


@quantity("byte", "Data parallel, between pods")
def data_parallel_pod_bytes(
    dense_collective_bytes,
    shard_pod_share,
    expert_collective_bytes,
    expert_shard_pod_share,
    dense_replica_bytes,
    replica_pod_share,
    expert_replica_bytes,
    expert_replica_pod_share,
):
    """Gathers and reductions of weights and gradients that cross pods."""
    return (
        dense_collective_bytes * shard_pod_share
        + expert_collective_bytes * expert_shard_pod_share
        + dense_replica_bytes * replica_pod_share
        + expert_replica_bytes * expert_replica_pod_share
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


@quantity("1", "Expert ranks that a token may reach")
def reachable_expert_ranks(node_limit, expert_nodes, expert_ranks_in_node):
    """Ranks of the nodes that routing lets a token reach."""
    return least(node_limit, expert_nodes) * expert_ranks_in_node


@quantity("1", "Ranks per token", number_format="0.00")
def expert_ranks_per_token(worst_case_nodes, num_experts_per_tok, reachable_expert_ranks):
    """Distinct ranks that a token's experts stand on: expected if each is as likely as any other, or in the worst case
    as many as experts.
    """
    return where(
        worst_case_nodes == 1,
        least(num_experts_per_tok, reachable_expert_ranks),
        where(
            num_experts_per_tok > 0,
            reachable_expert_ranks * (1 - (1 - 1 / reachable_expert_ranks) ** num_experts_per_tok),
            0,
        ),
    )


@quantity("1", "Copies per token, scale-up", number_format="0.00")
def expert_scale_up_copies(
    forwards_in_node, expert_ranks_per_token, num_experts_per_tok, expert_ranks_in_node, expert_nodes
):
    """Copies of a token that cross the scale-up network: with forwarding one per rank, also of tokens that came in from
    other nodes, else one per expert of the own node.

    Source: deepseek-ai/DeepEP, normal kernels: a rank gets a token once, whichever of its experts want it
    """
    return (1 - 1 / expert_ranks_in_node) * where(
        forwards_in_node == 1, expert_ranks_per_token, num_experts_per_tok / expert_nodes
    )


@quantity("1", "Passes through the experts")
def expert_passes(repeats_layer, repeats_experts):
    """Forward and backward, and forward once more where layers or experts are repeated."""
    return 2 + most(repeats_layer, repeats_experts)


@quantity("byte", "Bytes per copy, all layers and passes")
def expert_bytes_per_copy(
    tokens_per_device,
    num_moe_layers,
    num_prediction_layers,
    hidden_size,
    expert_passes,
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
        * expert_passes
        * (dispatch_bytes + combine_bytes)
    )


@quantity("byte", "Experts, scale-out")
def expert_scale_out_bytes(expert_bytes_per_copy, expert_scale_out_copies):
    """Expert all-to-all through the NIC."""
    return expert_bytes_per_copy * expert_scale_out_copies


@quantity("byte", "Experts, between pods")
def expert_pod_bytes(expert_scale_out_bytes, expert_share_outside_pod):
    """Expert all-to-all that crosses pods."""
    return expert_scale_out_bytes * expert_share_outside_pod


@quantity("byte", "Experts, scale-up")
def expert_scale_up_bytes(expert_bytes_per_copy, expert_scale_up_copies):
    """Expert all-to-all over the scale-up network."""
    return expert_bytes_per_copy * expert_scale_up_copies


analysis.section("Traffic: tensor parallel")


@quantity("1", "Tensor blocks of a MoE MLP")
def moe_tensor_blocks(
    splits_shared_experts,
    shared_expert_intermediate_size,
    expert_parallel_size,
    expert_tensor_parallel_size,
    tensor_parallel_size,
):
    """1 where the shared experts of a MoE layer are split over tensor ranks; 0 where the same ranks share the routed
    experts, too, as they gather each token only once for both.
    """
    return where(
        splits_shared_experts * shared_expert_intermediate_size > 0,
        where(
            expert_tensor_parallel_size > 1,
            least(
                1,
                most(
                    expert_parallel_size - 1,
                    expert_tensor_parallel_size - tensor_parallel_size,
                    tensor_parallel_size - expert_tensor_parallel_size,
                ),
            ),
            1,
        ),
        0,
    )


@quantity("1", "Attention blocks, average stage", number_format="0.##")
def attention_tensor_blocks(num_hidden_layers, num_prediction_layers, pipeline_parallel_size):
    """Attention blocks that tensor parallelism brackets with collectives."""
    return (num_hidden_layers + num_prediction_layers) / pipeline_parallel_size


@quantity("1", "MLP blocks, average stage", number_format="0.##")
def mlp_tensor_blocks(
    num_dense_layers,
    parallel_blocks,
    num_moe_layers,
    num_prediction_layers,
    moe_tensor_blocks,
    pipeline_parallel_size,
):
    """Dense MLPs and shared experts that tensor parallelism brackets with collectives of their own; beside attention an
    MLP shares those of attention.

    Source: Chowdhery et al. 2022, arXiv 2204.02311, section 2 (parallel layers)
    """
    return (
        num_dense_layers * (1 - parallel_blocks) + (num_moe_layers + num_prediction_layers) * moe_tensor_blocks
    ) / pipeline_parallel_size


@quantity("1", "Tensor blocks, average stage", number_format="0.##")
def tensor_blocks(attention_tensor_blocks, mlp_tensor_blocks):
    """Attention and MLP blocks that tensor parallelism brackets with collectives."""
    return attention_tensor_blocks + mlp_tensor_blocks


@quantity("1", "Collectives per tensor block and pass, forward", number_format="0.##")
def tensor_forward_collectives(forward_collectives_per_tensor_block, shards_sequence, reduces_in_network):
    """An all-gather and a reduce-scatter; without sequence parallelism they are one all-reduce, which switches may add
    up on its way.
    """
    return forward_collectives_per_tensor_block - (1 - shards_sequence) * reduces_in_network


@quantity("1", "Collectives per tensor block and pass, backward", number_format="0.##")
def tensor_backward_collectives(tensor_forward_collectives, shards_sequence):
    """The conjugates, and with sequence parallelism one more all-gather of the input, of which a rank keeps its part.

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2
    """
    return tensor_forward_collectives + shards_sequence


@quantity("1", "Width of attention's input", number_format="#,##0")
def attention_input_width(latent_attention, q_lora_rank, kv_lora_rank, qk_rope_head_dim, hidden_size):
    """Elements per token that the split projections of attention start from: the latents, if all come from latents.

    Source: Megatron-Core, multi_latent_attention (down-projections of the rank's own tokens, then a gather)
    """
    return where(latent_attention * q_lora_rank > 0, q_lora_rank + kv_lora_rank + qk_rope_head_dim, hidden_size)


@quantity("1", "Elements reduced per token", number_format="#,##0.##")
def tensor_reduced_width(attention_tensor_blocks, attention_input_width, mlp_tensor_blocks, hidden_size, repeats_layer):
    """Outputs of all blocks in forward passes, gradients of their inputs in the backward pass."""
    return attention_tensor_blocks * (
        hidden_size * (1 + repeats_layer) + attention_input_width
    ) + mlp_tensor_blocks * hidden_size * (2 + repeats_layer)


@quantity("1", "Elements gathered per token", number_format="#,##0.##")
def tensor_gathered_width(
    tensor_reduced_width,
    shards_sequence,
    attention_tensor_blocks,
    attention_input_width,
    hidden_size,
    repeats_layer,
    mlp_tensor_blocks,
):
    """What was reduced, where all ranks need it; with sequence parallelism the inputs of all blocks in forward passes,
    and again with the gradients of their outputs in the backward pass.
    """
    return where(
        shards_sequence == 1,
        attention_tensor_blocks * (attention_input_width * (2 + repeats_layer) + hidden_size)
        + mlp_tensor_blocks * hidden_size * (2 + repeats_layer + shards_sequence),
        tensor_reduced_width,
    )


@quantity("byte/token", "Bytes per gathered element")
def tensor_gather_bytes(shards_sequence, linear_input_bytes, activation_bytes):
    """With sequence parallelism linear layers gather their inputs, and the gradients of their outputs, as they multiply
    them.

    Source: NVIDIA Transformer Engine, gather_along_first_dim and grad_output_preprocess (cast to FP8, then gathered)
    """
    return where(shards_sequence == 1, least(linear_input_bytes, activation_bytes), activation_bytes)


@quantity("token", "Tokens of a tensor parallel group", number_format="#,##0.##")
def tensor_group_tokens(step_tokens, data_parallel_size, context_parallel_size):
    """Tokens that its ranks work on together in a step."""
    return step_tokens / (data_parallel_size * context_parallel_size)


@quantity("byte", "Tensor parallel gathers per step")
def tensor_gathered_bytes(tensor_group_tokens, tensor_gathered_width, tensor_gather_bytes):
    """Full tensors of all gathers of a step."""
    return tensor_group_tokens * tensor_gathered_width * tensor_gather_bytes


@quantity("byte", "Tensor parallel reductions per step")
def tensor_reduced_bytes(tensor_group_tokens, tensor_reduced_width, activation_bytes):
    """Full tensors of all reduce-scatters of a step."""
    return tensor_group_tokens * tensor_reduced_width * activation_bytes


@quantity("byte", "Tensor parallel tensors per step")
def tensor_collective_bytes(reduces_in_network, tensor_gathered_bytes, tensor_reduced_bytes):
    """Gathers and reduce-scatters. Where switches add up, a rank only sends in a reduction and only receives in a
    gather: the larger of them counts.
    """
    return where(
        reduces_in_network == 1,
        most(tensor_gathered_bytes, tensor_reduced_bytes),
        tensor_gathered_bytes + tensor_reduced_bytes,
    )


@quantity("byte", "Tensor parallel, scale-out")
def tensor_scale_out_bytes(tensor_collective_bytes, tensor_scale_out_share):
    """Through the NIC, where a tensor parallel group spans nodes."""
    return tensor_collective_bytes * tensor_scale_out_share


@quantity("byte", "Tensor parallel, scale-up")
def tensor_scale_up_bytes(tensor_collective_bytes, tensor_scale_up_share):
    """Over the scale-up network."""
    return tensor_collective_bytes * tensor_scale_up_share


@quantity("byte", "Tensor parallel, between pods")
def tensor_pod_bytes(tensor_collective_bytes, tensor_pod_share):
    """Where a tensor parallel group spans pods."""
    return tensor_collective_bytes * tensor_pod_share


@quantity("1", "Copies of a token in an expert tensor group", number_format="0.00")
def expert_tensor_copies(forwards_in_node, expert_ranks_per_token, expert_parallel_size, num_experts_per_tok):
    """Rows that the ranks of an expert tensor group gather per token of their own: one for each rank that the token is
    sent to, or one per expert; the token itself where every rank has a part of all experts.
    """
    return where(forwards_in_node == 1, expert_ranks_per_token, where(expert_parallel_size > 1, num_experts_per_tok, 1))


@quantity("byte", "Expert tensor parallel tensors per step")
def expert_tensor_collective_bytes(
    tokens_per_device,
    expert_tensor_parallel_size,
    expert_tensor_copies,
    hidden_size,
    num_moe_layers,
    num_prediction_layers,
    expert_passes,
    reduces_in_network,
    dispatch_bytes,
    combine_bytes,
):
    """Experts split over ranks gather their tokens as dispatched and reduce-scatter what is combined, forward,
    recomputed and backward; where switches add up, the larger of both counts.

    Source: MoE Parallel Folding, arXiv 2504.14960, section 3.3
    """
    return (
        tokens_per_device
        * expert_tensor_parallel_size
        * expert_tensor_copies
        * hidden_size
        * (num_moe_layers + num_prediction_layers)
        * expert_passes
        * where(reduces_in_network == 1, most(dispatch_bytes, combine_bytes), dispatch_bytes + combine_bytes)
    )


@quantity("byte", "Expert tensor parallel, scale-out")
def expert_tensor_scale_out_bytes(expert_tensor_collective_bytes, expert_tensor_scale_out_share):
    """Through the NIC, where an expert tensor group spans nodes."""
    return expert_tensor_collective_bytes * expert_tensor_scale_out_share


@quantity("byte", "Expert tensor parallel, scale-up")
def expert_tensor_scale_up_bytes(expert_tensor_collective_bytes, expert_tensor_scale_up_share):
    """Over the scale-up network."""
    return expert_tensor_collective_bytes * expert_tensor_scale_up_share


@quantity("byte", "Expert tensor parallel, between pods")
def expert_tensor_pod_bytes(expert_tensor_collective_bytes, expert_tensor_pod_share):
    """Where an expert tensor group spans pods."""
    return expert_tensor_collective_bytes * expert_tensor_pod_share


analysis.section("Traffic: context parallel")


@quantity("1", "Layers that exchange keys and values", number_format="0.##")
def context_exchange_layers(attended_keys_causal, sequence_length, keys_per_token):
    """Layers whose attention reaches the whole sequence; one with a window counts with the part that it reaches."""
    return 2 * attended_keys_causal / (sequence_length * keys_per_token)


@quantity("1", "Width of keys and values", number_format="#,##0")
def context_exchange_width(
    exchanges_heads,
    num_attention_heads,
    query_head_dim,
    value_head_dim,
    key_value_width,
    tensor_parallel_size,
    latent_attention,
    kv_lora_rank,
    qk_rope_head_dim,
    key_value_ranks,
):
    """Elements per token that a context rank exchanges: keys and values of its heads, with MLA the latent that they
    come from; queries and outputs too where heads are exchanged.
    """
    return where(
        exchanges_heads == 1,
        (num_attention_heads * (query_head_dim + value_head_dim) + key_value_width) / tensor_parallel_size,
        where(latent_attention == 1, kv_lora_rank + qk_rope_head_dim, key_value_width / key_value_ranks),
    )


@quantity("byte", "Context parallel tensors per step")
def context_collective_bytes(
    step_tokens,
    data_parallel_size,
    exchanges_heads,
    context_parallel_size,
    context_exchange_width,
    activation_bytes,
    context_exchange_layers,
    pipeline_parallel_size,
    context_forward_passes,
    repeats_layer,
    context_backward_passes,
):
    """Full tensors of all exchanges: every rank needs the keys and values of the whole sequence, or of its own part all
    heads.
    """
    return (
        step_tokens
        / data_parallel_size
        / where(exchanges_heads == 1, context_parallel_size, 1)
        * context_exchange_width
        * activation_bytes
        * context_exchange_layers
        / pipeline_parallel_size
        * (context_forward_passes * (1 + repeats_layer) + context_backward_passes)
    )


@quantity("byte", "Context parallel, scale-out")
def context_scale_out_bytes(context_collective_bytes, context_scale_out_share):
    """Through the NIC, where a context parallel group spans nodes."""
    return context_collective_bytes * context_scale_out_share


@quantity("byte", "Context parallel, scale-up")
def context_scale_up_bytes(context_collective_bytes, context_scale_up_share):
    """Over the scale-up network."""
    return context_collective_bytes * context_scale_up_share


@quantity("byte", "Context parallel, between pods")
def context_pod_bytes(context_collective_bytes, context_pod_share):
    """Where a context parallel group spans pods."""
    return context_collective_bytes * context_pod_share


analysis.section("Traffic: pipeline parallel")


@quantity("1", "Messages per micro-batch and device")
def pipeline_messages(pipeline_parallel_size, virtual_stages, mirrors_stages):
    """Activations on and gradients back, once per chunk: an inner device sends both. Of two devices each sends one of
    them over every border of chunks between the two, of which there are fewer where the pipeline turns on a device.
    """
    return where(
        pipeline_parallel_size > 2,
        2 * virtual_stages,
        where(pipeline_parallel_size > 1, where(mirrors_stages == 1, virtual_stages, 2 * virtual_stages - 1), 0),
    )


@quantity("byte", "Pipeline messages")
def pipeline_bytes(pipeline_messages, tokens_per_rank, hidden_size, activation_bytes):
    """What a device of the pipeline sends per step; each tensor rank sends its part."""
    return pipeline_messages * tokens_per_rank * hidden_size * activation_bytes


@quantity("1", "Remote share of pipeline messages", number_format=SHARE)
def pipeline_remote_share(pipeline_is_remote, stages_in_node):
    """Part of its messages that a device at the border of a node sends out: half, if its other neighbour is inside."""
    return pipeline_is_remote / where(stages_in_node >= 2, 2, 1)


@quantity("byte", "Pipeline, scale-out")
def pipeline_scale_out_bytes(pipeline_bytes, pipeline_remote_share):
    """Through the NIC."""
    return pipeline_bytes * pipeline_remote_share


@quantity("1", "Share between pods, pipeline", number_format=SHARE)
def pipeline_pod_share(pipeline_parallel_size, pipeline_stride, pod_ranks):
    """Part of a device's messages that cross pods: all of them where a pod holds no more than one stage, else those of
    the stages at its border, spread over its devices.
    """
    return where(pipeline_parallel_size * pipeline_stride > pod_ranks, least(1, pipeline_stride / pod_ranks), 0)


@quantity("byte", "Pipeline, between pods")
def pipeline_pod_bytes(pipeline_bytes, pipeline_pod_share):
    """Messages to stages in other pods."""
    return pipeline_bytes * pipeline_pod_share


@quantity("byte", "Pipeline, scale-up")
def pipeline_scale_up_bytes(pipeline_bytes, pipeline_remote_share):
    """Over the scale-up network."""
    return pipeline_bytes * (1 - pipeline_remote_share)


analysis.section("Traffic")


@quantity("byte", "Scale-out traffic")
def scale_out_bytes(
    data_parallel_scale_out_bytes,
    expert_scale_out_bytes,
    tensor_scale_out_bytes,
    expert_tensor_scale_out_bytes,
    context_scale_out_bytes,
    pipeline_scale_out_bytes,
):
    """All bytes that pass a device's NICs per step, in one direction."""
    return (
        data_parallel_scale_out_bytes
        + expert_scale_out_bytes
        + tensor_scale_out_bytes
        + expert_tensor_scale_out_bytes
        + context_scale_out_bytes
        + pipeline_scale_out_bytes
    )


@quantity("byte", "Scale-up traffic")
def scale_up_bytes(
    data_parallel_scale_up_bytes,
    expert_scale_up_bytes,
    tensor_scale_up_bytes,
    expert_tensor_scale_up_bytes,
    context_scale_up_bytes,
    pipeline_scale_up_bytes,
):
    """All bytes that pass a device's scale-up port per step, in one direction."""
    return (
        data_parallel_scale_up_bytes
        + expert_scale_up_bytes
        + tensor_scale_up_bytes
        + expert_tensor_scale_up_bytes
        + context_scale_up_bytes
        + pipeline_scale_up_bytes
    )


@quantity("byte", "Traffic between pods")
def pod_bytes(
    data_parallel_pod_bytes,
    expert_pod_bytes,
    tensor_pod_bytes,
    expert_tensor_pod_bytes,
    context_pod_bytes,
    pipeline_pod_bytes,
):
    """A device's part of all bytes that cross pods per step, in one direction."""
    return (
        data_parallel_pod_bytes
        + expert_pod_bytes
        + tensor_pod_bytes
        + expert_tensor_pod_bytes
        + context_pod_bytes
        + pipeline_pod_bytes
    )


analysis.section("Traffic: HBM")


@quantity("1", "Output matrix per rank, average stage", number_format="#,##0")
def rank_output_parameters(vocab_size, hidden_size, tensor_parallel_size, pipeline_parallel_size, parameter_copies):
    """What the last hidden state is multiplied with, tied or not; of an embedding only the tokens' rows are read."""
    return vocab_size * hidden_size / tensor_parallel_size / pipeline_parallel_size * parameter_copies


@quantity("byte", "HBM: weights")
def weight_hbm_bytes(
    rank_layer_parameters,
    rank_expert_parameters,
    weight_reads_per_microbatch,
    repeats_layer,
    weight_operand_bytes,
    rank_output_parameters,
    weight_bytes,
    microbatches_per_copy,
):
    """Weights are read in the forward and in the backward pass of every micro-batch, those of layers again where they
    are repeated, in the format that they are multiplied in.

    Source: NVIDIA Transformer Engine, is_first_microbatch (keeps FP8 copies of the weights between micro-batches)
    """
    return microbatches_per_copy * (
        (rank_layer_parameters + rank_expert_parameters)
        * (weight_reads_per_microbatch + repeats_layer)
        * weight_operand_bytes
        + rank_output_parameters * weight_reads_per_microbatch * weight_bytes
    )


@quantity("byte", "HBM: gradients")
def gradient_hbm_bytes(
    shards_gradients,
    rank_layer_parameters,
    rank_expert_parameters,
    rank_output_parameters,
    microbatches_per_copy,
    gradient_accesses_per_microbatch,
    gradient_reduce_bytes,
    rank_dense_parameters,
    gradient_bytes,
):
    """All gradients are written once, and every further micro-batch reads and writes those of all matrices. Where they
    are sharded every micro-batch writes its own, which are read to be reduced.
    """
    return (
        where(
            shards_gradients == 1,
            microbatches_per_copy * gradient_reduce_bytes,
            most(0, microbatches_per_copy - 1) * gradient_bytes,
        )
        * (rank_layer_parameters + rank_expert_parameters + rank_output_parameters)
        * gradient_accesses_per_microbatch
        + (1 - shards_gradients) * (rank_dense_parameters + rank_expert_parameters) * gradient_bytes
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
