"""Every reading has the right rule for every operation, and what no reading can hold is refused."""

import math
from typing import Any

import numpy as np
import pytest

from pyxl.operations import (
    Apply,
    Expression,
    Literal,
    MissingRule,
    Operation,
    Symbol,
    ceil,
    complete,
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
from pyxl.readings import number, sweep
from pyxl.readings import unit as units
from pyxl.readings.formula import formula, number_text
from pyxl.readings.unit import unit
from pyxl.readings.words import words

X, Y, NAME, NAMES, COLUMN, SIZES, RESULTS = map(Symbol, ("x", "y", "name", "names", "column", "sizes", "results"))

CELLS = {
    "x": "B1",
    "y": "B2",
    "name": "B3",
    "names": "T!A1:A3",
    "column": "T!B1:B3",
    "sizes": "T!C1:C3",
    "results": "B5:B8",
}
VALUES = {
    "x": 6.0,
    "y": 4.0,
    "name": "H200",
    "names": ("H800", None, "h200"),
    "column": (1.0, 2.0, 3.0),
    "sizes": (1.0, 3.0, 8.0),
    "results": ("OK", "too small", None, ""),
}
UNITS = {
    "x": "byte",
    "y": "byte",
    "name": "text",
    "names": "text",
    "column": "FLOP/s",
    "sizes": "byte",
    "results": "text",
}

# Per operation: an expression that uses it, and what each reading makes of it.
CASES: dict[Operation, tuple[Expression, object, str, str, str]] = {
    Operation.ADD: (X + Y, 10.0, "B1+B2", "x + y", "byte"),
    Operation.SUBTRACT: (X - (Y - X), 8.0, "B1-(B2-B1)", "x - (y - x)", "byte"),
    Operation.MULTIPLY: (X * (Y + X), 60.0, "B1*(B2+B1)", "x × (y + x)", "byte**2"),
    Operation.DIVIDE: (X / (Y / X), 9.0, "B1/(B2/B1)", "x / (y / x)", "byte"),
    Operation.POWER: ((X / Y) ** 2, 2.25, "(B1/B2)^2", "(x / y) ^ 2", "1"),
    Operation.EQUAL: (NAME == "h200", True, 'B3="h200"', 'name = "h200"', "truth"),
    Operation.NOT_EQUAL: (NAME != "h200", False, 'B3<>"h200"', 'name ≠ "h200"', "truth"),
    Operation.LESS: (X < Y, False, "B1<B2", "x < y", "truth"),
    Operation.LESS_OR_EQUAL: (X <= Y + 2 * X, True, "B1<=B2+2*B1", "x ≤ y + 2 × x", "truth"),
    Operation.GREATER: (X > 0, True, "B1>0", "x > 0", "truth"),
    Operation.GREATER_OR_EQUAL: (X - Y >= 0, True, "B1-B2>=0", "x - y ≥ 0", "truth"),
    Operation.WHERE: (where(X > Y, X, Y) * 2, 12.0, "IF(B1>B2,B1,B2)*2", "(x where x > y, else y) × 2", "byte"),
    Operation.LEAST: (least(X, Y, X + Y), 4.0, "MIN(B1,B2,B1+B2)", "smallest of (x, y, x + y)", "byte"),
    Operation.MOST: (most(X, Y), 6.0, "MAX(B1,B2)", "largest of (x, y)", "byte"),
    Operation.CEIL: (ceil(X / Y), 2, "CEILING(B1/B2,1)", "round up (x / y)", "1"),
    Operation.PICK: (
        pick(NAME, NAMES, COLUMN),
        3.0,
        "INDEX(T!B1:B3,MATCH(B3,T!A1:A3,0))",
        "column of the name",
        "FLOP/s",
    ),
    Operation.ITEM: (item(COLUMN, 2), 2.0, "INDEX(T!B1:B3,2)", "column no. 2", "FLOP/s"),
    Operation.INTERPOLATED: (
        interpolated(Y, SIZES, COLUMN) * 2,
        4.4,
        "IF(B2>=MAX(T!C1:C3),INDEX(T!B1:B3,MATCH(MAX(T!C1:C3),T!C1:C3,0)),IF(B2<=MIN(T!C1:C3),INDEX(T!B1:B3,1),"
        "INDEX(T!B1:B3,MATCH(B2,T!C1:C3,1))+(B2-INDEX(T!C1:C3,MATCH(B2,T!C1:C3,1)))"
        "*(INDEX(T!B1:B3,MATCH(B2,T!C1:C3,1)+1)-INDEX(T!B1:B3,MATCH(B2,T!C1:C3,1)))"
        "/(INDEX(T!C1:C3,MATCH(B2,T!C1:C3,1)+1)-INDEX(T!C1:C3,MATCH(B2,T!C1:C3,1)))))*2",
        "(column interpolated at sizes = y) × 2",
        "FLOP/s",
    ),
    Operation.TOTAL: (total(COLUMN), 6.0, "SUM(T!B1:B3)", "total of (column)", "FLOP/s"),
    Operation.FAILURES: (
        failures(RESULTS),
        1,
        'SUMPRODUCT((B5:B8<>"OK")*(B5:B8<>""))',
        "number of failed (results)",
        "1",
    ),
    Operation.REQUIRE: (
        require(X > Y, 'not "wide" enough'),
        "OK",
        'IF(IFERROR(B1>B2,FALSE),"OK","not ""wide"" enough")',
        'OK where x > y, else "not "wide" enough"',
        "text",
    ),
}


@pytest.mark.parametrize("operation", Operation)
def test_number(operation: Operation) -> None:
    expression, expected, *_ = CASES[operation]
    assert number.evaluate(expression, VALUES.__getitem__) == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: 2 + x,
        lambda x, y: 2 - x,
        lambda x, y: 2 * x,
        lambda x, y: 2 / x,
        lambda x, y: 2**x,
        lambda x, y: -x,
        lambda x, y: x - y - 2,
        lambda x, y: x / y / 2,
        lambda x, y: x**2**2,
        lambda x, y: -(x**2),
        lambda x, y: where(x > 2, y, 1),
        lambda x, y: where(x <= 2, y, 1),
    ],
)
def test_a_definition_is_traced_as_python_computes_it(function: Any) -> None:
    for x, y in ((6.0, 4.0), (-1.5, 0.5), (2.0, 2.0)):
        assert number.evaluate(function(X, Y), {"x": x, "y": y}.__getitem__) == function(x, y)


def _swept(expression: Expression, values: dict[str, Any]) -> Any:
    if isinstance(expression, Apply):
        return sweep.RULES[expression.operation](*(_swept(operand, values) for operand in expression.operands))
    return values[expression.key] if isinstance(expression, Symbol) else expression.value


@pytest.mark.parametrize("operation", Operation)
def test_sweep_agrees_with_number(operation: Operation) -> None:
    """The values of three configurations, the last with both comparisons the other way, come out as one by one."""
    configurations = [
        VALUES,
        VALUES | {"x": 4.0, "name": "H800", "results": ("OK", "OK", None, "")},
        VALUES | {"x": -1.5, "y": 9.0, "results": ("wrong", "wrong", None, "ok")},
    ]
    swept = VALUES | {
        "x": np.array([c["x"] for c in configurations]),
        "y": np.array([c["y"] for c in configurations]),
        "name": sweep.Texts.of([c["name"] for c in configurations]),
        "results": tuple(
            sweep.Texts.of(entry) if None not in entry else None
            for entry in zip(*(c["results"] for c in configurations), strict=True)
        ),
    }
    expression, *_ = CASES[operation]
    found = _swept(expression, swept)
    expected = [number.evaluate(expression, configuration.__getitem__) for configuration in configurations]
    assert np.broadcast_to(found, len(expected)).tolist() == expected


@pytest.mark.parametrize("operation", Operation)
def test_formula(operation: Operation) -> None:
    expression, _, expected, *_ = CASES[operation]
    assert formula(expression, CELLS.__getitem__) == expected


@pytest.mark.parametrize("operation", Operation)
def test_words(operation: Operation) -> None:
    expression, _, _, expected, _ = CASES[operation]
    assert words(expression) == expected


@pytest.mark.parametrize("operation", Operation)
def test_unit(operation: Operation) -> None:
    expression, _, _, _, expected = CASES[operation]
    assert unit(expression, lambda key: units.parse(UNITS[key])) == units.parse(expected)


def test_a_table_with_a_gap_is_refused() -> None:
    rules: dict[Operation, type] = {
        operation: str for operation in Operation if operation not in (Operation.CEIL, Operation.PICK)
    }
    with pytest.raises(MissingRule, match="reading 'braille' has no rule for CEIL, PICK"):
        complete("braille", rules)


@pytest.mark.parametrize(
    ("misuse", "instead"),
    [
        (lambda x, y: 1 if x > y else 2, "where"),
        (lambda x, y: x and y, "where"),
        (lambda x, y: not x, "where"),
        (lambda x, y: 1 < x < y, "where"),
        (lambda x, y: (x > 1) & (y > 1), "where"),
        (lambda x, y: (x > 1) | (y > 1), "where"),
        (lambda x, y: ~(x > y), "opposite comparison"),
        (lambda x, y: x ^ 2, r"\*\* for a power"),
        (min, "least"),
        (max, "most"),
        (lambda x, y: x in (1, y), "where"),
        (lambda x, y: 1 in x, "total"),
        (lambda x, y: round(x / y, 2), "number format"),
        (lambda x, y: math.ceil(x / y), r"ceil\(\)"),
        (lambda x, y: math.floor(x / y), r"ceil\(\)"),
        (lambda x, y: math.sqrt(x), "operations"),
        (lambda x, y: np.sqrt(x), "operations"),
        (lambda x, y: np.array([1, 2]) * x, "operations"),
        (lambda x, y: complex(x), "operations"),
        (lambda x, y: int(x), r"ceil\(\)"),
        (lambda x, y: x // y, r"ceil\(\)"),
        (lambda x, y: 2 // x, r"ceil\(\)"),
        (lambda x, y: x % y, "require"),
        (lambda x, y: 2 % x, "require"),
        (divmod, r"ceil\(\)"),
        (lambda x, y: abs(x - y), "most"),
        (lambda x, y: sum(x), "total"),
        (lambda x, y: [part for part in x], "total"),  # noqa: C416
        (lambda x, y: len(x), "total"),
        (lambda x, y: x[0], "pick"),
        (lambda x, y: range(x), "total"),
        (lambda x, y: f"{x} tokens", "plain texts"),
        (lambda x, y: str(x), "plain texts"),
        (lambda x, y: "%s" % x, "plain texts"),  # noqa: UP031
    ],
)
def test_what_no_cell_can_hold_is_refused(misuse, instead) -> None:  # type: ignore[no-untyped-def]
    """The error names the ingredients at fault and what to use instead."""
    with pytest.raises(TypeError, match=rf"made of .*x.*: use .*{instead}"):
        misuse(X, Y)


@pytest.mark.parametrize("stranger", [True, None, (1, 2), np.array([1.0])])
def test_an_operand_must_be_a_number_a_text_or_a_quantity(stranger: object) -> None:
    with pytest.raises(TypeError, match=r"cannot stand in a quantity|numpy"):
        X + stranger


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (3.0, "3"),
        (0.1, "0.1"),
        (1e-7, "1E-07"),
        (1e12, "1000000000000"),
        (10**15, "1000000000000000"),
        (-1e-300, "-1E-300"),
        (1e16, "1E+16"),
        (123456789012345678, "1.2345678901234568E+17"),
    ],
)
def test_numbers_are_written_as_every_reader_takes_them(value: float, text: str) -> None:
    assert number_text(value) == text
    assert float(text) == float(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="not a number that a cell can hold"):
        number_text(value)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (-X, "0-B1"),
        (X * -Y, "B1*(0-B2)"),
        ((-X) ** 2, "(0-B1)^2"),
        (-(X**2), "0-B1^2"),
        (X ** (Y**2), "B1^(B2^2)"),
        ((X**Y) ** 2, "(B1^B2)^2"),
        (X ** Literal(-2), "B1^(0-2)"),
        (X - Literal(-2), "B1-(0-2)"),
        (X / (Y * X), "B1/(B2*B1)"),
        ((X > Y) == (Y > X), "(B1>B2)=(B2>B1)"),
    ],
)
def test_formulas_keep_the_order_of_python(expression: Expression, text: str) -> None:
    assert formula(expression, CELLS.__getitem__) == text


def test_words_of_nested_choices_differ() -> None:
    inner_first = where(X > 1, where(Y > 1, 1, 2), 0)
    inner_last = where(Y > 1, 1, where(X > 1, 2, 0))
    assert words(inner_first) == "(1 where y > 1, else 2) where x > 1, else 0"
    assert words(inner_last) == "1 where y > 1, else 2 where x > 1, else 0"
    assert words(least(where(X > Y, 1, 2), Y)) == "smallest of ((1 where x > y, else 2), y)"


@pytest.mark.parametrize("reading", [number.RULES, sweep.RULES])
def test_a_name_that_is_not_in_the_table_is_named(reading) -> None:  # type: ignore[no-untyped-def]
    for key in ("B300", None):
        with pytest.raises(number.NotFound, match=f"'{key}' is not in the table; it has H800, h200"):
            reading[Operation.PICK](key, VALUES["names"], VALUES["column"])


def test_zero_to_the_power_of_zero_differs_between_spreadsheets() -> None:
    with pytest.raises(ZeroDivisionError):
        number.RULES[Operation.POWER](0, 0)
