"""FLOP conventions: what other code bases and papers print comes out of one model sheet, each with its own switches."""

import csv
from pathlib import Path
from typing import Any

import pytest

from workbook import study
from workbook.analysis import analysis

PUBLISHED = Path(__file__).parents[1] / "oracles" / "published_counts.csv"
COUNTS = list(csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines()))
COLUMNS = study.load().columns
CONVENTIONS = COLUMNS["Conventions.name"]
MEASURED = study.load("deepseek-v3-flop-conventions")


def values(**inputs: Any) -> dict[str, Any]:
    return analysis.compute(inputs, COLUMNS)


def digits(value: float, count: int) -> float:
    """The value as it is printed with so many digits."""
    return float(f"{value:.{count - 1}e}")


@pytest.mark.parametrize(
    "row", COUNTS, ids=lambda row: f"{row['flop_convention']}, {row['model']}, {row['sequences']}, {row['flops']}"
)
def test_published_counts(row: dict[str, str]) -> None:
    """Sequences of unequal length are counted one by one: attention grows with the square of each."""
    shared = {key: row[key] for key in ("model", "multi_token_prediction", "flop_convention")}
    lengths = [int(length) for length in row["sequences"].split()]
    per_token = {length: values(sequence_length=length, **shared)["counted_flops_per_token"] for length in lengths}
    counted = sum(per_token[length] * (length if row["per"] == "step" else 1) for length in lengths)
    assert digits(counted, int(row["digits"])) == digits(float(row["flops"]), int(row["digits"]))


def test_what_megatron_counts_beyond() -> None:
    """The vectors of MLA's latent norms, and of three norms of a prediction layer: all digits of its count."""
    norms = 61 * (1536 + 512)
    without = values(flop_convention="Megatron-LM")["counted_flops_per_token"]
    assert digits(without + 6 * norms, 7) == 2.498121e11
    prediction = values(flop_convention="Megatron-LM", multi_token_prediction="on")["counted_flops_per_token"]
    assert digits(prediction + 6 * (norms + 1536 + 512 + 3 * 7168), 6) == 2.59993e11


def test_what_simumax_counts_beyond() -> None:
    """It takes every layer for a MoE layer (nine experts are as wide as the dense MLP): three more routers."""
    every_layer = values(flop_convention="SimuMax", num_dense_layers=0)["counted_flops_per_token"]
    assert digits(every_layer, 7) == 2.811852e11


@pytest.mark.parametrize(
    ("step", "convention", "teraflops", "utilization"),
    [
        (19.926, "DeepSeek (causal)", 385, 0.3894),
        (19.926, "DeepSeek (full square)", 432, 0.4373),
        (19.946, "DeepSeek (causal)", 385, 0.3890),
        (19.946, "DeepSeek (full square)", 432, 0.4368),
    ],
)
def test_deepseeks_own_figures(step: float, convention: str, teraflops: int, utilization: float) -> None:
    """arXiv 2505.09343, Table 4, on both of its networks, to every digit that it prints."""
    ours = analysis.compute({**MEASURED.strategies[convention], "measured_step_time": step}, COLUMNS)
    assert round(ours["measured_flops_per_second"] / 1e12) == teraflops
    assert round(ours["measured_flops_utilization"], 4) == utilization


def gpt(hidden: int, layers: int, heads: int, vocabulary: int, **inputs: Any) -> dict[str, Any]:
    """A GPT of Megatron-LM's on A100, typed over the look-ups of another."""
    shape = {
        "model": "gpt-3-175b", "hidden_size": hidden, "num_hidden_layers": layers, "num_dense_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": hidden / heads,
        "intermediate_size": 4 * hidden, "vocab_size": vocabulary,
    }  # fmt: skip
    return values(**shape, sequence_length=2048, hardware="A100 SXM4 80GB", precision="BF16", **inputs)


@pytest.mark.parametrize(("step", "teraflops"), [(102.03, 153.68), (105.22, 149.02)])
def test_bloom(step: float, teraflops: float) -> None:
    """bigscience-workshop/bigscience, train/tr11-176B-ml, chronicles-prequel.md (02-28) and chronicles.md (03-18)."""
    ours = gpt(
        14336, 70, 112, 250_880,
        devices=384, global_batch_size=2048, recomputation="full", measured_step_time=step,
        flop_convention="hardware FLOPs (Narayanan)",
    )  # fmt: skip
    assert round(ours["measured_flops_per_second"] / 1e12, 2) == teraflops


@pytest.mark.parametrize(
    ("hidden", "layers", "heads", "devices", "step", "utilization"),
    [
        (12288, 96, 96, 64, 13.75, 0.514),
        (20480, 105, 128, 280, 37.83, 0.560),
        (25600, 128, 160, 512, 71.49, 0.563),
    ],
)
def test_model_flops_utilization_of_gpts(
    hidden: int, layers: int, heads: int, devices: int, step: float, utilization: float
) -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, Table 5: model FLOPs with the full square; a sequence per device."""
    ours = gpt(
        hidden, layers, heads, 51_200,
        devices=devices, global_batch_size=devices, recomputation="selective (attention)", measured_step_time=step,
        flop_convention="PaLM",
    )  # fmt: skip
    assert round(ours["measured_flops_utilization"], 3) == utilization


def test_palm() -> None:
    """Chowdhery et al. 2022, arXiv 2204.02311, Table 3: 46.2 % at 238.3 thousand tokens a second on 6144 TPU v4; multi-
    query attention, gated MLP, one matrix for embedding and output head."""
    ours = values(
        model="llama-3-70b", hidden_size=18432, num_hidden_layers=118, num_dense_layers=118, num_attention_heads=48,
        num_key_value_heads=1, head_dim=256, intermediate_size=73728, vocab_size=256_000, tied_embeddings=1,
        sequence_length=2048, global_batch_size=2048, devices=6144, bf16_peak=275e12, precision="BF16",
        measured_step_time=2048 * 2048 / 238.3e3, flop_convention="PaLM",
    )  # fmt: skip
    assert round(ours["measured_flops_utilization"], 3) == 0.462


@pytest.mark.parametrize(
    ("sequence_length", "tokens_per_second", "utilization"),
    [(512, 36527, 0.3025), (8192, 19146, 0.2328), (32768, 5856, 0.1438)],
)
def test_llm_foundry_in_fp8(sequence_length: int, tokens_per_second: int, utilization: float) -> None:
    """mosaicml/llm-foundry, scripts/train/benchmarking/README.md, table "H100 80GB FP8", model 3b: all parameters
    count, its learned positions too; norms and biases are 3 of 10,000."""
    ours = values(
        model="gpt-3-175b", hidden_size=2560, num_hidden_layers=32, num_dense_layers=32, num_attention_heads=20,
        num_key_value_heads=20, head_dim=128, intermediate_size=10240, vocab_size=50432, tied_embeddings=1,
        sequence_length=sequence_length, hardware="H100 SXM5 80GB", flop_convention="llm-foundry",
        recomputation="full",
    )  # fmt: skip
    counted = ours["counted_flops_per_token"] + 6 * sequence_length * 2560
    assert tokens_per_second * counted / ours["utilization_peak"] == pytest.approx(utilization, abs=0.0001)


@pytest.mark.parametrize(
    ("precision", "rate", "utilization"),
    [("BF16", 4.212583e14, 0.4257), ("FP8 (DeepSeek-V3)", 4.606436e14, 0.2328)],
)
def test_llm_foundry_divides_by_the_peak_of_the_run(precision: str, rate: float, utilization: float) -> None:
    """The same README: model FLOP/s and MFU of a run in BF16 and of one in FP8, on H100."""
    peak = values(hardware="H100 SXM5 80GB", precision=precision, flop_convention="llm-foundry")["utilization_peak"]
    assert rate / peak == pytest.approx(utilization, abs=0.0001)


@pytest.mark.parametrize(
    ("hardware", "peak"),
    [("A100 SXM4 80GB", 312e12), ("H800 SXM5 80GB", 989e12), ("H200 SXM 141GB", 989e12), ("B200 SXM 180GB", 2.25e15)],
)
def test_verl_divides_by_the_peak_of_bf16(hardware: str, peak: float) -> None:
    """verl, utils/flops_counter.py, get_device_flops: one peak per device, whatever the recipe."""
    assert values(hardware=hardware, flop_convention="verl")["utilization_peak"] == pytest.approx(peak, rel=0.0005)


@pytest.mark.parametrize(
    ("switch", "typed", "more"),
    [
        ("counts_full_square", 1, 3 * 61 * 2 * 128 * (192 + 128) * 4096 / 2),
        ("counts_embedding", 1, 6 * 129_280 * 7168),
        ("counts_router", 0, -6 * 58 * 7168 * 256),
        ("counts_recomputation", 1, 2 * 61 * (37_748_736 + 16_777_216)),
    ],
)
def test_one_switch_each(switch: str, typed: int, more: float) -> None:
    """Typed over in the default convention, a switch moves its own part of DeepSeek-V3's FLOPs and nothing else."""
    before, after = values(), values(**{switch: typed})
    assert after["counted_flops_per_token"] - before["counted_flops_per_token"] == more
    assert after["utilization_peak"] == before["utilization_peak"]


def test_default_is_what_the_model_needs() -> None:
    ours = values()
    assert ours["counted_flops_per_token"] == ours["training_flops_per_token"]
    assert ours["utilization_peak"] == ours["bf16_peak"]


@pytest.mark.parametrize("recomputation", COLUMNS["Recomputation.name"])
def test_hardware_flops_are_what_is_executed(recomputation: str) -> None:
    ours = values(recomputation=recomputation)
    executed = ours["executed_flops_per_token"]
    assert ours["hardware_flops_per_token"] == pytest.approx(executed, rel=1e-12)
    assert ours["hardware_flops_utilization"] >= ours["model_flops_utilization"]
    counted = values(recomputation=recomputation, flop_convention="hardware FLOPs (HFU)")
    assert counted["counted_flops_per_token"] == pytest.approx(executed, rel=1e-12)
    assert counted["model_flops_utilization"] == pytest.approx(ours["hardware_flops_utilization"])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_measured_run_follows_the_convention(convention: str) -> None:
    """Measured at the speed of light, a run has the utilization of the speed of light."""
    bound = values(flop_convention=convention)
    ours = values(flop_convention=convention, measured_step_time=bound["step_time_lower_bound"])
    assert ours["measured_over_lower_bound"] == 1
    assert ours["measured_flops_per_second"] == pytest.approx(ours["model_flops_per_second"])
    assert ours["measured_flops_utilization"] == pytest.approx(ours["model_flops_utilization"])


def test_without_a_measured_step_there_is_none() -> None:
    ours = values()
    assert ours["measured_step_time"] == 0
    assert [ours[key] for key in analysis.quantities if key.startswith("measured_")] == [0] * 4


def test_a_measured_step_of_none_may_be_set() -> None:
    loaded = study.load(settings=["measured_step_time=0", "flop_convention=verl"])
    loaded.require_valid()
    assert {ours["measured_flops_per_second"] for ours in loaded.values.values()} == {0}


def test_the_shipped_study_has_a_strategy_for_each_convention() -> None:
    assert {name: inputs["flop_convention"] for name, inputs in MEASURED.strategies.items()} == {
        name: name for name in CONVENTIONS
    }
