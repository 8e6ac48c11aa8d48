"""The catalogue: models, hardware and choices, read from the template files that a user edits.

    templates/models/*.json      fields of a Hugging Face config.json, and their source
    templates/hardware/*.toml    one table per number, with unit, kind, source and date; [[curve]] for measured ones
    templates/choices.toml       [Table."row"] with numeric columns and a source

Every table has the columns that the analysis looks up. A number that is not known is None.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyxl.errors import UserError
from pyxl.naming import check_name, check_text, suggestion
from pyxl.operations import interpolated
from workbook.analysis import analysis
from workbook.hardware_checks import findings
from workbook.huggingface import model_fields

MODELS = "Models"
HARDWARE = "Hardware"
KINDS = ("datasheet", "measured", "announced", "secondary", "assumed")
LARGEST_FILE = 10_000_000
LARGEST_NUMBER = 1e30
MOST_POINTS = 100  # of a curve: more show nothing new
ROUNDED = 1e-5  # a number beside its curve is written with fewer digits

Parse = Callable[[str], Any]


@dataclass(frozen=True)
class Table:
    """Rows that a drop-down offers. Each row has its `name` and a value for every column, None if unknown.

    `sources` says where a value is from, by row name and column; the column "name" stands for the whole row.
    `curves` has what a value is read from, if it was measured over sizes.
    """

    name: str
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    sources: dict[tuple[str, str], str] = field(default_factory=dict)
    curves: dict[tuple[str, str], Curve] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for row in self.rows:
            other = seen.setdefault(row["name"].lower(), row["name"])
            if other is not row["name"]:
                raise UserError(f"{self.name} has two rows named '{row['name']}': give each its own name")

    def joined(self, other: Table) -> Table:
        """This table and the rows of another. Raises `UserError` where two different rows share a name."""
        rows = [row for row in other.rows if row not in self.rows]
        return Table(
            self.name, self.columns, [*self.rows, *rows], self.sources | other.sources, self.curves | other.curves
        )

    def with_rows(self, other: Table) -> Table:
        """This table with the rows of another, each in place of one that has its name."""
        new = {row["name"].casefold(): row for row in other.rows}
        kept = [new.pop(row["name"].casefold(), row) for row in self.rows]
        replaced = {row["name"] for row in other.rows}
        sources = {key: source for key, source in self.sources.items() if key[0] not in replaced}
        curves = {key: curve for key, curve in self.curves.items() if key[0] not in replaced}
        return Table(self.name, self.columns, [*kept, *new.values()], sources | other.sources, curves | other.curves)


def columns(tables: Iterable[Table]) -> dict[str, tuple[Any, ...]]:
    """The columns of the tables by key ("Models.hidden_size"), as `Model.compute` takes them."""
    return {
        f"{table.name}.{column}": tuple(row[column] for row in table.rows)
        for table in tables
        for column in ("name", *table.columns)
    }


@lru_cache(maxsize=1)
def table_columns() -> dict[str, dict[str, str]]:
    """The columns that the analysis looks up, by table, each with its unit."""
    units: dict[str, dict[str, str]] = {}
    for column in analysis.columns.values():
        if column.name != "name":
            units.setdefault(column.table, {})[column.name] = column.unit
    return units


def templates_directory() -> Path:
    """Where the templates are: beside the packages in a checkout, inside `workbook` when installed."""
    package = Path(__file__).resolve().parent
    for directory in (package / "templates", package.parent / "templates"):
        if (directory / "choices.toml").is_file():
            return directory
    raise UserError(f"no templates found beside {package}: install solbook again")


def _read(path: Path, parse: Parse, language: str) -> dict[str, Any]:
    """The mapping in a file. Raises `UserError` where it cannot be read or parsed or is no mapping."""
    if path.is_dir():
        example = "config.json" if language == "JSON" else "hardware.toml"
        raise UserError(f"{path} is a directory: give the file in it, such as {path / example}")
    if path.exists() and not path.is_file():  # it may never end
        raise UserError(f"{path} is a device or a pipe: give a file")
    try:
        if os.path.getsize(path) > LARGEST_FILE:
            raise UserError(f"{path} is too large for a {language} template: give the configuration, not the weights")
        content = parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: save it as {language} in UTF-8") from error
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise UserError(f"{path} is not {language}: {problem}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no fields: it has to be one {language} object")
    return content


def _read_json(path: Path) -> dict[str, Any]:
    return _read(path, json.loads, "JSON")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises `UserError` where it cannot be read."""
    return _read(path, tomllib.loads, "TOML")


def _close(word: str, words: Iterable[str]) -> str:
    """What to say about a name that is none of `words`: close ones, then all."""
    known = list(words)
    return f"{suggestion(word, known)}there are: {', '.join(known)}"


def _text(fields: Mapping[str, Any], key: str, place: str) -> str:
    """An optional text. Raises `UserError` if it is something else."""
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise UserError(f"{place}: {key} is {value!r}: write it as text in quotes")
    return check_text(" ".join(value.split()), f"{place}: {key}")


def _number(value: object, place: str) -> int | float:
    """A finite number. Raises `UserError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST_NUMBER:
        raise UserError(f"{place} is {repr(value)[:40]}: write a finite number, without quotes")
    return value


# Models


def _model_name(path: Path, config: Mapping[str, object]) -> str:
    """The first name that a row may have: `_name_or_path`, the file's, or its directory's for a config.json; with the
    model_type behind it where that alone reads as a cell address.
    """
    own = config.get("_name_or_path")
    candidates = [Path(own).name] if isinstance(own, str) else []
    candidates.append(path.resolve().parent.name if path.stem.lower() == "config" else path.stem)
    candidates.append(f"{candidates[-1]} {config.get('model_type')}")
    for candidate in candidates[:-1]:
        try:
            return check_name(candidate, "model")
        except UserError:
            continue
    return check_name(candidates[-1], f"model in {path} (rename the file or its directory)")


def _model_table(paths: Iterable[Path]) -> Table:
    rows: list[dict[str, Any]] = []
    sources: dict[tuple[str, str], str] = {}
    for path in paths:
        config = _read_json(path)
        name = _model_name(path, config)
        rows.append({"name": name, **model_fields(config, str(path))})
        sources[name, "name"] = _text(config, "source", str(path)) or path.name
    return Table(MODELS, tuple(table_columns()[MODELS]), rows, sources)


def _templates(kind: str, suffix: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted((templates_directory() / kind).glob(f"*{suffix}"))}


def models() -> Table:
    """All models that come as templates."""
    return _model_table(_templates("models", ".json").values())


def model(reference: str | os.PathLike[str]) -> Table:
    """One model as a table of one row: a template by its name, or the path of a config.json.

    Raises `UserError` where there is none such, or where the model is not supported.
    """
    named = {name.lower(): path for name, path in _templates("models", ".json").items()}
    path = named.get(os.fspath(reference).lower()) or Path(reference)
    if not os.path.exists(path):
        if path.suffix == ".json" or len(path.parts) > 1:
            raise UserError(f"{path} cannot be read: no such file")
        raise UserError(_missing("model", os.fspath(reference), (path.stem for path in named.values()), "config.json"))
    return _model_table([path])


# Hardware


@dataclass(frozen=True)
class Sourced:
    """A number of a device in its base unit, with where it is from."""

    value: int | float
    unit: str
    kind: str
    source: str
    date: str

    @property
    def provenance(self) -> str:
        return f"{self.kind}: {self.source}" + (f", {self.date}" if self.date else "")


@dataclass(frozen=True)
class Curve:
    """A rate that was measured over sizes: of messages in bytes, or of multiplications in FLOP. Base units.

    `rate` is that at the size `read_at`, between the points around it, with where the points are from.
    """

    points: tuple[tuple[float, float], ...]
    read_at: float
    rate: Sourced

    @property
    def sizes(self) -> tuple[float, ...]:
        """The sizes of the points, ascending."""
        return tuple(size for size, _ in self.points)

    @property
    def rates(self) -> tuple[float, ...]:
        """The rates of the points."""
        return tuple(rate for _, rate in self.points)


@dataclass(frozen=True)
class Device:
    """What a hardware file says: by column the numbers that are known, and the curves that some are read from."""

    name: str
    vendor: str
    status: str
    numbers: dict[str, Sourced]
    curves: dict[str, Curve] = field(default_factory=dict)


def _quantity(fields: object, unit: str, place: str) -> Sourced:
    """One number of a device. Raises `UserError` for what is wrong."""
    if not isinstance(fields, dict):
        raise UserError(f"{place} is {fields!r}: make it a table with value, unit, kind and source")
    _require_fields(fields, ("value", "unit", "kind", "source", "date"), place, "number")
    value = _number(fields["value"], f"{place}: value")
    if value <= 0:
        raise UserError(f"{place}: value is {value!r}: write a positive number, or leave out what is not known")
    written = _text(fields, "unit", place)
    if written != unit:
        value = _converted(value, written, unit, place)
    if unit == "device" and value != int(value):
        raise UserError(f"{place}: value is {value!r}: write a whole number of devices")
    return _sourced(value, unit, fields, place)


def _sourced(value: float, unit: str, fields: Mapping[str, Any], place: str) -> Sourced:
    kind = _text(fields, "kind", place)
    if kind not in KINDS:
        raise UserError(f"{place}: kind is {kind!r}: {_close(kind, KINDS)}")
    return Sourced(value, unit, kind, _text(fields, "source", place), str(fields.get("date", "")))


def _require_fields(fields: Mapping[str, Any], known: tuple[str, ...], place: str, what: str) -> None:
    """Raise `UserError` for a field that is not known, or for a missing one: all but the last, the date, are needed."""
    for key in fields:
        if key not in known:
            raise UserError(f"{place} has no field {key!r}: {_close(key, known)}")
    for key in known[:-1]:
        if fields.get(key, "") == "":
            raise UserError(f"{place} has no {key}: every {what} needs {', '.join(known[:-1])}")


def _curves(content: object, units: Mapping[str, str], place: str) -> dict[str, Curve]:
    """The curves of a device by the number that is read from each. Raises `UserError` for what is wrong."""
    if not isinstance(content, list):
        raise UserError(f"{place}: curve is {repr(content)[:40]}: make each curve a table of its own, [[curve]]")
    measured = [key for key in units if key.endswith("_measured")]
    curves: dict[str, Curve] = {}
    for number, fields in enumerate(content, start=1):
        where = f"{place}: [[curve]] {number}"
        if not isinstance(fields, dict):
            raise UserError(f"{where} is {repr(fields)[:40]}: make it a table with number, read_at and points")
        _require_fields(fields, ("number", "read_at", "points", "kind", "source", "date"), where, "curve")
        key = _text(fields, "number", where)
        if key not in measured:
            raise UserError(f"{where}: number is {key!r}: {_close(key, measured)}")
        if key in curves:
            raise UserError(f"{where}: {key} has a curve already: leave one of the two")
        curves[key] = _curve(fields, units[key], f"{where}, {key}")
    return curves


def _curve(fields: Mapping[str, Any], unit: str, place: str) -> Curve:
    written = fields["points"]
    if not isinstance(written, list) or not 2 <= len(written) <= MOST_POINTS:
        raise UserError(f"{place}: points: write 2 to {MOST_POINTS} of them, as in points = [[1e6, 2e9], [1e9, 4e10]]")
    points = []
    for number, point in enumerate(written, start=1):
        where = f"{place}: point {number}"
        if not isinstance(point, list) or len(point) != 2:
            raise UserError(f"{where} is {repr(point)[:40]}: write a size and a rate, as in [1e9, 4e10]")
        size, rate = (_number(value, where) for value in point)
        if size <= 0 or rate <= 0:
            raise UserError(f"{where} is {point!r}: write a size and a rate above 0")
        points.append((size, rate))
    for number, ((size, _), (following, _)) in enumerate(pairwise(points), start=2):
        if following <= size:
            raise UserError(f"{place}: point {number} has the size {following!r} after {size!r}: sizes have to ascend")
    read_at = _number(fields["read_at"], f"{place}: read_at")
    sizes, rates = zip(*points, strict=True)
    if not sizes[0] <= read_at <= sizes[-1]:
        raise UserError(
            f"{place}: read_at is {read_at!r}: choose a size within the curve, {sizes[0]!r} to {sizes[-1]!r}"
        )
    return Curve(tuple(points), read_at, _sourced(interpolated(read_at, sizes, rates), unit, fields, place))


def _read_from(curve: Curve, beside: Sourced | None, place: str) -> Sourced:
    """The number that a curve gives, which that beside it has to agree with."""
    if beside is None:
        return curve.rate
    if not math.isclose(beside.value, curve.rate.value, rel_tol=ROUNDED):
        raise UserError(
            f"{place}: value is {beside.value!r}, but its [[curve]] gives {curve.rate.value!r} at {curve.read_at!r}: "
            "mend either, or leave the number out"
        )
    return replace(beside, value=curve.rate.value)


def _converted(value: float, written: str, unit: str, place: str) -> float:
    from pyxl.readings.unit import UnitError, convert  # units are slow to load and templates rarely need them

    try:
        return convert(f"{value!r} {written}", unit)
    except UnitError as error:
        raise UserError(f"{place}: unit {written!r} does not fit: write the number in {unit}") from error


def _device(fields: Mapping[str, Any], place: str) -> Device:
    units = table_columns()[HARDWARE]
    known = ("name", "vendor", "status", *units, "curve")
    for key in fields:
        if key not in known:
            raise UserError(f"{place}: hardware has no field {key!r}: {_close(key, known)}")
    name = check_name(fields.get("name"), f"hardware in {place}")
    vendor, status = (_text(fields, key, place) for key in ("vendor", "status"))
    numbers = {key: _quantity(fields[key], unit, f"{place}: [{key}]") for key, unit in units.items() if key in fields}
    curves = _curves(fields.get("curve", []), units, place)
    read = {key: _read_from(curve, numbers.get(key), f"{place}: [{key}]") for key, curve in curves.items()}
    device = Device(name, vendor, status, numbers | read, curves)
    for finding in findings(device):
        if finding.is_error:
            raise UserError(f"{place}: {finding.text}")
    return device


def require_device(fields: Mapping[str, Any], place: str) -> None:
    """Raise `UserError`, as loading does, where the content of a hardware file is not right."""
    _device(fields, place)


def _hardware_table(devices: Iterable[Device]) -> Table:
    names = tuple(table_columns()[HARDWARE])
    rows: list[dict[str, Any]] = []
    sources: dict[tuple[str, str], str] = {}
    curves: dict[tuple[str, str], Curve] = {}
    for device in devices:
        known = {key: number.value for key, number in device.numbers.items()}
        rows.append({"name": device.name, **dict.fromkeys(names), **known})
        sources[device.name, "name"] = ", ".join(filter(None, (device.vendor, device.status)))
        sources |= {(device.name, key): number.provenance for key, number in device.numbers.items()}
        curves |= {(device.name, key): curve for key, curve in device.curves.items()}
    return Table(HARDWARE, names, rows, sources, curves)


def _read_device(path: Path) -> Device:
    return _device(read_toml(path), str(path))


def devices() -> list[Device]:
    """All devices that come as templates."""
    return [_read_device(path) for path in _templates("hardware", ".toml").values()]


def device(reference: str | os.PathLike[str]) -> Device:
    """One device: a template by its file's or its own name, or the path of a TOML file.

    Raises `UserError` where there is none such, or where the file is not right.
    """
    text, templates = os.fspath(reference), _templates("hardware", ".toml")
    named = {name.lower(): path for name, path in templates.items()}
    if text.lower() in named or os.path.exists(text):
        return _read_device(named.get(text.lower()) or Path(text))
    shipped = {device.name.lower(): device for device in devices()}
    if text.lower() in shipped:
        return shipped[text.lower()]
    if text.lower().endswith(".toml"):
        raise UserError(f"{text} cannot be read: no such file")
    raise UserError(_missing("hardware", text, (device.name for device in shipped.values()), "TOML file"))


def hardware() -> Table:
    """All devices that come as templates, as a table."""
    return _hardware_table(devices())


def hardware_device(reference: str | os.PathLike[str]) -> Table:
    """One device as a table of one row. Raises `UserError` as `device` does."""
    return _hardware_table([device(reference)])


def new_hardware(name: str) -> str:
    """A commented hardware file with examples for its numbers. Raises `UserError` for a name that no row may have."""
    check_name(name, "hardware")
    for shipped in devices():
        if shipped.name.casefold() == name.casefold():
            raise UserError(f"'{shipped.name}' comes with solbook: give the new device a name of its own")
    template = (templates_directory() / "hardware" / "new.toml.in").read_text(encoding="utf-8")
    return template.replace("@NAME@", json.dumps(name, ensure_ascii=False))


def _missing(what: str, reference: str, names: Iterable[str], file: str) -> str:
    return f"no {what} {reference!r}: {_close(reference, names)}; or give the path of a {file}"


# Choices


def choices() -> dict[str, Table]:
    """The choice tables by name. Raises `UserError` where a row lacks a column, or has one too many."""
    return choices_from(templates_directory() / "choices.toml")


def choices_from(path: Path) -> dict[str, Table]:
    """The choice tables of a file, all of them."""
    content = read_toml(path)
    return _choice_tables(content | {name: {} for name in _choice_columns() if name not in content}, str(path))


def _choice_columns() -> dict[str, dict[str, str]]:
    return {name: units for name, units in table_columns().items() if name not in (MODELS, HARDWARE)}


def _choice_tables(content: Mapping[str, Any], place: str) -> dict[str, Table]:
    expected, tables = _choice_columns(), {}
    for name, lines in content.items():
        if name not in expected:
            raise UserError(f"{place}: no table {name!r}: {_close(name, expected)}")
        if not isinstance(lines, dict) or not lines:
            raise UserError(f'{place}: table {name} has no rows: add one, as in [{name}."row name"]')
        columns = tuple(expected[name])
        rows = [_choice(fields, row, columns, f'{place}: [{name}."{row}"]') for row, fields in lines.items()]
        sources = {(row, "name"): _text(fields, "source", row) for row, fields in lines.items()}
        tables[name] = Table(name, columns, rows, sources)
    return tables


def _choice(fields: object, name: str, columns: tuple[str, ...], place: str) -> dict[str, Any]:
    if not isinstance(fields, dict):
        raise UserError(f"{place} is {fields!r}: make it a table with {', '.join(columns)}")
    check_name(name, place, may_be_address=True)
    for key in fields:
        if key not in (*columns, "source"):
            raise UserError(f"{place} has no column {key!r}: {_close(key, columns)}")
    for key in columns:
        if key not in fields:
            raise UserError(f"{place} lacks {key}: every row needs {', '.join(columns)}")
    return {"name": name} | {key: _number(fields[key], f"{place}: {key}") for key in columns}


def shipped() -> list[Table]:
    """All tables that come as templates."""
    return [models(), hardware(), *choices().values()]


# Rows that a study brings along


def own_tables(content: Mapping[str, Any], place: str) -> list[Table]:
    """Rows of the catalogues that stand in a study file: [hardware."NAME"] as a hardware file has it, [models."NAME"]
    with every column of the sheet Models, [choices.TABLE."NAME"] as choices.toml has it.

    Raises `UserError` that names what is wrong.
    """
    own_devices = _named(content.get("hardware", {}), f"{place}: [hardware]")
    models_content = _named(content.get("models", {}), f"{place}: [models]")
    own = [
        _hardware_table(
            _device({"name": name, **fields}, f'{place}: [hardware."{name}"]') for name, fields in own_devices.items()
        )
    ]
    rows = [_model_row(fields, name, f'{place}: [models."{name}"]') for name, fields in models_content.items()]
    sources = {(name, "name"): _text(fields, "source", place) for name, fields in models_content.items()}
    own.append(Table(MODELS, tuple(table_columns()[MODELS]), rows, sources))
    own.extend(_choice_tables(content.get("choices", {}), f"{place}: [choices]").values())
    return own


def _named(content: Any, place: str) -> dict[str, dict[str, Any]]:
    for name, fields in content.items():
        if not isinstance(fields, dict):
            raise UserError(f"{place}: {name} is {fields!r}: make it a table of numbers")
    return dict(content)


def _model_row(fields: Mapping[str, Any], name: str, place: str) -> dict[str, Any]:
    units = table_columns()[MODELS]
    for key in fields:
        if key not in (*units, "source"):
            raise UserError(f"{place} has no column {key!r}: {_close(key, units)}")
    for key in units:
        if key not in fields:
            raise UserError(f"{place} lacks {key}: every model needs {', '.join(units)}")
    return {"name": check_name(name, f"model in {place}")} | {
        key: _text(fields, key, place) if unit == "text" else _number(fields[key], f"{place}: {key}")
        for key, unit in units.items()
    }
