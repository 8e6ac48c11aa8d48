"""Audit: what somebody did to a workbook of ours since it was built, by quantity, not by cell.

    findings    what an audit says, and in which order
    naming      what cells are called
    cells       cells, rows, columns and sheets against the plan that the generator makes anew
    values      stored values, and inputs that make no sense
    file        what a file has besides cells: protection, drop-downs, links, macros
    report      the audit as a table, a web page or a workbook

The plan is made from the study that the workbook keeps on its sheet Study, so that old values are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pyxl.changes import Comparison, compare
from pyxl.errors import UserError
from pyxl.plan import Plan
from pyxl.reader import grids
from pyxl.workbook_file import WorkbookFile
from workbook.audit import cells, file, values
from workbook.audit.findings import Audit, Finding, Kind, ordered
from workbook.audit.naming import Names
from workbook.book import plan
from workbook.contents import Contents, of_file
from workbook.file_inputs import MODEL_SHEET
from workbook.file_study import study_of
from workbook.sheets.study import PROTECT, TITLE, Record, recorded

SUMMARY = "Summary"
OWN_SHEETS = ("Engine", "Explain", "Audit", "xlwings.conf", TITLE)


def audit(path: Path) -> Audit:
    """Audit a file, which stays as it is. Raises `UserError` where it is no workbook of ours."""
    found, read = of_file(path)
    try:
        return examine(read, path.name, found)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def examine(read: Contents, name: str, found: WorkbookFile | None = None) -> Audit:
    """Audit what a workbook holds and shows and, where it is a file, all else that it says."""
    sheets = {title: grid.cells for title, grid in grids(read.held).items()}
    record = Record(sheets.get(TITLE, {}))
    planned, findings = _plan(read, record)
    comparison = compare(planned, sheets)
    if MODEL_SHEET not in comparison.sheets:
        raise UserError(
            f"this is no solbook workbook: it has no sheet '{MODEL_SHEET}' that says what ours does; if one was "
            "renamed or deleted, give it its name back"
        )
    names = Names(comparison)
    findings += cells.sheet_findings(comparison)
    findings += cells.line_findings(comparison, names)
    findings += cells.cell_findings(comparison, names)
    findings += _of_values(_as_planned(read, comparison), comparison, names)
    if found is not None:
        findings += file.file_findings(found, comparison, names, record)
    compared = sum(len(sheet.plan.cells) for sheet in comparison.sheets.values())
    return Audit(name, ordered(findings), tuple(cells.remarks(comparison, OWN_SHEETS)), compared)


def _plan(read: Contents, record: Record) -> tuple[Plan, list[Finding]]:
    """The plan of the study that the workbook was built from; without a record, of the one that its inputs say."""
    findings = [Finding(Kind.RECORD, "About", "", "version", read.age)] if read.age else []
    protect = PROTECT in record.options
    try:
        planned = _recorded(record.text, protect=protect)
    except UserError as error:
        text = f"{error}: what was changed in inputs and catalogues cannot be told, only what was done to formulas"
        inputs = read.inputs
        title, description = (str(read.held.get((SUMMARY, cell), "")) for cell in ("A1", "A2"))
        study = study_of(inputs, read.shown, title or "A workbook", description, inputs.strategies)
        planned = plan(study, protect=protect)
        planned = replace(planned, sheets=[sheet for sheet in planned.sheets if sheet.title != TITLE])
        return planned, [*findings, Finding(Kind.RECORD, TITLE, "", "study", text)]
    if not record.is_intact:
        text = "the sheet was edited, so old values told here may be wrong"
        findings.append(Finding(Kind.RECORD, TITLE, "", "study", text))
    return planned, findings


@lru_cache(maxsize=1)  # a workbook is audited again and again while somebody works on it
def _recorded(text: str, *, protect: bool) -> Plan:
    return plan(recorded(text), protect=protect)


def _as_planned(read: Contents, comparison: Comparison) -> Contents:
    """The contents under the titles that the sheets were given."""
    if not comparison.renamed:
        return read
    titles = {now: title for title, now in comparison.renamed.items()}

    def renamed(places: Mapping[tuple[str, str], object]) -> dict[tuple[str, str], object]:
        return {(titles.get(title, title), cell): content for (title, cell), content in places.items()}

    return Contents(renamed(read.held), renamed(read.shown))  # type: ignore[arg-type]


def _of_values(read: Contents, comparison: Comparison, names: Names) -> Iterator[Finding]:
    try:
        yield from cells.added_strategies(comparison, names, read)
        yield from cells.added_rows(comparison, names, read)
        yield from values.senseless_inputs(read)
        yield from values.stale_values(read, comparison, names)
    except UserError as error:
        yield Finding(Kind.UNREADABLE, "", "", "inputs", f"values cannot be compared: {error}")
