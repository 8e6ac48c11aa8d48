"""A curve is read alike in Python, in a sweep and in every spreadsheet, and as numpy.interp reads it."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from pyxl.evaluators import EVALUATORS
from pyxl.operations import Symbol, interpolated
from pyxl.readings.formula import formula
from pyxl.readings.unit import UnitError, parse, unit

CURVES, LONGEST = 60, 40
X, XS, YS = map(Symbol, ("x", "xs", "ys"))


class Curve(NamedTuple):
    """Points of a curve, and where it is read."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    read: tuple[float, ...]


def _curve(dice: random.Random) -> Curve:
    count = dice.randint(2, LONGEST)
    xs = tuple(sorted({10 ** dice.uniform(0, 13) for _ in range(count)}))
    ys = tuple(10 ** dice.uniform(3, 15) for _ in xs)
    between = tuple(dice.uniform(low, high) for low, high in pairwise(xs))
    return Curve(xs, ys, (*xs, *between, xs[0] / 3, xs[-1] * 3))


@pytest.fixture(scope="module")
def curves() -> list[Curve]:
    dice = random.Random(20260801)
    return [_curve(dice) for _ in range(CURVES)]


def test_it_is_what_numpy_makes_of_it(curves: list[Curve]) -> None:
    for xs, ys, read in curves:
        assert [interpolated(x, xs, ys) for x in read] == pytest.approx(np.interp(read, xs, ys), rel=1e-12)


@given(xs=st.sets(st.integers(-1000, 1000), min_size=2), data=st.data())
def test_points_are_met_exactly(xs: set[int], data: st.DataObject) -> None:
    xs_, ys = tuple(sorted(xs)), tuple(data.draw(st.floats(-1e9, 1e9)) for _ in xs)
    assert [interpolated(x, xs_, ys) for x in xs_] == list(ys)


def test_a_sweep_reads_every_configuration_as_it_is_alone(curves: list[Curve]) -> None:
    for xs, ys, read in curves:
        assert interpolated(np.array(read), xs, ys).tolist() == [interpolated(x, xs, ys) for x in read]


def test_points_may_differ_from_configuration_to_configuration() -> None:
    swept = interpolated(np.array([1.0, 4.0]), (0.0, np.array([2.0, 3.0]), 5.0), (np.array([10.0, 20.0]), 30.0, 50.0))
    assert swept.tolist() == [interpolated(1.0, (0.0, 2.0), (10.0, 30.0)), interpolated(4.0, (3.0, 5.0), (30.0, 50.0))]


@pytest.mark.parametrize(
    "evaluator", [pytest.param("libreoffice", marks=pytest.mark.libreoffice), "formulas", "formualizer"]
)
def test_spreadsheets_read_the_same(evaluator: str, curves: list[Curve], tmp_path: Path) -> None:
    """Row 1 to 40 hold the points; below, where they are read and what is found there."""
    book: Any = Workbook()
    sheet = book.active
    sheet.title = "Curves"
    expected = {}
    for number, (xs, ys, read) in enumerate(curves):
        left, right = (sheet.cell(1, 2 * number + side).column_letter for side in (1, 2))
        places = {"xs": f"${left}$1:${left}${len(xs)}", "ys": f"${right}$1:${right}${len(xs)}"}
        for row, (x, y) in enumerate(zip(xs, ys, strict=True), start=1):
            sheet[f"{left}{row}"], sheet[f"{right}{row}"] = x, y
        for row, x in enumerate(random.Random(number).sample(read, 5), start=LONGEST + 2):
            sheet[f"{left}{row}"] = x
            place = places | {"x": f"{left}{row}"}
            sheet[f"{right}{row}"] = "=" + formula(interpolated(X, XS, YS), place.__getitem__)
            expected["Curves", f"{right}{row}"] = interpolated(x, xs, ys)
    path = tmp_path / "curves.xlsx"
    book.save(path)
    found = EVALUATORS[evaluator](path)
    assert {place: found[place] for place in expected} == pytest.approx(expected, rel=1e-12)


def test_it_is_read_in_the_unit_of_its_places() -> None:
    units = {"x": "byte", "xs": "FLOP", "ys": "byte/s"}
    with pytest.raises(UnitError, match="byte does not fit FLOP"):
        unit(interpolated(X, XS, YS), lambda key: parse(units[key]))
