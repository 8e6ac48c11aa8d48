"""Scenarios: a model under alternatives of one input, all else as it is.

Only what the input decides is computed again, by the model's own definitions; the rest is taken as given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from pyxl.operations import Expression, Symbol, most, require, where
from pyxl.quantity import DefinitionError, Kind, Model, Quantity
from pyxl.readings.number import OK

POSSIBLE, DIFFERING = "possible", "differing"
IMPOSSIBLE, NO_RATIO = "invalid", "none"


def own(name: str) -> str:
    """The key of a quantity's value without an alternative."""
    return f"own {name}"


def first(name: str) -> str:
    """The key of a quantity's value under the first alternative."""
    return f"first {name}"


def shown(name: str) -> str:
    """The key of a result as readers are shown it: a word where it cannot be computed."""
    return f"shown {name}"


class Scenario(Model):
    """What one input of a model decides of some results.

    `path` are the quantities that it decides, results included; `imports` and `owned` are taken from the parent's
    values, the latter under the key `own`: results to compare with, and the look-ups that the input decides. How many
    of those differ from an alternative's is `DIFFERING`; 0 says that the alternative is the parent's own.
    `impossible` says to people why results may have no value under an alternative.
    """

    def __init__(self, parent: Model, source: str, results: Sequence[str], impossible: str) -> None:
        super().__init__()
        self.parent = parent
        self.source = source
        self.results = tuple(results)
        self.columns = parent.columns
        self.path = parent.between([source], results)
        if fixed := [name for name in results if name not in self.path]:
            raise DefinitionError(f"'{source}' does not change {', '.join(fixed)}")
        deciding = [name for name in self.path if parent[name].kind is Kind.LOOKUP] or [source]
        self.numbers = tuple(name for name in results if parent[name].unit != "text")
        self.owned = (*deciding, *self.numbers)
        needed = set().union(*(parent[name].ingredients for name in self.path)) - {source, *self.path}
        if gathered := needed & parent.series.keys():
            raise DefinitionError(f"what '{source}' changes takes the series {', '.join(sorted(gathered))}")
        self.imports = tuple(name for name in parent.quantities if name in needed)
        for name in self.imports:
            self._declare(parent[name].given())
        for name in self.owned:
            self._declare(replace(parent[name].given(), name=own(name)))
        for name in (source, *self.path):
            self._declare(parent[name])
        computed = most(*(Symbol(name) for name in self.numbers)) > 0
        self._add(POSSIBLE, "text", "Can be computed", require(computed, impossible))
        differing = (where(Symbol(name) == Symbol(own(name)), 0, 1) for name in deciding)
        self._add(DIFFERING, "1", "Numbers unlike the strategy's own", reduce(add, differing))
        for name in results:
            usable = where(Symbol(POSSIBLE) == OK, Symbol(name), IMPOSSIBLE)
            self._add(shown(name), parent[name].unit, parent[name].label, usable)
        self.close()

    def _add(self, name: str, unit: str, label: str, expression: Expression) -> None:
        self._declare(Quantity(name, unit, label, Kind.CALCULATION, label, "", __file__, "", expression))

    def under(
        self, alternative: Any, values: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]
    ) -> dict[str, Any]:
        """Every quantity under an alternative, given the parent's values."""
        given = {name: values[name] for name in self.imports} | {own(name): values[name] for name in self.owned}
        return self.compute({**given, self.source: alternative}, columns)

    def ratio(self, name: str) -> Expression:
        """A result over what it is under the first alternative."""
        ratio = where(Symbol(first(name)) == 0, NO_RATIO, Symbol(name) / Symbol(first(name)))
        both: Expression = where(
            Symbol(POSSIBLE) == OK, where(Symbol(first(POSSIBLE)) == OK, ratio, IMPOSSIBLE), IMPOSSIBLE
        )
        return both
