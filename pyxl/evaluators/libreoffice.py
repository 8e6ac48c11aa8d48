"""Evaluating with LibreOffice, the spreadsheet that users have.

`evaluate` has a LibreOffice of its own convert a copy of the file, which needs the program only.
`Session` keeps one running to edit, copy, read and print as a user does; it needs LibreOffice's Python
bridge (UNO) too. Neither touches the user's profile, open windows or file.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from pyxl.cells import Formula, Place, Value
from pyxl.errors import UserError
from pyxl.evaluators import COPY_NAME, NO_EDITS, contents, edited_copy, plain
from pyxl.files import require_workbook
from pyxl.libreoffice.errors import error_text
from pyxl.libreoffice.running import Office, desktop, properties, running

TIME_LIMIT = 120.0  # seconds; a conversion takes one or two
WORKBOOK_FILTER, PDF_FILTER = "Calc MS Excel 2007 XML", "calc_pdf_Export"


def evaluate(path: Path, edits: Mapping[Place, Value] = NO_EDITS, time_limit: float = TIME_LIMIT) -> dict[Place, Value]:
    """The value of every cell that is not empty; see `pyxl.evaluators`.

    Raises `UserError` too if LibreOffice takes longer than `time_limit` seconds. The square root and the
    logarithm of a negative number are "#VALUE!": that is how LibreOffice writes them to a workbook.
    """
    with edited_copy(path, edits) as copy:
        out = copy.parent / "out"
        with running("--convert-to", f"xlsx:{WORKBOOK_FILTER}", "--outdir", str(out), str(copy)) as process:
            try:
                process.popen.wait(time_limit)
            except subprocess.TimeoutExpired:
                raise UserError(f"LibreOffice did not finish {path} within {time_limit:g} seconds") from None
        if not (out / COPY_NAME).exists():
            raise UserError(f"LibreOffice cannot open {path}")
        values = {place: plain(value) for place, value in contents(out / COPY_NAME, stored_values=True).items()}
        # A formula that gives an empty text leaves no value in the file.
        return {place: "" for place, content in contents(copy).items() if isinstance(content, Formula)} | values


class Session:
    """A running LibreOffice, as a context manager: one of its own, or the one with the component context given."""

    def __init__(self, component_context: Any = None) -> None:
        self._context = component_context

    def __enter__(self) -> Session:
        """Raises `UserError` if LibreOffice or its Python bridge is not installed, or it does not start."""
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="solbook-", ignore_cleanup_errors=True)))
            self._desktop = desktop(self._context or stack.enter_context(Office()).context)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def open(self, path: Path) -> Document:
        """Open a copy of the workbook, computed anew. Raises `UserError` for a file that is no workbook."""
        require_workbook(path)
        copy = self._folder / f"{secrets.token_hex(8)}.xlsx"
        shutil.copyfile(path, copy)
        component = self._desktop.loadComponentFromURL(copy.as_uri(), "_blank", 0, properties(Hidden=True))
        if component is None:
            raise UserError(f"LibreOffice cannot open {path}")
        return Document(component)


class Document:
    """An open workbook. Cells are computed whenever they are read; a truth value reads as 1 or 0."""

    def __init__(self, component: Any) -> None:
        self._component = component

    def _sheet(self, sheet: str) -> Any:
        return self._component.Sheets.getByName(sheet)

    def value(self, sheet: str, address: str) -> Value:
        """The value of a cell; an empty one is an empty text."""
        return self._values(self._sheet(sheet).getCellRangeByName(address))[0][0]

    def values(self, sheet: str) -> dict[str, Value]:
        """The value of every cell of the sheet that is not empty, by address."""
        from openpyxl.utils.cell import get_column_letter

        cursor = self._sheet(sheet).createCursor()
        cursor.gotoStartOfUsedArea(False)
        cursor.gotoEndOfUsedArea(True)
        corner = cursor.RangeAddress
        return {
            f"{get_column_letter(column)}{row}": value
            for row, line in enumerate(self._values(cursor), corner.StartRow + 1)
            for column, value in enumerate(line, corner.StartColumn + 1)
            if value != ""
        }

    def _values(self, cells: Any) -> list[list[Value]]:
        def read(row: int, column: int, value: Any) -> Value:
            return value if value is not None else error_text(cells.getCellByPosition(column, row).getError())

        return [
            [read(row, column, value) for column, value in enumerate(line)]
            for row, line in enumerate(cells.getDataArray())
        ]

    def set(self, sheet: str, address: str, value: Value) -> None:
        """Type a number or a text into a cell."""
        cell = self._sheet(sheet).getCellRangeByName(address)
        if isinstance(value, str):
            cell.String = value
        else:
            cell.Value = float(value)

    def copy_column(self, sheet: str, from_letter: str, to_letter: str) -> None:
        """Copy a whole column onto another, as a user does to add a strategy."""
        columns = self._sheet(sheet).Columns
        target = columns.getByName(to_letter).getCellByPosition(0, 0).CellAddress
        self._sheet(sheet).copyRange(target, columns.getByName(from_letter).RangeAddress)

    def save(self, path: Path) -> None:
        """Write the workbook as .xlsx, as LibreOffice's own "Save as" does."""
        self._store(path, WORKBOOK_FILTER)

    def export_pdf(self, path: Path) -> None:
        """Print the workbook to a PDF file."""
        self._store(path, PDF_FILTER)

    def _store(self, path: Path, filter_name: str) -> None:
        self._component.storeToURL(path.resolve().as_uri(), properties(FilterName=filter_name))

    def close(self) -> None:
        """Close the workbook without saving."""
        self._component.close(True)
