"""The plan of a workbook: plain data that says what stands where. Layout makes it, the writer writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from pyxl.cells import coordinates, letter
from pyxl.operations import Expression
from pyxl.quantity import Failure
from pyxl.readings.formula import formula
from pyxl.readings.number import evaluate

Value = int | float | str | bool | Failure | None


@dataclass(frozen=True, slots=True)
class Formula:
    """A live formula (without the leading =), the value that Python computed for it, and what both were made from."""

    text: str
    value: Value
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell holds. `link` names a sheet that a click leads to."""

    content: Formula | Value
    style: str = "text"
    number_format: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """An address as a formula writes it, and the value (or values) that stand there."""

    address: str
    value: Any

    def entry(self, index: int) -> Reference:
        """One cell of a range that lies in one column, counted from 0."""
        sheet, mark, cells = self.address.rpartition("!")
        row, column = coordinates(cells.partition(":")[0].replace("$", ""))
        return Reference(f"{sheet}{mark}${letter(column)}${row + index}", self.value[index])


Scope = Mapping[str, Reference]


def formula_cell(expression: Expression, scope: Scope | Callable[[str], Reference]) -> Formula:
    """A live formula of an expression whose symbols are references: text and value from one walk each."""
    resolve = scope if callable(scope) else scope.__getitem__
    return Formula(
        formula(expression, lambda key: resolve(key).address),
        evaluate(expression, lambda key: resolve(key).value),
        expression,
    )


@dataclass(frozen=True, slots=True)
class Validation:
    """A rule for an input cell. `allowed` is a range of names for a drop-down; without, a number from `lowest`."""

    cells: str
    allowed: str
    prompt_title: str
    prompt: str
    lowest: int = 0


@dataclass(frozen=True, slots=True)
class Highlight:
    """A style that cells take on while a formula (relative to the range's first cell) holds."""

    cells: str
    condition: str
    style: str


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a chart: addresses of its name, values and (for scatter charts) x values."""

    name: str
    values: str
    x: str = ""
    color: str = "4472C4"
    marker: str = ""
    line: bool = True
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A native chart: "stacked", "columns", "clustered" (columns with level names), "bars" or "scatter".

    `lines` are drawn over columns. The x axis of a scatter chart has its own scale, and its own format where given.
    """

    kind: str
    title: str
    anchor: str
    series: Sequence[Series]
    categories: str = ""
    lines: Sequence[Series] = ()
    x_title: str = ""
    y_title: str = ""
    x_format: str = ""
    y_format: str = "General"
    x_range: tuple[float, float | None] | None = None
    y_range: tuple[float, float | None] | None = None
    x_logarithmic: bool = False
    logarithmic: bool = False
    size: tuple[float, float] = (30.0, 13.0)


WRAPPED, LINE_HEIGHT = "prose", 14.0


@dataclass(slots=True)
class Sheet:
    """One sheet of the plan."""

    title: str
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    widths: dict[int, float] = field(default_factory=dict)
    freeze: str | None = None
    folded_columns: tuple[int, int] | None = None
    title_rows: tuple[int, int] | None = None
    validations: list[Validation] = field(default_factory=list)
    highlights: list[Highlight] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    heights: dict[int, float] = field(default_factory=dict)
    pages_tall: int = 0
    portrait: bool = False
    free_columns: Sequence[int] = ()
    print_area: str | None = None

    def put(
        self,
        row: int,
        column: int,
        content: Formula | Value,
        style: str = "text",
        number_format: str | None = None,
        link: str | None = None,
    ) -> None:
        """Place one cell."""
        self.cells[row, column] = Cell(content, style, number_format, link)

    def put_row(self, row: int, column: int, contents: Sequence[Formula | Value], style: str = "text") -> None:
        """Place cells of one style side by side."""
        for offset, content in enumerate(contents):
            self.put(row, column + offset, content, style)

    def fit_height(self, row: int) -> None:
        """Make a row as high as its wrapped texts need: spreadsheets do not do it for a file that they open."""
        cells = ((self.cells.get((row, column)), width) for column, width in self.widths.items())
        texts = [
            (len(cell.content), width)
            for cell, width in cells
            if cell is not None and cell.style == WRAPPED and isinstance(cell.content, str)
        ]
        self.heights[row] = LINE_HEIGHT * max([1, *(ceil(length / width) for length, width in texts)])

    def address(self, row: int, column: int) -> str:
        """The absolute address of a cell for formulas on any sheet."""
        return f"{quoted(self.title)}!${letter(column)}${row}"

    def range(self, first: tuple[int, int], last: tuple[int, int]) -> str:
        """The absolute address of a rectangle for formulas on any sheet."""
        return f"{self.address(*first)}:${letter(last[1])}${last[0]}"


def quoted(title: str) -> str:
    """A sheet title as formulas write it; titles of letters and digits alone need no quotes."""
    return title if title.isalpha() else f"'{title}'"


@dataclass(slots=True)
class Plan:
    """A whole workbook: its sheets in reading order and the facts that its properties carry."""

    title: str
    description: str
    sheets: list[Sheet]
    protect: bool = False
