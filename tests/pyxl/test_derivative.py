"""Derivatives are the slopes of what they are derived from, for each operation and for random expressions of them."""

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from pyxl.operations import (
    Apply,
    Expression,
    Literal,
    Operation,
    Symbol,
    ceil,
    failures,
    interpolated,
    item,
    least,
    most,
    pick,
    require,
    total,
    where,
)
from pyxl.readings.derivative import ONE, ZERO, derivative
from pyxl.readings.number import evaluate
from pyxl.readings.words import words

X, Y, N, CHANGES = map(Symbol, ("x", "y", "n", "changes"))
SERIES = Symbol("series")
STEP = Fraction(1, 10**30)  # exact arithmetic: no rounding hides behind so small a step
POINTS = [{"x": Fraction(*x), "y": Fraction(*y), "n": 3} for x, y in (((7, 3), (5, 2)), ((11, 2), (3, 7)))]

# Per operation, expressions of x.
CASES: dict[Operation, list[Expression]] = {
    Operation.ADD: [X + Y, Y + X, X + X],
    Operation.SUBTRACT: [X - Y, Y - X, Y - (Y - X)],
    Operation.MULTIPLY: [X * Y, Y * X, X * X * (Y - X)],
    Operation.DIVIDE: [X / Y, Y / X, X / (Y + X), 1 - 1 / X, Y * (1 / X)],
    Operation.POWER: [X**2, X**N, X**-1, (Y - X) ** 3, (1 - 1 / X) ** Literal(1)],
    Operation.EQUAL: [where(X == Y, X, 2 * X)],
    Operation.NOT_EQUAL: [where(X != Y, X, 2 * X)],
    Operation.LESS: [where(X < Y, X * Y, Y / X)],
    Operation.LESS_OR_EQUAL: [where(X <= Y, X, 1)],
    Operation.GREATER: [where(X > Y, X, 1)],
    Operation.GREATER_OR_EQUAL: [where(X >= Y, 1, X)],
    Operation.WHERE: [where(Y > 1, X, Y), where(X > 1, X**2, Y)],
    Operation.LEAST: [least(X, Y), least(Y, X, X * X), least(1, X * Y, Y)],
    Operation.MOST: [most(X, Y), most(Y, X, X * X), most(1, Y, X * Y)],
    Operation.CEIL: [ceil(X), X * ceil(X / Y)],
    Operation.PICK: [X * pick("b", Symbol("names"), Symbol("numbers"))],
    Operation.ITEM: [X * item(Symbol("numbers"), 2)],
    Operation.INTERPOLATED: [X * interpolated(Y + 2, Symbol("numbers"), Symbol("numbers"))],
    Operation.TOTAL: [X * total(Symbol("numbers"))],
    Operation.FAILURES: [X * failures(Symbol("names"))],
    Operation.REQUIRE: [where(require(X > Y, "no") == "OK", X, 2 * X)],
}


def slope(expression: Expression, point: dict[str, Any]) -> Any:
    at = evaluate(expression, point.__getitem__)
    return (evaluate(expression, (point | {"x": point["x"] + STEP}).__getitem__) - at) / STEP


def derived(expression: Expression, name: str = "x") -> Expression:
    return derivative(expression, lambda key: ONE if key == name else ZERO)


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("point", POINTS)
def test_each_operation_has_the_slope_of_its_values(operation: Operation, point: dict[str, Any]) -> None:
    point = point | {"names": ("a", "b"), "numbers": (3, 5)}
    for expression in CASES[operation]:
        found = evaluate(derived(expression), point.__getitem__)
        assert float(found) == pytest.approx(float(slope(expression, point)), rel=1e-15), words(expression)


def _tree(dice: random.Random, depth: int) -> Any:
    if depth == 0:
        return dice.choice([X, X, Y, Literal(Fraction(2))])  # type: ignore[arg-type]

    def branch() -> Any:
        return _tree(dice, dice.randrange(depth))

    makers: tuple[Callable[[], Any], ...] = (
        lambda: branch() + branch(),
        lambda: branch() - branch(),
        lambda: branch() * branch(),
        lambda: branch() / branch(),
        lambda: 1 - 1 / branch(),
        lambda: branch() ** dice.choice([N, Literal(2), Literal(-1)]),
        lambda: where(branch() < branch(), branch(), branch()),
        lambda: least(*(branch() for _ in range(dice.randint(2, 4)))),
        lambda: most(*(branch() for _ in range(dice.randint(2, 4)))),
    )
    return dice.choice(makers)()


def test_random_expressions_have_the_slope_of_their_values() -> None:
    dice, checked = random.Random(5), 0
    for _ in range(1000):
        expression: Expression = _tree(dice, 6)
        try:
            expected = slope(expression, POINTS[0])
        except ZeroDivisionError:
            continue
        found = evaluate(derived(expression), POINTS[0].__getitem__)
        assert float(found) == pytest.approx(float(expected), rel=1e-12, abs=1e-12), words(expression)
        checked += expected != 0
    assert checked > 300


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (total(SERIES), "total of (changes)"),
        (item(SERIES, 2), "changes no. 2"),
        (pick(N, Symbol("names"), SERIES), "changes of the n"),
        (most(SERIES), "changes of the largest of (series)"),
        (least(SERIES), "changes of the smallest of (series)"),
        (interpolated(2.5, Symbol("sizes"), SERIES), "changes interpolated at sizes = 2.5"),
    ],
)
def test_a_series_has_a_series_of_derivatives(expression: Expression, text: str) -> None:
    found = derivative(expression, lambda key: CHANGES if key == "series" else ZERO)

    assert words(found) == text
    values = {"series": (4, 9, 2), "changes": (10, 20, 30), "names": ("a", "b", "c"), "n": "b", "sizes": (1, 4, 5)}
    assert evaluate(found, values.__getitem__) in (10, 15, 20, 30, 60)


@pytest.mark.parametrize(
    ("expression", "first"),
    [(most(X, Y), True), (most(Y, X), False), (least(X, Y), True), (most(1, X, Y), True)],
)
def test_where_two_are_equal_the_first_is_taken(expression: Expression, first: bool) -> None:
    assert evaluate(derived(expression), {"x": 3, "y": 3}.__getitem__) == first


@pytest.mark.parametrize("expression", [most(1, X), least(1, X), least(1, X, Y), most(X, 1)])
def test_where_a_literal_is_met_what_moves_is_taken(expression: Expression) -> None:
    assert evaluate(derived(expression), {"x": 1, "y": 3}.__getitem__) == 1


@pytest.mark.parametrize("expression", [Y, Y / 2, ceil(X), X > 2, most(Y, 2), require(X > 0, "no"), where(X > 2, 1, 1)])
def test_what_does_not_change_has_no_derivative(expression: Expression) -> None:
    value = derived(expression)
    assert value is ZERO or evaluate(value, POINTS[0].__getitem__) == 0


def test_terms_that_do_not_change_are_left_out() -> None:
    assert words(derived(Y * X + Y / 2)) == "y"
    assert words(derived(1 - 1 / X)) == "1 / x / x"
    assert words(derived(Y - Y * (Y - X))) == "y"
    assert derived(Y**N) is ZERO


def test_the_first_power_of_nothing_has_a_slope() -> None:
    """n x^(n-1) would be 0 to the power 0, on which spreadsheets do not agree."""
    assert evaluate(derived(X**N), {"x": 0, "n": 1}.__getitem__) == 1


def test_an_exponent_that_changes_is_refused() -> None:
    with pytest.raises(TypeError, match="the exponent of y \\^ x changes"):
        derived(Y**X)


def test_a_curve_that_is_read_at_a_place_that_changes_is_refused() -> None:
    for expression in (interpolated(X, SERIES, CHANGES), interpolated(Y, X, CHANGES)):
        with pytest.raises(TypeError, match=r"where changes interpolated at .* is read changes"):
            derived(expression)


def test_every_operation_is_tested() -> None:
    def used(expression: Expression) -> set[Operation]:
        if not isinstance(expression, Apply):
            return set()
        return {expression.operation}.union(*(used(operand) for operand in expression.operands))

    assert all(operation in set().union(*map(used, cases)) for operation, cases in CASES.items())
    assert CASES.keys() == set(Operation)
