"""Evaluating with LibreOffice, the spreadsheet that users have.

A LibreOffice of its own converts a copy of the file, which needs the program only; it does not touch the user's
profile, open windows or file.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from pyxl.cells import Formula, Place, Value
from pyxl.errors import UserError
from pyxl.evaluators import COPY_NAME, NO_EDITS, edited_copy, plain
from pyxl.libreoffice.running import running
from pyxl.workbook_file import read

TIME_LIMIT = 120.0  # seconds; a conversion takes one or two
WORKBOOK_FILTER = "Calc MS Excel 2007 XML"


def evaluate(path: Path, edits: Mapping[Place, Value] = NO_EDITS, time_limit: float = TIME_LIMIT) -> dict[Place, Value]:
    """The value of every cell that is not empty; see `pyxl.evaluators`.

    Raises `UserError` too if LibreOffice takes longer than `time_limit` seconds. The square root and the
    logarithm of a negative number are "#VALUE!": that is how LibreOffice writes them to a workbook.
    """
    with edited_copy(path, edits) as copy:
        out = copy.parent / "out"
        with running("--convert-to", f"xlsx:{WORKBOOK_FILTER}", "--outdir", str(out), str(copy)) as process:
            try:
                process.popen.wait(time_limit)
            except subprocess.TimeoutExpired:
                raise UserError(f"LibreOffice did not finish {path} within {time_limit:g} seconds") from None
        if not (out / COPY_NAME).exists():
            raise UserError(f"LibreOffice cannot open {path}")
        values = {place: plain(value) for place, value in read(out / COPY_NAME).stored.items()}
        # A formula that gives an empty text leaves no value in the file.
        return {place: "" for place, content in read(copy).held.items() if isinstance(content, Formula)} | values
