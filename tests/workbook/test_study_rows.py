"""A study may bring catalogue rows of its own: devices, models and choices that do not ship, or that were edited."""

from pathlib import Path

import pytest

from pyxl.errors import UserError
from workbook import catalogue, study

STRATEGY = 'title = "t"\n[strategies."A"]\nmicro_batch_size = 7.5\n'
DEVICE = '[hardware."My GPU".{key}]\nvalue = {value}\nunit = "{unit}"\nkind = "measured"\nsource = "my log"\n'


def written(folder: Path, text: str) -> str:
    path = folder / "own.toml"
    path.write_text(STRATEGY + text, encoding="utf-8")
    return str(path)


def test_a_device_of_the_study_is_one_of_the_hardware(tmp_path: Path) -> None:
    text = 'hardware = "My GPU"\n' + DEVICE.format(key="hbm_measured", value=3, unit="TB/s")
    loaded = study.load(written(tmp_path, text))
    assert loaded.values["A"]["hbm_measured"] == 3e12
    assert loaded.tables["Hardware"].sources["My GPU", "hbm_measured"] == "measured: my log"


def test_a_row_of_the_study_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    text = DEVICE.format(key="hbm_measured", value=3, unit="TB/s").replace("My GPU", "H800 SXM5 80GB")
    loaded = study.load(written(tmp_path, text))
    names = [row["name"] for row in loaded.tables["Hardware"].rows]
    assert names == [row["name"] for row in catalogue.hardware().rows]
    assert loaded.values["A"]["hbm_measured"] == 3e12
    assert ("H800 SXM5 80GB", "bf16_peak") not in loaded.tables["Hardware"].sources


def test_a_schedule_of_the_study_is_a_choice(tmp_path: Path) -> None:
    shipped = next(row for row in catalogue.choices()["Schedules"].rows if row["name"] == "1F1B")
    numbers = "".join(f"{key} = {value}\n" for key, value in shipped.items() if key != "name")
    text = f'pipeline_schedule = "Mine"\n[choices.Schedules.Mine]\n{numbers}source = "my paper"\n'
    loaded = study.load(written(tmp_path, text))
    usual = study.load(written(tmp_path, 'pipeline_schedule = "1F1B"\n'))
    assert loaded.values["A"]["bubble_time"] == usual.values["A"]["bubble_time"]


def test_a_model_of_the_study_is_one_of_the_models(tmp_path: Path) -> None:
    row = {**catalogue.model("llama-3-70b").rows[0]}
    del row["name"]
    fields = "".join(f"{key} = {value!r}\n" for key, value in (row | {"num_hidden_layers": 40}).items())
    loaded = study.load(written(tmp_path, f'model = "Half"\n[models.Half]\n{fields}source = "me"\n'))
    assert loaded.values["A"]["num_hidden_layers"] == 40


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[hardware."My GPU"]\nhbm = 5\n', "hardware has no field 'hbm'"),
        ("[hardware]\nname = 5\n", "[hardware]: name is 5: make it a table"),
        ("[models.Half]\nsource = 'me'\n", "lacks hidden_size: every model needs"),
        ("[models.Half]\nlayers = 4\n", "has no column 'layers'"),
        ("[choices.Schedule.Mine]\n", "no table 'Schedule': did you mean 'Schedules'?"),
        ("[choices.Schedules.Mine]\n", "lacks"),
        ("[choices]\nSchedules = 5\n", "table Schedules has no rows"),
    ],
)
def test_a_row_that_cannot_be_is_refused_in_words(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UserError) as error:
        study.load(written(tmp_path, text))
    assert problem in str(error.value)
