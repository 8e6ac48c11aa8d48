"""Verification: a file is recalculated for real, its inputs are computed in Python, and both are compared.

Nothing is taken from the file but its inputs: catalogues, constants, and what stands in input cells or was
typed over look-ups. A calculation that somebody typed over is a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyxl import reader
from pyxl.errors import MissingProgram, UserError
from pyxl.evaluators import EVALUATORS, Formula, Place, Value, contents
from pyxl.layout.summary_sheet import Heading
from pyxl.quantity import Failure, Kind, attempt
from pyxl.readings.number import OK
from pyxl.rows import RowModel
from workbook.analysis import analysis
from workbook.collectives import collectives
from workbook.file_inputs import Inputs, read_inputs
from workbook.operators import operators
from workbook.sheets import summary
from workbook.stages import stages

TOLERANCE = 1e-9
ROW_SHEETS: Mapping[str, RowModel] = {"Roofline": operators, "Stages": stages, "Collectives": collectives}
ABSENT = "nothing"
NOT_OK = "not OK"
TYPED_OVER = "typed over: it should be a formula"


@dataclass(frozen=True)
class Difference:
    """A quantity whose value in the file is not the one that Python computes."""

    sheet: str
    cell: str
    strategy: str
    quantity: str
    found: Any
    expected: Any
    why: str


def agree(found: Any, expected: Any) -> bool:
    """Whether two values are equal: numbers to a relative 1e-9, texts but for case, errors whatever their kind."""
    if isinstance(expected, Failure):
        return isinstance(found, str) and found.startswith("#")
    if isinstance(expected, str) or isinstance(found, str):
        return str(found).casefold() == str(expected).casefold()
    if found is None or expected is None:
        return found is expected
    scale = max(abs(float(found)), abs(float(expected)))
    return bool(abs(float(found) - float(expected)) <= TOLERANCE * scale)


def differences(path: Path, evaluator: str) -> tuple[list[Difference], int]:
    """Where a file and the Python engine differ, and how many values were compared."""
    found = contents(path)
    recalculated = EVALUATORS[evaluator](path)
    try:
        compared = [*compare(found, recalculated), *_stored(path, found, recalculated)]
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return [difference for difference, equal in compared if not equal], len(compared)


def compare(found: Mapping[Place, Any], recalculated: Mapping[Place, Value]) -> Iterator[tuple[Difference, bool]]:
    """Each quantity in a workbook's contents, as an evaluator recalculated it, and whether Python agrees."""
    inputs = read_inputs(found, recalculated)
    values, sheets = inputs.values(), reader.grids(found)
    mistyped = list(_mistyped(inputs, recalculated))
    if mistyped:  # what follows from a text where a number is needed differs between spreadsheets
        yield from ((difference, False) for difference in mistyped)
        return
    yield from _analysis(inputs, values, recalculated)
    for title, compare_sheet in (
        ("Summary", _summary),
        ("Summary", _headline),
        ("Checks", _checks),
        *((t, _rows) for t in ROW_SHEETS),
    ):
        if title in sheets:
            yield from compare_sheet(sheets[title], values, recalculated)
        else:
            yield Difference(title, "", "", "sheet", ABSENT, "a sheet", "the sheet is missing"), False
    yield from _master_checks(sheets, recalculated)
    if not any(isinstance(value, Failure) for computed in values.values() for value in computed.values()):
        yield from _errors(sheets, recalculated)


def _mistyped(inputs: Inputs, recalculated: Mapping[Place, Value]) -> Iterator[Difference]:
    """Texts where numbers are needed."""
    rows = inputs.rows
    for strategy, typed in inputs.strategies.items():
        for name, value in typed.items():
            if isinstance(value, Failure):
                sheet, cell = place = rows.place(name, strategy)
                yield Difference(sheet, cell, strategy, name, recalculated.get(place), "a number", value.reason)
    others = [
        ("Constants", inputs.constants),
        *((key.partition(".")[0], {key: c}) for key, c in inputs.columns.items()),
    ]
    for sheet, values in others:
        for key, value in values.items():
            for failure in (v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, Failure)):
                yield Difference(sheet, "", "", key, failure.code, "a number", failure.reason)


def _analysis(
    inputs: Inputs, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    rows = inputs.rows
    for name, quantity in analysis.quantities.items():
        if quantity.kind is Kind.CONSTANT:
            continue
        if name not in rows.rows:
            yield Difference(rows.grid.title, "", "all", name, ABSENT, "a row", "the row is missing"), False
            continue
        for strategy in rows.columns:
            sheet, cell = place = rows.place(name, strategy)
            expected, value = values[strategy][name], recalculated.get(place)
            content = rows.content(name, strategy)
            typed = content is not None and not isinstance(content, Formula)
            calculated = quantity.kind in (Kind.CALCULATION, Kind.CHECK)
            why = TYPED_OVER if typed and calculated else "the formula gives another value"
            equal = quantity.kind is Kind.INPUT or (agree(value, expected) and not (typed and calculated))
            yield Difference(sheet, cell, strategy, name, value, expected, why), equal


def _rows(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """The table of a row model, of the strategy that its sheet shows."""
    model = ROW_SHEETS[grid.title]
    lines = {content: row for row, content in grid.column(1)}
    place = next(_beside(grid, "Strategy"), None)
    chosen: Any = recalculated.get(grid.place(*place), grid.cells[place]) if place else None
    head = lines.get(next(iter(model.sections())))
    if chosen not in values or head is None:
        yield Difference(grid.title, "", str(chosen), "Strategy", chosen, "a strategy", "no such strategy"), False
        return
    columns = {content: column for column, content in grid.row(head)}
    for row, computed in zip(model.rows, model.compute_rows(values[chosen]), strict=True):
        for name, quantity in model.quantities.items():
            given = quantity.kind is Kind.INPUT and not isinstance(computed[name], Failure)
            yield _cell(
                grid,
                (lines.get(row.name), columns.get(quantity.label)),
                recalculated,
                strategy=row.name,
                quantity=name,
                expected=computed[name],
                typed_over=not given,
            )


def _summary(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """The summary's tables: below each heading, the line of each strategy."""
    heads = {content: place for place, content in grid.cells.items() if isinstance(content, str)}
    lines: dict[int, dict[Any, int]] = {}
    for heading in (*summary.VERDICT, *summary.DETAILS):
        top, column = heads.get(heading.title, (0, None))
        if top not in lines:
            lines[top] = _lines_below(grid, top, recalculated)
        for strategy, computed in values.items():
            yield _cell(
                grid,
                (lines[top].get(strategy), column),
                recalculated,
                strategy=strategy,
                quantity=heading.quantity,
                expected=_shown(heading, computed),
            )


def _lines_below(grid: reader.Grid, top: int, recalculated: Mapping[Place, Value]) -> dict[Any, int]:
    """The rows below a head by what stands in its column Strategy; the nearest row of a name counts."""
    columns = [column for column, content in grid.row(top) if content == "Strategy"]
    rows = reversed(grid.column(columns[0])) if columns else ()
    return {recalculated.get(grid.place(row, columns[0])): row for row, _ in rows if row > top}


def _shown(heading: Heading, computed: Mapping[str, Any]) -> Any:
    return attempt(heading.quantity, heading.shown(summary.FAILED), computed.__getitem__)


def _checks(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """The checks over all strategies: OK, or in words of its own what is wrong."""
    lines = {content: row for row, content in grid.column(1)}
    for name in analysis.series["checks"]:
        fine = all(computed[name] == OK for computed in values.values())
        place = lines.get(analysis[name].label), 2
        difference, equal = _cell(grid, place, recalculated, strategy="all", quantity=name, expected=OK)
        yield replace(difference, expected=OK if fine else NOT_OK), equal if fine else difference.found != OK


def _headline(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """The answer at the top of the summary: the fastest usable strategy."""
    usable = next(heading for heading in summary.DETAILS if heading.quantity == summary.USABLE)
    times = {name: _shown(usable, computed) for name, computed in values.items()}
    fastest = min(
        (name for name, time in times.items() if isinstance(time, int | float)), key=times.__getitem__, default=None
    )
    for label, shown, _ in summary.HEADLINES:
        expected: Any = summary.NONE_FITS
        if fastest is not None:
            expected = {"strategy": fastest, summary.USABLE: times[fastest]}.get(shown) or values[fastest][shown]
        place = next(_beside(grid, label), (None, None))
        yield _cell(grid, place, recalculated, strategy="", quantity=label, expected=expected)


def _master_checks(
    sheets: Mapping[str, reader.Grid], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """Every sheet shows OK only if every check is, and none of them is typed over."""
    checks = sheets.get("Checks")
    results = [(place, checks.cells[place]) for place in sorted(checks.cells) if place[1] == 2] if checks else []
    listed = [(place, content) for place, content in results[1:] if content != "Result"]  # the first is the master
    shown = [recalculated.get(checks.place(*place)) for place, _ in listed] if checks else []
    fine = bool(shown) and all(result == OK for result in shown)
    for place, content in listed:
        if checks and not isinstance(content, Formula):
            sheet, cell = checks.place(*place)
            yield Difference(sheet, cell, "", "check", content, "a formula", TYPED_OVER), False
    for grid in sheets.values():
        for place in _beside(grid, "Master check"):
            expected = OK if fine else NOT_OK
            difference, _ = _cell(grid, place, recalculated, strategy="", quantity="Master check", expected=expected)
            yield difference, (difference.found == OK) == fine and difference.why != TYPED_OVER


def _errors(
    sheets: Mapping[str, reader.Grid], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """Cells that show an error although every quantity has a value: references that lead nowhere."""
    for grid in sheets.values():
        for (row, column), content in grid.cells.items():
            value = recalculated.get(grid.place(row, column))
            if isinstance(content, Formula) and isinstance(value, str) and value.startswith("#"):
                sheet, cell = grid.place(row, column)
                yield Difference(sheet, cell, "", "", value, "a value", "the formula leads nowhere"), False


def _beside(grid: reader.Grid, label: str) -> Iterator[tuple[int, int]]:
    """The place of the next content to the right of each label in the first column."""
    for row, content in grid.column(1):
        if content == label and len(found := grid.row(row)) > 1:
            yield row, found[1][0]


def _cell(
    grid: reader.Grid,
    place: tuple[int | None, int | None],
    recalculated: Mapping[Place, Value],
    *,
    strategy: str,
    quantity: str,
    expected: Any,
    typed_over: bool = True,
) -> tuple[Difference, bool]:
    row, column = place
    if row is None or column is None:
        return Difference(grid.title, "", strategy, quantity, ABSENT, expected, "the cell is missing"), False
    sheet, cell = grid.place(row, column)
    value = recalculated.get((sheet, cell))
    typed = typed_over and not isinstance(grid.cells.get((row, column)), Formula)
    why = TYPED_OVER if typed else "the formula gives another value"
    return Difference(sheet, cell, strategy, quantity, value, expected, why), agree(value, expected) and not typed


def _stored(
    path: Path, found: Mapping[Place, Any], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """Values stored beside formulas, which previews and scripts read: they must be what the formula gives."""
    stored = contents(path, stored_values=True)
    formulas = [place for place, content in found.items() if isinstance(content, Formula)]
    if not any(place in stored for place in formulas):  # written by a program that stores none
        return
    for place in formulas:
        sheet, cell = place
        value, kept = recalculated.get(place), stored.get(place, "")
        why = "the stored value is missing or stale: recalculate and save"
        yield Difference(sheet, cell, "", "stored value", kept, value, why), agree(kept, value)


def verify(path: Path, evaluator: str) -> bool:
    """Verify a file with one evaluator, or with all that are installed, and print what differs."""
    from rich.console import Console

    from workbook.tables import differences_table

    console = Console(stderr=True)
    names = list(EVALUATORS) if evaluator == "all" else [evaluator]
    agreed: list[bool] = []
    for name in names:
        try:
            with console.status(f"recalculating with {name} ..."):
                found, compared = differences(path, name)
        except MissingProgram as error:
            if evaluator != "all":
                raise
            console.print(f"{name}: left out, {error}", highlight=False, markup=False, soft_wrap=True)
            continue
        differences_table(path, name, found, compared)
        agreed.append(not found)
    if not agreed:
        raise UserError("nothing to recalculate with: install LibreOffice, or pip install formulas formualizer")
    return all(agreed)
