"""Formulas, Sources and About: what the workbook says of itself, and corrections to the article it is after."""

from __future__ import annotations

from collections.abc import Iterable

from pyxl.layout import documentation
from pyxl.layout.header import FIRST_ROW, start
from pyxl.layout.model_sheet import ModelSheet
from pyxl.plan import Sheet
from pyxl.style import STYLES
from workbook import __version__
from workbook.analysis import analysis
from workbook.study import Study

PURPOSE = "Which parallelisation strategy does a large model need on a cluster, and why: as live formulas."

FACTS = (
    (
        "Made by",
        f"solbook {__version__}, from definitions in Python: each formula and the Python engine are one definition.",
    ),
    (
        "What it computes",
        "FLOPs, bytes and speed-of-light times of one optimizer step per strategy, memory per device, and what "
        "follows for the training run. All cells hold base units: byte, second, FLOP; GB and TFLOP/s are number "
        "formats only. GB is 1e9 byte, GiB is 2^30 byte. Bandwidth is per device and direction, peaks are dense.",
    ),
    (
        "What it leaves out",
        "Kernels other than matrix multiplications: norms, rotary embedding, softmax, activation functions, casts "
        "and permutations take no time. Congestion, stragglers, failures, checkpointing and data loading. Uneven "
        "routing: experts get equally many tokens. Windows and chunks of attention are averaged over layers; MoE "
        "layers are taken to follow the dense ones. Tensor ranks without sequence parallelism repeat norms and "
        "routers for nothing. The network is taken not to block inside a pod. Weights, gradients and optimizer "
        "states stay in device memory: no offloading. Memory has an allowance for buffers of the network library, "
        "workspaces, fragmentation and context.",
    ),
    (
        "Lower and upper bound",
        "The lower bound counts the work that the strategy cannot do without, at these ceilings, and lets "
        "everything overlap. The sheet Validation compares it with published runs. A careful implementation may "
        "still save a few per cent: the last matrix of recomputed modules, the second gather of embedding and last "
        "layer under ZeRO-3, keys that context parallelism keeps for the backward pass; and the flat bandwidth "
        "model is a choice of algorithm, not a bound for others. The upper bound lets nothing overlap, but still "
        "takes every kernel at its ceiling: real runs may be slower.",
    ),
    (
        "Typing over a cell",
        "An input (yellow) is yours. A look-up (green text) may be typed over, it then turns orange; copy the "
        "neighbour's cell to bring the look-up back. A calculation that was typed over turns red.",
    ),
    (
        "Checking it",
        "`solbook audit FILE` says what was changed since the workbook was built; `solbook verify FILE` recalculates "
        "the file and compares every quantity with the Python engine.",
    ),
)

SHEETS = {
    "Summary": "One line per strategy, the answer and two charts",
    "Analysis": "The model: one row per quantity, one column per strategy",
    "Roofline": "Matrix multiplications of one chosen strategy under their roofs",
    "Stages": "Devices of one chosen strategy's pipeline",
    "Collectives": "Messages of one chosen strategy by group and network",
    "Precision": "One chosen strategy under several precision recipes",
    "Recomputation": "One chosen strategy under several recomputation policies: what would make it fit",
    "Elasticities": "How much one chosen strategy's step time follows each input",
    "Hardware": "Devices and their rates, each with its source",
    "Models": "Models and their configurations",
    "Choices": "Tables behind the drop-downs",
    "Measured": "Rates over sizes as they were measured, and the ceilings read from them",
    "Constants": "Numbers of the field",
    "Checks": "What must hold, and the master check",
    "Formulas": "Every formula once, in words and in Excel",
    "Validation": "Published training runs against their lower bounds",
    "Sources": "Every source and what rests on it",
    "Study": "What this workbook was built from: the study file, for `solbook audit`",
    "About": "This sheet",
    "xlwings.conf": "What xlwings needs to know: which Python, which functions",
}

CORRECTIONS = (
    (
        "2048 nodes",
        "The article speaks of 2048 nodes. The cluster has 2048 H800 GPUs in 256 nodes of 8. "
        "Source: DeepSeek-V3 report, arXiv 2412.19437, sections 1 and 3.1",
    ),
    (
        "BF16 758 TFLOP/s on H800",
        "The rate was measured on an H100 SXM5 (HuggingFace Smol Training Playbook, 757.7 at the best of five shapes). "
        "H800 and H100 SXM5 share the 989 TFLOP/s peak, so it is a fair transfer, but a transfer.",
    ),
    (
        "FP8 1460 TFLOP/s, 73.6 %",
        "Measured with torch._scaled_mm at one shape (1456.6); right against the dense peak of 1979. Transformer "
        "Engine reached 547 to 1121 in the same table, DeepSeek's block-scaled DeepGEMM 1009 to 1520 on H800.",
    ),
    (
        "InfiniBand 50 GB/s achieved",
        "50 GB/s is the line rate of a 400 Gbit/s NIC. DeepSeek itself plans with 40 GB/s (arXiv 2505.09343, section "
        "4.3); 46 to 49 are measured elsewhere. With it, InfiniBand takes about as long as compute.",
    ),
    (
        "NVLink 160 of 200 GB/s",
        "Confirmed: H800's NVLink is cut to 200 GB/s per direction, of which about 160 are achievable. "
        "Source: DeepSeek-V3 report, section 3.2.2; arXiv 2505.09343, section 4.3",
    ),
    (
        "Multi-token prediction left out",
        "Consistent with the published measurement: 385 (causal) and 432 (full square) TFLOP/s per device are "
        "reproduced by the main model alone. Switch multi_token_prediction on to include it.",
    ),
    (
        "ZeRO-3 is bound by InfiniBand",
        "True of the flat bandwidth model, by a factor of about ten. If each byte enters a node once, InfiniBand is "
        "close to break-even and H800's NVLink binds instead. The workbook shows both.",
    ),
)

CORRECTION_SOURCES = (
    ("DeepSeek-V3 report, arXiv 2412.19437, sections 1, 3.1 and 3.2.2", "About: corrections"),
    ("Insights into DeepSeek-V3, ISCA 2025, arXiv 2505.09343, section 4.3", "About: corrections"),
    ("HuggingFace Smol Training Playbook, infrastructure chapter", "About: corrections"),
)


def formulas(placed: ModelSheet, others: Iterable[Sheet]) -> Sheet:
    """Every distinct formula once."""
    sheet = start("Formulas", "Formulas", "Every distinct formula once, in words and as Excel reads it.")
    documentation.lay_out_formulas(sheet, analysis, placed, others)
    return sheet


def sources(study: Study) -> Sheet:
    """Every source and what rests on it."""
    sheet = start("Sources", "Sources", "Every source and what rests on it.")
    documentation.lay_out_sources(sheet, _sources(study))
    return sheet


def _sources(study: Study) -> Iterable[tuple[str, str]]:
    for quantity in analysis.quantities.values():
        yield quantity.source, quantity.name
    for table in study.tables.values():
        for (row, column), source in table.sources.items():
            yield source, row if column == "name" else f"{row}: {column}"
        for (row, column), curve in table.curves.items():
            yield curve.rate.provenance, f"{row}: {column}"
    yield from CORRECTION_SOURCES


def about(sheets: Iterable[Sheet], further: Iterable[Sheet] = ()) -> Sheet:
    """The last sheet of the analysis; `sheets` are those before it, `further` ones those behind."""
    sheet = start("About", "About this workbook", PURPOSE)
    sheet.widths.update({1: 44, 2: 130})
    row = documentation.lay_out_prose(sheet, FIRST_ROW + 1, FACTS)
    sheet.put(row + 1, 1, "Sheets", "section")
    sheet.put(row + 1, 2, None, "section")
    row += 2
    for each in (*sheets, sheet, *further):
        sheet.put(row, 1, each.title, "link", link=each.title)
        sheet.put(row, 2, SHEETS[each.title], "text")
        row += 1
    sheet.put(row + 1, 1, "Corrections to the article that this example is after", "section")
    sheet.put(row + 1, 2, None, "section")
    row = documentation.lay_out_prose(sheet, row + 2, CORRECTIONS)
    sheet.put(row + 1, 1, "Colours", "section")
    sheet.put(row + 1, 2, None, "section")
    for offset, (name, style) in enumerate(STYLES.items(), start=row + 2):
        sheet.put(offset, 1, name, name)
        sheet.put(offset, 2, style.meaning, "text")
    return sheet
