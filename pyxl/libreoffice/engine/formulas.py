"""Formulas between Excel's syntax, as a workbook file holds them, and LibreOffice's own.

    =INDEX(Models!$B$8:$B$56,MATCH(H$6,Models!$A$8:$A$56,0))         Excel's (grammar OOXML)
    =INDEX($Models.$B$8:$B$56;MATCH(H$6;$Models.$A$8:$A$56;0))       LibreOffice's

LibreOffice's own FormulaParser translates. Asked for each cell (getTokens, printFormula) it takes 1.2 ms,
ten seconds for a large sheet; asked for each text that getFormulaArray gives, 0.26 ms. But its work does not
depend on which cells a formula refers to, and the 9,000 formulas of a sheet are a few hundred without their
references: only those are translated, with stand-ins A1, B2, C3 ... for the references, which then return to
their places. A text whose stand-ins do not come back as they went is translated as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from pyxl.cells import letter
from pyxl.libreoffice.running import bridge, struct

NATIVE, XL_OOX = 0, 3  # com.sun.star.sheet.AddressConvention
EVERY_GROUP = 0x7FFFFFFF  # com.sun.star.sheet.FormulaMapGroup
PREFIX = "_xlfn."  # how a workbook file marks functions younger than Excel 2007

# Texts, quoted sheets, columns of a table and 1E-20 may look like references inside, but are none.
_TEXT = r'"(?:[^"]|"")*"'
_FIXED = rf"{_TEXT}|'(?:[^']|'')*'|\[(?:[^][]|\[[^]]*\])*\]|(?<![\w.])\d[\d.]*E[+-]\d+"
_FIXED_STARTS = tuple("\"'[0123456789")
_FIXED_MARKS = ('"', "'", "[", "E+", "E-")
_CELL = r"\$?[A-Z]{1,3}\$?[1-9]\d{0,6}"
_ERROR = r"#(?:N/A|DIV/0!|VALUE!|NAME\?|NUM!|NULL!)"
# A lost sheet, column or row is #REF! in a reference's place; Excel keeps the cell only if the sheet is lost.
_NATIVE_LOST, _EXCEL_LOST = rf"\$?#REF!\.{_CELL}|\$?[A-Z]{{0,3}}\$?#REF!\d*", rf"#REF!(?:{_CELL})?"
_NATIVE_TOKEN = re.compile(rf"({_FIXED}|{_NATIVE_LOST}|{_ERROR}|(?<![\w$]){_CELL}(?![\w(.]))")
_EXCEL_TOKEN = re.compile(rf"({_FIXED}|{_EXCEL_LOST}|{_ERROR}|(?<![\w$.]){_CELL}(?![\w(!.]))")
_TRUTH = re.compile(rf"{_TEXT}|(?<![\w.!$'])(?:TRUE|FALSE)(?![\w.(!])", re.IGNORECASE)
_FUNCTION = re.compile(rf"{_TEXT}|(?<![\w.])[A-Z][A-Z0-9._]*(?=\()")


class _Dialect(NamedTuple):
    token: re.Pattern[str]
    parser: Any


def _pieces(token: re.Pattern[str], text: str) -> tuple[list[str], list[str]]:
    """What stands between the references of a formula, which is one piece more, and the references."""
    split = token.split(text)
    if not any(mark in text for mark in _FIXED_MARKS):
        return split[::2], split[1::2]
    between, references = [split[0]], []
    for found, after in zip(split[1::2], split[2::2], strict=True):
        if found.startswith(_FIXED_STARTS):
            between[-1] += (_short(found) if found[0].isdigit() else found) + after
        else:
            references.append(found)
            between.append(after)
    return between, references


def _short(number: str) -> str:
    """1E-020 as 1E-20."""
    digits, exponent = number.split("E")
    return f"{digits}E{exponent[0]}{exponent[1:].lstrip('0') or '0'}"


def _joined(between: list[str], references: list[str]) -> str:
    text = [""] * (len(between) + len(references))
    text[::2], text[1::2] = between, references
    return "".join(text)


def _lost_in_excel(reference: str) -> str:
    return "#REF!" + reference.partition("#REF!.")[2] if "#REF!" in reference else reference


def _lost_in_native(reference: str) -> str:
    cell = reference.removeprefix("#REF!")
    return f"#REF!.{cell}" if cell and cell != reference else reference


def _renamed(text: str, functions: Mapping[str, str]) -> str:
    """With other names of functions. The parser would read a bare TRUE as the number 1."""
    called = _TRUTH.sub(lambda found: found[0] if found[0].startswith('"') else f"{found[0]}()", text)
    return _FUNCTION.sub(lambda found: functions.get(found[0], found[0]), called)


class Syntax:
    """Translates the formulas of one document; both texts begin with "="."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._base = struct("table.CellAddress", 0, 0, 0)

    @cached_property
    def _native(self) -> _Dialect:
        parser = self._document.createInstance("com.sun.star.sheet.FormulaParser")
        parser.FormulaConvention, parser.CompileEnglish = NATIVE, True
        return _Dialect(_NATIVE_TOKEN, parser)

    def _functions(self, language: str) -> Any:
        mapper = self._document.createInstance("com.sun.star.sheet.FormulaOpCodeMapper")
        number = bridge().getConstantByName(f"com.sun.star.sheet.FormulaLanguage.{language}")
        return mapper.getAvailableMappings(number, EVERY_GROUP)

    @cached_property
    def _of_files(self) -> Any:
        return self._functions("OOXML")

    @cached_property
    def _of_extensions(self) -> dict[str, str]:
        """Functions of extensions by the name that LibreOffice keeps, ORG.EXAMPLE.GETRATE, as they are typed: RATE."""
        functions = [each for each in self._functions("ENGLISH") if isinstance(each.Token.Data, str)]
        return {each.Token.Data.upper(): each.Name for each in functions}

    @cached_property
    def _excel(self) -> _Dialect:
        parser = self._document.createInstance("com.sun.star.sheet.FormulaParser")
        # Without a table of functions it would speak the language of the user's LibreOffice.
        parser.FormulaConvention, parser.OpCodeMap = XL_OOX, self._of_files
        return _Dialect(_EXCEL_TOKEN, parser)

    @cached_property
    def _typed(self) -> dict[str, str]:
        """Functions as they are typed, as they stand in a file where that is another name."""
        names = {each.Name for each in self._of_files}
        extensions = {typed: kept for kept, typed in self._of_extensions.items() if typed not in names}
        return extensions | {
            name.removeprefix(PREFIX): name for name in names if name.removeprefix(PREFIX) not in names
        }

    def excel(self, natives: list[str]) -> list[str]:
        """Formulas in LibreOffice's syntax, in Excel's."""
        return self._translated(natives, self._native, self._excel, self._of_extensions, _lost_in_excel)

    def native(self, excels: list[str]) -> list[str]:
        """Formulas in Excel's syntax, in LibreOffice's. Functions may lack the prefix "_xlfn."."""
        return self._translated(excels, self._excel, self._native, self._typed, _lost_in_native)

    def filled(self, excel: str, top: int, left: int, sheet: int, rows: int, columns: int) -> list[list[str]]:
        """A formula in Excel's syntax for the cell at `top`, `left` (from 0), in LibreOffice's for a whole range."""
        first = struct("table.CellAddress", sheet, left, top)
        tokens = self._excel.parser.parseFormula(_renamed(excel, self._typed)[1:], first)
        return [
            [
                "=" + self._native.parser.printFormula(tokens, struct("table.CellAddress", sheet, left + right, row))
                for right in range(columns)
            ]
            for row in range(top, top + rows)
        ]

    def _translated(
        self,
        texts: list[str],
        source: _Dialect,
        target: _Dialect,
        functions: Mapping[str, str],
        reference_text: Callable[[str], str],
    ) -> list[str]:
        def translate(text: str) -> str:
            tokens = source.parser.parseFormula(_renamed(text, functions)[1:], self._base)
            return "=" + _renamed(target.parser.printFormula(tokens, self._base), self._of_extensions)

        # Names and sheets come and go: what was found out holds for one call only.
        known: dict[tuple[str, ...], list[str] | None] = {}
        results = []
        for text in texts:
            between, references = _pieces(source.token, text)
            key = tuple(between)
            if key not in known:
                stand_ins = [f"{letter(place)}{place}" for place in range(1, len(references) + 1)]
                found, returned = _pieces(target.token, translate(_joined(between, stand_ins)))
                known[key] = found if returned == stand_ins else None
            translated = known[key]
            if translated is None:
                results.append(translate(text))
            else:
                if "#REF!" in text:
                    references = [reference_text(reference) for reference in references]
                results.append(_joined(translated, references))
        return results
