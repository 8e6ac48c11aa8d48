"""Inputs: what a strategy is. Every cell here is the user's; drop-downs name rows of the other sheets."""

from workbook.model import analysis

analysis.section("Strategy")

analysis.input(
    "model",
    "text",
    "Model",
    "deepseek-v3",
    "A row of the sheet Models; all model numbers below are looked up there.",
    choices="Models",
)
analysis.input(
    "hardware",
    "text",
    "Hardware",
    "H800 SXM5 80GB",
    "A row of the sheet Hardware; all device numbers below are looked up there.",
    choices="Hardware",
)
analysis.input(
    "devices", "device", "Devices", 2048, "Accelerators in the whole cluster (not nodes).", number_format="#,##0"
)
analysis.input(
    "sequence_length", "token", "Sequence length", 4096, "Tokens of one training sequence.", number_format="#,##0"
)
analysis.input(
    "global_batch_size", "1", "Global batch size", 15360, "Sequences per optimizer step.", number_format="#,##0"
)
analysis.input(
    "micro_batch_size",
    "1",
    "Micro-batch size",
    1,
    "Sequences that one data-parallel rank passes through the model at once. Packed sequences may make it fractional.",
)
analysis.input(
    "tensor_parallel_size",
    "1",
    "Tensor parallel size (TP)",
    1,
    "Ranks that share each attention and MLP matrix.",
)
analysis.input(
    "sequence_parallelism",
    "text",
    "Sequence parallelism",
    "on",
    "Whether tensor ranks also split norms and the residual stream along the sequence, as Megatron's sequence "
    "parallelism does. Without effect at TP 1.",
    choices="Switch",
)
analysis.input(
    "context_parallel_size",
    "1",
    "Context parallel size (CP)",
    1,
    "Ranks that share each sequence: every one holds its part of the tokens in all layers.",
)
analysis.input(
    "context_parallel_algorithm",
    "text",
    "Context parallel algorithm",
    "ring",
    "How attention reaches the keys of the other context ranks; at CP 1 without effect.",
    choices="Context",
)
analysis.input(
    "pipeline_parallel_size",
    "1",
    "Pipeline parallel size (PP)",
    1,
    "Devices that a pipeline runs over; each holds one stage, or several with virtual stages.",
)
analysis.input(
    "virtual_stages",
    "1",
    "Virtual stages (VP)",
    1,
    "Chunks of layers that each device of a pipeline holds: more than 1 with interleaved 1F1B, 2 with the V-shaped "
    "schedules.",
)
analysis.input(
    "stage_layout",
    "text",
    "Stage layout",
    "balanced",
    "How layers are spread over stages where they do not divide evenly.",
    choices="StageLayout",
)
analysis.input(
    "first_stage_fewer_layers",
    "1",
    "Layers fewer on the first stage",
    0,
    "Layers that the first stage has fewer than the others, in return for the embedding.",
)
analysis.input(
    "last_stage_fewer_layers",
    "1",
    "Layers fewer on the last stage",
    0,
    "Layers that the last stage has fewer than the others, in return for the output head and prediction layers.",
)
analysis.input(
    "expert_parallel_size",
    "1",
    "Expert parallel size (EP)",
    1,
    "Ranks that the routed experts of a layer are spread over. 1 for dense models.",
)
analysis.input(
    "expert_tensor_parallel_size",
    "1",
    "Expert tensor parallel size (ETP)",
    1,
    "Ranks that share each expert's matrices.",
)
analysis.input(
    "rank_order",
    "text",
    "Rank order",
    "tp-cp-dp-pp",
    "Which ranks are neighbours, innermost first: decides which groups lie inside the scale-up domain. tp, cp, dp and "
    "pp are tensor, context, data and pipeline parallel ranks; expert groups are made of the ranks of one stage, in "
    "the same order. The default is Megatron-LM's.",
    choices="RankOrder",
)
analysis.input(
    "zero_stage",
    "text",
    "ZeRO stage",
    "ZeRO-1",
    "What the data-parallel ranks shard between them. FSDP is ZeRO-3.",
    choices="ZeRO",
)
analysis.input(
    "data_parallel_replicas",
    "1",
    "Data-parallel replicas",
    1,
    "Copies of the sharded state: 1 shards over all data-parallel ranks, more is hybrid sharding (HSDP).",
)
analysis.input(
    "pipeline_schedule",
    "text",
    "Pipeline schedule",
    "1F1B",
    "Order in which a stage runs forward and backward passes; at PP 1 take 1F1B.",
    choices="Schedules",
)
analysis.input(
    "recomputation",
    "text",
    "Recomputation",
    "selective (DeepSeek-V3)",
    "Which activations are dropped in the forward pass and computed again in the backward pass.",
    choices="Recomputation",
)
analysis.input(
    "precision",
    "text",
    "Precision recipe",
    "FP8 (DeepSeek-V3)",
    "Number formats of matrix multiplications, states and messages.",
    choices="Precision",
)
analysis.input(
    "cross_entropy",
    "text",
    "Cross entropy",
    "unfused",
    "Whether the loss keeps an FP32 softmax of all logits beside the logits themselves.",
    choices="CrossEntropy",
)
analysis.input(
    "memory_allowance",
    "byte",
    "Memory allowance",
    2_000_000_000,
    "For what is not modelled: communication buffers of the network library, workspaces of kernels, allocator "
    "fragmentation, device context. Source: Zhang and Su 2025, arXiv 2502.07846: buffers of 0.8 to 2 GB; measured "
    "reserved over allocated memory is 1.03 to 1.09 (MooreThreads/SimuMax, docs/b200)",
)
analysis.input(
    "bandwidth_model",
    "text",
    "Bandwidth model",
    "flat",
    "Flat: all bytes from other nodes come through the device's own NIC. Hierarchical: each byte enters a node once "
    "and is passed on by the scale-up network. With in-network reduction, switches add up what is reduced.",
    choices="Bandwidth",
)
analysis.input(
    "ceilings",
    "text",
    "Ceilings",
    "measured",
    "Rates that time is computed with: measured on kernels, or the datasheet's.",
    choices="Ceilings",
)
analysis.input(
    "expert_dispatch",
    "text",
    "Expert dispatch",
    "one copy per node, expected",
    "How a token reaches its experts: one copy per node and forwarding inside it (DeepEP), or one copy per expert.",
    choices="Dispatch",
)
analysis.input(
    "multi_token_prediction",
    "text",
    "Multi-token prediction",
    "off",
    "Whether the model's extra prediction layers (num_nextn_predict_layers) are trained too.",
    choices="Switch",
)
analysis.input(
    "sharding_layout",
    "text",
    "Sharding layout",
    "Megatron",
    "Which weights tensor parallelism splits and which sharding group shared experts belong to.",
    choices="Layout",
)
analysis.input(
    "communication_sm_share",
    "1",
    "Share of SMs given to communication",
    0,
    "Part of each device's compute units that drives communication and computes nothing. 0 for networks that work "
    "alone; DeepSeek-V3 gave 20 of 132 (arXiv 2412.19437, section 3.2.2).",
    number_format="0.0%",
)
analysis.input(
    "pod_devices",
    "device",
    "Devices per pod",
    0,
    "Devices below one leaf of the scale-out network, between which it does not block; 0 for the whole cluster.",
    number_format="#,##0",
)
analysis.input(
    "oversubscription",
    "1",
    "Oversubscription between pods",
    1,
    "Bandwidth into a pod's devices over bandwidth into the pod: 1 for a network that does not block.",
)
analysis.input("training_tokens", "token", "Training tokens", 14_800_000_000_000, "Tokens of the whole training run.")
analysis.input(
    "device_hour_price",
    "USD/device/hour",
    "Price per device-hour",
    2,
    "What an hour of one device costs. Source: DeepSeek-V3 report, arXiv 2412.19437, Table 1",
)
analysis.input(
    "flop_convention",
    "text",
    "FLOP convention",
    "solbook",
    "Which FLOPs MFU and FLOP/s count, and which peak divides. Each switch is looked up below and may be typed over.",
    choices="Conventions",
)
analysis.input(
    "measured_step_time",
    "s",
    "Measured step time",
    0,
    "Of a run of this very strategy, to be compared with the lower bound and with published FLOP/s; 0 for none.",
    number_format='[=0]"none";#,##0.000" s"',
)

analysis.section("Model")


def _model(name: str, label: str, note: str, unit: str = "1") -> None:
    analysis.lookup(name, unit, label, "model", "Models", note, number_format="#,##0" if unit == "1" else None)


_model("hidden_size", "Hidden size", "Width of the residual stream.")
_model("num_hidden_layers", "Layers", "Transformer layers, without multi-token-prediction layers.")
_model(
    "num_dense_layers",
    "Dense layers",
    "Layers with a dense MLP: all layers of a dense model. They are placed first; where they alternate with MoE layers "
    "(Llama 4 Maverick), totals are exact and stages are not.",
)
_model("vocab_size", "Vocabulary size", "Rows of the embedding table.")
_model("learned_positions", "Learned positions", "Rows of a learned position table (GPT-2); 0 for rotary embeddings.")
_model("tied_embeddings", "Tied embeddings", "1 where the output head is the embedding table.")
analysis.lookup(
    "attention_kind",
    "text",
    "Attention kind",
    "model",
    "Models",
    "MHA, GQA, MQA or MLA; the kind decides, not which numbers are present.",
    choices="Attention",
)
_model("num_attention_heads", "Attention heads", "Query heads.")
_model("num_key_value_heads", "Key-value heads", "Heads of keys and values (MHA, GQA, MQA).")
_model("head_dim", "Head dimension", "Width of a head (MHA, GQA, MQA).")
_model("q_lora_rank", "Query latent rank", "MLA: width of the compressed query; 0 where queries are not compressed.")
_model("kv_lora_rank", "Key-value latent rank", "MLA: width of the compressed keys and values.")
_model("qk_nope_head_dim", "Query-key dimension without rotation", "MLA: part of a head without rotary embedding.")
_model("qk_rope_head_dim", "Query-key dimension with rotation", "MLA: part of a head with rotary embedding.")
_model("v_head_dim", "Value dimension", "MLA: width of a value head.")
_model("query_key_value_bias", "Query, key, value bias", "1 where these projections have bias terms.")
_model("attention_output_bias", "Attention output bias", "1 where the output projection has bias terms.")
_model(
    "query_key_norm_size",
    "Query-key norm size",
    "Trained elements of the norms of queries and keys: twice the head dimension where heads share a scale (Qwen3), "
    "all heads together where each has its own (OLMo 2), 0 without.",
)
_model("attention_sinks", "Attention sinks", "1 where each head has a learned sink logit (gpt-oss).")
_model("sliding_window", "Sliding window", "Keys that a windowed layer attends to; 0 without window.", "token")
_model("sliding_window_layers", "Windowed layers", "Layers whose attention is limited to the sliding window.")
_model(
    "attention_chunk_size",
    "Attention chunk",
    "Tokens of a chunk; a chunked layer attends within it (Llama 4). 0 without chunks.",
    "token",
)
_model("chunked_attention_layers", "Chunked layers", "Layers whose attention is limited to the chunk.")
_model("intermediate_size", "MLP width", "Inner width of a dense MLP.")
_model("mlp_matrices", "MLP matrices", "3 for gated MLPs (gate, up, down), 2 for plain ones.")
_model("mlp_bias", "MLP bias", "1 where dense MLPs have bias terms.")
_model("activation_parameters", "Activation parameters", "Trained numbers of a dense MLP's activation (2 for xIELU).")
_model("n_routed_experts", "Routed experts", "Routed experts per MoE layer; 0 for dense models.")
_model("num_experts_per_tok", "Experts per token", "Routed experts that each token visits.")
_model("moe_intermediate_size", "Expert width", "Inner width of a routed expert.")
_model("shared_expert_intermediate_size", "Shared expert width", "Inner width of all shared experts together.")
_model("shared_expert_gate", "Shared expert gate", "1 where each token weighs its shared experts (Qwen2-MoE).")
_model("expert_bias", "Expert bias", "1 where experts have bias terms.")
_model("router_bias", "Router bias", "1 where the router has trained bias terms.")
_model(
    "router_correction_bias",
    "Router correction bias",
    "1 where the router adds a bias that is balanced, not trained (DeepSeek-V3).",
)
_model("n_group", "Expert groups", "Groups that the experts form for node-limited routing; 1 without.")
_model("topk_group", "Groups per token", "Groups that a token's experts may come from; 1 without.")
_model(
    "norm_vectors", "Vectors per norm", "1 for RMSNorm (scale), 2 for LayerNorm (scale and shift), 0 for bare norms."
)
_model(
    "block_norms",
    "Norms per layer",
    "2 before attention and MLP, 1 where both read the same norm (GPT-J), 4 where blocks are normalised behind too.",
)
_model(
    "parallel_blocks",
    "Parallel blocks",
    "1 where attention and MLP stand side by side in a layer and share their collectives (GPT-J, Falcon, Cohere).",
)
_model(
    "outer_norms", "Norms outside the layers", "1, the final norm; 2 with one behind the embedding (BLOOM); 0 without."
)
_model("head_bias", "Output head bias", "1 where the output head has bias terms (GPT-J).")
_model("num_nextn_predict_layers", "Multi-token-prediction layers", "Extra layers that predict further tokens.")

analysis.section("Hardware")


def _device(name: str, unit: str, label: str, note: str) -> None:
    analysis.lookup(name, unit, label, "hardware", "Hardware", note)


_device("memory_capacity", "byte", "Memory capacity", "Device memory, as the vendor's label in GiB.")
_device("scale_up_domain", "device", "Scale-up domain", "Devices that the fast network (NVLink) joins: a node.")
_device("bf16_peak", "FLOP/s", "BF16 peak", "Dense tensor peak of the datasheet.")
_device("bf16_measured", "FLOP/s", "BF16 measured", "Best rate measured on a matrix multiplication.")
_device("fp8_peak", "FLOP/s", "FP8 peak", "Dense tensor peak of the datasheet.")
_device("fp8_measured", "FLOP/s", "FP8 measured", "Best rate measured on a matrix multiplication.")
_device("fp4_peak", "FLOP/s", "FP4 peak", "Dense tensor peak of the datasheet.")
_device("fp4_measured", "FLOP/s", "FP4 measured", "Best rate measured on a matrix multiplication.")
_device("hbm_peak", "byte/s", "HBM peak", "Memory bandwidth of the datasheet.")
_device("hbm_measured", "byte/s", "HBM measured", "Memory bandwidth measured.")
_device("scale_up_peak", "byte/s", "Scale-up peak", "Datasheet, per device and direction.")
_device("scale_up_measured", "byte/s", "Scale-up measured", "Measured, per device and direction.")
_device("scale_out_peak", "byte/s", "Scale-out peak", "NIC line rate, per NIC and direction.")
_device("scale_out_measured", "byte/s", "Scale-out measured", "Measured, per NIC and direction.")
_device("nics_per_device", "1", "NICs per device", "NICs of a node over its devices; empty counts as 1.")
_device("scale_up_latency", "s", "Scale-up latency", "Of one hop between devices of a domain; empty counts as 0.")
_device("scale_out_latency", "s", "Scale-out latency", "Of one hop between nodes; empty counts as 0.")
_device("device_power", "W", "Power", "Full power of one device (TDP), without its host; empty where unknown.")
_device("device_price_low", "USD/device/hour", "Lowest price", "Of the providers found; empty where unknown.")
_device("device_price_high", "USD/device/hour", "Highest price", "Of the providers found; empty where unknown.")
