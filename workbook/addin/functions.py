"""The worksheet functions for Excel: the module that xlwings imports ("UDF Modules = workbook.addin.functions").

Each is an attribute of this module: SOL_COMPUTE_TIME, SOL_TABLE, SOL ... Where xlwings serves no Excel they are plain
functions. All arguments are optional, so that a function says which one is left out; Excel would show #VALUE!.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import xlwings as xw

from pyxl.cell_functions import OMITTED, CellFunction
from workbook.cell_functions import functions

CATEGORY = "SOL"


def _for_excel(cell_function: CellFunction) -> Callable[..., Any]:
    signature = inspect.Signature(
        [
            inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=OMITTED)
            for argument in cell_function.arguments
        ]
    )

    def function(*cells: Any, **named: Any) -> Any:
        if named:
            bound = signature.bind(*cells, **named)
            bound.apply_defaults()
            cells = bound.args
        return cell_function(*cells)

    function.__name__ = function.__qualname__ = cell_function.name
    function.__doc__ = cell_function.help
    function.__annotations__ = {}  # xlwings would take them for converters
    function.__signature__ = signature  # type: ignore[attr-defined]
    for argument in cell_function.arguments:
        function = xw.arg(argument.name, doc=argument.help, err_to_str=True)(function)
    decorated: Callable[..., Any] = xw.func(category=CATEGORY)(function)  # last: xw.arg sets the category back
    return decorated


globals().update({name: _for_excel(cell_function) for name, cell_function in functions().items()})
