"""Where the rows and columns of a sheet that we laid out stand now, after somebody moved, inserted or deleted some.

A line (row or column) is known by its texts: each text is a vote for the lines that have it, the more the rarer it is.
Lines whose texts decide nothing are known by all that they say, if no other says it, or else matched by their order
between those that are known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

Line = Mapping[int, Any]  # what stands in a row or column that is no formula, by place in it


@dataclass(frozen=True)
class Lines:
    """Rows or columns: where each original line stands now."""

    now: Mapping[int, int]
    deleted: frozenset[int]

    @cached_property
    def originally(self) -> Mapping[int, int]:
        """The original line by where it stands now."""
        return {after: before for before, after in self.now.items()}

    @cached_property
    def _known(self) -> Sequence[int]:
        return sorted(self.now)

    def places(self, line: int) -> frozenset[int]:
        """Where a line may stand now. One that was empty has no place of its own: it follows its neighbours."""
        if line in self.now:
            return frozenset((self.now[line],))
        at = bisect_left(self._known, line)
        before = {self.now[known] + self._left(known + 1, line + 1) for known in self._known[at - 1 : at] if at}
        after = {self.now[known] - self._left(line, known) for known in self._known[at : at + 1]}
        return frozenset(before | after)

    def _left(self, first: int, end: int) -> int:
        """How many lines from one to before another were not deleted."""
        return end - first - sum(first <= line < end for line in self.deleted)

    def first_left(self, line: int) -> int | None:
        """The first line from this one on that was not deleted."""
        return next((known for known in self._known if known >= line), None)

    def last_left(self, line: int) -> int | None:
        """The last line up to this one that was not deleted."""
        return next((known for known in reversed(self._known) if known <= line), None)

    @cached_property
    def moved(self) -> frozenset[int]:
        """Lines that stand in another order than they did: the fewest that explain it."""
        return frozenset(self._known) - frozenset(_longest_ascending(self._known, self.now))


def aligned(original: Mapping[int, Line], found: Mapping[int, Line]) -> Lines:
    """Match the lines of a sheet with those that are found in its place."""
    if all(content.items() <= found.get(line, {}).items() for line, content in original.items()):  # the usual case
        return Lines({line: line for line in original}, frozenset())
    now = _voted(original, found)
    now |= _unchanged(now, original, found)
    _fill(now, original, found)
    return Lines(now, frozenset(line for line in original if line not in now))


def _voted(original: Mapping[int, Line], found: Mapping[int, Line]) -> dict[int, int]:
    """The lines that are each other's best match by their texts."""
    ours, theirs = _by_text(original), _by_text(found)
    scores: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for text, lines in ours.items():
        others = theirs.get(text, ())
        if len(lines) * len(others) <= len(original):  # what stands everywhere says nothing
            for line in lines:
                for other in others:
                    scores[line][other] += 1 / (len(lines) * len(others))
    claims: dict[int, dict[int, float]] = defaultdict(dict)
    for line, votes in scores.items():
        if (best := _best(votes)) is not None:
            claims[best][line] = votes[best]
    winners = {other: _best(votes) for other, votes in claims.items()}
    return {winner: other for other, winner in winners.items() if winner is not None}


def _by_text(lines: Mapping[int, Line]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for number, line in lines.items():
        for content in line.values():
            if isinstance(content, str) and content:
                found[content].add(number)
    return found


def _best(votes: Mapping[int, float]) -> int | None:
    """The line with most votes; none where two have as many."""
    ranked = sorted(votes, key=votes.__getitem__, reverse=True)
    tied = len(ranked) > 1 and votes[ranked[0]] <= votes[ranked[1]] * (1 + 1e-9)
    return None if tied else ranked[0]


def _unchanged(now: Mapping[int, int], original: Mapping[int, Line], found: Mapping[int, Line]) -> dict[int, int]:
    """The other lines that say with all their texts and numbers what only one line did, and one does."""
    ours = _by_all({line: original[line] for line in original.keys() - now.keys()})
    theirs = _by_all({line: found[line] for line in found.keys() - set(now.values())})
    return {ours[said][0]: theirs[said][0] for said in ours if len(ours[said]) == len(theirs.get(said, ())) == 1}


def _by_all(lines: Mapping[int, Line]) -> dict[tuple[str, ...], list[int]]:
    """Lines by all that they say, those with a text: numbers alone may be anybody's."""
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, line in lines.items():
        if any(isinstance(content, str) for content in line.values()):
            alike[_said(line)].append(number)
    return alike


def _fill(now: dict[int, int], original: Mapping[int, Line], found: Mapping[int, Line]) -> None:
    """Match the other lines by their order, between neighbours that kept theirs."""
    anchors = _longest_ascending(sorted(now), now)
    free = sorted(set(found) - set(now.values()))
    lost = sorted(set(original) - set(now))
    for before, after in zip([None, *anchors], [*anchors, None], strict=True):
        gap = [line for line in lost if (before is None or line > before) and (after is None or line < after)]
        if gap:
            room = [
                line for line in free if (before is None or line > now[before]) and (after is None or line < now[after])
            ]
            now.update(_in_order(gap, room, original, found))


def _in_order(
    gap: list[int], room: list[int], original: Mapping[int, Line], found: Mapping[int, Line]
) -> dict[int, int]:
    if len(gap) == len(room):
        return dict(zip(gap, room, strict=True))
    ours, theirs = [_said(original[line]) for line in gap], [_said(found[line]) for line in room]
    matched: dict[int, int] = {}
    for tag, first, last, other, end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag in ("equal", "replace"):
            matched.update(zip(gap[first:last], room[other:end], strict=False))
    return matched


def _said(line: Line) -> tuple[str, ...]:
    return tuple(sorted(str(float(content) if isinstance(content, int) else content) for content in line.values()))


def _longest_ascending(lines: Sequence[int], now: Mapping[int, int]) -> list[int]:
    """The most lines that still stand in the order that they did."""
    tails: list[int] = []
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for line in lines:
        at = bisect_left(tails, now[line])
        before[line] = ends[at - 1] if at else None
        tails[at : at + 1] = [now[line]]
        ends[at : at + 1] = [line]
    found: list[int] = []
    line_: int | None = ends[-1] if ends else None
    while line_ is not None:
        found.append(line_)
        line_ = before[line_]
    return found[::-1]
