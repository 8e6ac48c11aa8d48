"""The audit for people: on the terminal, as a web page, as a workbook."""

from __future__ import annotations

from html import escape
from pathlib import Path

from pyxl.errors import UserError
from pyxl.plan import Plan, Sheet
from workbook.audit.findings import Audit
from workbook.audit.table import HEADS, WIDTHS, printable, row

LONGEST = 60
SUFFIXES = (".xlsx", ".html")
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 14px/1.45 Calibri, Arial, sans-serif; margin: 2em; color: #1a1a1a; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #bfbfbf; padding: 4px 8px; text-align: left; vertical-align: top; }}
th {{ background: #d9e2f3; position: sticky; top: 0; }}
td {{ max-width: 44em; overflow-wrap: anywhere; }}
</style>
<h1>{title}</h1>
<p>{verdict}</p>
{table}
{remarks}
</html>
"""


def print_audit(audit: Audit) -> None:
    """A line for what was done where, and one that says it in words."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    console.print(Text(f"{audit.name}: {audit.verdict}", style="bold" if audit.findings else ""))
    for finding in audit.findings[:LONGEST]:
        kind, where, quantity, strategies, text, *_ = row(finding)
        quantity = "" if quantity == "strategy" else quantity
        named = " of ".join(filter(None, (quantity, strategies)))
        console.print(Text.assemble((kind, "bold red"), f"  {where}  ", (named, "bold")))
        console.print(Text(f"    {text}"))
    if len(audit.findings) > LONGEST:
        console.print(f"... and {len(audit.findings) - LONGEST:,} more: see --json or --report")
    for remark in audit.remarks:
        console.print(Text(f"remark: {printable(remark)}", style="dim"))


def write_report(audit: Audit, path: Path, *, force: bool) -> None:
    """Write the audit as a web page or a workbook. Raises `UserError` where the file is in the way."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path} must end in {' or '.join(SUFFIXES)}")
    if path.exists() and not force:
        raise UserError(f"{path} exists: give another name, or overwrite it with --force")
    from pyxl.writer import workbook_bytes, write_file

    data = html(audit).encode() if path.suffix.lower() == ".html" else workbook_bytes(_plan(audit))
    write_file(path, data)


def html(audit: Audit) -> str:
    """A page that needs nothing else."""
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row(finding)) for finding in audit.findings]
    head = "".join(f"<th>{head}</th>" for head in HEADS)
    table = f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if lines else ""
    remarks = "".join(f"<p>Remark: {escape(remark)}</p>" for remark in audit.remarks)
    title = escape(f"Audit of {audit.name}")
    return PAGE.format(title=title, verdict=escape(audit.verdict), table=table, remarks=remarks)


def _plan(audit: Audit) -> Plan:
    sheet = Sheet("Audit")
    sheet.put(1, 1, f"Audit of {audit.name}", "title")
    sheet.put(2, 1, audit.verdict, "note")
    sheet.put_row(4, 1, HEADS, "header")
    for number, finding in enumerate(audit.findings, start=5):
        sheet.put_row(number, 1, row(finding), "prose")
    for number, remark in enumerate(audit.remarks, start=6 + len(audit.findings)):
        sheet.put(number, 1, f"remark: {printable(remark)}", "note")
    sheet.widths.update(enumerate(WIDTHS, start=1))
    sheet.freeze = "A5"
    for number in range(5, 5 + len(audit.findings)):
        sheet.fit_height(number)
    return Plan(f"Audit of {audit.name}", audit.verdict, [sheet])
