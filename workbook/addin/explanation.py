"""Explain: a cell's formula in names and in values, its unit, note and source, and the inputs that move it most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pyxl import reader
from pyxl.cells import Formula, coordinates, letter
from pyxl.elasticities import elasticities_at
from pyxl.errors import UserError
from pyxl.open_book import Formulas
from pyxl.quantity import Failure, Kind, Quantity
from pyxl.readings.formula import number_text
from pyxl.readings.words import words
from pyxl.style import fill
from workbook.addin.opened import Opened, opened
from workbook.addin.own_sheets import as_text, head, own_sheet
from workbook.analysis import analysis
from workbook.catalogue import HARDWARE, MODELS
from workbook.comparison import ROW_SHEETS, compare
from workbook.file_inputs import CATALOGUES, CONSTANTS, MODEL_SHEET

if TYPE_CHECKING:
    import xlwings as xw

TITLE = "Explain"
MOST = 3
FIRST_ROW = 4
WIDTHS = (34, 100, 22, 14, 12)


@dataclass(frozen=True)
class Explanation:
    """What a cell means: facts in reading order, ingredients with label, value and unit, and what moves it most."""

    heading: str
    facts: Mapping[str, Any]
    ingredients: tuple[tuple[str, str, Any, str], ...]
    movers: tuple[tuple[str, str, Any, str, float], ...]

    def __str__(self) -> str:
        lines = [self.heading, *(f"{name}: {value}" for name, value in self.facts.items())]
        lines += [f"  {key} = {_with_unit(value, unit)} ({label})" for key, label, value, unit in self.ingredients]
        if self.movers:
            lines.append("Moves it most, per cent of it for one per cent of the input:")
            lines += [
                f"  {key} = {_with_unit(value, unit)}: {share:+.3f}" for key, _, value, unit, share in self.movers
            ]
        return "\n".join(lines)


def explain(book: xw.Book, cell: tuple[str, str] | None = None, formulas: Formulas | None = None) -> Explanation:
    """Explain a cell (sheet and address; None: the selected one), and write it to the sheet Explain.

    Raises `UserError` for a cell that holds no quantity.
    """
    read = opened(book, formulas)
    if cell is None:
        sheet, row, column = read.cursor()
        cell = sheet, f"{letter(column)}{row}"
    found = explanation(read, cell)
    _write(book, found)
    return found


def explanation(read: Opened, cell: tuple[str, str]) -> Explanation:
    """What a cell means. Raises `UserError` where it holds no quantity."""
    sheet, address = cell
    row, column = coordinates(address)
    rows = read.inputs.rows
    if sheet == rows.grid.title:
        names = [name for name, number in rows.rows.items() if number == row]
        strategies = [name for name, number in rows.columns.items() if number == column]
        if names and strategies:
            return _of_strategy(read, cell, analysis[names[0]], strategies[0])
    elif sheet == CONSTANTS:
        for key, place in read.sheets[CONSTANTS].listed("Key", "Value").items():
            if place == (row, column) and key in read.inputs.constants:
                facts = _facts(analysis[key], read.inputs.constants[key])
                return Explanation(_heading(cell, analysis[key], "all strategies"), facts, (), ())
    elif sheet in CATALOGUES:
        if found := _of_catalogue(read, cell):
            return found
    elif found := _of_shown(read, cell):
        return found
    raise UserError(
        f"{sheet}!{address} holds no quantity: select a cell of the sheet {MODEL_SHEET}, or a number of the sheets "
        f"Summary, {', '.join((*ROW_SHEETS, *CATALOGUES))} or {CONSTANTS}"
    )


def _of_shown(read: Opened, cell: tuple[str, str]) -> Explanation | None:
    """A cell of a sheet that shows the strategies of the Analysis."""
    for difference, _ in compare(read.inputs, read.shown):
        if (difference.sheet, difference.cell) == cell:
            name, strategy = difference.quantity, difference.strategy
            if cell[0] in ROW_SHEETS and name in ROW_SHEETS[cell[0]].quantities:
                quantity = ROW_SHEETS[cell[0]][name]
                return Explanation(_heading(cell, quantity, strategy), _facts(quantity, difference.expected), (), ())
            if name in analysis.quantities and strategy in read.inputs.strategies:
                return _of_strategy(read, cell, analysis[name], strategy)
    if read.inputs.mistyped:
        sheet, address = read.inputs.mistyped[0].place
        raise UserError(f"mend {sheet}!{address} first: {read.inputs.mistyped[0].reason}")
    return None


def _of_catalogue(read: Opened, cell: tuple[str, str]) -> Explanation | None:
    """A number of a device, a model or a choice."""
    row, column = coordinates(cell[1])
    for table in reader.keyed_tables(read.sheets[cell[0]]):
        key = next(
            (key for key, number in table.columns.items() if number == column and key in analysis.quantities), ""
        )
        if row in table.rows and key:
            quantity = analysis[key]
            facts = {
                "Key": key,
                "Kind": f"number of the table {table.title}",
                "Value": reader.value_at(table.grid, row, column, read.shown),
                "Unit": quantity.unit,
                "Note": quantity.note,
                "Source": table.source(row, quantity.label) or table.source(row),
            }
            return Explanation(_heading(cell, quantity, table.rows[row]), facts, (), ())
    return None


def _heading(cell: tuple[str, str], quantity: Quantity, strategy: str) -> str:
    return f"{cell[0]}!{cell[1]}: {quantity.label}, {strategy}"


def _facts(quantity: Quantity, value: Any) -> dict[str, Any]:
    return {
        "Key": quantity.name,
        "Kind": quantity.kind.value,
        "Value in Python": value.code if isinstance(value, Failure) else value,
        **({"Why": value.reason} if isinstance(value, Failure) else {}),
        "Unit": quantity.unit,
        **({"Formula": words(quantity.expression)} if quantity.expression is not None else {}),
        "Note": quantity.note,
        **({"Source": quantity.source} if quantity.source else {}),
    }


def _of_strategy(read: Opened, cell: tuple[str, str], quantity: Quantity, strategy: str) -> Explanation:
    rows, given = read.inputs.rows, read.inputs.strategies[strategy]
    values = analysis.compute({**read.inputs.constants, **given}, read.inputs.columns)
    facts = _facts(quantity, values[quantity.name])
    if quantity.name in rows.rows:
        content = rows.content(quantity.name, strategy)
        facts["Value in the workbook"] = read.shown.get(rows.place(quantity.name, strategy), "")
        if quantity.expression is not None and content is None:
            facts["Empty"] = f"it should be {facts['Formula']}"
        elif quantity.expression is not None and not isinstance(content, Formula):
            facts["Typed over"] = f"{content}: it should be {facts['Formula']}"
        elif isinstance(content, Formula) and read.located.is_changed(quantity.name, strategy):
            facts["Changed formula"] = read.located.in_names(content, strategy)
    known = partial(analysis.resolved, values.__getitem__, read.inputs.columns)
    if quantity.expression is not None:
        facts["With values"] = _with_values(quantity, known, facts["Value in Python"])
    sources = [q.name for q in analysis if _may_move(q, given)]
    moved = elasticities_at(analysis, values, read.inputs.columns, quantity.name, sources)
    largest = sorted(moved, key=lambda name: -abs(moved[name]))[:MOST]
    return Explanation(
        _heading(cell, quantity, strategy),
        facts,
        tuple(_ingredient(analysis[key], known(key)) for key in quantity.parameters if key in analysis.quantities),
        tuple((*_ingredient(analysis[key], values[key]), moved[key]) for key in largest if key != quantity.name),
    )


def _may_move(quantity: Quantity, given: Mapping[str, Any]) -> bool:
    """Numbers that a user types, those of the device and of the model."""
    if quantity.unit == "text":
        return False
    described = {f"{HARDWARE}.name", f"{MODELS}.name"} & quantity.ingredients
    return quantity.name in given or (quantity.kind is Kind.LOOKUP and bool(described))


def _ingredient(quantity: Quantity, value: Any) -> tuple[str, str, Any, str]:
    return quantity.name, quantity.label, value.code if isinstance(value, Failure) else value, quantity.unit


def _with_values(quantity: Quantity, value_of: Callable[[str], Any], value: Any) -> str:
    assert quantity.expression is not None

    def shown(key: str) -> str:
        return key if key in analysis.series or key in analysis.columns else _text(value_of(key))

    return f"{words(quantity.expression, shown)} = {_text(value)}"


def _with_unit(value: Any, unit: str) -> str:
    return _text(value) if unit in ("1", "text") else f"{_text(value)} {unit}"


def _text(value: Any) -> str:
    if isinstance(value, Failure):
        return value.code
    if isinstance(value, int | float):
        return number_text(float(f"{value:.7g}"))
    return str(value)


def _write(book: xw.Book, found: Explanation) -> None:
    sheet = own_sheet(book, TITLE)
    head(sheet, found.heading, WIDTHS)
    lines: list[list[Any]] = [[name, value, "", "", ""] for name, value in found.facts.items()]
    heads = []
    if found.ingredients:
        lines += [[""] * 5, ["Ingredient", "Quantity", "Value", "Unit", ""]]
        heads.append(len(lines))
        lines += [[key, label, value, unit, ""] for key, label, value, unit in found.ingredients]
    if found.movers:
        lines += [[""] * 5, ["Moves it most, at this point", "Quantity", "Value", "Unit", "% for 1 %"]]
        heads.append(len(lines))
        lines += map(list, found.movers)
    top, bottom = FIRST_ROW, FIRST_ROW + len(lines) - 1
    table = sheet.range((top, 1), (bottom, len(WIDTHS)))
    table.value = [list(map(as_text, line)) for line in lines]
    table.horizontal_alignment = "left"
    table.wrap_text = True
    sheet.range((top, 1), (bottom, 1)).font.bold = True
    sheet.range((top, len(WIDTHS)), (bottom, len(WIDTHS))).number_format = "+0.000;-0.000"
    for line in heads:
        cells = sheet.range((top + line - 1, 1), (top + line - 1, len(WIDTHS)))
        cells.font.bold = True
        cells.color = fill("header")
    sheet.activate()
