"""What numpy can multiply and move on the processor: float32, on all cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from workbook.hardware_measure import machine

SCRATCH = 64 * 2**20  # bytes at least


class NumpyArrays:
    """Arrays of numpy."""

    device = "cpu"
    precisions: tuple[str, ...] = ("float32",)
    lacking: tuple[str, str] | None = "bf16, fp8, fp4", "numpy has no such number formats: install PyTorch"
    smallest_stream = 128 * 2**20

    def __init__(self) -> None:
        blas: Any = np.show_config(mode="dicts")
        found = blas["Build Dependencies"]["blas"]
        self.tools = f"numpy {np.__version__} ({found['name']} {found['version']})"
        self.name = machine.processor()
        self.cache_bytes = machine.cache_bytes()
        self.reader = machine.processor_reader()
        self._random = np.random.default_rng()
        self._pool = ThreadPoolExecutor(machine.cores())
        self._scratch = np.empty(max(SCRATCH, 2 * self.cache_bytes), np.uint8)

    def free_memory(self) -> int | None:
        """Bytes that are free now."""
        return machine.free_memory()

    def multiplication(self, m: int, n: int, k: int, precision: str) -> Callable[[], float]:
        """Times one m x k by k x n, with operands that no cache holds."""
        left, right = (self._random.standard_normal(size, np.float32) for size in ((m, k), (k, n)))
        product = np.empty((m, n), np.float32)

        def timed() -> float:
            self._scratch.fill(0)
            started = time.perf_counter()
            np.matmul(left, right, out=product)
            return time.perf_counter() - started

        return timed

    def streams(self, elements: int) -> dict[str, tuple[int, Callable[[], float]]]:
        """Kernels of STREAM over arrays of float32 that numpy does in one pass: arrays touched, and one timed pass."""
        a, b, c = (self._random.random(elements, np.float32) for _ in range(3))
        parts = [slice(*ends) for ends in _pairs(np.linspace(0, elements, machine.cores() + 1).astype(int))]
        return {
            "copy": (2, lambda: self._timed(lambda part: np.copyto(a[part], b[part]), parts)),
            "add": (3, lambda: self._timed(lambda part: np.add(b[part], c[part], out=a[part]), parts)),
        }

    def _timed(self, work: Callable[[slice], object], parts: Sequence[slice]) -> float:
        started = time.perf_counter()
        list(self._pool.map(work, parts))
        return time.perf_counter() - started


def _pairs(ends: Any) -> list[tuple[int, int]]:
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
