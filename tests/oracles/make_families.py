"""Count parameters and FLOPs of each family of models in transformers, as outside truth for the workbook.

For each model_type two configurations: transformers' default, on torch's meta device for its parameters, and a
small one with its switches set otherwise, run on the CPU under torch.utils.flop_counter.FlopCounterMode for its
FLOPs too: eager attention over the full square, a multiply-add counts as two.

Needs torch and transformers 5.24; run: python make_families.py families.json
"""

import json
import sys
import warnings
from typing import Any

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

BATCH, SEQUENCE = 2, 40

WIDE = {
    "hidden_size": 96,
    "intermediate_size": 136,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "vocab_size": 210,
}
GROUPED = WIDE | {"num_key_value_heads": 2}
OWN_HEADS = GROUPED | {"head_dim": 20}
GPT = {"n_embd": 96, "n_layer": 3, "n_head": 6, "n_positions": 64, "vocab_size": 210}
EXPERTS = {"num_experts_per_tok": 3, "moe_intermediate_size": 56}
LATENT = WIDE | {
    "num_key_value_heads": 6, "q_lora_rank": 40, "kv_lora_rank": 24, "qk_nope_head_dim": 20, "qk_rope_head_dim": 12,
    "v_head_dim": 28,
}  # fmt: skip
DEEPSEEK = LATENT | EXPERTS | {
    "n_routed_experts": 8, "n_shared_experts": 2, "first_k_dense_replace": 2, "n_group": 4, "topk_group": 2,
    "num_hidden_layers": 5,
}  # fmt: skip
BIASED = {"attention_bias": True, "mlp_bias": True}

# Small configurations: other widths, groups, bias terms, norms, layer patterns and expert layouts than the default.
SMALL: dict[str, dict[str, Any]] = {
    "apertus": GROUPED | {"attention_bias": True},
    "arcee": OWN_HEADS | BIASED | {"tie_word_embeddings": True},
    "aria_text": OWN_HEADS | {
        "moe_num_experts": 8, "moe_topk": 3, "moe_num_shared_experts": 1, "attention_bias": True,
    },
    "biogpt": WIDE | {"max_position_embeddings": 64, "tie_word_embeddings": False},
    "bloom": {"hidden_size": 96, "n_layer": 3, "n_head": 6, "vocab_size": 210, "tie_word_embeddings": False},
    "codegen": GPT | {"n_inner": 136, "n_head": 4, "rotary_dim": 8, "n_embd": 128},
    "cohere": GROUPED | {"attention_bias": True, "use_qk_norm": True, "tie_word_embeddings": False},
    "cohere2": GROUPED | {"attention_bias": True, "num_hidden_layers": 6, "sliding_window": 16},
    "ctrl": GPT | {"dff": 136},
    "cwm": OWN_HEADS | {"num_hidden_layers": 6, "sliding_window": 16},
    "dbrx": {
        "d_model": 96, "n_layers": 3, "n_heads": 6, "vocab_size": 210,
        "attn_config": {"kv_n_heads": 3, "clip_qkv": 8, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 136, "moe_num_experts": 8, "moe_top_k": 3},
    },
    "deepseek_v2": DEEPSEEK | {"q_lora_rank": None, "topk_method": "group_limited_greedy"},
    "deepseek_v3": DEEPSEEK,
    "dots1": OWN_HEADS | EXPERTS | {
        "n_routed_experts": 8, "n_shared_experts": 2, "first_k_dense_replace": 1, "max_window_layers": 1,
        "sliding_window": 16, "attention_bias": True,
    },
    "ernie4_5": OWN_HEADS | {"use_bias": True, "tie_word_embeddings": False},
    "ernie4_5_moe": GROUPED | {
        "num_hidden_layers": 7, "moe_layer_start_index": 2, "moe_layer_end_index": 5, "moe_layer_interval": 2,
        "moe_num_experts": 8, "moe_k": 3, "moe_intermediate_size": 56, "moe_num_shared_experts": 1,
    },
    "exaone": OWN_HEADS | BIASED,
    "exaone4": OWN_HEADS | {"num_hidden_layers": 6, "sliding_window": 16, "sliding_window_pattern": 3},
    "exaone_moe": OWN_HEADS | EXPERTS | {
        "num_hidden_layers": 6, "sliding_window": 16, "num_experts": 8, "num_shared_experts": 2,
        "first_k_dense_replace": 2, "n_group": 2, "topk_group": 1,
    },
    "falcon": {
        "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 6, "num_kv_heads": 2, "vocab_size": 210,
        "new_decoder_architecture": True, "bias": True, "ffn_hidden_size": 136, "tie_word_embeddings": False,
    },
    "flex_olmo": GROUPED | {"num_experts": 8, "num_experts_per_tok": 3, "attention_bias": True},
    "gemma": OWN_HEADS | {"attention_bias": True},
    "gemma2": OWN_HEADS | {"num_hidden_layers": 5, "sliding_window": 16, "attention_bias": True},
    "gemma3_text": OWN_HEADS | {"num_hidden_layers": 7, "sliding_window": 16, "tie_word_embeddings": False},
    "glm": OWN_HEADS | {"attention_bias": False, "tie_word_embeddings": True},
    "glm4": OWN_HEADS | {"attention_bias": False},
    "glm4_moe": OWN_HEADS | EXPERTS | {
        "n_routed_experts": 8, "n_shared_experts": 2, "first_k_dense_replace": 2, "use_qk_norm": True,
        "attention_bias": True, "n_group": 2, "topk_group": 1,
    },
    "glm4_moe_lite": DEEPSEEK | {
        "first_k_dense_replace": 1, "mlp_layer_types": ["dense", "sparse", "dense", "sparse", "sparse"],
    },
    "gpt-sw3": GPT | {"n_inner": 136},
    "gpt2": GPT | {"n_inner": 136, "tie_word_embeddings": False},
    "gpt_bigcode": GPT | {"multi_query": False, "n_inner": 136},
    "gpt_neo": {
        "hidden_size": 96, "num_layers": 3, "num_heads": 6, "vocab_size": 210, "max_position_embeddings": 64,
        "attention_types": [[["global", "local", "local"], 1]], "window_size": 16, "intermediate_size": 136,
    },
    "gpt_neox": WIDE | {"attention_bias": False, "use_parallel_residual": False, "tie_word_embeddings": True},
    "gpt_oss": OWN_HEADS | {"num_local_experts": 8, "num_experts_per_tok": 3, "sliding_window": 16},
    "gptj": GPT | {"n_inner": 136, "rotary_dim": 8},
    "granite": OWN_HEADS | BIASED | {"tie_word_embeddings": True},
    "granite_swa": GROUPED | BIASED | {"num_hidden_layers": 6, "sliding_window": 16, "tie_word_embeddings": False},
    "granitemoe": GROUPED | {"num_local_experts": 8, "num_experts_per_tok": 3, "attention_bias": True},
    "granitemoe_swa": GROUPED | {
        "num_hidden_layers": 6, "sliding_window": 16, "num_local_experts": 8, "num_experts_per_tok": 3,
        "shared_intermediate_size": 72, "attention_bias": True,
    },
    "granitemoeshared": GROUPED | {
        "num_local_experts": 8, "num_experts_per_tok": 3, "shared_intermediate_size": 72, "tie_word_embeddings": True,
    },
    "helium": GROUPED | BIASED | {"head_dim": 16},
    "hunyuan_v1_dense": OWN_HEADS | {"attention_bias": True, "tie_word_embeddings": True},
    "hunyuan_v1_moe": OWN_HEADS | {"num_experts": 8, "moe_topk": 3},
    "hy_v3": OWN_HEADS | EXPERTS | {"num_experts": 8, "num_shared_experts": 2, "num_hidden_layers": 4},
    "hyperclovax": OWN_HEADS | BIASED | {"use_post_norm": False},
    "internlm3": OWN_HEADS | BIASED,
    "iquestcoder": GROUPED | BIASED | {"head_dim": 24},
    "jais2": OWN_HEADS | {"attention_bias": False, "mlp_bias": False},
    "kolibri1": OWN_HEADS | EXPERTS | {
        "num_experts": 8, "num_hidden_layers": 6, "sliding_window": 16, "shared_expert_intermediate_size": 72,
    },
    "llama": OWN_HEADS | BIASED | {"tie_word_embeddings": True},
    # transformers computes every expert of Llama 4 for every token, so all are visited here.
    "llama4_text": OWN_HEADS | {
        "num_hidden_layers": 7, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 200, "num_local_experts": 4,
        "num_experts_per_tok": 4, "attention_chunk_size": 16, "attention_bias": True,
    },
    "mellum": OWN_HEADS | EXPERTS | {
        "num_experts": 8, "sliding_window": 16, "mlp_layer_types": ["sparse", "dense", "sparse"],
        "layer_types": ["full_attention", "sliding_attention", "sliding_attention"], "attention_bias": True,
    },
    "minicpm3": LATENT | {"tie_word_embeddings": False},
    "minimax_m2": OWN_HEADS | {"num_local_experts": 8, "num_experts_per_tok": 3},
    "ministral": OWN_HEADS | {"sliding_window": 16},
    "ministral3": OWN_HEADS | {"tie_word_embeddings": True},
    "mistral": OWN_HEADS | {"sliding_window": 16, "tie_word_embeddings": True},
    "mixtral": OWN_HEADS | {"num_local_experts": 8, "num_experts_per_tok": 3, "sliding_window": 16},
    "mpt": {"d_model": 128, "n_layers": 3, "n_heads": 8, "vocab_size": 210, "tie_word_embeddings": False},
    "nanochat": OWN_HEADS | {"attention_bias": True, "tie_word_embeddings": True},
    "nemotron": OWN_HEADS | BIASED,
    "olmo": GROUPED | {"attention_bias": True, "tie_word_embeddings": True},
    "olmo2": GROUPED | {"attention_bias": True},
    "olmo3": GROUPED | {"num_hidden_layers": 6, "sliding_window": 16, "attention_bias": True},
    "olmoe": GROUPED | {"num_experts": 8, "num_experts_per_tok": 3, "attention_bias": True},
    "openai-gpt": GPT | {"tie_word_embeddings": False},
    "opt": {
        "hidden_size": 96, "ffn_dim": 136, "num_hidden_layers": 3, "num_attention_heads": 6, "vocab_size": 210,
        "max_position_embeddings": 64, "word_embed_proj_dim": 96, "do_layer_norm_before": False, "enable_bias": False,
        "tie_word_embeddings": False,
    },
    "persimmon": WIDE | {"qk_layernorm": False, "tie_word_embeddings": True},
    "phi": GROUPED | {"qk_layernorm": True},
    "phi3": GROUPED | {"sliding_window": 16, "pad_token_id": 0, "tie_word_embeddings": True},
    "phimoe": OWN_HEADS | {
        "num_local_experts": 8, "num_experts_per_tok": 2, "attention_bias": True, "lm_head_bias": True,
    },
    "qwen2": GROUPED | {
        "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1, "tie_word_embeddings": True,
    },
    "qwen2_moe": GROUPED | EXPERTS | {
        "num_hidden_layers": 7, "decoder_sparse_step": 2, "mlp_only_layers": [3], "num_experts": 8,
        "shared_expert_intermediate_size": 72, "qkv_bias": False,
    },
    "qwen3": OWN_HEADS | {
        "attention_bias": True, "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2,
    },
    "qwen3_moe": OWN_HEADS | EXPERTS | {
        "num_hidden_layers": 7, "decoder_sparse_step": 2, "mlp_only_layers": [3], "num_experts": 8,
        "attention_bias": True,
    },
    "sarvam_mla": DEEPSEEK | {"q_lora_rank": None},
    "sarvam_moe": OWN_HEADS | EXPERTS | {
        "n_routed_experts": 8, "n_shared_experts": 2, "first_k_dense_replace": 0, "use_qk_norm": False,
        "attention_bias": True,
    },
    "seed_oss": OWN_HEADS | {"attention_bias": False, "attention_out_bias": True, "mlp_bias": True},
    "smollm3": OWN_HEADS | BIASED | {"num_hidden_layers": 6, "use_sliding_window": True, "sliding_window": 16},
    "solar_open": OWN_HEADS | EXPERTS | {
        "n_routed_experts": 8, "n_shared_experts": 2, "n_group": 2, "topk_group": 1, "attention_bias": True,
    },
    "stablelm": GROUPED | {"use_qkv_bias": True, "qk_layernorm": True, "use_parallel_residual": True},
    "starcoder2": OWN_HEADS | {"use_bias": False, "sliding_window": 16, "tie_word_embeddings": False},
    "vaultgemma": OWN_HEADS | {"num_hidden_layers": 5, "sliding_window": 16, "attention_bias": True},
    "xglm": {
        "d_model": 96, "ffn_dim": 136, "num_layers": 3, "attention_heads": 6, "vocab_size": 210,
        "tie_word_embeddings": False,
    },
    "youtu": LATENT | {"q_lora_rank": None, "tie_word_embeddings": False},
}  # fmt: skip

# What the default lacks to be a model at all in this version of transformers.
DEFAULT: dict[str, dict[str, Any]] = {
    "dbrx": {"attn_config": {"kv_n_heads": 8, "rope_theta": 10000.0}},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "dots1": {"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6},
    "glm4_moe": {"head_dim": 128},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 48},
}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def build(model_type: str, overrides: dict[str, Any], device: str) -> Any:
    config = AutoConfig.for_model(model_type, **overrides)
    with torch.device(device):
        return AutoModelForCausalLM.from_config(
            config, attn_implementation="eager", experts_implementation="eager", dtype=torch.float32
        )


def fields(config: Any) -> dict[str, Any]:
    """The config.json, without what transformers adds to every one."""
    common = {**transformers.PretrainedConfig().to_dict(), "id2label": 0, "label2id": 0, "transformers_version": 0}
    own = config.to_dict()
    return {
        name: {key: inner for key, inner in value.items() if key not in common} if isinstance(value, dict) else value
        for name, value in own.items()
        if name not in common or name == "tie_word_embeddings"
    }


def row(model_type: str, overrides: dict[str, Any], counts_flops: bool) -> dict[str, Any]:
    model = build(model_type, overrides, "cpu" if counts_flops else "meta")
    config = {**fields(model.config), "model_type": model_type}
    counts = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    if counts_flops:
        tokens = torch.randint(3, 200, (BATCH, SEQUENCE))
        inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "use_cache": False}
        with FlopCounterMode(display=False) as forward:
            model(**inputs)
        with FlopCounterMode(display=False) as both:
            model(**inputs).logits.sum().backward()
        operators = {str(operator): flops for operator, flops in forward.get_flop_counts()["Global"].items()}
        counts |= {
            "batch": BATCH,
            "seq_len": SEQUENCE,
            "forward_flops": forward.get_total_flops(),
            "backward_flops": both.get_total_flops() - forward.get_total_flops(),
            "attention_flops": sum(flops for name, flops in operators.items() if "bmm" in name),
        }
    return {"name": f"{model_type}-{'small' if counts_flops else 'default'}", "config": config, **counts}


def main(path: str) -> None:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    rows = []
    for model_type, small in SMALL.items():
        for overrides, counts_flops in ((DEFAULT.get(model_type, {}), False), (small | TOKENS, True)):
            try:
                rows.append(row(model_type, overrides, counts_flops))
            except Exception as error:
                raise RuntimeError(f"{model_type} {overrides}") from error
    content = {
        "source": "Parameters counted on torch's meta device and FLOPs with torch.utils.flop_counter.FlopCounterMode, "
        "on the models of huggingface/transformers by make_families.py; a multiply-add counts as two, attention as "
        "the full square, no mask.",
        "made_with": {"torch": torch.__version__, "transformers": transformers.__version__},
        "model_types": sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
    }
    lines = ",\n".join(json.dumps(line, default=str) for line in rows)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(content)[:-1] + f', "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(sys.argv[1])
