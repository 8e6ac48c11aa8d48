"""Laying a small model out, and reading it back by key wherever its rows and columns have gone."""

import re
from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import Formula as Text
from pyxl.cells import Place
from pyxl.errors import UserError
from pyxl.layout import model_sheet, summary_sheet
from pyxl.layout.model_sheet import ModelSheet
from pyxl.layout.summary_sheet import Heading
from pyxl.layout.table import SPARE_ROWS, Field, place_table
from pyxl.operations import Symbol, failures, require, total
from pyxl.plan import Formula, Reference, Sheet, quoted
from pyxl.quantity import Model

DEVICES = [{"name": "Small", "rate": 10.0}, {"name": "Large", "rate": 40.0}]
COLUMNS = {"Devices.name": ("Small", "Large"), "Devices.rate": (10.0, 40.0)}
STRATEGIES: dict[str, dict[str, Any]] = {
    "First": {"device": "Small", "work": 100.0},
    "Second": {"device": "Large", "work": 100.0, "rate": 50.0},
}
RATE = Field("rate", "Rate", "1", "How fast.")


@pytest.fixture
def model() -> Model:
    model = Model()
    model.section("Inputs")
    model.input("device", "text", "Device", "Small", "A row of Devices.", choices="Devices")
    model.input("work", "1", "Work", 100.0, "How much. Source: a wish")
    model.lookup("rate", "1", "Rate", "device", "Devices", "How fast.")
    model.section("Constants")
    model.constant("share", "1", "Share", 0.5, "Half of it. Source: a wish")
    model.section("Results")

    @model.quantity("1", "Time")
    def time(work: Any, rate: Any, share: Any) -> Any:
        """Work over rate."""
        return share * work / rate

    @model.quantity("1", "Rest")
    def rest(time: Any) -> Any:
        """What is left."""
        return 1 - time

    model.gather("parts", ("time", "rest"))

    @model.quantity("1", "Both")
    def both(parts: Any) -> Any:
        """Time and rest."""
        return total(parts)

    @model.check("Time is short")
    def check_time(time: Any) -> Any:
        """No more than 2."""
        return require(time <= 2, "too long")

    model.gather("checks", ("check_time",))

    @model.quantity("1", "Failed")
    def failed(checks: Any) -> Any:
        """How many checks fail."""
        return failures(checks)

    model.close()
    return model


@pytest.fixture
def placed(model: Model) -> ModelSheet:
    devices = Sheet("Devices")
    places, _ = place_table(devices, 5, "Devices", [RATE], DEVICES, {})
    places["share"] = Reference("Constants!$B$2", 0.5)
    strategies = {name: (inputs, model.compute(inputs, COLUMNS)) for name, inputs in STRATEGIES.items()}
    return model_sheet.lay_out(Sheet("Analysis"), model, strategies, places, ["time"])


def contents(sheet: Sheet) -> dict[Place, Any]:
    """What a reader finds in the written sheet."""
    return {
        grid_place(sheet, row, column): Text(f"={c.content.text}") if isinstance(c.content, Formula) else c.content
        for (row, column), c in sheet.cells.items()
        if c.content is not None
    }


def grid_place(sheet: Sheet, row: int, column: int) -> Place:
    return reader.Grid(sheet.title, {}).place(row, column)


def read(held: dict[Place, Any]) -> reader.ModelRows:
    return reader.model_rows(reader.grids(held), "Analysis", ["work", "rate", "time", "both"], {})


# Layout


def test_a_row_has_one_formula_in_every_column(placed: ModelSheet) -> None:
    row, own = placed.rows["time"], {name: placed.rows[name] for name in ("work", "rate")}
    cells = [placed.sheet.cells[row, model_sheet.FIRST_SLOT + slot].content for slot in range(2)]
    assert cells == [
        Formula(f"Constants!$B$2*{column}{own['work']}/{column}{own['rate']}", value)
        for column, value in (("G", 5.0), ("H", 1.0))
    ]
    assert (row, model_sheet.FIRST_SLOT + 2) not in placed.sheet.cells


def test_a_series_is_a_range_of_the_own_column(placed: ModelSheet) -> None:
    assert placed.formula("both", 27) == f"SUM(AA{placed.rows['time']}:AA{placed.rows['rest']})"


def test_an_override_is_typed_and_a_look_up_is_a_formula(placed: ModelSheet) -> None:
    look_up, override = (placed.sheet.cells[placed.rows["rate"], model_sheet.FIRST_SLOT + slot] for slot in range(2))
    assert isinstance(look_up.content, Formula)
    assert look_up.content.text.startswith("INDEX(Devices!$B$8:")
    assert override.content == 50.0
    assert look_up.style == override.style == "look-up"


def test_every_slot_has_validations(placed: ModelSheet) -> None:
    areas = {rule.cells: rule.allowed for rule in placed.sheet.validations}
    work, device = placed.rows["work"], placed.rows["device"]
    assert areas == {f"G{device}:V{device}": f"Devices!$A$8:$A${9 + SPARE_ROWS}", f"G{work}:V{work}": ""}


def test_more_strategies_than_slots_make_more_slots(model: Model) -> None:
    many = {f"Number {n}": (STRATEGIES["First"], model.compute(STRATEGIES["First"], COLUMNS)) for n in range(20)}
    places = {key: Reference("Devices!$A$1", column) for key, column in COLUMNS.items()}
    places["share"] = Reference("Constants!$B$2", 0.5)
    placed = model_sheet.lay_out(Sheet("Analysis"), model, many, places, [])
    assert placed.slots == 24
    across, margin = placed.across("time", range(20)), (None,) * model_sheet.MARGIN
    assert across.address == f"Analysis!$G${placed.rows['time']}:$AL${placed.rows['time']}"
    assert across.value == (*range(20), None, None, None, None, *margin)


def test_a_table_has_room_for_more_rows() -> None:
    places, last = place_table(Sheet("My devices"), 5, "Devices", [RATE], DEVICES, {})
    assert places["Devices.rate"].address == f"'My devices'!$B$8:$B${9 + SPARE_ROWS}"
    assert last == 9 + SPARE_ROWS
    assert places["Devices.rate"].value == (10.0, 40.0, *[None] * SPARE_ROWS)


def test_the_summary_shows_a_line_per_slot_and_empty_texts_for_free_ones(model: Model, placed: ModelSheet) -> None:
    sheet = Sheet("Summary")
    values = {name: model.compute(inputs, COLUMNS) for name, inputs in STRATEGIES.items()}
    headings = [Heading("Time", "time"), Heading("Twice", "twice", Symbol("time") * 2)]
    places = summary_sheet.lay_out(sheet, 4, model, placed, values, headings, "failed")
    assert places["strategy"].value == ("First", "Second", *[""] * 14)
    assert places["time"].value == ("invalid", 1.0, *[""] * 14)  # the first fails a check
    assert places["twice"].value == ("invalid", 2.0, *[""] * 14)
    slots = [sheet.cells[row, 3].content for row in range(5, 21)]
    texts = {re.sub(rf"(\$[AB]){row}\b", r"\1*", slot.text) for row, slot in enumerate(slots, 5)}  # type: ignore[union-attr]
    time = f"Analysis!$G${placed.rows['time']}:$AD${placed.rows['time']}"
    assert len(texts) == 1, texts
    assert f"INDEX({time},$A*)" in texts.pop()


@pytest.mark.parametrize(("title", "written"), [("Summary", "Summary"), ("My sheet", "'My sheet'"), ("A1", "'A1'")])
def test_titles_that_need_quotes_have_them(title: str, written: str) -> None:
    assert quoted(title) == written


# Reading back


def test_a_model_is_read_back_by_key(placed: ModelSheet) -> None:
    rows = read(contents(placed.sheet))
    assert rows.rows == {name: placed.rows[name] for name in ("work", "rate", "time", "both")}
    assert rows.columns == {"First": 7, "Second": 8}
    assert rows.content("rate", "Second") == 50.0
    assert isinstance(rows.content("rate", "First"), Text)
    assert rows.place("time", "Second") == ("Analysis", f"H{placed.rows['time']}")


def test_moved_rows_and_columns_are_found(placed: ModelSheet) -> None:
    moved = Sheet("Analysis")
    moved.cells = {(row + 10, column + 2): cell for (row, column), cell in placed.sheet.cells.items()}
    rows = read(contents(moved))
    assert rows.rows["time"] == placed.rows["time"] + 10
    assert rows.columns == {"First": 9, "Second": 10}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({("Analysis", "A4"): "Other"}, "no solbook workbook: it has no sheet 'Analysis' with a column headed 'Key'"),
        ({("Analysis", "F4"): "Other"}, "no column headed 'Note'"),
        ({("Analysis", "H4"): "First"}, "two strategies named 'First'"),
    ],
)
def test_a_sheet_that_is_not_ours_is_refused(change: dict[Place, Any], reason: str, placed: ModelSheet) -> None:
    held = contents(placed.sheet)
    assert change.keys() <= held.keys()
    with pytest.raises(UserError, match=reason):
        read(held | change)


def test_a_sheet_without_strategies_is_refused(placed: ModelSheet) -> None:
    held = contents(placed.sheet)
    with pytest.raises(UserError, match="has no strategies"):
        read({place: content for place, content in held.items() if place[1] not in ("G4", "H4")})


def test_tables_are_read_back_with_rows_that_a_user_added() -> None:
    sheet = Sheet("Choices")
    place_table(sheet, 3, "Devices", [RATE], DEVICES, {}, spare=2)
    size = Field("size", "Size", "1", "How large.")
    place_table(sheet, 14, "Others", [size], [{"name": "Only", "size": 3}], {}, spare=2)
    sheet.put(8, 1, "Mine")
    sheet.put(8, 2, Formula("B7*2", 80.0))
    grid = reader.grids(contents(sheet))["Choices"]
    assert {table.title: table.lines({("Choices", "B8"): 80.0}) for table in reader.keyed_tables(grid)} == {
        "Devices": [*DEVICES, {"name": "Mine", "rate": 80}],
        "Others": [{"name": "Only", "size": 3}],
    }


@pytest.mark.parametrize(
    ("content", "value"),
    [(3.0, 3), (0.5, 0.5), ("x", "x"), (True, True), (None, None), (1e300, 1e300), (Text("=1"), 7)],
)
def test_values_are_whole_numbers_where_they_can_be(content: Any, value: Any) -> None:
    cells = {} if content is None else {(1, 1): content}
    found = reader.value_at(reader.Grid("S", cells), 1, 1, {("S", "A1"): 7.0})
    assert (found, type(found)) == (value, type(value))
