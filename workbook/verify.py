"""Verification of a file: it is recalculated for real and compared with the Python engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pyxl.cells import Formula, Place, Value
from pyxl.errors import MissingProgram, UserError
from pyxl.evaluators import EVALUATORS
from pyxl.workbook_file import WorkbookFile, read
from workbook.comparison import Difference, agree, compare
from workbook.file_inputs import read_inputs


def differences(path: Path, evaluator: str) -> tuple[list[Difference], int]:
    """Where a file and the Python engine differ, and how many values were compared."""
    file = read(path)
    recalculated = EVALUATORS[evaluator](path)
    try:
        compared = list(compare(read_inputs(file.held, recalculated), recalculated))
        scales = {(each.sheet, each.cell): each.scale for each, _ in compared}
        compared.extend(_stored(file, recalculated, scales))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return [difference for difference, equal in compared if not equal], len(compared)


def _stored(
    file: WorkbookFile,
    recalculated: Mapping[Place, Value],
    scales: Mapping[Place, float],
) -> Iterator[tuple[Difference, bool]]:
    """Values stored beside formulas, which previews and scripts read: they must be what the formula gives."""
    stored = file.stored
    formulas = [place for place, content in file.held.items() if isinstance(content, Formula)]
    if not any(place in stored for place in formulas):  # written by a program that stores none
        return
    for place in formulas:
        sheet, cell = place
        value, kept = recalculated.get(place), stored.get(place, "")
        why = "the stored value is missing or stale: recalculate and save"
        yield Difference(sheet, cell, "", "stored value", kept, value, why), agree(kept, value, scales.get(place, 0))


def verify(path: Path, evaluator: str) -> bool:
    """Verify a file with one evaluator, or with all that are installed, and print what differs."""
    from rich.console import Console

    from workbook.tables import differences_table

    console = Console(stderr=True)
    names = list(EVALUATORS) if evaluator == "all" else [evaluator]
    agreed: list[bool] = []
    for name in names:
        try:
            with console.status(f"recalculating with {name} ..."):
                found, compared = differences(path, name)
        except MissingProgram as error:
            if evaluator != "all":
                raise
            console.print(f"{name}: left out, {error}", highlight=False, markup=False, soft_wrap=True)
            continue
        differences_table(path, name, found, compared)
        agreed.append(not found)
    if not agreed:
        raise UserError("nothing to recalculate with: install LibreOffice, or pip install formulas formualizer")
    return all(agreed)
