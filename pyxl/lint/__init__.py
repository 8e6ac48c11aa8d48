"""Whether a workbook file is sound: everything that makes Excel offer a repair, and what other programs stumble over.

Rules stand by theme in the modules beside this one, a function each.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyxl.lint import cells, charts, formulas, names, parts, sheets, styles, tables, validations
from pyxl.lint.book import Book
from pyxl.lint.rules import Finding, Rule, Rules

THEMES: dict[str, Rules[Book]] = {
    "Package": parts.rule,
    "Sheets": sheets.rule,
    "Names": names.rule,
    "Cells": cells.rule,
    "Formulas": formulas.rule,
    "Validation and conditional formats": validations.rule,
    "Tables and comments": tables.rule,
    "Styles": styles.rule,
    "Charts": charts.rule,
}


def all_rules() -> Iterator[Rule[Book]]:
    """Every rule of every theme."""
    for theme in THEMES.values():
        yield from theme.by_identifier.values()


def findings(book: Book) -> list[Finding]:
    """All that the rules find in a file."""
    return [finding for theme in THEMES.values() for finding in theme.findings(book)]
