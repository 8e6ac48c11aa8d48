"""From logs to the numbers that a hardware file can take."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pyxl.errors import UserError
from workbook.hardware_logs import reading
from workbook.hardware_logs.findings import Taken, take
from workbook.hardware_logs.hardware_file import known
from workbook.hardware_logs.records import Supplied


def read(paths: Iterable[Path], supplied: Supplied, into: Path | None) -> tuple[Taken, str]:
    """What logs give to a hardware file (new, or with the peaks that it has), and the device that they name.

    Raises `UserError` for the first log that is not right.
    """
    have = known(into) if into else {}
    logs = {log.digest: log for log in (reading.read(path, supplied) for path in paths)}
    return take(logs.values(), have), next((log.device for log in logs.values() if log.device), "")


def require_numbers(taken: Taken) -> None:
    """Raise `UserError` where nothing was taken, saying what would help."""
    if not taken.findings:
        questions = "; ".join(dict.fromkeys(taken.questions))
        raise UserError(questions or "nothing in these logs is a number of a hardware file: see why above")
