"""xlwings Lite: the add-in in Excel on the web, on Mac and on Windows, where Python runs in the browser.

`files` are what the user pastes into its editor. solbook is on no package index, so main.py carries the modules that
the add-in imports, and unpacks them when it starts. xlwings Lite keeps main.py in the workbook, so it travels with it.
"""

from __future__ import annotations

import base64
import pkgutil
import textwrap
from collections.abc import Iterator
from importlib import metadata
from modulefinder import ModuleFinder
from pathlib import Path

import workbook
from pyxl.archive import packed
from pyxl.errors import MissingProgram
from pyxl.fingerprint import require_replaceable_text, signed
from pyxl.writer import write_file
from workbook.addin.actions import ACTIONS
from workbook.catalogue import templates_directory

FOLDER, NAMES = "xlwings-lite", ("main.py", "requirements.txt")
OURS = ("pyxl", "workbook")
TEMPLATES = ("choices.toml", "hardware/*", "models/*", "studies/*", "validation/report.json")
PACKAGES = "pint\ntomlkit\n"  # for units in files, and to write studies

MAIN = '''\
"""{title}: the add-in for xlwings Lite. Paste this as main.py, and requirements.txt beside it.

The buttons come first; below them stands the engine, packed, and what unpacks it.
"""

import base64
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import zipfile

import xlwings as xw

FILES = "/data"  # what xlwings Lite shows under Files > Import/Export


async def run(key: str, book: xw.Book) -> None:
    """Run an action. Excel in the browser gives formulas only to who waits for them."""
    formulas = {{sheet.name: await sheet.used_range.options(ndim=2).get_formula() for sheet in book.sheets}}
    book.app.impl.ask_for_file = newest_file
    os.makedirs(FILES, exist_ok=True)
    with contextlib.chdir(FILES):
        print(addin.run(key, book, formulas))


def newest_file(title: str, suffix: str, folder: object) -> str:
    """There is no dialog in the browser: the newest of the files that were imported."""
    files = pathlib.Path().glob(f"*.{{suffix}}")
    newest = max(files, key=lambda file: file.stat().st_mtime, default=None)
    if newest is None:
        raise UserError(f"{{title}} is needed: import a .{{suffix}} under Files > Import/Export, then run this again")
    return str(newest)
{scripts}

ENGINE = """
{engine}
"""

folder = tempfile.mkdtemp()
zipfile.ZipFile(io.BytesIO(base64.b64decode(ENGINE))).extractall(folder)
sys.path.insert(0, folder)

from pyxl.errors import UserError  # noqa: E402
from workbook import addin  # noqa: E402
from workbook.addin.functions import *  # noqa: E402, F403  the cell functions: SOL_TABLE, SOL, SOL_COMPUTE_TIME ...
'''

SCRIPT = '''

@xw.script(name="{label}")
async def {key}(book: xw.Book):
    """{tip}"""
    await run("{key}", book)
'''


def files() -> dict[str, str]:
    """The files by name. Raises `MissingProgram` where xlwings is not installed, whose version they ask for."""
    try:
        xlwings = metadata.version("xlwings")
    except metadata.PackageNotFoundError:
        raise MissingProgram("xlwings is not installed: pip install 'solbook[addin]'") from None
    main = MAIN.format(
        title=f"solbook {workbook.__version__}",
        scripts="".join(SCRIPT.format(**vars(action)) for action in ACTIONS),
        engine="\n".join(textwrap.wrap(base64.b64encode(engine()).decode(), 120)),
    )
    return dict(zip(NAMES, (main, f"xlwings=={xlwings}\n{PACKAGES}"), strict=True))


def require_replaceable(beside: Path, *, force: bool) -> None:
    """Raise `UserError` where `write` would replace a file that somebody edited, unless `force` is given."""
    for name in NAMES:
        require_replaceable_text(beside / FOLDER / name, force=force)


def write(beside: Path) -> Path:
    """Write the files into a folder beside a workbook, and return it."""
    folder = beside / FOLDER
    folder.mkdir(exist_ok=True)
    for name, text in files().items():
        write_file(folder / name, signed(text).encode())
    return folder


def engine() -> bytes:
    """The modules that the add-in imports, and the templates, as a zip archive."""
    return packed(dict(contents()))


def contents() -> Iterator[tuple[str, bytes]]:
    """Each of our files that the add-in needs, by its name in an installed package."""
    root = Path(__file__).parents[2]
    others = [module.name for module in pkgutil.iter_modules([str(root)]) if module.name not in OURS]
    finder = ModuleFinder([str(root)], excludes=others)
    for entry in ("workbook.addin", "workbook.addin.functions"):
        finder.import_hook(entry)
    for name, module in sorted(finder.modules.items()):
        if name.partition(".")[0] in OURS:
            path = Path(module.__file__)  # type: ignore[attr-defined]
            yield path.relative_to(root).as_posix(), path.read_bytes()
    templates = templates_directory()
    for pattern in TEMPLATES:
        for path in sorted(templates.glob(pattern)):
            yield f"workbook/templates/{path.relative_to(templates).as_posix()}", path.read_bytes()
