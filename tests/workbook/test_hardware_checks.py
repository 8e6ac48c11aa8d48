"""The traps of data sheets and logs, as checks of a hardware file: what is refused, and what is only told."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pyxl.errors import UserError
from workbook import catalogue
from workbook.catalogue import Device, Sourced
from workbook.cli import main
from workbook.hardware_checks import ANNOUNCED, Finding, findings

SHIPPED = catalogue.devices()
UNITS = catalogue.table_columns()[catalogue.HARDWARE]
H100 = {
    "memory_capacity": 80 * 2**30, "scale_up_domain": 8, "bf16_peak": 989.4e12, "bf16_measured": 794.5e12,
    "fp8_peak": 1978.9e12, "fp8_measured": 1402.6e12, "hbm_peak": 3350e9, "hbm_measured": 2970e9,
    "scale_up_peak": 450e9, "scale_up_measured": 367e9, "scale_out_peak": 50e9, "scale_out_measured": 48.5e9,
    "scale_up_latency": 0.6e-6, "device_power": 700, "device_price_low": 2.69, "device_price_high": 12.29,
}  # fmt: skip


def device(kind: str = "", status: str = "shipping", name: str = "My chip", **changed: float) -> Device:
    """A device that nothing is to be said of, but for what is changed."""
    numbers = {
        key: Sourced(value, UNITS[key], kind or ("measured" if "measured" in key else "datasheet"), "its own", "2026")
        for key, value in (H100 | changed).items()
    }  # fmt: skip
    return Device(name, "NVIDIA", status, numbers)


def one(found: list[Finding]) -> Finding:
    (finding,) = found
    assert "\n" not in finding.text
    return finding


def test_nothing_is_said_of_a_sound_device() -> None:
    assert findings(device(), SHIPPED) == []


def test_what_no_strategy_can_do_without_is_named() -> None:
    sound = device()
    numbers = {key: number for key, number in sound.numbers.items() if key != "memory_capacity"}
    assert "there is no [memory_capacity]" in one(findings(replace(sound, numbers=numbers))).text


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda shipped: shipped.name)
def test_no_shipped_device_is_refused(shipped: Device) -> None:
    assert [finding for finding in findings(shipped, SHIPPED) if finding.is_error] == []


def test_what_is_told_of_shipped_devices_is_true_of_them() -> None:
    told = {shipped.name for shipped in SHIPPED if findings(shipped, SHIPPED)}
    # An all-gather of Gaudi3 reaches 97 %; PCIe, and FP4 at 8 times BF16; FP8 at 4.4 and 3.75 times BF16
    assert told == {"Gaudi3 128GB", "RTX 5090 32GB", "Rubin VR NVL72", "Trainium3"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        # H200 NVL with constant data: 852 "of 835"; RTX 5090: 254 "of 209.5"
        ({"bf16_peak": 835e12, "fp8_peak": 1671e12, "bf16_measured": 852e12}, "102% of [bf16_peak], 835 TFLOP/s"),
        ({"bf16_peak": 209.5e12, "fp8_peak": 419e12, "bf16_measured": 254e12, "fp8_measured": 400e12}, "random data"),
        ({"fp8_peak": 3957.8e12, "fp8_measured": 3000e12}, "4 times [bf16_peak]: that is a rate with sparsity"),
        ({"hbm_measured": 3597e9}, "arrays that fit into a cache"),
        ({"scale_up_measured": 478.9e9}, "478.9 GB/s, 106% of [scale_up_peak], 450 GB/s: nothing runs above its peak"),
        ({"scale_up_measured": 783e9}, "both directions: take the bus bandwidth of an all-gather"),
        ({"scale_out_measured": 386e9}, "take one device's share"),
        ({"scale_out_peak": 400e9}, "divide bits by 8"),
        ({"bf16_peak": 989.4}, "989.4 FLOP/s, which no device is: write the unit that it is in, such as TFLOP/s"),
        ({"memory_capacity": 80}, "80 byte, which no device is"),
        ({"scale_up_latency": 0.6}, "0.6 s, which no device is"),
        ({"device_power": 0.7}, "0.7 W, which no device is"),
        ({"device_price_low": 13}, "13 USD/device/hour, above [device_price_high], 12.29: exchange them"),
    ],
    ids=lambda value: str(value)[:50],
)  # fmt: skip
def test_what_no_device_can_be_is_refused(changed: dict[str, float], expected: str) -> None:
    first = findings(device(**changed))[0]
    assert first.is_error
    assert expected in first.text


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"bf16_peak": 1979e12, "fp8_peak": 3958e12, "fp8_measured": 2000e12}, "a peak with sparsity is twice"),
        ({"fp4_peak": 9000e12}, "4.55 times [fp8_peak]: more than usual"),
        ({"fp8_peak": 900e12, "fp8_measured": 700e12}, "fewer bits are never slower"),
        ({"scale_up_peak": 900e9}, "41% of [scale_up_peak], 900 GB/s: less than usual: a peak of both directions"),
        ({"scale_up_peak": 448e9, "scale_up_measured": 47e9}, "one link of a mesh is not the whole device"),
        ({"scale_up_measured": 440e9}, "more than rings reach"),
        ({"scale_out_measured": 6.25e9}, "divide bits by 8"),
        ({"scale_out_peak": 200e9, "scale_out_measured": 190e9}, "more than one NIC of 800 Gb/s"),
        ({"scale_up_peak": 30e9, "scale_up_measured": 24e9}, "seldom the faster"),
        ({"hbm_measured": 1485e9}, "a copy reads and writes each byte"),
        ({"memory_capacity": 80e9}, "74.5058059692383 GiB, 80 GB: memory comes in whole GiB"),
        ({"memory_capacity": 206.1e9}, "check GB against GiB"),
        ({"device_power": 10_200}, "10200 W, that of a node or superchip: divide by its devices"),
        ({"device_price_high": 98.32}, "that of a whole instance: divide by its devices"),
        ({"hbm_peak": 3350e12, "hbm_measured": 2970e12}, "FLOP per byte: usual are 30 to 600"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_seldom_true_is_told(changed: dict[str, float], expected: str) -> None:
    finding = one(findings(device(**changed)))
    assert not finding.is_error
    assert expected in finding.text


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"bf16_peak": 1978.9e12, "bf16_measured": 1000e12}, "2 times that of H100 SXM5 80GB in the catalogue: "),
        ({"scale_up_peak": 900e9, "scale_up_measured": 700e9}, "vendors add up both directions: halve it"),
        ({"scale_out_peak": 400e9, "scale_out_measured": 300e9}, "8 times that of H100 SXM5 80GB in the catalogue"),
    ],
    ids=str,
)  # fmt: skip
def test_a_multiple_of_the_same_chip_in_the_catalogue_is_told(changed: dict[str, float], expected: str) -> None:
    others = {finding.text for finding in findings(device(name="Our chip", **changed), SHIPPED)}
    ours = findings(device(name="Our H100 rack", **changed), SHIPPED)
    assert expected in one([finding for finding in ours if finding.text not in others]).text


def test_what_a_device_of_the_same_chip_has_is_not_told_for_being_twice_that_of_another() -> None:
    narrow, wide = (device(name=name, scale_up_peak=peak, scale_up_measured=0.8 * peak)
                    for name, peak in (("X1 card", 225e9), ("X1 module", 450e9)))  # fmt: skip
    assert len(findings(wide, [narrow])) == 1
    assert findings(wide, [narrow, wide]) == []


def test_what_is_measured_of_memory_and_a_card_alone_may_be_odd() -> None:
    sound = device(scale_up_domain=1, scale_up_peak=31e9, scale_up_measured=24e9)
    visible = replace(sound.numbers["memory_capacity"], value=79.6 * 2**30, kind="measured")
    assert findings(replace(sound, numbers=sound.numbers | {"memory_capacity": visible})) == []


def test_a_wish_may_have_what_no_device_has() -> None:
    wish = device("assumed", fp8_peak=3957.6e12, fp8_measured=3000e12, scale_out_peak=400e9, scale_out_measured=390e9)
    assert [finding.is_error for finding in findings(wish)] == [False, False]


@pytest.mark.parametrize(
    ("key", "changed", "status", "expected"),
    [
        ("bf16_measured", {"date": ""}, "shipping", "[bf16_measured] is measured but has no date"),
        ("bf16_measured", {"kind": "datasheet"}, "shipping", "a data sheet holds no measurement"),
        ("bf16_peak", {"kind": "measured"}, "shipping", "make it [bf16_measured]"),
        ("bf16_peak", {"kind": "announced"}, "shipping", "but the device ships"),
        ("bf16_peak", {"source": "Example: a data sheet"}, "shipping", "still examples: [bf16_peak]"),
        ("bf16_peak", {}, "anounced", "status is 'anounced': write shipping or announced"),
    ],
)
def test_provenance_that_does_not_fit_is_told(key: str, changed: dict[str, str], status: str, expected: str) -> None:
    sound = device(status=status)
    numbers = sound.numbers | {key: replace(sound.numbers[key], **changed)}  # type: ignore[arg-type]
    assert expected in one(findings(replace(sound, numbers=numbers))).text


def test_an_announced_device_has_no_data_sheet() -> None:
    assert "only announced: say announced" in findings(device(status=ANNOUNCED))[0].text


# In files and on the command line

ABOVE_PEAK = """
name = "My chip"
[bf16_peak]
value = 209.5
unit = "TFLOP/s"
kind = "datasheet"
source = "its data sheet"
[bf16_measured]
value = 254
unit = "TFLOP/s"
kind = "measured"
source = "a log"
"""


def test_a_file_that_is_refused_says_why_wherever_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "chip.toml"
    path.write_text(ABOVE_PEAK, encoding="utf-8")
    own = {"hardware": {"My chip": {k: v for k, v in catalogue.read_toml(path).items() if k != "name"}}}
    for load in (lambda: catalogue.hardware_device(path), lambda: catalogue.own_tables(own, str(path))):
        with pytest.raises(UserError, match=r"chip\.toml.*\[bf16_measured\] is 254 TFLOP/s, 121% of \[bf16_peak\]"):
            load()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of `solbook hardware ...` in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["solbook", *arguments])
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        output = capsys.readouterr()
        assert isinstance(code, int)
        return code, output.out, output.err

    return command


Run = Callable[..., tuple[int, str, str]]


def test_check_refuses_with_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chip.toml").write_text(ABOVE_PEAK, encoding="utf-8")
    code, output, errors = run("hardware", "check", "chip.toml")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "nothing runs above its peak" in errors


def test_check_of_a_file_that_is_not_there(run: Run) -> None:
    code, _, errors = run("hardware", "check", "chip.toml")
    assert (code, errors) == (2, "solbook: chip.toml cannot be read: no such file\n")


def test_check_prints_warnings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chip.toml").write_text(ABOVE_PEAK.replace("254", "160"), encoding="utf-8")
    code, output, _ = run("hardware", "check", "chip.toml")
    assert code == 0
    assert "warning: [bf16_measured] is measured but has no date" in output
    assert output.endswith("chip.toml: My chip, 2 numbers, 3 warnings\n")


def test_a_new_file_builds_at_once(run: Run, tmp_path: Path) -> None:
    assert run("hardware", "new", 'My "fast" chip')[0] == 0
    code, output, _ = run("hardware", "check", "my-fast-chip.toml")
    assert code == 0
    assert "warning: still examples: [memory_capacity]" in output
    assert run("build", "--hardware", "my-fast-chip.toml", "-o", "a.xlsx")[0] == 0
    assert (tmp_path / "a.xlsx").exists()


def test_a_new_file_offers_every_number(run: Run, tmp_path: Path) -> None:
    run("hardware", "new", "My chip", "-o", "chip.toml")
    text = (tmp_path / "chip.toml").read_text(encoding="utf-8")
    assert [key for key in UNITS if f"[{key}]" not in text] == []
    uncommented = re.sub(r"^# (\[|\w+ = )", r"\1", text, flags=re.M).replace('""', '"log"')
    (tmp_path / "chip.toml").write_text(uncommented, encoding="utf-8")
    found = catalogue.device(tmp_path / "chip.toml")
    assert set(found.numbers) == set(UNITS)
    assert found.curves


def test_a_new_file_never_overwrites(run: Run, tmp_path: Path) -> None:
    (tmp_path / "my-chip.toml").write_text("mine")
    code, _, errors = run("hardware", "new", "My chip")
    assert (code, (tmp_path / "my-chip.toml").read_text()) == (2, "mine")
    assert "exists and is left as it is" in errors


@pytest.mark.parametrize(
    ("name", "expected"), [("h100 sxm5 80gb", "comes with solbook"), ("H100", "is a cell address"), ("", "has no name")]
)
def test_a_new_device_needs_a_name_of_its_own(name: str, expected: str, run: Run, tmp_path: Path) -> None:
    code, _, errors = run("hardware", "new", name)
    assert code == 2
    assert expected in errors
    assert list(tmp_path.iterdir()) == []


def test_show_gives_numbers_with_their_sources(run: Run) -> None:
    code, output, _ = run("hardware", "show", "mi300x 192gb")
    assert code == 0
    line = next(line for line in output.splitlines() if "BF16 measured" in line)
    for part in ("708 TFLOP/s", "54% of peak", "measured", "2025-02-28", "AMD ROCm blog"):
        assert part in line


def test_the_list_marks_announced_devices_and_fits_a_terminal(run: Run) -> None:
    _, output, _ = run("hardware", "list")
    marked = {line.split(" * ")[0].strip() for line in output.splitlines()[1:] if " * " in line}
    assert marked == {"Rubin VR NVL72", "MI455X 432GB", "Ascend 950DT 96GB"}
    assert max(len(line.rstrip()) for line in output.splitlines()) <= 110
