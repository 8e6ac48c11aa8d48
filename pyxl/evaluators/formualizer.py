"""Evaluating with the package formualizer: fast enough for property tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openpyxl.utils.cell import coordinate_to_tuple

from pyxl.cells import Formula, Place, Value
from pyxl.errors import MissingProgram, UserError
from pyxl.evaluators import NO_EDITS, plain, require_place
from pyxl.files import MEND
from pyxl.workbook_file import read

try:
    import formualizer as package
except ImportError as error:
    raise MissingProgram("the package formualizer is not installed: pip install formualizer") from error

ERRORS = {
    "Div": "#DIV/0!",
    "Na": "#N/A",
    "Name": "#NAME?",
    "Null": "#NULL!",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
}


class Workbook:
    """A workbook loaded once, to be computed many times."""

    def __init__(self, path: Path) -> None:
        """Raises `UserError` for a file that is no workbook."""
        self._contents = read(path).held
        try:
            self._book = package.Workbook.from_path(str(path))
        except OSError as error:
            raise UserError(f"formualizer cannot read {path}: {error}: {MEND}") from error

    def calculate(self, edits: Mapping[Place, Value] = NO_EDITS) -> dict[Place, Value]:
        """The value of every cell that is not empty, with the edits in place of what their cells hold."""
        for place in edits:
            require_place(place, self._book.sheet_names)
        for place, value in edits.items():
            self._set(place, value)
        try:
            self._book.evaluate_all()
            places = self._contents.keys() | edits.keys()
            return {place: _value(self._book.get_value(place[0], *coordinate_to_tuple(place[1]))) for place in places}
        finally:
            for place in edits:
                self._set(place, self._contents.get(place))

    def _set(self, place: Place, content: Any) -> None:
        row, column = coordinate_to_tuple(place[1])
        if isinstance(content, Formula):
            self._book.set_formula(place[0], row, column, content)
        else:
            text = isinstance(content, str)  # a plain text that begins with "=" would be read as a formula
            self._book.set_value(place[0], row, column, package.LiteralValue.text(content) if text else content)


def _value(value: Any) -> Value:
    if value is None:
        return ""
    return ERRORS.get(value["kind"], "#VALUE!") if isinstance(value, dict) else plain(value)


def evaluate(path: Path, edits: Mapping[Place, Value] = NO_EDITS) -> dict[Place, Value]:
    """The value of every cell that is not empty; see `pyxl.evaluators`."""
    return Workbook(path).calculate(edits)
