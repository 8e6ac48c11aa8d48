"""Evaluating with the Python package formulas: strict and independent of every spreadsheet, but slow.

It has silent gaps (a cell that it cannot follow is simply missing), so every formula cell is asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyxl.cells import Formula, Place, Value
from pyxl.errors import MissingProgram, UserError
from pyxl.evaluators import NO_EDITS, edited_copy, plain
from pyxl.workbook_file import read

try:
    import formulas as package
    from formulas.errors import FormulaError
    from schedula import EMPTY  # type: ignore[import-untyped]
except ImportError as error:
    raise MissingProgram("the package formulas is not installed: pip install formulas") from error


class ExactModel(package.ExcelModel):  # type: ignore[misc]
    """A workbook with its constants as they are: the package rounds them to 15 decimals, 1e-16 to 0."""

    def compile_cell(self, cell: Any, context: Any, references: Any, formula_references: Any) -> Any:
        coordinate = formula_references.get(cell.coordinate, cell.coordinate)
        value = cell.value
        if cell.data_type == "f" and not isinstance(value, str):
            value = value.text
        return self._compile_cell(coordinate, value, context, cell.data_type != "s", references)


class Workbook:
    """A workbook loaded once, which takes tens of seconds for 5,000 formulas, to be computed many times."""

    def __init__(self, path: Path) -> None:
        """Raises `UserError` for a file that is no workbook, or has a formula that the package cannot read."""
        with edited_copy(path, NO_EDITS) as copy, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._contents = read(copy).held
            self._book = copy.name
            try:
                # Completing a model opens the files that it links to, and shows a progress bar.
                self._model = ExactModel().loads(str(copy)).finish(complete=False)
            except FormulaError as error:
                formula = str(error.args[-1])
                places = [f"{sheet}!{address}" for (sheet, address), text in self._contents.items() if text == formula]
                raise UserError(f"formulas cannot read {', '.join(places)}: {formula}") from error

    def calculate(self, edits: Mapping[Place, Value] = NO_EDITS) -> dict[Place, Value]:
        """The value of every cell that is not empty, with the edits in place of what their cells hold.

        Raises `UserError` for an edit of an empty cell, and for formulas that the package leaves out.
        """
        for sheet, address in edits.keys() - self._contents.keys():
            raise UserError(f"{sheet}!{address} is empty in {self._book}: only cells that hold something can be edited")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = self._model.calculate(inputs={self._key(place): value for place, value in edits.items()})
        found = {place: solution[key] for place in self._contents if (key := self._key(place)) in solution}
        formulas = (place for place, content in self._contents.items() if isinstance(content, Formula))
        if missing := [f"{sheet}!{address}" for sheet, address in formulas if (sheet, address) not in found]:
            raise UserError(f"formulas does not compute {', '.join(missing)}")
        return {place: _value(cell.value[0, 0]) for place, cell in found.items()} | dict(edits)

    def _key(self, place: Place) -> str:
        return f"'[{self._book}]{place[0].upper()}'!{place[1]}"


def _value(value: Any) -> Value:
    if value is EMPTY:
        return ""
    value = value.item() if hasattr(value, "item") else value
    return plain(value if isinstance(value, bool | int | float) else str(value))


def evaluate(path: Path, edits: Mapping[Place, Value] = NO_EDITS) -> dict[Place, Value]:
    """The value of every cell that is not empty; see `pyxl.evaluators`."""
    # Edits are typed into a copy: put in at calculation, the package misses those in cells that were empty.
    with edited_copy(path, edits) as copy:
        return Workbook(copy).calculate()
