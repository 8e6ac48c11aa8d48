"""Ranges of cells in a file: the lists of them that elements carry, and whether they overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from pyxl.cells import coordinates
from pyxl.naming import LAST_COLUMN, LAST_ROW


class Range(NamedTuple):
    """A rectangle of cells by its first and last row and column."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def cells(self) -> int:
        return (self.bottom - self.top + 1) * (self.right - self.left + 1)


@lru_cache(maxsize=100_000)
def parsed(text: str) -> Range | None:
    """A range such as A1:B2 or A1; None where it is none, or lies beyond XFD1048576."""
    first, _, last = text.replace("$", "").partition(":")
    try:
        (top, left), (bottom, right) = coordinates(first), coordinates(last or first)
    except ValueError:
        return None
    inside = top <= bottom <= LAST_ROW and left <= right <= LAST_COLUMN
    return Range(top, left, bottom, right) if inside else None


def bad(text: str | None) -> str | None:
    """The first of a list of ranges that is none; the whole where the list is empty."""
    listed = (text or "").split()
    return next((each for each in listed if parsed(each) is None), None) if listed else ""


def overlapping(ranges: Sequence[tuple[Range, str]]) -> Iterator[tuple[str, str]]:
    """The names of the ranges that overlap one before them, with that one's."""
    ordered = sorted(ranges)
    open_: list[tuple[Range, str]] = []
    for top, group in groupby(ordered, key=lambda each: each[0].top):
        open_ = [other for other in open_ if other[0].bottom >= top]
        for current in group:
            range_, name = current
            for other, earlier in open_:
                if other.left <= range_.right and range_.left <= other.right:
                    yield name, earlier
                    break
            open_.append(current)
