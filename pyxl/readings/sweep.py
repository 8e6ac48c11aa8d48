"""Reading as a sweep: numpy arrays, the values of many configurations at once.

Numbers are arrays of floats. Texts are `Texts`: few words, and a code per configuration that says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from pyxl.operations import Operation, complete
from pyxl.readings import number
from pyxl.readings.number import OK, NotFound, numbers


class Texts:
    """The texts of many configurations: `codes` say which of the `words` each has."""

    __array_ufunc__ = None  # numpy leaves == to us, and refuses to reckon with texts

    def __init__(self, codes: Any, words: tuple[str, ...]) -> None:
        self.codes = codes
        self.words = words

    @classmethod
    def of(cls, array: Any) -> Texts:
        """The texts of an array. A pass per word, as they are few; sorting or hashing texts takes far longer."""
        array = np.asarray(array, dtype=str)
        codes = np.full(array.shape, -1)
        words: list[str] = []
        while (left := codes < 0).any():
            words.append(str(array.flat[left.argmax()]))
            codes[array == words[-1]] = len(words) - 1
        return cls(codes, tuple(words))

    def each(self, function: Callable[[str], Any]) -> Any:
        """What a function gives for each text: it is asked once per word."""
        return gathered([function(word) for word in self.words], self.codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that this stands for."""
        return np.shape(self.codes)

    def __getitem__(self, place: Any) -> Texts:
        return Texts(self.codes[place], self.words)

    def __eq__(self, other: object) -> Any:
        return _same(self, other)

    def __ne__(self, other: object) -> Any:
        return np.logical_not(_same(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.words, dtype=dtype)[self.codes]


def gathered(values: Sequence[Any], codes: Any) -> Any:
    """Per code the value with that number, as texts where there is one; empty or nan for one of another kind."""
    if any(isinstance(value, str) for value in values):
        return Texts(codes, tuple(value if isinstance(value, str) else "" for value in values))
    return np.array([math.nan if value is None else value for value in values], dtype=float)[codes]


def looked_up(key: Any, keys: Any, values: Any) -> tuple[Any, Any]:
    """What stands in `values` where `key` stands in `keys`, and which keys are not there."""
    distinct, codes = _distinct(key)
    cells = [_cell(each, keys, values) for each in distinct]
    return gathered(cells, codes), np.array([cell is None for cell in cells])[codes]


def _cell(key: Any, keys: Any, values: Any) -> Any:
    with suppress(NotFound):
        return number.RULES[Operation.PICK](key, keys, values)
    return None


def _pick(key: Any, keys: Any, values: Any) -> Any:
    distinct, codes = _distinct(key)
    return gathered([number.RULES[Operation.PICK](each, keys, values) for each in distinct], codes)


def _distinct(key: Any) -> tuple[Sequence[Any], Any]:
    if isinstance(key, Texts):
        return key.words, key.codes
    distinct, codes = np.unique(key, return_inverse=True)
    return distinct.tolist(), codes.reshape(np.shape(key))


def _texts(operand: Any) -> Texts:
    if isinstance(operand, str):
        return Texts(np.intp(0), (operand,))
    if not isinstance(operand, Texts):
        raise TypeError("a number where a text should be")
    return operand


def _is_text(operand: Any) -> bool:
    return isinstance(operand, str | Texts)


def _same(left: Any, right: Any) -> Any:
    if not (_is_text(left) or _is_text(right)):
        return np.equal(left, right)
    if not (_is_text(left) and _is_text(right)):
        return False  # a text is no number
    left, right = _texts(left), _texts(right)
    codes = {word.lower(): code for code, word in enumerate((*left.words, *right.words))}
    return np.equal(*(texts.each(lambda word: codes[word.lower()]) for texts in (left, right)))


def _where(condition: Any, yes: Any, no: Any) -> Any:
    if not (_is_text(yes) or _is_text(no)):
        return np.where(condition, *(float(value) if isinstance(value, int) else value for value in (yes, no)))
    yes, no = _texts(yes), _texts(no)
    return Texts(np.where(condition, yes.codes, no.codes + len(yes.words)), yes.words + no.words)


def _power(base: Any, exponent: Any) -> Any:
    # 0 raised to the power 0 differs between spreadsheets.
    return np.where(np.equal(base, 0) & np.equal(exponent, 0), math.nan, np.power(base, exponent))


def _fold(function: Any, operands: tuple[Any, ...]) -> Any:
    values = [value for value in numbers(operands) if not isinstance(value, Texts)]
    return reduce(function, values) if values else 0


def _failed(result: Any) -> Any:
    return result.each(_failed) if isinstance(result, Texts) else number.RULES[Operation.FAILURES]((result,))


def _item(series: Any, place: Any) -> Any:
    if not np.isin(place, range(1, len(series) + 1)).all():
        raise IndexError(f"a series of {len(series)} has no such entry")
    found, *others = ("" if entry is None else entry for entry in series)
    for index, entry in enumerate(others, 2):
        found = _where(np.equal(place, index), entry, found)
    return found


def _interpolated(x: Any, xs: Any, ys: Any) -> Any:
    found = ys[0]
    for below, above in pairwise(range(len(xs))):
        line = ys[below] + (x - xs[below]) * (ys[above] - ys[below]) / (xs[above] - xs[below])
        found = np.where(np.greater_equal(x, xs[below]), line, found)
    return np.where(np.greater_equal(x, xs[-1]), ys[-1], found)


RULES: Mapping[Operation, Callable[..., Any]] = complete(
    "sweep",
    {
        Operation.ADD: np.add,
        Operation.SUBTRACT: np.subtract,
        Operation.MULTIPLY: np.multiply,
        Operation.DIVIDE: np.divide,
        Operation.POWER: _power,
        Operation.EQUAL: _same,
        Operation.NOT_EQUAL: lambda left, right: np.logical_not(_same(left, right)),
        Operation.LESS: np.less,
        Operation.LESS_OR_EQUAL: np.less_equal,
        Operation.GREATER: np.greater,
        Operation.GREATER_OR_EQUAL: np.greater_equal,
        Operation.WHERE: _where,
        Operation.LEAST: lambda *values: _fold(np.minimum, values),
        Operation.MOST: lambda *values: _fold(np.maximum, values),
        Operation.CEIL: np.ceil,
        Operation.PICK: _pick,
        Operation.ITEM: _item,
        Operation.INTERPOLATED: _interpolated,
        Operation.TOTAL: lambda series: _fold(np.add, (series,)),
        Operation.FAILURES: lambda series: reduce(np.add, map(_failed, series), 0),
        Operation.REQUIRE: lambda condition, message: _where(condition, OK, message),
    },
)
