"""The add-in in Excel, as far as a machine without Excel can tell."""

import re
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import xlwings
from lxml import etree
from oletools.olevba import VBA_Parser
from openpyxl import load_workbook

from pyxl.archive import packed, parts
from pyxl.excel.ribbon import MODULE, RIBBON
from pyxl.libreoffice.running import properties
from workbook import addin, cli
from workbook.addin import ACTIONS, excel

XLWINGS = Path(xlwings.__file__).parent
MACROS = "".join((XLWINGS / "addin" / f"{name}.bas").read_text(encoding="utf-8") for name in ("Config", "Main"))
PLATFORMS = ("win32", "darwin")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Exit code, output and errors of a command in an empty directory, through the real entry point."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["solbook", *arguments])
        code: Any = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code or 0
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


def refused(answer: tuple[int, str, str]) -> str:
    code, _, errors = answer
    assert code == 2
    assert errors.count("\n") == 1
    return errors


def settings(path: Path) -> dict[str, str]:
    """The settings as xlwings' macros read them: from A1 down to the first empty cell, keys in any case."""
    sheet: Any = load_workbook(path)["xlwings.conf"]
    found = {}
    for key, value in sheet.iter_rows(max_col=2, values_only=True):
        if not key:
            break
        found[key.upper()] = value
    return found


# build --addin


def test_build_writes_a_workbook_and_the_script_that_run_main_imports(run: Run, tmp_path: Path) -> None:
    code, output, errors = run("build", "--addin")
    assert (code, errors) == (0, "")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"deepseek_v3_h800.xlsm", "deepseek_v3_h800.py", "xlwings-lite"}
    assert {path.name for path in (tmp_path / "xlwings-lite").iterdir()} == {"main.py", "requirements.txt"}
    assert "deepseek_v3_h800.py beside it" in output
    assert load_workbook(tmp_path / "deepseek_v3_h800.xlsm").sheetnames[-1] == "xlwings.conf"
    assert run("build", "--addin")[0] == 0  # its own files are replaced


@pytest.mark.parametrize("platform", ["linux", *PLATFORMS])
@pytest.mark.parametrize("name", ["a.xlsm", "a.xlsx"])
def test_settings_are_ones_that_xlwings_knows(
    name: str, platform: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(excel.sys, "platform", platform)
        assert run("build", "--addin", "-o", name)[0] == 0
    found = settings(tmp_path / name)
    for key in found:
        assert f'GetConfig("{key}"' in MACROS
    assert find_spec(found["UDF MODULES"])
    assert found["ADD_WORKBOOK_TO_PYTHONPATH"] == "true"
    interpreters = {key for key in found if key.startswith("INTERPRETER")}
    assert interpreters == {"win32": {"INTERPRETER_WIN"}, "darwin": {"INTERPRETER_MAC"}, "linux": set()}[platform]
    assert all(found[key] == sys.executable for key in interpreters)


def test_a_normal_build_knows_nothing_of_the_addin(shipped: Path) -> None:
    assert load_workbook(shipped).sheetnames[-1] == "About"
    assert not [name for name in parts(shipped.read_bytes()) if "vba" in name.lower()]


def test_cells_are_those_of_a_normal_build(shipped: Path, run: Run, tmp_path: Path) -> None:
    run("build", "--addin", "-o", "a.xlsm")
    normal, ours = (parts(path.read_bytes()) for path in (shipped, tmp_path / "a.xlsm"))
    titles = load_workbook(shipped).sheetnames
    others = [f"xl/worksheets/sheet{titles.index(each) + 1}.xml" for each in ("Study", "About")]  # say that it is one
    for name in normal:
        if name.startswith("xl/worksheets/sheet") and name not in others:
            assert re.sub(rb' codeName="[^"]*"', b"", ours[name]) == normal[name], name


@pytest.mark.parametrize("suffix", [".xlsm", ".xlsx"])
def test_the_script_runs_as_the_ribbon_runs_it(suffix: str, run: Run, tmp_path: Path) -> None:
    """Out of another directory, found by the path of the open workbook alone; see RunPython in xlwings' Main.bas."""
    assert 'RunPython "import " & mymodule & ";" & mymodule & ".main()"' in (
        XLWINGS / "addin" / "RibbonXlwings.bas"
    ).read_text(encoding="utf-8")
    run("build", "--addin", "-o", f"a{suffix}")
    arguments = f"true;{tmp_path / f'a{suffix}'};/elsewhere/xlwings.xlam;;;;"
    command = (
        "import workbook.addin; workbook.addin.main = lambda: print('recomputed');"
        f"import xlwings.utils;xlwings.utils.prepare_sys_path({arguments!r}); import a;a.main()"
    )
    ran = subprocess.run([sys.executable, "-B", "-c", command], capture_output=True, text=True, check=False, cwd="/")
    assert (ran.stdout, ran.stderr) == ("recomputed\n", "")


def test_the_script_runs_from_a_terminal_too(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("build", "--addin", "-o", "a.xlsm")
    seen: list[str] = []
    book = types.SimpleNamespace(set_mock_caller=lambda: seen.append("mock caller"))
    monkeypatch.setattr(xlwings, "Book", lambda name: seen.append(name) or book)
    monkeypatch.setattr(addin, "main", lambda: seen.append("main"))
    exec(compile((tmp_path / "a.py").read_text(), "a.py", "exec"), {"__name__": "__main__"})
    assert seen == ["a.xlsm", "mock caller", "main"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("deepseek-v3-h800.xlsm", "write -o deepseek_v3_h800.xlsm"),
        ("405b.xlsx", "write -o study_405b.xlsx"),
        ("class.xlsm", "write -o study_class.xlsm"),
        ("json.xlsm", "write -o study_json.xlsm"),  # a module named json would hide Python's own
        ("workbook.xlsm", "write -o study_workbook.xlsm"),
        ("a.xls", "must end in .xlsm or .xlsx"),
    ],
)
def test_names_that_cannot_work_are_refused(name: str, advice: str, run: Run, tmp_path: Path) -> None:
    assert advice in refused(run("build", "--addin", "-o", name))
    assert not list(tmp_path.iterdir())


def test_the_name_that_is_advised_is_accepted(run: Run) -> None:
    assert run("build", "--addin", "-o", "study_405b.xlsx")[0] == 0


@pytest.mark.parametrize("content", ["print('mine')\n", b"\xff"])
def test_a_script_of_others_is_kept(content: str | bytes, run: Run, tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert "a.py was not written by solbook" in refused(run("build", "--addin", "-o", "a.xlsm"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]
    assert run("build", "--addin", "-o", "a.xlsm", "--force")[0] == 0


def test_an_edited_file_for_xlwings_lite_keeps_everything_as_it_was(run: Run, tmp_path: Path) -> None:
    run("build", "--addin", "-o", "a.xlsm")
    before = (tmp_path / "a.xlsm").read_bytes()
    edited = tmp_path / "xlwings-lite" / "main.py"
    edited.write_text(edited.read_text() + "# mine\n")
    code, _, errors = run("build", "--addin", "-o", "a.xlsm", "--set", "devices=1024")
    assert code == 2
    assert "main.py was not written by solbook, or was edited since" in errors
    assert (tmp_path / "a.xlsm").read_bytes() == before
    assert run("build", "--addin", "-o", "a.xlsm", "--force")[0] == 0


def test_an_edited_script_is_kept(run: Run, tmp_path: Path) -> None:
    run("build", "--addin", "-o", "a.xlsm")
    script = tmp_path / "a.py"
    script.write_text(script.read_text().replace("addin.main()", "addin.main()  # and more"))
    assert "or was edited since" in refused(run("build", "--addin", "-o", "a.xlsm"))
    run("build", "--addin", "-o", "a.xlsm", "--force")
    assert "and more" not in script.read_text()


def test_verify_reads_it(run: Run) -> None:
    run("build", "--addin", "-o", "a.xlsm")
    assert run("verify", "a.xlsm", "--with", "formualizer")[0] == 0


# The tab SOL


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_tab_has_a_button_per_action(platform: str) -> None:
    shown = [
        (button.get("label"), button.get("screentip"), button.get("supertip"))
        for button in etree.fromstring(parts(excel.addin(platform))[RIBBON]).iter("{*}button")
    ]
    assert shown[: len(ACTIONS)] == [(action.label, action.label, action.tip) for action in ACTIONS]
    assert len(shown) == len(ACTIONS) + (platform == "win32")  # and one that imports functions


def test_each_button_runs_its_action(monkeypatch: pytest.MonkeyPatch) -> None:
    """xlwings puts the command between double quotes of cmd.exe or sh, and between bars for AppleScript."""
    clicked: list[str] = []
    monkeypatch.setattr(addin, "click", clicked.append)
    monkeypatch.setattr(excel, "import_functions", lambda: clicked.append("functions"))
    for group in excel.tab("win32").groups.values():
        for button in group:
            assert not set(button.command) & set('"|$`\\%!&<>')
            exec(button.command, {})
    assert clicked == [*(action.key for action in ACTIONS), "functions"]


def test_importing_functions_keeps_them_in_the_addin(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    book = types.SimpleNamespace(api="the add-in", save=lambda: done.append("saved"))
    caller = types.SimpleNamespace(app=types.SimpleNamespace(books={"solbook.xlam": book}))
    monkeypatch.setattr(xlwings, "Book", types.SimpleNamespace(caller=lambda: caller))
    udfs: Any = types.ModuleType("xlwings.udfs")
    udfs.import_udfs = lambda *arguments: done.append(arguments)
    monkeypatch.setitem(sys.modules, "xlwings.udfs", udfs)
    excel.import_functions()
    assert done == [("workbook.addin.functions", "the add-in"), "saved"]

    def untrusted(*_: Any) -> None:
        raise RuntimeError("Programmatic access to Visual Basic Project is not trusted")

    udfs.import_udfs = untrusted
    with pytest.raises(SystemExit, match="tick 'Trust access to the VBA project object model'"):
        excel.import_functions()


@pytest.mark.libreoffice
def test_libreoffice_reads_the_same_macros(app: Any, tmp_path: Path) -> None:
    """It opens no add-in, so the file says that it is a workbook."""
    contents = parts(excel.addin("win32"))
    kind = "[Content_Types].xml"
    contents[kind] = contents[kind].replace(b"ms-excel.addin.macro", b"ms-excel.sheet.macro")
    (tmp_path / "a.xlsm").write_bytes(packed(contents))
    expected = {
        stream.removeprefix("VBA/"): code
        for _, stream, _, code in VBA_Parser("a", data=excel.addin("win32")).extract_macros()
    }
    with app.books.open(tmp_path / "a.xlsm") as book:
        library = book.api.BasicLibraries.getByName("MyAddin")
        assert set(library.ElementNames) == set(expected)
        for name, code in expected.items():
            lines = [line for line in code.splitlines() if not line.startswith("Attribute")]
            assert "\n".join(lines).strip() in library.getByName(name), name


@pytest.mark.libreoffice
def test_the_macro_runs_the_command_of_the_button_that_was_pressed(app: Any) -> None:
    """In LibreOffice's Basic, with stand-ins for the button and for RunPython."""
    found = VBA_Parser("a", data=excel.addin("win32")).extract_macros()
    macro = next(code for _, stream, _, code in found if stream == f"VBA/{MODULE}").partition("\n")[2]
    document = app.api.loadComponentFromURL("private:factory/scalc", "_blank", 0, properties(MacroExecutionMode=4))
    libraries = document.BasicLibraries
    library = (
        libraries.getByName("Standard") if libraries.hasByName("Standard") else libraries.createLibrary("Standard")
    )
    library.insertByName("Ribbon", f"Option VBASupport 1\n{macro}")
    library.insertByName("Excel", STAND_INS)
    place = "vnd.sun.star.script:Standard.Excel.Press?language=Basic&location=document"
    document.getScriptProvider().getScript(place).invoke((), (), ())
    assert document.Sheets.getByIndex(0).getCellRangeByName("A1").String == "import one; one.go('x')"
    document.close(True)


STAND_INS = """\
Option VBASupport 1
Type Button
    Tag As String
End Type
Function RunPython(command As String)
    ThisComponent.Sheets.getByIndex(0).getCellByPosition(0, 0).String = command
End Function
Sub Press()
    Dim pressed As Button
    pressed.Tag = "import one; one.go('x')"
    solbookClick(pressed)
End Sub
"""


# addin install, addin remove


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory; Excel, asked where its XLSTART folder is, answers with one in it."""
    import xlwings.cli

    folder = tmp_path / "home"
    (folder / "XLSTART").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(xlwings, "apps", [])
    monkeypatch.setattr(xlwings, "USER_CONFIG_FILE", str(folder / ".xlwings" / "xlwings.conf"))
    monkeypatch.setattr(xlwings.cli, "get_addin_dir", lambda *_: str(folder / "XLSTART"))
    monkeypatch.delenv("CONDA_DEFAULT_ENV", raising=False)
    return folder


@pytest.mark.parametrize("platform", PLATFORMS)
def test_install_puts_both_addins_where_excel_starts_them(
    platform: str, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    code, output, errors = run("addin", "install")
    assert (code, errors) == (0, "")
    assert {path.name for path in (home / "XLSTART").iterdir()} == {"xlwings.xlam", "solbook.xlam"}
    assert (home / "XLSTART" / "solbook.xlam").read_bytes() == excel.addin(platform)
    interpreter = {"win32": "INTERPRETER_WIN", "darwin": "INTERPRETER_MAC"}[platform]
    assert (home / ".xlwings" / "xlwings.conf").read_text() == f'"{interpreter}","{sys.executable}"\n'
    scripts = home / "Library" / "Application Scripts" / "com.microsoft.Excel"  # of xlwings, for macOS alone
    assert [path.name for path in scripts.glob("*")] == (
        [f"xlwings-{xlwings.__version__}.applescript"] if platform == "darwin" else []
    )
    assert output.count("add-in installed") == 2
    assert "start it again" in output.splitlines()[-1]


def test_install_keeps_the_users_settings_and_says_so(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".xlwings").mkdir()
    (home / ".xlwings" / "xlwings.conf").write_text('"INTERPRETER_WIN","C:\\other\\python.exe"\n')
    monkeypatch.setattr(sys, "platform", "win32")
    assert "kept as it was" in run("addin", "install")[1]
    assert "other" in (home / ".xlwings" / "xlwings.conf").read_text()


def test_remove_takes_the_tab_away_and_nothing_else(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    run("addin", "install")
    code, output, errors = run("addin", "remove")
    assert (code, errors) == (0, "")
    assert "solbook.xlam: removed" in output
    assert [path.name for path in (home / "XLSTART").iterdir()] == ["xlwings.xlam"]
    assert "the tab SOL is not installed" in refused(run("addin", "remove"))


@pytest.mark.parametrize("command", ["install", "remove"])
def test_elsewhere_one_line_explains(command: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert "solbook addin libreoffice" in refused(run("addin", command))


@pytest.mark.parametrize("command", ["install", "remove"])
@pytest.mark.usefixtures("home")
def test_no_excel_is_one_line(command: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import xlwings.cli

    def fails(*_: Any) -> None:
        raise OSError("Invalid class string")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(xlwings.cli, "get_addin_dir", fails)
    problem = refused(run("addin", command))
    assert "Invalid class string" in problem
    assert "is Excel installed?" in problem


@pytest.mark.usefixtures("home")
def test_a_running_excel_that_holds_the_file_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    def denied(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(shutil, "copyfile", denied)
    assert "quit Excel and try again" in refused(run("addin", "install"))


def test_without_xlwings_one_line_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlwings", None)
    assert "pip install 'solbook[addin]'" in refused(run("build", "--addin"))
    monkeypatch.setattr(sys, "platform", "win32")
    assert "pip install 'solbook[addin]'" in refused(run("addin", "install"))


def test_another_version_of_xlwings_is_one_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "quickstart.xlsm").write_bytes(packed({"[Content_Types].xml": b""}))
    other = types.SimpleNamespace(__file__=str(tmp_path / "__init__.py"), __version__="9.9")
    monkeypatch.setitem(sys.modules, "xlwings", other)
    assert "xlwings 9.9 has another quickstart.xlsm" in refused(run("build", "--addin"))
