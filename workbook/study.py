"""Studies: which strategies to compare, on which model and hardware, read from a file that a user edits.

A study file is TOML: `title`, `description`, a table [common] of inputs that all strategies share and one
table [strategies."NAME"] per strategy. Keys are the inputs of the analysis, or look-ups to override. It may bring
catalogue rows of its own: [hardware."NAME"], [models."NAME"], [choices.TABLE."NAME"].
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import Any

from pyxl.errors import UserError
from pyxl.naming import check_name, check_text, suggestion
from pyxl.quantity import Failure, Kind, Quantity
from pyxl.readings.number import OK
from workbook import DEFAULT_STUDY, catalogue
from workbook.analysis import analysis
from workbook.catalogue import Table

HUGE = 1e18
LONGEST_TITLE = 200
SETTABLE = (Kind.INPUT, Kind.LOOKUP)
MAY_BE_NEGATIVE = ("bubble_weight_gradient",)
MAY_BE_ZERO = ("device_hour_price",)  # and inputs that are 0 unless told


@dataclass(frozen=True)
class Study:
    """A study ready to compute: strategies by name with their inputs, the tables, and constants that were changed."""

    title: str
    description: str
    origin: str
    strategies: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Table]
    constants: Mapping[str, Any]

    @cached_property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """Every table column by key, as `Model.compute` takes them."""
        return catalogue.columns(self.tables.values())

    @cached_property
    def values(self) -> dict[str, dict[str, Any]]:
        """Every quantity of every strategy."""
        return {
            name: analysis.compute({**self.constants, **inputs}, self.columns)
            for name, inputs in self.strategies.items()
        }

    def require_valid(self) -> None:
        """Raise `UserError` for the first strategy that cannot be computed or fails a check, naming it and why."""
        for name, values in self.values.items():
            for check in analysis.series["checks"]:
                if values[check] != OK:
                    raise UserError(f"{self.origin}: strategy '{name}': {values[check]}")
            for key, value in values.items():
                if isinstance(value, Failure):
                    raise UserError(f"{self.origin}: strategy '{name}': {key} cannot be computed: {value.reason}")


def names() -> list[str]:
    """The studies that come as templates."""
    return sorted(path.stem for path in (catalogue.templates_directory() / "studies").glob("*.toml"))


def _path(reference: str) -> Path:
    shipped = catalogue.templates_directory() / "studies" / f"{reference}.toml"
    if "/" not in reference and shipped.is_file():
        return shipped
    if not Path(reference).exists():
        advice = f"give a name ({', '.join(names())}) or the path of a study file"
        raise UserError(f"no study '{reference}': {suggestion(reference, names(), most=1)}{advice}")
    return Path(reference)


FIELDS: Mapping[str, type] = {
    "title": str,
    "description": str,
    "common": dict,
    "strategies": dict,
    "hardware": dict,
    "models": dict,
    "choices": dict,
}


def _fields(content: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The fields of a study. Raises `UserError` that names the one to mend."""
    for key in content:
        if key not in FIELDS:
            known = 'a study has title, description, [common], [strategies."NAME"] and rows of its own'
            raise UserError(f"{path}: unknown field '{key}': {known}")
    for key, kind in FIELDS.items():
        if not isinstance(content.get(key, kind()), kind):
            raise UserError(f"{path}: {key}: make it a {'text in quotes' if kind is str else 'table'}")
    title = content.get("title", "")
    if not title or len(title) > LONGEST_TITLE:
        raise UserError(f'{path}: title: write one of 1 to {LONGEST_TITLE} characters, as in title = "DeepSeek-V3"')
    strategies = content.get("strategies", {})
    if not strategies:
        raise UserError(f'{path}: strategies: there is none: add one, as in [strategies."ZeRO-1"]')
    for name, fields in strategies.items():
        if not isinstance(fields, dict):
            raise UserError(f"{path}: strategies.{name}: make it a table of inputs")
    for key in ("title", "description"):
        check_text(content.get(key, ""), f"{path}: {key}")
    return {key: content.get(key, kind()) for key, kind in FIELDS.items()}


def load(
    reference: str = DEFAULT_STUDY,
    hardware: str | None = None,
    model: str | None = None,
    settings: Sequence[str] = (),
) -> Study:
    """A study by name or path, with its hardware, its model and single inputs (NAME=VALUE) changed.

    Raises `UserError` for anything unknown, misspelt or out of range, naming file, strategy and field.
    """
    path = _path(reference)
    return _study(catalogue.read_toml(path), str(path), reference, hardware, model, settings)


def parsed(text: str, origin: str) -> Study:
    """A study from the text of a study file. Raises `UserError` as `load` does."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UserError(f"{origin} is not TOML: {problem}") from error
    return _study(content, origin, origin)


def _study(
    written: Mapping[str, Any],
    path: str,
    reference: str,
    hardware: str | None = None,
    model: str | None = None,
    settings: Sequence[str] = (),
) -> Study:
    content = _fields(written, path)
    tables = {table.name: table for table in catalogue.shipped()}
    for own in catalogue.own_tables(content, path):
        tables[own.name] = tables[own.name].with_rows(own)
    changes: dict[str, Any] = {}
    for kind, table_name, given, find in (
        ("model", catalogue.MODELS, model, catalogue.model),
        ("hardware", catalogue.HARDWARE, hardware, catalogue.hardware_device),
    ):
        if given is not None:
            found = find(given)
            tables[table_name] = tables[table_name].joined(found)
            changes[kind] = found.rows[0]["name"]
    changes |= dict(_setting(setting) for setting in settings)
    names = {table.name: [str(row["name"]) for row in table.rows] for table in tables.values()}
    shared = ((f"{path}: [common]", content["common"]), ("--set", changes))
    constants: dict[str, Any] = {}
    for origin, fields in shared:
        constants |= {
            key: checked(analysis[key], value, origin, names)
            for key, value in fields.items()
            if key in analysis.quantities and analysis[key].kind is Kind.CONSTANT
        }
    strategies: dict[str, dict[str, Any]] = {}
    folded: set[str] = set()
    for name, own in content["strategies"].items():
        check_name(name, f"strategy in {path}", word="ZeRO-1")
        if name.casefold() in folded:
            raise UserError(f"{path}: two strategies are named '{name}' but for case: look-ups cannot tell them apart")
        folded.add(name.casefold())
        common, changed = ({key: v for key, v in fields.items() if key not in constants} for _, fields in shared)
        origins = (shared[0][0], f"{path}: strategy '{name}'", shared[1][0])
        strategies[name] = {
            key: checked(_settable(key, origin), value, origin, names)
            for origin, fields in zip(origins, (common, own, changed), strict=True)
            for key, value in fields.items()
        }
    title, description = content["title"], content["description"]
    if changes:  # what the study says of itself may no longer hold
        listed = ", ".join(f"{name} = {value}" for name, value in changes.items())
        title = shorten(f"{Path(path).stem} with {listed}", LONGEST_TITLE, placeholder=" ...")
        description = f"Changed from the study: {content['title']}"
    return Study(title, description, reference, strategies, tables, constants)


def _setting(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not separator or not name or not value:
        raise UserError(f"--set {text}: write NAME=VALUE, as in --set devices=1024")
    try:
        return name, int(value)
    except ValueError:
        pass
    try:
        return name, float(value)
    except ValueError:
        return name, value


def _settable(key: str, origin: str) -> Quantity:
    """The quantity that a strategy may set. Raises `UserError` with close names."""
    quantity = analysis.quantities.get(key)
    if quantity is not None and quantity.kind in SETTABLE:
        return quantity
    if quantity is not None and quantity.kind is Kind.CONSTANT:
        raise UserError(f"{origin}: '{key}' is a constant of all strategies: set it in [common]")
    if quantity is not None:
        raise UserError(
            f"{origin}: '{key}' is computed: change its inputs, {', '.join(sorted(quantity.ingredients)[:4])}"
        )
    settable = [q.name for q in analysis.quantities.values() if q.kind in SETTABLE]
    hint = suggestion(key, settable) or "the sheet Analysis lists the inputs by key"
    raise UserError(f"{origin}: unknown field '{key}': {hint}")


def checked(quantity: Quantity, value: Any, origin: str, names: Mapping[str, Sequence[str]]) -> Any:
    """A value fit for a quantity's cell; `names` are those of each table's rows. Raises `UserError` where it is not."""
    where = f"{origin}: {quantity.name}"
    if quantity.unit == "text":
        return _word(value, where, names[str(quantity.choices)])
    if isinstance(value, str):
        value = _with_unit(quantity, value, where)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where} is {value!r}: write a number in {unit_in_words(quantity.unit)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{where} is {value}: write a finite number in {unit_in_words(quantity.unit)}")
    if abs(value) > HUGE:
        raise UserError(
            f"{where} is beyond {HUGE:g}, more than anything real: write it in {unit_in_words(quantity.unit)}"
        )
    may_be_zero = quantity.kind is Kind.LOOKUP or quantity.value == 0 or quantity.name in MAY_BE_ZERO
    if value < 0 and quantity.name not in MAY_BE_NEGATIVE:
        raise UserError(f"{where} is {value:g}: write a number {'from' if may_be_zero else 'above'} 0")
    if value == 0 and not may_be_zero:
        raise UserError(f"{where} is 0: write a number above 0")
    return value


def unit_in_words(unit: str) -> str:
    """A unit as a message names it."""
    return "plain units" if unit == "1" else unit


def _with_unit(quantity: Quantity, value: str, where: str) -> float:
    from pyxl.readings.unit import UnitError, convert  # units are slow to load and rarely needed

    try:
        return convert(value, quantity.unit)
    except UnitError:
        raise UserError(f"{where} is '{value}': write a number in {unit_in_words(quantity.unit)}") from None


def _word(value: Any, where: str, names: Sequence[str]) -> str:
    if not isinstance(value, str):
        raise UserError(f"{where} is {value!r}: write a name in quotes")
    known = {name.casefold(): name for name in names}
    if value.casefold() in known:
        return known[value.casefold()]
    raise UserError(f"{where} is '{value}': {suggestion(value, names, most=1)}there are: {', '.join(known.values())}")
