"""Names of rows: what a user may call a row so that every spreadsheet reads it as the text it is."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

from pyxl.errors import UserError

LONGEST_NAME = 60
FORMULA_STARTS = "=+-@"
WILDCARDS = "*?~"
LAST_COLUMN = 16_384
LAST_ROW = 1_048_576

_ADDRESS = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})", re.IGNORECASE)
_ROW_COLUMN_ADDRESS = re.compile(r"(?=.)(R[0-9]*)?(C[0-9]*)?", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9.,/:-]+(E[+-]?[0-9]+)?%?", re.IGNORECASE)  # or a date, a time


def is_cell_address(name: str) -> bool:
    """Whether Excel reads the name as a cell, row or column: H800, $B$200, R1C1.

    Source: Microsoft, "Names in formulas": names cannot be the same as a cell reference, such as Z$100 or R1C1
    """
    if _ROW_COLUMN_ADDRESS.fullmatch(name):
        return True
    address = _ADDRESS.fullmatch(name)
    if address is None:
        return False
    column = 0
    for letter in address[1].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return column <= LAST_COLUMN and 1 <= int(address[2]) <= LAST_ROW


def check_name(name: object, what: str, *, word: str = "GPU", may_be_address: bool = False) -> str:
    """The name, if a row may have it. Raises `UserError` that says what to write instead.

    `what` says whose name it is, in words: "hardware in h800.toml"; `word` is one that may follow such a name.
    A term of the field that happens to be a cell address too, such as BF16, may be let pass.
    """
    if not isinstance(name, str) or not name.strip():
        raise UserError(f"{what} has no name: give it one, such as 'H800 SXM5 80GB'")
    shown = repr(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "...")
    problem = f"{what} cannot be named {shown}"
    if len(name) > LONGEST_NAME:
        raise UserError(f"{problem}: it has {len(name)} characters, use at most {LONGEST_NAME}")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise UserError(f"{problem}: it holds control characters, use printable ones only")
    if name != name.strip():
        raise UserError(f"{problem}: remove the blanks around it")
    if name[0] in FORMULA_STARTS:
        raise UserError(f"{problem}: spreadsheets read {name[0]} as the start of a formula, begin with a letter")
    if any(wildcard in name for wildcard in WILDCARDS):
        raise UserError(f"{problem}: {' '.join(WILDCARDS)} are wildcards in look-ups, leave them out")
    if is_cell_address(name) and not may_be_address:
        raise UserError(
            f"{what}: '{name}' is a cell address in Excel: write it with a space or a word, such as '{name} {word}'"
        )
    if _NUMBER.fullmatch(name) or name.upper() in ("TRUE", "FALSE"):
        raise UserError(f"{problem}: spreadsheets read it as a value, add a word")
    return name


def check_text(text: str, what: str) -> str:
    """A text that a cell can show. Raises `UserError` for control characters and broken ones, naming `what` it is."""
    if any(
        unicodedata.category(character) in ("Cc", "Cs", "Cn", "Co") for character in text if character not in "\n\t"
    ):
        raise UserError(f"{what} holds control characters: use printable ones only")
    return text


def suggestion(word: str, words: Iterable[str], most: int = 3) -> str:
    """What to say about a name that is none of `words`: "did you mean ...? ", or nothing where none is close."""
    known = {known.casefold(): known for known in words}
    begun = sorted((name for name in known if name.startswith(word.casefold())), key=len)
    close = begun[:most] or difflib.get_close_matches(word.casefold(), known, n=most, cutoff=0.5)
    return f"did you mean {' or '.join(repr(known[name]) for name in close)}? " if close else ""
