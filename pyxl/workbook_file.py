"""A workbook file as it stands: what each cell holds and last showed, and what else a user can change in a file.

Read from the XML itself, once and in bounded memory, whoever saved it: openpyxl, LibreOffice or Excel.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite, nan
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from pyxl.cells import Formula, Place, Value, coordinates, letter, plain
from pyxl.errors import UserError
from pyxl.files import MEND, WORKBOOK_PART, require_workbook
from pyxl.naming import LAST_COLUMN, LAST_ROW

Cells = dict[tuple[int, int], Any]

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
MOST_VALIDATIONS = 65_534  # of a sheet, in Excel
LONGEST_SHARED = 20_000_000  # characters of formulas that stand once: 200,000 rows of 100
LONGEST_WHOLE = 10  # digits
LONGEST_FORMULA = 32_767  # Excel takes 8,192 characters, and a file may need some more
_MACROS = "vbaProject.bin"
_EXTERNAL = "xl/externalLinks/externalLink"


@dataclass(frozen=True)
class DropDown:
    """The validation of some cells: rectangles as (first, last), and the formula of the list, or its kind."""

    areas: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    rule: str


@dataclass
class SheetFile:
    """One sheet: contents (a `Formula` or a value) and stored values by row and column, and how it is shown."""

    title: str
    state: str = "visible"
    held: Cells = field(default_factory=dict)
    stored: Cells = field(default_factory=dict)
    is_protected: bool = False
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    validations: list[DropDown] = field(default_factory=list)


@dataclass(frozen=True)
class WorkbookFile:
    """The sheets in their order, the names, and what comes from or leads outside."""

    sheets: tuple[SheetFile, ...]
    names: tuple[tuple[str, str], ...]  # of the workbook and of its sheets, with what they refer to
    external_links: tuple[str, ...]
    has_macros: bool
    is_manual: bool
    properties: Mapping[str, str]  # custom ones

    @cached_property
    def held(self) -> dict[Place, Any]:
        """What each cell that is not empty holds: a `Formula` or a value."""
        return {(s.title, f"{letter(c)}{r}"): content for s in self.sheets for (r, c), content in s.held.items()}

    @cached_property
    def stored(self) -> dict[Place, Any]:
        """The value of each cell that shows one: typed in, or stored beside its formula when the file was saved."""
        return {(s.title, f"{letter(c)}{r}"): value for s in self.sheets for (r, c), value in s.stored.items()}


def read(path: Path, titles: Collection[str] | None = None) -> WorkbookFile:
    """Read a workbook, or of its sheets those with these titles.

    Raises `UserError`, in a line, for a file that is none or is damaged.
    """
    require_workbook(path)
    with zipfile.ZipFile(path) as archive:
        package = _Package(archive)
        try:
            return package.workbook(titles)
        except etree.XMLSyntaxError as error:
            raise UserError(f"{path} is damaged: {package.part} is no XML ({error.msg}): {MEND}") from error
        except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
            why = " ".join(str(error).split())
            raise UserError(f"{path} is damaged: {package.part} cannot be understood ({why}): {MEND}") from error


class _Package:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._parts = frozenset(archive.namelist())
        self._strings: list[str] = []
        self.part = WORKBOOK_PART  # that is being read

    def workbook(self, titles: Collection[str] | None) -> WorkbookFile:
        root = self._root(WORKBOOK_PART)
        if _local(root.tag) != "workbook":
            raise ValueError("it describes no workbook")
        listed = Counter(element.get("name", "").casefold() for element in root.iterfind("{*}sheets/{*}sheet"))
        if any(count > 1 for count in listed.values()):
            raise ValueError(f"two sheets are called '{max(listed, key=listed.__getitem__)}'")
        targets = {key: target for key, (_, target) in self._relations(WORKBOOK_PART).items()}
        self._strings = list(self._shared_strings())
        sheets = []
        for element in root.iterfind("{*}sheets/{*}sheet"):
            part = self._part_of(element, targets)
            if "worksheets/" in part and (titles is None or element.get("name") in titles):
                sheets.append(self._sheet(part, element.get("name"), element.get("state", "visible")))
        names = ((name.get("name"), name.text or "") for name in root.iterfind("{*}definedNames/{*}definedName"))
        mode = root.find("{*}calcPr")
        return WorkbookFile(
            tuple(sheets),
            tuple(names),
            tuple(sorted(self._external_links())),
            any(part.endswith(_MACROS) for part in self._parts),
            mode is not None and mode.get("calcMode") == "manual",
            dict(self._properties()),
        )

    def _part_of(self, sheet: Any, targets: Mapping[str, str]) -> str:
        """The part of a sheet in the workbook's list."""
        identifier = next((value for key, value in sheet.attrib.items() if _local(key) == "id"), "")
        if targets.get(identifier) not in self._parts:
            self.part = WORKBOOK_PART
            raise ValueError(f"the sheet '{sheet.get('name')}' leads to no part of the file")
        return targets[identifier]

    def _root(self, part: str) -> Any:
        self.part = part
        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
        return etree.fromstring(self._archive.read(part), parser)

    def _elements(self, part: str, *names: str) -> Iterator[Any]:
        """The elements of these names one by one: a part may be long."""
        self.part = part
        with self._archive.open(part) as stream:
            tags = [f"{{*}}{name}" for name in names]
            for _, element in etree.iterparse(
                stream, tag=tags, resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
            ):
                yield element
                element.clear(keep_tail=False)
                while element.getprevious() is not None:
                    del element.getparent()[0]

    def _relations(self, part: str) -> dict[str, tuple[str, str]]:
        """What a part refers to, by id: the mode (empty if internal) and the target."""
        folder, _, name = part.rpartition("/")
        listed = f"{folder}/_rels/{name}.rels"
        if listed not in self._parts:
            return {}
        found = {}
        for each in self._root(listed):
            outside, target = each.get("TargetMode", ""), each.get("Target", "")
            inside = target.lstrip("/") if target.startswith("/") else normpath(join(dirname(part), target))
            found[each.get("Id")] = outside, target if outside else inside
        return found

    def _external_links(self) -> Iterator[str]:
        for part in self._parts:
            if part.startswith(_EXTERNAL):
                yield from (target for mode, target in self._relations(part).values() if mode)

    def _properties(self) -> Iterator[tuple[str, str]]:
        part = "docProps/custom.xml"
        if part in self._parts:
            yield from ((each.get("name", ""), "".join(each.itertext())) for each in self._root(part))

    def _shared_strings(self) -> Iterator[str]:
        part = "xl/sharedStrings.xml"
        if part in self._parts:
            yield from (_text(element) for element in self._elements(part, "si"))

    def _sheet(self, part: str, title: str, state: str) -> SheetFile:
        sheet, shared, above, hidden = SheetFile(title, state), _Shared(), 0, 0
        for element in self._elements(part, "row", "col", "sheetProtection", "dataValidation"):
            kind = _local(element.tag)
            if kind == "row":
                above = _whole(element, "r") if element.get("r") else above + 1
                if not 1 <= above <= LAST_ROW:
                    raise ValueError(f"there is no row {above}")
                if _is_true(element.get("hidden")):
                    sheet.hidden_rows.add(above)
                self._row(sheet, above, element, shared)
            elif kind == "col" and _is_true(element.get("hidden")):
                first, last = _whole(element, "min"), min(_whole(element, "max"), LAST_COLUMN)
                if first <= last:
                    hidden |= (2 << last) - (1 << first)  # a bit for each: very many ranges may overlap
            elif kind == "sheetProtection":
                sheet.is_protected = _is_true(element.get("sheet"))
            elif kind == "dataValidation":
                sheet.validations.append(_validation(element))
                if len(sheet.validations) > MOST_VALIDATIONS:
                    raise ValueError(f"it has more than {MOST_VALIDATIONS:,} rules of data validation")
        sheet.hidden_columns.update(column for column in range(1, LAST_COLUMN + 1) if hidden >> column & 1)
        return sheet

    def _row(self, sheet: SheetFile, row: int, element: Any, shared: _Shared) -> None:
        column = 0
        for cell in element.iterchildren("{*}c"):
            address = cell.get("r")
            place = coordinates(address) if address else (row, column + 1)
            column = place[1]
            if column > LAST_COLUMN or place[0] > LAST_ROW:
                raise ValueError(f"cell {_address(place)} is beyond the last one, XFD1048576")
            try:
                self._cell(sheet, place, cell, shared)
            except ValueError as error:
                raise ValueError(f"cell {_address(place)}: {error}") from error

    def _cell(self, sheet: SheetFile, place: tuple[int, int], cell: Any, shared: _Shared) -> None:
        formula = stored = None
        for child in cell:
            if child.tag.endswith("}f"):
                formula = child
                if len(child.text or "") > LONGEST_FORMULA:
                    raise ValueError(f"its formula has more than {LONGEST_FORMULA:,} characters")
            elif child.tag.endswith(("}v", "}is")):
                stored = self._value(cell.get("t"), child)
        if stored is not None:
            sheet.stored[place] = stored
        if formula is not None and (text := shared.text(place, formula)):
            sheet.held[place] = Formula(f"={text}")
        elif stored is not None:
            sheet.held[place] = stored

    def _value(self, kind: str | None, element: Any) -> Value | None:
        text = element.text or ""
        match kind:
            case "s":
                if not text.isdecimal() or int(text) >= len(self._strings):
                    raise ValueError(f"there is no shared text {text[:20]}")
                return self._strings[int(text)]
            case "inlineStr":
                return _text(element)
            case "b":
                return text.strip() == "1"
            case "str" | "e":
                return _unescaped(text)
            case "d":
                return float(plain(datetime.datetime.fromisoformat(text)))
            case _:
                return _number(text) if text.strip() else None


class _Shared:
    """Formulas that stand once and are shared by a range, as Excel writes what was filled down."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}  # what moves them
        self._length = 0  # of all texts that were not in the file

    def text(self, place: tuple[int, int], formula: Any) -> str:
        text = formula.text or ""
        number = formula.get("si")
        if formula.get("t") != "shared" or number is None:
            return text
        from openpyxl.formula.tokenizer import TokenizerError
        from openpyxl.formula.translate import Translator, TranslatorError

        try:
            if text:
                self._known[number] = Translator(f"={text}", _address(place))
                return text
            if number not in self._known:
                raise ValueError(f"there is no shared formula {number}")
            moved = str(self._known[number].translate_formula(_address(place))).removeprefix("=")
        except (TokenizerError, TranslatorError) as error:
            raise ValueError(f"the formula cannot be filled: {error}") from error
        self._length += len(moved)
        if self._length > LONGEST_SHARED:
            raise ValueError("the formulas that were filled down are too long together")
        return moved


def _address(place: tuple[int, int]) -> str:
    return f"{letter(place[1])}{place[0]}"


def _validation(element: Any) -> DropDown:
    first = element.find("{*}formula1")
    rule = (first.text or "") if element.get("type") == "list" and first is not None else element.get("type", "any")
    areas = []
    for area in element.get("sqref", "").split():
        top, _, bottom = area.replace("$", "").partition(":")
        if top.isalpha():  # whole columns
            top, bottom = f"{top}1", f"{bottom}{LAST_ROW}"
        areas.append((coordinates(top), coordinates(bottom or top)))
    return DropDown(tuple(areas), rule)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise ValueError(f"'{text[:20]}' is no number that a cell can hold")
    return number


def _whole(element: Any, name: str) -> int:
    text = element.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < LONGEST_WHOLE):
        raise ValueError(f"a {_local(element.tag)} has {name}='{text[:20]}', which is no whole number")
    return int(text)


def _text(element: Any) -> str:
    """The text of a string item, without the reading aids for Japanese."""
    runs = (each.text or "" for each in element.iter("{*}t") if _local(each.getparent().tag) != "rPh")
    return _unescaped("".join(runs))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _is_true(text: str | None) -> bool:
    return text in ("1", "true", "on")
