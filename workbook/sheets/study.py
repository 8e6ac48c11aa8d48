"""Study: the study file that the workbook was built from, so that an audit can tell what was changed since."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyxl.errors import UserError
from pyxl.fingerprint import is_signed, signed
from pyxl.layout.header import FIRST_ROW, start
from pyxl.plan import Sheet
from workbook import __version__
from workbook.study import Study, parsed
from workbook.study_text import study_text

TITLE = "Study"
PROTECT, ADDIN = "--protect", "--addin"
_BUILT = re.compile(r"# solbook (?P<version>\S+): solbook build STUDY\.toml(?P<options>.*)")


def sheet(study: Study, options: tuple[str, ...]) -> Sheet:
    """The study as text, a line per row, signed."""
    laid_out = start(
        TITLE,
        "The study as built",
        "What this workbook was built from, as a study file. `solbook audit` compares with it: leave it as it is.",
    )
    built = " ".join((f"# solbook {__version__}: solbook build STUDY.toml", *options))
    for row, line in enumerate(signed(f"{built}\n{study_text(study)}").splitlines(), start=FIRST_ROW + 1):
        laid_out.put(row, 1, line or None, "text")
    laid_out.widths[1] = 160
    return laid_out


class Record:
    """What the sheet Study of a workbook says: the study, the options of its build, and whether it was edited."""

    def __init__(self, cells: Mapping[tuple[int, int], Any]) -> None:
        rows = [row for row, column in cells if column == 1 and row > FIRST_ROW]
        lines = (str(cells.get((row, 1), "")) for row in range(FIRST_ROW + 1, max(rows, default=FIRST_ROW) + 1))
        self.text = "".join(f"{line}\n" for line in lines)
        first = _BUILT.match(self.text)
        self.options = tuple(first["options"].split()) if first else ()
        self.version = first["version"] if first else ""

    @property
    def is_intact(self) -> bool:
        """Whether nobody edited it."""
        return is_signed(self.text)


def recorded(text: str) -> Study:
    """The study of a record's text. Raises `UserError` where there is none, or it is no longer one."""
    if not text:
        raise UserError(f"there is no sheet '{TITLE}', or it is empty")
    return parsed(text, f"the sheet {TITLE}")
