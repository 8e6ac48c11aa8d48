"""Worksheet functions of a small model: what a spreadsheet passes, what its cells show."""

import datetime
from typing import Any

import pytest

from pyxl.cell_functions import LONGEST_HELP, OMITTED, CellFunction, cell_functions
from pyxl.operations import failures, item, require, where
from pyxl.quantity import DefinitionError, Model

TABLES = {"Devices.name": ("H800", "H100"), "Devices.peak": (100.0, None)}


def _model() -> Model:
    model = Model()
    model.input("device", "text", "Device", "H800", "Which device. More about it.")
    model.input("work", "FLOP", "Work", 300, "What is done. " + "Very long. " * 40)
    model.input("rank", "1", "Rank", 1, "Counted from 1.")
    model.input("mode", "text", "Mode", "fast", "How.")
    model.lookup("peak", "FLOP/s", "Peak", "device", "Devices", "Of the datasheet.")

    @model.quantity("s", "Time")
    def time(work, peak):  # type: ignore[no-untyped-def]
        """Work over rate."""
        return work / peak

    @model.quantity("1", "Slowness")
    def slowness(mode, work, rank):  # type: ignore[no-untyped-def]
        """Counts only where the mode is slow."""
        return where(mode == "slow", work, rank)

    @model.check("Positive")
    def check_work(work):  # type: ignore[no-untyped-def]
        """Work must be positive."""
        return require(work > 0, "no work")

    @model.check("First")
    def check_rank(rank):  # type: ignore[no-untyped-def]
        """The first rank."""
        return require(rank == 1, "not the first")

    model.gather("checks", ["check_work", "check_rank"])

    @model.quantity("1", "Failed checks")
    def failed(checks):  # type: ignore[no-untyped-def]
        """How many."""
        return failures(checks)

    @model.quantity("text", "One check")
    def ranked(checks, rank):  # type: ignore[no-untyped-def]
        """By number."""
        return item(checks, rank)

    model.close()
    return model


@pytest.fixture(scope="module")
def functions() -> dict[str, CellFunction]:
    return cell_functions(_model(), lambda: TABLES, "SOL_")


def test_every_computed_quantity_is_a_function_of_its_ingredients(functions: dict[str, CellFunction]) -> None:
    named = {name: [argument.name for argument in function.arguments] for name, function in functions.items()}
    assert named == {
        "SOL_PEAK": ["device"],
        "SOL_TIME": ["work", "peak"],
        "SOL_SLOWNESS": ["mode", "work", "rank"],
        "SOL_CHECK_WORK": ["work"],
        "SOL_CHECK_RANK": ["rank"],
        "SOL_FAILED": ["checks"],
        "SOL_RANKED": ["checks", "rank"],
        "SOL_TABLE": ["keys", "values", "wanted"],
        "SOL": ["quantity", "keys", "values"],
    }


@pytest.mark.parametrize(
    ("name", "cells", "shown"),
    [
        ("SOL_TIME", (300.0, 100.0), 3.0),
        ("SOL_TIME", ([[300.0]], [100.0]), 3.0),
        ("SOL_TIME", (None, 100.0), 0.0),
        ("SOL_TIME", ("", 100.0), 0.0),
        ("SOL_PEAK", ("h800",), 100.0),
        ("SOL_PEAK", ("H100",), 0.0),
        ("SOL_SLOWNESS", ("SLOW", 5.0, 7.0), 5.0),
        ("SOL_SLOWNESS", ("fast", "#DIV/0!", 7.0), 7.0),
        ("SOL_CHECK_WORK", (True,), "OK"),
        ("SOL_CHECK_WORK", (-1.0,), "no work"),
        ("SOL_FAILED", ([["OK"], ["no work"], [None], [""]],), 1.0),
        ("SOL_RANKED", (["a", "b"], 2.0), "b"),
    ],
)
def test_cells_give_what_the_definition_gives(
    functions: dict[str, CellFunction], name: str, cells: tuple[Any, ...], shown: Any
) -> None:
    assert functions[name](*cells) == shown


@pytest.mark.parametrize(
    ("name", "cells", "shown"),
    [
        ("SOL_TIME", ("x", 1.0), "SOL_TIME: work is 'x': write a number"),
        ("SOL_SLOWNESS", ("fast", "x", 1.0), "SOL_SLOWNESS: work is 'x': write a number"),
        ("SOL_TIME", (datetime.datetime(2025, 1, 2), 1.0), "SOL_TIME: work is 2025-01-02 00:00:00: write a number"),
        ("SOL_PEAK", (4.0,), "SOL_PEAK: device is 4: write a text"),
        ("SOL_PEAK", (0.0,), "SOL_PEAK: device is empty: write a text"),
        ("SOL_PEAK", ("H900",), "SOL_PEAK: 'H900' is not in the table; it has H800, H100"),
        ("SOL_TIME", (1.0, 0.0), "SOL_TIME divides by zero"),
        ("SOL_TIME", (1e300, 1e-300), "SOL_TIME is not a number that a cell can hold"),
        ("SOL_TIME", ("#N/A", 1.0), "SOL_TIME: work is #N/A"),
        ("SOL_TIME", (OMITTED, 1.0), "SOL_TIME: work is left out: it is value 1 of 2"),
        ("SOL_TIME", (1.0,), "SOL_TIME: peak is left out: it is value 2 of 2"),
        ("SOL_TIME", (1.0, 1.0, 1.0), "SOL_TIME: takes 2 values, not 3"),
        ("SOL_TIME", ([1.0, 2.0], 1.0), "SOL_TIME: work is a range: give one cell"),
        ("SOL_TIME", (1.0, "SOL_PEAK: device is 4: write a text"), "SOL_PEAK: device is 4: write a text"),
        ("SOL_TIME", (1.0, "SOL: work is #REF!"), "SOL: work is #REF!"),
        ("SOL_CHECK_RANK", ("SOL_TIME divides by zero",), "not the first"),
        ("SOL_TIME", ("SOL_SLOWNESS divides by zero", 1.0), "SOL_SLOWNESS divides by zero"),
        ("SOL_RANKED", (["OK", "#N/A"], 1.0), "SOL_RANKED: checks is #N/A"),
    ],
)
def test_what_cannot_be_computed_says_why(
    functions: dict[str, CellFunction], name: str, cells: tuple[Any, ...], shown: str
) -> None:
    assert functions[name](*cells) == shown


KEYS = [["device"], ["Section"], ["work"], ["peak"], ["time"], [None]]


def test_a_strategy_gives_all_quantities_and_its_look_ups_override_the_table(
    functions: dict[str, CellFunction],
) -> None:
    table = functions["SOL_TABLE"](KEYS, [["H800"], [None], [600.0], [200.0], [99.0], [1.0]])
    assert ["time", 3.0, "s"] in table  # the formula's own row is no input
    assert ["rank", 1.0, "1"] in table  # a default
    assert [row[0] for row in table] == list(_model().quantities)
    without = functions["SOL_TABLE"](["device", "work"], ["h800", 600.0], [["time"], ["work"], [None]])
    assert without == [["time", 6.0, "s"], ["work", 600.0, "FLOP"]]


def test_a_mistake_in_a_strategy_is_told_where_it_matters(functions: dict[str, CellFunction]) -> None:
    table = {row[0]: row[1] for row in functions["SOL_TABLE"](["work", "rank"], ["much", 1.0])}
    assert table["time"] == table["work"] == "work is 'much': write a number"
    assert table["check_rank"] == "OK"


@pytest.mark.parametrize(
    ("name", "cells", "shown"),
    [
        ("SOL", ("TIME", ["work"], [600.0]), 6.0),
        ("SOL", ("time", ["work"], ["#REF!"]), "SOL: work is #REF!"),
        ("SOL", ("tim", ["work"], [1.0]), "SOL: there is no quantity 'tim': did you mean 'time'? "),
        ("SOL", ("time", ["work"], [1.0, 2.0]), "SOL: keys has 1 rows and values 2: take the same rows of both"),
        ("SOL", ("time", ["x"], [1.0]), "SOL: keys holds no key of an input, constant or look-up: "),
        ("SOL", ("time", [["work", "x"], ["y", "z"]], [1.0] * 4), "SOL: keys is more than one column wide"),
        ("SOL", ("time", ["work"]), "SOL: values is left out"),
        ("SOL_TABLE", (["work"], [1.0], "tim"), "SOL_TABLE: there is no quantity 'tim'"),
    ],
)
def test_one_quantity_of_a_strategy(
    functions: dict[str, CellFunction], name: str, cells: tuple[Any, ...], shown: Any
) -> None:
    given = functions[name](*cells)
    assert given.startswith(shown) if isinstance(shown, str) else given == shown


def test_help_is_the_definitions_and_fits_the_function_wizard(functions: dict[str, CellFunction]) -> None:
    time = functions["SOL_TIME"]
    assert time.help == "Time [s]. Work over rate."
    assert [argument.help for argument in time.arguments] == [
        "Work [FLOP]: What is done.",
        "Peak [FLOP/s]: Of the datasheet.",
    ]
    assert functions["SOL_FAILED"].arguments[0].help == "A range: Positive, First"
    for function in functions.values():
        assert max(map(len, (function.help, *(argument.help for argument in function.arguments)))) <= LONGEST_HELP


def test_long_help_is_cut_between_words() -> None:
    model = Model()
    model.lookup("peak", "1", "Peak", "device", "Devices", "word " * 100)
    model.input("device", "text", "Device", "", "Which.")
    model.close()
    shown = cell_functions(model, lambda: TABLES, "SOL_")["SOL_PEAK"].help
    assert len(shown) <= LONGEST_HELP
    assert shown.endswith("word …")


def test_two_functions_of_one_name_are_refused() -> None:
    model = Model()
    model.input("device", "text", "Device", "", "Which.")
    model.lookup("table", "1", "Table", "device", "Devices", "A name that is taken.")
    model.close()
    with pytest.raises(DefinitionError, match="SOL_TABLE"):
        cell_functions(model, lambda: TABLES, "SOL_")


def test_tables_are_read_by_look_ups_alone() -> None:
    def fail() -> Any:
        pytest.fail("read the tables")

    assert cell_functions(_model(), fail, "SOL_")["SOL_TIME"](6.0, 2.0) == 3.0
