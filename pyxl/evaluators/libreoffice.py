"""Evaluating with LibreOffice, the spreadsheet that users have.

`evaluate` has a LibreOffice of its own convert a copy of the file, which needs the program only.
`Session` keeps one running to edit, copy, read and print as a user does; it needs LibreOffice's Python
bridge (UNO) too. Neither touches the user's profile, open windows or file.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from pyxl.cells import Formula, Place, Value
from pyxl.errors import MissingProgram, UserError
from pyxl.evaluators import COPY_NAME, NO_EDITS, contents, edited_copy, plain
from pyxl.files import require_workbook

PROGRAMS = (
    "soffice",
    "libreoffice",
    "/usr/lib/libreoffice/program/soffice",
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
    r"C:\Program Files\LibreOffice\program\soffice.exe",
)
TIME_LIMIT = 120.0  # seconds; a conversion takes one or two
WORKBOOK_FILTER, PDF_FILTER = "Calc MS Excel 2007 XML", "calc_pdf_Export"
ERRORS = {502: "#VALUE!", 503: "#NUM!", 519: "#VALUE!", 524: "#REF!", 525: "#NAME?", 532: "#DIV/0!", 32767: "#N/A"}

# By default LibreOffice shows the values stored in a file and computes nothing.
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""


def program() -> str:
    """The path of LibreOffice. Raises `UserError` if it is not installed."""
    for candidate in PROGRAMS:
        if found := shutil.which(candidate):
            return found
    raise MissingProgram("LibreOffice is not installed: see libreoffice.org, or apt install libreoffice-calc")


@contextmanager
def _running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A LibreOffice with a profile of its own; it and its profile are gone on every way out."""
    with TemporaryDirectory(prefix="solbook-", ignore_cleanup_errors=True) as folder:
        profile = Path(folder)
        (profile / "user").mkdir()
        (profile / "user" / "registrymodifications.xcu").write_text(PROFILE, encoding="utf-8")
        process = subprocess.Popen(
            [
                program(),
                f"-env:UserInstallation={profile.as_uri()}",
                "--headless",
                "--norestore",
                "--nologo",
                *arguments,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"LC_ALL": "C.UTF-8", "TMPDIR": folder},
            start_new_session=True,  # the program starts another one: only their group ends both
        )
        try:
            yield process
        finally:
            if os.name == "posix":
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()


def evaluate(path: Path, edits: Mapping[Place, Value] = NO_EDITS, time_limit: float = TIME_LIMIT) -> dict[Place, Value]:
    """The value of every cell that is not empty; see `pyxl.evaluators`.

    Raises `UserError` too if LibreOffice takes longer than `time_limit` seconds. The square root and the
    logarithm of a negative number are "#VALUE!": that is how LibreOffice writes them to a workbook.
    """
    with edited_copy(path, edits) as copy:
        out = copy.parent / "out"
        with _running("--convert-to", f"xlsx:{WORKBOOK_FILTER}", "--outdir", str(out), str(copy)) as process:
            try:
                process.wait(time_limit)
            except subprocess.TimeoutExpired:
                raise UserError(f"LibreOffice did not finish {path} within {time_limit:g} seconds") from None
        if not (out / COPY_NAME).exists():
            raise UserError(f"LibreOffice cannot open {path}")
        values = {place: plain(value) for place, value in contents(out / COPY_NAME, stored_values=True).items()}
        # A formula that gives an empty text leaves no value in the file.
        return {place: "" for place, content in contents(copy).items() if isinstance(content, Formula)} | values


def _bridge() -> Any:
    """LibreOffice's Python module, which is installed beside the system's Python, not in virtual environments."""
    before = list(sys.path)
    sys.path += ["/usr/lib/python3/dist-packages", str(Path(program()).resolve().parent)]
    try:
        import uno
    except ImportError as error:
        raise UserError(
            "LibreOffice's Python bridge is not installed, or is made for another version of Python:"
            f" apt install python3-uno ({error})"
        ) from error
    finally:
        sys.path[:] = before
    return uno


class Session:
    """A running LibreOffice, as a context manager."""

    def __enter__(self) -> Session:
        """Raises `UserError` if LibreOffice or its Python bridge is not installed, or it does not start."""
        self._uno = _bridge()
        pipe = f"solbook{secrets.token_hex(8)}"
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="solbook-", ignore_cleanup_errors=True)))
            process = stack.enter_context(_running("--nodefault", f"--accept=pipe,name={pipe};urp;"))
            self._desktop = self._connect(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext", process)
            stack.callback(self._end, process)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _connect(self, address: str, process: subprocess.Popen[bytes]) -> Any:
        context = self._uno.getComponentContext()
        resolver = context.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", context)
        not_yet = self._uno.getClass("com.sun.star.connection.NoConnectException")
        deadline = time.monotonic() + TIME_LIMIT
        while process.poll() is None and time.monotonic() < deadline:
            try:
                remote = resolver.resolve(address)
            except not_yet:
                time.sleep(0.05)
            else:
                return remote.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", remote)
        raise UserError("LibreOffice does not start")

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        # Asked to end, it removes its sockets; killed, which follows in any case, it does not.
        with suppress(Exception):
            self._desktop.terminate()
            process.wait(10)

    def open(self, path: Path) -> Document:
        """Open a copy of the workbook, computed anew. Raises `UserError` for a file that is no workbook."""
        require_workbook(path)
        copy = self._folder / f"{secrets.token_hex(8)}.xlsx"
        shutil.copyfile(path, copy)
        component = self._desktop.loadComponentFromURL(copy.as_uri(), "_blank", 0, (self._property("Hidden", True),))
        if component is None:
            raise UserError(f"LibreOffice cannot open {path}")
        return Document(self, component)

    def _property(self, name: str, value: Any) -> Any:
        made = self._uno.createUnoStruct("com.sun.star.beans.PropertyValue")
        made.Name, made.Value = name, value
        return made


class Document:
    """An open workbook. Cells are computed whenever they are read; a truth value reads as 1 or 0."""

    def __init__(self, session: Session, component: Any) -> None:
        self._session = session
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
            return (
                value if value is not None else ERRORS.get(cells.getCellByPosition(column, row).getError(), "#VALUE!")
            )

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
        self._component.storeToURL(path.resolve().as_uri(), (self._session._property("FilterName", filter_name),))

    def close(self) -> None:
        """Close the workbook without saving."""
        self._component.close(True)
