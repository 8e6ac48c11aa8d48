"""Tests that need LibreOffice are skipped where it is missing, unless the run demands it."""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyxl.errors import MissingProgram
from pyxl.libreoffice import engine, running

LONGEST = [
    "test_evaluators_agree.py", "test_studies_agree_in_formulas.py", "test_audit_edits.py", "test_audit_mutations.py",
    "test_bad_workbooks.py", "test_excel.py", "test_elasticities.py", "test_lint.py", "test_addin_actions.py",
    "test_addin_recompute.py", "test_what_if.py", "test_metamorphic.py",
]  # fmt: skip
REQUIRED = "SOLBOOK_REQUIRE_LIBREOFFICE"  # set to 1 in CI: a missing program must not look like success


def _missing() -> str | None:
    try:
        running.program()
    except MissingProgram as error:
        return str(error)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: one that begins last keeps the other workers waiting."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("libreoffice") and (reason := _missing()):
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{reason} ({REQUIRED} is set)", pytrace=False)
        pytest.skip(reason)


@pytest.fixture
def schemas() -> None:
    """Office's schemas, of a package that the extra `test` installs."""
    if os.environ.get(REQUIRED) != "1":
        pytest.importorskip("openxml_audit")


@pytest.fixture(scope="session")
def app() -> Iterator[Any]:
    """The one running LibreOffice of this worker, as an xlwings.App."""
    with engine.started() as app:
        yield app


@pytest.fixture(scope="session")
def printed_alone() -> Callable[[Any, str], str]:
    """One formula of LibreOffice's in Excel's syntax, as its own FormulaParser prints it, but for 1E-020."""

    def printed(syntax: Any, native: str) -> str:
        tokens = syntax._native.parser.parseFormula(native[1:], syntax._base)
        return "=" + re.sub(r"E([+-])0+(\d)", r"E\1\2", syntax._excel.parser.printFormula(tokens, syntax._base))

    return printed


@pytest.fixture
def leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[], list[str]]]:
    """After the test no process, profile or copy of the file is left. Gives what runs, of the test's own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def running() -> list[str]:
        listed = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True)
        return [command for command in listed.stdout.splitlines() if str(folder) in command]

    yield running
    deadline = time.monotonic() + 5
    while running() and time.monotonic() < deadline:
        time.sleep(0.05)  # a killed process takes a moment to go
    assert not running()
    assert list(folder.iterdir()) == []
