"""The workbook of every study that ships, recalculated by programs not written by us: each value is Python's.

`formulas`, which is slow, has a file of its own.
"""

from pathlib import Path

import pytest

from pyxl.writer import workbook_bytes, write_file
from workbook import study as studies
from workbook.book import plan
from workbook.verify import differences

QUANTITIES_AT_LEAST = 500


@pytest.mark.parametrize("evaluator", ["formualizer", pytest.param("libreoffice", marks=pytest.mark.libreoffice)])
@pytest.mark.parametrize("name", studies.names())
def test_every_value_of_a_study(name: str, evaluator: str, tmp_path: Path) -> None:
    study, path = studies.load(name), tmp_path / "study.xlsx"
    write_file(path, workbook_bytes(plan(study)))
    found, compared = differences(path, evaluator)
    assert found == []
    assert compared > QUANTITIES_AT_LEAST * len(study.strategies)
