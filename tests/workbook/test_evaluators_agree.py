"""Programs not written by us recalculate the shipped workbook, as it is and edited, and agree with Python."""

import itertools
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import Place
from pyxl.workbook_file import read
from workbook import comparison
from workbook.file_inputs import read_inputs

each_evaluator = pytest.mark.parametrize(
    "recalculate",
    [
        "by_formualizer",
        pytest.param("by_libreoffice", marks=pytest.mark.libreoffice),
        "by_formulas",
    ],
    indirect=True,
)


@pytest.fixture
def recalculate(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


DENSE = {"expert_parallel_size": 1, "expert_tensor_parallel_size": 1}
INPUT_SETS: Mapping[str, list[dict[str, Any]]] = {
    "H100, datasheet ceilings, hierarchical, multi-token prediction": [
        {
            "hardware": "H100 SXM5 80GB",
            "ceilings": "datasheet",
            "bandwidth_model": "hierarchical",
            "multi_token_prediction": "on",
        }
    ],
    "qwen3-235b-a22b, EP8": [
        {
            "model": "qwen3-235b-a22b",
            "devices": 1024,
            "micro_batch_size": 1,
            "data_parallel_replicas": 1,
            "tensor_parallel_size": tensor,
            "pipeline_parallel_size": pipeline,
            "pipeline_schedule": "1F1B" if pipeline == 1 else "DualPipe",
            "expert_parallel_size": 8,
            "expert_tensor_parallel_size": 1,
            "expert_dispatch": dispatch,
            "precision": "BF16",
        }
        for tensor, pipeline, dispatch in (
            (1, 1, "one copy per node, worst case"),
            (1, 2, "one copy per expert"),
            (2, 4, "one copy per node, expected"),
        )
    ],
    "llama-3-70b, TP8 PP4, ZeRO-3": [
        {
            "model": "llama-3-70b",
            "hardware": "B200 SXM 180GB",
            "ceilings": "datasheet",
            "devices": 1024,
            "sequence_length": 8192,
            "global_batch_size": 2048,
            "micro_batch_size": 1,
            "tensor_parallel_size": 8,
            "pipeline_parallel_size": 4,
            "data_parallel_replicas": replicas,
            "zero_stage": "ZeRO-3",
            "recomputation": recomputation,
            "multi_token_prediction": "on",
            "training_tokens": 15e12,
            "device_hour_price": 3.5,
            **DENSE,
        }
        for replicas, recomputation in ((1, "full"), (4, "none"))
    ],
    "typed over look-ups": [{"hidden_size": 4096, "scale_out_measured": 100e9, "n_routed_experts": 512}],
}


def differing(held: Mapping[Place, Any], recalculated: Mapping[Place, Any]) -> list[comparison.Difference]:
    return [
        difference
        for difference, equal in comparison.compare(read_inputs(held, recalculated), recalculated)
        if not equal
    ]


def failed_checks(recalculated: Mapping[Place, Any], rows: reader.ModelRows) -> list[Any]:
    return [recalculated[rows.place("failed_checks", strategy)] for strategy in rows.columns]


@each_evaluator
def test_as_shipped(recalculate: Any, held: dict[Place, Any], rows: reader.ModelRows) -> None:
    recalculated = recalculate({})
    compared = list(comparison.compare(read_inputs(held, recalculated), recalculated))
    assert [difference for difference, equal in compared if not equal] == []
    on_analysis = [difference for difference, _ in compared if difference.sheet == "Analysis" and difference.strategy]
    assert {(each.quantity, each.strategy) for each in on_analysis} == set(itertools.product(rows.rows, rows.columns))
    assert failed_checks(recalculated, rows) == [0.0] * len(rows.columns)


@each_evaluator
@pytest.mark.parametrize("name", INPUT_SETS)
def test_with_other_inputs(recalculate: Any, name: str, held: dict[Place, Any], rows: reader.ModelRows) -> None:
    typed = itertools.cycle(INPUT_SETS[name])
    edits = {
        rows.place(key, strategy): value
        for strategy, inputs in zip(rows.columns, typed, strict=False)
        for key, value in inputs.items()
    }
    recalculated = recalculate(edits)
    assert differing(held | edits, recalculated) == []
    assert failed_checks(recalculated, rows) == [0.0] * len(rows.columns)
    # Compared with what was typed in, not with what the file held before.
    assert differing(held, recalculated) != []


def test_a_comparison_with_python_finds_a_wrong_value(
    by_formualizer: Any, held: dict[Place, Any], rows: reader.ModelRows
) -> None:
    recalculated = by_formualizer({})
    strategy = list(rows.columns)[-1]
    place = rows.place("step_time_lower_bound", strategy)
    recalculated[place] *= 1 + 2e-9
    (difference,) = differing(held, recalculated)
    assert (difference.sheet, difference.cell, difference.strategy) == (*place, strategy)


@pytest.mark.libreoffice
class TestInLibreOffice:
    def test_a_copied_column_is_a_new_strategy(
        self, opened: Any, at: Any, copy_strategy: Any, summary: Any, rows: reader.ModelRows, tmp_path: Path
    ) -> None:
        original, last = list(rows.columns)[-2], max(rows.columns.values())
        copy_strategy(rows.columns[original], last + 1, "DualPipe, 8-way experts")
        at(*rows.grid.place(rows.rows["expert_parallel_size"], last + 1)).value = 8
        path = tmp_path / "saved.xlsx"
        opened.save(path)
        held, values = read(path).held, read(path).stored
        assert differing(held, values) == []
        computed = read_inputs(held, values).values()
        assert list(computed) == [*rows.columns, "DualPipe, 8-way experts"]
        new = computed["DualPipe, 8-way experts"]
        assert new["expert_parallel_size"] == 8
        assert new["scale_out_bytes"] != computed[original]["scale_out_bytes"]
        shown = summary("DualPipe, 8-way experts", "Step time, lower bound")
        assert shown == pytest.approx(new["step_time_lower_bound"], rel=1e-9)
        assert at("Checks", "B3").value == "OK"

    def test_an_invalid_input_is_said_in_words_everywhere(
        self, at: Any, summary: Any, grids: Mapping[str, reader.Grid], rows: reader.ModelRows
    ) -> None:
        strategy = next(iter(rows.columns))
        at(*rows.place("tensor_parallel_size", strategy)).value = 7
        heads = at(*rows.place("check_heads", strategy)).value
        assert heads == "tensor_parallel_size must divide the model's num_attention_heads"
        assert summary(strategy, "Failed checks") > 0
        for grid in grids.values():
            row, column = min(place for place, content in grid.cells.items() if content == "Master check")
            assert "Checks" in str(at(*grid.place(row, column + 1)).value)

    def test_a_number_typed_over_a_look_up_flows_through(self, at: Any, summary: Any, rows: reader.ModelRows) -> None:
        strategy = "ZeRO-3 (FSDP)"
        time = at(*rows.place("scale_out_time", strategy))
        before = time.value
        at(*rows.place("scale_out_measured", strategy)).value = 100e9
        assert time.value == pytest.approx(before / 2, rel=1e-9)
        assert summary(strategy, "Scale-out (InfiniBand)") == pytest.approx(before / 2, rel=1e-9)

    @pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext, of poppler-utils, is not installed")
    def test_every_number_fits_its_cell_in_print(self, opened: Any, tmp_path: Path) -> None:
        opened.to_pdf(tmp_path / "printed.pdf")
        read = ["pdftotext", "-layout", tmp_path / "printed.pdf", "-"]
        text = subprocess.run(read, capture_output=True, text=True, check=True).stdout
        assert "Master check" in text
        assert [line for line in text.splitlines() if "###" in line] == []
