"""`solbook diff`: two files compared by meaning, against data sheets, hand arithmetic and what was edited."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from pyxl import reader
from pyxl.cells import Place
from pyxl.quantity import GIVEN
from workbook import study as studies
from workbook.analysis import analysis
from workbook.catalogue import templates_directory
from workbook.difference import MOST_PARTS, OTHERS, relative

OWN = "PP16 EP64 ZeRO-1 DualPipe"
NVLINK_BOUND = "ZeRO-3 (FSDP) hierarchical"

Compared = Callable[..., dict[str, Any]]


@pytest.fixture
def compared(ran: Any, shipped: Path) -> Compared:
    """The JSON of a comparison of the shipped workbook with another file."""

    def compare(file: Path, *options: str, old: Path = shipped) -> dict[str, Any]:
        code, output, errors = ran("diff", old, file, *options, "--json")
        found: dict[str, Any] = json.loads(output)
        assert (code, errors) == (0 if found["equal"] else 1, "")
        return found

    return compare


@pytest.fixture(scope="session")
def on_h100(solbook: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped study on another device."""
    path = tmp_path_factory.mktemp("h100") / "h100.xlsx"
    assert solbook("build", "-o", path, "--hardware", "h100-sxm5-80gb").returncode == 0
    return path  # type: ignore[no-any-return]


def catalogue_cell(grid: reader.Grid, row: str, key: str) -> Place:
    line = next(number for number, name in grid.column(1) if name == row)
    return grid.place(line, grid.find(key)[0][1])


class TestEqual:
    def test_a_file_says_the_same_as_itself(self, ran: Any, shipped: Path) -> None:
        code, output, errors = ran("diff", shipped, shipped)
        assert (code, errors) == (0, "")
        assert output == f"{shipped} and {shipped} say the same: 13 strategies compared\n"

    @pytest.mark.libreoffice
    def test_neither_layout_nor_the_program_that_saved_it_matters(
        self, compared: Compared, opened: Any, tmp_path: Path
    ) -> None:
        opened.sheets["Analysis"]["200:203"].insert("down")
        opened.sheets["Analysis"]["H:I"].insert("right")
        opened.sheets["Hardware"]["8:8"].insert("down")
        opened.save(tmp_path / "moved.xlsx")
        found = compared(tmp_path / "moved.xlsx")
        assert found["equal"]
        assert (len(found["compared"]), found["remarks"]) == (13, [])

    def test_a_catalogue_row_that_nobody_uses_does_not_matter(
        self, compared: Compared, typed: Any, grids: Mapping[str, reader.Grid]
    ) -> None:
        assert compared(typed({catalogue_cell(grids["Hardware"], "H20 96GB", "hbm_measured"): 1e12}))["equal"]

    def test_a_look_up_typed_over_with_its_own_value_does_not_matter(
        self, compared: Compared, typed: Any, rows: reader.ModelRows
    ) -> None:
        assert compared(typed({rows.place("hbm_measured", OWN): 3e12}))["equal"]

    def test_a_formula_changed_by_hand_is_no_input_but_told(
        self, compared: Compared, typed: Any, rows: reader.ModelRows
    ) -> None:
        file = typed({rows.place("hbm_time", OWN): "=1+1", rows.place("compute_time", OWN): 5})
        found = compared(file)
        assert found["equal"]
        said = f"{file} has 2 formulas changed by hand, which is no input: see solbook audit {file}"
        assert found["remarks"] == [said]

    def test_stale_values_are_told_and_not_compared(
        self, compared: Compared, rewritten: Any, rows: reader.ModelRows
    ) -> None:
        file = rewritten({rows.place(key, OWN)[1]: 99 for key in ("hbm_time", "compute_time")})
        found = compared(file)
        assert found["equal"]
        assert found["remarks"] == [
            f"{file} has 2 stored values not what Python computes from the inputs: see solbook audit {file}"
        ]


class TestInputs:
    def test_one_edited_input_is_the_only_one_and_makes_all_of_the_change(
        self, compared: Compared, typed: Any, rows: reader.ModelRows
    ) -> None:
        found = compared(typed({rows.place("scale_out_measured", OWN): 25e9}))
        (changed,) = found["inputs"]
        assert (changed["key"], changed["old"], changed["new"]) == ("scale_out_measured", 50e9, 25e9)
        assert (changed["strategies"], changed["where"]) == ([OWN], "typed over in Analysis")
        ((name, changes),) = found["strategies"].items()
        assert name == OWN
        results = {each["key"]: each for each in changes["results"]}
        assert results["step_time_lower_bound"]["through"][0]["share"] == 1
        everything = {each["key"]: each for title in changes for each in changes[title]}
        assert everything["scale_out_time"]["relative"] == pytest.approx(1, abs=0.001)  # half the rate, twice as long
        reached = analysis.between({"scale_out_measured"}, list(analysis.quantities))
        assert everything.keys() <= set(reached)
        assert ("bound", "compute", "scale-out") in [(v["key"], v["old"], v["new"]) for v in changes["verdicts"]]

    def test_another_device_is_told_by_name_and_by_the_numbers_behind_it(
        self, compared: Compared, on_h100: Path
    ) -> None:
        found = compared(on_h100)
        told, forty = found["inputs"]
        assert (told["key"], told["old"], told["new"]) == ("hardware", "H800 SXM5 80GB", "H100 SXM5 80GB")
        assert (len(told["strategies"]), forty["old"]) == (12, "H800 SXM5 80GB at 40 GB/s")
        files = [
            tomllib.loads((templates_directory() / "hardware" / f"{name}.toml").read_text(encoding="utf-8"))
            for name in ("h800-sxm5-80gb", "h100-sxm5-80gb")
        ]
        behind = {each["key"]: (each["old"], each["new"]) for each in told["behind"]}
        assert behind["scale_up_peak"] == (200e9, 450e9)  # NVLink of 400 and 900 GB/s, both directions
        numbers = [{key: number["value"] for key, number in file.items() if isinstance(number, dict)} for file in files]
        assert behind == {
            key: (numbers[0].get(key, 0), numbers[1].get(key, 0))
            for key in numbers[0] | numbers[1]
            if key in analysis.quantities and numbers[0].get(key) != numbers[1].get(key)
        }

    def test_values_are_those_of_a_study_on_the_other_device(self, compared: Compared, on_h100: Path) -> None:
        found = compared(on_h100)["strategies"]
        old, new = studies.load().values, studies.load(hardware="h100-sxm5-80gb").values
        for strategy, changes in found.items():
            said = {each["key"]: (each["old"], each["new"]) for title in changes for each in changes[title]}
            assert said == {
                key: (old[strategy][key], value)
                for key, value in new[strategy].items()
                if analysis[key].kind not in GIVEN
                and value != old[strategy][key]
                and not (isinstance(value, float) and value == pytest.approx(old[strategy][key], rel=1e-9, abs=0))
            }

    def test_a_number_typed_over_is_told_for_itself_beside_another_device(
        self, compared: Compared, on_h100: Path, rows: reader.ModelRows, tmp_path: Path
    ) -> None:
        book = load_workbook(on_h100)
        sheet, cell = rows.place("hbm_measured", OWN)
        book[sheet][cell] = 2e12
        book.save(tmp_path / "typed.xlsx")
        told = {each["key"]: each for each in compared(tmp_path / "typed.xlsx", "--strategy", OWN)["inputs"]}
        assert (told["hbm_measured"]["old"], told["hbm_measured"]["new"]) == (3e12, 2e12)
        assert "hbm_measured" not in {each["key"] for each in told["hardware"]["behind"]}

    def test_a_constant_and_a_catalogue_row_in_use_are_inputs_of_all_strategies(
        self, compared: Compared, typed: Any, grids: Mapping[str, reader.Grid]
    ) -> None:
        constant = grids["Constants"].place(*grids["Constants"].listed("Key", "Value")["activation_accesses"])
        device = catalogue_cell(grids["Hardware"], "H800 SXM5 80GB", "hbm_measured")
        found = compared(typed({constant: 3, device: 2e12}))
        told = {each["key"]: each for each in found["inputs"]}
        assert told.keys() == {"activation_accesses", "hbm_measured"}
        assert told["activation_accesses"]["strategies"] == found["compared"]
        assert told["hbm_measured"]["where"] == "row 'H800 SXM5 80GB' of Hardware"
        assert len(told["hbm_measured"]["strategies"]) == 12  # one runs on another device

    def test_a_text_for_a_number_is_told(self, compared: Compared, typed: Any, rows: reader.ModelRows) -> None:
        file = typed({rows.place("devices", OWN): "many"})
        found = compared(file)
        assert found["inputs"][0]["new"] == "#VALUE!"
        assert "devices is 'many': write a number in device" in found["remarks"][0]
        assert {"bound", "memory_fits"} <= {each["key"] for each in found["strategies"][OWN]["verdicts"]}

    def test_a_renamed_strategy_is_in_one_file_only(
        self, compared: Compared, typed: Any, rows: reader.ModelRows
    ) -> None:
        found = compared(typed({rows.grid.place(rows.head, rows.columns["ZeRO-1"]): "Mine"}))
        assert (found["only_in_first"], found["only_in_second"], found["inputs"]) == (["ZeRO-1"], ["Mine"], [])
        assert not found["equal"]


class TestThrough:
    def test_what_two_inputs_do_alone_multiplies_up(
        self, compared: Compared, typed: Any, rows: reader.ModelRows
    ) -> None:
        """Twice the price and half as many tokens more: 3 times the cost."""
        edits = {rows.place("device_hour_price", OWN): 4, rows.place("training_tokens", OWN): 22.2e12}
        (cost,) = [
            each for each in compared(typed(edits))["strategies"][OWN]["results"] if each["key"] == "training_cost"
        ]
        assert cost["new"] / cost["old"] == pytest.approx(3)
        alone = {each["input"]: (each["alone"] / cost["old"], each["share"]) for each in cost["through"]}
        assert alone["device_hour_price"] == pytest.approx((2, 0.5))
        assert alone["training_tokens"] == pytest.approx((1.5, 0.25))

    def test_parts_that_add_up_add_up(self, compared: Compared, typed: Any, rows: reader.ModelRows) -> None:
        """Memory is a sum: an allowance and what recomputation keeps do not touch each other."""
        edits = {rows.place("memory_allowance", OWN): 5e9, rows.place("recomputation", OWN): "full"}
        (memory,) = [
            each for each in compared(typed(edits))["strategies"][OWN]["results"] if each["key"] == "device_memory"
        ]
        parts = {each["input"]: each["alone"] - memory["old"] for each in memory["through"]}
        assert parts["memory_allowance"] == pytest.approx(5e9 - analysis["memory_allowance"].value)
        assert sum(each["share"] for each in memory["through"]) == pytest.approx(1)

    def test_many_inputs_are_told_with_the_last_ones_together(
        self, compared: Compared, typed: Any, rows: reader.ModelRows
    ) -> None:
        values = studies.load().values[OWN]
        rates = [q.name for q in analysis if "Hardware.name" in q.ingredients and q.unit.endswith("/s")]
        edits = {rows.place(key, OWN): values[key] * 1.5 for key in rates if values[key]}
        edits |= {rows.place(key, OWN): values[key] / 1.5 for key in ("scale_up_latency", "scale_out_latency")}
        edits |= {rows.place(key, OWN): values[key] * 2 for key in ("device_hour_price", "training_tokens")}
        assert len(edits) > MOST_PARTS
        results = {each["key"]: each for each in compared(typed(edits))["strategies"][OWN]["results"]}
        assert results["step_time_lower_bound"]["relative"] == pytest.approx(1 / 1.5 - 1)  # every clock is faster
        for result in results.values():
            assert 0 < len(result["through"]) <= MOST_PARTS
        assert OTHERS in {each["input"] for each in results["step_time_upper_bound"]["through"]}


class TestOrder:
    def test_verdicts_that_flip_come_first(self, solbook: Any, shipped: Path, on_h100: Path) -> None:
        """With NVLink of 900 GB/s instead of 400 it is no longer NVLink that binds."""
        said = solbook("diff", shipped, on_h100)
        assert said.returncode == 1
        titles = ("Verdicts that flip", "Inputs that differ", "Results", "Other quantities that change most")
        places = [said.stdout.index(f"{title} ") for title in titles]
        assert places == sorted(places)
        first = next(line for line in said.stdout.splitlines() if line.startswith("│"))
        assert [part.strip() for part in first.strip("│").split("│")] == [
            NVLINK_BOUND, "Bound by", "scale-up", "scale-out", "", "hardware",
        ]  # fmt: skip

    def test_the_fastest_strategy_is_a_verdict(self, compared: Compared, typed: Any, rows: reader.ModelRows) -> None:
        names = [name for name in rows.columns if name.startswith(OWN)]
        found = compared(typed({rows.place("memory_allowance", name): 1e12 for name in names}))
        assert found["fastest"]["old"] in names
        assert found["fastest"]["new"] not in names
        fits = {name: [(v["key"], v["new"]) for v in found["strategies"][name]["verdicts"]] for name in names}
        assert all(("memory_fits", "no") in told for told in fits.values())

    def test_other_quantities_are_ranked(self, compared: Compared, on_h100: Path) -> None:
        others = compared(on_h100)["strategies"][NVLINK_BOUND]["others"]
        sizes = [abs(each["new"] - each["old"]) / max(abs(each["new"]), abs(each["old"])) for each in others]
        turn = next(n for n in range(1, len(sizes)) if sizes[n] > sizes[n - 1])  # after those of the Summary
        assert sizes[turn:] == sorted(sizes[turn:], reverse=True)


class TestChosen:
    def test_one_strategy_alone(self, compared: Compared, on_h100: Path) -> None:
        found = compared(on_h100, "--strategy", OWN.upper())
        assert list(found["strategies"]) == found["compared"] == [OWN]
        assert all(each["strategies"] == [OWN] for each in found["inputs"])

    def test_two_strategies_of_one_file(self, compared: Compared, shipped: Path) -> None:
        found = compared(shipped, "--between", "PP16 EP64 ZeRO-1 1F1B", OWN)
        assert {each["key"] for each in found["inputs"]} == {
            key
            for key in analysis.quantities
            if key in studies.load().strategies[OWN]
            and studies.load().values[OWN][key] != studies.load().values["PP16 EP64 ZeRO-1 1F1B"][key]
        }
        schedule = next(each for each in found["inputs"] if each["key"] == "pipeline_schedule")
        assert (schedule["old"], schedule["new"]) == ("1F1B", "DualPipe")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--strategy", "ZeRO-9"), "has no strategy 'ZeRO-9': did you mean 'ZeRO-1'"),
            (("--between", OWN, "ZeRO-9"), "has no strategy 'ZeRO-9'"),
            (("--between", OWN, OWN, "--strategy", OWN), "exclude each other"),
        ],
    )
    def test_what_cannot_be_compared_is_one_line(
        self, ran: Any, shipped: Path, options: tuple[str, ...], words: str
    ) -> None:
        code, output, errors = ran("diff", shipped, shipped, *options)
        assert (code, output, errors.count("\n")) == (2, "", 1)
        assert words in errors

    def test_a_file_that_is_no_workbook_is_told(self, ran: Any, shipped: Path, tmp_path: Path) -> None:
        (tmp_path / "text.xlsx").write_text("no workbook")
        code, output, errors = ran("diff", shipped, tmp_path / "text.xlsx")
        assert (code, output, errors.count("\n")) == (2, "", 1)
        assert "text.xlsx" in errors


def test_what_rises_from_below_0_has_no_per_cent() -> None:
    assert relative(-10.0, 5.0) is None
    assert relative(10.0, -5.0) == -1.5
