"""Workbook files that a user hands in."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from pyxl.errors import UserError

OLE2_HEADER = bytes.fromhex("D0CF11E0A1B11AE1")
WORKBOOK_PART = "xl/workbook.xml"
XML_PARTS = (".xml", ".rels", ".vml")
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # that Office knows
LARGEST_CONTENT = 100_000_000  # bytes once unpacked; a workbook of ours with 200,000 rows of the user's has 47 million
MOST_PIECES = 9_000_000  # attributes of XML, and elements, which take twice their memory; such a workbook has 8 million
CHUNK = 1_000_000

SAVE = "open it in Excel or LibreOffice and save it as .xlsx"
MEND = "open it in Excel, which can repair it, or take another copy"


def require_workbook(path: Path) -> None:
    """Raise `UserError`, saying in one line why, unless `path` is an Excel workbook that can be read whole."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            why = "Is a directory" if path.is_dir() else "it is a device or a pipe, no file"
            raise UserError(f"cannot read {path}: {why}")
        with path.open("rb") as file:
            header = file.read(len(OLE2_HEADER))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    if header == OLE2_HEADER:
        raise UserError(f"{path} is encrypted or an old .xls file: save it as .xlsx without a password")
    if not header.startswith(b"PK"):
        raise UserError(f"{path} is no Excel workbook (.xlsx): {SAVE}")
    try:
        with zipfile.ZipFile(path) as archive:
            _require_bounded(path, archive)
            parts = archive.namelist()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise UserError(f"{path} is damaged or cut off: {error}: {MEND}") from error
    if WORKBOOK_PART not in parts:
        raise UserError(f"{path} is no Excel workbook (.xlsx), it has no {WORKBOOK_PART}: {SAVE}")


def _require_bounded(path: Path, archive: zipfile.ZipFile) -> None:
    """Read every part once: what is damaged shows here, and what would fill the memory."""
    if sum(part.file_size for part in archive.infolist()) > LARGEST_CONTENT:
        size = LARGEST_CONTENT // 1_000_000
        raise UserError(f"{path} unpacks to more than {size} MB: take out sheets, rows or pictures that are not ours")
    pieces = 0
    for part in archive.infolist():
        if part.compress_type not in METHODS:
            raise ValueError(f"{part.filename} is packed in a way that Office does not know")
        with archive.open(part) as stream:
            while chunk := stream.read(CHUNK):
                if part.filename.lower().endswith(XML_PARTS):
                    pieces += 2 * (chunk.count(b"<") - chunk.count(b"</")) + chunk.count(b'="') + chunk.count(b"='")
                if pieces > MOST_PIECES:
                    raise UserError(f"{path} has too many cells to be read: take out sheets or rows that are not ours")
