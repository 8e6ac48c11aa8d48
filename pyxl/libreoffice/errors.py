"""LibreOffice's error numbers, as the texts that a spreadsheet shows."""

from __future__ import annotations

_TEXTS = {502: "#VALUE!", 503: "#NUM!", 519: "#VALUE!", 524: "#REF!", 525: "#NAME?", 532: "#DIV/0!", 32767: "#N/A"}


def error_text(number: int) -> str:
    """What a workbook holds for the error: LibreOffice writes every other error as "#VALUE!"."""
    return _TEXTS.get(number, "#VALUE!")
