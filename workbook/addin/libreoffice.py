"""The extension for LibreOffice: the menu SOL, the worksheet functions, and what they need to run there."""

from __future__ import annotations

from pathlib import Path

import pyxl
import workbook
from pyxl.libreoffice.extension import Entry, Extension, distribution_files, extension_bytes, folder_files
from workbook.addin import ACTIONS
from workbook.catalogue import templates_directory
from workbook.cell_functions import functions

IDENTIFIER = "org.solbook.addin"

# xlwings/pro has a licence of its own, and neither that nor test suites are needed.
BUNDLED = ("xlwings", "pint", "flexcache", "flexparser", "platformdirs", "typing_extensions", "tomlkit")
LEFT_OUT = ("pro", "LICENSE_PRO.txt", "testsuite")


def build() -> bytes:
    """The extension's file. Raises `UserError` where a package that it takes along is not installed."""
    return extension_bytes(extension())


def extension() -> Extension:
    """What the extension consists of."""
    files, licenses = _own_files(), dict(distribution_files("solbook")[1])
    for name in BUNDLED:
        modules, texts = distribution_files(name, LEFT_OUT)
        files |= modules
        licenses |= texts
    return Extension(
        identifier=IDENTIFIER,
        name="solbook",
        version=workbook.__version__,
        description="Speed-of-light workbooks: the Python engine beside the formulas of an open workbook.",
        menu="SOL",
        entries=[Entry(action.key, action.label, action.tip) for action in ACTIONS],
        click=("workbook.addin", "click"),
        cell_functions=list(functions().values()),
        functions=("workbook.cell_functions", "functions"),
        files=files,
        licenses=licenses,
    )


def _own_files() -> dict[str, bytes]:
    return {
        **folder_files(Path(pyxl.__file__).parent, "pyxl", [".py"]),
        **folder_files(Path(workbook.__file__).parent, "workbook", [".py"]),
        **folder_files(templates_directory(), "workbook/templates", [".toml", ".json", ".csv"]),
    }
