"""Rules about tables and comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pyxl.lint.book import Book, Element, whole
from pyxl.lint.names import name_problem
from pyxl.lint.ranges import overlapping, parsed
from pyxl.lint.rules import Found, Rules, Severity
from pyxl.naming import is_cell_address

rule = Rules[Book]()

LONGEST_COMMENT = 32_767


def _columns(table: Element) -> list[str]:
    return [each.get("name", "") for each in table.iterfind("{*}tableColumns/{*}tableColumn")]


@rule("table-overlap", Severity.REPAIR)
def table_overlaps(book: Book) -> Iterator[Found]:
    """Tables are ranges of a head and at least one row, and overlap nowhere.

    Source: jmcnamara/excel-writer-xlsx #207; XlsxWriter, add_table()
    """
    for sheet in book.sheets:
        ranges = []
        for holder, _, table in book.tables:
            if holder is sheet:
                text = table.get("ref", "")
                range_ = parsed(text)
                if range_ is None or (range_.top == range_.bottom and table.get("headerRowCount", "1") != "0"):
                    yield Found(f"a table in '{text}'", "give it a head and a row", sheet.title, text)
                else:
                    ranges.append((range_, text))
        for text, other in overlapping(ranges):
            yield Found(f"tables in {text} and {other} overlap", "move one", sheet.title, text)


@rule("table-header", Severity.REPAIR)
def table_headers(book: Book) -> Iterator[Found]:
    """A table's columns have names that differ by more than case, as many as its range has columns, and the cells of
    its head show them.

    Source: exceljs #106; XlsxWriter, add_table()
    """
    for sheet, _, table in book.tables:
        names, area = _columns(table), parsed(table.get("ref", ""))
        where = (sheet.title, table.get("ref", ""))
        for name, count in Counter(name.strip().casefold() for name in names).items():
            if count > 1 or not name:
                yield Found(f"{count} columns of a table are named '{name}'", "name each differently", *where)
        if area is None:
            continue
        width = area.right - area.left + 1
        if width != len(names):
            yield Found(f"a table of {width} columns describes {len(names)}", "describe each", *where)
        if table.get("headerRowCount", "1") != "0":
            for column, name in enumerate(names[:width], start=area.left):
                cell = sheet.by_place.get((area.top, column))
                shown = book.cell_text(cell) if cell else None
                if (shown or "").strip() != name.replace("_x000a_", "\n").strip():
                    yield Found(f"the head of column '{name}' shows '{shown or ''}'", "write its name", *where)


@rule("table-name", Severity.REPAIR)
def table_names(book: Book) -> Iterator[Found]:
    """A table's name is one that cells may have, and it and its number are the table's own.

    Source: ECMA-376 part 1, section 18.5.1.2; XlsxWriter, add_table()
    """
    names = Counter(table.get("displayName", "").casefold() for _, _, table in book.tables)
    numbers = Counter(table.get("id") for _, _, table in book.tables)
    for sheet, part, table in book.tables:
        name = table.get("displayName", "")
        problem = name_problem(name) or ("is a cell address" if is_cell_address(name) else "")
        if names[name.casefold()] > 1:
            problem = "is that of several tables"
        if problem:
            yield Found(f"the table name '{name}' {problem}", "rename the table", sheet.title, table.get("ref", ""))
        if numbers[table.get("id")] > 1 or not whole(table.get("id")):
            yield Found(f"{part}: the number {table.get('id')} is not the table's own", "number tables", sheet.title)


@rule("comment", Severity.REPAIR)
def comments(book: Book) -> Iterator[Found]:
    """A comment stands at a cell, one at each, with an author that there is and at most 32,767 characters, and has a
    box in the sheet's legacy drawing.

    Source: ECMA-376 part 1, section 18.7; MS-OI29500, comment
    """
    for sheet in book.sheets:
        for part in book.related(sheet.part, "comments"):
            authors, listed = len(book.all(part, "authors/author")), book.all(part, "commentList/comment")
            counted = Counter(each.get("ref") for each in listed)
            for each in listed:
                where = each.get("ref", "")
                if parsed(where) is None or ":" in where or counted[where] > 1:
                    yield Found(f"a comment at '{where}'", "comment one cell once", sheet.title, where)
                author = whole(each.get("authorId"))
                if author is None or author >= authors:
                    yield Found(f"author {each.get('authorId')} of {authors}", "name one", sheet.title, where)
                length = sum(map(len, each.itertext("{*}t")))
                if length > LONGEST_COMMENT:
                    yield Found(f"a comment of {length} characters", "shorten it", sheet.title, where)
            if listed and not sheet.all("legacyDrawing"):
                yield Found("comments without boxes", "write a legacy drawing", sheet.title)
