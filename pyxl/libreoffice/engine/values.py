"""Values of cells between LibreOffice and Python.

LibreOffice knows numbers and texts only: that a number is a date or a truth value is told by its number format,
which it sets itself where a formula gives one. Excel does the same, so both read and write alike.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isnan
from numbers import Real
from typing import Any, NamedTuple

from pyxl.libreoffice.errors import error_text

DATE, TIME, LOGICAL = 2, 4, 1024  # com.sun.star.util.NumberFormat
MILLISECONDS_PER_DAY = 86_400_000
Block = tuple[int, int, int, int]  # first row, first column, last row, last column


class CellError(str):
    """The text of an error, such as "#DIV/0!"; "#VALUE!" where nobody asked which."""

    __slots__ = ()


class Content(NamedTuple):
    """What is written into a range: numbers and texts, and by place the formulas and the kinds of some numbers."""

    plain: tuple[tuple[float | str, ...], ...]
    formulas: dict[tuple[int, int], str]
    kinds: dict[tuple[int, int], int]


def read(cells: Any, kinds: Iterable[tuple[Block, int]], null_date: datetime.datetime, errors: bool) -> list[list[Any]]:
    """The values of a range; an empty cell is None, a date a datetime, an error a `CellError`.

    `kinds` are the parts of the range whose numbers are dates or truth values. Which error it is takes LibreOffice
    a call for each, so it is asked only with `errors`.
    """
    rows = [
        [CellError("#VALUE!") if value is None else None if value == "" else value for value in row]
        for row in cells.getDataArray()
    ]
    if errors:
        for row, column in _places(rows, CellError):
            rows[row][column] = CellError(error_text(cells.getCellByPosition(column, row).getError()))
    if next(_places(rows, float), None) is not None:
        for (top, left, bottom, right), kind in kinds:
            for line in rows[top : bottom + 1]:
                line[left : right + 1] = [
                    _as_kind(value, kind, null_date) if isinstance(value, float) else value
                    for value in line[left : right + 1]
                ]
    return rows


def _places(rows: Sequence[Sequence[Any]], wanted: type) -> Iterator[tuple[int, int]]:
    return (
        (row, column) for row, line in enumerate(rows) for column, value in enumerate(line) if isinstance(value, wanted)
    )


def _as_kind(value: float, kind: int, null_date: datetime.datetime) -> Any:
    if kind & DATE:
        return null_date + datetime.timedelta(milliseconds=round(value * MILLISECONDS_PER_DAY))
    if kind & LOGICAL and value in (0, 1):
        return bool(value)
    return value


def content(rows: Sequence[Sequence[Any]], null_date: datetime.datetime) -> Content:
    """What to write for values. A text that begins with "=" is a formula, unless "'" stands before it.

    Raises `TypeError` for what no cell can hold.
    """
    formulas: dict[tuple[int, int], str] = {}
    kinds: dict[tuple[int, int], int] = {}

    def plain(value: Any, row: int, column: int) -> float | str:
        if value is None:
            return ""
        if isinstance(value, str):
            if value.startswith("=") and len(value) > 1:
                formulas[row, column] = value
                return ""
            return value.removeprefix("'")
        if isinstance(value, bool):
            kinds[row, column] = LOGICAL
            return float(value)
        if isinstance(value, datetime.date):
            clock = value.time() if isinstance(value, datetime.datetime) else datetime.time()
            days: float = (datetime.datetime.combine(value, clock) - null_date) / datetime.timedelta(days=1)
            kinds[row, column] = DATE if days.is_integer() else DATE | TIME
            return days
        if isinstance(value, Real):
            return float(value)
        raise TypeError(f"a cell cannot hold {value!r}")

    lines = tuple(
        tuple(
            value if type(value) is float else plain(value, row, column)  # a large range is mostly of these
            for column, value in enumerate(line)
        )
        for row, line in enumerate(rows)
    )
    return Content(lines, formulas, kinds)


def constant(value: float | str) -> str:
    """What a cell that holds no formula shows as its formula."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value).replace("e", "E")
    return f"'{value}" if value.startswith("=") else value


def blocks(places: Iterable[tuple[int, int]]) -> list[Block]:
    """Few rectangles that hold the given places (row, column) and nothing else."""
    lines: dict[int, list[list[int]]] = {}
    for row, column in sorted(places):
        runs = lines.setdefault(row, [])
        if runs and runs[-1][1] == column - 1:
            runs[-1][1] = column
        else:
            runs.append([column, column])
    growing: dict[tuple[int, int], list[int]] = {}
    done: list[Block] = []
    for row, runs in lines.items():
        for left, right in runs:
            found = growing.get((left, right))
            if found is not None and found[1] == row - 1:
                found[1] = row
            else:
                if found is not None:
                    done.append((found[0], left, found[1], right))
                growing[left, right] = [row, row]
    return done + [(top, left, bottom, right) for (left, right), (top, bottom) in growing.items()]


def for_xlwings(
    rows: Sequence[Sequence[Any]],
    datetime_builder: Callable[..., Any],
    empty_as: Any,
    number_builder: Callable[[float], Any] | None,
    err_to_str: bool,
) -> list[list[Any]]:
    """What xlwings calls "clean" values: empty cells, errors, dates and numbers as the user wants them."""

    def clean(value: Any) -> Any:
        if value is None or value == "":
            return empty_as
        if isinstance(value, CellError):
            return str(value) if err_to_str else None
        if isinstance(value, datetime.datetime):
            parts = ("year", "month", "day", "hour", "minute", "second", "microsecond")
            return datetime_builder(**{part: getattr(value, part) for part in parts}, tzinfo=None)
        if number_builder is not None and isinstance(value, float):
            return number_builder(value)
        return value

    return [[clean(value) for value in row] for row in rows]


def from_xlwings(value: Any, options: Mapping[str, Any]) -> Any:
    """A value of the user's, with those of NumPy and pandas as Python's own; what is missing leaves a cell empty."""
    pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
    if value is None or (isinstance(value, float) and isnan(value)) or (pandas and pandas.isna(value)):
        return ""
    if numpy and isinstance(value, numpy.datetime64):
        return value.astype("datetime64[us]").item()
    if numpy and isinstance(value, numpy.generic):
        return value.item()
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value
