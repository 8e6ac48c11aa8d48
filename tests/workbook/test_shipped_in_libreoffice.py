"""The shipped workbook through the xlwings engine on a real LibreOffice."""

import re
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

pytestmark = pytest.mark.libreoffice


def test_every_formula_reads_as_it_stands_in_the_file(app: Any, shipped: Path) -> None:
    """Of every sheet; LibreOffice adds brackets to TRUE and FALSE."""
    file: Any = load_workbook(shipped)
    compared = 0
    with app.books.open(shipped, read_only=True) as book:
        for sheet in book.sheets:
            used = sheet.used_range
            first = {"min_row": used.row, "min_col": used.column}
            for row, line in zip(file[sheet.name].iter_rows(**first), used.formula, strict=False):
                for cell, text in zip(row, line, strict=False):
                    if cell.data_type == "f":
                        assert re.sub(r"\b(TRUE|FALSE)\(\)", r"\1", text) == cell.value, (sheet.name, cell.coordinate)
                        compared += 1
    assert compared > 10_000


def test_every_formula_is_printed_as_libreoffice_prints_it_by_itself(
    app: Any, shipped: Path, printed_alone: Any
) -> None:
    """The stand-ins for references save 97 % of LibreOffice's work: they may not change what it says."""
    with app.books.open(shipped, read_only=True) as book:
        cells, syntax = book.sheets["Analysis"].used_range.api, book.impl.syntax
        texts, data = cells.getFormulaArray(), cells.getDataArray()
        natives = [
            text
            for line, row in zip(texts, data, strict=True)
            for text, value in zip(line, row, strict=True)
            if text.startswith("=") and text != value
        ]
        assert len(natives) > 5_000
        assert syntax.excel(natives) == [printed_alone(syntax, text) for text in natives]
        assert syntax.native(syntax.excel(natives)) == natives
