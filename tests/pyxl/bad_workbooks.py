"""A small sound workbook with everything in it, and how to spoil it: by rule, edits of its parts."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from io import BytesIO

from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.formatting.rule import FormulaRule
from openpyxl.styles import PatternFill
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.table import Table

from pyxl.archive import parts
from pyxl.stored_values import with_stored_values

Parts = dict[str, bytes]
Edit = Callable[[Parts], None]

TYPES, ROOT, BOOK, STYLES = "[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", "xl/styles.xml"
SHEET, OTHER, CORE = "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml", "docProps/core.xml"
LINES = "xl/worksheets/_rels/sheet1.xml.rels"
CHART, DRAWING, COMMENTS = "xl/charts/chart1.xml", "xl/drawings/drawing1.xml", "xl/comments/comment1.xml"
TABLE, TABLE2 = "xl/tables/table1.xml", "xl/tables/table2.xml"
FORMULA = b"<f>B2*2</f>"


def sound() -> bytes:
    """The workbook."""
    book = Workbook()
    data, other = book.active, book.create_sheet("Other sheet")
    assert data is not None
    data.title = "Data"
    for row in (["Name", "Value", "Twice"], ["a", 1, "=B2*2"], ["b", 2, "=B3*2"], ["text", 0.5, "='Other sheet'!A1"]):
        data.append(row)
    data.merge_cells("E1:F1")
    data["E1"] = "merged"
    data["A5"] = "commented"
    data["A5"].comment = Comment("Why", "somebody")
    data["A4"].hyperlink = Hyperlink(ref="A4", location="'Other sheet'!A1")
    data.oddFooter.left.text = "footer"
    data.column_dimensions["A"].width = 20
    data.column_dimensions["C"].width = 21
    listed = DataValidation(
        "list", formula1='"one,two"', prompt="choose", promptTitle="title", errorTitle="t", error="e"
    )
    listed.add("D2:D4")
    data.add_data_validation(listed)
    numbers = DataValidation("decimal", operator="between", formula1="0", formula2="1")
    numbers.add("B2:B4")
    data.add_data_validation(numbers)
    data.conditional_formatting.add("B2:B4", FormulaRule(["$B2>1"], fill=PatternFill(bgColor="FFC7CE")))
    for column, text in enumerate(("Key", "Number", "Key2", "Number2"), start=1):
        other.cell(3, column, text)
        other.cell(4, column, column)
    other["A1"] = 7
    other.add_table(Table(displayName="First", ref="A3:B4"))
    other.add_table(Table(displayName="Second", ref="C3:D4"))
    chart = BarChart()
    chart.add_data(Reference(data, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    data.add_chart(chart, "H2")
    data.print_area = "A1:F5"
    book.defined_names["rate"] = DefinedName("rate", attr_text="Data!$B$2")
    data["B2"].number_format = '[>=1000]0.0," k";0" B"'
    buffer = BytesIO()
    book.save(buffer)
    return with_stored_values(buffer.getvalue(), {SHEET: {"C2": 2, "C3": 4, "C4": 7}})


SOUND = parts(sound())


def swap(part: str, old: bytes, new: bytes) -> Edit:
    """Replace the first `old` in a part, which must hold it."""

    def edit(contents: Parts) -> None:
        assert old in contents[part], (part, old)
        contents[part] = contents[part].replace(old, new, 1)

    return edit


def formula(text: str) -> Edit:
    """Another formula in C2."""
    return swap(SHEET, FORMULA, f"<f>{text}</f>".encode())


def cell(xml: bytes) -> Edit:
    """Another cell in place of A2."""

    def edit(contents: Parts) -> None:
        contents[SHEET], count = re.subn(rb'<c r="A2".*?</c>', lambda _: xml, contents[SHEET], count=1)
        assert count == 1

    return edit


def add(part: str, data: bytes) -> Edit:
    """One more part."""
    return lambda contents: contents.update({part: data})


def drop(part: str) -> Edit:
    """One part less."""

    def edit(contents: Parts) -> None:
        del contents[part]

    return edit


def attribute(part: str, element: bytes, name: bytes, value: bytes) -> Edit:
    """Another value of an attribute of the first element of a name, which may lack it."""

    def edit(contents: Parts) -> None:
        head = re.search(rb"<" + element + rb"(?=[ />])[^>]*>", contents[part])
        assert head, (part, element)
        bare = re.sub(rb' %s="[^"]*"' % name, b"", head[0])
        whole = bare.replace(b"<" + element, b'<%s %s="%s"' % (element, name, value), 1)
        contents[part] = contents[part].replace(head[0], whole, 1)

    return edit


def named(name: str, text: str = "Data!$B$2") -> Edit:
    """Another name in place of `rate`."""

    def edit(contents: Parts) -> None:
        new = f'<definedName name="{name}">{text}</definedName>'.encode()
        contents[BOOK], count = re.subn(rb'<definedName name="rate">.*?</definedName>', lambda _: new, contents[BOOK])
        assert count == 1

    return edit


VALUES = (b"", b"-1", b"0", b"99999999999", b"NaN", b"zzz", b"A1", b"#REF!", b"x" * 300, b"1.5", b"'")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A byte, an attribute, an element or a text changed, doubled or lost."""
    pattern = chance.choice((rb'="([^"]*)"', rb'="([^"]*)"', rb"(<\w+[^<>]*/>)", rb">([^<>]+)<", rb"(.)"))
    matches = list(re.finditer(pattern, data, re.DOTALL))
    if not matches:
        return data
    match = chance.choice(matches)
    element = match[1].startswith(b"<")
    other = chance.choice((b"", match[1] * 2, chance.choice(matches)[1]) if element else (*VALUES, match[1] * 2))
    return data[: match.start(1)] + other + data[match.end(1) :]


TITLES = ("H" * 32, "a/b", "'quoted", "quoted'", "History", "")
CELL_LIKE = ("TP8", "H800", "h800", "BF16", "R1C1", "R", "c", "XFD1048576")
BAD: dict[str, list[Edit]] = {
    "zip-entry-duplicate": [add("XL/styles.xml", SOUND[STYLES])],
    "content-type-missing": [add("xl/strange.bin", b""), drop(TYPES)],
    "content-type-orphan": [
        swap(TYPES, b"</Types>", b'<Override PartName="/xl/gone.xml" ContentType="application/xml"/></Types>'),
    ],
    "content-type-wrong": [
        swap(TYPES, b"spreadsheetml.worksheet+xml", b"spreadsheetml.styles+xml"),
        swap(TYPES, b"openxmlformats-officedocument.spreadsheetml.sheet.main", b"ms-excel.sheet.macroEnabled.main"),
    ],
    "relationship-target": [drop(CHART), swap(ROOT, b"/officeDocument\"", b"/other\"")],
    "relationship-duplicate": [swap(LINES, b"</Rel", b'<Relationship Id="rId1" Target="x"/></Rel')],
    "relationship-missing": [swap(DRAWING, b'r:id="rId1"', b'r:id="rId9"'), swap(BOOK, b'r:id="rId2"', b"")],
    "part-unreachable": [add("xl/notes.xml", b"<a/>")],
    "xml-order": [
        lambda contents: contents.update(
            {SHEET: re.sub(rb"(<hyperlinks>.*?</hyperlinks>)(<pageMargins [^>]*>)", rb"\2\1", contents[SHEET])}
        ),
        swap(SHEET, b"<sheetData>", b"<strange/><sheetData>"),
        swap(STYLES, b"<fills", b"<dxfs/><fills"),
    ],
    "xml-doctype": [lambda contents: contents.update({SHEET: b"<!DOCTYPE worksheet>" + contents[SHEET]})],
    "core-date": [swap(CORE, b"2000-01-01T00:00:00Z", b"1 January 2000")],
    "sheet-name": [attribute(BOOK, b"sheet", b"name", title.encode()) for title in TITLES],
    "sheet-name-duplicate": [swap(BOOK, b'name="Other sheet"', b'name="DATA"')],
    "sheet-id": [swap(BOOK, b'sheetId="2"', b'sheetId="1"'), swap(BOOK, b'sheetId="2"', b'sheetId="70000"')],
    "sheet-visible": [
        lambda contents: contents.update({BOOK: contents[BOOK].replace(b'state="visible"', b'state="hidden"')}),
        swap(BOOK, b'activeTab="0"', b'activeTab="2"'),
    ],
    "sheet-size": [attribute(SHEET, b"col", b"width", b"256"), attribute(SHEET, b"row", b"ht", b"NaN")],
    "sheet-columns": [swap(SHEET, b'min="3" max="3"', b'min="1" max="3"'), swap(SHEET, b'max="3"', b'max="16385"')],
    "row-order": [swap(SHEET, b'<row r="2"', b'<row r="1"'), swap(SHEET, b'<row r="5"', b'<row r="1048577"')],
    "merge": [
        swap(SHEET, b"</mergeCells>", b'<mergeCell ref="F1:G2"/></mergeCells>'),
        swap(SHEET, b'ref="E1:F1"', b'ref="E1"'),
        swap(OTHER, b"<pageMargins", b'<mergeCells><mergeCell ref="A4:B5"/></mergeCells><pageMargins'),
    ],
    "header-length": [swap(SHEET, b"footer</oddFooter>", b"f" * 256 + b"</oddFooter>")],
    "hyperlink": [
        swap(SHEET, b'<hyperlink ref="A4"', b'<hyperlink ref="A0"'),
        swap(SHEET, b' location="\'Other sheet\'!A1"', b""),
        swap(SHEET, b"<hyperlinks>", b"<hyperlinks>" + b'<hyperlink ref="A4" location="A1"/>' * 65_530),
    ],
    "hyperlink-target": [
        swap(SHEET, b"location=\"'Other sheet'!A1\"", b'location="Gone!A1"'),
        swap(SHEET, b"location=\"'Other sheet'!A1\"", b'location="gone"'),
        swap(SHEET, b"location=\"'Other sheet'!A1\"", b"location=\"'Other sheet'!XFE1\""),
    ],
    "name-cell": [named(name) for name in CELL_LIKE],
    "name-illegal": [named(name) for name in ("two words", "1st", "a-b", "_xlnm.Own", "n" * 256, "TRUE")],
    "name-duplicate": [
        swap(BOOK, b"</definedNames>", b'<definedName name="RATE">Data!$B$3</definedName></definedNames>'),
        named("first"),
    ],
    "name-scope": [swap(BOOK, b'<definedName name="rate"', b'<definedName name="rate" localSheetId="2"')],
    "name-target": [named("rate", text) for text in ("Gone!$A$1", "Data!#REF!", "'Gone too'!$A$1", "")],
    "name-print": [
        swap(BOOK, b"'Data'!$A$1:$F$5", b"'Other sheet'!$A$1:$F$5"),
        swap(BOOK, b"'Data'!$A$1:$F$5", b"#REF!"),
        swap(BOOK, b' localSheetId="0"', b""),
    ],
    "cell-order": [
        cell(b'<c r="A3"><v>1</v></c>'),
        cell(b'<c r="C2"><v>1</v></c>'),
        cell(b'<c r="A2"><v>1</v></c><c r="A2"><v>1</v></c>'),
        cell(b'<c r="XFE2"><v>1</v></c>'),
        cell(b'<c r="2A"><v>1</v></c>'),
        swap(SHEET, b'<row r="2"', b'<row r="two"'),
    ],
    "cell-kind": [
        cell(b'<c r="A2" t="x"><v>1</v></c>'),
        cell(b'<c r="A2" t="b"><v>TRUE</v></c>'),
        cell(b'<c r="A2" t="e"><v>#ERR</v></c>'),
    ],
    "cell-number": [
        cell(b'<c r="A2"><v>%s</v></c>' % text) for text in (b"NaN", b"INF", b"-inf", b"1,5", b"1e999", b"text")
    ],
    "cell-text-length": [
        cell(b'<c r="A2" t="inlineStr"><is><t>%s</t></is></c>' % text) for text in (b"x" * 32_768, b"x\n" * 254)
    ],
    "cell-text-escape": [cell(b'<c r="A2" t="inlineStr"><is><t>a_x0041_b</t></is></c>')],
    "shared-string": [cell(b'<c r="A2" t="s"><v>0</v></c>'), cell(b'<c r="A2" t="s"><v>x</v></c>')],
    "style-index": [
        cell(b'<c r="A2" s="99"><v>1</v></c>'),
        attribute(SHEET, b"row", b"s", b"99"),
        attribute(SHEET, b"col", b"style", b"-1"),
    ],
    "stored-value": [swap(SHEET, FORMULA + b"<v>2</v>", FORMULA + b"<v></v>")],
    "formula-length": [formula("B2" + "+B2" * 2_731), formula(f'"{"x" * 256}"')],
    "formula-depth": [formula("ABS(" * 65 + "B2" + ")" * 65)],
    "formula-arguments": [formula(f"SUM({','.join(['B2'] * 256)})")],
    "formula-brackets": [formula(text) for text in ("SUM(B2", "B2)", '"a', "SUM(B2;B3)", "{1,2)")],
    "formula-prefix": [formula("XLOOKUP(1,B2:B3,C2:C3)"), swap(SHEET, b"$B2&gt;1", b"ISFORMULA(B2)")],
    "formula-sheet": [
        formula("Gone!A1"),
        formula("'Gone too'!A1"),
        swap(CHART, b"'Data'!$B$2", b"'Gone'!$B$2"),
        swap(SHEET, b"$B2&gt;1", b"Gone!A1"),
    ],
    "formula-reference": [formula(text) for text in ("XFE1", "A1048577", "SUM(B2:ZZZ9)")],
    "formula-error": [formula("#REF!+1"), swap(CHART, b"'Data'!$B$2:$B$3", b"#REF!")],
    "formula-name": [formula("unknown*2")],
    "formula-function": [formula("OFFSET(B2,1,0)"), formula("_xlfn.ISFORMULA(B2)"), formula("SOL_TIME(B2)")],
    "formula-portable": [
        formula(text)
        for text in ("-(B2)", "1e3", "--B2", "SUM(B:B)", "SUM(2:3)", "First[Number]", "INDEX(B2:C3,0)", "SUM({1,2})",
                     "IF(B2,1)", "B2%%", "@B2", "SUM(B2:INDEX(B2:B3,1))", "INDEX(B2:B3,1):B3")
    ],
    "formula-shared": [
        swap(SHEET, FORMULA, b'<f t="shared" si="0"/>'),
        swap(SHEET, FORMULA, b'<f t="array">B2</f>'),
        swap(SHEET, FORMULA, b'<f t="strange">B2</f>'),
        swap(SHEET, FORMULA, b'<f t="array" ref="x">B2</f>'),
    ],
    "validation-list": [swap(SHEET, b'"one,two"', b'"%s"' % (b"x," * 128))],
    "validation-text": [
        attribute(SHEET, b"dataValidation", name, b"x" * length)
        for name, length in ((b"promptTitle", 33), (b"errorTitle", 33), (b"prompt", 256), (b"error", 226))
    ],
    "validation-form": [
        swap(SHEET, b'<formula1>"one,two"</formula1>', b""),
        swap(SHEET, b"<formula2>1</formula2>", b""),
        attribute(SHEET, b"dataValidation", b"type", b"strange"),
        attribute(SHEET, b"dataValidation", b"sqref", b""),
        attribute(SHEET, b"dataValidation", b"sqref", b"D2 XFE4"),
    ],
    "validation-overlap": [attribute(SHEET, b"dataValidation", b"sqref", b"D2 A1:C3")],
    "conditional-format-style": [attribute(SHEET, b"cfRule", b"dxfId", b"1")],
    "conditional-format-form": [
        attribute(SHEET, b"cfRule", b"priority", b"0"),
        attribute(SHEET, b"conditionalFormatting", b"sqref", b"B"),
        swap(SHEET, b"<formula>$B2&gt;1</formula>", b"<formula/>"),
        lambda contents: contents.update({SHEET: re.sub(rb"<cfRule.*</cfRule>", b"", contents[SHEET])}),
    ],
    "table-overlap": [attribute(TABLE2, b"table", b"ref", b"B3:C4"), attribute(TABLE2, b"table", b"ref", b"C3:D3")],
    "table-header": [
        swap(TABLE2, b'name="Number2"', b'name="KEY2"'),
        swap(OTHER, b"<t>Key2</t>", b"<t>Other</t>"),
        attribute(TABLE2, b"table", b"ref", b"C3:E4"),
    ],
    "table-name": [
        attribute(TABLE2, b"table", b"displayName", name) for name in (b"FIRST", b"TP8", b"two words", b"R1C1")
    ] + [attribute(TABLE2, b"table", b"id", b"1")],
    "comment": [
        attribute(COMMENTS, b"comment", b"authorId", b"1"),
        attribute(COMMENTS, b"comment", b"ref", b"A0"),
        swap(COMMENTS, b"<t>Why</t>", b"<t>" + b"x" * 32_768 + b"</t>"),
        lambda contents: contents.update({SHEET: re.sub(rb"<legacyDrawing [^>]*>", b"", contents[SHEET])}),
    ],
    "style-count": [swap(STYLES, b"</cellXfs>", b'<xf numFmtId="0"/>' * 65_490 + b"</cellXfs>")],
    "style-reference": [
        attribute(STYLES, b"xf", name, b"999") for name in (b"fontId", b"fillId", b"borderId", b"numFmtId")
    ],
    "style-name": [
        swap(STYLES, b"</cellStyles>", b'<cellStyle name="NORMAL" xfId="0"/></cellStyles>'),
        attribute(STYLES, b"cellStyle", b"name", b"n" * 256),
    ],
    "number-format": [
        attribute(STYLES, b"numFmt", b"formatCode", code)
        for code in (b"", b"0" * 256, b"0&quot;B", b"[Red", b"[&lt;1]0;[&lt;2]0;[&lt;3]0", b"0;0;0;@;0")
    ] + [attribute(STYLES, b"numFmt", b"numFmtId", b"14")],
    "chart-axis": [swap(CHART, b'<axId val="10"', b'<axId val="11"')],
    "chart-series": [lambda contents: contents.update({CHART: re.sub(rb"<ser>.*</ser>", b"", contents[CHART])})],
    "drawing-anchor": [
        swap(DRAWING, b"<row>1</row>", b"<row>1048576</row>"),
        swap(DRAWING, b"<col>7</col>", b"<col>x</col>"),
    ],
}  # fmt: skip
