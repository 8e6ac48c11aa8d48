"""Published training runs against their lower bound, and what their sources print about themselves."""

import csv
import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from pyxl.errors import UserError
from workbook import catalogue
from workbook.analysis import analysis
from workbook.published_runs import Run, read, shipped, tables
from workbook.validation import COUNTED, Report, shipped_report, validate

PUBLISHED, VTRAIN = shipped()
COLUMNS = catalogue.columns(tables().values())
ROW = {
    "model": "LLAMA3_8B", "hardware": "H100", "gpus": "8", "precision": "BF16", "tp": "1", "pp": "1", "cp": "1",
    "ep": "", "vp": "", "dp_or_zero": "FSDP8", "gbs": "128", "mbs": "1", "seq_len": "8192",
    "tokens_per_s_per_gpu": "10000", "tflops_per_gpu": "", "mfu": "", "recompute": "none", "source": "mine",
}  # fmt: skip


@pytest.fixture(scope="module")
def report() -> Report:
    return validate()


@pytest.fixture
def one_row(tmp_path: Path) -> Any:
    """A file of one row, changed from ROW; a column set to None is left out."""

    def write(**changes: str | None) -> Path:
        row = {column: cell for column, cell in (ROW | changes).items() if cell is not None}
        path = tmp_path / "runs.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow(row)
        return path

    return write


def values_of(run: Run) -> Any:
    return analysis.compute(run.alternatives[0], COLUMNS)


def printed(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_no_published_run_is_faster_than_its_bound(report: Report) -> None:
    assert (report.total.rows, len(report.total.violations)) == (639 + 109, 0)
    assert report.total.supported >= 0.9 * report.total.rows


def test_what_is_not_compared_is_missing_or_not_modelled_or_wrong(report: Report) -> None:
    for reason in report.total.unsupported:
        assert re.search("is not stated|is not known|(is|are) not modelled|known error of the source", reason), reason


def test_the_shipped_report_is_that_of_this_version(report: Report) -> None:
    """Written by tests/reports/validation.py."""
    shipped_totals = shipped_report()
    fresh = json.loads(json.dumps(report.totals()))
    assert shipped_totals.keys() == fresh.keys()
    for name, summary in {**fresh["sources"], "all": fresh["total"]}.items():
        other = {**shipped_totals["sources"], "all": shipped_totals["total"]}[name]
        assert other["measured_over_bound"] == pytest.approx(summary["measured_over_bound"], rel=1e-9)
        assert {**other, "measured_over_bound": 0} == {**summary, "measured_over_bound": 0}


def test_sources_add_up_to_all(report: Report) -> None:
    for count in (lambda s: s.rows, lambda s: s.supported, lambda s: sum(s.unsupported.values())):
        assert sum(count(summary) for summary in report.sources) == count(report.total)
    vtrain = next(summary for summary in report.sources if "vTrain" in summary.name)
    assert vtrain.rows == vtrain.supported == 109
    values = list(vtrain.distribution.values())
    assert values == sorted(values)


def test_parameters_of_mpt_are_those_that_its_rows_print() -> None:
    runs = [run for run in read(PUBLISHED) if run.model.startswith("MPT")]
    assert len(runs) == 106
    for run in runs:
        assert values_of(run)["total_parameters"] == int(re.search(r"\((\d+) params\)", run.model)[1])  # type: ignore[index]


def test_flops_per_token_are_those_that_sources_print() -> None:
    """TFLOP/s over tokens/s of a row is what its source counts for a token; printed figures are rounded."""
    ratios = defaultdict(list)
    for row, run in zip(printed(PUBLISHED), read(PUBLISHED), strict=True):
        if run.alternatives and row["tflops_per_gpu"] and row["tokens_per_s_per_gpu"] and "GPT OSS" not in run.model:
            flops = COUNTED[run.speed.counts](values_of(run))
            per_token = float(row["tflops_per_gpu"]) * 1e12 / float(row["tokens_per_s_per_gpu"])
            ratios[run.source, run.model].append(per_token / flops)
    assert len(ratios) >= 20
    for key, values in ratios.items():
        assert median(values) == pytest.approx(1, abs=0.03), key


def test_executed_flops_are_the_formula_of_narayanan() -> None:
    run = next(run for run in read(PUBLISHED) if run.model.startswith("GPT 1008.0B"))
    h, layers, s, vocabulary = 25600, 128, 2048, 51200
    expected = 96 * layers * h**2 * (1 + s / (6 * h) + vocabulary / (16 * layers * h))
    assert COUNTED[run.speed.counts](values_of(run)) == pytest.approx(expected, rel=1e-12)


def test_a_measured_time_follows_from_tokens_or_from_flops(one_row: Any) -> None:
    by_tokens = validate([one_row()]).comparisons[0]
    assert by_tokens.measured == pytest.approx(128 * 8192 / (10000 * 8))
    teraflops = 10000 * values_of(by_tokens.run)["training_flops_per_token"] / 1e12
    by_flops = validate([one_row(tokens_per_s_per_gpu="", tflops_per_gpu=f"{teraflops:.9f}")]).comparisons[0]
    assert by_flops.measured == pytest.approx(by_tokens.measured)
    by_mfu = validate([one_row(tokens_per_s_per_gpu="", mfu=f"{teraflops / 989.4 * 100:.9f}%")]).comparisons[0]
    assert by_mfu.measured == pytest.approx(by_tokens.measured)


def test_a_bound_is_the_compute_of_the_datasheet_at_least(one_row: Any) -> None:
    """6 FLOPs for each of 7.5 billion weights and causal attention at 989.4 TFLOP/s."""
    comparison = validate([one_row()]).comparisons[0]
    weights, attention = 6 * 7_504_658_432, 6 * 32 * 8192 * 4096
    assert comparison.lower_bound >= (weights + attention) * 128 * 8192 / 8 / 989.4e12
    assert comparison.lower_bound == pytest.approx(comparison.measured / comparison.ratio)


def test_shapes_in_a_name_are_read(one_row: Any) -> None:
    run = read(one_row(model="GPT 9B (h=13824, L=78, heads=64)"))[0]
    values = values_of(run)
    assert values["head_dim"] * 64 == 13824
    assert (values["num_dense_layers"], values["intermediate_size"]) == (78, 4 * 13824)
    reduced = read(one_row(model="DeepSeek-V3 reduced to 4 layers", ep="8"))[0]
    assert (values_of(reduced)["num_dense_layers"], values_of(reduced)["num_moe_layers"]) == (1, 3)


def test_what_is_not_stated_makes_the_bound_smaller(one_row: Any) -> None:
    def bound(**changes: str) -> float:
        return (
            validate([one_row(gpus="16", pp="4", model="GPT3-20B", seq_len="2048", **changes)])
            .comparisons[0]
            .lower_bound
        )

    assert bound(vp="") < bound(vp="1")
    assert bound(mbs="", vp="1") <= min(bound(mbs=size, vp="1") for size in ("1", "2", "4", "8"))
    assert bound(recompute="not stated") < bound(recompute="full AC")


def test_a_run_faster_than_light_is_a_violation(one_row: Any, solbook: Any) -> None:
    path = one_row(tokens_per_s_per_gpu="100000", extra="ignored")
    run = solbook("validate", path, "--json")
    assert run.returncode == 1
    found = json.loads(run.stdout)
    assert found["total"]["violations"] == 1
    assert found["rows"][0]["measured_over_bound"] < 1
    assert "Violations" in solbook("validate", path).stdout


def test_unknown_words_are_reasons(one_row: Any) -> None:
    for changes, reason in (
        ({"model": "My own model"}, "model 'My own model' is not known"),
        ({"hardware": ""}, "hardware is not stated"),
        ({"gbs": ""}, "global batch size is not stated"),
        ({"tokens_per_s_per_gpu": ""}, "speed is not stated"),
        ({"gbs": "100"}, "micro_batch_size x data parallel size must divide global_batch_size"),
    ):
        assert validate([one_row(**changes)]).total.unsupported == {reason: 1}


def test_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    rows = printed(VTRAIN)[:3]
    path = tmp_path / "turned.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0])[::-1])
        writer.writeheader()
        writer.writerows(rows)
    turned, straight = validate([path]), validate([VTRAIN])
    assert turned.total.ratios == sorted(comparison.ratio for comparison in straight.comparisons[:3])


def test_bad_files_are_refused_in_one_line(one_row: Any, tmp_path: Path, solbook: Any) -> None:
    with pytest.raises(UserError, match=r"runs\.csv: line 2, column gpus is '8x'"):
        read(one_row(gpus="8x"))
    with pytest.raises(UserError, match=r"runs\.csv: line 1 has no column seq_len"):
        read(one_row(seq_len=None))
    with pytest.raises(UserError, match="line 2, column mbs is '-1'"):
        read(one_row(mbs="-1"))
    ragged = tmp_path / "ragged.csv"
    ragged.write_text(one_row().read_text() + "LLAMA3_8B,H100\n")
    with pytest.raises(UserError, match="line 3 has not as many cells"):
        read(ragged)
    missing = solbook("validate", tmp_path / "none.csv")
    assert (missing.returncode, len(missing.stderr.splitlines())) == (2, 1)


def test_the_readme_says_what_the_report_says() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    report = shipped_report()
    for name, summary in {**report["sources"], "All": report["total"]}.items():
        ratios = summary["measured_over_bound"]
        cells = [f"{ratios[key]:.2f}" if ratios else "" for key in ("min", "median", "max")]
        counts = [str(summary[key]) for key in ("rows", "supported", "violations")]
        assert f"| {' | '.join([name, *counts, *cells])} |" in readme
