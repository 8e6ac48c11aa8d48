"""hipblaslt-bench. Its columns vary with build and options, so they go by name; its GB/s are GiB/s and not used."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbook.hardware_logs import comma_tables
from workbook.hardware_logs.records import Log

TOOL = "hipblaslt-bench"
MARK = comma_tables.header_pattern("m", "n", "k", "hipblaslt-Gflops", "us")

_LAYOUT = comma_tables.Layout(time={"us": 1e-6}, rate={"hipblaslt-gflops": 1e9}, types=("a_type", "b_type"))
_SAID = re.compile(r"hipblaslt-bench .*(?:-r|--precision|--a_type)[ =](\w+)")
_DEVICE = re.compile(r"^Device ID \d+ : (.+)")


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every row."""
    comma_tables.read(_with_device(lines, log), log, MARK, _LAYOUT, _SAID)


def _with_device(lines: Iterable[tuple[int, str]], log: Log) -> Iterable[tuple[int, str]]:
    for number, line in lines:
        if device := _DEVICE.match(line):
            log.device = log.device or device[1].strip()
        yield number, line
