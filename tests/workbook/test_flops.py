"""FLOPs and parameters against published figures of full-size models."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbook import catalogue
from workbook.analysis import analysis

COLUMNS = catalogue.columns([catalogue.models(), catalogue.hardware(), *catalogue.choices().values()])


def values(model: str, **inputs: Any) -> dict[str, Any]:
    return analysis.compute({"model": model, **inputs}, COLUMNS)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("query_down_parameters", 11_010_048),
        ("query_up_parameters", 37_748_736),
        ("key_value_down_parameters", 4_128_768),
        ("key_value_up_parameters", 16_777_216),
        ("attention_output_parameters", 117_440_512),
        ("attention_linear_parameters", 187_105_280),
        ("attention_layer_parameters", 187_107_328),
        ("block_norm_parameters", 14_336),
        ("dense_mlp_parameters", 396_361_728),
        ("expert_parameters", 44_040_192),
        ("router_parameters", 1_835_008),
        ("embedding_parameters", 926_679_040),
        ("head_parameters", 926_679_040),
        ("final_norm_parameters", 7_168),
        ("routed_expert_parameters", 653_908_770_816),
        ("router_correction_terms", 58 * 256),
        ("total_parameters", 671_026_404_352),
        ("total_parameters_with_router_correction", 671_026_419_200),
        ("active_parameters_with_router_correction", 37_552_297_472),
    ],
)
def test_parameters_of_deepseek_v3(name: str, count: int) -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, section 4.2: 671B in total, 37B activated; attention as in
    Zhang and Su 2025, arXiv 2502.07846."""
    assert values("deepseek-v3")[name] == count


@pytest.mark.parametrize(
    ("model", "total"),
    [
        ("bloom-176b", 176_247_271_424),  # bigscience/bloom model card
        ("dbrx", 131_596_523_520),  # databricks/dbrx-base, safetensors
        ("deepseek-v2", 235_741_434_880),  # deepseek-ai/DeepSeek-V2, safetensors
        ("llama-2-13b", 13_015_864_320),  # meta-llama/Llama-2-13b-hf, safetensors
        ("mpt-3b", 2_651_837_440),  # mosaicml/llm-foundry, scripts/train/benchmarking
        ("mpt-7b", 6_658_859_008),
        ("mpt-13b", 12_853_954_560),
        ("mpt-30b", 29_975_214_080),
        ("mpt-70b", 64_862_437_376),
        ("qwen3-8b", 8_190_735_360),  # Qwen/Qwen3-8B, safetensors
        ("qwen3-32b", 32_762_123_264),
    ],
)
def test_published_counts(model: str, total: int) -> None:
    assert values(model)["total_parameters"] == total


@pytest.mark.parametrize(("model", "stored"), [("glm-4.5", 358_337_791_296), ("glm-4.5-air", 110_468_824_832)])
def test_checkpoints_of_glm_4_5(model: str, stored: int) -> None:
    """zai-org/GLM-4.5, safetensors: with the prediction layer, which has copies of embedding and output head."""
    ours = values(model, multi_token_prediction="on")
    copies = ours["embedding_parameters"] + ours["head_parameters"]
    assert ours["total_parameters_with_router_correction"] + copies == stored


@pytest.mark.parametrize(
    ("model", "total", "active"),
    [
        ("deepseek-v2", 236, 21),  # arXiv 2405.04434, abstract
        ("dbrx", 132, 36),  # databricks/dbrx-base model card
        ("glm-4.5", 355, 32),  # arXiv 2508.06471, abstract
        ("glm-4.5-air", 106, 12),
        ("llama-4-maverick", 400, 17),  # Meta AI, 2025-04-05, "The Llama 4 herd"
        ("llama-4-scout", 109, 17),
        ("qwen2-57b-a14b", 57, 14),  # arXiv 2407.10671, Table 1
        ("nemotron-4-340b", 341, 341),  # arXiv 2406.11704, Table 1: 9.4 and 331.6 billion
        ("nemotron-4-15b", 15.6, 15.6),  # arXiv 2402.16819, Table 1
        ("gemma-3-27b", 27, 27),  # arXiv 2503.19786, Table 1: 1.4 and 25.6 billion
        ("smollm3-3b", 3.08, 3.08),  # HuggingFaceTB/SmolLM3-3B model card
    ],
)
def test_published_sizes(model: str, total: float, active: float) -> None:
    """Billions; active counts differ in whether embedding and output head belong."""
    ours = values(model)
    assert ours["total_parameters"] / 1e9 == pytest.approx(total, rel=0.015)
    tables = ours["embedding_parameters"] + ours["head_parameters"]
    assert (ours["active_parameters"] - tables) / 1e9 <= active + 0.5
    assert ours["active_parameters"] / 1e9 >= active * 0.985


def test_the_attention_kind_decides_not_which_numbers_are_present() -> None:
    """Numbers of another kind of attention, left over in a row, change nothing."""
    latent = dict.fromkeys(("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"), 7)
    grouped = {"num_key_value_heads": 3, "head_dim": 5}
    for model, leftovers in (("llama-3-8b", latent), ("deepseek-v3", grouped)):
        plain, mixed = values(model), values(model, **leftovers)
        for name in ("total_parameters", "training_flops_per_token", "rank_dense_layer_parameters", "device_memory"):
            assert mixed[name] == plain[name], (model, name)


def test_prediction_layer_of_deepseek_v3() -> None:
    """deepseek-ai/DeepSeek-V3, README_WEIGHTS.md: 11.5B unique parameters, router correction included."""
    off, on = values("deepseek-v3"), values("deepseek-v3", multi_token_prediction="on")
    name = "total_parameters_with_router_correction"
    assert on[name] - off[name] == 11_610_068_224
    assert on["router_correction_terms"] - off["router_correction_terms"] == 256
    assert on[name] == 682_636_487_424
    idle = (256 - 8) * 44_040_192
    active = "active_parameters_with_router_correction"
    assert on[active] - off[active] == 11_610_068_224 - idle


@pytest.mark.parametrize(
    ("name", "prediction", "gigaflops"),
    [
        ("training_flops_per_token", "off", 250.450),
        ("training_flops_per_token_full_square", "off", 281.152),
        ("training_flops_per_token", "on", 260.64),
        ("training_flops_per_token_full_square", "on", 291.85),
    ],
)
def test_training_flops_of_deepseek_v3(name: str, prediction: str, gigaflops: float) -> None:
    """From the configuration; arXiv 2505.09343 prints 250 GFLOP per token in Table 2."""
    flops = values("deepseek-v3", multi_token_prediction=prediction)[name]
    assert flops / 1e9 == pytest.approx(gigaflops, abs=0.005)


def test_measured_rates_of_deepseek_v3() -> None:
    """arXiv 2505.09343, Table 4: 385 TFLOP/s causal, 432 non-causal, at 272.80 billion tokens a day on 2048 devices."""
    tokens_per_second = 272.80e9 / 86_400 / 2048
    ours = values("deepseek-v3")
    assert ours["training_flops_per_token"] * tokens_per_second == pytest.approx(385e12, rel=0.004)
    assert ours["training_flops_per_token_full_square"] * tokens_per_second == pytest.approx(432e12, rel=0.004)


def test_eligible_for_fp8() -> None:
    """arXiv 2412.19437, section 3.3.1: linear layers in FP8; attention, router and head stay in BF16."""
    ours = values("deepseek-v3", recomputation="none")
    linear = ours["attention_linear_flops_per_token"] + ours["mlp_linear_flops_per_token"]
    assert linear / 1e9 == pytest.approx(213.549, abs=0.001)
    assert (ours["executed_flops_per_token"] - linear) / 1e9 == pytest.approx(36.901, abs=0.001)


@pytest.mark.parametrize(
    ("model", "sequence_length", "prediction", "gigaflops"),
    [
        ("llama-3-8b", 8192, "off", 51.47),
        ("llama-3-70b", 8192, "off", 449.21),
        ("llama-3.1-405b", 8192, "off", 2524.16),
        ("qwen3-30b-a3b", 4096, "off", 23.01),
        ("qwen3-235b-a22b", 4096, "off", 147.98),
        ("kimi-k2", 4096, "off", 204.46),
        ("deepseek-v3", 4096, "off", 249.71),
        ("deepseek-v3", 4096, "on", 259.97),
    ],
)
def test_flops_that_published_runs_imply(model: str, sequence_length: int, prediction: str, gigaflops: float) -> None:
    """NVIDIA Megatron-Bridge performance summaries: FLOP/s over tokens/s, median of a model's rows.

    Megatron-LM's num_floating_point_operations leaves the routers out, so they are taken off here.
    """
    ours = values(model, sequence_length=sequence_length, multi_token_prediction=prediction)
    routers = 6 * (ours["num_moe_layers"] + ours["num_prediction_layers"]) * ours["router_linear_parameters"]
    assert (ours["training_flops_per_token"] - routers) / 1e9 == pytest.approx(gigaflops, rel=0.003)


def test_causal_window_is_the_band_below_the_diagonal() -> None:
    """gpt-oss-20b: 12 of 24 layers reach 128 keys; 64 heads of 64, each key multiplied twice."""
    ours = values("gpt-oss-20b", sequence_length=4096)
    keys = 12 * 4096 / 2 + 12 * (128 - 128**2 / (2 * 4096))
    assert ours["attention_forward_flops_per_token"] == 2 * 64 * (64 + 64) * keys
    assert ours["attention_forward_flops_per_token_full_square"] == 2 * 64 * (64 + 64) * 24 * 4096


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 3000))
def test_windows_and_chunks_count_the_keys_under_the_mask(sequence: int, window: int, chunk: int) -> None:
    """Key by key, but for the half of the diagonal that the field's habit leaves out: half a key per query, and in a
    window half a row of it."""
    shape = {"num_hidden_layers": 1, "num_dense_layers": 0, "sequence_length": sequence}
    full = {"sliding_window_layers": 0, "chunked_attention_layers": 0}
    windowed = {"sliding_window": window, "sliding_window_layers": 1, "chunked_attention_layers": 0}
    chunked = {"attention_chunk_size": chunk, "sliding_window_layers": 0, "chunked_attention_layers": 1}

    def keys(**columns: int) -> float:
        return float(values("llama-4-scout", **shape, **columns)["attended_keys_causal"]) * sequence

    positions = range(sequence)
    assert keys(**full) == pytest.approx(sum(q + 1 for q in positions) - sequence / 2)
    assert keys(**windowed) == pytest.approx(sum(min(q + 1, window) for q in positions) - min(window, sequence) / 2)
    assert keys(**chunked) == pytest.approx(sum(q % chunk + 1 for q in positions) - sequence / 2)


def test_llama_4_scout_attends_in_chunks() -> None:
    """36 of 48 layers reach 8192 keys; at 20,000 tokens the third chunk has 3616."""
    ours = values("llama-4-scout", sequence_length=20_000)
    chunked = (2 * 8192**2 + 3616**2) / (2 * 20_000)
    assert ours["attended_keys_causal"] == pytest.approx(12 * 20_000 / 2 + 36 * chunked)
    assert values("llama-4-scout", sequence_length=4096)["attended_keys_causal"] == 48 * 4096 / 2


def test_window_longer_than_the_sequence_is_plain_causal_attention() -> None:
    ours = values("gpt-oss-20b", sequence_length=100)
    assert ours["attended_keys_causal"] == 24 * 100 / 2
