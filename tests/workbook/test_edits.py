"""What a user does to the workbook in LibreOffice, and what the first sheet then says."""

from pathlib import Path
from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import letter
from pyxl.layout.model_sheet import SLOTS, SPARE_SLOTS
from workbook.verify import differences

pytestmark = pytest.mark.libreoffice

OWN = "PP16 EP64 ZeRO-1 DualPipe"
HEADINGS = ("Bound by", "Fits in memory", "Step time, lower bound")


@pytest.mark.parametrize(
    ("quantity", "value", "words"),
    [
        ("devices", "many", "devices, sequence_length, global_batch_size and micro_batch_size must be above 0"),
        ("devices", -2048, "devices, sequence_length, global_batch_size and micro_batch_size must be above 0"),
        ("model", "nope", "model is no row of the sheet Models, or its row lacks a size"),
        ("hardware", "B200 SXM 180GB", "HBM bandwidth is unknown: set ceilings=datasheet, or fill in hbm_measured"),
        ("zero_stage", "ZeRO-9", "a choice (zero_stage, pipeline_schedule, recomputation, precision ...) is no row"),
        ("expert_parallel_size", 0, "every degree of parallelism must be a whole number from 1"),
        ("expert_parallel_size", 7, "expert_parallel_size must divide the model's n_routed_experts"),
        ("tensor_parallel_size", "x", "every degree of parallelism must be a whole number from 1"),
        ("scale_out_measured", "40 GB/s", "scale-out bandwidth is unknown"),
        ("device_hour_price", "free", "training_tokens must be above 0 and device_hour_price a number from 0"),
        ("num_experts_per_tok", 300, "num_experts_per_tok must be at most n_routed_experts"),
        (
            "hidden_size",
            7168.5,
            "num_hidden_layers, num_dense_layers, hidden_size, vocab_size and sequence_length must",
        ),
    ],
)
def test_an_impossible_input_is_a_failed_check_in_words(
    opened: Any, at: Any, summary: Any, rows: reader.ModelRows, quantity: str, value: Any, words: str
) -> None:
    """No cell of its line shows a number, no other line and no headline is lost, and every master check says so."""
    at(*rows.place(quantity, OWN)).value = value
    checks, column = [row for name, row in rows.rows.items() if name.startswith("check_")], rows.columns[OWN]
    said = opened.sheets["Analysis"].range((min(checks), column), (max(checks), column)).value
    assert any(words in str(message) for message in said)
    assert [summary(OWN, heading) for heading in HEADINGS] == ["invalid"] * 3
    assert at("Summary", "B3").value == "see the sheet Checks"
    assert at("Summary", "C4").value == f"{OWN} hierarchical"
    assert summary("ZeRO-3 (FSDP)", "Bound by") == "scale-out"


def test_a_renamed_strategy_stays_chosen(at: Any, summary: Any, rows: reader.ModelRows) -> None:
    at(*rows.grid.place(rows.head, rows.columns[OWN])).value = "Renamed"
    assert at("Roofline", "B5").value == at("Stages", "B5").value == "Renamed"
    assert summary("Renamed", "Bound by") == "compute"
    assert at("Summary", "B3").value == "OK"


@pytest.mark.parametrize("columns", [1, 3])
def test_deleted_columns_leave_the_rest_whole(
    opened: Any, at: Any, rows: reader.ModelRows, tmp_path: Path, columns: int
) -> None:
    first = rows.columns["ZeRO-1"]
    opened.sheets["Analysis"][f"{letter(first)}:{letter(first + columns - 1)}"].delete()
    assert at(*rows.grid.place(rows.head, first)).value != "ZeRO-1"
    assert at("Summary", "C4").value == OWN
    assert at("Summary", "B3").value == "OK"
    opened.save(tmp_path / "deleted.xlsx")
    assert differences(tmp_path / "deleted.xlsx", "formualizer")[0] == []


def test_a_column_inserted_in_the_middle_has_its_line(
    opened: Any, at: Any, copy_strategy: Any, summary: Any, rows: reader.ModelRows, tmp_path: Path
) -> None:
    middle = rows.columns["HSDP 64 x 32"]
    opened.sheets["Analysis"][f"{letter(middle)}:{letter(middle)}"].insert("right")
    copy_strategy(rows.columns[OWN] + 1, middle, "Inserted")
    for heading in HEADINGS:
        assert summary("Inserted", heading) == summary(OWN, heading)
    assert at("Summary", "B3").value == "OK"
    opened.save(tmp_path / "inserted.xlsx")
    assert differences(tmp_path / "inserted.xlsx", "formualizer")[0] == []


def test_a_strategy_behind_the_last_slot_is_missed_in_words(
    opened: Any, at: Any, copy_strategy: Any, rows: reader.ModelRows
) -> None:
    behind = min(rows.columns.values()) + max(SLOTS, len(rows.columns) + SPARE_SLOTS)
    copy_strategy(rows.columns[OWN], behind, "Behind the last")
    assert at("Summary", "B3").value == "see the sheet Checks"
    said = [value for line in opened.sheets["Checks"].used_range.value for value in line]
    assert any("has no line for a strategy" in str(value) for value in said)
