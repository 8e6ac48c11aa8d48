"""A ribbon tab of one's own: the custom add-in that comes with xlwings, with other buttons.

Each button carries the Python command that it runs as its tag, and the add-in's one macro runs the tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from pyxl.archive import packed, parts, replaced
from pyxl.excel.macros import PROJECT
from pyxl.excel.settings import Setting
from pyxl.excel.vba import with_source

NAME = "myaddin"  # as the macros of xlwings' custom add-in call it, and look for its settings
MODULE = "RibbonMyAddin"
RIBBON, WORKBOOK, SETTINGS = "customUI/customUI.xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"
RIBBON_SPACE = "http://schemas.microsoft.com/office/2006/01/customui"
SHEET_SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

MACRO = """\
Sub {callback}(control As IRibbonControl)
    If ActiveWorkbook Is Nothing Then
        MsgBox "Open a workbook first."
    Else
        RunPython control.Tag
    End If
End Sub
"""


@dataclass(frozen=True)
class Button:
    """A button: what it shows, and the Python command that it runs (without double quotes)."""

    key: str
    label: str
    tip: str
    image: str
    command: str


@dataclass(frozen=True)
class Tab:
    """A tab of the ribbon: its label and its groups of buttons. `key` starts the names of all that belongs to it."""

    key: str
    label: str
    groups: Mapping[str, Sequence[Button]]

    @property
    def callback(self) -> str:
        """The macro behind all buttons; add-ins find each other's macros, so its name is the tab's own."""
        return f"{self.key}Click"


def ribbon_addin(donor: bytes, tab: Tab, settings: Iterable[Setting]) -> bytes:
    """The add-in (.xlam). `donor` is xlwings' quickstart_addin_ribbon.xlam; `ValueError` where it is another one."""
    contents = parts(donor)
    contents[PROJECT] = with_source(contents[PROJECT], MODULE, MACRO.format(callback=tab.callback))
    contents[RIBBON] = _ribbon(tab)
    contents[WORKBOOK] = replaced(contents[WORKBOOK], f'name="_{NAME}.conf"'.encode(), f'name="{NAME}.conf"'.encode())
    contents[SETTINGS] = _with_settings(contents[SETTINGS], settings)
    return packed(contents)


def _ribbon(tab: Tab) -> bytes:
    root = etree.Element("customUI", nsmap={None: RIBBON_SPACE})
    tabs = etree.SubElement(etree.SubElement(root, "ribbon"), "tabs")
    element = etree.SubElement(tabs, "tab", id=tab.key, label=tab.label)
    for number, (label, buttons) in enumerate(tab.groups.items(), start=1):
        group = etree.SubElement(element, "group", id=f"{tab.key}_group{number}", label=label)
        for button in buttons:
            etree.SubElement(
                group,
                "button",
                id=f"{tab.key}_{button.key}",
                label=button.label,
                screentip=button.label,
                supertip=button.tip,
                size="large",
                imageMso=button.image,
                tag=button.command,
                onAction=tab.callback,
            )
    return _written(root)


def _with_settings(sheet: bytes, settings: Iterable[Setting]) -> bytes:
    root = etree.fromstring(sheet)
    rows = root.find(f"{{{SHEET_SPACE}}}sheetData")
    rows.clear()
    for number, setting in enumerate(settings, start=1):
        row = etree.SubElement(rows, "row", r=str(number))
        for letter, text in zip("ABC", (setting.key, setting.value, setting.why), strict=True):
            cell = etree.SubElement(row, "c", r=f"{letter}{number}", t="inlineStr")
            etree.SubElement(etree.SubElement(cell, "is"), "t").text = text
    root.find(f"{{{SHEET_SPACE}}}dimension").set("ref", f"A1:C{len(rows)}")
    return _written(root)


def _written(root: etree._Element) -> bytes:
    data: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return data
