"""What PyTorch can multiply and move, on a GPU or the processor."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from workbook.hardware_measure import machine

SCRATCH = 64 * 2**20  # bytes at least
FP4_BLOCK, FP4_ROWS, FP4_COLUMNS = 16, 128, 4  # NVFP4: elements that share a scale; scales are padded to such tiles


class TorchArrays:
    """Tensors of PyTorch on "cuda" or "cpu"."""

    def __init__(self, device: str) -> None:
        self.device, self.on_gpu = device, device == "cuda"
        self.tools = f"PyTorch {torch.__version__}"
        self.lacking: tuple[str, str] | None = None
        if self.on_gpu:
            properties = torch.cuda.get_device_properties(torch.cuda.current_device())
            self.tools += f", CUDA {torch.version.cuda}" if torch.version.cuda else f", ROCm {torch.version.hip}"
            self.name = machine.row_name(properties.name)
            self.cache_bytes = properties.L2_cache_size
            self.reader = machine.nvidia_reader(f"GPU-{properties.uuid}")
            self.precisions: tuple[str, ...] = ("bf16", "fp8", "fp4")
            self.smallest_stream = 2**30
        else:
            threads = torch.get_num_threads()
            self.tools += f" on {threads} threads" if threads > 1 else " on one thread"
            self.name = machine.processor()
            self.cache_bytes = machine.cache_bytes()
            self.reader = machine.processor_reader()
            self.precisions = ("float32", "bf16")
            self.lacking = "fp8, fp4", "a processor multiplies them by way of other number formats"
            self.smallest_stream = 128 * 2**20
        self._scratch = torch.empty(max(SCRATCH, 2 * self.cache_bytes), dtype=torch.uint8, device=device)

    def free_memory(self) -> int | None:
        """Bytes that are free now."""
        return torch.cuda.mem_get_info()[0] if self.on_gpu else machine.free_memory()

    def multiplication(self, m: int, n: int, k: int, precision: str) -> Callable[[], float]:
        """Times one m x k by k x n, with operands that no cache holds. Raises `RuntimeError` where it cannot."""
        multiply = {"fp8": self._fp8, "fp4": self._fp4}.get(precision, self._plain)(m, n, k, precision)
        return lambda: self._timed(multiply, before=self._scratch.zero_)

    def streams(self, elements: int) -> dict[str, tuple[int, Callable[[], float]]]:
        """Kernels of STREAM over arrays of float32: arrays touched, and one timed pass."""
        a, b, c = (torch.rand(elements, device=self.device) for _ in range(3))
        return {
            "copy": (2, lambda: self._timed(lambda: a.copy_(b))),
            "triad": (3, lambda: self._timed(lambda: torch.add(b, c, alpha=3.0, out=a))),
        }

    def _timed(self, work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
        before()
        if not self.on_gpu:
            started = time.perf_counter()
            work()
            return time.perf_counter() - started
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1000  # from milliseconds

    def _random(self, rows: int, columns: int) -> Any:
        return torch.randn(rows, columns, device=self.device)

    def _plain(self, m: int, n: int, k: int, precision: str) -> Callable[[], object]:
        dtype = {"float32": torch.float32, "bf16": torch.bfloat16}[precision]
        left, right = self._random(m, k).to(dtype), self._random(k, n).to(dtype)
        product = torch.empty(m, n, dtype=dtype, device=self.device)
        return lambda: torch.mm(left, right, out=product)

    def _fp8(self, m: int, n: int, k: int, _: str) -> Callable[[], object]:
        left, right = (self._random(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
        scale = torch.ones((), device=self.device)
        return lambda: torch._scaled_mm(left, right.t(), scale, scale, out_dtype=torch.bfloat16)

    def _fp4(self, m: int, n: int, k: int, _: str) -> Callable[[], object]:
        if not hasattr(torch, "float4_e2m1fn_x2"):
            raise RuntimeError(f"PyTorch {torch.__version__} has no such number format")
        left, right = (self._random_fp4(rows, k) for rows in (m, n))
        scales = [self._fp4_scales(rows, k) for rows in (m, n)]
        return lambda: torch._scaled_mm(left, right.t(), *scales, out_dtype=torch.bfloat16)

    def _random_fp4(self, rows: int, columns: int) -> Any:
        pairs = torch.randint(256, (rows, columns // 2), dtype=torch.uint8, device=self.device)
        return pairs.view(torch.float4_e2m1fn_x2)

    def _fp4_scales(self, rows: int, columns: int) -> Any:
        count = -(-rows // FP4_ROWS) * FP4_ROWS * -(-columns // FP4_BLOCK // FP4_COLUMNS) * FP4_COLUMNS
        return torch.ones(count, device=self.device).to(torch.float8_e4m3fn)
