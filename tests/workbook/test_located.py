"""Where the analysis stands in a workbook, and whether each of its formulas is the one that belongs there."""

from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import Formula, Place, letter
from pyxl.located import Located
from workbook.analysis import analysis
from workbook.file_inputs import CATALOGUES


@pytest.fixture
def located(held: dict[Place, Any]) -> Located:
    sheets = reader.grids(held)
    return Located(analysis, reader.model_rows(sheets, "Analysis", analysis.quantities, {}), sheets, CATALOGUES)


def test_every_formula_of_a_fresh_workbook_is_as_it_should_be(located: Located) -> None:
    rows = located.rows
    formulas = [(name, s) for name in rows.rows for s in rows.columns if isinstance(rows.content(name, s), Formula)]
    assert len(formulas) > 600 * len(rows.columns)
    for name, strategy in formulas:
        assert rows.content(name, strategy) == located.formula(name, rows.columns[strategy])
        assert not located.is_changed(name, strategy)


def test_a_formula_reads_in_names(located: Located) -> None:
    column = letter(located.rows.columns["ZeRO-1"])
    hidden, devices = located.rows.rows["hidden_size"], located.rows.rows["devices"]
    text = f"={column}{hidden}*Constants!$B$6+{column}{devices}+SUM(Z1:Z2)"
    key = located.sheets["Constants"].cells[6, 1]
    assert located.in_names(text, "ZeRO-1") == f"hidden_size*{key}+devices+SUM(Z1:Z2)"


def test_a_reference_into_a_neighbours_column_names_the_strategy(located: Located) -> None:
    other = letter(located.rows.columns["ZeRO-3 (FSDP)"])
    assert located.in_names(f"={other}{located.rows.rows['devices']}", "ZeRO-1") == "devices of 'ZeRO-3 (FSDP)'"


def test_tables_reach_to_the_last_row_that_look_ups_cover(located: Located) -> None:
    last = max(row for row, _ in located.sheets["Hardware"].column(1))
    assert located.last_row("Hardware") == last + 10  # free rows
