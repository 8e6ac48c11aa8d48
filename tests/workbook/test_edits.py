"""What a user does to the workbook in LibreOffice, and what the first sheet then says."""

from pathlib import Path
from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import letter
from pyxl.evaluators.libreoffice import Document
from pyxl.layout.model_sheet import SLOTS, SPARE_SLOTS
from workbook.verify import differences

pytestmark = pytest.mark.libreoffice

OWN = "PP16 EP64 ZeRO-1 DualPipe"


def line(opened: Document, strategy: str) -> list[Any]:
    """A strategy's line in the first table of the sheet Summary: bound, fits, step time."""
    cells = opened.values("Summary")
    row = next(cell[1:] for cell, value in cells.items() if cell[0] == "B" and value == strategy)
    return [cells[f"{column}{row}"] for column in "CDE"]


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
    opened: Document, rows: reader.ModelRows, quantity: str, value: Any, words: str
) -> None:
    """No cell of its line shows a number, no other line and no headline is lost, and every master check says so."""
    opened.set(*rows.place(quantity, OWN), value)
    said = [opened.value(*rows.place(name, OWN)) for name in rows.rows if name.startswith("check_")]
    assert any(str(message).startswith(words) or words in str(message) for message in said)
    assert line(opened, OWN) == ["invalid"] * 3
    assert opened.value("Summary", "B3") == "see the sheet Checks"
    assert opened.value("Summary", "C4") == f"{OWN} hierarchical"
    assert line(opened, "ZeRO-3 (FSDP)")[0] == "scale-out"


def test_a_renamed_strategy_stays_chosen(opened: Document, rows: reader.ModelRows) -> None:
    opened.set("Analysis", f"{letter(rows.columns[OWN])}4", "Renamed")
    assert opened.value("Roofline", "B5") == opened.value("Stages", "B5") == "Renamed"
    assert line(opened, "Renamed")[0] == "compute"
    assert opened.value("Summary", "B3") == "OK"


@pytest.mark.parametrize("columns", [1, 3])
def test_deleted_columns_leave_the_rest_whole(
    opened: Document, rows: reader.ModelRows, tmp_path: Path, columns: int
) -> None:
    opened._sheet("Analysis").Columns.removeByIndex(rows.columns["ZeRO-1"] - 1, columns)
    assert opened.value("Summary", "C4") == OWN
    assert opened.value("Summary", "B3") == "OK"
    opened.save(tmp_path / "deleted.xlsx")
    assert differences(tmp_path / "deleted.xlsx", "formualizer")[0] == []


def test_a_column_inserted_in_the_middle_has_its_line(opened: Document, rows: reader.ModelRows, tmp_path: Path) -> None:
    middle = rows.columns["HSDP 64 x 32"]
    opened._sheet("Analysis").Columns.insertByIndex(middle - 1, 1)
    opened.copy_column("Analysis", letter(rows.columns[OWN] + 1), letter(middle))
    opened.set("Analysis", f"{letter(middle)}4", "Inserted")
    assert line(opened, "Inserted") == line(opened, OWN)
    assert opened.value("Summary", "B3") == "OK"
    opened.save(tmp_path / "inserted.xlsx")
    assert differences(tmp_path / "inserted.xlsx", "formualizer")[0] == []


def test_a_strategy_behind_the_last_slot_is_missed_in_words(opened: Document, rows: reader.ModelRows) -> None:
    behind = min(rows.columns.values()) + max(SLOTS, len(rows.columns) + SPARE_SLOTS)
    opened.copy_column("Analysis", letter(rows.columns[OWN]), letter(behind))
    opened.set("Analysis", f"{letter(behind)}4", "Behind the last")
    assert opened.value("Summary", "B3") == "see the sheet Checks"
    assert any("has no line for a strategy" in str(value) for value in opened.values("Checks").values())
