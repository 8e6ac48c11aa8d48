"""One's own CSV of matrix multiplications: m, n, k and a time that names its unit; dtype, batch and rate if there are.

A row may be told from another tool's: a rate that does not fit its sizes and time is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbook.hardware_logs import comma_tables
from workbook.hardware_logs.records import Log

TOOL = "GEMM table"

_TIMES = {"time_us": 1e-6, "us": 1e-6, "time_ms": 1e-3, "ms": 1e-3, "time_s": 1.0, "seconds": 1.0}
_RATES = {"tflops": 1e12, "tflop/s": 1e12, "gflops": 1e9, "gflop/s": 1e9}
_LAYOUT = comma_tables.Layout(time=_TIMES, rate=_RATES, types=("dtype",))
MARK = re.compile(
    comma_tables.header_pattern("m", "n", "k").pattern + rf"(?=.*[,;\t\s\"]({'|'.join(_TIMES)})(?:[,;\t\"]|\s*$))",
    re.IGNORECASE,
)


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every row."""
    comma_tables.read(lines, log, MARK, _LAYOUT, None)
