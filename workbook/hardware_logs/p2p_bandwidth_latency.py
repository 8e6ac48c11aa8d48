"""p2pBandwidthLatencyTest of the CUDA samples: matrices of GB/s (decimal) and us.

On the diagonal of a bandwidth matrix a device copies to itself, with bytes read and written counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbook.hardware_logs.matrices import Matrix, typical
from workbook.hardware_logs.records import Latency, Log, Route, Transfer

TOOL = "p2pBandwidthLatencyTest"
MARK = re.compile(r"P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test|directional P2P=(?:Enabled|Disabled)")

_TITLE = re.compile(r"^\s*(?:(Uni|Bi)directional )?P2P=(Enabled|Disabled) (Bandwidth|Latency).*\((GB/s|us)\)")
_DEVICE = re.compile(r"^Device: \d+, (.+?), pciBusID")


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for each matrix that is measured in one direction with peer access."""
    matrix: Matrix | None = None
    kind = ""
    for number, line in lines:
        if device := _DEVICE.match(line):
            log.device = log.device or device[1]
        elif "CANNOT Access Peer" in line:
            log.ignore(number, "CANNOT Access Peer", "these pairs copy through the host")
        elif title := _TITLE.match(line):
            _add(matrix, kind, log)
            matrix, kind = Matrix(number, line.strip()), title[3]
            if title[1] == "Bi" or title[2] == "Disabled":
                why = "both directions are added up" if title[1] == "Bi" else "copies through the host"
                log.ignore(number, matrix.title, why)
                matrix = None
        elif line.split()[:1] == ["CPU"]:
            _add(matrix, kind, log)  # the second matrix of latencies is what the host waits
            matrix = None
        elif matrix:
            matrix.add(line.split())
    _add(matrix, kind, log)


def _add(matrix: Matrix | None, kind: str, log: Log) -> None:
    if matrix is None:
        return
    pairs = matrix.values(diagonal=False)
    if pairs and any(what == "CANNOT Access Peer" for what, _ in log.ignored):
        log.ignore(matrix.line, matrix.title, "some pairs have no peer access")
        pairs = []
    if kind == "Latency":
        if pairs:
            value, how = typical(pairs)
            log.records.append(Latency(matrix.line, Route.SCALE_UP, f"latency of pairs, {how}", value * 1e-6))
        return
    if pairs:
        value, how = typical(pairs)
        log.records.append(Transfer(matrix.line, Route.SCALE_UP, f"copy between pairs, {how}", value * 1e9))
    if own := matrix.values(diagonal=True):
        value, how = typical(own)
        what = f"copy within a device, {how}"
        log.records.append(Transfer(matrix.line, Route.MEMORY, what, value * 1e9, firsthand=False))
