"""The add-in's Audit on the shipped workbook, open in a real LibreOffice: what was done, on a sheet of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlwings as xw

from pyxl.errors import UserError
from workbook import addin
from workbook.addin.audit_sheet import SAVED_ONLY
from workbook.audit import audit as audit_file
from workbook.audit.findings import Audit
from workbook.audit.table import HEADS

pytestmark = pytest.mark.libreoffice

OWN = "PP16 EP64 ZeRO-1 DualPipe"
Cell = Callable[..., xw.Range]


@pytest.fixture
def book(opened: xw.Book) -> xw.Book:
    return opened


def found(audit: Audit) -> list[tuple[str, str, tuple[str, ...]]]:
    """Kind, quantity and strategies of each finding."""
    return [(finding.kind.value, finding.quantity, finding.strategies) for finding in audit.findings]


def written(book: xw.Book, title: str = "Audit") -> list[list[Any]]:
    rows: list[list[Any]] = book.sheets[title].used_range.options(ndim=2).value
    return rows


def test_a_fresh_workbook_is_as_built(book: xw.Book) -> None:
    audited = addin.audit(book)
    assert str(audited) == f"nothing was changed: all {audited.compared:,} cells are as the generator defines them"
    assert audited.compared > 30_000
    assert audited.remarks == ()
    heading, _, (verdict, *_), (told, *_) = written(book)
    assert heading[0] == "Audit of opened.xlsx"
    assert audited.verdict in verdict
    assert told == SAVED_ONLY
    assert book.sheets.active.name == "Audit"


def test_what_was_done_is_told_in_a_row_each_and_not_what_the_add_in_did(book: xw.Book, cell: Cell) -> None:
    addin.recompute(book)
    where, devices = cell("compute_time"), cell("devices")
    built = where.formula
    where.value = 1.5
    devices.value = 1024
    addin.add_strategy(book, OWN, "Copy")
    addin.explain(book, ("Analysis", where.address.replace("$", "")))
    book.sheets["Summary"]["Z40"].value = "my note"
    addin.recompute(book)
    audited = addin.audit(book)
    assert found(audited) == [
        ("formula overwritten", "compute_time", (OWN,)),
        ("input changed", "devices", (OWN,)),
        ("strategy added", "strategy", ("Copy",)),
    ]
    assert "Summary: 1 cell of the user's own, from Z40 on" in audited.remarks
    _, _, (verdict, *_), _, _, heads, overwritten, changed, added, _, *remarks = written(book)
    assert "3 findings" in verdict
    assert heads == list(HEADS)
    address = devices.address.replace("$", "")
    assert changed == ["input changed", f"Analysis!{address}", "devices", OWN, changed[4], 2048, 1024, "device"]
    assert changed[4] == "changed from 2,048 devices to 1,024 devices"
    assert overwritten[6] == 1.5
    assert overwritten[5]  # the formula in names
    assert overwritten[5] != built
    assert added[3] == "Copy"
    assert [line for line, *_ in remarks] == [f"remark: {remark}" for remark in audited.remarks]


def test_the_saved_file_is_audited_alike(book: xw.Book, cell: Cell, tmp_path: Path) -> None:
    """What the spreadsheet gives of an open workbook is what it writes."""
    cell("scale_out_bytes").formula = cell("scale_out_bytes").formula + "*2"
    book.sheets["Hardware"]["C8"].value = 7e14
    book.sheets["Stages"].visible = False
    book.sheets["Choices"].name = "Mine"
    first = addin.audit(book)
    book.save(tmp_path / "saved.xlsx")
    assert first.findings == audit_file(tmp_path / "saved.xlsx").findings
    assert len(first.findings) == 4


def test_what_was_mended_is_no_finding_whatever_the_last_recompute_said(book: xw.Book, cell: Cell) -> None:
    where = cell("compute_time")
    formula = where.formula
    where.value = 1.5
    addin.recompute(book)
    where.formula = formula
    assert found(addin.audit(book)) == []


def test_a_renamed_model_sheet_is_still_audited(book: xw.Book, cell: Cell) -> None:
    cell("compute_time").value = 1.5
    book.sheets["Analysis"].name = "Mine"
    assert [kind for kind, _, _ in found(addin.audit(book))] == ["formula overwritten", "sheet renamed"]


def test_manual_calculation_is_told(book: xw.Book) -> None:
    book.app.calculation = "manual"
    try:
        assert [kind for kind, _, _ in found(addin.audit(book))] == ["manual calculation"]
    finally:
        book.app.calculation = "automatic"


def test_another_audit_leaves_nothing_of_the_last(book: xw.Book, cell: Cell) -> None:
    where = cell("compute_time")
    formula = where.formula
    where.value = 1.5
    addin.audit(book)
    where.formula = formula
    addin.audit(book)
    assert len(written(book)) == 4
    assert [sheet.name for sheet in book.sheets].count("Audit") == 1


def test_a_sheet_that_somebody_called_audit_is_left_alone(book: xw.Book) -> None:
    book.sheets.add("Audit", after=book.sheets[-1])["A1"].value = "mine"
    for _ in range(2):
        assert addin.audit(book).findings == ()
    assert book.sheets["Audit"]["A1"].value == "mine"
    assert written(book, "Audit (solbook)")[0][0] == "Audit of opened.xlsx"


def test_an_audit_changes_nothing_that_is_exported(book: xw.Book, tmp_path: Path) -> None:
    before = addin.export(book, tmp_path / "before.toml", OWN).read_text()
    addin.audit(book)
    assert addin.export(book, tmp_path / "after.toml", OWN).read_text() == before


def test_a_workbook_that_is_not_ours_is_told_and_left_alone(app: xw.App) -> None:
    other = app.books.add()
    try:
        other.sheets[0]["A1"].value = "mine"
        with pytest.raises(UserError, match="this is no solbook workbook"):
            addin.audit(other)
        assert [sheet.name for sheet in other.sheets] == [other.sheets[0].name]
    finally:
        other.close()
