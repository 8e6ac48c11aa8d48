"""What buttons and menus offer: each action's name, its tool tip, and what it does where a user clicks on it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from pyxl.errors import UserError
from pyxl.open_book import Formulas
from workbook import catalogue
from workbook.addin import engine_sheet
from workbook.addin.audit_sheet import audit
from workbook.addin.catalogues import add_hardware, add_model
from workbook.addin.explanation import explain
from workbook.addin.exports import export
from workbook.addin.file_dialog import ask_for_file
from workbook.addin.opened import NothingSelected
from workbook.addin.recomputation import recompute
from workbook.addin.strategies import add_strategy

if TYPE_CHECKING:
    import xlwings as xw

LOG = Path(".solbook") / "addin.log"  # in the user's home
LARGEST_LOG = 1_000_000
Run = Callable[["xw.Book", "Formulas | None", "str | Path | None"], str]


@dataclass(frozen=True)
class Action:
    """A button: its key, its label, the tip that explains it, and what it does, with a file where it needs one."""

    key: str
    label: str
    tip: str
    run: Run


def _recompute(book: xw.Book, formulas: Formulas | None, path: str | Path | None) -> str:
    return str(recompute(book, formulas))


def _add_strategy(book: xw.Book, formulas: Formulas | None, path: str | Path | None) -> str:
    try:
        return add_strategy(book, path, formulas=formulas)
    except NothingSelected:
        folder = catalogue.templates_directory() / "studies"
        return add_strategy(book, ask_for_file(book, "A study file", "toml", folder), formulas=formulas)


def _add_hardware(book: xw.Book, formulas: Formulas | None, path: str | Path | None) -> str:
    folder = catalogue.templates_directory() / "hardware"
    return add_hardware(book, path or ask_for_file(book, "A hardware file", "toml", folder), formulas)


def _add_model(book: xw.Book, formulas: Formulas | None, path: str | Path | None) -> str:
    folder = catalogue.templates_directory() / "models"
    return add_model(book, path or ask_for_file(book, "A Hugging Face config.json", "json", folder), formulas)


def _export(book: xw.Book, formulas: Formulas | None, path: str | Path | None) -> str:
    return f"Written: {export(book, path, formulas=formulas)}. solbook build takes it."


def _explain(book: xw.Book, formulas: Formulas | None, path: str | Path | None) -> str:
    return str(explain(book, formulas=formulas))


def _audit(book: xw.Book, formulas: Formulas | None, path: str | Path | None) -> str:
    return str(audit(book, formulas))


ACTIONS = (
    Action(
        "recompute",
        "Recompute",
        "Compute every quantity in Python from the inputs in this workbook, and compare: see the sheet Engine.",
        _recompute,
    ),
    Action(
        "add_strategy",
        "Add strategy",
        "Copy the strategy at the cursor into the next free column; elsewhere, take strategies from a study file.",
        _add_strategy,
    ),
    Action(
        "add_hardware",
        "Add hardware",
        "Add a device from a hardware file (.toml) to the sheet Hardware.",
        _add_hardware,
    ),
    Action("add_model", "Add model", "Add a model from a Hugging Face config.json to the sheet Models.", _add_model),
    Action(
        "export",
        "Export strategy",
        "Write the strategy at the cursor to a study file that solbook build accepts.",
        _export,
    ),
    Action(
        "explain",
        "Explain cell",
        "The formula of the selected cell in names and values, and what moves it most.",
        _explain,
    ),
    Action(
        "audit",
        "Audit",
        "What was changed since this workbook was built, quantity by quantity: see the sheet Audit.",
        _audit,
    ),
)
TALKATIVE = ("recompute", "explain", "audit")  # they write sheets of their own


def run(key: str, book: xw.Book, formulas: Formulas | None = None, path: str | Path | None = None) -> str:
    """Run an action on a workbook, say in the workbook and in the log how it went, and return that.

    `formulas` as for `pyxl.open_book.read`; `path` is the file of an action that needs one, None to ask the user.
    """
    action = next(action for action in ACTIONS if action.key == key)
    try:
        with ExitStack() as stack:
            _pause_drawing(book, stack)
            said = action.run(book, formulas, path)
    except UserError as error:
        said = f"{action.label}: {error}"
        _log().warning("%s, %s", book.name, said, exc_info=error.__cause__)
        _tell(book, said, show=True)
    except Exception as error:
        said = f"{action.label} failed, which is a mistake in solbook: {error!r}; the log {LOG} in your home says more"
        _log().exception("%s, %s", book.name, action.label)
        _tell(book, said, show=True)
    else:
        _log().info("%s, %s: %s", book.name, action.label, said)
        if key not in TALKATIVE:
            _tell(book, said, show=False)
    return said


def _pause_drawing(book: xw.Book, until: ExitStack) -> None:
    """Draw the window once at the end: charts are drawn anew with every cell otherwise."""
    with suppress(NotImplementedError):  # the spreadsheet in the browser draws at the end anyway
        book.app.screen_updating = False
        until.callback(setattr, book.app, "screen_updating", True)


def _tell(book: xw.Book, message: str, *, show: bool) -> None:
    """Write a message on the sheet Engine, and show that; where the workbook takes no sheet, in a window."""
    try:
        engine_sheet.write_message(book, message, show=show)
    except UserError as error:
        _log().warning("%s: %s", book.name, error)
        book.app.alert(message, "solbook")


def _log() -> logging.Logger:
    logger = logging.getLogger("solbook")
    if not logger.handlers:
        path = Path.home() / LOG
        try:
            path.parent.mkdir(exist_ok=True)
            handler: logging.Handler = RotatingFileHandler(path, maxBytes=LARGEST_LOG, backupCount=1, encoding="utf-8")
        except OSError:
            handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return logger


def click(key: str) -> None:
    """Run the action of a button on the workbook that called."""
    import xlwings as xw

    try:
        book = xw.Book.caller()
    except Exception as error:  # each spreadsheet has its own, also where none is open
        _log().warning("%s: no workbook called (%s)", key, error)
        if xw.apps.active is not None:
            xw.apps.active.alert("Open a workbook that solbook wrote first.", "solbook")
        return
    run(key, book)


def main() -> None:
    """What the ribbon's "Run main" calls."""
    click("recompute")
