"""Reading as a sweep: numpy arrays, the values of many configurations at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from pyxl.operations import Operation, complete
from pyxl.readings.number import OK, NotFound


def _same(left: Any, right: Any) -> Any:
    def fold(operand: Any) -> Any:
        array = np.asarray(operand)
        return np.char.lower(array) if array.dtype.kind == "U" else array

    return fold(left) == fold(right)


def _pick(key: Any, keys: Any, values: Any) -> Any:
    known = np.asarray([str(candidate).lower() if isinstance(candidate, str) else candidate for candidate in keys])
    wanted = np.asarray(key)
    if wanted.dtype.kind == "U":
        wanted = np.char.lower(wanted)
    hits = wanted[..., None] == known
    if not hits.any(axis=-1).all():
        raise NotFound(f"some of {np.unique(wanted[~hits.any(axis=-1)])} are not in the table; it has {list(keys)}")
    return np.asarray([0 if value is None else value for value in values])[hits.argmax(axis=-1)]


def _fold(function: Any, values: tuple[Any, ...]) -> Any:
    series = values[0] if len(values) == 1 and isinstance(values[0], tuple | list) else values
    return reduce(function, series)


RULES: Mapping[Operation, Callable[..., Any]] = complete(
    "sweep",
    {
        Operation.ADD: np.add,
        Operation.SUBTRACT: np.subtract,
        Operation.MULTIPLY: np.multiply,
        Operation.DIVIDE: np.divide,
        Operation.POWER: np.power,
        Operation.EQUAL: _same,
        Operation.NOT_EQUAL: lambda left, right: ~_same(left, right),
        Operation.LESS: np.less,
        Operation.LESS_OR_EQUAL: np.less_equal,
        Operation.GREATER: np.greater,
        Operation.GREATER_OR_EQUAL: np.greater_equal,
        Operation.WHERE: np.where,
        Operation.LEAST: lambda *values: _fold(np.minimum, values),
        Operation.MOST: lambda *values: _fold(np.maximum, values),
        Operation.CEIL: np.ceil,
        Operation.PICK: _pick,
        Operation.TOTAL: lambda series: _fold(np.add, (series,)),
        Operation.FAILURES: lambda series: _fold(np.add, ([(np.asarray(r) != OK).astype(int) for r in series],)),
        Operation.REQUIRE: lambda condition, message: np.where(condition, OK, message),
    },
)
