"""Comma separated tables of matrix multiplications, their columns found by name.

hipblaslt-bench, rocblas-bench, the CUTLASS profiler and one's own files differ in names and units alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from workbook.hardware_logs.numbers import agree, positive, whole
from workbook.hardware_logs.records import Log, Multiplication, precision

Cells = dict[str, str]


@dataclass(frozen=True)
class Layout:
    """Names of columns in lower case: `time` and `rate` with the value of one unit of theirs, and what says the type.

    `unfit` says why a row is not to be used, or nothing.
    """

    time: dict[str, float]
    rate: dict[str, float]
    types: tuple[str, ...] = ()
    batch: tuple[str, ...] = ("batch_count", "batch")
    unfit: Callable[[Cells], str] = lambda cells: ""


def header_pattern(*names: str) -> re.Pattern[str]:
    """A line that names all of these columns."""
    ahead = "".join(rf"(?=.*(?:^|[,;\t:\]\s\"]){re.escape(name)}(?:[,;\t\"]|\s*$))" for name in names)
    return re.compile(rf"^{ahead}", re.IGNORECASE)


def read(
    lines: Iterable[tuple[int, str]], log: Log, header: re.Pattern[str], layout: Layout, said: re.Pattern[str] | None
) -> None:
    """Add a record for every row below a header. `said` finds the number format outside the table, as its group 1."""
    names: list[str] = []
    separator, dtype = ",", log.supplied.dtype or ""
    for number, line in lines:
        if header.search(line):
            separator = next((mark for mark in ("\t", ";") if line.count(mark) >= 3), ",")
            names = [name.strip().lower() for name in _cells(re.sub(r"^\s*\[\d+\]:?", "", line), separator)]
        elif said and (found := said.search(line)):
            dtype = found[1]
        elif names and line.count(separator) >= 3:
            cells = _cells(line, separator)
            if len(cells) != len(names):
                log.ignore(number, "row", "its columns are not those of the header: cut off, or a comma in a number")
            else:
                _add(number, dict(zip(names, map(str.strip, cells), strict=True)), layout, dtype, log)


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _add(number: int, cells: Cells, layout: Layout, dtype: str, log: Log) -> None:
    if why := layout.unfit(cells):
        log.ignore(number, "row", why)
        return
    shape = [whole(cells.get(name, "")) for name in ("m", "n", "k")]
    batch = next((whole(cells[name]) for name in layout.batch if cells.get(name)), 1)
    column = next((name for name in layout.time if name in cells), None)
    time = positive(cells[column]) if column else None
    if None in shape or time is None or batch is None or column is None:
        log.ignore(number, "row", "its m, n, k or time is no positive number, written with a point and without blanks")
        return
    m, n, k = (size for size in shape if size)
    stated = [cells[name].partition(":")[0] for name in layout.types if cells.get(name)]
    if len({precision(text) for text in stated}) > 1:
        log.ignore(number, "row", f"its operands differ in number format: {' and '.join(stated)}")
        return
    record = Multiplication(number, m, n, k, stated[0] if stated else dtype, time * layout.time[column], batch)
    printed = next(((positive(cells[name]), unit) for name, unit in layout.rate.items() if name in cells), None)
    if printed and printed[0] and not agree(printed[0] * printed[1], record.rate):
        log.doubt(number)
        return
    log.records.append(record)
