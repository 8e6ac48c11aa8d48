"""Collectives between the ranks of a launcher, by torch.distributed: NCCL between GPUs, gloo between processors.

Sizes are those of nccl-tests: the larger of a rank's input and output. Every rank does the same; times are those of the
slowest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch
from rich.progress import Progress
from torch import distributed

from pyxl.errors import UserError
from workbook.hardware_logs.records import Collective, Measured
from workbook.hardware_measure.launcher import Launch

SIZES = tuple(4**power for power in range(5, 16))  # 1 KiB to 1 GiB
SAMPLES = 5
MOST_CALLS = 20  # between two looks at the clock: its cost and that of a barrier are spread over them
BLOCK = 2**16
BUDGET, QUICK = 0.5, 0.05  # seconds for each kind and size
FLOAT32 = 4


def measure(place: Launch, device: str, log: Measured, progress: Progress, *, quick: bool) -> None:
    """Add a record for every kind and size. Raises `UserError` where the ranks cannot talk to each other."""
    on_gpu = device == "cuda"
    try:
        distributed.init_process_group("nccl" if on_gpu else "gloo")
    except (RuntimeError, ValueError) as error:
        raise UserError(f"the ranks cannot talk to each other: {str(error).splitlines()[0]}") from error
    try:
        for kind in _KINDS:
            _measure_kind(kind, place, device, log, progress, QUICK if quick else BUDGET)
    finally:
        distributed.destroy_process_group()


def _measure_kind(kind: str, place: Launch, device: str, log: Measured, progress: Progress, budget: float) -> None:
    best = 0.0
    for size in progress.track(SIZES, description=kind):
        if best and size / best > budget:
            log.ignore(0, f"{kind}, larger messages", f"one would take over {budget:g} s")
            continue
        share = max(1, size // FLOAT32 // place.ranks)
        moved = share * place.ranks * FLOAT32
        try:
            sent, call = _KINDS[kind](share, place, device)
            seconds = _sampled(sent, call, device, budget)
        except (RuntimeError, ValueError) as error:  # all ranks lack the same
            log.ignore(0, kind, str(error).splitlines()[0])
            return
        log.records.append(Collective(0, kind, moved, seconds, place.ranks, place.local_ranks))
        best = max(best, moved / seconds)


def _sampled(sent: Any, call: Callable[[], object], device: str, budget: float) -> float:
    """The median of several times of one call. All ranks return the same."""
    first = _seconds(sent, call, device, 1)  # connects the ranks
    first = _seconds(sent, call, device, 1)
    calls = max(1, min(MOST_CALLS, int(budget / SAMPLES / first)))
    return median(_seconds(sent, call, device, calls) for _ in range(SAMPLES))


def _seconds(sent: Any, call: Callable[[], object], device: str, calls: int) -> float:
    _randomize(sent)  # again each time: sums of sums overflow
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    distributed.barrier()
    synchronize()
    started = time.perf_counter()
    for _ in range(calls):
        call()
    synchronize()
    slowest = torch.tensor([(time.perf_counter() - started) / calls], dtype=torch.float64, device=device)
    distributed.all_reduce(slowest, op=distributed.ReduceOp.MAX)
    return float(slowest)


def _randomize(tensor: Any) -> None:
    """Normal random numbers, the same block again and again: drawing each anew takes longer than all else."""
    block = torch.randn(BLOCK, device=tensor.device)
    whole = tensor.numel() // BLOCK * BLOCK
    tensor[:whole].view(-1, BLOCK).copy_(block)
    tensor[whole:].copy_(block[: tensor.numel() - whole])


# Each kind: elements of a rank's share, to the tensor that is sent and a call


def _tensors(shares: tuple[int, ...], elements: int, device: str) -> Iterator[Any]:
    return (torch.empty(elements * share, device=device) for share in shares)


def _all_reduce(elements: int, place: Launch, device: str) -> tuple[Any, Callable[[], object]]:
    (whole,) = _tensors((place.ranks,), elements, device)
    return whole, lambda: distributed.all_reduce(whole)


def _all_gather(elements: int, place: Launch, device: str) -> tuple[Any, Callable[[], object]]:
    own, whole = _tensors((1, place.ranks), elements, device)
    gather = getattr(distributed, "all_gather_single", None) or distributed.all_gather_into_tensor  # renamed in 2.13
    return own, lambda: gather(whole, own)


def _reduce_scatter(elements: int, place: Launch, device: str) -> tuple[Any, Callable[[], object]]:
    own, whole = _tensors((1, place.ranks), elements, device)
    scatter = getattr(distributed, "reduce_scatter_single", None) or distributed.reduce_scatter_tensor
    return whole, lambda: scatter(own, whole)


def _all_to_all(elements: int, place: Launch, device: str) -> tuple[Any, Callable[[], object]]:
    whole, received = _tensors((place.ranks, place.ranks), elements, device)
    return whole, lambda: distributed.all_to_all_single(received, whole)


def _send_receive(elements: int, place: Launch, device: str) -> tuple[Any, Callable[[], object]]:
    """To the next rank of a ring, as nccl-tests does it."""
    whole, received = _tensors((place.ranks, place.ranks), elements, device)
    following, preceding = (place.rank + 1) % place.ranks, (place.rank - 1) % place.ranks

    def call() -> None:
        messages = [
            distributed.P2POp(distributed.isend, whole, following),
            distributed.P2POp(distributed.irecv, received, preceding),
        ]
        for work in distributed.batch_isend_irecv(messages):
            work.wait()

    return whole, call


_KINDS = {
    "all_reduce": _all_reduce,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "alltoall": _all_to_all,
    "sendrecv": _send_receive,
}
