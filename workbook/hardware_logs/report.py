"""What an import took, fitted and left out, on the terminal."""

from __future__ import annotations

from rich.markup import escape

from workbook.hardware_logs.findings import Taken, shown
from workbook.tables import new_table, print_table

MOST = 40


def print_tables(taken: Taken) -> None:
    """Three tables: numbers, curves, and what was not used; then what logs lack."""
    if taken.findings:
        table = new_table("Taken", "Number", "Value", "From", "How")
        for name, finding in sorted(taken.findings.items()):
            words = (finding.log.place(finding.line), finding.how)
            table.add_row(name, shown(finding.value, finding.unit), *map(escape, words))
        table.columns[-1].justify = "left"
        print_table(table)
    if taken.curves:
        titles = ("Log", "What", "Points", "Best", "Rate", "Overhead", "Residual")
        table = new_table("Seconds = overhead + work / rate", *titles)
        for curve in taken.curves[:MOST]:
            unit, line = f"{curve.unit}/s", curve.fit
            fitted = (shown(line.rate, unit), shown(line.overhead, "s"), f"{line.residual:.1%}") if line else ("-",) * 3
            words = (escape(curve.log.name), escape(curve.label))
            table.add_row(*words, str(len(curve.points)), shown(curve.best_rate, unit), *fitted)
        print_table(table)
    if taken.left_out:
        table = new_table("Not taken", "Line", "What", "Why")
        for log, ignored in taken.left_out[:MOST]:
            times = f" (and {ignored.count - 1:,} more)" if ignored.count > 1 else ""
            table.add_row(*map(escape, (log.place(ignored.line), ignored.what, ignored.why + times)))
        for column in table.columns:
            column.justify = "left"
        print_table(table)
        if len(taken.left_out) > MOST:
            print(f"... and {len(taken.left_out) - MOST:,} more")
    for question in dict.fromkeys(taken.questions):
        print(question)
