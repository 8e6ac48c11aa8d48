"""The quantities of the analysis as worksheet functions: SOL_COMPUTE_TIME(...), SOL_TABLE(...), SOL(...)."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pyxl.cell_functions import CellFunction, cell_functions
from workbook import catalogue
from workbook.analysis import analysis

PREFIX = "SOL_"


@cache
def table_columns() -> Mapping[str, tuple[Any, ...]]:
    """The columns of the catalogue, read once."""
    return catalogue.columns(catalogue.shipped())


@cache
def functions() -> Mapping[str, CellFunction]:
    """The worksheet functions by name."""
    return cell_functions(analysis, table_columns, PREFIX)
