"""A LibreOffice of its own with the extension, installed as its users do: not as root, which LibreOffice refuses."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest import mock

from pyxl.libreoffice import extension
from pyxl.libreoffice.extension import Extension, extension_bytes
from pyxl.libreoffice.running import bridge, program, properties
from workbook.addin.libreoffice import IDENTIFIER

USER = "nobody"
START_LIMIT = 60.0
MENU = f"{IDENTIFIER}.Menu"


@dataclass
class Office:
    """A running LibreOffice with the extension: its context and an empty document."""

    context: Any
    folder: Path
    document: Any

    def service(self, name: str, *arguments: Any) -> Any:
        manager = self.context.ServiceManager
        if arguments:
            return manager.createInstanceWithArgumentsAndContext(name, arguments, self.context)
        return manager.createInstanceWithContext(name, self.context)

    @property
    def sheet(self) -> Any:
        return self.document.Sheets.getByIndex(0)

    def opened(self, path: Path) -> Any:
        """A copy of the workbook, which the user may change, in a window of its own."""
        copy = self.folder / path.name
        shutil.copyfile(path, copy)
        copy.chmod(0o644)
        if os.geteuid() == 0:
            shutil.chown(copy, USER)
        return opened(self.service("com.sun.star.frame.Desktop"), copy.as_uri())

    def click(self, document: Any, command: str) -> None:
        """What a menu entry does."""
        frame = document.CurrentController.Frame
        frame.activate()
        self.service("com.sun.star.frame.DispatchHelper").executeDispatch(frame, command, "", 0, ())

    def shown(self, formula: str) -> str:
        """What a cell with the formula shows."""
        cell = self.sheet.getCellRangeByName("Z1")
        cell.Formula = formula
        return str(cell.String)

    def rows(self, area: str, formula: str) -> Any:
        """The values of an array formula."""
        cells = self.sheet.getCellRangeByName(area)
        cells.setArrayFormula(formula)
        try:
            return cells.getDataArray()
        finally:
            cells.setArrayFormula("")

    def write(self, area: str, rows: Any) -> None:
        self.sheet.getCellRangeByName(area).setDataArray(rows)


def as_user(folder: Path, *command: str) -> list[str]:
    """The command, as a user whose home is the folder, with no Python of ours on its path."""
    home = ["env", "-u", "PYTHONPATH", f"HOME={folder}", f"TMPDIR={folder}", "LC_ALL=C.UTF-8", *command]
    return ["runuser", "-u", USER, "--", *home] if os.geteuid() == 0 else home


def profile(folder: Path) -> str:
    return f"-env:UserInstallation={(folder / 'profile').as_uri()}"


@contextmanager
def started(folder: Path) -> Iterator[Office]:
    uno = bridge()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"socket,host=127.0.0.1,port={free.getsockname()[1]};urp"
    options = ("--headless", "--norestore", "--nologo", "--nodefault", f"--accept={address};")
    process = subprocess.Popen(
        as_user(folder, program(), profile(folder), *options),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        local = uno.getComponentContext()
        resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
        context, deadline = None, time.monotonic() + START_LIMIT
        while context is None:
            try:
                context = resolver.resolve(f"uno:{address};StarOffice.ComponentContext")
            except uno.getClass("com.sun.star.connection.NoConnectException"):
                assert time.monotonic() < deadline, "LibreOffice does not start"
                time.sleep(0.05)
        desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
        yield Office(context, folder, opened(desktop, "private:factory/scalc"))
        with suppress(Exception):
            desktop.terminate()
            process.wait(10)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def opened(desktop: Any, url: str) -> Any:
    return desktop.loadComponentFromURL(url, "_blank", 0, properties(Hidden=True))


@contextmanager
def installed(make: Callable[[Path], Extension]) -> Iterator[Path]:
    """The home of a user who has the extension that is made for it."""
    home = Path(mkdtemp(prefix="solbook-"))
    path = home / "solbook.oxt"
    path.write_bytes(extension_bytes(make(home)))
    run = subprocess.run
    try:
        with ExitStack() as patches:
            if os.geteuid() == 0:
                shutil.chown(home, USER)
                patches.enter_context(mock.patch.object(extension, "_require_user", return_value=None))
            as_home = lambda command, **rest: run(as_user(home, *command), **rest)  # noqa: E731
            patches.enter_context(mock.patch.object(extension.subprocess, "run", as_home))
            extension.install(path, profile(home))
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
