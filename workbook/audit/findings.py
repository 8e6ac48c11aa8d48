"""What an audit finds: each finding says in words what was done, to which quantity, and where it stands now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any


class Kind(Enum):
    """What was done, the gravest first: findings are listed in this order."""

    FORMULA_CHANGED = "formula changed"
    OVERWRITTEN = "formula overwritten"
    EMPTIED = "cell emptied"
    ROW_DELETED = "row deleted"
    COLUMN_DELETED = "column deleted"
    SHEET_DELETED = "sheet deleted"
    INPUT_CHANGED = "input changed"
    LOOKUP_OVERRIDDEN = "look-up typed over"
    CATALOGUE_CHANGED = "catalogue number changed"
    CONSTANT_CHANGED = "constant changed"
    UNREADABLE = "not understood"
    STRATEGY_ADDED = "strategy added"
    STRATEGY_DELETED = "strategy deleted"
    STRATEGY_RENAMED = "strategy renamed"
    ROW_ADDED = "catalogue row added"
    POINT_ADDED = "curve point added"
    TEXT_CHANGED = "text changed"
    STALE = "stored values are old"
    NOT_STORED = "no stored values"
    MANUAL = "manual calculation"
    SHEET_RENAMED = "sheet renamed"
    HIDDEN = "hidden"
    UNPROTECTED = "protection removed"
    DROP_DOWN_REMOVED = "drop-down removed"
    NAME_BROKEN = "name broken"
    EXTERNAL_LINK = "external link"
    MACROS = "macros added"
    RECORD = "record of the study"


@dataclass(frozen=True)
class Finding:
    """One thing that was done. `strategies` are those it was done to alike; `cell` is the first of them.

    `old` and `new` are values in `unit`, or formulas in names.
    """

    kind: Kind
    sheet: str
    cell: str
    quantity: str
    text: str
    strategies: tuple[str, ...] = ()
    old: Any = None
    new: Any = None
    unit: str = ""

    @property
    def where(self) -> str:
        """Its place for people."""
        return f"{self.sheet}!{self.cell}" if self.cell else self.sheet

    def __str__(self) -> str:
        named = f"({', '.join((self.quantity, *self.strategies))})"
        return f"{' '.join(filter(None, (self.where, named)))}: {self.kind.value}: {self.text}"

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self) | {"kind": self.kind.value, "strategies": list(self.strategies)}


@dataclass(frozen=True)
class Audit:
    """What was found in a file, what is harmless and only remarked on, and how many cells were compared."""

    name: str
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    compared: int

    @property
    def verdict(self) -> str:
        """The outcome in a line."""
        if not self.findings:
            return f"nothing was changed: all {self.compared:,} cells are as the generator defines them"
        found = len(self.findings)
        return f"{found:,} finding{'s' * (found != 1)} in {self.compared:,} cells"

    def __str__(self) -> str:
        return "\n".join([self.verdict, *map(str, self.findings)])

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "file": self.name,
            "verdict": self.verdict,
            "findings": [finding.as_json() for finding in self.findings],
            "remarks": list(self.remarks),
            "cells_compared": self.compared,
        }


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """Findings of which those that were done alike to several strategies are one."""
    grouped: dict[tuple[Any, ...], Finding] = {}
    for number, each in enumerate(findings):
        alike = each.kind, each.sheet, each.quantity, each.text, str(each.old), str(each.new)
        key = alike if each.strategies else (*alike, number)
        first = grouped.setdefault(key, each)
        if first is not each:
            strategies = tuple(dict.fromkeys((*first.strategies, *each.strategies)))
            grouped[key] = replace(first, strategies=strategies)
    return list(grouped.values())


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The gravest kinds first, each kind in the order in which it was found."""
    kinds = list(Kind)
    return tuple(sorted(findings, key=lambda finding: kinds.index(finding.kind)))
