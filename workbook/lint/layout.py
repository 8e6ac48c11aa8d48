"""A file of ours as the modelling rules see it: our sheets, the roles of their cells, and the rows of Analysis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from pyxl.cells import Formula, coordinates
from pyxl.errors import UserError
from pyxl.lint.book import Book, Cell, Sheet, Written, whole
from pyxl.lint.ranges import parsed
from pyxl.reader import Grid, KeyedTable, ModelRows, keyed_tables, model_rows
from pyxl.style import STYLES
from workbook.analysis import analysis
from workbook.sheets.documentation import SHEETS

PREFIX = "solbook "
SETTINGS = ".conf"  # how the sheets end that an add-in reads its settings from
ANALYSIS, ABOUT, CHECKS = "Analysis", "About", "Checks"
CALCULATED = ("calculation", "result", "word", "check")
WHITE = ("00FFFFFF", "FFFFFFFF")


class Head(NamedTuple):
    """Heads side by side in a row: their row, first column and texts."""

    row: int
    column: int
    texts: list[str]


class Layout:
    """A workbook file with what is known of workbooks of ours."""

    def __init__(self, book: Book) -> None:
        self.book = book

    @cached_property
    def sheets(self) -> list[Sheet]:
        """The sheets that we write and people read."""
        return [sheet for sheet in self.book.sheets if sheet.title in SHEETS and not sheet.title.endswith(SETTINGS)]

    def sheet(self, title: str) -> Sheet | None:
        """One of them."""
        return next((sheet for sheet in self.sheets if sheet.title == title), None)

    @cached_property
    def _roles(self) -> dict[str, str]:
        names = {
            each.get("xfId"): each.get("name", "").removeprefix(PREFIX)
            for each in self.book.style("cellStyles/cellStyle")
            if each.get("name", "").startswith(PREFIX)
        }
        return {str(n): names.get(each.get("xfId"), "") for n, each in enumerate(self.book.style("cellXfs/xf"))}

    def role(self, cell: Cell) -> str:
        """The style of a cell, as the legend names it; "" where it has none of ours."""
        role = self._roles.get(cell.style, "")
        return role if role in STYLES else ""

    def role_at(self, sheet: Sheet, row: int, column: int) -> str:
        """The style of the cell at a place."""
        cell = sheet.by_place.get((row, column))
        return self.role(cell) if cell else ""

    @cached_property
    def by_role(self) -> dict[str, dict[str, list[Cell]]]:
        """The cells of each sheet of ours by role, but for the legend, which shows each style."""
        found: dict[str, dict[str, list[Cell]]] = {}
        for sheet in self.sheets:
            roles = found.setdefault(sheet.title, {})
            for cell in sheet.cells:
                role = self.role(cell)
                if sheet.title != ABOUT or self.content(cell) != role:
                    roles.setdefault(role, []).append(cell)
        return found

    def cells(self, *roles: str) -> Iterator[tuple[Sheet, Cell]]:
        """The cells of our sheets that have one of these roles."""
        for sheet in self.sheets:
            for role in roles:
                for cell in self.by_role[sheet.title].get(role, ()):
                    yield sheet, cell

    def content(self, cell: Cell) -> Formula | float | str | None:
        """What a cell holds: a formula, a number, a text or nothing."""
        if cell.formula is not None:
            return Formula(f"={cell.formula.text or ''}")
        return self.value(cell)

    def value(self, cell: Cell) -> float | str | None:
        """What a cell shows."""
        if cell.kind != "n":
            text = self.book.cell_text(cell)
            return (cell.value if text is None else text) or None
        try:
            return float(cell.value) if cell.value else None
        except ValueError:
            return cell.value

    def shown(self, title: str, address: str) -> float | str | None:
        """What the cell at an address shows."""
        sheet = self.sheet(title)
        cell = sheet.by_place.get(coordinates(address)) if sheet else None
        return self.value(cell) if cell else None

    @cached_property
    def formulas(self) -> list[Written]:
        """The formulas in cells of our sheets; what has no place in the grid, the rules of cells tell."""
        titles = {sheet.title for sheet in self.sheets}
        cells = (each for each in self.book.formulas if each.within == "cell" and each.sheet in titles)
        return [each for each in cells if parsed(each.cell)]

    @cached_property
    def distinct(self) -> list[Written]:
        """The same, but the first only of those that differ in their own column alone."""
        return list({(each.sheet, each.relative): each for each in reversed(self.formulas)}.values())[::-1]

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """Our sheets by row and column, without what is empty."""
        return {
            sheet.title: Grid(
                sheet.title,
                {
                    (cell.row, cell.column): content
                    for cell in sheet.cells
                    if cell.row and (content := self.content(cell)) is not None
                },
            )
            for sheet in self.sheets
        }

    def tables(self, sheet: Sheet) -> list[KeyedTable]:
        """The tables of a catalogue."""
        keyed = any(self.value(cell) == "name" for cell in self.by_role[sheet.title].get("key", ()))
        return list(keyed_tables(self.grids[sheet.title])) if keyed else []

    @cached_property
    def model(self) -> ModelRows | None:
        """The rows and strategies of Analysis; None where the file is not ours."""
        heads = self.by_role.get(ANALYSIS, {}).get("name", ())
        names = {(ANALYSIS, cell.address): value for cell in heads if (value := self.value(cell)) is not None}
        try:
            return model_rows(self.grids, ANALYSIS, analysis.quantities, names)
        except UserError:
            return None

    @cached_property
    def model_formulas(self) -> dict[int, list[Written]]:
        """The formulas of Analysis by the row of their quantity."""
        found: dict[int, list[Written]] = {}
        if self.model is not None:
            rows = set(self.model.rows.values())
            for each in self.formulas:
                if each.sheet == ANALYSIS and (row := coordinates(each.cell)[0]) in rows:
                    found.setdefault(row, []).append(each)
        return found

    def key(self, row: int) -> str:
        """The quantity in a row of Analysis."""
        assert self.model is not None
        return next(name for name, place in self.model.rows.items() if place == row)

    def heads(self, sheet: Sheet) -> list[Head]:
        """The heads of a sheet's tables."""
        found: list[Head] = []
        for cell in self.by_role[sheet.title].get("header", ()):
            last = found[-1] if found else None
            text = str(self.value(cell) or "")
            if last and last.row == cell.row and last.column + len(last.texts) == cell.column:
                last.texts.append(text)
            else:
                found.append(Head(cell.row, cell.column, [text]))
        return found

    @cached_property
    def open_formats(self) -> set[str]:
        """The cell formats whose cells can be changed on a protected sheet."""
        return {
            str(number)
            for number, each in enumerate(self.book.style("cellXfs/xf"))
            for protection in each.iterfind("{*}protection")
            if protection.get("locked", "1") in ("0", "false")
        }

    @cached_property
    def white_formats(self) -> set[str]:
        """The cell formats with white letters on no colour."""
        fonts, fills = self.book.style("fonts/font"), self.book.style("fills/fill")

        def white(number: str | None) -> bool:
            index = whole(number or "0")
            color = fonts[index].find("{*}color") if index is not None and index < len(fonts) else None
            return color is not None and color.get("rgb") in WHITE

        def plain(number: str | None) -> bool:
            index = whole(number or "0")
            pattern = fills[index].find("{*}patternFill") if index is not None and index < len(fills) else None
            return pattern is None or pattern.get("patternType", "none") == "none"

        return {
            str(number)
            for number, each in enumerate(self.book.style("cellXfs/xf"))
            if white(each.get("fontId")) and plain(each.get("fillId"))
        }
