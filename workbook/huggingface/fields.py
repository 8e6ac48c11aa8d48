"""Fields of a config.json that no family reads: which ones look like architecture, and which mean nothing here."""

ARCHITECTURE = frozenset(
    "attention attn bias block blocks chunk conv cross decoder dense dim embd embed encoder expert experts ffn gate "
    "gating head heads inner interleave kv layer layernorm layers ln lora mamba mlp moe mtp nextn norm period "
    "position positions predict qk qkv rank residual shared size sparse ssm state vision audio width window".split()
)
# Words of fields about initial values, dropout, scales, losses and numeric formats, which neither count nor multiply.
HARMLESS = frozenset(
    "coef dropout dtype eps epsilon fp32 implementation init initializer jitter loss multiplier pdrop scale scaling "
    "softcapping std".split()
)
# Fields that published config.json files carry, and that change neither parameters nor matrix multiplications.
NO_INFLUENCE = frozenset(
    """
    _flash_attn_2_enabled apply_residual_connection_post_layernorm attn_config.alibi_bias_max attn_config.attn_impl
    attn_config.attn_uses_sequence_id attn_config.clip_qkv attn_config.prefix_lm attn_config.return_dict
    attn_temperature_tuning bias_dropout_fusion chunk_size_feed_forward clip_qkv decoder_start_token_id dense_list
    dim_model_base ep_size is_decoder layer_rope_theta layer_switch max_position_embeddings moe_capacity moe_gate
    moe_norm_min moe_use_aux_free n_positions norm_topk_prob norm_type order_of_interleaved_layers
    original_max_position_embeddings output_attentions output_hidden_states position_embedding_type
    query_pre_attn_scalar reorder_and_upcast_attn rope_interleave rotary_dim skip_bias_add skip_bias_add_qkv
    use_flash_attention use_flash_attn
    """.split()
)
# Objects whose fields mean nothing here.
OPAQUE = frozenset(
    "auto_map generation_config id2label label2id quantization_config rope_parameters rope_scaling "
    "task_specific_params".split()
)


def is_architectural(name: str) -> bool:
    """Whether a field that was not read may change parameters or FLOPs, by the words of its name."""
    words = set(name.lower().replace(".", "_").split("_"))
    return bool(words & ARCHITECTURE) and not words & HARMLESS and name not in NO_INFLUENCE
