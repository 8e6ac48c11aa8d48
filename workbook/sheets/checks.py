"""Checks: what must hold in every strategy, and second routes to the same numbers."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.layout import checks_sheet
from pyxl.layout.checks_sheet import CheckLine
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Symbol, failures, least, most, require, total, where
from pyxl.plan import Formula, Reference, Sheet
from workbook.analysis import analysis
from workbook.stages import STAGES
from workbook.study import Study


def sheet(study: Study, placed: ModelSheet, places: Mapping[str, Reference]) -> tuple[Sheet, Formula]:
    """The sheet, and the master check; `places` are constants and the columns of Roofline and Stages."""
    checks = start("Checks", "Checks", "What must hold for the numbers to mean anything.")
    return checks, checks_sheet.lay_out(checks, _lines(), {**places, **_across(study, placed)})


def _across(study: Study, placed: ModelSheet) -> dict[str, Reference]:
    """Analysis rows over all slots, keyed "Analysis.quantity", for checks across strategies."""
    padding = (None,) * (placed.slots - len(study.strategies))
    return {
        f"Analysis.{name}": Reference(placed.across(name), (*(v[name] for v in study.values.values()), *padding))
        for name in (*analysis.series["checks"], "failed_checks", "step_time")
    }


def _lines() -> list[CheckLine]:
    lines = [
        CheckLine(
            analysis[name].label,
            analysis[name].note,
            require(failures(Symbol(f"Analysis.{name}")) == 0, "a strategy fails: see the section Checks in Analysis"),
        )
        for name in analysis.series["checks"]
    ]
    lines.append(
        CheckLine(
            "Step times are above 0",
            "A step of every strategy takes time.",
            require(least(Symbol("Analysis.step_time")) > 0, "a strategy's step takes no time"),
        )
    )
    executed = total(Symbol("Roofline.total_flops")) * Symbol("Roofline.tensor_parallel_size")
    expected = Symbol("Roofline.microbatch_tokens") * Symbol("Roofline.forward_flops_per_token")
    lines.append(
        CheckLine(
            "Operators add up to the forward pass",
            "FLOPs of the sheet Roofline's operators, on all tensor ranks, against forward_flops_per_token.",
            require(
                most(executed - expected, expected - executed) <= Symbol("relative_tolerance") * expected,
                "the operators of the sheet Roofline do not add up to forward_flops_per_token",
            ),
        )
    )
    peak = most(Symbol("Stages.memory"))
    three = where(
        Symbol("Stages.pipeline_parallel_size") > 1,
        most(
            Symbol("Stages.first_stage_memory"),
            Symbol("Stages.middle_stage_memory"),
            Symbol("Stages.last_stage_memory"),
        ),
        Symbol("Stages.first_stage_memory") + Symbol("Stages.last_stage_memory"),
    )
    lines.append(
        CheckLine(
            "Stages peak where the Analysis says",
            f"Largest memory of the sheet Stages ({STAGES} at most) against first, middle and last stage of Analysis.",
            require(
                where(Symbol("Stages.pipeline_parallel_size") > most(Symbol("Stages.stage")) + 1, 0, 1)
                * most(peak - three, three - peak)
                <= Symbol("relative_tolerance") * three,
                "the largest stage of the sheet Stages is not the Analysis' peak",
            ),
        )
    )
    return lines
