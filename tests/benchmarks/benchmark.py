"""Measures what a user waits for: whole processes, start to end, and their peak memory; and sweeps.

    python tests/benchmarks/benchmark.py [RUNS]

Prints Markdown tables: medians of RUNS runs (default 5), how building grows with the number of strategies, and
how many strategies one core sweeps in a second. Nothing is compared with a limit: machines differ, the ratios in
the tables less so.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from workbook import study
from workbook.analysis import analysis
from workbook.sweep import HEADLINES, sweep

LOGS = [
    str(path.resolve())
    for path in sorted((Path(__file__).parents[1] / "fixtures" / "logs").iterdir())
    if path.name not in ("README.md", "truth.json")
]
SOLBOOK = (sys.executable, "-m", "workbook.cli")
STRATEGY_COUNTS = (10, 100, 1000)
SWEEP_COUNTS = (1_000, 10_000, 100_000, 1_000_000)


class Measured(NamedTuple):
    """Medians of a command's runs."""

    seconds: float
    megabytes: float


def _run(command: Sequence[str], folder: Path) -> Measured:
    """Run a command once, in a process of its own. Exit code 1 is a finding, as that of `diff`."""
    with open(os.devnull, "wb") as nothing, (folder / "errors").open("w+b") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=nothing, stderr=errors)
        # Unlike Popen.wait it tells the peak memory of this process, and of those that it waited for.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)} failed: {errors.read().decode()}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Measured(seconds, usage.ru_maxrss / unit)


def measure(command: Sequence[str], folder: Path, runs: int) -> Measured:
    """Medians over some runs, after one that warms the disk cache."""
    _run(command, folder)
    measured = [_run(command, folder) for _ in range(runs)]
    return Measured(statistics.median(m.seconds for m in measured), statistics.median(m.megabytes for m in measured))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def commands(folder: Path, runs: int) -> str:
    """The commands of every day."""
    _run((*SOLBOOK, "build", "-o", "other.xlsx", "--hardware", "h100-sxm5-80gb"), folder)
    compared = {
        "`python -c pass`": (sys.executable, "-c", "pass"),
        "`solbook --version`": (*SOLBOOK, "--version"),
        "`solbook compute --json`": (*SOLBOOK, "compute", "--json"),
        "`solbook build`": (*SOLBOOK, "build", "-o", "shipped.xlsx"),
        "`solbook audit`": (*SOLBOOK, "audit", "shipped.xlsx"),
        "`solbook explain`": (*SOLBOOK, "explain", "shipped.xlsx", "step_time_lower_bound"),
        "`solbook diff`": (*SOLBOOK, "diff", "shipped.xlsx", "other.xlsx"),
        "`solbook lint`": (*SOLBOOK, "lint", "shipped.xlsx"),
        "`solbook hardware import`, all sample logs": (*SOLBOOK, "hardware", "import", *LOGS, "--into", "new.toml"),
        "`solbook verify --with formualizer`": (*SOLBOOK, "verify", "shipped.xlsx", "--with", "formualizer"),
        "`solbook verify --with formulas`": (*SOLBOOK, "verify", "shipped.xlsx", "--with", "formulas"),
    }
    if shutil.which("soffice"):
        compared["`solbook verify --with libreoffice`"] = (*SOLBOOK, "verify", "shipped.xlsx", "--with", "libreoffice")
    measured = {label: measure(command, folder, runs) for label, command in compared.items()}
    compute = measured["`solbook compute --json`"].seconds
    rows = [
        [label, f"{m.seconds:.2f}", f"{m.seconds / compute:.1f}", f"{m.megabytes:.0f}"] for label, m in measured.items()
    ]
    return table(["Command, deepseek-v3-h800", "Seconds", "Times compute", "Peak memory, MB"], rows)


def growth(folder: Path, runs: int) -> str:
    """How building grows with strategies: each further one should cost the same."""
    rows = []
    before, fewer = Measured(0, 0), 0
    for count in STRATEGY_COUNTS:
        strategies = "".join(f'[strategies."Number {n}"]\nmicro_batch_size = 7.5\n' for n in range(count))
        (folder / f"{count}.toml").write_text(f'title = "{count} strategies"\n{strategies}', encoding="utf-8")
        command = (*SOLBOOK, "build", f"{count}.toml", "-o", f"{count}.xlsx", "--force")
        built = measure(command, folder, runs if count < 1000 else 1)
        megabytes = (folder / f"{count}.xlsx").stat().st_size / 2**20
        seconds, memory = ((new - old) / (count - fewer) for new, old in zip(built, before, strict=True))
        rows.append(
            [
                f"{count:,}",
                f"{built.seconds:.2f}",
                f"{1000 * seconds:.1f}" if fewer else "-",
                f"{built.megabytes:.0f}",
                f"{memory:.2f}" if fewer else "-",
                f"{megabytes:.2f}",
            ]
        )
        before, fewer = built, count
    head = ("Strategies", "Build, seconds", "Milliseconds per further one", "Peak memory, MB", "MB per further one")
    return table((*head, "File, MB"), rows)


def sweeps(runs: int) -> str:
    """Headline quantities of random strategies, valid or not, and one strategy after the other for comparison."""
    loaded = study.load()
    dice = np.random.default_rng(20260213)
    pools = {
        "tensor_parallel_size": [1, 2, 4, 8],
        "pipeline_parallel_size": [1, 2, 4, 8, 16],
        "expert_parallel_size": [1, 2, 4, 8, 16, 32, 64],
        "micro_batch_size": [1, 2, 4, 8],
        "zero_stage": loaded.columns["ZeRO.name"],
        "pipeline_schedule": loaded.columns["Schedules.name"],
        "recomputation": loaded.columns["Recomputation.name"],
    }
    rows = []
    for count in (1, *SWEEP_COUNTS):
        inputs = {name: dice.choice(pool, count) for name, pool in pools.items()}
        single = {name: array[0].item() for name, array in inputs.items()}
        seconds = []
        for _ in range(runs):
            started = time.process_time()  # of one core, as nothing runs in parallel
            if count == 1:
                analysis.compute(single, loaded.columns, HEADLINES)
            else:
                sweep(loaded, inputs)
            seconds.append(time.process_time() - started)
        median = statistics.median(seconds)
        rows.append([f"{count:,}", f"{median:.4f}", f"{count / median:,.0f}"])
    return table(["Strategies at once", "Seconds of one core", "Strategies per second"], rows)


def in_libreoffice(folder: Path, runs: int) -> str:
    """The extension, installed: from the click in the menu to the verdict on the sheet, and functions in cells."""
    from tests.workbook.installed import MENU, installed, started
    from workbook.addin.libreoffice import extension

    with installed(lambda _: extension()) as home, started(home) as office:
        document = office.opened(folder / "shipped.xlsx")

        def click(action: str) -> float:
            begun = time.perf_counter()
            office.click(document, f"service:{MENU}?{action}")
            return time.perf_counter() - begun

        rows = [["Recompute, first click", f"{click('recompute'):.2f}"]]
        rows.append(["Recompute, further ones", f"{statistics.median(click('recompute') for _ in range(runs)):.2f}"])
        rows.append(["Audit, first click", f"{click('audit'):.2f}"])
        rows.append(["Audit, further ones", f"{statistics.median(click('audit') for _ in range(runs)):.2f}"])
        cells = office.sheet.getCellRangeByName("B1:B2000")
        office.write("A1:A2000", tuple((float(row),) for row in range(2000)))
        cells.setFormulaArray(tuple((f"=SOL_STEP_TOKENS(A{row};4096)",) for row in range(1, 2001)))
        seconds = []
        for _ in range(runs):
            begun = time.perf_counter()
            office.document.calculateAll()
            seconds.append(time.perf_counter() - begun)
        rows.append(["2,000 functions in cells, computed anew", f"{statistics.median(seconds):.2f}"])
        document.close(True)
    return table(["In LibreOffice, deepseek-v3-h800", "Seconds"], rows)


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with TemporaryDirectory(prefix="solbook-") as name:
        folder = Path(name)
        print(f"Medians of {runs} runs, Python {sys.version.split()[0]}, {os.cpu_count()} cores.\n")
        print(commands(folder, runs), flush=True)
        print()
        if shutil.which("soffice"):
            print(in_libreoffice(folder, runs), flush=True)
            print()
        print(growth(folder, runs), flush=True)
        print()
        print(sweeps(runs))


if __name__ == "__main__":
    main()
