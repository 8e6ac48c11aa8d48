"""Reading as a unit: a dimension check of every definition, so FLOP, byte and token never mix by accident.

The registry is our own and empty but for the base units below: in pint's default one, bit and count are
dimensionless and `1 byte + 1` is no error. Number literals are pure numbers, except that 0 fits any
unit; a text has the unit `text` and a comparison the unit `truth`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from typing import Any

from pyxl.errors import MissingProgram

try:
    import pint
except ModuleNotFoundError as error:  # spreadsheets' own Pythons come without packages
    raise MissingProgram("units need the package pint: pip install pint, or write numbers in base units") from error

from pyxl.operations import Apply, Expression, Literal, Operation, Symbol, complete
from pyxl.readings.words import words

BASE_UNITS = ("FLOP", "byte", "token", "device", "s", "hour", "day", "J", "USD", "text", "truth")
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
        units.define(f"{base} = [{base}]{' = B' if base == 'byte' else ''}")
    units.define("bit = 0.125 * byte")  # NICs are sold in Gbit/s
    units.define("W = J / s")
    return units


# pint would compute whatever stands in a text, "9**9**9**9" too, and takes "kkB": only what fits this form reaches it.
_NAME = f"(?:{'|'.join(PREFIXES | BINARY_PREFIXES)})?(?:{'|'.join(BASE_UNITS)}|B|bit|W)"
_FACTOR = rf"{_NAME}(?:\*\*\d)?"
UNIT = re.compile(rf"(?:1/)?{_FACTOR}(?:\s*[*/]\s*{_FACTOR})*", re.ASCII)
QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*((?:[A-Za-z][A-Za-z\d\s*/]*)?)", re.ASCII)


def parse(text: str) -> Unit:
    """The unit written as text; "1" is a pure number. Raises `UnitError` for an unknown unit."""
    if text == "1":
        return registry().Unit("")
    if not UNIT.fullmatch(text):
        raise UnitError(f"unknown unit '{text}': use {', '.join(BASE_UNITS)}, with prefixes as in GB or GiB")
    return registry().Unit(text)


def convert(text: str, unit: str) -> float:
    """The number in `text` ("50 GB/s") in the given base unit. Raises `UnitError` if it does not fit."""
    if not (match := QUANTITY.fullmatch(text)):
        raise UnitError(f"'{text}' is not a number with a unit, such as 50 GB/s")
    try:
        value = float(registry().Quantity(float(match[1]), parse(match[2].rstrip() or "1")).to(parse(unit)).magnitude)
    except pint.errors.PintError as error:
        raise UnitError(f"'{text}' is not a quantity in {unit}") from error
    if not math.isfinite(value):
        raise UnitError(f"'{text}' is not a finite number")
    return value


class _Zero:
    """The unit of the literal 0, which fits any."""


ZERO = _Zero()
NUMBER, TEXT, TRUTH = parse("1"), parse("text"), parse("truth")


def _name(unit: Unit) -> str:
    return "a pure number" if unit is ZERO or unit == NUMBER else str(unit)


def _amounts(rule: Callable[..., Unit]) -> Callable[..., Unit]:
    """The rule, refusing texts and comparisons: only amounts can be reckoned with."""

    def checked(*units: Unit) -> Unit:
        for unit in units:
            if unit in (TEXT, TRUTH):
                raise UnitError(f"{unit} is not an amount")
        return rule(*units)

    return checked


def _equal(*units: Unit) -> Unit:
    def join(left: Unit, right: Unit) -> Unit:
        if left is ZERO or right is ZERO or left == right:
            return right if left is ZERO else left
        raise UnitError(f"{_name(left)} does not fit {_name(right)}")

    return reduce(join, units)


def _product(left: Unit, right: Unit) -> Unit:
    return ZERO if left is ZERO or right is ZERO else left * right


def _quotient(left: Unit, right: Unit) -> Unit:
    if right is ZERO:
        raise UnitError("nothing can be divided by 0")
    return ZERO if left is ZERO else left / right


def _comparison(left: Unit, right: Unit) -> Unit:
    _equal(left, right)
    return TRUTH


def _where(condition: Unit, yes: Unit, no: Unit) -> Unit:
    if condition != TRUTH:
        raise UnitError("the condition of where() is no comparison")
    return _equal(yes, no)


def _power(base: Unit, exponent: Unit) -> Unit:
    _equal(exponent, NUMBER)
    return _equal(base, NUMBER)


def _item(series: Unit, number: Unit) -> Unit:
    _equal(number, NUMBER)
    return series


def _pick(key: Unit, keys: Unit, values: Unit) -> Unit:
    _equal(key, keys)
    return values


def _interpolated(x: Unit, xs: Unit, ys: Unit) -> Unit:
    _equal(x, xs)
    return ys


def _count(results: Unit) -> Unit:
    _equal(results, TEXT)
    return NUMBER


def _require(condition: Unit, message: Unit) -> Unit:
    return _where(condition, TEXT, message)


RULES: Mapping[Operation, Callable[..., Unit]] = complete(
    "unit",
    {
        Operation.ADD: _amounts(_equal),
        Operation.SUBTRACT: _amounts(_equal),
        Operation.MULTIPLY: _amounts(_product),
        Operation.DIVIDE: _amounts(_quotient),
        Operation.POWER: _amounts(_power),
        Operation.EQUAL: _comparison,
        Operation.NOT_EQUAL: _comparison,
        Operation.LESS: _comparison,
        Operation.LESS_OR_EQUAL: _comparison,
        Operation.GREATER: _comparison,
        Operation.GREATER_OR_EQUAL: _comparison,
        Operation.WHERE: _where,
        Operation.LEAST: _amounts(_equal),
        Operation.MOST: _amounts(_equal),
        Operation.CEIL: _amounts(_equal),
        Operation.PICK: _pick,
        Operation.ITEM: _item,
        Operation.INTERPOLATED: _amounts(_interpolated),
        Operation.TOTAL: _amounts(_equal),
        Operation.FAILURES: _count,
        Operation.REQUIRE: _require,
    },
)


def unit(expression: Expression, unit_of: Callable[[str], Unit]) -> Unit:
    """The unit of an expression. Raises `UnitError` naming the part where two units do not fit."""
    if isinstance(expression, Literal):
        if isinstance(expression.value, str):
            return TEXT
        return ZERO if expression.value == 0 else NUMBER
    if isinstance(expression, Symbol):
        return unit_of(expression.key)
    assert isinstance(expression, Apply)
    operands = [unit(operand, unit_of) for operand in expression.operands]
    try:
        return RULES[expression.operation](*operands)
    except UnitError as error:
        raise UnitError(f"{error} in: {words(expression)}") from None
