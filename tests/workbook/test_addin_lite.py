"""xlwings Lite: what `solbook build --addin` writes for it runs in Pyodide, with the values of every other Python."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xlwings
from openpyxl import load_workbook

from pyxl.libreoffice.extension import distribution_files
from pyxl.reader import ModelRows
from tests.pyodide.core import computed
from workbook import study as studies
from workbook.addin import ACTIONS, lite, run
from workbook.addin.libreoffice import BUNDLED, LEFT_OUT
from workbook.catalogue import templates_directory
from workbook.cell_functions import functions
from workbook.study import Study

PYODIDE = Path(__file__).parents[1] / "pyodide"
REQUIRED = "SOLBOOK_REQUIRE_PYODIDE"  # set to 1 in CI: a missing program must not look like success
QUANTITY = "compute_time"
LICENSED = pytest.mark.skipif(
    "XLWINGS_LICENSE_KEY" not in os.environ, reason="xlwings' own part for the browser needs XLWINGS_LICENSE_KEY"
)


@pytest.fixture(scope="module")
def main() -> str:
    return lite.files()["main.py"]


@pytest.fixture(scope="module")
def cells(shipped: Path) -> dict[str, dict[str, list[list[Any]]]]:
    """Formulas and values of each sheet of the shipped workbook."""
    formulas, values = _rows(shipped), _rows(shipped, data_only=True)
    return {title: {"formulas": formulas[title], "values": values[title]} for title in formulas}


@pytest.fixture(scope="module")
def cell(rows: ModelRows, study: Study) -> str:
    """Where a calculation of the first strategy stands on the sheet Analysis."""
    return rows.place(QUANTITY, next(iter(study.strategies)))[1]


def _rows(path: Path, **options: Any) -> dict[str, list[list[Any]]]:
    """The cells of each sheet, as rows from A1."""
    book: Any = load_workbook(path, **options)
    return {
        sheet.title: [
            [getattr(held, "text", held) for held in row]  # an array formula is its text
            for row in sheet.iter_rows(1, sheet.max_row, 1, sheet.max_column, values_only=True)
        ]
        for sheet in book.worksheets
    }


@pytest.fixture(scope="module")
def in_pyodide(main: str, cells: dict[str, Any], cell: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What tests/pyodide/session.py printed: main.py in Pyodide, with the packages of requirements.txt beside it."""
    node = shutil.which("node")
    if node is None or not (PYODIDE / "node_modules").is_dir():
        reason = "Pyodide is missing: install node, then run npm install --prefix tests/pyodide"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{reason} ({REQUIRED} is set)", pytrace=False)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("pyodide")
    (folder / "main.py").write_text(main)
    for script in PYODIDE.glob("*.py"):
        shutil.copy(script, folder)
    for package in BUNDLED:
        for name, content in distribution_files(package, LEFT_OUT)[0].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    (folder / "book.json").write_text(json.dumps({**cells, "cell": cell}))
    ran = subprocess.run([node, PYODIDE / "run.mjs", folder], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    printed: dict[str, Any] = json.loads(ran.stdout)
    return printed


def test_pyodide_computes_the_same_values_to_the_last_bit(in_pyodide: dict[str, Any]) -> None:
    assert in_pyodide["computed"] == computed()


def test_a_cell_in_pyodide_shows_all_quantities_of_a_strategy(in_pyodide: dict[str, Any], study: Study) -> None:
    shown = {key: value for key, value, _ in in_pyodide["table"]}
    values = study.values[in_pyodide["strategy"]]
    numbers = [key for key, value in values.items() if isinstance(value, int | float)]
    assert len(numbers) > 500
    assert {key: shown[key] for key in numbers} == {key: values[key] for key in numbers}


def test_every_worksheet_function_is_in_main(in_pyodide: dict[str, Any]) -> None:
    assert in_pyodide["functions"] == sorted(functions())


def test_recompute_finds_that_all_agrees(in_pyodide: dict[str, Any]) -> None:
    assert re.fullmatch(r"All 1\d,\d{3} values agree with the Python engine\.", in_pyodide["recompute"]["said"])
    assert in_pyodide["recompute"]["sheets"] == ["Checks", "Engine"]


def test_recompute_names_the_formula_that_was_overwritten(in_pyodide: dict[str, Any]) -> None:
    said = in_pyodide["recompute, a formula overwritten"]["said"]
    assert f"({QUANTITY}, {in_pyodide['strategy']}): a value was typed over the formula" in said


def test_explain_writes_a_sheet_of_its_own(in_pyodide: dict[str, Any]) -> None:
    assert QUANTITY in in_pyodide["explain"]["said"]
    assert in_pyodide["explain"]["sheets"] == ["Explain"]


def test_audit_finds_a_workbook_as_built(in_pyodide: dict[str, Any]) -> None:
    assert in_pyodide["audit"]["said"].startswith("nothing was changed: ")
    assert in_pyodide["audit"]["sheets"] == ["Audit"]


def test_audit_names_the_formula_that_was_overwritten(in_pyodide: dict[str, Any]) -> None:
    verdict, finding = in_pyodide["audit, a formula overwritten"]["said"].splitlines()
    assert verdict.startswith("1 finding in ")
    assert f"({QUANTITY}, {in_pyodide['strategy']}): formula overwritten: 1 " in finding


def test_a_strategy_is_copied(in_pyodide: dict[str, Any]) -> None:
    assert f"is a copy of '{in_pyodide['strategy']}'" in in_pyodide["add_strategy"]["said"]
    assert "Analysis" in in_pyodide["add_strategy"]["sheets"]


def test_where_no_file_was_imported_it_says_where_to(in_pyodide: dict[str, Any]) -> None:
    said = in_pyodide["add_hardware, nothing imported"]["said"]
    assert said.startswith("Add hardware: A hardware file is needed: import a .toml under Files > Import/Export")


def test_an_imported_model_is_added(in_pyodide: dict[str, Any]) -> None:
    assert re.match(r"'my-model' is in row \d+ of the sheet Models", in_pyodide["add_model"]["said"])
    assert in_pyodide["add_model"]["sheets"] == ["Engine", "Models"]


def test_an_exported_strategy_can_be_downloaded(in_pyodide: dict[str, Any], study: Study, tmp_path: Path) -> None:
    path = tmp_path / "exported.toml"
    path.write_text(in_pyodide["exported"])
    assert studies.load(str(path)).values == {in_pyodide["strategy"]: study.values[in_pyodide["strategy"]]}


def test_main_has_a_script_for_each_action(main: str) -> None:
    functions = (node for node in ast.parse(main).body if isinstance(node, ast.AsyncFunctionDef))
    scripts = [node.name for node in functions if node.decorator_list]
    assert scripts == [action.key for action in ACTIONS]


def test_equal_inputs_give_an_equal_main(main: str) -> None:
    assert lite.files()["main.py"] == main


def test_main_is_small_enough_to_be_pasted(main: str) -> None:
    assert len(main) < 500_000
    assert max(map(len, main.splitlines())) <= 160


@LICENSED
def test_xlwings_registers_every_script_and_function(main: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(main)
    script = (
        "import main; from xlwings.pro import udfs_officejs as lite;"
        "print(len(lite.custom_scripts_meta(main)), len(lite.custom_functions_meta(main)['functions']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"XLWINGS_ON_SERVER": "true", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [str(len(ACTIONS)), str(len(functions()))]


@LICENSED
@pytest.mark.parametrize(
    ("action", "file", "says"),
    [
        ("recompute", None, r"All 1\d,\d{3} values agree"),
        ("explain", None, rf"Analysis!G\d+: .*\nKey: {QUANTITY}"),
        ("audit", None, r"nothing was changed: all [\d,]+ cells"),
        ("add_strategy", None, r"'.* \(2\)' is a copy of"),
        ("export", "exported.toml", r"Written: .*exported\.toml"),
        ("add_model", "my-model.json", r"'my-model' is in row \d+"),
    ],
)
def test_each_action_runs_on_xlwings_own_engine(
    cells: dict[str, Any],
    cell: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    file: str | None,
    says: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # the log goes there
    shutil.copy(templates_directory() / "models" / "gpt-2.json", tmp_path / "my-model.json")
    book: Any = xlwings.Book(json=_payload(cells, cell))
    formulas = {title: kinds["formulas"] for title, kinds in cells.items()}
    assert re.match(says, run(action, book, formulas, file and tmp_path / file))
    assert book.json()["actions"]


def _payload(cells: dict[str, Any], cell: str) -> dict[str, Any]:
    """A workbook as Excel in the browser sends it."""
    nothing: dict[str, list[Any]] = {kind: [] for kind in ("pictures", "shapes", "charts", "notes", "tables")}
    sheets = [
        {"name": title, "visibility": "Visible", "values": [["" if v is None else v for v in row] for row in values]}
        | nothing
        for title, values in ((title, kinds["values"]) for title, kinds in cells.items())
    ]
    return {
        "version": xlwings.__version__,
        "client": "Office.js",
        "book": {"name": "shipped.xlsx", "active_sheet_index": list(cells).index("Analysis"), "selection": cell},
        "names": [],
        "sheets": sheets,
    }
