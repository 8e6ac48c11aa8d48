"""The studies that ship: strategies pass their checks, measured steps are those of published runs, sweeps agree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pyxl.quantity import Kind
from workbook import study as studies
from workbook.analysis import analysis
from workbook.study import Study
from workbook.sweep import sweep
from workbook.validation import Comparison, validate

STUDIES = {name: studies.load(name) for name in studies.names()}
MEASURED = [
    pytest.param(values, id=f"{name}: {strategy}")
    for name, study in STUDIES.items()
    for strategy, values in study.values.items()
    if values["measured_step_time"]
]
CALCULATED = [quantity.name for quantity in analysis if quantity.kind in (Kind.CALCULATION, Kind.CHECK)]
# What a run is known by.
SETTINGS = (
    "model", "hardware", "devices", "sequence_length", "global_batch_size", "tensor_parallel_size",
    "pipeline_parallel_size", "context_parallel_size", "expert_parallel_size",
)  # fmt: skip

each_study = pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))
each_measured = pytest.mark.parametrize("values", MEASURED)


@pytest.fixture(scope="module")
def published() -> Sequence[Comparison]:
    return validate().comparisons


@each_study
def test_a_study_asks_a_question_and_has_an_answer_that_fits(study: Study) -> None:
    study.require_valid()
    assert study.description
    assert any(values["memory_fits"] == "yes" for values in study.values.values())


@each_measured
def test_a_measured_step_is_slower_than_the_speed_of_light(values: dict[str, Any]) -> None:
    assert values["measured_over_lower_bound"] > 1


@each_measured
def test_a_measured_step_is_that_of_a_published_run(values: dict[str, Any], published: Sequence[Comparison]) -> None:
    settings = {key: values[key] for key in SETTINGS}
    runs = [
        comparison.measured
        for comparison in published
        for inputs in comparison.run.alternatives
        if settings == {key: inputs.get(key, analysis[key].value) for key in SETTINGS}
    ]
    assert pytest.approx(values["measured_step_time"], rel=2e-3) in runs


@each_study
def test_a_sweep_gives_what_each_strategy_gives_alone(study: Study) -> None:
    for strategy, inputs in study.strategies.items():
        batches = np.array([1, 2]) * inputs["global_batch_size"]
        found = sweep(study, {**inputs, "global_batch_size": batches}, CALCULATED)
        for place, batch in enumerate(batches.tolist()):
            alone = analysis.compute({**inputs, "global_batch_size": batch}, study.columns)
            for key in CALCULATED:
                expected = alone[key] if isinstance(alone[key], str) else pytest.approx(alone[key], rel=1e-12)
                assert found[key][place] == expected, (strategy, key)


def test_the_list_names_every_study_with_its_strategies_and_title(solbook: Any) -> None:
    listed = solbook("study", "list").stdout.splitlines()
    for name, study in STUDIES.items():
        (line,) = (line for line in listed if f" {name} " in line)
        assert f" {len(study.strategies)} " in line
        assert study.title in line
