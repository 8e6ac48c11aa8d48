"""Elasticities of a small model, whose textbook values are known, and laid out as a sheet."""

from typing import Any

import pytest

from pyxl.elasticities import Elasticities, adjoint, elasticities_at, elasticity
from pyxl.layout import elasticities_sheet, model_sheet
from pyxl.operations import ceil, least, most, total, where
from pyxl.plan import Formula, Sheet
from pyxl.quantity import DefinitionError, Model
from pyxl.readings.words import words

VALUES = {"work": 8.0, "rate": 2.0, "size": 3.0, "price": 5.0, "devices": 7.0}


@pytest.fixture
def model() -> Model:
    model = Model()
    model.section("Inputs")
    for name in VALUES:
        model.input(name, "1", name.title(), 1.0, "How much.")

    @model.quantity("1", "Volume")
    def volume(size: Any) -> Any:
        """Of a cube."""
        return size**2 * size

    @model.quantity("1", "Time")
    def time(work: Any, volume: Any, rate: Any) -> Any:
        """How long all of it takes."""
        return work * volume / rate

    @model.quantity("1", "Whole devices")
    def whole(devices: Any) -> Any:
        """Rounded up."""
        return ceil(devices / 2)

    @model.quantity("1", "Cost")
    def cost(time: Any, price: Any, whole: Any) -> Any:
        """Price of the time."""
        return where(time > 0, time * price * whole, 0)

    @model.quantity("1", "Slower")
    def slower(time: Any, work: Any) -> Any:
        """Of two."""
        return most(time, work)

    model.close()
    return model


def elasticities(model: Model, result: str, **values: float) -> dict[str, float]:
    derived = Elasticities(model, tuple(VALUES), result)
    computed = derived.compute(model.compute(VALUES | values, {}), {})
    return {name: computed[elasticity(name)] for name in derived.sources}


def test_an_exponent_is_an_elasticity(model: Model) -> None:
    """Of a product of powers; what is rounded up, or reaches the result not at all, is left out."""
    assert elasticities(model, "time") == pytest.approx({"work": 1, "rate": -1, "size": 3})
    assert elasticities(model, "cost") == pytest.approx({"work": 1, "rate": -1, "size": 3, "price": 1})


def test_several_ways_add_up(model: Model) -> None:
    @model.quantity("1", "Both")
    def both(time: Any, volume: Any) -> Any:
        """Their sum."""
        return time + volume

    model.close()
    time, volume = 8 * 27 / 2, 27
    share = time / (time + volume)
    assert elasticities(model, "both") == pytest.approx({"work": share, "rate": -share, "size": 3})


def test_only_what_limits_counts(model: Model) -> None:
    assert elasticities(model, "slower") == pytest.approx({"work": 1, "rate": -1, "size": 3})
    assert elasticities(model, "slower", rate=1000.0) == pytest.approx({"work": 1, "rate": 0, "size": 0})


def test_an_adjoint_reads_as_the_chain_rule(model: Model) -> None:
    derived = Elasticities(model, tuple(VALUES), "cost")
    assert words(derived[adjoint("work")].expression) == "adjoint of time × volume / rate"  # type: ignore[arg-type]
    assert words(derived[adjoint("time")].expression) == "price × whole where time > 0, else 0"  # type: ignore[arg-type]


def test_a_series_on_the_way_is_refused(model: Model) -> None:
    model.gather("parts", ("volume", "time"))

    @model.quantity("1", "All")
    def everything(parts: Any) -> Any:
        """Their sum."""
        return least(total(parts), 1)

    model.close()
    with pytest.raises(DefinitionError, match=r"'everything' at .* takes a series"):
        Elasticities(model, ["work"], "everything")


def test_a_sheet_of_them(model: Model) -> None:
    derived = Elasticities(model, tuple(VALUES), "time")
    strategies = {
        name: model.compute(VALUES | changed, {}) for name, changed in {"First": {}, "Second": {"work": 9.0}}.items()
    }
    placed = model_sheet.lay_out(Sheet("Analysis"), model, {n: (VALUES, v) for n, v in strategies.items()}, {}, ())
    sheet = Sheet("Elasticities")
    table = elasticities_sheet.lay_out(sheet, derived, strategies, "Second", placed, {}, ("cost",), ("A note.",))
    first = table.lines[0]
    values, slopes, shares = (
        [sheet.cells[row, column].content for row in table.lines]
        for column in (elasticities_sheet.VALUE, elasticities_sheet.ADJOINT, elasticities_sheet.ELASTICITY)
    )
    assert [cell.value for cell in values] == [9, 2, 3]
    assert [cell.value for cell in shares] == pytest.approx([1, -1, 3])
    time = first - 2  # above them the result, and the context
    assert shares[0] == Formula(f"$E{first}*$D{first}/$D{time}", shares[0].value, shares[0].expression)
    assert [cell.value for cell in slopes] == pytest.approx([27 / 2, -9 * 27 / 4, 9 * 9 * 3 / 2])
    assert values[0].text.startswith("INDEX(Analysis!$G$")
    assert values[0].text.endswith(",MATCH(Elasticities!$B$5,Analysis!$G$4:$AD$4,0))")


def test_a_series_passes_its_members_on(model: Model) -> None:
    """total() of work and rate: each counts by its share. The largest of both: the one that is it."""
    model.gather("both", ["work", "rate"])

    @model.quantity("1", "Sum")
    def everything(both: Any) -> Any:
        """Both together."""
        return total(both)

    @model.quantity("1", "Largest")
    def largest(both: Any) -> Any:
        """The larger one."""
        return most(both)

    model.close()
    values = model.compute(VALUES, {})
    assert elasticities_at(model, values, {}, "everything", ["work", "rate"]) == {"work": 0.8, "rate": 0.2}
    assert elasticities_at(model, values, {}, "largest", ["work", "rate"]) == {"work": 1.0}
