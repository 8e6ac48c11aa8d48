"""Two workbooks compared by meaning: which inputs differ, and which quantities change because of them.

Values are those that Python computes from the inputs in each file, so that neither layout nor stale values count.
An input moves alone where the first workbook takes only it from the second: what that does to a result is its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pyxl.cells import Formula
from pyxl.errors import UserError
from pyxl.naming import suggestion
from pyxl.quantity import GIVEN, Failure, Kind, Quantity
from workbook.analysis import analysis
from workbook.comparison import agree, fastest
from workbook.contents import Contents
from workbook.file_inputs import MODEL_SHEET
from workbook.sheets import summary

MOST_PARTS = 12  # inputs of a strategy that move alone; of more, the last one stands for all others
MOST_MOVES = 200  # of all strategies
OTHERS = "the other inputs together"
TOGETHER = "several together"
NEGLIGIBLE = 0.005  # share of a change that is not worth telling

RESULTS, DETAILS = (tuple(heading.quantity for heading in headings) for headings in (summary.VERDICT, summary.DETAILS))

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """An input that moves alone: what comes out, and which share of the whole change that is."""

    key: str
    value: Any
    share: float

    def as_json(self) -> dict[str, Any]:
        """The part."""
        return {"input": self.key, "alone": _plain(self.value), "share": self.share}


@dataclass(frozen=True)
class Change:
    """A quantity with another value, and the inputs through which it changes, largest part first."""

    key: str
    label: str
    unit: str
    old: Any
    new: Any
    through: tuple[Part, ...] = ()

    @property
    def relative(self) -> float | None:
        """By which part of the old value it changes; None where there is no such number."""
        return relative(self.old, self.new)

    @property
    def size(self) -> float:
        """How much it changes, for ranking: 0.5 for half as much and for twice as much, 2 without a number."""
        if not (_is_number(self.old) and _is_number(self.new)):
            return 2.0
        return float(abs(self.new - self.old) / max(abs(self.new), abs(self.old)))

    def as_json(self) -> dict[str, Any]:
        """The change with its parts."""
        found: dict[str, Any] = {"key": self.key, "label": self.label, "unit": self.unit}
        found |= {"old": _plain(self.old), "new": _plain(self.new), "relative": self.relative}
        return found | {"through": [part.as_json() for part in self.through]}


@dataclass(frozen=True)
class InputChange:
    """An input that differs in some strategies. `behind` are the catalogue's numbers that differ with a row's name."""

    change: Change
    strategies: tuple[str, ...]
    where: str
    behind: tuple[Change, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The input, whose it is, and what stands behind it."""
        numbers = [change.as_json() for change in self.behind]
        return {**self.change.as_json(), "strategies": self.strategies, "where": self.where, "behind": numbers}


@dataclass(frozen=True)
class StrategyChanges:
    """What changes in a strategy: verdicts in words, results of the Summary, and all other quantities, ranked."""

    name: str
    verdicts: tuple[Change, ...]
    results: tuple[Change, ...]
    others: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        """All changes."""
        lists = {"verdicts": self.verdicts, "results": self.results, "others": self.others}
        return {title: [change.as_json() for change in changes] for title, changes in lists.items()}


@dataclass(frozen=True)
class Differences:
    """All that differs in meaning; `compared` strategies of both, and what to say of each file besides."""

    compared: tuple[str, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    fastest: Change | None
    inputs: tuple[InputChange, ...]
    strategies: tuple[StrategyChanges, ...]
    remarks: tuple[str, ...] = field(default=())

    @property
    def is_equal(self) -> bool:
        """Whether both say the same."""
        return not (self.only_old or self.only_new or self.inputs or self.strategies)

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            "equal": self.is_equal,
            "compared": self.compared,
            "only_in_first": self.only_old,
            "only_in_second": self.only_new,
            "fastest": self.fastest and {"old": self.fastest.old, "new": self.fastest.new},
            "inputs": [each.as_json() for each in self.inputs],
            "strategies": {each.name: each.as_json() for each in self.strategies},
            "remarks": self.remarks,
        }


def differences(
    old: Contents,
    new: Contents,
    names: tuple[str, str] = ("the first", "the second"),
    strategy: str | None = None,
    between: tuple[str, str] | None = None,
) -> Differences:
    """Compare two workbooks: all strategies that share a name, only one, or one of each.

    Raises `UserError` where one has no such strategy, or inputs that cannot be read.
    """
    old.require_values()
    new.require_values()
    sides = _Side(old), _Side(new)
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    best: Change | None = None
    if strategy is not None or between is not None:
        wanted = between or (str(strategy), str(strategy))
        pairs = [tuple(side.named(name, file) for side, name, file in zip(sides, wanted, names, strict=True))]
    else:
        known = {name.casefold(): name for name in sides[1].values}
        pairs = [(name, known[name.casefold()]) for name in sides[0].values if name.casefold() in known]
        only_old = tuple(name for name in sides[0].values if name.casefold() not in known)
        only_new = tuple(name for name in known.values() if name not in {second for _, second in pairs})
        before, after = (fastest(side.values) or summary.NONE_FITS for side in sides)
        if not _equal(before, after):
            best = Change("strategy", summary.HEADLINES[0][0], "text", before, after)
    compared = [_Pair(*sides, *pair) for pair in pairs]
    budget = iter(range(MOST_MOVES))
    changed = (each.changes(budget) for each in compared)
    return Differences(
        tuple(each.name for each in compared),
        only_old,
        only_new,
        best,
        tuple(_merged(compared)),
        tuple(each for each in changed if each.verdicts or each.results or each.others),
        tuple(dict.fromkeys(remark for side, name in zip(sides, names, strict=True) for remark in side.remarks(name))),
    )


@dataclass(frozen=True)
class _Side:
    """One of the two workbooks."""

    read: Contents

    @cached_property
    def values(self) -> dict[str, dict[str, Any]]:
        return self.read.inputs.values()

    def named(self, name: str, file: str) -> str:
        """A strategy in any case. Raises `UserError` where there is none."""
        known = {each.casefold(): each for each in self.values}
        if name.casefold() in known:
            return known[name.casefold()]
        close = suggestion(name, known.values())
        raise UserError(f"{file} has no strategy '{name}': {close}there are: {', '.join(known.values())}")

    def remarks(self, file: str) -> Iterator[str]:
        """What its cells say that its inputs do not."""
        rows, shown = self.read.inputs.rows, self.read.shown
        for each in self.read.inputs.mistyped:
            yield f"{file}: {each.place[0]}!{each.place[1]}: {each.reason}"
        formulas = stale = 0
        for key in rows.rows:
            for strategy in rows.columns:
                content, place = rows.content(key, strategy), rows.place(key, strategy)
                overwritten = not isinstance(content, Formula) and analysis[key].kind not in GIVEN
                formulas += overwritten or self.read.located.is_changed(key, strategy)
                is_formula = isinstance(content, Formula) and place in shown
                stale += is_formula and not agree(shown[place], self.values[strategy][key])
        found = [
            f"{count:,} {what if count == 1 else f'{what}s'} {said}"
            for count, what, said in (
                (formulas, "formula", "changed by hand, which is no input"),
                (stale, "stored value", "not what Python computes from the inputs"),
            )
            if count
        ]
        if found:
            yield f"{file} has {' and '.join(found)}: see solbook audit {file}"


@dataclass(frozen=True)
class _Pair:
    """A strategy of the old workbook and the one of the new that it is compared with."""

    old_side: _Side
    new_side: _Side
    old_name: str
    new_name: str

    @property
    def name(self) -> str:
        return (
            self.old_name
            if self.old_name.casefold() == self.new_name.casefold()
            else f"{self.old_name} → {self.new_name}"
        )

    @cached_property
    def old(self) -> Values:
        return self.old_side.values[self.old_name]

    @cached_property
    def new(self) -> Values:
        return self.new_side.values[self.new_name]

    @cached_property
    def inputs(self) -> list[InputChange]:
        """What differs of what is given. The numbers behind a name that differs go with it, but for typed ones."""
        given = {q.name: _change(q, self.old, self.new) for q in analysis if q.kind in GIVEN and self._differs(q.name)}
        chosen: dict[str, list[Change]] = {}
        for name in list(given):
            root = self._choice(name)
            if root != name:
                chosen.setdefault(root, []).append(given.pop(name))
        return [
            InputChange(change, (self.name,), self._where(analysis[name]), tuple(chosen.get(name, ())))
            for name, change in given.items()
        ]

    def _differs(self, name: str) -> bool:
        return not _equal(self.old[name], self.new[name])

    def _choice(self, name: str) -> str:
        """The input that chooses the row in which a number is looked up, if it differs; else the number itself."""
        while analysis[name].kind is Kind.LOOKUP and not self._is_typed(name):
            key, _ = analysis.looked_up(name)
            if not self._differs(key):
                break
            name = key
        return name

    def _is_typed(self, name: str) -> bool:
        pairs = ((self.old_side, self.old_name), (self.new_side, self.new_name))
        return any(name in side.read.inputs.strategies[strategy] for side, strategy in pairs)

    def _where(self, quantity: Quantity) -> str:
        if quantity.kind is Kind.INPUT:
            return MODEL_SHEET
        if quantity.kind is Kind.CONSTANT:
            return "Constants"
        if self._is_typed(quantity.name):
            return f"typed over in {MODEL_SHEET}"
        key, table = analysis.looked_up(quantity.name)
        return f"row '{self.new[key]}' of {table}"

    def changes(self, budget: Iterator[int]) -> StrategyChanges:
        """The quantities that change, and through which inputs those of the Summary do."""
        changed = [_change(q, self.old, self.new) for q in analysis if q.kind not in GIVEN and self._differs(q.name)]
        parts = self._parts(budget) if changed else {}
        verdicts = [c for c in changed if c.unit == "text" or (c.key in RESULTS and _fails(c))]
        results = [c for c in changed if c not in verdicts and c.key in RESULTS]
        others = [c for c in changed if c not in verdicts and c not in results]

        def explained(found: list[Change]) -> tuple[Change, ...]:
            ordered = sorted(found, key=lambda change: rank(change.key))
            return tuple(replace(change, through=tuple(_through(change, parts))) for change in ordered)

        ranked = sorted(others, key=lambda change: (change.key not in DETAILS, -change.size))
        return StrategyChanges(self.name, explained(verdicts), explained(results), tuple(ranked))

    def _parts(self, budget: Iterator[int]) -> dict[str, Values]:
        """The values of the old strategy with one input of the new, by that input; none where that takes too long."""
        if len(self.inputs) <= 1:
            return {each.change.key: self.new for each in self.inputs}
        moved = {each.change.key: [each.change.key, *(c.key for c in each.behind)] for each in self.inputs}
        if len(moved) > MOST_PARTS:
            alone = list(moved)[: MOST_PARTS - 1]
            rest = [name for key, names in moved.items() if key not in alone for name in names]
            moved = {key: moved[key] for key in alone} | {OTHERS: rest}
        given = {q.name: self.old[q.name] for q in analysis if q.kind in GIVEN}
        if sum(1 for _ in zip(moved, budget, strict=False)) < len(moved):
            return {}
        return {
            key: analysis.compute({**given, **{name: self.new[name] for name in names}}, {})
            for key, names in moved.items()
        }


def rank(key: str) -> int:
    """The place of a quantity in the Summary; the rest follow."""
    return {name: number for number, name in enumerate((*RESULTS, *DETAILS))}.get(key, len(RESULTS) + len(DETAILS))


def _through(change: Change, parts: Mapping[str, Values]) -> list[Part]:
    """The inputs through which a quantity changes, each alone; of a word those that flip it."""
    found = []
    for key, values in parts.items():
        value = values[change.key]
        if _is_number(change.old) and _is_number(change.new) and _is_number(value):
            share = float((value - change.old) / (change.new - change.old))
        else:
            share = float(_equal(value, change.new))
        if abs(share) > NEGLIGIBLE:
            found.append(Part(key, value, share))
    if parts and not found:
        return [Part(TOGETHER, change.new, 1.0)]
    return sorted(found, key=lambda part: -abs(part.share))


def relative(old: Any, new: Any) -> float | None:
    """By which part of the old value a new one differs; None where there is no such number, or it was below 0: what
    rose from there would read as a fall.
    """
    return float(new / old - 1) if _is_number(old) and _is_number(new) and old > 0 else None


def _merged(pairs: Sequence[_Pair]) -> Iterator[InputChange]:
    """Inputs that differ alike in several strategies, told once."""
    alike: dict[Any, list[InputChange]] = {}
    for pair in pairs:
        for each in pair.inputs:
            said = (each.change.key, *map(str, (each.change.old, each.change.new, each.where, each.behind)))
            alike.setdefault(said, []).append(each)
    order = {name: number for number, name in enumerate(analysis.quantities)}
    for found in sorted(alike.values(), key=lambda found: order[found[0].change.key]):
        yield replace(found[0], strategies=tuple(name for each in found for name in each.strategies))


def _change(quantity: Quantity, old: Values, new: Values) -> Change:
    return Change(quantity.name, quantity.label, quantity.unit, old[quantity.name], new[quantity.name])


def _fails(change: Change) -> bool:
    return isinstance(change.old, Failure) or isinstance(change.new, Failure)


def _equal(old: Any, new: Any) -> bool:
    """Whether two values are the same; of two that cannot be computed, whether for the same reason."""
    if isinstance(old, Failure) or isinstance(new, Failure):
        return bool(old == new)
    return agree(old, new)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Failure) else value
