"""Zip archives, which Office files and extensions are: their parts by name. Equal parts give equal bytes."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO

FIXED_TIME = (1980, 1, 1, 0, 0, 0)
READABLE = 0o644 << 16


def parts(package: bytes) -> dict[str, bytes]:
    """All parts by name, in their order."""
    with zipfile.ZipFile(BytesIO(package)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(contents: Mapping[str, bytes]) -> bytes:
    """A file of these parts. Equal parts give equal bytes."""
    output = BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, FIXED_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = READABLE
            archive.writestr(info, data)
    return output.getvalue()


def replaced(data: bytes, old: bytes, new: bytes) -> bytes:
    """The bytes with `new` in the one place of `old`. Raises `ValueError` where there is not exactly one."""
    if data.count(old) != 1:
        raise ValueError(f"{old!r} stands {data.count(old)} times, not once")
    return data.replace(old, new)
