"""What a workbook of ours holds and shows, open in a spreadsheet or in a file: its inputs, and where everything is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyxl import reader
from pyxl.cells import Formula, Place, Value
from pyxl.errors import UserError
from pyxl.located import Located
from workbook import __version__
from workbook.analysis import analysis
from workbook.file_inputs import CATALOGUES, CONSTANTS, MODEL_SHEET, Inputs, read_inputs

if TYPE_CHECKING:
    from pyxl.workbook_file import WorkbookFile

ABOUT = "About"
WITH_INPUTS = (MODEL_SHEET, CONSTANTS, *CATALOGUES, ABOUT)  # sheets that say all that can be computed from
MADE_BY = "solbook "  # how the sheet About begins to say so
ADVICE = "export its strategies with the add-in of its own version, then build it anew"


@dataclass(frozen=True)
class Contents:
    """What each cell holds (`held`) and shows (`shown`), by place."""

    held: Mapping[Place, Any]
    shown: Mapping[Place, Value]

    @cached_property
    def inputs(self) -> Inputs:
        """Its inputs. Raises `UserError` where it is not ours or lacks some."""
        try:
            return read_inputs(self.held, self.shown)
        except UserError as error:
            if self.age:
                raise UserError(f"{error}; {self.age}") from error
            raise

    @property
    def age(self) -> str:
        """What to say of a workbook of another version; nothing of one of ours."""
        stated = (text for (sheet, _), text in self.held.items() if sheet == ABOUT)
        made_by = next((str(text) for text in stated if str(text).startswith(MADE_BY)), "")
        version = made_by.removeprefix(MADE_BY).partition(",")[0]
        if version in ("", __version__):
            return ""
        return f"this workbook is of solbook {version}, the engine of {__version__}: {ADVICE}"

    @property
    def sheets(self) -> Mapping[str, reader.Grid]:
        """Its sheets by title."""
        return self.inputs.sheets

    @cached_property
    def located(self) -> Located:
        """Where the analysis stands in it."""
        return Located(analysis, self.inputs.rows, self.sheets, CATALOGUES)

    def require_values(self) -> None:
        """Raise `UserError` where an input is a formula and its value was not stored: only a spreadsheet knows it."""
        rows = self.inputs.rows
        places = [rows.place(key, strategy) for strategy, typed in self.inputs.strategies.items() for key in typed]
        places += [
            self.sheets[CONSTANTS].place(*place) for place in self.sheets[CONSTANTS].listed("Key", "Value").values()
        ]
        for table in (table for title in CATALOGUES for table in reader.keyed_tables(self.sheets[title])):
            places += [table.grid.place(row, column) for row in table.rows for column in table.columns.values()]
        for sheet, cell in places:
            if isinstance(self.held.get((sheet, cell)), Formula) and (sheet, cell) not in self.shown:
                raise UserError(
                    f"{sheet}!{cell} holds a formula and the file has no value for it: open it in Excel or LibreOffice "
                    "and save it"
                )


def inputs_of(path: Path, titles: Collection[str] | None = None) -> Contents:
    """What the cells of a file hold and show, with inputs that can be read. Raises `UserError` where they cannot."""
    _, contents = of_file(path, titles)
    try:
        _ = contents.inputs
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return contents


def of_file(path: Path, titles: Collection[str] | None = None) -> tuple[WorkbookFile, Contents]:
    """A file, and what its cells hold and last showed: of all sheets, or of those with these titles.

    Raises `UserError` where it is no workbook.
    """
    from pyxl.workbook_file import read  # the core runs without lxml

    file = read(path, titles)
    return file, Contents(file.held, file.stored)
