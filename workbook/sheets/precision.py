"""Precision: one chosen strategy under several precision recipes. Compute shrinks, most bytes do not."""

from pyxl.scenario import Scenario
from workbook.analysis import analysis
from workbook.sheets.ladder import Ladder

TIMES = ("compute_time", "bubble_time", "hbm_time", "scale_up_time", "scale_out_time", "step_time_lower_bound")

ladder = Ladder(
    title="Precision",
    heading="Precision ladder",
    subtitle="The chosen strategy under other precision recipes, all else as it is. Choose a strategy in B5, recipes "
    "in the row below the head. The numbers are the recipes' own, also where the strategy types over a look-up.",
    scenario=Scenario(
        analysis,
        "precision",
        (*TIMES, "bound", "device_memory", "memory_fits"),
        "the device has no rate for this recipe, or a number is missing",
    ),
    alternatives=("BF16", "FP8 (DeepSeek-V3)", "NVFP4", "FP8 (DeepSeek-V3), FP8 gathers"),
    count=3,
    charted=TIMES,
    chart_title="Seconds per step that each resource needs, by precision recipe",
    y_title="seconds",
    y_format="0.0",
)
sheet = ladder.sheet
