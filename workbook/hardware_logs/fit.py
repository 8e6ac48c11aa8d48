"""seconds = overhead + work / rate, fitted to what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

ROUNDS = 30
FEWEST = 4
TUKEY = 4.685  # bisquare constant: 95 % of the efficiency of least squares on normal noise
NORMAL = 1.4826  # standard deviation over median absolute deviation of normal noise
SMALLEST = 1e-4  # relative residual below which a point counts as met


@dataclass(frozen=True)
class Fit:
    """A line: `overhead` in seconds, `rate` in work per second, `residual` the median |fit / time - 1|."""

    overhead: float
    rate: float
    residual: float
    outliers: int


def fit(points: Sequence[tuple[float, float]]) -> Fit | None:
    """The line through (work, seconds) that is best in relative terms; None where points are few or do not give one.

    Least squares of fit / time - 1, first weighted so that absolute values count, which a wild point moves little, then
    by Tukey's bisquare, which leaves it out.
    """
    if len(points) < FEWEST or len({work for work, _ in points}) < 2:
        return None
    weights = [1.0] * len(points)
    line = None
    for number in range(ROUNDS):
        line = _weighted(points, weights)
        if line is None:
            return None
        sizes = [abs(error) for error in _errors(points, *line)]
        if number < ROUNDS // 2:
            weights = [1 / max(size, SMALLEST) for size in sizes]
        else:
            width = TUKEY * max(NORMAL * median(sizes), SMALLEST)
            weights = [max(0.0, 1 - (size / width) ** 2) ** 2 for size in sizes]
    overhead, slope = line if line else (0.0, 0.0)
    if slope <= 0:
        return None
    return Fit(overhead, 1 / slope, median(sizes), sum(weight == 0 for weight in weights))


def _errors(points: Sequence[tuple[float, float]], overhead: float, slope: float) -> list[float]:
    return [(overhead + slope * work) / seconds - 1 for work, seconds in points]


def _weighted(points: Sequence[tuple[float, float]], weights: Sequence[float]) -> tuple[float, float] | None:
    """Overhead (not below 0) and seconds for each unit of work, by least squares of the relative errors."""
    aa = ab = bb = a = b = 0.0
    for (work, seconds), weight in zip(points, weights, strict=True):
        x, y = 1 / seconds, work / seconds
        aa, ab, bb = aa + weight * x * x, ab + weight * x * y, bb + weight * y * y
        a, b = a + weight * x, b + weight * y
    determinant = aa * bb - ab * ab
    if bb <= 0 or determinant <= 1e-14 * aa * bb:
        return None
    overhead, slope = (bb * a - ab * b) / determinant, (aa * b - ab * a) / determinant
    return (overhead, slope) if overhead >= 0 else (0.0, b / bb)
