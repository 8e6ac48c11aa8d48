"""Logs of benchmarks become measured numbers: truth.json says what the synthetic logs were made from."""

import json
import os
import re
import resource
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyxl.errors import UserError
from workbook import catalogue
from workbook.cli import solbook
from workbook.hardware_checks import findings
from workbook.hardware_logs import reading
from workbook.hardware_logs.findings import Curve, Taken, take
from workbook.hardware_logs.fit import fit
from workbook.hardware_logs.records import Collective, Log, Multiplication, Supplied, Transfer

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
TRUTH: dict[str, dict[str, Any]] = json.loads((LOGS / "truth.json").read_text())
ALLREDUCE = LOGS / "nccl_allreduce_8.txt"
NCCL = ALLREDUCE.read_text()


def of(kind: str) -> list[str]:
    return [name for name, truth in TRUTH.items() if kind in truth]


def curve(name: str, supplied: Supplied | None = None) -> Curve:
    (found,) = take([reading.read(LOGS / name, supplied)]).curves
    return found


def log(folder: Path, text: str | bytes, name: str = "some.log", supplied: Supplied | None = None) -> Log:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return reading.read(path, supplied)


def taken(*logs: Log, **known: float) -> dict[str, float]:
    return {name: finding.value for name, finding in take(logs, known).findings.items()}


def imported(*arguments: Any) -> Result:
    """The command, as `main` runs it: a `UserError` is the result's exception."""
    return CliRunner().invoke(solbook, ["hardware", "import", *map(str, arguments)])


# Samples


@pytest.mark.parametrize("name", of("collective"))
def test_bandwidth_and_latency_of_a_collective_are_found_again(name: str) -> None:
    truth, line = TRUTH[name], curve(name).fit
    assert line is not None
    assert line.rate == pytest.approx(truth["busbw_GBps"] * 1e9, rel=truth["rel_tol"])
    assert line.overhead == pytest.approx(truth["alpha_us"] * 1e-6, rel=truth["rel_tol"])


@pytest.mark.parametrize("name", of("collective"))
def test_ranks_and_kind_of_a_collective_are_read_or_inferred(name: str) -> None:
    record = reading.read(LOGS / name).records[0]
    assert isinstance(record, Collective)
    assert (record.kind, record.ranks) == (TRUTH[name]["collective"], TRUTH[name]["ranks"])
    assert record.ranks_per_node == TRUTH[name].get("ranks_per_node", 8 if name.endswith("json") else None)


@pytest.mark.parametrize("name", of("gpus"))
def test_each_matrix_of_nvbandwidth_gives_its_typical_pair(name: str) -> None:
    truth = TRUTH[name]
    found = {
        r.what.partition(",")[0]: r.bandwidth for r in reading.read(LOGS / name).records if isinstance(r, Transfer)
    }
    assert found == {
        "host_to_device_memcpy_ce": pytest.approx(truth["h2d_GBps"] * 1e9, rel=truth["rel_tol"]),
        "device_to_device_memcpy_write_ce": pytest.approx(truth["p2p_uni_GBps"] * 1e9, rel=truth["rel_tol"]),
        "device_to_device_bidirectional_memcpy_write_ce_total": pytest.approx(
            truth["p2p_bidir_total_GBps"] * 1e9, rel=truth["rel_tol"]
        ),
    }
    scale_up = taken(reading.read(LOGS / name))["scale_up_measured"]
    assert scale_up == pytest.approx(truth["p2p_uni_GBps"] * 1e9, rel=truth["rel_tol"])


@pytest.mark.parametrize("name", of("link_GBps"))
def test_a_network_link_has_the_unit_of_its_header(name: str) -> None:
    truth, line = TRUTH[name], curve(name).fit
    assert line is not None
    assert line.rate == pytest.approx(truth["link_GBps"] * 1e9, rel=truth["rel_tol"])
    if "alpha_us" in truth:
        value = taken(reading.read(LOGS / name))["scale_out_latency"]
        assert value == pytest.approx(truth["alpha_us"] * 1e-6, rel=truth["rel_tol"])


@pytest.mark.parametrize("name", of("launch_s"))
def test_a_matrix_multiplication_has_a_rate_and_an_overhead(name: str) -> None:
    truth, found = TRUTH[name], curve(name, Supplied(dtype="bf16"))
    assert found.fit is not None
    rate = truth["eff"] * truth["peak_TFLOPS"] * 1e12
    assert found.fit.rate == pytest.approx(rate, rel=1e-3)
    assert found.fit.overhead == pytest.approx(truth["launch_s"], rel=0.02)
    best = 2 * 16384**3 / (truth["launch_s"] + 2 * 16384**3 / rate)
    assert taken(reading.read(LOGS / name, Supplied("bf16"))) == {"bf16_measured": pytest.approx(best, rel=1e-3)}


def test_mamf_finder_gives_the_mean_of_the_best_shape() -> None:
    finding = take([reading.read(LOGS / "mamf_v2.txt")]).findings["bf16_measured"]
    assert finding.value == pytest.approx(TRUTH["mamf_v2.txt"]["best_mean_TFLOPS"] * 1e12)
    assert (finding.log.date, finding.line) == ("2026-11-29", 29)


def test_babelstream_gives_triad_in_decimal_megabytes() -> None:
    assert taken(reading.read(LOGS / "babelstream.txt")) == {
        "hbm_measured": TRUTH["babelstream.txt"]["triad_GBps"] * 1e9
    }


# Other layouts of these tools


HEADER = "# size count type redop time algbw busbw error time algbw busbw error\n# (B) (elements) (us) (GB/s) (GB/s)\n"


def test_old_builds_of_rccl_tests_print_scaled_bandwidth_and_are_recomputed(tmp_path: Path) -> None:
    """A published row of all_gather_perf on four Vega: size over time is 2.835 GB/s, printed algbw 2.13."""
    row = "  1048576  65536  float  369.9  2.13  2.13  0e+00  369.9  2.13  2.13  N/A\n"
    record = log(tmp_path, f"# all_gather_perf\n{HEADER}{row}", supplied=Supplied(ranks=4)).records[0]
    assert isinstance(record, Collective)
    assert record.bytes / record.seconds == pytest.approx(2.835e9, rel=1e-3)
    assert record.bus_bandwidth == pytest.approx(2.13e9, rel=2e-3)


def test_ranks_follow_from_the_ratio_of_bandwidths(tmp_path: Path) -> None:
    """A published row of all_reduce_perf on 96 H100."""
    row = "  8589934592  2147483648  float  sum  -1  43998  195.24  386.41  0  43998  195.24  386.41  0\n"
    header = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    record = log(tmp_path, header + row).records[0]
    assert isinstance(record, Collective)
    assert (record.kind, record.ranks) == ("all_reduce", 96)


def test_a_header_that_was_cut_off_counts_as_the_usual_one(tmp_path: Path) -> None:
    usual = next(line for line in NCCL.splitlines() if "algbw" in line)
    cut = usual[: usual.index("busbw") + 5]
    assert log(tmp_path, NCCL.replace(usual, cut)).records == reading.read(ALLREDUCE).records


def test_the_ratio_of_sendrecv_tells_no_ranks(tmp_path: Path) -> None:
    """A published log of 8 A100 whose ranks were cut away."""
    row = "  1073741824  268435456  float  sum  -1  5502.8  195.13  195.13  0  5490.5  195.56  195.56  N/A\n"
    header = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    read = log(tmp_path, f"./build/sendrecv_perf -b 128M -e 1G -f 2 -g 8\n{header}{row}")
    assert ["--ranks" in question for question in take([read]).questions] == [True]
    read = log(tmp_path, f"sendrecv_perf\n{header}{row}", supplied=Supplied(None, 8, 8))
    assert taken(read)["scale_up_measured"] == pytest.approx(195.56e9, rel=1e-4)


@pytest.mark.parametrize("tag", ["[1,0]<stdout>:", "[0] ", "0: ", "node-001: ", "[1,0]<stdout>:[1,0]<stdout>: "])
def test_tags_of_any_launcher_are_no_obstacle(tmp_path: Path, tag: str) -> None:
    text = "".join(tag + line for line in ALLREDUCE.read_text().splitlines(keepends=True))
    assert log(tmp_path, text).records == reading.read(ALLREDUCE).records


def test_more_columns_and_other_text_between_rows_change_nothing(tmp_path: Path) -> None:
    lines = []
    for line in ALLREDUCE.read_text().splitlines():
        fields = line.split()
        if "algbw" in line:
            line = line.replace("#wrong", "#wrong i_min i_max").replace("   time", "cputime")  # noqa: PLW2901
        elif fields and fields[0].isdecimal():
            line = " ".join([*fields[:9], "1.0", "2.0", *fields[9:], "1.0", "2.0"])  # noqa: PLW2901
        lines += [line, "node:1:1 [0] NCCL INFO Channel 00/24 : 0 1 2 3 4 5 6 7"]
    assert taken(log(tmp_path, "\n".join(lines))) == taken(reading.read(ALLREDUCE))


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("8589934592", "8,589,934,592"), ("8589934592", "8_589_934_592")])
def test_windows_lines_and_separated_thousands_are_read(tmp_path: Path, change: tuple[str, str]) -> None:
    text = ALLREDUCE.read_text().replace(*change)
    assert log(tmp_path, text).records == reading.read(ALLREDUCE).records


def test_a_byte_order_mark_and_colours_are_read(tmp_path: Path) -> None:
    text = "\ufeff" + (LOGS / "mamf_v2.txt").read_text().replace("     1 |", "\x1b[2K     1 |")
    assert log(tmp_path, text).records == reading.read(LOGS / "mamf_v2.txt").records


P2P = """[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, SynthAccel X1, pciBusID: 16, pciDeviceID: 0, pciDomainID:0
P2P Connectivity Matrix
     D\\D     0     1
     0       1     1
     1       1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1570.00   20.00
     1   21.00 1590.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 1580.00  270.00
     1  274.00 1582.00
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1580.00  540.00
     1  548.00 1582.00
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   2.50   2.20
     1   2.30   2.60

   CPU     0      1
     0   1.50   1.10
     1   1.20   1.60
"""


def test_p2p_takes_one_direction_with_peer_access_and_the_diagonal_as_memory(tmp_path: Path) -> None:
    assert taken(log(tmp_path, P2P)) == {
        "scale_up_measured": pytest.approx(272e9),
        "hbm_measured": pytest.approx(1581e9),
        "scale_up_latency": pytest.approx(2.25e-6),
    }


def test_p2p_without_peer_access_measures_no_link(tmp_path: Path) -> None:
    without = P2P.replace("P2P Connectivity", "Device=0 CANNOT Access Peer Device=1\nP2P Connectivity")
    assert list(taken(log(tmp_path, without))) == ["hbm_measured"]


def test_nvbandwidth_json_is_read_and_copies_in_a_device_count_twice(tmp_path: Path) -> None:
    cases = [
        {
            "name": name, "status": "Passed", "bandwidth_matrix": matrix,
            "bandwidth_description": f"memcpy {name} bandwidth (GB/s)",
        }
        for name, matrix in (
            ("device_to_device_memcpy_read_ce", [["N/A", "765.0"], ["767.0", "N/A"]]),
            ("device_local_copy", [["1500.0", "1500.0"]]),
        )
    ]  # fmt: skip
    content = {"nvbandwidth": {"GPU Device list": ["0: SynthAccel X1 (0000:00:00)"], "testcases": cases}}
    read = log(tmp_path, json.dumps(content))
    assert taken(read) == {"scale_up_measured": 766e9, "hbm_measured": 3000e9}
    assert read.device == "SynthAccel X1"


CUTLASS = (
    "Problem,Provider,OperationKind,Operation,Disposition,Status,gemm_kind,m,n,k,A,B,C,alpha,beta,batch_count,"
    "Bytes,Flops,Runtime,GB/s,GFLOPs\n"
    "1,CUTLASS,{kind},kernel,{disposition},success,universal,16384,16384,16384,bf16:column,bf16:row,f32:column,1,0,1,"
    "1,8796629893120,31.2994,6.2,281048\n"
)


def test_cutlass_runtime_is_in_milliseconds(tmp_path: Path) -> None:
    """8796629893120 FLOP (with the epilogue) in 31.2994 ms, as a published log has it."""
    text = CUTLASS.format(kind="gemm", disposition="passed")
    assert taken(log(tmp_path, text)) == {"bf16_measured": pytest.approx(281.048e12, rel=1e-4)}


@pytest.mark.parametrize(("kind", "disposition"), [("gemm", "incorrect"), ("gemm", "failed"), ("spgemm", "passed")])
def test_cutlass_kernels_that_are_wrong_or_sparse_do_not_count(tmp_path: Path, kind: str, disposition: str) -> None:
    with pytest.raises(UserError, match="no measurement"):
        log(tmp_path, CUTLASS.format(kind=kind, disposition=disposition))


def test_hipblaslt_columns_go_by_name(tmp_path: Path) -> None:
    """A published row: 65536 x 4096 x 14336 in FP8 at 3.2733e+06 GFLOP/s; with -v the time is not the last column."""
    text = (
        "[0]transA,transB,batch_count,m,n,k,a_type,b_type,bias_type,hipblaslt-Gflops,hipblaslt-GB/s,us,CPU-Gflops\n"
        "    T,N,1,4096,65536,14336,f8_r,f8_r,non-supported type,3.2733e+06,571.1,2351.3,1.2\n"
    )
    assert taken(log(tmp_path, text)) == {"fp8_measured": pytest.approx(3273.3e12, rel=1e-3)}


def test_version_1_of_mamf_finder_gives_way_to_version_2(tmp_path: Path) -> None:
    """The published footer of a GH200."""
    text = "mamf-finder.py --dtype bfloat16\nThe best outcome was 821.0TFLOPS @ 11264x19712x1536 (tried 79 shapes)\n"
    old = log(tmp_path, text)
    assert taken(old) == {"bf16_measured": pytest.approx(821e12)}
    assert taken(old, reading.read(LOGS / "mamf_v2.txt")) == {"bf16_measured": pytest.approx(799.6e12)}


def test_a_footer_alone_gives_its_mean(tmp_path: Path) -> None:
    """The published footer of an Arc A770."""
    text = "Tried 79 shapes => the best outcomes were:\nmean:   91.0 TFLOPS @ 4096x4096x2048 (MxNxK)\n"
    assert taken(log(tmp_path, text, supplied=Supplied("bf16"))) == {"bf16_measured": pytest.approx(91e12)}


def test_both_directions_of_perftest_are_halved(tmp_path: Path) -> None:
    text = (LOGS / "ib_write_bw_gbits.txt").read_text().replace("RDMA_Write BW", "RDMA_Write Bidirectional BW")
    whole = taken(reading.read(LOGS / "ib_write_bw_gbits.txt"))["scale_out_measured"]
    assert taken(log(tmp_path, text))["scale_out_measured"] == pytest.approx(whole / 2)


# What is taken


def test_a_wild_point_does_not_move_the_fit() -> None:
    points = [(float(2**power), 14e-6 + 2**power / 368e9) for power in range(10, 34)]
    points[11] = (points[11][0], 6 * points[11][1])
    line = fit(points)
    assert line is not None
    assert (line.rate, line.overhead, line.outliers) == (pytest.approx(368e9), pytest.approx(14e-6), 1)


def test_a_fit_far_beyond_the_largest_message_is_not_taken(tmp_path: Path) -> None:
    lines = ALLREDUCE.read_text().splitlines()
    short = [
        line for line in lines if not line.split()[:1] or not line.split()[0].isdecimal() or int(line.split()[0]) < 2e6
    ]
    read = log(tmp_path, "\n".join(short))
    best = max(record.bus_bandwidth for record in read.records if isinstance(record, Collective))
    assert taken(read)["scale_up_measured"] == best < 200e9


def test_the_mean_over_all_sizes_is_never_the_bandwidth() -> None:
    found = take([reading.read(ALLREDUCE)])
    assert found.findings["scale_up_measured"].value > 2 * 142.674e9
    assert any(ignored.what == "Avg bus bandwidth" for _, ignored in found.left_out)


def test_latency_of_a_ring_is_shared_among_its_hops() -> None:
    value = taken(reading.read(LOGS / "nccl_allgather_8.txt"))["scale_up_latency"]
    assert value == pytest.approx(13e-6 / 7, rel=0.02)


def test_a_ring_through_many_nodes_gives_the_rate_of_a_nic() -> None:
    assert taken(reading.read(LOGS / "nccl_allreduce_64_mpi_tagged.txt")) == {
        "scale_out_measured": pytest.approx(352e9 / 8, rel=0.02)
    }
    halved = taken(reading.read(LOGS / "nccl_allreduce_64_mpi_tagged.txt"), nics_per_device=2)
    assert halved["scale_out_measured"] == pytest.approx(352e9 / 16, rel=0.02)


def test_alltoall_counts_the_bytes_that_leave_the_node() -> None:
    value = taken(reading.read(LOGS / "nccl_alltoall_16_blankredop.txt"))["scale_out_measured"]
    assert value == pytest.approx(48e9 * 8 / 15, rel=0.02)


def test_what_is_above_the_peak_is_left_out_and_told() -> None:
    found = take([reading.read(ALLREDUCE)], {"scale_up_peak": 300e9})
    assert "scale_up_measured" not in found.findings
    assert any("above the peak of 300 GB/s" in ignored.why for _, ignored in found.left_out)


def questions(*names: str, supplied: Supplied | None = None) -> tuple[Taken, list[str]]:
    found = take([reading.read(LOGS / name, supplied) for name in names])
    return found, found.questions


def test_what_a_log_lacks_is_asked_for_and_taken_from_options() -> None:
    names = ("rocblas_bench.txt", "all_reduce_bench_8.md")
    found, asked = questions(*names)
    assert not found.findings
    assert [question.rpartition("give ")[2].split()[0] for question in asked] == ["--dtype", "--ranks-per-node"]
    found, asked = questions(*names, supplied=Supplied("fp8", None, 8))
    assert set(found.findings) == {"fp8_measured", "scale_up_measured", "scale_up_latency"}
    assert not asked


def test_a_log_knows_better_than_options_and_says_so() -> None:
    found, _ = questions("mamf_v2.txt", "nccl_allreduce_8.txt", supplied=Supplied("fp8", 4, 4))
    assert set(found.findings) == {"bf16_measured", "scale_up_measured", "scale_up_latency"}
    told = [(ignored.what, ignored.why) for _, ignored in found.left_out if ignored.what.startswith("--")]
    assert told == [
        ("--dtype fp8", "the log itself says bf16"),
        ("--ranks 4", "the log itself says 8"),
        ("--ranks-per-node 4", "the log itself says 8"),
    ]


def test_a_number_format_without_a_column_is_told(tmp_path: Path) -> None:
    text = (LOGS / "gemm_generic.csv").read_text().replace("bf16", "float16")
    assert [ignored.why for _, ignored in take([log(tmp_path, text)]).left_out] == [
        "a hardware file has no rate of float16"
    ]


# Bad input


def rows(text: str, change: Any) -> str:
    return "".join(
        change(line) if line.split()[:1] and line.split()[0].isdecimal() else line
        for line in text.splitlines(keepends=True)
    )


BAD: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "no log of a known benchmark"),
    "another tool": ("Date,Temp\n2026-01-01,40\n", "no log of a known benchmark"),
    "cut off before its rows": ("".join(NCCL.splitlines(keepends=True)[:17]), "no measurement"),
    "no rows": (rows(NCCL, lambda line: ""), "no measurement"),
    "wrong values": (NCCL.replace("369.92       0", "369.92       3"), "#wrong"),
    "failed": (NCCL.replace(": 0 OK", ": 4 FAILED"), "not to be trusted"),
    "mixed units": (rows(NCCL, lambda line: line).replace("(us)", "(ms)"), "mixed units"),
    "unknown unit": ((LOGS / "ib_write_bw_gbits.txt").read_text().replace("Gb/sec", "furlong/sec"), "unit is none of"),
    "other unit": ((LOGS / "ib_write_bw_gbits.txt").read_text().replace("Gb/sec", "MB/sec"), "mixed units"),
    "not UTF-8": (NCCL.encode().replace(b"SynthAccel", b"\xff\xfe", 3), "not UTF-8"),
    "UTF-16": (NCCL.encode("utf-16"), "not UTF-8"),
    "binary": (bytes(range(256)) * 100, "not UTF-8"),
    "one long line": ("1 " * 20_000, "more than 10,000 characters"),
    "JSON cut off": ((LOGS / "nccl_allreduce_8.json").read_text()[:1000], "no whole JSON"),
    "JSON of another tool": ('{"a": 1}', "JSON of no known benchmark"),
    "deep JSON": ('{"a":' * 100_000, "no whole JSON"),
    "thousands in a CSV": ("m,n,k,dtype,us\n1,024,1024,1024,bf16,8.6\n", "a comma in a number"),
    "decimal commas": ("m;n;k;dtype;us\n1024;1024;1024;bf16;8,684\n", "written with a point"),
    "infinite": ("m,n,k,dtype,us\n1024,1024,1024,bf16,inf\n1024,1024,1024,bf16,nan\n1,1,1,bf16,1e999\n", "no positive"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line(tmp_path: Path, case: str) -> None:
    text, said = BAD[case]
    with pytest.raises(UserError, match=said) as refused:
        log(tmp_path, text)
    assert "\n" not in str(refused.value)
    assert "some.log" in str(refused.value)


def test_a_log_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(UserError, match="larger than 10 MB"):
        reading.read(tmp_path / "huge.log")


def test_a_folder_or_a_missing_file_is_no_log(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.log"):
        with pytest.raises(UserError, match="is no file"):
            reading.read(path)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize("made", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_no_command_waits_for_a_pipe_or_a_device(tmp_path: Path, made: Callable[[Path], None]) -> None:
    odd = tmp_path / "odd.toml"
    made(odd)
    with pytest.raises(UserError, match="is no file"):
        reading.read(odd)
    with pytest.raises(UserError, match="is a device or a pipe"):
        catalogue.device(odd)


def test_line_ends_of_old_macs_are_read(tmp_path: Path) -> None:
    assert len(log(tmp_path, NCCL.replace("\n", "\r")).records) == len(log(tmp_path, NCCL).records)


def test_a_log_that_was_cut_off_keeps_its_whole_rows_and_says_so(tmp_path: Path) -> None:
    read = log(tmp_path, NCCL[: NCCL.rindex("8589934592") + 60])
    assert len(read.records) == 60
    assert {entry.why for entry in read.ignored.values()} >= {"it is cut off"}
    assert any("run was cut off" in entry.why for entry in read.ignored.values())


def test_largest_logs_are_read_in_a_few_seconds(tmp_path: Path) -> None:
    begin = NCCL[: NCCL.index("           8             2")]
    row = NCCL.splitlines(keepends=True)[40]
    started = time.perf_counter()
    read = log(tmp_path, begin + row * (2_000_000 // len(row)))
    taken(read)
    assert time.perf_counter() - started < 4


SAMPLES = [path.read_bytes() for path in sorted(LOGS.iterdir()) if path.name in TRUTH]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A sample with a few pieces cut, doubled, swapped or overwritten."""
    content = bytearray(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 40)))
        pieces = st.sampled_from(
            [b"", b"-1", b"0", b"1e999", b"nan", b"N/A", b",", b"|", b"\n", b'"', b"\xff", b"9" * 50]
        )
        content[start:end] = draw(pieces | st.binary(max_size=8) | st.just(bytes(content[start:end] * 2)))
    return bytes(content)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=mutated() | st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode()))
def test_whatever_a_log_holds_it_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    try:
        read = log(tmp_path, content, supplied=Supplied("bf16", 8, 8))
    except UserError:
        return
    assert all(0 < value < 1e40 for value in taken(read).values())
    assert all(record.seconds > 0 for record in read.records if isinstance(record, Collective | Multiplication))


def test_a_table_whose_head_is_damaged_is_refused(tmp_path: Path) -> None:
    content = (LOGS / "ib_write_bw_MBsec_old.txt").read_bytes().replace(b"BW peak[MB/sec]", b"BW peak[")
    with pytest.raises(UserError):
        log(tmp_path, content, supplied=Supplied("bf16", 8, 8))


# The command


def test_words_of_a_log_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a[b].csv"
    path.write_text("m,n,k,dtype,us\n1024,1024,1024,[/red],8.6\n")
    result = imported(path)
    assert "has no rate of [/red]" in result.output
    assert "a[b].csv:2" in result.output
    assert isinstance(result.exception, UserError)


def test_a_new_file_builds_and_names_its_sources(tmp_path: Path) -> None:
    target = tmp_path / "x1.toml"
    result = imported(*(LOGS / name for name in TRUTH), "--into", target)
    assert result.exit_code == 0, result.output
    assert "status" not in " ".join(text.text for text in findings(catalogue.device(target)))
    (row,) = catalogue.hardware_device(target).rows
    assert row["name"] == "SynthAccel X1"
    assert row["hbm_measured"] == 2972e9
    assert "value = 799.6e12" in target.read_text()
    number = tomllib.loads(target.read_text())["bf16_measured"]
    assert number["kind"] == "measured"
    assert number["source"].startswith("mamf-finder log mamf_v2.txt (sha256 ")
    assert number["date"] == "2026-11-29"


def test_a_file_is_extended_and_keeps_comments_and_data_sheets(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    sheet = 'name = "Mine"  # ours\n\n# from the vendor\n[hbm_peak]\nvalue = 3_350e9\nunit = "byte/s"\n' + (
        'kind = "datasheet"\nsource = "vendor"\n'
    )
    target.write_text(sheet)
    assert imported(LOGS / "babelstream.txt", "--into", target).exit_code == 0
    once = target.read_text()
    assert once.startswith(sheet)
    assert imported(LOGS / "babelstream.txt", "--into", target).exit_code == 0
    assert target.read_text() == once


FOREIGN = 'name = "Mine"\n[hbm_measured]\nvalue = 1e12\nunit = "byte/s"\nkind = "{kind}"\nsource = "somebody"\n'


@pytest.mark.parametrize(("kind", "force", "said"), [
    ("measured", (), "of another origin"), ("datasheet", (), "data sheet"), ("datasheet", ("--force",), "data sheet"),
])  # fmt: skip
def test_a_number_of_another_origin_is_not_overwritten(tmp_path: Path, kind: str, force: tuple[str], said: str) -> None:
    target = tmp_path / "mine.toml"
    target.write_text(FOREIGN.format(kind=kind))
    result = imported(LOGS / "babelstream.txt", "--into", target, *force)
    assert isinstance(result.exception, UserError)
    assert said in str(result.exception)
    assert target.read_text() == FOREIGN.format(kind=kind)


def test_an_example_of_a_new_file_gives_way(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    target.write_text(catalogue.new_hardware("Mine"))
    assert imported(LOGS / "babelstream.txt", "--into", target).exit_code == 0
    numbers = catalogue.device(target).numbers
    assert (numbers["hbm_measured"].value, numbers["hbm_measured"].kind) == (2972e9, "measured")
    assert numbers["hbm_peak"].source.startswith("Example")


def test_force_replaces_a_measured_number(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    target.write_text(FOREIGN.format(kind="measured"))
    assert imported(LOGS / "babelstream.txt", "--into", target, "--force").exit_code == 0
    assert catalogue.hardware_device(target).rows[0]["hbm_measured"] == 2972e9


def test_what_the_loader_would_refuse_is_not_written(tmp_path: Path) -> None:
    """A latency of 20 ms is none of a network."""
    written = (LOGS / "ib_write_lat.txt").read_text()
    (tmp_path / "slow.log").write_text(re.sub(r"\d+\.\d\d", lambda time: f"{float(time[0]) * 10_000}", written))
    (tmp_path / "mine.toml").write_text('name = "Mine"\n')
    result = imported(tmp_path / "slow.log", "--into", tmp_path / "mine.toml")
    assert "which no device is" in str(result.exception)
    assert "nothing was written" in str(result.exception)
    assert (tmp_path / "mine.toml").read_text() == 'name = "Mine"\n'


def test_a_number_that_was_edited_since_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    imported(LOGS / "babelstream.txt", "--into", target, "--name", "Mine")
    target.write_text(target.read_text().replace("value = 2972e9", "value = 2900e9"))
    assert "was edited" in str(imported(LOGS / "babelstream.txt", "--into", target).exception)


@pytest.mark.parametrize(("arguments", "said"), [
    (("babelstream.txt", "--into", "x.txt"), "must end in .toml"),
    (("ib_write_lat.txt", "--into", "new.toml"), "--name"),
    (("rocblas_bench.txt", "--into", "new.toml", "--name", "Mine"), "--dtype"),
    (("ib_write_lat.txt", "--into", "new.toml", "--name", "A1"), "cell address"),
    (("truth.json", "ib_write_lat.txt", "--into", "new.toml", "--name", "Mine"), "no known benchmark"),
])  # fmt: skip
def test_a_refused_import_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [str(LOGS / word) if (LOGS / word).exists() else word for word in arguments]
    result = imported(*paths)
    assert isinstance(result.exception, UserError)
    assert said in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_comments_of_a_file_that_is_extended_stay_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(catalogue.new_hardware("Mine"), encoding="utf-8")
    before = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    result = imported(str(LOGS / "mamf_v2.txt"), "--into", str(path))
    assert result.exception is None, result.exception
    after = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in after if line.startswith("#")] == before
    assert after[after.index("[fp8_peak]") - 1] == ""


def test_all_samples_are_imported_within_a_second_and_bad_ones_exit_with_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "workbook.cli", "hardware", "import"]
    samples = [str(LOGS / name) for name in TRUTH]
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, *samples, "--into", str(tmp_path / "x.toml")], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 1
    bad = subprocess.run([*command, str(LOGS / "README.md")], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
