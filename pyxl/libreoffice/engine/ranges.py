"""Ranges of cells: what they hold, how they look, and moving them about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from xlwings import base_classes

from pyxl.errors import UserError
from pyxl.libreoffice.engine import addresses, formats, values
from pyxl.libreoffice.engine.formats import Font, common, mixed
from pyxl.libreoffice.engine.names import Name, quoted
from pyxl.libreoffice.engine.notes import Note
from pyxl.libreoffice.engine.unsupported import explained
from pyxl.libreoffice.engine.values import Block
from pyxl.libreoffice.running import bridge, struct

if TYPE_CHECKING:
    from pyxl.libreoffice.engine.sheets import Sheet

# com.sun.star.sheet.CellFlags
CONTENTS = 1 | 2 | 4 | 16 | 512  # numbers, dates, texts, formulas, fonts within a text
NOTES, LOOKS = 8, 32 | 64 | 256
STEPS = {"down": (1, 0), "up": (-1, 0), "right": (0, 1), "left": (0, -1)}
STEPS |= {name[0]: step for name, step in STEPS.items()}


@explained
class Range(base_classes.Range):
    """A rectangle of cells; with no rows or no columns it is empty, and `api` is None."""

    options: Mapping[str, Any] = {}
    max_cells_per_read = None  # LibreOffice takes any number at once
    max_cells_per_write = None

    sheet: Sheet
    row: int
    column: int
    shape: tuple[int, int]

    def __init__(self, sheet: Sheet, row: int, column: int, rows: int, columns: int) -> None:
        self.sheet = sheet
        self.row = row
        self.column = column
        self.shape = (rows, columns)

    @property
    def coords(self) -> tuple[Any, int, int, int, int]:
        return self.sheet.api, self.row, self.column, *self.shape

    @cached_property
    def api(self) -> Any:
        if not all(self.shape):
            return None
        block = (0, 0, self.shape[0] - 1, self.shape[1] - 1)
        return self._part(block)

    def _part(self, block: Block) -> Any:
        top, left, bottom, right = block
        first_row, first_column = self.row - 1, self.column - 1
        try:
            return self.sheet.api.getCellRangeByPosition(
                first_column + left, first_row + top, first_column + right, first_row + bottom
            )
        except bridge().getClass("com.sun.star.lang.IndexOutOfBoundsException"):
            raise IndexError(f"row {self.row}, column {self.column} is outside the sheet") from None

    def __len__(self) -> int:
        return self.shape[0] * self.shape[1]

    def __call__(self, arg1: int, arg2: int | None = None) -> Range:
        """The cell at a row and column from 1, or the one of that number, row by row."""
        row, column = (
            (arg1, arg2)
            if arg2 is not None
            else (
                (arg1 - 1) // self.shape[1] + 1,
                (arg1 - 1) % self.shape[1] + 1,
            )
        )
        row, column = self.row + row - 1, self.column + column - 1
        if row < 1 or column < 1:
            raise IndexError(f"there is no row {row}, column {column}")
        return Range(self.sheet, row, column, 1, 1)

    # Addresses

    def get_address(self, row_absolute: bool = True, col_absolute: bool = True, external: bool = False) -> str:
        marks = ("$" if row_absolute else "", "$" if col_absolute else "")
        local = addresses.address(self.row, self.column, *self.shape, self.sheet.size, *marks)
        if not external:
            return local
        sheet, book = self.sheet.name, self.sheet.book.name
        place = f"[{book}]{sheet}"
        return f"{place if quoted(sheet) == sheet and ' ' not in book else quoted(place)}!{local}"

    @property
    def address(self) -> str:
        if not len(self):
            return (
                f"{addresses.address(self.row, self.column, 1, 1, self.sheet.size)}{{{self.shape[0]}x{self.shape[1]}}}"
            )
        return self.get_address()

    @property
    def name(self) -> Name | None:
        for name in self.sheet.book.names:
            cells = name.api.getReferredCells()
            if cells is not None and cells.RangeAddress == self.api.RangeAddress:
                return name
        return None

    @name.setter
    def name(self, value: str) -> None:
        self.sheet.book.names.add(value, f"={quoted(self.sheet.name)}!{self.address}")

    # Values and formulas

    def require_writable(self) -> None:
        """Raise `UserError` if a cell is protected: LibreOffice would ignore some changes without a word."""
        if self.sheet.api.isProtected():
            protection = common(self.api, "CellProtection")
            if protection is None or protection.IsLocked:
                self.sheet.require_unprotected()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Say what LibreOffice refuses, which it does not."""
        try:
            yield
        except bridge().getClass("com.sun.star.uno.RuntimeException"):
            raise UserError(
                f"LibreOffice cannot change {self.address} of '{self.sheet.name}':"
                " is it part of an array formula, or would cells leave the sheet?"
            ) from None

    def _kinds(self) -> Iterator[tuple[Block, int]]:
        """The parts whose number format makes a number something else, and what."""
        known = self.sheet.book.formats
        if len(self) == 1 or not mixed(self.api, "NumberFormat"):
            if kind := known.kind(self.api.NumberFormat):
                yield (0, 0, self.shape[0] - 1, self.shape[1] - 1), kind
            return
        # Through a pipe this is most of the time that reading takes, 0.2 s for a sheet of 225 looks; inside, 5 ms.
        for alike in self.api.getUniqueCellFormatRanges():
            if kind := known.kind(alike.NumberFormat):
                for part in alike.RangeAddresses:
                    top, left = part.StartRow - self.row + 1, part.StartColumn - self.column + 1
                    yield (top, left, top + part.EndRow - part.StartRow, left + part.EndColumn - part.StartColumn), kind

    @property
    def raw_value(self) -> Any:
        if self.api is None:
            return None
        rows = values.read(self.api, self._kinds(), self.sheet.book.null_date, bool(self.options.get("err_to_str")))
        return rows[0][0] if self.shape == (1, 1) else rows

    @raw_value.setter
    def raw_value(self, data: Any) -> None:
        if self.api is None:
            return
        self.require_writable()
        filling = not isinstance(data, (list, tuple))
        if filling:
            rows: Sequence[Sequence[Any]] = [[data] * self.shape[1]] * self.shape[0]
        else:
            rows = data if data and isinstance(data[0], (list, tuple)) else [data]
            if (len(rows), len(rows[0])) != self.shape:
                raise ValueError(f"{len(rows)} x {len(rows[0])} values do not fit into {self.address}")
        content = values.content(rows, self.sheet.book.null_date)
        with self._changing():
            if len(content.formulas) < len(self):
                self.api.setDataArray(content.plain)
            if content.formulas:
                self._write_formulas(content.formulas, filling)
        for kind in set(content.kinds.values()):
            for block in values.blocks(place for place, its in content.kinds.items() if its == kind):
                self._format_as(self._part(block), kind)

    def _write_formulas(self, formulas: Mapping[tuple[int, int], str], filling: bool) -> None:
        syntax = self.sheet.book.syntax
        if filling and len(formulas) > 1:  # as Excel does: the same formula, moved on from the first cell
            place = (self.row - 1, self.column - 1, self.sheet.index - 1)
            lines = syntax.filled(formulas[0, 0], *place, *self.shape)
            native = {(row, column): lines[row][column] for row, column in formulas}
        else:
            native = dict(zip(formulas, syntax.native(list(formulas.values())), strict=True))
        for top, left, bottom, right in values.blocks(native):
            self._part((top, left, bottom, right)).setFormulaArray(
                tuple(tuple(native[row, column] for column in range(left, right + 1)) for row in range(top, bottom + 1))
            )

    def _format_as(self, cells: Any, kind: int) -> None:
        known = self.sheet.book.formats
        if mixed(cells, "NumberFormat") or known.kind(cells.NumberFormat) & kind != kind:
            cells.NumberFormat = known.standard(kind)

    @property
    def formula(self) -> Any:
        """Formulas in Excel's syntax as a workbook file holds them; a constant as it would be typed."""
        if self.api is None:
            return None
        texts, data = self.api.getFormulaArray(), self.api.getDataArray()
        # A formula differs from its value; a text that looks like one does not. {=...} is part of an array formula.
        found = {
            (row, column): text[1:-1] if text[0] == "{" else text
            for row, line in enumerate(texts)
            for column, text in enumerate(line)
            if text.startswith(("=", "{=")) and text != data[row][column]
        }
        excel = dict(zip(found, self.sheet.book.syntax.excel(list(found.values())), strict=True))
        rows = tuple(
            tuple(
                excel[row, column] if (row, column) in excel else values.constant(value)
                for column, value in enumerate(line)
            )
            for row, line in enumerate(data)
        )
        return rows[0][0] if self.shape == (1, 1) else rows

    @formula.setter
    def formula(self, value: Any) -> None:
        self.raw_value = value

    formula2 = formula

    @property
    def has_array(self) -> bool:
        return self.api is not None and str(self.api.getCellByPosition(0, 0).getArrayFormula()) != ""

    @property
    def formula_array(self) -> str | None:
        if self.api is None:
            return None
        text = self.api.getArrayFormula()
        return self.sheet.book.syntax.excel([text[1:-1]])[0] if text.startswith("{") else None

    @formula_array.setter
    def formula_array(self, value: str) -> None:
        self.require_writable()
        with self._changing():
            self.api.setArrayFormula(self.sheet.book.syntax.native([value])[0])

    def clear_contents(self) -> None:
        self._clear(CONTENTS)

    def clear_formats(self) -> None:
        self._clear(LOOKS)

    def clear(self) -> None:
        self._clear(CONTENTS | NOTES | LOOKS)

    def _clear(self, flags: int) -> None:
        if self.api is not None:
            self.require_writable()
            self.api.clearContents(flags)

    # Neighbours

    def end(self, direction: str) -> Range:
        """Where Ctrl and an arrow lead from the first cell."""
        down, right = STEPS[direction]
        last_row, last_column = self.sheet.size
        used = self.sheet.used_range
        bottom, far = used.row + used.shape[0] - 1, used.column + used.shape[1] - 1
        steps = (
            (last_row - self.row)
            if down > 0
            else self.row - 1
            if down < 0
            else (last_column - self.column if right > 0 else self.column - 1)
        )
        within = max(0, bottom - self.row if down > 0 else far - self.column if right > 0 else steps)
        line = self._line(down, right, min(steps, within))
        step = _ctrl_arrow(line, steps)
        return Range(self.sheet, self.row + down * step, self.column + right * step, 1, 1)

    def _line(self, down: int, right: int, steps: int) -> list[bool]:
        """Which cells are filled, from the first one on in a direction."""
        top, left = (self.row - steps, self.column) if down < 0 else (self.row, self.column)
        left = left - steps if right < 0 else left
        line = Range(self.sheet, top, left, 1 + abs(down) * steps, 1 + abs(right) * steps)
        texts = [text != "" for row in line.api.getFormulaArray() for text in row]
        return texts[::-1] if down < 0 or right < 0 else texts

    @property
    def current_region(self) -> Range:
        from pyxl.libreoffice.engine.sheets import range_at

        cursor = self.sheet.api.createCursorByRange(self.api)
        cursor.collapseToCurrentRegion()
        return range_at(self.sheet.book, cursor.RangeAddress)

    def select(self) -> None:
        self.sheet.activate()
        self.sheet.book.api.CurrentController.select(self.api)

    # Moving about

    def insert(self, shift: str | None = None, copy_origin: str | None = None) -> None:
        """Insert cells; whole rows or columns if the range is made of them. They look like those before them."""
        self.sheet.require_unprotected()
        rows, columns = self._whole()
        mode = "ROWS" if rows else "COLUMNS" if columns else {"down": "DOWN", "right": "RIGHT"}[shift or "down"]
        with self._changing():
            self.sheet.api.insertCells(self.api.RangeAddress, bridge().Enum("com.sun.star.sheet.CellInsertMode", mode))

    def delete(self, shift: str | None = None) -> None:
        """Delete cells; whole rows or columns if the range is made of them."""
        self.sheet.require_unprotected()
        rows, columns = self._whole()
        # Excel decides by the shape what moves up.
        shift = shift or ("left" if self.shape[0] > self.shape[1] else "up")
        mode = "ROWS" if rows else "COLUMNS" if columns else {"up": "UP", "left": "LEFT"}[shift]
        with self._changing():
            self.sheet.api.removeRange(self.api.RangeAddress, bridge().Enum("com.sun.star.sheet.CellDeleteMode", mode))

    def _whole(self) -> tuple[bool, bool]:
        """Whether it is made of whole rows, of whole columns."""
        rows, columns = self.sheet.size
        return self.shape[1] == columns, self.shape[0] == rows

    def copy(self, destination: Any = None) -> None:
        """Copy contents, looks, notes and validation; references move along."""
        with self._changing():
            self.sheet.api.copyRange(self._target(destination, "copy"), self.api.RangeAddress)

    def move(self, destination: Any) -> None:
        """Move the cells; references to them follow."""
        self.require_writable()
        with self._changing():
            self.sheet.api.moveRange(self._target(destination, "move"), self.api.RangeAddress)

    def _target(self, destination: Any, what: str) -> Any:
        if destination is None:
            raise NotImplementedError(f"xlwings' Range.{what} is not available without a destination on LibreOffice")
        target: Range = getattr(destination, "impl", destination)
        if target.sheet.book is not self.sheet.book:
            raise NotImplementedError(f"xlwings' Range.{what} is not available between workbooks on LibreOffice")
        Range(target.sheet, target.row, target.column, *self.shape).require_writable()
        return struct("table.CellAddress", target.sheet.index - 1, target.column - 1, target.row - 1)

    # Looks

    def _set(self, name: str, value: Any) -> None:
        self.require_writable()
        self.api.setPropertyValue(name, value)

    @property
    def number_format(self) -> str | None:
        number = common(self.api, "NumberFormat")
        return None if number is None else self.sheet.book.formats.code(number)

    @number_format.setter
    def number_format(self, value: str) -> None:
        self._set("NumberFormat", self.sheet.book.formats.number(value))

    @property
    def font(self) -> Font:
        return Font(self)

    @property
    def color(self) -> formats.Colour | None:
        number = common(self.api, "CellBackColor")
        return None if number in (None, formats.NONE) else formats.to_colour(number)

    @color.setter
    def color(self, color_or_rgb: formats.Colour | int | str | None) -> None:
        self._set("CellBackColor", formats.from_colour(color_or_rgb))

    @property
    def wrap_text(self) -> bool | None:
        wrapped = common(self.api, "IsTextWrapped")
        return None if wrapped is None else bool(wrapped)

    @wrap_text.setter
    def wrap_text(self, value: bool) -> None:
        self._set("IsTextWrapped", value)

    @property
    def horizontal_alignment(self) -> str | None:
        justification = common(self.api, "HoriJustify")
        return None if justification is None else formats.horizontal_name(justification)

    @horizontal_alignment.setter
    def horizontal_alignment(self, value: str) -> None:
        self._set("HoriJustify", formats.horizontal_justification(value))

    @property
    def vertical_alignment(self) -> str | None:
        justification = common(self.api, "VertJustify")
        return None if justification is None else formats.vertical_name(justification)

    @vertical_alignment.setter
    def vertical_alignment(self, value: str) -> None:
        self._set("VertJustify", formats.vertical_justification(value))

    @property
    def column_width(self) -> float | None:
        widths = {column.Width for column in self.api.Columns}
        return formats.to_characters(widths.pop()) if len(widths) == 1 else None

    @column_width.setter
    def column_width(self, value: float) -> None:
        self.sheet.require_unprotected()
        self.api.Columns.Width = formats.from_characters(value)

    @property
    def row_height(self) -> float | None:
        heights = {row.Height for row in self.api.Rows}
        return round(heights.pop() * formats.POINTS_PER_UNIT, 2) if len(heights) == 1 else None

    @row_height.setter
    def row_height(self, value: float) -> None:
        self.sheet.require_unprotected()
        self.api.Rows.Height = round(value / formats.POINTS_PER_UNIT)

    @property
    def column_hidden(self) -> bool | None:
        return _all_or_none([not column.IsVisible for column in self.api.Columns])

    @column_hidden.setter
    def column_hidden(self, value: bool) -> None:
        self.sheet.require_unprotected()
        self.api.Columns.IsVisible = not value

    @property
    def row_hidden(self) -> bool | None:
        return _all_or_none([not row.IsVisible for row in self.api.Rows])

    @row_hidden.setter
    def row_hidden(self, value: bool) -> None:
        self.sheet.require_unprotected()
        self.api.Rows.IsVisible = not value

    @property
    def width(self) -> float:
        return float(self.api.Size.Width * formats.POINTS_PER_UNIT)

    @property
    def height(self) -> float:
        return float(self.api.Size.Height * formats.POINTS_PER_UNIT)

    @property
    def left(self) -> float:
        return float(self.api.Position.X * formats.POINTS_PER_UNIT)

    @property
    def top(self) -> float:
        return float(self.api.Position.Y * formats.POINTS_PER_UNIT)

    def autofit(self, axis: str | None = None) -> None:
        self.sheet.require_unprotected()
        if axis in (None, "c", "columns"):
            self.api.Columns.OptimalWidth = True
        if axis in (None, "r", "rows"):
            self.api.Rows.OptimalHeight = True

    # Notes and links

    @property
    def note(self) -> Note | None:
        note = Note(Range(self.sheet, self.row, self.column, 1, 1))
        return note if note.text else None

    def add_note(self, text: str) -> Note:
        self.require_writable()
        self.sheet.api.Annotations.insertNew(self.api.getCellByPosition(0, 0).CellAddress, text)
        return Note(self)

    @property
    def hyperlink(self) -> str:
        for field in self.api.getCellByPosition(0, 0).getTextFields():
            if field.getPropertySetInfo().hasPropertyByName("URL"):
                return str(field.URL)
        raise UserError(f"the cell {self.address} of '{self.sheet.name}' holds no hyperlink")

    def add_hyperlink(self, address: str, text_to_display: str | None = None, screen_tip: str | None = None) -> None:
        self.require_writable()
        cell = self.api.getCellByPosition(0, 0)
        field = self.sheet.book.api.createInstance("com.sun.star.text.TextField.URL")
        field.URL, field.Representation = address, text_to_display or address
        cell.setString("")
        cell.insertTextContent(cell.createTextCursor(), field, False)


def _all_or_none(states: list[bool]) -> bool | None:
    return states[0] if len(set(states)) == 1 else None


def _ctrl_arrow(filled: Sequence[bool], steps: int) -> int:
    """How many steps Ctrl and an arrow go: to the end of what is filled, else to the next, else to the sheet's."""
    if len(filled) > 1 and filled[0] and filled[1]:
        return next((step for step, full in enumerate(filled) if not full), len(filled)) - 1
    return next((step for step, full in enumerate(filled) if full and step), steps)
