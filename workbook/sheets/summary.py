"""Summary: the answer in one line per strategy, two charts, and where the time goes."""

from __future__ import annotations

from collections.abc import Mapping

from pyxl.layout import summary_sheet
from pyxl.layout.header import FIRST_ROW, start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.layout.summary_sheet import Heading
from pyxl.operations import Symbol, least, most, pick, where
from pyxl.plan import Chart, Reference, Series, Sheet, formula_cell
from pyxl.style import number_format
from workbook.analysis import analysis
from workbook.study import Study

HOW_TO_READ = (
    "Each time is the least that the resource can take for one optimizer step, were it always busy at its ceiling. "
    "Lower bound: all overlap, so the busiest resource sets the step time, with what no schedule can hide: the speed"
    " of light of the strategy. Upper bound: nothing overlaps, one resource works after the other.",
    "Bound by: the busiest resource; compute includes the pipeline's bubble. Network time / compute time above 1: "
    "devices wait for the network. MFU counts FLOPs as flop_convention says; over the BF16 peak, as DeepSeek has it, "
    "it may exceed 100 % with FP8.",
    'To ask "what if", change a yellow cell of the sheet Analysis, or copy a column into the next free one. '
    "Every number here follows.",
)

USABLE = "usable_step_time"
FAILED = "failed_checks"
NONE_FITS = "none fits"

VERDICT = (
    Heading("Bound by", "bound"),
    Heading("Fits in memory", "memory_fits"),
    Heading("Step time, lower bound", "step_time_lower_bound"),
    Heading("Step time, upper bound", "step_time_upper_bound"),
    Heading("Network time / compute time", "communication_compute_ratio"),
    Heading("MFU", "model_flops_utilization"),
    Heading("Measured / lower bound", "measured_over_lower_bound"),
    Heading("Tokens per second and device", "tokens_per_second_per_device"),
    Heading("Days of the run", "training_days"),
    Heading("Cost of the run", "training_cost"),
    Heading("Memory per device", "device_memory"),
    Heading("Memory capacity", "memory_capacity"),
    Heading("Failed checks", FAILED),
)

DETAILS = (
    Heading("Compute", "compute_time"),
    Heading("Bubble", "bubble_time"),
    Heading("HBM", "hbm_time"),
    Heading("Scale-up (NVLink)", "scale_up_time"),
    Heading("Scale-out (InfiniBand)", "scale_out_time"),
    Heading("Between pods", "pod_time"),
    Heading("Latency", "latency_time"),
    Heading("Compute of the busiest device", "busiest_device_compute_time"),
    Heading("Compute and bubble, or busiest device", "pipeline_time"),
    Heading("Break-even scale-up bandwidth", "break_even_scale_up_bandwidth"),
    Heading("Break-even scale-out bandwidth", "break_even_scale_out_bandwidth"),
    Heading("Bound by above it", "bound_without_scale_out"),
    Heading("Break-even tokens per device", "break_even_tokens_per_device"),
    Heading("Bound by with more", "bound_at_break_even_tokens"),
    Heading("Break-even nodes", "break_even_nodes"),
    Heading("Bound by with fewer", "bound_at_break_even_nodes"),
    Heading(
        "Step time, if it fits",
        USABLE,
        where(Symbol("memory_fits") == "yes", Symbol("step_time_lower_bound"), "none"),
    ),
    # An empty text is drawn as 0, which a logarithmic axis cannot show: a free slot holds a value below the axis.
    Heading("For the chart: compute and bubble", "pipeline_time_in_chart", Symbol("pipeline_time"), "1", free=-1),
    Heading("For the chart: memory", "device_memory_in_chart", Symbol("device_memory"), "byte", free=1),
    Heading("For the chart: capacity", "memory_capacity_in_chart", Symbol("memory_capacity"), "byte", free=1),
)

BOUND_AT_BREAK_EVEN = ("bound_without_scale_out", "bound_at_break_even_tokens", "bound_at_break_even_nodes")
STRATEGY = "strategy"
HEADLINES = (
    ("Fastest strategy that fits in memory", STRATEGY, "text"),
    ("It is bound by", "bound", "text"),
    ("Its step takes at least", USABLE, "s"),
)
CHART_ROWS = 28
CHART_SIZE = (19.0, 12.5)
COLORS = {
    "compute_time": "4472C4",
    "bubble_time": "A5A5A5",
    "hbm_time": "70AD47",
    "scale_up_time": "FFC000",
    "scale_out_time": "C00000",
    "pod_time": "7030A0",
    "line": "1F3864",
}


def sheet(study: Study, placed: ModelSheet) -> tuple[Sheet, dict[str, Reference]]:
    """The first sheet, understood in a minute, and its strategies as a reference for checks."""
    summary = start("Summary", study.title, study.description)
    top = FIRST_ROW + 5
    verdict = summary_sheet.lay_out(summary, top, analysis, placed, study.values, VERDICT, FAILED)
    notes = top + placed.slots + 1
    for row, text in enumerate(HOW_TO_READ, start=notes):
        summary.put(row, 1, text, "note")
    charts = notes + len(HOW_TO_READ) + 1
    details = charts + CHART_ROWS
    summary.put(details - 1, 1, "Where the time goes, and what would turn a strategy compute-bound", "headline")
    places = verdict | summary_sheet.lay_out(summary, details, analysis, placed, study.values, DETAILS, FAILED)
    summary.highlights.extend(
        summary_sheet.verdict_highlights(
            places, {"bound": "compute", "memory_fits": "yes", **dict.fromkeys(BOUND_AT_BREAK_EVEN, "compute")}
        )
    )
    _headline(summary, verdict, places)
    summary.freeze = f"C{top + 1}"
    summary.portrait, summary.pages_tall = True, 1
    strategy = places["strategy"].address
    labels = {heading.quantity: heading.title for heading in DETAILS}
    resources = ("compute_time", "bubble_time", "hbm_time", "scale_up_time", "scale_out_time", "pod_time")
    line = _marks("Compute and bubble: stay under this", places["pipeline_time_in_chart"], COLORS["line"])
    capacity = _marks("Capacity", places["memory_capacity_in_chart"], COLORS["scale_out_time"])
    memory = Series("Memory per device", places["device_memory_in_chart"].address, color=COLORS["compute_time"])
    summary.charts.append(
        Chart(
            "stacked",
            "Seconds per step that each resource needs",
            f"A{charts}",
            [Series(labels[key], places[key].address, color=COLORS[key]) for key in resources],
            categories=strategy,
            lines=[line],
            y_title="seconds",
            y_format="0",
            y_range=(0.0, None),
            size=CHART_SIZE,
        )
    )
    summary.charts.append(
        Chart(
            "columns",
            "Memory per device against its capacity, logarithmic",
            f"G{charts}",
            [memory],
            categories=strategy,
            y_title="bytes",
            y_format='[>=1000000000000]0,,,," TB";0,,," GB"',
            logarithmic=True,
            lines=[capacity],
            y_range=(1e9, 1e14),
            size=CHART_SIZE,
        )
    )
    return summary, {"Summary.strategy": places["strategy"]}


def _marks(name: str, place: Reference, color: str) -> Series:
    """A limit, as a mark over each column: a line would run on through free slots."""
    return Series(name, place.address, color=color, marker="dash", line=False)


def _headline(sheet: Sheet, verdict: Mapping[str, Reference], details: Mapping[str, Reference]) -> None:
    """The answer. What another table says is found there by the strategy's name: rows may be inserted in one alone."""
    usable, chosen = Symbol(USABLE), Symbol("fastest strategy")
    found: dict[str, Reference] = {}
    for row, (label, shown, unit) in enumerate(HEADLINES, start=FIRST_ROW):
        sheet.put(row, 1, label, "headline")
        if shown in (STRATEGY, USABLE):
            fastest = where(most(usable) > 0, pick(least(usable), usable, Symbol(shown)), NONE_FITS)
            answer = formula_cell(fastest, details)
        else:
            named = where(chosen == NONE_FITS, NONE_FITS, pick(chosen, Symbol(STRATEGY), Symbol(shown)))
            answer = formula_cell(named, {**verdict, **found})
        found.setdefault("fastest strategy", Reference(sheet.address(row, 3), answer.value))
        sheet.put(row, 3, answer, "headline", number_format(unit))
