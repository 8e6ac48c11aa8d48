"""Checks: what must hold in every strategy, and second routes to the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add, sub
from typing import Any

from pyxl.elasticities import elasticity
from pyxl.layout import checks_sheet
from pyxl.layout.checks_sheet import CheckLine
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.operations import Symbol, failures, least, most, pick, require, total, where
from pyxl.plan import Formula, Reference, Sheet
from pyxl.scenario import DIFFERING, own
from workbook.analysis import analysis
from workbook.sheets import elasticities, measured, precision, recomputation
from workbook.sheets.ladder import Ladder
from workbook.stages import STAGES
from workbook.study import Study

# Sheets of one strategy, and what their references are keyed with.
LADDERS = (precision.ladder, recomputation.ladder)
SHOWN = {
    **{title: title for title in ("Roofline", "Stages", "Collectives", "Elasticities")},
    **{ladder.title: ladder.heading for ladder in LADDERS},
}

ENGINE = CheckLine(
    "Python agrees, at the last Recompute",
    "The add-in's button Recompute writes here whether the Python engine computes the same. Empty until then.",
    None,
)


def sheet(study: Study, placed: ModelSheet, places: Mapping[str, Reference]) -> tuple[Sheet, Formula]:
    """The sheet, and the master check; `places` are constants and columns of the other sheets."""
    checks = start("Checks", "Checks", "What must hold for the numbers to mean anything.")
    return checks, checks_sheet.lay_out(checks, _lines(study), {**places, **_across(study, placed)})


def _across(study: Study, placed: ModelSheet) -> dict[str, Reference]:
    """Analysis rows over all slots, keyed "Analysis.quantity", for checks across strategies."""
    names = (*analysis.series["checks"], "step_time_lower_bound")
    rows = {f"Analysis.{name}": placed.across(name, (v[name] for v in study.values.values())) for name in names}
    return rows | {"Analysis.strategy": placed.across("strategy", study.strategies)}


def _lines(study: Study) -> list[CheckLine]:
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
    for title, key in SHOWN.items():
        shown = Symbol(f"{key}.strategy")
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
    all_shown = where(Symbol("Stages.pipeline_parallel_size") > most(Symbol("Stages.index")) + 1, 0, 1)
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
    for column, name, where_to in (
        ("scale_out_total", "scale_out_bytes", "scale-out traffic"),
        ("scale_up_total", "scale_up_bytes", "scale-up traffic"),
        ("pod_total", "pod_bytes", "traffic between pods"),
        ("latency_total", "latency_time", "latency"),
    ):
        sent, expected = total(Symbol(f"Collectives.{column}")), Symbol(f"Collectives.{name}")
        lines.append(
            CheckLine(
                f"Collectives add up to the {where_to}",
                f"Column of the sheet Collectives against the Analysis' {name}.",
                require(
                    most(sent - expected, expected - sent) <= Symbol("relative_tolerance") * expected,
                    f"the collectives of the sheet Collectives do not add up to {name}",
                ),
            )
        )
    lines.extend(map(_own_choice, LADDERS))
    lines.append(_slower_clock())
    lines.extend(measured.check_lines(study))
    lines.append(ENGINE)
    return lines


def _own_choice(ladder: Ladder) -> CheckLine:
    """The ladder's column with the strategy's own choice, if it has one, against the Analysis."""

    def off(name: str) -> Any:
        own_value, differing = Symbol(f"{ladder.heading}.{own(name)}"), Symbol(f"{ladder.heading}.{DIFFERING}")
        column = pick(0, differing, Symbol(f"{ladder.heading}.{name}"))
        value = where(least(differing) == 0, column, own_value)
        return most(value - own_value, own_value - value) / own_value

    return CheckLine(
        f"{ladder.title} agrees with the Analysis",
        f"Step time and memory of the sheet {ladder.title}, under the strategy's own choice, against the Analysis.",
        require(
            most(*map(off, ("step_time_lower_bound", "device_memory"))) <= Symbol("relative_tolerance"),
            f"the sheet {ladder.title} differs from the Analysis, or a choice in its head is no row of its table",
        ),
    )


def _slower_clock() -> CheckLine:
    """Were all rates halved and all latencies doubled, a step would take twice as long: Euler's theorem."""
    step_time = elasticities.step_time
    share = {name: Symbol(f"{elasticities.TITLE}.{elasticity(name)}") for name in step_time.sources}
    rates = [share[name] for name in share if analysis[name].unit.endswith("/s")]
    latencies = [share[name] for name in share if analysis[name].unit == "s"]
    gap = reduce(sub, latencies, reduce(add, rates)) + 1
    return CheckLine(
        "Elasticities add up",
        "Those to rates, less those to latencies, are -1: with every clock half as fast, a step takes twice as long.",
        require(
            most(gap, 0 - gap) <= Symbol("relative_tolerance"),
            "the elasticities of the sheet Elasticities to rates, less those to latencies, do not add up to -1",
        ),
    )
