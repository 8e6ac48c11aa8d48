"""The add-in's actions on the shipped workbook, open in a real LibreOffice: each finds exactly what was done."""

import datetime
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import xlwings as xw

from pyxl.cells import letter
from pyxl.errors import UserError
from workbook import addin, study
from workbook.addin.actions import ACTIONS
from workbook.addin.opened import opened
from workbook.addin.recomputation import CHANGED, DIFFERS, MISSING, NOT_UNDERSTOOD, OVERWRITTEN, Recomputation
from workbook.catalogue import templates_directory
from workbook.comparison import NO_FORMULAS
from workbook.sheets.checks import ENGINE
from workbook.verify import differences

pytestmark = pytest.mark.libreoffice

OWN = "PP16 EP64 ZeRO-1 DualPipe"
Cell = Callable[[str, str], xw.Range]


@pytest.fixture
def book(app: xw.App, shipped: Path, tmp_path: Path) -> Iterator[xw.Book]:
    """A copy of the shipped workbook, open."""
    path = tmp_path / "shipped.xlsx"
    shutil.copyfile(shipped, path)
    opened_book = app.books.open(path)
    yield opened_book
    opened_book.close()


@pytest.fixture
def cell(book: xw.Book) -> Cell:
    """The cell of a quantity of a strategy, as it was when the workbook was opened."""
    rows = opened(book).inputs.rows

    def find(quantity: str, strategy: str = OWN) -> xw.Range:
        return book.sheets["Analysis"].range((rows.rows[quantity], rows.columns[strategy]))

    return find


def causes(found: Recomputation) -> list[tuple[str, str, str]]:
    """Strategy, quantity and verdict of all that is to be mended."""
    return [(line.difference.strategy, line.difference.quantity, line.verdict) for line in found.causes]


def engine_line(book: xw.Book) -> Any:
    """What the sheet Checks says of the Python engine."""
    checks = book.sheets["Checks"].used_range.value
    return next(row[1] for row in checks if row[0] == ENGINE.name)


def renamed_device(folder: Path) -> Path:
    """A file of a device that does not ship."""
    text = (templates_directory() / "hardware" / "h800-sxm5-80gb.toml").read_text(encoding="utf-8")
    path = folder / "my.toml"
    path.write_text(text.replace('name = "H800 SXM5 80GB"', 'name = "My GPU"'), encoding="utf-8")
    return path


def engine_line_anywhere(book: xw.Book) -> Any:
    """The same, wherever its columns stand."""
    row = next(row for row in book.sheets["Checks"].used_range.value if ENGINE.name in row)
    return row[row.index(ENGINE.name) + 1] or row[row.index(ENGINE.name) + 2]


class TestRecompute:
    def test_a_fresh_workbook_agrees_and_says_so(self, book: xw.Book) -> None:
        found = addin.recompute(book)
        assert found.verdict == engine_line(book) == book.sheets["Summary"]["B3"].value == "OK"
        assert str(found) == f"All {len(found.lines):,} values agree with the Python engine."
        assert not found.remarks
        shown = book.sheets["Engine"].used_range.value
        assert len(shown) > len(found.lines) > 13_000
        assert [row[8] for row in shown].count("agrees") + [row[8] for row in shown].count("input") == len(found.lines)

    def test_edited_inputs_moved_rows_and_inserted_columns_are_no_difference(self, book: xw.Book, cell: Cell) -> None:
        cell("devices", OWN).value = 1024
        cell("scale_out_measured", OWN).value = 40e9
        analysis = book.sheets["Analysis"]
        row = cell("compute_time").row
        analysis.range("300:300").insert("down")
        moved = analysis.range(f"{row + 1}:{row + 1}").impl.api.RangeAddress
        analysis.impl.api.moveRange(analysis.range("A300").impl.api.getCellByPosition(0, 0).CellAddress, moved)
        analysis.range("D:D").insert("right")
        found = addin.recompute(book)
        assert causes(found) == []
        assert found.verdict == "OK"
        assert opened(book).inputs.strategies[OWN]["scale_out_measured"] == 40e9
        assert opened(book).inputs.rows.rows["compute_time"] == 300

    def test_a_number_typed_over_a_formula_is_found(self, book: xw.Book, cell: Cell) -> None:
        where = cell("compute_time")
        where.value = 1.5
        found = addin.recompute(book)
        assert causes(found) == [(OWN, "compute_time", OVERWRITTEN)]
        assert "it should be " in found.causes[0].difference.why
        assert found.followers > 5
        assert engine_line(book).startswith("1 thing to mend")
        assert book.sheets["Summary"]["B3"].value == "see the sheet Checks"

    def test_a_changed_formula_is_found_and_told_in_names(self, book: xw.Book, cell: Cell) -> None:
        where = cell("scale_out_bytes")
        where.formula = where.formula + "*2"
        found = addin.recompute(book)
        assert causes(found) == [(OWN, "scale_out_bytes", CHANGED)]
        assert found.causes[0].difference.why.startswith("the formula is ")
        assert "*2: it should be " in found.causes[0].difference.why

    def test_a_changed_formula_that_gives_the_same_is_found(self, book: xw.Book, cell: Cell) -> None:
        where = cell("scale_out_bytes")
        where.formula = where.formula + "*1"
        found = addin.recompute(book)
        assert causes(found) == [(OWN, "scale_out_bytes", CHANGED)]
        assert "happens to give the same" in found.causes[0].difference.why

    def test_a_deleted_row_is_found_and_what_needs_it_follows(self, book: xw.Book, cell: Cell) -> None:
        row = cell("scale_out_bytes").row
        book.sheets["Analysis"].range(f"{row}:{row}").delete("up")
        found = addin.recompute(book)
        assert causes(found) == [("all", "scale_out_bytes", MISSING)]
        assert found.followers > 5

    @pytest.mark.parametrize(
        ("quantity", "value", "words"),
        [
            ("devices", "many", "devices is 'many': write a number in device"),
            ("devices", None, "the cell is empty: write a number"),
            ("zero_stage", "ZeRO-9", "zero_stage is 'ZeRO-9': "),
            ("zero_stage", None, "the cell is empty: choose a name"),
            ("hardware", "H900", "hardware is 'H900': "),
        ],
    )
    def test_an_input_that_makes_no_sense_is_not_understood(
        self, book: xw.Book, cell: Cell, quantity: str, value: Any, words: str
    ) -> None:
        where = cell(quantity)
        where.value = value
        found = addin.recompute(book)
        assert causes(found) == [(OWN, quantity, NOT_UNDERSTOOD)]
        assert words in found.causes[0].difference.why
        assert where.value == value

    def test_manual_calculation_is_told_from_a_broken_formula(self, book: xw.Book, cell: Cell) -> None:
        book.app.calculation = "manual"
        try:
            cell("devices").value = 1024
            found = addin.recompute(book)
        finally:
            book.app.calculation = "automatic"
        assert {line.verdict for line in found.causes} == {DIFFERS}
        assert "calculation is set to manual" in found.causes[0].difference.why

    @pytest.mark.parametrize("quantity", ["compute_time", "hbm_peak"])
    def test_an_emptied_formula_is_found(self, book: xw.Book, cell: Cell, quantity: str) -> None:
        cell(quantity).clear_contents()
        found = addin.recompute(book)
        assert causes(found) == [(OWN, quantity, MISSING)]
        assert found.causes[0].difference.why.startswith("the cell is empty: it should be ")

    def test_a_text_for_a_number_hides_nothing_that_was_done_elsewhere(self, book: xw.Book, cell: Cell) -> None:
        cell("sequence_length", "HSDP 64 x 32").value = "four"
        cell("compute_time").value = 1.5
        cell("micro_batch_size", "ZeRO-1").value = -1
        assert sorted(causes(addin.recompute(book))) == [
            ("HSDP 64 x 32", "sequence_length", NOT_UNDERSTOOD),
            (OWN, "compute_time", OVERWRITTEN),
            ("ZeRO-1", "micro_batch_size", NOT_UNDERSTOOD),
        ]

    def test_a_deleted_or_emptied_constant_is_found(self, book: xw.Book) -> None:
        constants = book.sheets["Constants"]
        rows = {key: row for row, key in enumerate(constants.range("A1:A40").value, 1)}
        constants.range((rows["relative_tolerance"], 2)).clear_contents()
        constants.range(f"{rows['flops_per_multiply_add']}:{rows['flops_per_multiply_add']}").delete("up")
        found = addin.recompute(book)
        assert {(line.difference.quantity, line.verdict) for line in found.causes} == {
            ("flops_per_multiply_add", MISSING),
            ("", NOT_UNDERSTOOD),
        }

    @pytest.mark.parametrize("column", ["A", "B"])
    def test_columns_inserted_on_other_sheets_are_no_difference(self, book: xw.Book, column: str) -> None:
        for title in ("Constants", "Checks", "Hardware", "Choices", "Roofline", "Summary", "Elasticities"):
            book.sheets[title].range(f"{column}:{column}").insert("right")
        assert causes(addin.recompute(book)) == []
        assert set(book.sheets["Checks"].range(f"{column}1:{column}99").value) == {None}
        assert engine_line_anywhere(book) == "OK"

    def test_one_edited_look_up_does_not_condemn_its_table(self, book: xw.Book, cell: Cell) -> None:
        where = cell("hbm_peak")
        where.formula = re.sub(r"\$(\d+)", lambda row: f"${int(row[1]) + 2}", where.formula)
        assert causes(addin.recompute(book)) == [(OWN, "hbm_peak", CHANGED)]

    def test_an_input_may_hold_a_formula(self, book: xw.Book, cell: Cell) -> None:
        cell("devices").formula = "=2*512"
        found = addin.recompute(book)
        assert causes(found) == []
        assert opened(book).inputs.strategies[OWN]["devices"] == 1024

    def test_a_date_is_the_number_that_it_stands_for(self, book: xw.Book, cell: Cell) -> None:
        cell("devices").value = datetime.date(1905, 8, 9)  # as Excel makes of "9/8/1905"
        addin.recompute(book)
        assert opened(book).inputs.strategies[OWN]["devices"] == 2048

    def test_notes_beside_the_strategies_are_one_thing_to_mend(self, book: xw.Book, cell: Cell) -> None:
        analysis = book.sheets["Analysis"]
        column = max(opened(book).inputs.rows.columns.values()) + 2
        analysis.range((4, column)).value = "todo"
        analysis.range((9, column)).value = "ask Ann"
        found = addin.recompute(book)
        assert [line.difference.why for line in found.causes] == [NO_FORMULAS]

    def test_a_strategy_may_be_named_by_a_number(self, book: xw.Book, cell: Cell) -> None:
        book.sheets["Analysis"].range((4, cell("devices").column)).value = 2024
        assert addin.recompute(book).verdict == "OK"

    def test_a_check_that_fails_is_told(self, book: xw.Book, cell: Cell) -> None:
        cell("expert_parallel_size").value = 7
        found = addin.recompute(book)
        assert causes(found) == []
        assert any("expert_parallel_size must divide" in remark for remark in found.remarks)

    @pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
    def test_a_saved_and_reopened_workbook_agrees(self, book: xw.Book, cell: Cell, tmp_path: Path, suffix: str) -> None:
        cell("devices").value = 1024
        cell("compute_time", "ZeRO-1").value = 1.5
        addin.recompute(book)
        path = tmp_path / f"saved{suffix}"
        book.save(path)
        again = book.app.books.open(path)
        try:
            assert causes(addin.recompute(again)) == [("ZeRO-1", "compute_time", OVERWRITTEN)]
            assert [sheet.name for sheet in again.sheets].count("Engine") == 1
        finally:
            if again.name != book.name:
                again.close()

    def test_a_workbook_of_another_version_is_told(self, book: xw.Book) -> None:
        about = book.sheets["About"]
        row = next(n for n, (_, text) in enumerate(about.range("A1:B30").value, 1) if str(text).startswith("solbook "))
        about.range((row, 2)).value = "solbook 0.0.1, from definitions in Python"
        found = addin.recompute(book)
        assert found.verdict == "OK"
        assert any("this workbook is of solbook 0.0.1" in remark for remark in found.remarks)
        models = book.sheets["Models"]
        models.range("B:B").delete("left")  # a column that this version looks up
        with pytest.raises(UserError, match=r"lacks the catalogue column .*; this workbook is of solbook 0\.0\.1"):
            addin.recompute(book)

    def test_a_sheet_that_somebody_called_engine_is_left_alone(self, book: xw.Book) -> None:
        own = book.sheets.add("Engine", after=book.sheets[-1])
        own["A1"].value = "mine"
        addin.recompute(book)
        assert own["A1"].value == "mine"
        assert book.sheets["Engine (solbook)"]["A1"].value == "Python engine"


class TestAddStrategy:
    def test_a_copy_has_the_values_of_its_source(self, book: xw.Book) -> None:
        said = addin.add_strategy(book, OWN, "Copy")
        assert said.startswith("'Copy' is a copy of ")
        values = opened(book).inputs.values()
        assert values["Copy"] == values[OWN]
        lines = [row[1:5] for row in book.sheets["Summary"].range("A9:E26").value]
        assert [line[1:] for line in lines if line[0] == "Copy"] == [line[1:] for line in lines if line[0] == OWN]
        assert addin.recompute(book).verdict == "OK"

    def test_the_copy_of_the_column_at_the_cursor_is_named_after_it(self, book: xw.Book, cell: Cell) -> None:
        book.sheets["Analysis"].activate()
        cell("devices").select()
        addin.add_strategy(book)
        assert f"{OWN} (2)" in opened(book).inputs.strategies

    def test_a_broken_formula_is_not_copied(self, book: xw.Book, cell: Cell) -> None:
        cell("compute_time").value = 1.5
        cell("scale_out_bytes").formula = "=1"
        addin.add_strategy(book, OWN, "Copy")
        found = addin.recompute(book)
        assert {line.difference.strategy for line in found.causes} == {OWN}

    def test_what_was_typed_over_a_look_up_is_copied(self, book: xw.Book, cell: Cell) -> None:
        cell("scale_out_measured").value = 40e9
        addin.add_strategy(book, OWN, "Copy")
        assert opened(book).inputs.strategies["Copy"]["scale_out_measured"] == 40e9

    def test_a_strategy_of_a_study_has_the_study_s_values(self, book: xw.Book) -> None:
        shipped_study = study.load("llama-3-70b-h100")
        name = next(iter(shipped_study.strategies))
        said = addin.add_strategy(book, "llama-3-70b-h100", name)
        assert f"'{name} (2)' of llama-3-70b-h100 is in column" in said  # the workbook has one of that name
        values = opened(book).inputs.values()[f"{name} (2)"]
        assert values["step_time_lower_bound"] == shipped_study.values[name]["step_time_lower_bound"]
        assert addin.recompute(book).verdict == "OK"

    def test_all_strategies_of_a_study_stand_side_by_side_with_their_rows(self, book: xw.Book, tmp_path: Path) -> None:
        text = 'title = "t"\n[common]\nmicro_batch_size = 7.5\nhardware = "H100 SXM5 80GB"\n'
        strategies = "".join(f'[strategies."No. {number}"]\ndevices = {256 * number}\n' for number in (1, 2, 4, 8))
        (tmp_path / "own.toml").write_text(text + strategies, encoding="utf-8")
        free = max(opened(book).inputs.rows.columns.values()) + 1
        addin.add_strategy(book, tmp_path / "own.toml")
        columns = opened(book).inputs.rows.columns
        assert [columns[f"No. {number}"] for number in (1, 2, 4, 8)] == list(range(free, free + 4))
        assert [opened(book).inputs.strategies[f"No. {number}"]["devices"] for number in (1, 8)] == [256, 2048]
        assert addin.recompute(book).verdict == "OK"

    def test_a_study_brings_rows_that_the_workbook_lacks(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        """Two devices of the study's own, each in a row of its own."""
        text = 'title = "t"\n[common]\nmicro_batch_size = 7.5\n'
        for name in ("One", "Two"):
            numbers = renamed_device(tmp_path).read_text(encoding="utf-8")
            tables = re.sub(r"^\[(\w+)\]", rf'[hardware."GPU {name}".\1]', numbers[numbers.index("[") :], flags=re.M)
            text += f'[strategies."{name}"]\nhardware = "GPU {name}"\n{tables}\n'
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        addin.add_strategy(book, tmp_path / "own.toml")
        names = [name for _, name in opened(book).sheets["Hardware"].column(1)]
        assert {"GPU One", "GPU Two"} <= set(names)
        assert addin.recompute(book).verdict == "OK"

    def test_a_study_with_other_numbers_for_a_row_is_refused(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        hardware = book.sheets["Hardware"]
        row = next(n for n, line in enumerate(hardware.used_range.value, 1) if line[0] == "H800 SXM5 80GB")
        before = hardware.range((row, 3)).value
        hardware.range((row, 3)).value = before / 2
        path = addin.export(book, tmp_path / "slow.toml", OWN)
        hardware.range((row, 3)).value = before
        with pytest.raises(UserError, match="with other values: rename one of the two"):
            addin.add_strategy(book, path)
        assert f"{OWN} (2)" not in opened(book).inputs.strategies

    def test_constants_that_differ_are_told(self, book: xw.Book, tmp_path: Path) -> None:
        text = 'title = "t"\n[common]\nmicro_batch_size = 7.5\nrelative_tolerance = 1e-7\n[strategies."S"]\n'
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        assert "The study sets relative_tolerance to 1e-07" in addin.add_strategy(book, tmp_path / "own.toml")

    def test_no_free_column_is_told_before_anything_is_written(self, book: xw.Book) -> None:
        for number in range(4):
            addin.add_strategy(book, OWN, f"Copy {number}")
        before = book.sheets["Analysis"].used_range.formula
        with pytest.raises(UserError, match="no free column"):
            addin.add_strategy(book, OWN, "One more")
        assert book.sheets["Analysis"].used_range.formula == before

    @pytest.mark.parametrize(
        ("source", "name", "words"),
        [
            (OWN, OWN.upper(), "the workbook has a strategy named"),
            (OWN, "=1", "spreadsheets read = as the start of a formula"),
            ("nope", None, "no study 'nope'"),
            ("llama-3-70b-h100", "nope", "has no strategy 'nope'"),
        ],
    )
    def test_what_cannot_be_added_is_told(self, book: xw.Book, source: str, name: str | None, words: str) -> None:
        with pytest.raises(UserError, match=words):
            addin.add_strategy(book, source, name)


class TestCatalogues:
    def test_a_device_of_a_file_is_in_the_drop_down_with_its_sources(
        self, book: xw.Book, cell: Cell, tmp_path: Path
    ) -> None:
        said = addin.add_hardware(book, renamed_device(tmp_path))
        assert said.startswith("'My GPU' is in row ")
        cell("hardware").value = "My GPU"
        found = addin.recompute(book)
        assert found.verdict == "OK"
        read = opened(book)
        assert read.inputs.values()[OWN]["step_time_lower_bound"] == study.load().values[OWN]["step_time_lower_bound"]
        row = next(row for row, name in read.sheets["Hardware"].column(1) if name == "My GPU")
        assert any(str(content).startswith("datasheet: ") for _, content in read.sheets["Hardware"].row(row))

    def test_a_model_of_a_config_is_in_the_drop_down(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        shipped = templates_directory() / "models" / "deepseek-v3.json"
        path = tmp_path / "my-model.json"
        path.write_text(shipped.read_text().replace('"num_hidden_layers": 61', '"num_hidden_layers": 31'))
        addin.add_model(book, path)
        read = opened(book)
        assert any("model" in str(name) for _, name in read.sheets["Models"].column(1))
        name = [str(name) for _, name in read.sheets["Models"].column(1)][-1]
        cell("model").value = name
        assert addin.recompute(book).verdict == "OK"
        assert opened(book).inputs.values()[OWN]["num_hidden_layers"] == 31

    def test_a_row_that_is_there_is_not_added_again(self, book: xw.Book) -> None:
        before = book.sheets["Hardware"].used_range.value
        assert addin.add_hardware(book, "h800-sxm5-80gb").endswith("already.")
        assert book.sheets["Hardware"].used_range.value == before

    def test_a_row_of_notes_is_not_written_over(self, book: xw.Book, tmp_path: Path) -> None:
        hardware = book.sheets["Hardware"]
        last = max(n for n, line in enumerate(hardware.used_range.value, 1) if line[0] is not None)
        hardware.range((last + 1, 4)).value = "my note"
        addin.add_hardware(book, renamed_device(tmp_path))
        assert hardware.range((last + 1, 1)).value is None
        assert hardware.range((last + 2, 1)).value == "My GPU"
        assert "NVIDIA" in str(hardware.range((last + 2, 1), (last + 2, 60)).value)  # the source of the row

    def test_another_row_of_that_name_is_refused(self, book: xw.Book) -> None:
        hardware = book.sheets["Hardware"]
        row = next(n for n, line in enumerate(hardware.used_range.value, 1) if line[0] == "H800 SXM5 80GB")
        hardware.range((row, 2)).value = 1
        with pytest.raises(UserError, match="with other values: rename one of the two"):
            addin.add_hardware(book, "h800-sxm5-80gb")

    def test_a_full_table_is_told(self, book: xw.Book, tmp_path: Path) -> None:
        hardware = book.sheets["Hardware"]
        last = len(hardware.used_range.value)
        for row in range(last - 20, last + 12):
            if hardware.range((row, 1)).value is None:
                hardware.range((row, 1)).value = f"Device no. {row}"
        with pytest.raises(UserError, match="no free row: insert one above row"):
            addin.add_hardware(book, renamed_device(tmp_path))


class TestExport:
    def test_a_strategy_made_by_hand_survives(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        """Export, build, same values: inputs, typed-over look-ups, edited catalogue rows and constants."""
        cell("devices").value = 1024
        cell("hidden_size").value = 6144
        hardware, constants = book.sheets["Hardware"], book.sheets["Constants"]
        row = next(n for n, line in enumerate(hardware.used_range.value, 1) if line[0] == "H800 SXM5 80GB")
        column = next(n for n, key in enumerate(hardware.range("A7:Z7").value, 1) if key == "scale_out_measured")
        hardware.range((row, column)).value = 45e9
        line = next(n for n, entry in enumerate(constants.used_range.value, 1) if entry[0] == "relative_tolerance")
        constants.range((line, 2)).value = 1e-8
        expected = opened(book).inputs.values()[OWN]
        path = addin.export(book, tmp_path / "exported.toml", OWN)
        loaded = study.load(str(path))
        assert loaded.values[OWN] == expected
        assert loaded.tables["Hardware"].sources["H800 SXM5 80GB", "scale_out_measured"].startswith("assumed: typed")
        assert loaded.tables["Hardware"].sources["H800 SXM5 80GB", "bf16_peak"].startswith("datasheet: ")

    def test_the_file_lies_beside_the_workbook_and_replaces_none(self, book: xw.Book, tmp_path: Path) -> None:
        first, second = addin.export(book, strategy=OWN), addin.export(book, strategy=OWN)
        assert (first.name, second.name) == ("pp16-ep64-zero-1-dualpipe.toml", "pp16-ep64-zero-1-dualpipe-2.toml")
        assert first.parent == second.parent == tmp_path
        with pytest.raises(UserError, match="exists"):
            addin.export(book, first, OWN)

    @pytest.mark.parametrize(
        ("quantity", "value", "words"),
        [
            ("zero_stage", "ZeRO-9", "zero_stage is 'ZeRO-9'"),
            ("devices", None, "the cell is empty: write a number"),
            ("devices", "1%", "devices is '1%': write a number in device"),
            ("devices", True, "devices is 'True': write a number in device"),
            ("hbm_measured", "=2*1E+12", "the formula of hbm_measured was changed"),
            ("compute_time", 5, "the formula of compute_time was changed"),
        ],
    )
    def test_what_no_study_can_say_leaves_no_file(
        self, book: xw.Book, cell: Cell, tmp_path: Path, quantity: str, value: Any, words: str
    ) -> None:
        cell(quantity).value = value
        with pytest.raises(UserError, match=re.escape(words)):
            addin.export(book, strategy=OWN)
        assert list(tmp_path.glob("*.toml")) == []

    def test_only_the_strategy_itself_need_make_sense(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        cell("devices", "ZeRO-1").value = "many"
        assert addin.export(book, tmp_path / "own.toml", OWN).exists()


class TestExplain:
    def test_a_cell_is_explained_in_names_and_values(self, book: xw.Book, cell: Cell) -> None:
        where = cell("compute_time")
        found = addin.explain(book, ("Analysis", f"{letter(where.column)}{where.row}"))
        assert found.facts["Value in Python"] == pytest.approx(where.value)
        assert found.facts["Unit"] == "s"
        assert " = " in found.facts["With values"]
        assert len(found.movers) == 3
        assert book.sheets["Explain"]["A1"].value == found.heading

    def test_the_selected_cell_of_the_summary_is_its_quantity(self, book: xw.Book) -> None:
        summary = book.sheets["Summary"]
        row = next(n for n, name in enumerate(summary.range("B1:B26").value, 1) if name == OWN)
        summary.activate()
        summary.range((row, 5)).select()
        assert addin.explain(book).facts["Key"] == "step_time_lower_bound"

    def test_the_largest_movers_come_first(self, book: xw.Book, cell: Cell) -> None:
        where = cell("compute_time")
        found = addin.explain(book, ("Analysis", f"{letter(where.column)}{where.row}"))
        shares = [abs(share) for *_, share in found.movers]
        assert shares == sorted(shares, reverse=True)
        assert min(shares) > 0.9  # compute follows model and rate in proportion

    def test_what_was_typed_over_is_told_even_where_another_input_is_a_text(self, book: xw.Book, cell: Cell) -> None:
        cell("devices", "ZeRO-1").value = "many"
        where = cell("compute_time")
        where.value = 5
        found = addin.explain(book, ("Analysis", f"{letter(where.column)}{where.row}"))
        assert found.facts["Typed over"].startswith("5")

    def test_a_number_of_the_catalogue_names_its_source(self, book: xw.Book) -> None:
        hardware = book.sheets["Hardware"]
        row = next(n for n, line in enumerate(hardware.used_range.value, 1) if line[0] == "H800 SXM5 80GB")
        assert addin.explain(book, ("Hardware", f"C{row}")).facts["Source"].startswith("datasheet: ")

    def test_the_cursor_of_another_workbook_is_not_taken(self, book: xw.Book) -> None:
        other = book.app.books.add()
        try:
            other.activate()
            with pytest.raises(UserError, match=r"no cell of shipped\.xlsx is selected"):
                addin.explain(book)
        finally:
            other.close()

    @pytest.mark.parametrize(("sheet", "address"), [("Analysis", "A1"), ("About", "B7"), ("Analysis", "ZZ99")])
    def test_a_cell_without_a_quantity_is_told(self, book: xw.Book, sheet: str, address: str) -> None:
        with pytest.raises(UserError, match="holds no quantity"):
            addin.explain(book, (sheet, address))


class TestClicks:
    """What a user sees who clicks: one message on the sheet Engine, and nothing else changed."""

    @pytest.fixture(autouse=True)
    def log(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        logger = logging.getLogger("solbook")
        logger.handlers.clear()
        yield tmp_path / ".solbook" / "addin.log"
        logger.handlers.clear()

    def said(self, book: xw.Book) -> str:
        return str(book.sheets["Engine"]["A3"].value)

    def test_a_workbook_that_is_not_ours_is_left_alone(self, app: xw.App) -> None:
        other = app.books.add()
        try:
            other.sheets[0]["A1"].value = "mine"
            for action in ACTIONS:
                addin.run(action.key, other, path="nowhere.toml")
                assert "is no solbook workbook" in self.said(other)
            assert other.sheets[0]["A1"].value == "mine"
            assert [sheet.name for sheet in other.sheets][1:] == ["Engine"]
        finally:
            other.close()

    @pytest.mark.parametrize("title", ["Analysis", "Models", "Constants"])
    def test_a_renamed_sheet_is_told(self, book: xw.Book, title: str) -> None:
        book.sheets[title].name = "Mine"
        addin.run("recompute", book)
        assert f"'{title}'" in self.said(book)

    @pytest.mark.parametrize("title", ["Analysis", "Hardware"])
    def test_a_deleted_sheet_is_told(self, book: xw.Book, title: str) -> None:
        book.sheets[title].delete()
        addin.run("recompute", book)
        assert f"'{title}'" in self.said(book)

    def test_a_deleted_row_of_keys_is_told(self, book: xw.Book) -> None:
        book.sheets["Analysis"].range("4:4").delete("up")
        addin.run("recompute", book)
        assert "column headed 'Key'" in self.said(book)

    def test_the_log_has_what_was_said(self, book: xw.Book, log: Path) -> None:
        addin.run("add_hardware", book, path="nowhere.toml")
        assert "nowhere.toml" in log.read_text(encoding="utf-8").splitlines()[-1]

    def test_a_message_leaves_the_comparison_where_it_is(self, book: xw.Book) -> None:
        addin.recompute(book)
        rows = len(book.sheets["Engine"].used_range.value)
        addin.run("add_hardware", book, path="nowhere.toml")
        assert len(book.sheets["Engine"].used_range.value) == rows

    def test_drawing_goes_on_after_an_action(self, book: xw.Book) -> None:
        addin.run("add_hardware", book, path="nowhere.toml")
        assert book.app.screen_updating

    def test_a_deleted_row_of_a_tables_keys_is_told(self, book: xw.Book) -> None:
        book.sheets["Hardware"].range("7:7").delete("up")
        addin.run("recompute", book)
        assert "lacks the catalogue column Hardware.name" in self.said(book)

    def test_a_file_that_is_none_is_told(self, book: xw.Book) -> None:
        addin.run("add_hardware", book, path="nowhere.toml")
        assert "nowhere.toml" in self.said(book)

    def test_what_was_done_is_told_where_the_user_was(self, book: xw.Book) -> None:
        book.sheets["Hardware"].activate()
        addin.run("add_hardware", book, path="h800-sxm5-80gb")
        assert self.said(book).endswith("already.")
        assert book.sheets.active.name == "Hardware"


def test_a_protected_workbook_recomputes_and_refuses_what_would_change_it(
    app: xw.App, solbook: Any, tmp_path: Path
) -> None:
    path = tmp_path / "protected.xlsx"
    assert solbook("build", "-o", path, "--protect").returncode == 0
    book = app.books.open(path)
    try:
        assert addin.recompute(book).verdict == engine_line(book) == "OK"
        before = book.sheets["Hardware"].used_range.value
        with pytest.raises(UserError, match="is it protected"):
            addin.add_strategy(book, OWN)
        assert book.sheets["Hardware"].used_range.value == before
    finally:
        book.close()


def test_an_action_leaves_a_workbook_that_verifies(book: xw.Book, tmp_path: Path) -> None:
    addin.add_strategy(book, OWN, "Copy")
    addin.recompute(book)
    book.save(tmp_path / "after.xlsx")
    assert differences(tmp_path / "after.xlsx", "formualizer")[0] == []
