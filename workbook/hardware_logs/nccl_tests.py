"""nccl-tests and rccl-tests, text: `all_reduce_perf` and its sisters, through any launcher that tags lines.

Columns are found from the right by the header's names, since alltoall and sendrecv leave redop blank, and old builds
have no root. Bandwidth is recomputed from size and time: old all_gather builds print algbw scaled already.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from pyxl.errors import UserError
from workbook.hardware_logs.numbers import agree, positive, whole
from workbook.hardware_logs.records import ONCE, UNKNOWN_GATHER, Collective, Log, bus_factor

TOOL = "nccl-tests"
MARK = re.compile(r"\bsize\b.*time\b.*\balgbw\b.*\bbusbw\b")

_TAG = re.compile(r"\[\d+(?:,\d+)?\](?:<\w+>:?)?")
_TYPES = r"u?int(?:8|32|64)|half|float|double|bfloat16|f(?:p8_?)?8?e[45]m[23]"
_ROW = re.compile(rf"(?<![\w.,])(\d[\d,_]*)\s+(\d[\d,_]*)\s+({_TYPES})\s+(.+)")
_RANK = re.compile(r"\bRank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)")
_TEST = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoall|sendrecv|broadcast|reduce|gather|scatter)_perf\b")
_FAILED = re.compile(r"Out of bounds values\s*:\s*(\d+)\s+FAILED|Test (?:NCCL|CUDA) failure|Test failure")
_UNITS = re.compile(r"\(B\).*\((us|ms|s)\)")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d(?:\.\d+)?")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_OPTIONAL = ("redop", "root")
_BLOCK = ["time", "algbw", "busbw", "#wrong"]
CHECKED = 0.1  # GB/s: a smaller rate has too few digits to contradict a time
_VISIBLE = 1.0  # GB/s: a rate printed with two digits tells the ratio from here on
_ROUNDING = 0.005
_LARGEST_ERROR = 0.1  # old builds print the largest deviation, which rounding makes nonzero


class _Run:
    """One test: its rows until the next header."""

    def __init__(self, kind: str | None, hosts: dict[int, str], columns: list[str]) -> None:
        self.kind, self.hosts, self.columns = kind, hosts, columns
        self.rows: list[tuple[int, int, float, float, float]] = []  # line, bytes, seconds, algbw, busbw as printed


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every row, out of place and in place. Raises `UserError` where the run failed its own checks."""
    runs: list[_Run] = []
    kind: str | None = None
    hosts: dict[int, str] = {}
    seconds = _SECONDS["us"]
    finished = False
    for number, tagged in lines:
        line = _TAG.sub(" ", tagged)
        if failed := _FAILED.search(line):
            raise UserError(f"{log.name}:{number}: the run failed ({failed[0]}): its times are not to be trusted")
        if test := _TEST.search(line):
            kind = test[1]
            if runs and "concluded" in line:
                runs[-1].kind, kind = kind, None
        if MARK.search(line):
            runs.append(_Run(kind, hosts, _columns(line)))
            kind, hosts, finished = None, {}, False
        elif rank := _RANK.search(line):
            hosts[int(rank[1][:9])] = rank[2]
            log.device = log.device or rank[3].strip()
        elif units := _UNITS.search(line):
            seconds = _SECONDS[units[1]]
        elif "Avg bus bandwidth" in line:
            finished = True
            log.ignore(number, "Avg bus bandwidth", "a mean over all sizes is no bandwidth")
        elif runs and (row := _ROW.search(line)):
            _add_row(number, row, runs[-1], seconds, log)
    for run in runs:
        _finish(run, log)
    if not finished:
        log.ignore(number, "end of the log", "its footer is missing: the run was cut off; the rows before it are used")


def _columns(header: str) -> list[str]:
    """The names of the measured columns; those of today where the header was cut off."""
    names = ["time" if name == "cputime" else name for name in header.split() if name != "timestamp"]
    measured = names[names.index("time") :] if "time" in names else []
    return measured if {"time", "algbw", "busbw"} <= set(measured) else 2 * _BLOCK


def _add_row(number: int, row: re.Match[str], run: _Run, seconds: float, log: Log) -> None:
    size, tokens = whole(row[1]), [token for token in row[4].split() if not _CLOCK.fullmatch(token)]
    spare = len(tokens) - len(run.columns)
    names = run.columns if 0 <= spare <= len(_OPTIONAL) else 2 * _BLOCK if spare > 0 else _BLOCK
    if size is None:
        log.ignore(number, "row of size 0", "nothing was moved")
        return
    if len(tokens) < len(names):
        log.ignore(number, "row", "it is cut off")
        return
    cells = tokens[-len(names) :]
    starts = [place for place, name in enumerate(names) if name == "time"]
    for start, end in zip(starts, [*starts[1:], len(names)], strict=True):
        block = dict(zip(names[start:end], cells[start:end], strict=True))
        if positive(block.get("#wrong", "")) or (positive(block.get("error", "")) or 0) > _LARGEST_ERROR:
            raise UserError(f"{log.name}:{number}: wrong values (#wrong is not 0): the run is not to be trusted")
        time, printed = positive(block["time"], grouped=True), positive(block.get("algbw", ""), grouped=True)
        if time is None:
            log.ignore(number, "measurement", "it has no time")
        elif printed and printed > CHECKED and not agree(printed * 1e9, size / (time * seconds)):
            log.doubt(number)
        else:
            bus = positive(block.get("busbw", ""), grouped=True) or 0.0
            run.rows.append((number, size, time * seconds, printed or 0.0, bus))


def _finish(run: _Run, log: Log) -> None:
    kind, ranks = run.kind, len(run.hosts) or None
    ratio, doubt = _ratio(run)
    if kind is None and ratio:
        kind = _kind(ratio, ranks)
    if ranks is None and kind and ratio:
        ranks = inferred_ranks(kind, ratio, doubt)
    ranks = ranks or log.supplied.ranks
    per_node = max(Counter(run.hosts.values()).values(), default=None) or log.supplied.ranks_per_node
    for number, size, seconds, _, _ in run.rows:
        log.records.append(Collective(number, kind or "collective", size, seconds, ranks, per_node))


def _ratio(run: _Run) -> tuple[float, float]:
    """Printed bus over algorithm bandwidth, and how far rounding may have moved it; 0 where nothing is printed.

    A build that prints algbw scaled already is not misread: the ratio is of busbw to size over time.
    """
    rows = [row for row in run.rows if row[3] > _VISIBLE and row[4] > _VISIBLE]
    if not rows:
        return 0.0, 0.0
    best = max(rows, key=lambda row: min(row[4], row[2] * 1e6))  # most digits in both
    _, size, seconds, algorithm, bus = best
    true = size / seconds / 1e9
    scaled = abs(algorithm / true - 1) > 0.1  # old all_gather builds
    return (bus / true, 0.01) if scaled else (bus / algorithm, _ROUNDING / algorithm + _ROUNDING / bus)


def _kind(ratio: float, ranks: int | None) -> str:
    if ranks:
        choices = {name: bus_factor(name, ranks) for name in ("all_reduce", UNKNOWN_GATHER, "sendrecv")}
        return min(choices, key=lambda name: abs(choices[name] - ratio))
    return "all_reduce" if ratio > 1.01 else UNKNOWN_GATHER if ratio < 0.995 else "sendrecv"


def inferred_ranks(kind: str, ratio: float, doubt: float) -> int | None:
    """The ranks that give this ratio of bus to algorithm bandwidth; None where rounding leaves a choice."""
    if kind in ONCE:
        return None  # the ratio is 1 for any number
    per_rank = ratio / 2 if kind == "all_reduce" else ratio
    off = doubt * per_rank
    if not 0.45 < per_rank < 1 or per_rank + off >= 1:
        return None
    least, most = 1 / (1 - per_rank + off), 1 / (1 - per_rank - off)
    found = round(1 / (1 - per_rank))
    return found if found >= 2 and most - least < 1 and least - 0.5 < found < most + 0.5 else None
