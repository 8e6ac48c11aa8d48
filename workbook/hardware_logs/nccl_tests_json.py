"""nccl-tests, JSON (`-J FILE`)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyxl.errors import UserError
from workbook.hardware_logs.nccl_tests import CHECKED, inferred_ranks
from workbook.hardware_logs.numbers import agree, positive, whole
from workbook.hardware_logs.records import UNKNOWN_GATHER, Collective, Log, bus_factor

PLACES = ("out_of_place", "in_place")


def recognises(content: dict[str, Any]) -> bool:
    """Whether a JSON object is of this tool."""
    results = content.get("results")
    return isinstance(results, list) and any(
        isinstance(row, dict) and any(place in row for place in PLACES) for row in results
    )


def read(content: dict[str, Any], log: Log) -> None:
    """Add a record for every result. Raises `UserError` where the run failed its own checks."""
    bounds = content.get("out_of_bounds")
    if isinstance(bounds, dict) and (bounds.get("count") or str(bounds.get("okay", "true")).lower() == "false"):
        raise UserError(f"{log.name}: values are out of bounds: the run is not to be trusted")
    listed = content.get("devices")
    devices = [device for device in listed if isinstance(device, dict)] if isinstance(listed, list) else []
    log.device = next((str(device["device_name"]) for device in devices if "device_name" in device), "")
    ranks = len({str(device.get("rank")) for device in devices}) or None
    hosts = Counter(str(device["hostname"]) for device in devices if "hostname" in device)
    per_node = max(hosts.values(), default=None) or log.supplied.ranks_per_node
    kind, ranks = _kind(content, ranks)
    for number, row in enumerate(content["results"], 1):
        if isinstance(row, dict):
            _add(number, row, Collective(0, kind, 0, 0.0, ranks or log.supplied.ranks, per_node), log)
    if "average_bus_bandwidth" in content:
        log.ignore(0, "average_bus_bandwidth", "a mean over all sizes is no bandwidth")


def _add(number: int, row: dict[str, Any], common: Collective, log: Log) -> None:
    size = whole(str(row.get("size")))
    for place in PLACES:
        result = row.get(place)
        if not isinstance(result, dict):
            continue
        if positive(str(result.get("nwrong"))):
            raise UserError(f"{log.name}: result {number} has wrong values (nwrong): the run is not to be trusted")
        time, printed = positive(str(result.get("time"))), positive(str(result.get("alg_bw")))
        if size is None or time is None:
            log.ignore(number, "result", "it has no size or no time")
        elif printed and printed > CHECKED and not agree(printed * 1e9, size / time * 1e6):
            log.doubt(number)
        else:
            log.records.append(Collective(number, common.kind, size, time * 1e-6, common.ranks, common.ranks_per_node))


def _kind(content: dict[str, Any], ranks: int | None) -> tuple[str, int | None]:
    """The collective, which this format does not name, by the ratio of bus to algorithm bandwidth; and its ranks."""
    ratios = []
    for row in content["results"]:
        result = row.get(PLACES[0]) if isinstance(row, dict) else None
        if isinstance(result, dict):
            algorithm, bus = positive(str(result.get("alg_bw"))), positive(str(result.get("bus_bw")))
            ratios += [bus / algorithm] if algorithm and bus else []
    if not ratios:
        return "collective", ranks
    ratio = sorted(ratios)[len(ratios) // 2]
    kind = "all_reduce" if ratio > 1.01 else UNKNOWN_GATHER if ratio < 0.995 else "sendrecv"
    if ranks:
        kinds = ("all_reduce", UNKNOWN_GATHER, "sendrecv")
        kind = min(kinds, key=lambda name: abs(bus_factor(name, ranks) - ratio))
    return kind, ranks or inferred_ranks(kind, ratio, 1e-3)
