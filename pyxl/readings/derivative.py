"""Reading as a derivative: how fast an expression's value changes with that of its ingredients.

Forward differentiation: each rule takes the operands and their derivatives and gives the derivative of the result,
again an expression, so that the other readings compute it, print it and check its units. What does not change has
the derivative `ZERO`; terms of it are left out, so an expression's derivative is as short as the part that changes.

Comparisons, texts, checks and rounded numbers stand still but where they jump: their derivative is `ZERO`. where()
has the derivative of the branch that it takes, least() and most() that of the operand that they take: where two are
equal of the first, but of a literal last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyxl.operations import (
    Apply,
    Expression,
    Literal,
    Operation,
    Symbol,
    complete,
    interpolated,
    item,
    least,
    most,
    pick,
    total,
    where,
)
from pyxl.readings.words import words

ZERO, ONE = Literal(0), Literal(1)

Operands = Sequence[Expression]
Rule = Callable[[Operands, Operands], Expression]


def _second(expression: Expression, operation: Operation, first: Expression) -> Expression | None:
    """The second operand of this operation upon `first`, if that is what the expression is."""
    if isinstance(expression, Apply) and expression.operation is operation and expression.operands[0] is first:
        return expression.operands[1]
    return None


def _negated(expression: Expression) -> Expression | None:
    return _second(expression, Operation.SUBTRACT, ZERO)


def plus(left: Expression, right: Expression) -> Expression:
    """The sum, without terms that are `ZERO`; a negative one is subtracted."""
    if left is ZERO or right is ZERO:
        return right if left is ZERO else left
    negated = _negated(right)
    return left + right if negated is None else _minus(left, negated)


def _minus(left: Expression, right: Expression) -> Expression:
    if right is ZERO:
        return left
    negated = _negated(right)
    return left - right if negated is None else plus(left, negated)


def times(left: Expression, right: Expression) -> Expression:
    """The product: `ZERO` where a factor is, without factors that are `ONE`, and with any sign in front."""
    if left is ZERO or right is ZERO:
        return ZERO
    if left is ONE or right is ONE:
        return right if left is ONE else left
    if (negated := _negated(left)) is not None:
        return _minus(ZERO, times(negated, right))
    if (negated := _negated(right)) is not None:
        return _minus(ZERO, times(left, negated))
    divisor = _second(right, Operation.DIVIDE, ONE)
    return left * right if divisor is None else left / divisor


def _over(left: Expression, right: Expression) -> Expression:
    negated = _negated(left)
    return ZERO if left is ZERO else left / right if negated is None else _minus(ZERO, negated / right)


def _either(condition: Any, yes: Expression, no: Expression) -> Expression:
    chosen: Expression = yes if yes is no else where(condition, yes, no)
    return chosen


def _still(operands: Operands, derivatives: Operands) -> Expression:
    return ZERO


def _multiply(operands: Operands, derivatives: Operands) -> Expression:
    (left, right), (d_left, d_right) = operands, derivatives
    return plus(times(d_left, right), times(left, d_right))


def _divide(operands: Operands, derivatives: Operands) -> Expression:
    (left, right), (d_left, d_right) = operands, derivatives
    return _minus(_over(d_left, right), _over(times(left / right, d_right), right))


def _power(operands: Operands, derivatives: Operands) -> Expression:
    (base, exponent), (d_base, d_exponent) = operands, derivatives
    if d_exponent is not ZERO:
        raise TypeError(f"the exponent of {words(base**exponent)} changes: only constant ones have a derivative here")
    if d_base is ZERO:
        return ZERO
    lower = times(exponent * base ** (exponent - 1), d_base)
    # At 1 the lower power may be 0 to the power 0, on whose value spreadsheets do not agree.
    return lower if isinstance(exponent, Literal) else _either(exponent == 1, d_base, lower)


def _interpolated(operands: Operands, derivatives: Operands) -> Expression:
    (x, xs, ys), (d_x, d_xs, d_ys) = operands, derivatives
    if d_x is not ZERO or d_xs is not ZERO:
        raise TypeError(f"where {words(interpolated(x, xs, ys))} is read changes: only the values may here")
    changes: Expression = ZERO if d_ys is ZERO else interpolated(x, xs, d_ys)
    return changes


def _extreme(best: Callable[..., Any], wins: Callable[[Any, Any], Any]) -> Rule:
    def rule(operands: Operands, derivatives: Operands) -> Expression:
        if all(derivative is ZERO for derivative in derivatives):
            return ZERO
        if len(operands) == 1:
            (series,), (changes,) = operands, derivatives
            taken: Expression = pick(best(series), series, changes)
            return taken
        # A literal comes last: where it is met exactly, what can move counts.
        pairs = sorted(zip(operands, derivatives, strict=True), key=lambda pair: isinstance(pair[0], Literal))
        *leading, (last, change) = pairs
        for operand, d_operand in reversed(leading):
            change = _either(wins(operand, last), d_operand, change)
            last = best(operand, last)
        return change

    return rule


RULES: Mapping[Operation, Rule] = complete(
    "derivative",
    {
        Operation.ADD: lambda _, d: plus(*d),
        Operation.SUBTRACT: lambda _, d: _minus(*d),
        Operation.MULTIPLY: _multiply,
        Operation.DIVIDE: _divide,
        Operation.POWER: _power,
        Operation.EQUAL: _still,
        Operation.NOT_EQUAL: _still,
        Operation.LESS: _still,
        Operation.LESS_OR_EQUAL: _still,
        Operation.GREATER: _still,
        Operation.GREATER_OR_EQUAL: _still,
        Operation.WHERE: lambda o, d: _either(o[0], d[1], d[2]),
        Operation.LEAST: _extreme(least, lambda first, other: first <= other),
        Operation.MOST: _extreme(most, lambda first, other: first >= other),
        Operation.CEIL: _still,
        Operation.PICK: lambda o, d: ZERO if d[2] is ZERO else pick(o[0], o[1], d[2]),
        Operation.ITEM: lambda o, d: ZERO if d[0] is ZERO else item(d[0], o[1]),
        Operation.INTERPOLATED: _interpolated,
        Operation.TOTAL: lambda _, d: ZERO if d[0] is ZERO else total(d[0]),
        Operation.FAILURES: _still,
        Operation.REQUIRE: _still,
    },
)


def derivative(expression: Expression, derivative_of: Callable[[str], Expression]) -> Expression:
    """The derivative of an expression; `derivative_of` gives that of each symbol, a series' as a series.

    Raises `TypeError` for a power whose exponent changes, and for a curve that is read at a place that does.
    """
    if isinstance(expression, Symbol):
        return derivative_of(expression.key)
    if not isinstance(expression, Apply):
        return ZERO
    changes = [derivative(operand, derivative_of) for operand in expression.operands]
    return RULES[expression.operation](expression.operands, changes)
