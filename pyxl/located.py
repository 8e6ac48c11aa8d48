"""A model in somebody's workbook: where its rows, constants and tables stand now, and which formulas belong there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pyxl.cells import Formula, letter
from pyxl.formula_text import Target, canonical, references, renamed
from pyxl.plan import quoted
from pyxl.quantity import Kind, Model
from pyxl.reader import Grid, ModelRows, keyed_tables
from pyxl.readings.formula import formula

CONSTANTS = "Constants"
_COLUMN = "\x00"  # stands for the letters of the formula's own column until they are known


@dataclass(frozen=True)
class Located:
    """A model whose quantities stand in `rows`, its constants and tables on other sheets."""

    model: Model
    rows: ModelRows
    sheets: Mapping[str, Grid]
    catalogues: tuple[str, ...]

    @cached_property
    def _constants(self) -> dict[str, tuple[int, int]]:
        grid = self.sheets.get(CONSTANTS)
        return grid.listed("Key", "Value") if grid else {}

    @cached_property
    def _tables(self) -> dict[str, Target]:
        """The cells of each table column: its rows are those that most look-ups name, free ones behind the last too."""
        named: dict[tuple[str, int], Counter[tuple[int, int]]] = {}
        for name, quantity in self.model.quantities.items():
            if quantity.kind is Kind.LOOKUP and name in self.rows.rows:
                contents = (self.rows.content(name, strategy) for strategy in self.rows.columns)
                for each in references(next((c for c in contents if isinstance(c, Formula)), "")):
                    rows = named.setdefault((each.sheet, each.first[1]), Counter())
                    rows[each.first[0], each.last[0]] += 1
        found = {}
        for title in self.catalogues:
            for table in keyed_tables(self.sheets[title]):
                spans: Counter[tuple[int, int]] = Counter()
                for column in table.columns.values():
                    counted = named.get((title, column), Counter())
                    spans.update({span: n for span, n in counted.items() if table.key_row < span[0] <= table.end})
                first, last = spans.most_common(1)[0][0] if spans else (table.key_row + 1, max(table.rows))
                for key, column in table.columns.items():
                    found[f"{table.title}.{key}"] = Target(title, (first, column), (last, column))
        return found

    @cached_property
    def _names(self) -> dict[Target, str]:
        """What each place outside the model's own sheet is called."""
        constants = {Target(CONSTANTS, place, place): key for key, place in self._constants.items()}
        return constants | {target: key for key, target in self._tables.items()}

    def last_row(self, table: str) -> int:
        """The last row that look-ups into a table cover."""
        return self._tables[f"{table}.name"].last[0]

    @cached_property
    def _templates(self) -> dict[str, str]:
        """The formula of each row that has all it needs, for any column."""
        found = {}
        for name in self.rows.rows:
            expression = self.model[name].expression
            if expression is not None:
                try:
                    found[name] = formula(expression, self._address)
                except KeyError:  # a row, constant or column that it needs was deleted
                    continue
        return found

    def _address(self, key: str) -> str:
        if key in self.model.series:
            members = self.model.series[key]
            first, last = self.rows.rows[members[0]], self.rows.rows[members[-1]]
            return f"{_COLUMN}{first}:{_COLUMN}{last}"
        if key in self.rows.rows:
            return f"{_COLUMN}{self.rows.rows[key]}"
        if key in self._constants:
            row, number = self._constants[key]
            return f"{quoted(CONSTANTS)}!${letter(number)}${row}"
        place = self._tables[key]
        column = letter(place.first[1])
        return f"{quoted(place.sheet)}!${column}${place.first[0]}:${column}${place.last[0]}"

    def formula(self, name: str, column: int) -> str | None:
        """The formula, with its leading =, that a quantity should have in a column; None where a row for it is gone."""
        template = self._templates.get(name)
        return None if template is None else f"={template.replace(_COLUMN, letter(column))}"

    def is_changed(self, name: str, strategy: str) -> bool:
        """Whether a quantity's cell holds another formula than it should; an input may hold one of the user's own."""
        if self.model[name].expression is None:
            return False
        content, expected = self.rows.content(name, strategy), self.formula(name, self.rows.columns[strategy])
        if not isinstance(content, Formula) or content == expected:
            return False
        return expected is None or canonical(content) != canonical(expected)

    def in_names(self, text: str, strategy: str) -> str:
        """A formula in a strategy's column with names in place of references."""
        column = self.rows.columns[strategy]
        return renamed(text, lambda target: self._name(target, column))

    def _name(self, target: Target, column: int) -> str | None:
        if target.sheet not in ("", self.rows.grid.title):
            return self._names.get(target)
        strategies = {number: strategy for strategy, number in self.rows.columns.items()}
        if target.first[1] != target.last[1] or (target.first[1] != column and target.first[1] not in strategies):
            return None
        keys = {row: key for key, row in self.rows.rows.items()}
        first, last = keys.get(target.first[0]), keys.get(target.last[0])
        if first is None or last is None:
            return None
        spans = {(members[0], members[-1]): series for series, members in self.model.series.items()}
        name = first if first == last else spans.get((first, last), f"{first} to {last}")
        return name if target.first[1] == column else f"{name} of '{strategies[target.first[1]]}'"
