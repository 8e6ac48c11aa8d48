"""Comparison of a workbook with the Python engine: its inputs are computed in Python, quantity by quantity.

Nothing is taken from the workbook but its inputs: catalogues, constants, and what stands in input cells or was
typed over look-ups. A calculation that somebody typed over is a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyxl import reader
from pyxl.cells import Formula, Place, Value, whole
from pyxl.layout.elasticities_sheet import ELASTICITY_HEAD, VALUE_HEAD, derived
from pyxl.layout.scenario_sheet import case, ratio_head
from pyxl.layout.summary_sheet import Heading
from pyxl.naming import LAST_ROW
from pyxl.quantity import Failure, Kind, attempt
from pyxl.readings.number import OK
from pyxl.rows import RowModel
from pyxl.scenario import DIFFERING, POSSIBLE, Scenario, first, shown
from workbook.analysis import analysis
from workbook.collectives import collectives
from workbook.file_inputs import CONSTANTS, Inputs
from workbook.operators import operators
from workbook.sheets import elasticities, measured, precision, recomputation, summary
from workbook.sheets.checks import ENGINE
from workbook.sheets.documentation import SHEETS
from workbook.stages import stages

TOLERANCE = 1e-9
ROW_SHEETS: Mapping[str, RowModel] = {"Roofline": operators, "Stages": stages, "Collectives": collectives}
SCENARIOS: Mapping[str, Scenario] = {
    ladder.title: ladder.scenario for ladder in (precision.ladder, recomputation.ladder)
}
NO_TABLE: tuple[Mapping[Any, int], Mapping[Any, int]] = ({}, {})
ABSENT = "nothing"
NOT_OK = "not OK"
A_NUMBER = "a number"
ANOTHER_VALUE = "the formula gives another value"
TYPED_OVER = "typed over: it should be a formula"
EMPTY = "empty: it should be a formula"
NO_FORMULAS = "the column has a name but no formulas: copy a strategy's column into it, or clear the name"
NO_NAME = "the column has formulas but no name: name it, or clear it"
NO_STRATEGY = "no such strategy"


@dataclass(frozen=True)
class Difference:
    """A quantity whose value in the file is not the one that Python computes.

    `scale` is the size of what was added up to it, where that may cancel out.
    """

    sheet: str
    cell: str
    strategy: str
    quantity: str
    found: Any
    expected: Any
    why: str
    scale: float = 0.0


CompareSheet = Callable[
    [reader.Grid, Mapping[str, Mapping[str, Any]], Mapping[Place, Value]], Iterator[tuple[Difference, bool]]
]


def agree(found: Any, expected: Any, scale: float = 0.0) -> bool:
    """Whether two values are equal: numbers to 1e-9 of the largest, texts but for case, errors whatever their kind."""
    if isinstance(expected, Failure):
        return isinstance(found, str) and found.startswith("#")
    if isinstance(expected, str) or isinstance(found, str):
        return str(whole(found)).casefold() == str(whole(expected)).casefold()
    if found is None or expected is None:
        return found is expected
    scale = max(abs(float(found)), abs(float(expected)), scale)
    return bool(abs(float(found) - float(expected)) <= TOLERANCE * scale)


def compare(inputs: Inputs, recalculated: Mapping[Place, Value]) -> Iterator[tuple[Difference, bool]]:
    """Each quantity of a workbook with these inputs, as it was recalculated, and whether Python agrees."""
    values, sheets = inputs.values(), inputs.sheets
    yield from ((difference, False) for difference in _mistyped(inputs, recalculated))
    analysed = list(_analysis(inputs, values, recalculated))
    yield from analysed
    if inputs.mistyped:  # what follows from a text where a number is needed differs between spreadsheets
        return
    shown = list(_sheets(sheets, inputs, values, recalculated))
    yield from shown
    compared = [*analysed, *shown]
    yield from _master_checks(sheets, recalculated)
    if not any(isinstance(difference.expected, Failure) for difference, _ in compared):
        lost = {difference.sheet for difference, _ in compared if difference.why == NO_STRATEGY}
        yield from _errors({title: grid for title, grid in sheets.items() if title not in lost}, recalculated)


def _sheets(
    sheets: Mapping[str, reader.Grid],
    inputs: Inputs,
    values: Mapping[str, Mapping[str, Any]],
    recalculated: Mapping[Place, Value],
) -> Iterator[tuple[Difference, bool]]:
    """The sheets that show the Analysis' strategies, each in its way."""
    comparisons: tuple[tuple[str, CompareSheet], ...] = (
        ("Summary", _summary),
        ("Checks", _checks),
        *((t, _rows) for t in ROW_SHEETS),
        *((t, partial(_scenario, inputs.columns)) for t in SCENARIOS),
        (elasticities.TITLE, _elasticities),
    )
    for title, compare_sheet in comparisons:
        if title in sheets:
            yield from compare_sheet(sheets[title], values, recalculated)
            if title == "Summary":
                yield from _headline(sheets[title], values, recalculated)
        else:
            yield Difference(title, "", "", "sheet", ABSENT, "a sheet", "the sheet is missing"), False
    if measured.TITLE in sheets:
        yield from _measured(sheets[measured.TITLE], recalculated)


def _measured(grid: reader.Grid, recalculated: Mapping[Place, Value]) -> Iterator[tuple[Difference, bool]]:
    """The ceilings of measured curves; the points, and where a curve is read, are inputs."""
    for curve in measured.read(grid, recalculated):
        expected = curve.trouble or attempt(curve.key, measured.CEILING_READ, curve.values.__getitem__)
        difference, equal = _cell(
            grid, curve.ceiling, recalculated, strategy=curve.device, quantity=curve.key, expected=expected
        )
        yield (replace(difference, why=curve.trouble), False) if curve.trouble else (difference, equal)


def _mistyped(inputs: Inputs, recalculated: Mapping[Place, Value]) -> Iterator[Difference]:
    """Texts where numbers are needed."""
    for each in inputs.mistyped:
        sheet, cell = each.place
        yield Difference(sheet, cell, each.strategy, each.key, recalculated.get(each.place), A_NUMBER, each.reason)


def _analysis(
    inputs: Inputs, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """Every quantity of every strategy. The values of one with a text for a number are let pass, not its formulas."""
    rows, unsure = inputs.rows, {each.strategy for each in inputs.mistyped}
    for column, name in rows.odd_columns.items():
        sheet, cell = rows.grid.place(rows.head, column)
        why = NO_FORMULAS if name else NO_NAME
        yield Difference(sheet, cell, name, "strategy", ABSENT, "a strategy", why), False
    for name, quantity in analysis.quantities.items():
        if quantity.kind is Kind.CONSTANT:
            if name not in inputs.constants:
                yield Difference(CONSTANTS, "", "all", name, ABSENT, "a row", "the row is missing"), False
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
            empty = content is None and quantity.kind is not Kind.INPUT
            why = TYPED_OVER if typed and calculated else EMPTY if empty else ANOTHER_VALUE
            same = not unsure.isdisjoint(("", strategy)) or agree(value, expected)
            good = same and not empty and not (typed and calculated)
            equal = quantity.kind is Kind.INPUT or good
            yield Difference(sheet, cell, strategy, name, value, expected, why), equal


def _rows(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """The table of a row model, of the strategy that its sheet shows."""
    model = ROW_SHEETS[grid.title]
    chosen = _chosen(grid, recalculated)
    heads = grid.find(next(iter(model.sections())))
    if chosen not in values or not heads:
        yield _no_strategy(grid, chosen)
        return
    head, first = heads[-1]  # the title of the sheet may say the same
    lines = {content: row for row, content in grid.column(first)}
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


def _chosen(grid: reader.Grid, recalculated: Mapping[Place, Value]) -> Any:
    """The strategy that a sheet shows."""
    place = grid.beside("Strategy")
    return str(whole(recalculated.get(grid.place(*place), grid.cells[place]))) if place else None


def _no_strategy(grid: reader.Grid, chosen: Any) -> tuple[Difference, bool]:
    return Difference(grid.title, "", str(chosen), "Strategy", chosen, "a strategy", NO_STRATEGY), False


def _keyed_tables(grid: reader.Grid) -> Iterator[tuple[Mapping[Any, int], Mapping[Any, int]]]:
    """The columns by head, and below it the lines by key, of each table with a column headed "Key"."""
    for top, column in grid.find("Key"):
        lines = {content: row for row, content in reversed(grid.column(column)) if row > top}
        yield {content: number for number, content in grid.row(top)}, lines


def _scenario(
    columns: Mapping[str, tuple[Any, ...]],
    grid: reader.Grid,
    values: Mapping[str, Mapping[str, Any]],
    recalculated: Mapping[Place, Value],
) -> Iterator[tuple[Difference, bool]]:
    """The chosen strategy under each alternative: results with their ratios, and below all that they are made of."""
    scenario, chosen = SCENARIOS[grid.title], _chosen(grid, recalculated)
    if chosen not in values:
        yield _no_strategy(grid, chosen)
        return
    tables = _keyed_tables(grid)
    (above, results), (_, rest) = next(tables, NO_TABLE), next(tables, NO_TABLE)
    cases: list[dict[str, Any]] = []
    for number in (n for n in range(1, len(above) + 1) if case(n) in above):
        column = above[case(number)]
        choice = results.get(scenario.source, 0), column
        alternative = recalculated.get(grid.place(*choice), grid.cells.get(choice))
        computed = scenario.under(alternative, values[chosen], columns)
        cases.append(computed)
        expected: list[tuple[Mapping[Any, int], int | None, str, Any]] = []
        expected += [(results, column, name, computed[name]) for name in (POSSIBLE, DIFFERING)]
        expected += [(results, column, name, computed[shown(name)]) for name in scenario.results]
        expected += [(rest, column, name, computed[name]) for name in scenario.path]
        if number > 1:
            both = computed | {first(name): value for name, value in cases[0].items()}
            ratios = [(name, attempt(name, scenario.ratio(name), both.__getitem__)) for name in scenario.numbers]
            expected += [(results, above.get(ratio_head(number)), name, ratio) for name, ratio in ratios]
        for lines, at, name, value in expected:
            place = lines.get(name), at
            yield _cell(grid, place, recalculated, strategy=str(alternative), quantity=name, expected=value)
    if not cases:
        yield Difference(grid.title, "", chosen, case(1), ABSENT, "a column", "the column is missing"), False


def _elasticities(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """Derivatives and elasticities of the chosen strategy. Their terms may cancel out, all but for rounding."""
    model, chosen = elasticities.step_time, _chosen(grid, recalculated)
    if chosen not in values:
        yield _no_strategy(grid, chosen)
        return
    computed = model.compute(values[chosen], {})
    columns, lines = next(_keyed_tables(grid), NO_TABLE)
    for name in (model.result, *model.sources, *model.path):
        place = lines.get(name), columns.get(VALUE_HEAD)
        yield _cell(grid, place, recalculated, strategy=chosen, quantity=name, expected=computed[name])
    for key, name, head in derived(model):
        size = 1.0 if head == ELASTICITY_HEAD else _slope(computed[model.result], computed[name])
        place = lines.get(name), columns.get(head)
        yield _cell(grid, place, recalculated, strategy=chosen, quantity=key, expected=computed[key], scale=size)


def _slope(result: Any, value: Any) -> float:
    """The derivative of a result in proportion to a quantity, where both are numbers."""
    known = not isinstance(result, Failure) and not isinstance(value, Failure)
    return abs(result / value) if known and value else 0.0


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
    """The rows from a head to the next by what stands in its column Strategy; the nearest row of a name counts."""
    columns = [column for column, content in grid.row(top) if content == "Strategy"]
    if not columns:
        return {}
    below = [row for row, column in grid.find("Strategy") if row > top and column == columns[0]]
    rows = (row for row, _ in reversed(grid.column(columns[0])) if top < row < min([LAST_ROW, *below]))
    return {str(whole(recalculated.get(grid.place(row, columns[0])))): row for row in rows}


def _shown(heading: Heading, computed: Mapping[str, Any]) -> Any:
    return attempt(heading.quantity, heading.shown(summary.FAILED), computed.__getitem__)


def _checks(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """The checks over all strategies: OK, or in words of its own what is wrong."""
    listed = grid.listed("Check", "Result")
    for name in analysis.series["checks"]:
        fine = all(computed[name] == OK for computed in values.values())
        place = listed.get(analysis[name].label, (None, None))
        difference, equal = _cell(grid, place, recalculated, strategy="all", quantity=name, expected=OK)
        yield replace(difference, expected=OK if fine else NOT_OK), equal if fine else difference.found != OK


def fastest(values: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The fastest strategy that fits in memory, as the Summary says; None where none does."""
    times = {name: _usable_time(computed) for name, computed in values.items()}
    usable = [name for name, time in times.items() if isinstance(time, int | float)]
    return min(usable, key=times.__getitem__, default=None)


def _usable_time(computed: Mapping[str, Any]) -> Any:
    return _shown(next(heading for heading in summary.DETAILS if heading.quantity == summary.USABLE), computed)


def _headline(
    grid: reader.Grid, values: Mapping[str, Mapping[str, Any]], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """The answer at the top of the summary: the fastest usable strategy."""
    best = fastest(values)
    for label, quantity, _ in summary.HEADLINES:
        expected: Any = summary.NONE_FITS
        if best is not None:
            own = {"strategy": best, summary.USABLE: _usable_time(values[best])}
            expected = own.get(quantity) or values[best][quantity]
        yield _cell(
            grid, grid.beside(label) or (None, None), recalculated, strategy="", quantity=label, expected=expected
        )


def _master_checks(
    sheets: Mapping[str, reader.Grid], recalculated: Mapping[Place, Value]
) -> Iterator[tuple[Difference, bool]]:
    """Every sheet shows OK only if every check is, and none of them is typed over."""
    checks = sheets.get("Checks")
    listed = checks.listed("Check", "Result") if checks else {}
    shown = {name: recalculated.get(checks.place(*place)) for name, place in listed.items()} if checks else {}
    fine = bool(shown) and all(result == OK for name, result in shown.items() if name != ENGINE.name or result)
    for name, place in listed.items():
        content = checks.cells.get(place) if checks else None
        if checks and not isinstance(content, Formula) and name != ENGINE.name:
            sheet, cell = checks.place(*place)
            yield Difference(sheet, cell, "", "check", content, "a formula", TYPED_OVER), False
    for grid in (grid for title, grid in sheets.items() if title in SHEETS):
        if master := grid.beside("Master check"):
            expected = OK if fine else NOT_OK
            difference, _ = _cell(grid, master, recalculated, strategy="", quantity="Master check", expected=expected)
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


def _cell(
    grid: reader.Grid,
    place: tuple[int | None, int | None],
    recalculated: Mapping[Place, Value],
    *,
    strategy: str,
    quantity: str,
    expected: Any,
    typed_over: bool = True,
    scale: float = 0.0,
) -> tuple[Difference, bool]:
    row, column = place
    if row is None or column is None:
        return Difference(grid.title, "", strategy, quantity, ABSENT, expected, "the cell is missing"), False
    sheet, cell = grid.place(row, column)
    value = recalculated.get((sheet, cell))
    typed = typed_over and not isinstance(grid.cells.get((row, column)), Formula)
    why = TYPED_OVER if typed else ANOTHER_VALUE
    equal = agree(value, expected, scale) and not typed
    return Difference(sheet, cell, strategy, quantity, value, expected, why, scale), equal
