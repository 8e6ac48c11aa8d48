"""The add-in: the Python engine beside the formulas of an open workbook, as functions on an `xlwings.Book`.

    from workbook import addin

    addin.recompute(xw.Book("deepseek-v3-h800.xlsx"))

`ACTIONS` are what buttons and menus offer; each calls `click` with an action's key.
"""

from workbook.addin.actions import ACTIONS, Action, click, main, run
from workbook.addin.audit_sheet import audit
from workbook.addin.catalogues import add_hardware, add_model
from workbook.addin.explanation import explain
from workbook.addin.exports import export
from workbook.addin.recomputation import recompute
from workbook.addin.strategies import add_strategy

__all__ = [
    "ACTIONS",
    "Action",
    "add_hardware",
    "add_model",
    "add_strategy",
    "audit",
    "click",
    "explain",
    "export",
    "main",
    "recompute",
    "run",
]
