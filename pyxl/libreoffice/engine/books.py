"""Open workbooks."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from xlwings import base_classes

from pyxl.errors import UserError
from pyxl.files import require_workbook
from pyxl.libreoffice.engine import locks
from pyxl.libreoffice.engine.formats import Formats
from pyxl.libreoffice.engine.formulas import Syntax
from pyxl.libreoffice.engine.names import Names
from pyxl.libreoffice.engine.ranges import Range
from pyxl.libreoffice.engine.sheets import Sheets, range_at
from pyxl.libreoffice.engine.unsupported import explained
from pyxl.libreoffice.running import bridge, properties

if TYPE_CHECKING:
    from pyxl.libreoffice.engine.apps import App

FILTERS = {
    ".xlsx": "Calc MS Excel 2007 XML",
    ".xlsm": "Calc MS Excel 2007 VBA XML",
    ".ods": "calc8",
    ".xls": "MS Excel 97",
    ".csv": "Text - txt - csv (StarCalc)",
}
SPREADSHEET = "com.sun.star.sheet.SpreadsheetDocument"


@explained
class Books(base_classes.Books):
    """The open workbooks of one LibreOffice."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._known: dict[str, Book] = {}  # by LibreOffice's own number of each document
        self._foremost: str | None = None  # of those without a window

    @property
    def api(self) -> Any:
        return self.app.desktop.Components

    @property
    def current(self) -> Book | None:
        """The workbook in the foremost window, or None if there is another document or nothing.

        Where there are no windows, the one last opened, added or activated.
        """
        if self.app.started_here:
            books = list(self)
            return next((book for book in books if book.uid == self._foremost), books[0] if books else None)
        document = self.app.desktop.getCurrentComponent()
        return None if document is None or not document.supportsService(SPREADSHEET) else self._book(document)

    @property
    def active(self) -> Book:
        book = self.current
        if book is None:
            raise UserError("no workbook is open in LibreOffice")
        return book

    def __iter__(self) -> Iterator[Book]:
        documents = self.app.desktop.Components.createEnumeration()
        found = []
        while documents.hasMoreElements():
            document = documents.nextElement()
            if document.supportsService(SPREADSHEET):
                found.append(self._book(document))
        self._known = {book.uid: book for book in found}
        return iter(found)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __call__(self, name_or_index: str | int) -> Book:
        books = list(iter(self))
        if isinstance(name_or_index, str):
            for book in books:
                if book.name.lower() == name_or_index.lower():
                    return book
        elif 1 <= name_or_index <= len(books):
            return books[name_or_index - 1]
        raise KeyError(name_or_index)

    def __contains__(self, name: str) -> bool:
        return any(book.name.lower() == name.lower() for book in self)

    def put_foremost(self, book: Book) -> Book:
        self._foremost = book.uid
        return book

    def _book(self, document: Any) -> Book:
        uid: str = document.RuntimeUID
        return self._known.setdefault(uid, Book(self.app, document, uid))

    def add(self) -> Book:
        return self.put_foremost(self._book(self._load("private:factory/scalc")))

    def open(
        self, fullname: str, update_links: Any = None, read_only: bool | None = None, *others: Any, **named: Any
    ) -> Book:
        """Open the file itself; every formula is computed anew. Other options of xlwings' are Excel's alone.

        Raises `UserError` for a file that is no workbook, or that another LibreOffice has open.
        """
        if unknown := [value for value in (*others, *named.values()) if value is not None]:
            raise NotImplementedError(f"LibreOffice opens a file with no such option: {unknown}")
        path = Path(fullname).resolve()
        suffix = path.suffix.lower()
        if suffix not in FILTERS:
            raise UserError(f"{path} is no workbook: it ends in none of {', '.join(FILTERS)}")
        if suffix in (".xlsx", ".xlsm"):
            require_workbook(path)
        if not read_only:
            locks.require_unlocked(path, self.app.profile)
        self.app.touched.add(path)
        uno_error = bridge().getClass("com.sun.star.uno.Exception")
        try:
            document = self._load(path.as_uri(), FilterName=FILTERS[suffix], ReadOnly=bool(read_only))
        except uno_error as error:
            raise UserError(f"LibreOffice cannot open {path}: {error.Message or type(error).__name__}") from None
        if document is None:
            raise UserError(f"LibreOffice cannot open {path}")
        book = self.put_foremost(self._book(document))
        if not self.app.started_here:  # by the user's settings it may show what is stored
            document.calculateAll()
        return book

    def _load(self, address: str, **named: Any) -> Any:
        # With a window, even one that nobody sees, every change would draw all charts anew: 35 ms in place of 0.2.
        arguments = properties(Hidden=self.app.started_here, **named)
        return self.app.desktop.loadComponentFromURL(address, "_blank", 0, arguments)


@explained
class Book(base_classes.Book):
    """An open workbook."""

    app: App
    api: Any

    def __init__(self, app: App, document: Any, uid: str) -> None:
        self.app = app
        self.api = document
        self.uid = uid

    @cached_property
    def syntax(self) -> Syntax:
        return Syntax(self.api)

    @cached_property
    def null_date(self) -> datetime.datetime:
        date = self.api.NullDate
        return datetime.datetime(date.Year, date.Month, date.Day)

    @cached_property
    def formats(self) -> Formats:
        return Formats(self.api)

    @property
    def _path(self) -> Path | None:
        url: str = self.api.URL
        return Path(url2pathname(urlsplit(url).path)) if url else None

    @property
    def name(self) -> str:
        path = self._path
        return path.name if path else str(self.api.Title)

    @property
    def fullname(self) -> str:
        return str(self._path or self.name)

    @property
    def sheets(self) -> Sheets:
        return Sheets(self)

    @property
    def names(self) -> Names:
        return Names(self)

    @property
    def selection(self) -> Range | None:
        """The selected cells, the first area of several; None if something else is selected."""
        selected = self.api.CurrentSelection
        if selected is None:
            return None
        if selected.supportsService("com.sun.star.sheet.SheetCellRanges"):
            selected = selected.getByIndex(0) if selected.Count else None
        if selected is None or not selected.supportsService("com.sun.star.table.CellRange"):
            return None
        return range_at(self, selected.RangeAddress)

    def require_structure(self) -> None:
        """Raise `UserError` if sheets may not be added, removed or renamed."""
        if self.api.isProtected():
            raise UserError(f"the structure of {self.name} is protected: Tools > Protect Spreadsheet Structure")

    @property
    def frame(self) -> Any:
        """LibreOffice's frame around it, with its window and status bar."""
        return self.api.CurrentController.Frame

    def activate(self) -> None:
        self.frame.activate()
        self.app.books.put_foremost(self)

    def save(self, path: str | None = None, password: str | None = None) -> None:
        """Write the file, over what is there, in the format of its suffix (.xlsx, .xlsm, .ods, .xls, .csv)."""
        if password is not None:
            raise NotImplementedError("xlwings' Book.save is not available with a password on LibreOffice")
        target = Path(path).resolve() if path else self._path or Path.cwd() / f"{self.name}.xlsx"
        suffix = target.suffix.lower()
        if suffix not in FILTERS:
            raise UserError(f"cannot save as {target}: its name must end in one of {', '.join(FILTERS)}")
        if target != self._path:
            locks.require_unlocked(target, self.app.profile)
        self.app.touched.add(target)
        self._write(self.api.storeAsURL, target, FILTERS[suffix])

    def to_pdf(self, path: str, quality: str = "standard") -> None:
        self._write(self.api.storeToURL, Path(path).resolve(), "calc_pdf_Export")

    def _write(self, store: Any, target: Path, filter_name: str) -> None:
        uno_error = bridge().getClass("com.sun.star.uno.Exception")
        try:
            store(target.as_uri(), properties(FilterName=filter_name))
        except uno_error:
            raise UserError(
                f"LibreOffice cannot write {target}: is it read-only, a folder, or open elsewhere?"
            ) from None

    def close(self) -> None:
        self.api.close(True)
