"""What benchmark logs say, in base units: byte, second, FLOP. Every record knows the line that it stands on."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from enum import Enum

from workbook import __version__

UNKNOWN_GATHER = "all_gather, reduce_scatter or alltoall"
CONTRADICTION = "its sizes, time and printed rate do not fit together: mixed units or columns"
LONGEST_NAME = 20
MEASURED = "solbook hardware measure"
ONCE = ("broadcast", "reduce", "sendrecv")


class Route(Enum):
    """What bytes travel over."""

    MEMORY = "memory"
    SCALE_UP = "scale-up"
    SCALE_OUT = "scale-out"
    OTHER = "other"


@dataclass(frozen=True)
class Multiplication:
    """A matrix multiplication of `batch` pairs, m x k by k x n."""

    line: int
    m: int
    n: int
    k: int
    dtype: str
    seconds: float
    batch: int = 1
    comparable: bool = True
    note: str = ""

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.m * self.n * self.k * self.batch

    @property
    def rate(self) -> float:
        """FLOP/s."""
        return self.flops / self.seconds

    @property
    def shape(self) -> str:
        """The sizes in words."""
        return f"{self.m} x {self.n} x {self.k}"


def bus_factor(kind: str, ranks: int) -> float:
    """Bytes that a link of each rank carries, for each byte of the printed size.

    Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md.
    """
    if kind == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1 if kind in ONCE else (ranks - 1) / ranks


@dataclass(frozen=True)
class Collective:
    """A collective; `ranks` and `ranks_per_node` are None where the log does not say."""

    line: int
    kind: str
    bytes: int
    seconds: float
    ranks: int | None
    ranks_per_node: int | None

    @property
    def link_bytes(self) -> float:
        """Bytes through a rank's link. Only where the ranks are known."""
        assert self.ranks is not None
        return bus_factor(self.kind, self.ranks) * self.bytes

    @property
    def bus_bandwidth(self) -> float:
        """Bytes per second and direction through a rank's link, from size and time."""
        return self.link_bytes / self.seconds


@dataclass(frozen=True)
class Transfer:
    """A copy or stream. `bytes` is None where the log gives the rate alone."""

    line: int
    route: Route
    what: str
    bandwidth: float
    bytes: int | None = None
    firsthand: bool = True

    @property
    def seconds(self) -> float:
        """Time of one message where its size is known."""
        assert self.bytes is not None
        return self.bytes / self.bandwidth


@dataclass(frozen=True)
class Latency:
    """The time of one message, one way."""

    line: int
    route: Route
    what: str
    seconds: float
    bytes: int = 0


Record = Multiplication | Collective | Transfer | Latency


@dataclass
class Ignored:
    """Lines that were not used, for one reason."""

    line: int
    what: str
    why: str
    count: int = 1


@dataclass(frozen=True)
class Supplied:
    """What the user knows and a log may lack."""

    dtype: str | None = None
    ranks: int | None = None
    ranks_per_node: int | None = None


@dataclass
class Log:
    """A log that was read: its records, and what was ignored and why."""

    name: str
    tool: str
    digest: str
    date: str
    supplied: Supplied = Supplied()
    device: str = ""
    records: list[Record] = field(default_factory=list)
    ignored: dict[tuple[str, str], Ignored] = field(default_factory=dict)

    def ignore(self, line: int, what: str, why: str) -> None:
        """Note that a line was not used; equal reasons are counted."""
        if known := self.ignored.get((what, why)):
            known.count += 1
        else:
            self.ignored[what, why] = Ignored(line, what, why)

    def doubt(self, line: int) -> None:
        """Note a row whose numbers contradict each other."""
        self.ignore(line, "row", CONTRADICTION)

    @property
    def doubted(self) -> Ignored | None:
        """The rows whose numbers contradict each other."""
        return self.ignored.get(("row", CONTRADICTION))

    @property
    def source(self) -> str:
        """The log and its digest, as the source of a number."""
        return f"{self.tool} log {self.name} (sha256 {self.digest[:12]})"

    def place(self, line: int) -> str:
        """A line of the log in words."""
        return f"{self.name}:{line}"

    def cited(self, line: int) -> str:
        """A line of the log, as the source of a number."""
        return f"{self.source}, line {line}"


@dataclass
class Measured(Log):
    """What was measured on the machine at hand: it has no lines to point at, but names device and tools."""

    tools: str = ""

    @classmethod
    def today(cls, device: str, tools: str) -> Measured:
        """A measurement of today, without records."""
        date = f"{datetime.datetime.now(datetime.UTC).date()}"
        return cls("this machine", MEASURED, "", date, device=device, tools=f"solbook {__version__}, {tools}")

    @property
    def source(self) -> str:
        """The tool, the device and what it was measured with."""
        return f"{self.tool} on {self.device}, with {self.tools}"

    def place(self, line: int) -> str:
        """The machine."""
        return self.name

    def cited(self, line: int) -> str:
        """The measurement, as the source of a number."""
        return self.source


_PRECISIONS = (
    ("bf16", re.compile(r"bf16|bfloat16")),
    ("fp4", re.compile(r"fp4|f4e2m1|float4|e2m1|nv_?f4|mx_?f4|^f4")),
    ("fp8", re.compile(r"fp8|float8|bf8|e4m3|e5m2|^f8")),
)


def precision(dtype: str) -> str:
    """bf16, fp8 or fp4, whatever the tool calls it; any other number format as it is written."""
    written = dtype.strip().lower().removeprefix("torch.")[:LONGEST_NAME]
    return next((name for name, pattern in _PRECISIONS if pattern.search(written)), written)
