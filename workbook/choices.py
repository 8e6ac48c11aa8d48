"""Choices: each is a row of a table with numeric columns, picked by name. A new schedule is a new row."""

from workbook.model import analysis

analysis.section("Choices")


def _choice(name: str, key: str, table: str, label: str, note: str, unit: str = "1") -> None:
    analysis.lookup(name, unit, label, key, table, note, number_format="0.##")


_choice(
    "latent_attention",
    "attention_kind",
    "Attention",
    "Latent attention",
    "1 where keys and values are compressed (MLA).",
)
_choice(
    "trains_prediction_layers",
    "multi_token_prediction",
    "Switch",
    "Trains prediction layers",
    "1 where multi-token prediction is on.",
)
_choice(
    "shards_sequence",
    "sequence_parallelism",
    "Switch",
    "Splits the sequence over tensor ranks",
    "1 where sequence parallelism is on.",
)
_choice(
    "exchanges_heads",
    "context_parallel_algorithm",
    "Context",
    "Exchanges heads",
    "1 where each context rank computes some heads of the whole sequence (Ulysses), 0 where keys and values travel.",
)
_choice(
    "context_forward_passes",
    "context_parallel_algorithm",
    "Context",
    "Exchanges per layer, forward",
    "How often the tensors that attention needs are exchanged in the forward pass.",
)
_choice(
    "context_backward_passes",
    "context_parallel_algorithm",
    "Context",
    "Exchanges per layer, backward",
    "In the backward pass: the same tensors again, and their gradients.",
)
_choice(
    "context_hops_in_turn",
    "context_parallel_algorithm",
    "Context",
    "Waits for every rank in turn",
    "1 where an exchange goes round a ring, 0 where it is one collective.",
)
_choice(
    "pipeline_inside_data",
    "rank_order",
    "RankOrder",
    "Pipeline inside data",
    "1 where ranks of a pipeline are closer than data-parallel ones.",
)
_choice(
    "pipeline_inside_tensor",
    "rank_order",
    "RankOrder",
    "Pipeline inside tensor",
    "1 where ranks of a pipeline are neighbours, closer than tensor-parallel ones.",
)
_choice(
    "rounds_layers",
    "stage_layout",
    "StageLayout",
    "Whole layers",
    "1 where a stage has whole layers, 0 where work is taken to divide evenly.",
)
_choice(
    "balances_layers",
    "stage_layout",
    "StageLayout",
    "Balances layers",
    "1 where stages differ by one layer at most, the larger ones first; 0 where each is filled before the next.",
)

_choice(
    "shards_weights", "zero_stage", "ZeRO", "Shards weights", "1 where each rank keeps only its shard of the weights."
)
_choice(
    "shards_gradients",
    "zero_stage",
    "ZeRO",
    "Shards gradients",
    "1 where each rank keeps only its shard of the gradients.",
)
_choice(
    "shards_optimizer",
    "zero_stage",
    "ZeRO",
    "Shards optimizer",
    "1 where each rank keeps only its shard of the optimizer states.",
)
_choice(
    "weight_gathers_per_step",
    "zero_stage",
    "ZeRO",
    "Weight gathers per step",
    "All-gathers of the updated weights, once per step.",
)
_choice(
    "weight_gathers_per_microbatch",
    "zero_stage",
    "ZeRO",
    "Weight gathers per micro-batch",
    "All-gathers of sharded weights in every forward and backward pass.",
)
_choice(
    "gradient_reductions_per_step",
    "zero_stage",
    "ZeRO",
    "Gradient reductions per step",
    "Reduce-scatters of the accumulated gradients.",
)
_choice(
    "gradient_reductions_per_microbatch",
    "zero_stage",
    "ZeRO",
    "Gradient reductions per micro-batch",
    "Reduce-scatters in every backward pass, where gradients are kept sharded.",
)
_choice(
    "gradient_gathers_per_step",
    "zero_stage",
    "ZeRO",
    "Gradient gathers per step",
    "The all-gather half of an all-reduce, where nothing is sharded.",
)

_choice(
    "bubble_stage_divisor",
    "pipeline_schedule",
    "Schedules",
    "Bubble: stages per direction",
    "The bubble has PP / this - 1 slots.",
)
_choice("bubble_forward", "pipeline_schedule", "Schedules", "Bubble: forward passes per slot", "Coefficient of F.")
_choice(
    "bubble_backward",
    "pipeline_schedule",
    "Schedules",
    "Bubble: backward passes per slot",
    "Coefficient of B, the full backward pass.",
)
_choice(
    "bubble_weight_gradient",
    "pipeline_schedule",
    "Schedules",
    "Bubble: weight gradients per slot",
    "Coefficient of W, negative where weight gradients fill the bubble.",
)
_choice(
    "bubble_overlapped",
    "pipeline_schedule",
    "Schedules",
    "Bubble: overlapped pairs per slot",
    "Coefficient of F&B, a forward and a backward pass run together.",
)
_choice(
    "parameter_copies", "pipeline_schedule", "Schedules", "Parameter copies", "Stages that a device holds weights of."
)
_choice(
    "in_flight_per_stage",
    "pipeline_schedule",
    "Schedules",
    "In-flight micro-batches per stage",
    "Activations that the first device keeps, per pipeline stage.",
)
_choice(
    "in_flight_extra",
    "pipeline_schedule",
    "Schedules",
    "In-flight micro-batches, extra",
    "Further ones whatever the number of stages.",
)
_choice(
    "in_flight_decline", "pipeline_schedule", "Schedules", "In-flight decline", "How many fewer each later stage keeps."
)
_choice(
    "keeps_all_microbatches",
    "pipeline_schedule",
    "Schedules",
    "Keeps all micro-batches",
    "1 where every micro-batch's activations are kept until the backward phase (GPipe).",
)
_choice(
    "in_flight_interleaved",
    "pipeline_schedule",
    "Schedules",
    "In-flight micro-batches, interleaved",
    "1 where (PP - 1) / VP more are kept, as interleaving needs.",
)
_choice(
    "mirrors_stages",
    "pipeline_schedule",
    "Schedules",
    "Mirrors stages",
    "1 where a device holds a stage and its mirror image: the first with the last, the second with the last but one.",
)
_choice(
    "least_virtual_stages",
    "pipeline_schedule",
    "Schedules",
    "Virtual stages, at least",
    "Fewest chunks per device that the schedule is made for.",
)
_choice(
    "most_virtual_stages",
    "pipeline_schedule",
    "Schedules",
    "Virtual stages, at most",
    "Most chunks per device that the schedule is made for.",
)
_choice(
    "stages_multiple",
    "pipeline_schedule",
    "Schedules",
    "Stages multiple",
    "The pipeline size must be a multiple of this.",
)
_choice(
    "microbatches_per_stage",
    "pipeline_schedule",
    "Schedules",
    "Micro-batches per stage, at least",
    "Micro-batches that the schedule needs per stage.",
)

_choice(
    "keeps_internals",
    "recomputation",
    "Recomputation",
    "Keeps internals",
    "Part of the residual stream inside the layer, latents and router scores that is kept.",
)
_choice(
    "keeps_norm_outputs",
    "recomputation",
    "Recomputation",
    "Keeps norm outputs",
    "Part of the outputs of norms that is kept; nothing but the norm is computed again.",
)
_choice(
    "keeps_projections",
    "recomputation",
    "Recomputation",
    "Keeps queries, keys, values",
    "Of attention without latents: part of the queries, keys and values that is kept.",
)
_choice(
    "keeps_up_projections",
    "recomputation",
    "Recomputation",
    "Keeps up-projected latents",
    "Of MLA: part of the queries, keys and values that is kept; what is not repeats the up-projections.",
)
_choice(
    "keeps_probabilities",
    "recomputation",
    "Recomputation",
    "Keeps attention probabilities",
    "1 where attention is not fused and keeps its probabilities.",
)
_choice(
    "keeps_attention_output",
    "recomputation",
    "Recomputation",
    "Keeps attention outputs",
    "Part of the outputs of the attention core that is kept.",
)
_choice(
    "keeps_projection_input",
    "recomputation",
    "Recomputation",
    "Keeps output projection inputs",
    "1 where the output projection keeps a copy of its input if its format differs, 0 where attention shares it.",
)
_choice(
    "keeps_dropout_masks",
    "recomputation",
    "Recomputation",
    "Keeps dropout masks",
    "1 in training with dropout.",
)
_choice(
    "keeps_gates",
    "recomputation",
    "Recomputation",
    "Keeps gate and up",
    "Of dense MLPs: part of the inputs of the activation function that is kept.",
)
_choice(
    "keeps_products",
    "recomputation",
    "Recomputation",
    "Keeps products",
    "Of dense MLPs: part of the outputs of the activation function that is kept.",
)
_choice(
    "keeps_expert_inputs",
    "recomputation",
    "Recomputation",
    "Keeps expert inputs",
    "Part of the dispatched rows that is kept; what is not is dispatched again.",
)
_choice(
    "keeps_expert_gates",
    "recomputation",
    "Recomputation",
    "Keeps experts' gate and up",
    "Of experts: part of the inputs of the activation function that is kept.",
)
_choice(
    "keeps_expert_products",
    "recomputation",
    "Recomputation",
    "Keeps experts' products",
    "Of experts: part of the outputs of the activation function that is kept.",
)
_choice(
    "keeps_expert_outputs",
    "recomputation",
    "Recomputation",
    "Keeps expert outputs",
    "1 where the router's weights are applied to the outputs of experts, which are then needed again.",
)
_choice(
    "repeats_attention",
    "recomputation",
    "Recomputation",
    "Repeats attention",
    "1 where scores and values are computed again.",
)
_choice(
    "repeats_up_projections",
    "recomputation",
    "Recomputation",
    "Repeats up-projections",
    "Of MLA: part of the projections up from the latents that is computed again.",
)
_choice(
    "repeats_dense_mlps",
    "recomputation",
    "Recomputation",
    "Repeats dense MLPs",
    "Part of the dense MLPs that is computed again, all of their matrices.",
)
_choice(
    "repeats_experts",
    "recomputation",
    "Recomputation",
    "Repeats experts",
    "Part of the MoE blocks that is computed again: router, routed and shared experts, dispatch and combine.",
)
_choice(
    "repeats_layer",
    "recomputation",
    "Recomputation",
    "Repeats layers",
    "1 where the whole layer, its messages included, is run again.",
)

_choice(
    "attention_linear_level",
    "precision",
    "Precision",
    "Attention projections",
    "Format that they are multiplied in: 0 for BF16 (or FP16), 1 for FP8, 2 for FP4.",
)
_choice(
    "mlp_linear_level",
    "precision",
    "Precision",
    "MLPs and experts",
    "Format that they are multiplied in: 0 for BF16 (or FP16), 1 for FP8, 2 for FP4.",
)
_choice(
    "attention_core_level",
    "precision",
    "Precision",
    "Attention core",
    "Format that scores and values are multiplied in: 0 for BF16 (or FP16), 1 for FP8, 2 for FP4.",
)
_choice(
    "head_level",
    "precision",
    "Precision",
    "Output head",
    "Format that the output head is multiplied in: 0 for BF16 (or FP16), 1 for FP8, 2 for FP4.",
)
_choice("weight_bytes", "precision", "Precision", "Bytes per weight", "Weights as kept for the forward pass.", "byte")
_choice(
    "weight_operand_bytes",
    "precision",
    "Precision",
    "Bytes per multiplied weight",
    "Weights of layers as they are multiplied: copies in the recipe's format, made once per step.",
    "byte",
)
_choice("gradient_bytes", "precision", "Precision", "Bytes per gradient", "Gradients as accumulated.", "byte")
_choice(
    "master_weight_bytes",
    "precision",
    "Precision",
    "Bytes per master weight",
    "The optimizer's copy of the weights.",
    "byte",
)
_choice(
    "moment_bytes",
    "precision",
    "Precision",
    "Bytes of both moments",
    "First and second moment of AdamW together.",
    "byte",
)
_choice(
    "weight_gather_bytes",
    "precision",
    "Precision",
    "Bytes per gathered weight",
    "Weights as sent in all-gathers.",
    "byte",
)
_choice(
    "gradient_reduce_bytes",
    "precision",
    "Precision",
    "Bytes per reduced gradient",
    "Gradients as sent in reduce-scatters.",
    "byte",
)
_choice(
    "activation_bytes",
    "precision",
    "Precision",
    "Bytes per activation",
    "Residual stream, attention operands and pipeline messages.",
    "byte/token",
)
_choice(
    "linear_input_bytes",
    "precision",
    "Precision",
    "Bytes per kept linear input",
    "Inputs of linear layers as kept for the weight gradient.",
    "byte/token",
)
_choice(
    "gate_bytes",
    "precision",
    "Precision",
    "Bytes per kept gate output",
    "Inputs of the MLP's activation function (outputs of gate and up) as kept for the backward pass.",
    "byte/token",
)
_choice(
    "dispatch_bytes",
    "precision",
    "Precision",
    "Bytes per dispatched element",
    "Activations sent to experts (and their gradients).",
    "byte/token",
)
_choice(
    "combine_bytes",
    "precision",
    "Precision",
    "Bytes per combined element",
    "Activations sent back from experts (and their gradients).",
    "byte/token",
)

_choice(
    "logit_bytes",
    "cross_entropy",
    "CrossEntropy",
    "Bytes per logit kept by the loss",
    "The softmax that the loss keeps for its backward pass, beside the logits.",
    "byte/token",
)
_choice(
    "enters_node_once", "bandwidth_model", "Bandwidth", "Each byte enters a node once", "1 in the hierarchical model."
)
_choice(
    "reduces_in_network",
    "bandwidth_model",
    "Bandwidth",
    "Switches reduce",
    "1 where switches add up on the way: a device only sends in a reduction and only receives in a gather.",
)
_choice("uses_measured", "ceilings", "Ceilings", "Uses measured rates", "1 for measured, 0 for datasheet rates.")
_choice(
    "forwards_in_node",
    "expert_dispatch",
    "Dispatch",
    "Forwards inside the node",
    "1 where a token is sent once per node and forwarded there.",
)
_choice(
    "worst_case_nodes",
    "expert_dispatch",
    "Dispatch",
    "Worst case of nodes",
    "1 where all of a token's nodes are taken to be remote.",
)
_choice(
    "splits_query_rope",
    "sharding_layout",
    "Layout",
    "Splits rotary query projection",
    "1 where tensor parallelism splits the rotary part of the query projection.",
)
_choice(
    "splits_shared_experts",
    "sharding_layout",
    "Layout",
    "Splits shared experts",
    "1 where tensor parallelism splits shared experts.",
)
_choice(
    "shards_shared_with_experts",
    "sharding_layout",
    "Layout",
    "Shards shared experts with routed ones",
    "1 where shared experts and router are sharded over the expert-data-parallel ranks.",
)

_choice(
    "counts_full_square",
    "flop_convention",
    "Conventions",
    "Counts the full attention square",
    "1 where masked attention entries count, 0 where the causal half does.",
)
_choice(
    "counts_embedding",
    "flop_convention",
    "Conventions",
    "Counts the embedding",
    "1 where the embedding's look-up counts as a multiplication.",
)
_choice("counts_router", "flop_convention", "Conventions", "Counts routers", "1 where routers of MoE layers count.")
_choice(
    "counts_recomputation",
    "flop_convention",
    "Conventions",
    "Counts recomputation",
    "1 where what is computed again in the backward pass counts: hardware FLOPs instead of model FLOPs.",
)
_choice(
    "divides_by_linear_peak",
    "flop_convention",
    "Conventions",
    "Divides by the linear layers' peak",
    "1 where the peak of the format that linear layers run in divides, 0 where always BF16's does.",
)
