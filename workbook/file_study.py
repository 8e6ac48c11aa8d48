"""The study that a workbook's cells say: its inputs and catalogues, as if they had come from a study file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyxl import reader
from pyxl.cells import Formula, Place, Value
from workbook import catalogue
from workbook.analysis import analysis
from workbook.catalogue import HARDWARE, KINDS, Curve, Sourced, Table
from workbook.comparison import agree
from workbook.file_inputs import CATALOGUES, Inputs
from workbook.sheets import measured
from workbook.study import Study


def study_of(
    inputs: Inputs, recalculated: Mapping[Place, Value], title: str, description: str, names: Iterable[str]
) -> Study:
    """A study of the strategies `names`, with the catalogue rows that they use and constants that were changed."""
    strategies = {name: _inputs(inputs, name) for name in names}
    tables = {table.name: table for table in catalogue.shipped()}
    for sheet in CATALOGUES:
        for placed in reader.keyed_tables(inputs.sheets[sheet]):
            if placed.title in tables:
                used = {row for name in strategies for row in _used(inputs, recalculated, name, placed.title)}
                own = _table(inputs, placed, tables[placed.title], used, recalculated)
                tables[placed.title] = tables[placed.title].with_rows(own)
    constants = {key: value for key, value in inputs.constants.items() if not agree(value, analysis[key].value)}
    return Study(title, description, title, strategies, tables, constants)


def _inputs(inputs: Inputs, name: str) -> dict[str, Any]:
    """Every input that is not empty, and every look-up that was typed over."""
    typed = inputs.strategies[name]
    return {key: value for key, value in typed.items() if inputs.rows.content(key, name) is not None}


def _used(inputs: Inputs, recalculated: Mapping[Place, Value], name: str, table: str) -> set[str]:
    """The names of a table's rows that a strategy uses."""
    rows, values = inputs.rows, inputs.strategies[name]
    keys = [quantity.name for quantity in analysis if quantity.choices == table]
    return {
        str(values.get(key, recalculated.get(rows.place(key, name)))).casefold() for key in keys if key in rows.rows
    }


def _table(
    inputs: Inputs,
    placed: reader.KeyedTable,
    shipped: Table,
    used: set[str],
    recalculated: Mapping[Place, Value],
) -> Table:
    """The rows in use that are not as they ship."""
    rows: list[dict[str, Any]] = []
    sources: dict[tuple[str, str], str] = {}
    curves: dict[tuple[str, str], Curve] = {}
    known = {row["name"].casefold(): row for row in shipped.rows}
    for line, name in placed.rows.items():
        same = known.get(name.casefold())
        values = {
            key: reader.value_at(placed.grid, line, placed.columns[key], recalculated)
            if key in placed.columns
            else None
            for key in shipped.columns
        }
        is_shipped = same is not None and all(agree(values[key], same[key]) for key in shipped.columns)
        if name.casefold() not in used or is_shipped:
            continue
        if placed.title == HARDWARE:
            sources |= {
                (name, key): _provenance(placed.source(line, analysis[key].label), value, same and same[key])
                for key, value in values.items()
                if value is not None
            }
            curves |= _curves(inputs, placed, line, name, recalculated, sources)
        else:
            empty = {key: "" if analysis[key].unit == "text" else 0 for key in values}
            values = {key: empty[key] if value is None else value for key, value in values.items()}
        rows.append({"name": name, **values})
        sources[name, "name"] = placed.source(line) or "a workbook"
    return Table(placed.title, shipped.columns, rows, sources, curves)


def _curves(
    inputs: Inputs,
    placed: reader.KeyedTable,
    line: int,
    name: str,
    recalculated: Mapping[Place, Value],
    sources: Mapping[tuple[str, str], str],
) -> Iterator[tuple[tuple[str, str], Curve]]:
    """The curves that a device's cells point to."""
    if measured.TITLE not in inputs.sheets:
        return
    for curve in measured.read(inputs.sheets[measured.TITLE], recalculated):
        cell = placed.grid.cells.get((line, placed.columns.get(curve.key, 0)))
        if curve.device.casefold() == name.casefold() and isinstance(cell, Formula) and not curve.trouble:
            kind, _, source = sources[name, curve.key].partition(": ")
            value = reader.value_at(placed.grid, line, placed.columns[curve.key], recalculated)
            rate = Sourced(value, analysis[curve.key].unit, kind, source, "")
            points = tuple((float(size), float(speed)) for size, speed in curve.points)
            yield (name, curve.key), Curve(points, curve.values[measured.READ_AT], rate)


def _provenance(written: str, value: Any, shipped: Any) -> str:
    """Kind and source of a number: one that was typed over a shipped one has lost its source."""
    kind, separator, _ = written.partition(": ")
    if separator and kind in KINDS and (shipped is None or agree(value, shipped)):
        return written
    return f"assumed: typed into the workbook{f', in place of {written}' if written else ''}"
