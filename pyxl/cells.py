"""Cells: how they are addressed, and what they hold once a file or an open workbook is read."""

from __future__ import annotations

import re
from functools import cache

Value = float | str | bool
Place = tuple[str, str]  # sheet and address: ("Analysis", "G12")

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
