"""Measured numbers and their curves into a hardware file, which keeps its comments and all that is of other origin."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from pyxl.errors import UserError
from pyxl.naming import check_name
from pyxl.writer import write_file
from workbook import catalogue
from workbook.hardware_checks import EXAMPLE, SCALES, SHIPPING
from workbook.hardware_logs.findings import Finding, shown
from workbook.hardware_logs.records import MEASURED

OWN_SOURCES = ("(sha256 ", f"{MEASURED} ")
DIGITS = 6  # more than any benchmark means


def known(path: Path) -> dict[str, float]:
    """The numbers that a hardware file has, in base units; none where there is no file yet.

    Raises `UserError` where it is no hardware file.
    """
    if path.suffix.lower() != ".toml":
        raise UserError(f"{path} must end in .toml: hardware files are TOML")
    if not path.exists():
        return {}
    (row,) = catalogue.hardware_device(path).rows
    return {name: value for name, value in row.items() if isinstance(value, int | float)}


def require_device(path: Path, name: str | None, device: str) -> None:
    """Raise `UserError` where a file cannot be extended for a device of this name, if one is given, or be begun for it,
    or else for the device that was found.
    """
    if path.exists():
        present = catalogue.read_toml(path).get("name")
        if name and name != present:
            raise UserError(f"{path} is of {present!r}, not {name!r}: leave out --name, or choose another file")
        return
    if not (name or device):
        raise UserError(f"{path} is new and no log names the device: say what it is with --name")
    check_name(name or device, f"hardware in {path}")
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {path.parent}")


def write(path: Path, findings: Mapping[str, Finding], name: str | None, device: str, *, force: bool) -> None:
    """Add the numbers to a hardware file, or begin one of `name`, or else of the `device` that was found.

    Raises `UserError` where the file is none, has a number of another origin in the way, or would hold what no device
    can be; then nothing is written.
    """
    require_device(path, name, device)
    exists = path.exists()
    content = catalogue.read_toml(path) if exists else {}
    curves = {curve["number"]: curve for curve in content.get("curve", [])}
    for finding in findings.values():
        _require_replaceable(path, content.get(finding.column), finding, force=force)
        _require_own(path, curves.get(finding.column), finding, force=force)
    import tomlkit  # edits what stands in the file: comments and order survive
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8-sig")) if exists else tomlkit.document()
        if not exists:
            document["name"] = name or device
            document["status"] = SHIPPING
        for finding in findings.values():
            document[finding.column] = _with_comments(_table(finding), document.get(finding.column))
            _put_curve(document, finding)
        text = re.sub(r"(?<!\n)\n\[\[curve]]", "\n\n[[curve]]", tomlkit.dumps(document))
    except (TOMLKitError, OSError) as error:
        raise UserError(f"{path} cannot be edited: {error}") from error
    try:
        catalogue.require_device(tomllib.loads(text), str(path))
    except UserError as error:
        raise UserError(f"{error}; nothing was written") from error
    write_file(path, text.encode())


def _table(finding: Finding) -> Any:
    import tomlkit

    table = tomlkit.table()
    table.add("value", tomlkit.value(_number(finding.value, finding.unit)))
    table.add("unit", finding.unit)
    return _sourced(table, finding)


def _with_comments(table: Any, present: Any) -> Any:
    """A table with the comments that stand behind the one it replaces: they speak of what comes next."""
    behind = list(takewhile(lambda each: each[0] is None, reversed(present.value.body))) if present else []
    for _, item in reversed(behind):
        table.add(item)
    return table


def _put_curve(document: Any, finding: Finding) -> None:
    """The number's curve in place of the one that it had, if it has one now."""
    import tomlkit

    curves = document.get("curve", [])
    place = next((place for place, curve in enumerate(curves) if curve["number"] == finding.column), None)
    if finding.points and place is not None:
        curves[place].update(_curve(finding))
    elif finding.points and curves:
        curves.append(_curve(finding))
    elif finding.points:
        document["curve"] = tomlkit.aot()
        document["curve"].append(_curve(finding))
    elif place is not None:
        del curves[place]


def _curve(finding: Finding) -> Any:
    """The curve that a number was taken from, a point on each line."""
    import tomlkit

    table = tomlkit.table()
    table.add("number", finding.column)
    table.add("read_at", tomlkit.value(f"{max(finding.points, key=lambda point: point[1])[0]:_}"))
    points = (f"    [{size:_}, {_number(rate, finding.unit)}],\n" for size, rate in finding.points)
    table.add("points", tomlkit.value(f"[\n{''.join(points)}]"))
    return _sourced(table, finding)


def _sourced(table: Any, finding: Finding) -> Any:
    table.add("kind", "measured")
    table.add("source", f"{finding.log.cited(finding.line)}: {_quantity(finding)}, {finding.how}")
    table.add("date", finding.log.date)
    return table


def _number(value: float, unit: str) -> str:
    """A value as a hardware file has it: 367.5e9."""
    scale = SCALES[unit][0]
    digits = f"{value / scale:.{DIGITS}g}"
    return f"{value:.{DIGITS}g}" if "e" in digits else f"{digits}e{math.log10(scale):.0f}"


def _quantity(finding: Finding) -> str:
    return shown(finding.value, finding.unit, DIGITS)


def _require_replaceable(path: Path, present: Any, finding: Finding, *, force: bool) -> None:
    """Raise `UserError` where a number stands in the way that this module did not write, or that was edited since."""
    if present is None:
        return
    kind, source = str(present.get("kind")), str(present.get("source"))
    if source.startswith(EXAMPLE):
        return
    place = f"{path}: [{finding.column}]"
    if kind == "datasheet":
        raise UserError(f"{place} is of a data sheet, which no measurement replaces: leave out {finding.log.name}")
    own = _is_own(source)
    if not (own and _says(source, present)) and not force:
        edited = "was edited since it was written" if own else f"is of another origin ({source})"
        raise UserError(
            f"{place} {edited}: leave out {finding.log.name}, or replace by {_quantity(finding)} with --force"
        )


def _require_own(path: Path, curve: Mapping[str, Any] | None, finding: Finding, *, force: bool) -> None:
    """Raise `UserError` where a curve stands in the way that this module did not write."""
    if curve is not None and not _is_own(str(curve["source"])) and not force:
        raise UserError(
            f"{path}: [[curve]] of {finding.column} is of another origin ({curve['source']}): leave out "
            f"{finding.log.name}, or replace it with --force"
        )


def _is_own(source: str) -> bool:
    """Whether a source is one that this module writes."""
    return any(begin in source for begin in OWN_SOURCES)


def _says(source: str, present: Mapping[str, Any]) -> bool:
    """Whether a source speaks of the value beside it."""
    unit = str(present.get("unit"))
    return unit in SCALES and f": {shown(present['value'], unit, DIGITS)}, " in source
