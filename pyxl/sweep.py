"""Sweeps: chosen quantities of a model for a million configurations at once.

What depends on no array is computed once, and what depends on one array of texts alone once per word, both
by `Model.compute`. The rest is computed with arrays, in blocks that stay in the processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any, NamedTuple

from pyxl.errors import MissingProgram, UserError
from pyxl.naming import suggestion
from pyxl.operations import Apply, Expression, Literal, Operation, Symbol
from pyxl.quantity import GIVEN, Model, Quantity

try:
    import numpy as np

    from pyxl.readings.sweep import RULES, Texts, gathered, looked_up
except ImportError as error:
    raise MissingProgram("sweeps need the package numpy: pip install numpy") from error

BLOCK = 16_384
NO_VALUE = (ArithmeticError, LookupError, TypeError, ValueError)


class Swept(NamedTuple):
    """Values of many configurations, or one for all, and which of them could not be computed."""

    value: Any
    failed: Any = False


def sweep(
    model: Model, inputs: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], wanted: Iterable[str]
) -> dict[str, Any]:
    """The wanted quantities of every configuration, as `Model.sweep` says."""
    wanted = tuple(dict.fromkeys(wanted))
    _check_names(model, inputs, wanted)
    arrays = {name: _array(model[name], value) for name, value in inputs.items() if np.ndim(value)}
    shape = _shape(arrays)
    size = math.prod(shape)
    configurations = _Configurations(
        model,
        {name: _spread(array, shape) for name, array in arrays.items()},
        {name: np.asarray(value).item() for name, value in inputs.items() if name not in arrays},
        columns,
        wanted,
    )
    blocks = [configurations.compute(slice(start, min(start + BLOCK, size))) for start in range(0, max(size, 1), BLOCK)]
    return {name: np.concatenate([block.pop(name) for block in blocks]).reshape(shape) for name in wanted}


class _Configurations:
    """Configurations in a row, ready to be computed block by block."""

    def __init__(
        self,
        model: Model,
        arrays: Mapping[str, Any],
        single: Mapping[str, Any],
        columns: Mapping[str, Sequence[Any]],
        wanted: tuple[str, ...],
    ) -> None:
        self.model, self.columns, self.wanted = model, columns, wanted
        given = arrays.keys() | single.keys()
        order = model.order(wanted, given)
        swept: dict[str, set[str]] = {}  # the arrays that each quantity depends on
        for name in order:
            needs = () if name in given else model.needs[name]
            swept[name] = ({name} & arrays.keys()).union(*(swept[need] for need in needs))

        once = [name for name in order if not swept[name]]
        values = model.compute(single, columns, once)
        self.constants = {name: _one(model[name], values[name]) for name in once}

        self.sources = {name: _given(array) for name, array in arrays.items()}
        for key, array in arrays.items():
            if isinstance(array, Texts):
                names = [name for name in order if swept[name] == {key} and name != key]
                words = [model.compute({**single, key: word}, columns, names) for word in array.words]
                for name in names:
                    self.sources[name] = _per_word([_one(model[name], word[name]) for word in words], array.codes)

        self.rest = [model[name] for name in order if name not in self.constants and name not in self.sources]
        used = set(wanted)
        self.last_uses: dict[str, set[str]] = {}  # what each quantity is the last to need: memory for the next one
        for quantity in reversed(self.rest):
            self.last_uses[quantity.name] = model.needs[quantity.name] - used - self.constants.keys()
            used |= model.needs[quantity.name]

    def compute(self, block: slice) -> dict[str, Any]:
        """The wanted arrays of the configurations in the block."""
        values = dict(self.constants)

        def value_of(key: str) -> Swept:
            if key in self.model.columns:
                return Swept(self.columns[key])
            if key in self.model.series:
                members = [value_of(name) for name in self.model.series[key]]
                return Swept(tuple(member.value for member in members), _any(member.failed for member in members))
            if key not in values:
                values[key] = self.sources[key](block)
            return values[key]

        with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
            for quantity in self.rest:
                values[quantity.name] = _value(quantity, value_of)
                for name in self.last_uses[quantity.name]:
                    del values[name]
        return {name: _filled(self.model[name], value_of(name), block.stop - block.start) for name in self.wanted}


def _value(quantity: Quantity, value_of: Callable[[str], Swept]) -> Swept:
    """By the quantity's own function; where that fails for some configurations, with care."""
    if quantity.function is not None:
        ingredients = [value_of(name) for name in quantity.parameters]
        if all(ingredient.failed is False for ingredient in ingredients):
            with suppress(*NO_VALUE):
                return Swept(quantity.function(*(ingredient.value for ingredient in ingredients)))
    assert quantity.expression is not None
    with np.errstate(all="ignore"):
        return _swept(*_with_care(quantity.expression, value_of))


def _with_care(expression: Expression, value_of: Callable[[str], Swept]) -> Swept:
    """An expression as a cell computes it: with one branch of where() only, and remembering what failed."""
    if isinstance(expression, Literal):
        return Swept(expression.value)
    if isinstance(expression, Symbol):
        return value_of(expression.key)
    assert isinstance(expression, Apply)
    operation = expression.operation
    values, failed = zip(*(_with_care(operand, value_of) for operand in expression.operands), strict=True)
    if operation is Operation.REQUIRE:  # what cannot be computed does not hold
        return Swept(RULES[operation](np.logical_and(values[0], np.logical_not(failed[0])), values[1]))
    if operation is Operation.PICK:
        value, missing = looked_up(*values)
        return Swept(value, _any((*failed, missing)))
    try:
        value = RULES[operation](*values)
    except NO_VALUE:
        return Swept(math.nan, True)
    if operation is Operation.WHERE:
        return Swept(value, failed[0] | np.where(values[0], failed[1], failed[2]))
    return Swept(value, _any(failed) | (False if isinstance(value, Texts) else ~np.isfinite(value)))


def _any(failed: Iterable[Any]) -> Any:
    return reduce(np.logical_or, failed, False)


def _swept(value: Any, failed: Any) -> Swept:
    return Swept(value, failed if np.any(failed) else False)


def _check_names(model: Model, inputs: Iterable[str], wanted: Iterable[str]) -> None:
    settable = [quantity.name for quantity in model if quantity.kind in GIVEN]
    for names, known, what in ((inputs, settable, "input"), (wanted, model.quantities, "quantity")):
        for name in names:
            if name not in known:
                raise UserError(f"no {what} '{name}': {suggestion(name, known) or 'take the key of a row'}")


def _array(quantity: Quantity, value: Any) -> Any:
    """The array that an input gives: floats or texts. Raises `UserError` for one of the other kind."""
    array = np.asarray(value)
    is_number = array.dtype.kind in "biuf"
    if is_number == (quantity.unit == "text"):
        raise UserError(f"{quantity.name} is an array of {array.dtype}: give {'texts' if is_number else 'numbers'}")
    return array.astype(float) if is_number else Texts.of(array)


def _shape(arrays: Mapping[str, Any]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise UserError(f"arrays of these shapes do not meet: {shapes}: reshape them") from None


def _spread(array: Any, shape: tuple[int, ...]) -> Any:
    """The array in one dimension, an entry for each configuration."""
    if isinstance(array, Texts):
        return Texts(_spread(array.codes, shape), array.words)
    return np.broadcast_to(array, shape).reshape(-1)


def _one(quantity: Quantity, value: Any) -> Swept:
    """A single value beside arrays: a number as numpy has it, which does not overflow in silence."""
    if quantity.unit == "text":
        return Swept(value) if isinstance(value, str) else Swept("", True)
    if isinstance(value, int | float) and math.isfinite(value):
        return Swept(np.float64(value))
    return Swept(np.float64(math.nan), True)


def _given(array: Any) -> Callable[[slice], Swept]:
    """An input: whatever is no number has failed."""
    return lambda block: _swept(array[block], False if isinstance(array, Texts) else ~np.isfinite(array[block]))


def _per_word(cells: Sequence[Swept], codes: Any) -> Callable[[slice], Swept]:
    """What is known for each word of an array of texts."""
    values, failed = [cell.value for cell in cells], np.array([cell.failed for cell in cells])
    return lambda block: _swept(gathered(values, codes[block]), failed[codes[block]])


def _filled(quantity: Quantity, swept: Swept, size: int) -> Any:
    """An entry for each configuration: nan or an empty text where there is no value."""
    value, nothing = np.asarray(swept.value), "" if quantity.unit == "text" else math.nan
    if isinstance(nothing, str) != (value.dtype.kind == "U"):
        return np.full(size, nothing)
    return np.broadcast_to(value if swept.failed is False else np.where(swept.failed, nothing, value), size)
