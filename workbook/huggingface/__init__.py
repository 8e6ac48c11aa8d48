"""Models from Hugging Face: a `config.json` becomes one row of the sheet Models.

Each `model_type` is one entry of `FAMILIES`: the parts it is built of, what is fixed in its code, and what
transformers takes where the file is silent. What a family does not say is refused: a field that is missing,
of the wrong kind or not modelled is an error, never a guess and never 0.
"""

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from pyxl.errors import UserError
from workbook.huggingface.config import Config, Row, flat, shown
from workbook.huggingface.families import FAMILIES
from workbook.huggingface.not_modelled import NOT_MODELLED, is_architectural

__all__ = ["FAMILIES", "NOT_MODELLED", "UNUSED", "model_fields"]

# Every column of the sheet Models, with its value for models that do not use it.
UNUSED: Mapping[str, int | str] = MappingProxyType(
    {
        "hidden_size": 0,
        "num_hidden_layers": 0,
        "num_dense_layers": 0,
        "vocab_size": 0,
        "learned_positions": 0,
        "tied_embeddings": 0,
        "attention_kind": "",
        "num_attention_heads": 0,
        "num_key_value_heads": 0,
        "head_dim": 0,
        "q_lora_rank": 0,
        "kv_lora_rank": 0,
        "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0,
        "v_head_dim": 0,
        "query_key_value_bias": 0,
        "attention_output_bias": 0,
        "query_key_norm_size": 0,
        "attention_sinks": 0,
        "sliding_window": 0,
        "sliding_window_layers": 0,
        "attention_chunk_size": 0,
        "chunked_attention_layers": 0,
        "intermediate_size": 0,
        "mlp_matrices": 3,
        "mlp_bias": 0,
        "activation_parameters": 0,
        "n_routed_experts": 0,
        "num_experts_per_tok": 0,
        "moe_intermediate_size": 0,
        "shared_expert_intermediate_size": 0,
        "shared_expert_gate": 0,
        "expert_bias": 0,
        "router_bias": 0,
        "router_correction_bias": 0,
        "n_group": 1,
        "topk_group": 1,
        "norm_vectors": 1,
        "block_norms": 2,
        "parallel_blocks": 0,
        "outer_norms": 1,
        "head_bias": 0,
        "num_nextn_predict_layers": 0,
    }
)
SWITCHES = ("query_key_value_bias", "attention_output_bias", "mlp_bias", "head_bias")


def model_fields(config: Mapping[str, object], origin: str) -> Row:
    """One row of the sheet Models: a value for every column, from the fields of a Hugging Face config.json.

    `origin` is named in errors. Fields without influence on parameters or FLOPs are ignored. Raises
    `UserError` for a model_type, field or value that is not modelled.
    """
    read = _config(config, origin)
    for name, supported in {"moe_layer_freq": (1,), **read.family.supported}.items():
        if name in read.fields:
            read.one_of(name, supported)
            read.without_influence(name)
    row: Row = {
        **UNUSED,
        "hidden_size": read.whole("hidden_size"),
        "num_hidden_layers": read.whole("num_hidden_layers"),
        "vocab_size": read.whole("vocab_size"),
        "tied_embeddings": int(read.one_of("tie_word_embeddings", (False, True)) is True),
    }
    row |= {name: read.switch(name) for name in SWITCHES}
    row |= {column: value for column, value in read.family.fixed.items() if column in UNUSED}
    for part in read.family.parts:
        row |= part(read)
    _refuse_unread(read)
    return row


def _config(config: Mapping[str, object], origin: str) -> Config:
    model_type = config.get("model_type")
    if isinstance(model_type, str) and model_type in FAMILIES:
        return Config(dict(flat(config)), FAMILIES[model_type], origin)
    for kind, types in NOT_MODELLED.items():
        if model_type in types:
            raise UserError(f"{origin}: model_type is {shown(model_type)}: {kind} are not modelled")
    problem = f"model_type is {shown(model_type)}" if "model_type" in config else "model_type is missing"
    raise UserError(f"{origin}: {problem}; supported: {', '.join(FAMILIES)}")


def _refuse_unread(config: Config) -> None:
    """What looks like architecture and was not read must not be ignored silently, nor a misspelt field."""
    known = sorted(config.read)
    for name, value in config.fields.items():
        if name in config.read or not value:
            continue
        if close := difflib.get_close_matches(name, [key for key in known if key not in config.fields], cutoff=0.92):
            raise UserError(f"{config.origin}: unknown field {name}: did you mean {close[0]}?")
        if is_architectural(name):
            family = config.fields["model_type"]
            raise UserError(
                f"{config.origin}: {name} is {shown(value)}, which is not modelled; supported for {family}: without it"
            )
