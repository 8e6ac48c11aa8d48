"""Quantities, and the model that they form.

A quantity is a row: a name, a unit, and either an input (a cell that the user fills), a constant, a
look-up in a table, or a function of other quantities. A function's name is the quantity's name, its
parameters are its ingredients, its docstring is the note that an auditor reads beside the formula.

    model = Model()

    @model.quantity("FLOP", "Forward pass of the output head")
    def head_flops(flops_per_multiply_add, head_parameters): ...

Each function is traced once, one level deep, when it is declared: its formula shows its direct
ingredients only. `Model.close()` then checks that every ingredient exists and that none is cyclic.
"""

from __future__ import annotations

import enum
import graphlib
import inspect
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from pyxl.operations import Expression, Operation, Symbol, apply, literals, symbols
from pyxl.readings.number import NotFound, evaluate

Function = TypeVar("Function", bound=Callable[..., Any])

BARE_LITERALS = (0, 1, 2)


class Kind(enum.Enum):
    """What a quantity is, and with that what a user may do with its cell."""

    INPUT = "input"
    CONSTANT = "constant"
    LOOKUP = "look-up"
    CALCULATION = "calculation"
    CHECK = "check"


GIVEN = (Kind.INPUT, Kind.CONSTANT, Kind.LOOKUP)  # what inputs may name


class DefinitionError(Exception):
    """A definition that cannot stand; the message names the quantity and its place in the source."""


@dataclass(frozen=True)
class Failure:
    """The value of a quantity that cannot be computed, as the error a spreadsheet shows."""

    code: str
    reason: str

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True, eq=False)
class Quantity:
    """One row of a model. `expression` is its traced definition, `None` for inputs and constants."""

    name: str
    unit: str
    label: str
    kind: Kind
    note: str
    source: str
    place: str
    section: str
    expression: Expression | None = None
    function: Callable[..., Any] | None = None
    parameters: tuple[str, ...] = ()
    value: Any = None
    choices: str | None = None
    number_format: str | None = None

    @property
    def ingredients(self) -> set[str]:
        """The names that this quantity is computed from."""
        return symbols(self.expression) if self.expression is not None else set()

    def given(self) -> Quantity:
        """The same quantity for a model that takes its value from elsewhere, as it does an input's."""
        return replace(self, kind=Kind.INPUT, expression=None, function=None, parameters=())


def _note_and_source(text: str) -> tuple[str, str]:
    note, _, source = inspect.cleandoc(text).partition("Source:")
    return " ".join(note.split()), " ".join(source.split())


def _place(depth: int = 2) -> str:
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@dataclass(frozen=True)
class Column:
    """A table column that look-ups read: its unit tells the dimension check what comes out."""

    table: str
    name: str
    unit: str

    @property
    def key(self) -> str:
        return f"{self.table}.{self.name}"


class Model:
    """An ordered set of quantities that refer to each other by name."""

    def __init__(self) -> None:
        self.quantities: dict[str, Quantity] = {}
        self.columns: dict[str, Column] = {}
        self.series: dict[str, tuple[str, ...]] = {}
        self.needs: dict[str, set[str]] = {}
        self._section = ""
        self._order: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Quantity:
        return self.quantities[name]

    def __iter__(self) -> Iterator[Quantity]:
        return iter(self.quantities.values())

    def section(self, title: str) -> None:
        """Start a section: quantities declared from here on stand under this title."""
        self._section = title

    def sections(self) -> dict[str, list[Quantity]]:
        """The quantities by section, in order of declaration."""
        grouped: dict[str, list[Quantity]] = {}
        for quantity in self.quantities.values():
            grouped.setdefault(quantity.section, []).append(quantity)
        return grouped

    def _declare(self, quantity: Quantity) -> None:
        if quantity.name in self.quantities:
            first = self.quantities[quantity.name].place
            raise DefinitionError(f"'{quantity.name}' is defined twice: at {first} and at {quantity.place}")
        self.quantities[quantity.name] = quantity

    def input(
        self,
        name: str,
        unit: str,
        label: str,
        default: Any,
        note: str,
        *,
        choices: str | None = None,
        number_format: str | None = None,
    ) -> None:
        """Declare a cell that the user fills; `choices` names the table that it must be picked from."""
        text, source = _note_and_source(note)
        self._declare(
            Quantity(
                name,
                unit,
                label,
                Kind.INPUT,
                text,
                source,
                _place(),
                self._section,
                value=default,
                choices=choices,
                number_format=number_format,
            )
        )

    def constant(self, name: str, unit: str, label: str, value: float, note: str) -> None:
        """Declare a number of the field, with the reason for it and its source."""
        text, source = _note_and_source(note)
        self._declare(Quantity(name, unit, label, Kind.CONSTANT, text, source, _place(), self._section, value=value))

    def lookup(
        self,
        name: str,
        unit: str,
        label: str,
        key: str,
        table: str,
        note: str,
        *,
        choices: str | None = None,
        number_format: str | None = None,
    ) -> None:
        """Declare a value looked up in the column `name` of `table`, in the row that `key` names.

        `choices` names the table that a value which is text must be picked from.
        """
        self.columns.setdefault(f"{table}.name", Column(table, "name", "text"))
        column = self.columns.setdefault(f"{table}.{name}", Column(table, name, unit))
        expression = apply(Operation.PICK, Symbol(key), Symbol(f"{table}.name"), Symbol(column.key))
        text, source = _note_and_source(note)
        self._declare(
            Quantity(
                name,
                unit,
                label,
                Kind.LOOKUP,
                text,
                source,
                _place(),
                self._section,
                expression=expression,
                choices=choices,
                number_format=number_format,
            )
        )

    def looked_up(self, name: str) -> tuple[str, str]:
        """The quantity that names the row of a look-up, and the table that it reads."""
        (key,) = self[name].ingredients - self.columns.keys()
        table = next(self.columns[column].table for column in self[name].ingredients if column in self.columns)
        return key, table

    def quantity(
        self,
        unit: str,
        label: str,
        *,
        number_format: str | None = None,
        kind: Kind = Kind.CALCULATION,
        called: str | None = None,
        **ingredients: str,
    ) -> Callable[[Function], Function]:
        """Declare the decorated function as a quantity; its docstring is the note, after `Source:` the source.

        Where one formula serves several quantities, each is declared from it: `called` by its own name, and with
        `parameter="ingredient"` for what differs. Any other parameter is an ingredient's name as it stands.
        """

        def declare(function: Function) -> Function:
            code = function.__code__
            name = called or function.__name__
            place = f"{code.co_filename}:{code.co_firstlineno}"
            own = tuple(inspect.signature(function).parameters)
            if strange := ingredients.keys() - set(own):
                raise DefinitionError(f"quantity '{name}' at {place} has no parameter {', '.join(sorted(strange))}")
            parameters = tuple(ingredients.get(parameter, parameter) for parameter in own)
            try:
                expression = function(*(Symbol(parameter) for parameter in parameters))
            except (TypeError, ValueError, ZeroDivisionError) as error:
                raise DefinitionError(f"quantity '{name}' at {place}: {error}") from error
            if not isinstance(expression, Expression):
                raise DefinitionError(f"quantity '{name}' at {place} returns {expression!r}, not an expression")
            if unused := set(parameters) - symbols(expression):
                raise DefinitionError(f"quantity '{name}' at {place} does not use {', '.join(sorted(unused))}")
            for literal in literals(expression):
                if not isinstance(literal, str) and literal not in BARE_LITERALS:
                    raise DefinitionError(
                        f"quantity '{name}' at {place} has the literal {literal}: make it a constant with a source"
                    )
            note, source = _note_and_source(function.__doc__ or "")
            if not note:
                raise DefinitionError(f"quantity '{name}' at {place} has no docstring: it is the note of its row")
            self._declare(
                Quantity(
                    name,
                    unit,
                    label,
                    kind,
                    note,
                    source,
                    place,
                    self._section,
                    expression=expression,
                    function=function,
                    parameters=parameters,
                    number_format=number_format,
                )
            )
            return function

        return declare

    def check(self, label: str) -> Callable[[Function], Function]:
        """Declare the decorated function as a check: it returns `require(condition, message)`."""
        return self.quantity("text", label, kind=Kind.CHECK)

    def gather(self, name: str, members: Sequence[str]) -> None:
        """Name a series: consecutive quantities that `total`, `most` or `failures` take together."""
        self.series[name] = tuple(members)

    def close(self) -> None:
        """Check the graph and fix the order of computation. Raises `DefinitionError`."""
        for name in self.series.keys() & self.quantities.keys():
            raise DefinitionError(f"'{name}' at {self.quantities[name].place} is also the name of a series")
        for quantity in self.quantities.values():
            needed: set[str] = set()
            for ingredient in quantity.ingredients:
                if ingredient in self.columns:
                    continue
                needed.update(self.series.get(ingredient, (ingredient,)))
            for ingredient in sorted(needed):
                if ingredient not in self.quantities:
                    raise DefinitionError(
                        f"quantity '{quantity.name}' at {quantity.place} uses '{ingredient}', which is not defined"
                    )
            self.needs[quantity.name] = needed
        try:
            self._order = tuple(graphlib.TopologicalSorter(self.needs).static_order())
        except graphlib.CycleError as error:
            cycle = [f"'{name}' at {self.quantities[name].place}" for name in error.args[1]]
            raise DefinitionError("these quantities define each other in a circle: " + ", ".join(cycle)) from None

    def order(self, wanted: Iterable[str], given: Collection[str] = ()) -> list[str]:
        """The wanted quantities and all that they need, in order of computation, where the given ones are known."""
        needed: set[str] = set()
        pending = list(wanted)
        while pending:
            if (name := pending.pop()) not in needed:
                needed.add(name)
                if name not in given:
                    pending.extend(self.needs[name])
        return [name for name in self._order if name in needed]

    def between(self, sources: Collection[str], results: Iterable[str]) -> tuple[str, ...]:
        """The quantities through which sources reach results, in order of declaration, without the sources."""
        reached = set(sources)
        for name in self._order:
            if self.needs[name] & reached:
                reached.add(name)
        found = reached.intersection(self.order(results)).difference(sources)
        return tuple(name for name in self.quantities if name in found)

    def compute(
        self, inputs: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], wanted: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """The value of every quantity, or of the wanted ones and those that they need.

        `inputs` gives inputs, and overrides constants and look-ups where it names them; `columns` gives
        the table columns by key ("Models.hidden_size"). What cannot be computed is a `Failure`, as is all
        that depends on it.
        """
        values: dict[str, Any] = {}

        value_of = partial(self.resolved, lambda name: _usable(values[name]), columns)
        given = {name for name in inputs if name in self.quantities and self[name].kind in GIVEN}
        for name in self._order if wanted is None else self.order(wanted, given):
            quantity = self.quantities[name]
            if name in given:
                values[name] = inputs[name]
            elif quantity.expression is None:
                values[name] = quantity.value
            else:
                values[name] = self._value(quantity, value_of)
        return values

    def resolved(self, value_of: Callable[[str], Any], columns: Mapping[str, Sequence[Any]], key: str) -> Any:
        """The value that a symbol of a definition stands for: a quantity's, all those of a series, a table column."""
        if key in self.series:
            return tuple(map(value_of, self.series[key]))
        return columns[key] if key in self.columns else value_of(key)

    def sweep(
        self, inputs: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], wanted: Iterable[str]
    ) -> dict[str, Any]:
        """The wanted quantities for many configurations at once, as numpy arrays of one shape.

        `inputs` and `columns` as for `compute`, but inputs may be numpy arrays too, of numbers or of texts;
        they meet as numpy arrays do. What cannot be computed is nan, or an empty text. Raises `UserError`
        for an input that is none, for an array of the wrong kind, and for shapes that do not fit.
        """
        from pyxl.sweep import sweep  # numpy is loaded by whoever sweeps

        return sweep(self, inputs, columns, wanted)

    def _value(self, quantity: Quantity, value_of: Callable[[str], Any]) -> Any:
        """By the quantity's own function; where that fails, as a cell does it: with one branch of where() only."""
        assert quantity.expression is not None
        if quantity.function is None:
            return attempt(quantity.name, quantity.expression, value_of)
        try:
            return _finite(quantity.function(*[value_of(name) for name in quantity.parameters]))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return attempt(quantity.name, quantity.expression, value_of)


def attempt(name: str, expression: Expression, value_of: Callable[[str], Any]) -> Any:
    """The value of an expression as a cell computes it, or the `Failure` that the cell shows; `name` says whose."""
    try:
        return _finite(evaluate(expression, lambda key: _usable(value_of(key))))
    except _Unusable as unusable:
        return unusable.failure
    except ZeroDivisionError:
        return Failure("#DIV/0!", f"{name} divides by zero")
    except OverflowError:
        return Failure("#NUM!", f"{name} is too large for a number")
    except NotFound as error:
        return Failure("#N/A", f"{name}: {error}")
    except ValueError:
        return Failure("#NUM!", f"{name} is not a number that a cell can hold")
    except TypeError as error:
        return Failure("#VALUE!", f"{name}: {error}")


class _Unusable(ValueError):
    """An ingredient that is needed has no value."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def _usable(value: Any) -> Any:
    if isinstance(value, Failure):
        raise _Unusable(value)
    return value


def _finite(value: Any) -> Any:
    if isinstance(value, complex) or (isinstance(value, int | float) and not math.isfinite(value)):
        raise ValueError
    return value
