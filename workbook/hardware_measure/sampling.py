"""Repeated timing: a warm-up, then the median of repeats and their spread, with clock and power meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles

from workbook.hardware_measure.machine import Reader, Watch

WARM_UP = 0.2  # of the budget
FEWEST, MOST = 3, 200


@dataclass(frozen=True)
class Sampled:
    """The median of `count` times in seconds, and the distance of their quartiles as a share of it."""

    seconds: float
    spread: float
    count: int
    state: str

    @property
    def words(self) -> str:
        """How it was found: "median of 12, spread 1.3%, 1,755 MHz, 690 W"."""
        return f"median of {self.count}, spread {self.spread:.1%}" + (f", {self.state}" if self.state else "")


def summary(seconds: list[float], state: str = "") -> Sampled:
    """Median and spread of at least two times."""
    lower, _, upper = quantiles(seconds, n=4)
    middle = median(seconds)
    return Sampled(middle, (upper - lower) / middle, len(seconds), state)


def sample(timed: Callable[[], float], budget: float, reader: Reader) -> Sampled:
    """Call `timed`, which returns the seconds of one call, until about `budget` seconds have passed."""
    started = time.perf_counter()
    timed()
    while time.perf_counter() - started < WARM_UP * budget:
        timed()
    seconds: list[float] = []
    with Watch(reader) as watch:
        while len(seconds) < FEWEST or (len(seconds) < MOST and time.perf_counter() - started < budget):
            seconds.append(timed())
    return summary(seconds, watch.words)
