"""`solbook lint`: whether a workbook file is sound, and keeps the rules of modelling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyxl import lint as sound
from pyxl.lint.book import Book
from pyxl.lint.rules import Finding, Rules, Severity
from workbook.lint import modelling
from workbook.lint.layout import ANALYSIS, Layout

MODELLING = "Modelling"
MOST_SHOWN = 5  # of one rule


def findings(path: Path, *, schema: bool = False) -> list[Finding]:
    """All findings in a file. Raises `UserError` where it is no workbook that can be read."""
    book = Book.read(path)
    found = sound.findings(book)
    if ANALYSIS in book.titles:  # of a workbook that is not ours, only whether it opens
        found += modelling.rule.findings(Layout(book))
    if schema:
        from pyxl.lint import schema as schemas

        found += schemas.findings(path)
    return found


def clean(found: list[Finding]) -> bool:
    """Whether nothing but advice was found."""
    return all(finding.severity is Severity.ADVICE for finding in found)


def as_json(path: Path, found: list[Finding]) -> dict[str, Any]:
    """Findings for programs."""
    fields = ("rule", "sheet", "cell", "what", "advice")
    listed = [{"severity": each.severity.value, **{key: getattr(each, key) for key in fields}} for each in found]
    return {"file": str(path), "clean": clean(found), "findings": listed}


def lines(path: Path, found: list[Finding]) -> Iterator[str]:
    """Findings for people, the worst first: of each rule a few, and how many more."""
    order = list(Severity)
    by_rule: dict[tuple[Severity, str], list[Finding]] = {}
    for each in sorted(found, key=lambda finding: order.index(finding.severity)):
        by_rule.setdefault((each.severity, each.rule), []).append(each)
    for (severity, rule), listed in by_rule.items():
        for each in listed[:MOST_SHOWN]:
            where = "!".join(filter(None, (each.sheet, each.cell)))
            yield f"{severity.value:6} {rule} {f'{where}: ' if where else ''}{each.what}: {each.advice}"
        if len(listed) > MOST_SHOWN:
            yield f"{severity.value:6} {rule} and {len(listed) - MOST_SHOWN:,} more; --json lists all"
    counts = (f"{sum(each.severity is severity for each in found)} {severity.value}" for severity in order)
    yield f"{path}: {'clean' if clean(found) else 'not clean'} ({', '.join(counts)})"


def rules() -> Iterator[tuple[str, str, str, str, str]]:
    """Every rule: theme, name, severity, explanation and source; last those that are held elsewhere."""
    themes: dict[str, Rules[Any]] = {**sound.THEMES, MODELLING: modelling.rule}
    for theme, table in themes.items():
        for each in table.by_identifier.values():
            yield theme, each.identifier, each.severity.value, each.explanation, each.source
    for identifier, reason in modelling.HELD_ELSEWHERE.items():
        yield MODELLING, identifier, "held elsewhere", reason, modelling.STANDARDS
