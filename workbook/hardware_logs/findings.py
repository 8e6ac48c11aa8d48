"""Which record gives which number of a hardware file.

The best that was measured is taken: the highest rate, the lowest latency. A rate that was measured over sizes is the
fastest point of its curve. Where tools measure a number in different ways, the one that is nearest to what training
does goes first (`order`), whatever the others say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from workbook.catalogue import MOST_POINTS
from workbook.hardware_checks import SCALES
from workbook.hardware_logs.fit import Fit, fit
from workbook.hardware_logs.records import (
    UNKNOWN_GATHER,
    Collective,
    Ignored,
    Latency,
    Log,
    Multiplication,
    Route,
    Transfer,
    bus_factor,
    precision,
)

GOOD_RESIDUAL = 0.1
FARTHEST_BEYOND = 2.0  # a fitted rate above this multiple of the best measured one is a guess
RISING = 1.1  # a trusted fit above this multiple: larger sizes would have been faster
LOW = 0.5

PEAKS = {
    "bf16_measured": "bf16_peak",
    "fp8_measured": "fp8_peak",
    "fp4_measured": "fp4_peak",
    "hbm_measured": "hbm_peak",
    "scale_up_measured": "scale_up_peak",
    "scale_out_measured": "scale_out_peak",
}
LATENCIES = ("scale_up_latency", "scale_out_latency")
_OF_ROUTE = {
    Route.MEMORY: "hbm_measured",
    Route.SCALE_UP: "scale_up_measured",
    Route.SCALE_OUT: "scale_out_measured",
}


@dataclass(frozen=True)
class Finding:
    """A number of a hardware file, in its base unit, and where it is from. A lower `order` goes first.

    `points` are sizes and rates of the curve whose fastest point it is, if it was measured over sizes.
    """

    column: str
    value: float
    how: str
    log: Log
    line: int
    order: int = 0
    points: tuple[tuple[int, float], ...] = ()

    @property
    def unit(self) -> str:
        """The column's base unit."""
        if self.column in LATENCIES:
            return "s"
        return "FLOP/s" if self.column.startswith(("bf16", "fp")) else "byte/s"


@dataclass(frozen=True)
class Curve:
    """Times against work (FLOP or byte) of one kind, fitted where that is possible.

    `factor` is the work for each unit of size: bytes through a link for each byte of a message.
    """

    log: Log
    label: str
    unit: str
    points: list[tuple[float, float]]
    lines: list[int]
    fit: Fit | None
    factor: float = 1.0

    @property
    def best(self) -> int:
        """The index of the fastest point."""
        return max(range(len(self.points)), key=lambda index: self.points[index][0] / self.points[index][1])

    @property
    def best_rate(self) -> float:
        """The highest rate that was measured."""
        work, seconds = self.points[self.best]
        return work / seconds

    def over_sizes(self, share: float = 1.0) -> tuple[tuple[int, float], ...]:
        """Sizes, ascending, and a share of their rates: the fastest of each size, or of a few beside each other.

        Empty where there is one size only.
        """
        fastest: dict[int, float] = {}
        for work, seconds in self.points:
            size = round(work / self.factor)
            fastest[size] = max(share * work / seconds, fastest.get(size, 0.0))
        points = sorted(fastest.items())
        together = ceil(len(points) / MOST_POINTS)
        groups = (points[first : first + together] for first in range(0, len(points), together))
        return tuple(max(group, key=lambda point: point[1]) for group in groups) if len(points) > 1 else ()

    @property
    def trusted_fit(self) -> Fit | None:
        """The fit where it lies close to the points and does not reach far beyond them."""
        if self.fit and self.fit.residual <= GOOD_RESIDUAL and self.fit.rate <= FARTHEST_BEYOND * self.best_rate:
            return self.fit
        return None


@dataclass
class Taken:
    """What logs give: numbers by column, curves, what was left out, and what a user has to add."""

    findings: dict[str, Finding] = field(default_factory=dict)
    curves: list[Curve] = field(default_factory=list)
    left_out: list[tuple[Log, Ignored]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    def leave(self, log: Log, line: int, what: str, why: str) -> None:
        """Note what was not taken."""
        self.left_out.append((log, Ignored(line, what, why)))

    def ask(self, log: Log, line: int, what: str, lacking: str, option: str) -> None:
        """Note what a log lacks, and the option that says it."""
        self.leave(log, line, what, f"{lacking} is not in the log: give {option}")
        self.questions.append(f"{log.name} does not say {lacking}: give {option}")


def take(logs: Iterable[Log], known: Mapping[str, float] | None = None) -> Taken:
    """The numbers of a hardware file that logs give. `known` are those that the file has: peaks, NICs per device."""
    taken, candidates = Taken(), list[Finding]()
    for log in logs:
        taken.left_out += [(log, ignored) for ignored in log.ignored.values()]
        candidates += _multiplications(log, taken)
        candidates += _collectives(log, taken, (known or {}).get("nics_per_device", 1))
        candidates += _transfers(log, taken)
        candidates += _latencies(log, taken)
    _choose(candidates, known or {}, taken)
    return taken


def _choose(candidates: Sequence[Finding], known: Mapping[str, float], taken: Taken) -> None:
    sign = dict.fromkeys(LATENCIES, 1)
    for finding in sorted(candidates, key=lambda one: (one.order, sign.get(one.column, -1) * one.value)):
        peak = known.get(PEAKS.get(finding.column, ""))
        if peak and finding.value > peak:
            why = (
                f"{shown(finding.value, finding.unit)} is above the peak of {shown(peak, finding.unit)}: "
                "another number format, clock or device, or switches that add up"
            )
            taken.leave(finding.log, finding.line, finding.column, why)
        elif chosen := taken.findings.get(finding.column):
            why = (
                f"{shown(finding.value, finding.unit)}, {finding.how}: "
                f"{shown(chosen.value, chosen.unit)} of {chosen.log.name} is taken"
            )
            taken.leave(finding.log, finding.line, finding.column, why)
        else:
            taken.findings[finding.column] = finding
            if peak and finding.value < LOW * peak:
                why = f"under half of the peak of {shown(peak, finding.unit)}: taken, but look at power and clock"
                taken.leave(finding.log, finding.line, finding.column, why)


def shown(value: float, unit: str, digits: int = 4) -> str:
    """A number as people say it: 367.5 GB/s."""
    scale, word = SCALES[unit]
    return f"{value / scale:,.{digits}g} {word}"


def _curve(log: Log, label: str, unit: str, measured: Sequence[tuple[int, float, float]], factor: float = 1.0) -> Curve:
    points = [(work, seconds) for _, work, seconds in measured]
    return Curve(log, label, unit, points, [line for line, _, _ in measured], fit(points), factor)


def _note_rising(curve: Curve, taken: Taken) -> None:
    """Say where a curve ends before it is flat."""
    trusted = curve.trusted_fit
    if trusted and trusted.rate > RISING * curve.best_rate:
        why = f"still rising, towards {shown(trusted.rate, curve.unit + '/s')}: taken, but measure larger sizes"
        taken.leave(curve.log, curve.lines[curve.best], curve.label, why)


def _multiplications(log: Log, taken: Taken) -> list[Finding]:
    found = []
    records = [record for record in log.records if isinstance(record, Multiplication)]
    for dtype in dict.fromkeys(precision(record.dtype) for record in records):
        own = [record for record in records if precision(record.dtype) == dtype]
        best = max(own, key=lambda record: record.rate)
        measured = [(record.line, float(record.flops), record.seconds) for record in own]
        curve = _curve(log, f"matrix multiplication {dtype}".strip(), "FLOP", measured)
        taken.curves.append(curve)
        column = f"{dtype}_measured"
        if dtype and log.supplied.dtype not in (None, dtype):
            taken.leave(log, best.line, f"--dtype {log.supplied.dtype}", f"the log itself says {dtype}")
        if not dtype:
            taken.ask(log, best.line, "matrix multiplications", "the number format", "--dtype bf16, fp8 or fp4")
        elif column not in PEAKS:
            taken.leave(log, best.line, "matrix multiplications", f"a hardware file has no rate of {dtype}")
        else:
            how = f"best of {len(own)} shapes: {best.shape}" + (
                "" if best.comparable else ", maximum with a warm cache (version 1)"
            )
            how += f", {best.note}" if best.note else ""
            order = 0 if best.comparable else 1
            found.append(Finding(column, best.rate, how, log, best.line, order, curve.over_sizes()))
    return found


def _collectives(log: Log, taken: Taken, nics_per_device: float) -> list[Finding]:
    found = []
    records = [record for record in log.records if isinstance(record, Collective)]
    for key in dict.fromkeys((record.kind, record.ranks, record.ranks_per_node) for record in records):
        own = [record for record in records if (record.kind, record.ranks, record.ranks_per_node) == key]
        kind, ranks, per_node = key
        line = own[-1].line
        for option, said, found_in_log in (
            ("--ranks", log.supplied.ranks, ranks),
            ("--ranks-per-node", log.supplied.ranks_per_node, per_node),
        ):
            if said not in (None, found_in_log):
                taken.leave(log, line, f"{option} {said}", f"the log itself says {found_in_log}")
        if ranks is None:
            taken.ask(log, line, kind, "the number of ranks", "--ranks")
        elif ranks == 1:
            taken.leave(log, line, kind, "one rank alone moves nothing")
        else:
            measured = [(record.line, record.link_bytes, record.seconds) for record in own]
            curve = _curve(log, f"{kind}, {ranks} ranks", "byte", measured, bus_factor(kind, ranks))
            taken.curves.append(curve)
            if per_node is None:
                taken.ask(log, line, kind, "how many ranks share a node", "--ranks-per-node")
            else:
                found += _network(curve, kind, ranks, min(per_node, ranks), nics_per_device, taken)
    return found


def _network(curve: Curve, kind: str, ranks: int, per_node: int, nics: float, taken: Taken) -> list[Finding]:
    """The link that bounds a collective: the scale-up one in a node, a NIC across nodes."""
    log, line = curve.log, curve.lines[curve.best]
    trusted = curve.trusted_fit
    alpha = trusted.overhead if trusted and trusted.overhead > 0 else min(seconds for _, seconds in curve.points)
    how = f"{curve.label}, best size"
    hops = {"all_reduce": 2 * (ranks - 1), "sendrecv": 1, "alltoall": 1}.get(kind, ranks - 1)
    later = {"all_reduce": 1, "sendrecv": 2}.get(kind, 0)
    within = per_node == ranks
    found = []

    def rate(column: str, words: str, order: int, share: float = 1.0) -> Finding:
        return Finding(column, share * curve.best_rate, words, log, line, order, curve.over_sizes(share))

    _note_rising(curve, taken)
    if kind in (UNKNOWN_GATHER, "collective"):
        taken.leave(log, line, "latency", f"the log does not say whether it is {UNKNOWN_GATHER}")
    elif within or per_node == 1:
        column = "scale_up_latency" if within else "scale_out_latency"
        words = f"{curve.label}, {shown(alpha, 's')}" + (f" over {hops} hops" if hops > 1 else "")
        found.append(Finding(column, alpha / hops, words, log, line, 2 if hops == 1 else 0))
    else:
        taken.leave(log, line, "latency", "hops in nodes and between them are mixed")
    if within:
        return [*found, rate("scale_up_measured", how, later)]
    if per_node == 1 or kind == "sendrecv":
        return [*found, rate("scale_out_measured", f"{how}, one rank at each NIC", 0, 1 / nics)]
    if kind == "alltoall":
        share = (ranks - per_node) / (ranks - 1)
        words = f"{how}, {share:.0%} of the bytes leave the node"
        return [*found, rate("scale_out_measured", words, 1, share / nics)]
    if kind == "all_reduce" and ranks <= 2 * per_node:
        taken.leave(log, line, "scale_out_measured", "over two nodes all_reduce may be a tree, not a ring")
    elif kind in (UNKNOWN_GATHER, "collective"):
        taken.leave(log, line, "scale_out_measured", f"the log does not say whether it is {UNKNOWN_GATHER}")
    else:
        words = f"{how}, a ring for each of the {per_node} NICs of a node"
        found.append(rate("scale_out_measured", words, 1, 1 / (per_node * nics)))
    return found


def _transfers(log: Log, taken: Taken) -> list[Finding]:
    found = []
    records = [record for record in log.records if isinstance(record, Transfer)]
    for record in records:
        if record.bytes is None and record.route in _OF_ROUTE:
            order = {Route.SCALE_UP: 3}.get(record.route, 0 if record.firsthand else 1)
            found.append(Finding(_OF_ROUTE[record.route], record.bandwidth, record.what, log, record.line, order))
        elif record.bytes is None:
            why = f"{shown(record.bandwidth, 'byte/s')}: a hardware file has no such number"
            taken.leave(log, record.line, record.what, why)
    sized = [record for record in records if record.bytes is not None]
    for key in dict.fromkeys((record.route, record.what) for record in sized):
        own = [record for record in sized if (record.route, record.what) == key]
        measured = [(record.line, float(record.bytes or 0), record.seconds) for record in own]
        curve = _curve(log, key[1], "byte", measured)
        taken.curves.append(curve)
        _note_rising(curve, taken)
        column, line = _OF_ROUTE[key[0]], curve.lines[curve.best]
        found.append(Finding(column, curve.best_rate, f"{key[1]}, best size", log, line, 0, curve.over_sizes()))
    return found


def _latencies(log: Log, taken: Taken) -> list[Finding]:
    found = []
    columns = {Route.SCALE_UP: "scale_up_latency", Route.SCALE_OUT: "scale_out_latency"}
    records = [record for record in log.records if isinstance(record, Latency)]
    for route in dict.fromkeys(record.route for record in records):
        own = [record for record in records if record.route is route]
        least = min(own, key=lambda record: record.seconds)
        how = f"{least.what}, {least.bytes} bytes" if least.bytes else least.what
        found.append(Finding(columns[route], least.seconds, how, log, least.line, 1))
        if least.bytes:
            measured = [(record.line, float(record.bytes), record.seconds) for record in own]
            taken.curves.append(_curve(log, least.what, "byte", measured))
    return found
