"""Collectives: each message listed once, and together what the analysis adds up."""

from typing import Any

import pytest

from workbook import study
from workbook.analysis import analysis
from workbook.collectives import collectives

COLUMNS = study.load().columns
TOTALS = {
    "scale_out_total": "scale_out_bytes", "scale_up_total": "scale_up_bytes", "pod_total": "pod_bytes",
    "latency_total": "latency_time",
}  # fmt: skip
STRATEGIES: list[dict[str, Any]] = [
    *study.load().strategies.values(),
    {"model": "llama-3.1-405b", "hardware": "H100 SXM5 80GB", "precision": "BF16", "devices": 16384,
     "sequence_length": 131072, "global_batch_size": 128, "tensor_parallel_size": 8, "context_parallel_size": 16,
     "pipeline_parallel_size": 16, "zero_stage": "ZeRO-2", "pod_devices": 3072, "oversubscription": 7},
    {"model": "llama-3-70b", "precision": "BF16", "tensor_parallel_size": 4, "context_parallel_size": 8,
     "context_parallel_algorithm": "Ulysses", "sequence_length": 32768, "global_batch_size": 512,
     "recomputation": "full",
     "pipeline_parallel_size": 2, "pipeline_schedule": "interleaved 1F1B", "virtual_stages": 5, "zero_stage": "DDP",
     "bandwidth_model": "hierarchical, in-network reduction"},
    {"model": "mixtral-8x22b", "precision": "BF16", "devices": 256, "tensor_parallel_size": 4,
     "expert_parallel_size": 8, "expert_tensor_parallel_size": 2, "global_batch_size": 1024,
     "data_parallel_replicas": 4, "zero_stage": "ZeRO-3", "recomputation": "selective (moe)"},
    *({"tensor_parallel_size": 8, "expert_tensor_parallel_size": tensor, "sequence_parallelism": sequence,
       "zero_stage": zero, "bandwidth_model": "hierarchical, in-network reduction", "precision": precision}
      for tensor in (1, 8) for sequence in ("on", "off") for zero in ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")
      for precision in ("BF16", "FP8 (DeepSeek-V3), FP8 gathers")),
]  # fmt: skip


@pytest.mark.parametrize("inputs", STRATEGIES)
def test_collectives_are_the_traffic(inputs: dict[str, Any]) -> None:
    ours = analysis.compute(inputs, COLUMNS)
    assert ours["failed_checks"] == 0
    rows = collectives.compute_rows(ours)
    for column, quantity in TOTALS.items():
        assert sum(row[column] for row in rows) == pytest.approx(ours[quantity], rel=1e-12)


@pytest.mark.parametrize("inputs", STRATEGIES)
def test_no_collective_beats_its_link(inputs: dict[str, Any]) -> None:
    """A rank receives what it does not hold, through one network or the other: (n - 1) / n of each tensor, flat."""
    ours = analysis.compute({**inputs, "bandwidth_model": "flat"}, COLUMNS)
    for row in collectives.compute_rows(ours):
        if row["operation"] not in ("all-to-all", "send"):
            received = row["scale_out_once"] + row["scale_up_once"]
            assert received == pytest.approx(row["tensor"] * (1 - 1 / row["group_size"]), rel=1e-12)
        assert row["scale_out_link_time"] * ours["scale_out_ceiling"] == pytest.approx(row["scale_out_total"])
        assert row["scale_up_link_time"] * ours["scale_up_ceiling"] == pytest.approx(row["scale_up_total"])


def test_a_weight_gather_of_deepseek_v3() -> None:
    """ZeRO-3 on 2048 devices: 671e9 weights of 2 bytes, twice, of which the own node of 8 has 1 in 256."""
    ours = analysis.compute({**study.load().strategies["ZeRO-3 (FSDP)"]}, COLUMNS)
    dense, experts = (collectives.compute_rows(ours)[number] for number in (0, 3))
    assert dense["tensor"] + experts["tensor"] == pytest.approx(671_026_404_352 * 2)
    assert (dense["count"], dense["group_size"], dense["algorithm"]) == (2, 2048, "flat")
    assert dense["scale_out_once"] == dense["tensor"] * 255 / 256
