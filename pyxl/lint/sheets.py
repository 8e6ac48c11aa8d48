"""Rules about sheets: their names, views, columns, rows, merged cells and links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pyxl.lint.book import Book, Sheet, whole
from pyxl.lint.ranges import bad, overlapping, parsed
from pyxl.lint.rules import Found, Rules, Severity
from pyxl.naming import LAST_COLUMN, LAST_ROW

rule = Rules[Book]()

LONGEST_TITLE = 31
ILLEGAL = "[]:*?/\\"
RESERVED = "history"
LARGEST_SHEET_ID = 65_534
LONGEST_HEADER = 255
MOST_LINKS = 65_530
WIDEST_COLUMN, TALLEST_ROW, DEEPEST_OUTLINE = 255, 409.5, 7
ZOOM = range(10, 401)
_LOCATION = re.compile(r"#?(?:'((?:[^']|'')+)'|([^!']+))!(.+)")


@rule("sheet-name", Severity.REPAIR)
def sheet_names(book: Book) -> Iterator[Found]:
    """A sheet name has 1 to 31 characters, none of []:*?/\\ or a control character, no apostrophe at either end, and is
    not History.

    Source: Microsoft, "Rename a worksheet"; ECMA-376 part 1, section 18.2.19
    """
    for title in book.titles:
        problem = ""
        if not title.strip():
            problem = "is empty"
        elif len(title.encode("utf-16-le")) // 2 > LONGEST_TITLE:
            problem = f"has {len(title)} characters"
        elif any(character in ILLEGAL or ord(character) < ord(" ") for character in title):
            problem = f"holds one of {ILLEGAL} or a control character"
        elif title[0] == "'" or title[-1] == "'":
            problem = "begins or ends with an apostrophe"
        elif title.casefold() == RESERVED:
            problem = "is reserved"
        if problem:
            yield Found(f"the sheet name '{title}' {problem}", f"rename it: at most {LONGEST_TITLE} characters", title)


@rule("sheet-name-duplicate", Severity.REPAIR)
def duplicate_sheet_names(book: Book) -> Iterator[Found]:
    """Sheet names differ by more than case.

    Source: Microsoft, "Rename a worksheet"
    """
    for title, count in Counter(title.casefold() for title in book.titles).items():
        if count > 1:
            yield Found(f"{count} sheets are named '{title}'", "give each its own name", title)


@rule("sheet-id", Severity.REPAIR)
def sheet_ids(book: Book) -> Iterator[Found]:
    """Each sheet has its own number from 1 to 65,534.

    Source: ECMA-376 part 1, section 18.2.19; MS-OI29500, section 2.1.582
    """
    counted = Counter(each.get("sheetId", "") for each in book.sheet_elements)
    for each in book.sheet_elements:
        title, number = each.get("name", ""), each.get("sheetId", "")
        if not 1 <= (whole(number) or 0) <= LARGEST_SHEET_ID:
            yield Found(f"the sheetId of '{title}' is '{number}'", f"write a number to {LARGEST_SHEET_ID}", title)
        elif counted[number] > 1:
            yield Found(f"'{title}' shares sheetId {number}", "give each sheet its own", title)


@rule("sheet-visible", Severity.REPAIR)
def visible_sheets(book: Book) -> Iterator[Found]:
    """At least one sheet can be seen, and the one to open with is among the sheets.

    Source: Microsoft, "Hide or unhide worksheets"; ECMA-376 part 1, section 18.2.30
    """
    if not any(each.get("state", "visible") == "visible" for each in book.sheet_elements):
        yield Found("no sheet can be seen", "make one visible")
    for view in book.all("xl/workbook.xml", "bookViews/workbookView"):
        for attribute in ("activeTab", "firstSheet"):
            number = view.get(attribute, "0")
            if (whole(number) or 0) >= max(1, len(book.sheet_elements)) or whole(number) is None:
                count = len(book.sheet_elements)
                yield Found(f"{attribute} is {number}, of {count} sheets", "name one of them, counted from 0")


def _numbered(sheet: Sheet, attribute: str, path: str) -> Iterator[tuple[str, float]]:
    for each in sheet.all(path):
        if attribute in each.attrib:
            text = each.get(attribute)
            try:
                yield text, float(text)
            except ValueError:
                yield text, float("nan")


@rule("sheet-size", Severity.REPAIR)
def sheet_sizes(book: Book) -> Iterator[Found]:
    """Columns are at most 255 characters wide, rows 409.5 points high, outlines 7 levels deep, and the zoom is 10 to
    400 per cent.

    Source: Microsoft, "Excel specifications and limits"
    """
    limits = (
        ("cols/col", "width", 0.0, WIDEST_COLUMN),
        ("sheetData/row", "ht", 0.0, TALLEST_ROW),
        ("cols/col", "outlineLevel", 0.0, DEEPEST_OUTLINE),
        ("sheetData/row", "outlineLevel", 0.0, DEEPEST_OUTLINE),
        ("sheetViews/sheetView", "zoomScale", ZOOM[0], ZOOM[-1]),
        ("pageSetup", "scale", ZOOM[0], ZOOM[-1]),
    )
    for sheet in book.sheets:
        for path, attribute, least, most in limits:
            for text, number in _numbered(sheet, attribute, path):
                if not least <= number <= most:
                    yield Found(f"{attribute} is {text}", f"use {least:g} to {most:g}", sheet.title)


@rule("sheet-columns", Severity.REPAIR)
def sheet_columns(book: Book) -> Iterator[Found]:
    """Descriptions of columns lie within A to XFD and overlap nowhere.

    Source: ECMA-376 part 1, section 18.3.1.13; "Repaired Records: Column information", exceljs #1366
    """
    for sheet in book.sheets:
        last = 0
        for each in sheet.all("cols/col"):
            first, end = whole(each.get("min")) or 0, whole(each.get("max")) or 0
            if not last < first <= end <= LAST_COLUMN:
                shown = f"{each.get('min')} to {each.get('max')}"
                yield Found(f"columns {shown} are described out of order or twice", "describe each once", sheet.title)
            last = max(last, end)


@rule("row-order", Severity.REPAIR)
def row_order(book: Book) -> Iterator[Found]:
    """Rows stand in order, each once, within 1 to 1,048,576.

    Source: ECMA-376 part 1, section 18.3.1.73; "Removed Records: Cell information"
    """
    for sheet in book.sheets:
        last = 0
        for each in sheet.rows:
            text = each.get("r")
            number = last + 1 if text is None else whole(text) or 0
            if not last < number <= LAST_ROW:
                yield Found(
                    f"row {text} stands behind row {last}", "write rows once, in order", sheet.title, f"A{text}"
                )
            last = max(last, number)


@rule("merge", Severity.REPAIR)
def merged_cells(book: Book) -> Iterator[Found]:
    """Merged ranges are ranges of several cells and overlap neither each other nor a table.

    Source: ECMA-376 part 1, section 18.3.1.55; XlsxWriter, merge_range()
    """
    for sheet in book.sheets:
        ranges = []
        for each in sheet.all("mergeCells/mergeCell"):
            text = each.get("ref", "")
            range_ = parsed(text)
            if range_ is None or range_.cells < 2:
                yield Found(f"'{text}' is no range of several cells to merge", "remove it", sheet.title, text)
            else:
                ranges.append((range_, text))
        for holder, _, table in book.tables:
            if holder is sheet and ranges and (range_ := parsed(table.get("ref", ""))):
                ranges.append((range_, f"table {table.get('ref')}"))
        for text, other in overlapping(ranges):
            if not (text.startswith("table") and other.startswith("table")):
                yield Found(f"merged {text} overlaps {other}", "merge neither twice", sheet.title, text)


@rule("header-length", Severity.REPAIR)
def header_lengths(book: Book) -> Iterator[Found]:
    """A header or footer has at most 255 characters, codes included.

    Source: Microsoft, "Excel specifications and limits"
    """
    for sheet in book.sheets:
        for block in sheet.all("headerFooter"):
            for each in block:
                if len(each.text or "") > LONGEST_HEADER:
                    tag = each.tag.rpartition("}")[2]
                    yield Found(f"{tag} has {len(each.text)} characters", f"use {LONGEST_HEADER}", sheet.title)


@rule("hyperlink", Severity.REPAIR)
def hyperlinks(book: Book) -> Iterator[Found]:
    """A link stands at a cell and leads somewhere; a sheet has at most 65,530.

    Source: ECMA-376 part 1, section 18.3.1.47; Microsoft, "Excel specifications and limits"
    """
    for sheet in book.sheets:
        links = sheet.all("hyperlinks/hyperlink")
        if len(links) > MOST_LINKS:
            yield Found(f"{len(links)} links", f"use at most {MOST_LINKS}", sheet.title)
        for each in links:
            where = each.get("ref", "")
            if parsed(where) is None:
                yield Found(f"a link stands at '{where}'", "name a cell", sheet.title, where)
            if "location" not in each.attrib and not any(key.endswith("}id") for key in each.attrib):
                yield Found("a link leads nowhere", "give it a location", sheet.title, where)


@rule("hyperlink-target", Severity.RULE)
def hyperlink_targets(book: Book) -> Iterator[Found]:
    """A link within the file leads to a sheet and a cell that there are: Excel says "Reference isn't valid" at a click.

    Source: spreadsheet-tech, section 3
    """
    names = {each.get("name", "").casefold() for each in book.names}
    for sheet in book.sheets:
        for each in sheet.all("hyperlinks/hyperlink"):
            location = each.get("location")
            if not location:
                continue
            match = _LOCATION.fullmatch(location)
            title = (match[1] or match[2]).replace("''", "'") if match else ""
            if match and (title.casefold() not in book.known_titles or bad(match[3])):
                known = match[3].casefold() in names and title.casefold() in book.known_titles
            else:
                known = match is not None or location.casefold() in names or bool(parsed(location))
            if not known:
                where = each.get("ref", "")
                yield Found(f"a link leads to '{location}'", "name a sheet and cell that there are", sheet.title, where)
