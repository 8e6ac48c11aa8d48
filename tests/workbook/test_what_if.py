"""The sheets Precision and Elasticities in use: what a user may do to them is followed, what breaks them is found."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from pyxl import reader
from pyxl.cells import Place, Value, letter
from workbook import comparison, verify
from workbook.file_inputs import read_inputs
from workbook.study import Study

OWN = "PP16 EP64 ZeRO-1 DualPipe"
OTHER = "ZeRO-3 (FSDP) hierarchical"
LADDER_CHECK, EULER_CHECK = "Precision agrees with the Analysis", "Elasticities add up"
SHEETS = ("Precision", "Elasticities")


@pytest.fixture
def cell(grids: dict[str, reader.Grid]) -> Callable[[str, str, str], Place]:
    """The place beside a key under a head, in the first table that has both."""

    def find(sheet: str, key: str, head: str) -> Place:
        grid = grids[sheet]
        top, column = min(place for place, content in grid.cells.items() if content == head)
        return grid.place(min(row for row, content in grid.column(2) if content == key and row > top), column)

    return find


def differing(held: Mapping[Place, Any], recalculated: Mapping[Place, Value]) -> list[comparison.Difference]:
    return [
        difference
        for difference, equal in comparison.compare(read_inputs(held, recalculated), recalculated)
        if not equal
    ]


def check(recalculated: Mapping[Place, Value], grids: dict[str, reader.Grid], name: str) -> Value:
    row = next(row for row, content in grids["Checks"].column(1) if content == name)
    return recalculated["Checks", f"B{row}"]


def test_another_strategy_may_be_chosen(
    by_formualizer: Any, held: dict[Place, Any], cell: Any, grids: Any, study: Study
) -> None:
    for strategy in study.strategies:
        edits = {(sheet, "B5"): strategy for sheet in SHEETS}
        recalculated = by_formualizer(edits)
        assert differing(held | edits, recalculated) == []
        assert recalculated[cell("Elasticities", "bound", "Value")] == study.values[strategy]["bound"]
        assert {check(recalculated, grids, name) for name in (LADDER_CHECK, EULER_CHECK)} == {"OK"}


def test_the_binding_rate_has_the_elasticity_of_one(by_formualizer: Any, cell: Any) -> None:
    """A step that waits for InfiniBand takes as much longer as InfiniBand is slower."""
    recalculated = by_formualizer({("Elasticities", "B5"): "ZeRO-3 (FSDP)"})
    at = {key: recalculated[cell("Elasticities", f"{key}_measured", "Elasticity")] for key in ("scale_out", "fp8")}
    assert at == pytest.approx({"scale_out": -1.0, "fp8": 0.0}, abs=1e-12)


@pytest.mark.parametrize("recipe", ["BF16 (Zhang and Su)", "no such recipe"])
def test_another_recipe_may_be_chosen(by_formualizer: Any, held: dict[Place, Any], cell: Any, recipe: str) -> None:
    edits = {cell("Precision", "precision", "Case 3"): recipe}
    recalculated = by_formualizer(edits)
    assert differing(held | edits, recalculated) == []
    shown = recalculated[cell("Precision", "step_time_lower_bound", "Case 3")]
    assert (shown == "invalid") == (recipe == "no such recipe")


def test_a_look_up_typed_over_is_no_failed_check(
    by_formualizer: Any, held: dict[Place, Any], rows: reader.ModelRows, cell: Any, grids: Any
) -> None:
    """The ladder has the recipes' own numbers: none of its columns is the strategy as it is then."""
    edits = {rows.place("weight_bytes", OWN): 1}
    recalculated = by_formualizer(edits)
    assert differing(held | edits, recalculated) == []
    assert recalculated[cell("Precision", "differing", "Case 2")] == 1
    assert check(recalculated, grids, LADDER_CHECK) == "OK"


@pytest.mark.parametrize(
    ("sheet", "key", "head", "check_name"),
    [
        ("Precision", "step_time_lower_bound", "Case 2", LADDER_CHECK),
        ("Elasticities", "fp8_measured", "Elasticity", EULER_CHECK),
    ],
)
def test_a_formula_typed_over_is_found(
    sheet: str, key: str, head: str, check_name: str, by_formualizer: Any, held: dict[Place, Any], grids: Any
) -> None:
    grid = grids[sheet]
    column = min(place for place, content in grid.cells.items() if content == head)[1]
    line = max(row for row, content in grid.column(2) if content == key)
    edits = {grid.place(line, column): 1.0}
    recalculated = by_formualizer(edits)
    assert check(recalculated, grids, check_name) not in ("OK", "")
    found = [difference for difference in differing(held | edits, recalculated) if difference.sheet == sheet]
    assert comparison.TYPED_OVER in {difference.why for difference in found}


def test_a_name_of_no_strategy_is_said(by_formualizer: Any, held: dict[Place, Any], grids: Any) -> None:
    edits = {(sheet, "B5"): "no such strategy" for sheet in SHEETS}
    recalculated = by_formualizer(edits)
    assert {(d.sheet, d.why) for d in differing(held | edits, recalculated)} >= {
        (sheet, "no such strategy") for sheet in SHEETS
    }
    for sheet in SHEETS:
        assert f"cell B5 of the sheet {sheet}" in str(check(recalculated, grids, f"{sheet} shows a strategy"))


def test_each_formula_is_listed_once(grids: Any, held: dict[Place, Any]) -> None:
    """What the ladder computes by the formulas of the Analysis stands there already."""
    listed = [content for _, content in grids["Formulas"].column(5)[1:]]
    assert len(listed) > 500
    sheets = [content for _, content in grids["Formulas"].column(1)]
    assert 0 < sheets.count("Precision") < 40
    assert sheets.count("Elasticities") > 100


@pytest.mark.libreoffice
class TestInLibreOffice:
    def test_a_renamed_strategy_stays_chosen(self, at: Any, rows: reader.ModelRows) -> None:
        at(*rows.grid.place(rows.head, rows.columns[OWN])).value = "Renamed"
        assert [at(sheet, "B5").value for sheet in SHEETS] == ["Renamed"] * 2
        assert at("Summary", "B3").value == "OK"

    def test_columns_may_be_inserted_copied_and_deleted(
        self, opened: Any, at: Any, copy_strategy: Any, rows: reader.ModelRows, tmp_path: Path
    ) -> None:
        analysis = opened.sheets["Analysis"]
        middle, deleted = rows.columns["HSDP 64 x 32"], rows.columns["ZeRO-1"]
        analysis[f"{letter(middle)}:{letter(middle)}"].insert("right")
        copy_strategy(rows.columns[OWN] + 1, middle, "Inserted")
        for sheet in SHEETS:
            at(sheet, "B5").value = "Inserted"
        analysis[f"{letter(deleted)}:{letter(deleted)}"].delete()
        assert at("Summary", "B3").value == "OK"
        opened.save(tmp_path / "columns.xlsx")
        assert verify.differences(tmp_path / "columns.xlsx", "formualizer")[0] == []

    def test_derivatives_that_cancel_out_are_no_difference(self, opened: Any, at: Any, tmp_path: Path) -> None:
        """LibreOffice makes a difference of nearly equal numbers 0, where Python keeps its last digits."""
        for sheet in SHEETS:
            at(sheet, "B5").value = OTHER
        opened.save(tmp_path / "other.xlsx")
        for evaluator in ("formualizer", "libreoffice"):
            assert verify.differences(tmp_path / "other.xlsx", evaluator)[0] == []

    def test_charts_follow_their_tables(self, shipped: Path) -> None:
        book = load_workbook(shipped)
        for sheet, series in (("Precision", 3), ("Elasticities", 1)):
            (chart,) = book[sheet]._charts
            assert len(chart.series) == series
