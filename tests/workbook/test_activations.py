"""Activations, tensor by tensor: published formulas exactly, published and measured memory within a few per cent."""

import csv
from math import ceil
from typing import Any

import pytest

from workbook import study
from workbook.analysis import analysis
from workbook.catalogue import choices, templates_directory

COLUMNS = study.load().columns
GIB = 2**30
DEEPSEEK = {
    "devices": 2048,
    "pipeline_parallel_size": 16,
    "expert_parallel_size": 64,
    "pipeline_schedule": "DualPipe",
}
POLICIES = ("none, unfused attention", "none", "selective (DeepSeek-V3)", "full")


def values(**inputs: Any) -> dict[str, Any]:
    return analysis.compute(inputs, COLUMNS)


def gpt(size: str, policy: str, sequence_parallelism: str) -> dict[str, Any]:
    """A model of Korthikanti et al. 2022, arXiv 2205.05198, Table 3, on tensor parallel size 8."""
    hidden, heads, layers, stages, chunks, batch, micro_batch = {
        "22B": (6144, 64, 48, 1, 1, 4, 4),
        "175B": (12288, 96, 96, 8, 3, 64, 1),
        "530B": (20480, 128, 105, 35, 3, 280, 1),
        "1T": (25600, 160, 128, 64, 1, 512, 1),
    }[size]
    return values(
        model="gpt-3-175b", hidden_size=hidden, intermediate_size=4 * hidden, head_dim=hidden // heads,
        num_attention_heads=heads, num_key_value_heads=heads, num_hidden_layers=layers, num_dense_layers=layers,
        vocab_size=51200, sequence_length=2048, global_batch_size=batch, micro_batch_size=micro_batch,
        devices=8 * stages, tensor_parallel_size=8, pipeline_parallel_size=stages, virtual_stages=chunks,
        pipeline_schedule="interleaved 1F1B" if chunks > 1 else "1F1B", zero_stage="DDP", precision="BF16",
        recomputation=policy, sequence_parallelism=sequence_parallelism,
    )  # fmt: skip


def layer_activations(ours: dict[str, Any]) -> float:
    """Activations that the first device keeps."""
    return float(ours["first_device_activation_memory"])


@pytest.mark.parametrize(
    ("size", "none", "selective"),
    [("22B", 59.25, 9.5625), ("175B", 66.84, 12.35), ("530B", 114.02, 23.08), ("1T", 131.25, 26.56)],
)
def test_activations_of_the_gpt_models(size: str, none: float, selective: float) -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, Figure 1: without recomputation, with sequence parallelism and
    selective recomputation."""
    baseline, both = gpt(size, "none, unfused attention", "off"), gpt(size, "selective (attention), dropout", "on")
    assert baseline["failed_checks"] == both["failed_checks"] == 0
    assert layer_activations(baseline) / GIB == pytest.approx(none, rel=1e-3)
    assert layer_activations(both) / GIB == pytest.approx(selective, rel=1e-3)


@pytest.mark.parametrize(
    ("size", "states"), [("22B", 45.5625), ("175B", 45.5625), ("530B", 31.640625), ("1T", 32.95898)]
)
def test_states_of_the_gpt_models(size: str, states: float) -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, Figure 1: weights, gradients and optimizer states, 18 bytes each, of
    the matrices of all layers; the figure leaves embedding and biases out."""
    ours = gpt(size, "none, unfused attention", "off")
    held = sum(ours[f"first_device_{state}_memory"] for state in ("weight", "gradient", "optimizer"))
    ends = ours["embedding_parameters"] / 8 + ours["first_device_heads"] * ours["rank_head_parameters"]
    assert (held - 18 * ends) / GIB == pytest.approx(states, rel=0.02)


@pytest.mark.parametrize(
    ("size", "sequence", "selective", "both", "full"),
    [
        ("22B", 66.84, 49.42, 16.18, 7.64),
        ("175B", 62.04, 56.53, 18.49, 8.71),
        ("530B", 58.31, 62.04, 20.27, 9.42),
    ],
)
def test_savings_of_the_gpt_models(size: str, sequence: float, selective: float, both: float, full: float) -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, Figure 7: per cent of the tensor-parallel baseline."""
    baseline = layer_activations(gpt(size, "none, unfused attention", "off"))
    for policy, sequence_parallelism, share in (
        ("none, unfused attention", "on", sequence),
        ("selective (attention), dropout", "off", selective),
        ("selective (attention), dropout", "on", both),
        ("full", "off", full),
    ):
        ours = layer_activations(gpt(size, policy, sequence_parallelism))
        assert 100 * ours / baseline == pytest.approx(share, abs=0.2)


@pytest.mark.parametrize("tensor_parallel_size", [1, 8])
def test_a_layer_by_the_published_formula(tensor_parallel_size: int) -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, equations 1 to 4, with s = 2048, a = 96, h = 12288."""
    s, a, h, t = 2048, 96, 12288, tensor_parallel_size
    inputs = {"model": "gpt-3-175b", "sequence_length": s, "tensor_parallel_size": t, "precision": "BF16"}
    unfused, selective = "none, unfused attention", "selective (attention), dropout"
    for policy, sequence_parallelism, expected in (
        (unfused, "off", s * h * (10 + 24 / t + 5 * a * s / (h * t))),
        (unfused, "on", s * h / t * (34 + 5 * a * s / h)),
        (selective, "on", 34 * s * h / t),
    ):
        ours = values(**inputs, recomputation=policy, sequence_parallelism=sequence_parallelism)
        assert ours["dense_layer_kept_bytes"] * ours["rank_microbatch_tokens"] == pytest.approx(expected, rel=1e-12)


ZHANG_SU = {
    "devices": 1024, "global_batch_size": 1024, "tensor_parallel_size": 2, "pipeline_parallel_size": 16,
    "expert_parallel_size": 8, "precision": "BF16 (Zhang and Su)", "sharding_layout": "Zhang and Su",
    "recomputation": "none, unfused attention",
}  # fmt: skip


def test_latent_attention_to_the_byte() -> None:
    """Zhang and Su 2025, arXiv 2502.07846, Table 10: 23,177,723,904 bytes for MLA of four layers on TP 2. They leave
    out the shared rotary key, and count whole latents where each tensor rank has latents and their norms' outputs of
    half the sequence, which is as much."""
    ours = values(**ZHANG_SU)
    layer = ours["layer_input_bytes"] + ours["attention_kept_bytes"] + ours["dropout_mask_bytes"] / 2
    rotary_key = 2 * 64
    assert 4 * ours["rank_microbatch_tokens"] * (layer - rotary_key) == 23_177_723_904


def test_expert_rows_that_the_paper_understates() -> None:
    """Zhang and Su 2025, arXiv 2502.07846, count b s N_r / N rows per expert of a rank, those of one micro-batch. The
    eight expert ranks are four tensor groups, each with another micro-batch: four times as many rows."""
    ours = values(**ZHANG_SU)
    theirs = 256 / 8 * (4096 * 8 / 256)
    assert ours["rank_microbatch_tokens"] * ours["expert_rows_per_token"] == 4 * theirs


def test_rows_arrive_as_they_are_sent() -> None:
    """Every token of an expert group visits 8 experts that its ranks share out, whatever their number; the ranks of an
    expert tensor group work on the same rows (MoE Parallel Folding, arXiv 2504.14960, section 3)."""
    for expert_parallel_size in (1, 8, 64):
        assert values(expert_parallel_size=expert_parallel_size)["expert_rows_per_token"] == 8
    tensor = {"tensor_parallel_size": 8, "expert_tensor_parallel_size": 8}
    split, whole = values(**tensor, precision="BF16"), values(tensor_parallel_size=8, precision="BF16")
    assert split["expert_rows_per_token"] == 64
    assert split["expert_input_bytes"] == 8 * whole["expert_input_bytes"]
    assert split["expert_gate_bytes"] == whole["expert_gate_bytes"]


def test_shares_of_deepseek_v3_in_megatron_core() -> None:
    """Megatron-Core MoE, arXiv 2603.07685, Tables 3 and 4 and section 4.1.2: of 131.0 GB of activations, recomputing
    MLA's up-projections saves 30.4 GB and applying router weights before the experts' last matrix 26.3 GB."""
    policies = ("none, router weights after experts", "none", "selective (mla_up_proj)")
    common, efficient, recomputed = (
        values(precision="BF16", recomputation=policy)["moe_layer_kept_bytes"] for policy in policies
    )
    assert (common - efficient) / common == pytest.approx(26.3 / 131.0, rel=0.01)
    assert (efficient - recomputed) / common == pytest.approx(30.4 / 131.0, rel=0.02)


def _measured_on_b200() -> list[dict[str, str]]:
    path = templates_directory() / "validation" / "published_memory.csv"
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["hardware"] == "B200"]


def _b200_inputs(row: dict[str, str]) -> dict[str, Any]:
    """Megatron-LM with Transformer Engine; DeepSeek-V2, arXiv 2405.04434, section 3.1.2. The runs give Llama 3 405B 16
    key-value heads, add a token to each vocabulary and pad it to a multiple of 128 per tensor rank."""
    tensor = int(row["tp"])
    llama_70b = {"model": "llama-3-70b", "num_hidden_layers": 12, "num_dense_layers": 12, "vocab_size": 128_256}
    llama_405b = {"model": "llama-3.1-405b", "num_hidden_layers": 4, "num_dense_layers": 4, "vocab_size": 128_256}
    deepseek_v3 = {"model": "deepseek-v3", "num_hidden_layers": 4, "num_dense_layers": 1, "vocab_size": 129_280}
    deepseek_v2 = deepseek_v3 | {
        "hidden_size": 5120, "intermediate_size": 12288, "n_routed_experts": 160, "num_experts_per_tok": 6,
        "moe_intermediate_size": 1536, "shared_expert_intermediate_size": 3072, "vocab_size": 102_400,
    }  # fmt: skip
    model = {
        "llama3_70b": llama_70b,
        "llama3_405b": llama_405b | {"num_key_value_heads": 16},
        "deepseekv3": deepseek_v3,
        "deepseekv2": deepseek_v2,
    }[row["model"].split()[0]]
    vocabulary = ceil((model["vocab_size"] + 1) / (128 * tensor)) * 128 * tensor
    return model | {
        "vocab_size": vocabulary, "hardware": "B200 SXM 180GB", "devices": 8, "sequence_length": int(row["seq_len"]),
        "micro_batch_size": int(row["mbs"]), "global_batch_size": int(row["gbs"]), "tensor_parallel_size": tensor,
        "pipeline_parallel_size": int(row["pp"]), "context_parallel_size": int(row["cp"]),
        "context_parallel_algorithm": "Ulysses", "expert_parallel_size": int(row["ep"]), "zero_stage": "ZeRO-1",
        "precision": "BF16", "recomputation": "none", "cross_entropy": "fused", "ceilings": "datasheet",
    }  # fmt: skip


def _peak(ours: dict[str, Any], device: str) -> float:
    return float(ours[f"{device}_device_memory"] + ours["passing_memory"])


def test_measured_peaks_of_megatron_core() -> None:
    """MooreThreads/SimuMax, docs/b200: torch.cuda.max_memory_allocated on 8 B200, 23 set-ups of four models. Left out:
    workspaces of cuBLAS and attention, and on MoE models up to 0.9 GiB that has no name yet."""
    errors = []
    for row in _measured_on_b200():
        ours = values(**_b200_inputs(row))
        assert ours["failed_checks"] == 0
        assert f"ZeRO-1 DP{ours['data_parallel_size']:.0f}" == row["dp_or_zero"]
        device = "last" if row["quantity"].startswith("last") else "first"
        errors.append(_peak(ours, device) / (float(row["value"]) * GIB) - 1)
    assert len(errors) == 23
    assert sum(map(abs, errors)) / len(errors) < 0.003
    assert max(map(abs, errors)) < 0.009


def test_deepseek_fits_because_of_what_it_does() -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, sections 3.2.3 and 3.3.3: recomputation and FP8 caches spare tensor
    parallelism on 80 GB; without the up-projections recomputed, or without the caches, it would not fit."""
    own = values(**DEEPSEEK)
    assert own["memory_fits"] == "yes"
    without = {
        "FP8 caches": {"linear_input_bytes": 2, "gate_bytes": 2, "dispatch_bytes": 2},
        "up-projections recomputed": {"keeps_up_projections": 1},
        "norms recomputed": {"keeps_norm_outputs": 1},
        "SwiGLU recomputed": {"keeps_products": 1, "keeps_expert_products": 1},
    }
    needs = {name: values(**DEEPSEEK, **inputs) for name, inputs in without.items()}
    assert [name for name, ours in needs.items() if ours["memory_fits"] == "no"] == [
        "FP8 caches",
        "up-projections recomputed",
    ]
    assert all(ours["device_memory"] > own["device_memory"] + 4e9 for ours in needs.values())


@pytest.mark.parametrize("model", ["deepseek-v3", "llama-3-70b", "mixtral-8x7b", "gpt-oss-120b"])
def test_more_recomputation_keeps_less(model: str) -> None:
    kept = [values(model=model, recomputation=policy)["moe_layer_kept_bytes"] for policy in POLICIES]
    assert kept == sorted(kept, reverse=True)
    assert len(set(kept)) == len(POLICIES)


REPEATS = {
    "keeps_up_projections": "repeats_up_projections",
    "keeps_gates": "repeats_dense_mlps",
    "keeps_expert_inputs": "repeats_experts",
    "keeps_expert_gates": "repeats_experts",
    "keeps_projections": "repeats_layer",
    "keeps_attention_output": "repeats_layer",
    "keeps_internals": "repeats_layer",
}


@pytest.mark.parametrize("policy", choices()["Recomputation"].rows, ids=lambda row: row["name"])
def test_what_is_dropped_is_computed_again(policy: dict[str, Any]) -> None:
    """Outputs of matrix multiplications cost FLOPs to restore; norms and activation functions do not count."""
    for keeps, repeats in REPEATS.items():
        assert 1 - policy[keeps] <= max(policy[repeats], policy["repeats_layer"])


def test_repeating_attention_drops_what_unfused_attention_keeps() -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, section 5: the 5as/h term alone; statistics are of fused attention."""
    selective, none = (values(recomputation=policy) for policy in ("selective (attention)", "none"))
    assert none["moe_layer_kept_bytes"] - selective["moe_layer_kept_bytes"] == 128 * 4
    assert selective["working_layer_memory"] > 128 * 4096**2 * 5


def test_full_recomputation_keeps_layer_inputs() -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, section 5: 2 s b h per layer; one layer at a time is restored."""
    full, none = (values(recomputation=policy, precision="BF16") for policy in ("full", "none"))
    assert full["dense_layer_kept_bytes"] == full["moe_layer_kept_bytes"] == 2 * 7168
    restored = (full["working_layer_memory"] - none["working_layer_memory"]) / 4096
    assert restored == none["moe_layer_kept_bytes"] - 2 * 7168


def test_without_latents_deepseeks_policy_keeps_queries_keys_and_values() -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, section 3.2.3: only MLA's up-projections are repeated."""
    ours = values(model="llama-3-70b", recomputation="selective (DeepSeek-V3)", precision="BF16")
    width = 64 * 128 + 2 * 8 * 128
    assert ours["attention_kept_bytes"] == 2 * (width + 64 * 128) + 4 * 64


def test_logits_and_their_softmax() -> None:
    """Megatron-LM, vocab_parallel_cross_entropy: BF16 logits, an FP32 softmax; a fused loss needs the logits alone."""
    unfused, fused = values(), values(logit_bytes=0)
    assert unfused["logits_memory"] - fused["logits_memory"] == 4096 * 129_280 * 4
    assert fused["logits_memory"] == 4096 * (129_280 * 2 + 2 * 7168 * 2)


def test_key_value_heads_beyond_their_number_are_copies() -> None:
    """Llama 3 70B has 8 key-value heads of 128: 16 tensor ranks hold 16 of them in each of keys and values."""
    eight, sixteen = (values(model="llama-3-70b", tensor_parallel_size=size) for size in (8, 16))
    assert sixteen["query_key_value_bytes"] - eight["query_key_value_bytes"] == 2 * 2 * 8 * 128


def test_attention_in_low_precision_keeps_its_output_twice() -> None:
    """Transformer Engine: attention keeps BF16, the projection FP8; DeepSeek-V3 report, section 3.3.3, shares one."""
    width = 128 * 128
    bf16, fp8 = (values(recomputation="none", precision=name) for name in ("BF16", "FP8 (DeepSeek-V3)"))
    assert bf16["projection_input_bytes"] == 0
    assert fp8["projection_input_bytes"] == width * fp8["linear_input_bytes"]
    own, twice = values(), values(keeps_projection_input=1)
    assert twice["attention_kept_bytes"] - own["attention_kept_bytes"] == fp8["projection_input_bytes"]


def test_weight_gradients_at_work() -> None:
    """Transformer Engine keeps a gradient for each shape of matrix: in Llama 3.1 405B 570,425,344 elements of attention
    and 2,617,245,696 of the MLP. Weights gathered layer by layer (FSDP) have theirs in the gathered layer."""
    kept, sharded = (values(model="llama-3.1-405b", zero_stage=stage) for stage in ("ZeRO-1", "ZeRO-3"))
    assert kept["layer_weight_gradient_memory"] == 2 * (570_425_344 + 2_617_245_696)
    assert kept["head_weight_gradient_memory"] == 2 * 128_256 * 16_384
    assert sharded["layer_weight_gradient_memory"] == sharded["head_weight_gradient_memory"] == 0
