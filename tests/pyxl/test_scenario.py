"""A small model under alternatives of one input, and laid out as a sheet."""

from typing import Any

import pytest

from pyxl.layout import model_sheet, scenario_sheet
from pyxl.operations import total, where
from pyxl.plan import Reference, Sheet
from pyxl.quantity import DefinitionError, Model
from pyxl.scenario import DIFFERING, POSSIBLE, Scenario, own, shown

COLUMNS = {"Devices.name": ("Small", "Large", "Unknown"), "Devices.rate": (10.0, 40.0, None)}
WHY = "its rate is unknown"


@pytest.fixture
def model() -> Model:
    model = Model()
    model.section("Inputs")
    model.input("device", "text", "Device", "Small", "A row of Devices.", choices="Devices")
    model.input("work", "1", "Work", 100.0, "How much.")
    model.lookup("rate", "1", "Rate", "device", "Devices", "How fast.")
    model.section("Constants")
    model.constant("share", "1", "Share", 0.5, "Half of it.")
    model.section("Results")

    @model.quantity("1", "Part")
    def part(work: Any, share: Any) -> Any:
        """Of the work."""
        return work * share

    @model.quantity("1", "Time")
    def time(part: Any, rate: Any) -> Any:
        """Part over rate."""
        return part / rate

    @model.quantity("text", "Verdict")
    def verdict(time: Any) -> Any:
        """Whether it is short."""
        return where(time < 2, "short", "long")

    model.close()
    return model


@pytest.fixture
def scenario(model: Model) -> Scenario:
    return Scenario(model, "device", ("time", "verdict"), WHY)


def test_only_what_the_input_decides_is_computed_again(model: Model, scenario: Scenario) -> None:
    assert scenario.path == ("rate", "time", "verdict")
    assert scenario.imports == ("part",)
    assert all(scenario[name] is model[name] for name in scenario.path)
    assert Scenario(model, "device", ("time",), WHY).path == ("rate", "time")


@pytest.mark.parametrize("device", ["Small", "Large"])
def test_an_alternative_is_what_the_model_computes(model: Model, scenario: Scenario, device: str) -> None:
    under = scenario.under(device, model.compute({"work": 60.0}, COLUMNS), COLUMNS)
    expected = model.compute({"work": 60.0, "device": device}, COLUMNS)
    assert {name: under[name] for name in scenario.path} == {name: expected[name] for name in scenario.path}
    assert under[POSSIBLE] == "OK"
    assert under[shown("time")] == expected["time"]


def test_the_own_alternative_differs_in_nothing_unless_a_look_up_is_typed_over(
    model: Model, scenario: Scenario
) -> None:
    def differing(**inputs: Any) -> list[Any]:
        values = model.compute(inputs, COLUMNS)
        return [scenario.under(device, values, COLUMNS)[DIFFERING] for device in ("Small", "Large")]

    assert differing(device="Large") == [1, 0]
    assert differing(device="Large", rate=41.0) == [1, 1]
    assert scenario.under("Large", model.compute({"device": "Large", "rate": 41.0}, COLUMNS), COLUMNS)["rate"] == 40


@pytest.mark.parametrize("device", ["Unknown", "No such device"])
def test_what_cannot_be_computed_is_said_in_words(model: Model, scenario: Scenario, device: str) -> None:
    values = model.compute({}, COLUMNS)
    under = scenario.under(device, values, COLUMNS)
    assert (under[POSSIBLE], under[shown("time")], under[shown("verdict")]) == (WHY, "invalid", "invalid")


def test_an_input_that_changes_no_result_is_refused(model: Model) -> None:
    with pytest.raises(DefinitionError, match="'device' does not change part"):
        Scenario(model, "device", ("time", "part"), WHY)


def test_a_series_on_the_way_is_refused(model: Model) -> None:
    model.gather("both", ("part", "time"))

    @model.quantity("1", "All")
    def everything(both: Any) -> Any:
        """Their sum."""
        return total(both)

    model.close()
    with pytest.raises(DefinitionError, match="what 'device' changes takes the series both"):
        Scenario(model, "device", ("everything",), WHY)


def test_a_numeric_input_decides_by_itself(model: Model) -> None:
    work = Scenario(model, "work", ("time",), WHY)
    values = model.compute({}, COLUMNS)
    assert [work.under(amount, values, COLUMNS)[DIFFERING] for amount in (100.0, 200.0)] == [0, 1]
    assert work.under(200.0, values, COLUMNS)["time"] == 2 * values["time"]


def test_a_sheet_of_it(model: Model, scenario: Scenario) -> None:
    strategies = {name: model.compute({"work": work}, COLUMNS) for name, work in (("First", 40.0), ("Second", 60.0))}
    places = {key: Reference(f"Devices!${key[8]}", values) for key, values in COLUMNS.items()}
    places["share"] = Reference("Constants!$B$2", 0.5)
    placed = model_sheet.lay_out(
        Sheet("Analysis"), model, {name: ({}, values) for name, values in strategies.items()}, places, ()
    )
    sheet = Sheet("Devices compared")
    devices = ("Small", "Large", "Unknown")
    table = scenario_sheet.lay_out(sheet, scenario, devices, strategies, "Second", placed, places, room=5)

    def across(name: str) -> list[Any]:
        return [sheet.cells[table.rows[name], column].content for column in table.columns]

    assert across("device") == list(devices)
    part, first_row = "$L$8", table.rows["rate"]
    assert [cell.text for cell in across("time")] == [f"{part}/{column}{first_row}" for column in "DEF"]
    assert [cell.value for cell in across("time")[:2]] == [3.0, 0.75]
    assert [cell.value for cell in across(shown("time"))] == [3.0, 0.75, "invalid"]
    ratios = [sheet.cells[table.rows[shown("time")], column].content.value for column in (7, 8)]
    assert ratios == [0.25, "invalid"]
    line = table.rows["time"]
    assert table.references["time"].address == f"'Devices compared'!$D${line}:$F${line}"
    assert table.references[own("time")].value == 3.0
    assert table.references["strategy"] == Reference("'Devices compared'!$B$5", "Second")
