"""Reading as a sweep: numpy arrays, the values of many configurations at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from pyxl.operations import Operation, complete
from pyxl.readings.number import OK, NotFound, numbers


def _lower(operand: Any) -> Any:
    array = np.asarray(operand)
    return np.char.lower(array) if array.dtype.kind == "U" else array


def _same(left: Any, right: Any) -> Any:
    return _lower(left) == _lower(right)  # np.equal refuses a text beside a number, == says that they differ


def _pick(key: Any, keys: Any, values: Any) -> Any:
    rows = [(name, 0 if value is None else value) for name, value in zip(keys, values, strict=True) if name is not None]
    wanted = np.asarray(key)
    hits = np.stack([_same(wanted, name) for name, _ in rows], axis=-1)
    found = hits.any(axis=-1)
    if not found.all():
        unknown = ", ".join(f"'{name}'" for name in np.unique(wanted[~found]))
        raise NotFound(f"{unknown} is not in the table; it has {', '.join(str(name) for name, _ in rows)}")
    return np.asarray([value for _, value in rows])[hits.argmax(axis=-1)]


def _fold(function: Any, operands: tuple[Any, ...]) -> Any:
    values = numbers(operands)
    return reduce(function, values) if values else 0


def _failed(result: Any) -> Any:
    return 0 if result is None else np.not_equal(_lower(result), OK.lower()) & np.not_equal(result, "")


def _item(series: Any, number: Any) -> Any:
    return np.asarray(["" if value is None else value for value in series])[np.asarray(number, dtype=int) - 1]


RULES: Mapping[Operation, Callable[..., Any]] = complete(
    "sweep",
    {
        Operation.ADD: np.add,
        Operation.SUBTRACT: np.subtract,
        Operation.MULTIPLY: np.multiply,
        Operation.DIVIDE: np.divide,
        Operation.POWER: np.power,
        Operation.EQUAL: _same,
        Operation.NOT_EQUAL: lambda left, right: np.logical_not(_same(left, right)),
        Operation.LESS: np.less,
        Operation.LESS_OR_EQUAL: np.less_equal,
        Operation.GREATER: np.greater,
        Operation.GREATER_OR_EQUAL: np.greater_equal,
        Operation.WHERE: np.where,
        Operation.LEAST: lambda *values: _fold(np.minimum, values),
        Operation.MOST: lambda *values: _fold(np.maximum, values),
        Operation.CEIL: np.ceil,
        Operation.PICK: _pick,
        Operation.ITEM: _item,
        Operation.TOTAL: lambda series: _fold(np.add, (series,)),
        Operation.FAILURES: lambda series: sum(_failed(result) + 0 for result in series),
        Operation.REQUIRE: lambda condition, message: np.where(condition, OK, message),
    },
)
