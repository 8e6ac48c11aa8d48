"""Defined names: those of a workbook, and those that belong to one sheet ("Sheet!name")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from xlwings import base_classes

from pyxl.libreoffice.engine.unsupported import explained
from pyxl.libreoffice.running import bridge, struct

if TYPE_CHECKING:
    from pyxl.libreoffice.engine.books import Book
    from pyxl.libreoffice.engine.ranges import Range
    from pyxl.libreoffice.engine.sheets import Sheet


def quoted(sheet: str) -> str:
    """The name of a sheet as it stands in a reference."""
    plain = _PLAIN.fullmatch(sheet) and not _MISTAKEN.fullmatch(sheet)
    return sheet if plain else "'" + sheet.replace("'", "''") + "'"


def _split(name: str) -> tuple[str | None, str]:
    scope, separator, own = name.rpartition("!")
    return (scope.removeprefix("'").removesuffix("'").replace("''", "'") if separator else None), own


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISTAKEN = re.compile(r"[A-Z]{1,3}\d+|R\d*|C\d*|R\d*C\d*|TRUE|FALSE", re.IGNORECASE)  # for cells or truth values


@explained
class Names(base_classes.Names):
    """The names of a workbook with those of its sheets, or the names of one sheet."""

    def __init__(self, book: Book, sheet: Sheet | None = None) -> None:
        self._book = book
        self._sheet = sheet

    @property
    def api(self) -> Any:
        return self._scope().NamedRanges

    def _scope(self) -> Any:
        return self._sheet.api if self._sheet else self._book.api

    def __iter__(self) -> Iterator[Name]:
        sheets = [self._sheet] if self._sheet else list(self._book.sheets)
        if not self._sheet:
            yield from (Name(self._book, None, own) for own in self._book.api.NamedRanges.getElementNames())
        for sheet in sheets:
            yield from (Name(self._book, sheet, own) for own in sheet.api.NamedRanges.getElementNames())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def snapshot(self) -> list[tuple[str, Name]]:
        return [(name.name, name) for name in self]

    def __call__(self, name_or_index: str | int) -> Name:
        if isinstance(name_or_index, str):
            found = self.find(name_or_index)
            if found is None:
                raise KeyError(name_or_index)
            return found
        return list(self)[name_or_index - 1]

    def contains(self, name_or_index: str | int) -> bool:
        if isinstance(name_or_index, str):
            return self.find(name_or_index) is not None
        return 1 <= name_or_index <= len(self)

    def find(self, name: str) -> Name | None:
        """The name, in whatever case, or None. "Sheet!name" is one of a sheet; alone it may be, among a sheet's."""
        scope, own = _split(name)
        for found in self:
            belongs = found.sheet.name if found.sheet else None
            if found.own.lower() == own.lower() and (
                (scope or "").lower() == (belongs or "").lower() or (scope is None and self._sheet is not None)
            ):
                return found
        return None

    def add(self, name: str, refers_to: str) -> Name:
        """Raises `ValueError` for what cannot be a name."""
        scope, own = _split(name)
        sheet = self._book.sheets(scope) if scope else self._sheet
        self._book.require_structure()
        container = (sheet.api if sheet else self._book.api).NamedRanges
        if container.hasByName(own):
            container.removeByName(own)
        content = self._book.syntax.native([refers_to if refers_to.startswith("=") else f"={refers_to}"])[0]
        uno_error = bridge().getClass("com.sun.star.uno.RuntimeException")
        try:
            container.addNewByName(own, content[1:], struct("table.CellAddress", 0, 0, 0), 0)
        except uno_error:
            raise ValueError(f"{own!r} cannot be a name: it must begin with a letter and be no cell address") from None
        return Name(self._book, sheet, own)


@explained
class Name(base_classes.Name):
    """A name. It stays itself when others come and go."""

    def __init__(self, book: Book, sheet: Sheet | None, own: str) -> None:
        self._book = book
        self.sheet = sheet
        self.own = own

    @property
    def _container(self) -> Any:
        return (self.sheet.api if self.sheet else self._book.api).NamedRanges

    @property
    def api(self) -> Any:
        return self._container.getByName(self.own)

    @property
    def name(self) -> str:
        return f"{quoted(self.sheet.name)}!{self.own}" if self.sheet else self.own

    @name.setter
    def name(self, value: str) -> None:
        own = _split(value)[1]
        self._book.require_structure()
        self.api.setName(own)
        self.own = own

    @property
    def refers_to(self) -> str:
        return self._book.syntax.excel([f"={self.api.Content}"])[0]

    @refers_to.setter
    def refers_to(self, value: str) -> None:
        self._book.require_structure()
        self.api.setContent(self._book.syntax.native([value])[0][1:])

    @property
    def refers_to_range(self) -> Range:
        """Raises `ValueError` if the name is no range."""
        from pyxl.libreoffice.engine.sheets import range_at

        cells = self.api.getReferredCells()
        if cells is None:
            raise ValueError(f"the name {self.name} is no range: {self.refers_to}")
        return range_at(self._book, cells.RangeAddress)

    def delete(self) -> None:
        self._book.require_structure()
        self._container.removeByName(self.own)
