"""BabelStream: memory bandwidth by kernel, in the unit of the header: MBytes/sec decimal, MiBytes/sec binary.

Its times have too few digits to recompute a rate from; bytes read and written are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyxl.errors import UserError
from workbook.hardware_logs.numbers import positive
from workbook.hardware_logs.records import Log, Route, Transfer

TOOL = "BabelStream"
MARK = re.compile(r"^BabelStream\b|^Function\s+Mi?Bytes/sec")

_HEADER = re.compile(r"^Function\s+(\w+/sec)")
_DEVICE = re.compile(r"^Using \w+ device (.+)")
_KERNELS = ("Copy", "Mul", "Add", "Triad", "Dot")
_UNITS = {"MBytes/sec": 1e6, "MiBytes/sec": 2.0**20, "GBytes/sec": 1e9, "GiBytes/sec": 2.0**30}


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for each kernel. Raises `UserError` where the run failed its own checks."""
    unit = 0.0
    for number, line in lines:
        cells = line.split()
        if header := _HEADER.match(line):
            unit = _UNITS.get(header[1], 0.0)
            if not unit:
                log.ignore(number, "table", f"its unit is none of {', '.join(_UNITS)}")
        elif device := _DEVICE.match(line):
            log.device = device[1].strip()
        elif "Validation failed" in line:
            raise UserError(f"{log.name}:{number}: validation failed: the run is not to be trusted")
        elif unit and cells and cells[0] in _KERNELS:
            rate = positive(cells[1]) if len(cells) > 1 else None
            if rate is None:
                log.ignore(number, cells[0], "it has no rate")
            elif cells[0] == "Dot":
                log.ignore(number, "Dot", "it only reads: training writes too")
            else:
                log.records.append(Transfer(number, Route.MEMORY, f"{cells[0]} kernel", rate * unit))
