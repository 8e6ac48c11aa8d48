"""Ladders: one chosen strategy under alternatives of one choice, side by side, all else as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyxl.layout import scenario_sheet
from pyxl.layout.header import start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.layout.summary_sheet import verdict_highlights
from pyxl.plan import Chart, Reference, Series, Sheet
from pyxl.readings.number import OK
from pyxl.scenario import POSSIBLE, Scenario, shown
from workbook.analysis import analysis
from workbook.study import Study

COLORS = ("1F3864", "4472C4", "9DC3E6", "ED7D31", "70AD47")
CHART_ROWS = 26
GOOD = {"bound": "compute", "memory_fits": "yes"}


@dataclass(frozen=True)
class Ladder:
    """A sheet: which choice is varied, its alternatives in order of preference, and which results a chart shows.

    The references of its rows are keyed "heading.key". At most `count` alternatives are shown, those that can be
    computed.
    """

    title: str
    heading: str
    subtitle: str
    scenario: Scenario
    alternatives: tuple[str, ...]
    count: int
    charted: tuple[str, ...]
    chart_title: str
    y_title: str
    y_format: str

    def sheet(
        self, study: Study, chosen: str, placed: ModelSheet, places: Mapping[str, Reference]
    ) -> tuple[Sheet, Mapping[str, Reference]]:
        """The sheet, and its rows as references for checks."""
        laid_out = start(self.title, self.heading, self.subtitle)
        names = self._possible(study, chosen)
        table = scenario_sheet.lay_out(laid_out, self.scenario, names, study.values, chosen, placed, places, CHART_ROWS)
        results = self.scenario.results
        across = {name: table.references[shown(name)] for name in results}
        good = {name: word for name, word in GOOD.items() if name in results}
        laid_out.highlights.extend(verdict_highlights(across, good))
        first, last = table.rows[shown(self.charted[0])], table.rows[shown(self.charted[-1])]
        laid_out.charts.append(
            Chart(
                "clustered",
                self.chart_title,
                f"A{table.rows[shown(results[-1])] + 2}",
                [
                    Series(
                        laid_out.address(table.rows[self.scenario.source], column),
                        laid_out.range((first, column), (last, column)),
                        color=color,
                    )
                    for column, color in zip(table.columns, COLORS, strict=False)
                ],
                categories=laid_out.range((first, 1), (last, 1)),
                y_title=self.y_title,
                y_format=self.y_format,
                y_range=(0.0, None),
                size=(30.0, 12.0),
            )
        )
        return laid_out, {f"{self.heading}.{key}": place for key, place in table.references.items()}

    def _possible(self, study: Study, chosen: str) -> tuple[str, ...]:
        """The first alternatives that the chosen strategy can be computed with."""
        values, source = study.values[chosen], self.scenario.source
        known = (name for name in self.alternatives if name in study.columns[f"{analysis[source].choices}.name"])
        possible = [name for name in known if self.scenario.under(name, values, study.columns)[POSSIBLE] == OK]
        return tuple(possible[: self.count]) or (values[source],)
