"""An open workbook of ours as the actions see it: its contents, its inputs, and where everything stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyxl import reader
from pyxl.cells import Place, Value
from pyxl.errors import UserError
from pyxl.located import Located
from pyxl.open_book import Formulas, read, sheet_titles
from workbook import __version__
from workbook.analysis import analysis
from workbook.file_inputs import CATALOGUES, MODEL_SHEET, Inputs, read_inputs
from workbook.sheets.documentation import SHEETS

if TYPE_CHECKING:
    import xlwings as xw

MADE_BY = "solbook "  # how the sheet About begins to say so
ADVICE = "export its strategies with the add-in of its own version, then build it anew"
DOCUMENTING = ("Formulas", "Sources", "Validation")  # long, and nothing there is asked for


class NothingSelected(UserError):
    """The cursor is not in a strategy's column."""


@dataclass(frozen=True)
class Opened:
    """What the open workbook holds (`held`) and shows (`shown`), by place; `is_manual` if it computes when asked to."""

    book: xw.Book
    held: Mapping[Place, Any]
    shown: Mapping[Place, Value]
    is_manual: bool = False

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
        stated = (text for (sheet, _), text in self.held.items() if sheet == "About")
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

    def selected_strategy(self) -> str:
        """The strategy in whose column the cursor is. Raises `NothingSelected` elsewhere."""
        sheet, _, column = self.cursor()
        for name, number in self.inputs.rows.columns.items():
            if sheet == MODEL_SHEET and number == column:
                return name
        raise NothingSelected(f"no strategy is selected: click into one's column of the sheet {MODEL_SHEET}")

    def cursor(self) -> tuple[str, int, int]:
        """Sheet, row and column of the selected cell."""
        selected = self.book.selection
        if selected is None or selected.address is None or selected.sheet.book.name != self.book.name:
            raise UserError(f"no cell of {self.book.name} is selected: click on one")
        return selected.sheet.name, selected.row, selected.column


def opened(book: xw.Book, formulas: Formulas | None = None) -> Opened:
    """Read an open workbook. Raises `UserError` where it is not ours."""
    titles = sheet_titles(book)
    if MODEL_SHEET not in titles:
        raise UserError(
            f"{book.name} is no solbook workbook, or its sheet '{MODEL_SHEET}' was renamed or deleted: open one that "
            "solbook build wrote, or give the sheet its name back"
        )
    held, shown = read(book, (title for title in SHEETS if title in titles and title not in DOCUMENTING), formulas)
    return Opened(book, held, shown, _is_manual(book))


def _is_manual(book: xw.Book) -> bool:
    try:
        return str(book.app.calculation) == "manual"
    except NotImplementedError:  # the spreadsheet does not say
        return False
