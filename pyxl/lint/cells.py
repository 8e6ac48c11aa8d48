"""Rules about what cells hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pyxl.lint.book import Book, whole
from pyxl.lint.rules import Found, Rules, Severity
from pyxl.naming import LAST_COLUMN, LAST_ROW

rule = Rules[Book]()

LONGEST_TEXT = 32_767
MOST_LINES = 253
KINDS = ("n", "s", "str", "inlineStr", "b", "e", "d")
ERRORS = (
    "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA", "#SPILL!", "#CALC!",
    "#FIELD!", "#BLOCKED!", "#CONNECT!", "#BUSY!", "#UNKNOWN!", "#EXTERNAL!", "#PYTHON!", "#TIMEOUT!",
)  # fmt: skip
_ESCAPE = re.compile(r"_x(?!005F)[0-9A-Fa-f]{4}_")
SURELY_FINITE = 300  # digits
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@rule("cell-order", Severity.REPAIR)
def cell_order(book: Book) -> Iterator[Found]:
    """The cells of a row stand in order, each once, within A1 to XFD1048576, and in the row that they name.

    Source: ECMA-376 part 1, section 18.3.1.4; "Removed Records: Cell information"
    """
    for sheet in book.sheets:
        for row in sheet.rows:
            if not (row.get("r") or "1").isdecimal():
                yield Found(f"a row is numbered '{row.get('r')}'", "number it from 1", sheet.title, f"A{row.get('r')}")
        last = (0, 0)
        starts = {}
        for row in sheet.rows:
            first = row.find("{*}c")
            if first is not None:
                starts[first.get("r")] = whole(row.get("r"))
        line: int | None = None
        for cell in sheet.cells:
            if cell.address in starts:
                line = starts.pop(cell.address)
                last = (cell.row, 0)
            place = (cell.row, cell.column)
            if not 1 <= cell.row <= LAST_ROW or not 1 <= cell.column <= LAST_COLUMN:
                advice = "use A1 to XFD1048576"
                yield Found(f"'{cell.address}' is no cell", advice, sheet.title, cell.address)
                continue
            if line is not None and cell.row != line:
                yield Found(f"{cell.address} stands in row {line}", "write it in its row", sheet.title, cell.address)
            elif place <= last:
                yield Found(
                    f"{cell.address} stands twice or out of order", "write each once", sheet.title, cell.address
                )
            last = max(last, place)


@rule("cell-kind", Severity.REPAIR)
def cell_kinds(book: Book) -> Iterator[Found]:
    """A cell is of a kind that Excel knows, and its value is one of that kind: 0 or 1, or the name of an error.

    Source: ECMA-376 part 1, section 18.18.11 (ST_CellType) and 18.17.3 (errors)
    """
    for sheet in book.sheets:
        for cell in sheet.cells:
            if cell.kind == "n":
                continue
            value = cell.value or ""
            if (
                cell.kind not in KINDS
                or (cell.kind == "b" and value not in ("0", "1"))
                or (cell.kind == "e" and value not in ERRORS)
            ):
                yield Found(f"a cell of kind '{cell.kind}' holds '{value}'", "rewrite it", sheet.title, cell.address)


@rule("cell-number", Severity.REPAIR)
def cell_numbers(book: Book) -> Iterator[Found]:
    """A number is a finite one. Not-a-number and infinity cannot be stored: leave the cell empty, or store #NUM!.

    Source: modelling-standards, finding 3; XlsxWriter, write_number(): "NAN/INF not supported"
    """
    for sheet in book.sheets:
        for cell in sheet.cells:
            if cell.kind == "n" and cell.value and not (cell.value.isdecimal() and len(cell.value) < SURELY_FINITE):
                text = cell.value.strip()
                if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
                    yield Found(f"'{cell.value}' is no number", "leave the cell empty", sheet.title, cell.address)


@rule("cell-text-length", Severity.REPAIR)
def text_lengths(book: Book) -> Iterator[Found]:
    """A text has at most 32,767 characters, and 253 line feeds.

    Source: Microsoft, "Excel specifications and limits"
    """
    for sheet in book.sheets:
        for cell in sheet.cells:
            text = book.cell_text(cell) if cell.kind != "n" else None
            if text and len(text) > MOST_LINES and (len(text) > LONGEST_TEXT or text.count("\n") > MOST_LINES):
                what = f"a text of {len(text)} characters and {text.count(chr(10))} line feeds"
                yield Found(what, f"use at most {LONGEST_TEXT} and {MOST_LINES}", sheet.title, cell.address)


@rule("cell-text-escape", Severity.RULE)
def text_escapes(book: Book) -> Iterator[Found]:
    """Excel reads _x0041_ in a text as the letter A: a text that means it writes _x005F_x0041_.

    Source: ECMA-376 part 1, section 22.9.2.19 (ST_Xstring)
    """
    for sheet in book.sheets:
        for cell in sheet.cells:
            text = book.cell_text(cell) if cell.kind != "n" else None
            if text and "_x" in text and (match := _ESCAPE.search(text.replace("_x005F_x", ""))):
                yield Found(f"Excel reads {match[0]} as one character", "write _x005F_x", sheet.title, cell.address)


@rule("shared-string", Severity.REPAIR)
def shared_strings(book: Book) -> Iterator[Found]:
    """A cell with a shared text names one that there is, counted from 0.

    Source: ECMA-376 part 1, section 18.4; "Removed Records: Cell information"
    """
    for sheet in book.sheets:
        for cell in sheet.cells:
            if cell.kind == "s":
                index = whole(cell.value)
                if index is None or index >= len(book.shared_strings):
                    what = f"shared text {cell.value} of {len(book.shared_strings)}"
                    yield Found(what, "name one that there is", sheet.title, cell.address)


@rule("style-index", Severity.REPAIR)
def style_indices(book: Book) -> Iterator[Found]:
    """Cells, rows and columns name a cell format that there is, counted from 0.

    Source: ECMA-376 part 1, section 18.8.10; "Repaired Records: Format from /xl/styles.xml"
    """
    count = len(book.style("cellXfs/xf"))
    known = {str(number) for number in range(max(count, 1))}
    for sheet in book.sheets:
        used = [(cell.style, cell.address) for cell in sheet.cells if cell.style not in known]
        used += [(row.get("s", "0"), f"A{row.get('r')}") for row in sheet.rows]
        used += [(each.get("style", "0"), "") for each in sheet.all("cols/col")]
        for style, where in used:
            if style not in known:
                yield Found(f"cell format {style} of {count}", "name one that there is", sheet.title, where)


@rule("stored-value", Severity.ADVICE)
def stored_values(book: Book) -> Iterator[Found]:
    """A formula has its value stored beside it: previews, protected view and pandas show nothing otherwise.

    Source: modelling-standards, finding 2
    """
    for sheet in book.sheets:
        missing = [c for c in sheet.cells if c.formula is not None and c.value in (None, "") and c.kind != "str"]
        if missing:
            what = f"{len(missing)} formulas without a stored value"
            yield Found(what, "open the file in a spreadsheet and save it", sheet.title, missing[0].address)
