"""Findings as rows of a table."""

from __future__ import annotations

from typing import Any

from workbook.audit.findings import Finding

HEADS = ("What", "Where", "Quantity", "Strategies", "In words", "As built", "Now", "Unit")
WIDTHS = (24, 22, 34, 40, 90, 30, 30, 12)


def row(finding: Finding) -> tuple[Any, ...]:
    """The cells of a finding below `HEADS`."""
    values = (value if isinstance(value, int | float) else _text(value) for value in (finding.old, finding.new))
    strategies = ", ".join(finding.strategies)
    return (finding.kind.value, finding.where, finding.quantity, strategies, finding.text, *values, finding.unit)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
