"""Roofline: the operators of one chosen strategy, as a table and under their roofs in a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyxl.layout import rows_sheet
from pyxl.layout.header import FIRST_ROW, start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Symbol
from pyxl.plan import Chart, Reference, Series, Sheet, formula_cell
from pyxl.style import number_format
from workbook.operators import operators
from workbook.study import Study

OPERATOR_COLORS = ("4472C4", "ED7D31", "70AD47", "7030A0", "00B0F0", "C55A11", "548235", "BF9000")


def sheet(
    study: Study, chosen: str, placed: ModelSheet, places: Mapping[str, Reference]
) -> tuple[Sheet, dict[str, Reference]]:
    """The sheet, and its columns and imports as references for checks."""
    roofline = start(
        "Roofline",
        "Roofline",
        "Matrix multiplications of one forward micro-batch on one rank. Choose a strategy in B5.",
    )
    found = rows_sheet.lay_out(roofline, operators, study.values, chosen, placed, places)
    scope = {**places, **found}
    top = FIRST_ROW + 6 + len(operators.rows)
    roofline.put_row(
        top,
        1,
        [
            "Roofs",
            "Intensity: left edge",
            "Intensity: ridge",
            "Intensity: right edge",
            "Rate: left edge",
            "Rate: ridge",
            "Rate: right edge",
        ],
        "header",
    )
    roofline.heights[top] = 32
    roofs = (("Linear layers under HBM", "linear_ceiling", "C00000"), ("BF16 under HBM", "bf16_ceiling", "1F3864"))
    series: list[Series] = []
    for row, (label, ceiling, color) in enumerate(roofs, start=top + 1):
        left, right = Symbol("roofline_left_edge"), Symbol("roofline_right_edge")
        roof, slope = Symbol(f"{roofline.title}.{ceiling}"), Symbol(f"{roofline.title}.hbm_ceiling")
        points = [left, roof / slope, right, left * slope, roof, roof]
        roofline.put(row, 1, label, "label")
        for column, point in enumerate(points, start=2):
            shown = "#,##0.0" if column <= 4 else number_format("FLOP/s")
            roofline.put(row, column, formula_cell(point, scope), "calculation", shown)
        series.append(
            Series(
                roofline.address(row, 1), roofline.range((row, 5), (row, 7)), roofline.range((row, 2), (row, 4)), color
            )
        )
    columns = {name: column for column, name in enumerate(operators.quantities, start=2)}
    for number, row in enumerate(range(FIRST_ROW + 5, FIRST_ROW + 5 + len(operators.rows))):
        # From the operator's point up to its label: heights differ, so labels never overlap.
        x = roofline.range((row, columns["intensity"]), (row, columns["label_intensity"]))
        y = roofline.range((row, columns["attainable"]), (row, columns["label_height"]))
        color = OPERATOR_COLORS[number % len(OPERATOR_COLORS)]
        series.append(Series(roofline.address(row, 1), y, x, color, "circle", labelled=True))
    peak = max(values["linear_ceiling"] for values in study.values.values())
    decade = math.floor(math.log10(peak))
    roofline.charts.append(
        Chart(
            "scatter",
            "Roofline of the chosen strategy: each operator of a forward micro-batch",
            f"A{top + 4}",
            series,
            x_title="FLOPs per byte of HBM traffic",
            y_title="FLOP/s",
            y_format="0.E+00",
            logarithmic=True,
            x_range=(1e2, 1e4),
            y_range=(10.0 ** (decade - 1), 10.0 ** (decade + 2)),
            size=(36.0, 18.0),
        )
    )
    roofline.pages_tall = 1
    return roofline, found
