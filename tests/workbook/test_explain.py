"""`solbook explain`: what a cell or a quantity of a file means, against hand arithmetic, sources and edits."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyxl import reader
from pyxl.cells import letter
from pyxl.quantity import Kind
from pyxl.workbook_file import read
from workbook.analysis import analysis

OWN = "PP16 EP64 ZeRO-1 DualPipe"

Explained = Callable[..., dict[str, Any]]


@pytest.fixture
def explained(ran: Any, shipped: Path) -> Explained:
    """The JSON of an explanation, of a quantity of OWN in the shipped workbook if not told otherwise."""

    def explain(query: str, *options: str, file: Path = shipped, strategy: str | None = OWN) -> dict[str, Any]:
        chosen = ("--strategy", strategy) if strategy else ()
        code, output, errors = ran("explain", file, query, *chosen, *options, "--json")
        assert (code, errors) == (0, "")
        return json.loads(output)  # type: ignore[no-any-return]

    return explain


def below(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield tree
    for term in tree.get("terms", ()):
        yield from below(term)


def term(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The line of a key in the tree that says all about it."""
    (line,) = [each for each in below(found["tree"]) if each["key"] == key and "see" not in each.get("rest", "")]
    return line


class TestMeaning:
    def test_the_leaves_give_the_root_by_hand(self, explained: Explained) -> None:
        found = explained("tokens_per_device")
        assert found["tree"]["formula"] == "step_tokens / world_size"
        assert found["tree"]["with_values"] == "62914560 / 2048 = 30720"
        batch, sequence = (term(found, key)["value"] for key in ("global_batch_size", "sequence_length"))
        assert (batch, sequence, found["tree"]["unit"]) == (15360, 4096, "token")
        assert found["tree"]["value"] == batch * sequence / 2048

    def test_a_label_will_do_and_hugging_face_counts_the_same(self, explained: Explained) -> None:
        found = explained("total parameters")
        assert found["tree"]["value"] == sum(each["value"] for each in found["tree"]["terms"]) == 671_026_404_352

    def test_leaves_say_where_they_stand_and_where_they_are_from(
        self, explained: Explained, grids: Mapping[str, reader.Grid], rows: reader.ModelRows
    ) -> None:
        found = explained("hbm_time", "--depth", "9")
        (row,) = [row for row, name in grids["Hardware"].column(1) if name == "H800 SXM5 80GB"]
        ((_, column),) = grids["Hardware"].find("hbm_measured")
        cell = f"Hardware!{letter(column)}{row}"
        origin = term(found, "hbm_measured")["origin"]
        assert origin.startswith(f"{cell}, 'H800 SXM5 80GB' of Hardware: measured: deepseek-ai/FlashMLA")
        assert grids["Hardware"].cells[row, column] == term(found, "hbm_measured")["value"]
        constants = grids["Constants"].listed("Key", "Value")
        line, number = constants["activation_accesses"]
        place = f"Constants!{letter(number)}{line}"
        assert (
            term(found, "activation_accesses")["origin"]
            == f"constant, {place}: {analysis['activation_accesses'].source}"
        )
        sheet, address = rows.place("pipeline_parallel_size", OWN)
        assert term(found, "pipeline_parallel_size")["origin"] == f"input, {sheet}!{address}"

    def test_what_moves_it_most_is_known_by_hand(self, explained: Explained) -> None:
        moved = {each["key"]: each["elasticity"] for each in explained("scale_out_ceiling")["movers"]}
        assert moved == {"scale_out_measured": 1.0}
        shares = [each["elasticity"] for each in explained("tokens_per_device")["movers"]]
        assert sorted(shares) == [-1, 1, 1]  # devices, batch, sequence length

    def test_without_a_strategy_it_is_the_one_that_the_summary_names(
        self, explained: Explained, shipped: Path, grids: Mapping[str, reader.Grid]
    ) -> None:
        found = explained("bound", strategy=None)
        place = grids["Summary"].beside("Fastest strategy that fits in memory")
        assert place
        assert found["strategy"] == read(shipped).stored[grids["Summary"].place(*place)]
        assert "fastest that fits" in found["remark"]

    def test_the_only_strategy_needs_no_name(self, explained: Explained, solbook: Any, tmp_path: Path) -> None:
        (tmp_path / "one.toml").write_text('title = "One"\n[strategies."Alone"]\nmicro_batch_size = 7.5\n')
        solbook("build", tmp_path / "one.toml", "-o", tmp_path / "one.xlsx")
        found = explained("bound", file=tmp_path / "one.xlsx", strategy=None)
        assert (found["strategy"], found["remark"]) == ("Alone", "")

    def test_a_constant_is_that_of_all_strategies(self, explained: Explained) -> None:
        found = explained("flops_per_multiply_add", strategy=None)
        assert found["strategy"] == "all strategies"
        assert (found["tree"]["value"], found["cell"]) == (2, "Constants!B6")


class TestCells:
    @pytest.mark.parametrize(
        "form", ["Analysis!{}", "'Analysis'!{}", "analysis!{}", "$Analysis!{}", "{}", "Analysis!${}"]
    )
    def test_an_address_may_be_written_in_many_ways(
        self, explained: Explained, rows: reader.ModelRows, form: str
    ) -> None:
        address = rows.place("hbm_time", OWN)[1]
        for written in (address, address.lower(), f"{letter(rows.columns[OWN])}${rows.rows['hbm_time']}"):
            found = explained(form.format(written), strategy=None)
            assert (found["tree"]["key"], found["strategy"]) == ("hbm_time", OWN)

    def test_a_cell_of_the_summary_is_its_quantity(
        self, explained: Explained, grids: Mapping[str, reader.Grid]
    ) -> None:
        grid = grids["Summary"]
        top, column = grid.find("MFU")[0]
        line = next(row for row, _ in grid.column(column) if row > top)
        found = explained(f"Summary!{grid.place(line, column)[1]}", strategy=None)
        assert found["tree"]["key"] == "model_flops_utilization"
        assert found["strategy"] == "Data parallel (DDP)"

    def test_a_number_of_the_catalogue_names_its_source(
        self, explained: Explained, grids: Mapping[str, reader.Grid]
    ) -> None:
        row = next(row for row, name in grids["Hardware"].column(1) if name == "H800 SXM5 80GB")
        found = explained(f"hardware!c{row}", strategy=None)
        assert found["tree"]["source"].startswith("datasheet: ")


class TestTree:
    def test_each_quantity_has_its_terms_once_however_deep(self, explained: Explained) -> None:
        found = explained("step_time_lower_bound", "--depth", "99")
        lines = list(below(found["tree"]))
        opened = [each["key"] for each in lines if "terms" in each]
        assert len(opened) == len(set(opened))
        needed = analysis.order(["step_time_lower_bound"])
        computed = {key for key in needed if analysis[key].kind in (Kind.CALCULATION, Kind.CHECK)}
        assert set(opened) == computed
        assert len(lines) < 5 * len(needed)
        assert not [each for each in lines if "terms" not in each and not {"origin", "rest"} & each.keys()]

    def test_it_goes_as_deep_as_is_asked(self, explained: Explained) -> None:
        def depth(tree: Mapping[str, Any]) -> int:
            return 1 + max(map(depth, tree["terms"])) if "terms" in tree else 0

        assert [depth(explained("step_time_lower_bound", "--depth", n)["tree"]) for n in "13"] == [1, 3]
        cut = explained("hbm_time", "--depth", "1")["tree"]["terms"]
        assert [each["rest"] for each in cut] == ["from 4 more", "from 3 more"]

    def test_a_series_shows_what_is_not_ok(self, explained: Explained, typed: Any, rows: reader.ModelRows) -> None:
        assert term(explained("failed_checks"), "checks")["value"] == "35 of 35 OK"
        file = typed({rows.place("expert_parallel_size", OWN): 7})
        found = term(explained("failed_checks", file=file), "checks")
        failing = {each["key"] for each in found["terms"]}
        assert "check_experts" in failing
        assert found["value"] == f"{35 - len(failing)} of 35 OK"

    def test_it_is_a_tree_on_the_terminal(self, solbook: Any, shipped: Path) -> None:
        said = solbook("explain", shipped, "step_time_lower_bound", "--strategy", OWN, "--depth", "3")
        assert said.returncode == 0
        assert "Formula          largest of (pipeline_time, " in said.stdout
        assert "│   └── hbm_ceiling = 3000000000000 byte/s  HBM ceiling" in said.stdout
        assert "see above" in said.stdout
        assert "Moves it most" in said.stdout


class TestEditedFiles:
    def test_what_was_typed_over_is_told_and_python_computes_on(
        self, explained: Explained, typed: Any, rows: reader.ModelRows
    ) -> None:
        file = typed({rows.place("compute_time", OWN): 5, rows.place("hbm_measured", OWN): 2e12})
        found = explained("step_time_lower_bound", "--depth", "9", file=file)
        assert term(found, "compute_time")["shown"] == 5
        assert term(found, "compute_time")["remark"] == "typed over"
        assert term(found, "compute_time")["value"] == term(explained("compute_time"), "compute_time")["value"]
        assert term(found, "hbm_ceiling")["value"] == 2e12
        sheet, cell = rows.place("hbm_measured", OWN)
        assert term(found, "hbm_measured")["origin"].startswith(f"typed over in {sheet}!{cell}, in place of Hardware!")

    def test_a_changed_formula_is_told_in_names(self, explained: Explained, typed: Any, rows: reader.ModelRows) -> None:
        bytes_cell, ceiling = (rows.place(key, OWN)[1] for key in ("hbm_bytes", "hbm_ceiling"))
        file = typed({rows.place("hbm_time", OWN): f"={bytes_cell}*2/{ceiling}"})
        found = explained("hbm_time", file=file)
        assert found["tree"]["remark"] == "the formula was changed to hbm_bytes*2/hbm_ceiling"

    def test_a_value_that_was_not_recalculated_is_told(
        self, explained: Explained, rewritten: Any, rows: reader.ModelRows
    ) -> None:
        found = explained("step_time_lower_bound", file=rewritten({rows.place("hbm_time", OWN)[1]: 99}))
        assert term(found, "hbm_time")["shown"] == 99
        assert term(found, "hbm_time")["remark"] == "not recalculated"
        assert "remark" not in found["tree"]

    def test_an_edited_constant_says_what_it_was(
        self, explained: Explained, typed: Any, grids: Mapping[str, reader.Grid]
    ) -> None:
        place = grids["Constants"].listed("Key", "Value")["activation_accesses"]
        file = typed({grids["Constants"].place(*place): 3})
        found = explained("activation_hbm_bytes", file=file)
        assert ", in place of 2: " in term(found, "activation_accesses")["origin"]

    def test_a_formula_without_a_value_is_refused(self, ran: Any, typed: Any, rows: reader.ModelRows) -> None:
        place = rows.place("devices", OWN)
        code, _, errors = ran("explain", typed({place: "=2*1024"}), "bound")
        assert code == 2
        assert f"{place[0]}!{place[1]} holds a formula and the file has no value for it" in errors


@pytest.mark.libreoffice
class TestSavedByLibreOffice:
    def test_rows_and_columns_may_have_moved_and_catalogues_hold_formulas(
        self,
        explained: Explained,
        opened: Any,
        grids: Mapping[str, reader.Grid],
        rows: reader.ModelRows,
        tmp_path: Path,
    ) -> None:
        before = explained("hbm_time", "--depth", "9")
        row = next(row for row, name in grids["Hardware"].column(1) if name == "H800 SXM5 80GB")
        column = grids["Hardware"].find("hbm_measured")[0][1]
        opened.sheets["Hardware"].range((row, column)).formula = "=6E12/2"
        opened.sheets["Analysis"]["200:203"].insert("down")
        opened.sheets["Analysis"]["H:I"].insert("right")
        opened.save(tmp_path / "moved.xlsx")
        found = explained("hbm_time", "--depth", "9", file=tmp_path / "moved.xlsx")
        values = [[(each["key"], each["value"]) for each in below(tree["tree"])] for tree in (before, found)]
        assert values[0] == values[1]
        assert "=6" in term(found, "hbm_measured")["origin"]
        assert not [each["key"] for each in below(found["tree"]) if {"shown", "remark"} & each.keys()]
        assert found["cell"] != before["cell"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("step_time_lower_bond", "did you mean 'step_time_lower_bound'"),
        ("Output head", "is the label of head_level and of head_parameters: give one of these keys"),
        ("Analysis!ZZ99", "Analysis!ZZ99 holds no quantity"),
        ("Analysis!A1", "Analysis!A1 holds no quantity"),
        ("About!B7", "About!B7 holds no quantity"),
        ("Anlysis!G40", "there is no sheet 'Anlysis': did you mean 'Analysis'?"),
        ("", "'' is neither a quantity nor a cell"),
    ],
)
def test_what_is_not_there_is_one_line(ran: Any, shipped: Path, query: str, words: str) -> None:
    code, output, errors = ran("explain", shipped, query)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert words in errors


def test_an_unknown_strategy_is_told_with_close_ones(ran: Any, shipped: Path) -> None:
    code, _, errors = ran("explain", shipped, "bound", "--strategy", "zero-3 ep")
    assert code == 2
    assert "did you mean 'ZeRO-3 EP64'" in errors
    code, _, errors = ran("explain", shipped, "G40", "--strategy", OWN)
    assert code == 2
    assert "leave out --strategy" in errors


def test_a_file_that_is_no_workbook_is_told(ran: Any, tmp_path: Path) -> None:
    (tmp_path / "text.xlsx").write_text("no workbook")
    for name in ("text.xlsx", "missing.xlsx"):
        code, output, errors = ran("explain", tmp_path / name, "bound")
        assert (code, output, errors.count("\n")) == (2, "", 1)
        assert name in errors
