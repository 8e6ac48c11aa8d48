"""Asks the user for a file, in the spreadsheet's own dialog where it has one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyxl.errors import UserError

if TYPE_CHECKING:
    import xlwings as xw

NO_DIALOG = "there is no dialog to choose a file here: call the action from Python with its path"


def ask_for_file(book: xw.Book, title: str, suffix: str, folder: Path) -> Path:
    """The file that the user chooses, at first in `folder`. Raises `UserError` where none is chosen or none can be."""
    ask = getattr(book.app.impl, "ask_for_file", None)  # our engine for LibreOffice has one
    chosen = ask(title, suffix, folder) if ask else _ask(title, suffix, folder)
    if not chosen:
        raise UserError("no file was chosen: nothing was done")
    return Path(chosen)


def _ask(title: str, suffix: str, folder: Path) -> str:
    try:
        from tkinter import TclError, Tk, filedialog
    except ImportError as error:
        raise UserError(NO_DIALOG) from error
    try:
        window = Tk()
    except TclError as error:  # no screen
        raise UserError(NO_DIALOG) from error
    try:
        window.withdraw()
        window.attributes("-topmost", True)
        return filedialog.askopenfilename(title=title, filetypes=[(title, f"*.{suffix}")], initialdir=folder)
    finally:
        window.destroy()
