"""Programs not written by us recalculate the shipped workbook, as it is and edited, and agree with Python."""

import itertools
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl.utils.cell import column_index_from_string, coordinate_from_string

from pyxl import reader
from pyxl.cells import Place, letter
from pyxl.evaluators import contents
from pyxl.evaluators.libreoffice import Document
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


def saved(document: Document, path: Path) -> tuple[dict[Place, Any], dict[Place, Any]]:
    """What the cells of an open workbook hold, and their values."""
    document.save(path)
    return contents(path), contents(path, stored_values=True)


def place_of(document: Document, sheet: str, content: str) -> tuple[str, int]:
    """Column letters and row of the first cell, by row, that shows a text."""
    found = [coordinate_from_string(cell) for cell, value in document.values(sheet).items() if value == content]
    return min(found, key=lambda place: (place[1], len(place[0]), place[0]))


def summary(document: Document, strategy: str, heading: str) -> Any:
    """What the sheet Summary shows of a strategy under a heading."""
    shown = {coordinate_from_string(cell): value for cell, value in document.values("Summary").items()}
    column, head = place_of(document, "Summary", heading)
    names = next(letters for (letters, row), value in shown.items() if row == head and value == "Strategy")
    line = min(row for (letters, row), value in shown.items() if letters == names and row > head and value == strategy)
    return shown[column, line]


@pytest.mark.libreoffice
class TestInLibreOffice:
    def test_a_copied_column_is_a_new_strategy(self, opened: Document, rows: reader.ModelRows, tmp_path: Path) -> None:
        original, last = list(rows.columns)[-2], max(rows.columns.values())
        column = letter(last + 1)
        opened.copy_column("Analysis", letter(rows.columns[original]), column)
        head = next(cell for cell, value in opened.values("Analysis").items() if value == original)
        opened.set("Analysis", f"{column}{coordinate_from_string(head)[1]}", "DualPipe, 8-way experts")
        opened.set("Analysis", f"{column}{rows.rows['expert_parallel_size']}", 8)
        held, values = saved(opened, tmp_path / "saved.xlsx")
        assert differing(held, values) == []
        computed = read_inputs(held, values).values()
        assert list(computed) == [*rows.columns, "DualPipe, 8-way experts"]
        new = computed["DualPipe, 8-way experts"]
        assert new["expert_parallel_size"] == 8
        assert new["scale_out_bytes"] != computed[original]["scale_out_bytes"]
        shown = summary(opened, "DualPipe, 8-way experts", "Step time, lower bound")
        assert shown == pytest.approx(new["step_time_lower_bound"], rel=1e-9)
        assert opened.value("Checks", "B3") == "OK"

    def test_an_invalid_input_is_said_in_words_everywhere(
        self, opened: Document, held: dict[Place, Any], rows: reader.ModelRows
    ) -> None:
        strategy = next(iter(rows.columns))
        opened.set(*rows.place("tensor_parallel_size", strategy), 7)
        heads = opened.value(*rows.place("check_heads", strategy))
        assert heads == "tensor_parallel_size must divide the model's num_attention_heads"
        assert summary(opened, strategy, "Failed checks") > 0
        for sheet in {sheet for sheet, _ in held}:
            column, row = place_of(opened, sheet, "Master check")
            assert "Checks" in str(opened.value(sheet, f"{letter(column_index_from_string(column) + 1)}{row}"))

    def test_a_number_typed_over_a_look_up_flows_through(self, opened: Document, rows: reader.ModelRows) -> None:
        strategy = "ZeRO-3 (FSDP)"
        before = opened.value(*rows.place("scale_out_time", strategy))
        opened.set(*rows.place("scale_out_measured", strategy), 100e9)
        assert opened.value(*rows.place("scale_out_time", strategy)) == pytest.approx(before / 2, rel=1e-9)
        assert summary(opened, strategy, "Scale-out (InfiniBand)") == pytest.approx(before / 2, rel=1e-9)

    @pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext, of poppler-utils, is not installed")
    def test_every_number_fits_its_cell_in_print(self, opened: Document, tmp_path: Path) -> None:
        opened.export_pdf(tmp_path / "printed.pdf")
        read = ["pdftotext", "-layout", tmp_path / "printed.pdf", "-"]
        text = subprocess.run(read, capture_output=True, text=True, check=True).stdout
        assert "Master check" in text
        assert [line for line in text.splitlines() if "###" in line] == []
