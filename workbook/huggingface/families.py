"""The families of models: one entry for each `model_type`.

Source: the configuration and modelling code of each model_type in huggingface/transformers, version 5.24
"""

from collections.abc import Mapping

from workbook.huggingface.config import Family
from workbook.huggingface.parts import (
    after_dense_layers,
    all_but_every_nth_layer,
    all_but_every_nth_layer_from_the_first,
    all_layers,
    chunks,
    dense_mlp,
    every_nth_layer,
    expert_groups,
    experts,
    falcon_attention,
    grouped_attention,
    heads_of_hidden_size,
    last_layers,
    latent_attention,
    layers_of_an_interval,
    layers_without_rotation,
    learned_positions,
    learned_positions_and_padding,
    listed_layers,
    local_layers,
    multi_query_attention,
    no_layers,
    no_linear_attention,
    no_windows,
    norms_of_all_heads,
    opt_embedding,
    opt_norms,
    parallel_blocks,
    parallel_norms,
    post_norms,
    prediction_layers,
    shared_expert,
    shared_experts,
    shifted_norms,
    sparse_layers,
    switched_windows,
    wide_mlp,
    windows,
)

Names = dict[str, tuple[str, ...]]
Absent = dict[str, object]

# Names: where a field or a switch is found in the file

GPT_NAMES: Names = {
    "hidden_size": ("n_embd",),
    "num_hidden_layers": ("n_layer",),
    "num_attention_heads": ("n_head",),
    "intermediate_size": ("n_inner",),
    "max_position_embeddings": ("n_positions", "max_position_embeddings"),
}
# As many key-value heads as heads, which share hidden_size.
HIDDEN_HEADS: Names = {"head_dim": (), "num_key_value_heads": ()}
ATTENTION_BIAS: Names = {"query_key_value_bias": ("attention_bias",), "attention_output_bias": ("attention_bias",)}
INPUT_BIAS: Names = {"query_key_value_bias": ("attention_bias",)}
MLP_BIAS: Names = {"mlp_bias": ("mlp_bias",)}
LOCAL_EXPERTS: Names = {"n_routed_experts": ("num_local_experts", "num_experts")}
EXPERT_WIDTH: Names = {"moe_intermediate_size": ("intermediate_size",)}
PREDICTION: Names = {"num_nextn_predict_layers": ("num_nextn_predict_layers", "num_mtp_layers")}


def one_bias(name: str) -> Names:
    """One switch for the bias terms of all layers."""
    return dict.fromkeys(("query_key_value_bias", "attention_output_bias", "mlp_bias"), (name,))


# Absent: what transformers takes where the file is silent

EITHER = (False, True)
TIED: Absent = {"tie_word_embeddings": True}
HEADS_OF_128: Absent = {"head_dim": 128}
HEADS_OF_256: Absent = {"head_dim": 256}
HEADS_WITHOUT_GROUPS: Absent = {"num_key_value_heads": None}

# Fixed: what the code of a family does, whatever the file says

BIASED_ATTENTION = {"query_key_value_bias": 1, "attention_output_bias": 1}
BIASED_MLP = {"mlp_bias": 1}
NO_GATE = {"mlp_matrices": 2}
LAYER_NORM = {"norm_vectors": 2}
NO_NORM_WEIGHTS = {"norm_vectors": 0}
QUERY_KEY_NORM = {"query_key_norm": 1}
PARALLEL = {"block_norms": 1, "parallel_blocks": 1}
FOUR_NORMS = {"block_norms": 4}
SINKS = {"attention_sinks": 1}
FIRST_LAYER_DENSE = {"first_k_dense_replace": 1}
CORRECTED_ROUTER = {"router_correction_bias": 1}

LLAMA = Family((grouped_attention, no_windows, dense_mlp), names=ATTENTION_BIAS | MLP_BIAS, absent=HEADS_WITHOUT_GROUPS)
GPT2 = Family(
    (grouped_attention, no_windows, wide_mlp, learned_positions),
    names=GPT_NAMES | HIDDEN_HEADS,
    absent=TIED | HEADS_WITHOUT_GROUPS | {"intermediate_size": None},
    fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM,
)
GPTJ = Family(
    (grouped_attention, no_windows, wide_mlp),
    names=GPT_NAMES | HIDDEN_HEADS,
    absent=HEADS_WITHOUT_GROUPS | {"intermediate_size": None},
    fixed=NO_GATE | BIASED_MLP | LAYER_NORM | PARALLEL | {"head_bias": 1},
)
DEEPSEEK_V3 = Family(
    (latent_attention, no_windows, experts(after_dense_layers), shared_experts, expert_groups, prediction_layers),
    names=PREDICTION,
    # A checkpoint that transformers wrote has no prediction layers.
    absent={"num_nextn_predict_layers": 0},
    fixed=CORRECTED_ROUTER,
    supported={"moe_layer_freq": (1,), "topk_method": ("noaux_tc",)},
)
GLM4_MOE = Family(
    (grouped_attention, no_windows, experts(after_dense_layers), shared_experts, expert_groups, prediction_layers),
    names=INPUT_BIAS | PREDICTION | {"query_key_norm": ("use_qk_norm",)},
    absent={"num_nextn_predict_layers": 0},
    fixed=CORRECTED_ROUTER,
)
GRANITE_MOE = Family(
    (grouped_attention, no_windows, experts(all_layers)),
    names=ATTENTION_BIAS | LOCAL_EXPERTS | EXPERT_WIDTH,
    absent=HEADS_WITHOUT_GROUPS,
)
SHARED_WIDTH: Names = {"shared_expert_intermediate_size": ("shared_intermediate_size",)}

FAMILIES: Mapping[str, Family] = {
    "apertus": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=ATTENTION_BIAS,
        absent=HEADS_WITHOUT_GROUPS,
        fixed=NO_GATE | QUERY_KEY_NORM | {"activation_parameters": 2},
        supported={"hidden_act": ("xielu",), "qk_norm": (True,), "post_norm": (False,)},
    ),
    "arcee": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=ATTENTION_BIAS | MLP_BIAS,
        absent=HEADS_WITHOUT_GROUPS,
        fixed=NO_GATE,
    ),
    "aria_text": Family(
        (grouped_attention, no_windows, experts(all_layers), shared_experts),
        names=ATTENTION_BIAS
        | EXPERT_WIDTH
        | {
            "n_routed_experts": ("moe_num_experts",),
            "num_experts_per_tok": ("moe_topk",),
            "n_shared_experts": ("moe_num_shared_experts",),
        },
        absent=HEADS_WITHOUT_GROUPS,
    ),
    "biogpt": Family(
        (grouped_attention, no_windows, dense_mlp, learned_positions_and_padding),
        names=HIDDEN_HEADS,
        absent=TIED | HEADS_WITHOUT_GROUPS,
        fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM,
    ),
    "bloom": Family(
        (grouped_attention, no_windows, wide_mlp),
        names=HIDDEN_HEADS
        | {
            "hidden_size": ("hidden_size", "n_embed"),
            "num_hidden_layers": ("n_layer", "num_hidden_layers"),
            "num_attention_heads": ("n_head", "num_attention_heads"),
            "intermediate_size": (),
        },
        absent=TIED | HEADS_WITHOUT_GROUPS | {"intermediate_size": None},
        fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM | {"outer_norms": 2},
    ),
    "codegen": GPTJ,
    "cohere": Family(
        (grouped_attention, norms_of_all_heads, no_windows, dense_mlp),
        names=ATTENTION_BIAS | {"query_key_norm": ("use_qk_norm",)},
        absent=TIED | HEADS_WITHOUT_GROUPS,
        fixed=PARALLEL,
    ),
    "cohere2": Family(
        (grouped_attention, windows(all_but_every_nth_layer), dense_mlp),
        names=ATTENTION_BIAS,
        absent=TIED | {"sliding_window_pattern": 4},
        fixed=PARALLEL,
    ),
    "ctrl": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=GPT_NAMES | HIDDEN_HEADS | {"intermediate_size": ("dff",)},
        absent=TIED | HEADS_WITHOUT_GROUPS,
        fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM | {"head_bias": 1},
    ),
    "cwm": Family(
        (grouped_attention, windows(all_but_every_nth_layer_from_the_first), dense_mlp),
        absent=HEADS_OF_128 | {"sliding_window_pattern": 4},
    ),
    "dbrx": Family(
        (grouped_attention, no_windows, experts(all_layers)),
        names={
            "hidden_size": ("d_model",),
            "num_hidden_layers": ("n_layers",),
            "num_attention_heads": ("n_heads",),
            "num_key_value_heads": ("attn_config.kv_n_heads", "num_key_value_heads"),
            "head_dim": (),
            "n_routed_experts": ("ffn_config.moe_num_experts",),
            "num_experts_per_tok": ("ffn_config.moe_top_k",),
            "moe_intermediate_size": ("ffn_config.ffn_hidden_size",),
        },
    ),
    "deepseek_v2": Family(
        (latent_attention, no_windows, experts(after_dense_layers), shared_experts, expert_groups),
        supported={"moe_layer_freq": (1,), "topk_method": ("greedy", "group_limited_greedy")},
    ),
    "deepseek_v3": DEEPSEEK_V3,
    "dots1": Family(
        (grouped_attention, windows(last_layers), experts(after_dense_layers), shared_experts, expert_groups),
        names=ATTENTION_BIAS,
        fixed=QUERY_KEY_NORM | CORRECTED_ROUTER,
    ),
    "ernie4_5": Family(
        (grouped_attention, no_windows, dense_mlp), names=one_bias("use_bias"), absent=TIED | HEADS_OF_128
    ),
    "ernie4_5_moe": Family(
        (grouped_attention, no_windows, experts(layers_of_an_interval), shared_experts),
        names={
            "n_routed_experts": ("moe_num_experts",),
            "num_experts_per_tok": ("moe_k",),
            "n_shared_experts": ("moe_num_shared_experts",),
        },
        absent=TIED,
        # transformers counts the bias that balances the experts as a parameter.
        fixed={"router_bias": 1},
        supported={"use_bias": (False,)},
    ),
    "exaone": Family(LLAMA.parts, names=LLAMA.names),
    "exaone4": Family((grouped_attention, windows(all_but_every_nth_layer), dense_mlp), fixed=QUERY_KEY_NORM),
    "exaone_moe": Family(
        (grouped_attention, windows(all_but_every_nth_layer), experts(sparse_layers), shared_experts, expert_groups),
        names={"n_routed_experts": ("num_experts",), "n_shared_experts": ("num_shared_experts",)},
        fixed=QUERY_KEY_NORM | CORRECTED_ROUTER,
    ),
    "falcon": Family(
        (falcon_attention, no_windows, wide_mlp),
        names=one_bias("bias")
        | {
            "head_dim": (),
            "num_key_value_heads": ("num_kv_heads",),
            "intermediate_size": ("ffn_hidden_size",),
        },
        absent=TIED | HEADS_WITHOUT_GROUPS | {"intermediate_size": None, "num_ln_in_parallel_attn": None},
        fixed=NO_GATE | LAYER_NORM,
    ),
    "flex_olmo": Family(
        (grouped_attention, norms_of_all_heads, no_windows, experts(all_layers)),
        names=ATTENTION_BIAS | LOCAL_EXPERTS | EXPERT_WIDTH,
        absent=HEADS_WITHOUT_GROUPS,
        fixed=QUERY_KEY_NORM,
    ),
    "gemma": Family((grouped_attention, no_windows, dense_mlp), names=ATTENTION_BIAS, absent=TIED | HEADS_OF_256),
    "gemma2": Family(
        (grouped_attention, windows(all_but_every_nth_layer), dense_mlp),
        names=ATTENTION_BIAS,
        absent=TIED | HEADS_OF_256 | {"sliding_window_pattern": 2},
        fixed=FOUR_NORMS,
    ),
    "gemma3_text": Family(
        (grouped_attention, windows(all_but_every_nth_layer), dense_mlp),
        names=ATTENTION_BIAS | {"sliding_window_pattern": ("sliding_window_pattern", "_sliding_window_pattern")},
        absent=TIED | HEADS_OF_256 | {"sliding_window_pattern": 6},
        fixed=FOUR_NORMS | QUERY_KEY_NORM,
    ),
    "glm": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=INPUT_BIAS,
        absent=HEADS_OF_128 | {"query_key_value_bias": True},
    ),
    "glm4": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=INPUT_BIAS,
        absent=HEADS_OF_128 | {"query_key_value_bias": True},
        fixed=FOUR_NORMS,
    ),
    "glm4_moe": GLM4_MOE,
    "glm4_moe_lite": Family(
        (latent_attention, no_windows, experts(sparse_layers), shared_experts, expert_groups, prediction_layers),
        names=PREDICTION,
        absent={"num_nextn_predict_layers": 0},
        fixed=CORRECTED_ROUTER | FIRST_LAYER_DENSE,
        supported={"first_k_dense_replace": (1,)},
    ),
    "gpt-sw3": GPT2,
    "gpt2": GPT2,
    "gpt_bigcode": Family(
        (multi_query_attention, no_windows, wide_mlp, learned_positions),
        names=GPT_NAMES | {"head_dim": ()},
        absent=TIED | HEADS_WITHOUT_GROUPS | {"intermediate_size": None},
        fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM,
    ),
    "gpt_neo": Family(
        (grouped_attention, windows(local_layers), wide_mlp, learned_positions),
        names=HIDDEN_HEADS
        | {
            "num_hidden_layers": ("num_layers",),
            "num_attention_heads": ("num_heads",),
            "sliding_window": ("window_size",),
        },
        absent=TIED | HEADS_WITHOUT_GROUPS | {"intermediate_size": None},
        fixed={"attention_output_bias": 1} | NO_GATE | BIASED_MLP | LAYER_NORM,
    ),
    "gpt_neox": Family(
        (grouped_attention, parallel_blocks, no_windows, dense_mlp),
        names=HIDDEN_HEADS | ATTENTION_BIAS,
        absent=HEADS_WITHOUT_GROUPS | {"query_key_value_bias": True, "attention_output_bias": True},
        fixed=NO_GATE | BIASED_MLP | LAYER_NORM,
        supported={"use_parallel_residual": EITHER},
    ),
    "gpt_oss": Family(
        (grouped_attention, windows(all_but_every_nth_layer), experts(all_layers)),
        names=ATTENTION_BIAS
        | LOCAL_EXPERTS
        | EXPERT_WIDTH
        | {"num_experts_per_tok": ("num_experts_per_tok", "experts_per_token")},
        absent={
            "head_dim": 64,
            "query_key_value_bias": True,
            "attention_output_bias": True,
            "sliding_window_pattern": 2,
        },
        fixed=SINKS | {"expert_bias": 1, "router_bias": 1},
    ),
    "gptj": GPTJ,
    "granite": LLAMA,
    "granite_swa": Family(
        (grouped_attention, windows(all_but_every_nth_layer_from_the_first), dense_mlp),
        names=ATTENTION_BIAS | MLP_BIAS,
        absent=TIED | {"sliding_window_pattern": 4},
        fixed=SINKS,
    ),
    "granitemoe": GRANITE_MOE,
    "granitemoe_swa": Family(
        (
            grouped_attention,
            windows(all_but_every_nth_layer_from_the_first),
            experts(all_layers),
            shared_expert,
        ),
        names={**GRANITE_MOE.names, **SHARED_WIDTH},
        absent=HEADS_WITHOUT_GROUPS | {"sliding_window_pattern": 4},
        fixed=SINKS,
    ),
    "granitemoeshared": Family(
        (*GRANITE_MOE.parts, shared_expert), names={**GRANITE_MOE.names, **SHARED_WIDTH}, absent=GRANITE_MOE.absent
    ),
    "helium": Family(
        (grouped_attention, heads_of_hidden_size, no_windows, dense_mlp),
        names=INPUT_BIAS | MLP_BIAS,
        absent=HEADS_OF_128,
    ),
    "hunyuan_v1_dense": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=ATTENTION_BIAS | {"head_dim": ("head_dim", "attention_head_dim")},
        absent=HEADS_WITHOUT_GROUPS,
        fixed=QUERY_KEY_NORM,
        supported={"use_qk_norm": (True,), "num_experts": (1,)},
    ),
    "hunyuan_v1_moe": Family(
        (grouped_attention, no_windows, experts(all_layers), shared_experts),
        names=ATTENTION_BIAS
        | EXPERT_WIDTH
        | {"n_routed_experts": ("num_experts",), "num_experts_per_tok": ("moe_topk", "num_experts_per_tok")},
        absent=HEADS_WITHOUT_GROUPS,
        fixed=QUERY_KEY_NORM | {"n_shared_experts": 1},
    ),
    "hy_v3": Family(
        (grouped_attention, no_windows, experts(sparse_layers), shared_experts),
        names=ATTENTION_BIAS | {"n_routed_experts": ("num_experts",), "n_shared_experts": ("num_shared_experts",)},
        absent=HEADS_OF_128,
        fixed=QUERY_KEY_NORM | CORRECTED_ROUTER | FIRST_LAYER_DENSE,
        supported={"first_k_dense_replace": (1,)},
    ),
    "hyperclovax": Family(
        (grouped_attention, post_norms, no_windows, dense_mlp),
        names=ATTENTION_BIAS | MLP_BIAS | {"use_post_norm": ("use_post_norm",)},
        absent=HEADS_WITHOUT_GROUPS | {"use_post_norm": True},
    ),
    "internlm3": Family(
        LLAMA.parts,
        names={
            "query_key_value_bias": ("attention_bias", "qkv_bias"),
            "attention_output_bias": ("attention_bias", "qkv_bias"),
            "mlp_bias": ("mlp_bias", "bias"),
        },
        absent=HEADS_OF_128,
    ),
    "iquestcoder": Family(LLAMA.parts, names=LLAMA.names, absent=HEADS_OF_128),
    "jais2": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=ATTENTION_BIAS | MLP_BIAS,
        absent=HEADS_WITHOUT_GROUPS | {"query_key_value_bias": True, "attention_output_bias": True, "mlp_bias": True},
        fixed=NO_GATE | LAYER_NORM,
    ),
    "kimi_k2": DEEPSEEK_V3,
    "kolibri1": Family(
        (grouped_attention, windows(all_but_every_nth_layer), experts(all_layers), shared_expert),
        names=LOCAL_EXPERTS,
        absent=HEADS_OF_128 | {"sliding_window_pattern": 5},
        fixed=QUERY_KEY_NORM | FOUR_NORMS,
    ),
    "llama": LLAMA,
    "llama4_text": Family(
        (grouped_attention, chunks, experts(listed_layers), shared_expert),
        names=ATTENTION_BIAS
        | LOCAL_EXPERTS
        | EXPERT_WIDTH
        | {
            "intermediate_size": ("intermediate_size_mlp",),
            "shared_expert_intermediate_size": ("intermediate_size",),
        },
        absent=HEADS_OF_128 | {"no_rope_layers": None, "no_rope_layer_interval": 4, "moe_layers": None},
        supported={"use_qk_norm": EITHER},
    ),
    "mellum": Family(
        (grouped_attention, windows(no_layers), experts(sparse_layers)),
        names=ATTENTION_BIAS | LOCAL_EXPERTS,
        absent=HEADS_OF_128,
        fixed=QUERY_KEY_NORM | {"first_k_dense_replace": 0},
    ),
    "minicpm3": Family((latent_attention, no_windows, dense_mlp), absent=TIED),
    "minimax_m2": Family(
        (grouped_attention, norms_of_all_heads, no_windows, no_linear_attention, experts(all_layers)),
        names=LOCAL_EXPERTS | EXPERT_WIDTH,
        absent=HEADS_OF_128,
        fixed=QUERY_KEY_NORM | CORRECTED_ROUTER,
        supported={"use_qk_norm": (True,), "qk_norm_type": ("per_layer",), "use_routing_bias": (True,)},
    ),
    "ministral": Family((grouped_attention, windows(all_layers), dense_mlp)),
    "ministral3": Family((grouped_attention, windows(all_layers), dense_mlp), absent=HEADS_OF_128),
    "mistral": Family((grouped_attention, windows(all_layers), dense_mlp)),
    "mixtral": Family(
        (grouped_attention, windows(all_layers), experts(all_layers)),
        names=LOCAL_EXPERTS | EXPERT_WIDTH,
        absent={"sliding_window": None},
    ),
    "mpt": Family(
        (grouped_attention, no_windows, wide_mlp),
        names=HIDDEN_HEADS
        | {
            "hidden_size": ("d_model",),
            "num_hidden_layers": ("n_layers",),
            "num_attention_heads": ("n_heads",),
            "intermediate_size": (),
        },
        absent=TIED | HEADS_WITHOUT_GROUPS | {"intermediate_size": None},
        fixed=NO_GATE,
        supported={
            "expansion_ratio": (4,),
            "no_bias": (True,),
            "attn_config.attn_type": ("multihead_attention",),
            "attn_config.qk_ln": (False,),
            "attn_config.alibi": (True,),
        },
    ),
    "nanochat": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=ATTENTION_BIAS,
        absent=HEADS_WITHOUT_GROUPS,
        fixed=NO_GATE | NO_NORM_WEIGHTS,
    ),
    "nemotron": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=ATTENTION_BIAS | MLP_BIAS,
        fixed=NO_GATE | LAYER_NORM,
    ),
    "olmo": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=ATTENTION_BIAS,
        absent=HEADS_WITHOUT_GROUPS,
        fixed=NO_NORM_WEIGHTS,
    ),
    "olmo2": Family(
        (grouped_attention, norms_of_all_heads, no_windows, dense_mlp),
        names=ATTENTION_BIAS,
        absent=HEADS_WITHOUT_GROUPS,
        fixed=QUERY_KEY_NORM,
    ),
    "olmo3": Family(
        (grouped_attention, norms_of_all_heads, windows(all_but_every_nth_layer), dense_mlp),
        names=ATTENTION_BIAS,
        absent=HEADS_WITHOUT_GROUPS | {"sliding_window_pattern": 4},
        fixed=QUERY_KEY_NORM,
    ),
    "olmoe": Family(
        (grouped_attention, norms_of_all_heads, no_windows, experts(all_layers)),
        names=ATTENTION_BIAS | LOCAL_EXPERTS | EXPERT_WIDTH,
        absent=HEADS_WITHOUT_GROUPS,
        fixed=QUERY_KEY_NORM,
    ),
    "openai-gpt": Family(
        GPT2.parts,
        names={**GPT2.names, "intermediate_size": ()},
        absent=GPT2.absent,
        fixed={**GPT2.fixed, "outer_norms": 0},
    ),
    "opt": Family(
        (grouped_attention, no_windows, dense_mlp, learned_positions_and_padding, opt_embedding, opt_norms),
        names=HIDDEN_HEADS
        | one_bias("enable_bias")
        | {"intermediate_size": ("ffn_dim",)}
        | {
            "do_layer_norm_before": ("do_layer_norm_before",),
            "_remove_final_layer_norm": ("_remove_final_layer_norm",),
            "layer_norm_elementwise_affine": ("layer_norm_elementwise_affine",),
        },
        absent=TIED
        | HEADS_WITHOUT_GROUPS
        | dict.fromkeys(one_bias("enable_bias"), True)
        | {"word_embed_proj_dim": None, "do_layer_norm_before": True, "layer_norm_elementwise_affine": True},
        fixed=NO_GATE,
    ),
    "persimmon": Family(
        (grouped_attention, shifted_norms, no_windows, dense_mlp),
        names=HIDDEN_HEADS | {"query_key_norm": ("qk_layernorm",)},
        absent=HEADS_WITHOUT_GROUPS | {"query_key_norm": True},
        fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM,
    ),
    "phi": Family(
        (grouped_attention, shifted_norms, no_windows, dense_mlp),
        names={"query_key_norm": ("qk_layernorm",)},
        absent=HEADS_WITHOUT_GROUPS,
        fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM | PARALLEL | {"head_bias": 1},
    ),
    "phi3": Family(
        (grouped_attention, windows(all_layers), dense_mlp),
        absent=HEADS_WITHOUT_GROUPS | {"sliding_window": None},
        supported={"full_attn_mod": (1,)},
    ),
    "phimoe": Family(
        (grouped_attention, windows(all_layers), experts(all_layers)),
        names=ATTENTION_BIAS | LOCAL_EXPERTS | EXPERT_WIDTH | {"head_bias": ("lm_head_bias",)},
        absent={"sliding_window": None},
        fixed=LAYER_NORM,
    ),
    "qwen2": Family(
        (grouped_attention, switched_windows(last_layers), dense_mlp),
        absent={"use_sliding_window": False},
        fixed={"query_key_value_bias": 1},
    ),
    "qwen2_moe": Family(
        (grouped_attention, switched_windows(no_layers), experts(every_nth_layer), shared_expert),
        names={"query_key_value_bias": ("qkv_bias",), "n_routed_experts": ("num_experts",)},
        absent={"query_key_value_bias": True, "mlp_only_layers": [], "use_sliding_window": False},
        fixed={"shared_expert_gate": 1},
        # Which layers the window limits differs between versions of transformers.
        supported={"use_sliding_window": (False,)},
    ),
    "qwen3": Family(
        (grouped_attention, switched_windows(last_layers), dense_mlp),
        names=ATTENTION_BIAS,
        absent=HEADS_OF_128 | {"use_sliding_window": False},
        fixed=QUERY_KEY_NORM,
    ),
    "qwen3_moe": Family(
        (grouped_attention, switched_windows(no_layers), experts(every_nth_layer)),
        names=ATTENTION_BIAS | {"n_routed_experts": ("num_experts", "num_local_experts")},
        absent={"mlp_only_layers": [], "use_sliding_window": False},
        fixed=QUERY_KEY_NORM,
        supported={"use_sliding_window": (False,)},
    ),
    "sarvam_mla": DEEPSEEK_V3,
    "sarvam_moe": Family(
        GLM4_MOE.parts,
        names=GLM4_MOE.names,
        absent={**GLM4_MOE.absent, "head_dim": 64, "query_key_norm": True},
        fixed=GLM4_MOE.fixed,
    ),
    "seed_oss": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=INPUT_BIAS | MLP_BIAS | {"attention_output_bias": ("attention_out_bias",)},
        absent=HEADS_OF_128 | {"query_key_value_bias": True},
    ),
    "smollm3": Family(
        (grouped_attention, switched_windows(layers_without_rotation), dense_mlp),
        names=ATTENTION_BIAS | MLP_BIAS,
        absent=TIED | {"use_sliding_window": False, "no_rope_layers": None, "no_rope_layer_interval": 4},
    ),
    "solar_open": Family(
        (grouped_attention, no_windows, experts(all_layers), shared_experts, expert_groups),
        names=INPUT_BIAS,
        absent=HEADS_OF_128,
        fixed=CORRECTED_ROUTER,
    ),
    "stablelm": Family(
        (grouped_attention, norms_of_all_heads, parallel_norms, no_windows, dense_mlp),
        names={
            "head_dim": (),
            "query_key_value_bias": ("use_qkv_bias",),
            "query_key_norm": ("qk_layernorm",),
            "use_parallel_residual": ("use_parallel_residual",),
        },
        fixed=LAYER_NORM,
    ),
    "starcoder2": Family(
        (grouped_attention, windows(all_layers), dense_mlp),
        names=one_bias("use_bias"),
        absent=TIED | dict.fromkeys(one_bias("use_bias"), True) | {"sliding_window": None},
        fixed=NO_GATE | LAYER_NORM,
        supported={"mlp_type": ("default",)},
    ),
    "vaultgemma": Family(
        (grouped_attention, windows(all_but_every_nth_layer), dense_mlp),
        names=ATTENTION_BIAS,
        absent=TIED | HEADS_OF_256 | {"sliding_window_pattern": 2},
    ),
    "xglm": Family(
        (grouped_attention, no_windows, dense_mlp),
        names=HIDDEN_HEADS
        | {
            "hidden_size": ("d_model",),
            "num_hidden_layers": ("num_layers",),
            "num_attention_heads": ("attention_heads",),
            "intermediate_size": ("ffn_dim",),
        },
        absent=TIED | HEADS_WITHOUT_GROUPS,
        fixed=BIASED_ATTENTION | NO_GATE | BIASED_MLP | LAYER_NORM,
    ),
    "youtu": Family((latent_attention, no_windows, dense_mlp), absent=TIED),
}
