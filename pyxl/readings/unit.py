"""Reading as a unit: a dimension check of every definition, so FLOP, byte and token never mix by accident.

The registry is our own and empty but for the base units below: in pint's default one, bit and count are
dimensionless and `1 byte + 1` is no error. Number literals are pure numbers, except that 0 fits any
unit; a text has the unit `text` and a comparison the unit `truth`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from typing import Any

import pint

from pyxl.operations import Apply, Expression, Literal, Operation, Symbol, complete
from pyxl.readings.words import words

BASE_UNITS = ("FLOP", "byte", "token", "device", "s", "hour", "day", "USD", "text", "truth")
PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "m": 1e-3, "u": 1e-6}
BINARY_PREFIXES = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}

Unit = Any  # pint's unit classes are generated per registry


class UnitError(ValueError):
    """Two units that do not fit, or a unit that is not known."""


@lru_cache(maxsize=1)
def registry() -> pint.UnitRegistry[Any]:
    """Our own units: the bases, SI and binary prefixes, nothing else."""
    units: pint.UnitRegistry[Any] = pint.UnitRegistry(None)
    for prefix, factor in (PREFIXES | BINARY_PREFIXES).items():
        units.define(f"{prefix}- = {factor!r}")
    for base in BASE_UNITS:
        units.define(f"{base} = [{base}]")
    units.define("B = byte")
    return units


def parse(text: str) -> Unit:
    """The unit written as text; "1" is a pure number. Raises `UnitError` for an unknown unit."""
    try:
        return registry().Unit("" if text == "1" else text)
    except (pint.errors.PintError, ValueError, AttributeError, TypeError) as error:
        raise UnitError(f"unknown unit '{text}': use {', '.join(BASE_UNITS)}, with prefixes as in GB or GiB") from error


def convert(text: str, unit: str) -> float:
    """The number in `text` ("50 GB/s") in the given base unit. Raises `UnitError` if it does not fit."""
    try:
        quantity = registry().Quantity(text)
        value = float(quantity.to(parse(unit)).magnitude)
    except (pint.errors.PintError, ValueError, AttributeError, TypeError) as error:
        raise UnitError(f"'{text}' is not a quantity in {unit}") from error
    if not math.isfinite(value):
        raise UnitError(f"'{text}' is not a finite number")
    return value


class _Zero:
    """The unit of the literal 0, which fits any."""


ZERO = _Zero()
NUMBER = parse("1")


def _equal(*units: Unit) -> Unit:
    def join(left: Unit, right: Unit) -> Unit:
        if left is ZERO or right is ZERO or left == right:
            return right if left is ZERO else left
        raise UnitError(f"{left or 'a pure number'} does not fit {right or 'a pure number'}")

    return reduce(join, units)


def _product(left: Unit, right: Unit) -> Unit:
    return ZERO if left is ZERO or right is ZERO else left * right


def _quotient(left: Unit, right: Unit) -> Unit:
    return ZERO if left is ZERO else left / right


def _comparison(left: Unit, right: Unit) -> Unit:
    _equal(left, right)
    return parse("truth")


def _where(condition: Unit, yes: Unit, no: Unit) -> Unit:
    if condition != parse("truth"):
        raise UnitError("the condition of where() is no comparison")
    return _equal(yes, no)


def _power(base: Unit, exponent: Unit) -> Unit:
    _equal(exponent, NUMBER)
    return _equal(base, NUMBER)


def _pick(key: Unit, keys: Unit, values: Unit) -> Unit:
    _equal(key, keys)
    return values


def _require(condition: Unit, message: Unit) -> Unit:
    return _where(condition, parse("text"), message)


RULES: Mapping[Operation, Callable[..., Unit]] = complete(
    "unit",
    {
        Operation.ADD: _equal,
        Operation.SUBTRACT: _equal,
        Operation.MULTIPLY: _product,
        Operation.DIVIDE: _quotient,
        Operation.POWER: _power,
        Operation.EQUAL: _comparison,
        Operation.NOT_EQUAL: _comparison,
        Operation.LESS: _comparison,
        Operation.LESS_OR_EQUAL: _comparison,
        Operation.GREATER: _comparison,
        Operation.GREATER_OR_EQUAL: _comparison,
        Operation.WHERE: _where,
        Operation.LEAST: _equal,
        Operation.MOST: _equal,
        Operation.CEIL: lambda value: value,
        Operation.PICK: _pick,
        Operation.TOTAL: lambda series: series,
        Operation.FAILURES: lambda series: _equal(series, parse("text")) and NUMBER,
        Operation.REQUIRE: _require,
    },
)


def unit(expression: Expression, unit_of: Callable[[str], Unit]) -> Unit:
    """The unit of an expression. Raises `UnitError` naming the part where two units do not fit."""
    if isinstance(expression, Literal):
        if isinstance(expression.value, str):
            return parse("text")
        return ZERO if expression.value == 0 else NUMBER
    if isinstance(expression, Symbol):
        return unit_of(expression.key)
    assert isinstance(expression, Apply)
    operands = [unit(operand, unit_of) for operand in expression.operands]
    try:
        return RULES[expression.operation](*operands)
    except UnitError as error:
        raise UnitError(f"{error} in: {words(expression)}") from None
