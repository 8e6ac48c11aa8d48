"""Two thousand random expressions mean the same in Python, in LibreOffice, in formulas and in formualizer.

Only expressions that are well conditioned can be compared: where almost equal numbers are subtracted or
compared, or almost whole ones rounded, the last bit decides, and there spreadsheets deliberately differ
(they snap near-zeros and near-integers). So one more reading bounds each expression's relative error,
and expressions beyond a small bound, out of range or dividing by zero are not drawn.
"""

import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from openpyxl import Workbook

from pyxl.evaluators import EVALUATORS
from pyxl.operations import (
    Apply,
    Expression,
    Literal,
    Operation,
    Symbol,
    ceil,
    complete,
    interpolated,
    item,
    least,
    most,
    pick,
    total,
    where,
)
from pyxl.readings.formula import formula
from pyxl.readings.number import RULES, evaluate

SEED, COUNT, DEPTH, PER_ROW = 20260213, 2000, 5, 5
ROUNDING = 2.0**-52
LARGEST_ERROR = 2e-13
LARGEST, SMALLEST = 1e150, 1e-150

NUMBERS, WHOLE_NUMBERS, CHOICE, SERIES = "ABCD", "EF", "G", "A:D"
TABLE = {"alpha": 3.5, "Beta": -2e6, "gamma": 1e-7}
CURVE = {-1e3: 0.2, -1.0: 4.0, 0.0: 3.0, 7.5: 3.0, 40.0: 2e3, 1e6: 1e4}
EXTREMES = (1e12, -1e12, 1e-7, -1e-7, 123456789012345678.0, 0.1, -3.0)


class Unfit(Exception):
    """The expression is not well conditioned."""


class Bounded(NamedTuple):
    """A value, and how far evaluators may differ on it, relative to it."""

    value: Any
    error: float


def _add(left: Bounded, right: Bounded, sign: int = 1) -> Bounded:
    value = left.value + sign * right.value
    if value == 0:
        raise Unfit
    error = (abs(left.value) * left.error + abs(right.value) * right.error) / abs(value)
    return Bounded(value, error + ROUNDING)


def _divide(left: Bounded, right: Bounded) -> Bounded:
    return Bounded(left.value / right.value, left.error + right.error + ROUNDING)


def _power(base: Bounded, exponent: Bounded) -> Bounded:
    value = RULES[Operation.POWER](base.value, exponent.value)
    return Bounded(value, abs(exponent.value) * (base.error + ROUNDING))


def _comparison(operation: Operation) -> Callable[[Bounded, Bounded], Bounded]:
    def compare(left: Bounded, right: Bounded) -> Bounded:
        near = abs(left.value - right.value) <= 1e-9 * max(abs(left.value), abs(right.value))
        if near and not (left == right and left.error <= ROUNDING):
            raise Unfit
        return Bounded(RULES[operation](left.value, right.value), 0.0)

    return compare


def _extreme(operation: Operation) -> Callable[..., Bounded]:
    def choose(*operands: Bounded | tuple[Bounded, ...]) -> Bounded:
        series: Any = (
            operands[0] if isinstance(operands[0], tuple) and not isinstance(operands[0], Bounded) else operands
        )
        return Bounded(RULES[operation]([o.value for o in series]), max(o.error for o in series))

    return choose


def _interpolated(x: Bounded, xs: tuple[float, ...], ys: tuple[float, ...]) -> Bounded:
    rule = RULES[Operation.INTERPOLATED]
    apart = abs(x.value) * (x.error + ROUNDING)
    values = [rule(x.value + offset, xs, ys) for offset in (0, apart, -apart)]
    return Bounded(values[0], (max(values) - min(values)) / values[0] + 8 * ROUNDING)


def _total(series: tuple[Bounded, ...]) -> Bounded:
    value = sum(bounded.value for bounded in series)
    if value == 0:
        raise Unfit
    error = sum(abs(bounded.value) * (bounded.error + ROUNDING) for bounded in series)
    return Bounded(value, error / abs(value))


def _none(*_: object) -> Bounded:
    raise AssertionError("this operation gives a text, which no expression here does")


BOUNDS: Mapping[Operation, Callable[..., Bounded]] = complete(
    "error bound",
    {
        Operation.ADD: _add,
        Operation.SUBTRACT: lambda left, right: _add(left, right, -1),
        Operation.MULTIPLY: lambda left, right: Bounded(left.value * right.value, left.error + right.error + ROUNDING),
        Operation.DIVIDE: _divide,
        Operation.POWER: _power,
        **{
            operation: _comparison(operation)
            for operation in (
                Operation.EQUAL,
                Operation.NOT_EQUAL,
                Operation.LESS,
                Operation.LESS_OR_EQUAL,
                Operation.GREATER,
                Operation.GREATER_OR_EQUAL,
            )
        },
        Operation.WHERE: lambda condition, yes, no: yes if condition.value else no,
        Operation.LEAST: _extreme(Operation.LEAST),
        Operation.MOST: _extreme(Operation.MOST),
        # Only ever of a quotient of small whole numbers: it is whole in every evaluator or clearly not.
        Operation.CEIL: lambda quotient: Bounded(math.ceil(quotient.value), 0.0),
        Operation.PICK: lambda key, keys, values: Bounded(RULES[Operation.PICK](key, keys, values), ROUNDING),
        Operation.ITEM: lambda series, number: series[int(number.value) - 1],
        Operation.INTERPOLATED: _interpolated,
        Operation.TOTAL: _total,
        Operation.FAILURES: _none,
        Operation.REQUIRE: _none,
    },
)


def _bounded(expression: Expression, value_of: Callable[[str], Any]) -> Any:
    if isinstance(expression, Symbol):
        value = value_of(expression.key)
        if isinstance(value, float):
            return Bounded(value, ROUNDING)
        if expression.key == SERIES:
            return tuple(Bounded(entry, ROUNDING) for entry in value)
        return value
    if isinstance(expression, Literal):
        return Bounded(expression.value, ROUNDING)
    assert isinstance(expression, Apply)
    bounded = BOUNDS[expression.operation](*(_bounded(operand, value_of) for operand in expression.operands))
    if bounded.value != 0 and not SMALLEST < abs(bounded.value) < LARGEST:
        raise Unfit
    return bounded


def _is_well_conditioned(expression: Expression, value_of: Callable[[str], Any]) -> bool:
    try:
        return bool(_bounded(expression, value_of).error < LARGEST_ERROR)
    except (Unfit, ZeroDivisionError, OverflowError):
        return False


def _number(dice: random.Random) -> float:
    return dice.choice([dice.choice(EXTREMES), dice.choice([1, -1]) * 10 ** dice.uniform(-6, 6), dice.randint(-20, 20)])


def _leaf(dice: random.Random) -> Expression:
    return Symbol(dice.choice(NUMBERS + WHOLE_NUMBERS)) if dice.random() < 0.75 else Literal(_number(dice))


def _tree(dice: random.Random, depth: int) -> Expression:
    if depth == 0:
        return _leaf(dice)

    def branch() -> Expression:
        return _tree(dice, dice.randrange(depth))

    def whole() -> Expression:
        return Symbol(dice.choice(WHOLE_NUMBERS)) if dice.random() < 0.5 else Literal(dice.randint(1, 40))

    def condition() -> Any:
        left = branch()
        right = dice.choice([left, branch(), branch()])
        return dice.choice([left < right, left <= right, left > right, left >= right, left == right, left != right])

    makers: tuple[Callable[[], Any], ...] = (
        lambda: branch() + branch(),
        lambda: branch() - branch(),
        lambda: branch() - (branch() - branch()),
        lambda: branch() * branch(),
        lambda: branch() / branch(),
        lambda: branch() / (branch() / branch()),
        lambda: -branch(),
        lambda: branch() ** Literal(dice.randint(-3, 4)),
        lambda: (-branch()) ** 2,
        lambda: Literal(2) ** (whole() - whole()),
        lambda: (branch() ** 2) ** Literal(dice.choice([3, -1])),
        lambda: branch() ** (Literal(2) ** Literal(dice.randint(0, 2))),
        lambda: where(condition(), branch(), branch()),
        lambda: least(*(branch() for _ in range(dice.randint(2, 4)))),
        lambda: most(branch(), branch()),
        lambda: ceil(dice.choice([1, -1]) * whole() / whole()),
        lambda: dice.choice([total, least, most])(Symbol(SERIES)),
        lambda: item(Symbol(SERIES), dice.randint(1, len(NUMBERS))),
        lambda: interpolated(branch(), Symbol("sizes"), Symbol("rates")),
        lambda: pick(Symbol(CHOICE), Symbol("names"), Symbol("values")),
    )
    made: Expression = dice.choice(makers)()
    return made


class Sample(NamedTuple):
    """A random expression, and its row's operands."""

    expression: Expression
    operands: Mapping[str, Any]


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    dice = random.Random(SEED)
    drawn: list[Sample] = []
    while len(drawn) < COUNT:
        if len(drawn) % PER_ROW == 0:
            operands: dict[str, Any] = {column: float(_number(dice)) for column in NUMBERS}
            operands[SERIES] = tuple(operands[column] for column in NUMBERS)
            operands |= {column: float(dice.randint(1, 40)) for column in WHOLE_NUMBERS}
            operands[CHOICE] = dice.choice([*TABLE, *(name.upper() for name in TABLE)])
            operands |= {"names": tuple(TABLE), "values": tuple(TABLE.values())}
            operands |= {"sizes": tuple(CURVE), "rates": tuple(CURVE.values())}
        expression = _tree(dice, DEPTH)
        if isinstance(expression, Apply) and _is_well_conditioned(expression, operands.__getitem__):
            drawn.append(Sample(expression, operands))
    return drawn


def _cell(index: int) -> tuple[int, str]:
    return index // PER_ROW + 1, "HIJKL"[index % PER_ROW]


def _formula(index: int, sample: Sample) -> str:
    row, _ = _cell(index)
    places = {SERIES: f"A{row}:D{row}", "names": "Table!A1:A3", "values": "Table!B1:B3"}
    places |= {"sizes": "Table!D1:D6", "rates": "Table!E1:E6"}
    return formula(sample.expression, lambda key: places.get(key, f"{key}{row}"))


@pytest.fixture(scope="module")
def path(samples: list[Sample], tmp_path_factory: pytest.TempPathFactory) -> Path:
    book: Any = Workbook()
    sheet = book.active
    sheet.title = "Expressions"
    for index, sample in enumerate(samples):
        row, column = _cell(index)
        for operand in (*NUMBERS, *WHOLE_NUMBERS, CHOICE):
            sheet[f"{operand}{row}"] = sample.operands[operand]
        sheet[f"{column}{row}"] = "=" + _formula(index, sample)
    table = book.create_sheet("Table")
    for row, entry in enumerate(TABLE.items(), start=1):
        table[f"A{row}"], table[f"B{row}"] = entry
    for row, point in enumerate(CURVE.items(), start=1):
        table[f"D{row}"], table[f"E{row}"] = point
    path = tmp_path_factory.mktemp("random") / "expressions.xlsx"
    book.save(path)
    return path


def test_every_operation_that_gives_a_number_is_drawn(samples: list[Sample]) -> None:
    def used(expression: Expression) -> set[Operation]:
        if not isinstance(expression, Apply):
            return set()
        return {expression.operation}.union(*(used(operand) for operand in expression.operands))

    drawn = set().union(*(used(sample.expression) for sample in samples))
    assert drawn == set(Operation) - {Operation.FAILURES, Operation.REQUIRE}


@pytest.mark.parametrize(
    "evaluator", [pytest.param("libreoffice", marks=pytest.mark.libreoffice), "formulas", "formualizer"]
)
def test_evaluator_agrees_with_python(evaluator: str, samples: list[Sample], path: Path) -> None:
    values = EVALUATORS[evaluator](path)
    wrong = []
    for index, sample in enumerate(samples):
        row, column = _cell(index)
        expected, found = (
            evaluate(sample.expression, sample.operands.__getitem__),
            values["Expressions", f"{column}{row}"],
        )
        if not (isinstance(found, float) and math.isclose(found, expected, rel_tol=1e-12)):
            wrong.append((_formula(index, sample), expected, found))
    assert not wrong, f"{len(wrong)} of {COUNT} differ, the shortest: {min(wrong, key=lambda case: len(case[0]))}"
