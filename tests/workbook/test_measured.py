"""The sheet Measured: an edited curve changes the times, in spreadsheets as in Python."""

import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xlwings as xw
from openpyxl import load_workbook

from pyxl import reader, workbook_file
from pyxl.cells import Formula, Place, Value
from pyxl.evaluators import formualizer, libreoffice
from pyxl.style import STYLES
from workbook import addin, comparison, study
from workbook.addin.opened import opened as read
from workbook.addin.recomputation import examine
from workbook.analysis import analysis
from workbook.book import plan
from workbook.file_inputs import read_inputs
from workbook.sheets import measured
from workbook.study import Study

DEVICE, KEY = "A100 SXM4 80GB", "scale_up_measured"


@pytest.fixture(scope="module")
def with_curve() -> Study:
    """A study of a device that has a curve."""
    return study.load("gpt-3-175b-a100")


@pytest.fixture(scope="module")
def path(solbook: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("measured") / "a100.xlsx"
    built = solbook("build", "gpt-3-175b-a100", "-o", path)
    assert built.returncode == 0, built.stderr
    return path


@pytest.fixture(scope="module")
def cells(path: Path) -> dict[Place, Any]:
    return workbook_file.read(path).held


@pytest.fixture(scope="module")
def grid(cells: dict[Place, Any]) -> reader.Grid:
    return reader.grids(cells)[measured.TITLE]


@pytest.fixture(params=[pytest.param("libreoffice", marks=pytest.mark.libreoffice), "formualizer"])
def recalculate(request: pytest.FixtureRequest, path: Path) -> Any:
    evaluate = {"libreoffice": libreoffice.evaluate, "formualizer": formualizer.evaluate}[request.param]
    return lambda edits: evaluate(path, edits)


@pytest.fixture
def book(app: Any, path: Path, tmp_path: Path) -> Iterator[xw.Book]:
    """A copy, open in LibreOffice."""
    with app.books.open(shutil.copyfile(path, tmp_path / "opened.xlsx")) as opened:
        yield opened


def point(grid: reader.Grid, number: int, head: str) -> Place:
    """The cell of the curve's point under a head, counted from the end."""
    row, column = next(place for place in grid.find(head))
    return grid.place([line for line, _ in grid.column(column) if line > row][number], column)


def read_at(grid: reader.Grid) -> Place:
    row, column = grid.find(measured.READ_AT)[0]
    return grid.place(row + 2, column)


def different(
    cells: Mapping[Place, Any], edits: Mapping[Place, Value], found: Mapping[Place, Value]
) -> list[comparison.Difference]:
    compared = comparison.compare(read_inputs({**cells, **edits}, found), found)
    return [difference for difference, equal in compared if not equal]


def test_the_ceiling_of_each_curve_is_compared(recalculate: Any, cells: dict[Place, Any]) -> None:
    found = recalculate({})
    compared = list(comparison.compare(read_inputs(cells, found), found))
    assert [difference for difference, equal in compared if not equal] == []
    (ceiling,) = [difference for difference, _ in compared if difference.sheet == measured.TITLE and difference.cell
                  and difference.quantity == KEY]  # fmt: skip
    assert (ceiling.strategy, ceiling.expected) == (DEVICE, 231.58e9)


def test_an_edited_point_changes_the_times(recalculate: Any, cells: dict[Place, Any], grid: reader.Grid) -> None:
    """A tenth of the rate at the size that is read makes NVLink ten times as slow, in the spreadsheet and in Python."""
    edits = {point(grid, -1, measured.RATE): 23.158e9}
    before, after = recalculate({}), recalculate(edits)
    assert different(cells, edits, after) == []
    rows = read_inputs(cells, after).rows
    for strategy in rows.columns:
        place = rows.place("scale_up_time", strategy)
        assert after[place] == pytest.approx(10 * before[place])  # type: ignore[operator]
        assert read_inputs(cells, after).values()[strategy]["scale_up_time"] == pytest.approx(after[place], rel=1e-12)
    slower = [after[rows.place("step_time_lower_bound", s)] > before[rows.place("step_time_lower_bound", s)]  # type: ignore[operator]
              for s in rows.columns]  # fmt: skip
    assert any(slower)


def test_reading_at_another_size_is_an_interpolation(
    recalculate: Any, cells: dict[Place, Any], grid: reader.Grid, with_curve: Study
) -> None:
    curve = with_curve.tables["Hardware"].curves[DEVICE, KEY]
    for size in (100e6, 1):
        edits = {read_at(grid): size}
        found = recalculate(edits)
        assert different(cells, edits, found) == []
        rows = read_inputs(cells, found).rows
        expected = np.interp(size, curve.sizes, curve.rates)
        shown = [found[rows.place(KEY, strategy)] for strategy in rows.columns]
        assert shown == pytest.approx([expected] * len(shown), rel=1e-12)


@pytest.mark.parametrize(
    ("head", "value", "why"),
    [
        (measured.SIZE, 10, "the sizes of its curve do not ascend"),
        (measured.SIZE, "8 GiB", "a size or rate of its curve is no number"),
        (measured.RATE, 1e12, ""),
        (measured.RATE, 0, ""),
    ],
)
def test_a_senseless_point_fails_a_check(
    path: Path, cells: dict[Place, Any], grid: reader.Grid, head: str, value: Any, why: str
) -> None:
    edits = {point(grid, -2, head): value}
    found = formualizer.evaluate(path, edits)
    assert found["Summary", "B3"] != "OK"
    told = {difference.why for difference in different(cells, edits, found) if difference.sheet == measured.TITLE}
    assert (why in told) == bool(why)


def test_a_ceiling_that_was_typed_over_is_told(path: Path, cells: dict[Place, Any], grid: reader.Grid) -> None:
    (curve,) = measured.read(grid, {})
    edits = {grid.place(*curve.ceiling): 1e11}
    (told,) = different(cells, edits, formualizer.evaluate(path, edits))
    assert (told.quantity, told.why) == (KEY, comparison.TYPED_OVER)


def test_the_hardware_points_at_the_ceiling_and_may_be_typed_over(cells: dict[Place, Any], grid: reader.Grid) -> None:
    (curve,) = measured.read(grid, {})
    (table,) = reader.keyed_tables(reader.grids(cells)["Hardware"])
    row = next(row for row, name in table.rows.items() if name == DEVICE)
    sheet, address = grid.place(*curve.ceiling)
    assert table.grid.cells[row, table.columns[KEY]] == f"={sheet}!${address[0]}${address[1:]}"
    assert table.source(row, analysis[KEY].label).startswith("measured: Azure/AI-benchmarking-guide")
    linked = {place for place, content in table.grid.cells.items() if isinstance(content, Formula) and place[0] > 5}
    assert linked == {(row, table.columns[KEY])}
    assert STYLES["look-up"].unlocked


def test_only_devices_that_a_strategy_uses_have_their_curves_shown(study: Study, with_curve: Study) -> None:
    assert measured.TITLE not in [sheet.title for sheet in plan(study).sheets]
    titles = [sheet.title for sheet in plan(with_curve).sheets]
    assert titles[titles.index("Choices") + 1] == measured.TITLE
    assert {device for device, _ in measured.ceilings(with_curve)} == {DEVICE}


def test_every_curve_is_a_native_chart_that_is_logarithmic_in_size(path: Path) -> None:
    sheet: Any = load_workbook(path)[measured.TITLE]
    assert sheet.title == measured.TITLE
    with zipfile.ZipFile(path) as archive:
        charts = [archive.read(name).decode() for name in archive.namelist() if "charts/chart" in name]
    (chart,) = [text for text in charts if f"{measured.TITLE}!" in text]
    x, y = chart.split("<valAx>")[1:]
    assert ("logBase" in x, "logBase" in y) == (True, False)
    assert "Size of the message (byte, logarithmic)" in x
    assert "Rate (byte/s)" in y
    assert chart.count("<ser>") == 3


def test_every_input_of_the_sheet_is_validated_and_open_when_protected(solbook: Any, tmp_path: Path) -> None:
    built = solbook("build", "gpt-3-175b-a100", "--protect", "-o", tmp_path / "protected.xlsx")
    assert built.returncode == 0, built.stderr
    sheet: Any = load_workbook(tmp_path / "protected.xlsx")[measured.TITLE]
    inputs = {c.coordinate for row in sheet.iter_rows() for c in row if c.style == "solbook input"}
    areas = " ".join(str(rule.sqref) for rule in sheet.data_validations.dataValidation).split()
    validated = {cell.coordinate for area in areas for (cell,) in (sheet[area] if ":" in area else ((sheet[area],),))}
    assert inputs
    assert validated == inputs
    assert not any(sheet[address].protection.locked for address in inputs)


@pytest.mark.libreoffice
class TestInLibreOffice:
    def test_inserted_rows_and_columns_are_no_difference(self, book: xw.Book, grid: reader.Grid) -> None:
        """A point between two others, a line above and a column in front."""
        sheet = book.sheets[measured.TITLE]
        row = int(point(grid, -1, measured.SIZE)[1][1:])
        sheet[f"{row}:{row}"].insert("down")
        sheet[f"A{row}"].value, sheet[f"B{row}"].value = 6e9, 150e9
        sheet["A:A"].insert("right")
        sheet["4:4"].insert("down")
        found = examine(read(book))
        assert found.verdict == "OK", str(found)
        (curve,) = measured.read(read(book).sheets[measured.TITLE], read(book).shown)
        assert [6e9, 150e9] in curve.points

    def test_an_edited_curve_survives_an_export(self, book: xw.Book, grid: reader.Grid, tmp_path: Path) -> None:
        sheet = book.sheets[measured.TITLE]
        sheet[point(grid, -1, measured.RATE)[1]].value = 200e9
        sheet[read_at(grid)[1]].value = 6e9
        now = read(book)
        strategy = next(iter(now.inputs.strategies))
        loaded = study.load(str(addin.export(book, tmp_path / "exported.toml", strategy)))
        assert loaded.values[strategy] == now.inputs.values()[strategy]
        curve = loaded.tables["Hardware"].curves[DEVICE, KEY]
        assert (curve.read_at, curve.rates[-1]) == (6e9, 200e9)
        assert curve.rate.provenance.startswith("assumed: typed into the workbook, in place of measured: Azure")

    @pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext, of poppler-utils, is not installed")
    def test_every_number_fits_its_cell_in_print(self, book: xw.Book, tmp_path: Path) -> None:
        book.to_pdf(tmp_path / "printed.pdf")
        command = ["pdftotext", "-layout", tmp_path / "printed.pdf", "-"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "Measured curves" in text
        assert "###" not in text


def test_explain_says_between_which_points_a_ceiling_is_read(
    path: Path, solbook: Any, grid: reader.Grid, with_curve: Study
) -> None:
    row, column = next(measured.read(grid, {})).ceiling
    said = solbook("explain", path, "Measured!" + grid.place(row, column)[1], "--json")
    assert said.returncode == 0, said.stderr
    assert f"{with_curve.tables['Hardware'].curves[DEVICE, KEY].read_at:.0f}" in said.stdout
    assert "ceiling of a measured curve" in said.stdout
