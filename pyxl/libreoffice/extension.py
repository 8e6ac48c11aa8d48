"""Builds and installs an extension (.oxt) for LibreOffice: worksheet functions, a menu, and the Python behind them.

An extension is a zip file with a manifest. Its Python runs in LibreOffice's own interpreter, which has the standard
library alone: whatever else it imports travels along, in the folder pythonpath.

Source: LibreOffice, "Extensions" in the Developer's Guide; OpenOffice wiki, "Calc/Add-In/CompleteAddIn"
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import escape, quoteattr

from pyxl.archive import packed
from pyxl.cell_functions import Argument, CellFunction
from pyxl.errors import MissingProgram, UserError
from pyxl.libreoffice.component import FUNCTIONS, INTERFACE, MENU
from pyxl.libreoffice.running import program

LEAST_PYTHON = (3, 11)
BUNDLED_SUFFIXES = (".py", ".txt", ".typed")
LICENSE_NAMES = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|AUTHORS)", re.IGNORECASE)
DOCUMENT = "com.sun.star.sheet.SpreadsheetDocument"
TIME_LIMIT = 120.0  # seconds; installing takes one or two

COMPONENT = '''"""What LibreOffice loads: everything else is imported when it is first used."""

import sys

if sys.version_info < {least}:
    raise ImportError("{name} needs LibreOffice with Python {shown} or newer; this one has " + sys.version.split()[0])

from pyxl.libreoffice.component import implementations

g_ImplementationHelper = implementations({identifier!r}, {functions!r}, {click!r})
'''

MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="http://openoffice.org/2001/manifest">
{entries}
</manifest:manifest>
"""
MANIFEST_TYPES = {
    "functions.idl": "application/vnd.sun.star.uno-typelibrary;type=RDB",
    "component.py": "application/vnd.sun.star.uno-component;type=Python",
    "CalcAddIns.xcu": "application/vnd.sun.star.configuration-data",
    "Addons.xcu": "application/vnd.sun.star.configuration-data",
    "CalcCommands.xcu": "application/vnd.sun.star.configuration-data",
}

DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<description xmlns="http://openoffice.org/extensions/description/2006"
 xmlns:l="http://libreoffice.org/extensions/description/2011" xmlns:xlink="http://www.w3.org/1999/xlink">
<identifier value={identifier}/>
<version value={version}/>
<display-name><name lang="en">{name}</name></display-name>
<extension-description><src lang="en" xlink:href="description.txt"/></extension-description>
<dependencies><l:LibreOffice-minimal-version value="7.4" l:name="LibreOffice 7.4"/></dependencies>
</description>
"""

CONFIGURATION = """<?xml version="1.0" encoding="UTF-8"?>
<oor:component-data xmlns:oor="http://openoffice.org/2001/registry" oor:name="{name}" oor:package="{package}">
{nodes}
</oor:component-data>
"""


@dataclass(frozen=True)
class Entry:
    """A menu entry: the key that it calls with, its label, and the tip that explains it."""

    key: str
    label: str
    tip: str


@dataclass(frozen=True)
class Extension:
    """What an extension consists of. `functions` and `click`: see `pyxl.libreoffice.component.implementations`.

    `files` are those of the folder pythonpath, by path; `licenses` those of the folder licenses.
    """

    identifier: str
    name: str
    version: str
    description: str
    menu: str
    entries: Sequence[Entry]
    click: tuple[str, str]
    cell_functions: Sequence[CellFunction]
    functions: tuple[str, str]
    files: Mapping[str, bytes]
    licenses: Mapping[str, bytes]


def extension_bytes(extension: Extension) -> bytes:
    """The extension's file; the same bytes for the same contents."""
    texts = {
        "META-INF/manifest.xml": _manifest(),
        "description.xml": DESCRIPTION.format(
            identifier=quoteattr(extension.identifier),
            version=quoteattr(extension.version),
            name=escape(extension.name),
        ),
        "description.txt": extension.description + "\n",
        "functions.idl": _interface(extension),
        "component.py": COMPONENT.format(
            least=LEAST_PYTHON,
            shown=".".join(map(str, LEAST_PYTHON)),
            name=extension.name,
            identifier=extension.identifier,
            functions=extension.functions,
            click=extension.click,
        ),
        "CalcAddIns.xcu": _functions(extension),
        "Addons.xcu": _menu(extension),
        "CalcCommands.xcu": _commands(extension),
    }
    contents = {path: text.encode() for path, text in texts.items()}
    contents |= {f"pythonpath/{path}": content for path, content in extension.files.items()}
    contents |= {f"licenses/{path}": content for path, content in extension.licenses.items()}
    return packed(dict(sorted(contents.items())))


def _manifest() -> str:
    entries = (
        f' <manifest:file-entry manifest:media-type="{kind}" manifest:full-path="{path}"/>'
        for path, kind in MANIFEST_TYPES.items()
    )
    return MANIFEST.format(entries="\n".join(entries))


def _argument(number: int) -> str:
    """The inner name of an argument: its own might be a word of the interface language, such as "in"."""
    return f"a{number}"


def _type(argument: Argument) -> str:
    """A range is passed as an object: LibreOffice passes no values of cells among which is an error."""
    return "com::sun::star::table::XCellRange" if argument.range else "any"


def _interface(extension: Extension) -> str:
    modules = extension.identifier.split(".")
    methods = "\n".join(
        f"  {'sequence< sequence< any > >' if function.rows else 'any'} {function.name}("
        + ", ".join(f"[in] {_type(argument)} {_argument(number)}" for number, argument in enumerate(function.arguments))
        + ");"
        for function in extension.cell_functions
    )
    opening, closing = " ".join(f"module {module} {{" for module in modules), "}; " * len(modules)
    return f"{opening}\n interface {INTERFACE} {{\n{methods}\n }};\n{closing.strip()}\n"


def _configuration(name: str, nodes: str) -> str:
    package, _, last = name.rpartition(".")
    return CONFIGURATION.format(name=last, package=package, nodes=nodes)


def _node(name: str, content: str, *, new: bool = False) -> str:
    operation = ' oor:op="replace"' if new else ""
    return f"<node oor:name={quoteattr(name)}{operation}>{content}</node>"


def _property(name: str, text: str, *, translated: bool = True) -> str:
    language = ' xml:lang="en-US"' if translated else ""
    return f'<prop oor:name="{name}"><value{language}>{escape(text)}</value></prop>'


def _functions(extension: Extension) -> str:
    """Names and help texts for the function wizard, so that LibreOffice need not load the component for them."""

    def function_node(function: CellFunction) -> str:
        parameters = "\n".join(
            _node(
                _argument(number),
                _property("DisplayName", argument.name) + _property("Description", argument.help),
                new=True,
            )
            for number, argument in enumerate(function.arguments)
        )
        texts = {"DisplayName": function.name, "Description": function.help, "CompatibilityName": function.name}
        properties = "".join(_property(name, text) for name, text in texts.items())
        category = _property("Category", "Add-In", translated=False)
        return _node(function.name, f"{properties}{category}\n{_node('Parameters', parameters)}", new=True)

    functions = "\n".join(map(function_node, extension.cell_functions))
    service = _node(f"{extension.identifier}.{FUNCTIONS}", _node("AddInFunctions", functions), new=True)
    return _configuration("org.openoffice.Office.CalcAddIns", _node("AddInInfo", service))


def _command(extension: Extension, entry: Entry) -> str:
    return f"service:{extension.identifier}.{MENU}?{entry.key}"


def _menu(extension: Extension) -> str:
    entries = "\n".join(
        _node(
            f"m{number:02}",
            _property("URL", _command(extension, entry), translated=False)
            + _property("Title", entry.label)
            + _property("Target", "_self", translated=False),
            new=True,
        )
        for number, entry in enumerate(extension.entries)
    )
    menu = (
        _property("Title", extension.menu)
        + _property("Context", DOCUMENT, translated=False)
        + _node("Submenu", entries)
    )
    menus = _node("OfficeMenuBar", _node(extension.identifier, menu, new=True))
    return _configuration("org.openoffice.Office.Addons", _node("AddonUI", menus))


def _commands(extension: Extension) -> str:
    """Tool tips for the entries, wherever the user puts them."""
    commands = "\n".join(
        _node(
            _command(extension, entry),
            _property("Label", entry.label) + _property("TooltipLabel", entry.tip),
            new=True,
        )
        for entry in extension.entries
    )
    return _configuration("org.openoffice.Office.UI.CalcCommands", _node("UserInterface", _node("Commands", commands)))


# Contents


def distribution_files(name: str, without: Sequence[str] = ()) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The modules of an installed distribution by path, and its licence files, leaving out parts named `without`.

    Raises `MissingProgram` if it is not installed.
    """
    try:
        listed = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        raise MissingProgram(f"the extension takes {name} along: pip install 'solbook[addin]'") from None
    modules: dict[str, bytes] = {}
    licenses: dict[str, bytes] = {}
    for file in listed:
        if ".." in file.parts or set(file.parts) & set(without):
            continue
        if file.parts[0].endswith(".dist-info"):
            if LICENSE_NAMES.match(file.name):
                licenses[f"{name}/{file.name}"] = Path(str(file.locate())).read_bytes()
        elif file.suffix in BUNDLED_SUFFIXES:
            modules[str(PurePosixPath(file))] = Path(str(file.locate())).read_bytes()
    return modules, licenses


def folder_files(folder: Path, below: str, suffixes: Sequence[str]) -> dict[str, bytes]:
    """The files of a folder with these suffixes, by their path below `below`."""
    return {
        f"{below}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.suffix in suffixes and path.is_file()
    }


# Installing


def install(path: Path, *profile: str) -> None:
    """Install an extension for the user, in place of an earlier version. Raises `UserError` where that is impossible.

    `profile` are further options of unopkg, such as "-env:UserInstallation=file:///...".
    """
    try:
        unopkg = _require_libreoffice()
        _require_user()
        _run([unopkg, "add", "--force", "--suppress-license", *profile, str(path)])
    except UserError as error:
        raise type(error)(f"{error}; the extension is written to {path}") from error


def _require_libreoffice() -> str:
    """The path of unopkg. Raises `UserError` where LibreOffice, its Python or a new enough one is missing."""
    folder = Path(program()).resolve().parent
    unopkg = next((path for name in ("unopkg.com", "unopkg") if (path := folder / name).is_file()), None)
    if unopkg is None:
        raise MissingProgram(f"{folder} has no unopkg, which installs extensions: install LibreOffice again")
    bridges = [*folder.glob("*pyuno.*"), *(folder.parent / "Frameworks").glob("*pyuno.*")]
    if not bridges and sys.platform == "linux":  # elsewhere LibreOffice always brings a Python
        raise MissingProgram("this LibreOffice has no Python: apt install python3-uno, or see libreoffice.org")
    for bridge in bridges:
        linked = re.search(rb"python3\.?(\d{1,2})|Versions/3\.(\d{1,2})", bridge.read_bytes())
        if linked and (found := (3, int(linked[1] or linked[2]))) < LEAST_PYTHON:
            least, has = (".".join(map(str, version)) for version in (LEAST_PYTHON, found))
            raise UserError(f"the extension needs LibreOffice with Python {least}, this one has {has}: update it")
    return str(unopkg)


def _require_user() -> None:
    if os.name == "posix" and os.geteuid() == 0:
        raise UserError("LibreOffice installs no extension for root: run this as the user who will use it")


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise UserError("LibreOffice did not answer: close its windows and try again") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise UserError(f"LibreOffice did not install the extension: {said}")
