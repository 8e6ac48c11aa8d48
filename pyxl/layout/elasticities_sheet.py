"""The sheet of elasticities: of one chosen strategy's result to each source, and the adjoints that they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyxl.cells import letter
from pyxl.elasticities import Elasticities, adjoint, elasticity
from pyxl.layout.chosen import choose, lay_out_taken
from pyxl.layout.header import FIRST_ROW
from pyxl.layout.model_sheet import ModelSheet
from pyxl.plan import Formula, Reference, Sheet, quoted
from pyxl.readings.formula import formula
from pyxl.style import number_format

LABEL, KEY, UNIT, VALUE, ADJOINT, ELASTICITY = range(1, 7)
TOP = FIRST_ROW + 3
VALUE_HEAD, DERIVATIVE_HEAD, ELASTICITY_HEAD = "Value", "Derivative", "Elasticity"
HEADS = ("Quantity", "Key", "Unit", VALUE_HEAD, DERIVATIVE_HEAD, ELASTICITY_HEAD)
COLUMNS = {DERIVATIVE_HEAD: ADJOINT, ELASTICITY_HEAD: ELASTICITY}


@dataclass(frozen=True)
class PlacedElasticities:
    """The lines of the sources, and where the elasticities stand, keyed "title.elasticity to source"."""

    lines: Sequence[int]
    references: Mapping[str, Reference]


def lay_out(
    sheet: Sheet,
    elasticities: Elasticities,
    strategies: Mapping[str, Mapping[str, Any]],
    chosen: str,
    parent: ModelSheet,
    catalogue: Mapping[str, Reference],
    context: Sequence[str],
    notes: Sequence[str],
) -> PlacedElasticities:
    """Lay the elasticities out under the result and its `context`, `notes` below them, then the adjoints."""
    shows = choose(sheet, strategies, chosen, parent)
    model = elasticities.parent
    values = elasticities.compute(shows.values, {})
    above = [elasticities.result, *context]
    lines = range(TOP + 1 + len(above), TOP + 1 + len(above) + len(elasticities.sources))
    below = lines.stop + len(notes) + 3
    rows = {name: row for row, name in enumerate((*above, *elasticities.sources), start=TOP + 1)}
    rows |= {name: row for row, name in enumerate(reversed(elasticities.path), start=below + 1)}
    for row, note in enumerate(notes, start=lines.stop + 1):
        sheet.put(row, LABEL, note, "note")
    sheet.put_row(TOP, LABEL, HEADS, "header")
    sheet.put(below - 1, LABEL, "What they are made of: derivatives, from the result back to the inputs", "headline")
    sheet.put_row(below, LABEL, HEADS[:-1], "header")
    sheet.widths.update({LABEL: 44, KEY: 34, UNIT: 16, VALUE: 18, ADJOINT: 18, ELASTICITY: 12})

    others = {name: name for name in elasticities.imports if name not in rows}
    scope = lay_out_taken(sheet, (below, ELASTICITY + 2), shows, model, others, catalogue)
    for name, row in rows.items():
        quantity = model[name]
        scope[name] = Reference(f"$D{row}", shows.values[name])
        sheet.put(row, LABEL, quantity.label, "label")
        sheet.put(row, KEY, name, "key")
        sheet.put(row, UNIT, quantity.unit, "note")
        sheet.put(row, VALUE, shows.take(name), "look-up", number_format(quantity.unit, quantity.number_format))
    for key, name, head in derived(elasticities):
        scope[key] = Reference(f"${letter(COLUMNS[head])}{rows[name]}", values[key])
    for key, name, head in derived(elasticities):
        quantity = elasticities[key]
        assert quantity.expression is not None
        text = formula(quantity.expression, lambda symbol: scope[symbol].address)
        style = "result" if head == ELASTICITY_HEAD else "calculation"
        sheet.put(
            rows[name], COLUMNS[head], Formula(text, values[key], quantity.expression), style, quantity.number_format
        )
    return PlacedElasticities(
        lines,
        {
            f"{sheet.title}.strategy": shows.cell,
            **{
                f"{sheet.title}.{key}": Reference(f"{quoted(sheet.title)}!{scope[key].address}", values[key])
                for key in map(elasticity, elasticities.sources)
            },
        },
    )


def derived(elasticities: Elasticities) -> list[tuple[str, str, str]]:
    """Key, quantity and head of the column of each derivative and elasticity."""
    derivatives = [(adjoint(name), name, DERIVATIVE_HEAD) for name in (*elasticities.sources, *elasticities.path)]
    return derivatives + [(elasticity(name), name, ELASTICITY_HEAD) for name in elasticities.sources]
