"""Numbers as benchmarks print them."""

from __future__ import annotations

import math
import re

LARGEST = 1e30
FACTOR_OF_DOUBT = 2.2

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:[,_']\d{3})+(?:\.\d+)?")
_SIZE = re.compile(r"([\d.]+)\s*([KMGT]i?)?B?", re.IGNORECASE)
_LONGEST = 40
_PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def positive(text: str, *, grouped: bool = False) -> float | None:
    """A positive finite number, None for anything else.

    `grouped` lets thousands be set apart ("1,313.3"): only where a second column tells 10,484 from 10.484.
    """
    written = text.strip()
    if len(written) > _LONGEST:
        return None
    if grouped and _GROUPED.fullmatch(written):
        written = re.sub(r"[,_']", "", written)
    if not _PLAIN.fullmatch(written):
        return None
    value = float(written)
    return value if 0 < value <= LARGEST else None


def whole(text: str) -> int | None:
    """A positive whole number, thousands set apart or not; None for anything else."""
    value = positive(text, grouped=True)
    return int(value) if value is not None and value == math.floor(value) else None


def size(text: str) -> int | None:
    """Bytes: "32KiB" binary, "32KB" decimal."""
    match = _SIZE.fullmatch(text.strip())
    value = positive(match[1]) if match else None
    if match is None or value is None:
        return None
    prefix = (match[2] or "").lower()
    base = 1024.0 if prefix.endswith("i") else 1000.0
    return int(value * math.pow(base, _PREFIXES[prefix.removesuffix("i")]))


def agree(printed: float, computed: float) -> bool:
    """Whether a printed rate can be the computed one: else units, columns or digits were mixed up."""
    return 1 / FACTOR_OF_DOUBT < printed / computed < FACTOR_OF_DOUBT
