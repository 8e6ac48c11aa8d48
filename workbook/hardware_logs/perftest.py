"""perftest of linux-rdma: ib_write_bw, ib_write_lat and their sisters.

The header names the unit: Gb/sec is decimal, MB/sec has always been MiB/sec (its label was mended in 2024). The peak
column is 0 when a test runs for a time (-D): the average of each size is the rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbook.hardware_logs.numbers import agree, positive, whole
from workbook.hardware_logs.records import Latency, Log, Route, Transfer

TOOL = "perftest"
MARK = re.compile(r"#bytes\s+#iterations")

_TITLE = re.compile(r"\b(RDMA_Write|RDMA_Read|Send)\b(.*)\b(BW|Latency) Test", re.IGNORECASE)
_RATE_UNIT = re.compile(r"BW average\[([^\]]*)\]")
_RATE_COLUMNS = re.compile(r"(#bytes|#iterations|BW peak|BW average|MsgRate)(?:\[[^\]]*\])?")
_TIME_COLUMNS = re.compile(r"(#bytes|#iterations|t_min|t_max|t_typical|t_avg|t_stdev|[\d.]+% percentile)(?:\[(\w+)\])?")
_RATES = {"gb/sec": 1e9 / 8, "mb/sec": 2.0**20, "mib/sec": 2.0**20}


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every size."""
    columns: list[str] = []
    unit, test, directions = 0.0, "", 1
    for number, line in lines:
        if title := _TITLE.search(line):
            test, directions = title[1], 2 if "bidirectional" in title[2].lower() else 1
        elif MARK.search(line):
            columns, unit = _header(number, line, log)
            if "#bytes" not in columns or not {"BW average", "t_typical"} & set(columns):
                columns = []
        elif columns and line.split()[:1] and line.split()[0].isdecimal():
            cells = line.split()
            if len(cells) < len(columns):
                log.ignore(number, "row", "it is cut off")
            elif unit:
                _add(number, dict(zip(columns, cells, strict=False)), test, directions, unit, log)


def _header(number: int, line: str, log: Log) -> tuple[list[str], float]:
    if "BW average" in line:
        written = _RATE_UNIT.search(line)
        unit = _RATES.get(written[1].lower(), 0.0) if written else 0.0
        if not unit:
            log.ignore(number, "table", f"its unit is none of {', '.join(_RATES)}")
        return [match[1] for match in _RATE_COLUMNS.finditer(line)], unit
    found = list(_TIME_COLUMNS.finditer(line))
    if "t_typical[usec]" not in line:
        log.ignore(number, "table", "it has neither BW average nor t_typical[usec]")
        return [], 0.0
    return [match[1] for match in found], 1e-6


def _add(number: int, cells: dict[str, str], test: str, directions: int, unit: float, log: Log) -> None:
    size = whole(cells["#bytes"])
    rated = "BW average" in cells
    value = positive(cells["BW average" if rated else "t_typical"])
    if size is None or value is None:
        log.ignore(number, "row", "it has no size, or a rate or time of 0")
        return
    if not rated:
        log.records.append(Latency(number, Route.SCALE_OUT, f"{test} latency", value * unit, size))
        return
    messages = positive(cells.get("MsgRate", ""))
    if messages and messages > 1e-4 and not agree(value * unit, messages * 1e6 * size):
        log.doubt(number)
        return
    if directions == 2:
        test += ", half of both directions"
    if value * unit >= 1e6:  # smaller rates are printed with too few digits
        log.records.append(Transfer(number, Route.SCALE_OUT, f"{test} bandwidth", value * unit / directions, size))
