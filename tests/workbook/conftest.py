"""The shipped workbook, built once through the real command line, and the programs that recalculate it."""

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from pyxl import reader
from pyxl.cells import Place, Value, letter
from pyxl.evaluators import formualizer, formulas, libreoffice
from pyxl.plan import Plan
from pyxl.workbook_file import read
from workbook import study as studies
from workbook.analysis import analysis
from workbook.book import plan
from workbook.cli import main
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


@pytest.fixture
def edited(shipped: Path, tmp_path: Path) -> Callable[[Callable[[Any], object]], Path]:
    """A copy of the shipped workbook that a script has edited with openpyxl."""

    def edit(change: Callable[[Any], object]) -> Path:
        book: Any = load_workbook(shipped)
        change(book)
        book.save(tmp_path / "edited.xlsx")
        return tmp_path / "edited.xlsx"

    return edit


@pytest.fixture
def typed(edited: Any) -> Callable[[Mapping[Place, Any]], Path]:
    """A copy with other contents in some cells."""

    def edit(cells: Mapping[Place, Any]) -> Path:
        def change(book: Any) -> None:
            for (sheet, cell), content in cells.items():
                book[sheet][cell] = content

        return edited(change)  # type: ignore[no-any-return]

    return edit


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of a command, run in this process: many start faster so."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["solbook", *map(str, arguments)])
        code: Any = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        output = capsys.readouterr()
        return int(code or 0), output.out, output.err

    return run


@pytest.fixture
def rewritten(shipped: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the shipped workbook with other values stored in some cells of Analysis, as an old calculation has."""

    def rewrite(values: Mapping[str, float]) -> Path:
        path = tmp_path / "rewritten.xlsx"
        with zipfile.ZipFile(shipped) as source, zipfile.ZipFile(path, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name == "xl/worksheets/sheet2.xml":
                    for address, value in values.items():
                        pattern = rb'(<c r="' + address.encode() + rb'"[^>]*>(?:<f>[^<]*</f>)?<v>)[^<]*'
                        content, found = re.subn(pattern, rb"\g<1>" + str(value).encode(), content)
                        assert found == 1
                target.writestr(name, content)
        return path

    return rewrite


@pytest.fixture(scope="session")
def study() -> Study:
    return studies.load()


@pytest.fixture(scope="session")
def planned(study: Study) -> Plan:
    return plan(study)


@pytest.fixture(scope="session")
def held(shipped: Path) -> dict[Place, Any]:
    """What each cell of the shipped workbook holds."""
    return read(shipped).held


@pytest.fixture(scope="session")
def grids(held: dict[Place, Any]) -> dict[str, reader.Grid]:
    """The sheets of the shipped workbook by row and column number."""
    return reader.grids(held)


@pytest.fixture(scope="session")
def rows(grids: dict[str, reader.Grid]) -> reader.ModelRows:
    """Where quantities and strategies stand on the sheet Analysis."""
    return reader.model_rows(grids, "Analysis", analysis.quantities, {})


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


@pytest.fixture
def opened(app: Any, shipped: Path, tmp_path: Path) -> Iterator[Any]:
    """A copy of the shipped workbook, open in LibreOffice, as an xlwings.Book."""
    with app.books.open(shutil.copyfile(shipped, tmp_path / "opened.xlsx")) as book:
        yield book


@pytest.fixture
def at(opened: Any) -> Callable[[str, str], Any]:
    """The cell of the opened workbook at an address of a sheet; an error reads as its text."""
    return lambda sheet, address: opened.sheets[sheet][address].options(err_to_str=True)


@pytest.fixture
def copy_strategy(opened: Any, at: Any, rows: reader.ModelRows) -> Callable[[int, int, str], None]:
    """Copy a whole column of the opened workbook onto another, as a user does to add a strategy, and name it."""

    def copy(column: int, onto: int, name: str) -> None:
        analysis = opened.sheets["Analysis"]
        analysis[f"{letter(column)}:{letter(column)}"].copy(analysis[f"{letter(onto)}1"])
        at(*rows.grid.place(rows.head, onto)).value = name

    return copy


@pytest.fixture
def summary(opened: Any, grids: Mapping[str, reader.Grid]) -> Callable[[str, str], Any]:
    """What the sheet Summary of the opened workbook shows of a strategy under a heading."""
    sheet, grid = opened.sheets["Summary"], grids["Summary"]

    def shown(strategy: str, heading: str) -> Any:
        head, column = min(place for place, content in grid.cells.items() if content == heading)
        names = next(column for column, content in grid.row(head) if content == "Strategy")
        below = sheet.range((head + 1, names), (max(grid.cells)[0], names)).value
        return sheet[head + below.index(strategy), column - 1].options(err_to_str=True).value

    return shown


@pytest.fixture
def cell(opened: Any, rows: reader.ModelRows) -> Callable[..., Any]:
    """The cell of a quantity of a strategy, where it stands in a fresh workbook."""

    def find(quantity: str, strategy: str = "PP16 EP64 ZeRO-1 DualPipe") -> Any:
        return opened.sheets["Analysis"].range((rows.rows[quantity], rows.columns[strategy]))

    return find
