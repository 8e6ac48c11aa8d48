"""Rules about cell formats, number formats and named styles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pyxl.lint.book import Book, whole
from pyxl.lint.rules import Found, Rules, Severity

rule = Rules[Book]()

LIMITS = {"cellXfs/xf": 65_490, "fonts/font": 1_024, "fills/fill": 65_000, "numFmts/numFmt": 200}
FIRST_OWN_FORMAT, LARGEST_FORMAT = 164, 65_534
LONGEST_FORMAT = 255
LONGEST_STYLE_NAME = 255
MOST_CONDITIONS, MOST_SECTIONS = 2, 4
_FORMAT_TOKEN = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|.', re.DOTALL)
_CONDITION = re.compile(r"\[[<>=]")


@rule("style-count", Severity.REPAIR)
def style_counts(book: Book) -> Iterator[Found]:
    """A workbook has at most 65,490 cell formats, 1,024 fonts and 200 number formats of its own.

    Source: Microsoft, "Excel specifications and limits": "Too many different cell formats"
    """
    for path, most in LIMITS.items():
        count = len(book.style(path))
        if count > most:
            yield Found(f"{count} of {path.partition('/')[0]}", f"use at most {most}: share them", "xl/styles.xml")


@rule("style-reference", Severity.REPAIR)
def style_references(book: Book) -> Iterator[Found]:
    """A cell format names a font, fill, border and style that there are, counted from 0, and a number format that is
    built in or described.

    Source: ECMA-376 part 1, section 18.8.45; "Repaired Records: Format from /xl/styles.xml"
    """
    counts = {
        "fontId": len(book.style("fonts/font")),
        "fillId": len(book.style("fills/fill")),
        "borderId": len(book.style("borders/border")),
        "xfId": len(book.style("cellStyleXfs/xf")),
    }
    described = {each.get("numFmtId") for each in book.style("numFmts/numFmt")}
    for path in ("cellStyleXfs/xf", "cellXfs/xf", "cellStyles/cellStyle"):
        for number, each in enumerate(book.style(path)):
            for attribute, count in counts.items():
                text = each.get(attribute)
                if text is not None and (whole(text) is None or int(text) >= count):
                    what = f"{path} {number}: {attribute} is {text} of {count}"
                    yield Found(what, "name one that there is", "xl/styles.xml")
            text = each.get("numFmtId", "0")
            if text not in described and not 0 <= (-1 if whole(text) is None else int(text)) < FIRST_OWN_FORMAT:
                yield Found(f"{path} {number}: numFmtId {text} is not described", "describe it", "xl/styles.xml")


@rule("style-name", Severity.REPAIR)
def style_names(book: Book) -> Iterator[Found]:
    """Named styles have names of 1 to 255 characters that differ by more than case, and formats of their own.

    Source: MS-OI29500, cellStyle (Part 4 section 3.8.7)
    """
    listed = book.style("cellStyles/cellStyle")
    names = Counter(each.get("name", "").casefold() for each in listed)
    formats = Counter(each.get("xfId") for each in listed)
    for each in listed:
        name = each.get("name", "")
        if names[name.casefold()] > 1 or not 1 <= len(name) <= LONGEST_STYLE_NAME:
            yield Found(f"{names[name.casefold()]} styles are named '{name}'", "name each differently", "xl/styles.xml")
        if formats[each.get("xfId")] > 1:
            yield Found(f"style '{name}' shares format {each.get('xfId')}", "give it its own", "xl/styles.xml")


@rule("number-format", Severity.REPAIR)
def number_formats(book: Book) -> Iterator[Found]:
    """A number format has a number from 164 of its own, at most 255 characters, two conditions and four sections, and
    closes its quotes and brackets.

    Source: ECMA-376 part 1, section 18.8.30 and 18.8.31; Microsoft, "Number format codes"
    """
    listed = book.style("numFmts/numFmt")
    numbers = Counter(each.get("numFmtId") for each in listed)
    for each in listed:
        number, code = each.get("numFmtId", ""), each.get("formatCode", "")
        pieces = _FORMAT_TOKEN.findall(code)
        problem = ""
        if not FIRST_OWN_FORMAT <= (whole(number) or 0) <= LARGEST_FORMAT or numbers[number] > 1:
            problem = f"has the number {number}, which is not its own"
        elif not 1 <= len(code) <= LONGEST_FORMAT:
            problem = f"has {len(code)} characters"
        elif '"' in pieces or "[" in pieces:
            problem = "has an open quote or bracket"
        elif sum(bool(_CONDITION.match(piece)) for piece in pieces) > MOST_CONDITIONS:
            problem = f"has more than {MOST_CONDITIONS} conditions"
        elif pieces.count(";") >= MOST_SECTIONS:
            problem = f"has more than {MOST_SECTIONS} sections"
        if problem:
            yield Found(f"the number format '{code}' {problem}", "rewrite it", "xl/styles.xml")
