"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from workbook import catalogue, study
from workbook.analysis import analysis
from workbook.hardware_checks import ANNOUNCED, SCALES, shown

if TYPE_CHECKING:
    from workbook.comparison import Difference
    from workbook.validation import Comparison, Report

LONGEST_TABLE = 60
WIDEST = 400
NARROW = 160
SHOWN = (
    ("Bound by", "bound", ""), ("Fits", "memory_fits", ""), ("Step s", "step_time_lower_bound", ".3f"),
    ("Compute s", "compute_time", ".3f"), ("Bubble s", "bubble_time", ".3f"), ("HBM s", "hbm_time", ".3f"),
    ("Scale-up s", "scale_up_time", ".3f"), ("Scale-out s", "scale_out_time", ".3f"),
    ("Pods s", "pod_time", ".3f"), ("Upper s", "step_time_upper_bound", ".3f"),
    ("MFU", "model_flops_utilization", ".1%"), ("Memory", "device_memory", "GB"), ("Days", "training_days", ",.1f"),
)  # fmt: skip
ESSENTIAL = ("bound", "memory_fits", "step_time_lower_bound", "model_flops_utilization")
RATES = {
    "bf16": "BF16", "fp8": "FP8", "fp4": "FP4", "hbm": "HBM", "scale_up": "Scale-up", "scale_out": "Scale-out",
}  # fmt: skip


def print_table(table: RenderableType) -> None:
    """Print a table, or a tree, at its own width where the terminal is narrower: lines that wrap lose nothing."""
    console = Console()
    console.width = max(console.width, console.measure(table, options=console.options.update(width=WIDEST)).maximum)
    console.print(table)


def new_table(title: str, *columns: str) -> Table:
    """A table with a title; its first column never wraps."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=number == 0)
    return table


def _shown(value: Any, form: str) -> str:
    if form == "GB":
        return f"{value / 1e9:,.1f} GB"
    return format(value, form)


def strategies_table(loaded: study.Study) -> None:
    """One line per strategy; `--json` has every quantity."""
    narrow = Console().is_terminal and Console().width < NARROW
    shown = [column for column in SHOWN if not narrow or column[1] in ESSENTIAL]
    table = new_table(loaded.title, "Strategy", *(title for title, _, _ in shown))
    for name, values in loaded.values.items():
        table.add_row(name, *(_shown(values[key], form) for _, key, form in shown))
    print_table(table)


def counts_table(counted: Mapping[str, Any]) -> None:
    """Parameters and FLOPs of one model."""
    flat = {key: value for key, value in counted.items() if not isinstance(value, dict)} | counted["parameters"]
    table = new_table(f"{counted['model']}", "Count", "Value")
    for key, value in flat.items():
        if key != "model":
            table.add_row(key, f"{int(value) if value == int(value) else value:,}")
    print_table(table)


def models_table() -> None:
    """The shipped models."""
    loaded = catalogue.models()
    table = new_table("Models", "Model", "Layers", "Hidden size", "Attention", "Experts", "Parameters")
    columns = catalogue.columns([*catalogue.choices().values(), loaded, catalogue.hardware()])
    for row in loaded.rows:
        total = analysis.compute({"model": row["name"]}, columns)["total_parameters"]
        experts = f"{row['num_experts_per_tok']} of {row['n_routed_experts']}" if row["n_routed_experts"] else "-"
        table.add_row(
            row["name"],
            str(row["num_hidden_layers"]),
            str(row["hidden_size"]),
            row["attention_kind"],
            experts,
            f"{total:,}",
        )
    print_table(table)


def hardware_table() -> None:
    """The shipped devices: measured over peak, a dash for an unknown number."""
    table = Table(
        title="Hardware per device and direction, dense: measured/peak in TFLOP/s and GB/s, memory in GiB; * announced",
        title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True,
    )  # fmt: skip
    for number, title in enumerate(("Device", "", "Domain", "GiB", *RATES.values())):
        table.add_column(title, justify="right" if number else "left", no_wrap=True)
    for device in catalogue.devices():
        announced = "*" if device.status == ANNOUNCED else ""
        single = (_scaled(device, key) for key in ("scale_up_domain", "memory_capacity"))
        rates = (_scaled(device, f"{rate}_measured") + "/" + _scaled(device, f"{rate}_peak") for rate in RATES)
        table.add_row(device.name, announced, *single, *("-" if rate == "-/-" else rate for rate in rates))
    print_table(table)


def _scaled(device: catalogue.Device, key: str) -> str:
    """A number in few digits, without its unit; a dash where it is not known."""
    if key not in device.numbers:
        return "-"
    number = device.numbers[key]
    scaled = number.value / SCALES[number.unit][0]
    return f"{scaled:.0f}" if scaled >= 100 or scaled == int(scaled) else f"{scaled:.3g}"


def device_table(device: catalogue.Device) -> None:
    """All numbers of one device with where they are from, and the share of each peak that is measured."""
    table = new_table(
        ", ".join(filter(None, (device.name, device.vendor, device.status))),
        "Number",
        "Value",
        "Kind",
        "Date",
        "Source",
    )
    for column in table.columns[2:]:
        column.justify = "left"
    table.columns[-1].overflow = "fold"
    for key in catalogue.table_columns()[catalogue.HARDWARE]:
        if key not in device.numbers:
            table.add_row(analysis[key].label, "-")
            continue
        number = device.numbers[key]
        rate, _, which = key.rpartition("_")
        peak = device.numbers.get(f"{rate}_peak")
        share = f" ({number.value / peak.value:.0%} of peak)" if which == "measured" and peak else ""
        value = shown(number.value, number.unit)
        table.add_row(analysis[key].label, value + share, number.kind, number.date, number.source)
    Console().print(table)


def studies_table() -> None:
    """The shipped studies."""
    table = new_table("Studies", "Study", "Strategies", "Title")
    table.columns[-1].justify = "left"
    for name in study.names():
        loaded = study.load(name)
        table.add_row(name, str(len(loaded.strategies)), loaded.title)
    print_table(table)


def differences_table(path: Path, evaluator: str, found: Sequence[Difference], compared: int) -> None:
    """What verification found, or one line that all agrees."""
    if not found:
        print(f"{path}: all {compared:,} values agree, recalculated with {evaluator}")
        return
    table = new_table(
        f"{path}: {len(found):,} of {compared:,} values differ, recalculated with {evaluator}",
        "Cell", "Strategy or row", "Quantity", "In the file", "In Python", "Relative", "Why",
    )  # fmt: skip
    for difference in found[:LONGEST_TABLE]:
        table.add_row(
            f"{difference.sheet}!{difference.cell}", difference.strategy, difference.quantity,
            str(difference.found), str(difference.expected), _relative(difference), difference.why,
        )  # fmt: skip
    print_table(table)
    if len(found) > LONGEST_TABLE:
        print(f"... and {len(found) - LONGEST_TABLE:,} more")


def _relative(difference: Difference) -> str:
    numbers = [v for v in (difference.found, difference.expected) if isinstance(v, int | float)]
    if len(numbers) < 2 or not numbers[1]:
        return ""
    return f"{float(numbers[0]) / float(numbers[1]) - 1:+.1e}"


def validation_tables(report: Report) -> None:
    """Measured over bound by source, why rows have no bound, and single rows: all of few, else those too fast."""
    table = new_table(
        "Measured step time over its lower bound", "Source", "Rows", "Supported", "Violations", "Min", "Median", "Max"
    )
    for summary in (*report.sources, report.total):
        shown = [f"{summary.distribution[key]:.2f}" if summary.supported else "-" for key in ("min", "median", "max")]
        counts = (summary.rows, summary.supported, len(summary.violations))
        table.add_row(summary.name, *map(str, counts), *shown)
    print_table(table)
    if report.total.unsupported:
        reasons = new_table("Rows without a bound", "Reason", "Rows")
        for reason, rows in report.total.unsupported.items():
            reasons.add_row(reason, str(rows))
        print_table(reasons)
    if report.total.rows <= LONGEST_TABLE:
        _comparisons_table("Rows", report.comparisons)
    elif report.total.violations:
        _comparisons_table("Faster than the bound", report.total.violations[:LONGEST_TABLE])


def _comparisons_table(title: str, comparisons: Sequence[Comparison]) -> None:
    table = new_table(
        title, "Line", "Model", "Hardware", "Devices", "Measured s", "Bound s", "Measured / bound",
        "Bound by, or why not compared",
    )  # fmt: skip
    for comparison in comparisons:
        run = comparison.run
        table.add_row(
            f"{run.file}:{run.line}", run.model, run.hardware, run.devices,
            *((f"{comparison.measured:.4g}", f"{comparison.lower_bound:.4g}", f"{comparison.ratio:.2f}")
              if comparison.supported else ("-", "-", "-")), comparison.bound or comparison.reason,
        )  # fmt: skip
    print_table(table)
