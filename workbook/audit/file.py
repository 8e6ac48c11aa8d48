"""What was done to the file besides its cells: sheets hidden, protection, drop-downs, names, links, macros."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyxl.cells import Formula, coordinates, letter
from pyxl.changes import ComparedSheet, Comparison
from pyxl.formula_text import same
from pyxl.plan import Validation
from workbook.audit.findings import Finding, Kind
from workbook.audit.naming import Names
from workbook.sheets.study import ADDIN, PROTECT, Record

if TYPE_CHECKING:
    from pyxl.workbook_file import DropDown, SheetFile, WorkbookFile

BUILT_IN = "_xlnm."
FEW_RULES = 3
_OTHER_FILE = re.compile(r"\[[^\[\]]+\][^!\"]*!")  # [1]Sheet!A1


def hidden_sheet(title: str, *, in_menus: bool = True) -> Finding:
    """A sheet that is hidden, perhaps so that no menu shows it."""
    text = "the sheet is hidden" if in_menus else "the sheet is hidden so that no menu shows it"
    return Finding(Kind.HIDDEN, title, "", "sheet", text)


def manual_calculation() -> Finding:
    """Calculation when somebody asks for it."""
    text = "calculation is set to manual: values may be old until somebody presses F9"
    return Finding(Kind.MANUAL, "", "", "workbook", text)


def file_findings(file: WorkbookFile, comparison: Comparison, names: Names, record: Record) -> Iterator[Finding]:
    """Everything that a file tells beside the contents of cells."""
    by_title = {sheet.title: sheet for sheet in file.sheets}
    for sheet in file.sheets:
        if sheet.state != "visible":
            yield hidden_sheet(sheet.title, in_menus=sheet.state != "veryHidden")
    for compared in comparison.sheets.values():
        found = by_title[compared.title]
        yield from _hidden_lines(compared, found)
        yield from _all_or_single(compared, list(_drop_downs(comparison, compared, found, names)))
    if PROTECT in record.options:
        for compared in comparison.sheets.values():
            if not by_title[compared.title].is_protected:
                text = "the sheet was built with protection, which is off"
                yield Finding(Kind.UNPROTECTED, compared.title, "", "sheet", text)
    if file.is_manual:
        yield manual_calculation()
    for name, target in file.names:
        if "#REF!" in target and not name.startswith(BUILT_IN):
            yield Finding(Kind.NAME_BROKEN, "", "", name, f"the name {name} refers to nothing: {target}")
    for link in file.external_links:
        text = f"formulas or names refer to another file: {link}"
        yield Finding(Kind.EXTERNAL_LINK, "", "", "workbook", text, new=link)
    if not file.external_links:
        yield from _formulas_to_other_files(file)
    if file.has_macros and ADDIN not in record.options:
        yield Finding(Kind.MACROS, "", "", "workbook", "the file has macros, which were not there when it was built")


def _formulas_to_other_files(file: WorkbookFile) -> Iterator[Finding]:
    """The first formula of each sheet that refers to a file which the workbook does not name."""
    for sheet in file.sheets:
        for (row, column), content in sheet.held.items():
            if isinstance(content, Formula) and (found := _OTHER_FILE.search(content)):
                text = f"the formula refers to another file: {found[0]}"
                yield Finding(Kind.EXTERNAL_LINK, sheet.title, f"{letter(column)}{row}", "workbook", text)
                break


def _hidden_lines(compared: ComparedSheet, found: SheetFile) -> Iterator[Finding]:
    folded = compared.plan.folded_columns
    ours = set() if folded is None else set(range(folded[0], folded[1] + 1))
    filled = {column for _, column in compared.cells}
    columns = [c for c in sorted(found.hidden_columns & filled) if compared.columns.originally.get(c) not in ours]
    rows = sorted(found.hidden_rows & {row for row, _ in compared.cells})
    if columns:
        listed = ", ".join(map(letter, columns))
        what = f"column {listed} is" if len(columns) == 1 else f"columns {listed} are"
        yield Finding(Kind.HIDDEN, compared.title, f"{letter(columns[0])}1", "columns", f"{what} hidden")
    if rows:
        listed = ", ".join(map(str, rows[:10])) + (" ..." if len(rows) > 10 else "")
        what = f"row {listed} is" if len(rows) == 1 else f"rows {listed} are"
        yield Finding(Kind.HIDDEN, compared.title, f"A{rows[0]}", "rows", f"{what} hidden")


def _drop_downs(comparison: Comparison, compared: ComparedSheet, found: SheetFile, names: Names) -> Iterator[Finding]:
    for rule in compared.plan.validations:
        missing = [
            place for place in _cells(rule) if not _is_kept(comparison, compared, found.validations, rule, place)
        ]
        if missing:
            named = names.of(compared.plan.title, missing[0])
            at = compared.rows.now[missing[0][0]], compared.columns.now[missing[0][1]]
            what = "the drop-down" if rule.allowed else "the rule for numbers"
            text = f"{what} of {len(missing):,} cell{'s' * (len(missing) != 1)} was removed or changed"
            cell = f"{letter(at[1])}{at[0]}"
            yield Finding(Kind.DROP_DOWN_REMOVED, compared.title, cell, named.quantity, text)


def _all_or_single(compared: ComparedSheet, findings: list[Finding]) -> Iterator[Finding]:
    """Each removed drop-down or, where many of a sheet are gone, that they are."""
    if len(findings) <= FEW_RULES:
        yield from findings
        return
    text = (
        f"{len(findings)} of {len(compared.plan.validations)} drop-downs and rules for numbers were removed or changed"
    )
    yield Finding(Kind.DROP_DOWN_REMOVED, compared.title, findings[0].cell, "inputs", text)


def _cells(rule: Validation) -> Iterator[tuple[int, int]]:
    for area in rule.cells.split():
        top, _, bottom = area.replace("$", "").partition(":")
        (row, column), (last_row, last_column) = coordinates(top), coordinates(bottom or top)
        for line in range(row, last_row + 1):
            yield from ((line, number) for number in range(column, last_column + 1))


def _is_kept(
    comparison: Comparison,
    compared: ComparedSheet,
    found: list[DropDown],
    rule: Validation,
    place: tuple[int, int],
) -> bool:
    """Whether a cell still has its rule; one that is gone, or was never filled, lacks nothing."""
    row, column = place
    cell = compared.plan.cells.get(place)
    if row not in compared.rows.now or column not in compared.columns.now or cell is None:
        return True
    at = compared.rows.now[row], compared.columns.now[column]
    for each in found:
        if any(a[0] <= at[0] <= b[0] and a[1] <= at[1] <= b[1] for a, b in each.areas):
            if not rule.allowed:
                return each.rule == "decimal"
            return same(rule.allowed, each.rule, comparison.is_same_target(compared.plan.title))
    return False
