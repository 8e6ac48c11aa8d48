"""The package formulas recalculates strategies of every study that ships, side by side in one workbook.

Loading a workbook takes it ten seconds, whatever is in it, and two more for each strategy.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from pyxl.writer import workbook_bytes, write_file
from workbook import study as studies
from workbook.book import plan
from workbook.verify import differences

STUDIES = {name: studies.load(name) for name in studies.names()}


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
def test_every_value_of_a_strategy_of_each_study(which: int, tmp_path: Path) -> None:
    strategies = {name: list(study.strategies.values())[which] for name, study in STUDIES.items()}
    study, path = replace(studies.load(), strategies=strategies), tmp_path / "studies.xlsx"
    write_file(path, workbook_bytes(plan(study)))
    found, compared = differences(path, "formulas")
    assert found == []
    assert compared > 500 * len(STUDIES)
