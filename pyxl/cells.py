"""Cells: how they are addressed, and what they hold once a file or an open workbook is read."""

from __future__ import annotations

import datetime
import re
from functools import cache
from typing import Any

Value = float | str | bool
Place = tuple[str, str]  # sheet and address: ("Analysis", "G12")

_FIRST_DAY = datetime.datetime(1899, 12, 30)  # day 0 of serial numbers, from March 1900 on
_DAY = datetime.timedelta(days=1)
_LARGEST_WHOLE = 2**53  # from here on a cell's number need not be the whole number that it shows

_ADDRESS = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")


class Formula(str):
    """The text of a formula, with its leading "="; a text cell may begin with "=" too."""

    __slots__ = ()


@cache
def letter(column: int) -> str:
    """The letters of a column number from 1: 1 is A, 27 is AA."""
    text = ""
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


@cache
def _number(letters: str) -> int:
    number = 0
    for each in letters:
        number = number * 26 + ord(each) - 64
    return number


def coordinates(address: str) -> tuple[int, int]:
    """Row and column number from 1 of an address such as "AA3". Raises `ValueError` for anything else."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError(f"'{address}' is no cell address such as B8")
    return int(match[2]), _number(match[1])


def plain(value: Any) -> Any:
    """A value as a cell keeps it: dates and times are serial numbers."""
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - _FIRST_DAY) / _DAY
    if isinstance(value, datetime.date):
        return float((datetime.datetime.combine(value, datetime.time()) - _FIRST_DAY).days)
    if isinstance(value, datetime.time):
        return (datetime.datetime.combine(_FIRST_DAY, value) - _FIRST_DAY) / _DAY
    return value / _DAY if isinstance(value, datetime.timedelta) else value


def whole(value: Any) -> Any:
    """A number as an int where it is a whole one: spreadsheets know floats only."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
    return int(value) if is_whole else value
