"""The sheet of checks: one line each, all of them gathered in one master check that every sheet shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyxl.layout.header import FIRST_ROW, check_highlights
from pyxl.operations import Expression, Symbol, failures, require
from pyxl.plan import Formula, Reference, Sheet, formula_cell


@dataclass(frozen=True, slots=True)
class CheckLine:
    """A check: its name, what must hold, and an expression that is "OK" where it does; None where a program says so."""

    name: str
    note: str
    expression: Expression | None


def lay_out(sheet: Sheet, lines: Sequence[CheckLine], scope: Mapping[str, Reference]) -> Formula:
    """Lay the checks out and return the master check."""
    top = FIRST_ROW + 1
    sheet.put_row(top, 1, ["Check", "Result", "What must hold"], "header")
    sheet.widths.update({1: 44, 2: 60, 3: 110})
    results: list[object] = []
    for row, line in enumerate(lines, start=top + 1):
        cell = None if line.expression is None else formula_cell(line.expression, scope)
        sheet.put(row, 1, line.name, "label")
        sheet.put(row, 2, cell, "check" if cell else "reported")
        sheet.put(row, 3, line.note, "note")
        results.append(cell.value if cell else None)
    first, last = (top + 1, 2), (top + len(lines), 2)
    sheet.highlights.extend(check_highlights(f"B{first[0]}:B{last[0]}"))
    sheet.freeze = f"A{top + 1}"
    everything = Reference(sheet.range(first, last), tuple(results))
    return formula_cell(require(failures(Symbol("results")) == 0, "see the sheet Checks"), {"results": everything})
