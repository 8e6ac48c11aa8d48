"""What is measured on the machine at hand: shapes of multiplications and sizes of arrays, into a log."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import Progress

from pyxl.errors import MissingProgram, UserError
from workbook.hardware_logs.findings import Taken, take
from workbook.hardware_logs.hardware_file import known, require_device
from workbook.hardware_logs.records import Measured, Multiplication, Route, Transfer
from workbook.hardware_measure.launcher import Launch, launch
from workbook.hardware_measure.machine import Reader
from workbook.hardware_measure.sampling import sample

BUDGET, QUICK = 2.5, 0.25  # seconds for each shape or kernel
SQUARES = (256, 512, 1024, 2048, 4096, 8192, 16384)
SHAPES = sorted(
    # the best shapes of mamf-finder on H100 beside the squares
    [(size, size, size) for size in SQUARES] + [(2048, 2048, 13312), (1024, 9216, 14336)],
    key=lambda shape: shape[0] * shape[1] * shape[2],
)
CACHES = 4  # STREAM's rule: an array is at least four times the caches
STREAMS = (1, 2, 4)  # multiples of the smallest array
FLOAT32 = 4


class Arrays(Protocol):
    """What can be timed on a device; calls return seconds by the device's clock."""

    name: str
    device: str
    tools: str
    precisions: tuple[str, ...]
    lacking: tuple[str, str] | None
    cache_bytes: int
    smallest_stream: int
    reader: Reader

    def free_memory(self) -> int | None:
        """Bytes that are free now, None where unknown."""

    def multiplication(self, m: int, n: int, k: int, precision: str) -> Callable[[], float]:
        """Times one multiplication. Raises `RuntimeError` or `MemoryError` where the device cannot."""

    def streams(self, elements: int) -> dict[str, tuple[int, Callable[[], float]]]:
        """Kernels over arrays of float32: how many arrays each touches, and one timed pass."""


def arrays(device: str | None, place: Launch) -> Arrays:
    """The arrays of a device, by default of a GPU where there is one: each rank has its own.

    Raises `UserError` where the device or the packages are missing.
    """
    if _installed("torch"):
        try:
            import torch
        except (ImportError, OSError) as error:  # it loads the vendor's libraries
            raise UserError(f"PyTorch is installed but does not load: {_first_line(error)}") from error
        from workbook.hardware_measure.torch_arrays import TorchArrays

        if device == "cuda" and not torch.cuda.is_available():
            raise UserError(f"PyTorch {torch.__version__} finds no GPU here: see nvidia-smi, or take --device cpu")
        if device == "cpu" or not torch.cuda.is_available():
            return TorchArrays("cpu")
        if place.local_rank >= torch.cuda.device_count():
            raise UserError(f"{place.local_ranks} ranks share {torch.cuda.device_count()} GPUs: start one rank on each")
        torch.cuda.set_device(place.local_rank)
        return TorchArrays("cuda")
    if place.ranks > 1:
        raise MissingProgram("collectives are measured with PyTorch: pip install torch")
    if device == "cuda":
        raise MissingProgram("a GPU is measured with PyTorch: pip install torch, or take --device cpu")
    if not _installed("numpy"):
        raise MissingProgram("measuring needs PyTorch or, for a processor, numpy: pip install torch or numpy")
    from workbook.hardware_measure.numpy_arrays import NumpyArrays

    return NumpyArrays()


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def run(device: str | None, into: Path | None, name: str | None, *, quick: bool) -> tuple[Taken, str] | None:
    """What this machine gives to a hardware file (new, or with the peaks that it has), and its name; None on every rank
    of a launcher but the first, which speaks for all.

    Raises `UserError` where the machine cannot be measured, or the file not be written.
    """
    place = launch()
    try:
        have = known(into) if into else {}
        on = arrays(device, place)
        if into:
            require_device(into, name, on.name)
        with Progress(console=Console(stderr=True), transient=True, disable=place.rank > 0) as progress:
            log = measure(on, place, progress, quick=quick)
    except UserError:
        if place.rank == 0:
            raise
        sys.exit(2)
    return (take([log], have), on.name) if place.rank == 0 else None


def measure(on: Arrays, place: Launch, progress: Progress, *, quick: bool) -> Measured:
    """A log of this machine: multiplications and memory, or collectives between several ranks."""
    log = Measured.today(on.name, on.tools)
    if place.ranks > 1:
        from workbook.hardware_measure import collectives

        collectives.measure(place, on.device, log, progress, quick=quick)
        return log
    budget = QUICK if quick else BUDGET
    if on.lacking:
        log.ignore(0, *on.lacking)
    for precision in on.precisions:
        _multiplications(on, precision, budget, progress, log)
    _memory(on, STREAMS[:1] if quick else STREAMS, budget, progress, log)
    return log


def _multiplications(on: Arrays, precision: str, budget: float, progress: Progress, log: Measured) -> None:
    best = 0.0
    for m, n, k in progress.track(SHAPES, description=f"{precision} multiplications"):
        flops = 2 * m * n * k
        if best and flops / best > budget:
            log.ignore(0, f"{precision}, larger shapes", f"one multiplication would take over {budget:g} s")
            continue
        try:
            sampled = sample(on.multiplication(m, n, k, precision), budget, on.reader)
        except (RuntimeError, TypeError, ValueError, MemoryError) as error:
            log.ignore(0, precision, _first_line(error))
            continue
        log.records.append(Multiplication(0, m, n, k, precision, sampled.seconds, note=sampled.words))
        best = max(best, flops / sampled.seconds)


def _memory(on: Arrays, multiples: Sequence[int], budget: float, progress: Progress, log: Measured) -> None:
    smallest = max(on.smallest_stream, CACHES * on.cache_bytes)
    for multiple in progress.track(multiples, description="memory"):
        size, free = multiple * smallest, on.free_memory()
        if free is not None and 4 * size > free:  # three arrays, and room
            log.ignore(0, "memory bandwidth", f"three arrays of {size / 2**20:,.0f} MiB do not fit into free memory")
            return
        for kernel, (touched, timed) in on.streams(size // FLOAT32).items():
            sampled = sample(timed, budget, on.reader)
            what = f"{kernel} of arrays of {size / 2**20:,.0f} MiB, {sampled.words}"
            log.records.append(Transfer(0, Route.MEMORY, what, touched * size / sampled.seconds))


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
