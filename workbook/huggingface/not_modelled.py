"""What is refused: kinds of layers that no column of the sheet Models describes, and fields that no family reads."""

from collections.abc import Mapping

# What the other language models of transformers have, by model_type.
NOT_MODELLED: Mapping[str, tuple[str, ...]] = {
    "state-space layers (Mamba)": (
        "bamba", "falcon_h1", "falcon_mamba", "granitemoehybrid", "jamba", "mamba", "mamba2", "nemotron_h", "zamba",
        "zamba2",
    ),
    "linear-attention layers": (
        "bailing_hybrid", "kimi_linear", "lara_mini", "minimax", "olmo_hybrid", "qwen3_5", "qwen3_5_moe",
        "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "qwen4_exp", "qwen4_exp_text",
    ),
    "recurrent layers": ("recurrent_gemma", "rwkv", "xlstm"),
    "layers that run several times": ("hrm_text", "inkling2_loop_text"),
    "convolution layers": ("inkling2_text", "inkling_text", "lfm2", "lfm2_moe", "lfm3", "zaya"),
    "sparse attention that an indexer steers": (
        "axk2", "deepseek_v32", "deepseek_v4", "dots3_note", "dots3_note_text", "glm_moe_dsa", "hy_v4",
        "minimax_m3_vl_text",
    ),
    "gated attention": ("afmoe", "beam", "dory", "laguna"),
    "differential attention": ("diffllama",),
    "dynamic-mask attention": ("doge",),
    "attention heads that are experts": ("jetmoe",),
    "layers with two attentions and experts that do nothing": ("longcat_flash",),
    "windowed layers with key-value heads of their own": ("mimo_v2_flash",),
    "norms inside attention and MLP": ("bitnet",),
    "norms behind experts only": ("axk1",),
    "a bias in its last layer only": ("gpt_neox_japanese",),
    "a layer pattern of its own": ("cohere2_moe", "flint"),
    "a matrix before its output head": ("modernbert-decoder",),
    "an output head narrower than its vocabulary": ("apertus1p5_text",),
    "embeddings of bytes and patches": ("blt",),
    "relative position weights or segment embeddings": ("cpmant", "reformer", "xlnet"),
    "embeddings in every layer or layers that share keys and values": (
        "gemma3n_text", "gemma4_assistant", "gemma4_text", "gemma4_unified_assistant", "gemma4_unified_text",
    ),
    "vision or audio layers (give its text_config as a file)": (
        "cohere_compass_text", "emu3", "fuyu", "gemma3", "gemma3n", "gemma4", "gemma4_unified", "git", "got_ocr2",
        "llama4", "mllama", "moshi", "moss_transcribe_diarize", "musicgen", "musicgen_melody", "phi4_multimodal",
    ),
    "an encoder and cross-attention": (
        "bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "marian", "mbart", "mvp", "pegasus", "plbart",
        "prophetnet", "trocr", "whisper",
    ),
    "an encoder's layers": (
        "bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert",
        "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm", "xlm-roberta", "xlm-roberta-xl",
        "xmod",
    ),
}  # fmt: skip

ARCHITECTURE = {
    "attention", "attn", "bias", "block", "blocks", "chunk", "conv", "cross", "decoder", "dense", "dim", "embd",
    "embed", "encoder", "expert", "experts", "ffn", "gate", "gating", "head", "heads", "inner", "interleave", "kv",
    "layer", "layernorm", "layers", "ln", "lora", "mamba", "mlp", "moe", "mtp", "nextn", "norm", "period", "position",
    "positions", "predict", "qk", "qkv", "rank", "residual", "shared", "size", "sparse", "ssm", "state", "vision",
    "audio", "width", "window",
}  # fmt: skip
# Words of fields about initial values, dropout, scales, losses and numeric formats, which neither count nor multiply.
HARMLESS = {
    "coef", "dropout", "dtype", "eps", "epsilon", "fp32", "implementation", "init", "initializer", "jitter", "loss",
    "multiplier", "pdrop", "scale", "scaling", "softcapping", "std",
}  # fmt: skip
# Fields that published config.json files carry, and that change neither parameters nor matrix multiplications.
NO_INFLUENCE = {
    "_flash_attn_2_enabled", "apply_residual_connection_post_layernorm", "attn_config.alibi_bias_max",
    "attn_config.attn_impl", "attn_config.attn_uses_sequence_id", "attn_config.clip_qkv", "attn_config.prefix_lm",
    "attn_config.return_dict", "attn_config.rope_theta", "attn_temperature_tuning", "bias_dropout_fusion",
    "chunk_size_feed_forward", "clip_qkv", "decoder_start_token_id", "dense_list", "dim_model_base", "ep_size",
    "ffn_config.ffn_act_fn.name", "ffn_config.hidden_size", "ffn_config.moe_normalize_expert_weights",
    "ffn_config.return_dict", "is_decoder", "layer_rope_theta", "layer_switch", "max_position_embeddings",
    "moe_capacity", "moe_gate", "moe_norm_min", "moe_use_aux_free", "n_positions", "norm_topk_prob", "norm_type",
    "order_of_interleaved_layers", "original_max_position_embeddings", "output_attentions", "output_hidden_states",
    "position_embedding_type", "query_pre_attn_scalar", "reorder_and_upcast_attn", "rope_interleave", "rotary_dim",
    "skip_bias_add", "skip_bias_add_qkv", "use_flash_attention", "use_flash_attn",
}  # fmt: skip
# Objects whose fields mean nothing here.
OPAQUE = {
    "auto_map", "generation_config", "id2label", "label2id", "quantization_config", "rope_parameters", "rope_scaling",
    "task_specific_params",
}  # fmt: skip


def is_architectural(name: str) -> bool:
    """Whether a field that was not read may change parameters or FLOPs, by the words of its name."""
    words = set(name.lower().replace(".", "_").split("_"))
    return bool(words & ARCHITECTURE) and not words & HARMLESS and name not in NO_INFLUENCE
