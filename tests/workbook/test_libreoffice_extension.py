"""The extension in a LibreOffice of its own, installed as its users do: not as root, which LibreOffice refuses."""

import io
import os
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pyxl import reader
from pyxl.errors import MissingProgram, UserError
from pyxl.libreoffice import extension
from pyxl.libreoffice.extension import Extension
from pyxl.libreoffice.running import bridge, program, properties
from tests.workbook.installed import MENU, Office, as_user, installed, opened, profile, started
from workbook import study as studies
from workbook.addin import ACTIONS
from workbook.addin import libreoffice as addin
from workbook.analysis import analysis
from workbook.cell_functions import functions
from workbook.study import Study

Solbook = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.libreoffice

PROBE = """
from pathlib import Path

def click(key):
    Path({folder!r}, "clicked").open("a").write(key + "\\n")
"""
OPENS = "com.sun.star.sheet.SpreadsheetDocument"


def _probed(home: Path) -> Extension:
    """The extension, but its menu only writes into a file what was clicked."""
    built = addin.extension()
    probe = {"probe.py": PROBE.format(folder=str(home)).encode()}
    return replace(built, click=("probe", "click"), files={**built.files, **probe})


@pytest.fixture(autouse=True, scope="module")
def _bridged() -> None:
    try:
        bridge()
    except UserError as error:
        if os.environ.get("SOLBOOK_REQUIRE_LIBREOFFICE") == "1":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    with installed(_probed) as folder, started(folder) as running:
        yield running


def test_cells_compute_quantities(office: Office) -> None:
    office.write("A1:B2", (("h800 sxm5 80gb", 1024.0), ("#", 4.0)))
    assert office.shown("=SOL_HBM_PEAK(A1)") == office.shown('=SOL_HBM_PEAK("H800 SXM5 80GB")') == "3350000000000"
    assert office.shown("=SOL_WORLD_SIZE(B1)") == office.shown("=SOL_WORLD_SIZE(B1:B1)")
    assert office.shown("=SOL_FAILED_CHECKS(A1:A2)") == "2"


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ('=SOL_HBM_PEAK("H900")', "SOL_HBM_PEAK: 'H900' is not in the table; it has "),
        ("=SOL_HBM_PEAK(Y99)", "SOL_HBM_PEAK: hardware is empty: write a text"),
        ("=SOL_HBM_PEAK()", "SOL_HBM_PEAK: hardware is left out: it is value 1 of 1"),
        ("=SOL_HBM_PEAK(A1:A2)", "SOL_HBM_PEAK: hardware is a range: give one cell"),
        ('=SOL_DEVICES_PER_NODE_OF_OURS("x")', "#NAME?"),
        ('=SOL("step_time_lower_bound";Y1:Y2;Y1:Y3)', "SOL: keys has 2 rows and values 3: take the same rows of both"),
        ('=SOL("step";Y1:Y2;Y1:Y2)', "SOL: there is no quantity 'step': did you mean "),
    ],
)
def test_a_wrong_argument_is_named(office: Office, formula: str, shown: str) -> None:
    assert office.shown(formula).startswith(shown)


def test_an_error_in_an_argument_stays_that_error(office: Office) -> None:
    assert office.shown("=SOL_HBM_PEAK(1/0)") == "#DIV/0!"
    assert office.shown("=SOL_HBM_PEAK(NA())") == "#N/A"


def test_the_table_of_a_strategy_equals_the_engine(
    office: Office, shipped: Path, study: Study, rows: reader.ModelRows
) -> None:
    """Over the columns of the shipped workbook itself, in a second window."""
    document = office.opened(shipped)
    try:
        name, column = next(reversed(rows.columns.items()))
        last = max(rows.rows.values())
        letters = rows.place("model", name)[1].rstrip("0123456789")
        document.Sheets.insertNewByName("Table", 0)
        area = document.Sheets.getByName("Table").getCellRangeByName(f"A1:C{len(analysis.quantities)}")
        area.setArrayFormula(f"=SOL_TABLE($Analysis.A1:A{last};$Analysis.{letters}1:{letters}{last})")
        found = {key: (value, unit) for key, value, unit in area.getDataArray()}
    finally:
        document.close(True)
    assert column > 1
    assert found == {key: (value, analysis[key].unit) for key, value in study.values[name].items()}


def test_an_error_among_the_values_is_told_where_it_matters(office: Office) -> None:
    office.write("A1:A3", (("model",), ("hardware",), ("price",)))
    office.write("B1:B1", (("deepseek-v3",),))
    office.sheet.getCellRangeByName("B2").Formula = "=NA()"
    wanted = "=SOL_TABLE(A1:A3;B1:B3;D1:D2)"
    office.write("D1:D2", (("total_parameters",), ("hbm_peak",)))
    (_, parameters, _), (_, peak, unit) = office.rows("F1:H2", wanted)
    assert parameters == 671026404352  # Hugging Face, DeepSeek-V3 without its prediction layers
    assert (peak, unit) == ("hardware is #N/A", "byte/s")


def test_two_thousand_calls_take_half_a_second(office: Office) -> None:
    argument = len(functions()["SOL_COMPUTE_TIME"].arguments)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXY"[:argument]
    count = 2000
    office.document.Sheets.insertNewByName("Speed", 1)
    sheet = office.document.Sheets.getByName("Speed")
    sheet.getCellRangeByName(f"A1:{letters[-1]}{count}").setDataArray(((2.0,) * argument,) * count)
    calls = [(f"=SOL_COMPUTE_TIME({';'.join(f'{letter}{row + 1}' for letter in letters)})",) for row in range(count)]
    cells = sheet.getCellRangeByName(f"Z1:Z{count}")
    cells.setFormulaArray(calls)
    begun = time.perf_counter()
    office.document.calculateAll()
    taken = time.perf_counter() - begun
    print(f"{count} calls of SOL_COMPUTE_TIME: {taken:.3f} s")
    assert {value for (value,) in cells.getDataArray()} == {functions()["SOL_COMPUTE_TIME"](*[2.0] * argument)}
    assert taken < 0.5


def test_the_function_wizard_shows_help(office: Office) -> None:
    listed = office.service("com.sun.star.sheet.FunctionDescriptions")
    described = [{entry.Name: entry.Value for entry in listed.getByIndex(number)} for number in range(listed.Count)]
    found = {
        entry["Name"]: (
            entry["Description"],
            [(argument.Name, argument.Description) for argument in entry["Arguments"]],
        )
        for entry in described
        if entry["Name"].startswith("SOL")
    }
    assert found == {
        name: (function.help, [(argument.name, argument.help) for argument in function.arguments])
        for name, function in functions().items()
    }


def test_the_menu_offers_the_actions_and_calls_them(office: Office) -> None:
    path = properties(nodepath="/org.openoffice.Office.Addons/AddonUI/OfficeMenuBar/" + addin.IDENTIFIER)
    provider = office.service("com.sun.star.configuration.ConfigurationProvider")
    menu = provider.createInstanceWithArguments("com.sun.star.configuration.ConfigurationAccess", path)
    entries = [menu.Submenu.getByName(name) for name in menu.Submenu.ElementNames]
    assert menu.Title == "SOL"
    assert [entry.Title for entry in entries] == [action.label for action in ACTIONS]
    commands = office.service("com.sun.star.frame.UICommandDescription").getByName(OPENS)
    for entry, action in zip(entries, ACTIONS, strict=True):
        described = {each.Name: each.Value for each in commands.getByName(entry.URL)}
        assert described["TooltipLabel"] == action.tip
        office.click(office.document, entry.URL)
    assert (office.folder / "clicked").read_text().split() == [action.key for action in ACTIONS]


def test_a_saved_document_computes_when_it_is_opened_again(office: Office) -> None:
    office.sheet.getCellRangeByName("A9").Formula = '=SOL_HBM_PEAK("V100 SXM2 32GB")'
    for suffix, name in (("ods", "calc8"), ("xlsx", "Calc MS Excel 2007 XML")):
        url = (office.folder / f"saved.{suffix}").as_uri()
        office.document.storeToURL(url, properties(FilterName=name))
        again = opened(office.service("com.sun.star.frame.Desktop"), url)
        again.calculateAll()
        assert again.Sheets.getByIndex(0).getCellRangeByName("A9").Value == 9e11  # NVIDIA V100: 900 GB/s
        again.close(True)


def test_the_menu_acts_on_the_shipped_workbook_until_it_is_removed(shipped: Path, rows: reader.ModelRows) -> None:
    """Inside LibreOffice, in its own Python. Its dialogs are cancelled where there is no window to show them."""
    strategy = next(reversed(rows.columns))
    with installed(lambda _: addin.extension()) as folder:
        with started(folder) as office:
            document = office.opened(shipped)

            def said(action: str) -> str:
                office.click(document, f"service:{MENU}?{action}")
                return str(document.Sheets.getByName("Engine").getCellRangeByName("A3").String)

            office.click(document, f"service:{MENU}?recompute")
            assert document.Sheets.getByName("Engine").getCellRangeByName("A5").String == "All agree."
            assert said("add_hardware") == "Add hardware: no file was chosen: nothing was done"
            sheet, cell = rows.place("devices", strategy)
            document.CurrentController.select(document.Sheets.getByName(sheet).getCellRangeByName(cell))
            assert said("add_strategy").startswith(f"'{strategy} (2)' is a copy of '{strategy}'")
            assert said("export").endswith(".toml. solbook build takes it.")
            assert list(studies.load(str(next(folder.glob("*.toml")))).strategies) == [strategy]
            office.click(document, f"service:{MENU}?explain")
            assert document.Sheets.getByName("Explain").getCellRangeByName("B4").String == "devices"
            office.click(document, f"service:{MENU}?audit")
            assert document.Sheets.getByName("Audit").getCellRangeByName("A7").String == "strategy added"
            document.close(True)
        unopkg = str(Path(program()).resolve().parent / "unopkg")
        subprocess.run(as_user(folder, unopkg, "remove", addin.IDENTIFIER, profile(folder)), check=True, timeout=60)
        with started(folder) as office:
            assert office.shown('=SOL_HBM_PEAK("H800 SXM5 80GB")') == "#NAME?"


def test_equal_inputs_give_equal_files_that_bundle_what_is_free(tmp_path: Path, solbook: Solbook) -> None:
    done = solbook("addin", "libreoffice", "--build-only", "-o", tmp_path / "solbook.oxt")
    assert (
        done.stdout == f"{tmp_path / 'solbook.oxt'}: install it with: unopkg add --force {tmp_path / 'solbook.oxt'}\n"
    )
    built = addin.build()
    assert (tmp_path / "solbook.oxt").read_bytes() == built
    names = zipfile.ZipFile(io.BytesIO(built)).namelist()
    assert {"pythonpath/pint/__init__.py", "pythonpath/workbook/templates/choices.toml"} <= set(names)
    assert not [name for name in names if "/pro/" in name or "LICENSE_PRO" in name or "__pycache__" in name]
    for package in ("solbook", *addin.BUNDLED):
        assert any(name.startswith(f"licenses/{package}/LICENSE") for name in names), package


def test_root_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(extension, "_require_libreoffice", lambda: "unopkg")
    with pytest.raises(UserError, match=r"no extension for root: .*written to .*x\.oxt"):
        extension.install(tmp_path / "x.oxt")


def test_an_older_python_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "unopkg").touch()
    (tmp_path / "libpyuno.so").write_bytes(b"\0libpython3.8.so.1.0\0")
    monkeypatch.setattr(extension, "program", lambda: str(tmp_path / "soffice"))
    with pytest.raises(UserError, match=r"needs LibreOffice with Python 3\.11, this one has 3\.8"):
        extension.install(tmp_path / "x.oxt")
    (tmp_path / "libpyuno.so").unlink()
    with pytest.raises(MissingProgram, match="has no Python"):
        extension.install(tmp_path / "x.oxt")
