"""Units are read strictly, every operation refuses those that do not fit, and the analysis has those it declares."""

from typing import Any

import pytest

from pyxl.operations import (
    Expression,
    Literal,
    Symbol,
    ceil,
    failures,
    item,
    least,
    most,
    pick,
    require,
    total,
    where,
)
from pyxl.quantity import Quantity
from pyxl.readings.unit import ZERO, UnitError, convert, parse, unit
from workbook.analysis import analysis

BYTES, FLOPS, SECONDS, NUMBER, NAME = map(Symbol, ("bytes", "flops", "seconds", "number", "name"))
UNITS = {"bytes": "byte", "flops": "FLOP", "seconds": "s", "number": "1", "name": "text"}


def unit_of(key: str) -> Any:
    return parse(UNITS[key])


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [
        ("50 GB/s", "byte/s", 50e9),
        ("50GB/s", "byte/s", 50e9),
        ("1.5e2 byte", "byte", 150.0),
        ("-.5 kB", "byte", -500.0),
        ("80 GiB", "byte", 80 * 2.0**30),
        ("989.5 TFLOP/s", "FLOP/s", 989.5e12),
        ("2 us", "s", 2e-6),
        ("3 USD/device/hour", "USD/device/hour", 3.0),
        ("0.7 kW", "W", 700.0),
        ("700 J/s", "W", 700.0),
        ("2 MW*hour", "W*hour", 2e6),
        ("700 J", "W", None),
        ("14.8 Ttoken", "token", 14.8e12),
        ("2048", "1", 2048.0),
        ("2 1/s", "1/s", None),
    ],
)
def test_convert(text: str, base: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(UnitError):
            convert(text, base)
    else:
        assert convert(text, base) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GB",
        "GB/s 50",
        "fifty GB/s",
        "50 5 GB/s",
        "50,5 GB/s",
        "1_000 GB/s",
        "nan GB/s",
        "(50) GB/s",
        "1/0 GB/s",
        "9**9**9**9",
        "50 GB/s # fast",
        "50 GB/s; 3",
        "__import__('os')",
        "50 %",
    ],
)
def test_what_is_no_number_with_a_unit_is_refused(text: str) -> None:
    with pytest.raises(UnitError, match="is not a number with a unit, such as 50 GB/s"):
        convert(text, "byte/s")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("50 GB", "'50 GB' is not a quantity in byte/s"),
        ("50", "'50' is not a quantity in byte/s"),
        ("50 GFLOP/s", "'50 GFLOP/s' is not a quantity in byte/s"),
        ("50 gb/s", "unknown unit 'gb/s': use FLOP, byte"),
        ("50 kkB/s", "unknown unit 'kkB/s'"),
        ("50 GB/s/", "unknown unit 'GB/s/'"),
        ("0x10 GB/s", "unknown unit 'x10 GB/s'"),
        ("1e400 GB/s", "is not a finite number"),
    ],
)
def test_a_quantity_that_does_not_fit_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnitError, match=reason):
        convert(text, "byte/s")


@pytest.mark.parametrize("text", ["", "2", "0", "furlong", "5 byte", "byte/", "9**9**9", "byte;", "%"])
def test_an_unknown_unit_is_refused(text: str) -> None:
    with pytest.raises(UnitError, match="unknown unit"):
        parse(text)


@pytest.mark.parametrize(("one", "other"), [("GB", "GiB"), ("byte", "FLOP"), ("byte", "1"), ("s", "hour"), ("B", "kB")])
def test_units_that_look_alike_differ(one: str, other: str) -> None:
    assert parse(one) != parse(other)


def test_one_unit_may_be_written_in_many_ways() -> None:
    assert parse("byte/s") == parse("B / s")
    assert parse("token/s/device") == parse("token/device/s")


@pytest.mark.parametrize(
    "expression",
    [
        BYTES + 0,
        0 - BYTES,
        least(BYTES, 0),
        most(0, BYTES),
        where(BYTES > 0, BYTES, 0),
        where(BYTES != 0, 0, BYTES),
        where(BYTES == 0, BYTES, 0 * FLOPS),
        BYTES + 0 / SECONDS,
    ],
)
def test_zero_fits_any_unit(expression: Expression) -> None:
    assert unit(expression, unit_of) == parse("byte")


@pytest.mark.parametrize(
    "expression",
    [
        BYTES + FLOPS,
        BYTES + 1,
        BYTES - SECONDS,
        NAME + "s",
        NAME - 0,
        NAME * 2,
        (BYTES > 0) * BYTES,
        BYTES / (NAME == "x"),
        BYTES / 0,
        BYTES / Literal(0.0),
        BYTES**2,
        Literal(2) ** BYTES,
        NAME**2,
        BYTES == FLOPS,
        BYTES != 1,
        BYTES < SECONDS,
        BYTES <= NAME,
        BYTES > FLOPS,
        BYTES >= FLOPS,
        where(BYTES, 1, 2),
        where(BYTES > 0, BYTES, FLOPS),
        where(BYTES > 0, BYTES, "none"),
        where(BYTES > FLOPS, 1, 2),
        least(BYTES, FLOPS),
        least(NAME, NAME),
        most(BYTES, 1),
        ceil(NAME),
        ceil(BYTES > 0),
        pick(BYTES, NAME, FLOPS),
        item(BYTES, SECONDS),
        total(NAME),
        failures(BYTES),
        require(BYTES, "no comparison"),
    ],
)
def test_a_mismatch_is_refused(expression: Expression) -> None:
    """Also deep in an expression; the message says in which part, in words."""
    with pytest.raises(UnitError, match=" in: ") as refused:
        unit(expression, unit_of)
    with pytest.raises(UnitError) as deep:
        unit(where(NUMBER > 1, NUMBER, where(NUMBER > 2, NUMBER, expression)), unit_of)
    assert str(deep.value) == str(refused.value)


def test_the_message_names_both_units() -> None:
    with pytest.raises(UnitError, match=r"^byte / s does not fit a pure number in: bytes / seconds \+ number$"):
        unit(BYTES / SECONDS + NUMBER, unit_of)


def _declared(key: str) -> Any:
    if key in analysis.columns:
        return parse(analysis.columns[key].unit)
    if key in analysis.series:
        (single,) = {parse(analysis[member].unit) for member in analysis.series[key]}
        return single
    return parse(analysis[key].unit)


@pytest.mark.parametrize("quantity", list(analysis), ids=lambda quantity: quantity.name)
def test_a_quantity_of_the_analysis_has_the_unit_it_declares(quantity: Quantity) -> None:
    declared = parse(quantity.unit)
    if quantity.expression is not None:
        found = unit(quantity.expression, _declared)
        assert found is ZERO or found == declared


def test_every_ingredient_of_the_analysis_stands_above_its_users() -> None:
    above: set[str] = set()
    for quantity in analysis:
        for ingredient in quantity.ingredients - analysis.columns.keys():
            missing = set(analysis.series.get(ingredient, (ingredient,))) - above
            assert not missing, f"{quantity.name} uses {', '.join(missing)}, declared below it"
        above.add(quantity.name)
