"""Excel's side of an add-in: compressed macros, settings, the ribbon, macro-enabled workbooks."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import xlwings
from lxml import etree
from olefile import OleFileIO
from oletools.olevba import VBA_Parser, decompress_stream
from openpyxl import load_workbook

from pyxl.archive import parts
from pyxl.excel.macros import PROJECT, with_macros
from pyxl.excel.ribbon import MODULE, RIBBON, Button, Tab, ribbon_addin
from pyxl.excel.settings import Setting, settings_sheet
from pyxl.excel.vba import compressed, with_source
from pyxl.plan import Plan, Sheet
from pyxl.writer import workbook_bytes

XLWINGS = Path(xlwings.__file__).parent
DONOR = (XLWINGS / "quickstart_addin_ribbon.xlam").read_bytes()
QUICKSTART = (XLWINGS / "quickstart.xlsm").read_bytes()
SETTINGS = [Setting("Interpreter_Win", r"C:\Python & more\python.exe", "why"), Setting("UDF Modules", "a.b", "")]
LETTERS = "".join(chr(33 + number * step % 93) for step in (1, 2) for number in range(93))  # repeats no three
TAB = Tab(
    "mine",
    "My <tab>",
    {
        "First": [Button("one", "One & only", 'A "tip"', "HappyFace", "import one; one.go('x')")],
        "Second": [Button("two", "Two", "tip", "HappyFace", "import two")],
    },
)


def macros(file: bytes) -> dict[str, str]:
    """The source of each module as an independent reader finds it."""
    found = VBA_Parser("file", data=file).extract_macros()
    return {stream.removeprefix("VBA/"): source.replace("\r\n", "\n") for _, stream, _, source in found}


def streams(project: bytes) -> dict[str, bytes]:
    with OleFileIO(BytesIO(project)) as file:
        return {"/".join(path): file.openstream(path).read() for path in file.listdir()}


# Macros


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"abcdefghijklmnopqrstuv.", "01 19B0 00 6162636465666768 00 696A6B6C6D6E6F70 00 717273747576 2E"),
        (b"a" * 73, "01 03B0 02 61 4500"),
    ],
)
def test_text_is_compressed_as_the_specification_shows(text: bytes, expected: str) -> None:
    """[MS-OVBA] 3.2.1 and 3.2.3."""
    assert compressed(text) == bytes.fromhex(expected)


def test_text_is_compressed_as_well_as_in_files_of_excel() -> None:
    """Over many chunks; of equal copies a writer may choose any."""
    held = streams(parts(DONOR)[PROJECT])
    for stream in (held["VBA/dir"], held["VBA/xlwings"]):
        text = bytes(decompress_stream(bytearray(stream)))
        assert len(compressed(text)) == len(stream)
        assert bytes(decompress_stream(bytearray(compressed(text)))) == text


def test_one_module_gets_another_source_and_nothing_moves() -> None:
    before = parts(DONOR)[PROJECT]
    after = with_source(before, MODULE, "Sub Another()\nEnd Sub\n")
    assert len(after) == len(before)
    changed = {name for name, data in streams(after).items() if data != streams(before)[name]}
    assert changed == {f"VBA/{MODULE}"}
    assert "Sub Another()\nEnd Sub\n" in macros(after)[MODULE]
    assert "RunMain" not in macros(after)[MODULE]


def test_shorter_sources_are_filled_up() -> None:
    project, head = parts(DONOR)[PROJECT], f'Attribute VB_Name = "{MODULE}"\n'
    for length in range(1, 140):
        source = f"'{LETTERS[:length]}\n"
        assert macros(with_source(project, MODULE, source))[MODULE].startswith(head + source)


def test_a_source_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fill 216"):
        with_source(parts(DONOR)[PROJECT], MODULE, "".join(f"' {number}\n" for number in range(100)))


def test_a_project_that_runs_what_was_compiled_before_is_refused() -> None:
    with pytest.raises(ValueError, match="compiled before"):
        with_source(parts(QUICKSTART)[PROJECT], "Module1", "Sub Another()\nEnd Sub\n")


# The ribbon


@pytest.fixture(scope="module")
def addin() -> bytes:
    return ribbon_addin(DONOR, TAB, SETTINGS)


def buttons(file: bytes) -> Iterator[Any]:
    return etree.fromstring(parts(file)[RIBBON]).iter("{*}button")


def test_each_button_carries_its_command(addin: bytes) -> None:
    assert [(button.get("label"), button.get("supertip"), button.get("tag")) for button in buttons(addin)] == [
        ("One & only", 'A "tip"', "import one; one.go('x')"),
        ("Two", "tip", "import two"),
    ]


def test_each_button_calls_a_macro_that_runs_its_command(addin: bytes) -> None:
    source = macros(addin)[MODULE]
    assert "RunPython control.Tag" in source
    for button in buttons(addin):
        assert f"Sub {button.get('onAction')}(control As IRibbonControl)" in source
    assert "Function RunPython(" in macros(addin)["xlwings"]


def test_names_on_the_ribbon_are_ones_own_and_unique(addin: bytes) -> None:
    root = etree.fromstring(parts(addin)[RIBBON])
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == 5
    assert len(set(names)) == len(names)
    assert all(name.startswith("mine") for name in names)


def test_the_ribbon_is_of_the_schema_that_xlwings_uses(addin: bytes) -> None:
    """Elements and attributes of [MS-CUSTOMUI]."""
    allowed = {
        "customUI": set(),
        "ribbon": set(),
        "tabs": set(),
        "tab": {"id", "label"},
        "group": {"id", "label"},
        "button": {"id", "label", "screentip", "supertip", "size", "imageMso", "tag", "onAction"},
    }
    root, original = (etree.fromstring(parts(file)[RIBBON]) for file in (addin, DONOR))
    assert root.nsmap == original.nsmap
    for element in root.iter():
        assert set(element.attrib) <= allowed[etree.QName(element).localname]
        assert all(len(text) <= 1024 for text in element.attrib.values())


def test_all_else_is_as_xlwings_made_it(addin: bytes) -> None:
    before, after = parts(DONOR), parts(addin)
    assert list(before) == list(after)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {PROJECT, RIBBON, "xl/workbook.xml", "xl/worksheets/sheet1.xml"}
    assert {name: text for name, text in macros(addin).items() if name != MODULE} == {
        name: text for name, text in macros(DONOR).items() if name != MODULE
    }


def test_the_addin_holds_its_settings_where_its_macros_look(addin: bytes) -> None:
    sheet = etree.fromstring(parts(addin)["xl/worksheets/sheet1.xml"])
    assert {cell.get("r"): "".join(cell.itertext()) for cell in sheet.iter("{*}c")} == {
        "A1": "Interpreter_Win", "B1": r"C:\Python & more\python.exe", "C1": "why",
        "A2": "UDF Modules", "B2": "a.b", "C2": "",
    }  # fmt: skip
    assert b'<sheet name="myaddin.conf" ' in parts(addin)["xl/workbook.xml"]
    assert 'PROJECT_NAME As String = "myaddin"' in macros(addin)["xlwings"]


def test_equal_input_gives_equal_bytes(addin: bytes) -> None:
    assert ribbon_addin(DONOR, TAB, SETTINGS) == addin


def test_another_addin_is_refused() -> None:
    with pytest.raises(ValueError, match="stands 0 times"):
        ribbon_addin(ribbon_addin(DONOR, TAB, []), TAB, [])


# Workbooks


def workbook() -> bytes:
    sheets = [Sheet("One"), Sheet("Two"), settings_sheet("xlwings", SETTINGS)]
    return workbook_bytes(Plan("title", "description", sheets))


def test_settings_start_in_the_first_cell() -> None:
    """The macros read column A from A1 down to the first empty cell."""
    sheet = load_workbook(BytesIO(workbook()))["xlwings.conf"]
    assert [sheet["A1"].value, sheet["B1"].value, sheet["A3"].value] == ["Interpreter_Win", SETTINGS[0].value, None]


def test_a_macro_enabled_workbook_has_the_macros_of_xlwings() -> None:
    made = with_macros(workbook(), QUICKSTART)
    assert parts(made)[PROJECT] == parts(QUICKSTART)[PROJECT]
    assert "RunPython" in macros(made)["Module1"]


def test_a_macro_enabled_workbook_is_wired_as_excel_wires_it() -> None:
    """Types, relations and code names equal those in the file that Excel saved."""
    ours, excel = parts(with_macros(workbook(), QUICKSTART)), parts(QUICKSTART)
    for part, xpath in (
        ("[Content_Types].xml", "//*[@PartName='/xl/workbook.xml']/@ContentType"),
        ("[Content_Types].xml", "//*[@PartName='/xl/vbaProject.bin' or @Extension='bin']/@ContentType"),
        ("xl/_rels/workbook.xml.rels", "//*[@Target='vbaProject.bin']/@Type"),
        ("xl/workbook.xml", "//*[local-name()='workbookPr']/@codeName"),
        ("xl/worksheets/sheet1.xml", "//*[local-name()='sheetPr']/@codeName"),
        ("xl/worksheets/sheet2.xml", "//*[local-name()='sheetPr']/@codeName"),
    ):
        found, expected = (etree.fromstring(file[part]).xpath(xpath) for file in (ours, excel))
        assert len(expected) == 1, xpath
        assert found == expected, xpath


def test_cells_are_the_same_with_and_without_macros() -> None:
    plain, enabled = parts(workbook()), parts(with_macros(workbook(), QUICKSTART))
    assert enabled.keys() - plain.keys() == {PROJECT}
    assert enabled["xl/worksheets/sheet3.xml"] == plain["xl/worksheets/sheet3.xml"]
