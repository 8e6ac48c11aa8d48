"""Reading as a number: what plain Python values give.

The engine calls a quantity's function directly; these rules serve the operations that Python's own
operators do not, and the evaluation of traced expressions with a value for each symbol.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from pyxl.operations import Apply, Expression, Literal, Operation, Symbol, complete

OK = "OK"


class NotFound(LookupError):
    """A look-up key is not in its table."""


def same(left: Any, right: Any) -> bool:
    """Equality as a spreadsheet sees it: texts compare without regard to case."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    return bool(left == right)


def _power(base: Any, exponent: Any) -> Any:
    if base == 0 and exponent <= 0:
        raise ZeroDivisionError("0 raised to the power 0 differs between spreadsheets")
    return base**exponent


def numbers(operands: tuple[Any, ...]) -> list[Any]:
    """The operands, or the entries of the one series, that are numbers: a spreadsheet skips texts and empty cells."""
    series = operands[0] if len(operands) == 1 and isinstance(operands[0], tuple | list) else operands
    return [value for value in series if value is not None and not isinstance(value, str)]


def _pick(key: Any, keys: Any, values: Any) -> Any:
    for candidate, value in zip(keys, values, strict=True):
        if candidate is not None and same(candidate, key):
            return 0 if value is None else value  # INDEX of an empty cell is 0
    raise NotFound(f"'{key}' is not in the table; it has {', '.join(str(k) for k in keys if k is not None)}")


def _item(series: Any, number: int) -> Any:
    value = series[number - 1]
    return "" if value is None else value


def _interpolated(x: Any, xs: Any, ys: Any) -> Any:
    if x >= xs[-1]:
        return ys[-1]
    if x <= xs[0]:
        return ys[0]
    above = bisect_right(xs, x)
    below = above - 1
    return ys[below] + (x - xs[below]) * (ys[above] - ys[below]) / (xs[above] - xs[below])


def _failures(series: Any) -> int:
    return sum(1 for result in series if result not in (None, "") and not same(result, OK))


RULES: Mapping[Operation, Callable[..., Any]] = complete(
    "number",
    {
        Operation.ADD: operator.add,
        Operation.SUBTRACT: operator.sub,
        Operation.MULTIPLY: operator.mul,
        Operation.DIVIDE: operator.truediv,
        Operation.POWER: _power,
        Operation.EQUAL: same,
        Operation.NOT_EQUAL: lambda left, right: not same(left, right),
        Operation.LESS: operator.lt,
        Operation.LESS_OR_EQUAL: operator.le,
        Operation.GREATER: operator.gt,
        Operation.GREATER_OR_EQUAL: operator.ge,
        Operation.WHERE: lambda condition, yes, no: yes if condition else no,
        Operation.LEAST: lambda *values: min(numbers(values), default=0),
        Operation.MOST: lambda *values: max(numbers(values), default=0),
        Operation.CEIL: math.ceil,
        Operation.PICK: _pick,
        Operation.ITEM: _item,
        Operation.INTERPOLATED: _interpolated,
        Operation.TOTAL: lambda series: sum(numbers((series,))),
        Operation.FAILURES: _failures,
        Operation.REQUIRE: lambda condition, message: OK if condition else message,
    },
)


def evaluate(expression: Expression, value_of: Callable[[str], Any]) -> Any:
    """The value of a traced expression, `value_of` giving the value of each symbol's key."""
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, Symbol):
        return value_of(expression.key)
    assert isinstance(expression, Apply)
    if expression.operation is Operation.WHERE:  # like a cell, leave the other branch alone: it may have no value
        condition, yes, no = expression.operands
        return evaluate(yes if evaluate(condition, value_of) else no, value_of)
    if expression.operation is Operation.REQUIRE:
        condition, message = expression.operands
        try:
            return OK if evaluate(condition, value_of) else evaluate(message, value_of)
        except (ArithmeticError, LookupError, TypeError, ValueError):  # what cannot be computed does not hold
            return evaluate(message, value_of)
    return RULES[expression.operation](*[evaluate(operand, value_of) for operand in expression.operands])
