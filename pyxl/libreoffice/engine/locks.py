"""Lock files, by which LibreOffice keeps others from a file that it has open: `.~lock.x.xlsx#` beside x.xlsx.

Whoever ends without closing its files leaves them behind, and LibreOffice then opens nothing, without a word.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pyxl.errors import UserError
from pyxl.libreoffice.running import PROFILE_PREFIX


class _Owner(NamedTuple):
    user: str
    host: str
    since: str
    profile: str


def lock_file(path: Path) -> Path:
    """Where the lock of a file stands."""
    return path.with_name(f".~lock.{path.name}#")


def require_unlocked(path: Path, profile: str) -> None:
    """Remove the lock of a LibreOffice that has ended; raise `UserError` for one that may be running.

    `profile` is the address of the profile of the LibreOffice that is to open the file, and has not yet.
    """
    owner = _owner(lock_file(path))
    if owner is None:
        return
    if owner.profile == profile or (owner.host == socket.gethostname() and _ended(owner.profile)):
        lock_file(path).unlink(missing_ok=True)
        return
    raise UserError(
        f"{path} is open in another LibreOffice ({owner.user} on {owner.host} since {owner.since}):"
        f" close it there, or delete {lock_file(path)} if it is not"
    )


def remove_own(path: Path, profile: str) -> None:
    """Remove the lock that the LibreOffice with this profile left, if it did."""
    owner = _owner(lock_file(path))
    if owner is not None and owner.profile == profile:
        lock_file(path).unlink(missing_ok=True)


def _owner(lock: Path) -> _Owner | None:
    try:
        text = lock.read_text(encoding="utf-8").rstrip(";\n")
    except (OSError, UnicodeDecodeError):
        return None
    fields = [re.sub(r"\\(.)", r"\1", field) for field in re.split(r"(?<!\\),", text)]
    full, login, host, since, profile = (fields + [""] * 5)[:5]
    return _Owner(full or login, host, since, profile)


def _ended(profile: str) -> bool:
    """Whether the LibreOffice with this profile is one of ours, and whoever started it is gone."""
    folder = Path(url2pathname(urlsplit(profile).path))
    started_by = re.fullmatch(rf"{PROFILE_PREFIX}(\d+)-\w+", folder.name)
    if started_by is None:
        return False
    if not folder.exists():
        return True
    if os.name != "posix":  # elsewhere asking whether a process runs ends it
        return False
    try:
        os.kill(int(started_by[1]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
