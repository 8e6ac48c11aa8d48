"""nvbandwidth, text and JSON (`-j`): copies between devices, host and within a device. GB/s is decimal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from workbook.hardware_logs.matrices import Matrix, typical
from workbook.hardware_logs.records import Log, Route, Transfer

TOOL = "nvbandwidth"
MARK = re.compile(r"^nvbandwidth Version|^Running \w+_(?:ce|sm|total)\.$|^SUM \w+_(?:ce|sm|total) ")

_RUNNING = re.compile(r"^Running (\w+)\.")
_DEVICE = re.compile(r"^Device \d+: (.+?) \(")
_UNIT = re.compile(r"\((GB/s|ns)\)\s*$")


def recognises(content: dict[str, Any]) -> bool:
    """Whether a JSON object is of this tool."""
    return isinstance(content.get("nvbandwidth"), dict)


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every test: the median of its matrix."""
    matrix: Matrix | None = None
    unit = ""
    for number, line in lines:
        if device := _DEVICE.match(line):
            log.device = log.device or device[1]
        elif running := _RUNNING.match(line):
            _add(matrix, unit, log)
            matrix, unit = Matrix(number, running[1]), ""
        elif line.startswith("SUM "):
            log.ignore(number, "SUM", "a sum over pairs is no bandwidth of one")
        elif line.startswith(("Waived", "ERROR", "[ERROR]")) and matrix and not matrix.rows:
            log.ignore(number, matrix.title, "the tool could not run it")
            matrix = None
        elif found := _UNIT.search(line):
            unit = found[1]
        elif matrix and unit:
            matrix.add(line.split())
    _add(matrix, unit, log)


def read_json(content: dict[str, Any], log: Log) -> None:
    """Add a record for every test case that passed."""
    report = content["nvbandwidth"]
    devices = report.get("GPU Device list")
    if isinstance(devices, list) and devices:
        log.device = str(devices[0]).partition(": ")[2].partition(" (")[0] or str(devices[0])
    cases = report.get("testcases")
    for number, case in enumerate(cases if isinstance(cases, list) else [], 1):
        rows = case.get("bandwidth_matrix") if isinstance(case, dict) else None
        if not isinstance(case, dict) or not isinstance(rows, list) or case.get("status", "Passed") != "Passed":
            log.ignore(number, "test case", "it has no matrix or did not pass")
            continue
        unit = _UNIT.search(str(case.get("bandwidth_description", "")))
        matrix = Matrix(number, str(case.get("name")))
        for index, row in enumerate(rows):
            matrix.add([str(index), *map(str, row if isinstance(row, list) else [])])
        _add(matrix, unit[1] if unit else "", log)


def _add(matrix: Matrix | None, unit: str, log: Log) -> None:
    if matrix is None:
        return
    if unit != "GB/s":
        why = "the latency of a load, not of a message" if unit == "ns" else "no unit (GB/s) stands above it"
        log.ignore(matrix.line, matrix.title, why)
        return
    test = matrix.title
    between = "device_to_device" in test
    values = matrix.values(diagonal=False if between and len(matrix.rows) > 1 else None)
    if not values:
        log.ignore(matrix.line, test, "it has no numbers")
        return
    rate, how = typical(values)
    route, what = Route.OTHER, f"{test}, {how}"
    if "bidirectional" in test:
        what += ", both directions"
    elif between:
        route = Route.SCALE_UP
    elif test.startswith("device_local_copy"):
        route, rate, what = Route.MEMORY, 2 * rate, f"{what}; doubled: read and written"
    log.records.append(Transfer(matrix.line, route, what, rate * 1e9, firsthand=route is not Route.MEMORY))
