"""An xlwings engine of plain lists that keeps the rules of xlwings Lite, to run scripts without Excel.

A script reads the workbook as it was when it started, and what it writes waits in a list until it ends. Formulas have
to be waited for. All else that a script reads, or that is not here, raises `NotImplementedError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xlwings
from xlwings import base_classes, utils

WRITTEN_ONLY = (
    "formula",
    "formula2",
    "color",
    "number_format",
    "column_width",
    "row_height",
    "wrap_text",
    "horizontal_alignment",
)


class Engine:
    name = "remote"  # as in xlwings Lite: xlwings itself asks for it
    type = "remote"

    @staticmethod
    def clean_value_data(data: Any, datetime_builder: Any, empty_as: Any, number_builder: Any, err_to_str: bool) -> Any:
        def clean(cell: Any) -> Any:
            if cell in ("", None):
                return empty_as
            return None if isinstance(cell, str) and cell.startswith("#") and not err_to_str else cell

        return [[clean(cell) for cell in row] for row in data]

    @staticmethod
    def prepare_xl_data_element(cell: Any, options: Any) -> Any:
        return "" if cell is None else cell


class App(base_classes.App):  # type: ignore[misc]
    def __init__(self, book: Book) -> None:
        self.book = book

    engine = property(lambda self: xlwings.engines["remote"].impl)
    books = property(lambda self: self)
    active = property(lambda self: self.book)
    pid = property(lambda self: -1)
    calculation = property(lambda self: "automatic")
    selection = property(lambda self: self.book.sheets.active.range(self.book.selected))

    def activate(self, steal_focus: bool | None = None) -> None:
        """Nothing: there is one workbook."""


class Book(base_classes.Book):  # type: ignore[misc]
    """A workbook: of each sheet the values and the formulas, as rows from A1."""

    def __init__(self, name: str, contents: Mapping[str, Mapping[str, Any]], selected: tuple[str, str]) -> None:
        self._name = name
        self.contents = dict(contents)
        self.active, self.selected = selected
        self._app = App(self)
        self.written: list[tuple[str, str, str, Any]] = []  # sheet, address, what, and the value

    name = fullname = property(lambda self: self._name)
    app = property(lambda self: self._app)
    sheets = property(lambda self: Sheets(self))  # noqa: PLW0108  it is defined below

    def activate(self) -> None:
        """Nothing: it is the active one."""

    def type_over(self, title: str, address: str, value: Any) -> None:
        """A cell as if a user had typed a value into it."""
        (row, column), _ = utils.a1_to_tuples(address)
        kinds = {kind: [list(line) for line in lines] for kind, lines in self.contents[title].items()}
        for lines in kinds.values():
            lines[row - 1][column - 1] = value
        self.contents[title] = kinds


class Sheets(base_classes.Sheets):  # type: ignore[misc]
    def __init__(self, book: Book) -> None:
        self.book = book

    active = property(lambda self: self(self.book.active))

    def __len__(self) -> int:
        return len(self.book.contents)

    def __iter__(self) -> Any:
        return (Sheet(self.book, title) for title in self.book.contents)

    def __call__(self, which: str | int) -> Sheet:
        titles = {title.casefold(): title for title in self.book.contents}
        if isinstance(which, int):
            return Sheet(self.book, list(titles.values())[which - 1])
        if which.casefold() not in titles:
            raise ValueError(f"Sheet '{which}' doesn't exist!")
        return Sheet(self.book, titles[which.casefold()])

    def add(self, before: Any = None, after: Any = None, name: str = "Sheet1") -> Sheet:
        self.book.contents[name] = {"values": [], "formulas": []}
        self.book.active = name
        self.book.written.append((name, "", "add", after and after.name))
        return Sheet(self.book, name)


class Sheet(base_classes.Sheet):  # type: ignore[misc]
    def __init__(self, book: Book, title: str) -> None:
        self.the_book, self.title = book, title

    name = property(lambda self: self.title)
    book = property(lambda self: self.the_book)
    index = property(lambda self: list(self.book.contents).index(self.title) + 1)
    cells = property(lambda self: self.range((1, 1), (1_048_576, 16_384)))
    visible = property(lambda self: True)

    @property
    def used_range(self) -> Range:
        values = self.book.contents[self.title]["values"] or [[None]]
        return self.range((1, 1), (len(values), len(values[0])))

    def range(self, first: Any, last: Any = None) -> Range:
        if isinstance(first, str):
            first, last = utils.a1_to_tuples(first)
        elif isinstance(first, Range):
            return Range(self, (first.row, first.column), (last.row, last.column) if last else None)
        return Range(self, first, last)

    def clear(self) -> None:
        self.book.written.append((self.title, "", "clear", None))

    def activate(self) -> None:
        self.book.written.append((self.title, "", "activate", None))


class Format:
    """The font of a range, say: whatever is set is written."""

    def __init__(self, cells: Range, name: str) -> None:
        self.__dict__.update(cells=cells, name=name)

    def __setattr__(self, attribute: str, value: Any) -> None:
        self.cells.write(f"{self.name}.{attribute}", value)


class Range(base_classes.Range):  # type: ignore[misc]
    def __init__(self, sheet: Sheet, first: tuple[int, ...], last: tuple[int, int] | None = None) -> None:
        row, column, *size = first  # xlwings gives a block of cells by its size as well
        self.sheet, self.first = sheet, (row, column)
        self.last = last or ((row + size[0] - 1, column + size[1] - 1) if size else self.first)

    row = property(lambda self: self.first[0])
    column = property(lambda self: self.first[1])
    shape = property(lambda self: (self.last[0] - self.first[0] + 1, self.last[1] - self.first[1] + 1))
    font = property(lambda self: Format(self, "font"))
    coords = property(lambda self: (self.sheet.name, self.row, self.column, *self.shape))
    api = property(lambda self: self.of("values"))

    def __len__(self) -> int:
        rows, columns = self.shape
        return int(rows * columns)

    def __call__(self, row: int, column: int | None = None) -> Range:
        if column is None:
            row, column = (row - 1) // self.shape[1] + 1, (row - 1) % self.shape[1] + 1
        return Range(self.sheet, (self.row + row - 1, self.column + column - 1))

    @property
    def address(self) -> str:
        ends = [f"${utils.col_name(column)}${row}" for row, column in (self.first, self.last)]
        return ends[0] if self.first == self.last else ":".join(ends)

    def of(self, kind: str) -> list[list[Any]]:
        """The values or formulas of these cells as they were."""
        rows = self.sheet.book.contents[self.sheet.name][kind]
        return [
            [rows[r][c] if r < len(rows) and c < len(rows[r]) else None for c in range(self.column - 1, self.last[1])]
            for r in range(self.row - 1, self.last[0])
        ]

    def write(self, what: str, value: Any = None) -> None:
        self.sheet.book.written.append((self.sheet.name, self.address.replace("$", ""), what, value))

    raw_value = property(lambda self: self.of("values"), lambda self, value: self.write("value", value))

    async def get_formula(self) -> list[list[Any]]:
        return [["" if cell is None else cell for cell in row] for row in self.of("formulas")]

    def clear(self) -> None:
        self.write("clear")

    def clear_contents(self) -> None:
        self.write("clear_contents")

    def autofit(self, axis: str | None = None) -> None:
        self.write("autofit", axis)

    def copy(self, destination: Range) -> None:
        self.write("copy", (destination.sheet.name, destination.address))

    def select(self) -> None:
        self.write("select")


def _unreadable(what: str) -> property:
    def read(self: Range) -> Any:
        raise NotImplementedError(f"xlwings Lite gives no {what} to a script that does not wait for it")

    return property(read, lambda self, value: self.write(what, value))


for what in WRITTEN_ONLY:
    setattr(Range, what, _unreadable(what))

xlwings.engines.add(xlwings.Engine(impl=Engine()))


def book(name: str, contents: Mapping[str, Mapping[str, Any]], selected: tuple[str, str]) -> xlwings.Book:
    """A workbook with these contents, and a cursor on a sheet at an address."""
    return xlwings.Book(impl=Book(name, contents, selected))
