"""A model with one row per member: operators of a layer, stages of a pipeline.

Its columns are quantities like any other; a name that is not one of its own is taken from a parent model,
whose values are the same for all rows. A row gives its own number, text or function for the columns that
differ from row to row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyxl.operations import Expression, Literal, Symbol, symbols
from pyxl.quantity import Column, DefinitionError, Model, attempt


@dataclass(frozen=True)
class Row:
    """A member: its name and, by column, its own definitions over the parent's quantities."""

    name: str
    given: Mapping[str, Expression]


def _trace(definition: Any) -> Expression:
    if isinstance(definition, Expression):
        return definition
    if not callable(definition):
        return Literal(definition)
    code = definition.__code__
    traced = definition(*(Symbol(name) for name in code.co_varnames[: code.co_argcount]))
    return traced if isinstance(traced, Expression) else Literal(traced)


class RowModel(Model):
    """Quantities that each row of a table has, over a parent model's quantities."""

    def __init__(self, parent: Model) -> None:
        super().__init__()
        self.parent = parent
        self.rows: list[Row] = []
        self.imports: tuple[str, ...] = ()

    def row(self, name: str, **given: Callable[..., Any] | Expression | int | float | str) -> None:
        """Declare a member with its own definitions of the columns that the model declares as inputs: a function of the
        parent's quantities, one of them as it stands (`Symbol`), a number or a text.
        """
        self.rows.append(Row(name, {column: _trace(definition) for column, definition in given.items()}))

    def close(self, also: Iterable[str] = ()) -> None:
        """Find which names come from the parent, check that each row is complete, and fix the order.

        `also` names further ones of the parent that are shown beside the table, for checks.
        """
        needed: set[str] = set(also)
        for quantity in self.quantities.values():
            needed |= quantity.ingredients
        for row in self.rows:
            for name, expression in row.given.items():
                if name not in self.quantities:
                    raise DefinitionError(f"row '{row.name}' defines '{name}', which is no column")
                needed |= symbols(expression)
        own = self.quantities.keys() | self.columns.keys() | self.series.keys()
        unknown = sorted(needed - own - self.parent.quantities.keys())
        if unknown:
            raise DefinitionError(f"the table uses {', '.join(unknown)}, which is not defined")
        self.imports = tuple(name for name in self.parent.quantities if name in needed - own)
        for name in self.imports:
            self.columns[name] = Column("", name, self.parent[name].unit)
        super().close()

    def compute_rows(self, parent_values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The values of every row, given the parent's."""
        return [
            self.compute(
                {name: attempt(name, given, parent_values.__getitem__) for name, given in row.given.items()},
                parent_values,
            )
            for row in self.rows
        ]
