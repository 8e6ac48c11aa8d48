"""The running LibreOffices, as xlwings' apps."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import xlwings as xw
from xlwings import base_classes

from pyxl.errors import UserError
from pyxl.libreoffice.engine import locks, values
from pyxl.libreoffice.engine.books import Book, Books
from pyxl.libreoffice.engine.ranges import Range
from pyxl.libreoffice.engine.unsupported import explained
from pyxl.libreoffice.running import Office, bridge, desktop, program, properties

_engines: Any = xw.engines
_book_class: Any = xw.Book  # which keeps the book of `Book.caller()`

_log = logging.getLogger(__name__)

_OPEN_FILE, _ACCEPTED = 0, 1  # com.sun.star.ui.dialogs.TemplateDescription and ExecutableDialogResults

# com.sun.star.awt.MessageBoxButtons, and the answers by MessageBoxResults
_BUTTONS = {"ok": 1, "ok_cancel": 2, "yes_no": 3, "yes_no_cancel": 4}
_ANSWERS = {0: "cancel", 1: "ok", 2: "yes", 3: "no"}
# What stands for an answer where there is nobody to ask.
_UNASKED = {"ok": "ok", "ok_cancel": "cancel", "yes_no": "no", "yes_no_cancel": "cancel"}


class Engine:
    """What `xlwings.engines` holds: the one engine, on however many running LibreOffices."""

    name = "libreoffice"
    type = "desktop"

    def __init__(self) -> None:
        self.apps = Apps()

    clean_value_data = staticmethod(values.for_xlwings)
    prepare_xl_data_element = staticmethod(values.from_xlwings)


@explained
class Apps(base_classes.Apps):
    """The running LibreOffices that we started or run in, the last one first."""

    def __init__(self) -> None:
        self.running: list[App] = []

    def keys(self) -> list[int]:
        return [app.pid for app in self.running]

    def add(self, spec: Any = None, add_book: Any = None, xl: Any = None, visible: Any = None) -> App:
        """Another LibreOffice, without a window. It ends with `quit`, `kill`, or with this process."""
        app: App = Started().__enter__().impl
        atexit.register(app.quit)
        if add_book:
            app.books.add()
        return app

    def __iter__(self) -> Iterator[App]:
        return iter(self.running)

    def __len__(self) -> int:
        return len(self.running)

    def __getitem__(self, pid: int) -> App:
        for app in self.running:
            if app.pid == pid:
                return app
        raise KeyError(pid)

    @staticmethod
    def cleanup() -> None:
        """Nothing: each LibreOffice that we start ends by itself."""


engine = Engine()


@explained
class App(base_classes.App):
    """A running LibreOffice. One that we did not start is never ended."""

    display_alerts = True
    enable_events = True
    interactive = True
    cut_copy_mode = False

    pid: int
    books: Books
    ending: ExitStack | None = None  # what ends it, if we started it

    def __init__(self, context: Any, pid: int, profile: str, touched: set[Path]) -> None:
        self.context = context
        self.pid = pid
        self.profile = profile
        self.touched = touched  # files opened or written: each may have a lock
        self.desktop = desktop(context)
        self._status: tuple[Any, str] | None = None
        self._locked: list[Any] = []
        self.books = Books(self)

    @property
    def started_here(self) -> bool:
        return self.ending is not None

    @property
    def engine(self) -> Engine:
        return engine

    @property
    def api(self) -> Any:
        return self.desktop

    @property
    def path(self) -> str:
        return str(Path(program()).resolve().parent)

    @property
    def version(self) -> str:
        provider = self.context.ServiceManager.createInstanceWithContext(
            "com.sun.star.configuration.ConfigurationProvider", self.context
        )
        access = provider.createInstanceWithArguments(
            "com.sun.star.configuration.ConfigurationAccess", properties(nodepath="/org.openoffice.Setup/Product")
        )
        return str(access.ooSetupVersion)

    @property
    def visible(self) -> bool:
        return not self.started_here

    @visible.setter
    def visible(self, value: bool) -> None:
        # xlwings.App() asks for it unless told otherwise: one that we start stays without a window all the same.
        if not self.started_here and not value:
            raise NotImplementedError("xlwings' App.visible cannot hide the LibreOffice that runs this code")

    def activate(self, steal_focus: bool = False) -> None:
        if steal_focus and (book := self.books.current) is not None:
            book.frame.ContainerWindow.toFront()

    @property
    def selection(self) -> Range | None:
        book = self.books.current
        return None if book is None else book.selection

    @property
    def calculation(self) -> str:
        book = self.books.current
        return "automatic" if book is None or book.api.isAutomaticCalculationEnabled() else "manual"

    @calculation.setter
    def calculation(self, value: str) -> None:
        if value not in ("automatic", "manual"):
            raise NotImplementedError(f"LibreOffice calculates automatic or manual, not {value}")
        for book in self.books:
            book.api.enableAutomaticCalculation(value == "automatic")

    def calculate(self) -> None:
        for book in self.books:
            book.api.calculateAll()

    @property
    def screen_updating(self) -> bool:
        return not self._locked

    @screen_updating.setter
    def screen_updating(self, value: bool) -> None:
        if not value and not self._locked:
            self._locked = [book.api for book in self.books]
            for document in self._locked:
                document.lockControllers()
        elif value:
            for document in self._locked:
                if document in [book.api for book in self.books]:  # others were closed meanwhile
                    document.unlockControllers()
            self._locked = []

    @property
    def status_bar(self) -> str | bool:
        return self._status[1] if self._status else False

    @status_bar.setter
    def status_bar(self, value: str | bool) -> None:
        if self._status:
            self._status[0].end()
            self._status = None
        if value and value is not True and (book := self.books.current) is not None:
            indicator = book.frame.createStatusIndicator()
            indicator.start(str(value), 0)
            self._status = (indicator, str(value))

    def alert(self, prompt: str, title: str | None, buttons: str, mode: str | None, callback: str | None) -> str:
        """Show a message box; where there is no window, write to the log, and take it that nobody agreed."""
        if buttons not in _BUTTONS:
            raise ValueError(f"buttons are one of {', '.join(_BUTTONS)}, not {buttons!r}")
        _log.log(logging.ERROR if mode == "critical" else logging.INFO, "%s: %s", title or "LibreOffice", prompt)
        frame = self.desktop.getCurrentFrame()
        if frame is None:
            return _UNASKED[buttons]
        toolkit = self.context.ServiceManager.createInstanceWithContext("com.sun.star.awt.Toolkit", self.context)
        kind = "ERRORBOX" if mode == "critical" else "INFOBOX" if buttons == "ok" else "QUERYBOX"
        box = toolkit.createMessageBox(
            frame.ContainerWindow,
            bridge().Enum("com.sun.star.awt.MessageBoxType", kind),
            _BUTTONS[buttons],
            title or "LibreOffice",
            prompt,
        )
        answer = _ANSWERS[box.execute()]
        return answer if answer in buttons.split("_") else _UNASKED[buttons]

    def ask_for_file(self, title: str, suffix: str, folder: Path) -> str:
        """The file that the user chooses, at first in `folder`; an empty text where none is chosen. Not of xlwings."""
        name = "com.sun.star.ui.dialogs.FilePicker"
        picker = self.context.ServiceManager.createInstanceWithArgumentsAndContext(name, (_OPEN_FILE,), self.context)
        picker.setTitle(title)
        picker.appendFilter(f"*.{suffix}", f"*.{suffix}")
        picker.setDisplayDirectory(folder.as_uri())
        if picker.execute() != _ACCEPTED:  # as it is where there is no window
            return ""
        return str(bridge().fileUrlToSystemPath(picker.getSelectedFiles()[0]))

    def quit(self) -> None:
        """End this LibreOffice without saving. Raises `NotImplementedError` for one that we did not start."""
        if self.ending is None:
            raise NotImplementedError("LibreOffice runs this code: its windows are the user's to close")
        self.ending.close()

    kill = quit


class Started:
    """An app on a LibreOffice of its own, as a context manager."""

    def __enter__(self) -> xw.App:
        with ExitStack() as stack:
            office = Office()
            touched: set[Path] = set()
            stack.callback(_remove_locks, office, touched)  # comes last: what has ended removes nothing
            stack.enter_context(office)
            self._app = App(office.context, office.process.popen.pid, office.process.profile, touched)
            stack.callback(_forget, self._app, _engines.active)
            engine.apps.running.insert(0, self._app)
            _activate()
            self._app.ending = stack.pop_all()
        return xw.App(impl=self._app)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._app.quit()


def _remove_locks(office: Office, touched: set[Path]) -> None:
    for path in touched:
        locks.remove_own(path, office.process.profile)


def _forget(app: App, before: Any) -> None:
    engine.apps.running.remove(app)
    if not engine.apps.running:
        _engines.active = before
    caller = getattr(_book_class, "_mock_caller", None)
    if caller is not None and caller.impl.app is app:
        del _book_class._mock_caller


def _activate() -> None:
    if engine.name not in _engines.engines_by_name:
        _engines.add(xw.main.Engine(impl=engine))
    _engines.active = _engines[engine.name]


class _Caller:
    """What xlwings asks for the book of `Book.caller()`: whichever is current when it asks."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def impl(self) -> Book:
        if (book := self._app.books.current) is None:
            raise UserError("no workbook is open in LibreOffice: open one and try again")
        return book


def inside(component_context: Any) -> xw.App:
    """See `pyxl.libreoffice.engine.inside`."""
    pid = os.getpid()
    app = next((app for app in engine.apps.running if app.pid == pid), None)
    if app is None:
        app = App(component_context, pid, _profile(component_context), set())
        engine.apps.running.insert(0, app)
    _activate()
    _book_class._mock_caller = _Caller(app)
    return xw.App(impl=app)


def _profile(context: Any) -> str:
    variables = context.ServiceManager.createInstanceWithContext("com.sun.star.util.PathSubstitution", context)
    user: str = variables.getSubstituteVariableValue("$(user)")
    return user.removesuffix("/user")
