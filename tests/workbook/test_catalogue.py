"""The catalogue: templates that ship, files that users give, and what is said about wrong ones."""

import json
from pathlib import Path

import pytest

from pyxl.errors import UserError
from pyxl.quantity import Kind
from workbook import catalogue
from workbook.analysis import analysis
from workbook.catalogue import Table

LLAMA = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
PEAK = 'value = 1e15\nunit = "FLOP/s"\nkind = "datasheet"\nsource = "its data sheet"\ndate = "2026"\n'


def device(tmp_path: Path, text: str, name: str = "My chip") -> Path:
    path = tmp_path / "chip.toml"
    path.write_text(f'name = "{name}"\n{text}', encoding="utf-8")
    return path


def refusal(action: object, *arguments: object) -> str:
    with pytest.raises(UserError) as error:
        action(*arguments)  # type: ignore[operator]
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_tables_have_every_column_that_the_analysis_looks_up() -> None:
    tables = [catalogue.models(), catalogue.hardware(), *catalogue.choices().values()]
    assert set(catalogue.columns(tables)) == set(analysis.columns)


def test_the_defaults_of_the_inputs_are_rows() -> None:
    tables = {table.name: table for table in [catalogue.models(), catalogue.hardware(), *catalogue.choices().values()]}
    for quantity in analysis.quantities.values():
        if quantity.kind is Kind.INPUT and quantity.choices:
            assert quantity.value in [row["name"] for row in tables[quantity.choices].rows], quantity.name


def test_every_template_says_its_source() -> None:
    for table in (catalogue.models(), catalogue.hardware()):
        for row in table.rows:
            assert table.sources[row["name"], "name"]
    hardware = catalogue.hardware()
    for row in hardware.rows:
        for column in hardware.columns:
            assert ((row["name"], column) in hardware.sources) == (row[column] is not None)


def test_h800_has_the_measured_ceilings() -> None:
    (row,) = catalogue.hardware_device("H800 SXM5 80GB").rows
    assert (row["bf16_measured"], row["fp8_measured"]) == (758e12, 1460e12)
    assert (row["scale_out_measured"], row["scale_up_measured"]) == (50e9, 160e9)
    assert (row["memory_capacity"], row["scale_up_domain"]) == (80 * 2**30, 8)


def test_measured_rates_do_not_exceed_peaks() -> None:
    for row in catalogue.hardware().rows:
        for name in ("bf16", "fp8", "fp4", "hbm", "scale_up", "scale_out"):
            peak, measured = row[f"{name}_peak"], row[f"{name}_measured"]
            assert measured is None or peak is None or measured <= peak, (row["name"], name)


# From the vendors' pages: dense, per direction, per device as it is sold
PUBLISHED = {
    "H100 PCIe 80GB": {"bf16_peak": 756e12, "fp8_peak": 1513e12, "hbm_peak": 2e12, "memory_capacity": 80 * 2**30},
    "A100 PCIe 80GB": {"bf16_peak": 312e12, "fp8_peak": None, "hbm_peak": 1935e9},
    "GH200 141GB": {"fp8_peak": 1978.9e12, "hbm_peak": 4.8e12, "scale_up_domain": 1},
    "L40S 48GB": {"bf16_peak": 362e12, "fp8_peak": 733e12, "hbm_peak": 864e9},
    "MI250X 128GB": {"bf16_peak": 383e12, "memory_capacity": 128 * 2**30, "scale_up_peak": 350e9},
    "MI325X 256GB": {"bf16_peak": 1307.4e12, "hbm_peak": 6e12, "memory_capacity": 256 * 2**30},
    "TPU v5e": {"bf16_peak": 197e12, "memory_capacity": 16 * 2**30, "scale_up_peak": 200e9, "scale_out_peak": 3.125e9},
    "TPU7x": {"bf16_peak": 2307e12, "fp8_peak": 4614e12, "hbm_peak": 7380e9, "memory_capacity": 192 * 2**30},
    "Trainium2": {"bf16_peak": 667e12, "fp8_peak": 1299e12, "hbm_peak": 2.9e12, "memory_capacity": 96 * 2**30},
    "Gaudi3 128GB": {"bf16_peak": 1677e12, "hbm_peak": 3.7e12, "scale_up_peak": 525e9, "scale_out_peak": 75e9},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_numbers_are_those_that_vendors_publish(name: str) -> None:
    (row,) = catalogue.hardware_device(name).rows
    assert {key: row[key] for key in PUBLISHED[name]} == PUBLISHED[name]


def test_announced_devices_promise_and_what_is_only_remembered_is_assumed() -> None:
    for device in catalogue.devices():
        kinds = {number.kind for number in device.numbers.values()}
        assert ("announced" in kinds) == (device.status == "announced"), device.name
        for key, number in device.numbers.items():
            assert number.kind == "assumed" or "From memory" not in number.source, (device.name, key)
            assert number.kind == "assumed" or number.date, (device.name, key)


def test_an_unknown_number_is_none() -> None:
    (row,) = catalogue.hardware_device("a100-sxm4-80gb").rows
    assert row["fp8_peak"] is None


@pytest.mark.parametrize("name", ["deepseek-v3", "DeepSeek-V3"])
def test_a_model_by_name(name: str) -> None:
    table = catalogue.model(name)
    assert [row["name"] for row in table.rows] == ["deepseek-v3"]
    assert "arXiv 2412.19437" in table.sources["deepseek-v3", "name"]


@pytest.mark.parametrize("name", ["H800 SXM5 80GB", "h800 sxm5 80gb", "h800-sxm5-80gb", "H800-SXM5-80GB"])
def test_hardware_by_name(name: str) -> None:
    assert [row["name"] for row in catalogue.hardware_device(name).rows] == ["H800 SXM5 80GB"]


@pytest.mark.parametrize(
    ("file", "own", "name"),
    [
        ("tiny.json", None, "tiny"),
        ("my-model/config.json", None, "my-model"),
        ("my-model/config.json", "some-org/Other-7B", "Other-7B"),
        ("my-model/config.json", "", "my-model"),
        ("my-model/config.json", "gpt2", "my-model"),
    ],
)
def test_the_name_of_a_config(tmp_path: Path, file: str, own: str | None, name: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(LLAMA | ({} if own is None else {"_name_or_path": own})))
    (row,) = catalogue.model(path).rows
    assert (row["name"], row["hidden_size"]) == (name, 64)


def test_a_config_whose_name_is_a_cell_address(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.json"
    path.write_text(json.dumps(LLAMA))
    assert catalogue.model(path).rows[0]["name"] == "gpt2 llama"


def test_a_table_joins_a_users_row(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(LLAMA))
    models = catalogue.models()
    joined = models.joined(catalogue.model(path))
    assert len(joined.rows) == len(models.rows) + 1
    assert ("tiny", "name") in joined.sources
    assert joined.joined(catalogue.model("deepseek-v3")).rows == joined.rows


def test_two_different_rows_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "DeepSeek-V3.json"
    path.write_text(json.dumps(LLAMA))
    assert "two rows named 'DeepSeek-V3'" in refusal(catalogue.models().joined, catalogue.model(path))


def test_no_such_template() -> None:
    message = refusal(catalogue.model, "deepseek-v4")
    assert "no model 'deepseek-v4': did you mean 'deepseek-v3'" in message
    assert "llama-3-8b" in message
    message = refusal(catalogue.hardware_device, "H800 SXM 80GB")
    assert "did you mean 'H800 SXM5 80GB'" in message
    assert "MI300X 192GB" in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", "is not JSON"),
        (b"[1, 2]", "holds no fields"),
        (b"\xff\xfe{", "is not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"model_type": "bert"}', "an encoder's layers are not modelled"),
        (b'{"model_type": "llama", "hidden_size": NaN}', "hidden_size is NaN"),
    ],
)
def test_a_wrong_config(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "tiny.json"
    path.write_bytes(content)
    message = refusal(catalogue.model, path)
    assert expected in message
    assert str(path) in message


def test_a_directory_is_no_config(tmp_path: Path) -> None:
    assert "is a directory: give the file in it" in refusal(catalogue.model, tmp_path)
    assert "is a directory: give the file in it" in refusal(catalogue.hardware_device, tmp_path)


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "tiny.json"
    path.write_text("{}")
    monkeypatch.setattr(Path, "read_text", refuse)
    assert refusal(catalogue.model, path) == f"{path} cannot be read: Permission denied"


def test_a_file_that_is_too_large_to_be_a_config(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    with path.open("wb") as file:
        file.truncate(catalogue.LARGEST_FILE + 1)
    assert "too large" in refusal(catalogue.model, path)


@pytest.mark.parametrize(
    ("field", "value", "unit", "expected"),
    [
        ("bf16_peak", "989.4", "TFLOP/s", 989.4e12),
        ("memory_capacity", "80", "GiB", 80 * 2**30),
        ("scale_out_peak", "50", "GB/s", 50e9),
        ("scale_up_domain", "8", "device", 8),
    ],
)
def test_units_are_converted(tmp_path: Path, field: str, value: str, unit: str, expected: float) -> None:
    path = device(tmp_path, f'[{field}]\nvalue = {value}\nunit = "{unit}"\nkind = "measured"\nsource = "a log"\n')
    table = catalogue.hardware_device(path)
    assert table.rows[0][field] == pytest.approx(expected, rel=1e-15)
    assert table.sources["My chip", field] == "measured: a log"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"[bf16_peek]\n{PEAK}", "no field 'bf16_peek': did you mean 'bf16_peak'"),
        ("bf16_peak = 1e15\n", "[bf16_peak] is 1000000000000000.0: make it a table"),
        (f"[bf16_peak]\n{PEAK}valeu = 1\n", "no field 'valeu': did you mean 'value'"),
        *(
            (f"[bf16_peak]\n{''.join(line for line in PEAK.splitlines(True) if not line.startswith(key))}", f"no {key}")
            for key in ("value", "unit", "kind", "source")
        ),
        (f"[bf16_peak]\n{PEAK}".replace("its data sheet", ""), "no source"),
        (f"[bf16_peak]\n{PEAK}".replace("1e15", "-1e15"), "write a positive number"),
        (f"[bf16_peak]\n{PEAK}".replace("1e15", "0"), "write a positive number"),
        (f"[bf16_peak]\n{PEAK}".replace("1e15", "nan"), "write a finite number"),
        (f"[bf16_peak]\n{PEAK}".replace("1e15", "inf"), "write a finite number"),
        (f"[bf16_peak]\n{PEAK}".replace("1e15", "1" + "0" * 400), "write a finite number"),
        (f"[bf16_peak]\n{PEAK}".replace("1e15", '"fast"'), "write a finite number"),
        (f"[bf16_peak]\n{PEAK}".replace("1e15", "true"), "write a finite number"),
        (f"[bf16_peak]\n{PEAK}".replace("FLOP/s", "GB/s"), "unit 'GB/s' does not fit: write the number in FLOP/s"),
        (f"[bf16_peak]\n{PEAK}".replace("FLOP/s", "TFLOPS"), "unit 'TFLOPS' does not fit"),
        (f"[bf16_peak]\n{PEAK}".replace("datasheet", "data sheet"), "did you mean 'datasheet'"),
        (f"[scale_up_domain]\n{PEAK}".replace("FLOP/s", "device").replace("1e15", "8.5"), "whole number of devices"),
        ("[bf16_peak\n", "is not TOML"),
        ("vendor = 5\n", "vendor is 5: write it as text"),
    ],
)
def test_wrong_hardware(tmp_path: Path, text: str, expected: str) -> None:
    path = device(tmp_path, text)
    message = refusal(catalogue.hardware_device, path)
    assert expected in message
    assert str(path) in message


def test_a_toml_error_names_its_line(tmp_path: Path) -> None:
    assert "line 3" in refusal(catalogue.hardware_device, device(tmp_path, "\n[bf16_peak\n"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "has no name"),
        ("H800", "'H800' is a cell address in Excel: write it with a space or a word, such as 'H800 GPU'"),
        ("b200", "cell address"),
        ("R1C1", "cell address"),
        ("=1+1", "start of a formula"),
        ("x" * 61, "at most 60"),
        ("a\\u0007b", "control characters"),
    ],
)
def test_hardware_whose_name_a_spreadsheet_would_misread(tmp_path: Path, name: str, expected: str) -> None:
    assert expected in refusal(catalogue.hardware_device, device(tmp_path, "", name))


def test_hardware_without_name(tmp_path: Path) -> None:
    path = tmp_path / "chip.toml"
    path.write_text(f"[bf16_peak]\n{PEAK}")
    assert "has no name" in refusal(catalogue.hardware_device, path)


def test_two_templates_of_one_name() -> None:
    with pytest.raises(UserError, match="two rows named 'my chip'"):
        Table("Hardware", (), [{"name": "My chip"}, {"name": "my chip"}])


SWITCH = '[Switch."off"]\ntrains_prediction_layers = 0\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[Switch.", "[Swich.", "no table 'Swich': did you mean 'Switch'"),
        (SWITCH, '[Switch."off"]\n', 'Switch."off"] lacks trains_prediction_layers'),
        (SWITCH, SWITCH + "train = 1\n", "no column 'train'"),
        (SWITCH, SWITCH.replace("0", "'no'"), "trains_prediction_layers is 'no': write a finite number"),
        (SWITCH, SWITCH.replace("0", "nan"), "write a finite number"),
        (SWITCH, SWITCH + "source = 1\n", "source is 1: write it as text"),
        (SWITCH, SWITCH.replace('"off"', '"=off"'), "start of a formula"),
        (SWITCH, "[Switch]\noff = 0\n", "make it a table"),
        (SWITCH, SWITCH + SWITCH, "is not TOML"),
    ],
)
def test_wrong_choices(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = (catalogue.templates_directory() / "choices.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "choices.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert expected in refusal(catalogue.choices_from, path)
