"""Stored values and reproducible bytes: a pass over the saved file.

openpyxl stores no results beside formulas, so previews, pandas and protected view would show nothing. This
pass puts the values that Python computed beside each formula, and fixes all times, so that equal input
gives an equal file. It changes nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from xml.sax.saxutils import escape

from pyxl.archive import packed, parts
from pyxl.plan import Value
from pyxl.quantity import Failure

CORE_PROPERTIES = "docProps/core.xml"
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")
_CELL = re.compile(rb'^<c r="([A-Z]+\d+)"([^>]*)>(<f(?: [^>]*)?>[^<]*</f>|<f(?: [^>]*)?/>)(?:<v ?/>|<v></v>)')
_TYPE = re.compile(rb' t="[^"]*"')


def _encode(value: Value) -> tuple[str, str] | None:
    """Cell type and text as the file format wants them; None where nothing can be stored."""
    if isinstance(value, bool):
        return "b", str(int(value))
    if isinstance(value, Failure):
        return "e", value.code
    if isinstance(value, str):
        return "str", value
    if isinstance(value, int | float) and math.isfinite(value):
        return "", repr(float(value)) if isinstance(value, float) else str(value)
    return None


def _patch(sheet: bytes, values: Mapping[str, Value]) -> bytes:
    # Split first: one regular expression over a whole sheet takes quadratic time.
    head, *cells = sheet.split(b'<c r="')
    patched = [head]
    for tail in cells:
        cell = b'<c r="' + tail
        match = _CELL.match(cell)
        stored = _encode(values.get(match[1].decode())) if match else None
        if match and stored:
            kind, text = stored
            attributes = _TYPE.sub(b"", match[2]) + (f' t="{kind}"'.encode() if kind else b"")
            cell = b"".join(
                [
                    b'<c r="',
                    match[1],
                    b'"',
                    attributes,
                    b">",
                    match[3],
                    b"<v>",
                    escape(text).encode(),
                    b"</v>",
                    cell[match.end() :],
                ]
            )
        patched.append(cell)
    return b"".join(patched)


def with_stored_values(file: bytes, values: Mapping[str, Mapping[str, Value]]) -> bytes:
    """The workbook with a stored value beside each formula; `values` is by part name and cell address."""
    contents = parts(file)
    for name, stored in values.items():
        contents[name] = _patch(contents[name], stored)
    # openpyxl always writes the time of saving
    contents[CORE_PROPERTIES] = _MODIFIED.sub(rb"\g<1>2000-01-01T00:00:00Z\g<2>", contents[CORE_PROPERTIES])
    return packed(contents)
