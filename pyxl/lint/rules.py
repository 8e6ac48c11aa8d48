"""Rules: a function each, in one table. Its docstring is the explanation, with its source after `Source:`.

    @rule("sheet-name", Severity.REPAIR)
    def sheet_names(book):
        \"\"\"Why, in a sentence. Source: where that is known from.\"\"\"
        yield Found("what is wrong", "what to do", sheet.title)

A new rule is a new function.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Checked = TypeVar("Checked")


class Severity(enum.Enum):
    """What follows from a finding."""

    REPAIR = "repair"  # Excel offers to repair the file, or refuses it
    RULE = "rule"  # a rule of the house or of modelling is broken
    ADVICE = "advice"  # worth knowing; the file is clean all the same


class Found(NamedTuple):
    """What a rule found: what is wrong, what to do, and where: a sheet or part, and a cell or other place on it."""

    what: str
    advice: str
    sheet: str = ""
    cell: str = ""
    severity: Severity | None = None  # where it is not the rule's own


@dataclass(frozen=True, slots=True)
class Rule(Generic[Checked]):
    """A rule with its explanation and its source."""

    identifier: str
    severity: Severity
    explanation: str
    source: str
    check: Callable[[Checked], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong in a file, by which rule, where, and what to do."""

    rule: str
    severity: Severity
    sheet: str
    cell: str
    what: str
    advice: str


class Rules(Generic[Checked]):
    """A table of rules that check the same thing."""

    def __init__(self) -> None:
        self.by_identifier: dict[str, Rule[Checked]] = {}

    def __call__(
        self, identifier: str, severity: Severity
    ) -> Callable[[Callable[[Checked], Iterator[Found]]], Callable[[Checked], Iterator[Found]]]:
        """Enter the decorated function into the table."""

        def enter(check: Callable[[Checked], Iterator[Found]]) -> Callable[[Checked], Iterator[Found]]:
            assert identifier not in self.by_identifier, identifier
            explanation, _, source = inspect.cleandoc(check.__doc__ or "").partition("Source:")
            words = " ".join(explanation.split()), " ".join(source.split())
            self.by_identifier[identifier] = Rule(identifier, severity, *words, check)
            return check

        return enter

    def findings(self, checked: Checked) -> list[Finding]:
        """All that the rules find, in the order of the rules."""
        return [
            Finding(rule.identifier, found.severity or rule.severity, found.sheet, found.cell, found.what, found.advice)
            for rule in self.by_identifier.values()
            for found in rule.check(checked)
        ]


def some(names: Sequence[str] | Mapping[str, object], most: int = 3) -> str:
    """The first few of some names, and how many more there are."""
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
