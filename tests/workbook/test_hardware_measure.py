"""What `solbook hardware measure` finds: on this machine, and where a clock says what should come out."""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.progress import Progress

from pyxl.errors import UserError
from pyxl.naming import check_name
from workbook import catalogue
from workbook.cli import solbook
from workbook.hardware_logs.findings import take
from workbook.hardware_logs.hardware_file import write
from workbook.hardware_logs.records import Measured, Multiplication, Route, Transfer
from workbook.hardware_measure import machine, measuring
from workbook.hardware_measure.launcher import Launch, launch
from workbook.hardware_measure.sampling import sample, summary

ALONE = Launch(0, 1, 0, 1)
TERA = 1e12


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_installed", lambda package: package != "torch")


def measured(*arguments: Any) -> Result:
    """The command, as `main` runs it: a `UserError` is the result's exception."""
    return CliRunner().invoke(solbook, ["hardware", "measure", *map(str, arguments)])


def no_clock() -> dict[str, float]:
    return {}


# Real measurements


@pytest.mark.usefixtures("without_torch")
def test_numpy_measures_this_machine_into_a_hardware_file(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    target, started = tmp_path / "mine.toml", time.perf_counter()
    result = measured("--quick", "--into", target)
    assert result.exit_code == 0, result.output
    assert time.perf_counter() - started < 30
    device = catalogue.device(target)
    assert set(device.numbers) == {"hbm_measured"}  # float32 is no rate of a hardware file
    number = device.numbers["hbm_measured"]
    assert 5e8 < number.value < 5e12
    assert number.source.startswith(f"solbook hardware measure on {device.name}, with solbook ")
    assert "numpy" in number.source
    assert number.date
    assert "numpy has no such number formats" in result.output
    assert "matrix multiplication float32" in result.output


def test_a_time_is_that_of_the_multiplication() -> None:
    np = pytest.importorskip("numpy")
    from workbook.hardware_measure.numpy_arrays import NumpyArrays

    timed = NumpyArrays().multiplication(1024, 512, 768, "float32")
    a, b = np.ones((1024, 768), np.float32), np.ones((768, 512), np.float32)
    ours = []
    for _ in range(10):
        started = time.perf_counter()
        a @ b
        ours.append(time.perf_counter() - started)
    assert min(ours) / 5 < min(timed() for _ in range(10)) < 5 * min(ours)


def test_operands_are_random_and_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    np = pytest.importorskip("numpy")
    from workbook.hardware_measure.numpy_arrays import NumpyArrays

    seen = []
    real = np.matmul
    monkeypatch.setattr(np, "matmul", lambda left, right, out: (seen.extend((left, right)), real(left, right, out=out)))
    NumpyArrays().multiplication(64, 64, 64, "float32")()
    assert all(np.count_nonzero(operand) == operand.size and operand.std() > 0.5 for operand in seen)


def test_streams_pass_over_every_element_once(monkeypatch: pytest.MonkeyPatch) -> None:
    np = pytest.importorskip("numpy")
    from workbook.hardware_measure.numpy_arrays import NumpyArrays

    passed: list[int] = []
    monkeypatch.setattr(np, "copyto", lambda into, source: passed.append(into.size))
    monkeypatch.setattr(np, "add", lambda left, right, out: passed.append(out.size))
    for _, timed in NumpyArrays().streams(1001).values():
        timed()
        assert sum(passed) == 1001
        passed.clear()


def test_torch_measures_bf16_under_its_own_name(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    target = tmp_path / "mine.toml"
    result = measured("--device", "cpu", "--quick", "--into", target, "--name", "Mine")
    assert result.exit_code == 0, result.output
    device = catalogue.device(target)
    assert device.name == "Mine"
    assert set(device.numbers) == {"bf16_measured", "hbm_measured"}
    assert 1e8 < device.numbers["bf16_measured"].value < 1e15
    assert "PyTorch" in device.numbers["bf16_measured"].source
    assert "a hardware file has no rate of float32" in result.output


def test_torch_multiplies_fp8() -> None:
    pytest.importorskip("torch")
    from workbook.hardware_measure.torch_arrays import TorchArrays

    assert 0 < TorchArrays("cpu").multiplication(64, 32, 128, "fp8")() < 10


def test_two_processes_measure_collectives_and_one_speaks(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    target = tmp_path / "mine.toml"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "workbook.cli"]
    arguments = ["hardware", "measure", "--device", "cpu", "--quick", "--into", str(target)]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("Taken") == 1
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv"):
        assert f"{kind}, 2 ranks" in ran.stdout
    numbers = catalogue.device(target).numbers
    assert set(numbers) == {"scale_up_measured", "scale_up_latency"}
    assert 1e6 < numbers["scale_up_measured"].value < 1e12
    assert numbers["scale_up_latency"].value < 1e-2


# Known times


def test_a_sample_is_the_median_of_repeats_after_a_warm_up() -> None:
    times = itertools.chain([9.0], itertools.cycle([1.0, 2.0, 3.0]))
    sampled = sample(lambda: next(times), 0, no_clock)
    assert (sampled.seconds, sampled.count, sampled.spread) == (2, 3, 1)
    assert sampled.words == "median of 3, spread 100.0%"
    assert summary([1, 1, 1, 1, 50]).seconds == 1


def test_a_sample_ends_with_its_budget() -> None:
    started = time.perf_counter()
    sampled = sample(lambda: time.sleep(0.01) or 0.01, 0.2, no_clock)
    assert time.perf_counter() - started < 0.5
    assert 3 <= sampled.count <= 20


class Known:
    """A device of 1 TFLOP/s in bf16 and 0.01 s for each pass over memory."""

    name, device, tools, precisions, lacking = "Known", "cpu", "a clock", ("float32", "bf16", "fp8"), None
    cache_bytes, smallest_stream = 0, 4_000_000

    def __init__(self, free: int | None = None) -> None:
        self.free, self.reader = free, no_clock

    def free_memory(self) -> int | None:
        return self.free

    def multiplication(self, m: int, n: int, k: int, precision: str) -> Callable[[], float]:
        if precision == "fp8":
            raise RuntimeError("compute capability 8.9 is needed\nand more")
        return lambda: 2 * m * n * k / ({"float32": 0.5, "bf16": 1.0}[precision] * TERA)

    def streams(self, elements: int) -> dict[str, tuple[int, Callable[[], float]]]:
        return {"copy": (2, lambda: 0.01), "triad": (3, lambda: 0.01)}


def known(monkeypatch: pytest.MonkeyPatch, free: int | None = None) -> Measured:
    monkeypatch.setattr(measuring, "QUICK", 0.01)
    return measuring.measure(Known(free), ALONE, Progress(disable=True), quick=True)


def test_a_rate_is_work_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    log = known(monkeypatch)
    rates = {record.dtype: record.rate for record in log.records if isinstance(record, Multiplication)}
    assert rates == {"float32": pytest.approx(0.5 * TERA), "bf16": pytest.approx(TERA)}
    streams = [record.bandwidth for record in log.records if isinstance(record, Transfer)]
    assert streams == [pytest.approx(2 * 4_000_000 / 0.01), pytest.approx(3 * 4_000_000 / 0.01)]
    found = {name: finding.value for name, finding in take([log]).findings.items()}
    assert found == {"bf16_measured": pytest.approx(TERA), "hbm_measured": pytest.approx(1.2e9)}


def test_what_cannot_be_measured_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {entry.what: entry.why for entry in known(monkeypatch, free=1_000_000).ignored.values()}
    assert said["fp8"] == "compute capability 8.9 is needed"
    assert said["bf16, larger shapes"].startswith("one multiplication would take over")
    assert "do not fit into free memory" in said["memory bandwidth"]


def test_a_measurement_replaces_its_own_numbers_but_no_edited_one(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"

    def put(bandwidth: float) -> None:
        log = Measured.today("Mine", "a clock")
        log.records.append(Transfer(0, Route.MEMORY, "copy", bandwidth))
        write(target, take([log]).findings, None, "Mine", force=False)

    put(1e9)
    put(2e9)
    assert catalogue.device(target).numbers["hbm_measured"].value == 2e9
    target.write_text(target.read_text().replace("value = 2e9", "value = 3e9"))
    with pytest.raises(UserError, match="was edited"):
        put(4e9)


# The machine


@pytest.mark.parametrize(("written", "name"), [
    ("NVIDIA H200", "NVIDIA H200"),
    ("Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.00GHz", "Intel Xeon Platinum 8480+ CPU @ 2.00GHz"),
    ("Weird * ? ~ device " + "x" * 80, "Weird device " + "x" * 47),
])  # fmt: skip
def test_a_device_has_a_name_that_a_row_may_have(written: str, name: str) -> None:
    assert check_name(machine.row_name(written), "device") == name
    assert check_name(machine.processor(), "device")


def test_clock_and_power_of_a_gpu_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 1755, 690.50\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with machine.Watch(machine.nvidia_reader("GPU-1")) as watch:
        time.sleep(0.1)
    assert watch.words == "1,755 MHz, 690 W"


@pytest.mark.parametrize("script", ["exit 9", "echo '[N/A], [N/A]'", "echo", "echo 1, 2, 3"])
def test_a_clock_that_cannot_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\n{script}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.nvidia_reader("GPU-1")() == {}
    smi.unlink()
    assert machine.nvidia_reader("GPU-1")() == {}


def test_power_of_a_processor_is_energy_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for zone, joules in (("intel-rapl:0", 5), ("intel-rapl:0:0", 3)):
        (tmp_path / zone).mkdir()
        (tmp_path / zone / "energy_uj").write_text(f"{joules * 1_000_000}")
    monkeypatch.setattr(machine, "RAPL", tmp_path)
    monkeypatch.setattr(machine.time, "perf_counter", iter([10.0, 12.0]).__next__)
    read = machine.processor_reader()
    assert "W" not in read()
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("205000000")
    assert read()["W"] == 100


def test_all_last_level_caches_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cpu, (level, size, shared) in itertools.product(range(4), [(2, 1024, "{0}"), (3, 32768, "{1}")]):
        index = tmp_path / f"cpu{cpu}" / "cache" / f"index{level}"
        index.mkdir(parents=True)
        (index / "level").write_text(f"{level}\n")
        (index / "size").write_text(f"{size}K\n")
        (index / "shared_cpu_list").write_text(shared.format(cpu, cpu // 2))
    monkeypatch.setattr(machine, "SYSTEM", tmp_path)
    assert machine.cache_bytes() == 2 * 32768 * 1024


# Launchers and bad input


def test_a_launcher_says_where_a_process_stands() -> None:
    environment = {"RANK": "9", "WORLD_SIZE": "16", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "8"}
    assert launch(environment) == Launch(9, 16, 1, 8)
    assert launch({}) == launch({"RANK": "0", "WORLD_SIZE": "1"}) == ALONE
    with pytest.raises(UserError, match="LOCAL_WORLD_SIZE=''"):
        launch({"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"})


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize(("arguments", "said"), [
    (("--device", "cuda"), "measured with PyTorch"),
    (("--into", "mine.txt"), "must end in .toml"),
    (("--into", "folder.toml"), "is a directory"),
    (("--into", "missing/mine.toml"), "no folder missing"),
    (("--into", "mine.toml", "--name", "A1"), "cell address"),
])  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.toml").mkdir()
    monkeypatch.setattr(measuring, "measure", None)
    result = measured("--quick", *arguments)
    assert isinstance(result.exception, UserError)
    assert said in str(result.exception)
    assert list(tmp_path.iterdir()) == [tmp_path / "folder.toml"]


def test_without_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_installed", lambda package: False)
    assert "pip install torch or numpy" in str(measured().exception)


def test_a_torch_that_does_not_load_is_said(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libcudnn.so.9: cannot open shared object file')")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"}
    command = [sys.executable, "-m", "workbook.cli", "hardware", "measure"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "does not load: libcudnn.so.9" in ran.stderr


def test_a_gpu_that_is_not_there_is_said() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert "finds no GPU" in str(measured("--device", "cuda").exception)


def test_an_unknown_device_is_one_line_and_exit_code_2() -> None:
    command = [sys.executable, "-m", "workbook.cli", "hardware", "measure"]
    ran = subprocess.run([*command, "--device", "tpu"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "tpu" in ran.stderr


@pytest.mark.parametrize(("rank", "lines"), [("0", 1), ("1", 0)])
def test_only_the_first_rank_complains(rank: str, lines: int) -> None:
    command = [sys.executable, "-m", "workbook.cli", "hardware", "measure", "--into", "mine.txt"]
    ranks = {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | ranks)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", lines)
