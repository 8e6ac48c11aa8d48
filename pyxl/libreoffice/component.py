"""What LibreOffice loads of an extension: its menu and its worksheet functions. Runs in LibreOffice's own Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pyxl.cell_functions import OMITTED, CellFunction
from pyxl.libreoffice.errors import error_text

FUNCTIONS, MENU, INTERFACE = "Functions", "Menu", "XFunctions"


def implementations(identifier: str, functions: tuple[str, str], click: tuple[str, str]) -> Any:
    """The services of an extension, for LibreOffice's loader of Python components.

    `functions` and `click` are a module and a name in it: what gives the worksheet functions by name, and what a menu
    entry calls with its key. Both are imported when they are first used: LibreOffice starts without them.
    """
    import uno
    import unohelper  # type: ignore[import-not-found]

    class Functions(unohelper.Base, uno.getClass(f"{identifier}.{INTERFACE}")):  # type: ignore[misc]
        """The worksheet functions, as methods of their names."""

        def __init__(self, context: Any) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            found = _named(functions)().get(name)
            if found is None:
                raise AttributeError(name)
            method = _method(found)
            setattr(self, name, method)
            return method

    class Menu(unohelper.Base, uno.getClass("com.sun.star.task.XJobExecutor")):  # type: ignore[misc]
        """What menu entries start."""

        def __init__(self, context: Any) -> None:
            self._context = context

        def trigger(self, key: str) -> None:
            """Run the action of the menu entry."""
            with _compiled_once():
                from pyxl.libreoffice import engine

                engine.inside(self._context)
                action = _named(click)
            action(key)

    helper = unohelper.ImplementationHelper()
    for made, name in ((Functions, FUNCTIONS), (Menu, MENU)):
        helper.addImplementation(made, f"{identifier}.{name}", (f"{identifier}.{name}",))
    return helper


def _named(place: tuple[str, str]) -> Any:
    module, name = place
    return getattr(import_module(module), name)


@contextmanager
def _compiled_once() -> Iterator[None]:
    """Keep what imports compile, beside the extension's files: LibreOffice has Python compile anew each time."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _method(function: CellFunction) -> Any:
    """A worksheet function as LibreOffice calls it: an argument that is left out is None, rows are tuples."""
    takes_range = [argument.range for argument in function.arguments]

    def call(*cells: Any) -> Any:
        value = function(*map(_cells, cells, takes_range))
        if not function.rows:
            return value
        return tuple(map(tuple, value)) if isinstance(value, list) else ((value,),)

    return call


def _cells(cells: Any, is_range: bool) -> Any:
    if not is_range:
        return OMITTED if cells is None else cells
    return [
        [
            error_text(cells.getCellByPosition(column, row).getError()) if cell is None else cell
            for column, cell in enumerate(line)
        ]
        for row, line in enumerate(cells.getDataArray())
    ]
