"""Rules about the parts of the package: what lies in the archive, and how it hangs together."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator

from pyxl.lint.book import CONTENT_TYPES, RELATIONSHIPS, STRICT_RELATIONSHIPS, Book
from pyxl.lint.rules import Found, Rules, Severity

rule = Rules[Book]()

MAIN_TYPES = {
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
    ".xlsm": "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
}
_PREFIX = "application/vnd.openxmlformats-officedocument."
PART_TYPES = {
    "worksheet": f"{_PREFIX}spreadsheetml.worksheet+xml",
    "styles": f"{_PREFIX}spreadsheetml.styles+xml",
    "sharedStrings": f"{_PREFIX}spreadsheetml.sharedStrings+xml",
    "table": f"{_PREFIX}spreadsheetml.table+xml",
    "comments": f"{_PREFIX}spreadsheetml.comments+xml",
    "drawing": f"{_PREFIX}drawing+xml",
    "chart": f"{_PREFIX}drawingml.chart+xml",
    "theme": f"{_PREFIX}theme+xml",
    "vbaProject": "application/vnd.ms-office.vbaProject",
}
_ORDER = {
    "worksheet": """
        sheetPr dimension sheetViews sheetFormatPr cols sheetData sheetCalcPr sheetProtection protectedRanges
        scenarios autoFilter sortState dataConsolidate customSheetViews mergeCells phoneticPr conditionalFormatting
        dataValidations hyperlinks printOptions pageMargins pageSetup headerFooter rowBreaks colBreaks
        customProperties cellWatches ignoredErrors smartTags drawing legacyDrawing legacyDrawingHF drawingHF picture
        oleObjects controls webPublishItems tableParts extLst
    """,
    "workbook": """
        fileVersion fileSharing workbookPr workbookProtection bookViews sheets functionGroups externalReferences
        definedNames calcPr oleSize customWorkbookViews pivotCaches smartTagPr smartTagTypes webPublishing
        fileRecoveryPr webPublishObjects extLst
    """,
    "styleSheet": "numFmts fonts fills borders cellStyleXfs cellXfs cellStyles dxfs tableStyles colors extLst",
}
ORDER = {root: words.split() for root, words in _ORDER.items()}
REPEATED = ("conditionalFormatting", "fileRecoveryPr")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?)?)?")


def _relationship_part(source: str) -> str:
    folder, file = posixpath.split(source)
    return posixpath.join(folder, "_rels", f"{file}.rels")


@rule("zip-entry-duplicate", Severity.REPAIR)
def duplicate_entries(book: Book) -> Iterator[Found]:
    """A part stands in the archive once, whatever the case of its name: Excel refuses a second.

    Source: ECMA-376 part 2, part names are equal if they differ in case only
    """
    shown = {name.casefold(): name for name in book.entries}
    for name, count in Counter(name.casefold() for name in book.entries).items():
        if count > 1:
            yield Found(f"the archive holds {shown[name]} {count} times", "write each part once", shown[name])


@rule("content-type-missing", Severity.REPAIR)
def missing_content_types(book: Book) -> Iterator[Found]:
    """Every part needs a content type, by its own name or by its extension.

    Source: ECMA-376 part 2, [Content_Types].xml
    """
    if CONTENT_TYPES not in book.trees:
        yield Found("the file has no [Content_Types].xml", "write one", CONTENT_TYPES)
        return
    for name in book.parts:
        if name != CONTENT_TYPES and not _content_type(book, name):
            yield Found(f"{name} has no content type", "name it in [Content_Types].xml", name)


def _content_type(book: Book, name: str) -> str:
    for each in book.all(CONTENT_TYPES, "Override"):
        if each.get("PartName", "").lstrip("/").casefold() == name.casefold():
            return str(each.get("ContentType", ""))
    extension = name.rpartition(".")[2].casefold()
    for each in book.all(CONTENT_TYPES, "Default"):
        if each.get("Extension", "").casefold() == extension:
            return str(each.get("ContentType", ""))
    return ""


@rule("content-type-orphan", Severity.REPAIR)
def orphan_content_types(book: Book) -> Iterator[Found]:
    """A content type names a part that is in the file, and each part once.

    Source: ECMA-376 part 2, [Content_Types].xml; repair reports of writers that dropped a part, exceljs #106
    """
    counted = Counter(each.get("PartName", "") for each in book.all(CONTENT_TYPES, "Override"))
    names = {name.casefold() for name in book.entries}
    for name, count in counted.items():
        if name.lstrip("/").casefold() not in names:
            yield Found(f"[Content_Types].xml names {name}, which is not in the file", "remove its line", CONTENT_TYPES)
        if count > 1:
            yield Found(f"[Content_Types].xml names {name} {count} times", "name it once", CONTENT_TYPES)


@rule("content-type-wrong", Severity.REPAIR)
def wrong_content_types(book: Book) -> Iterator[Found]:
    """A part's content type is what the relationship to it says, and that of the workbook fits the file's extension:
    Excel opens no .xlsx that says it has macros, nor an .xlsm that says it has none.

    Source: ECMA-376 part 1, section 12.3; Microsoft, file name extensions of Excel
    """
    expected = {each.target: PART_TYPES.get(each.kind) for lines in book.relationships.values() for each in lines}
    expected["xl/workbook.xml"] = MAIN_TYPES.get(book.path.suffix.lower())
    for name, wanted in expected.items():
        found = _content_type(book, name)
        if wanted and found and name in book.parts and found != wanted:
            yield Found(f"the content type of {name} is {found}", f"write {wanted}", name)


@rule("relationship-target", Severity.REPAIR)
def relationship_targets(book: Book) -> Iterator[Found]:
    """A relationship leads to a part that is in the file.

    Source: ECMA-376 part 2, section 9.3; exceljs #106
    """
    for source, lines in book.relationships.items():
        for each in lines:
            if not each.external and each.target not in book.parts:
                where = _relationship_part(source)
                yield Found(f"{where} leads to {each.target}, which is not in the file", "remove it", where)
    if not any(each.kind == "officeDocument" for each in book.relationships.get("", ())):
        yield Found("_rels/.rels leads to no workbook", "write its relationship", "_rels/.rels")


@rule("relationship-duplicate", Severity.REPAIR)
def duplicate_relationships(book: Book) -> Iterator[Found]:
    """Identifiers of a part's relationships are unique.

    Source: ECMA-376 part 2, section 9.3
    """
    for source, lines in book.relationships.items():
        for identifier, count in Counter(each.identifier for each in lines).items():
            if count > 1 or not identifier:
                where = _relationship_part(source)
                yield Found(f"{where} has {count} relationships '{identifier}'", "give each its own", where)


@rule("relationship-missing", Severity.REPAIR)
def missing_relationships(book: Book) -> Iterator[Found]:
    """What a part refers to by r:id is a relationship of that part: its sheets, drawings, tables, charts.

    Source: ECMA-376 part 1, section 22.8; "Removed Part: /xl/drawings/drawing1.xml"
    """
    for name, tree in book.trees.items():
        known = {each.identifier for each in book.relationships.get(name, ())}
        for namespace in (RELATIONSHIPS, STRICT_RELATIONSHIPS):
            if name.endswith(".rels") or f'="{namespace}"'.encode() not in book.parts[name]:
                continue
            for value in tree.xpath("//@r:id | //@r:embed | //@r:link", namespaces={"r": namespace}):
                if value not in known:
                    yield Found(f"{name} refers to relationship '{value}', which it has not", "write or drop it", name)
    for each in book.sheet_elements:
        if not any(key.endswith("}id") for key in each.attrib):
            title = each.get("name", "")
            yield Found(f"the sheet '{title}' has no r:id", "name the relationship to its part", title)


@rule("part-unreachable", Severity.ADVICE)
def unreachable_parts(book: Book) -> Iterator[Found]:
    """A part that no relationship leads to is never read, and may hold what somebody thought deleted.

    Source: ECMA-376 part 2, section 9.3
    """
    reached = {each.target for lines in book.relationships.values() for each in lines}
    for name in book.parts:
        if name != CONTENT_TYPES and not name.endswith(".rels") and name not in reached:
            yield Found(f"nothing leads to {name}", "remove it", name)


@rule("xml-order", Severity.REPAIR)
def element_order(book: Book) -> Iterator[Found]:
    """The children of a worksheet, the workbook and its styles have one order, and each but a few stands once.

    Source: ECMA-376 part 1, annex A, CT_Worksheet, CT_Workbook, CT_Stylesheet; exceljs #106
    """
    for name, tree in book.trees.items():
        kind = tree.tag.rpartition("}")[2]
        order = ORDER.get(kind)
        if order is None:
            continue
        last = ""
        for child in tree:
            namespace, _, tag = child.tag.rpartition("}")
            if namespace != tree.tag.rpartition("}")[0]:
                continue  # an extension that Excel is told to ignore
            if tag not in order:
                yield Found(f"{name} holds <{tag}>, which <{kind}> may not", "remove it", name)
                continue
            if last and (order.index(tag) < order.index(last) or (tag == last and tag not in REPEATED)):
                yield Found(f"{name}: <{tag}> stands behind <{last}>", f"the order is {' '.join(order)}", name)
            last = tag


@rule("xml-doctype", Severity.REPAIR)
def document_types(book: Book) -> Iterator[Found]:
    """No part declares a document type: Excel refuses it, and it may hide entities that grow without bound.

    Source: ECMA-376 part 2, section 8.1.4
    """
    for name, tree in book.trees.items():
        if tree.getroottree().docinfo.doctype:
            yield Found(f"{name} has a document type", "remove <!DOCTYPE ...>", name)


@rule("core-date", Severity.REPAIR)
def core_dates(book: Book) -> Iterator[Found]:
    """Times of creation and change are dates in the form of W3C, such as 2000-01-01T00:00:00Z, each once.

    Source: ECMA-376 part 2, section 11; https://www.w3.org/TR/NOTE-datetime
    """
    for part in book.related("", "core-properties"):
        for tag in ("created", "modified"):
            dates = book.all(part, tag)
            for each in dates:
                if not _DATE.fullmatch((each.text or "").strip()):
                    yield Found(f"{part}: {tag} is '{each.text}'", "write a date such as 2000-01-01T00:00:00Z", part)
            if len(dates) > 1:
                yield Found(f"{part}: {tag} stands {len(dates)} times", "write it once", part)
