"""Findings as rows of a table."""

from __future__ import annotations

from typing import Any

from pyxl.cells import whole
from workbook.audit.findings import Finding

HEADS = ("What", "Where", "Quantity", "Strategies", "In words", "As built", "Now", "Unit")
LONGEST_TEXT = 1_000  # characters: a cell may hold 32,767
WIDTHS = (24, 22, 34, 40, 90, 30, 30, 12)


def row(finding: Finding) -> tuple[Any, ...]:
    """The cells of a finding below `HEADS`."""
    values = (whole(each) if isinstance(each, int | float) else printable(each) for each in (finding.old, finding.new))
    texts = map(printable, (finding.where, finding.quantity, ", ".join(finding.strategies), finding.text))
    return (finding.kind.value, *texts, *values, finding.unit)


def printable(value: Any) -> str:
    """A text of bounded length without characters that steer a terminal, or that no workbook may hold."""
    text = "" if value is None else str(value)
    text = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ..."
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)
