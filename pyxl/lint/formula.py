"""Facts about a formula text that rules judge: one pass over its tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pyxl.cells import coordinates
from pyxl.formula_text import tokens

_QUOTED_SHEET = re.compile(r"""("(?:[^"]|"")*")|'((?:[^']|'')+)'!""")
_STAND_IN_TITLE = "_\u017f"  # stands for a sheet title in quotes; nobody writes this one without
_COLUMN_NAME = re.compile(r"\$?[A-Za-z]{1,3}")
_PORTABLE_NUMBER = re.compile(r"[0-9.]+(E[+-][0-9]+)?")
_VALUES = ("TRUE", "FALSE")
_OPERATORS = frozenset("+-*/^&=<>")


_CELL = re.compile(
    r"""(?P<text>"(?:[^"]|"")*"|'(?:[^']|'')+'!)"""
    r"|(?<![\w.])(?P<fixed_column>\$?)(?P<letters>[A-Za-z]{1,3})(?P<fixed_row>\$?)(?P<row>[1-9][0-9]{0,6})(?![\w.(!])"
)


@dataclass(slots=True)
class Facts:
    """What a formula text holds, as it is written."""

    functions: list[str] = field(default_factory=list)
    depth: int = 0  # of calls within calls
    arguments: int = 0  # of the call with most
    open_brackets: bool = False
    open_quote: bool = False
    semicolon: bool = False
    names: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    reference_sheets: list[str] = field(default_factory=list)  # of each, or "" for the formula's own
    sheets: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    longest_text: int = 0
    operators: int = 0
    not_portable: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Bracket:
    function: str
    braces: bool
    depth: int  # of functions around it, with its own
    commas: int = 0
    empty: bool = True


def facts(text: str) -> Facts:
    """The facts about a formula, with or without its leading =."""
    found, quoted = Facts(), list[str]()
    if "'" in text:
        text = _QUOTED_SHEET.sub(lambda match: match[1] or _quoted(match[2], quoted), text)
        found.sheets.extend(quoted)
    parts = [part for part in tokens(text) if part[0] != "blank"]
    parts.append(("", ""))
    before, open_ = ("", ""), list[_Bracket]()
    for position, part in enumerate(parts[:-1]):
        kind, token = part
        after = parts[position + 1][1]
        if open_ and token not in ")}":
            open_[-1].empty = False
        if kind == "sign":
            _sign(found, open_, token, before, parts[position - 2 : position], after)
        elif kind == "name":
            _name(found, token, before[1], after)
        elif kind == "reference":
            sheet, mark, cells = token.rpartition("!")
            if sheet.startswith(_STAND_IN_TITLE):
                sheet = quoted[int(sheet.removeprefix(_STAND_IN_TITLE))]
            elif mark:
                found.sheets.append(sheet)
            found.references.append(cells)
            found.reference_sheets.append(sheet)
        elif kind == "number":
            found.numbers.append(token)
            if not _PORTABLE_NUMBER.fullmatch(token):
                found.not_portable.append(f"the number {token}: write its exponent as E+ or E-")
            if ":" in (before[1], after):
                found.not_portable.append("whole rows")
        elif kind == "text":
            found.longest_text = max(found.longest_text, len(token) - 2)
        else:
            found.errors.append(token)
        before = part
    found.open_brackets |= bool(open_)
    return found


def _quoted(title: str, quoted: list[str]) -> str:
    quoted.append(title.replace("''", "'"))
    return f"{_STAND_IN_TITLE}{len(quoted) - 1}!"


def _name(found: Facts, token: str, before: str, after: str) -> None:
    if after == "(":
        found.functions.append(token)
        if before == ":":
            found.not_portable.append("a range that a function ends")
    elif after == "!":
        if not token.startswith(_STAND_IN_TITLE):
            found.sheets.append(token)
    elif ":" in (before, after) and _COLUMN_NAME.fullmatch(token):
        found.not_portable.append("whole columns")
    elif after == "[":
        found.not_portable.append("table columns")
    elif token.upper() not in _VALUES:
        found.names.append(token)


def _sign(
    found: Facts, open_: list[_Bracket], token: str, before: tuple[str, str], two: list[tuple[str, str]], after: str
) -> None:
    if token in "({":
        function = before[1] if token == "(" and before[0] == "name" else ""
        depth = (open_[-1].depth if open_ else 0) + bool(function)
        open_.append(_Bracket(function, token == "{", depth))
        found.depth = max(found.depth, depth)
        if token == "{":
            found.not_portable.append("lists in braces")
    elif token in ")}":
        if not open_ or open_[-1].braces != (token == "}"):
            found.open_brackets = True
            return
        _close(found, open_.pop(), two)
        if after == ":":
            found.not_portable.append("a range that a function begins")
    elif token == ",":
        if open_:
            open_[-1].commas += 1
    elif token == ";":
        found.semicolon |= not (open_ and open_[-1].braces)
    elif token == '"':
        found.open_quote = True
    elif token in _OPERATORS:
        found.operators += f"{before[1]}{token}" not in ("<>", "<=", ">=")
        if token == "-" and (before[1] in _OPERATORS | {"", "(", ","}) and after in ("-", "("):
            found.not_portable.append(f"the sign in -{after}: write 0-")
    elif token == "%" and before[1] == "%":
        found.not_portable.append("%%")
    elif token in "@#":
        found.not_portable.append(token)


def _close(found: Facts, closed: _Bracket, two: list[tuple[str, str]]) -> None:
    found.arguments = max(found.arguments, closed.commas + (not closed.empty) if closed.function else 0)
    called = closed.function.upper()
    if called == "IF" and closed.commas != 2:
        found.not_portable.append("IF without both branches")
    if called == "INDEX" and [token for _, token in two] == [",", "0"]:
        found.not_portable.append("INDEX with 0")


def relative(text: str, row: int, column: int) -> str:
    """The formula as it would read from any cell: references by their distance, as in R1C1 notation."""

    def distance(match: re.Match[str]) -> str:
        if match["text"]:
            return match[0]
        there = coordinates(match["letters"].upper() + match["row"])
        down = f"R{there[0]}" if match["fixed_row"] else f"R[{there[0] - row}]"
        return down + (f"C{there[1]}" if match["fixed_column"] else f"C[{there[1] - column}]")

    return _CELL.sub(distance, text)
