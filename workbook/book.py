"""The book: which sheets the workbook has, in which order, and what each of them says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pyxl.layout import checks_sheet, documentation, model_sheet, rows_sheet, summary_sheet
from pyxl.layout.checks_sheet import CheckLine
from pyxl.layout.header import FIRST_ROW, start
from pyxl.layout.summary_sheet import Heading
from pyxl.layout.table import SPARE_ROWS, Field, place_table
from pyxl.operations import Symbol, failures, least, most, pick, require, total, where
from pyxl.plan import Chart, Formula, Plan, Reference, Series, Sheet, formula_cell, letter
from pyxl.quantity import Kind
from pyxl.style import STYLES, number_format
from workbook import about, catalogue
from workbook.analysis import analysis
from workbook.operators import operators
from workbook.stages import STAGES, stages
from workbook.study import Study

RESULTS = (
    "total_parameters", "active_parameters", "training_flops_per_token", "step_flops", "device_memory", "memory_fits",
    "compute_time", "hbm_time", "scale_up_time", "scale_out_time", "bubble_time", "step_time", "bound",
    "model_flops_utilization", "tokens_per_second_per_device", "device_hours_per_trillion_tokens", "training_days",
    "training_cost",
)  # fmt: skip

USABLE = "usable_step_time"

VERDICT = (
    Heading("Bound by", "bound"),
    Heading("Fits in memory", "memory_fits"),
    Heading("Step time, perfect overlap", "step_time"),
    Heading("Step time, no overlap", "step_time_without_overlap"),
    Heading("Network time / compute time", "communication_compute_ratio"),
    Heading("MFU, of the BF16 peak", "model_flops_utilization"),
    Heading("Tokens per second and device", "tokens_per_second_per_device"),
    Heading("Days of the run", "training_days"),
    Heading("Cost of the run", "training_cost"),
    Heading("Memory per device", "device_memory"),
    Heading("Memory capacity", "memory_capacity"),
    Heading("Failed checks", "failed_checks"),
)

DETAILS = (
    Heading("Compute", "compute_time"),
    Heading("Bubble", "bubble_time"),
    Heading("HBM", "hbm_time"),
    Heading("Scale-up (NVLink)", "scale_up_time"),
    Heading("Scale-out (InfiniBand)", "scale_out_time"),
    Heading("Compute and bubble", "pipeline_time"),
    Heading("Break-even scale-out bandwidth", "break_even_scale_out_bandwidth"),
    Heading("Break-even tokens per device", "break_even_tokens_per_device"),
    Heading("Break-even nodes", "break_even_nodes"),
    Heading("Bound by, if scale-out were free", "bound_without_scale_out"),
    Heading("Scale-out bytes per step", "scale_out_bytes"),
    Heading(
        "Step time, if usable",
        USABLE,
        where(Symbol("failed_checks") + where(Symbol("memory_fits") == "yes", 0, 1) == 0, Symbol("step_time"), "none"),
    ),
)

CHART_ROWS = 28
CHART_SIZE = (19.0, 12.5)
OPERATOR_COLORS = ("4472C4", "ED7D31", "70AD47", "7030A0", "00B0F0", "C55A11", "548235", "BF9000")
COLORS = {
    "compute_time": "4472C4",
    "bubble_time": "A5A5A5",
    "hbm_time": "70AD47",
    "scale_up_time": "FFC000",
    "scale_out_time": "C00000",
    "line": "1F3864",
}


def plan(study: Study, *, protect: bool = False) -> Plan:
    """The whole workbook of a study."""
    checks_title = "Checks"
    master_address = checks_sheet.master_reference(checks_title)

    def sheet(title: str, heading: str, purpose: str) -> Sheet:
        # The master check's value is known only once all sheets stand; it is filled in at the end.
        return start(title, heading, purpose, Formula(master_address, None))

    tables, table_sheets = _catalogue_sheets(study, sheet)
    constants, constants_sheet = _constants_sheet(study, sheet)
    places = tables | constants
    analysis_sheet = sheet(
        "Analysis",
        "Analysis",
        "One row per quantity, one formula per row, one column per strategy. "
        "To add a strategy, copy a strategy's column into the next free one and change its inputs (yellow).",
    )
    strategies = {name: (inputs, study.values[name]) for name, inputs in study.strategies.items()}
    analysis_placed = model_sheet.lay_out(analysis_sheet, analysis, strategies, places, RESULTS)
    chosen = _chosen(study)
    roofline_sheet = sheet(
        "Roofline",
        "Roofline",
        "Matrix multiplications of one forward micro-batch on one rank. Choose a strategy in B5.",
    )
    roofline = _roofline(roofline_sheet, study, chosen, analysis_placed, places)
    stages_sheet = sheet(
        "Stages",
        "Pipeline stages",
        "What each stage holds on a rank, one copy of it. Choose a strategy in B5. "
        "With DualPipe a device holds stage i and its mirror image, PP - 1 - i.",
    )
    names, values = list(study.strategies), list(study.values.values())
    stage_places = rows_sheet.lay_out(stages_sheet, stages, names, chosen, values, analysis_placed, places)
    summary = sheet("Summary", study.title, study.description)
    _summary(summary, study, analysis_placed)
    checks = sheet(checks_title, "Checks", "What must hold for the numbers to mean anything.")
    scope = places | roofline | stage_places | _analysis_scope(study, analysis_placed)
    master = checks_sheet.lay_out(checks, _check_lines(), scope)
    formulas_sheet = sheet(
        "Formulas", "Formulas", "Every formula of the sheet Analysis once, in words and as Excel reads it."
    )
    documentation.lay_out_formulas(formulas_sheet, analysis, analysis_placed)
    sources = sheet("Sources", "Sources", "Every source and what rests on it.")
    documentation.lay_out_sources(sources, _sources(study))
    about_sheet = sheet("About", "About this workbook", about.PURPOSE)
    sheets = [
        summary, analysis_sheet, roofline_sheet, stages_sheet, *table_sheets, constants_sheet, checks, formulas_sheet,
        sources, about_sheet,
    ]  # fmt: skip
    _about(about_sheet, sheets)
    for each in sheets:
        each.put(*checks_sheet.MASTER, Formula(master_address, master.value), "check")
    checks.put(*checks_sheet.MASTER, master, "check")
    return Plan(study.title, study.description, sheets, protect)


def _chosen(study: Study) -> str:
    """The strategy that Roofline and Stages open with: the fastest that fits, else the first."""
    fitting = {name: v["step_time"] for name, v in study.values.items() if v["memory_fits"] == "yes"}
    return min(fitting, key=fitting.__getitem__) if fitting else next(iter(study.strategies))


def _catalogue_sheets(study: Study, sheet: Any) -> tuple[dict[str, Reference], list[Sheet]]:
    labels = {q.name: q.label for q in analysis.quantities.values()}
    units = {c.key: c.unit for c in analysis.columns.values()}
    hardware = sheet(
        "Hardware",
        "Hardware",
        "One row per device: datasheet and measured rates per device and direction, dense. "
        "Add a device in the next free row. An empty cell is an unknown number.",
    )
    models = sheet(
        "Models", "Models", "One row per model, after its Hugging Face configuration. Add a model in the next free row."
    )
    choices = sheet("Choices", "Choices", "Each row is a choice of a drop-down; a new choice is a new row.")
    places: dict[str, Reference] = {}
    row = FIRST_ROW + 1
    for table in study.tables.values():
        fields = [Field(name, labels[name], units[f"{table.name}.{name}"]) for name in table.columns]
        if table.name == catalogue.HARDWARE:
            places |= place_table(hardware, FIRST_ROW + 1, table.name, fields, table.rows, table.sources)
        elif table.name == catalogue.MODELS:
            places |= place_table(models, FIRST_ROW + 1, table.name, fields, table.rows, table.sources)
        else:
            places |= place_table(choices, row, table.name, fields, table.rows, table.sources, spare=2)
            row += len(table.rows) + 7
    for each, table in ((hardware, catalogue.HARDWARE), (models, catalogue.MODELS)):
        # Sources stand right of the numbers, too wide for paper; the sheet Sources prints them.
        last = FIRST_ROW + 3 + len(study.tables[table].rows) + SPARE_ROWS
        each.print_area = f"A1:{letter(len(study.tables[table].columns) + 1)}{last}"
        each.freeze = f"B{FIRST_ROW + 4}"
        each.heights[FIRST_ROW + 1] = 46
    for each in (hardware, models, choices):
        each.widths[1] = 34
    return places, [hardware, models, choices]


def _constants_sheet(study: Study, sheet: Any) -> tuple[dict[str, Reference], Sheet]:
    constants = sheet(
        "Constants", "Constants", "Numbers of the field, each with its reason and source. All strategies use them."
    )
    top = FIRST_ROW + 1
    constants.put_row(top, 1, ["Key", "Value", "Unit", "Constant", "Reason", "Source"], "header")
    constants.widths.update({1: 36, 2: 22, 3: 14, 4: 44, 5: 110, 6: 90})
    places = {}
    quantities = (q for q in analysis.quantities.values() if q.kind is Kind.CONSTANT)
    for row, quantity in enumerate(quantities, start=top + 1):
        value = study.constants.get(quantity.name, quantity.value)
        constants.put(row, 1, quantity.name, "key")
        constants.put(row, 2, value, "constant", number_format(quantity.unit) if quantity.unit == "token" else None)
        constants.put(row, 3, quantity.unit, "note")
        constants.put(row, 4, quantity.label, "label")
        constants.put(row, 5, quantity.note, "note")
        constants.put(row, 6, quantity.source, "note")
        places[quantity.name] = Reference(constants.address(row, 2), value)
    return places, constants


def _analysis_scope(study: Study, placed: model_sheet.ModelSheet) -> dict[str, Reference]:
    """Analysis rows over all slots, keyed "Analysis.quantity", for checks across strategies."""
    padding = (None,) * (placed.slots - len(study.strategies))
    return {
        f"Analysis.{name}": Reference(placed.across(name), (*(v[name] for v in study.values.values()), *padding))
        for name in (*analysis.series["checks"], "failed_checks", "step_time")
    }


def _check_lines() -> Iterable[CheckLine]:
    lines = [
        CheckLine(
            analysis[name].label,
            analysis[name].note,
            require(failures(Symbol(f"Analysis.{name}")) == 0, "a strategy fails: see the section Checks in Analysis"),
        )
        for name in analysis.series["checks"]
    ]
    lines.append(
        CheckLine(
            "Step times are above 0",
            "A step of every strategy takes time.",
            require(least(Symbol("Analysis.step_time")) > 0, "a strategy's step takes no time"),
        )
    )
    executed = total(Symbol("Roofline.total_flops")) * Symbol("Roofline.tensor_parallel_size")
    expected = Symbol("Roofline.microbatch_tokens") * Symbol("Roofline.forward_flops_per_token")
    lines.append(
        CheckLine(
            "Operators add up to the forward pass",
            "FLOPs of the sheet Roofline's operators, on all tensor ranks, against the Analysis' forward FLOPs per token.",
            require(
                most(executed - expected, expected - executed) <= Symbol("relative_tolerance") * expected,
                "the operators of the sheet Roofline do not add up to forward_flops_per_token",
            ),
        )
    )
    peak = most(Symbol("Stages.memory"))
    three = where(
        Symbol("Stages.pipeline_parallel_size") > 1,
        most(
            Symbol("Stages.first_stage_memory"),
            Symbol("Stages.middle_stage_memory"),
            Symbol("Stages.last_stage_memory"),
        ),
        Symbol("Stages.first_stage_memory") + Symbol("Stages.last_stage_memory"),
    )
    lines.append(
        CheckLine(
            "Stages peak where the Analysis says",
            f"Largest memory of the sheet Stages (its first {STAGES} stages) against first, middle and last stage of the Analysis.",
            require(
                most(peak - three, three - peak) <= Symbol("relative_tolerance") * three,
                "the largest stage of the sheet Stages is not the Analysis' peak",
            ),
        )
    )
    return lines


def _roofline(
    sheet: Sheet, study: Study, chosen: str, placed: model_sheet.ModelSheet, places: Mapping[str, Reference]
) -> dict[str, Reference]:
    names, values = list(study.strategies), list(study.values.values())
    found = rows_sheet.lay_out(sheet, operators, names, chosen, values, placed, places)
    top = FIRST_ROW + 6 + len(operators.rows)
    sheet.put_row(
        top,
        1,
        [
            "Roofs",
            "Intensity: left edge",
            "Intensity: ridge",
            "Intensity: right edge",
            "Rate: left edge",
            "Rate: ridge",
            "Rate: right edge",
        ],
        "header",
    )
    sheet.heights[top] = 32
    roofs = (("Linear layers under HBM", "linear_ceiling", "C00000"), ("BF16 under HBM", "bf16_ceiling", "1F3864"))
    series: list[Series] = []
    for row, (label, ceiling, color) in enumerate(roofs, start=top + 1):
        left, right = Symbol("roofline_left_edge"), Symbol("roofline_right_edge")
        roof, slope = Symbol(f"{sheet.title}.{ceiling}"), Symbol(f"{sheet.title}.hbm_ceiling")
        points = [left, roof / slope, right, left * slope, roof, roof]
        sheet.put(row, 1, label, "label")
        for column, point in enumerate(points, start=2):
            shown = "#,##0.0" if column <= 4 else number_format("FLOP/s")
            sheet.put(row, column, formula_cell(point, found | places), "calculation", shown)
        series.append(
            Series(sheet.address(row, 1), sheet.range((row, 5), (row, 7)), sheet.range((row, 2), (row, 4)), color)
        )
    columns = {name: column for column, name in enumerate(operators.quantities, start=2)}
    for number, row in enumerate(range(FIRST_ROW + 5, FIRST_ROW + 5 + len(operators.rows))):
        # From the operator's point up to its label: heights differ, so labels never overlap.
        x = sheet.range((row, columns["intensity"]), (row, columns["label_intensity"]))
        y = sheet.range((row, columns["attainable"]), (row, columns["label_height"]))
        color = OPERATOR_COLORS[number % len(OPERATOR_COLORS)]
        series.append(Series(sheet.address(row, 1), y, x, color, "circle", labelled=True))
    peak = max(v["linear_ceiling"] for v in values)
    decade = math.floor(math.log10(peak))
    sheet.charts.append(
        Chart(
            "scatter",
            "Roofline of the chosen strategy: each operator of a forward micro-batch",
            f"A{top + 4}",
            series,
            x_title="FLOPs per byte of HBM traffic",
            y_title="FLOP/s",
            y_format="0.E+00",
            logarithmic=True,
            x_range=(1e2, 1e4),
            y_range=(10.0 ** (decade - 1), 10.0 ** (decade + 2)),
            size=(36.0, 18.0),
        )  # fmt: skip
    )
    sheet.pages_tall = 1
    return found


def _summary(sheet: Sheet, study: Study, placed: model_sheet.ModelSheet) -> None:
    top = FIRST_ROW + 5
    places = summary_sheet.lay_out(sheet, top, analysis, placed, study.values, VERDICT)
    notes = top + placed.slots + 1
    for row, text in enumerate(about.HOW_TO_READ, start=notes):
        sheet.put(row, 1, text, "note")
    charts = notes + len(about.HOW_TO_READ) + 1
    details = charts + CHART_ROWS
    sheet.put(details - 1, 1, "Where the time goes, and what would turn a strategy compute-bound", "headline")
    places |= summary_sheet.lay_out(sheet, details, analysis, placed, study.values, DETAILS)
    sheet.highlights.extend(
        summary_sheet.verdict_highlights(
            places, {"bound": "compute", "memory_fits": "yes", "bound_without_scale_out": "compute"}
        )
    )
    _headline(sheet, places)
    sheet.freeze = f"B{top + 1}"
    sheet.portrait, sheet.pages_tall = True, 1
    strategy = places["strategy"].address
    labels = {heading.quantity: heading.title for heading in DETAILS}
    resources = ("compute_time", "bubble_time", "hbm_time", "scale_up_time", "scale_out_time")
    line = Series("Compute and bubble: stay under this", places["pipeline_time"].address, color=COLORS["line"])
    sheet.charts.append(
        Chart(
            "stacked",
            "Seconds per step that each resource needs",
            f"A{charts}",
            [Series(labels[key], places[key].address, color=COLORS[key]) for key in resources],
            categories=strategy,
            lines=[line],
            y_title="seconds",
            y_format="0",
            size=CHART_SIZE,
        )  # fmt: skip
    )
    sheet.charts.append(
        Chart(
            "columns",
            "Memory per device against its capacity, logarithmic",
            f"F{charts}",
            [Series("Memory per device", places["device_memory"].address, color=COLORS["compute_time"])],
            categories=strategy,
            y_title="bytes",
            y_format='[>=1000000000000]0,,,," TB";0,,," GB"',
            logarithmic=True,
            lines=[Series("Capacity", places["memory_capacity"].address, color=COLORS["scale_out_time"])],
            y_range=(1e9, 1e14),
            size=CHART_SIZE,
        )  # fmt: skip
    )


def _headline(sheet: Sheet, places: Mapping[str, Reference]) -> None:
    usable, fastest = Symbol(USABLE), least(Symbol(USABLE))
    for row, (label, shown, unit) in enumerate(
        (
            ("Fastest strategy that fits in memory", Symbol("strategy"), "text"),
            ("It is bound by", Symbol("bound"), "text"),
            ("Its step takes at least", usable, "s"),
        ),
        start=FIRST_ROW,
    ):
        sheet.put(row, 1, label, "headline")
        answer = formula_cell(where(most(usable) > 0, pick(fastest, usable, shown), "none fits"), places)
        sheet.put(row, 2, answer, "headline", number_format(unit))


def _sources(study: Study) -> Iterable[tuple[str, str]]:
    for quantity in analysis.quantities.values():
        yield quantity.source, quantity.name
    for table in study.tables.values():
        for (row, column), source in table.sources.items():
            yield source, row if column == "name" else f"{row}: {column}"
    yield from about.CORRECTION_SOURCES


def _about(sheet: Sheet, sheets: Iterable[Sheet]) -> None:
    sheet.widths.update({1: 44, 2: 130})
    row = documentation.lay_out_prose(sheet, FIRST_ROW + 1, about.FACTS)
    sheet.put(row + 1, 1, "Sheets", "section")
    sheet.put(row + 1, 2, None, "section")
    row += 2
    for each in sheets:
        sheet.put(row, 1, each.title, "link", link=each.title)
        sheet.put(row, 2, about.SHEETS[each.title], "text")
        row += 1
    sheet.put(row + 1, 1, "Corrections to the article that this example is after", "section")
    sheet.put(row + 1, 2, None, "section")
    row = documentation.lay_out_prose(sheet, row + 2, about.CORRECTIONS)
    sheet.put(row + 1, 1, "Colours", "section")
    sheet.put(row + 1, 2, None, "section")
    for offset, (name, style) in enumerate(STYLES.items(), start=row + 2):
        sheet.put(offset, 1, name, name)
        sheet.put(offset, 2, style.meaning, "text")
