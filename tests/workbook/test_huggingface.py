"""Models from Hugging Face against torch: parameters and FLOPs to the integer, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyxl.errors import UserError
from workbook import catalogue
from workbook.analysis import analysis
from workbook.huggingface import FAMILIES, NOT_MODELLED, UNUSED, model_fields
from workbook.operators import operators
from workbook.stages import stages


def oracles(name: str) -> dict[str, Any]:
    return json.loads((Path(__file__).parents[1] / "oracles" / name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


ORACLES = oracles("huggingface.json")["rows"]
FAMILY_ORACLES = oracles("families.json")
CONFIGS = {row["name"]: row["config"] for row in ORACLES}
COUNTED = [row for row in ORACLES + FAMILY_ORACLES["rows"] if "forward_flops" in row]
CHOICES = [catalogue.hardware(), *catalogue.choices().values()]

COMPONENTS = (
    "embedding_parameters",
    "head_parameters",
    "attention_parameters",
    "norm_parameters",
    "dense_mlp_total_parameters",
    "routed_expert_parameters",
    "shared_expert_total_parameters",
    "router_total_parameters",
)


def values(config: dict[str, Any], **inputs: Any) -> dict[str, Any]:
    row = {"name": "the model", **model_fields(config, "config.json")}
    models = catalogue.Table("Models", tuple(UNUSED), [row])
    return analysis.compute({"model": "the model", **inputs}, catalogue.columns([models, *CHOICES]))


def component(tensor: str) -> str:
    """The component of ours that a parameter of transformers belongs to."""
    for parts, name in (
        ((".self_attn.", ".attn."), "attention_parameters"),
        ((".experts.",), "routed_expert_parameters"),
        ((".shared_experts.",), "shared_expert_total_parameters"),
        ((".mlp.gate.", ".mlp.router."), "router_total_parameters"),
        ((".mlp.",), "dense_mlp_total_parameters"),
        (("norm", ".ln_"), "norm_parameters"),
        (("embed_tokens", ".wte.", ".wpe."), "embedding_parameters"),
        (("lm_head",), "head_parameters"),
    ):
        if any(part in tensor for part in parts):
            return name
    raise AssertionError(f"no component for {tensor}")


def named(row: dict[str, Any]) -> str:
    return str(row["name"])


def test_every_column_of_the_catalogue_has_a_value() -> None:
    assert {f"Models.{column}" for column in ("name", *UNUSED)} == {
        key for key, column in analysis.columns.items() if column.table == "Models"
    }


@pytest.mark.parametrize("oracle", ORACLES, ids=named)
def test_parameters_are_those_of_transformers(oracle: dict[str, Any]) -> None:
    ours = values(oracle["config"])
    expected = dict.fromkeys(COMPONENTS, 0)
    for tensor, count in oracle["parameters_by_tensor"].items():
        expected[component(tensor)] += count
    assert {name: ours[name] for name in COMPONENTS} == expected
    assert ours["total_parameters"] == oracle["parameters"]


@pytest.mark.parametrize("oracle", FAMILY_ORACLES["rows"], ids=named)
def test_each_family_has_as_many_parameters_as_in_transformers(oracle: dict[str, Any]) -> None:
    assert values(oracle["config"])["total_parameters"] == oracle["parameters"]


def test_each_language_model_of_transformers_is_counted_or_refused_by_name() -> None:
    covered = {row["config"]["model_type"] for row in FAMILY_ORACLES["rows"]}
    assert covered | {"kimi_k2"} == set(FAMILIES)  # kimi_k2 is DeepSeek-V3's code under another name
    refused = [model_type for types in NOT_MODELLED.values() for model_type in types]
    assert sorted([*covered, *refused]) == FAMILY_ORACLES["model_types"]


@pytest.mark.parametrize(
    ("kind", "types"), NOT_MODELLED.items(), ids=lambda value: value if str(value) == value else ""
)
def test_layer_kinds_that_are_not_modelled_are_named(kind: str, types: tuple[str, ...]) -> None:
    for model_type in types:
        with pytest.raises(UserError) as error:
            model_fields({**LLAMA, "model_type": model_type}, "config.json")
        assert str(error.value) == f'config.json: model_type is "{model_type}": {kind} are not modelled'


@pytest.mark.parametrize("oracle", COUNTED, ids=named)
def test_flops_are_those_that_torch_counts(oracle: dict[str, Any]) -> None:
    ours = values(oracle["config"], sequence_length=oracle["seq_len"])
    tokens = oracle["batch"] * oracle["seq_len"]
    assert tokens * ours["forward_flops_per_token_full_square"] == oracle["forward_flops"]
    assert tokens * ours["backward_flops_per_token_full_square"] == oracle["backward_flops"]


@pytest.mark.parametrize("oracle", [row for row in COUNTED if row["name"].endswith("-small")], ids=named)
def test_operators_and_stages_hold_the_whole_model(oracle: dict[str, Any]) -> None:
    ours = values(oracle["config"], sequence_length=oracle["seq_len"], pipeline_parallel_size=2)
    flops = sum(line["total_flops"] for line in operators.compute_rows(ours))
    assert flops == pytest.approx(ours["microbatch_tokens"] * ours["forward_flops_per_token"], rel=1e-12)
    held = sum(line["dense_parameters"] + line["expert_parameters"] for line in stages.compute_rows(ours))
    copy = ours["tied_embeddings"] * ours["vocab_size"] * ours["hidden_size"]
    assert held == pytest.approx(ours["total_parameters"] + copy, rel=1e-12)


@pytest.mark.parametrize("oracle", [row for row in COUNTED if "llama4" not in row["name"]], ids=named)
def test_attention_and_linear_flops_are_split_as_torch_splits_them(oracle: dict[str, Any]) -> None:
    """But for Llama 4, whose experts are batched products too."""
    ours = values(oracle["config"], sequence_length=oracle["seq_len"])
    tokens = oracle["batch"] * oracle["seq_len"]
    attention = tokens * ours["attention_forward_flops_per_token_full_square"]
    assert attention == (
        oracle["attention_flops"] if "attention_flops" in oracle else oracle["forward_flops_by_op"]["bmm"]
    )


@pytest.mark.parametrize("name", [row["name"] for row in ORACLES if not row["name"].startswith("small-")])
def test_template_has_the_parameters_of_the_oracle(name: str) -> None:
    columns = catalogue.columns([catalogue.models(), *CHOICES])
    parameters = {row["name"]: row["parameters"] for row in ORACLES}
    assert analysis.compute({"model": name}, columns)["total_parameters"] == parameters[name]


LLAMA = CONFIGS["small-llama-gqa-tied"]
DEEPSEEK = CONFIGS["small-deepseek-v3"]
QWEN2 = CONFIGS["small-qwen2-bias"]
QWEN3_MOE = CONFIGS["small-qwen3-moe"]
MIXTRAL = CONFIGS["small-mixtral"]
GPT2 = CONFIGS["small-gpt2"]
GPT_OSS = CONFIGS["small-gpt-oss"]
MISTRAL = LLAMA | {"model_type": "mistral", "sliding_window": 32}
QWEN3 = CONFIGS["small-qwen3-headdim"]
SMALL = {row["config"]["model_type"]: row["config"] for row in FAMILY_ORACLES["rows"] if row["name"].endswith("-small")}
FALCON = SMALL["falcon"]


def without(config: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in fields}


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        (LLAMA, "model_type", None),
        (LLAMA, "model_type", ["llama"]),
        *((LLAMA, "hidden_size", value) for value in ("384", 384.0, True, None, 0, -1, float("nan"), 10**15 + 1, [1])),
        (LLAMA, "num_hidden_layers", float("inf")),
        (LLAMA, "vocab_size", -5),
        (LLAMA, "tie_word_embeddings", "yes"),
        (LLAMA, "tie_word_embeddings", 1),
        (LLAMA, "num_key_value_heads", 5),
        (LLAMA, "num_key_value_heads", 0),
        (LLAMA, "head_dim", 0),
        (LLAMA, "intermediate_size", None),
        (LLAMA, "layer_types", ["full_attention", "full_attention", "sliding_attention"]),
        (LLAMA, "layer_types", ["linear_attention", "full_attention", "full_attention"]),
        (LLAMA, "layer_types", ["full_attention"]),
        (LLAMA, "layer_types", "full_attention"),
        (LLAMA, "is_encoder_decoder", True),
        (DEEPSEEK, "attention_bias", True),
        (DEEPSEEK, "mlp_bias", True),
        (DEEPSEEK, "moe_layer_freq", 2),
        (DEEPSEEK, "moe_layer_freq", [0, 1, 1]),
        (DEEPSEEK, "topk_method", "greedy"),
        (DEEPSEEK, "first_k_dense_replace", 4),
        (DEEPSEEK, "n_group", 3),
        (DEEPSEEK, "n_group", 0),
        (DEEPSEEK, "topk_group", 5),
        (DEEPSEEK, "num_experts_per_tok", 17),
        (DEEPSEEK | {"num_experts_per_tok": 9}, "topk_group", 2),
        (DEEPSEEK, "q_lora_rank", 0),
        (DEEPSEEK, "n_shared_experts", None),
        (DEEPSEEK, "num_nextn_predict_layers", -1),
        (MISTRAL, "sliding_window", 0),
        (MIXTRAL, "mlp_bias", True),
        (MIXTRAL, "attention_bias", True),
        (QWEN2, "mlp_bias", True),
        (QWEN2, "attention_bias", True),
        (QWEN2, "layer_types", ["full_attention", "sliding_attention"]),
        (QWEN3_MOE, "use_sliding_window", True),
        (QWEN3_MOE, "decoder_sparse_step", 0),
        (QWEN3_MOE, "mlp_only_layers", [0, 1, 2, 3]),
        (QWEN3_MOE, "mlp_only_layers", None),
        (GPT2, "add_cross_attention", True),
        (GPT2, "n_embd", None),
        (GPT2, "n_inner", 0),
        (GPT_OSS, "layer_types", ["chunked_attention"] * 4),
        (GPT_OSS | {"sliding_window": None}, "layer_types", ["sliding_attention"] * 4),
        (LLAMA, "sliding_window", 32),
        (LLAMA, "num_experts", 8),
        (LLAMA, "qk_layernorm", True),
        (LLAMA, "kv_lora_rank", 512),
        (LLAMA, "num_nextn_predict_layers", 1),
        (LLAMA, "linear_attn_config", {"num_heads": 4}),
        (LLAMA, "vision_config", {"depth": 32}),
        (FALCON, "num_ln_in_parallel_attn", "two"),
        (SMALL["opt"], "word_embed_proj_dim", 48),
        (SMALL["mpt"], "attn_config", {"attn_type": "multiquery_attention"}),
        (SMALL["mpt"], "expansion_ratio", 8),
        (SMALL["gpt_neo"] | {"attention_layers": None}, "attention_types", [[["global", "local"], 1]]),
        (SMALL["gpt_neo"] | {"attention_layers": None}, "attention_types", [["global", 3]]),
        (SMALL["gpt_neo"], "attention_layers", ["global", "sparse", "local"]),
        (SMALL["llama4_text"], "moe_layers", [0, 7]),
        (SMALL["llama4_text"] | {"layer_types": None}, "no_rope_layers", [1, 0]),
        (SMALL["llama4_text"] | {"attention_chunk_size": None}, "layer_types", ["chunked_attention"] * 7),
        (SMALL["helium"], "head_dim", 32),
        (SMALL["mellum"], "mlp_layer_types", ["sparse", "moe", "dense"]),
        (SMALL["minimax_m2"], "attn_type_list", [0, 1, 1]),
        (SMALL["ernie4_5_moe"], "use_bias", True),
        (SMALL["ernie4_5_moe"], "moe_layer_interval", 0),
    ],
)
def test_what_is_not_modelled_is_refused(config: dict[str, Any], field: str, value: object) -> None:
    with pytest.raises(UserError) as error:
        model_fields(config | {field: value}, "my/config.json")
    message = str(error.value)
    assert message.startswith(f"my/config.json: {field}")
    assert "supported" in message or "give its size" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (LLAMA, "hidden_size"),
        (LLAMA, "num_hidden_layers"),
        (LLAMA, "vocab_size"),
        (LLAMA, "intermediate_size"),
        (LLAMA, "num_attention_heads"),
        (MISTRAL, "sliding_window"),
        (MISTRAL, "num_key_value_heads"),
        (DEEPSEEK, "kv_lora_rank"),
        (DEEPSEEK, "q_lora_rank"),
        (DEEPSEEK, "n_group"),
        (QWEN3_MOE, "head_dim"),
        (GPT2, "n_layer"),
        (MIXTRAL, "num_local_experts"),
    ],
)
def test_a_missing_field_is_refused(config: dict[str, Any], field: str) -> None:
    config = without(config, field) | ({"head_dim": "x"} if field == "head_dim" else {})
    with pytest.raises(UserError, match=f"^my/config.json: {field} is"):
        model_fields(config, "my/config.json")


def test_a_missing_model_type_lists_what_is_supported() -> None:
    with pytest.raises(UserError, match="model_type is missing; supported: apertus, arcee"):
        model_fields({}, "config.json")


def test_two_names_of_one_field_have_to_agree() -> None:
    with pytest.raises(UserError, match="num_experts is given as 8 and as 16: keep one"):
        model_fields(QWEN3_MOE | {"num_experts": 8}, "config.json")
    assert model_fields(QWEN3_MOE | {"num_experts": 16}, "config.json")["n_routed_experts"] == 16


def test_heads_have_to_divide_the_width_where_no_head_dim_is_given() -> None:
    with pytest.raises(UserError, match="num_attention_heads is 7"):
        model_fields(without(LLAMA, "head_dim", "num_key_value_heads") | {"num_attention_heads": 7}, "config.json")


def test_absent_fields_are_what_transformers_takes() -> None:
    llama = without(LLAMA, "num_key_value_heads", "head_dim", "tie_word_embeddings", "attention_bias", "mlp_bias")
    row = model_fields(llama, "config.json")
    assert (row["attention_kind"], row["num_key_value_heads"], row["head_dim"]) == ("MHA", 12, 32)
    assert (row["tied_embeddings"], row["query_key_value_bias"], row["mlp_bias"]) == (0, 0, 0)
    gpt2 = model_fields(without(GPT2, "tie_word_embeddings", "n_inner"), "config.json")
    assert (gpt2["tied_embeddings"], gpt2["intermediate_size"]) == (1, 4 * 192)
    assert model_fields(without(MIXTRAL, "sliding_window"), "config.json")["sliding_window"] == 0
    assert model_fields(without(QWEN3, "head_dim"), "config.json")["head_dim"] == 128
    assert model_fields(without(DEEPSEEK, "num_nextn_predict_layers"), "config.json")["num_nextn_predict_layers"] == 0


@pytest.mark.parametrize("config", [LLAMA, DEEPSEEK, QWEN2, GPT_OSS], ids=lambda config: config["model_type"])
def test_configs_of_transformers_4_read_the_same(config: dict[str, Any]) -> None:
    old = without(config, "rope_parameters", "layer_types") | {"rope_theta": 10000.0, "torch_dtype": "bfloat16"}
    assert model_fields(old, "config.json") == model_fields(config, "config.json")


def test_kimi_k2_reads_as_deepseek_v3() -> None:
    kimi = model_fields(DEEPSEEK | {"model_type": "kimi_k2"}, "config.json")
    assert kimi == model_fields(DEEPSEEK, "config.json")


def test_attention_kinds() -> None:
    kinds = {name: model_fields(config, name)["attention_kind"] for name, config in CONFIGS.items()}
    assert kinds["small-llama-mha"] == "MHA"
    assert kinds["small-llama-gqa-tied"] == "GQA"
    assert kinds["small-llama-mqa"] == "MQA"
    assert kinds["small-deepseek-no-q-lora"] == "MLA"


def test_unused_numbers_are_0() -> None:
    dense = model_fields(LLAMA, "config.json")
    assert dense["num_dense_layers"] == dense["num_hidden_layers"]
    assert not any(dense[name] for name in dense if "expert" in name or "lora" in name or name.startswith("moe"))
    assert (dense["n_group"], dense["topk_group"]) == (1, 1)
    latent = model_fields(DEEPSEEK, "config.json")
    assert (latent["num_key_value_heads"], latent["head_dim"]) == (0, 0)
    assert model_fields(QWEN3_MOE, "config.json")["intermediate_size"] == 0


@pytest.mark.parametrize(
    ("config", "window", "layers"),
    [
        (MISTRAL, 32, 3),
        (MISTRAL | {"sliding_window": None}, 0, 0),
        (MIXTRAL | {"sliding_window": 64}, 64, 2),
        (QWEN2 | {"sliding_window": 32}, 0, 0),
        (
            without(QWEN2, "layer_types") | {"use_sliding_window": True, "sliding_window": 32, "max_window_layers": 1},
            32,
            1,
        ),
        (without(QWEN2, "layer_types") | {"use_sliding_window": True, "sliding_window": 32}, 0, 0),
        (QWEN3 | {"use_sliding_window": True, "sliding_window": 32, "layer_types": ["sliding_attention"] * 2}, 32, 2),
        (GPT_OSS, 32, 2),
        (without(GPT_OSS, "layer_types") | {"num_hidden_layers": 5}, 32, 3),
    ],
)
def test_windows(config: dict[str, Any], window: int, layers: int) -> None:
    row = model_fields(config, "config.json")
    assert (row["sliding_window"], row["sliding_window_layers"]) == (window, layers)


def test_parameters_do_not_depend_on_the_window() -> None:
    totals = {values(MISTRAL | {"sliding_window": window})["total_parameters"] for window in (None, 16, 4096)}
    assert len(totals) == 1


def test_bias_of_llama_is_modelled() -> None:
    plain, biased = values(LLAMA), values(LLAMA | {"attention_bias": True, "mlp_bias": True})
    per_layer = (384 + 2 * 4 * 32 + 384) + (2 * 1000 + 384)
    assert biased["total_parameters"] - plain["total_parameters"] == 3 * per_layer


@pytest.mark.parametrize(
    ("dense", "step", "count"), [([0, 1], 1, 2), ([], 1, 0), ([2], 1, 1), ([], 2, 2), ([1], 2, 3), ([0], 3, 2)]
)
def test_dense_layers_of_qwen3_moe_are_counted_wherever_they_stand(dense: list[int], step: int, count: int) -> None:
    row = model_fields(QWEN3_MOE | {"mlp_only_layers": dense, "decoder_sparse_step": step}, "config.json")
    assert (row["num_dense_layers"], row["intermediate_size"]) == (count, 512 if count else 0)


@pytest.mark.parametrize(
    ("config", "chunk", "layers"),
    [
        (SMALL["llama4_text"], 16, 6),
        (SMALL["llama4_text"] | {"layer_types": None, "no_rope_layers": [], "no_rope_layer_interval": 3}, 16, 5),
        (SMALL["llama4_text"] | {"layer_types": None, "no_rope_layers": [1, 1, 0, 0, 0, 0, 0]}, 16, 2),
        (SMALL["llama4_text"] | {"layer_types": None, "attention_chunk_size": None}, 0, 0),
    ],
)
def test_chunks(config: dict[str, Any], chunk: int, layers: int) -> None:
    row = model_fields(config, "config.json")
    assert (row["attention_chunk_size"], row["chunked_attention_layers"]) == (chunk, layers)


@pytest.mark.parametrize(
    ("model", "published"),
    [
        # Fields of the published files beyond those of the template.
        ("bloom-176b", {"n_inner": None, "offset_alibi": 100, "attention_softmax_in_fp32": True, "skip_bias_add": True,
                        "bias_dropout_fusion": True, "masked_softmax_fusion": True, "pretraining_tp": 4}),
        ("deepseek-v3", {"ep_size": 1, "moe_layer_freq": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
                         "num_key_value_heads": 128, "norm_topk_prob": True, "aux_loss_alpha": 0.001,
                         "auto_map": {"AutoModel": "modeling_deepseek.DeepseekV3Model"}, "attention_dropout": 0.0,
                         "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
                         "rope_scaling": {"original_max_position_embeddings": 4096}, "hidden_act": "silu"}),
        ("gemma-3-27b", {"rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "query_pre_attn_scalar": 168}),
        ("glm-4.5-air", {"norm_topk_prob": True, "partial_rotary_factor": 0.5, "routed_scaling_factor": 1.0,
                         "initializer_range": 0.02, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05}),
        ("llama-3-8b", {"initializer_range": 0.02, "max_position_embeddings": 8192, "pretraining_tp": 1,
                        "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "torch_dtype": "bfloat16", "use_cache": True}),
        ("llama-4-maverick", {"_attn_implementation_autoset": True, "for_llm_compressor": False, "rope_scaling": None,
                              "router_jitter_noise": 0.0, "router_aux_loss_coef": 0.001,
                              "moe_layers": list(range(1, 48, 2)), "no_rope_layers": []}),
        ("mixtral-8x7b", {"output_router_logits": False, "router_aux_loss_coef": 0.02, "sliding_window": None}),
        ("qwen2-57b-a14b", {"max_window_layers": 28, "sliding_window": 131072, "norm_topk_prob": False,
                            "max_position_embeddings": 131072, "attention_dropout": 0.0}),
        ("qwen3-30b-a3b", {"max_window_layers": 48, "sliding_window": None, "intermediate_size": 6144}),
        ("gpt-oss-20b", {"experts_per_token": 4, "initial_context_length": 4096, "swiglu_limit": 7.0}),
    ],
)  # fmt: skip
def test_a_published_config_reads_as_its_template(model: str, published: dict[str, Any]) -> None:
    template = json.loads((catalogue.templates_directory() / "models" / f"{model}.json").read_text(encoding="utf-8"))
    assert model_fields(template | published, "config.json") == model_fields(template, "template")


@pytest.mark.parametrize(
    ("config", "misspelt", "right"),
    [
        (without(LLAMA, "num_key_value_heads"), "num_key_value_head", "num_key_value_heads"),
        (without(LLAMA, "tie_word_embeddings"), "tie_word_embedding", "tie_word_embeddings"),
    ],
)
def test_a_misspelt_field_is_no_absent_one(config: dict[str, Any], misspelt: str, right: str) -> None:
    with pytest.raises(UserError, match=f"^config.json: unknown field {misspelt}: did you mean {right}"):
        model_fields(config | {misspelt: 4}, "config.json")


def test_what_is_switched_off_may_stand_there() -> None:
    off = {"num_experts": 0, "sliding_window": None, "use_qk_norm": False, "pruned_heads": {}, "mlp_only_layers": []}
    assert model_fields(LLAMA | off, "config.json") == model_fields(LLAMA, "config.json")
