"""Running a LibreOffice of our own: it shares nothing with the user's, and is gone on every way out.

Standard library only: this runs in LibreOffice's own Python too.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, current_thread, main_thread
from types import TracebackType
from typing import Any

from pyxl.errors import MissingProgram, UserError

PROGRAMS = (
    "soffice",
    "libreoffice",
    "/usr/lib/libreoffice/program/soffice",
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
    r"C:\Program Files\LibreOffice\program\soffice.exe",
)
START_LIMIT = 120.0  # seconds; it takes one or two
PROFILE_PREFIX = "solbook-"  # of the folder's name; the number of the process that made it follows
END_LIMIT = 10.0  # seconds; asked to end, it takes a tenth

# By default LibreOffice shows the values stored in a file and computes nothing: 0 is "always recalculate".
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
<prop oor:name="ODFRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""


@dataclass(frozen=True)
class Process:
    """A running LibreOffice, and the address of its profile, which it writes into the lock files of what it opens."""

    popen: subprocess.Popen[bytes]
    profile: str


def program() -> str:
    """The path of LibreOffice. Raises `UserError` if it is not installed."""
    for candidate in PROGRAMS:
        if found := shutil.which(candidate):
            return found
    raise MissingProgram("LibreOffice is not installed: see libreoffice.org, or apt install libreoffice-calc")


def _exit(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A signal to end is a way out like any other: by default it would leave LibreOffice running."""
    wanted = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]
    ours = [
        number for number in wanted if current_thread() is main_thread() and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in ours:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def running(*arguments: str) -> Iterator[Process]:
    """A LibreOffice with a profile of its own; it and its profile are gone on every way out."""
    prefix = f"{PROFILE_PREFIX}{os.getpid()}-"
    with _ended_by_signals(), TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
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
            yield Process(process, profile.as_uri())
        finally:
            if os.name == "posix":
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()


def bridge() -> Any:
    """LibreOffice's Python module, which is installed beside the system's Python, not in virtual environments.

    Raises `UserError` if it is missing or made for another version of Python.
    """
    if "uno" in sys.modules:
        return sys.modules["uno"]
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


class Office:
    """A LibreOffice of our own that answers, as a context manager: its process and its component context.

    Raises `UserError` if LibreOffice or its Python bridge is not installed, or it does not start. A class, since
    an error of UNO, being no ordinary exception, cannot pass through a generator that is a context manager.
    """

    process: Process
    context: Any

    def __enter__(self) -> Office:
        uno = bridge()
        pipe = f"solbook{secrets.token_hex(8)}"
        with ExitStack() as stack:
            self.process = stack.enter_context(running("--nodefault", f"--accept=pipe,name={pipe};urp;"))
            self.context = _connect(uno, f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext", self.process.popen)
            stack.callback(_end, self.context, self.process.popen)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def desktop(context: Any) -> Any:
    """What opens documents and knows the open ones."""
    return context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)


def struct(name: str, *values: Any) -> Any:
    """A structure of UNO's, such as `sheet.CellRangeAddress`, by its name under com.sun.star."""
    return bridge().createUnoStruct(f"com.sun.star.{name}", *values)


def properties(**named: Any) -> tuple[Any, ...]:
    """The named arguments of a call to UNO."""
    direct = bridge().Enum("com.sun.star.beans.PropertyState", "DIRECT_VALUE")
    return tuple(struct("beans.PropertyValue", name, 0, value, direct) for name, value in named.items())


def _connect(uno: Any, address: str, process: subprocess.Popen[bytes]) -> Any:
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    not_yet = uno.getClass("com.sun.star.connection.NoConnectException")
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return resolver.resolve(address)
        except not_yet:
            time.sleep(0.05)
    raise UserError("LibreOffice does not start")


def _end(context: Any, process: subprocess.Popen[bytes]) -> None:
    # Asked to end, it removes its sockets; killed, which follows in any case, it does not.
    def ask() -> None:
        with suppress(Exception):
            desktop(context).terminate()

    Thread(target=ask, daemon=True).start()  # one that hangs never answers
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_LIMIT)
