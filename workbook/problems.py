"""Inputs of a workbook that no quantity can be computed from, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyxl.cells import Place
from pyxl.errors import UserError
from pyxl.quantity import Failure, Quantity
from workbook.analysis import analysis
from workbook.contents import Contents
from workbook.file_inputs import CONSTANTS
from workbook.study import checked


def problems(read: Contents) -> dict[Place, str]:
    """Why some inputs make no sense, by their cells: empty ones, words that no table has, numbers that cannot be."""
    found = {each.place: each.reason for each in read.inputs.mistyped}
    names = {
        key.removesuffix(".name"): [str(name) for name in rows if name is not None]
        for key, rows in read.inputs.columns.items()
        if key.endswith(".name")
    }
    rows = read.inputs.rows
    for strategy, typed in read.inputs.strategies.items():
        for key, value in typed.items():
            empty = rows.content(key, strategy) is None
            if why := _problem(analysis[key], value, empty, names):
                found[rows.place(key, strategy)] = why
    constants = read.sheets[CONSTANTS]
    for key in read.inputs.constants:
        place = constants.listed("Key", "Value")[key]
        if place not in constants.cells:
            found[constants.place(*place)] = "the cell is empty: write a number"
    return found


def _problem(quantity: Quantity, value: Any, empty: bool, names: Mapping[str, list[str]]) -> str:
    if isinstance(value, Failure):
        return value.reason
    if empty:
        needed = quantity.value != 0 and quantity.value is not None
        return f"the cell is empty: {'choose a name' if quantity.choices else 'write a number'}" if needed else ""
    try:
        checked(quantity, value, "", names)
    except UserError as error:
        return str(error).removeprefix(": ")
    return ""
