"""Worksheet functions: each quantity of a model as a function that a cell may call.

    functions = cell_functions(model, columns, "SOL_")
    functions["SOL_COMPUTE_TIME"](1e15, 4e14)

A function takes its quantity's ingredients in their order and gives what the quantity's own definition gives. Names,
arguments and help texts come from the definition too. Two more take whole strategies, as a column of keys and a
column of values: `SOL_TABLE` gives all quantities, `SOL` gives one.

An argument is what a spreadsheet passes: a number, a text, an empty cell, or a range as rows of cells. What cannot be
computed is a text that says why: a spreadsheet would show no more than #VALUE! for an exception.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyxl.cells import whole
from pyxl.errors import UserError
from pyxl.naming import suggestion
from pyxl.quantity import GIVEN, DefinitionError, Failure, Model, Quantity, attempt

LONGEST_HELP = 255  # characters that Excel takes for the help of a function or of an argument
TEXT = "text"

Columns = Callable[[], Mapping[str, Sequence[Any]]]

_ERROR = re.compile(r"#[A-Z0-9/]+[!?]?")


class Omitted(enum.Enum):
    """The value of an argument that was left out; an empty cell is None, or an empty text."""

    OMITTED = "left out"


OMITTED = Omitted.OMITTED


@dataclass(frozen=True)
class Argument:
    """An argument's name, its help in the function wizard, and whether it takes a range of cells."""

    name: str
    help: str
    range: bool = False


@dataclass(frozen=True)
class CellFunction:
    """A worksheet function: its name, its help in the function wizard, its arguments, and what it does.

    `rows` says that it gives rows of cells.
    """

    name: str
    help: str
    arguments: tuple[Argument, ...]
    function: Callable[..., Any]
    rows: bool = False

    def __call__(self, *cells: Any) -> Any:
        """A number or a text, or rows of them. What cannot be computed is a text that begins with the name."""
        try:
            if len(cells) > len(self.arguments):
                raise UserError(f"takes {len(self.arguments)} values, not {len(cells)}")
            return _shown(self.function(*cells, *[OMITTED] * (len(self.arguments) - len(cells))), self.name)
        except UserError as error:
            return f"{self.name}: {error}"


def cell_functions(model: Model, columns: Columns, prefix: str) -> dict[str, CellFunction]:
    """The worksheet functions of a model by name: one per quantity that is computed, and two for whole strategies.

    `columns` gives the table columns, as for `Model.compute`; it is called when a look-up is first computed.
    Raises `DefinitionError` where two functions would share a name.
    """
    functions: dict[str, CellFunction] = {}
    computed = (_of_quantity(model, quantity, columns, prefix) for quantity in model if quantity.expression is not None)
    for function in (*computed, *_of_strategy(model, columns, prefix)):
        if function.name in functions:
            raise DefinitionError(f"two worksheet functions would be called {function.name}: rename the quantity")
        functions[function.name] = function
    return functions


def _of_quantity(model: Model, quantity: Quantity, columns: Columns, prefix: str) -> CellFunction:
    expression, name = quantity.expression, f"{prefix}{quantity.name.upper()}"
    assert expression is not None
    ingredients = [key for key in quantity.parameters or sorted(quantity.ingredients) if key not in model.columns]
    series = frozenset(ingredients).intersection(model.series)
    units = {key: model[key].unit for key in ingredients if key not in series}

    def compute(*cells: Any) -> Any:
        values: dict[str, Any] = {}
        for number, (key, cell) in enumerate(zip(ingredients, cells, strict=True), 1):
            if cell is OMITTED:
                raise UserError(f"{key} is left out: it is value {number} of {len(ingredients)}")
            if key in series:
                read = tuple(_read(key, entry, None, prefix) for entry in _entries(cell))
                values[key] = next((entry for entry in read if isinstance(entry, Failure)), read)
            else:
                values[key] = _understood(_read(key, _single(key, cell), units[key], prefix))
        return attempt(name, expression, lambda key: columns()[key] if key in model.columns else values[key])

    arguments = tuple(Argument(key, _argument_help(model, key), key in series) for key in ingredients)
    return CellFunction(name, _shortened(f"{_titled(quantity)}. {quantity.note}"), arguments, compute)


def _of_strategy(model: Model, columns: Columns, prefix: str) -> Iterator[CellFunction]:
    """The functions that take a strategy as keys and values, as they stand in the columns of a workbook."""

    def computed(keys: Any, values: Any, wanted: Sequence[str] | None) -> dict[str, Any]:
        given = _given(model, _column("keys", keys), _column("values", values), prefix)
        return model.compute(given, columns(), wanted)

    def table(keys: Any, values: Any, wanted: Any) -> list[list[Any]]:
        names = [_known(model, name) for name in _entries(wanted) if name not in ("", None, OMITTED)]
        results = computed(keys, values, names or None)
        return [[name, results[name], model[name].unit] for name in names or model.quantities]

    def one(quantity: Any, keys: Any, values: Any) -> Any:
        name = _known(model, _single("quantity", quantity))
        return computed(keys, values, [name])[name]

    strategy = (
        Argument("keys", "The keys of quantities: a column, such as Analysis!A5:A800.", range=True),
        Argument(
            "values", "The values of one strategy: as many rows of its column, such as Analysis!G5:G800.", range=True
        ),
    )
    wanted = Argument("wanted", "The keys of the quantities wanted, one or a range of them; all if left out.")
    rest = "Rows that are no input, constant or look-up are ignored; inputs that are missing have their defaults."
    yield CellFunction(
        f"{prefix}TABLE",
        f"All quantities of a strategy as rows of key, value, unit. {rest}",
        (*strategy, wanted),
        table,
        rows=True,
    )
    yield CellFunction(
        prefix.rstrip("_"),
        f"One quantity of a strategy. {rest}",
        (Argument("quantity", "The key of the quantity wanted, in quotes or from a cell."), *strategy),
        one,
    )


def _known(model: Model, name: Any) -> str:
    key = str(name).strip().lower()
    if name is OMITTED or key not in model.quantities:
        shown = "no quantity is named" if name is OMITTED else f"there is no quantity {str(name)!r}"
        raise UserError(f"{shown}: {suggestion(key, model.quantities)}write the key of one, as in the column of keys")
    return key


def _given(model: Model, keys: Sequence[Any], values: Sequence[Any], prefix: str) -> dict[str, Any]:
    """The inputs, constants and look-ups among rows of keys and values; look-ups override the tables."""
    if len(keys) != len(values):
        raise UserError(f"keys has {len(keys)} rows and values {len(values)}: take the same rows of both")
    given = {
        key: _read(key, value, model[key].unit, prefix)
        for key, value in zip(keys, values, strict=True)
        if key in model.quantities and model[key].kind in GIVEN
    }
    if not given:
        raise UserError("keys holds no key of an input, constant or look-up: give the column of keys")
    return given


# What a spreadsheet passes


def _single(name: str, cells: Any) -> Any:
    """The cell of a range of one cell; anything else as it is."""
    while isinstance(cells, list | tuple):
        if len(cells) != 1:
            raise UserError(f"{name} is a range: give one cell")
        cells = cells[0]
    return cells


def _entries(cells: Any) -> list[Any]:
    """All cells of a range, row by row."""
    return [entry for part in cells for entry in _entries(part)] if isinstance(cells, list | tuple) else [cells]


def _column(name: str, cells: Any) -> list[Any]:
    if cells is OMITTED:
        raise UserError(f"{name} is left out: give keys and values, two columns of equal height")
    rows = cells if isinstance(cells, list | tuple) else [cells]
    wide = len(rows) > 1 and any(isinstance(row, list | tuple) and len(row) > 1 for row in rows)
    if wide:
        raise UserError(f"{name} is more than one column wide: give one column")
    return _entries(cells)


def _read(name: str, cell: Any, unit: str | None, prefix: str) -> Any:
    """The value of a cell for a quantity of this unit (None for any value): a number, a text, or a `Failure`."""
    if isinstance(cell, str):
        if _ERROR.fullmatch(cell):
            return Failure(cell, f"{name} is {cell}")
        if re.match(rf"{prefix.rstrip('_')}(_[A-Z0-9_]+)?[: ]", cell):  # another function says why it has no value
            return _Explained("#VALUE!", cell)
        if unit in (TEXT, None):
            return cell
        return 0 if cell == "" else _refused(name, repr(cell), "a number")
    if cell is None:
        return {TEXT: "", None: None}.get(unit, 0)
    if not isinstance(cell, int | float):
        return _refused(name, str(cell), "a text" if unit == TEXT else "a number")
    if unit == TEXT:
        return _refused(name, f"{cell:g}" if cell else "empty", "a text")  # LibreOffice passes 0 for an empty cell
    return whole(cell)


@dataclass(frozen=True)
class _Refused(Failure):
    """The value of a cell that holds something of the wrong kind."""


@dataclass(frozen=True)
class _Explained(Failure):
    """The text of another of these functions that has no value."""


def _refused(name: str, shown: str, right: str) -> _Refused:
    return _Refused("#VALUE!", f"{name} is {shown}: write {right}")


def _understood(value: Any) -> Any:
    """The value, unless it is of the wrong kind: errors may stand in a branch that is not taken, mistakes may not."""
    if isinstance(value, _Refused):
        raise UserError(value.reason)
    return value


def _shown(value: Any, name: str) -> Any:
    """What the cell shows."""
    if isinstance(value, list):
        return [[_shown(entry, "") for entry in row] for row in value]
    if isinstance(value, Failure):
        said = isinstance(value, _Explained) or value.reason.startswith(name)
        return value.reason if said else f"{name}: {value.reason}"
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


# Help


def _titled(quantity: Quantity) -> str:
    return quantity.label if quantity.unit == "1" else f"{quantity.label} [{quantity.unit}]"


def _argument_help(model: Model, key: str) -> str:
    if key in model.series:
        return _shortened("A range: " + ", ".join(model[member].label for member in model.series[key]))
    quantity = model[key]
    sentence = quantity.note.split(". ")[0].rstrip(".")
    return _shortened(f"{_titled(quantity)}: {sentence}." if sentence else _titled(quantity))


def _shortened(text: str) -> str:
    """The text as far as the function wizard shows it, cut between words."""
    return text if len(text) <= LONGEST_HELP else text[: LONGEST_HELP - 1].rpartition(" ")[0] + " …"
