"""An open workbook of ours as the actions see it: its contents, and what is selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyxl.errors import UserError
from pyxl.open_book import Formulas, read, sheet_titles
from workbook.contents import Contents
from workbook.file_inputs import MODEL_SHEET
from workbook.sheets.documentation import SHEETS

if TYPE_CHECKING:
    import xlwings as xw

DOCUMENTING = ("Formulas", "Sources", "Validation")  # long, and nothing there is asked for


class NothingSelected(UserError):
    """The cursor is not in a strategy's column."""


@dataclass(frozen=True)
class Opened(Contents):
    """What the open workbook holds and shows; `is_manual` if it computes when asked to."""

    book: xw.Book
    is_manual: bool = False

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
    return Opened(held, shown, book, is_manual(book))


def is_manual(book: xw.Book) -> bool:
    """Whether a workbook computes only when asked to, as far as the spreadsheet says."""
    try:
        return str(book.app.calculation) == "manual"
    except NotImplementedError:  # the spreadsheet does not say
        return False
