"""Validation: published training runs against the lower bound of their step time. No run may be faster."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyxl.quantity import Failure
from pyxl.readings.number import OK
from workbook import catalogue
from workbook.analysis import analysis
from workbook.published_runs import Inputs, Run, read, shipped, tables

Values = Mapping[str, Any]
REPORT = shipped()[0].with_name("report.json")


@dataclass(frozen=True)
class Comparison:
    """A run beside its lower bound, in seconds per step; or the reason why it has none."""

    run: Run
    reason: str = ""
    lower_bound: float = 0
    measured: float = 0
    bound: str = ""

    @property
    def supported(self) -> bool:
        """Whether there is a bound to compare with."""
        return not self.reason

    @property
    def ratio(self) -> float:
        """Measured over lower bound."""
        return self.measured / self.lower_bound

    @property
    def violation(self) -> bool:
        """Whether the run was faster than its bound: one of the two must be wrong."""
        return self.supported and self.ratio < 1


@dataclass(frozen=True)
class Summary:
    """Rows of one source, or of all."""

    name: str
    comparisons: Sequence[Comparison]

    @cached_property
    def ratios(self) -> list[float]:
        """Measured over bound of every supported run, in order of size."""
        return sorted(comparison.ratio for comparison in self.comparisons if comparison.supported)

    @property
    def rows(self) -> int:
        """Rows that were read."""
        return len(self.comparisons)

    @property
    def supported(self) -> int:
        """Rows that have a bound."""
        return len(self.ratios)

    @property
    def violations(self) -> list[Comparison]:
        """Runs that are faster than their bound."""
        return [comparison for comparison in self.comparisons if comparison.violation]

    @property
    def unsupported(self) -> dict[str, int]:
        """Rows without a bound by reason, the commonest first."""
        return dict(Counter(c.reason for c in self.comparisons if not c.supported).most_common())

    @property
    def distribution(self) -> dict[str, float]:
        """Least, deciles 1, 5 and 9, and most of measured over bound; empty where no row is supported."""
        if not self.ratios:
            return {}
        several = self.ratios if self.supported > 1 else self.ratios * 2
        deciles = statistics.quantiles(several, n=10, method="inclusive")
        return {
            "min": self.ratios[0],
            "p10": deciles[0],
            "median": statistics.median(self.ratios),
            "p90": deciles[-1],
            "max": self.ratios[-1],
        }


@dataclass(frozen=True)
class Report:
    """All comparisons, in the order of the files."""

    comparisons: Sequence[Comparison]

    @cached_property
    def total(self) -> Summary:
        """All rows together."""
        return Summary("all", self.comparisons)

    @cached_property
    def sources(self) -> list[Summary]:
        """Rows by source, the largest first."""
        grouped: dict[str, list[Comparison]] = {}
        for comparison in self.comparisons:
            grouped.setdefault(comparison.run.source, []).append(comparison)
        return sorted((Summary(*item) for item in grouped.items()), key=lambda summary: (-summary.rows, summary.name))

    def totals(self) -> dict[str, Any]:
        """Totals of all rows and of each source."""
        return {
            "total": _summary_as_json(self.total),
            "sources": {summary.name: _summary_as_json(summary) for summary in self.sources},
        }

    def as_json(self) -> dict[str, Any]:
        """Totals and rows, as `solbook validate --json` prints them."""
        return self.totals() | {"rows": [_row_as_json(comparison) for comparison in self.comparisons]}


def _summary_as_json(summary: Summary) -> dict[str, Any]:
    return {
        "rows": summary.rows,
        "supported": summary.supported,
        "violations": len(summary.violations),
        "unsupported": summary.unsupported,
        "measured_over_bound": summary.distribution,
    }


def _row_as_json(comparison: Comparison) -> dict[str, Any]:
    run = comparison.run
    row = {
        "file": run.file,
        "line": run.line,
        "source": run.source,
        "model": run.model,
        "hardware": run.hardware,
        "devices": run.devices,
        "supported": comparison.supported,
    }
    if not comparison.supported:
        return row | {"reason": comparison.reason}
    return row | {
        "step_time_lower_bound": comparison.lower_bound,
        "measured_step_time": comparison.measured,
        "measured_over_bound": comparison.ratio,
        "bound": comparison.bound,
        "violation": comparison.violation,
    }


def shipped_report() -> Mapping[str, Any]:
    """Totals by source of the shipped runs, as they were computed for this version: what the workbook shows.

    `tests/reports/validation.py` writes the file, and a test compares it with a fresh report.
    """
    report: Mapping[str, Any] = json.loads(REPORT.read_text(encoding="utf-8"))
    return report


def validate(paths: Iterable[Path] | None = None) -> Report:
    """Compare the runs of CSV files, the shipped ones if none are given. Raises `UserError` for a bad file."""
    runs = [run for path in paths or shipped() for run in read(path)]
    columns = catalogue.columns(tables().values())
    computed: dict[tuple[tuple[str, Any], ...], Values] = {}

    def values_of(inputs: Inputs) -> Values:
        key = tuple(inputs.items())
        if key not in computed:
            computed[key] = analysis.compute(inputs, columns)
        return computed[key]

    return Report([_compared(run, [values_of(inputs) for inputs in run.alternatives]) for run in runs])


def _compared(run: Run, alternatives: Sequence[Values]) -> Comparison:
    if run.reason:
        return Comparison(run, run.reason)
    problems = [_problem(values) for values in alternatives]
    possible = [values for values, problem in zip(alternatives, problems, strict=True) if not problem]
    if not possible:
        return Comparison(run, problems[0])
    values = min(possible, key=lambda values: values["step_time_lower_bound"])
    return Comparison(
        run,
        lower_bound=values["step_time_lower_bound"],
        measured=_measured(run, values),
        bound=values["bound"],
    )


def _problem(values: Values) -> str:
    """Why the values mean nothing: the first check that fails; empty if none does."""
    for check in analysis.series["checks"]:
        if values[check] != OK:
            return str(values[check])
    lower_bound = values["step_time_lower_bound"]
    return lower_bound.reason if isinstance(lower_bound, Failure) else ""


def _measured(run: Run, values: Values) -> float:
    """The step time, from the rate that a source prints where it prints no other: FLOPs as the source counts them."""
    speed = run.speed
    if speed.step_time is not None:
        return speed.step_time
    rate = speed.rate if speed.rate is not None else speed.mfu * values["bf16_peak"]
    seconds: float = COUNTED[speed.counts](values) * values["step_tokens"] / (rate * values["devices"])
    return seconds


def _executed_full_square(values: Values) -> Any:
    """F = 96 B s l h^2 (1 + s/6h + V/16lh): layers run four times with full recomputation, the output head three.

    Source: Narayanan et al. 2021, arXiv 2104.04473, appendix
    """
    repeated = values["low_precision_forward_flops_per_token"] + values["attention_forward_flops_per_token_full_square"]
    return values["training_flops_per_token_full_square"] + values["repeats_layer"] * repeated


# FLOPs per token as sources count them.
COUNTED = {
    "model, causal": lambda values: values["training_flops_per_token"],
    "model, full square": lambda values: values["training_flops_per_token_full_square"],
    "executed, full square": _executed_full_square,
}
