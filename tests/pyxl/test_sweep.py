"""A sweep gives what each configuration gives alone, and no value where that gives none."""

import itertools
import math
import sys
import tracemalloc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pyxl import sweep
from pyxl.errors import MissingProgram, UserError
from pyxl.operations import ceil, failures, item, least, most, require, total, where
from pyxl.quantity import Failure, Model

COLUMNS = {
    "Chips.name": ("H800", None, "H200", "typed over"),
    "Chips.peak": (8.0, None, 16.0, "fast"),
    "Chips.bandwidth": (4.0, None, None, 2.0),
    "Chips.network": ("NVLink", None, "PCIe", "PCIe"),
    "Networks.name": ("NVLink", "PCIe"),
    "Networks.latency": (2.0, 3.0),
    "Kinds.name": ("nvlink",),
    "Kinds.kind_latency": (5.0,),
    "Kinds.kind_name": ("fast",),
    "Counts.name": (1, 2, 4),
    "Counts.price": (10.0, 15.0, 20.0),
}
SWEPT: Mapping[str, tuple[Any, ...]] = {
    "chip": ("H800", "h200", "H20", "typed over"),
    "size": (-1.0, 0.0, 1.0, 2.0, 1e200),
    "count": (1, 2, 3),
}


@pytest.fixture(scope="module")
def model() -> Model:
    """Every operation, over inputs that make some of them fail."""
    model = Model()
    model.input("chip", "text", "Chip", "H800", "Which chip.")
    model.input("size", "1", "Size", 8.0, "How large.")
    model.input("count", "1", "Count", 2, "How many.")
    model.constant("factor", "1", "Factor", 2.0, "A factor.")
    model.lookup("peak", "1", "Peak", "chip", "Chips", "Peak.")
    model.lookup("bandwidth", "1", "Bandwidth", "chip", "Chips", "Bandwidth.")
    model.lookup("network", "text", "Network", "chip", "Chips", "Its network.")
    model.lookup("latency", "1", "Latency", "network", "Networks", "Latency of that network.")
    model.lookup("price", "1", "Price", "count", "Counts", "Price of so many.")

    @model.quantity("1", "Work")
    def work(size: Any, factor: Any, count: Any) -> Any:
        """Overflows where the size is huge."""
        return factor * size**2 * count - (0 - size)

    @model.quantity("1", "Time")
    def time(work: Any, peak: Any, bandwidth: Any, size: Any) -> Any:
        """Divides by 0 where a rate is unknown, but in one branch only."""
        return where(size > 1, work / peak, size / bandwidth)

    @model.quantity("1", "Inverse")
    def inverse(time: Any) -> Any:
        """What is infinite must not come back as 0 from here."""
        return 1 / time

    @model.quantity("text", "Kind")
    def kind(inverse: Any, network: Any, count: Any) -> Any:
        """A text that depends on numbers that may have failed."""
        return where(inverse > 0, where(count == 2, "NVLink", "PCIe"), network)

    model.lookup("kind_latency", "1", "Latency of the kind", "kind", "Kinds", "Looked up by a computed text.")
    model.lookup("kind_name", "text", "Name of the kind", "kind", "Kinds", "A text looked up by a computed text.")

    @model.quantity("1", "Speed")
    def speed(kind_name: Any) -> Any:
        """Has no value where the name has none."""
        return where(kind_name == "fast", 1, 2)

    @model.quantity("1", "Same")
    def same(kind: Any, network: Any, chip: Any) -> Any:
        """Texts are no numbers."""
        return where(kind == network, 1, 0) + where(chip != "H800", 2, 0) + where(chip == 2, 1, 0)

    @model.quantity("1", "Rounded")
    def rounded(size: Any, count: Any) -> Any:
        """0 to the power 0 is no number in a cell, once it is read with care."""
        return ceil(size / count) + least(size, count) * most(count, 1, 2) + where(count > 1, 0, 1 / size) ** 2

    @model.quantity("1", "Sum")
    def whole(parts: Any, size: Any) -> Any:
        """Over a series."""
        return total(parts) + most(parts) * where(size > 0, 1, 0)

    model.gather("parts", ("rounded", "count", "chip"))

    @model.quantity("1", "Chosen")
    def chosen(parts_in_order: Any, count: Any) -> Any:
        """Entry of a series."""
        return item(parts_in_order, count)

    model.gather("parts_in_order", ("rounded", "count", "factor"))

    @model.check("Inverse is known")
    def check_inverse(inverse: Any) -> Any:
        """Fails where it cannot be computed."""
        return require(inverse > 0, "no inverse")

    @model.check("Size is positive")
    def check_size(size: Any) -> Any:
        """There is nothing to do otherwise."""
        return require(size > 0, "size must be above 0")

    model.gather("checks", ("check_inverse", "check_size"))

    @model.quantity("1", "Failed checks")
    def failed_checks(checks: Any) -> Any:
        """How many checks fail."""
        return failures(checks)

    model.close()
    return model


def configurations(swept: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(swept, values, strict=True)) for values in itertools.product(*swept.values())]


def assert_as_alone(model: Model, swept: Mapping[str, tuple[Any, ...]], given: Mapping[str, Any]) -> None:
    rows = configurations(swept)
    arrays = {name: np.array([row[name] for row in rows]) for name in swept}
    found = model.sweep({**given, **arrays}, COLUMNS, model.quantities)
    for place, row in enumerate(rows):
        for name, value in model.compute({**given, **row}, COLUMNS).items():
            swept_value = found[name][place]
            if model[name].unit == "text":
                assert swept_value == (value if isinstance(value, str) else ""), (name, row)
            elif isinstance(value, Failure | str) or not math.isfinite(value):
                assert math.isnan(swept_value), (name, row)
            else:
                assert swept_value == value, (name, row)


@pytest.fixture(params=[7, sweep.BLOCK])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few configurations at a time, so that some blocks have failures and others none; and as in earnest."""
    monkeypatch.setattr(sweep, "BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("names", [names for n in (1, 2, 3) for names in itertools.combinations(SWEPT, n)])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"chip": "H20"},
        {"size": 0.0},
        {"peak": 0.0},
        {"factor": 1e308},
        {"bandwidth": math.nan},
        {"peak": "fast"},
    ],
)
def test_every_quantity_is_what_it_is_alone(model: Model, names: tuple[str, ...], given: dict[str, Any]) -> None:
    """Where a configuration has no value for a quantity, neither has the sweep, whatever stands beside it."""
    assert_as_alone(model, {name: SWEPT[name] for name in names}, given)


def test_nothing_by_nothing_is_no_number(model: Model) -> None:
    assert_as_alone(model, {"size": (0.0,)}, {"bandwidth": 0.0})


def test_whole_numbers_do_not_overflow(model: Model) -> None:
    assert_as_alone(model, {"size": (2**40, 2**50)}, {})


def test_an_input_without_a_value_fails_all_that_needs_it(model: Model) -> None:
    found = model.sweep({"chip": None, "size": np.array([2.0])}, COLUMNS, ["work", "time", "network", "check_inverse"])
    assert (found["work"].tolist(), found["network"].tolist(), found["check_inverse"].tolist()) == (
        [18.0],
        [""],
        ["no inverse"],
    )
    assert math.isnan(found["time"].item())


def test_what_an_array_lacks_is_lacking(model: Model) -> None:
    found = model.sweep({"size": np.array([2, math.nan, math.inf])}, COLUMNS, ["work", "failed_checks"])
    assert found["work"].tolist() == pytest.approx([18, math.nan, math.nan], nan_ok=True)
    assert found["failed_checks"].tolist() == [0, 2, 2]


def test_arrays_meet_as_numpy_arrays_do(model: Model) -> None:
    sizes, chips = np.array([1.0, 2.0, 4.0]), np.array([["H800"], ["H200"]])
    found = model.sweep({"size": sizes, "chip": chips}, COLUMNS, ["work", "time", "network", "factor"])
    assert found["work"].tolist() == [[5.0, 18.0, 68.0]] * 2
    assert found["time"].tolist() == pytest.approx(
        np.array([[0.25, 18 / 8, 68 / 8], [math.nan, 18 / 16, 68 / 16]]), nan_ok=True
    )
    assert found["network"].tolist() == [["NVLink"] * 3, ["PCIe"] * 3]
    assert found["factor"].shape == (2, 3)


@pytest.mark.parametrize(
    "size", [3.0, np.float64(3.0), np.array(3.0), np.array([3.0]), [3.0], np.array([], dtype=float)]
)
def test_one_configuration_or_none_is_a_sweep_too(model: Model, size: Any) -> None:
    found = model.sweep({"size": size, "count": 1}, COLUMNS, ["work", "kind"])
    assert found["work"].shape == found["kind"].shape == np.shape(size)
    assert found["work"].tolist() == np.full(np.shape(size), 21.0).tolist()


@pytest.mark.parametrize(
    ("inputs", "wanted", "message"),
    [
        ({"sizes": np.array([1.0])}, ["work"], "no input 'sizes': did you mean 'size'"),
        ({"work": np.array([1.0])}, ["time"], "no input 'work'"),
        ({"size": 1.0}, ["works"], "no quantity 'works': did you mean 'work'"),
        ({"size": np.array(["large"])}, ["work"], "size is an array of <U5: give numbers"),
        ({"chip": np.array([1])}, ["work"], "chip is an array of int64: give texts"),
        ({"size": np.ones(2), "count": np.ones(3)}, ["work"], r"do not meet: size \(2,\), count \(3,\)"),
    ],
)
def test_what_makes_no_sweep_is_refused(model: Model, inputs: dict[str, Any], wanted: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        model.sweep(inputs, COLUMNS, wanted)


def test_memory_is_bounded() -> None:
    """However many quantities stand between, a block of each is all that is kept."""
    model = Model()
    model.input("x0", "1", "Input", 1.0, "A number.")
    for n in range(1, 100):
        namespace: dict[str, Any] = {}
        exec(f"def x{n}(x{n - 1}):\n    'A note.'\n    return x{n - 1} + 1", namespace)
        model.quantity("1", "A step")(namespace[f"x{n}"])
    model.close()
    numbers = np.arange(1e6)
    tracemalloc.start()
    found = model.sweep({"x0": numbers}, {}, ["x99"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found["x99"] == numbers + 99).all()
    assert peak < 5 * numbers.nbytes


def test_a_missing_package_is_named(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "pyxl.sweep")
    with pytest.raises(MissingProgram, match="pip install numpy"):
        model.sweep({}, COLUMNS, ["work"])
