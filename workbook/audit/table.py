"""Findings as rows of a table."""

from __future__ import annotations

from typing import Any

from pyxl.cells import whole
from workbook.audit.findings import Finding

HEADS = ("What", "Where", "Quantity", "Strategies", "In words", "As built", "Now", "Unit")
WIDTHS = (24, 22, 34, 40, 90, 30, 30, 12)


def row(finding: Finding) -> tuple[Any, ...]:
    """The cells of a finding below `HEADS`."""
    values = (whole(each) if isinstance(each, int | float) else _text(each) for each in (finding.old, finding.new))
    strategies = ", ".join(finding.strategies)
    return (finding.kind.value, finding.where, finding.quantity, strategies, finding.text, *values, finding.unit)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
