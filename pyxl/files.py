"""Workbook files that a user hands in."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from pyxl.errors import UserError

OLE2_HEADER = bytes.fromhex("D0CF11E0A1B11AE1")
WORKBOOK_PART = "xl/workbook.xml"
LARGEST_CONTENT = 500_000_000  # bytes once unpacked


def require_workbook(path: Path) -> None:
    """Raise `UserError`, saying in one line why, unless `path` is an Excel workbook that can be read whole."""
    try:
        with path.open("rb") as file:
            header = file.read(len(OLE2_HEADER))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    if header == OLE2_HEADER:
        raise UserError(f"{path} is encrypted or an old .xls file: save it as .xlsx without a password")
    if not header.startswith(b"PK"):
        raise UserError(f"{path} is no Excel workbook (.xlsx)")
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.namelist()
            if sum(part.file_size for part in archive.infolist()) > LARGEST_CONTENT:
                raise UserError(
                    f"{path} unpacks to more than {LARGEST_CONTENT // 1_000_000} MB: it is no workbook of ours"
                )
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise UserError(f"{path} is damaged or cut off: {error}") from error
    if damaged:
        raise UserError(f"{path} is damaged: {damaged} cannot be read")
    if WORKBOOK_PART not in parts:
        raise UserError(f"{path} is no Excel workbook (.xlsx): it has no {WORKBOOK_PART}")
