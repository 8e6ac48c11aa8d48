"""The CUTLASS profiler's CSV: runtime in ms. Its GB/s are GiB/s and not used; sparse kernels count FLOPs they skip."""

from __future__ import annotations

from collections.abc import Iterable

from workbook.hardware_logs import comma_tables
from workbook.hardware_logs.records import Log

TOOL = "CUTLASS profiler"
MARK = comma_tables.header_pattern("OperationKind", "Disposition", "m", "n", "k", "Runtime")

_TRUSTED = ("passed", "not_verified", "not verified")


def _unfit(cells: comma_tables.Cells) -> str:
    if cells.get("disposition", "").lower() not in _TRUSTED:
        return f"its disposition is {cells.get('disposition', '')[:20]!r}"
    if cells.get("status", "success").lower() != "success":
        return "it did not succeed"
    return "" if "sp" not in cells.get("operationkind", "").lower() else "it is sparse"


_LAYOUT = comma_tables.Layout(time={"runtime": 1e-3}, rate={"gflops": 1e9}, types=("a", "b"), unfit=_unfit)


def read(lines: Iterable[tuple[int, str]], log: Log) -> None:
    """Add a record for every kernel that passed."""
    comma_tables.read(lines, log, MARK, _LAYOUT, None)
