"""Hardware files carry measured curves: what a number is read from, and what is wrong with one."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pyxl.errors import UserError
from workbook import catalogue, study
from workbook.cli import solbook
from workbook.hardware_logs import reading
from workbook.hardware_logs.findings import take
from workbook.hardware_logs.records import Supplied

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
CURVE = """
[[curve]]
number = "scale_up_measured"
read_at = 3e6
points = [[1e3, 1e9], [1e6, 1e11], [5e6, 3e11], [1e9, 2.9e11]]
kind = "measured"
source = "my log"
date = "2026-12-01"
"""
NUMBER = '[{key}]\nvalue = {value}\nunit = "byte/s"\nkind = "measured"\nsource = "by hand"\n'


def device(folder: Path, text: str) -> catalogue.Device:
    path = folder / "mine.toml"
    path.write_text(f'name = "Mine"\n{text}', encoding="utf-8")
    return catalogue.device(path)


def imported(*arguments: str | Path) -> Result:
    return CliRunner().invoke(solbook, ["hardware", "import", *map(str, arguments)])


# The catalogue


def test_a_number_is_read_from_its_curve(tmp_path: Path) -> None:
    found = device(tmp_path, CURVE).numbers["scale_up_measured"]
    assert (found.value, found.unit) == (2e11, "byte/s")
    assert found.provenance == "measured: my log, 2026-12-01"


def test_a_number_beside_its_curve_keeps_its_source_and_has_to_agree(tmp_path: Path) -> None:
    beside = NUMBER.format(key="scale_up_measured", value="2.000001e11")
    found = device(tmp_path, beside + CURVE).numbers["scale_up_measured"]
    assert (found.value, found.source) == (2e11, "by hand")
    with pytest.raises(UserError, match=r"mine.toml: \[scale_up_measured\]: value is .*, but its \[\[curve\]\] gives"):
        device(tmp_path, beside.replace("2.000001", "2.1") + CURVE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"scale_up_measured"', '"scale_up_mesured"', "did you mean 'scale_up_measured'"),
        ('"scale_up_measured"', '"scale_up_peak"', "number is 'scale_up_peak'"),
        ("read_at = 3e6\n", "", "[[curve]] 1 has no read_at"),
        ("read_at = 3e6", "read_at = 2e9", "choose a size within the curve, 1000.0 to 1000000000.0"),
        ("read_at = 3e6", 'read_at = "3 MB"', "read_at is '3 MB': write a finite number"),
        ("[1e6, 1e11], [5e6, 3e11]", "[5e6, 3e11], [1e6, 1e11]", "point 3 has the size 1000000.0 after 5000000.0"),
        ("[1e6, 1e11]", "[1e3, 1e11]", "point 2 has the size 1000.0 after 1000.0: sizes have to ascend"),
        ("[1e6, 1e11]", "[1e6, 0]", "point 2 is [1000000.0, 0]: write a size and a rate above 0"),
        ("[1e6, 1e11]", "[-1e6, 1e11]", "above 0"),
        ("[1e6, 1e11]", "[1e6, nan]", "point 2 is nan: write a finite number"),
        ("[1e6, 1e11]", "[1e6, 1e11, 3]", "point 2 is [1000000.0, 100000000000.0, 3]: write a size and a rate"),
        ("[[1e3, 1e9], [1e6, 1e11], [5e6, 3e11], [1e9, 2.9e11]]", "[[3e6, 1e9]]", "write 2 to 100 of them"),
        ("[[1e3, 1e9],", f"[{''.join(f'[{n}, 1],' for n in range(1, 99))}[1e3, 1e9],", "write 2 to 100 of them"),
        ('kind = "measured"', 'kind = "mesured"', "did you mean 'measured'"),
        ("source = ", "sauce = ", "no field 'sauce'"),
        ("[[curve]]", "[curve]", "make each curve a table of its own, [[curve]]"),
        ("[[curve]]", f"{CURVE}[[curve]]", "[[curve]] 2: scale_up_measured has a curve already"),
    ],
)  # fmt: skip
def test_a_wrong_curve_is_one_clear_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CURVE
    with pytest.raises(UserError) as refused:
        device(tmp_path, CURVE.replace(old, new))
    assert said in str(refused.value)
    assert "mine.toml: " in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_point_above_the_peak_is_refused(tmp_path: Path) -> None:
    """Also where the number itself, read elsewhere, is not."""
    with pytest.raises(UserError, match=r"scale_up_measured: point 3 has 300 GB/s, above \[scale_up_peak\], 250 GB/s"):
        device(tmp_path, NUMBER.format(key="scale_up_peak", value=2.5e11) + CURVE)


def test_a_study_may_bring_a_device_with_a_curve(tmp_path: Path) -> None:
    own = CURVE.replace("[[curve]]", '[[hardware."Mine".curve]]')
    path = tmp_path / "own.toml"
    path.write_text(f'title = "t"\n[strategies."A"]\nhardware = "Mine"\n{own}', encoding="utf-8")
    loaded = study.load(str(path))
    assert loaded.values["A"]["scale_up_measured"] == 2e11
    assert ("Mine", "scale_up_measured") in loaded.tables["Hardware"].curves


def test_a_row_that_takes_the_place_of_a_shipped_one_has_no_curve_of_it(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    row = NUMBER.format(key='hardware."A100 SXM4 80GB".scale_up_measured', value=2e11)
    path.write_text(f'title = "t"\n[strategies."A"]\nhardware = "A100 SXM4 80GB"\n{row}', encoding="utf-8")
    assert all(name != "A100 SXM4 80GB" for name, _ in study.load(str(path)).tables["Hardware"].curves)


def test_shipped_curves_give_the_ceilings_that_were_published() -> None:
    found = {(device.name, key): curve for device in catalogue.devices() for key, curve in device.curves.items()}
    values = {place: curve.rate.value for place, curve in found.items()}
    assert values == {
        ("A100 SXM4 80GB", "scale_up_measured"): 231.58e9,
        ("GB200 NVL72", "scale_up_measured"): 679.61e9,
        ("GB200 NVL72", "fp4_measured"): 7627.6e12,
    }
    for curve in found.values():
        assert curve.rate.value == np.interp(curve.read_at, curve.sizes, curve.rates) == max(curve.rates)


# Import


def test_an_import_writes_the_curve_that_each_number_is_the_best_of(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    result = imported(LOGS / "nccl_allgather_8.txt", LOGS / "mamf_v2.txt", "--into", target)
    assert result.exit_code == 0, result.output
    found = catalogue.device(target)
    assert found.curves.keys() == {"scale_up_measured", "bf16_measured"}
    for key, curve in found.curves.items():
        assert found.numbers[key].value == max(curve.rates)
        assert found.numbers[key].source == curve.rate.source
    assert found.curves["scale_up_measured"].sizes == tuple(2**power for power in range(10, 33))
    assert found.curves["bf16_measured"].read_at == 2 * 16384**3


def test_sizes_are_those_of_the_log_and_rates_those_of_the_link() -> None:
    """A row of the log of 64 ranks: 4 GiB at a bus bandwidth of 351 GB/s, over 8 NICs of a node."""
    text = (LOGS / "nccl_allreduce_64_mpi_tagged.txt").read_text()
    size = 2**32
    fastest = max(float(m[1]) for m in re.finditer(rf" {size} .*? sum .*?([\d.]+) +\S+$", text, re.M))
    (finding,) = take([reading.read(LOGS / "nccl_allreduce_64_mpi_tagged.txt")]).findings.values()
    assert dict(finding.points)[size] == pytest.approx(fastest * 1e9 / 8, rel=0.02)


def test_importing_again_replaces_the_curve_and_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    for name in ("nccl_allreduce_8.txt", "nccl_allgather_8.txt"):
        imported(LOGS / name, LOGS / "mamf_v2.txt", "--into", target)
    assert catalogue.device(target).curves.keys() == {"scale_up_measured", "bf16_measured"}
    once = target.read_text()
    imported(LOGS / "nccl_allgather_8.txt", LOGS / "mamf_v2.txt", "--into", target)
    assert target.read_text() == once


def test_a_number_without_a_curve_takes_the_old_one_away(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    imported(LOGS / "nccl_allgather_8.txt", "--into", target)
    assert imported(LOGS / "nvbandwidth_8.txt", "--into", target).exit_code == 0
    assert not catalogue.device(target).curves


def test_a_curve_of_another_origin_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    device(tmp_path, CURVE)
    before = target.read_text()
    result = imported(LOGS / "nccl_allgather_8.txt", "--into", target)
    assert isinstance(result.exception, UserError)
    assert "[[curve]] of scale_up_measured is of another origin (my log)" in str(result.exception)
    assert target.read_text() == before
    assert imported(LOGS / "nccl_allgather_8.txt", "--into", target, "--force").exit_code == 0


def test_many_sizes_become_a_hundred_points_with_the_fastest(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    shapes = ((16 * n, 16 * n, 64, 2 * (16 * n) ** 2 * 64 / (1e14 * n / (n + 50))) for n in range(1, 1001))
    path.write_text("m,n,k,dtype,us\n" + "".join(f"{m},{n},{k},bf16,{1e6 * s!r}\n" for m, n, k, s in shapes))
    finding = take([reading.read(path)]).findings["bf16_measured"]
    sizes = [size for size, _ in finding.points]
    assert len(finding.points) == catalogue.MOST_POINTS
    assert sizes == sorted(set(sizes))
    assert max(rate for _, rate in finding.points) == pytest.approx(finding.value) == pytest.approx(1e14 / 1.05)


def test_one_size_is_no_curve(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("m,n,k,dtype,us\n1024,1024,1024,bf16,8.6\n1024,1024,1024,bf16,8.7\n")
    finding = take([reading.read(path, Supplied())]).findings["bf16_measured"]
    assert not finding.points


def test_a_curve_that_still_rises_is_told(tmp_path: Path) -> None:
    """The log up to 8 MiB, where 272 of 368 GB/s are reached."""
    lines = (LOGS / "nccl_allreduce_8.txt").read_text().splitlines()
    path = tmp_path / "short.txt"
    path.write_text("\n".join(line for line in lines if not re.match(r" +\d{8,} ", line)))
    (told,) = [ignored.why for _, ignored in take([reading.read(path)]).left_out if "rising" in ignored.why]
    assert re.match(r"still rising, towards 3[67]\d(\.\d)? GB/s: taken, but measure larger sizes", told)
