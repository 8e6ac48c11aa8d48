"""Addresses of ranges as Excel writes them: "B2", "$B$2:$D$9", "B:D", "2:9"."""

from __future__ import annotations

import re

from pyxl.cells import coordinates, letter

_END = r"\$?([A-Za-z]{1,3})?\$?([1-9]\d{0,6})?"
_RANGE = re.compile(rf"{_END}(?::{_END})?")


def rectangle(text: str, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """First row, first column, rows and columns of an address on a sheet of that size; None if it is none."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    left, top, right, bottom = match.groups()
    if ":" not in text:
        if not (left and top):
            return None
        right, bottom = left, top
    if (bool(left), bool(top)) != (bool(right), bool(bottom)) or not (left or top):
        return None
    columns = sorted([_number(left), _number(right)]) if left else [1, size[1]]
    rows = sorted([int(top), int(bottom)]) if top else [1, size[0]]
    if columns[1] > size[1] or rows[1] > size[0]:
        return None
    return rows[0], columns[0], rows[1] - rows[0] + 1, columns[1] - columns[0] + 1


def _number(letters: str) -> int:
    return coordinates(f"{letters.upper()}1")[1]


def address(
    row: int, column: int, rows: int, columns: int, size: tuple[int, int], row_mark: str = "$", column_mark: str = "$"
) -> str:
    """The address of a range, with `$` or nothing as marks; whole rows and columns as 2:9 and B:D."""
    first, last = f"{column_mark}{letter(column)}", f"{column_mark}{letter(column + columns - 1)}"
    top, bottom = f"{row_mark}{row}", f"{row_mark}{row + rows - 1}"
    if rows == size[0]:
        return f"{first}:{last}"
    if columns == size[1]:
        return f"{top}:{bottom}"
    return f"{first}{top}" if (rows, columns) == (1, 1) else f"{first}{top}:{last}{bottom}"
