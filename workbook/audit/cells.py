"""What was done to cells, rows, columns and sheets, in words: changes of the file against its plan become findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pyxl.cells import coordinates, letter, whole
from pyxl.changes import Change, ComparedSheet, Comparison, What
from pyxl.formula_text import canonical, references
from pyxl.plan import Formula
from pyxl.quantity import Kind as QuantityKind
from pyxl.reader import Grid
from workbook.analysis import analysis
from workbook.audit.findings import Finding, Kind
from workbook.audit.naming import Names, is_input, shown
from workbook.comparison import agree
from workbook.contents import Contents
from workbook.file_inputs import CATALOGUES, CONSTANTS, MODEL_SHEET
from workbook.hardware_checks import SCALES
from workbook.sheets import measured

REPORTED = "reported"  # cells that programs of ours fill
CONSEQUENCES = (What.BROKEN,)
DIGITS, ALL_DIGITS = 10, 17
MOST_TOLD = 5  # inputs in which an added strategy differs


def cell_findings(comparison: Comparison, names: Names) -> list[Finding]:
    """Changed cells."""
    return [
        _finding(comparison, names, change)
        for change in comparison.changes
        if change.what not in CONSEQUENCES
        and change.cell.style != REPORTED
        and not _is_note(change)
        and not _belongs_to_addition(comparison, change)
    ]


def _is_note(change: Change) -> bool:
    """Whether the user wrote into an empty cell that nothing is read from."""
    return change.what is What.FILLED and not is_input(change.cell)


def _belongs_to_addition(comparison: Comparison, change: Change) -> bool:
    """Whether a cell is part of a strategy or catalogue row that the user added in room kept for it."""
    if change.what is not What.FILLED:
        return False
    plan = comparison.sheets[change.sheet].plan
    row, column = change.place
    if change.sheet == MODEL_SHEET:
        heads = (cell for (_, at), cell in plan.cells.items() if at == column and cell.style == "name")
        return any(cell.content in (None, "") for cell in heads)
    first = plan.cells.get((row, 1))
    return change.sheet in CATALOGUES and first is not None and first.content in (None, "")


def _finding(comparison: Comparison, names: Names, change: Change) -> Finding:
    sheet = comparison.sheets[change.sheet]
    named = names.of(change.sheet, change.place)
    old, new = shown(change.cell.content), change.new
    kind, text = _said(comparison, names, change, named.unit)
    if change.what in (What.FORMULA, What.MADE_FORMULA) and not is_input(change.cell):
        new = names.in_names(change.sheet, change.now, str(change.new))
    if isinstance(change.cell.content, Formula) and kind in (Kind.FORMULA_CHANGED, Kind.OVERWRITTEN, Kind.EMPTIED):
        old = _should_be(names, change)
    strategies = (named.strategy,) if named.strategy else ()
    cell = f"{letter(change.now[1])}{change.now[0]}"
    return Finding(kind, sheet.title, cell, named.quantity, text, strategies, old, new, named.unit)


def _said(comparison: Comparison, names: Names, change: Change, unit: str) -> tuple[Kind, str]:
    old, new = shown(change.cell.content), change.new
    if is_input(change.cell) or change.cell.style == "constant":
        return _input(comparison, change, unit)
    if change.what is What.FORMULA:
        found = names.in_names(change.sheet, change.now, str(new))
        return Kind.FORMULA_CHANGED, f"the formula is {found}: it should be {_should_be(names, change)}"
    if change.what is What.OVERWRITTEN:
        if change.cell.style == "look-up" and change.sheet == MODEL_SHEET:
            return (
                Kind.LOOKUP_OVERRIDDEN,
                f"{_told(new, unit)} was typed over the look-up, which gave {_told(old, unit)}",
            )
        return Kind.OVERWRITTEN, f"{_told(new, unit)} was typed over the formula {_should_be(names, change)}"
    if change.what is What.EMPTIED:
        formula = isinstance(change.cell.content, Formula)
        what = f"the formula {_should_be(names, change)}" if formula else f"'{old}'"
        return (Kind.EMPTIED if formula else Kind.TEXT_CHANGED), f"{what} was deleted"
    where = "in an empty cell" if change.what is What.FILLED else f"in place of '{old}'"
    return Kind.TEXT_CHANGED, f"'{whole(new)}' stands {where}"


def _input(comparison: Comparison, change: Change, unit: str) -> tuple[Kind, str]:
    old, new = shown(change.cell.content), change.new
    if change.cell.style == "name" and change.what is What.VALUE:
        return Kind.STRATEGY_RENAMED, f"'{old}' is now called '{new}'"
    was, now = _both_told(old, new, unit)
    was = "empty" if old in (None, "") else was
    now = "empty" if new in (None, "") else f"the formula {new}" if str(new).startswith("=") else now
    text = f"changed from {was} to {now}"
    if change.sheet in CATALOGUES:
        return Kind.CATALOGUE_CHANGED, text + _provenance(comparison, change)
    if change.sheet == measured.TITLE:
        return Kind.INPUT_CHANGED, f"{text}; the source beside it speaks of the curve as it was measured"
    return (Kind.CONSTANT_CHANGED if change.sheet == CONSTANTS else Kind.INPUT_CHANGED), text


def _provenance(comparison: Comparison, change: Change) -> str:
    """What became of the source of a catalogue number."""
    if isinstance(change.cell.content, str) and change.place[1] == 1:  # the row's name
        return ""
    sheet = comparison.sheets[change.sheet]
    for column in _source_columns(sheet, change.place):
        cell = sheet.plan.cells.get((change.place[0], column))
        if cell is None or not cell.content:
            continue
        now = sheet.rows.now.get(change.place[0], 0), sheet.columns.now.get(column, 0)
        source = sheet.cells.get(now)
        if source != cell.content:
            return f"; its source is now {source!r}" if source else "; its source was deleted"
        return f"; its source still speaks of the old number: {cell.content}"
    return "; it has no source"


def _source_columns(sheet: ComparedSheet, place: tuple[int, int]) -> Iterator[int]:
    """The column of the number's own source, then that of the whole row's."""
    from pyxl.layout.table import source_head

    row, column = place
    heads = {
        at: cell.content
        for (line, at), cell in sheet.plan.cells.items()
        if cell.style == "header" and line < row and isinstance(cell.content, str)
    }
    for wanted in (source_head(str(heads.get(column, ""))), source_head()):
        yield from (at for at, head in heads.items() if head == wanted)


def _should_be(names: Names, change: Change) -> str:
    assert isinstance(change.cell.content, Formula)
    return names.as_planned(change.sheet, change.place, change.cell.content.text)


def _told(value: Any, unit: str, digits: int = DIGITS) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"'{value}'"
    scale, word = SCALES[unit] if unit in SCALES and unit != "s" else (1, unit if unit not in ("1", "text") else "")
    return f"{value / scale:,.{digits}g} {word}".rstrip()


def _both_told(old: Any, new: Any, unit: str) -> tuple[str, str]:
    """Two values with as many digits as it takes to tell them apart."""
    pairs = ((_told(old, unit, digits), _told(new, unit, digits)) for digits in (DIGITS, ALL_DIGITS))
    return next((pair for pair in pairs if pair[0] != pair[1]), (repr(old), repr(new)))


# Rows, columns, sheets


def line_findings(comparison: Comparison, names: Names) -> Iterator[Finding]:
    """Rows and columns that were deleted."""
    broken = _broken(comparison)
    for title, sheet in comparison.sheets.items():
        for row in sorted(sheet.rows.deleted):
            named = names.keys.get(row) if title == MODEL_SHEET else None
            what = named or _row_title(sheet, row)
            text = f"the row of {what} (it stood in row {row}) was deleted{_follows(broken[title, 0, row])}"
            yield Finding(Kind.ROW_DELETED, sheet.title, "", what, text)
        for column in sorted(sheet.columns.deleted):
            strategy = names.strategies.get(column) if title == MODEL_SHEET else None
            follows = _follows(broken[title, 1, column])
            if strategy:
                text = f"the strategy '{strategy}' was deleted{follows}"
                yield Finding(Kind.STRATEGY_DELETED, sheet.title, "", "strategy", text, (strategy,))
            else:
                what = next((str(c.content) for (_, at), c in sorted(sheet.plan.cells.items()) if at == column), "")
                text = f"column {letter(column)} ({what}) was deleted{follows}"
                yield Finding(Kind.COLUMN_DELETED, sheet.title, "", what, text)


def _broken(comparison: Comparison) -> Counter[tuple[str, int, int]]:
    """How many formulas refer to a deleted row (axis 0) or column (axis 1) of a sheet and to nothing now."""
    found: Counter[tuple[str, int, int]] = Counter()
    for change in comparison.changes:
        if change.what in CONSEQUENCES and isinstance(change.cell.content, Formula):
            for each in references(change.cell.content.text):
                sheet = comparison.sheets.get(each.sheet or change.sheet)
                for axis, lines in enumerate((sheet.rows, sheet.columns) if sheet else ()):
                    title = each.sheet or change.sheet
                    found.update((title, axis, line) for line in lines.deleted & {each.first[axis], each.last[axis]})
    return found


def _follows(broken: int) -> str:
    formulas = "1 formula now refers" if broken == 1 else f"{broken:,} formulas now refer"
    return f"; {formulas} to nothing" if broken else ""


def _row_title(sheet: ComparedSheet, row: int) -> str:
    texts = (shown(cell.content) for (line, _), cell in sorted(sheet.plan.cells.items()) if line == row)
    return str(next((text for text in texts if text not in (None, "")), f"row {row}"))[:60]


def sheet_findings(comparison: Comparison) -> Iterator[Finding]:
    """Sheets that were deleted or renamed."""
    for title in comparison.deleted:
        yield Finding(Kind.SHEET_DELETED, title, "", "sheet", f"the sheet '{title}' was deleted")
    for title, now in comparison.renamed.items():
        yield Finding(Kind.SHEET_RENAMED, now, "", "sheet", f"the sheet '{title}' is now called '{now}'")


# What the user added


def added_strategies(comparison: Comparison, names: Names, read: Contents) -> Iterator[Finding]:
    """Strategies in columns that the plan does not have, and what is wrong in them."""
    rows, sheet = read.inputs.rows, comparison.sheets[MODEL_SHEET]
    for strategy, column in rows.columns.items():
        if sheet.columns.originally.get(column) in names.strategies:
            continue
        cell = f"{letter(column)}{rows.head}"
        text = f"the strategy '{strategy}' was added{_unlike_others(read, strategy)}"
        yield Finding(Kind.STRATEGY_ADDED, sheet.title, cell, "strategy", text, (strategy,))
        for key in rows.rows:
            yield from _in_added(read, key, strategy)


def _unlike_others(read: Contents, strategy: str) -> str:
    """The strategy that an added one is most like, and in which inputs it differs."""
    own = read.inputs.strategies[strategy]
    differing = {
        name: [key for key in {**own, **other} if not agree(own.get(key), other.get(key))]
        for name, other in read.inputs.strategies.items()
        if name != strategy
    }
    nearest = min(differing, key=lambda name: len(differing[name]), default=None)
    if nearest is None or len(differing[nearest]) > MOST_TOLD:
        return ""
    inputs = ", ".join(f"{key} = {_told(own.get(key), analysis[key].unit)}" for key in differing[nearest])
    return f": as '{nearest}'" + (f", but {inputs}" if inputs else ", with the same inputs")


def _in_added(read: Contents, key: str, strategy: str) -> Iterator[Finding]:
    content, (sheet, cell) = read.inputs.rows.content(key, strategy), read.inputs.rows.place(key, strategy)
    expected = read.located.formula(key, read.inputs.rows.columns[strategy])
    kind, unit = analysis[key].kind, analysis[key].unit
    is_formula = str(content).startswith("=")
    may_be_value = kind is QuantityKind.LOOKUP and content is not None and not is_formula
    if expected is None or kind is QuantityKind.INPUT or may_be_value:
        return
    should = read.located.in_names(expected.removeprefix("="), strategy)
    if content is None:
        text = f"the formula {should} is missing"
        yield Finding(Kind.EMPTIED, sheet, cell, key, text, (strategy,), should, None, unit)
    elif not is_formula:
        text = f"{_told(content, unit)} stands in place of the formula {should}"
        yield Finding(Kind.OVERWRITTEN, sheet, cell, key, text, (strategy,), should, content, unit)
    elif canonical(content) != canonical(expected):
        found = read.located.in_names(content, strategy)
        text = f"the formula is {found}: it should be {should}"
        yield Finding(Kind.FORMULA_CHANGED, sheet, cell, key, text, (strategy,), should, found, unit)


def added_rows(comparison: Comparison, names: Names, read: Contents) -> Iterator[Finding]:
    """Rows that the user added to a table of a catalogue."""
    from pyxl.reader import keyed_tables

    for title in CATALOGUES:
        if title not in comparison.sheets:
            continue
        sheet = comparison.sheets[title]
        planned = {row for table in names.tables(title) for row in table.rows}
        for table in keyed_tables(read.sheets[title]):
            for row, name in table.rows.items():
                if sheet.rows.originally.get(row) not in planned:
                    text = f"the row '{name}' was added to the table {table.title}"
                    yield Finding(Kind.ROW_ADDED, sheet.title, f"A{row}", table.title, text, (name,))


def added_points(comparison: Comparison, read: Contents) -> Iterator[Finding]:
    """Points that the user added to measured curves."""
    if measured.TITLE not in comparison.sheets:
        return
    sheet = comparison.sheets[measured.TITLE]
    contents = {place: shown(cell.content) for place, cell in sheet.plan.cells.items() if cell.content is not None}
    planned = {(curve.device, curve.key): curve for curve in measured.read(Grid(measured.TITLE, contents), {})}
    for curve in measured.read(read.sheets[measured.TITLE], read.shown):
        before = planned.get((curve.device, curve.key))
        count = len(curve.points) - len(before.points) if before else 0
        if count > 0:
            points = "a point was" if count == 1 else f"{count} points were"
            own = [place for place in sheet.added if place[0] > curve.ceiling[0]]
            cell = f"{letter(own[0][1])}{own[0][0]}" if own else ""
            text = f"{points} added to the measured curve"
            yield Finding(Kind.POINT_ADDED, sheet.title, cell, curve.key, text, (curve.device,))


def remarks(comparison: Comparison, own: Sequence[str], told: Sequence[Finding]) -> Iterator[str]:
    """What is harmless: moved rows and columns, cells and sheets of the user's own that no finding tells."""
    lines = {
        (finding.sheet, 1 if finding.kind is Kind.STRATEGY_ADDED else 0, coordinates(finding.cell))
        for finding in told
        if finding.kind in (Kind.STRATEGY_ADDED, Kind.ROW_ADDED, Kind.POINT_ADDED) and finding.cell
    }
    taken = {(sheet, axis, place[axis]) for sheet, axis, place in lines}
    for sheet in comparison.sheets.values():
        if sheet.plan.title in own:
            continue
        moved = len(sheet.rows.moved), len(sheet.columns.moved)
        for count, what in zip(moved, ("row", "column"), strict=True):
            if count:
                yield f"{sheet.title}: {count:,} {what}{'s' * (count != 1)} moved, formulas follow"
        added = [
            place for place in sheet.added if not any((sheet.title, axis, place[axis]) in taken for axis in (0, 1))
        ]
        added += sorted(
            change.now
            for change in comparison.changes
            if change.sheet == sheet.plan.title
            and _is_note(change)
            and change.cell.style != REPORTED
            and not _belongs_to_addition(comparison, change)
        )
        if added:
            first = f"{letter(added[0][1])}{added[0][0]}"
            cells = "1 cell" if len(added) == 1 else f"{len(added):,} cells"
            yield f"{sheet.title}: {cells} of the user's own, from {first} on"
    for title in comparison.added:
        if title not in own:
            yield f"the sheet '{title}' is the user's own"
