"""The two ways to a value are one: a definition called as Python, and its expression read as a cell computes it."""

from typing import Any

import pytest

from pyxl.quantity import attempt
from workbook import catalogue, study
from workbook.analysis import analysis

SHIPPED = {name: study.load(name) for name in study.names()}
COLUMNS = next(iter(SHIPPED.values())).columns
CASES = {
    **{f"{name}: {strategy}": values for name, each in SHIPPED.items() for strategy, values in each.values.items()},
    **{
        model: analysis.compute({"model": model, "micro_batch_size": 7.5}, COLUMNS)
        for model in (row["name"] for row in catalogue.models().rows)
    },
}


@pytest.mark.parametrize("case", CASES)
def test_every_quantity_is_what_its_cell_computes(case: str) -> None:
    values = CASES[case]

    def value_of(key: str) -> Any:
        if key in analysis.series:
            return tuple(values[member] for member in analysis.series[key])
        return COLUMNS[key] if key in COLUMNS else values[key]

    for quantity in analysis:
        if quantity.function is not None:
            assert attempt(quantity.name, quantity.expression, value_of) == values[quantity.name], quantity.name


@pytest.mark.parametrize("case", CASES)
def test_every_quantity_has_a_value(case: str) -> None:
    assert [name for name, value in CASES[case].items() if type(value) not in (int, float, str)] == []
