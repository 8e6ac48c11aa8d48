"""Reading in words: the same formula with names instead of addresses, as a person reads it aloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyxl.operations import Expression, Operation, complete
from pyxl.readings.formula import number_text
from pyxl.readings.printing import (
    ATOM,
    CHOICE,
    COMPARISON,
    POWER,
    PRODUCT,
    SUM,
    Text,
    TextRule,
    bracket,
    call,
    infix,
    print_expression,
)


def _literal(value: int | float | str) -> Text:
    if isinstance(value, str):
        return Text(f'"{value}"', ATOM)
    return Text(number_text(value), SUM if value < 0 else ATOM)


def _where(condition: Text, yes: Text, no: Text) -> Text:
    # A chain of choices reads from left to right; only one inside another needs brackets.
    return Text(f"{bracket(yes, COMPARISON)} where {bracket(condition, COMPARISON)}, else {no.text}", CHOICE)


RULES: Mapping[Operation, TextRule] = complete(
    "words",
    {
        Operation.ADD: infix(" + ", SUM, SUM, SUM),
        Operation.SUBTRACT: infix(" - ", SUM, SUM, PRODUCT),
        Operation.MULTIPLY: infix(" × ", PRODUCT, PRODUCT, PRODUCT),
        Operation.DIVIDE: infix(" / ", PRODUCT, PRODUCT, POWER),
        Operation.POWER: infix(" ^ ", POWER, ATOM, ATOM),
        Operation.EQUAL: infix(" = ", COMPARISON, SUM, SUM),
        Operation.NOT_EQUAL: infix(" ≠ ", COMPARISON, SUM, SUM),
        Operation.LESS: infix(" < ", COMPARISON, SUM, SUM),
        Operation.LESS_OR_EQUAL: infix(" ≤ ", COMPARISON, SUM, SUM),
        Operation.GREATER: infix(" > ", COMPARISON, SUM, SUM),
        Operation.GREATER_OR_EQUAL: infix(" ≥ ", COMPARISON, SUM, SUM),
        Operation.WHERE: _where,
        Operation.LEAST: call("smallest of ", ", "),
        Operation.MOST: call("largest of ", ", "),
        Operation.CEIL: call("round up ", ", "),
        Operation.PICK: lambda key, keys, values: Text(f"{values.text} of the {key.text}", ATOM),
        Operation.ITEM: lambda series, number: Text(f"{series.text} no. {number.text}", ATOM),
        Operation.INTERPOLATED: lambda x, xs, ys: Text(
            f"{ys.text} interpolated at {xs.text} = {bracket(x, SUM)}", COMPARISON
        ),
        Operation.TOTAL: call("total of ", ", "),
        Operation.FAILURES: call("number of failed ", ", "),
        Operation.REQUIRE: lambda condition, message: _where(condition, Text("OK", ATOM), message),
    },
)


def words(expression: Expression, name_of: Callable[[str], str] = str) -> str:
    """The expression in quantity names; `name_of` says how each symbol's key reads."""
    return print_expression(expression, RULES, name_of, _literal).text
