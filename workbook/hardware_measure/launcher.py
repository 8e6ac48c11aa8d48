"""The ranks that a launcher such as torchrun started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from pyxl.errors import UserError


@dataclass(frozen=True)
class Launch:
    """Where this process stands among those that a launcher started."""

    rank: int
    ranks: int
    local_rank: int
    local_ranks: int


def launch(environment: Mapping[str, str] = os.environ) -> Launch:
    """What torchrun or another launcher says in the environment; one rank where there is none.

    Raises `UserError` where it says only a part, or no numbers.
    """
    if environment.get("WORLD_SIZE", "1") == "1":
        return Launch(0, 1, 0, 1)
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    values = [environment.get(name, "") for name in names]
    if not all(value.isdecimal() for value in values):
        said = ", ".join(f"{name}={value!r}" for name, value in zip(names, values, strict=True))
        raise UserError(f"the launcher says {said}: give a number to each, as torchrun does")
    return Launch(*map(int, values))
