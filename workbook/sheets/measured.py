"""Measured: rates over sizes as they were measured, and the ceilings that are read from them.

The sheet is in workbooks whose strategies use a device with curves. The device's cells on the sheet Hardware then point
here, so that an edited point, or another size, changes every time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pyxl.cells import Place, Value
from pyxl.layout.checks_sheet import CheckLine
from pyxl.layout.header import FIRST_ROW, start
from pyxl.naming import LAST_ROW
from pyxl.operations import Expression, Symbol, interpolated, least, most, require, where
from pyxl.plan import Chart, Formula, Reference, Series, Sheet, Validation, formula_cell
from pyxl.reader import Grid, value_at
from pyxl.style import number_format
from workbook import catalogue
from workbook.analysis import analysis
from workbook.catalogue import HARDWARE, Curve
from workbook.study import Study

TITLE = "Measured"
HEADS = DEVICE, KEY, READ_AT, CEILING, PEAK, SOURCE = (
    "Device", "Key", "Read at", "Ceiling", "Datasheet peak", "Source",
)  # fmt: skip
POINT_HEADS = SIZE, RATE, STEP, LIMIT = "Size", "Rate", "Larger by", "Peak"
CEILING_READ: Expression = interpolated(Symbol(READ_AT), Symbol(SIZE), Symbol(RATE))
LARGER_BY: Expression = Symbol(SIZE) - Symbol("size before")

CHART_ROWS, GAP = 24, 2
CURVE_COLOR, PEAK_COLOR, PICKED_COLOR = "4472C4", "A5A5A5", "C00000"
SIZES = {
    "byte": ("Size of the message", '[>=1000000]#,##0,," MB";[>=1000]0," kB";0" B"'),
    "FLOP": (
        "Size of the multiplication",
        '[>=1000000000000]#,##0,,,," TFLOP";[>=1000000000]0,,," GFLOP";0,," MFLOP"',
    ),
}
RATES = {
    "byte/s": '[>=1000000000]#,##0,,," GB/s";0,," MB/s"',
    "FLOP/s": '[>=1000000000000]#,##0,,,," TFLOP/s";0,,," GFLOP/s"',
}


@dataclass(frozen=True)
class Block:
    """A curve and the rows that it takes: its head from `top` on, its points from `first` to `last`."""

    device: str
    key: str
    curve: Curve
    top: int

    @property
    def row(self) -> int:
        """The row of the ceiling, and of what it is read from."""
        return self.top + 2

    @property
    def first(self) -> int:
        """The row of the first point."""
        return self.top + 6

    @property
    def last(self) -> int:
        """The row of the last point."""
        return self.first + len(self.curve.points) - 1

    @property
    def end(self) -> int:
        """The first row behind it."""
        return max(self.last, self.top + 4 + CHART_ROWS) + GAP

    @property
    def peak(self) -> str:
        """The key of the datasheet's number."""
        return f"{self.key.removesuffix('_measured')}_peak"

    def named(self, what: str) -> str:
        """The key of one of its references."""
        return f"{TITLE}.{self.device}.{self.key}.{what}"


def _blocks(study: Study) -> Iterator[Block]:
    """The curves of the devices that a strategy uses, one under the other."""
    used = {str(values["hardware"]).casefold() for values in study.values.values()}
    top = FIRST_ROW + 1
    for (device, key), curve in study.tables[HARDWARE].curves.items():
        if device.casefold() in used:
            block = Block(device, key, curve, top)
            yield block
            top = block.end


def ceilings(study: Study) -> dict[tuple[str, str], Formula]:
    """What the sheet Hardware shows of each curve, by device and column: its ceiling."""
    sheet = Sheet(TITLE)
    return {
        (block.device, block.key): Formula(sheet.address(block.row, HEADS.index(CEILING) + 1), block.curve.rate.value)
        for block in _blocks(study)
    }


def sheets(study: Study, places: Mapping[str, Reference]) -> tuple[dict[str, Reference], list[Sheet]]:
    """References that the checks need, and the sheet, if there is one."""
    blocks = list(_blocks(study))
    if not blocks:
        return {}, []
    sheet = start(
        TITLE,
        "Measured curves",
        "Rates over sizes. Change a point or where the curve is read: ceiling, sheet Hardware and all times follow. "
        "Insert further points between two others.",
    )
    sheet.portrait, sheet.pages_tall = True, math.ceil(len(blocks) / 3)
    sheet.widths.update({1: 24, 2: 22, 3: 18, 4: 18, 5: 18, 6: 60})
    found: dict[str, Reference] = {}
    for block in blocks:
        found |= _lay_out(sheet, block, places)
    return found, [sheet]


def _lay_out(sheet: Sheet, block: Block, places: Mapping[str, Reference]) -> dict[str, Reference]:
    rate, curve, top, row = block.curve.rate, block.curve, block.top, block.row
    size_unit = rate.unit.removesuffix("/s")
    row_of_device = [str(name) for name in places[f"{HARDWARE}.name"].value].index(block.device)
    of_device = {key: places[f"{HARDWARE}.{key}"].entry(row_of_device) for key in ("name", block.peak)}
    here = {
        what: Reference(sheet.range((block.first, column), (block.last, column)), values)
        for what, column, values in ((SIZE, 1, curve.sizes), (RATE, 2, curve.rates))
    }
    here[READ_AT] = Reference(sheet.address(row, 3), curve.read_at)
    here[PEAK] = Reference(sheet.address(row, 5), of_device[block.peak].value)
    sheet.put_row(top, 1, HEADS, "header")
    sheet.put_row(top + 1, 3, [size_unit, rate.unit, rate.unit], "note")
    sheet.put(row, 1, Formula(of_device["name"].address, block.device), "look-up")
    sheet.put(row, 2, block.key, "key")
    sheet.put(row, 3, curve.read_at, "input", number_format(size_unit))
    sheet.put(row, 4, formula_cell(CEILING_READ, _local(here)), "result", number_format(rate.unit))
    if here[PEAK].value is not None:
        sheet.put(row, 5, Formula(of_device[block.peak].address, here[PEAK].value), "look-up", number_format(rate.unit))
    sheet.put(row, 6, rate.provenance, "prose")
    sheet.fit_height(row)
    here[STEP] = _points(sheet, block, size_unit, of_device[block.peak])
    sheet.charts.append(_chart(sheet, block, size_unit, is_limited=here[PEAK].value is not None))
    return {block.named(what): reference for what, reference in here.items()}


def _local(references: Mapping[str, Reference]) -> dict[str, Reference]:
    """References for formulas on the same sheet."""
    return {key: Reference(each.address.rpartition("!")[2], each.value) for key, each in references.items()}


def _points(sheet: Sheet, block: Block, size_unit: str, peak: Reference) -> Reference:
    """The table of the points; returns its column of steps."""
    rate_unit, steps = block.curve.rate.unit, []
    limit = None if peak.value is None else Formula(peak.address, peak.value)
    heads = POINT_HEADS if limit else POINT_HEADS[:-1]
    sheet.put_row(block.first - 2, 1, heads, "header")
    sheet.put_row(block.first - 1, 1, [size_unit, rate_unit, size_unit, rate_unit][: len(heads)], "note")
    before = Reference("0", 0)
    for row, (size, rate) in enumerate(block.curve.points, start=block.first):
        own = Reference(f"$A{row}", size)
        step = formula_cell(LARGER_BY, {SIZE: own, "size before": before})
        sheet.put(row, 1, size, "input", number_format(size_unit))
        sheet.put(row, 2, rate, "input", number_format(rate_unit))
        sheet.put(row, 3, step, "calculation", number_format(size_unit))
        if limit:
            sheet.put(row, 4, limit, "look-up", number_format(rate_unit))
        steps.append(step.value)
        before = own
    for cells, title, prompt in (
        (f"A{block.first}:A{block.last}", SIZE, f"In {size_unit}, larger than the one before."),
        (f"B{block.first}:B{block.last}", RATE, f"In {rate_unit}, as measured at this size."),
        (f"C{block.row}", READ_AT, f"The size in {size_unit} whose rate is the ceiling."),
    ):
        sheet.validations.append(Validation(cells, "", title, prompt))
    return Reference(sheet.range((block.first, 3), (block.last, 3)), tuple(steps))


def _chart(sheet: Sheet, block: Block, size_unit: str, *, is_limited: bool) -> Chart:
    def column(number: int) -> str:
        return sheet.range((block.first, number), (block.last, number))

    series = [Series("Measured", column(2), column(1), CURVE_COLOR, "circle")]
    if is_limited:
        series.append(Series(PEAK, column(4), column(1), PEAK_COLOR))
    picked = sheet.address(block.row, 4), sheet.address(block.row, 3)
    series.append(Series(CEILING, *picked, PICKED_COLOR, "diamond", line=False))
    sizes, (title, size_format) = block.curve.sizes, SIZES[size_unit]
    return Chart(
        "scatter",
        f"{block.device}: {analysis[block.key].label}",
        f"F{block.first - 2}",
        series,
        x_title=f"{title} ({size_unit}, logarithmic)",
        y_title=f"Rate ({block.curve.rate.unit})",
        x_format=size_format,
        y_format=RATES[block.curve.rate.unit],
        x_logarithmic=True,
        x_range=(10.0 ** math.floor(math.log10(sizes[0])), 10.0 ** math.ceil(math.log10(sizes[-1]))),
        y_range=(0.0, None),
        size=(24.0, 11.5),
    )


def check_lines(study: Study) -> list[CheckLine]:
    """What must hold of each curve."""
    return [_check(block, study.tables[HARDWARE]) for block in _blocks(study)]


def _check(block: Block, table: catalogue.Table) -> CheckLine:
    step, rate, peak = (Symbol(block.named(what)) for what in (STEP, RATE, PEAK))
    device = next(row for row in table.rows if row["name"] == block.device)
    slowest: Any = least(rate)
    if device[block.peak] is not None:
        slowest = where(most(rate) <= peak, slowest, 0)
    return CheckLine(
        f"Curve of {block.key}, {block.device}",
        f"On the sheet {TITLE}: sizes ascend, rates are above 0, none is above the datasheet's peak.",
        require(
            where(least(step) > 0, slowest, 0) > 0,
            f"a curve on the sheet {TITLE} has sizes that do not ascend, or a rate of 0 or above the peak",
        ),
    )


# Read back


@dataclass(frozen=True)
class Read:
    """A curve in somebody's workbook: where its ceiling stands, and the `values` of what that is computed from."""

    device: str
    key: str
    source: str
    ceiling: tuple[int, int]
    values: Mapping[str, Any]

    @property
    def points(self) -> list[list[Any]]:
        """Sizes and rates in pairs."""
        return [list(point) for point in zip(self.values[SIZE], self.values[RATE], strict=True)]

    @property
    def trouble(self) -> str:
        """Why it gives no number; nothing where it does."""
        sizes, rates = self.values[SIZE], self.values[RATE]
        numbers = (self.values[READ_AT], *sizes, *rates)
        if not sizes or not all(isinstance(value, int | float) for value in numbers):
            return "a size or rate of its curve is no number"
        if any(size >= following for size, following in pairwise(sizes)):
            return "the sizes of its curve do not ascend"
        return ""


def read(grid: Grid, recalculated: Mapping[Place, Value]) -> Iterator[Read]:
    """The curves on the sheet, wherever rows and columns were moved."""
    heads = grid.find(READ_AT)
    for (head, _), end in zip(heads, [*(row for row, _ in heads[1:]), LAST_ROW], strict=True):
        columns = {content: column for column, content in grid.row(head)}
        top = next((row for row, _ in grid.find(SIZE) if head < row < end), end)
        below = {content: column for column, content in grid.row(top)}
        row = next((row for row, _ in grid.column(columns.get(KEY, 0)) if head < row < top), None)
        if row is None or not columns.keys() >= set(HEADS) or not below.keys() >= {SIZE, RATE}:
            continue
        shown = {what: value_at(grid, row, columns[what], recalculated) for what in HEADS}
        lines = [line for line, _ in grid.column(below[SIZE]) if top + 1 < line < end]
        points = {
            what: tuple(value_at(grid, line, below[what], recalculated) for line in lines) for what in (SIZE, RATE)
        }
        device, key, source = (str(shown[what] or "") for what in (DEVICE, KEY, SOURCE))
        yield Read(device, key, source, (row, columns[CEILING]), {READ_AT: shown[READ_AT], **points})
