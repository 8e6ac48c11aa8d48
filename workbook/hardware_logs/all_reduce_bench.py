"""all_reduce_bench.py of stas00/ml-engineering: a Markdown table of payload, busbw and algbw.

It prints no times: a payload over its algbw is one. Ranks follow from busbw over algbw.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbook.hardware_logs.nccl_tests import inferred_ranks
from workbook.hardware_logs.numbers import positive, size
from workbook.hardware_logs.records import Collective, Log

TOOL = "all_reduce_bench"
MARK = re.compile(r"\|\s*payload\s*\|.*\bbusbw\b.*\balgbw\b")

_RATE = re.compile(r"([\d.]+)\s*GBps")


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every row."""
    rows: list[tuple[int, int, float, float]] = []
    names: list[str] = []
    for number, line in lines:
        if MARK.search(line):
            names = _cells(line)
        elif names and line.lstrip().startswith("|") and "--" not in line:
            cells = dict(zip(names, _cells(line), strict=False))
            payload = size(cells.get("payload", ""))
            rates = [_rate(cells.get(name, "")) for name in ("busbw", "algbw")]
            if payload is None or rates[0] is None or rates[1] is None:
                log.ignore(number, "row", "it has no payload such as 32KiB, or no rates such as 1.62GBps")
            else:
                rows.append((number, payload, rates[0], rates[1]))
    best = max(rows, key=lambda row: row[2], default=None)
    ranks = log.supplied.ranks
    if best:
        ranks = inferred_ranks("all_reduce", best[2] / best[3], 0.005 / best[2] + 0.005 / best[3]) or ranks
    for number, payload, _, algorithm in rows:
        log.records.append(
            Collective(number, "all_reduce", payload, payload / (algorithm * 1e9), ranks, log.supplied.ranks_per_node)
        )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _rate(text: str) -> float | None:
    match = _RATE.fullmatch(text)
    return positive(match[1]) if match else None
