"""Catalogues: tables whose rows a user picks by name and may add to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pyxl.cells import letter
from pyxl.plan import Formula, Reference, Sheet, Validation
from pyxl.style import number_format

SPARE_ROWS = 10  # room below the last row that look-ups and drop-downs already cover


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a catalogue: its key, label, unit and note, and the range or lowest number that it allows."""

    name: str
    label: str
    unit: str
    note: str
    allowed: str = ""
    lowest: int = 0


def source_head(label: str = "") -> str:
    """The head of the column with the sources of one column's numbers, by its label, or of whole rows."""
    return f"Source: {label}" if label else "Source"


def place_table(
    sheet: Sheet,
    row: int,
    table: str,
    fields: Sequence[Field],
    rows: Sequence[Mapping[str, Any]],
    sources: Mapping[tuple[str, str], str],
    spare: int = SPARE_ROWS,
    formulas: Mapping[tuple[str, str], Formula] = MappingProxyType({}),
) -> tuple[dict[str, Reference], int]:
    """Lay a table out from `row` on; returns each column's reference, keyed "table.column", and the last row.

    Each row's first cell is its name. Sources of single numbers follow in columns of their own behind the
    values, a source of the whole row (key "name") in one. `formulas`, by row and column too, take values from
    elsewhere.
    """
    sheet.put(row, 1, table, "header")
    for column, field in enumerate(fields, start=2):
        sheet.put(row, column, field.label, "header")
        sheet.put(row + 1, column, field.unit, "note")
        sheet.put(row + 2, column, field.name, "key")
        sheet.widths[column] = max(sheet.widths.get(column, 0), 14, min(len(field.name), 24) + 1)
        cells = f"{letter(column)}{row + 3}:{letter(column)}{row + 2 + len(rows) + spare}"
        sheet.validations.append(Validation(cells, field.allowed, field.label, field.note, field.lowest))
    sheet.put(row + 1, 1, "unit", "note")
    sheet.put(row + 2, 1, "name", "key")
    first, last = row + 3, row + 2 + len(rows) + spare
    own = [field for field in fields if any((str(r["name"]), field.name) in sources for r in rows)]
    behind = len(fields) + 2
    for offset, field in enumerate(own):
        sheet.put(row, behind + offset, source_head(field.label), "header")
        sheet.widths[behind + offset] = 34
    if any((str(r["name"]), "name") in sources for r in rows):
        sheet.put(row, behind + len(own), source_head(), "header")
        sheet.widths[behind + len(own)] = max(60, sheet.widths.get(behind + len(own), 0))
    for offset in range(len(rows) + spare):
        values = rows[offset] if offset < len(rows) else {}
        name = values.get("name")
        sheet.put(first + offset, 1, name, "input")
        for column, field in enumerate(fields, start=2):
            given = formulas.get((str(name), field.name))
            content, style = (given, "look-up") if given else (values.get(field.name), "input")
            sheet.put(first + offset, column, content, style, number_format(field.unit))
        for column, field in enumerate(own, start=behind):
            if (str(name), field.name) in sources:
                sheet.put(first + offset, column, sources[str(name), field.name], "note")
        if (str(name), "name") in sources:
            sheet.put(first + offset, behind + len(own), sources[str(name), "name"], "note")
    padding = (None,) * spare
    places = {
        f"{table}.{key}": Reference(
            sheet.range((first, column), (last, column)), (*(r.get(key) for r in rows), *padding)
        )
        for column, key in enumerate(["name", *(field.name for field in fields)], start=1)
    }
    return places, last
