"""The rules of modelling that a workbook of ours keeps: R1 to R28, each checked on the file or held elsewhere.

They are those of the FAST Standard, ICAEW's Twenty Principles and Financial Modelling Code, F1F9, SMART and SSRB that
can be checked. Where a standard and this workbook part, the rule says which limit holds here, and why. Sheets of the
user's own are left to them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pyxl.cells import coordinates, letter
from pyxl.formula_text import target
from pyxl.layout.header import MASTER
from pyxl.layout.table import source_head
from pyxl.lint.book import Written
from pyxl.lint.formula import relative
from pyxl.lint.formulas import bare
from pyxl.lint.ranges import parsed
from pyxl.lint.rules import Found, Rules, Severity, some
from pyxl.operations import Apply, Expression, Operation
from pyxl.quantity import BARE_LITERALS
from pyxl.scenario import DIFFERING, POSSIBLE
from workbook.analysis import analysis
from workbook.lint.layout import ABOUT, ANALYSIS, CALCULATED, CHECKS, Layout

rule = Rules[Layout]()

STANDARDS = "FAST 3.04-02 to 04; ICAEW 17 and 18"
HELD_ELSEWHERE = {
    "R10": "Spaces, and brackets only where rank needs them: the printer writes every formula by one table "
    "(pyxl/readings/formula.py), whose tests compare it with Excel's rules. Signs are checked by formula-portable.",
    "R27": "Tested, versioned, one file for equal inputs: two runs that must give the same bytes are tests of the "
    "program, not of one file. The file tells its fingerprint and the version that wrote it.",
}

HEADS = ("Key", "Quantity", "Unit", "Formula in words", "Source", "Note")
COLUMNWISE = ("Summary", "Stages")
TAKEN = "Taken from Analysis"
ABOUT_TELLS = ("Made by", "What it computes", "What it leaves out", "Sheets", "Colours")
GATHERING = (POSSIBLE, DIFFERING)
OPEN = ("input", "name", "look-up", "reported")
FUNCTIONS = frozenset(("CEILING", "IF", "IFERROR", "INDEX", "MATCH", "MAX", "MIN", "SUM", "SUMPRODUCT"))
VALUES = frozenset(("TRUE", "FALSE"))  # LibreOffice writes TRUE()
ROUNDING = ("ROUND", "TRUNC", "INT", "FLOOR", "MROUND", "FIXED")
NEVER_NEGATIVE = ("byte", "byte/s", "byte/token", "FLOP", "FLOP/s", "FLOP/token", "s", "token", "device")
CATALOGUES, CONSTANTS = ("Hardware", "Models"), "Constants"
MOST_TOLD = 6  # cells of a circle
LONG_SHEET = 100  # rows
REPEATABLE_OPERATORS = 4


class Limits(NamedTuple):
    """How long a formula may be."""

    characters: int
    references: int
    operators: int
    choices: int


DEFINITION = Limits(300, 24, 20, 4)
CHECK = Limits(1_000, 40, 40, 20)
DERIVATIVE = Limits(1_500, 200, 200, 25)
INTERPOLATION = Limits(500, 30, 20, 4)
LONGER = {"Elasticities": DERIVATIVE, "Measured": INTERPOLATION}


@rule("R1", Severity.RULE)
def one_formula_per_row(layout: Layout) -> Iterator[Found]:
    """One row is one quantity with one formula, the same in every strategy's column. On Summary and Stages, whose lines
    are strategies and stages, one column is. A look-up that was typed over is an override, no formula.

    Source: FAST 2.01-03; ICAEW 11 and 12
    """
    for row, written in layout.model_formulas.items():
        yield from _odd(written, [each.relative for each in written], layout.key(row))
    by_cell = {(each.sheet, each.cell): each for each in layout.formulas if each.sheet in COLUMNWISE}
    for sheet in layout.sheets:
        for head in layout.heads(sheet) if sheet.title in COLUMNWISE else ():
            if TAKEN in head.texts:  # each line takes another quantity
                continue
            for column, text in enumerate(head.texts, start=head.column):
                written, row = [], head.row + 1
                while each := by_cell.get((sheet.title, f"{letter(column)}{row}")):
                    written.append(each)
                    row += 1
                forms = [relative(each.text, n, column) for n, each in enumerate(written, start=head.row + 1)]
                yield from _odd(written, forms, text)


def _odd(written: list[Written], forms: list[str], name: str) -> Iterator[Found]:
    """The first formula that differs from most."""
    if len(set(forms)) > 1:
        usual = Counter(forms).most_common(1)[0][0]
        odd = next(each for each, form in zip(written, forms, strict=True) if form != usual)
        what = f"'{name}' has another formula here than beside"
        yield Found(what, "copy a neighbour's cell over it", odd.sheet, odd.cell)


@rule("R2", Severity.RULE)
def one_purpose_per_column(layout: Layout) -> Iterator[Found]:
    """Each column has one purpose, which its head tells: no head of a table is empty or stands twice, and the model's
    describing columns are Key, Quantity, Unit, Formula in words, Source and Note.

    Source: FAST 2.01-01
    """
    sheet = layout.sheet(ANALYSIS)
    if layout.model is None or sheet is None:
        yield Found(f"no sheet '{ANALYSIS}' with columns {', '.join(HEADS)}", "build the workbook anew", ANALYSIS)
        return
    found = tuple(next((head.texts for head in layout.heads(sheet)), []))
    if found[: len(HEADS)] != HEADS:
        yield Found(f"the columns are {some(found, 6)}", f"head them {', '.join(HEADS)}", ANALYSIS)
    for each in layout.sheets:
        for head in layout.heads(each):
            for text, count in Counter(head.texts).items():
                if count > 1 or not text:
                    where = f"{letter(head.column + head.texts.index(text))}{head.row}"
                    yield Found(f"{count} columns are headed '{text}'", "head each its own way", each.title, where)


@rule("R3", Severity.RULE)
def units(layout: Layout) -> Iterator[Found]:
    """Each quantity has a unit in a column of units, "1" for pure numbers; each column of a catalogue one in its row.

    Source: FAST 2.01-01; Financial Modelling Code, clear units
    """
    for sheet in layout.sheets:
        grid = layout.grids[sheet.title].cells
        for head in layout.heads(sheet):
            names = [n for n, text in enumerate(head.texts) if text in ("Key", TAKEN)]
            units = [n for n, text in enumerate(head.texts) if text == "Unit"]
            if not names or not units:
                continue
            key, unit = head.column + names[0], head.column + units[0]
            heads = {other.row for other in layout.heads(sheet) if other.column == head.column}
            for row in range(head.row + 1, max((place[0] for place in grid), default=0) + 1):
                if row in heads:
                    break
                if (row, key) in grid and (row, unit) not in grid and layout.role_at(sheet, row, key) == "key":
                    yield Found(f"{grid[row, key]} has no unit", "give it one", sheet.title, f"{letter(unit)}{row}")
        for table in layout.tables(sheet):
            for key_text, column in table.columns.items():
                if key_text != "name" and (table.key_row - 1, column) not in grid:
                    where = f"{letter(column)}{table.key_row - 1}"
                    yield Found(f"{key_text} has no unit", "give it one", sheet.title, where)


@rule("R4", Severity.RULE)
def top_to_bottom(layout: Layout) -> Iterator[Found]:
    """The model reads from top to bottom: a formula of Analysis refers to rows above its own. The answer comes first,
    though, and the data last: Summary stands before Analysis, catalogues behind it.

    Source: FAST 2.01-04; F1F9
    """
    for row, written in layout.model_formulas.items():
        for reference in written[0].references:
            there = parsed(reference)
            if there and "!" not in reference and there.bottom >= row and "$" not in reference:
                what = f"{layout.key(row)} refers to {reference}, which is not above it"
                yield Found(what, "move the row down", ANALYSIS, written[0].cell)


@rule("R5", Severity.RULE)
def inputs_apart(layout: Layout) -> Iterator[Found]:
    """What a cell is can be seen: calculations hold formulas and no numbers, inputs and constants hold no calculation.
    Inputs stand on sheets of their own, but those of a strategy head its column, where its results can be compared.

    Source: ICAEW 10; Financial Modelling Code
    """
    for sheet, cell in layout.cells(*CALCULATED):
        if cell.formula is None and layout.value(cell) is not None:
            what = f"a {layout.role(cell)} holds {layout.value(cell)!r}, no formula"
            yield Found(what, "copy a neighbour's formula over it", sheet.title, cell.address)
    written = {(each.sheet, each.cell): each for each in layout.formulas}
    for sheet, cell in layout.cells("input", "constant", "name"):
        each = written.get((sheet.title, cell.address))
        if each and not _is_link(each):
            yield Found(f"an {layout.role(cell)} holds a calculation", "type a value", sheet.title, cell.address)


def _is_link(each: Written) -> bool:
    facts = each.facts
    return not facts.operators and not facts.functions and len(facts.references) == 1 and not facts.numbers


@rule("R6", Severity.RULE)
def no_literals(layout: Layout) -> Iterator[Found]:
    """No constant stands in a formula but 0, 1 and 2 as algebra: every other is a row of Constants with its source. The
    definitions refuse literals when they are imported; this sees the file.

    Source: FAST 3.04-01; ICAEW 14
    """
    allowed = {str(number) for number in BARE_LITERALS}
    for each in layout.distinct:
        if strange := [number for number in each.facts.numbers if number not in allowed]:
            yield Found(f"the number {strange[0]} in a formula", "make it a constant", each.sheet, each.cell)


@rule("R7", Severity.RULE)
def short_formulas(layout: Layout) -> Iterator[Found]:
    """Formulas are short. The standard's 120 characters, 8 references and 6 operators hold for four of five; the limits
    here are 300, 24 and 20, since sums over many kinds of layers or tensors are not easier read in two rows. A check
    may have 1,000, 40 and 40, for it holds its message, or gathers all others, as does the count of differing choices.
    A derivative, which the chain rule writes and nobody edits, may have 1,500, 200 and 200, and an interpolation, which
    names the points of its curve again and again, 500, 30 and 20.

    Source: FAST 3.03-01 to 03; ICAEW 13
    """
    checks = _checks(layout)
    for each in layout.distinct:
        most = _limits(checks, each)
        found = (len(each.text), len(each.facts.references), each.facts.operators)
        if any(count > limit for count, limit in zip(found, most, strict=False)):
            what = f"{found[0]} characters, {found[1]} references, {found[2]} operators"
            advice = f"split it: at most {most.characters}, {most.references} and {most.operators}"
            yield Found(what, advice, each.sheet, each.cell)


def _limits(checks: set[tuple[str, str]], each: Written) -> Limits:
    return CHECK if (each.sheet, each.cell) in checks else LONGER.get(each.sheet, DEFINITION)


def _checks(layout: Layout) -> set[tuple[str, str]]:
    """Checks, and the cells right of a key that gathers as they do."""
    found = {(sheet.title, cell.address) for sheet, cell in layout.cells("check")}
    gathering = {(sheet.title, cell.row) for sheet, cell in layout.cells("key") if layout.value(cell) in GATHERING}
    for each in layout.distinct:
        if (each.sheet, coordinates(each.cell)[0]) in gathering:
            found.add((each.sheet, each.cell))
    return found


@rule("R8", Severity.RULE)
def few_functions(layout: Layout) -> Iterator[Found]:
    """Cells use the nine functions that the operations of definitions print, each run on every evaluator.

    Source: FAST 3.03-04; the Enron corpus
    """
    for each in layout.distinct:
        if strange := [name for name in each.facts.functions if bare(name) not in FUNCTIONS | VALUES]:
            yield Found(f"the function {strange[0]}", f"use {', '.join(sorted(FUNCTIONS))}", each.sheet, each.cell)


@rule("R9", Severity.RULE)
def few_choices(layout: Layout) -> Iterator[Found]:
    """Choices are looked up in tables, not nested in IF. The standard allows one IF in a formula, the limit here is 4:
    a sum may leave out terms, and a bound names the resource that sets it. Checks may have 20, derivatives 25.

    Source: FAST 3.03-05 to 07
    """
    checks = _checks(layout)
    for each in layout.distinct:
        count, most = each.facts.functions.count("IF"), _limits(checks, each).choices
        if count > most:
            yield Found(f"{count} times IF", f"use a table of choices: at most {most}", each.sheet, each.cell)


@rule("R11", Severity.RULE)
def computed_once(layout: Layout) -> Iterator[Found]:
    """What is computed once is referred to after: no two rows of Analysis have the same formula of more than four
    operators. Shorter ones may be alike, as the sizes of two tensors of one shape are.

    Source: ICAEW 15; Financial Modelling Code
    """
    seen: dict[str, int] = {}
    for row, written in layout.model_formulas.items():
        first = seen.setdefault(written[0].relative, row)
        if first != row and written[0].facts.operators > REPEATABLE_OPERATORS:
            what = f"{layout.key(row)} has the formula of {layout.key(first)}"
            yield Found(what, "refer to that row", ANALYSIS, written[0].cell)


@rule("R12", Severity.RULE)
def no_chains(layout: Layout) -> Iterator[Found]:
    """A link goes straight to its source: a cell that only refers to another does not refer to one of its kind.

    Source: FAST 2.02
    """
    links = {(each.sheet, each.cell): each for each in layout.formulas if _is_link(each)}
    for (sheet, cell), each in links.items():
        there = target(each.text) if parsed(each.facts.references[0]) else None
        if there and (there.sheet or sheet, f"{letter(there.first[1])}{there.first[0]}") in links:
            yield Found(f"={each.text} is a link to a link", "link to the source", sheet, cell)


@rule("R13", Severity.RULE)
def ingredients_near(layout: Layout) -> Iterator[Found]:
    """The ingredients of a formula of Analysis stand in its own column, or are looked up in a catalogue by an absolute
    reference: so a column copied is a new strategy. Repeating each above its result would triple the rows.

    Source: FAST 2.02-01 and 04; F1F9, call-ups
    """
    for row, written in layout.model_formulas.items():
        each = written[0]
        own = each.cell.rstrip("0123456789")
        for reference in each.references:
            columns = set(re.findall(r"\$?[A-Z]+(?=\$?[0-9])", reference))
            if not all(column.startswith("$") or column == own for column in columns):
                what = f"{layout.key(row)} refers to {reference}"
                yield Found(what, "refer to the own column, or by $ to a catalogue", ANALYSIS, each.cell)


@rule("R14", Severity.RULE)
def no_merged_cells(layout: Layout) -> Iterator[Found]:
    """No cells are merged: such cannot be filtered, copied or referred to as others.

    Source: FAST 4.02-02
    """
    for sheet in layout.sheets:
        if merged := sheet.all("mergeCells/mergeCell"):
            where = merged[0].get("ref", "")
            yield Found(f"{len(merged)} ranges are merged", "centre across the selection", sheet.title, where)


@rule("R15", Severity.RULE)
def named_styles(layout: Layout) -> Iterator[Found]:
    """Each cell that holds something has one of our styles, and the legend on About shows it.

    Source: FAST 4.02-01; Financial Modelling Code, clear formatting
    """
    about = layout.sheet(ABOUT)
    legend = {layout.value(cell) for cell in about.cells} if about else set()
    for sheet in layout.sheets:
        for role, cells in layout.by_role[sheet.title].items():
            filled = [cell for cell in cells if layout.content(cell) is not None]
            if filled and not role:
                advice = "give them a style of the legend"
                yield Found(f"{len(filled)} cells without a style of ours", advice, sheet.title, filled[0].address)
            elif filled and role not in legend:
                what = f"the legend does not show the style '{role}'"
                yield Found(what, f"list it on {ABOUT}", sheet.title, filled[0].address)


@rule("R16", Severity.RULE)
def nothing_hidden(layout: Layout) -> Iterator[Found]:
    """Nothing is hidden: no sheet, row, column or white letters. Outline groups may be folded, for a click opens them.

    Source: Financial Modelling Code, do not hide things
    """
    for sheet in layout.sheets:
        if sheet.state != "visible":
            yield Found(f"the sheet is {sheet.state}", "show it", sheet.title)
        for path, name in (("sheetData/row", "r"), ("cols/col", "min")):
            for each in sheet.all(path):
                if each.get("hidden") in ("1", "true") and not each.get("outlineLevel"):
                    yield Found(f"{path.rpartition('/')[2]} {each.get(name)} is hidden", "show it", sheet.title)
        if white := [cell for cell in sheet.cells if cell.style in layout.white_formats and layout.content(cell)]:
            what = f"{len(white)} cells have white letters on no colour"
            yield Found(what, "show them", sheet.title, white[0].address)


@rule("R17", Severity.RULE)
def about(layout: Layout) -> Iterator[Found]:
    """The sheet About tells what made the file, what it computes and leaves out, lists and links every sheet, and shows
    the colours. It stands last: the first sheet is the answer, which links to nothing else to be understood.

    Source: ICAEW 7; Financial Modelling Code, user guidance
    """
    sheet = layout.sheet(ABOUT)
    if sheet is None:
        yield Found(f"no sheet '{ABOUT}'", "build the workbook anew", ABOUT)
        return
    texts = {layout.value(cell) for cell in sheet.cells}
    for heading in ABOUT_TELLS:
        if heading not in texts:
            yield Found(f"'{heading}' is not told", "write it", ABOUT)
    linked = {each.get("location", "").rpartition("!")[0].strip("'") for each in sheet.all("hyperlinks/hyperlink")}
    for title in (each.title for each in layout.sheets):
        if title not in linked:
            yield Found(f"no link to the sheet '{title}'", "list it", ABOUT)


@rule("R18", Severity.RULE)
def master_check(layout: Layout) -> Iterator[Found]:
    """Checks are gathered on the sheet Checks in one master check, which the head of every sheet shows. One that fails
    is advice: it tells of the inputs, not of the file.

    Source: ICAEW 19; Financial Modelling Code, include a master check
    """
    if layout.sheet(CHECKS) is None:
        yield Found(f"no sheet '{CHECKS}'", "build the workbook anew", CHECKS)
    written = {(each.sheet, each.cell): each for each in layout.formulas}
    place = f"{letter(MASTER[1])}{MASTER[0]}"
    for sheet in layout.sheets:
        each = written.get((sheet.title, place))
        wanted = f"{CHECKS}!${letter(MASTER[1])}${MASTER[0]}"
        if each is None or (sheet.title != CHECKS and each.text != wanted):
            yield Found("the head does not show the master check", f"write ={wanted}", sheet.title, place)
        elif sheet.title == CHECKS and layout.value(sheet.by_place[MASTER]) != "OK":
            what = f"the master check shows {layout.value(sheet.by_place[MASTER])!r}"
            yield Found(what, "see which check fails", sheet.title, place, Severity.ADVICE)


@rule("R19", Severity.RULE)
def no_circles(layout: Layout) -> Iterator[Found]:
    """No formula depends on itself.

    Source: Financial Modelling Code; FAST
    """
    circle = _Graph(layout.distinct, {ANALYSIS}).circle() and _Graph(layout.formulas, set()).circle()
    if circle:
        cells = " > ".join(f"{sheet}!{letter(column)}{row}" for sheet, row, column in circle[:MOST_TOLD])
        sheet, row, column = circle[0]
        yield Found(f"a circle of {len(circle)} cells: {cells}", "break it", sheet, f"{letter(column)}{row}")


Node = tuple[str, int, int]


class _Graph:
    """Which formulas refer to which. On sheets by row, a row is one node: without a circle of rows there is none of
    cells, and rows are fewer."""

    def __init__(self, formulas: list[Written], by_row: set[str]) -> None:
        self._written: dict[Node, list[Written]] = {}
        self._by_row = by_row
        columns: dict[tuple[str, int], list[int]] = {}
        for each in formulas:
            row, column = coordinates(each.cell)
            column = 0 if each.sheet in by_row else column
            self._written.setdefault((each.sheet, row, column), []).append(each)
            columns.setdefault((each.sheet, column), []).append(row)
        self._columns = {place: sorted(rows) for place, rows in columns.items()}

    def _needs(self, node: Node) -> Iterator[Node]:
        for each in self._written[node]:
            for reference, sheet in zip(each.references, each.facts.reference_sheets, strict=True):
                area, title = parsed(reference), sheet or node[0]
                if area is None:
                    continue
                for column in (0,) if title in self._by_row else range(area.left, area.right + 1):
                    rows = self._columns.get((title, column), ())
                    for index in range(bisect_left(rows, area.top), len(rows)):
                        if rows[index] > area.bottom:
                            break
                        yield title, rows[index], column

    def circle(self) -> list[Node]:
        """The cells of a circle; none where there is none."""
        done: set[Node] = set()
        for start in self._written:
            path: dict[Node, Iterator[Node]] = {} if start in done else {start: self._needs(start)}
            while path:
                node = next(reversed(path))
                needed = next(path[node], None)
                if needed is None:
                    done.add(node)
                    path.popitem()
                elif needed in path:
                    nodes = list(path)
                    return nodes[nodes.index(needed) :]
                elif needed not in done:
                    path[needed] = self._needs(needed)
        return []


@rule("R20", Severity.RULE)
def no_rounding(layout: Layout) -> Iterator[Found]:
    """Nothing is rounded but by number formats, and whole devices, layers or batches by CEILING.

    Source: Financial Modelling Code
    """
    for each in layout.distinct:
        if rounded := [name for name in each.facts.functions if bare(name).startswith(ROUNDING)]:
            yield Found(f"{rounded[0]} rounds a value", "format the number", each.sheet, each.cell)


@rule("R21", Severity.RULE)
def clear_labels(layout: Layout) -> Iterator[Found]:
    """Quantities have keys of their own and labels, and times, bytes, FLOPs, tokens and devices are never negative, but
    for differences, whose sign is the answer. Our sheets have names of letters alone, which formulas need not quote.

    Source: Financial Modelling Code
    """
    if layout.model is None:
        return
    grid = layout.model.grid
    ((head, column),) = grid.find(HEADS[0])[:1]
    keys = Counter(content for row, content in grid.column(column) if row > head and content in analysis.quantities)
    for name, row in layout.model.rows.items():
        if keys[name] > 1:
            yield Found(f"{keys[name]} rows have the key {name}", "give each its own", ANALYSIS, f"A{row}")
        if not grid.cells.get((row, column + 1)):
            yield Found(f"{name} has no label", "write one", ANALYSIS, f"{letter(column + 1)}{row}")
        if analysis[name].unit in NEVER_NEGATIVE and not _is_difference(analysis[name].expression):
            for strategy in layout.model.columns:
                _, cell = layout.model.place(name, strategy)
                found = layout.shown(ANALYSIS, cell)
                if isinstance(found, float) and found < 0:
                    yield Found(f"{name} is {found:g}", "see its ingredients", ANALYSIS, cell)


def _is_difference(expression: Expression | None) -> bool:
    return isinstance(expression, Apply) and expression.operation is Operation.SUBTRACT


@rule("R22", Severity.RULE)
def restricted_inputs(layout: Layout) -> Iterator[Found]:
    """Every input has a validation that says what is allowed; the names of rows in a catalogue are free.

    Source: Financial Modelling Code, restrictions
    """
    for sheet in layout.sheets:
        areas = [
            area
            for each in sheet.all("dataValidations/dataValidation")
            for text in each.get("sqref", "").split()
            if (area := parsed(text))
        ]
        named = [(table.key_row, table.end, table.columns["name"]) for table in layout.tables(sheet)]
        free = [
            cell
            for cell in layout.by_role[sheet.title].get("input", ())
            if not any(a.top <= cell.row <= a.bottom and a.left <= cell.column <= a.right for a in areas)
            and not any(top < cell.row < end and cell.column == column for top, end, column in named)
        ]
        if free:
            what = f"{len(free)} inputs without a validation"
            yield Found(what, "copy that of a neighbour", sheet.title, free[0].address)


@rule("R23", Severity.RULE)
def protection(layout: Layout) -> Iterator[Found]:
    """Inputs are open and calculations locked, so that protecting a sheet does what it should; sheets are protected
    only where `build --protect` says so, for Excel would stop folding and copying columns, and never by a password.

    Source: ICAEW 20
    """
    for roles, locked, what in ((OPEN, False, "is locked"), (CALCULATED, True, "is not locked")):
        for sheet in layout.sheets:
            for role in roles:
                wrong = [
                    c for c in layout.by_role[sheet.title].get(role, ()) if (c.style in layout.open_formats) == locked
                ]
                if wrong:
                    advice = "set its protection as its style has it"
                    yield Found(f"a cell of style '{role}' {what}", advice, sheet.title, wrong[0].address)
    for sheet in layout.sheets:
        for each in sheet.all("sheetProtection"):
            if any(each.get(key) for key in ("password", "hashValue")):
                yield Found("a password protects the sheet", "protect it without", sheet.title)


@rule("R24", Severity.RULE)
def few_names(layout: Layout) -> Iterator[Found]:
    """Formulas refer to cells, and say it in words beside: no names are defined but those that printing needs.

    Source: F1F9; McKeever and McDaid, names hinder novices
    """
    own = [name for each in layout.book.names if not (name := each.get("name", "")).startswith("_xl")]
    if own:
        yield Found(f"{len(own)} names are defined: {some(own)}", "refer to cells", "", own[0])


@rule("R25", Severity.ADVICE)
def navigation(layout: Layout) -> Iterator[Found]:
    """A sheet of one table and more than 100 rows keeps its head in sight, on the screen and on every printed page.
    Those of several tables cannot. About links to every sheet (R17). Advice: LibreOffice drops frozen panes on saving.

    Source: F1F9, contents sheet; SSRB
    """
    titled = {
        int(scope)
        for each in layout.book.names
        if each.get("name") == "_xlnm.Print_Titles" and (scope := each.get("localSheetId", "")).isdecimal()
    }
    for sheet in layout.sheets:
        if len({head.row for head in layout.heads(sheet)}) != 1 or len(sheet.rows) <= LONG_SHEET:
            continue
        if not any(each.get("state") == "frozen" for each in sheet.all("sheetViews/sheetView/pane")):
            yield Found("the head scrolls away", "freeze the panes below it", sheet.title)
        if layout.book.titles.index(sheet.title) not in titled:
            yield Found("printed pages have no head", "print its rows on every page", sheet.title)


@rule("R26", Severity.RULE)
def provenance(layout: Layout) -> Iterator[Found]:
    """Each number of Hardware and Models has a source beside it, its own or its row's, and each constant has one.

    Source: Financial Modelling Code; ICAEW 14
    """
    for sheet in layout.sheets:
        grid = layout.grids[sheet.title]
        for table in layout.tables(sheet) if sheet.title in CATALOGUES else ():
            labels = {column: label for label, column in table.heads.items()}
            for row, name in table.rows.items():
                for key, column in table.columns.items():
                    label = str(labels.get(column))
                    own = label if source_head(label) in table.heads else ""  # else the row's source is that of all
                    if isinstance(grid.cells.get((row, column)), float) and not table.source(row, own):
                        what = f"{key} of {name} has no source"
                        yield Found(what, "write where it is from", sheet.title, f"{letter(column)}{row}")
        for key, (row, column) in grid.listed("Key", "Source").items() if sheet.title == CONSTANTS else ():
            if not grid.cells.get((row, column)):
                where = f"{letter(column)}{row}"
                yield Found(f"{key} has no source", "write where it is from", sheet.title, where)


@rule("R28", Severity.RULE)
def no_macros(layout: Layout) -> Iterator[Found]:
    """No macros, embedded programs or links to other files are needed. Macros of `build --addin` are advice: they run
    the add-in's buttons, and no cell needs them.

    Source: Financial Modelling Code; FAST 4.06
    """
    book = layout.book
    for source, lines in book.relationships.items():
        for each in lines:
            if each.kind == "vbaProject":
                yield Found("the file has macros", "save it as .xlsx if nobody runs them", severity=Severity.ADVICE)
            elif each.kind in ("externalLink", "oleObject", "control", "activeXControlBinary", "connections"):
                yield Found(f"{source} has a {each.kind}", "keep all in this file", each.target)
    for written in book.formulas:
        if other := [title for title in written.facts.sheets if "[" in title]:
            yield Found(
                f"a formula refers to the file {other[0]}", "keep all in this file", written.sheet, written.cell
            )
