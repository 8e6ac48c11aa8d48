"""Devices of a pipeline: what each of them holds and computes, by one formula for all.

The analysis looks at four that stand for all: the first (embedding, dense layers, most micro-batches in flight), the
last one with dense layers ("mixed"), the largest without ("middle"), and the last (head). No other device holds more
than one of these. The sheet Stages has a row for each device, with the same formulas.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from workbook.model import analysis

Formula = TypeVar("Formula", bound=Callable[..., Any])

DEVICES = {"first": "First device", "mixed": "Mixed device", "middle": "Middle device", "last": "Last device"}
INDEX = "index"


class DeviceQuantity(NamedTuple):
    """A quantity that every device has: its name without the device, and its formula."""

    name: str
    unit: str
    label: str
    function: Callable[..., Any]
    number_format: str | None


device_quantities: list[DeviceQuantity] = []


def device_quantity(unit: str, label: str, *, number_format: str | None = None) -> Callable[[Formula], Formula]:
    """Declare the decorated function as a quantity of each of the four devices: `layers` gives `first_device_layers`
    and so on. Its parameters are the device's `index`, device quantities declared before, and any other quantity.
    """

    def declare(function: Formula) -> Formula:
        own = {INDEX, *(quantity.name for quantity in device_quantities)}
        name = function.__name__
        for device, title in DEVICES.items():
            ingredients: dict[str, Any] = {
                p: f"{device}_device_{p}" for p in inspect.signature(function).parameters if p in own
            }
            analysis.quantity(
                unit,
                f"{title}: {label}",
                number_format=number_format,
                called=f"{device}_device_{name}",
                **ingredients,
            )(function)
        device_quantities.append(DeviceQuantity(name, unit, label, function, number_format))
        return function

    return declare
