"""How an expression becomes text: brackets by rank, one table of rules per language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pyxl.operations import Apply, Expression, Literal, Operation, Symbol

CHOICE, COMPARISON, SUM, PRODUCT, POWER, ATOM = range(6)


class Text(NamedTuple):
    """Printed text and how tightly its outermost operator binds (higher binds tighter)."""

    text: str
    rank: int


TextRule = Callable[..., Text]


def bracket(part: Text, lowest: int) -> str:
    """The text of an operand, in brackets if it binds less tightly than `lowest`."""
    return part.text if part.rank >= lowest else f"({part.text})"


def infix(symbol: str, rank: int, left_lowest: int, right_lowest: int) -> TextRule:
    """An operator between two operands; an operand of a lower rank than given is bracketed."""
    return lambda left, right: Text(f"{bracket(left, left_lowest)}{symbol}{bracket(right, right_lowest)}", rank)


def call(name: str, separator: str, *suffix: str) -> TextRule:
    """A function call over all operands, with fixed further arguments behind them."""

    def rule(*operands: Text) -> Text:
        arguments = (bracket(operand, COMPARISON) for operand in operands)
        return Text(f"{name}({separator.join([*arguments, *suffix])})", ATOM)

    return rule


def print_expression(
    expression: Expression,
    rules: Mapping[Operation, TextRule],
    symbol: Callable[[str], str],
    literal: Callable[[int | float | str], Text],
) -> Text:
    """Print a traced expression by a table of rules."""
    if isinstance(expression, Literal):
        return literal(expression.value)
    if isinstance(expression, Symbol):
        return Text(symbol(expression.key), ATOM)
    assert isinstance(expression, Apply)
    operands = (print_expression(operand, rules, symbol, literal) for operand in expression.operands)
    return rules[expression.operation](*operands)
