"""Evaluators: programs not written by us that compute a workbook from its formulas.

Each is a module with one function of the same shape, `evaluate(path, edits)`: it computes every cell
anew, never trusting stored values, and returns the value of every cell that is not empty.

    name          what it is                          5,000 formulas    needs
    libreoffice   the spreadsheet that users have     seconds           LibreOffice
    formulas      a Python package, strict and slow   a minute          a Python package
    formualizer   a Rust package, fast                under a second    a Python package

A value is a float, a text or a truth value; an error is its text, such as "#DIV/0!". Dates are the
serial numbers that spreadsheets keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from openpyxl import load_workbook

from pyxl import cells
from pyxl.cells import Place, Value, coordinates
from pyxl.errors import UserError
from pyxl.files import require_workbook
from pyxl.workbook_file import read

Evaluate = Callable[..., dict[Place, Value]]

NO_EDITS: Mapping[Place, Value] = MappingProxyType({})
COPY_NAME = "workbook.xlsx"


def _lazy(name: str) -> Evaluate:
    def evaluate(path: Path, edits: Mapping[Place, Value] = NO_EDITS) -> dict[Place, Value]:
        values: dict[Place, Value] = import_module(f"pyxl.evaluators.{name}").evaluate(path, edits)
        return values

    return evaluate


EVALUATORS: Mapping[str, Evaluate] = MappingProxyType(
    {name: _lazy(name) for name in ("libreoffice", "formulas", "formualizer")}
)


def plain(value: Any) -> Value:
    """A cell value as openpyxl or an evaluator's package gives it, as a `Value`."""
    value = cells.plain(value)
    return value if isinstance(value, bool | str) else float(value)


def contents(path: Path, *, stored_values: bool = False) -> dict[Place, Any]:
    """What each cell that is not empty holds: a `Formula`, or a value.

    With `stored_values`, the value last stored in the file in place of each formula. Raises `UserError`
    for a file that is no workbook.
    """
    file = read(path)
    found = file.stored if stored_values else file.held
    return {place: content for place, content in found.items() if content != ""}


def require_place(place: Place, sheets: list[str]) -> None:
    """Raise `UserError` unless `place` names a cell on one of the sheets."""
    sheet, address = place
    if sheet not in sheets:
        raise UserError(f"there is no sheet '{sheet}' to edit; there are {', '.join(sheets)}")
    try:
        coordinates(address)
    except ValueError as error:
        raise UserError(str(error)) from None


@contextmanager
def edited_copy(path: Path, edits: Mapping[Place, Value]) -> Iterator[Path]:
    """A copy of the workbook with the edits typed in, in a folder of its own that is removed afterwards."""
    require_workbook(path)
    with TemporaryDirectory(prefix="solbook-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / COPY_NAME
        copy.write_bytes(path.read_bytes())
        if edits:
            with copy.open("rb") as file:
                book: Any = load_workbook(file)
            for place, value in edits.items():
                require_place(place, book.sheetnames)
                cell = book[place[0]][place[1]]
                cell.value = value
                cell.data_type = "s" if isinstance(value, str) else cell.data_type  # "=1" typed in as text stays text
            book.save(copy)
        yield copy
