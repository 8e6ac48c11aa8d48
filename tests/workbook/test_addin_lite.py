"""xlwings Lite: what `solbook build --addin` writes for it runs in Pyodide, with the values of every other Python."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xlwings

from tests.pyodide.core import computed
from workbook.addin import ACTIONS, lite
from workbook.cell_functions import functions
from workbook.study import Study

PYODIDE = Path(__file__).parents[1] / "pyodide"
REQUIRED = "SOLBOOK_REQUIRE_PYODIDE"  # set to 1 in CI: a missing program must not look like success
PROPRIETARY = ("pro", "*.so", "__pycache__")  # xlwings' BSD part is all but these


@pytest.fixture(scope="module")
def main() -> str:
    return lite.files()["main.py"]


@pytest.fixture(scope="module")
def in_pyodide(main: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What tests/pyodide/cells.py printed in Pyodide, with main.py and the BSD part of xlwings beside it."""
    node = shutil.which("node")
    if node is None or not (PYODIDE / "node_modules").is_dir():
        reason = "Pyodide is missing: install node, then run npm install --prefix tests/pyodide"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{reason} ({REQUIRED} is set)", pytrace=False)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("pyodide")
    (folder / "main.py").write_text(main)
    for script in ("core.py", "cells.py"):
        shutil.copy(PYODIDE / script, folder)
    shutil.copytree(Path(xlwings.__file__).parent, folder / "xlwings", ignore=shutil.ignore_patterns(*PROPRIETARY))
    ran = subprocess.run([node, PYODIDE / "run.mjs", folder, "cells.py"], capture_output=True, text=True, check=False)
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


def test_main_has_a_script_for_each_action(main: str) -> None:
    functions = (node for node in ast.parse(main).body if isinstance(node, ast.AsyncFunctionDef))
    scripts = [node.name for node in functions if node.decorator_list]
    assert scripts == [action.key for action in ACTIONS]


def test_equal_inputs_give_an_equal_main(main: str) -> None:
    assert lite.files()["main.py"] == main


def test_main_is_small_enough_to_be_pasted(main: str) -> None:
    assert len(main) < 500_000
    assert max(map(len, main.splitlines())) <= 160


@pytest.mark.skipif("XLWINGS_LICENSE_KEY" not in os.environ, reason="xlwings' own part for Lite needs a licence key")
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
