"""Every evaluator computes a workbook for real, and says in one line what is wrong with a file."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from pyxl.errors import UserError
from pyxl.evaluators import EVALUATORS, formualizer, formulas, libreoffice
from pyxl.files import require_workbook
from pyxl.libreoffice import engine, running
from pyxl.workbook_file import read

SHEET, OTHER = "My Inputs", "Results"
WRONG = b"<v>999</v>"

each_evaluator = pytest.mark.parametrize(
    "evaluator", [pytest.param("libreoffice", marks=pytest.mark.libreoffice), "formulas", "formualizer"]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small workbook whose every formula has the wrong stored value 999."""
    book: Any = Workbook()
    inputs = book.active
    inputs.title = SHEET
    for row in ((4.0, "GPU"), (1e-16, "=A1, says the note"), (True, None), (0, None)):
        inputs.append(row)
    inputs["B2"].data_type = "s"
    results = book.create_sheet(OTHER)
    for address, text in {
        "A1": "='My Inputs'!A1*2",
        "A2": "=A1+'My Inputs'!A2*1E+16",
        "A3": "='My Inputs'!B1&\"s\"",
        "A4": "=A1>7",
        "A5": "=1/'My Inputs'!A4",
        "A6": "=MATCH(\"none\",'My Inputs'!B1:B2,0)",
        "A7": "='My Inputs'!B1*2",
        "A8": '=IF(A1>0,"","x")',
        "A9": "=A5+1",
        "A10": "=SUM('My Inputs'!D1:D3)",
        "A11": "='My Inputs'!A1^3",
    }.items():
        results[address] = text
    plain, planted = tmp_path / "plain.xlsx", tmp_path / "planted [1].xlsx"
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(planted, "w") as target:
        for part in source.namelist():
            target.writestr(part, source.read(part).replace(b"<v></v>", WRONG).replace(b"<v />", WRONG))
    stored = read(planted).stored
    assert all(stored[OTHER, f"A{row}"] == 999 for row in range(1, 12))
    return planted


@each_evaluator
def test_stored_values_are_not_trusted(evaluator: str, path: Path) -> None:
    values = EVALUATORS[evaluator](path)
    assert values == {
        (SHEET, "A1"): 4.0,
        (SHEET, "B1"): "GPU",
        (SHEET, "A2"): 1e-16,
        (SHEET, "B2"): "=A1, says the note",
        (SHEET, "A3"): True,
        (SHEET, "A4"): 0.0,
        (OTHER, "A1"): 8.0,
        (OTHER, "A2"): 9.0,
        (OTHER, "A3"): "GPUs",
        (OTHER, "A4"): True,
        (OTHER, "A5"): "#DIV/0!",
        (OTHER, "A6"): "#N/A",
        (OTHER, "A7"): "#VALUE!",
        (OTHER, "A8"): "",
        (OTHER, "A9"): "#DIV/0!",
        (OTHER, "A10"): 0.0,
        (OTHER, "A11"): 64.0,
    }
    assert [type(values[OTHER, f"A{row}"]) for row in (1, 3, 4, 5, 8)] == [float, str, bool, str, str]


@each_evaluator
def test_edits(evaluator: str, path: Path) -> None:
    """Of a number, a text, a formula and an empty cell; the file itself stays as it was."""
    before = path.read_bytes()
    edits = {(SHEET, "A1"): 5, (SHEET, "B1"): "=TPU", (OTHER, "A5"): 0.5, (SHEET, "D2"): 7.25}
    values = EVALUATORS[evaluator](path, edits)
    assert [values[OTHER, f"A{row}"] for row in (1, 3, 4, 5, 9, 10, 11)] == [10.0, "=TPUs", True, 0.5, 1.5, 7.25, 125.0]
    assert values[SHEET, "B1"] == "=TPU"
    assert values[SHEET, "D2"] == 7.25
    assert path.read_bytes() == before


@each_evaluator
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (("Input", "A1"), "there is no sheet 'Input' to edit; there are My Inputs, Results"),
        ((SHEET, "a1"), "'a1' is no cell address such as B8"),
    ],
)
def test_an_edit_elsewhere_is_refused(evaluator: str, path: Path, place: tuple[str, str], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        EVALUATORS[evaluator](path, {place: 1})


@pytest.mark.parametrize("workbook", [formulas.Workbook, formualizer.Workbook])
def test_a_loaded_workbook_is_computed_again_and_again(workbook: Any, path: Path) -> None:
    loaded = workbook(path)
    unedited = loaded.calculate()
    assert loaded.calculate({(SHEET, "A1"): 5.0, (OTHER, "A5"): 1.0})[OTHER, "A9"] == 2.0
    assert loaded.calculate({(SHEET, "A1"): 6.0})[OTHER, "A1"] == 12.0
    assert loaded.calculate() == unedited


def test_formulas_refuses_to_edit_what_it_would_miss(path: Path) -> None:
    with pytest.raises(UserError, match="My Inputs!D2 is empty"):
        formulas.Workbook(path).calculate({(SHEET, "D2"): 1.0})


def test_formulas_names_what_it_leaves_out_or_cannot_read(tmp_path: Path) -> None:
    book: Any = Workbook()
    sheet = book.active
    sheet.append(["=B1", "=A1", "=C2", 1])
    book.save(tmp_path / "left out.xlsx")
    with pytest.raises(UserError, match="formulas does not compute Sheet!A1, Sheet!B1"):
        EVALUATORS["formulas"](tmp_path / "left out.xlsx")
    sheet["C1"] = "=Table[Column]"
    book.save(tmp_path / "unreadable.xlsx")
    with pytest.raises(UserError, match=r"formulas cannot read Sheet!C1: =Table\[Column\]$"):
        EVALUATORS["formulas"](tmp_path / "unreadable.xlsx")


def spoil(kind: str, path: Path) -> Path:
    """A file that is no workbook, made from one."""
    spoilt = path.with_name(f"{kind}.xlsx")
    data = path.read_bytes()
    if kind == "folder":
        spoilt.mkdir()
    elif kind == "other zip":
        with zipfile.ZipFile(spoilt, "w") as archive:
            archive.writestr("content.xml", "<x/>")
    elif kind != "missing":
        made = {
            "empty": b"",
            "text": b"name,value\n",
            "cut off": data[: len(data) // 2],
            "cut short": data[:-10],
            "altered": data[:700] + bytes(100) + data[800:],
            "encrypted": bytes.fromhex("D0CF11E0A1B11AE1") + bytes(1000),
        }
        spoilt.write_bytes(made[kind])
    return spoilt


SPOILT = {
    "missing": "cannot read .*missing.xlsx: No such file or directory",
    "folder": "cannot read .*folder.xlsx: Is a directory",
    "empty": "is no Excel workbook",
    "text": "is no Excel workbook",
    "other zip": "is no Excel workbook .* it has no xl/workbook.xml",
    "cut off": "is damaged or cut off",
    "cut short": "is damaged or cut off",
    "altered": "is damaged",
    "encrypted": "is encrypted or an old .xls file: save it as .xlsx without a password",
}


@pytest.mark.parametrize("kind", SPOILT)
def test_what_is_no_workbook_is_refused_in_one_line(kind: str, path: Path) -> None:
    with pytest.raises(UserError, match=SPOILT[kind]) as caught:
        require_workbook(spoil(kind, path))
    assert "\n" not in str(caught.value)


@each_evaluator
@pytest.mark.parametrize("kind", ["missing", "text", "cut off", "encrypted"])
def test_every_evaluator_refuses_what_is_no_workbook(evaluator: str, kind: str, path: Path) -> None:
    with pytest.raises(UserError, match=SPOILT[kind]):
        EVALUATORS[evaluator](spoil(kind, path))


def test_packages_are_imported_only_when_used_and_explained_when_missing() -> None:
    script = """
import sys
from pathlib import Path
import pyxl.evaluators as e
assert not {"formulas", "formualizer", "uno"} & set(sys.modules)
sys.modules["formulas"] = sys.modules["formualizer"] = None
for name in ("formulas", "formualizer"):
    try:
        e.EVALUATORS[name](Path("any.xlsx"))
    except e.UserError as error:
        print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        f"the package {name} is not installed: pip install {name}" for name in ("formulas", "formualizer")
    ]


def test_libreoffice_is_explained_when_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PROGRAMS", ("no such program",))
    with pytest.raises(UserError, match=r"^LibreOffice is not installed: .*apt install libreoffice-calc$"):
        libreoffice.evaluate(path)
    with pytest.raises(UserError, match=r"^LibreOffice is not installed"), engine.started():
        pass


@pytest.mark.libreoffice
@pytest.mark.usefixtures("leaves_nothing")
class TestLibreOfficeLeavesNothing:
    def test_after_an_evaluation(self, path: Path) -> None:
        libreoffice.evaluate(path, {(SHEET, "A1"): 5})

    def test_after_the_time_limit(self, path: Path) -> None:
        with pytest.raises(UserError, match=r"did not finish .* within 0.2 seconds"):
            libreoffice.evaluate(path, time_limit=0.2)

    def test_after_an_interruption(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        wait = subprocess.Popen.wait

        def interrupt(self: Any, timeout: float | None = None) -> int:
            if timeout is None:
                return wait(self)
            time.sleep(0.3)
            raise KeyboardInterrupt

        monkeypatch.setattr(subprocess.Popen, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            libreoffice.evaluate(path)

    def test_after_one_that_does_not_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(running, "END_LIMIT", 0.2)
        with running.Office() as office:
            os.killpg(office.process.popen.pid, signal.SIGSTOP)
