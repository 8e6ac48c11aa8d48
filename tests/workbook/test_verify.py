"""Verification of workbooks that came back: what somebody changed is found, what a user may change is followed."""

import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from pyxl import reader
from pyxl.cells import Place
from pyxl.workbook_file import read
from workbook import verify
from workbook.cli import main
from workbook.file_inputs import read_inputs
from workbook.study import Study

STRATEGY = "PP16 EP64 ZeRO-1 DualPipe"

Ran = tuple[int, str, str]
Verified = Callable[[Path], Ran]


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verified:
    """Exit code, output and errors of `solbook verify FILE`."""

    def run(path: Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["solbook", "verify", str(path), "--with", "formualizer"])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    return run


def differences(path: Path) -> list[tuple[str, str, str]]:
    return [(d.strategy, d.quantity, d.why) for d in verify.differences(path, "formualizer")[0]]


def catalogue_cell(held: Mapping[Place, Any], sheet: str, row: str, column: str) -> Place:
    """The cell of a catalogue row under a column's key."""
    grid = reader.grids(held)[sheet]
    (line,) = [number for number, content in grid.column(1) if content == row]
    return grid.place(line, next(c for (_, c), content in grid.cells.items() if content == column))


# What should not be


def test_as_shipped_all_agrees(verified: Verified, shipped: Path) -> None:
    code, output, errors = verified(shipped)
    assert (code, errors) == (0, "")
    assert re.fullmatch(r".*shipped.xlsx: all [\d,]+ values agree, recalculated with formualizer\n", output)


@pytest.mark.parametrize("planted_value", [b"<v>1</v>", b"<v></v>", b""], ids=["wrong", "empty", "removed"])
def test_a_planted_stored_value_is_found(
    verified: Verified, shipped: Path, rows: reader.ModelRows, tmp_path: Path, planted_value: bytes
) -> None:
    cell = rows.place("step_time_lower_bound", STRATEGY)[1]
    planted = tmp_path / "planted.xlsx"
    with zipfile.ZipFile(shipped) as source, zipfile.ZipFile(planted, "w") as target:
        for part in source.namelist():
            data = source.read(part)
            if part == "xl/worksheets/sheet2.xml":
                pattern = rb'(<c r="%s"[^>]*><f>[^<]*</f>)<v>[^<]*</v>' % cell.encode()
                data, count = re.subn(pattern, rb"\g<1>" + planted_value, data)
                assert count == 1
            target.writestr(part, data)
    code, output, _ = verified(planted)
    assert code == 1
    assert f"Analysis!{cell}" in output
    assert "the stored value is missing or stale" in output
    assert "1 of" in output


def test_a_number_typed_over_a_calculation_is_found(
    typed: Any, verified: Verified, rows: reader.ModelRows, study: Study
) -> None:
    """Even the right number: it no longer follows its inputs."""
    place = rows.place("hbm_time", STRATEGY)
    code, output, _ = verified(typed({place: study.values[STRATEGY]["hbm_time"]}))
    assert code == 1
    assert f"Analysis!{place[1]}" in output
    assert "typed over: it should be a formula" in output
    assert "1 of" in output


@pytest.mark.parametrize(
    ("quantity", "formula", "also"),
    [
        ("compute_time", "={0}/2", "step_time_lower_bound"),
        ("failed_checks", "=0*{0}+1", "failed_checks"),
        ("check_heads", '=IF({0}="","OK","OK ")', "check_heads"),
    ],
)
def test_a_changed_formula_is_found(
    quantity: str, formula: str, also: str, typed: Any, rows: reader.ModelRows, held: Mapping[Place, Any]
) -> None:
    place = rows.place(quantity, STRATEGY)
    found = differences(typed({place: formula.format(f"({str(held[place])[1:]})")}))
    assert (STRATEGY, quantity, "the formula gives another value") in found
    assert also in {name for _, name, _ in found}


def test_a_changed_formula_is_found_on_every_sheet(typed: Any, held: Mapping[Place, Any]) -> None:
    grids = reader.grids(held)
    summary = grids["Summary"]
    head, column = next(place for place, content in summary.cells.items() if content == "Days of the run")
    place = summary.place(head + 1, column)
    assert [(name, why) for _, name, why in differences(typed({place: "=1"}))] == [
        ("training_days", "the formula gives another value")
    ]
    master = next(row for row, content in grids["Checks"].column(1) if content == "Master check")
    invalid = {("Analysis", cell): 7 for (sheet, cell), content in held.items() if sheet == "Analysis" and content == 1}
    wrong = differences(typed({**invalid, ("Checks", f"B{master}"): '="OK"'}))
    assert "Master check" in {name for _, name, _ in wrong}
    assert "Master check" not in {name for _, name, _ in differences(typed(invalid))}


@pytest.mark.parametrize(
    "sheet", ["Summary", "Roofline", "Stages", "Collectives", "Precision", "Recomputation", "Elasticities", "Checks"]
)
def test_a_deleted_sheet_is_found(sheet: str, edited: Any) -> None:
    assert ("", "sheet", "the sheet is missing") in differences(edited(lambda book: book.remove(book[sheet])))


@pytest.mark.parametrize("sheet", ["Analysis", "Hardware", "Models", "Choices", "Constants"])
def test_without_an_input_sheet_it_is_no_workbook_of_ours(sheet: str, edited: Any, verified: Verified) -> None:
    code, _, errors = verified(edited(lambda book: book.remove(book[sheet])))
    assert code == 2
    assert f"no sheet '{sheet}'" in errors


def test_a_deleted_row_is_found(edited: Any, rows: reader.ModelRows) -> None:
    found = differences(edited(lambda book: book["Analysis"].delete_rows(rows.rows["hbm_bytes"])))
    assert ("all", "hbm_bytes", "the row is missing") in found


# What a user may do


def test_an_edited_input_is_followed(typed: Any, verified: Verified, rows: reader.ModelRows) -> None:
    path = typed(
        {
            rows.place("hardware", STRATEGY): "H100 SXM5 80GB",
            rows.place("sequence_length", STRATEGY): 8192,
            rows.place("scale_up_measured", STRATEGY): 200e9,
            rows.place("device_hour_price", "ZeRO-1"): None,
        }
    )
    assert verified(path)[0] == 0


@pytest.mark.parametrize("value", [7, 0, -1, 2.5])
def test_an_impossible_input_is_followed(value: Any, typed: Any, rows: reader.ModelRows) -> None:
    """The checks and errors of the file are those of Python."""
    assert differences(typed({rows.place("tensor_parallel_size", STRATEGY): value})) == []


def test_a_text_where_a_number_is_needed_is_found(typed: Any, rows: reader.ModelRows) -> None:
    (found,) = differences(typed({rows.place("tensor_parallel_size", STRATEGY): "eight"}))
    assert found[:2] == (STRATEGY, "tensor_parallel_size")
    assert "'eight': write a number" in found[2]


def test_an_edited_constant_is_followed(typed: Any, held: Mapping[Place, Any]) -> None:
    grid = reader.grids(held)["Constants"]
    row = next(row for row, content in grid.column(1) if content == "backward_forward_ratio")
    assert differences(typed({grid.place(row, 2): 3})) == []


def test_an_added_device_is_followed(typed: Any, rows: reader.ModelRows, held: Mapping[Place, Any]) -> None:
    grid = reader.grids(held)["Hardware"]
    last = max(row for row, _ in grid.column(1))
    added = {grid.place(last + 1, column): content for column, content in grid.row(last)}
    added[grid.place(last + 1, 1)] = "My chip"
    column = catalogue_cell(held, "Hardware", "H800 SXM5 80GB", "hbm_peak")[1].rstrip("0123456789")
    added["Hardware", f"{column}{last + 1}"] = 9e12
    path = typed(added | {rows.place("hardware", STRATEGY): "My chip"})
    assert differences(path) == []
    assert read_inputs(read(path).held, {}).values()[STRATEGY]["hbm_peak"] == 9e12


@pytest.mark.libreoffice
class TestThroughLibreOffice:
    def test_a_file_that_it_saved_is_verified(self, opened: Any, verified: Verified, tmp_path: Path) -> None:
        opened.save(tmp_path / "saved.xlsx")
        assert verified(tmp_path / "saved.xlsx")[0] == 0

    def test_inserted_rows_and_columns_and_a_moved_row_are_found_by_key(
        self, opened: Any, verified: Verified, rows: reader.ModelRows, tmp_path: Path
    ) -> None:
        sheet, above = opened.sheets["Analysis"], rows.rows["hbm_time"] - 1
        sheet["C:C"].insert("right")
        sheet[f"{above}:{above + 2}"].insert("down")
        row, free = rows.rows["step_time_lower_bound"] + 3, max(rows.rows.values()) + 10
        sheet[f"{row}:{row}"].move(sheet[f"A{free}"])
        opened.save(tmp_path / "moved.xlsx")
        found = reader.model_rows(reader.grids(read(tmp_path / "moved.xlsx").held), "Analysis", rows.rows, {})
        assert found.rows["step_time_lower_bound"] == free
        assert found.columns == {name: column + 1 for name, column in rows.columns.items()}
        assert verified(tmp_path / "moved.xlsx")[0] == 0


# What is no workbook of ours


def other_workbook(path: Path) -> None:
    book: Any = Workbook()
    book.active.append(["Key", 1])
    book.save(path)


NOT_OURS: Mapping[str, tuple[Callable[[Path, Path], object], str]] = {
    "missing": (lambda path, ours: None, "cannot read"),
    "empty": (lambda path, ours: path.write_bytes(b""), "is no Excel workbook"),
    "text": (lambda path, ours: path.write_text("a,b\n1,2\n"), "is no Excel workbook"),
    "cut off": (lambda path, ours: path.write_bytes(ours.read_bytes()[:-5000]), "is damaged or cut off"),
    "encrypted": (lambda path, ours: path.write_bytes(bytes.fromhex("D0CF11E0A1B11AE1") * 99), "is encrypted"),
    "somebody else's": (lambda path, ours: other_workbook(path), "no solbook workbook"),
    "a folder": (lambda path, ours: path.mkdir(), "directory"),
}


@pytest.mark.parametrize("what", NOT_OURS)
def test_what_is_not_ours_is_refused_in_one_line(what: str, verified: Verified, shipped: Path, tmp_path: Path) -> None:
    make, why = NOT_OURS[what]
    path = tmp_path / "given.xlsx"
    make(path, shipped)
    code, output, errors = verified(path)
    assert (code, output) == (2, "")
    assert why in errors
    assert errors.count("\n") == 1


def test_two_strategies_of_one_name_are_refused(typed: Any, verified: Verified, rows: reader.ModelRows) -> None:
    head = next(row for row, content in rows.grid.column(1) if content == "Key")
    code, _, errors = verified(typed({rows.grid.place(head, rows.columns[STRATEGY]): "ZeRO-1"}))
    assert code == 2
    assert "two strategies named 'ZeRO-1'" in errors


def test_verifying_leaves_the_file_as_it_was(verified: Verified, shipped: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.xlsx"
    shutil.copyfile(shipped, copy)
    verified(copy)
    assert copy.read_bytes() == shipped.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["copy.xlsx"]
