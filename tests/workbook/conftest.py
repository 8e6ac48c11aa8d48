"""The shipped workbook, built once through the real command line, and the programs that recalculate it."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import Place, Value
from pyxl.evaluators import contents, formualizer, formulas, libreoffice
from pyxl.plan import Plan
from workbook import study as studies
from workbook.analysis import analysis
from workbook.book import plan
from workbook.study import Study

Solbook = Callable[..., "subprocess.CompletedProcess[str]"]
Recalculate = Callable[[Mapping[Place, Value]], dict[Place, Value]]


@pytest.fixture(scope="session")
def solbook() -> Solbook:
    """The real command line in a process of its own."""

    def run(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "workbook.cli", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture(scope="session")
def shipped(solbook: Solbook, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook that `solbook build` writes; tests work on copies."""
    path = tmp_path_factory.mktemp("shipped") / "shipped.xlsx"
    built = solbook("build", "-o", path)
    assert built.returncode == 0, built.stderr
    path.chmod(0o444)
    return path


@pytest.fixture(scope="session")
def study() -> Study:
    return studies.load()


@pytest.fixture(scope="session")
def planned(study: Study) -> Plan:
    return plan(study)


@pytest.fixture(scope="session")
def held(shipped: Path) -> dict[Place, Any]:
    """What each cell of the shipped workbook holds."""
    return contents(shipped)


@pytest.fixture(scope="session")
def rows(held: dict[Place, Any]) -> reader.ModelRows:
    """Where quantities and strategies stand on the sheet Analysis."""
    return reader.model_rows(reader.grids(held), "Analysis", analysis.quantities, {})


@pytest.fixture(scope="session")
def by_formulas(shipped: Path) -> Recalculate:
    """The package formulas, loaded once, which takes tens of seconds: `pytest -n auto --dist loadfile` keeps it so."""
    return formulas.Workbook(shipped).calculate


@pytest.fixture(scope="session")
def by_formualizer(shipped: Path) -> Recalculate:
    return formualizer.Workbook(shipped).calculate


@pytest.fixture(scope="session")
def by_libreoffice(shipped: Path) -> Recalculate:
    return lambda edits: libreoffice.evaluate(shipped, edits)


@pytest.fixture(scope="session")
def office(app: Any) -> Iterator[libreoffice.Session]:
    """A running LibreOffice, the one that this worker has."""
    with libreoffice.Session(app.impl.context) as session:
        yield session


@pytest.fixture
def opened(office: libreoffice.Session, shipped: Path) -> Iterator[libreoffice.Document]:
    """The shipped workbook, open in LibreOffice."""
    document = office.open(shipped)
    yield document
    document.close()
