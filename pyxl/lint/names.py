"""Rules about defined names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pyxl.lint.book import Book, whole
from pyxl.lint.ranges import parsed
from pyxl.lint.rules import Found, Rules, Severity
from pyxl.naming import is_cell_address

rule = Rules[Book]()

LONGEST_NAME = 255
BUILT_IN = "_xlnm."
BUILT_INS = {
    "Print_Area", "Print_Titles", "_FilterDatabase", "Criteria", "Extract", "Database", "Consolidate_Area",
    "Sheet_Title", "Auto_Open", "Auto_Close",
}  # fmt: skip
PRINTED = (f"{BUILT_IN}Print_Area", f"{BUILT_IN}Print_Titles")
_NAME = re.compile(r"[^\W\d][\w.?\\]*|\\[\w.?\\]*")
_PRINTED_PART = re.compile(
    r"(?:'(?:[^']|'')+'|[^!',]+)!(?:\$?[A-Z]{1,3}:\$?[A-Z]{1,3}|\$?[0-9]+:\$?[0-9]+|(\$?[A-Z]+\$?[0-9]+(?::[$A-Z0-9]+)?))"
)


def name_problem(name: str) -> str:
    """What is wrong with a name for cells or a table; nothing where it may be one."""
    if not 1 <= len(name) <= LONGEST_NAME:
        return f"has {len(name)} characters, not 1 to {LONGEST_NAME}"
    if not _NAME.fullmatch(name):
        return "holds a blank or a sign, or begins with a digit or a point"
    if name.casefold() in ("true", "false"):
        return "is a value"
    return ""


@rule("name-cell", Severity.REPAIR)
def cell_like_names(book: Book) -> Iterator[Found]:
    """A name is no cell address: TP8, H800, BF16 are cells of a sheet that ends at XFD1048576, and R1C1 is one too.
    Excel repairs the file; LibreOffice reads the name and other programs the cell, in silence.

    Source: modelling-standards, finding 1; ECMA-376 part 1, section 18.2.5
    """
    for each in book.names:
        name = each.get("name", "")
        if is_cell_address(name):
            yield Found(
                f"the name '{name}' is a cell address", f"write it with a word, such as '{name}_value'", "", name
            )


@rule("name-illegal", Severity.REPAIR)
def illegal_names(book: Book) -> Iterator[Found]:
    """A name begins with a letter, _ or \\, goes on with letters, digits, _, . and \\, has at most 255 characters and
    is neither TRUE nor FALSE. Those that begin with _xl are Excel's own.

    Source: ECMA-376 part 1, section 18.2.5; MS-OI29500, section 2.1.568
    """
    for each in book.names:
        name = each.get("name", "")
        if name.startswith("_xl"):
            if name.removeprefix(BUILT_IN) not in BUILT_INS and not name.startswith(("_xlfn.", "_xlpm.", "_xlws.")):
                yield Found(f"the name '{name}' is reserved", "begin it otherwise", "", name)
        elif problem := name_problem(name):
            yield Found(f"the name '{name}' {problem}", "use letters, digits and _", "", name)


@rule("name-duplicate", Severity.REPAIR)
def duplicate_names(book: Book) -> Iterator[Found]:
    """A name is defined once per sheet and once for the workbook, whatever its case, and no table has it.

    Source: ECMA-376 part 1, section 18.2.5; MS-OI29500, section 2.1.568
    """
    counted = Counter((each.get("name", "").casefold(), each.get("localSheetId")) for each in book.names)
    for (name, scope), count in counted.items():
        if count > 1:
            where = "for the workbook" if scope is None else f"on sheet {scope}"
            yield Found(f"the name '{name}' is defined {count} times {where}", "define it once", "", name)
    for _, _, table in book.tables:
        name = table.get("displayName", "")
        if (name.casefold(), None) in counted:
            yield Found(f"'{name}' names both a table and cells", "rename one", "", name)


@rule("name-scope", Severity.REPAIR)
def name_scopes(book: Book) -> Iterator[Found]:
    """A name of one sheet says which: a number from 0 that is one of the sheets.

    Source: MS-OI29500, section 2.1.568
    """
    for each in book.names:
        scope = each.get("localSheetId")
        number = whole(scope)
        if scope is not None and (number is None or number >= len(book.titles)):
            name = each.get("name", "")
            yield Found(f"the name '{name}' belongs to sheet {scope}", "name one, counted from 0", "", name)


@rule("name-target", Severity.RULE)
def name_targets(book: Book) -> Iterator[Found]:
    """A name points somewhere: to no sheet that is missing, and not to #REF!.

    Source: ICAEW Financial Modelling Code, "clear range names"; an empty one is a repair
    """
    for each in book.formulas:
        if each.within == "name":
            if not each.text.strip():
                advice = "say what it stands for"
                yield Found(f"the name '{each.cell}' stands for nothing", advice, "", each.cell, Severity.REPAIR)
            missing = [title for title in each.facts.sheets if title.casefold() not in book.known_titles]
            missing += each.facts.errors
            if missing and "[" not in missing[0]:
                yield Found(f"the name '{each.cell}' points to {missing[0]}", "point it to cells", "", each.cell)


@rule("name-print", Severity.REPAIR)
def print_names(book: Book) -> Iterator[Found]:
    """Print areas and titles belong to a sheet and are ranges of that sheet.

    Source: ECMA-376 part 1, section 18.2.5; "Removed Records: Named range from /xl/workbook.xml"
    """
    for each in book.names:
        name, text = each.get("name", ""), each.text or ""
        if name not in PRINTED:
            continue
        scope = whole(each.get("localSheetId"))
        title = book.titles[scope] if scope is not None and scope < len(book.titles) else None
        if title is None:
            yield Found(f"{name} belongs to no sheet", "give it the number of its sheet", "", name)
            continue
        ranges = list(_PRINTED_PART.finditer(text))
        whole_text = ",".join(match[0] for match in ranges) == text
        sheets = {match[0].rpartition("!")[0].strip("'").replace("''", "'").casefold() for match in ranges}
        if not whole_text or sheets != {title.casefold()} or not all(parsed(m[1]) for m in ranges if m[1]):
            yield Found(f"{name} is '{text}'", f"name ranges of the sheet {title}", title, name)
