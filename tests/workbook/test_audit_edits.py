"""Single edits of the shipped workbook in LibreOffice, as a user makes them: the audit names exactly that one."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import letter
from pyxl.quantity import Kind
from workbook.analysis import analysis
from workbook.audit import audit

pytestmark = pytest.mark.libreoffice

EDITS, HARMLESS = 85, 28
Expected = list[tuple[str, str, str]]  # kind, sheet, and what the quantity's name holds


class Edited:
    """The open workbook, where its quantities stand, and chance."""

    def __init__(self, book: Any, rows: reader.ModelRows, seed: int) -> None:
        self.book, self.rows, self.chance = book, rows, random.Random(seed)
        self.analysis = book.sheets["Analysis"]

    def quantity(self, *kinds: Kind) -> str:
        return self.chance.choice([q.name for q in analysis if q.kind in kinds and q.name in self.rows.rows])

    def strategy(self) -> str:
        return self.chance.choice(list(self.rows.columns))

    def cell(self, quantity: str, strategy: str) -> Any:
        return self.analysis.range((self.rows.rows[quantity], self.rows.columns[strategy]))

    def line(self, quantity: str) -> Any:
        row = self.rows.rows[quantity]
        return self.analysis.range(f"{row}:{row}")


def number_over_formula(on: Edited) -> Expected:
    quantity = on.quantity(Kind.CALCULATION)
    on.cell(quantity, on.strategy()).value = on.chance.uniform(1, 1e9)
    return [("formula overwritten", "Analysis", quantity)]


def formula_edited(on: Edited) -> Expected:
    quantity, strategy = on.quantity(Kind.CALCULATION), on.strategy()
    cell = on.cell(quantity, strategy)
    cell.formula = f"{cell.formula}*1.1"
    return [("formula changed", "Analysis", quantity)]


def formula_of_a_whole_row_edited(on: Edited) -> Expected:
    quantity = on.quantity(Kind.CALCULATION)
    for strategy in on.rows.columns:
        cell = on.cell(quantity, strategy)
        cell.formula = f"{cell.formula}+1"
    return [("formula changed", "Analysis", quantity)]


def formula_from_another_row(on: Edited) -> Expected:
    quantity, strategy = on.quantity(Kind.CALCULATION), on.strategy()
    other = on.quantity(Kind.CHECK)
    on.cell(other, strategy).copy(on.cell(quantity, strategy))
    return [("formula changed", "Analysis", quantity)]


def pasted_as_values(on: Edited) -> Expected:
    quantity = on.quantity(Kind.CALCULATION)
    first, *_, last = on.rows.columns
    whole = on.analysis.range(on.cell(quantity, first).address, on.cell(quantity, last).address)
    whole.value = [[7.5] * len(on.rows.columns)]
    return [("formula overwritten", "Analysis", quantity)]


def row_deleted(on: Edited) -> Expected:
    quantity = on.quantity(Kind.CALCULATION, Kind.CHECK, Kind.LOOKUP, Kind.INPUT)
    on.line(quantity).delete()
    return [("row deleted", "Analysis", quantity)]


def strategy_deleted(on: Edited) -> Expected:
    column = letter(on.rows.columns[on.strategy()])
    on.analysis.range(f"{column}:{column}").delete()
    return [("strategy deleted", "Analysis", "strategy")]


def strategy_renamed(on: Edited) -> Expected:
    on.analysis.range((on.rows.head, on.rows.columns[on.strategy()])).value = f"Renamed {on.chance.random():.3f}"
    return [("strategy renamed", "Analysis", "strategy")]


def strategy_copied(on: Edited) -> Expected:
    free = max(on.rows.columns.values()) + 1
    column = letter(on.rows.columns[on.strategy()])
    on.analysis.range(f"{column}:{column}").copy(on.analysis.range((1, free)))
    on.analysis.range((on.rows.head, free)).value = "Mine"
    return [("strategy added", "Analysis", "strategy")]


def input_edited(on: Edited) -> Expected:
    quantity = on.chance.choice(["devices", "sequence_length", "global_batch_size"])
    cell = on.cell(quantity, on.strategy())
    cell.value = cell.value * 2
    return [("input changed", "Analysis", quantity)]


def choice_out_of_the_list(on: Edited) -> Expected:
    on.cell("hardware", on.strategy()).value = "H900"
    return [("not understood", "Analysis", "hardware")]


def look_up_typed_over(on: Edited) -> Expected:
    quantity = on.chance.choice(["hidden_size", "bf16_peak", "hbm_peak", "memory_capacity"])
    on.cell(quantity, on.strategy()).value = 4096
    return [("look-up typed over", "Analysis", quantity)]


def device_added(on: Edited) -> Expected:
    hardware = on.book.sheets["Hardware"]
    row = next(row for row in range(8, 200) if hardware.range((row, 1)).value is None)
    hardware.range((row, 1)).value = ["My device", 8e10, 8, 1e15]
    return [("catalogue row added", "Hardware", "Hardware")]


def device_edited(on: Edited) -> Expected:
    hardware = on.book.sheets["Hardware"]
    cell = hardware.range((on.chance.randint(8, 40), 2))
    cell.value = cell.value * 2
    return [("catalogue number changed", "Hardware", "Hardware.memory_capacity")]


def sheet_renamed(on: Edited) -> Expected:
    title = on.chance.choice(["Constants", "Hardware", "Summary", "Stages", "Checks", "Validation"])
    on.book.sheets[title].name = "Renamed"
    return [("sheet renamed", "Renamed", "sheet")]


def sheet_deleted(on: Edited) -> Expected:
    title = on.chance.choice(["Validation", "Sources", "Formulas"])
    on.book.sheets[title].delete()
    return [("sheet deleted", title, "sheet")]


def summary_overwritten(on: Edited) -> Expected:
    on.book.sheets["Summary"].range((on.chance.randint(10, 20), on.chance.randint(3, 9))).value = 1.25
    return [("formula overwritten", "Summary", "")]


ALL: tuple[Callable[[Edited], Expected], ...] = (
    number_over_formula, formula_edited, formula_of_a_whole_row_edited, formula_from_another_row, pasted_as_values,
    row_deleted, strategy_deleted, strategy_renamed, strategy_copied, input_edited, choice_out_of_the_list,
    look_up_typed_over, device_added, device_edited, sheet_renamed, sheet_deleted, summary_overwritten,
)  # fmt: skip


@pytest.fixture
def edit(app: Any, shipped: Path, rows: reader.ModelRows, tmp_path: Path) -> Callable[..., Path]:
    """Apply an edit in LibreOffice, save, and return the file."""

    def apply(how: Callable[[Edited], Any], seed: int) -> tuple[Path, Any]:
        path = Path(shutil.copyfile(shipped, tmp_path / "edited.xlsx"))
        with app.books.open(path) as book:
            expected = how(Edited(book, rows, seed))
            book.save()
        return path, expected

    return apply  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(EDITS))
def test_an_edit_is_named_and_nothing_else(seed: int, edit: Callable[..., tuple[Path, Expected]]) -> None:
    path, expected = edit(ALL[seed % len(ALL)], seed)
    found = audit(path).findings
    assert [(f.kind.value, f.sheet) for f in found] == [(kind, sheet) for kind, sheet, _ in expected], found
    assert all(quantity in finding.quantity for finding, (*_, quantity) in zip(found, expected, strict=True))


def nothing(on: Edited) -> None:
    pass


def rows_inserted(on: Edited) -> None:
    sheet = on.chance.choice(["Analysis", "Summary", "Roofline", "Hardware", "Constants", "Checks", "Elasticities"])
    row = on.chance.randint(9, 20)
    on.book.sheets[sheet].range(f"{row}:{row + 1}").insert("down")


def columns_inserted(on: Edited) -> None:
    sheet = on.chance.choice(["Analysis", "Summary", "Roofline", "Hardware", "Constants", "Checks"])
    on.book.sheets[sheet].range("B:B").insert("right")


def row_moved(on: Edited) -> None:
    row = on.rows.rows[on.quantity(Kind.CALCULATION)]
    target = max(on.rows.rows.values()) + 5
    sheet = on.analysis.api
    source = sheet.getCellRangeByName(f"A{row}:AZ{row}").getRangeAddress()
    sheet.moveRange(sheet.getCellRangeByName(f"A{target}").getCellAddress(), source)


def notes_added(on: Edited) -> None:
    on.analysis.range("AH10:AH12").value = "my note"
    on.book.sheets["Summary"].range("A90").value = "=1+1"


def looks_changed(on: Edited) -> None:
    on.analysis.range("A1:C20").color = (255, 200, 0)
    on.analysis.range("A1:C1").column_width = 30
    on.analysis.range("G8:G9").font.bold = True
    on.analysis.range("G8").number_format = "0.00"


def sheet_added(on: Edited) -> None:
    on.book.sheets.add("Mine").range("A1").value = "=Analysis!G8*2"


HARMLESS_EDITS = (nothing, rows_inserted, columns_inserted, row_moved, notes_added, looks_changed, sheet_added)


@pytest.mark.parametrize("seed", range(HARMLESS))
def test_a_harmless_edit_is_no_finding(seed: int, edit: Callable[..., tuple[Path, None]]) -> None:
    path, _ = edit(HARMLESS_EDITS[seed % len(HARMLESS_EDITS)], seed)
    assert audit(path).findings == ()
