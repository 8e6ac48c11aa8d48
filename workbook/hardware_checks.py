"""What is wrong or doubtful about the numbers of a device: the traps of data sheets and benchmark logs.

An error is what no device can be, so the file is refused. A warning is what a true device seldom is: read it, and mend
the number or leave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbook.catalogue import Device

SHIPPING, ANNOUNCED = "shipping", "announced"
EXAMPLE = "Example"  # how the sources of `solbook hardware new` begin
SCALES = {
    "FLOP/s": (1e12, "TFLOP/s"), "byte/s": (1e9, "GB/s"), "byte": (2.0**30, "GiB"), "s": (1e-6, "us"), "1": (1, ""),
    "device": (1, "devices"), "W": (1, "W"), "USD/device/hour": (1, "USD/device/hour"),
}  # fmt: skip
# From a slow laptop to far beyond the largest chip announced: outside, the unit is wrong.
PLAUSIBLE = {
    "FLOP/s": (1e8, 1e19),
    "byte/s": (1e6, 1e16),
    "byte": (1e8, 1e14),
    "s": (1e-10, 1e-2),
    "W": (1, 1e5),
    "USD/device/hour": (1e-3, 1e4),
}
NEEDED = ("memory_capacity", "scale_up_domain")
RATES = ("bf16", "fp8", "fp4", "hbm", "scale_up", "scale_out")
LOWEST_SHARE = 0.45  # MI300X reaches 49 % of its FP8 peak, the least of the shipped devices; a doubled peak gives 40 %
HIGHEST_RING_SHARE = 0.9  # rings reach 76 to 82 % of NVLink
ARITHMETIC_INTENSITY = (5, 2000)  # FLOP/byte, BF16 over HBM: 37 to 560 for the shipped devices
USUAL_FP8, USUAL_FP4, SPARSE_FP8 = 2.1, 3.2, 4
LARGEST_POWER, LARGEST_PRICE = 3000, 30  # W, USD/hour: twice the most of a shipped device, 1400 and 12.29
LARGEST_NIC, NODE_OF_NICS = 100e9, 400e9  # one NIC of 800 Gb/s; eight of 400 Gb/s

COMPUTE_ABOVE = (
    "zeros and constant data raise the clock, and the kernel may be of another data type or sparse: measure with random"
    " data, or give the peak at the clock that the device runs at"
)
ABOVE = dict.fromkeys(RATES, COMPUTE_ABOVE) | {
    "hbm": "arrays that fit into a cache never reach the memory: measure with arrays of several GB",
    "scale_up": "where switches reduce, an all-reduce prints a bus bandwidth that no wire carries, and some tools add "
    "up both directions: take the bus bandwidth of an all-gather, per direction",
    "scale_out": "a node's NICs or both directions were added up, or an all-reduce over nodes printed more than the "
    "NIC carries: take one device's share, per direction, as ib_write_bw measures it",
}
BELOW = dict.fromkeys(
    RATES, "a peak with sparsity is twice the dense one: halve it; a power limit or small shapes too"
) | {
    "hbm": "a copy reads and writes each byte: count both",
    "scale_up": "a peak of both directions is twice that of one: halve it; one link of a mesh is not the whole device",
    "scale_out": "Gb/s are no GB/s: divide bits by 8; a small message does not reach the rate",
}
SPARSE = "vendors headline the rate with sparsity, or of two dies or chips: give the dense rate of one device"
MULTIPLES = {
    "bf16_peak": (2, SPARSE), "fp8_peak": (2, SPARSE), "fp4_peak": (2, SPARSE),
    "scale_up_peak": (2, "vendors add up both directions: halve it"),
    "scale_out_peak": (8, "network rates are in bits: divide by 8"),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One sentence: what is wrong, with its numbers, and what to do. An error refuses the file."""

    text: str
    is_error: bool = False


def findings(device: Device, catalogue: Iterable[Device] = ()) -> list[Finding]:
    """All that is found, errors first; with a catalogue, also against its devices of the same chip."""
    checks = (_lacking, _magnitudes, _shares, _curves, _precisions, _networks, _memory, _run_costs, _provenance)
    found = [finding for check in checks for finding in check(device)]
    found.extend(_relatives(device, catalogue))
    return sorted(found, key=lambda finding: not finding.is_error)


def lacking(device: Device) -> list[str]:
    """Numbers without which no strategy can be computed on a device, and which it lacks."""
    return [key for key in NEEDED if key not in device.numbers]


def _lacking(device: Device) -> Iterator[Finding]:
    if missing := lacking(device):
        listed = " and ".join(f"[{key}]" for key in missing)
        yield Finding(f"there is no {listed}, without which no strategy can be computed: add them by hand")


def shown(value: float, unit: str) -> str:
    """A number in the unit that people use: 989.4 TFLOP/s, 80 GiB."""
    scale, word = SCALES[unit]
    return f"{value / scale:.15g} {word}".rstrip()


def _number(device: Device, key: str) -> str:
    number = device.numbers[key]
    return f"[{key}] is {shown(number.value, number.unit)}"


def _ratio(device: Device, key: str, other: str) -> float | None:
    """One number over another, None where either is unknown."""
    if key not in device.numbers or other not in device.numbers:
        return None
    return device.numbers[key].value / device.numbers[other].value


def _is_claimed(device: Device, *keys: str) -> bool:
    """Whether the numbers are said of a device that exists: a wish or a plan may be out of the usual."""
    return all(device.numbers[key].kind not in ("assumed", "announced") for key in keys)


def _magnitudes(device: Device) -> Iterator[Finding]:
    for key, number in device.numbers.items():
        low, high = PLAUSIBLE.get(number.unit, (0, math.inf))
        if not low <= number.value <= high:
            text = f"[{key}] is {number.value:g} {number.unit}, which no device is: write the unit that it is in"
            yield Finding(f"{text}, such as {SCALES[number.unit][1]}", is_error=True)
    intensity = _ratio(device, "bf16_peak", "hbm_peak")
    low, high = ARITHMETIC_INTENSITY
    if intensity is not None and not low <= intensity <= high:
        text = f"{_number(device, 'bf16_peak')} and {_number(device, 'hbm_peak')}, {intensity:.3g} FLOP per byte"
        yield Finding(f"{text}: usual are 30 to 600: check G against T in both units")


def _shares(device: Device) -> Iterator[Finding]:
    for rate in RATES:
        peak, measured = f"{rate}_peak", f"{rate}_measured"
        share = _ratio(device, measured, peak)
        if share is None:
            continue
        compared = f"{_number(device, measured)}, {share:.0%} of [{peak}], {_number(device, peak).partition(' is ')[2]}"
        if share > 1:
            yield Finding(f"{compared}: nothing runs above its peak: {ABOVE[rate]}", is_error=True)
        elif share < LOWEST_SHARE:
            yield Finding(f"{compared}: less than usual: {BELOW[rate]}")
        elif rate == "scale_up" and share > HIGHEST_RING_SHARE:
            yield Finding(f"{compared}: more than rings reach: {ABOVE[rate]}")


def _curves(device: Device) -> Iterator[Finding]:
    for key, curve in device.curves.items():
        rate = key.removesuffix("_measured")
        peak = device.numbers.get(f"{rate}_peak")
        above = [number for number, value in enumerate(curve.rates, start=1) if peak and value > peak.value]
        if peak and above:
            text = f"[[curve]] of {key}: point {above[0]} has {shown(curve.rates[above[0] - 1], peak.unit)}"
            compared = f"{text}, above [{rate}_peak], {shown(peak.value, peak.unit)}"
            yield Finding(f"{compared}: nothing runs above its peak: {ABOVE[rate]}", is_error=True)


def _precisions(device: Device) -> Iterator[Finding]:
    for key, other, usual in (("fp8_peak", "bf16_peak", USUAL_FP8), ("fp4_peak", "fp8_peak", USUAL_FP4)):
        ratio = _ratio(device, key, other)
        if ratio is None:
            continue
        compared = f"{_number(device, key)}, {ratio:.3g} times [{other}]"
        if key == "fp8_peak" and math.isclose(ratio, SPARSE_FP8, rel_tol=0.01) and _is_claimed(device, key, other):
            advice = 'give dense rates of both, or write kind = "assumed" where the dense rate truly is this'
            yield Finding(f"{compared}: that is a rate with sparsity over a dense one: {advice}", is_error=True)
        elif ratio > usual:
            yield Finding(f"{compared}: more than usual: check that both are dense and of one model")
        elif ratio < 1:
            yield Finding(f"{compared}: fewer bits are never slower: check that they are not exchanged")


def _networks(device: Device) -> Iterator[Finding]:
    if "scale_out_peak" in device.numbers:
        value, text = device.numbers["scale_out_peak"].value, _number(device, "scale_out_peak")
        advice = "divide bits by 8, and a node's NICs by its devices"
        if value >= NODE_OF_NICS and _is_claimed(device, "scale_out_peak"):
            yield Finding(f"{text} per device, as much as eight NICs of 400 Gb/s: {advice}", is_error=True)
        elif value > LARGEST_NIC:
            yield Finding(f"{text} per device, more than one NIC of 800 Gb/s: {advice}")
    ratio = _ratio(device, "scale_out_peak", "scale_up_peak")
    joined = device.numbers.get("scale_up_domain")
    if ratio is not None and ratio > 1 and joined is not None and joined.value > 1:
        text = f"{_number(device, 'scale_out_peak')}, {ratio:.3g} times [scale_up_peak]"
        yield Finding(f"{text}: the network between nodes is seldom the faster: check bits against bytes")


def _memory(device: Device) -> Iterator[Finding]:
    number = device.numbers.get("memory_capacity")
    if number is None or number.kind == "measured" or number.value % 2**30 == 0:
        return
    label = number.value / 1e9
    text = f"{_number(device, 'memory_capacity')}, {label:.6g} GB"
    advice = f'write {round(label)} with unit = "GiB"' if label == round(label) else "check GB against GiB"
    yield Finding(f"{text}: memory comes in whole GiB, an 80 GB label means 80 GiB: {advice}")


def _run_costs(device: Device) -> Iterator[Finding]:
    low, high = "device_price_low", "device_price_high"
    ratio = _ratio(device, low, high)
    if ratio is not None and ratio > 1:
        yield Finding(
            f"{_number(device, low)}, above [{high}], {device.numbers[high].value:g}: exchange them", is_error=True
        )
    for key, most, whole in (
        ("device_power", LARGEST_POWER, "node or superchip"),
        (low, LARGEST_PRICE, "whole instance"),
        (high, LARGEST_PRICE, "whole instance"),
    ):
        if key in device.numbers and device.numbers[key].value > most:
            yield Finding(f"{_number(device, key)}, that of a {whole}: divide by its devices")


def _provenance(device: Device) -> Iterator[Finding]:
    if device.status not in (SHIPPING, ANNOUNCED):
        yield Finding(f"status is '{device.status}': write {SHIPPING} or {ANNOUNCED}")
    examples = [f"[{key}]" for key, number in device.numbers.items() if number.source.startswith(EXAMPLE)]
    if examples:
        yield Finding(f"still examples: {', '.join(examples)}: write the device's own numbers, their kind and source")
    for key, number in device.numbers.items():
        if number.kind == "measured" and not number.date:
            yield Finding(f"[{key}] is measured but has no date: software moves such rates by 20 % a year, add date")
        if number.kind in ("datasheet", ANNOUNCED) and key.endswith("_measured"):
            yield Finding(
                f"[{key}] has kind {number.kind}: a data sheet holds no measurement, leave it out or say assumed"
            )
        if number.kind == "measured" and key.endswith("_peak"):
            yield Finding(f"[{key}] has kind measured: a measurement is no peak, make it [{key[:-5]}_measured]")
        if number.kind == "datasheet" and device.status == ANNOUNCED:
            yield Finding(f"[{key}] has kind datasheet, but the device is only announced: say announced")
        if number.kind == ANNOUNCED and device.status == SHIPPING:
            yield Finding(f"[{key}] has kind announced, but the device ships: look up its data sheet")


def _chip(name: str) -> str:
    """The first word of a name that is a chip's: H100 in "H100 SXM5 80GB", none in "RTX 4090"."""
    words = (word for word in name.upper().split() if word[0].isalpha() and any(map(str.isdigit, word)))
    return next(words, name.upper())


def _relatives(device: Device, catalogue: Iterable[Device]) -> Iterator[Finding]:
    chip = _chip(device.name)
    relatives = [other for other in catalogue if _chip(other.name) == chip]
    for key, (multiple, advice) in MULTIPLES.items():
        if key not in device.numbers:
            continue
        value = device.numbers[key].value
        others = [(other.name, other.numbers[key].value) for other in relatives if key in other.numbers]
        if any(math.isclose(value, theirs, rel_tol=0.02) for _, theirs in others):
            continue
        parts = [name for name, theirs in others if math.isclose(value, multiple * theirs, rel_tol=0.02)]
        if parts:
            yield Finding(f"{_number(device, key)}, {multiple} times that of {parts[0]} in the catalogue: {advice}")
