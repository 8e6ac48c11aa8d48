"""A model refuses definitions that cannot stand, and computes the others."""

from collections.abc import Callable
from typing import Any

import pytest

from pyxl.operations import failures, least, most, require, total, where
from pyxl.quantity import DefinitionError, Failure, Kind, Model

COLUMNS = {
    "Chips.name": ("H800", None, "H200"),
    "Chips.peak": (8.0, None, 16.0),
    "Chips.bandwidth": (4.0, None, None),
}


@pytest.fixture
def model() -> Model:
    """A small model with every kind of quantity."""
    model = Model()
    model.section("Inputs")
    model.input("chip", "text", "Chip", "H800", "Which chip.", choices="Chips")
    model.input("size", "1", "Size", 8.0, "How large.\n\nSource: a guess")
    model.constant("flops_per_multiply_add", "FLOP", "FLOPs", 2.0, "A multiplication and an addition.")
    model.lookup("peak", "FLOP/s", "Peak", "chip", "Chips", "Datasheet peak.")
    model.lookup("bandwidth", "byte/s", "Bandwidth", "chip", "Chips", "Datasheet bandwidth.")
    model.section("Results")

    @model.quantity("FLOP", "Work")
    def work(flops_per_multiply_add: Any, size: Any) -> Any:
        """Every pair
        is multiplied.

        Source: arithmetic,
        any edition
        """
        return flops_per_multiply_add * size**2

    @model.quantity("s", "Compute")
    def compute_time(work: Any, peak: Any) -> Any:
        """At the speed of light."""
        return work / peak

    @model.quantity("s", "Memory")
    def memory_time(size: Any, bandwidth: Any) -> Any:
        """Each is read once."""
        return size / bandwidth

    @model.quantity("s", "Times")
    def step_time_lower_bound(times: Any, compute_time: Any, size: Any) -> Any:
        """Nothing overlaps in small ones."""
        return where(size < 2, total(times), most(times)) - least(compute_time, 0)

    model.gather("times", ("compute_time", "memory_time"))

    @model.check("Size is positive")
    def check_size(size: Any) -> Any:
        """There is nothing to do otherwise."""
        return require(size > 0, "size must be above 0")

    @model.check("Time is short")
    def check_time(step_time_lower_bound: Any) -> Any:
        """Nobody waits longer."""
        return require(step_time_lower_bound < 2, "it takes too long")

    model.gather("checks", ("check_size", "check_time"))

    @model.quantity("1", "Failed checks")
    def failed_checks(checks: Any) -> Any:
        """How many checks fail."""
        return failures(checks)

    model.close()
    return model


def test_a_definition_says_what_an_auditor_reads(model: Model) -> None:
    work = model["work"]
    assert (work.label, work.unit, work.section) == ("Work", "FLOP", "Results")
    assert (work.note, work.source) == ("Every pair is multiplied.", "arithmetic, any edition")
    assert work.ingredients == {"flops_per_multiply_add", "size"}
    assert work.place.startswith(__file__)
    assert model["size"].source == "a guess"
    assert [quantity.kind for quantity in model][:5] == [
        Kind.INPUT,
        Kind.INPUT,
        Kind.CONSTANT,
        Kind.LOOKUP,
        Kind.LOOKUP,
    ]
    assert list(model.sections()) == ["Inputs", "Results"]


def test_values(model: Model) -> None:
    values = model.compute({"size": 3.0}, COLUMNS)
    assert values["peak"] == 8.0
    assert values["work"] == 18.0
    assert values["step_time_lower_bound"] == 18 / 8
    assert (values["check_size"], values["check_time"]) == ("OK", "it takes too long")
    assert values["failed_checks"] == 1


def test_defaults_stand_where_nothing_is_given(model: Model) -> None:
    assert model.compute({}, COLUMNS)["work"] == 2 * 8.0**2


def test_constants_and_look_ups_may_be_typed_over_but_calculations_not(model: Model) -> None:
    values = model.compute({"peak": 1.0, "flops_per_multiply_add": 3.0, "chip": "unknown", "bandwidth": 1.0}, COLUMNS)
    assert values["compute_time"] == 3 * 8.0**2
    assert model.compute({"work": 1.0}, COLUMNS)["work"] == 2 * 8.0**2


def test_a_look_up_ignores_case_and_takes_an_empty_cell_for_zero(model: Model) -> None:
    values = model.compute({"chip": "h200"}, COLUMNS)
    assert values["peak"] == 16.0
    assert values["bandwidth"] == 0


@pytest.mark.parametrize(
    ("inputs", "code", "reason"),
    [
        ({"chip": "H20"}, "#N/A", "peak: 'H20' is not in the table; it has H800, H200"),
        ({"chip": None}, "#N/A", "peak: 'None' is not in the table; it has H800, H200"),
        ({"peak": 0.0}, "#DIV/0!", "compute_time divides by zero"),
        ({"size": 1e200}, "#NUM!", "work is too large for a number"),
        ({"flops_per_multiply_add": 1e308}, "#NUM!", "work is not a number that a cell can hold"),
        ({"peak": "fast"}, "#VALUE!", "compute_time: unsupported operand"),
    ],
)
def test_what_cannot_be_computed_is_the_error_that_a_cell_shows(
    model: Model, inputs: dict[str, Any], code: str, reason: str
) -> None:
    """So is all that depends on it, with the first reason; a check says its words, and the rest is computed."""
    values = model.compute(inputs, COLUMNS)
    assert values["check_time"] == "it takes too long"
    assert values["failed_checks"] == 1
    for name in ("compute_time", "step_time_lower_bound"):
        assert isinstance(values[name], Failure)
        assert str(values[name]) == code
        assert values[name].reason.startswith(reason)
    assert values["check_size"] == "OK"


def test_a_failure_stays_where_it_is(model: Model) -> None:
    values = model.compute({"chip": "H200"}, COLUMNS)
    assert values["memory_time"] == Failure("#DIV/0!", "memory_time divides by zero")
    assert values["compute_time"] == 8.0


def test_only_what_is_wanted_is_computed(model: Model) -> None:
    values = model.compute({"size": 3.0}, COLUMNS, ["work"])
    assert values == {"size": 3.0, "flops_per_multiply_add": 2.0, "work": 18.0}
    assert model.compute({"peak": 1.0}, COLUMNS, ["peak"]) == {"peak": 1.0}


def define(model: Model, name: str, function: Callable[..., Any], note: str = "A note.") -> None:
    function.__name__, function.__doc__ = name, note
    model.quantity("1", name)(function)


def test_a_name_defined_twice_names_both_places() -> None:
    model = Model()
    model.constant("size", "1", "Size", 1.0, "A note.")
    first = model["size"].place
    with pytest.raises(DefinitionError, match=rf"'size' is defined twice: at {first} and at {__file__}:\d+"):
        define(model, "size", lambda width: width)


def test_an_unknown_ingredient_is_named_with_the_place() -> None:
    model = Model()
    define(model, "area", lambda width: width * 2)
    with pytest.raises(DefinitionError, match=rf"'area' at {__file__}:\d+ uses 'width', which is not defined"):
        model.close()


def test_an_unknown_member_of_a_series_is_named() -> None:
    model = Model()
    define(model, "area", lambda widths: 2 * total(widths))
    model.gather("widths", ("width",))
    with pytest.raises(DefinitionError, match=r"'area' at .* uses 'width', which is not defined"):
        model.close()


def test_a_cycle_names_both_places() -> None:
    model = Model()
    define(model, "hen", lambda egg: egg + 1)
    define(model, "egg", lambda hen: hen + 1)
    with pytest.raises(DefinitionError, match="in a circle") as caught:
        model.close()
    for name in ("hen", "egg"):
        assert f"'{name}' at {model[name].place}" in str(caught.value)
    assert model["hen"].place != model["egg"].place


def test_a_cycle_through_a_series_is_found() -> None:
    model = Model()
    define(model, "whole", lambda parts: 2 * total(parts))
    define(model, "part", lambda whole: whole / 2)
    model.gather("parts", ("part",))
    with pytest.raises(DefinitionError, match="in a circle"):
        model.close()


def test_a_series_needs_a_name_of_its_own() -> None:
    model = Model()
    model.constant("size", "1", "Size", 1.0, "A note.")
    model.gather("size", ("size",))
    with pytest.raises(DefinitionError, match=r"'size' at .* is also the name of a series"):
        model.close()


@pytest.mark.parametrize(
    ("function", "note", "reason"),
    [
        (lambda width: 6 * width, "A note.", "has the literal 6: make it a constant with a source"),
        (lambda width: width**3, "A note.", "has the literal 3"),
        (lambda width: width * -1, "A note.", "has the literal -1"),
        (lambda width: width * 1.5, "A note.", "has the literal 1.5"),
        (lambda width: width, "", "has no docstring"),
        (lambda width: width, "Source: only a source", "has no docstring"),
        (lambda width: 2, "A note.", "returns 2, not an expression"),
        (lambda width, height: width, "A note.", "does not use height"),
        (lambda width: min(width, 1), "A note.", "made of width"),
        (lambda width: width + None, "A note.", "None cannot stand in a quantity"),
        (lambda width: width / (1 // 0), "A note.", "by zero"),
    ],
)
def test_a_definition_that_cannot_stand_is_refused_with_its_place(
    function: Callable[..., Any], note: str, reason: str
) -> None:
    with pytest.raises(DefinitionError, match=rf"quantity 'area' at {__file__}:\d+.*{reason}"):
        define(Model(), "area", function, note)


@pytest.mark.parametrize("literal", [0, 1, 2])
def test_algebra_needs_no_constants(literal: int) -> None:
    define(Model(), "area", lambda width: width * literal)


def test_one_formula_serves_several_quantities(model: Model) -> None:
    for chip in ("H800", "H200"):
        model.constant(f"price_of_{chip}", "USD", chip, 10.0 if chip == "H800" else 20.0, "A guess.")

        @model.quantity("USD", f"Cost, {chip}", called=f"cost_of_{chip}", price=f"price_of_{chip}")
        def cost(size: Any, price: Any) -> Any:
            """Size times price."""
            return size * price

    model.close()
    assert model["cost_of_H200"].ingredients == {"size", "price_of_H200"}
    values = model.compute({}, COLUMNS)
    assert (values["cost_of_H800"], values["cost_of_H200"]) == (80.0, 160.0)


def test_what_stands_for_no_parameter_is_refused(model: Model) -> None:
    with pytest.raises(DefinitionError, match=r"'cost' at .* has no parameter prize"):

        @model.quantity("USD", "Cost", prize="size")
        def cost(size: Any) -> Any:
            """A note."""
            return size
