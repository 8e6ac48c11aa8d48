"""The closed set of operations from which every quantity is built.

A quantity is written with Python's own operators and the few functions below. What they return depends
on the operands alone: numbers give a number, numpy arrays give an array, symbols give an `Expression`,
which a reading then prints or checks. So one definition serves every reading.

    operands                  result                      used by
    int, float, str           the value                   engine, command line, stored cell values
    numpy arrays              the values of a sweep       sweeps
    Symbol                    an expression tree          formula, words, unit

Each reading (`pyxl/readings/`) is a table from `Operation` to a rule and is complete at import.
Adding an operation means adding a member here and its rule to each table.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NoReturn, TypeVar

Rule = TypeVar("Rule")

PLAIN = frozenset((bool, float, int, str))  # operands of one configuration: the case to decide at once


class Operation(enum.Enum):
    """Every operation that a quantity may use; nothing else can reach a cell."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    POWER = "**"
    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    WHERE = "where"
    LEAST = "least"
    MOST = "most"
    CEIL = "ceil"
    PICK = "pick"
    ITEM = "item"
    INTERPOLATED = "interpolated"
    TOTAL = "total"
    FAILURES = "failures"
    REQUIRE = "require"


class MissingRule(TypeError):
    """A reading lacks the rule for an operation, or has a rule for none."""


def complete(reading: str, rules: Mapping[Operation, Rule]) -> Mapping[Operation, Rule]:
    """Return `rules` if it has a rule for every operation, else raise `MissingRule` naming the gaps."""
    missing = [operation.name for operation in Operation if operation not in rules]
    if missing:
        raise MissingRule(f"reading '{reading}' has no rule for {', '.join(missing)}")
    return rules


def _refusal(used: str, instead: str) -> Callable[..., Any]:
    """A method for what no cell can hold: it names the ingredients at fault and what to use instead."""

    def refuse(self: Expression, *_: object, **__: object) -> NoReturn:
        names = ", ".join(sorted(symbols(self))) or "a literal"
        raise TypeError(f"{used} on a quantity (made of {names}): use {instead} instead")

    return refuse


class Expression:
    """A traced expression. Quantities never build one by hand: they compute, and tracing records."""

    __slots__ = ()

    def __add__(self, other: Any) -> Expression:
        return _trace(Operation.ADD, self, other)

    def __radd__(self, other: Any) -> Expression:
        return _trace(Operation.ADD, other, self)

    def __sub__(self, other: Any) -> Expression:
        return _trace(Operation.SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Expression:
        return _trace(Operation.SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Expression:
        return _trace(Operation.MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> Expression:
        return _trace(Operation.MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> Expression:
        return _trace(Operation.DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _trace(Operation.DIVIDE, other, self)

    def __pow__(self, other: Any) -> Expression:
        return _trace(Operation.POWER, self, other)

    def __rpow__(self, other: Any) -> Expression:
        return _trace(Operation.POWER, other, self)

    def __neg__(self) -> Expression:
        # Excel reads -x^2 as (-x)^2; a subtraction means the same everywhere.
        return _trace(Operation.SUBTRACT, 0, self)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _trace(Operation.EQUAL, self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _trace(Operation.NOT_EQUAL, self, other)

    def __lt__(self, other: Any) -> Expression:
        return _trace(Operation.LESS, self, other)

    def __le__(self, other: Any) -> Expression:
        return _trace(Operation.LESS_OR_EQUAL, self, other)

    def __gt__(self, other: Any) -> Expression:
        return _trace(Operation.GREATER, self, other)

    def __ge__(self, other: Any) -> Expression:
        return _trace(Operation.GREATER_OR_EQUAL, self, other)

    __hash__ = object.__hash__

    __bool__ = _refusal("a bare if, and, or, not, min, max, in or a<b<c", "where(), least(), most() or require()")
    __and__ = __rand__ = _refusal("&", "where() within where(), or least() over 0/1 quantities")
    __or__ = __ror__ = _refusal("|", "where() within where(), or most() over 0/1 quantities")
    __xor__ = __rxor__ = _refusal("^", "** for a power, <> between comparisons")
    __invert__ = _refusal("~", "the opposite comparison")
    __int__ = __trunc__ = _refusal("int()", "ceil()")
    __float__ = __complex__ = _refusal("float() or a math function", "the operations of pyxl.operations")
    __index__ = _refusal("range() or an index", "total() or pick()")
    __round__ = _refusal("round()", "a number format; cells keep full precision")
    __ceil__ = _refusal("math.ceil()", "ceil()")
    __floor__ = _refusal("math.floor()", "ceil()")
    __floordiv__ = __rfloordiv__ = _refusal("//", "/ and ceil()")
    __mod__ = __rmod__ = _refusal("%", "x - y * whole number, or require(ceil(x / y) == x / y, ...)")
    __divmod__ = __rdivmod__ = _refusal("divmod()", "/ and ceil()")
    __abs__ = _refusal("abs()", "most(x, 0 - x)")
    __iter__ = __contains__ = _refusal("sum(), a loop, in or unpacking", "total()")
    __len__ = _refusal("len()", "total() or failures()")
    __getitem__ = _refusal("an index", "pick()")
    __format__ = __str__ = _refusal("a format, str() or f-string", "where() between plain texts")
    __array__ = _refusal("a numpy function", "the operations of pyxl.operations")


class Literal(Expression):
    """A number or text written in a definition."""

    __slots__ = ("value",)

    def __init__(self, value: int | float | str) -> None:
        self.value = value


class Symbol(Expression):
    """Stands for an ingredient; `key` says which: a name, or whatever the tracing scope resolves."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key


class Apply(Expression):
    """An operation applied to expressions."""

    __slots__ = ("operands", "operation")

    def __init__(self, operation: Operation, operands: tuple[Expression, ...]) -> None:
        self.operation = operation
        self.operands = operands


def _parts(expression: Expression) -> Iterator[Expression]:
    pending = [expression]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Apply):
            pending.extend(reversed(part.operands))


def symbols(expression: Expression) -> set[str]:
    """The keys of every symbol in the expression."""
    return {part.key for part in _parts(expression) if isinstance(part, Symbol)}


def literals(expression: Expression) -> list[int | float | str]:
    """Every literal in the expression, in the order written."""
    return [part.value for part in _parts(expression) if isinstance(part, Literal)]


def apply(operation: Operation, *operands: Any) -> Any:
    """Apply `operation` in the way that fits the operands: trace, sweep or compute."""
    if PLAIN.issuperset(map(type, operands)):
        return _number_rules()[operation](*operands)
    if any(isinstance(operand, Expression) for operand in operands):
        return _trace(operation, *operands)
    # Which entry of a series is asked for decides, not what the series holds: it may be long.
    deciding = operands[1:] if operation is Operation.ITEM else operands
    rules = _sweep_rules() if any(_is_array(operand) for operand in deciding) else _number_rules()
    return rules[operation](*operands)


def _trace(operation: Operation, *operands: Any) -> Apply:
    return Apply(operation, tuple(_lift(operand) for operand in operands))


def _lift(operand: Any) -> Expression:
    if isinstance(operand, Expression):
        return operand
    if isinstance(operand, int | float | str) and not isinstance(operand, bool):
        return Literal(operand)
    raise TypeError(f"{operand!r} cannot stand in a quantity: use a number, a text or another quantity")


def _is_array(operand: Any) -> bool:
    if isinstance(operand, tuple | list):
        return any(_is_array(item) for item in operand)
    return hasattr(operand, "__array__")  # numpy itself is imported only by whoever sweeps


@cache
def _number_rules() -> Mapping[Operation, Callable[..., Any]]:
    from pyxl.readings import number

    return number.RULES


@cache
def _sweep_rules() -> Mapping[Operation, Callable[..., Any]]:
    from pyxl.readings import sweep

    return sweep.RULES


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`; both are always evaluated and share one unit."""
    return apply(Operation.WHERE, condition, yes, no)


def least(*values: Any) -> Any:
    """The smallest of the values, or of one series."""
    return apply(Operation.LEAST, *values)


def most(*values: Any) -> Any:
    """The largest of the values, or of one series."""
    return apply(Operation.MOST, *values)


def ceil(value: Any) -> Any:
    """`value` rounded up. Only for quotients of whole numbers: spreadsheets snap near-integers."""
    return apply(Operation.CEIL, value)


def pick(key: Any, keys: Any, values: Any) -> Any:
    """The one of `values` that stands where `key` stands in `keys` (a look-up in a table)."""
    return apply(Operation.PICK, key, keys, values)


def item(series: Any, number: Any) -> Any:
    """The entry of a series with this number, counted from 1; an empty cell is an empty text."""
    return apply(Operation.ITEM, series, number)


def interpolated(x: Any, xs: Any, ys: Any) -> Any:
    """What `ys` are at `x`, on straight lines between the points that they make with `xs`, which ascend.

    Before the first point it is the first of `ys`, behind the last one the last.
    """
    return apply(Operation.INTERPOLATED, x, xs, ys)


def total(series: Any) -> Any:
    """The sum over a series."""
    return apply(Operation.TOTAL, series)


def failures(series: Any) -> Any:
    """How many entries of a series of check results are neither "OK" nor empty."""
    return apply(Operation.FAILURES, series)


def require(condition: Any, message: str) -> Any:
    """A check result: "OK" where the condition holds, else `message`, also where it cannot be computed."""
    return apply(Operation.REQUIRE, condition, message)
