"""A workbook file as it lies in its archive: parts, relationships, sheets, cells and every formula text.

Read with lxml alone: what other readers mend in silence must be seen here.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from pyxl.cells import coordinates, letter
from pyxl.errors import UserError
from pyxl.files import MEND, WORKBOOK_PART, require_workbook
from pyxl.lint.formula import Facts, facts

CONTENT_TYPES = "[Content_Types].xml"
RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT_RELATIONSHIPS = "http://purl.oclc.org/ooxml/officeDocument/relationships"
PARSED = (".xml", ".rels", ".vml")

Element = Any  # lxml has no types of its own


class Relationship(NamedTuple):
    """A relationship of a part: its identifier, the last word of its type, and the part or address it leads to."""

    identifier: str
    kind: str
    target: str
    external: bool


class Cell(NamedTuple):
    """A cell as it is written; row and column are 0 where its address is none."""

    address: str
    row: int
    column: int
    kind: str
    style: str
    value: str | None
    formula: Element | None
    text: str | None


class Written(NamedTuple):
    """A formula text and where it stands; `within` says in what: cell, conditional format, validation, name, chart.

    Formulas that differ in their own column alone share their facts: `relative` is the text without that column, and
    `origin` the column whose references the facts hold.
    """

    sheet: str
    cell: str
    within: str
    text: str
    facts: Facts
    relative: str = ""
    origin: str = ""

    @property
    def references(self) -> list[str]:
        """The references of this very formula."""
        own = self.cell.rstrip("0123456789")
        if self.origin == own:
            return self.facts.references
        return [_own_column(self.origin).sub(own, reference) for reference in self.facts.references]


@cache
def _own_column(letters: str) -> re.Pattern[str]:
    """References to a column by relative address, such as G5 but not $G5 or G1 of a sheet named G1."""
    return re.compile(rf"(?<![\w.$]){letters}(?=[0-9]+(?![\w.(!]))")


def whole(text: str | None) -> int | None:
    """A whole number from 0, or None where the text is none."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 12 else None


@dataclass
class Sheet:
    """A worksheet: its title, state and part, and its cells."""

    title: str
    state: str
    part: str
    root: Element

    @cached_property
    def rows(self) -> list[Element]:
        return list(self.root.iterfind("{*}sheetData/{*}row"))

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells in the order of the file. Without an address, a cell stands behind the one before it."""
        return list(self._cells())

    def _cells(self) -> Iterator[Cell]:
        row = 0
        for line in self.rows:
            row = whole(line.get("r")) or row + 1
            column = 0
            for each in line.iterchildren("{*}c"):
                address = each.get("r")
                if address is None:
                    column += 1
                    found = row, column
                    address = f"{letter(column)}{row}"
                else:
                    try:
                        found = coordinates(address)
                        column = found[1]
                    except ValueError:
                        found = 0, 0
                value = formula = text = None
                for child in each:
                    name = child.tag.rpartition("}")[2]
                    if name == "v":
                        value = child.text or ""
                    elif name == "f":
                        formula = child
                    elif name == "is":
                        text = "".join(child.itertext("{*}t"))
                yield Cell(address, *found, each.get("t", "n"), each.get("s", "0"), value, formula, text)

    @cached_property
    def by_place(self) -> dict[tuple[int, int], Cell]:
        return {(cell.row, cell.column): cell for cell in self.cells}

    def all(self, path: str) -> list[Element]:
        """The elements at a path such as "mergeCells/mergeCell"."""
        return _all(self.root, path)


def _all(root: Element, path: str) -> list[Element]:
    return [] if root is None else root.findall("/".join(f"{{*}}{step}" for step in path.split("/")))


@dataclass
class Book:
    """A workbook file."""

    path: Path
    entries: list[str]
    parts: dict[str, bytes]
    trees: dict[str, Element] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Book:
        """Read a file whole. Raises `UserError` where it is no workbook, or a part of it is no XML."""
        require_workbook(path)
        try:
            with zipfile.ZipFile(path) as archive:
                entries = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
                parts = {name: archive.read(name) for name in entries}
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
            raise UserError(f"{path} is damaged: {error}") from error
        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
        trees = {}
        for name, data in parts.items():
            if name.lower().endswith(PARSED):
                try:
                    trees[name] = etree.fromstring(data, parser)
                except etree.XMLSyntaxError as error:
                    raise UserError(f"{path} is damaged: {name} is no XML ({error.msg}): {MEND}") from error
        if _local(trees.get(WORKBOOK_PART)) != "workbook":
            raise UserError(f"{path} is no Excel workbook (.xlsx): {WORKBOOK_PART} describes none")
        return cls(path, entries, parts, trees)

    @property
    def workbook(self) -> Element:
        return self.trees[WORKBOOK_PART]

    def all(self, part: str, path: str) -> list[Element]:
        """The elements at a path in a part; none where the part is missing."""
        return _all(self.trees.get(part), path)

    @cached_property
    def relationships(self) -> dict[str, list[Relationship]]:
        """The relationships of each part that has some; those of the package itself stand under ""."""
        found: dict[str, list[Relationship]] = {}
        for name in self.trees:
            folder, file = posixpath.split(name)
            if file.endswith(".rels") and posixpath.basename(folder) == "_rels":
                base = posixpath.dirname(folder)
                source = posixpath.join(base, file.removesuffix(".rels"))
                found[source] = [_relationship(each, base) for each in _all(self.trees[name], "Relationship")]
        return found

    def related(self, part: str, kind: str) -> list[str]:
        """The parts that a part leads to by relationships of a kind."""
        return [
            each.target for each in self.relationships.get(part, ()) if each.kind == kind and each.target in self.trees
        ]

    @cached_property
    def sheet_elements(self) -> list[Element]:
        """The entries of the workbook's list of sheets."""
        return _all(self.workbook, "sheets/sheet")

    @property
    def titles(self) -> list[str]:
        return [each.get("name", "") for each in self.sheet_elements]

    @cached_property
    def known_titles(self) -> set[str]:
        """The titles of all sheets, as formulas compare them."""
        return {title.casefold() for title in self.titles}

    @cached_property
    def sheets(self) -> list[Sheet]:
        """The worksheets, in their order; chart sheets and sheets without a part are left out."""
        targets = {each.identifier: each.target for each in self.relationships.get(WORKBOOK_PART, ())}
        return [
            Sheet(each.get("name", ""), each.get("state", "visible"), part, self.trees[part])
            for each in self.sheet_elements
            if (part := targets.get(relationship_identifier(each) or "", "")) in self.trees
            and _local(self.trees[part]) == "worksheet"
        ]

    @cached_property
    def names(self) -> list[Element]:
        return _all(self.workbook, "definedNames/definedName")

    @cached_property
    def styles(self) -> Element | None:
        return next((self.trees[part] for part in self.related(WORKBOOK_PART, "styles")), None)

    def style(self, path: str) -> list[Element]:
        """The elements at a path in the part of styles."""
        return _all(self.styles, path)

    @cached_property
    def shared_strings(self) -> list[Element]:
        parts = self.related(WORKBOOK_PART, "sharedStrings")
        return _all(self.trees[parts[0]], "si") if parts else []

    def cell_text(self, cell: Cell) -> str | None:
        """The text that a cell shows, where it is one."""
        if cell.kind == "s":
            index = whole(cell.value)
            if index is None or index >= len(self.shared_strings):
                return None
            return "".join(self.shared_strings[index].itertext("{*}t"))
        return cell.text if cell.kind == "inlineStr" else cell.value if cell.kind == "str" else None

    @cached_property
    def tables(self) -> list[tuple[Sheet, str, Element]]:
        """The tables of all sheets, with their parts."""
        return [(sheet, part, self.trees[part]) for sheet in self.sheets for part in self.related(sheet.part, "table")]

    @cached_property
    def charts(self) -> list[tuple[str, Element]]:
        """The charts with the titles of their sheets."""
        return [
            (sheet.title, self.trees[chart])
            for sheet in self.sheets
            for drawing in self.related(sheet.part, "drawing")
            for chart in self.related(drawing, "chart")
        ]

    @cached_property
    def formulas(self) -> list[Written]:
        """Every formula text of the file."""
        return list(self._formulas())

    def _formulas(self) -> Iterator[Written]:
        known: dict[str, tuple[Facts, str]] = {}
        for sheet in self.sheets:
            for cell in sheet.cells:
                if cell.formula is not None and (text := cell.formula.text):
                    column = letter(cell.column)
                    relative = _own_column(column).sub("\x00", text) if column else text
                    if relative not in known:
                        known[relative] = facts(text), column
                    yield Written(
                        sheet.title, cell.address, "cell", text, known[relative][0], relative, known[relative][1]
                    )
            for block in sheet.all("conditionalFormatting"):
                for each in block.iterfind("{*}cfRule/{*}formula"):
                    yield _written(sheet.title, block.get("sqref", ""), "conditional format", each.text or "")
            for block in sheet.all("dataValidations/dataValidation"):
                for each in block:
                    yield _written(sheet.title, block.get("sqref", ""), "validation", each.text or "")
        for each in self.names:
            yield _written("", each.get("name", ""), "name", each.text or "")
        for title, chart in self.charts:
            for each in chart.iter("{*}f"):
                yield _written(title, "", "chart", each.text or "")


def _written(sheet: str, cell: str, within: str, text: str) -> Written:
    return Written(sheet, cell, within, text, facts(text))


def _local(root: Element | None) -> str:
    return "" if root is None else etree.QName(root).localname


def _relationship(element: Element, base: str) -> Relationship:
    target, external = element.get("Target", ""), element.get("TargetMode") == "External"
    if not external:
        target = unquote(target.partition("#")[0])
        target = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(base, target))
    return Relationship(element.get("Id", ""), element.get("Type", "").rpartition("/")[2], target, external)


def relationship_identifier(element: Element) -> str | None:
    """The relationship that an element names, such as r:id."""
    found: str | None = element.get(f"{{{RELATIONSHIPS}}}id") or element.get(f"{{{STRICT_RELATIONSHIPS}}}id")
    return found
