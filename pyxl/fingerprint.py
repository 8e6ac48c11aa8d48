"""Fingerprints: whether somebody edited a file since we wrote it.

That of a workbook is of all inputs and formulas, and kept in the file's custom properties. A program that opens and
saves the file leaves it valid; whoever changes a cell does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyxl.cells import letter
from pyxl.errors import UserError
from pyxl.plan import Formula, Plan

PROPERTY = "solbook fingerprint"
ADVICE = "choose another file with -o, or overwrite it with --force"


def _digest(cells: Iterable[tuple[str, str, Any]]) -> str:
    lines = []
    for sheet, address, content in cells:
        number = isinstance(content, int | float) and not isinstance(content, bool)
        lines.append(f"{sheet}\t{address}\t{float(content)!r}" if number else f"{sheet}\t{address}\t{content}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def of_plan(plan: Plan) -> str:
    """The fingerprint of a plan's inputs and formulas."""
    return _digest(
        (sheet.title, f"{letter(column)}{row}", _as_written(content))
        for sheet in plan.sheets
        for (row, column), content in ((place, cell.content) for place, cell in sheet.cells.items())
        if content is not None and content != ""
    )


def _as_written(content: Any) -> Any:
    """A cell's content as a file keeps it: numbers with 16 digits, not the 17 that some need."""
    if isinstance(content, Formula):
        return f"={content.text}"
    return float(f"{content:.16g}") if isinstance(content, float) else content


def require_replaceable(path: Path, *, force: bool) -> None:
    """Raise `UserError` unless `path` may be overwritten: it is new, or ours and not edited, or `force` is given."""
    if path.is_dir():
        raise UserError(f"{path} is a directory: give a file name with -o")
    if not path.exists():
        return
    if not path.is_file():
        raise UserError(f"{path} is no file but a device or pipe: give a file name with -o")
    if not path.stat().st_mode & 0o222:
        raise UserError(f"{path} is read-only: allow writing to it, or choose another file with -o")
    if force:
        return
    from openpyxl import load_workbook

    from pyxl.workbook_file import read

    try:
        found = read(path).held
        with path.open("rb") as file:  # closed at once: an open file cannot be replaced on Windows
            book: Any = load_workbook(file, read_only=True)
            properties = book.custom_doc_props
    except UserError as error:
        raise UserError(f"{error}; it was not written by solbook: {ADVICE}") from None
    kept = properties[PROPERTY].value if PROPERTY in properties.names else None
    if kept is None:
        raise UserError(f"{path} was not written by solbook: {ADVICE}")
    if kept != _digest((sheet, address, content) for (sheet, address), content in found.items()):
        raise UserError(f"{path} was edited since solbook wrote it: {ADVICE}")


def signed(text: str) -> str:
    """A text whose language has comments that begin with #, with its fingerprint at the end."""
    return f"{text}# {PROPERTY}: {hashlib.sha256(text.encode()).hexdigest()}\n"


def is_signed(text: str) -> bool:
    """Whether a text is as it was signed."""
    return text == signed(text.rpartition(f"# {PROPERTY}: ")[0])


def require_replaceable_text(path: Path, *, force: bool) -> None:
    """Raise `UserError` unless a text may be overwritten: it is new, or signed and not edited, or `force` is given."""
    if not path.exists() or force:
        return
    try:
        written = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        written = ""
    if not is_signed(written):
        raise UserError(f"{path} was not written by solbook, or was edited since: {ADVICE}")
