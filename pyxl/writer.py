"""Writes a plan as an .xlsx file. Knows openpyxl, and nothing of quantities or layout."""

from __future__ import annotations

import os
import tempfile
from copy import copy
from datetime import datetime
from io import BytesIO
from pathlib import Path
from textwrap import shorten
from typing import Any

from lxml.etree import SerialisationError  # type: ignore[import-untyped]
from openpyxl import Workbook
from openpyxl.formatting.rule import FormulaRule
from openpyxl.packaging.custom import StringProperty
from openpyxl.styles import Alignment, Border, Font, NamedStyle, PatternFill, Protection, Side
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink

from pyxl import fingerprint
from pyxl.cells import letter
from pyxl.errors import UserError
from pyxl.plan import Cell, Formula, Plan, Sheet, quoted
from pyxl.stored_values import with_stored_values
from pyxl.style import FONT, STYLES, Style

FIXED_DATE = datetime(2000, 1, 1)
GENERATOR = "solbook"


def _fill(color: str) -> PatternFill:
    return PatternFill("solid", start_color=color, end_color=color)


def _named_style(name: str, style: Style) -> NamedStyle:
    side = Side("thin", color="BFBFBF")
    return NamedStyle(
        f"solbook {name}",
        font=Font(name=FONT, size=style.size, bold=style.bold, italic=style.italic, color=style.color),
        fill=_fill(style.fill) if style.fill else PatternFill(),
        border=Border(side, side, side, side) if style.border else Border(),
        alignment=Alignment(horizontal=style.align, vertical="top" if style.wrap else "center", wrap_text=style.wrap),
        protection=Protection(locked=not style.unlocked),
    )


class _Stamps:
    """Style arrays by role and number format, made once: setting styles cell by cell is what costs time."""

    def __init__(self, workbook: Any) -> None:
        self._cell = workbook.active.cell(1, 1)
        self._arrays: dict[tuple[str, str | None], Any] = {}
        for name, style in STYLES.items():
            workbook.add_named_style(_named_style(name, style))

    def array(self, style: str, number_format: str | None) -> Any:
        key = style, number_format
        if key not in self._arrays:
            self._cell.style = f"solbook {style}"
            if number_format:
                self._cell.number_format = number_format
            self._arrays[key] = copy(self._cell._style)
        return self._arrays[key]


def _write_cell(worksheet: Any, row: int, column: int, cell: Cell, stamps: _Stamps) -> None:
    target = worksheet.cell(row, column)
    content = cell.content
    if isinstance(content, Formula):
        target.value = f"={content.text}"
    elif isinstance(content, str):
        target.value = content
        target.data_type = "s"  # a text that starts with = is still a text
    else:
        target.value = content
    target._style = copy(stamps.array(cell.style, cell.number_format))
    if isinstance(content, str) and content.startswith("="):
        target._style.quotePrefix = 1  # else editing such a text turns it into a formula
    if cell.link:
        target.hyperlink = Hyperlink(ref=target.coordinate, location=f"{quoted(cell.link)}!A1")


def _write_sheet(worksheet: Any, sheet: Sheet, stamps: _Stamps, *, protect: bool) -> None:
    for (row, column), cell in sheet.cells.items():
        _write_cell(worksheet, row, column, cell, stamps)
    for column, width in sheet.widths.items():
        worksheet.column_dimensions[letter(column)].width = width
    for row, height in sheet.heights.items():
        worksheet.row_dimensions[row].height = height
    if sheet.folded_columns:
        first, last = sheet.folded_columns
        worksheet.column_dimensions.group(letter(first), letter(last), outline_level=1, hidden=True)
        worksheet.column_dimensions[letter(last + 1)].collapsed = True
        worksheet.sheet_format.outlineLevelCol = 1
    worksheet.freeze_panes = sheet.freeze
    worksheet.sheet_view.showGridLines = False
    worksheet.sheet_view.zoomScale = 90
    _validate(worksheet, sheet)
    _highlight(worksheet, sheet)
    if sheet.charts:
        from pyxl.charts import native

        for chart in sheet.charts:
            worksheet.add_chart(native(chart), chart.anchor)
    worksheet.page_setup.orientation = "portrait" if sheet.portrait else "landscape"
    worksheet.page_setup.paperSize = worksheet.PAPERSIZE_A3
    worksheet.page_setup.fitToWidth = 1
    worksheet.page_setup.fitToHeight = sheet.pages_tall
    worksheet.sheet_properties.pageSetUpPr.fitToPage = True
    if sheet.print_area:
        worksheet.print_area = sheet.print_area
    if sheet.title_rows:
        worksheet.print_title_rows = f"{sheet.title_rows[0]}:{sheet.title_rows[1]}"
    worksheet.oddFooter.left.text = "&A"
    worksheet.oddFooter.right.text = "&P / &N"
    if protect:
        for column in sheet.free_columns:
            worksheet.column_dimensions[letter(column)].protection = Protection(locked=False)
        worksheet.protection.sheet = True
        worksheet.protection.formatColumns = False
        worksheet.protection.formatRows = False


def _validate(worksheet: Any, sheet: Sheet) -> None:
    for rule in sheet.validations:
        if rule.allowed:
            validation = DataValidation("list", formula1=rule.allowed, allow_blank=True)
            validation.error = "Choose a name from the list; a new choice is a new row on its sheet."
        else:
            lowest = str(rule.lowest)
            validation = DataValidation("decimal", operator="greaterThanOrEqual", formula1=lowest, allow_blank=True)
            validation.error = f"A number from {lowest}, in the base unit that stands beside or above."
        validation.errorTitle = "Not a possible value"
        validation.promptTitle = shorten(rule.prompt_title, 32, placeholder=" ...")
        validation.prompt = shorten(rule.prompt, 250, placeholder=" ...")
        validation.showErrorMessage = validation.showInputMessage = True
        validation.add(rule.cells)
        worksheet.add_data_validation(validation)


def _highlight(worksheet: Any, sheet: Sheet) -> None:
    for rule in sheet.highlights:
        style = STYLES[rule.style]
        worksheet.conditional_formatting.add(
            rule.cells,
            FormulaRule(
                formula=[rule.condition],
                font=Font(color=style.color, bold=style.bold),
                fill=PatternFill(bgColor=style.fill, fill_type="solid") if style.fill else None,
            ),
        )


def workbook_bytes(plan: Plan) -> bytes:
    """The whole file. Equal plans give equal bytes: no time, path or user name enters it."""
    workbook: Any = Workbook()
    stamps = _Stamps(workbook)
    scratch = workbook.active
    for sheet in plan.sheets:
        _write_sheet(workbook.create_sheet(sheet.title), sheet, stamps, protect=plan.protect)
    workbook.remove(scratch)
    workbook.active = 0
    properties = workbook.properties
    properties.title, properties.description, properties.creator = plan.title, plan.description, GENERATOR
    properties.created = properties.modified = FIXED_DATE
    workbook.custom_doc_props.append(StringProperty(name=fingerprint.PROPERTY, value=fingerprint.of_plan(plan)))
    workbook.calculation.fullCalcOnLoad = True
    buffer = BytesIO()
    try:
        workbook.save(buffer)
    except (OSError, SerialisationError) as error:
        raise UserError(f"cannot write to {tempfile.gettempdir()} ({error}): is the disk full?") from None
    values = {
        f"xl/worksheets/sheet{number}.xml": {
            f"{letter(column)}{row}": cell.content.value
            for (row, column), cell in sheet.cells.items()
            if isinstance(cell.content, Formula)
        }
        for number, sheet in enumerate(plan.sheets, start=1)
    }
    return with_stored_values(buffer.getvalue(), values)


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. Raises `UserError` where it cannot be written."""
    target = path.resolve()  # a link stays a link
    try:
        handle, name = tempfile.mkstemp(prefix=".solbook-", dir=target.parent)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another folder with -o") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; nothing was changed") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
