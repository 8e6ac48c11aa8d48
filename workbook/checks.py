"""Checks: what must hold for the numbers to mean anything. Each is OK or says what is wrong."""

from pyxl.operations import ceil, failures, least, most, require, where
from pyxl.quantity import Kind
from workbook.model import analysis, check, quantity

analysis.section("Checks")


@check("Model is known")
def check_model(latent_attention, hidden_size, num_hidden_layers, num_attention_heads):
    """The model is a row of the sheet Models, with an attention kind and the sizes that every model has."""
    return require(
        where(latent_attention >= 0, least(hidden_size, num_hidden_layers, num_attention_heads), 0) > 0,
        "model is no row of the sheet Models, or its row lacks a size",
    )


@check("Hardware is known")
def check_hardware(memory_capacity, scale_up_domain):
    """The hardware is a row of the sheet Hardware with memory and scale-up domain."""
    return require(
        where(least(memory_capacity) > 0, least(scale_up_domain), 0) > 0,
        "hardware is no row of the sheet Hardware, or its row lacks memory_capacity or scale_up_domain",
    )


@check("Choices are known")
def check_choices(
    trains_prediction_layers,
    shards_weights,
    bubble_stage_divisor,
    keeps_internals,
    mlp_linear_level,
    enters_node_once,
    uses_measured,
    forwards_in_node,
    splits_query_rope,
    shards_sequence,
    context_forward_passes,
    pipeline_inside_data,
    rounds_layers,
):
    """Each choice is a row of its table on the sheet Choices."""
    return require(
        trains_prediction_layers
        + shards_weights
        + bubble_stage_divisor
        + keeps_internals
        + mlp_linear_level
        + enters_node_once
        + uses_measured
        + forwards_in_node
        + splits_query_rope
        + shards_sequence
        + context_forward_passes
        + pipeline_inside_data
        + rounds_layers
        > 0,
        "a choice (zero_stage, pipeline_schedule, recomputation, precision ...) is no row of its table in Choices",
    )


@check("Byte widths are positive")
def check_bytes(
    weight_bytes,
    weight_operand_bytes,
    gradient_bytes,
    master_weight_bytes,
    moment_bytes,
    weight_gather_bytes,
    gradient_reduce_bytes,
    activation_bytes,
    linear_input_bytes,
    gate_bytes,
    dispatch_bytes,
    combine_bytes,
):
    """The precision recipe has a width for everything that is kept or sent."""
    return require(
        where(
            least(
                weight_bytes,
                weight_operand_bytes,
                gradient_bytes,
                master_weight_bytes,
                moment_bytes,
                weight_gather_bytes,
                gradient_reduce_bytes,
            )
            > 0,
            least(activation_bytes, linear_input_bytes, gate_bytes, dispatch_bytes, combine_bytes),
            0,
        )
        > 0,
        "every byte width of the precision recipe must be above 0",
    )


@check("Model sizes are whole")
def check_whole(num_hidden_layers, num_dense_layers, hidden_size, vocab_size, sequence_length, keys_per_token):
    """Layers, widths and the sequence are whole numbers."""
    return require(
        ceil(num_hidden_layers)
        + ceil(num_dense_layers)
        + ceil(hidden_size)
        + ceil(vocab_size)
        + ceil(sequence_length * keys_per_token)
        == num_hidden_layers + num_dense_layers + hidden_size + vocab_size + sequence_length * keys_per_token,
        "num_hidden_layers, num_dense_layers, hidden_size, vocab_size and sequence_length must be whole numbers",
    )


@check("Routing is possible")
def check_routing(num_experts_per_tok, n_routed_experts, topk_group, n_group):
    """A token visits no more experts, and no more groups of experts, than there are; groups are equal."""
    return require(
        where(
            most(num_experts_per_tok - n_routed_experts, topk_group - n_group) <= 0,
            ceil(n_routed_experts / n_group) - n_routed_experts / n_group,
            1,
        )
        == 0,
        "num_experts_per_tok must be at most n_routed_experts, topk_group at most n_group, n_group a divisor",
    )


@check("Run is known")
def check_run(training_tokens, keys_per_token, device_hour_price):
    """The run has tokens, and a price from 0."""
    return require(
        where(0 + device_hour_price >= 0, least(training_tokens) * keys_per_token, 0) > 0,
        "training_tokens must be above 0 and device_hour_price a number from 0",
    )


@check("Degrees are whole and positive")
def check_degrees(
    tensor_parallel_size,
    pipeline_parallel_size,
    expert_parallel_size,
    expert_tensor_parallel_size,
    context_parallel_size,
    virtual_stages,
    data_parallel_replicas,
):
    """Every degree of parallelism is a whole number from 1."""
    return require(
        least(
            tensor_parallel_size,
            pipeline_parallel_size,
            expert_parallel_size,
            expert_tensor_parallel_size,
            context_parallel_size,
            virtual_stages,
            data_parallel_replicas,
            1
            - most(
                ceil(tensor_parallel_size) - tensor_parallel_size,
                ceil(pipeline_parallel_size) - pipeline_parallel_size,
                ceil(expert_parallel_size) - expert_parallel_size,
                ceil(expert_tensor_parallel_size) - expert_tensor_parallel_size,
                ceil(context_parallel_size) - context_parallel_size,
                ceil(virtual_stages) - virtual_stages,
                ceil(data_parallel_replicas) - data_parallel_replicas,
            ),
        )
        >= 1,
        "every degree of parallelism must be a whole number from 1",
    )


@check("Sizes are positive")
def check_sizes(devices, ranks_per_device, step_tokens, keys_per_token, micro_batch_size, hidden_size, vocab_size):
    """Devices, batch, sequence length, micro-batch and model sizes are above 0."""
    return require(
        least(devices * ranks_per_device, step_tokens * keys_per_token, micro_batch_size, hidden_size, vocab_size) > 0,
        "devices, sequence_length, global_batch_size and micro_batch_size must be above 0",
    )


@check("Tensor parallel size divides heads")
def check_heads(num_attention_heads, tensor_parallel_size):
    """Heads are split evenly over tensor ranks."""
    return require(
        ceil(num_attention_heads / tensor_parallel_size) == num_attention_heads / tensor_parallel_size,
        "tensor_parallel_size must divide the model's num_attention_heads",
    )


@check("Tensor parallel size fits key-value heads")
def check_key_value_heads(num_key_value_heads, key_value_ranks, tensor_parallel_size):
    """Key-value heads are split evenly over tensor ranks, or evenly copied."""
    return require(
        ceil(num_key_value_heads / key_value_ranks) + ceil(tensor_parallel_size / key_value_ranks)
        == num_key_value_heads / key_value_ranks + tensor_parallel_size / key_value_ranks,
        "tensor_parallel_size must divide the model's num_key_value_heads, or be a multiple of it",
    )


@check("Degrees divide devices")
def check_devices(data_parallel_size):
    """Devices = TP x CP x PP x DP."""
    return require(
        ceil(data_parallel_size) == data_parallel_size,
        "tensor_parallel_size x context_parallel_size x pipeline_parallel_size must divide devices",
    )


@check("Expert degrees divide devices")
def check_expert_devices(expert_data_parallel_size):
    """Devices = EP x ETP x PP x expert data parallel size."""
    return require(
        ceil(expert_data_parallel_size) == expert_data_parallel_size,
        "expert_parallel_size x expert_tensor_parallel_size x pipeline_parallel_size must divide devices",
    )


@check("Expert parallel size divides experts")
def check_experts(n_routed_experts, expert_parallel_size):
    """Experts are split evenly; a dense model has none to split."""
    return require(
        ceil(most(n_routed_experts, 1) / expert_parallel_size) == most(n_routed_experts, 1) / expert_parallel_size,
        "expert_parallel_size must divide the model's n_routed_experts, and be 1 for a dense model",
    )


@check("MoE layers have experts")
def check_moe_layers(num_moe_layers, n_routed_experts, num_hidden_layers):
    """Layers beyond the dense ones have routed experts."""
    return require(
        where(n_routed_experts > 0, num_hidden_layers - num_moe_layers, 0 - num_moe_layers) >= 0,
        "the model has more num_hidden_layers than num_dense_layers but no experts: change both together",
    )


@check("Expert tensor parallel size fits")
def check_expert_tensor(expert_tensor_parallel_size, n_routed_experts, moe_intermediate_size):
    """Each expert's width is split evenly; a dense model has no experts to split."""
    return require(
        ceil(most(1, moe_intermediate_size) / expert_tensor_parallel_size)
        == where(n_routed_experts > 0, moe_intermediate_size, 1) / expert_tensor_parallel_size,
        "expert_tensor_parallel_size must divide the width of an expert, and be 1 for a dense model",
    )


@check("Experts need sequence parallelism")
def check_sequence_parallelism(expert_parallel_size, tensor_parallel_size, shards_sequence):
    """Tensor ranks that hold the same tokens would send each of them to the experts once per rank.

    Source: Megatron-LM, which demands sequence_parallel with expert and tensor parallelism
    """
    return require(
        least(expert_parallel_size - 1, tensor_parallel_size - 1, 1 - shards_sequence) <= 0,
        "expert_parallel_size and tensor_parallel_size above 1 need sequence_parallelism = on",
    )


@check("Context ranks share the sequence")
def check_context(
    sequence_length, keys_per_token, context_parallel_size, num_attention_heads, tensor_parallel_size, exchanges_heads
):
    """Each context rank has as many tokens as the others; heads are exchanged only where each rank gets some."""
    return require(
        ceil(sequence_length * keys_per_token / context_parallel_size)
        + exchanges_heads * ceil(num_attention_heads / (tensor_parallel_size * context_parallel_size))
        == sequence_length * keys_per_token / context_parallel_size
        + exchanges_heads * (num_attention_heads / (tensor_parallel_size * context_parallel_size)),
        "context_parallel_size must divide sequence_length, and with Ulysses the heads of a tensor rank",
    )


@check("Replicas divide shard groups")
def check_replicas(data_parallel_size, data_parallel_replicas, expert_data_parallel_size):
    """Hybrid sharding needs whole shard groups, of dense and of expert state."""
    return require(
        ceil(ceil(data_parallel_size) / data_parallel_replicas)
        + ceil(ceil(expert_data_parallel_size) / data_parallel_replicas)
        == (ceil(data_parallel_size) + ceil(expert_data_parallel_size)) / data_parallel_replicas,
        "data_parallel_replicas must divide the data parallel size and the expert data parallel size",
    )


@check("Micro-batches are whole")
def check_microbatches(num_microbatches, relative_tolerance):
    """The batch is a whole number of micro-batches per rank, but for rounding of fractional micro-batch sizes."""
    return require(
        ceil(num_microbatches * (1 - relative_tolerance)) - num_microbatches <= relative_tolerance * num_microbatches,
        "micro_batch_size x data parallel size must divide global_batch_size",
    )


@check("Tensor ranks fit nodes")
def check_tensor_nodes(node_ranks, tensor_parallel_size):
    """A tensor parallel group fills a part of a node or whole nodes."""
    return require(
        ceil(most(node_ranks, tensor_parallel_size) / least(node_ranks, tensor_parallel_size))
        == most(node_ranks, tensor_parallel_size) / least(node_ranks, tensor_parallel_size),
        "tensor_parallel_size must divide the scale-up domain or be a multiple of it",
    )


@check("Layers fill the stages")
def check_stages(layers_per_smaller_chunk, first_stage_fewer_layers, last_stage_fewer_layers, rounds_layers):
    """Every chunk has a layer, but for the first and the last, which may be the embedding or the head alone. All layers
    are whole unless the layout is even.

    Source: Llama 3, arXiv 2407.21783, section 3.3.2
    """
    return require(
        where(
            layers_per_smaller_chunk >= most(first_stage_fewer_layers, last_stage_fewer_layers, rounds_layers),
            rounds_layers
            * (
                ceil(first_stage_fewer_layers)
                - first_stage_fewer_layers
                + ceil(last_stage_fewer_layers)
                - last_stage_fewer_layers
            ),
            1,
        )
        == 0,
        "there are too few layers: choose fewer pipeline_parallel_size x virtual_stages, another stage_layout, smaller "
        "first_stage_fewer_layers or last_stage_fewer_layers (whole numbers)",
    )


@check("Dense layers stand first")
def check_dense_layers(
    num_moe_layers,
    pipeline_parallel_size,
    virtual_stages,
    mirrors_stages,
    num_dense_layers,
    first_stage_fewer_layers,
    layers_per_smaller_chunk,
):
    """Where devices hold several stages the dense layers of a MoE model are looked for in the first of each."""
    return require(
        least(num_moe_layers, pipeline_parallel_size - 1, most(virtual_stages - 1, mirrors_stages))
        * most(
            0,
            num_dense_layers
            + first_stage_fewer_layers
            - where(virtual_stages > 1, pipeline_parallel_size - 1, pipeline_parallel_size / 2)
            * layers_per_smaller_chunk,
        )
        <= 0,
        "the model's dense layers reach into the second stage of a device, which is not modelled: choose fewer "
        "virtual_stages, or a pipeline_schedule with one stage per device",
    )


@check("Layout fits the schedule")
def check_layout(rounds_layers, balances_layers, virtual_stages, mirrors_stages):
    """Filling stages in order is meant for one stage per device."""
    return require(
        (rounds_layers - balances_layers) * (virtual_stages - 1 + mirrors_stages) == 0,
        "stage_layout 'in order' needs a schedule with one stage per device: choose 'balanced'",
    )


@check("Schedule fits the virtual stages")
def check_virtual_stages(virtual_stages, least_virtual_stages, most_virtual_stages):
    """Interleaved 1F1B needs several chunks per device, V-shaped schedules two, the others one."""
    return require(
        where(virtual_stages >= least_virtual_stages, most_virtual_stages, 0) >= virtual_stages,
        "virtual_stages does not fit pipeline_schedule: several for interleaved 1F1B, 2 for ZB-V and DualPipeV, else 1",
    )


@check("Network is possible")
def check_network(communication_sm_share, oversubscription, pod_devices, scale_up_domain):
    """Communication leaves compute units; a network between pods is no faster than inside; a pod holds whole nodes."""
    return require(
        where(
            least(communication_sm_share, oversubscription - 1) >= 0,
            where(communication_sm_share < 1, ceil(pod_devices / scale_up_domain) - pod_devices / scale_up_domain, 1),
            1,
        )
        == 0,
        "communication_sm_share must be from 0 to below 1, oversubscription at least 1, and pod_devices whole nodes",
    )


@check("Schedule fits the stages")
def check_schedule(pipeline_parallel_size, stages_multiple):
    """Bidirectional schedules need an even number of stages."""
    return require(
        ceil(pipeline_parallel_size / stages_multiple) == pipeline_parallel_size / stages_multiple,
        "pipeline_parallel_size must be even for this pipeline_schedule",
    )


@check("Enough micro-batches")
def check_schedule_microbatches(num_microbatches, microbatches_per_stage, pipeline_parallel_size):
    """The schedule needs enough micro-batches to fill its stages."""
    return require(
        num_microbatches >= microbatches_per_stage * pipeline_parallel_size,
        "this pipeline_schedule needs more micro-batches: a larger global_batch_size or fewer stages",
    )


@check("Window layers exist")
def check_window(num_hidden_layers, sliding_window_layers, chunked_attention_layers, num_dense_layers):
    """Windowed, chunked and dense layers are some of the layers."""
    return require(
        num_hidden_layers >= most(sliding_window_layers + chunked_attention_layers, num_dense_layers),
        "the model has more windowed, chunked or dense layers than layers",
    )


@check("Compute rates are known")
def check_compute_rates(
    attention_linear_ceiling, mlp_linear_ceiling, attention_core_ceiling, head_ceiling, bf16_ceiling, bf16_peak
):
    """The chosen hardware has the compute rates that the recipe needs."""
    return require(
        least(
            attention_linear_ceiling, mlp_linear_ceiling, attention_core_ceiling, head_ceiling, bf16_ceiling, bf16_peak
        )
        > 0,
        "the hardware has no such compute rate: choose another precision, set ceilings=datasheet, or fill in the rate "
        "of the format (bf16, fp8 or fp4; measured, or peak with ceilings=datasheet)",
    )


@check("HBM bandwidth is known")
def check_hbm(hbm_ceiling):
    """The chosen hardware has this rate."""
    return require(least(hbm_ceiling) > 0, "HBM bandwidth is unknown: set ceilings=datasheet, or fill in hbm_measured")


@check("Scale-up bandwidth is known")
def check_scale_up(scale_up_bytes, scale_up_ceiling, hbm_ceiling):
    """The chosen hardware has this rate, if the strategy needs it."""
    return require(
        where(scale_up_bytes > 0, scale_up_ceiling, hbm_ceiling) > 0,
        "scale-up bandwidth is unknown: set ceilings=datasheet, or fill in scale_up_measured",
    )


@check("Scale-out bandwidth is known")
def check_scale_out(scale_out_bytes, scale_out_ceiling, hbm_ceiling):
    """The chosen hardware has this rate, if the strategy needs it."""
    return require(
        where(scale_out_bytes > 0, scale_out_ceiling, hbm_ceiling) > 0,
        "scale-out bandwidth is unknown: fill in scale_out_measured, or scale_out_peak and set ceilings=datasheet",
    )


@check("FLOP convention is known")
def check_convention(counts_full_square, counts_embedding, counts_router, counts_recomputation, utilization_peak):
    """The convention is a row of the table Conventions, and the hardware has the peak that it divides by."""
    return require(
        where(
            counts_full_square + counts_embedding + counts_router + counts_recomputation >= 0,
            least(utilization_peak),
            0,
        )
        > 0,
        "flop_convention is no row of its table in Choices, or the hardware lacks the peak that it divides by",
    )


@check("Measured step is possible")
def check_measured(measured_step_time):
    """The measured step takes time, or is 0 for none."""
    return require(0 + measured_step_time >= 0, "measured_step_time must be above 0, or 0 for none")


analysis.gather("checks", tuple(q.name for q in analysis.quantities.values() if q.kind is Kind.CHECK))


@quantity("1", "Failed checks", number_format="0")
def failed_checks(checks):
    """How many of the checks above are not OK; the numbers of a strategy with failed checks mean nothing."""
    return failures(checks)
