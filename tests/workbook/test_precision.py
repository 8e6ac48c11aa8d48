"""The precision ladder: the analysis under other recipes, and a sheet that stays in words where a device lacks one."""

from dataclasses import replace
from typing import Any

import pytest

from pyxl.scenario import DIFFERING, POSSIBLE, shown
from workbook import catalogue, study
from workbook.analysis import analysis
from workbook.book import plan
from workbook.sheets.precision import ladder as sheet_ladder

ladder, RECIPES, RESULTS = sheet_ladder.scenario, sheet_ladder.alternatives, sheet_ladder.scenario.results

SHIPPED = study.load()
RECIPE_NAMES = [row["name"] for row in catalogue.choices()["Precision"].rows]


def test_its_formulas_are_those_of_the_analysis() -> None:
    assert [name for name in ladder.path if ladder[name].expression is not analysis[name].expression] == []
    assert set(RESULTS) <= set(ladder.path)


@pytest.mark.parametrize("recipe", RECIPE_NAMES)
@pytest.mark.parametrize("strategy", SHIPPED.strategies)
def test_each_recipe_is_the_analysis_with_that_recipe(strategy: str, recipe: str) -> None:
    under = ladder.under(recipe, SHIPPED.values[strategy], SHIPPED.columns)
    expected = analysis.compute({**SHIPPED.strategies[strategy], "precision": recipe}, SHIPPED.columns)
    if under[POSSIBLE] == "OK":
        assert {name: under[name] for name in ladder.path} == {name: expected[name] for name in ladder.path}
    else:
        assert expected["check_compute_rates"] != "OK"
    assert (under[DIFFERING] == 0) == (recipe == SHIPPED.values[strategy]["precision"])


def test_fp8_halves_compute_and_leaves_most_bytes() -> None:
    """DeepSeek-V3's recipe: linear layers at the FP8 rate, dispatch halved; gradients and combine as in BF16."""
    values = SHIPPED.values["PP16 EP64 ZeRO-1 DualPipe"]
    bf16, fp8 = (ladder.under(recipe, values, SHIPPED.columns) for recipe in RECIPES[:2])
    ratio = {name: fp8[name] / bf16[name] for name in ladder.numbers}
    assert ratio["compute_time"] < 0.6
    assert 0.7 < ratio["scale_out_time"] < ratio["hbm_time"] < 1


def opening(**inputs: Any) -> list[Any]:
    """The recipes in the head of the sheet, in a study of one strategy."""
    changed = replace(SHIPPED, strategies={"Only": {"micro_batch_size": 7.5, **inputs}})
    sheet = next(sheet for sheet in plan(changed).sheets if sheet.title == "Precision")
    line = next(row for (row, column), cell in sheet.cells.items() if (column, cell.content) == (2, "precision"))
    (chart,) = sheet.charts
    recipes = [cell.content for (row, _), cell in sheet.cells.items() if row == line and cell.style == "input"]
    assert len(chart.series) == len(recipes)
    return recipes


def test_recipes_that_the_device_cannot_run_are_not_opened_with() -> None:
    """A100 has no FP8 tensor cores (NVIDIA A100 data sheet)."""
    assert opening(hardware="A100 SXM4 80GB", precision="BF16") == ["BF16"]
    assert opening()[:2] == ["BF16", "FP8 (DeepSeek-V3)"]


def test_a_recipe_that_the_device_cannot_run_is_said_in_words() -> None:
    values = analysis.compute(
        {"hardware": "A100 SXM4 80GB", "precision": "BF16", "micro_batch_size": 7.5}, SHIPPED.columns
    )
    under = ladder.under("FP8 (DeepSeek-V3)", values, SHIPPED.columns)
    assert under[POSSIBLE].startswith("the device has no rate for this recipe")
    assert {under[shown(name)] for name in RESULTS} == {"invalid"}
