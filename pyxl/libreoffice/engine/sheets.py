"""The sheets of a workbook."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from xlwings import base_classes

from pyxl.errors import UserError
from pyxl.libreoffice.engine.addresses import rectangle
from pyxl.libreoffice.engine.names import Names
from pyxl.libreoffice.engine.notes import Note
from pyxl.libreoffice.engine.ranges import Range
from pyxl.libreoffice.engine.unsupported import explained

if TYPE_CHECKING:
    from pyxl.libreoffice.engine.books import Book


def range_at(book: Book, address: Any) -> Range:
    """The range at LibreOffice's address, which counts from 0."""
    return Range(
        Sheet(book, book.api.Sheets.getByIndex(address.Sheet)),
        address.StartRow + 1,
        address.StartColumn + 1,
        address.EndRow - address.StartRow + 1,
        address.EndColumn - address.StartColumn + 1,
    )


@explained
class Sheets(base_classes.Sheets):
    """The sheets of one workbook."""

    def __init__(self, book: Book) -> None:
        self._book = book

    @property
    def api(self) -> Any:
        return self._book.api.Sheets

    @property
    def active(self) -> Sheet:
        return Sheet(self._book, self._book.api.CurrentController.ActiveSheet)

    def __call__(self, name_or_index: str | int) -> Sheet:
        if isinstance(name_or_index, str):
            for name in self.api.getElementNames():
                if name.lower() == name_or_index.lower():
                    return Sheet(self._book, self.api.getByName(name))
            raise KeyError(name_or_index)
        if not 1 <= name_or_index <= len(self):
            raise IndexError(f"there is no sheet {name_or_index}: {self._book.name} has {len(self)}")
        return Sheet(self._book, self.api.getByIndex(name_or_index - 1))

    def __len__(self) -> int:
        return int(self.api.Count)

    def __iter__(self) -> Iterator[Sheet]:
        return (Sheet(self._book, self.api.getByIndex(index)) for index in range(len(self)))

    def __contains__(self, name: str) -> bool:
        return name.lower() in {each.lower() for each in self.api.getElementNames()}

    def add(self, before: Sheet | None = None, after: Sheet | None = None, name: str | None = None) -> Sheet:
        """By default before the active sheet, as Excel does; the new one becomes the active sheet."""
        self._book.require_structure()
        place = before.index - 1 if before else after.index if after else self.active.index - 1
        name = name or next(free for number in count(1) if (free := f"Sheet{number}") not in self)
        self.api.insertNewByName(name, place)
        sheet = self(name)
        sheet.activate()
        return sheet


@explained
class Sheet(base_classes.Sheet):
    """A sheet."""

    book: Book
    api: Any

    def __init__(self, book: Book, api: Any) -> None:
        self.book = book
        self.api = api

    @property
    def name(self) -> str:
        return str(self.api.Name)

    @name.setter
    def name(self, value: str) -> None:
        self.book.require_structure()
        if value.lower() != self.name.lower() and value in self.book.sheets:
            raise ValueError(f"Sheet named '{value}' already present in workbook")
        self.api.setName(value)

    @property
    def index(self) -> int:
        return int(self.api.RangeAddress.Sheet) + 1

    @property
    def names(self) -> Names:
        return Names(self.book, self)

    @property
    def notes(self) -> list[Note]:
        positions = [note.Position for note in self.api.Annotations]
        return [Note(Range(self, each.Row + 1, each.Column + 1, 1, 1)) for each in positions]

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        address = self.api.RangeAddress
        return address.EndRow + 1, address.EndColumn + 1

    def require_unprotected(self) -> None:
        """Raise `UserError` if it is protected: LibreOffice would ignore some changes without a word."""
        if self.api.isProtected():
            raise UserError(f"the sheet '{self.name}' is protected: unprotect it (Tools > Protect Sheet) and try again")

    def range(self, arg1: Any, arg2: Any = None) -> Range:
        """By address ("B2", "B2:D9", "B:D", "2:9"), name, row and column from 1, or from one range to another."""
        first = self._range(arg1)
        if arg2 is None:
            return first
        second = self._range(arg2)
        top, left = min(first.row, second.row), min(first.column, second.column)
        bottom = max(first.row + first.shape[0], second.row + second.shape[0])
        right = max(first.column + first.shape[1], second.column + second.shape[1])
        return Range(self, top, left, bottom - top, right - left)

    def _range(self, argument: Any) -> Range:
        if isinstance(argument, Range):
            return argument
        if isinstance(argument, tuple):
            row, column, *shape = argument
            if row < 1 or column < 1:
                raise IndexError("rows and columns are counted from 1")
            rows, columns = shape or (1, 1)
            return Range(self, row, column, rows, columns)
        found = rectangle(argument, self.size)
        if found is not None:
            return Range(self, *found)
        name = self.names.find(argument) or self.book.names.find(argument)
        if name is None:
            raise ValueError(f"'{argument}' is no address and no name in {self.book.name}")
        return name.refers_to_range

    @property
    def cells(self) -> Range:
        return Range(self, 1, 1, *self.size)

    @property
    def used_range(self) -> Range:
        cursor = self.api.createCursor()
        cursor.gotoStartOfUsedArea(False)
        cursor.gotoEndOfUsedArea(True)
        return range_at(self.book, cursor.RangeAddress)

    def activate(self) -> None:
        self.book.api.CurrentController.setActiveSheet(self.api)

    def select(self) -> None:
        self.activate()

    def clear_contents(self) -> None:
        self.cells.clear_contents()

    def clear_formats(self) -> None:
        self.cells.clear_formats()

    def clear(self) -> None:
        self.cells.clear()

    def autofit(self, axis: str | None = None) -> None:
        self.used_range.autofit(axis)

    def delete(self) -> None:
        """Raises `UserError` for the only sheet of a workbook."""
        self.book.require_structure()
        if len(self.book.sheets) == 1:
            raise UserError(f"'{self.name}' is the only sheet of {self.book.name}: a workbook needs one")
        self.book.api.Sheets.removeByName(self.name)

    def copy(self, before: Sheet | None, after: Sheet | None) -> None:
        """Copy it beside another sheet of this or another open workbook."""
        beside = before or after
        assert beside is not None
        place = beside.index - 1 if before else beside.index
        target = beside.book
        target.require_structure()
        if target is self.book:
            sheets = target.sheets
            name = next(free for number in count(2) if (free := f"{self.name} ({number})") not in sheets)
            self.book.api.Sheets.copyByName(self.name, name, place)
        else:
            target.api.Sheets.importSheet(self.book.api, self.name, place)

    def move(self, before: Sheet | None, after: Sheet | None) -> None:
        self.book.require_structure()
        beside = before or after
        assert beside is not None
        self.book.api.Sheets.moveByName(self.name, beside.index - 1 if before else beside.index)

    @property
    def visible(self) -> bool:
        return bool(self.api.IsVisible)

    @visible.setter
    def visible(self, value: bool) -> None:
        self.book.require_structure()
        self.api.IsVisible = value
