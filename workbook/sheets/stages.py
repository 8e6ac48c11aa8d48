"""Stages: what each device of one chosen strategy's pipeline holds and computes."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.layout import rows_sheet
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.plan import Reference, Sheet
from workbook.stages import stages
from workbook.study import Study


def sheet(
    study: Study, chosen: str, placed: ModelSheet, places: Mapping[str, Reference]
) -> tuple[Sheet, Mapping[str, Reference]]:
    """The sheet, and its columns and imports as references for checks."""
    laid_out = start(
        "Stages",
        "Pipeline stages",
        "What each device of a pipeline holds, of all its chunks and copies. Choose a strategy in B5. "
        "With mirrored schedules a device holds chunk i and the i-th from the end.",
    )
    table = rows_sheet.lay_out(laid_out, stages, study.values, chosen, placed, places)
    return laid_out, table.references
