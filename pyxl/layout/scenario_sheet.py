"""The sheet of a scenario: one chosen strategy under alternatives of one input, side by side.

Results come first, then every quantity that the input decides, each by the formula that it has in the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyxl.cells import letter
from pyxl.layout.chosen import choose, lay_out_taken
from pyxl.layout.header import FIRST_ROW, check_highlights
from pyxl.layout.model_sheet import ModelSheet
from pyxl.plan import Formula, Reference, Sheet, Validation, formula_cell, quoted
from pyxl.readings.formula import formula
from pyxl.scenario import DIFFERING, POSSIBLE, Scenario, first, own, shown
from pyxl.style import number_format

LABEL, KEY, UNIT, FIRST_CASE = range(1, 5)
TOP = FIRST_ROW + 3


def case(number: int) -> str:
    """The head of an alternative's column, counted from 1."""
    return f"Case {number}"


def ratio_head(number: int) -> str:
    """The head of the column with an alternative's ratios to the first."""
    return f"{case(number)} / {case(1)}"


@dataclass(frozen=True)
class PlacedScenario:
    """Where a scenario's rows by key and its cases' columns are, and by key its rows as references."""

    rows: Mapping[str, int]
    columns: Sequence[int]
    references: Mapping[str, Reference]


def lay_out(
    sheet: Sheet,
    scenario: Scenario,
    alternatives: Sequence[Any],
    strategies: Mapping[str, Mapping[str, Any]],
    chosen: str,
    parent: ModelSheet,
    catalogue: Mapping[str, Reference],
    room: int,
) -> PlacedScenario:
    """Lay a scenario out, with `room` free rows between its results and the rest."""
    shows = choose(sheet, strategies, chosen, parent)
    tables = {key: catalogue[key].value for key in scenario.columns}
    cases = [scenario.under(alternative, shows.values, tables) for alternative in alternatives]
    columns = range(FIRST_CASE, FIRST_CASE + len(cases))
    taken = {name: name for name in scenario.imports} | {own(name): name for name in scenario.owned}
    beside = TOP, columns.stop + len(cases)
    places = lay_out_taken(sheet, beside, shows, scenario.parent, taken, catalogue)
    above = [scenario.source, POSSIBLE, DIFFERING, *(shown(name) for name in scenario.results)]
    below = TOP + len(above) + room + 2
    rows = {key: row for row, key in enumerate(above, start=TOP + 1)}
    rows |= {name: row for row, name in enumerate(scenario.path, start=below + 2)}
    _describe(sheet, scenario, rows, below, columns)
    for column, computed in zip(columns, cases, strict=True):
        scope = {name: Reference(f"{letter(column)}{row}", computed[name]) for name, row in rows.items()}
        _column(sheet, scenario, rows, column, {**catalogue, **places, **scope})
    _ratios(sheet, scenario, rows, columns, cases)
    _choices(sheet, scenario, rows[scenario.source], below + 1, columns, alternatives, catalogue)
    references = {
        name: Reference(sheet.range((row, columns[0]), (row, columns[-1])), tuple(computed[name] for computed in cases))
        for name, row in rows.items()
    }
    references |= {
        key: Reference(f"{quoted(sheet.title)}!{places[key].address}", places[key].value)
        for key in map(own, scenario.owned)
    }
    references["strategy"] = shows.cell
    return PlacedScenario(rows, columns, references)


def _describe(sheet: Sheet, scenario: Scenario, rows: Mapping[str, int], below: int, columns: range) -> None:
    """Heads of both tables, and what stands in each row."""
    cases = [case(number) for number in range(1, len(columns) + 1)]
    ratios = [ratio_head(number) for number in range(2, len(columns) + 1)]
    source = scenario.parent[scenario.source]
    sheet.put(below - 1, LABEL, f"All that the {source.label.lower()} decides", "headline")
    sheet.put_row(TOP, LABEL, ["Quantity", "Key", "Unit", *cases, *ratios], "header")
    sheet.put_row(below, LABEL, ["Quantity", "Key", "Unit", *cases], "header")
    sheet.put(below + 1, LABEL, source.label, "label")
    names = {shown(name): name for name in scenario.results}
    for name, row in rows.items():
        quantity = scenario[name]
        sheet.put(row, LABEL, quantity.label, "label")
        sheet.put(row, KEY, names.get(name, name), "key")
        sheet.put(row, UNIT, quantity.unit, "note")
    sheet.widths.update({LABEL: 44, KEY: 34, UNIT: 12, **dict.fromkeys(columns, 28)})
    sheet.widths.update(dict.fromkeys(range(columns.stop, columns.stop + len(ratios)), 16))
    sheet.highlights.extend(check_highlights(_across(rows[POSSIBLE], columns)))


def _choices(
    sheet: Sheet,
    scenario: Scenario,
    row: int,
    again: int,
    columns: range,
    alternatives: Sequence[Any],
    catalogue: Mapping[str, Reference],
) -> None:
    """The alternatives, for readers to change, and repeated over the second table."""
    source = scenario.parent[scenario.source]
    for column, alternative in zip(columns, alternatives, strict=True):
        sheet.put(row, column, alternative, "input", number_format(source.unit, source.number_format))
        sheet.put(again, column, Formula(f"{letter(column)}${row}", alternative), "word")
    allowed = catalogue[f"{source.choices}.name"].address if source.choices else ""
    sheet.validations.append(Validation(_across(row, columns), allowed, source.label, source.note))


def _across(row: int, columns: range) -> str:
    return f"{letter(columns[0])}{row}:{letter(columns[-1])}{row}"


def _column(
    sheet: Sheet, scenario: Scenario, rows: Mapping[str, int], column: int, scope: Mapping[str, Reference]
) -> None:
    """One alternative: the formulas of the model over its own cells, and over what is taken of the strategy."""
    results = [shown(name) for name in scenario.results]
    for name, row in rows.items():
        quantity = scenario[name]
        if quantity.expression is None:
            continue
        text = formula(quantity.expression, lambda key: scope[key].address)
        style = "check" if name == POSSIBLE else "word" if quantity.unit == "text" else "calculation"
        sheet.put(
            row,
            column,
            Formula(text, scope[name].value, quantity.expression),
            "result" if name in results and style == "calculation" else style,
            number_format(quantity.unit, quantity.number_format),
        )


def _ratios(
    sheet: Sheet, scenario: Scenario, rows: Mapping[str, int], columns: range, cases: Sequence[Mapping[str, Any]]
) -> None:
    for name in scenario.numbers:
        ratio, row = scenario.ratio(name), rows[shown(name)]
        for number, (column, computed) in enumerate(zip(columns[1:], cases[1:], strict=True)):
            scope = {}
            for key, at in ((name, row), (POSSIBLE, rows[POSSIBLE])):
                scope[key] = Reference(f"{letter(column)}{at}", computed[key])
                scope[first(key)] = Reference(f"${letter(columns[0])}{at}", cases[0][key])
            sheet.put(row, columns.stop + number, formula_cell(ratio, scope), "calculation", "0.00")
