"""The parts that language models are built of: each reads the fields of its part from a config.json."""

from collections.abc import Callable

from workbook.huggingface.config import Config, Part, Row, shown

PADDING_POSITIONS = 2  # OPT and BioGPT keep two rows of their position table for padding

LayerCount = Callable[[Config], int]


# Attention


def grouped_attention(config: Config) -> Row:
    """MHA, GQA or MQA: each group of query heads shares one head of keys and values."""
    heads = config.whole("num_attention_heads")
    key_value_heads = config.whole("num_key_value_heads", null=heads)
    if heads % key_value_heads:
        raise config.error("num_key_value_heads", f"is {key_value_heads}; supported: divisors of the {heads} heads")
    head_dim = config.whole("head_dim", null=0) or config.ratio(
        "num_attention_heads", config.whole("hidden_size"), "hidden_size"
    )
    return {
        "attention_kind": "MHA" if key_value_heads == heads else "MQA" if key_value_heads == 1 else "GQA",
        "num_attention_heads": heads,
        "num_key_value_heads": key_value_heads,
        "head_dim": head_dim,
        "query_key_norm_size": config.switch("query_key_norm") * 2 * head_dim,
    }


def norms_of_all_heads(config: Config) -> Row:
    """Queries and keys are normalised with a scale for every element of every head."""
    row = grouped_attention(config)
    heads = int(row["num_attention_heads"]) + int(row["num_key_value_heads"])
    return {"query_key_norm_size": config.switch("query_key_norm") * heads * int(row["head_dim"])}


def shifted_norms(config: Config) -> Row:
    """Queries and keys are normalised with a scale and a shift that all heads share."""
    return {"query_key_norm_size": 2 * int(grouped_attention(config)["query_key_norm_size"])}


def multi_query_attention(config: Config) -> Row:
    """All query heads share one head of keys and values, unless `multi_query` is off."""
    row = grouped_attention(config)
    if not config.one_of("multi_query", (False, True)):
        return row | {"attention_kind": "MHA", "num_key_value_heads": row["num_attention_heads"]}
    return row | {"attention_kind": "MQA", "num_key_value_heads": 1}


def heads_of_hidden_size(config: Config) -> Row:
    """All heads together are as wide as the residual stream."""
    heads, width = config.whole("num_attention_heads"), config.whole("hidden_size")
    if config.whole("head_dim") * heads != width:
        raise config.error("head_dim", f"is {config.whole('head_dim')}; supported: hidden_size / num_attention_heads")
    return {}


def falcon_attention(config: Config) -> Row:
    """Falcon: GQA in the new architecture, MQA or MHA in the old one; one or two norms per layer."""
    if config.one_of("new_decoder_architecture", (False, True)):
        row = grouped_attention(config)
        norms = config.whole("num_ln_in_parallel_attn", null=2)
    else:
        row = multi_query_attention(config)
        norms = config.whole("num_ln_in_parallel_attn", null=1)
    parallel = config.one_of("parallel_attn", (False, True))
    return row | {"block_norms": 2 if not parallel or norms == 2 else 1, "parallel_blocks": int(parallel is True)}


def latent_attention(config: Config) -> Row:
    """MLA: keys and values are compressed to a latent, queries may be."""
    config.without_influence("num_key_value_heads", "head_dim", "qk_head_dim")
    heads = config.whole("num_attention_heads")
    return {
        "attention_kind": "MLA",
        "num_attention_heads": heads,
        "q_lora_rank": config.whole("q_lora_rank", null=0),
        "kv_lora_rank": config.whole("kv_lora_rank"),
        "qk_nope_head_dim": config.whole("qk_nope_head_dim"),
        "qk_rope_head_dim": config.whole("qk_rope_head_dim"),
        "v_head_dim": config.whole("v_head_dim"),
    }


# Windows: which layers attend to a part of the sequence


def _windows(config: Config, window: int, windowed: LayerCount) -> Row:
    """`windowed` counts the windowed layers where `layer_types` does not tell."""
    kinds = config.layer_kinds("layer_types", ("full_attention", "sliding_attention"))
    config.without_influence("sliding_window_pattern", "max_window_layers")
    if kinds is not None and "sliding_attention" in kinds and not window:
        raise config.error("layer_types", "has sliding_attention without a sliding_window in use: give its size")
    layers = (windowed(config) if kinds is None else kinds.count("sliding_attention")) if window else 0
    return {"sliding_window": window, "sliding_window_layers": layers} if layers else {}


def no_windows(config: Config) -> Row:
    """All layers attend to the whole sequence."""
    config.layer_kinds("layer_types", ("full_attention",))
    return {}


def no_linear_attention(config: Config) -> Row:
    """MiniMax: `attn_type_list` calls every layer 1, attention with a softmax."""
    config.layer_kinds("attn_type_list", (1,))
    return {}


def windows(windowed: LayerCount) -> Part:
    """A window, if given, limits some layers."""

    def part(config: Config) -> Row:
        return _windows(config, config.whole("sliding_window", null=0), windowed)

    return part


def switched_windows(windowed: LayerCount) -> Part:
    """A window, if `use_sliding_window` is on, limits some layers."""

    def part(config: Config) -> Row:
        config.without_influence("sliding_window", "no_rope_layers", "no_rope_layer_interval")
        on = config.one_of("use_sliding_window", (False, True))
        return _windows(config, config.whole("sliding_window", null=0) if on else 0, windowed)

    return part


def chunks(config: Config) -> Row:
    """Llama 4: layers with rotary embedding attend within their chunk of the sequence."""
    chunk = config.whole("attention_chunk_size", null=0)
    kinds = config.layer_kinds("layer_types", ("full_attention", "chunked_attention"))
    config.without_influence("no_rope_layers", "no_rope_layer_interval")
    if kinds is not None and "chunked_attention" in kinds and not chunk:
        raise config.error("layer_types", "has chunked_attention without an attention_chunk_size: give its size")
    layers = (layers_with_rotation(config) if kinds is None else kinds.count("chunked_attention")) if chunk else 0
    return {"attention_chunk_size": chunk, "chunked_attention_layers": layers} if layers else {}


def all_layers(config: Config) -> int:
    """Every layer."""
    return config.whole("num_hidden_layers")


def no_layers(config: Config) -> int:
    """None, where no list of layers says otherwise."""
    return 0


def last_layers(config: Config) -> int:
    """The layers from `max_window_layers` on."""
    return max(0, config.whole("num_hidden_layers") - config.whole("max_window_layers", 0))


def all_but_every_nth_layer(config: Config) -> int:
    """All but each n-th layer, where n is `sliding_window_pattern`."""
    layers = config.whole("num_hidden_layers")
    return layers - layers // config.whole("sliding_window_pattern")


def all_but_every_nth_layer_from_the_first(config: Config) -> int:
    """All but the first layer and each n-th after it, where n is `sliding_window_pattern`."""
    layers, period = config.whole("num_hidden_layers"), config.whole("sliding_window_pattern")
    return layers - -(-layers // period)


def layers_with_rotation(config: Config) -> int:
    """The layers that `no_rope_layers` marks 1, or all but each n-th, where n is `no_rope_layer_interval`."""
    layers, marks = config.whole("num_hidden_layers"), config.value("no_rope_layers")
    config.without_influence("no_rope_layer_interval")
    if not marks:
        return layers - layers // config.whole("no_rope_layer_interval")
    if not isinstance(marks, list) or len(marks) != layers or any(mark not in (0, 1) for mark in marks):
        raise config.error("no_rope_layers", f"is {shown(marks)}; supported: 0 or 1 for each of {layers} layers")
    return marks.count(1)


def layers_without_rotation(config: Config) -> int:
    """The layers that have no rotary embedding."""
    return config.whole("num_hidden_layers") - layers_with_rotation(config)


def local_layers(config: Config) -> int:
    """GPT-Neo: the layers that `attention_layers`, or else `attention_types`, call local."""
    config.without_influence("attention_types")
    kinds = config.layer_kinds("attention_layers", ("global", "local"))
    if kinds is not None:
        return kinds.count("local")
    layers, types = config.whole("num_hidden_layers"), config.value("attention_types")
    counted, local = 0, 0
    for repeated in types if isinstance(types, list) else []:
        pattern, times = repeated if isinstance(repeated, list) and len(repeated) == 2 else ([], 0)
        if isinstance(pattern, list) and isinstance(times, int) and set(map(str, pattern)) <= {"global", "local"}:
            counted += times * len(pattern)
            local += times * pattern.count("local")
    if counted != layers:
        raise config.error(
            "attention_types", f"is {shown(types)}; supported: global and local for each of {layers} layers"
        )
    return local


# MLPs


def dense_mlp(config: Config) -> Row:
    """A dense MLP in every layer."""
    width = config.whole("intermediate_size")
    return {"num_dense_layers": config.whole("num_hidden_layers"), "intermediate_size": width}


def wide_mlp(config: Config) -> Row:
    """A dense MLP in every layer, four times as wide as the residual stream unless told."""
    width = config.whole("intermediate_size", null=4 * config.whole("hidden_size"))
    return {"num_dense_layers": config.whole("num_hidden_layers"), "intermediate_size": width}


def experts(moe_layers: LayerCount) -> Part:
    """Routed experts in some layers, a dense MLP in the others."""

    def part(config: Config) -> Row:
        dense = config.whole("num_hidden_layers") - moe_layers(config)
        routed, visited = config.whole("n_routed_experts"), config.whole("num_experts_per_tok")
        if visited > routed:
            raise config.error("num_experts_per_tok", f"is {visited}; supported: at most the {routed} experts")
        config.without_influence("intermediate_size")
        return {
            "num_dense_layers": dense,
            "intermediate_size": config.whole("intermediate_size") if dense else 0,
            "n_routed_experts": routed,
            "num_experts_per_tok": visited,
            "moe_intermediate_size": config.whole("moe_intermediate_size"),
        }

    return part


def after_dense_layers(config: Config) -> int:
    """All layers after the first `first_k_dense_replace`."""
    layers, dense = config.whole("num_hidden_layers"), config.whole("first_k_dense_replace", 0)
    if dense > layers:
        raise config.error("first_k_dense_replace", f"is {dense}; supported: at most the {layers} layers")
    return layers - dense


def sparse_layers(config: Config) -> int:
    """The layers that `mlp_layer_types` calls sparse, or else all after the dense ones."""
    config.without_influence("first_k_dense_replace")
    kinds = config.layer_kinds("mlp_layer_types", ("dense", "sparse"))
    return after_dense_layers(config) if kinds is None else kinds.count("sparse")


def every_nth_layer(config: Config) -> int:
    """Each n-th layer, where n is `decoder_sparse_step`, but those that `mlp_only_layers` lists."""
    layers, dense = config.whole("num_hidden_layers"), config.value("mlp_only_layers")
    if not isinstance(dense, list) or any(layer not in range(layers) for layer in dense):
        raise config.error("mlp_only_layers", f"is {shown(dense)}; supported: numbers of layers, 0 to {layers - 1}")
    step = config.whole("decoder_sparse_step")
    return layers // step - len([layer for layer in set(dense) if (layer + 1) % step == 0])


def listed_layers(config: Config) -> int:
    """Llama 4: the layers that `moe_layers` lists, or else each n-th, where n is `interleave_moe_layer_step`."""
    layers, sparse = config.whole("num_hidden_layers"), config.value("moe_layers")
    config.without_influence("interleave_moe_layer_step")
    if sparse is None:
        return layers // config.whole("interleave_moe_layer_step")
    if not isinstance(sparse, list) or any(layer not in range(layers) for layer in sparse):
        raise config.error("moe_layers", f"is {shown(sparse)}; supported: numbers of layers, 0 to {layers - 1}")
    return len(set(sparse))


def layers_of_an_interval(config: Config) -> int:
    """ERNIE: each n-th layer from `moe_layer_start_index` to `moe_layer_end_index`."""
    layers, step = config.whole("num_hidden_layers"), config.whole("moe_layer_interval")
    first, last = config.whole("moe_layer_start_index", 0), config.whole("moe_layer_end_index", -1)
    end = layers if last == -1 else min(last + 1, layers)
    return max(0, end // step - first // step)


def shared_experts(config: Config) -> Row:
    """Experts that every token visits, each as wide as a routed one."""
    count = config.whole("n_shared_experts", 0)
    return {"shared_expert_intermediate_size": count * config.whole("moe_intermediate_size")}


def shared_expert(config: Config) -> Row:
    """One expert that every token visits, with a width of its own."""
    return {"shared_expert_intermediate_size": config.whole("shared_expert_intermediate_size", 0)}


def expert_groups(config: Config) -> Row:
    """Node-limited routing: experts form groups, and a token reaches a few of them."""
    groups, reachable = config.whole("n_group", null=1), config.whole("topk_group", null=1)
    routed = config.whole("n_routed_experts")
    if routed % groups:
        raise config.error("n_group", f"is {groups}; supported: divisors of n_routed_experts, {routed}")
    if not -(-config.whole("num_experts_per_tok") // (routed // groups)) <= reachable <= groups:
        raise config.error(
            "topk_group", f"is {reachable}; supported: at most the {groups} groups, enough for num_experts_per_tok"
        )
    return {"n_group": groups, "topk_group": reachable}


def prediction_layers(config: Config) -> Row:
    """Multi-token prediction as in DeepSeek-V3: further MoE layers, each with a projection and three norms."""
    return {"num_nextn_predict_layers": config.whole("num_nextn_predict_layers", 0, null=0)}


# The rest


def learned_positions(config: Config) -> Row:
    """A learned table of positions."""
    return {"learned_positions": config.whole("max_position_embeddings")}


def learned_positions_and_padding(config: Config) -> Row:
    """A learned table of positions, with rows for padding."""
    return {"learned_positions": config.whole("max_position_embeddings") + PADDING_POSITIONS}


def opt_embedding(config: Config) -> Row:
    """OPT: the embedding is as wide as the residual stream."""
    width, given = config.whole("hidden_size"), config.value("word_embed_proj_dim")
    if given not in (None, width):
        raise config.error("word_embed_proj_dim", f"is {shown(given)}; supported: hidden_size, {width}")
    return {}


def opt_norms(config: Config) -> Row:
    """OPT: no final norm where norms come after the blocks; norms may have no weights."""
    final = config.switch("do_layer_norm_before") * (1 - config.switch("_remove_final_layer_norm"))
    return {"outer_norms": final, "norm_vectors": 2 * config.switch("layer_norm_elementwise_affine")}


def parallel_blocks(config: Config) -> Row:
    """Attention and MLP side by side, or one after the other."""
    return {"parallel_blocks": config.switch("use_parallel_residual")}


def parallel_norms(config: Config) -> Row:
    """One norm per layer where attention and MLP stand side by side, else two."""
    row = parallel_blocks(config)
    return row | {"block_norms": 2 - int(row["parallel_blocks"])}


def post_norms(config: Config) -> Row:
    """Two more norms per layer where blocks are normalised behind too."""
    return {"block_norms": 2 + 2 * config.switch("use_post_norm")}
