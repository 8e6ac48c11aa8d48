"""Models from Hugging Face: a `config.json` becomes one row of the sheet Models.

Each `model_type` is one line of `FAMILIES`: the parts it is built of, what is fixed in its code, and what
transformers takes where the file is silent. What a family does not say is refused: a field that is missing,
of the wrong kind or not modelled is an error, never a guess and never 0.
"""

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pyxl.errors import UserError

LARGEST_NUMBER = 10**15

Row = dict[str, int | str]

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
        "query_key_norm": 0,
        "attention_sinks": 0,
        "sliding_window": 0,
        "sliding_window_layers": 0,
        "intermediate_size": 0,
        "mlp_matrices": 3,
        "mlp_bias": 0,
        "n_routed_experts": 0,
        "num_experts_per_tok": 0,
        "moe_intermediate_size": 0,
        "shared_expert_intermediate_size": 0,
        "expert_bias": 0,
        "router_bias": 0,
        "router_correction_bias": 0,
        "n_group": 1,
        "topk_group": 1,
        "norm_vectors": 1,
        "num_nextn_predict_layers": 0,
    }
)


def _shown(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass(frozen=True)
class Config:
    """The fields of one config.json, under the names that most families use; every access is checked."""

    fields: Mapping[str, object]
    names: Mapping[str, tuple[str, ...]]
    origin: str

    def error(self, name: str, problem: str) -> UserError:
        """The error for a field, in one line: where, which field, what is wrong and what to do."""
        return UserError(f"{self.origin}: {self.names.get(name, (name,))[0]} {problem}")

    def value(self, name: str) -> object:
        """The field as it stands. Raises `UserError` where it is missing or given twice with two values."""
        given = [self.fields[key] for key in self.names.get(name, (name,)) if key in self.fields]
        if not given:
            raise self.error(name, "is missing: copy it from the model's config.json")
        if any(other != given[0] for other in given[1:]):
            raise self.error(name, f"is given as {' and as '.join(map(_shown, given))}: keep one")
        return given[0]

    def whole(self, name: str, least: int = 1, *, null: int | None = None) -> int:
        """A whole number; `null` is what JSON's null stands for, if anything."""
        value = self.value(name)
        if value is None and null is not None:
            return null
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_NUMBER:
            raise self.error(name, f"is {_shown(value)}; supported: whole numbers from {least} to {LARGEST_NUMBER:.0e}")
        return value

    def truth(self, name: str) -> int:
        """1 for true, 0 for false."""
        return int(self.one_of(name, (False, True)) is True)

    def one_of(self, name: str, supported: tuple[object, ...]) -> object:
        """A field that has to have one of the supported values."""
        value = self.value(name)
        if not any(type(value) is type(other) and value == other for other in supported):
            raise self.error(name, f"is {_shown(value)}; supported: {', '.join(map(_shown, supported))}")
        return value

    def ratio(self, name: str, dividend: int, of: str) -> int:
        """`dividend` divided by a field that has to divide it."""
        divisor = self.whole(name)
        if dividend % divisor:
            raise self.error(name, f"is {divisor}; supported: divisors of {of}, {dividend}")
        return dividend // divisor

    def windowed_layers(self) -> int | None:
        """How many layers `layer_types` says are windowed; nothing where it is absent."""
        types = self.fields.get("layer_types")
        if types is None:
            return None
        layers = self.whole("num_hidden_layers")
        if not isinstance(types, list) or len(types) != layers:
            raise self.error(
                "layer_types", f"is {_shown(types)}; supported: a list with one entry for each of {layers} layers"
            )
        for kind in types:
            if kind not in ("full_attention", "sliding_attention"):
                raise self.error("layer_types", f"has {_shown(kind)}; supported: full_attention, sliding_attention")
        return types.count("sliding_attention")


Part = Callable[[Config], Row]


def grouped_attention(config: Config) -> Row:
    """MHA, GQA or MQA: each group of query heads shares one head of keys and values."""
    heads = config.whole("num_attention_heads")
    key_value_heads = config.whole("num_key_value_heads", null=heads)
    if heads % key_value_heads:
        raise config.error("num_key_value_heads", f"is {key_value_heads}; supported: divisors of the {heads} heads")
    head_dim = config.whole("head_dim", null=0)
    return {
        "attention_kind": "MHA" if key_value_heads == heads else "MQA" if key_value_heads == 1 else "GQA",
        "num_attention_heads": heads,
        "num_key_value_heads": key_value_heads,
        "head_dim": head_dim or config.ratio("num_attention_heads", config.whole("hidden_size"), "hidden_size"),
        "query_key_value_bias": config.truth("attention_bias"),
        "attention_output_bias": config.truth("attention_bias"),
    }


def latent_attention(config: Config) -> Row:
    """MLA: keys and values are compressed to a latent, queries may be."""
    return {
        "attention_kind": "MLA",
        "num_attention_heads": config.whole("num_attention_heads"),
        "q_lora_rank": config.whole("q_lora_rank", null=0),
        "kv_lora_rank": config.whole("kv_lora_rank"),
        "qk_nope_head_dim": config.whole("qk_nope_head_dim"),
        "qk_rope_head_dim": config.whole("qk_rope_head_dim"),
        "v_head_dim": config.whole("v_head_dim"),
    }


def _windows(config: Config, window: int, layers: int) -> Row:
    by_type = config.windowed_layers()
    if by_type and not window:
        raise config.error("layer_types", "has sliding_attention without a sliding_window in use: give its size")
    windowed = (layers if by_type is None else by_type) if window else 0
    return {"sliding_window": window if windowed else 0, "sliding_window_layers": windowed}


def no_windows(config: Config) -> Row:
    """Families whose layers all attend to the whole sequence."""
    if config.windowed_layers():
        raise config.error("layer_types", "has sliding_attention; supported for this model_type: full_attention")
    return {}


def windows_in_all_layers(config: Config) -> Row:
    """A window, if given, limits every layer."""
    return _windows(config, config.whole("sliding_window", null=0), config.whole("num_hidden_layers"))


def windows_in_last_layers(config: Config) -> Row:
    """A window, if switched on, limits the layers from `max_window_layers` on."""
    if not config.truth("use_sliding_window"):
        return _windows(config, 0, 0)
    full = config.whole("max_window_layers", 0)
    return _windows(config, config.whole("sliding_window", null=0), max(0, config.whole("num_hidden_layers") - full))


def windows_in_every_other_layer(config: Config) -> Row:
    """The first, third, fifth ... layer is windowed."""
    return _windows(config, config.whole("sliding_window"), (config.whole("num_hidden_layers") + 1) // 2)


def dense_mlp(config: Config) -> Row:
    """A dense MLP in every layer."""
    return {
        "num_dense_layers": config.whole("num_hidden_layers"),
        "intermediate_size": config.whole("intermediate_size"),
        "mlp_bias": config.truth("mlp_bias"),
    }


def gpt2_layers(config: Config) -> Row:
    """A dense MLP in every layer, four times as wide as the residual stream unless told, and learned positions."""
    return {
        "num_dense_layers": config.whole("num_hidden_layers"),
        "intermediate_size": config.whole("n_inner", null=4 * config.whole("hidden_size")),
        "learned_positions": config.whole("n_positions"),
    }


def experts(config: Config, dense_layers: int = 0) -> Row:
    """Routed experts in every layer after the dense ones."""
    routed = config.whole("n_routed_experts")
    visited = config.whole("num_experts_per_tok")
    if visited > routed:
        raise config.error("num_experts_per_tok", f"is {visited}; supported: at most the {routed} experts")
    return {
        "num_dense_layers": dense_layers,
        "intermediate_size": config.whole("intermediate_size") if dense_layers else 0,
        "n_routed_experts": routed,
        "num_experts_per_tok": visited,
        "moe_intermediate_size": config.whole("moe_intermediate_size"),
    }


def experts_but_in_listed_layers(config: Config) -> Row:
    """Routed experts in every layer but those that `mlp_only_layers` lists, which have to come first."""
    dense = config.value("mlp_only_layers")
    layers = config.whole("num_hidden_layers")
    if not isinstance(dense, list) or len(dense) > layers or dense != list(range(len(dense))):
        raise config.error("mlp_only_layers", f"is {_shown(dense)}; supported: the first layers, as in [0, 1, 2]")
    return experts(config, len(dense))


def experts_in_groups(config: Config) -> Row:
    """DeepSeek's experts: dense layers first, shared experts, groups, a balancing bias, prediction layers."""
    layers, dense = config.whole("num_hidden_layers"), config.whole("first_k_dense_replace", 0)
    if dense > layers:
        raise config.error("first_k_dense_replace", f"is {dense}; supported: at most the {layers} layers")
    row = experts(config, dense)
    group_size = config.ratio("n_group", config.whole("n_routed_experts"), "n_routed_experts")
    groups, reachable = config.whole("n_group"), config.whole("topk_group")
    if not -(-config.whole("num_experts_per_tok") // group_size) <= reachable <= groups:
        raise config.error(
            "topk_group", f"is {reachable}; supported: at most the {groups} groups, enough for num_experts_per_tok"
        )
    return row | {
        "shared_expert_intermediate_size": config.whole("n_shared_experts", 0) * config.whole("moe_intermediate_size"),
        "n_group": groups,
        "topk_group": reachable,
        "num_nextn_predict_layers": config.whole("num_nextn_predict_layers", 0),
    }


@dataclass(frozen=True)
class Family:
    """How the config.json of one `model_type` is read.

    `parts` read its fields; `fixed` is what its code fixes; `absent` is what transformers takes where a field
    that config.json commonly omits is absent; `supported` are the only values modelled of further fields;
    `names` are the fields' names in the file where they differ from ours.
    """

    parts: tuple[Part, ...]
    fixed: Mapping[str, int | str] = field(default_factory=dict)
    absent: Mapping[str, object] = field(default_factory=dict)
    supported: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ABSENT: Mapping[str, object] = {
    "tie_word_embeddings": False,
    "head_dim": None,
    "attention_bias": False,
    "mlp_bias": False,
}
SUPPORTED: Mapping[str, tuple[object, ...]] = {
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
}
EITHER = (False, True)
EXPERT_FIELDS = {"num_experts", "num_local_experts", "n_routed_experts"}

DEEPSEEK_V3 = Family(
    (latent_attention, no_windows, experts_in_groups),
    fixed={"router_correction_bias": 1},
    # A checkpoint that transformers wrote has no prediction layers.
    absent={"num_nextn_predict_layers": 0},
    supported={"moe_layer_freq": (1,), "topk_method": ("noaux_tc",)},
)

# Source: the configuration and modelling code of each model_type in huggingface/transformers, version 5
FAMILIES: Mapping[str, Family] = {
    "deepseek_v3": DEEPSEEK_V3,
    "gpt2": Family(
        (grouped_attention, no_windows, gpt2_layers),
        fixed={
            "query_key_value_bias": 1,
            "attention_output_bias": 1,
            "mlp_matrices": 2,
            "mlp_bias": 1,
            "norm_vectors": 2,
        },
        absent={"tie_word_embeddings": True, "n_inner": None, "num_key_value_heads": None},
        names={"hidden_size": ("n_embd",), "num_hidden_layers": ("n_layer",), "num_attention_heads": ("n_head",)},
    ),
    "gpt_oss": Family(
        (grouped_attention, windows_in_every_other_layer, experts),
        fixed={"attention_sinks": 1, "expert_bias": 1, "router_bias": 1},
        absent={"attention_bias": True},
        supported={"attention_bias": EITHER},
        names={
            "n_routed_experts": ("num_local_experts", "num_experts"),
            "num_experts_per_tok": ("num_experts_per_tok", "experts_per_token"),
            "moe_intermediate_size": ("intermediate_size",),
        },
    ),
    "kimi_k2": DEEPSEEK_V3,
    "llama": Family(
        (grouped_attention, no_windows, dense_mlp),
        absent={"num_key_value_heads": None},
        supported={"attention_bias": EITHER, "mlp_bias": EITHER},
    ),
    "mistral": Family((grouped_attention, windows_in_all_layers, dense_mlp)),
    "mixtral": Family(
        (grouped_attention, windows_in_all_layers, experts),
        absent={"sliding_window": None},
        names={"n_routed_experts": ("num_local_experts",), "moe_intermediate_size": ("intermediate_size",)},
    ),
    "qwen2": Family(
        (grouped_attention, windows_in_last_layers, dense_mlp),
        fixed={"query_key_value_bias": 1},
        absent={"use_sliding_window": False},
    ),
    "qwen3": Family(
        (grouped_attention, windows_in_last_layers, dense_mlp),
        fixed={"query_key_norm": 1},
        absent={"use_sliding_window": False, "head_dim": 128},
        supported={"attention_bias": EITHER},
    ),
    "qwen3_moe": Family(
        (grouped_attention, no_windows, experts_but_in_listed_layers),
        fixed={"query_key_norm": 1},
        absent={"mlp_only_layers": []},
        # Which layers the window limits differs between versions of transformers.
        supported={"attention_bias": EITHER, "use_sliding_window": (False,), "decoder_sparse_step": (1,)},
        names={"n_routed_experts": ("num_experts", "num_local_experts")},
    ),
}


def model_fields(config: Mapping[str, object], origin: str) -> Row:
    """One row of the sheet Models: a value for every column, from the fields of a Hugging Face config.json.

    `origin` is named in errors. Fields without influence on parameters or FLOPs are ignored. Raises
    `UserError` for a model_type, field or value that is not modelled.
    """
    model_type = config.get("model_type")
    family = FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        problem = f"model_type is {_shown(model_type)}" if "model_type" in config else "model_type is missing"
        raise UserError(f"{origin}: {problem}; supported: {', '.join(FAMILIES)}")
    _refuse_misspelt(config, family, origin)
    read = Config({**ABSENT, **family.absent, **config}, family.names, origin)
    for name, supported in {**SUPPORTED, **family.supported}.items():
        if name in config:
            read.one_of(name, supported)
    row: Row = {
        **UNUSED,
        "hidden_size": read.whole("hidden_size"),
        "num_hidden_layers": read.whole("num_hidden_layers"),
        "vocab_size": read.whole("vocab_size"),
        "tied_embeddings": read.truth("tie_word_embeddings"),
    }
    for part in family.parts:
        row |= part(read)
    if not row["n_routed_experts"]:
        for name in EXPERT_FIELDS & config.keys():
            read.one_of(name, (None, 0, 1))
    return row | dict(family.fixed)


def _refuse_misspelt(config: Mapping[str, object], family: Family, origin: str) -> None:
    """A field that may be absent must not be there under a misspelt name: its default would be a guess."""
    for name in {**ABSENT, **family.absent}:
        spelt = family.names.get(name, (name,))
        if not any(key in config for key in spelt):
            for close in difflib.get_close_matches(spelt[0], config, cutoff=0.92):
                raise UserError(f"{origin}: unknown field {close}: did you mean {spelt[0]}?")
