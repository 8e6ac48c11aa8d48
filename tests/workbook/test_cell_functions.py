"""The analysis as worksheet functions: the engine's values, and what xlwings makes of them for Excel."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pyxl.quantity import Failure
from workbook.analysis import analysis
from workbook.cell_functions import functions
from workbook.study import Study

MODULE = "workbook.addin.functions"


def _cell(values: dict[str, Any], key: str) -> Any:
    """A value as a spreadsheet passes it; a series as a range."""
    if key in analysis.series:
        return [[_cell(values, member)] for member in analysis.series[key]]
    value = values[key]
    if isinstance(value, Failure):
        return str(value)
    return float(value) if isinstance(value, int) else value


def test_every_quantity_of_the_shipped_study_equals_the_engine(study: Study) -> None:
    differing = []
    for values in study.values.values():
        for quantity in (quantity for quantity in analysis if quantity.expression is not None):
            function = functions()[f"SOL_{quantity.name.upper()}"]
            given = function(*(_cell(values, argument.name) for argument in function.arguments))
            if given != values[quantity.name]:
                differing.append((quantity.name, given, values[quantity.name]))
    assert differing == []


def test_the_table_of_a_column_of_the_workbook_equals_the_engine(study: Study) -> None:
    for values in study.values.values():
        table = functions()["SOL_TABLE"]([[key] for key in values], [[_cell(values, key)] for key in values])
        assert table == [[quantity.name, values[quantity.name], quantity.unit] for quantity in analysis]


def test_a_look_up_has_the_number_of_the_data_sheet() -> None:
    assert functions()["SOL_HBM_PEAK"]("h800 sxm5 80gb") == 3.35e12  # NVIDIA H800: 3.35 TB/s


def test_the_command_line_does_without_them(study: Study) -> None:
    code = (
        "import sys; from workbook import cli; cli.solbook(['compute'], standalone_mode=False);"
        f"sys.exit({MODULE!r} in sys.modules or 'xlwings' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


# Excel

# Source: Microsoft, [MS-VBAL] 3.3.5.2 "Reserved Identifiers"
RESERVED_WORDS = """
call case close const declare defbool defbyte defcur defdate defdbl defdec defint deflng deflnglng deflngptr defobj
defsng defstr defvar dim do else elseif end endif enum erase event exit for friend function get global gosub goto if
implements input let lock loop lset next on open option print private public put raiseevent redim resume return rset
seek select set static stop sub type unlock wend while with write rem any as byref byval each in new shared until
withevents optional paramarray preserve spc tab then to addressof and eqv imp is like mod not or typeof xor abs
cbool cbyte ccur cdate cdbl cdec cint clng clnglng clngptr csng cstr cvar cverr date debug doevents fix int len lenb
me pset scale sgn string array circle inputb lbound ubound boolean byte currency double integer long longlong
longptr single variant true false nothing empty null attribute lineinput cdecl decimal
"""
USED_BY_WRAPPERS = ("application", "caller", "err", "thisworkbook", "xlpy")
LONGEST_LINE, MOST_CONTINUATIONS, MOST_ARGUMENTS, LONGEST_NAME = 1023, 24, 60, 255
WRAPPER = re.compile(r"^Function (\w+)\(([^)]*)\)\n(.*?)^End Function$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Any]]:
    """What xlwings writes for Excel: the VBA module, and what the function wizard is told by function."""
    com = {name: ModuleType(name) for name in ("pythoncom", "pywintypes", "win32com", "win32com.client")}
    com["pythoncom"].CoInitialize = lambda: None  # type: ignore[attr-defined]
    com["pywintypes"].com_error = OSError  # type: ignore[attr-defined]
    com["win32com.client"].Dispatch = None  # type: ignore[attr-defined]
    for name, stub in com.items():
        monkeypatch.setitem(sys.modules, name, stub)
    udfs: Any = importlib.import_module("xlwings.udfs")
    xlwings = importlib.import_module("xlwings")
    for decorator in ("func", "arg", "ret"):
        monkeypatch.setattr(xlwings, decorator, getattr(udfs, f"xl{decorator}"))
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    module = importlib.import_module(MODULE)
    monkeypatch.delitem(sys.modules, MODULE)
    monkeypatch.setitem(udfs.udf_modules, MODULE, {"filename": MODULE, "filetime": None, "module": module})
    text: list[str] = []
    told: dict[str, Any] = {}

    class Components:
        Remove = __call__ = staticmethod(lambda component: component)
        Import = staticmethod(lambda name: text.append(Path(name).read_text()))

    book = SimpleNamespace(
        Name="book.xlsm",
        VBProject=SimpleNamespace(VBComponents=Components()),
        Application=SimpleNamespace(
            Version="16.0", MacroOptions=lambda macro, **options: told.update({macro.partition("!")[2]: options})
        ),
    )
    udfs.import_udfs(MODULE, book)
    return text[0], told


def test_xlwings_wraps_every_function_for_excel(imported: tuple[str, dict[str, Any]]) -> None:
    whole, _ = imported
    assert max(map(len, whole.splitlines())) <= LONGEST_LINE
    assert not re.search(rf"(?:[^\n]* _\n){{{MOST_CONTINUATIONS + 1}}}", whole)
    wrappers = {name: (arguments, body) for name, arguments, body in WRAPPER.findall(whole.replace(" _\n", " "))}
    assert wrappers.keys() == functions().keys()
    for name, (arguments, body) in wrappers.items():
        names = [argument.name for argument in functions()[name].arguments]
        assert arguments.split(", ") == [f"Optional {argument}" for argument in names]
        call = (
            f'{name} = XLPy.CallUDF("{MODULE}", "{name}", Array({", ".join(names)}), ThisWorkbook, Application.Caller)'
        )
        assert call in body
        assert f"{name} = Err.Description" in body


def test_names_are_ones_that_vba_takes() -> None:
    for name, function in functions().items():
        arguments = [argument.name for argument in function.arguments]
        assert len(arguments) <= MOST_ARGUMENTS
        assert len({argument.lower() for argument in arguments}) == len(arguments)
        for each in (name, *arguments):
            assert re.fullmatch(r"[A-Za-z]\w*", each, re.ASCII)
            assert len(each) <= LONGEST_NAME
            assert each.lower() not in (*RESERVED_WORDS.split(), *USED_BY_WRAPPERS)


def test_the_function_wizard_of_excel_shows_help(imported: tuple[str, dict[str, Any]]) -> None:
    _, told = imported
    assert told.keys() == functions().keys()
    for name, options in told.items():
        function = functions()[name]
        assert options["Description"] == function.help
        assert options["ArgumentDescriptions"] == [argument.help for argument in function.arguments]
        assert options["Category"] == "SOL"


def test_excel_passes_cells_as_they_are(imported: tuple[str, dict[str, Any]]) -> None:
    """Errors as texts, so that a function can name them; no converter, which an annotation would be to xlwings."""
    registered = sys.modules["xlwings.udfs"].udf_modules[MODULE]["module"].SOL_HBM_PEAK.__xlfunc__
    assert registered["ret"]["options"] == {}
    assert registered["argmap"]["hardware"]["options"] == {"err_to_str": True}


def test_they_are_plain_functions_without_excel() -> None:
    module = importlib.import_module(MODULE)
    assert module.SOL_HBM_PEAK("H800 SXM5 80GB") == module.SOL_HBM_PEAK(hardware="H800 SXM5 80GB") == 3.35e12
    assert module.SOL_HBM_PEAK() == "SOL_HBM_PEAK: hardware is left out: it is value 1 of 1"
    assert module.SOL_HBM_PEAK.__doc__ == "HBM peak [byte/s]. Memory bandwidth of the datasheet."
