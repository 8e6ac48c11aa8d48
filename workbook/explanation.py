"""What a cell or a quantity of a workbook means: its formula in names and in values, the tree of what it is computed
from, down to inputs and their sources, and the inputs that move it most.

Values are those that Python computes from the inputs in the workbook; where it shows another, a remark says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from pyxl import reader
from pyxl.cells import Formula, Place, coordinates, whole
from pyxl.elasticities import elasticities_at
from pyxl.errors import UserError
from pyxl.naming import suggestion
from pyxl.quantity import Failure, Kind, Quantity, attempt
from pyxl.readings.number import OK, same
from pyxl.readings.words import words
from workbook.analysis import analysis
from workbook.catalogue import HARDWARE, MODELS
from workbook.comparison import ROW_SHEETS, agree, compare, fastest
from workbook.contents import Contents
from workbook.file_inputs import CATALOGUES, CONSTANTS, MODEL_SHEET
from workbook.sheets import measured

DEPTH = 2
MOST = 5
SEE_ABOVE, SEE_BELOW = "see above", "see below"
ALL = "all strategies"

_CELL = re.compile(r"(?:\$?('(?:[^']|'')+'|[^!']+)!)?(\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6})")


@dataclass(frozen=True)
class Term:
    """A quantity in the tree: what it is, its value in Python, and the terms that it is computed from.

    `origin` is where the number of an input, a constant or a look-up stands, and its source. `shown` is what the
    workbook shows (None: nothing), `remark` why that may differ, `rest` why terms are not listed here.
    """

    key: str
    label: str
    unit: str
    kind: str
    value: Any
    note: str = ""
    source: str = ""
    formula: str = ""
    with_values: str = ""
    origin: str = ""
    shown: Any = None
    remark: str = ""
    rest: str = ""
    terms: tuple[Term, ...] = ()

    @property
    def said(self) -> str:
        """The value with its unit."""
        return with_unit(self.value, self.unit)

    @property
    def is_shown(self) -> bool:
        """Whether the workbook shows this value, or none."""
        return self.shown is None or agree(self.shown, self.value)

    @property
    def warning(self) -> str:
        """What the workbook shows instead, and why; nothing where all is well."""
        if self.is_shown:
            return self.remark
        return ": ".join(filter(None, (f"the workbook shows {with_unit(self.shown, self.unit)}", self.remark)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Where it is from, or why its terms are not listed, and what the workbook shows instead."""
        return tuple(filter(None, (self.origin, self.rest, self.warning)))

    def as_json(self) -> dict[str, Any]:
        """Everything about it; empty fields are left out."""
        failed = isinstance(self.value, Failure)
        found = {
            "key": self.key,
            "label": self.label,
            "unit": self.unit,
            "kind": self.kind,
            "value": self.value.code if failed else self.value,
            "why": self.value.reason if failed else "",
            "formula": self.formula,
            "with_values": self.with_values,
            "note": self.note,
            "source": self.source,
            "origin": self.origin,
            "shown": None if self.is_shown else self.shown,
            "remark": self.remark,
            "rest": self.rest,
            "terms": [term.as_json() for term in self.terms],
        }
        return {name: value for name, value in found.items() if name == "value" or value not in (None, "", [])}


@dataclass(frozen=True)
class Mover:
    """An input that moves a quantity: by `elasticity` per cent for one per cent of its own."""

    key: str
    label: str
    value: Any
    unit: str
    elasticity: float


@dataclass(frozen=True)
class Explanation:
    """What a cell or a quantity means: whose it is, its term with the tree, and what moves it most."""

    place: str
    strategy: str
    term: Term
    movers: tuple[Mover, ...] = ()
    remark: str = ""

    @property
    def heading(self) -> str:
        """The cell, the quantity and whose it is."""
        return ": ".join(filter(None, (self.place, f"{self.term.label}, {self.strategy}")))

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the quantity itself, in reading order."""
        term = self.term
        found = {
            "Key": term.key,
            "Kind": term.kind,
            "Value in Python": str(term.value) if isinstance(term.value, Failure) else term.value,
            "Why": term.value.reason if isinstance(term.value, Failure) else "",
            "Unit": term.unit,
            "Formula": term.formula,
            "With values": term.with_values,
            "Note": term.note,
            "Source": term.source,
            "Stands in": term.origin,
            "In the workbook": term.warning,
            "Remark": self.remark,
        }
        return {name: value for name, value in found.items() if value != ""}

    def __str__(self) -> str:
        lines = [self.heading, *(f"{name}: {value}" for name, value in self.facts.items())]
        lines += [f"  {'  ' * level}{term.key} = {term.said} ({term.label})" for level, term in self.below()]
        if self.movers:
            lines.append("Moves it most, per cent of it for one per cent of the input:")
            lines += [f"  {m.key} = {with_unit(m.value, m.unit)}: {m.elasticity:+.3f}" for m in self.movers]
        return "\n".join(lines)

    def below(self) -> Iterator[tuple[int, Term]]:
        """The terms of the tree from top to bottom, each with its level from 0."""
        pending = [(0, term) for term in reversed(self.term.terms)]
        while pending:
            level, term = pending.pop()
            yield level, term
            pending += [(level + 1, each) for each in reversed(term.terms)]

    def as_json(self) -> dict[str, Any]:
        """The cell, the strategy, the tree and what moves its root most."""
        return {
            "cell": self.place,
            "strategy": self.strategy,
            "remark": self.remark,
            "tree": self.term.as_json(),
            "movers": [vars(mover) for mover in self.movers],
        }


def asked(read: Contents, query: str, strategy: str | None = None, depth: int = DEPTH) -> Explanation:
    """Explain what a user asks for: a quantity by key or label, or a cell such as Summary!E12 or $G$400 (of Analysis).

    A quantity without a strategy is that of the fastest one that fits. Raises `UserError` for what is not there.
    """
    read.require_values()
    named = query.casefold()
    found = [q.name for q in analysis if q.name == named] or [
        q.name
        for q in analysis
        if q.label.casefold() == named and q.name in {*read.inputs.rows.rows, *_constants(read)}
    ]
    if len(found) > 1:
        raise UserError(f"'{query}' is the label of {' and of '.join(found)}: give one of these keys")
    if found:
        return of_quantity(read, found[0], strategy, depth)
    if match := _CELL.fullmatch(query):
        if strategy is not None:
            raise UserError(f"{query} is a cell of a strategy already: leave out --strategy")
        return of_cell(read, (_sheet(read, match[1]), match[2].replace("$", "").upper()), depth)
    known = [text for quantity in analysis for text in (quantity.name, quantity.label)]
    hint = suggestion(query, known) or "the sheet Analysis lists the quantities by key"
    raise UserError(f"'{query}' is neither a quantity nor a cell: {hint}")


def _sheet(read: Contents, written: str | None) -> str:
    if written is None:
        return MODEL_SHEET
    title = written[1:-1].replace("''", "'") if written.startswith("'") else written
    known = {sheet.casefold(): sheet for sheet in read.sheets}
    if title.casefold() not in known:
        raise UserError(
            f"there is no sheet '{title}': {suggestion(title, known.values())}there are {', '.join(known.values())}"
        )
    return known[title.casefold()]


def of_quantity(read: Contents, key: str, strategy: str | None = None, depth: int = DEPTH) -> Explanation:
    """A quantity of a strategy. Raises `UserError` where the workbook has no such strategy."""
    if analysis[key].kind is Kind.CONSTANT:
        return _of_constant(read, key)
    names = {name.casefold(): name for name in read.inputs.strategies}
    if strategy is not None:
        if strategy.casefold() not in names:
            close = suggestion(strategy, names.values())
            raise UserError(f"there is no strategy '{strategy}': {close}there are: {', '.join(names.values())}")
        return _of_strategy(read, key, names[strategy.casefold()], depth)
    if len(names) == 1:
        return _of_strategy(read, key, next(iter(names.values())), depth)
    chosen = fastest(read.inputs.values())
    if chosen is None:
        remark = "no strategy fits in memory, so this is the first one: choose with --strategy"
        return _of_strategy(read, key, next(iter(names.values())), depth, remark=remark)
    remark = f"of the {len(names)} strategies, this is the fastest that fits in memory: choose with --strategy"
    return _of_strategy(read, key, chosen, depth, remark=remark)


def of_cell(read: Contents, cell: Place, depth: int = DEPTH) -> Explanation:
    """What a cell means. Raises `UserError` where it holds no quantity."""
    sheet, address = cell
    row, column = coordinates(address)
    rows = read.inputs.rows
    if sheet == rows.grid.title:
        names = [name for name, number in rows.rows.items() if number == row]
        strategies = [name for name, number in rows.columns.items() if number == column]
        if names and strategies:
            return _of_strategy(read, names[0], strategies[0], depth, cell)
    elif sheet == CONSTANTS:
        for key, place in _constants(read).items():
            if place == (row, column):
                return _of_constant(read, key)
    elif sheet in CATALOGUES:
        if found := _of_catalogue(read, cell):
            return found
    elif sheet == measured.TITLE:
        if found := _of_curve(read, cell):
            return found
    elif found := _of_shown(read, cell, depth):
        return found
    raise UserError(
        f"{sheet}!{address} holds no quantity: take a cell of the sheet {MODEL_SHEET}, or a number of the sheets "
        f"Summary, {', '.join((*ROW_SHEETS, *CATALOGUES))} or {CONSTANTS}, or the ceiling of a measured curve"
    )


def _constants(read: Contents) -> dict[str, tuple[int, int]]:
    """Where each constant stands."""
    listed = read.sheets[CONSTANTS].listed("Key", "Value")
    return {key: place for key, place in listed.items() if key in read.inputs.constants}


def _of_constant(read: Contents, key: str) -> Explanation:
    place = _constants(read).get(key)
    value = read.inputs.constants.get(key, analysis[key].value)
    term = _described(analysis[key], value, origin="" if place else f"its row in {CONSTANTS} is missing")
    return Explanation(_address(read.sheets[CONSTANTS].place(*place)) if place else "", ALL, term)


def _of_shown(read: Contents, cell: Place, depth: int) -> Explanation | None:
    """A cell of a sheet that shows the strategies of the Analysis."""
    for difference, _ in compare(read.inputs, read.shown):
        if (difference.sheet, difference.cell) == cell:
            name, strategy = difference.quantity, difference.strategy
            if cell[0] in ROW_SHEETS and name in ROW_SHEETS[cell[0]].quantities:
                return Explanation(_address(cell), strategy, _described(ROW_SHEETS[cell[0]][name], difference.expected))
            if name in analysis.quantities and strategy in read.inputs.strategies:
                return _of_strategy(read, name, strategy, depth, cell)
    if read.inputs.mistyped:
        sheet, address = read.inputs.mistyped[0].place
        raise UserError(f"mend {sheet}!{address} first: {read.inputs.mistyped[0].reason}")
    return None


def _of_catalogue(read: Contents, cell: Place) -> Explanation | None:
    """A number of a device, a model or a choice."""
    row, column = coordinates(cell[1])
    for table in reader.keyed_tables(read.sheets[cell[0]]):
        key = next(
            (key for key, number in table.columns.items() if number == column and key in analysis.quantities), ""
        )
        if row in table.rows and key:
            quantity = analysis[key]
            term = Term(
                key,
                quantity.label,
                quantity.unit,
                f"number of the table {table.title}",
                reader.value_at(table.grid, row, column, read.shown),
                quantity.note,
                _provenance(table, row, quantity),
            )
            return Explanation(_address(cell), table.rows[row], term)
    return None


def _of_curve(read: Contents, cell: Place) -> Explanation | None:
    """The ceiling of a measured curve."""
    for curve in measured.read(read.sheets[measured.TITLE], read.shown):
        if coordinates(cell[1]) == curve.ceiling and not curve.trouble:
            quantity, at, points = analysis[curve.key], curve.values[measured.READ_AT], curve.points
            before = next((point for point in reversed(points) if point[0] <= at), points[0])
            behind = next((point for point in points if point[0] >= at), points[-1])
            said = [f"{in_digits(size)}: {with_unit(rate, quantity.unit)}" for size, rate in (before, behind)]
            between = "the point" if before == behind else "a straight line between the points"
            note = f"Read at the size {in_digits(at)}: {between} {' and '.join(dict.fromkeys(said))}."
            value = attempt(curve.key, measured.CEILING_READ, curve.values.__getitem__)
            kind = "ceiling of a measured curve"
            return Explanation(
                _address(cell),
                curve.device,
                Term(curve.key, quantity.label, quantity.unit, kind, value, note, curve.source),
            )
    return None


def _of_strategy(
    read: Contents, key: str, strategy: str, depth: int, cell: Place | None = None, *, remark: str = ""
) -> Explanation:
    tree = _Tree(read, strategy)
    given = read.inputs.strategies[strategy]
    sources = [quantity.name for quantity in analysis if _may_move(quantity, given)]
    moved = elasticities_at(analysis, tree.values, read.inputs.columns, key, sources)
    largest = sorted((name for name in moved if name != key), key=lambda name: -abs(moved[name]))[:MOST]
    place = cell or (read.inputs.rows.place(key, strategy) if key in read.inputs.rows.rows else None)
    return Explanation(
        _address(place) if place else "",
        strategy,
        tree.grown(key, depth),
        tuple(
            Mover(name, analysis[name].label, tree.values[name], analysis[name].unit, moved[name]) for name in largest
        ),
        remark,
    )


def _may_move(quantity: Quantity, given: Mapping[str, Any]) -> bool:
    """Numbers that a user types, those of the device and of the model."""
    if quantity.unit == "text":
        return False
    described = {f"{HARDWARE}.name", f"{MODELS}.name"} & quantity.ingredients
    return quantity.name in given or (quantity.kind is Kind.LOOKUP and bool(described))


@dataclass(frozen=True)
class _Tree:
    """What the quantities of one strategy are computed from."""

    read: Contents
    strategy: str
    _printed: set[str] = field(default_factory=set)

    @cached_property
    def values(self) -> dict[str, Any]:
        """Every quantity, computed in Python."""
        inputs = self.read.inputs
        return analysis.compute({**inputs.constants, **inputs.strategies[self.strategy]}, inputs.columns)

    def grown(self, root: str, depth: int) -> Term:
        """The tree to some depth. Each quantity has its terms where it stands nearest to the root, and only there."""
        home, level, nearest = {root: ""}, {root: 0}, [root]
        for name in nearest:
            if level[name] < depth:
                for ingredient in self._ingredients(name):
                    if ingredient not in home:
                        home[ingredient], level[ingredient] = name, level[name] + 1
                        nearest.append(ingredient)
        return self._term(root, "", depth, home)

    def _ingredients(self, name: str) -> list[str]:
        if name in analysis.series:
            return [member for member in analysis.series[name] if self.values[member] != OK]
        return [key for key in analysis[name].parameters if key not in analysis.columns]

    def _term(self, name: str, user: str, depth: int, home: Mapping[str, str]) -> Term:
        is_home = home[name] == user
        ingredients = self._ingredients(name)
        terms: tuple[Term, ...] = ()
        rest = ""
        if not is_home:
            rest = SEE_ABOVE if name in self._printed else SEE_BELOW
        elif depth > 0:
            self._printed.add(name)
            terms = tuple(self._term(each, name, depth - 1, home) for each in ingredients)
        elif ingredients:
            rest = f"from {len(ingredients)} more"
        self._printed.add(name)
        if name in analysis.series:
            return self._series(name, rest, terms)
        return _described(
            analysis[name],
            self.values[name],
            with_values=self._with_values(analysis[name]),
            origin="" if rest in (SEE_ABOVE, SEE_BELOW) else self._origin(analysis[name]),
            shown=self._shown(name),
            remark=self._remark(name),
            rest=rest,
            terms=terms,
        )

    def _series(self, name: str, rest: str, terms: tuple[Term, ...]) -> Term:
        members = analysis.series[name]
        fine = sum(self.values[member] == OK for member in members)
        return Term(name, "a series", "1", "series", f"{fine} of {len(members)} {OK}", rest=rest, terms=terms)

    def _with_values(self, quantity: Quantity) -> str:
        if quantity.expression is None:
            return ""
        known = partial(analysis.resolved, self.values.__getitem__, self.read.inputs.columns)

        def shown(key: str) -> str:
            return key if key in analysis.series or key in analysis.columns else in_digits(known(key))

        return f"{words(quantity.expression, shown)} = {in_digits(self.values[quantity.name])}"

    def _shown(self, name: str) -> Any:
        rows = self.read.inputs.rows
        return self.read.shown.get(rows.place(name, self.strategy)) if name in rows.rows else None

    def _remark(self, name: str) -> str:
        """Why the cell may show something else."""
        quantity, rows = analysis[name], self.read.inputs.rows
        if quantity.kind is Kind.CONSTANT or quantity.kind is Kind.INPUT:
            return ""
        if name not in rows.rows:
            return "its row is missing"
        content = rows.content(name, self.strategy)
        if content is None:
            return "the cell is empty"
        if not isinstance(content, Formula):
            return "" if quantity.kind is Kind.LOOKUP else "typed over"
        if self.read.located.is_changed(name, self.strategy):
            return f"the formula was changed to {self.read.located.in_names(content, self.strategy)}"
        is_stale = not self._agrees(name) and all(map(self._agrees, analysis.needs[name]))
        return "not recalculated" if is_stale else ""

    def _agrees(self, name: str) -> bool:
        shown = self._shown(name)
        return shown is None or agree(shown, self.values[name])

    def _origin(self, quantity: Quantity) -> str:
        """Where a number that is not computed stands, and where it is from."""
        match quantity.kind:
            case Kind.CONSTANT:
                return self._of_constant(quantity)
            case Kind.INPUT:
                return self._of_input(quantity)
            case Kind.LOOKUP:
                return self._of_lookup(quantity)
            case _:
                return ""

    def _of_constant(self, quantity: Quantity) -> str:
        place = _constants(self.read).get(quantity.name)
        if place is None:
            return f"constant, its row in {CONSTANTS} is missing"
        is_own = agree(self.values[quantity.name], quantity.value)
        changed = "" if is_own else f", in place of {in_digits(quantity.value)}"
        source = quantity.source or quantity.note
        return f"constant, {_address(self.read.sheets[CONSTANTS].place(*place))}{changed}: {source}"

    def _of_input(self, quantity: Quantity) -> str:
        rows = self.read.inputs.rows
        if quantity.name not in rows.rows:
            return "input, its row is missing"
        content = rows.content(quantity.name, self.strategy)
        written = ", empty" if content is None else f": {content}" if isinstance(content, Formula) else ""
        return f"input, {_address(rows.place(quantity.name, self.strategy))}{written}"

    def _of_lookup(self, quantity: Quantity) -> str:
        rows, typed = self.read.inputs.rows, self.read.inputs.strategies[self.strategy]
        row = self._row(quantity)
        if quantity.name not in typed:
            return row
        return f"typed over in {_address(rows.place(quantity.name, self.strategy))}, in place of {row}"

    def _row(self, quantity: Quantity) -> str:
        """The catalogue cell of a look-up, its row, and its source."""
        key, title = analysis.looked_up(quantity.name)
        name, table = self.values[key], self._tables[title]
        row = next((row for row, known in table.rows.items() if same(known, name)), None)
        if row is None:
            return f"no row '{name}' of {title} ({key})"
        column = table.columns[quantity.name]
        content = table.grid.cells.get((row, column))
        written = f" {content}" if isinstance(content, Formula) else ""
        source = _provenance(table, row, quantity)
        place = _address(table.grid.place(row, column))
        return ": ".join(filter(None, (f"{place}{written}, '{table.rows[row]}' of {title}", source)))

    @cached_property
    def _tables(self) -> dict[str, reader.KeyedTable]:
        sheets = self.read.sheets
        return {table.title: table for title in CATALOGUES for table in reader.keyed_tables(sheets[title])}


def _provenance(table: reader.KeyedTable, row: int, quantity: Quantity) -> str:
    return table.source(row, quantity.label) or table.source(row)


def _described(quantity: Quantity, value: Any, **found: Any) -> Term:
    return Term(
        quantity.name,
        quantity.label,
        quantity.unit,
        quantity.kind.value,
        value,
        quantity.note,
        quantity.source,
        words(quantity.expression) if quantity.expression is not None else "",
        **found,
    )


def _address(place: Place) -> str:
    return f"{place[0]}!{place[1]}"


def with_unit(value: Any, unit: str) -> str:
    """A value with its unit, if it has one."""
    is_number = isinstance(value, int | float) and unit not in ("1", "text")
    return f"{in_digits(value)} {unit}" if is_number else in_digits(value)


def in_digits(value: Any) -> str:
    """A whole number as it is, any other in seven digits."""
    value = whole(value)
    return f"{value:.7G}" if isinstance(value, float) else str(value)
