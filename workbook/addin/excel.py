"""The add-in in Excel, through xlwings: workbooks whose xlwings buttons work, the tab SOL, and installing both."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from io import StringIO
from keyword import iskeyword
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pyxl.errors import MissingProgram, UserError
from pyxl.excel.macros import with_macros
from pyxl.excel.ribbon import Button, Tab, ribbon_addin
from pyxl.excel.settings import Setting, settings_sheet
from pyxl.fingerprint import require_replaceable, require_replaceable_text, signed
from pyxl.writer import workbook_bytes, write_file
from workbook.addin.actions import ACTIONS
from workbook.book import plan
from workbook.study import Study

Answer = TypeVar("Answer")

FUNCTIONS = "workbook.addin.functions"
ADDIN = "solbook.xlam"
SUFFIXES = (".xlsx", ".xlsm")
INTERPRETERS = {"win32": "Interpreter_Win", "darwin": "Interpreter_Mac"}  # by sys.platform: where Excel runs
IMAGES = {  # names of Excel's own icons
    "recompute": "CalculateNow",
    "add_strategy": "SheetColumnsInsert",
    "add_hardware": "SheetRowsInsert",
    "add_model": "GetExternalDataFromText",
    "export": "ExportTextFile",
    "explain": "FormulaEvaluate",
    "audit": "ReviewHighlightChanges",
}
TAKEN = sys.stdlib_module_names | {"workbook", "pyxl", "xlwings"}  # a script of this name would hide the module

SCRIPT = '''\
"""What "Run main" on the ribbon of xlwings runs for {name}: keep this file beside it."""

from workbook import addin


def main():
    addin.main()


if __name__ == "__main__":
    import xlwings

    xlwings.Book("{name}").set_mock_caller()
    main()
'''


# Workbooks


def default_target(study: str) -> Path:
    """The workbook of a study, under a name that Python can import."""
    stem = re.sub(r"\W", "_", Path(study).stem)
    return Path(f"{stem if _importable(stem) else f'study_{stem}'}.xlsm")


def _importable(stem: str) -> bool:
    return stem.isidentifier() and not iskeyword(stem) and stem not in TAKEN


def write_workbook(study: Study, target: Path, *, protect: bool, force: bool) -> Path:
    """Write a workbook whose xlwings buttons work, and the script beside it that they run; returns the script.

    A name that ends in .xlsm also gets xlwings' macros: only such a workbook takes "Import Functions" and RunPython.
    """
    if target.suffix.lower() not in SUFFIXES:
        raise UserError(f"{target} must end in .xlsm or .xlsx: Excel opens no workbook under another name")
    if not _importable(target.stem):
        raise UserError(
            f'{target}: "Run main" imports a Python module of the workbook\'s name, and {target.stem!r} cannot be one: '
            f"write -o {target.with_name(default_target(target.name).stem + target.suffix)}"
        )
    script = target.with_suffix(".py")
    require_replaceable(target, force=force)
    require_replaceable_text(script, force=force)
    settings = settings_sheet("xlwings", _workbook_settings(sys.platform))
    data = workbook_bytes(plan(study, protect=protect, further=[settings]))
    if target.suffix.lower() == ".xlsm":
        data = _of_xlwings("quickstart.xlsm", partial(with_macros, data))
    write_file(target, data)
    write_file(script, signed(SCRIPT.format(name=target.name)).encode())
    return script


def _workbook_settings(platform: str) -> Iterator[Setting]:
    if platform in INTERPRETERS:
        why = "The Python that has solbook. On another computer delete this row: the add-in's own setting then holds."
        yield Setting(INTERPRETERS[platform], sys.executable, why)
    yield Setting("UDF Modules", FUNCTIONS, 'What "Import Functions" imports.')
    yield Setting("Add_Workbook_to_PYTHONPATH", "true", '"Run main" finds the script beside this workbook.')


def _of_xlwings(name: str, make: Callable[[bytes], bytes]) -> bytes:
    """What `make` makes of a file that comes with xlwings."""
    xlwings = _xlwings()
    try:
        return make((Path(xlwings.__file__).parent / name).read_bytes())
    except (KeyError, OSError, ValueError) as error:
        raise UserError(
            f"xlwings {xlwings.__version__} has another {name} than solbook knows ({error}): "
            "pip install --force-reinstall 'solbook[addin]'"
        ) from error


def _xlwings() -> Any:
    try:
        import xlwings
    except ImportError:
        raise MissingProgram("the add-in needs xlwings: pip install 'solbook[addin]'") from None
    return xlwings


# The tab SOL


def tab(platform: str) -> Tab:
    """The tab: a button per action and, on Windows, one that imports the functions."""
    actions = [
        Button(action.key, action.label, action.tip, IMAGES[action.key], f"{CLICK}({action.key!r})")
        for action in ACTIONS
    ]
    groups: dict[str, Sequence[Button]] = {"Speed of light": actions}
    if platform == "win32":  # xlwings has functions in cells there only
        groups["Functions in cells"] = [IMPORT]
    return Tab("solbook", "SOL", groups)


CLICK = "from workbook.addin import click; click"
IMPORT = Button(
    "functions",
    "Import functions",
    "Every quantity as a worksheet function, in all workbooks on this computer. Once, and after an update of solbook.",
    "FunctionWizard",
    "from workbook.addin.excel import import_functions; import_functions()",
)


def addin(platform: str) -> bytes:
    """The add-in with the tab SOL, for this computer and this Python."""
    settings = [
        Setting(INTERPRETERS[platform], sys.executable, "The Python that has solbook."),
        Setting("UDF Modules", FUNCTIONS, "The functions for cells."),
        Setting("Add_Workbook_to_PYTHONPATH", "false", "Nothing beside a workbook takes the place of a module."),
    ]
    return _of_xlwings(
        "quickstart_addin_ribbon.xlam", lambda donor: ribbon_addin(donor, tab=tab(platform), settings=settings)
    )


def import_functions() -> None:
    """Put the functions into the add-in, so that every workbook has them; what its button on Windows calls."""
    udfs: Any = import_module("xlwings.udfs")
    book = _xlwings().Book.caller().app.books[ADDIN]
    try:
        udfs.import_udfs(FUNCTIONS, book.api)
    except Exception as error:  # whatever Excel answers
        sys.exit(
            f"The functions could not be imported ({error}). In Excel: File, Options, Trust Center, Trust Center "
            "Settings, Macro Settings, tick 'Trust access to the VBA project object model'; then try again."
        )
    book.save()


# Installing


def install(platform: str) -> Iterator[str]:
    """Install xlwings' add-in and the tab SOL into Excel; says in lines what was done and what comes next."""
    _require_excel(platform)
    xlwings = _xlwings()
    from xlwings import cli

    settings = Path(xlwings.USER_CONFIG_FILE)
    kept = settings.exists()
    _run(cli.addin_install, None)
    yield f"xlwings {xlwings.__version__}: add-in installed, tab xlwings"
    if kept:
        yield f"{settings}: kept as it was; workbooks that solbook build --addin writes here name their own Python"
    else:
        yield f"{settings}: written, Python is {sys.executable}"
    with TemporaryDirectory(prefix="solbook-") as folder:
        path = Path(folder) / ADDIN
        path.write_bytes(addin(platform))
        _run(cli.addin_install, str(path))
    yield f"{ADDIN}: add-in installed, tab SOL, Python is {sys.executable}"
    yield "Quit Excel and start it again, open a workbook that solbook wrote, and click SOL > Recompute."


def remove(platform: str) -> Iterator[str]:
    """Take the tab SOL out of Excel."""
    _require_excel(platform)
    _xlwings()
    from xlwings import cli

    installed = Path(_asked(cli.get_addin_dir)) / ADDIN
    if not installed.exists():
        raise UserError(f"the tab SOL is not installed: there is no {installed}")
    _run(cli.addin_remove, ADDIN)
    yield f"{ADDIN}: removed. xlwings' own add-in stays; xlwings addin remove takes it away too."


def _require_excel(platform: str) -> None:
    if platform not in INTERPRETERS:
        raise UserError(
            "Excel runs on Windows and macOS: use this command there. For LibreOffice: solbook addin libreoffice"
        )


def _run(command: Callable[[Any], None], file: str | None) -> None:
    """Run a command of xlwings' own, which prints its errors and returns."""
    said = StringIO()
    with redirect_stdout(said):
        _asked(command, Namespace(file=file, dir=None, glob=False))
    if "Successfully" not in said.getvalue():
        raise UserError(f"xlwings says: {said.getvalue().strip()}")


def _asked(ask: Callable[..., Answer], *arguments: Any) -> Answer:
    """What Excel answers, started if need be. Raises `UserError` for whatever goes wrong there."""
    try:
        return ask(*arguments)
    except Exception as error:
        raise UserError(f"xlwings did not reach Excel ({error!r}): is Excel installed?") from error
