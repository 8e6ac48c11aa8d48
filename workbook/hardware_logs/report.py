"""What an import took, fitted and left out, on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from workbook.hardware_logs.findings import Taken

MOST = 40
_SCALES = {"FLOP/s": (1e12, "TFLOP/s"), "byte/s": (1e9, "GB/s"), "s": (1e-6, "us")}


def shown(value: float, unit: str) -> str:
    """A number as people say it."""
    scale, word = _SCALES[unit]
    return f"{value / scale:,.4g} {word}"


def print_tables(taken: Taken) -> None:
    """Three tables: numbers, curves, and what was not used."""
    console = Console(soft_wrap=True)
    if taken.findings:
        table = _table("Taken", "Number", "Value", "From", "How")
        for name, finding in sorted(taken.findings.items()):
            table.add_row(name, shown(finding.value, finding.unit), f"{finding.log.name}:{finding.line}", finding.how)
        console.print(table)
    if taken.curves:
        table = _table(
            "Seconds = overhead + work / rate", "Log", "What", "Points", "Best", "Rate", "Overhead", "Residual"
        )
        for curve in taken.curves[:MOST]:
            unit, fitted = f"{curve.unit}/s", curve.fit
            cells = (
                (shown(fitted.rate, unit), shown(fitted.overhead, "s"), f"{fitted.residual:.1%}")
                if fitted
                else ("no fit", "", "")
            )
            table.add_row(curve.log.name, curve.label, str(len(curve.points)), shown(curve.best_rate, unit), *cells)
        console.print(table)
    if taken.left_out:
        table = _table("Not taken", "Line", "What", "Why")
        for log, ignored in taken.left_out[:MOST]:
            times = f" (and {ignored.count - 1:,} more)" if ignored.count > 1 else ""
            table.add_row(f"{log.name}:{ignored.line}", ignored.what, ignored.why + times)
        console.print(table)
        if len(taken.left_out) > MOST:
            console.print(f"... and {len(taken.left_out) - MOST:,} more")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
