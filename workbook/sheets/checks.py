"""Checks: what must hold in every strategy, and second routes to the same numbers."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.layout import checks_sheet
from pyxl.layout.checks_sheet import CheckLine
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Symbol, failures, least, most, pick, require, total, where
from pyxl.plan import Formula, Reference, Sheet
from workbook.analysis import analysis
from workbook.stages import STAGES
from workbook.study import Study


def sheet(study: Study, placed: ModelSheet, places: Mapping[str, Reference]) -> tuple[Sheet, Formula]:
    """The sheet, and the master check; `places` are constants and columns of the other sheets."""
    checks = start("Checks", "Checks", "What must hold for the numbers to mean anything.")
    return checks, checks_sheet.lay_out(checks, _lines(), {**places, **_across(study, placed)})


def _across(study: Study, placed: ModelSheet) -> dict[str, Reference]:
    """Analysis rows over all slots, keyed "Analysis.quantity", for checks across strategies."""
    names = (*analysis.series["checks"], "step_time_lower_bound")
    rows = {f"Analysis.{name}": placed.across(name, (v[name] for v in study.values.values())) for name in names}
    return rows | {"Analysis.strategy": placed.across("strategy", study.strategies)}


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
            require(least(Symbol("Analysis.step_time_lower_bound")) > 0, "a strategy's step takes no time"),
        )
    )
    lines.append(
        CheckLine(
            "Summary shows every strategy",
            "As many names on the sheet Summary as in the head of Analysis.",
            require(
                failures(Symbol("Summary.strategy")) == failures(Symbol("Analysis.strategy")),
                "the sheet Summary has no line for a strategy: move its column into a slot",
            ),
        )
    )
    for title in ("Roofline", "Stages"):
        shown = Symbol(f"{title}.strategy")
        lines.append(
            CheckLine(
                f"{title} shows a strategy",
                f"The name in cell B5 of the sheet {title} is one of the Analysis.",
                require(
                    pick(shown, Symbol("Analysis.strategy"), Symbol("Analysis.strategy")) == shown,
                    f"cell B5 of the sheet {title} names no strategy: choose one from its list",
                ),
            )
        )
    ranks = Symbol("Roofline.tensor_parallel_size") * Symbol("Roofline.context_parallel_size")
    executed = total(Symbol("Roofline.total_flops")) * ranks
    expected = Symbol("Roofline.microbatch_tokens") * Symbol("Roofline.forward_flops_per_token")
    lines.append(
        CheckLine(
            "Operators add up to the forward pass",
            "FLOPs of the sheet Roofline's operators, on tensor and context ranks, against forward_flops_per_token.",
            require(
                most(executed - expected, expected - executed) <= Symbol("relative_tolerance") * expected,
                "the operators of the sheet Roofline do not add up to forward_flops_per_token",
            ),
        )
    )
    peak, expected = most(Symbol("Stages.memory")), Symbol("Stages.largest_device_memory")
    all_shown = where(Symbol("Stages.pipeline_parallel_size") > most(Symbol("Stages.stage")) + 1, 0, 1)
    lines.append(
        CheckLine(
            "Stages peak where the Analysis says",
            f"Largest memory of the sheet Stages against the Analysis' largest device (up to {STAGES} stages).",
            require(
                all_shown * most(peak - expected, expected - peak) <= Symbol("relative_tolerance") * expected,
                "the largest stage of the sheet Stages is not the Analysis' largest_device_memory",
            ),
        )
    )
    held, expected = total(Symbol("Stages.layers")), Symbol("Stages.num_hidden_layers")
    copies = Symbol("Stages.parameter_copies")
    lines.append(
        CheckLine(
            "Stages hold every layer",
            "Layers of the sheet Stages, per copy, against the model's layers.",
            require(
                all_shown * most(held - expected * copies, expected * copies - held)
                <= Symbol("relative_tolerance") * expected,
                "the layers of the sheet Stages do not add up to num_hidden_layers",
            ),
        )
    )
    executed = total(Symbol("Stages.compute"))
    expected = (
        Symbol("Stages.forward_time") * (1 + Symbol("backward_forward_ratio")) * Symbol("Stages.pipeline_parallel_size")
    )
    lines.append(
        CheckLine(
            "Stages compute what the Analysis says",
            "Times of the sheet Stages' forward and backward passes against the Analysis' forward_time.",
            require(
                all_shown * most(executed - expected, expected - executed) <= Symbol("relative_tolerance") * expected,
                "the passes of the sheet Stages do not add up to the Analysis' forward_time",
            ),
        )
    )
    return lines
