"""What buttons and menus offer: each action's name, its tool tip, and the function that it calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """A button: its key, its label, and the tip that explains it."""

    key: str
    label: str
    tip: str


ACTIONS = (
    Action(
        "recompute",
        "Recompute",
        "Compute every quantity in Python from the inputs in this workbook, and compare: see the sheet Engine.",
    ),
    Action(
        "add_strategy",
        "Add strategy",
        "Copy the strategy at the cursor into the next free column; elsewhere, take strategies from a study file.",
    ),
    Action("add_hardware", "Add hardware", "Add a device from a hardware file (.toml) to the sheet Hardware."),
    Action("add_model", "Add model", "Add a model from a Hugging Face config.json to the sheet Models."),
    Action("export", "Export strategy", "Write the strategy at the cursor to a study file that solbook build accepts."),
    Action("explain", "Explain cell", "The formula of the selected cell in names and values, and what moves it most."),
)


def click(key: str) -> None:
    """Run the action of a button on the workbook that called."""
    raise NotImplementedError(key)


def main() -> None:
    """What the ribbon's "Run main" calls."""
    click("recompute")
