"""rocblas-bench. The number format stands on its command line only."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbook.hardware_logs import comma_tables
from workbook.hardware_logs.records import Log

TOOL = "rocblas-bench"
MARK = comma_tables.header_pattern("M", "N", "K", "rocblas-Gflops", "us")

_LAYOUT = comma_tables.Layout(time={"us": 1e-6}, rate={"rocblas-gflops": 1e9}, types=("a_type", "b_type"))
_SAID = re.compile(r"rocblas-bench .*(?:-r|--precision|--a_type)[ =](\w+)")


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every row."""
    comma_tables.read(lines, log, MARK, _LAYOUT, _SAID)
