"""Elasticities of the step time: the slopes that the engine's own numbers have, and the units that slopes have."""

import re
from typing import Any

import pytest

from pyxl.elasticities import adjoint, elasticities_at, elasticity
from pyxl.quantity import Kind
from pyxl.readings.unit import parse, unit
from workbook import study
from workbook.analysis import analysis
from workbook.sheets.elasticities import step_time

STUDIES = {name: study.load(name) for name in study.names()}
CASES = [(name, strategy) for name, each in STUDIES.items() for strategy in each.strategies]
STEP = 1e-5
KINK = 1e-4
JUMP = 100  # no slope at all: a value that is rounded up changes here


def slopes(name: str, strategy: str, source: str) -> tuple[float, float, float]:
    """Per cent of step time for one per cent of an input: to below, to above and across."""
    each = STUDIES[name]
    value = each.values[strategy][source]

    def time(factor: float) -> Any:
        inputs = {**each.constants, **each.strategies[strategy], source: value * factor}
        return analysis.compute(inputs, each.columns)[step_time.result]

    below, at, above = (time(factor) for factor in (1 - STEP, 1, 1 + STEP))
    return (at - below) / at / STEP, (above - at) / at / STEP, (above - below) / at / (2 * STEP)


@pytest.mark.parametrize(("name", "strategy"), CASES)
def test_elasticities_are_the_slopes_of_the_engine(name: str, strategy: str) -> None:
    """At a kink a slope between those to both sides: only a degree of parallelism or a node's size may stand at one."""
    computed = step_time.compute(STUDIES[name].values[strategy], {})
    for source in step_time.sources:
        below, above, across = slopes(name, strategy, source)
        shown = computed[elasticity(source)]
        if abs(above - below) < KINK:
            assert shown == pytest.approx(across, rel=1e-4, abs=1e-5), source
        else:
            assert analysis[source].unit in ("1", "device"), source
            if max(abs(below), abs(above)) > JUMP:
                continue
            # Where two kinks coincide, as of dense and expert groups, each may take its own side.
            assert min(below, above) - KINK <= shown <= max(below, above) + KINK, source


@pytest.mark.parametrize("degrees", [{"tensor_parallel_size": 8}, {"expert_parallel_size": 8}])
@pytest.mark.parametrize("bandwidth_model", ["flat", "hierarchical"])
def test_a_degree_that_just_fills_a_node_has_the_slope_to_one_side(
    degrees: dict[str, int], bandwidth_model: str
) -> None:
    each = STUDIES["deepseek-v3-h800"]
    inputs = {"zero_stage": "ZeRO-3", "micro_batch_size": 1, "bandwidth_model": bandwidth_model, **degrees}
    values = analysis.compute(inputs, each.columns)
    shown = step_time.compute(values, {})
    for source in (*degrees, "scale_up_domain"):
        times = [
            analysis.compute(inputs | {source: values[source] * factor}, each.columns)[step_time.result]
            for factor in (1 - STEP, 1, 1 + STEP)
        ]
        sides = [(times[i + 1] - times[i]) / times[1] / STEP for i in range(2)]
        assert any(shown[elasticity(source)] == pytest.approx(side, abs=KINK) for side in sides), (source, sides)


def test_few_inputs_stand_at_a_kink() -> None:
    """Else the tests above would say little."""
    kinks = [
        source
        for name, strategy in CASES
        for source in step_time.sources
        for below, above, _ in (slopes(name, strategy, source),)
        if abs(above - below) > KINK
    ]
    assert len(kinks) < 0.1 * len(CASES) * len(step_time.sources), kinks


def test_every_number_that_reaches_the_step_time_is_there() -> None:
    assert {"devices", "sequence_length", "global_batch_size", "micro_batch_size", "fp8_measured", "hbm_peak"} < set(
        step_time.sources
    )
    assert not {"training_tokens", "device_hour_price", "memory_capacity"} & set(step_time.sources)


@pytest.mark.parametrize("name", [*step_time.sources, *step_time.path])
def test_a_derivative_is_in_seconds_per_unit_of_its_quantity(name: str) -> None:
    def unit_of(key: str) -> Any:
        of = key.removeprefix(adjoint(""))
        return parse("s") / parse(analysis[of].unit) if of != key else parse(analysis[key].unit)

    expression = step_time[adjoint(name)].expression
    assert expression is not None
    assert unit(expression, unit_of) == unit_of(adjoint(name))


def test_time_enters_by_rates_and_latencies_of_the_device_alone() -> None:
    """So their elasticities must add up, which the sheet Checks demands."""
    typed = [q.name for q in analysis if q.kind not in (Kind.CALCULATION, Kind.CHECK)]
    needed = [name for name in typed if analysis.between([name], [step_time.result])]
    timed = {name for name in needed if "s" in re.split(r"[*/]", analysis[name].unit)}
    assert timed <= set(step_time.sources)
    assert "hbm_measured" in timed


@pytest.mark.parametrize(("name", "strategy"), CASES)
def test_slower_clocks_slow_the_step_as_much(name: str, strategy: str) -> None:
    """Euler's theorem on homogeneous functions."""
    computed = step_time.compute(STUDIES[name].values[strategy], {})
    power = {"/s": -1, "s": 1}
    added = sum(power.get(analysis[source].unit[-2:], 0) * computed[elasticity(source)] for source in step_time.sources)
    assert added == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("each", STUDIES.values(), ids=STUDIES)
def test_elasticities_at_a_point_are_those_of_the_sheet(each: study.Study) -> None:
    """Two ways through the same derivatives: added up as formulas, and as numbers."""
    for values in each.values.values():
        expected = step_time.compute(values, {})
        found = elasticities_at(analysis, values, each.columns, step_time.result, step_time.sources)
        for name in step_time.sources:
            assert found.get(name, 0) == pytest.approx(expected[elasticity(name)], rel=1e-9, abs=1e-12)
