"""Matrices from device to device, as nvbandwidth and p2pBandwidthLatencyTest print them."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from workbook.hardware_logs.numbers import positive


@dataclass
class Matrix:
    """The numbers of one matrix and the line that they begin on."""

    line: int
    title: str
    rows: dict[int, list[str]] = field(default_factory=dict)

    def add(self, tokens: list[str]) -> bool:
        """Take a row: its index, then a cell for each column. Whether it was one."""
        if len(tokens) < 2 or not tokens[0].isdecimal() or len(tokens[0]) > 4:
            return False
        if tokens == [str(index) for index in range(len(tokens))]:
            return False  # the head of the columns
        if not all(token == "N/A" or token.replace(".", "", 1).isdecimal() for token in tokens[1:]):
            return False
        self.rows.setdefault(int(tokens[0]), tokens[1:])
        return True

    def values(self, *, diagonal: bool | None = None) -> list[float]:
        """The positive cells: those on the diagonal, those off it, or all. 0.00 and N/A were not measured."""
        found = [
            positive(cell)
            for row, cells in self.rows.items()
            for column, cell in enumerate(cells)
            if diagonal is None or (row == column) is diagonal
        ]
        return [value for value in found if value is not None]


def typical(values: list[float]) -> tuple[float, str]:
    """The median, and in words of how many values and between which it is."""
    if len(values) == 1:
        return values[0], "one value"
    return median(values), f"median of {len(values)}, {min(values):.4g} to {max(values):.4g}"
