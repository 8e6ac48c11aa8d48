"""The add-in: the Python engine beside the formulas of an open workbook, as functions on an `xlwings.Book`.

    from workbook import addin

    addin.recompute(xw.Book("deepseek-v3-h800.xlsx"))

`ACTIONS` are what buttons and menus offer; each calls `click` with an action's key.
"""

from workbook.addin.actions import ACTIONS, Action, click, main

__all__ = ["ACTIONS", "Action", "click", "main"]
