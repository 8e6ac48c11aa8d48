"""Formula texts: whether two say the same, and what they read as with names in place of addresses.

Spreadsheets rewrite what they load: `TRUE` becomes `TRUE()`, `1E+12` becomes `1000000000000`, functions gain or lose
the prefix `_xlfn.`, references gain `@`, case and blanks change. None of that is another formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite

from pyxl.cells import coordinates
from pyxl.readings.formula import number_text

_CELL = r"\$?[A-Za-z]{1,3}\$?[1-9][0-9]{0,6}"
_TOKEN = re.compile(
    rf"""
      (?P<text>"(?:[^"]|"")*")
    | (?P<reference>(?:(?:'(?:[^']|'')++'|(?:\[[^]]+\])?[A-Za-z_][\w.]*)!)?{_CELL}(?::{_CELL})?(?![\w(.!]))
    | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<error>\#(?:N/A|DIV/0!|[A-Z]+[!?]))
    | (?P<name>[A-Za-z_\\][\w.]*)
    | (?P<blank>\s+)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REFERENCE = re.compile(r"(?:(?P<sheet>'(?:[^']|'')+'|[^!]+)!)?(?P<first>[^:]+)(?::(?P<last>.+))?")


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference points to: first and last cell (row, column), on a sheet, or "" for the formula's own."""

    sheet: str
    first: tuple[int, int]
    last: tuple[int, int]


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """The tokens of a formula with their kind: text, reference, number, error, name, blank or sign."""
    for match in _TOKEN.finditer(text.removeprefix("=")):
        assert match.lastgroup is not None
        yield match.lastgroup, match[0]


def target(reference: str) -> Target:
    """The cells of a reference as a formula writes it."""
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    sheet = match["sheet"] or ""
    if sheet.startswith("'"):
        sheet = sheet[1:-1].replace("''", "'")
    first, last = (
        coordinates(cell.replace("$", "").upper()) for cell in (match["first"], match["last"] or match["first"])
    )
    return Target(sheet, first, last)


def references(text: str) -> list[Target]:
    """All references of a formula, from left to right."""
    return [target(token) for kind, token in tokens(text) if kind == "reference"]


def renamed(text: str, name_of: Callable[[Target], str | None]) -> str:
    """The formula, without the leading =, with names in place of references; where there is none, as it stands."""
    return "".join((name_of(target(token)) or token) if kind == "reference" else token for kind, token in tokens(text))


def canonical(text: str) -> tuple[str | Target, ...]:
    """What a formula says, however it is written: equal for two texts that are the same formula.

    Whether references are absolute counts for nothing: the cells that they name are the same.
    """
    said: list[str | Target] = []
    for kind, token in tokens(text):
        if kind == "blank" or token == "@":
            continue
        if kind == "number" and isfinite(float(token)):
            said.append(number_text(float(token)))
        elif kind == "reference":
            cells = target(token)
            (top, bottom), (left, right) = (sorted(ends) for ends in zip(cells.first, cells.last, strict=True))
            said.append(Target(cells.sheet.casefold(), (top, left), (bottom, right)))  # B2:A1 is A1:B2
        elif kind == "name":
            said.append(token.upper().removeprefix("_XLFN.").removeprefix("_XLWS."))
        else:
            said.append(token)
    return tuple(_without_calls(said))


def _without_calls(said: list[str | Target]) -> Iterator[str | Target]:
    """TRUE() and FALSE() are TRUE and FALSE."""
    position = 0
    while position < len(said):
        yield said[position]
        called = said[position] in ("TRUE", "FALSE") and said[position + 1 : position + 3] == ["(", ")"]
        position += 3 if called else 1


def same(text: str, other: str, same_target: Callable[[Target, Target], bool]) -> bool:
    """Whether two formulas are the same but for their references, and each reference of one is the other's."""
    one, two = canonical(text), canonical(other)
    return len(one) == len(two) and all(
        same_target(a, b) if isinstance(a, Target) and isinstance(b, Target) else a == b
        for a, b in zip(one, two, strict=True)
    )
