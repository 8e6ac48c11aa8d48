"""Audit: what somebody did to a workbook of ours since it was built, by quantity, not by cell.

    findings    what an audit says, and in which order
    naming      what cells are called
    cells       cells, rows, columns and sheets against the plan that the generator makes anew
    values      stored values, and inputs that make no sense
    file        what a file has besides cells: protection, drop-downs, links, macros
    table       findings as rows of a table
    report      the audit as a table, a web page or a workbook

The plan is made from the study that the workbook keeps on its sheet Study, so that old values are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyxl import fingerprint
from pyxl.changes import Comparison, compare
from pyxl.errors import UserError
from pyxl.plan import Plan, Sheet
from pyxl.reader import grids
from workbook.audit import cells, file, values
from workbook.audit.findings import Audit, Finding, Kind, joined, ordered
from workbook.audit.naming import Names
from workbook.book import plan
from workbook.contents import Contents, of_file
from workbook.file_inputs import MODEL_SHEET
from workbook.file_study import study_of
from workbook.sheets.study import ADDIN, PROTECT, TITLE, Record, recorded
from workbook.study import Study

if TYPE_CHECKING:
    from pyxl.workbook_file import WorkbookFile

SUMMARY = "Summary"
SETTINGS = "xlwings.conf"
OWN_SHEETS = ("Engine", "Explain", "Audit", SETTINGS, TITLE)


def audit(path: Path) -> Audit:
    """Audit a file, which stays as it is. Raises `UserError` where it is no workbook of ours."""
    found, read = of_file(path)
    try:
        return examine(read, path.name, found)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def examine(read: Contents, name: str, found: WorkbookFile | None = None, seen: Iterable[Finding] = ()) -> Audit:
    """Audit what a workbook holds and shows and, where it is a file, all else that it says.

    `seen` is what the program in which it is open knows of it. Raises `UserError` where it is no workbook of ours.
    """
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
    # Of a record that was edited one finding tells: it is laid out anew from what it says, with another signature.
    findings += (each for each in cells.cell_findings(comparison, names) if record.is_intact or each.sheet != TITLE)
    notes: list[str] = []
    findings += _of_values(_as_planned(read, comparison), comparison, names, notes)
    findings += seen
    if found is not None:
        findings += file.file_findings(found, comparison, names, record)
        if findings:
            _require_same_generator(found, planned, record)
    compared = sum(len(sheet.plan.cells) for sheet in comparison.sheets.values())
    notes += cells.remarks(comparison, OWN_SHEETS, findings)
    return Audit(name, ordered(joined(values.merged(findings))), tuple(notes), compared)


def _require_same_generator(found: WorkbookFile, planned: Plan, record: Record) -> None:
    """Raise `UserError` where the file was built from the same study by other definitions or catalogues than ours."""
    built = found.properties.get(fingerprint.PROPERTY)
    if built and record.is_intact and ADDIN not in record.options and built != fingerprint.of_plan(planned):
        raise UserError(
            "built by another solbook, whose definitions or catalogues are not those of this one: audit it with the "
            "solbook that built it"
        )


def _plan(read: Contents, record: Record) -> tuple[Plan, list[Finding]]:
    """The plan of the study that the workbook was built from; without a record, of the one that its inputs say."""
    if read.age:
        raise UserError(read.age)
    try:
        planned = _recorded(record.text, record.options)
    except UserError as error:
        text = f"{error}: what was changed in inputs and catalogues cannot be told, only what was done to formulas"
        inputs = read.inputs
        title, description = (str(read.shown.get((SUMMARY, cell), "")) for cell in ("A1", "A2"))
        study = study_of(inputs, read.shown, title, description, inputs.strategies)
        planned = _built(study, record.options)
        planned = replace(planned, sheets=[sheet for sheet in planned.sheets if sheet.title != TITLE])
        return planned, [Finding(Kind.RECORD, TITLE, "", "study", text)]
    if record.is_intact:
        return planned, []
    text = "the sheet was edited, so old values told here may be wrong"
    return planned, [Finding(Kind.RECORD, TITLE, "", "study", text)]


@lru_cache(maxsize=1)  # a workbook is audited again and again while somebody works on it
def _recorded(text: str, options: tuple[str, ...]) -> Plan:
    return _built(recorded(text), options)


def _built(study: Study, options: tuple[str, ...]) -> Plan:
    """The plan as it was built. What xlwings' sheet holds depends on the computer."""
    further = [Sheet(SETTINGS)] if ADDIN in options else []
    return plan(study, protect=PROTECT in options, further=further)


def _as_planned(read: Contents, comparison: Comparison) -> Contents:
    """The contents under the titles that the sheets were given."""
    if not comparison.renamed:
        return read
    titles = {now: title for title, now in comparison.renamed.items()}

    def renamed(places: Mapping[tuple[str, str], object]) -> dict[tuple[str, str], object]:
        return {(titles.get(title, title), cell): content for (title, cell), content in places.items()}

    return Contents(renamed(read.held), renamed(read.shown))  # type: ignore[arg-type]


def _of_values(read: Contents, comparison: Comparison, names: Names, notes: list[str]) -> Iterator[Finding]:
    try:
        added = list(cells.added_strategies(comparison, names, read))
        yield from added
        yield from cells.added_rows(comparison, names, read)
        yield from cells.added_points(comparison, read)
        yield from values.senseless_inputs(read)
        yield from values.stale_values(read, comparison, names, added)
    except UserError as error:
        text = f"values cannot be compared: {error}"
        if comparison.deleted or any(s.rows.deleted or s.columns.deleted for s in comparison.sheets.values()):
            notes.append(text)  # which follows from what is told
        else:
            yield Finding(Kind.UNREADABLE, "", "", "inputs", text)
