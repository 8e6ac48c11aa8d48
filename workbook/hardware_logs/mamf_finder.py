"""mamf-finder.py of stas00/ml-engineering: the fastest matrix multiplication over many shapes.

It prints rates, not times. Version 2 gives mean, median and maximum of each shape: the mean is taken. Version 1 gives
the maximum over repetitions with a warm cache, which is not comparable: it is taken only where there is nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbook.hardware_logs.numbers import positive, whole
from workbook.hardware_logs.records import Log, Multiplication

TOOL = "mamf-finder"
MARK = re.compile(
    r"mamf-finder|\(mean\).*\(median\).*@ \d+x\d+x\d+|shapes => the best outcome|best outcome was [\d.]+ ?TFLOPS"
)

_SHAPE = re.compile(r"\|\s*([\d.]+)\(mean\).*?@ (\d+)x(\d+)x(\d+)")
_FOOTER = re.compile(r"^(mean|median|max):\s+([\d.]+) TFLOPS @ (\d+)x(\d+)x(\d+)")
_VERSION_1 = re.compile(r"best outcome was ([\d.]+)\s*TFLOPS @ (\d+)x(\d+)x(\d+)")
_DTYPE = re.compile(r"\*\* Dtype: (\S+)|--dtype[ =](\S+)")
_STARTED = re.compile(r"Benchmark started on (\d{4}-\d\d-\d\d)")
_DEVICE = re.compile(r"DeviceProperties\(name='([^']+)'")


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for each shape, or for the best one where the log has no other."""
    dtype = log.supplied.dtype or ""
    finished = False
    for number, line in lines:
        if found := _DTYPE.search(line):
            dtype = found[1] or found[2]
        if device := _DEVICE.search(line):
            log.device = device[1]
        elif started := _STARTED.search(line):
            log.date = started[1]
        elif shape := _SHAPE.search(line):
            _add(number, shape.groups(), dtype, log)
        elif footer := _FOOTER.match(line):
            finished = True
            if footer[1] != "mean":
                log.ignore(number, footer[1], "the mean is taken")
            elif log.records:
                log.ignore(number, "footer", "it repeats the best of the shapes above")
            else:
                _add(number, footer.groups()[1:], dtype, log)
        elif old := _VERSION_1.search(line):
            finished = True
            _add(number, old.groups(), dtype, log, comparable=False)
    if not finished:
        log.ignore(number, "end of the log", "its footer is missing: the run was cut off; its shapes are used")


def _add(number: int, groups: tuple[str | None, ...], dtype: str, log: Log, *, comparable: bool = True) -> None:
    rate, *sizes = (text or "" for text in groups)
    teraflops, shape = positive(rate), [whole(size) for size in sizes]
    if teraflops is None or None in shape:
        log.ignore(number, "shape", "it has no rate or a size of 0")
        return
    m, n, k = (size for size in shape if size)
    seconds = 2 * m * n * k / (teraflops * 1e12)
    log.records.append(Multiplication(number, m, n, k, dtype, seconds, comparable=comparable))
