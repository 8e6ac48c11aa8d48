"""Elasticities: by how many per cent a result changes for one per cent of each source, by the adjoint method.

`Elasticities` is a model of them for one result, for a sheet; `elasticities_at` computes those of any result.

The adjoint of a quantity is the derivative of the result with respect to it: the sum over the quantities that use it
of their adjoints times how much each changes with it. So one adjoint per quantity gives the elasticities to all
sources. They are quantities too, derived from a model's own definitions: computed, printed and laid out like them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from pyxl.operations import Expression, Symbol, symbols
from pyxl.quantity import DefinitionError, Failure, Kind, Model, Quantity, attempt
from pyxl.readings.derivative import ONE, ZERO, derivative, plus, times

_MEMBER = "the member of a series that changes"


def adjoint(name: str) -> str:
    """The key of a quantity's adjoint."""
    return f"adjoint of {name}"


def elasticity(name: str) -> str:
    """The key of the elasticity to a source."""
    return f"elasticity to {name}"


class Elasticities(Model):
    """The elasticities of one result of a model; `compute` takes that model's values as inputs.

    `sources` are those that change the result at all: a number that is only compared or rounded up does not. `path`
    are the quantities between them and the result, `imports` all whose values are needed.
    """

    def __init__(self, parent: Model, sources: Sequence[str], result: str) -> None:
        super().__init__()
        self.parent = parent
        self.result = result
        adjoints = _adjoints(parent, sources, result)
        self.sources = tuple(name for name in sources if name in adjoints)
        self.path = tuple(name for name in adjoints if name not in sources)
        needed = {result, *adjoints}.union(*(symbols(expression) for expression in adjoints.values()))
        self.imports = tuple(name for name in parent.quantities if name in needed)
        for name in self.imports:
            self._declare(parent[name].given())
        for name, expression in adjoints.items():
            unit = parent[result].unit if parent[name].unit == "1" else f"{parent[result].unit} per {parent[name].unit}"
            self._derive(adjoint(name), unit, parent[name], expression, "0.00E+00;-0.00E+00;0")
        for name in self.sources:
            share = Symbol(adjoint(name)) * Symbol(name) / Symbol(result)
            self._derive(elasticity(name), "1", parent[name], share, "+0.000;-0.000;0")
        self.close()

    def _derive(self, name: str, unit: str, of: Quantity, expression: Expression, number_format: str) -> None:
        self._declare(
            Quantity(
                name,
                unit,
                of.label,
                Kind.CALCULATION,
                f"Derived from the definitions that use {of.name}.",
                "",
                of.place,
                of.section,
                expression,
                number_format=number_format,
            )
        )


def _adjoints(model: Model, sources: Collection[str], result: str) -> dict[str, Expression]:
    """The adjoint of each quantity that changes the result, by name, in order of declaration."""
    path = {*model.between(sources, [result]), result}
    users: dict[str, list[Quantity]] = {}
    for name in (name for name in model.quantities if name in path):
        for ingredient in model[name].ingredients & {*path, *sources, *model.series}:
            if ingredient in model.series:
                raise DefinitionError(f"'{name}' at {model[name].place} takes a series: it has no derivative yet")
            users.setdefault(ingredient, []).append(model[name])

    @cache
    def of(name: str) -> Expression:
        added: Expression = ZERO
        for user in users.get(name, ()):
            added = plus(added, times(factor(user.name), _change(user, name)))
        return added

    def factor(name: str) -> Expression:
        if name == result:
            return ONE
        return ZERO if of(name) is ZERO else Symbol(adjoint(name))

    return {
        name: of(name) for name in model.quantities if name in {*path, *sources} - {result} and of(name) is not ZERO
    }


def _change(user: Quantity, name: str) -> Expression:
    """How much a quantity changes with one of its ingredients."""
    assert user.expression is not None
    return derivative(user.expression, lambda key: ONE if key == name else ZERO)


def elasticities_at(
    model: Model,
    values: Mapping[str, Any],
    columns: Mapping[str, Sequence[Any]],
    result: str,
    sources: Collection[str],
) -> dict[str, float]:
    """The elasticities of any result that is a number, to those sources that it follows; none where it is 0.

    `values` are those of every quantity, `columns` the tables' as for `Model.compute`.
    """
    if not _is_number(values[result]) or values[result] == 0:
        return {}
    path = {*model.between(sources, [result]), result}
    adjoints = {result: 1.0}

    value_of = partial(model.resolved, values.__getitem__, columns)
    for name in reversed([each for each in model.order([result], sources) if each in path - set(sources)]):
        if adjoints.get(name):
            for ingredient, change in _changes(model, name, path | set(sources), value_of):
                adjoints[ingredient] = adjoints.get(ingredient, 0.0) + adjoints[name] * change
    return {
        name: adjoints[name] * values[name] / values[result]
        for name in sources
        if adjoints.get(name) and _is_number(values[name])
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _changes(
    model: Model, name: str, changing: Collection[str], value_of: Callable[[str], Any]
) -> Iterator[tuple[str, float]]:
    """How much a quantity changes with each ingredient that changes; of a series, with each member."""
    expression = model[name].expression
    assert expression is not None
    for ingredient in symbols(expression):
        members = model.series.get(ingredient, (ingredient,))
        for number, member in enumerate(members):
            if member in changing:
                one_hot = tuple(float(other == number) for other in range(len(members)))
                change = _slope(name, expression, ingredient, one_hot if ingredient in model.series else None, value_of)
                if change:
                    yield member, change


def _slope(
    name: str,
    expression: Expression,
    ingredient: str,
    member: tuple[float, ...] | None,
    value_of: Callable[[str], Any],
) -> float:
    """The derivative of an expression with respect to an ingredient, or to a member of one that is a series."""
    moving = ONE if member is None else Symbol(_MEMBER)
    try:
        change = derivative(expression, lambda key: moving if key == ingredient else ZERO)
    except TypeError:  # an exponent that changes has no derivative here
        return 0.0
    if change is ZERO:
        return 0.0
    value = attempt(name, change, lambda key: member if key == _MEMBER else value_of(key))
    return 0.0 if isinstance(value, Failure) else float(value)
