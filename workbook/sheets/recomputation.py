"""Recomputation: one chosen strategy under several policies: what would make it fit, and what that costs."""

from pyxl.scenario import Scenario
from workbook.analysis import analysis
from workbook.sheets.ladder import Ladder

MEMORY = ("first_device_memory", "middle_device_memory", "last_device_memory", "device_memory")

ladder = Ladder(
    title="Recomputation",
    heading="Recomputation ladder",
    subtitle="The chosen strategy under other recomputation policies, all else as it is: what would make it fit, and "
    "what that costs. Choose a strategy in B5, policies in the row below the head.",
    scenario=Scenario(
        analysis,
        "recomputation",
        (
            *MEMORY,
            "memory_fits",
            "compute_time",
            "step_time_lower_bound",
            "bound",
        ),
        "the policy is no row of the table Recomputation, or a number is missing",
    ),
    alternatives=(
        "none",
        "selective (moe_act, layernorm)",
        "selective (mla_up_proj)",
        "selective (DeepSeek-V3)",
        "full",
    ),
    count=5,
    charted=MEMORY,
    chart_title="Memory per device, by recomputation policy",
    y_title="GB",
    y_format="#,##0,,,",
)
sheet = ladder.sheet
