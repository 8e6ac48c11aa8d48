"""A study as the text of a study file: what `workbook.study.load` reads, with all that does not ship with solbook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyxl.errors import MissingProgram
from workbook import catalogue
from workbook.analysis import analysis
from workbook.catalogue import HARDWARE, KINDS, MODELS, Curve, Table
from workbook.study import Study

_HEADINGS = {HARDWARE: "hardware", MODELS: "models"}  # other tables are choices


def study_text(study: Study) -> str:
    """The study file. Inputs that all strategies share stand in [common]; catalogue rows that do not ship, or were
    edited, come along.
    """
    try:
        import tomlkit
    except ModuleNotFoundError as error:
        raise MissingProgram("writing a study needs the package tomlkit: pip install tomlkit") from error

    first, *others = study.strategies.values()
    shared = {key: value for key, value in first.items() if all(_same(value, other.get(key)) for other in others)}
    content: dict[str, Any] = {
        "title": study.title,
        "description": study.description,
        "common": {**study.constants, **(shared if others else {})},
        "strategies": {
            name: {key: value for key, value in inputs.items() if not others or key not in shared}
            for name, inputs in study.strategies.items()
        },
        **_own_rows(study.tables),
    }
    return tomlkit.dumps({key: value for key, value in content.items() if value})


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _own_rows(tables: Mapping[str, Table]) -> dict[str, Any]:
    """Catalogue rows that are not as they ship, as `workbook.catalogue.own_tables` reads them."""
    found: dict[str, Any] = {}
    for shipped in catalogue.shipped():
        table = tables[shipped.name]
        known = {row["name"]: row for row in shipped.rows}
        sources = {name: {k[1]: s for k, s in shipped.sources.items() if k[0] == name} for name in known}
        for row in table.rows:
            name = row["name"]
            own = {key: source for (of, key), source in table.sources.items() if of == name}
            curves = {key: curve for (of, key), curve in table.curves.items() if of == name}
            ships = {key: curve for (of, key), curve in shipped.curves.items() if of == name}
            if known.get(name) == row and sources[name] == own and curves == ships:
                continue
            place = found.setdefault(_HEADINGS.get(table.name, "choices"), {})
            if table.name not in _HEADINGS:
                place = place.setdefault(table.name, {})
            place[name] = _own_row(table.name, row, own, curves)
    return found


def _own_row(
    table: str, row: Mapping[str, Any], sources: Mapping[str, str], curves: Mapping[str, Curve]
) -> dict[str, Any]:
    values = {key: value for key, value in row.items() if key != "name"}
    if table != HARDWARE:
        return values | {"source": sources.get("name", "")}
    numbers = {
        key: {"value": value, "unit": analysis[key].unit, **_provenance(sources.get(key, ""))}
        for key, value in values.items()
        if value is not None
    }
    read = [
        {"number": key, "read_at": curve.read_at, "points": [list(point) for point in curve.points]}
        | _provenance(curve.rate.provenance)
        for key, curve in curves.items()
    ]
    return {"vendor": sources.get("name", ""), **numbers, **({"curve": read} if read else {})}


def _provenance(written: str) -> dict[str, str]:
    """Kind and source of a number from the text that stands for both."""
    kind, separator, source = written.partition(": ")
    if separator and kind in KINDS:
        return {"kind": kind, "source": source}
    return {"kind": "assumed", "source": written or "typed into a workbook"}
