"""Published training runs: rows of a CSV file as inputs of the analysis, and how long their step took.

What the words of a source mean stands in `templates/validation/aliases.toml`, for all rows alike, and what a source has
wrong in `known_errors.toml`. A run that cannot be compared is kept with the reason.
"""

from __future__ import annotations

import csv
import fnmatch
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyxl.errors import UserError
from workbook import catalogue

Cells = Mapping[str, str]
Inputs = dict[str, Any]
Number = int | float

FILES = ("published_runs.csv", "vtrain_a100_step_times.csv")
LARGEST_FILE = 100_000_000
LARGEST_NUMBER = 1e12
# Columns of numbers, each with the words for what is missing where a row needs it.
NUMBERS = {
    "gpus": "number of devices",
    "tp": "tensor parallel size",
    "pp": "pipeline parallel size",
    "cp": "context parallel size",
    "ep": "expert parallel size",
    "gbs": "global batch size",
    "mbs": "micro-batch size",
    "seq_len": "sequence length",
    "tokens_per_s_per_gpu": "tokens per second",
    "tflops_per_gpu": "TFLOP/s",
    "mfu": "MFU",
    "step_time_ms": "step time",
}
# A number, perhaps in percent, perhaps with a remark: "64", "~30%", "8192 (default, not printed)", "43% of peak".
NUMBER = re.compile(r"~?(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(%?)(?: \(.*\)| of .*)?", re.IGNORECASE)
# Shapes as sources write them in a model's name.
SHAPES = {
    "hidden_size": re.compile(r"\bh=([1-9]\d{0,5})\b"),
    "num_hidden_layers": re.compile(r"\b(?:L=|reduced to )([1-9]\d{0,5})\b"),
    "num_attention_heads": re.compile(r"\bheads=([1-9]\d{0,5})\b"),
}
INTERLEAVED = "interleaved 1F1B"


class Unsupported(Exception):
    """Why there is no bound for a run."""


@dataclass(frozen=True)
class Speed:
    """What a row says of its speed: seconds per step, or else FLOP/s per device, or else MFU.

    `counts` names what the source's FLOPs count.
    """

    counts: str
    step_time: Number | None = None
    rate: Number | None = None
    mfu: Number | None = None


@dataclass(frozen=True)
class Run:
    """One row. `alternatives` are the inputs that it may have had: the smallest of their bounds is the run's.

    `reason` says why there are none.
    """

    file: str
    line: int
    source: str
    model: str
    hardware: str
    devices: str
    speed: Speed
    alternatives: Sequence[Inputs] = ()
    reason: str = ""


@lru_cache(maxsize=1)
def tables() -> Mapping[str, catalogue.Table]:
    """The catalogue's tables, which runs are described with."""
    return {table.name: table for table in catalogue.shipped()}


@lru_cache
def _named_rows(table: str) -> Mapping[str, Mapping[str, Any]]:
    return {row["name"]: row for row in tables()[table].rows}


@lru_cache(maxsize=1)
def _aliases() -> Mapping[str, Any]:
    return catalogue.read_toml(_directory() / "aliases.toml")


@lru_cache(maxsize=1)
def _known_errors() -> Sequence[Mapping[str, Any]]:
    errors: Sequence[Mapping[str, Any]] = catalogue.read_toml(_directory() / "known_errors.toml")["errors"]
    return errors


def _directory() -> Path:
    return catalogue.templates_directory() / "validation"


def _fits(cell: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(cell.casefold(), pattern.casefold())


@lru_cache(maxsize=4096)
def _meaning(table: str, cell: str) -> Any:
    """What the first pattern that fits the cell stands for, or None."""
    return next((entry for pattern, entry in _aliases()[table].items() if _fits(cell, pattern)), None)


def _inputs(table: str, cell: str) -> Inputs:
    """The inputs that a cell stands for. Raises `Unsupported` where nothing fits."""
    entry = _meaning(table, cell)
    if entry is None:
        raise Unsupported(f"{table} '{cell}' is not known" if cell else f"{table} is not stated")
    if "reason" in entry:
        raise Unsupported(entry["reason"])
    inputs: Inputs = entry
    return inputs


def shipped() -> list[Path]:
    """The files that come as templates."""
    return [_directory() / name for name in FILES]


def read(path: Path) -> list[Run]:
    """The runs of a CSV file. Raises `UserError` with file, line and column for what cannot be read."""
    return [_run(cells, path, line) for line, cells in _rows(path)]


def _rows(path: Path) -> Iterator[tuple[int, Cells]]:
    """Line number and cells of each row, with those that follow from the file's format."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path} is too large for a table of training runs")
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            common = _common_cells(path, reader.fieldnames or ())
            for row in reader:
                if None in row or None in row.values():
                    raise UserError(f"{path}: line {reader.line_num} has not as many cells as there are columns")
                cells = {column: cell.strip() for column, cell in row.items()}
                yield reader.line_num, cells | {column: text.format_map(cells) for column, text in common.items()}
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise UserError(f"{path} is not CSV: {error}") from error


def _common_cells(path: Path, columns: Sequence[str]) -> Cells:
    """Cells that follow for all rows of the format that the columns show."""
    formats = _aliases()["formats"].values()
    closest = max(formats, key=lambda known: sum(column in columns for column in known["columns"]))
    for column in closest["columns"]:
        if column not in columns:
            raise UserError(f"{path}: line 1 has no column {column}: needed are {', '.join(closest['columns'])}")
    cells: Cells = closest.get("cells", {})
    return cells


def _run(cells: Cells, path: Path, line: int) -> Run:
    source = _meaning("sources", cells["source"]) or {"name": cells["source"], "counts": "model, causal"}
    cells = {**cells, **{column: cell for column, cell in source.get("cells", {}).items() if not cells[column]}}
    numbers = {
        column: _number(cells[column], f"{path}: line {line}, column {column}") for column in NUMBERS if column in cells
    }
    alternatives: tuple[Inputs, ...] = ()
    speed, reason = Speed(source["counts"]), ""
    try:
        _refuse_known_errors(cells)
        alternatives = tuple(_alternatives(cells, numbers, source.get("inputs", {})))
        speed = _speed(numbers, source["counts"])
    except Unsupported as unsupported:
        reason = str(unsupported)
    return Run(
        path.name, line, source["name"], cells["model"], cells["hardware"], cells["gpus"], speed, alternatives, reason
    )


def _refuse_known_errors(cells: Cells) -> None:
    for error in _known_errors():
        if all(_fits(cells.get(column, ""), pattern) for column, pattern in error["cells"].items()):
            raise Unsupported(f"known error of the source: {error['argument']}")


def _number(cell: str, place: str) -> Number | None:
    """The number in a cell, None if it is empty."""
    meant = _meaning("numbers", cell)
    text = cell if meant is None else meant
    if not text:
        return None
    match = NUMBER.fullmatch(text)
    if match is None or not 0 < float(match[1]) < LARGEST_NUMBER:
        raise UserError(f"{place} is '{cell}': write a number above 0, or nothing where it is not known")
    value = float(match[1])
    if place.endswith("column mfu") and not match[2] and value > 1:
        raise UserError(f"{place} is '{cell}': write a share of 1, or a number with %")
    if match[2]:
        return value / 100
    return int(value) if value == int(value) else value


def _needed(numbers: Mapping[str, Number | None], column: str) -> Number:
    value = numbers[column]
    if value is None:
        raise Unsupported(f"{NUMBERS[column]} is not stated")
    return value


def _speed(numbers: Mapping[str, Number | None], counts: str) -> Speed:
    if milliseconds := numbers.get("step_time_ms"):
        return Speed(counts, step_time=milliseconds / 1000)
    if tokens := numbers["tokens_per_s_per_gpu"]:
        step_tokens = _needed(numbers, "gbs") * _needed(numbers, "seq_len")
        return Speed(counts, step_time=step_tokens / tokens / _needed(numbers, "gpus"))
    if teraflops := numbers["tflops_per_gpu"]:
        return Speed(counts, rate=teraflops * 1e12)
    if mfu := numbers["mfu"]:
        return Speed(counts, mfu=mfu)
    raise Unsupported("speed is not stated")


def _alternatives(cells: Cells, numbers: Mapping[str, Number | None], of_source: Inputs) -> Iterator[Inputs]:
    """What the run may have been, as inputs of the analysis; `of_source` are those of all rows of its source."""
    model = _model(cells["model"], numbers["seq_len"])
    schedule = _inputs("vp", cells["vp"])
    chunks = _number(cells["vp"], "vp") if schedule["pipeline_schedule"] == INTERLEAVED else 1
    inputs = {
        **_aliases()["common"],
        **of_source,
        **model,
        **_inputs("hardware", cells["hardware"]),
        **_inputs("precision", cells["precision"]),
        **_inputs("dp_or_zero", cells["dp_or_zero"]),
        **_inputs("recompute", cells["recompute"]),
        **schedule,
        "virtual_stages": chunks,
        "devices": _needed(numbers, "gpus"),
        "sequence_length": _needed(numbers, "seq_len"),
        "global_batch_size": _needed(numbers, "gbs"),
        "tensor_parallel_size": _needed(numbers, "tp"),
        "pipeline_parallel_size": _needed(numbers, "pp"),
        "context_parallel_size": numbers.get("cp") or 1,
        "expert_parallel_size": numbers.get("ep") or 1,
    }
    sizes = (numbers["mbs"],) if numbers["mbs"] else _micro_batch_sizes(inputs)
    if not {**_named_rows(catalogue.MODELS)[model["model"]], **model}["n_routed_experts"]:
        yield from (inputs | {"micro_batch_size": size} for size in sizes)
        return
    for size, expert_tensor in itertools.product(sizes, sorted({1, inputs["tensor_parallel_size"]})):
        within_node = inputs["expert_parallel_size"] * expert_tensor <= _scale_up_domain(inputs)
        for dispatch in _aliases()["expert_dispatch"][: 1 if within_node else None]:  # all alike in a node
            yield inputs | dispatch | {"micro_batch_size": size, "expert_tensor_parallel_size": expert_tensor}


def _scale_up_domain(inputs: Inputs) -> Number:
    domain: Number = _named_rows(catalogue.HARDWARE)[inputs["hardware"]]["scale_up_domain"] or 1
    return domain


def _micro_batch_sizes(inputs: Inputs) -> Sequence[Number]:
    """Sizes that divide a data-parallel rank's share of the batch. Without a pipeline the largest has the smallest
    bound: weights are read and gathered least.
    """
    stages = inputs["pipeline_parallel_size"]
    ranks = inputs["devices"] / (inputs["tensor_parallel_size"] * stages * inputs.get("context_parallel_size", 1))
    share = inputs["global_batch_size"] / ranks
    if stages == 1 or share != int(share):
        return [share]
    small = [size for size in range(1, math.isqrt(int(share)) + 1) if share % size == 0]
    return sorted({*small, *(share / size for size in small)})


def _model(name: str, sequence_length: Number | None) -> dict[str, Any]:
    """The model as a template's name, and what differs from the template.

    What a shape leaves unsaid keeps the template's proportions.
    """
    changes = dict(_inputs("model", name))
    template = changes.pop("template")
    row = _named_rows(catalogue.MODELS).get(template)
    if row is None:
        raise Unsupported(f"model {template} is not modelled")
    changes |= {key: int(match[1]) for key, pattern in SHAPES.items() if (match := pattern.search(name))}
    hidden, layers, heads = ({**row, **changes}[key] for key in SHAPES)
    all_dense = row["num_dense_layers"] == row["num_hidden_layers"]
    one_width = row["head_dim"] * row["num_attention_heads"] == row["hidden_size"]
    proportional = {
        "num_dense_layers": layers if all_dense else min(row["num_dense_layers"], layers),
        "num_key_value_heads": heads * row["num_key_value_heads"] / row["num_attention_heads"],
        "head_dim": hidden / heads if one_width else row["head_dim"],
        "intermediate_size": hidden * row["intermediate_size"] / row["hidden_size"],
        "sliding_window_layers": layers * row["sliding_window_layers"] / row["num_hidden_layers"],
        "learned_positions": sequence_length if row["learned_positions"] else 0,
    }
    return {"model": template} | {key: value for key, value in proportional.items() if value != row[key]} | changes
