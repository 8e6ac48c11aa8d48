"""Collectives: every message of one chosen strategy, by group and link."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.cells import letter
from pyxl.layout import rows_sheet
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.plan import Reference, Sheet
from workbook.collectives import collectives
from workbook.study import Study


def sheet(
    study: Study, chosen: str, placed: ModelSheet, places: Mapping[str, Reference]
) -> tuple[Sheet, Mapping[str, Reference]]:
    """The sheet, and its columns and imports as references for checks."""
    laid_out = start(
        "Collectives",
        "Collectives",
        "What a rank receives per step, by group and network. Choose a strategy in B5. "
        "Of experts a share is the number of copies of a token.",
    )
    table = rows_sheet.lay_out(laid_out, collectives, study.values, chosen, placed, places)
    # What is taken from the Analysis stands on the right and would make the print tiny.
    laid_out.print_area = f"A1:{letter(max(table.columns.values()))}{table.lines[-1]}"
    return laid_out, table.references
