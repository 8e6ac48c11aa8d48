"""`solbook audit` as a command: what it says, how it ends, and what it writes."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from pyxl.cells import Place
from workbook.audit import audit

PEAK = ("Hardware", "B8")


@pytest.fixture
def edited_peak(typed: Callable[[Mapping[Place, Any]], Path]) -> Path:
    return typed({PEAK: 1e11})


def kinds(path: Path) -> set[str]:
    return {finding.kind.value for finding in audit(path).findings} - {"stored values are old"}


def test_an_untouched_file_is_clean_and_stays_as_it_is(ran: Any, shipped: Path) -> None:
    before = shipped.read_bytes()
    code, output, errors = ran("audit", shipped)
    assert (code, errors) == (0, "")
    assert "nothing was changed" in output
    assert shipped.read_bytes() == before


def test_findings_are_told_in_words_and_as_json(ran: Any, edited_peak: Path) -> None:
    code, output, _ = ran("audit", edited_peak)
    assert code == 1
    assert "its source still speaks of the old number: datasheet: " in output
    code, output, _ = ran("audit", edited_peak, "--json")
    told = next(each for each in json.loads(output)["findings"] if each["kind"] == "catalogue number changed")
    assert code == 1
    assert (told["sheet"], told["cell"], told["quantity"]) == (*PEAK, "Hardware.memory_capacity")
    assert (told["old"], told["new"], told["unit"]) == (80 * 2**30, 1e11, "byte")


def test_reports_hold_what_the_command_says(ran: Any, edited_peak: Path, tmp_path: Path) -> None:
    page, book = tmp_path / "report.html", tmp_path / "report.xlsx"
    for path in (page, book):
        assert ran("audit", edited_peak, "--report", path)[0] == 1
    assert "catalogue number changed" in page.read_text(encoding="utf-8")
    values = [value for row in load_workbook(book).active.iter_rows(values_only=True) for value in row]
    assert "catalogue number changed" in values
    assert 1e11 in values


def test_a_report_overwrites_nothing_and_never_what_is_audited(ran: Any, shipped: Path, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(shipped, tmp_path / "mine.xlsx"))
    other = tmp_path / "other.html"
    other.write_text("mine")
    assert ran("audit", path, "--report", other)[0] == 2
    code, _, errors = ran("audit", path, "--report", path, "--force")
    assert code == 2
    assert "is what is audited" in errors
    assert (path.read_bytes(), other.read_text()) == (shipped.read_bytes(), "mine")


def test_a_workbook_of_others_is_refused(ran: Any, edited: Callable[..., Path]) -> None:
    def change(book: Any) -> None:
        del book["Analysis"]

    code, _, errors = ran("audit", edited(change))
    assert code == 2
    assert len(errors.splitlines()) == 1


def test_without_the_record_of_the_study_formulas_are_still_compared(edited: Callable[..., Path]) -> None:
    def change(book: Any) -> None:
        del book["Study"]
        book["Roofline"]["D10"] = 5

    assert kinds(edited(change)) == {"record of the study", "sheet deleted", "formula overwritten"}


def test_protection_that_was_taken_off_is_told(ran: Any, tmp_path: Path) -> None:
    path = tmp_path / "protected.xlsx"
    assert ran("build", "gpt-3-175b-a100", "--protect", "-o", path)[0] == 0
    assert kinds(path) == set()
    book = load_workbook(path)
    book["Analysis"].protection.sheet = False
    book.save(path)
    (finding,) = (f for f in audit(path).findings if f.kind.value == "protection removed")
    assert finding.sheet == "Analysis"


def test_a_file_without_stored_values_says_so(edited: Callable[..., Path]) -> None:
    (finding,) = audit(edited(lambda book: None)).findings
    assert finding.kind.value == "stored values are old"
    assert "have no stored value" in finding.text


def test_a_record_that_was_edited_is_one_finding(typed: Callable[[Mapping[Place, Any]], Path]) -> None:
    assert kinds(typed({("Study", "A10"): "# mine"})) == {"record of the study"}
