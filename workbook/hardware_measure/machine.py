"""The machine at hand, as its operating system and driver tell: what they do not tell is left out, never an error."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean, median
from types import TracebackType

from pyxl.naming import LONGEST_NAME

PERIOD = 0.2  # seconds between two readings
SMI_TIMEOUT = 10
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits")
CPUINFO = Path("/proc/cpuinfo")
SYSTEM = Path("/sys/devices/system/cpu")
RAPL = Path("/sys/class/powercap")  # Intel's and AMD's energy counters

Reader = Callable[[], Mapping[str, float]]  # clock in MHz and power in W, by these units


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The processor's name with its cores, as a row may be named: "AMD EPYC 9654, 96 cores"."""
    found = re.search(r"model name\s*:\s*(.+)", _text(CPUINFO))
    written = found[1] if found else platform.processor() or platform.machine() or "CPU"
    counted = f", {cores()} cores" if cores() > 1 else ", one core"
    return row_name(re.sub(r"\b\d+-Core Processor|\bProcessor|\bCPU", "", written), counted)


def row_name(written: str, end: str = "") -> str:
    """A device's name without marks and wildcards, short enough for a row."""
    name = " ".join(re.sub(r"\((R|TM|C)\)|[^\w ,.@()+/-]", " ", written, flags=re.IGNORECASE).split())
    return name[: LONGEST_NAME - len(end)].strip(" ,") + end


def cache_bytes() -> int:
    """All of the last-level cache, 0 where it is not told."""
    levels: dict[int, dict[str, int]] = {}
    for index in SYSTEM.glob("cpu[0-9]*/cache/index*"):
        size = re.fullmatch(r"(\d+)K", _text(index / "size"))
        level = _text(index / "level")
        if size and level.isdecimal():
            levels.setdefault(int(level), {})[_text(index / "shared_cpu_list")] = int(size[1]) * 1024
    return sum(levels[max(levels)].values()) if levels else 0


def free_memory() -> int | None:
    """Bytes of memory that are free now, None where it is not told."""
    found = re.search(r"MemAvailable:\s*(\d+) kB", _text(Path("/proc/meminfo")))
    return int(found[1]) * 1024 if found else None


class Watch:
    """Reads clock and power beside a measurement, in a thread of its own."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._stop = reader, threading.Event()
        self._seen: dict[str, list[float]] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while True:
            for unit, value in self._reader().items():
                self._seen.setdefault(unit, []).append(value)
            if self._stop.wait(PERIOD):
                return

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def words(self) -> str:
        """The medians: "1,755 MHz, 690 W"; nothing where nothing can be read."""
        return ", ".join(f"{median(values):,.0f} {unit}" for unit, values in self._seen.items())


def processor_reader() -> Reader:
    """Clock and power of the processor. The first reading has no power: a counter needs two."""
    last: list[tuple[float, float]] = []

    def read() -> Mapping[str, float]:
        found = {}
        clocks = [
            float(text) / 1000 for file in SYSTEM.glob("cpu[0-9]*/cpufreq/scaling_cur_freq") if (text := _text(file))
        ]
        clocks = clocks or [float(written) for written in re.findall(r"cpu MHz\s*:\s*([\d.]+)", _text(CPUINFO))]
        if clocks:
            found["MHz"] = mean(clocks)
        counters = [
            int(text)
            for file in RAPL.glob("*-rapl:[0-9]*/energy_uj")
            if file.parent.name.count(":") == 1 and (text := _text(file))
        ]
        if counters:
            now, joules = time.perf_counter(), sum(counters) * 1e-6
            if last and joules > last[-1][1] and now > last[-1][0]:
                found["W"] = (joules - last[-1][1]) / (now - last[-1][0])
            last[:] = [(now, joules)]
        return found

    return read


def nvidia_reader(uuid: str) -> Reader:
    """Clock and power of one NVIDIA GPU, by nvidia-smi."""

    def read() -> Mapping[str, float]:
        try:
            ran = subprocess.run(
                [*NVIDIA_SMI, "-i", uuid], capture_output=True, text=True, timeout=SMI_TIMEOUT, check=True
            )
            values = [float(cell) for cell in ran.stdout.split(",")]
            return dict(zip(("MHz", "W"), values, strict=True))
        except (OSError, ValueError, subprocess.SubprocessError):
            return {}

    return read


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
