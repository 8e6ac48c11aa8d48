"""Rules about data validation and conditional formats."""

from __future__ import annotations

from collections.abc import Iterator

from pyxl.lint.book import Book, whole
from pyxl.lint.ranges import bad, overlapping, parsed
from pyxl.lint.rules import Found, Rules, Severity

rule = Rules[Book]()

LONGEST_LIST = 255
LONGEST = {"promptTitle": 32, "errorTitle": 32, "prompt": 255, "error": 225}
KINDS = ("none", "whole", "decimal", "list", "date", "time", "textLength", "custom")
BETWEEN = ("between", "notBetween")
WITH_FORMULA = ("expression", "cellIs")


@rule("validation-list", Severity.REPAIR)
def validation_lists(book: Book) -> Iterator[Found]:
    """A list of choices that is written out has at most 255 characters: put a longer one into cells.

    Source: XlsxWriter, data_validation(); "Removed Feature: Data validation from /xl/worksheets/sheet1.xml"
    """
    for sheet in book.sheets:
        for each in sheet.all("dataValidations/dataValidation"):
            for formula in each:
                text = formula.text or ""
                if text.startswith('"') and len(text) - 2 > LONGEST_LIST:
                    what = f"a list of {len(text) - 2} characters"
                    yield Found(what, "list the choices in cells", sheet.title, each.get("sqref", ""))


@rule("validation-text", Severity.REPAIR)
def validation_texts(book: Book) -> Iterator[Found]:
    """Titles of a validation's messages have at most 32 characters, its prompt 255 and its error message 225.

    Source: MS-XLS, section 2.5.37 (DValStrings); XlsxWriter, data_validation()
    """
    for sheet in book.sheets:
        for each in sheet.all("dataValidations/dataValidation"):
            for attribute, longest in LONGEST.items():
                length = len(each.get(attribute, "").replace("_x000a_", " "))
                if length > longest:
                    what = f"{attribute} has {length} characters"
                    yield Found(what, f"use at most {longest}", sheet.title, each.get("sqref", ""))


@rule("validation-form", Severity.REPAIR)
def validation_forms(book: Book) -> Iterator[Found]:
    """A validation is of a known kind, for cells, and has what its kind compares with.

    Source: ECMA-376 part 1, section 18.3.1.32
    """
    for sheet in book.sheets:
        for each in sheet.all("dataValidations/dataValidation"):
            kind, cells = each.get("type", "none"), each.get("sqref", "")
            wrong = bad(cells)
            if wrong is not None:
                yield Found(f"a validation for '{wrong}'", "name cells", sheet.title, cells)
            if kind not in KINDS:
                yield Found(f"a validation of kind '{kind}'", f"use one of {', '.join(KINDS)}", sheet.title, cells)
            filled = [child.tag.rpartition("}")[2] for child in each if (child.text or "").strip()]
            needed = ["formula1"] if kind != "none" else []
            numeric = kind not in ("none", "list", "custom")
            if numeric and each.get("operator", "between") in BETWEEN:
                needed.append("formula2")
            if missing := [name for name in needed if name not in filled]:
                yield Found(f"a validation of kind '{kind}' without {missing[0]}", "write it", sheet.title, cells)


@rule("validation-overlap", Severity.RULE)
def validation_overlaps(book: Book) -> Iterator[Found]:
    """A cell has one validation: of two, programs apply whichever they please.

    Source: ECMA-376 part 1, section 18.3.1.32
    """
    for sheet in book.sheets:
        ranges = [
            (range_, text)
            for each in sheet.all("dataValidations/dataValidation")
            for text in each.get("sqref", "").split()
            if (range_ := parsed(text))
        ]
        for text, other in overlapping(ranges):
            yield Found(f"validations of {text} and {other} overlap", "validate each cell once", sheet.title, text)


@rule("conditional-format-style", Severity.REPAIR)
def conditional_format_styles(book: Book) -> Iterator[Found]:
    """A conditional format names a style that there is, counted from 0.

    Source: ECMA-376 part 1, section 18.3.1.10; "Removed Feature: Conditional formatting"
    """
    count = len(book.style("dxfs/dxf"))
    for sheet in book.sheets:
        for block in sheet.all("conditionalFormatting"):
            for each in block.iterfind("{*}cfRule"):
                style = each.get("dxfId")
                if style is not None and (whole(style) is None or int(style) >= count):
                    what = f"a conditional format with style {style} of {count}"
                    yield Found(what, "name one that there is", sheet.title, block.get("sqref", ""))


@rule("conditional-format-form", Severity.REPAIR)
def conditional_format_forms(book: Book) -> Iterator[Found]:
    """A conditional format is for cells, has at least one rule, each with a priority from 1 and what it compares with.

    Source: ECMA-376 part 1, section 18.3.1.10 and 18.3.1.18; exceljs #2178
    """
    for sheet in book.sheets:
        for block in sheet.all("conditionalFormatting"):
            cells = block.get("sqref", "")
            wrong, rules = bad(cells), block.findall("{*}cfRule")
            if wrong is not None:
                yield Found(f"a conditional format for '{wrong}'", "name cells", sheet.title, cells)
            if not rules and not block.findall("{*}extLst"):
                yield Found("a conditional format without a rule", "remove it", sheet.title, cells)
            for each in rules:
                if not whole(each.get("priority")):
                    what = f"a conditional format with priority '{each.get('priority')}'"
                    yield Found(what, "write a number from 1", sheet.title, cells)
                if each.get("type") in WITH_FORMULA and not (each.findtext("{*}formula") or "").strip():
                    yield Found("a conditional format without its formula", "write it", sheet.title, cells)
