"""The differences between two workbooks on the terminal: verdicts first, then inputs, results and the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from rich.markup import escape

from workbook.analysis import analysis
from workbook.catalogue import HARDWARE, MODELS
from workbook.difference import DETAILS, Change, Differences, rank, relative
from workbook.explanation import in_digits, with_unit
from workbook.tables import LONGEST_TABLE, new_table, print_table

MOST_OTHERS = 15
MOST_PARTS = 3
LARGE = 10  # from here on a change is told as a factor
TOLD = (
    "step_time_lower_bound", "step_time_upper_bound", "model_flops_utilization", "device_memory", "training_cost",
)  # fmt: skip

Told = tuple[str, Change]  # whose, and what
Item = TypeVar("Item", Change, tuple[Change, ...])


def print_differences(found: Differences, old: str, new: str) -> None:
    """What is of interest first; `--json` has all of it."""
    count = len(found.compared)
    strategies = "1 strategy" if count == 1 else f"{count} strategies"
    if found.is_equal:
        print(f"{old} and {new} say the same: {strategies} compared")
    else:
        print(f"{old} → {new}: {strategies} compared")
        _changes_table("Verdicts that flip", _verdicts(found))
        _inputs_table(found)
        _changes_table("Results", _results(found))
        _changes_table("Other quantities that change most", _others(found))
        for names, file in ((found.only_old, old), (found.only_new, new)):
            if names:
                print(f"Only in {file}: {', '.join(names)}")
        if not count:
            print("No strategy has the same name in both: compare two with --between NAME NAME")
        if any(each.results and not each.results[0].through for each in found.strategies):
            print("Not every strategy was followed back to its inputs: take one with --strategy")
    for remark in found.remarks:
        print(remark)


def _verdicts(found: Differences) -> list[Told]:
    """The fastest strategy, then what the Summary says of each, then the rest."""
    told = _alike(((each.name, change) for each in found.strategies for change in each.verdicts), found.compared)
    told.sort(key=lambda whose_what: rank(whose_what[1].key))
    return [("", found.fastest), *told] if found.fastest else told


def _results(found: Differences) -> list[Told]:
    """Of the strategy that changes most first."""
    told = ((each.name, tuple(change for change in each.results if change.key in TOLD)) for each in found.strategies)
    alike = _alike(told, found.compared)
    alike.sort(key=lambda whose_what: -max((change.size for change in whose_what[1]), default=0))
    return [(whose, change) for whose, changes in alike for change in changes]


def _others(found: Differences) -> list[Told]:
    """Each quantity once, where it changes most."""
    largest: dict[str, list[Told]] = {}
    for each in found.strategies:
        for change in each.others:
            largest.setdefault(change.key, []).append((each.name, change))
    told = []
    for changes in largest.values():
        name, change = max(changes, key=lambda whose_what: whose_what[1].size)
        told.append((name if len(changes) == 1 else f"{name}, and {len(changes) - 1} more", change))
    told.sort(key=lambda whose_what: (whose_what[1].key not in DETAILS, -whose_what[1].size))
    return told[:MOST_OTHERS]


def _alike(told: Iterable[tuple[str, Item]], compared: Collection[str]) -> list[tuple[str, Item]]:
    """What is the same in several strategies, told once."""
    alike: dict[str, tuple[Item, list[str]]] = {}
    for name, item in told:
        alike.setdefault(repr(item), (item, []))[1].append(name)
    return [(_whose(names, compared), item) for item, names in alike.values()]


def _whose(names: Sequence[str], compared: Collection[str]) -> str:
    if len(names) == len(compared) > 1:
        return "all"
    return names[0] if len(names) == 1 else f"{names[0]}, and {len(names) - 1} more"


def _changes_table(title: str, told: Sequence[Told]) -> None:
    if not told:
        return
    with_parts = any(change.through for _, change in told)
    heads = ("Strategy", "Quantity", "Old", "New", "Change", *(["Through, each alone"] if with_parts else []))
    table = new_table(title, *heads)
    before = ""
    for name, change in told[:LONGEST_TABLE]:
        parts = [_parts(change)] if with_parts else []
        whose, before = "" if name == before else name, name
        table.add_row(*map(escape, (whose, change.label, *_values(change), _in_per_cent(change.relative), *parts)))
    table.columns[1].justify = "left"
    if with_parts:
        table.columns[-1].justify = "left"
    print_table(table)
    if len(told) > LONGEST_TABLE:
        print(f"... and {len(told) - LONGEST_TABLE:,} more: take one with --strategy, or all with --json")


def _inputs_table(found: Differences) -> None:
    """Inputs; below the name of a device or a model the numbers behind it."""
    if not found.inputs:
        return
    table = new_table("Inputs that differ", "Input", "Strategy", "Old", "New", "Change", "Where")
    for each in found.inputs:
        whose = _whose(each.strategies, found.compared)
        table.add_row(
            *map(
                escape, (each.change.key, whose, *_values(each.change), _in_per_cent(each.change.relative), each.where)
            )
        )
        if analysis[each.change.key].choices in (HARDWARE, MODELS):
            for number in each.behind:
                table.add_row(
                    *map(escape, (f"  {number.key}", "", *_values(number), _in_per_cent(number.relative), ""))
                )
    table.columns[1].justify = table.columns[-1].justify = "left"
    print_table(table)


def _values(change: Change) -> tuple[str, str]:
    return with_unit(change.old, change.unit), with_unit(change.new, change.unit)


def _in_per_cent(change: float | None) -> str:
    if change is None:
        return ""
    return f"{change:+.1%}" if abs(change) < LARGE else f"× {change + 1:.3g}"


def _parts(change: Change) -> str:
    """The inputs through which it changes; where there are several, with what each does alone."""
    keys = [part.key for part in change.through]
    if len(keys) == 1 or change.unit == "text":
        return ", ".join(keys)
    alone = (_in_per_cent(relative(change.old, part.value)) or in_digits(part.value) for part in change.through)
    told = [f"{key} {effect}" for key, effect in zip(keys, alone, strict=True)]
    more = [f"and {len(told) - MOST_PARTS} more"] if len(told) > MOST_PARTS else []
    return ", ".join(told[:MOST_PARTS] + more)
