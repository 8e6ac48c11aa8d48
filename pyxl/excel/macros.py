"""Makes a workbook macro-enabled (.xlsm), with the VBA project of another one."""

from __future__ import annotations

import re

from pyxl.archive import packed, parts, replaced

PROJECT = "xl/vbaProject.bin"
OVERRIDE = b'<Override PartName="/xl/vbaProject.bin" ContentType="application/vnd.ms-office.vbaProject"/>'
RELATION = (
    b'<Relationship Id="rIdVbaProject" Target="vbaProject.bin"'
    b' Type="http://schemas.microsoft.com/office/2006/relationships/vbaProject"/>'
)
WORKBOOK_TYPE = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
MACRO_TYPE = b"application/vnd.ms-excel.sheet.macroEnabled.main+xml"
TYPES, WORKBOOK, RELATIONS = "[Content_Types].xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"


def with_macros(workbook: bytes, donor: bytes) -> bytes:
    """The workbook with the donor's VBA project; its first sheets take the names that the project has for them."""
    contents, project = parts(workbook), parts(donor)[PROJECT]
    typed = replaced(contents[TYPES], WORKBOOK_TYPE, MACRO_TYPE)
    contents[TYPES] = replaced(typed, b"</Types>", OVERRIDE + b"</Types>")
    contents[RELATIONS] = replaced(contents[RELATIONS], b"</Relationships>", RELATION + b"</Relationships>")
    contents[WORKBOOK] = replaced(contents[WORKBOOK], b"<workbookPr/>", b'<workbookPr codeName="ThisWorkbook"/>')
    for number in _sheets(project):
        name = f"xl/worksheets/sheet{number}.xml"
        contents[name] = replaced(contents[name], b"<sheetPr>", f'<sheetPr codeName="Sheet{number}">'.encode())
    return packed(contents | {PROJECT: project})


def _sheets(project: bytes) -> list[int]:
    """The numbers of the sheets that a VBA project holds code for."""
    return [int(number) for number in re.findall(rb"Document=Sheet(\d+)/", project)]
