"""Validation: published training runs against their lower bounds, by source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyxl.layout.header import FIRST_ROW, start
from pyxl.plan import Sheet
from workbook.validation import shipped_report

HEADS = ("Source", "Rows", "Compared", "Faster than the bound", "Least", "10 %", "Median", "90 %", "Most")
DISTRIBUTION = ("min", "p10", "median", "p90", "max")


def sheet() -> Sheet:
    """The sheet: numbers of the version that wrote it, not formulas."""
    validation = start(
        "Validation",
        "Validation",
        "Measured step time over the lower bound at datasheet rates, of published training runs: below 1 a bound would "
        "be wrong. `solbook validate` computes it, with every row.",
    )
    validation.widths.update({1: 60, **dict.fromkeys(range(2, len(HEADS) + 1), 13)})
    report, row = shipped_report(), FIRST_ROW + 1
    validation.put_row(row, 1, list(HEADS), "header")
    validation.heights[row] = 32
    for name, summary in {**report["sources"], "All": report["total"]}.items():
        row += 1
        _line(validation, row, name, summary)
    row += 2
    validation.put_row(row, 1, ["Rows that are not compared, and why", "Rows"], "header")
    for reason, count in report["total"]["unsupported"].items():
        row += 1
        validation.put(row, 1, reason, "prose")
        validation.put(row, 2, count, "constant")
        validation.fit_height(row)
    return validation


def _line(validation: Sheet, row: int, name: str, summary: Mapping[str, Any]) -> None:
    validation.put(row, 1, name, "label")
    for column, key in enumerate(("rows", "supported", "violations"), start=2):
        validation.put(row, column, summary[key], "constant")
    for column, key in enumerate(DISTRIBUTION, start=5):
        if (ratio := summary["measured_over_bound"].get(key)) is not None:
            validation.put(row, column, ratio, "constant", "0.00")
