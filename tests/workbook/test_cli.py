"""The command line: what each command gives, and one line for whatever a user got wrong."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from workbook import catalogue
from workbook.analysis import analysis
from workbook.cli import main
from workbook.study import Study

ORACLES = json.loads((Path(__file__).parents[1] / "oracles" / "huggingface.json").read_text(encoding="utf-8"))["rows"]
COUNTED = [row for row in ORACLES if "forward_flops" in row]
HEADLINES = (
    "total_parameters", "active_parameters", "training_flops_per_token", "step_flops", "compute_time", "hbm_time",
    "scale_up_time", "scale_out_time", "bubble_time", "step_time_lower_bound", "bound", "model_flops_utilization",
    "tokens_per_second_per_device", "device_memory", "memory_fits", "device_hours_per_trillion_tokens", "training_days",
    "training_cost",
)  # fmt: skip

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Exit code, output and errors of a command in an empty directory, through the real entry point."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["solbook", *map(str, arguments)])
        code: Any = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


@pytest.fixture
def refused(run: Run, tmp_path: Path) -> Callable[..., str]:
    """What a command says when it refuses: exit code 2, one line, and no file touched."""

    def command(*arguments: str | Path) -> str:
        before = listing(tmp_path)
        code, output, errors = run(*arguments)
        assert (code, output) == (2, ""), errors
        assert errors.startswith("solbook: ")
        assert errors.count("\n") == 1
        assert errors.endswith("\n")
        assert listing(tmp_path) == before
        return errors.removeprefix("solbook: ")

    return command


def listing(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
    }


def computed(run: Run, *arguments: str | Path) -> Any:
    code, output, errors = run("compute", "--json", *arguments)
    assert (code, errors) == (0, "")
    return json.loads(output, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


# What commands give


def test_compute_gives_every_quantity_of_every_strategy(run: Run, study: Study) -> None:
    found = computed(run)
    assert found["study"] == "deepseek-v3-h800"
    assert list(found["strategies"]) == list(study.strategies)
    for name, quantities in found["strategies"].items():
        assert {key: entry["value"] for key, entry in quantities.items()} == study.values[name]
        assert {key: entry["unit"] for key, entry in quantities.items()} == {q.name: q.unit for q in analysis}
        assert set(HEADLINES) < set(quantities)


def test_compute_prints_a_table(run: Run, study: Study) -> None:
    code, output, _ = run("compute")
    assert code == 0
    for name in study.strategies:
        assert name in output
    assert "53.472" in output


@pytest.mark.parametrize("name", ["deepseek-v3-h800", "zhang-su-memory"])
def test_build_names_the_file_after_the_study(name: str, run: Run, tmp_path: Path) -> None:
    code, output, errors = run("build", name)
    assert (code, errors) == (0, "")
    assert output.startswith(f"{name}.xlsx: ")
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.xlsx"]
    assert load_workbook(tmp_path / f"{name}.xlsx").sheetnames[0] == "Summary"


def test_build_replaces_its_own_file(run: Run, tmp_path: Path) -> None:
    assert run("build", "-o", "a.xlsx")[0] == 0
    first = (tmp_path / "a.xlsx").read_bytes()
    assert run("build", "-o", "a.xlsx", "--set", "devices=1024")[0] == 0
    assert (tmp_path / "a.xlsx").read_bytes() != first
    assert run("build", "-o", "a.xlsx")[0] == 0
    assert (tmp_path / "a.xlsx").read_bytes() == first


def test_build_writes_where_a_link_points(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.xlsx").symlink_to("folder/real.xlsx")
    assert run("build", "-o", "link.xlsx")[0] == 0
    assert (tmp_path / "link.xlsx").is_symlink()
    assert (tmp_path / "folder" / "real.xlsx").read_bytes()[:2] == b"PK"


def test_verify_after_build(run: Run) -> None:
    run("build", "-o", "a.xlsx", "--set", "ceilings=datasheet")
    code, output, _ = run("verify", "a.xlsx", "--with", "formualizer")
    assert code == 0
    assert "agree, recalculated with formualizer" in output


def test_set_changes_all_strategies_and_takes_units(run: Run, study: Study) -> None:
    changed = computed(run, "--set", "scale_out_measured=100 GB/s", "--set", "training_tokens=1e12")["strategies"]
    for name, quantities in changed.items():
        assert quantities["training_tokens"]["value"] == 1e12
        taken = study.values[name]["scale_out_bytes"] / 100e9
        assert quantities["scale_out_time"]["value"] == pytest.approx(taken, rel=1e-12)


def test_set_changes_a_constant_in_the_workbook_too(run: Run, tmp_path: Path) -> None:
    arguments = ("--set", "backward_forward_ratio=3")
    assert all(v["backward_forward_ratio"]["value"] == 3 for v in computed(run, *arguments)["strategies"].values())
    run("build", "-o", "a.xlsx", *arguments)
    assert run("verify", "a.xlsx", "--with", "formualizer")[0] == 0
    cells = {row[0]: row[1] for row in load_workbook(tmp_path / "a.xlsx")["Constants"].iter_rows(values_only=True)}
    assert cells["backward_forward_ratio"] == 3


CHIP = """
name = "My chip"
vendor = "me"
[memory_capacity]
value = 100
unit = "GB"
kind = "assumed"
source = "a wish"
""" + "".join(
    f'[{name}]\nvalue = {value}\nunit = "{unit}"\nkind = "assumed"\nsource = "a wish"\n'
    for name, value, unit in (
        ("scale_up_domain", 8, "device"),
        ("bf16_peak", 2, "PFLOP/s"),
        ("fp8_peak", 4, "PFLOP/s"),
        ("hbm_peak", 8, "TB/s"),
        ("scale_up_peak", 900, "GB/s"),
        ("scale_out_peak", 100, "GB/s"),
    )
)


def test_hardware_of_ones_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chip.toml").write_text(CHIP, encoding="utf-8")
    arguments = ("--hardware", "chip.toml", "--set", "ceilings=datasheet")
    for quantities in computed(run, *arguments)["strategies"].values():
        assert quantities["hardware"]["value"] == "My chip"
        assert quantities["memory_capacity"]["value"] == 100e9
        assert quantities["hbm_ceiling"]["value"] == 8e12
    run("build", "-o", "a.xlsx", *arguments)
    assert run("verify", "a.xlsx", "--with", "formualizer")[0] == 0


def test_a_model_of_ones_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    llama = next(row for row in COUNTED if row["config"]["model_type"] == "llama")
    (tmp_path / "tiny" / "config.json").write_text(json.dumps(llama["config"]), encoding="utf-8")
    (tmp_path / "one.toml").write_text('title = "t"\n[strategies."Data parallel"]\nmicro_batch_size = 7.5\n')
    quantities = computed(run, "one.toml", "--model", "tiny/config.json")["strategies"]["Data parallel"]
    assert quantities["model"]["value"] == "tiny"
    assert quantities["total_parameters"]["value"] == llama["parameters"]


def test_a_study_of_ones_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'title = "Mine"\n[common]\nhardware = "H100 SXM5 80GB"\nmicro_batch_size = 7.5\n'
        '[strategies."A"]\n[strategies."B"]\nzero_stage = "zero-3"\nscale_out_measured = "50 GB/s"\n',
        encoding="utf-8",
    )
    found = computed(run, "./mine.toml")
    assert (found["study"], list(found["strategies"])) == ("mine", ["A", "B"])
    second = found["strategies"]["B"]
    assert (second["zero_stage"]["value"], second["scale_out_measured"]["value"]) == ("ZeRO-3", 50e9)


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: row["name"])
def test_model_show_counts_as_torch_does(row: dict[str, Any], run: Run, tmp_path: Path) -> None:
    (tmp_path / "a model").mkdir()
    (tmp_path / "a model" / "config.json").write_text(json.dumps(row["config"]), encoding="utf-8")
    size = ("--batch", row["batch"], "--seq-len", row["seq_len"])
    code, output, _ = run("model", "show", "a model/config.json", *size, "--json")
    assert code == 0
    found = json.loads(output)
    assert found["total_parameters"] == row["parameters"]
    assert found["forward_flops"] == row["forward_flops"]


def test_model_show_by_name(run: Run) -> None:
    code, output, _ = run("model", "show", "deepseek-v3")
    assert code == 0
    assert "671,026,404,352" in output


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("model", [row["name"] for row in catalogue.models().rows]),
        ("hardware", [row["name"] for row in catalogue.hardware().rows]),
        ("study", ["deepseek-v3-h800"]),
    ],
)
def test_lists(command: str, rows: list[str], run: Run) -> None:
    code, output, _ = run(command, "list")
    assert code == 0
    assert [name for name in rows if name not in output] == []


@pytest.mark.parametrize("command", ["", "build", "compute", "verify", "model", "model show", "hardware", "study list"])
def test_help(command: str, run: Run) -> None:
    code, output, _ = run(*command.split(), "--help")
    assert code == 0
    assert output.startswith(f"Usage: solbook {command}".rstrip())


# What users get wrong


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("device=5", "unknown field 'device': did you mean 'devices'"),
        ("step_time_lower_bound=1", "'step_time_lower_bound' is computed: change its inputs"),
        ("checks=1", "unknown field 'checks'"),
        ("devices", "write NAME=VALUE"),
        ("=5", "write NAME=VALUE"),
        ("devices=-8", "devices is -8: write a number above 0"),
        ("devices=0", "devices is 0: write a number above 0"),
        ("devices=nan", "devices is nan: write a finite number"),
        ("devices=-inf", "devices is -inf: write a finite number"),
        ("devices=1e400", "devices is inf: write a finite number"),
        ("devices=1e19", "devices is beyond 1e+18"),
        pytest.param(f"devices={10**400}", "devices is beyond 1e+18", id="401 digits"),
        pytest.param(f"devices={'9' * 5000}", "devices is inf", id="5000 digits"),
        ("devices==1+1", "devices is '=1+1': write a number"),
        ("scale_out_measured=9**9**9 byte/s", "write a number in byte/s"),
        ("training_tokens=5 GB", "training_tokens is '5 GB': write a number in token"),
        ("scale_out_measured=50 Gbyte", "write a number in byte/s"),
        ("model=B200", "model is 'B200': there are: bloom-176b"),
        ("hardware=H800", "did you mean 'H800 SXM5 80GB'?"),
        ("precision=FP9", "precision is 'FP9': "),
        ("zero_stage=3", "zero_stage is 3: write a name in quotes"),
        ("tensor_parallel_size=7", "tensor_parallel_size must divide the model's num_attention_heads"),
        ("tensor_parallel_size=2.5", "every degree of parallelism must be a whole number"),
        ("expert_parallel_size=512", "expert_parallel_size must divide the model's n_routed_experts"),
        ("pipeline_parallel_size=3", "must divide devices"),
        ("devices=2047", "must divide"),
        ("micro_batch_size=7", "must divide global_batch_size"),
        ("pipeline_parallel_size=64", "there are too few layers"),
    ],
)
def test_settings(setting: str, problem: str, refused: Callable[..., str]) -> None:
    for command in ("compute", "build"):
        assert problem in refused(command, "--set", setting)


STRATEGY = '[strategies."A"]\nmicro_batch_size = 7.5\n'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "title: write one of 1 to 200 characters"),
        ('title = "t"\n', "strategies: there is none: add one"),
        ('title = "t"\n[strategies]\n', "strategies: there is none: add one"),
        ('title = "t"\nstrategies = 5\n', "strategies: "),
        ('title = "t"\n[strategies]\nA = 5\n', "strategies.A: "),
        ('title = "t', "is not TOML: "),
        ('title = "t"\ntitle = "u"\n' + STRATEGY, "is not TOML: "),
        pytest.param(f"a = {'[' * 9999}", "is not TOML: it is nested too deeply", id="nested"),
        pytest.param(f'title = "t"\n{STRATEGY}devices = {"9" * 5000}\n', "is not TOML: ", id="5000 digits"),
        ('tittle = "t"\n' + STRATEGY, "unknown field 'tittle'"),
        ('title = "t"\nauthor = "me"\n' + STRATEGY, "unknown field 'author'"),
        ('title = "t"\n[common]\ndevcies = 5\n' + STRATEGY, "unknown field 'devcies': did you mean 'devices'"),
        ('title = "t\\u0007"\n' + STRATEGY, "title holds control characters"),
        ('title = "t"\n[strategies."A"]\n[strategies."a"]\n', "two strategies are named 'a' but for case"),
        ('title = "t"\n' + STRATEGY + "devices = true\n", "strategy 'A': devices is True: write a number"),
        ('title = "t"\n' + STRATEGY + "devices = [1]\n", "strategy 'A': devices is [1]: write a number"),
        ('title = "t"\n' + STRATEGY + "devices = nan\n", "strategy 'A': devices is nan: write a finite number"),
        ('title = "t"\n' + STRATEGY + 'model = "=1+1"\n', "strategy 'A': model is '=1+1'"),
        ('title = "t"\n' + STRATEGY + "hardware = 800\n", "strategy 'A': hardware is 800: write a name in quotes"),
        *(
            (f'title = "t"\n[strategies."{name}"]\n', problem)
            for name, problem in {
                "H800": "'H800' is a cell address in Excel",
                "TP8": "'TP8' is a cell address in Excel",
                "R1C1": "'R1C1' is a cell address in Excel",
                "=A1": "read = as the start of a formula",
                "+1": "read + as the start of a formula",
                "@x": "read @ as the start of a formula",
                "": "has no name",
                "8": "read it as a value",
                "true": "read it as a value",
                " A": "remove the blanks",
                "A*": "wildcards",
                "A\\nB": "control characters",
                "A" * 61: "it has 61 characters",
            }.items()
        ),
    ],
)
def test_studies(content: str, problem: str, refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(content, encoding="utf-8")
    assert problem in refused("build", "mine.toml")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('name = "My chip"', 'name = "B200"'), "'B200' is a cell address in Excel"),
        (('name = "My chip"', 'name = "=1+1"'), "read = as the start of a formula"),
        (("[hbm_peak]", "[hbm_speed]"), "hardware has no field 'hbm_speed'"),
        (('unit = "TB/s"', 'unit = "TB"'), "unit 'TB' does not fit: write the number in byte/s"),
        (("value = 900", "value = -900"), "write a positive number"),
        (("value = 900", "value = 0"), "write a positive number"),
        (("value = 900", "value = nan"), "write a finite number"),
        (("value = 900", "value = inf"), "write a finite number"),
        (("value = 900", f"value = {10**400}"), "write a finite number"),
        (("value = 900", 'value = "=900"'), "write a finite number"),
        (('kind = "assumed"', 'kind = "guess"'), "kind is 'guess'"),
        (('source = "a wish"', ""), "has no source"),
        (('name = "My chip"', "name ="), "is not TOML"),
    ],
    ids=lambda change: change[1][:30] if isinstance(change, tuple) else None,
)
def test_hardware_files(change: tuple[str, str], problem: str, refused: Callable[..., str], tmp_path: Path) -> None:
    assert change[0] in CHIP
    (tmp_path / "chip.toml").write_text(CHIP.replace(*change), encoding="utf-8")
    assert problem in refused("build", "--hardware", "chip.toml")


LLAMA = {
    "model_type": "llama", "vocab_size": 100, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "config", "problem"),
    [
        ("my model", LLAMA | {"hidden_size": 0}, "hidden_size"),
        ("my model", LLAMA | {"hidden_size": -64}, "hidden_size"),
        ("my model", LLAMA | {"hidden_size": "64"}, "hidden_size"),
        ("my model", LLAMA | {"hidden_size": 1e400}, "hidden_size"),
        ("my model", LLAMA | {"num_hidden_layers": 10**400}, "num_hidden_layers"),
        ("my model", {"model_type": "unheard-of"}, "unheard-of"),
        ("my model", {}, "model_type"),
        ("my model", [], "JSON"),
    ],
)
def test_model_files(name: str, config: Any, problem: str, refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert problem in refused("build", "--model", f"{name}/config.json")
    assert problem in refused("model", "show", f"{name}/config.json")


@pytest.mark.parametrize("option", ["STUDY", "--hardware", "--model"])
@pytest.mark.parametrize("kind", ["missing", "binary", "latin-1", "folder", "long name", "broken link"])
def test_files_that_are_none(kind: str, option: str, refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "given.toml"
    if kind == "binary":
        path.write_bytes(bytes(range(256)))
    elif kind == "latin-1":
        path.write_bytes('title = "é"'.encode("latin-1"))
    elif kind == "folder":
        path.mkdir()
    elif kind == "long name":
        path = tmp_path / ("x" * 300)
    elif kind == "broken link":
        path.symlink_to("nowhere")
    problem = refused("build", *((path,) if option == "STUDY" else (option, path)))
    assert path.name in problem


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--bogus"], "No such option"),
        (["bild"], "No such command"),
        (["build", "a", "b"], "unexpected extra argument"),
        (["build", "deepseek-v3-h80"], "did you mean 'deepseek-v3-h800'?"),
        (["build", "--set"], "requires an argument"),
        (["verify"], "Missing argument 'FILE'"),
        (["verify", "a.xlsx", "--with", "excel"], "is not one of"),
        (["model", "show", "gpt-2", "--batch", "0"], "0 is not in the range"),
        (["model", "show", "gpt-2", "--seq-len", "many"], "'many' is not a valid integer"),
        (["model", "show", "gpt-5"], "no model 'gpt-5': did you mean"),
    ],
)
def test_commands(arguments: list[str], problem: str, refused: Callable[..., str]) -> None:
    assert problem in refused(*arguments)


# Where a workbook cannot be written


def test_an_edited_workbook_is_not_overwritten(run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    run("build", "-o", "a.xlsx")
    first = (tmp_path / "a.xlsx").read_bytes()
    book: Any = load_workbook(tmp_path / "a.xlsx")
    column = next(cell.column_letter for row in book["Analysis"].iter_rows() for cell in row if cell.value == 15360)
    book["Analysis"][f"{column}99"] = "my note"
    book.save(tmp_path / "a.xlsx")
    assert "was edited since solbook wrote it" in refused("build", "-o", "a.xlsx")
    assert run("build", "-o", "a.xlsx", "--force")[0] == 0
    assert (tmp_path / "a.xlsx").read_bytes() == first


@pytest.mark.parametrize(
    ("content", "problem"), [(b"my notes", "was not written by solbook"), (b"", "was not written by solbook")]
)
def test_a_file_of_others_is_not_overwritten(
    content: bytes, problem: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    assert problem in refused("build", "-o", "a.xlsx")


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_places_that_cannot_be_written(force: list[str], run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    run("build", "-o", "read-only.xlsx")
    (tmp_path / "read-only.xlsx").chmod(0o444)
    assert "read-only.xlsx is read-only" in refused("build", "-o", "read-only.xlsx", *force)
    assert "missing/a.xlsx: No such file or directory" in refused("build", "-o", "missing/a.xlsx", *force)
    (tmp_path / "folder.xlsx").mkdir()
    assert "folder.xlsx is a directory" in refused("build", "-o", "folder.xlsx", *force)
    assert "Not a directory" in refused("build", "-o", "read-only.xlsx/a.xlsx", *force)
    assert "too long" in refused("build", "-o", "x" * 300 + ".xlsx", *force)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_device_is_not_replaced(force: list[str], refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "device.xlsx").symlink_to("/dev/full")
    assert "device.xlsx is no file" in refused("build", "-o", "device.xlsx", *force)


def test_a_name_that_excel_does_not_open(refused: Callable[..., str]) -> None:
    assert "a.xls must end in .xlsx" in refused("build", "-o", "a.xls")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc here")
def test_a_directory_that_takes_no_files(refused: Callable[..., str]) -> None:
    """Nobody, not even root, may create a file in /proc."""
    assert "cannot write /proc/a.xlsx" in refused("build", "-o", "/proc/a.xlsx")


def test_a_directory_without_permission(solbook: Any, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("permissions do not bind this user")
    ran = solbook("build", "-o", folder / "a.xlsx")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "Permission denied" in ran.stderr


def test_a_full_disk_leaves_the_old_file(run: Run, solbook: Any, tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    run("build", "-o", "a.xlsx")
    before = listing(tmp_path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    ran = solbook("build", "-o", "a.xlsx", "--set", "devices=1024", cwd=tmp_path, preexec_fn=limit)
    assert ran.returncode == 2
    assert ran.stderr.startswith("solbook: cannot write ")
    assert ran.stderr.count("\n") == 1
    assert listing(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_output_that_cannot_be_written() -> None:
    command = [sys.executable, "-m", "workbook.cli", "compute", "--json"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("solbook: cannot read or write: ")
    assert ran.stderr.count("\n") == 1


def test_a_reader_that_has_read_enough() -> None:
    command = [sys.executable, "-m", "workbook.cli", "compute", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        assert ran.stdout.readline() == "{\n"
        ran.stdout.close()
        assert ran.stderr.read() == ""


def test_a_constant_is_set_for_all_strategies_or_not_at_all(
    run: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    path.write_text('title = "T"\n[common]\nseconds_per_hour = 2\n[strategies."A one"]\nmicro_batch_size = 7.5\n')
    assert run("build", path, "-o", "a.xlsx")[0] == 0
    assert run("verify", "a.xlsx", "--with", "formualizer")[0] == 0
    path.write_text('title = "T"\n[strategies."A one"]\nmicro_batch_size = 7.5\nseconds_per_hour = 2\n')
    assert "'seconds_per_hour' is a constant of all strategies: set it in [common]" in refused("compute", path)
