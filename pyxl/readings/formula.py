"""Reading as a formula: the text of an Excel formula, in the portable subset that every engine agrees on.

Excel's power is left-associative and its leading minus binds tighter than power, so the operands of a
power and every right operand of equal rank are bracketed. `CEILING(x,1)` rounds towards the larger number
as `ceil` does, where `ROUNDUP` moves negative ones away from zero. Numbers are plain digits or `1E+16`: `1e16`
and `1E16` stop some readers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pyxl.operations import Expression, Operation, complete
from pyxl.readings.printing import (
    ATOM,
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


def number_text(value: int | float) -> str:
    """A number as Excel, LibreOffice and every other reader take it. Raises ValueError if not finite."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number that a cell can hold")
    # Adding 0.0 makes -0.0 a plain zero; Python writes the sign of every exponent itself.
    return repr(float(value) + 0.0).upper().removesuffix(".0")


def _literal(value: int | float | str) -> Text:
    if isinstance(value, str):
        return Text('"' + value.replace('"', '""') + '"', ATOM)
    # A negative number is written as a subtraction: signs next to operators are read differently.
    return Text(f"0-{number_text(-value)}", SUM) if value < 0 else Text(number_text(value), ATOM)


def _interpolated(x: Text, xs: Text, ys: Text) -> Text:
    # Inside, MATCH gives the last point that is not behind x; at the ends there is no other to draw a line to.
    at = bracket(x, SUM)
    below = f"MATCH({at},{xs.text},1)"
    line = (
        f"INDEX({ys.text},{below})+({at}-INDEX({xs.text},{below}))"
        f"*(INDEX({ys.text},{below}+1)-INDEX({ys.text},{below}))/(INDEX({xs.text},{below}+1)-INDEX({xs.text},{below}))"
    )
    inside = f"IF({at}<=MIN({xs.text}),INDEX({ys.text},1),{line})"
    return Text(f"IF({at}>=MAX({xs.text}),INDEX({ys.text},MATCH(MAX({xs.text}),{xs.text},0)),{inside})", ATOM)


RULES: Mapping[Operation, TextRule] = complete(
    "formula",
    {
        Operation.ADD: infix("+", SUM, SUM, PRODUCT),
        Operation.SUBTRACT: infix("-", SUM, SUM, PRODUCT),
        Operation.MULTIPLY: infix("*", PRODUCT, PRODUCT, POWER),
        Operation.DIVIDE: infix("/", PRODUCT, PRODUCT, POWER),
        Operation.POWER: infix("^", POWER, ATOM, ATOM),
        Operation.EQUAL: infix("=", COMPARISON, SUM, SUM),
        Operation.NOT_EQUAL: infix("<>", COMPARISON, SUM, SUM),
        Operation.LESS: infix("<", COMPARISON, SUM, SUM),
        Operation.LESS_OR_EQUAL: infix("<=", COMPARISON, SUM, SUM),
        Operation.GREATER: infix(">", COMPARISON, SUM, SUM),
        Operation.GREATER_OR_EQUAL: infix(">=", COMPARISON, SUM, SUM),
        Operation.WHERE: call("IF", ","),
        Operation.LEAST: call("MIN", ","),
        Operation.MOST: call("MAX", ","),
        Operation.CEIL: call("CEILING", ",", "1"),
        Operation.PICK: lambda key, keys, values: Text(f"INDEX({values.text},MATCH({key.text},{keys.text},0))", ATOM),
        Operation.ITEM: call("INDEX", ","),
        Operation.INTERPOLATED: _interpolated,
        Operation.TOTAL: call("SUM", ","),
        Operation.FAILURES: lambda s: Text(f'SUMPRODUCT(({s.text}<>"OK")*({s.text}<>""))', ATOM),
        Operation.REQUIRE: lambda condition, message: Text(
            f'IF(IFERROR({condition.text},FALSE),"OK",{message.text})', ATOM
        ),
    },
)


def formula(expression: Expression, address_of: Callable[[str], str]) -> str:
    """The Excel formula (without the leading =) of an expression; `address_of` places each symbol."""
    return print_expression(expression, RULES, address_of, _literal).text
