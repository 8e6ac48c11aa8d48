"""Stages: what each device of one strategy's pipeline holds and computes, one row per device.

A second route to the analysis, which looks at four devices only: the sheet Checks compares peaks and sums.
"""

from pyxl.rows import RowModel
from workbook.analysis import analysis
from workbook.devices import INDEX, device_quantities

STAGES = 64

stages = RowModel(analysis)
stages.section("Stages")

stages.input(INDEX, "1", "Device", None, "Number of the device in its pipeline, from 0.")

for _each in device_quantities:
    _label = _each.label[0].upper() + _each.label[1:]
    stages.quantity(_each.unit, _label, number_format=_each.number_format)(_each.function)


@stages.quantity("s", "Compute, forward and backward")
def compute(num_microbatches, backward_forward_ratio, forward_pass):
    """Matrix multiplications of a step on the device, without recomputation."""
    return num_microbatches * (1 + backward_forward_ratio) * forward_pass


for _number in range(STAGES):
    stages.row(f"Device {_number}", index=_number)

stages.close(
    also=(
        "largest_device_memory",
        "forward_time",
        "num_hidden_layers",
        "busiest_device_compute_time",
        "parameter_copies",
        "pipeline_parallel_size",
    )
)
