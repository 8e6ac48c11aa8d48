"""An engine of xlwings on LibreOffice: what is written for Excel in Python runs on LibreOffice as it stands.

    from pyxl.libreoffice import engine

    with engine.started() as app:                  # an xlwings.App on a LibreOffice of its own
        book = app.books.open("x.xlsx")
        book.sheets["Analysis"]["B8"].value = 5

    app = engine.inside(component_context)         # in code that LibreOffice runs: on that LibreOffice

Importing this needs the standard library only; either call needs xlwings, of which the freely licensed part is used.
What it lacks (charts, tables, pictures, pivot tables, borders, comments ...) raises `NotImplementedError` by name.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyxl.errors import MissingProgram

if TYPE_CHECKING:
    import xlwings as xw


def _apps() -> Any:
    try:
        import_module("xlwings")
    except ImportError as error:
        raise MissingProgram("the package xlwings is not installed: pip install 'solbook[addin]'") from error
    return import_module("pyxl.libreoffice.engine.apps")


def started() -> AbstractContextManager[xw.App]:
    """An `xlwings.App` on a LibreOffice of its own, without a window, as a context manager.

    Every formula is computed anew when a file is opened. However the block is left, the process, its profile and
    its lock files are gone afterwards. Raises `UserError` if LibreOffice, its Python bridge or xlwings is missing.
    """
    app: AbstractContextManager[xw.App] = _apps().Started()
    return app


def inside(component_context: Any) -> xw.App:
    """The `xlwings.App` of the LibreOffice that runs this code, which it never ends.

    From then on `xlwings.Book.caller()` is the workbook that the user has before him; it raises `UserError` if
    that is none. Raises `UserError` if xlwings is missing.
    """
    app: xw.App = _apps().inside(component_context)
    return app
