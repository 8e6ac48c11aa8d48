"""Roofline: the operators of one chosen strategy, as a table and under their roofs in a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyxl.layout import rows_sheet
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Symbol
from pyxl.plan import Chart, Reference, Series, Sheet, formula_cell
from pyxl.style import number_format
from workbook.operators import operators
from workbook.study import Study

OPERATOR_COLORS = ("4472C4", "ED7D31", "70AD47", "7030A0", "00B0F0", "C55A11", "548235", "BF9000")
ROOFS = (("Linear layers under HBM", "mlp_linear_ceiling", "C00000"), ("BF16 under HBM", "bf16_ceiling", "1F3864"))


def sheet(
    study: Study, chosen: str, placed: ModelSheet, places: Mapping[str, Reference]
) -> tuple[Sheet, Mapping[str, Reference]]:
    """The sheet, and its columns and imports as references for checks."""
    roofline = start(
        "Roofline",
        "Roofline",
        "Matrix multiplications of one forward micro-batch on one rank. Choose a strategy in B5.",
    )
    table = rows_sheet.lay_out(roofline, operators, study.values, chosen, placed, places)
    top = table.lines[-1] + 2
    roofs = _roofs(roofline, top, {**places, **table.references})
    names = []
    for number, line in enumerate(table.lines):
        # From the operator's point up to its name: heights differ, so names never overlap.
        x = roofline.range((line, table.columns["intensity"]), (line, table.columns["label_intensity"]))
        y = roofline.range((line, table.columns["attainable"]), (line, table.columns["label_height"]))
        color = OPERATOR_COLORS[number % len(OPERATOR_COLORS)]
        names.append(Series(roofline.address(line, 1), y, x, color, "circle", labelled=True))
    names_top = max(table.references["Roofline.label_height"].value)
    decade = math.floor(math.log10(study.values[chosen]["bf16_ceiling"]))
    roofline.charts.append(
        Chart(
            "scatter",
            "Roofline of the chosen strategy: each operator of a forward micro-batch",
            f"A{top + len(roofs) + 2}",
            [*roofs, *names],
            x_title="FLOPs per byte of HBM traffic",
            y_title="FLOP/s",
            y_format="0.E+00",
            x_logarithmic=True,
            logarithmic=True,
            x_range=(places["roofline_left_edge"].value, places["roofline_right_edge"].value),
            y_range=(10.0 ** (decade - 1), 10.0 ** math.ceil(math.log10(names_top))),
            size=(36.0, 18.0),
        )
    )
    roofline.pages_tall = 1
    return roofline, table.references


def _roofs(roofline: Sheet, top: int, scope: Mapping[str, Reference]) -> list[Series]:
    """The table of both roofs from row `top` on, each with its exact ridge."""
    points = ("left edge", "ridge", "right edge")
    heads = ["Roofs", *(f"Intensity: {point}" for point in points), *(f"Rate: {point}" for point in points)]
    roofline.put_row(top, 1, heads, "header")
    roofline.heights[top] = 32
    left, right, slope = Symbol("roofline_left_edge"), Symbol("roofline_right_edge"), Symbol("Roofline.hbm_ceiling")
    series = []
    for line, (label, ceiling, color) in enumerate(ROOFS, start=top + 1):
        roof = Symbol(f"Roofline.{ceiling}")
        roofline.put(line, 1, label, "label")
        for column, point in enumerate([left, roof / slope, right, left * slope, roof, roof], start=2):
            shown = "#,##0.0" if column <= 1 + len(points) else number_format("FLOP/s")
            roofline.put(line, column, formula_cell(point, scope), "calculation", shown)
        x, y = roofline.range((line, 2), (line, 4)), roofline.range((line, 5), (line, 7))
        series.append(Series(roofline.address(line, 1), y, x, color))
    return series
