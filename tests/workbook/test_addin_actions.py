"""The add-in's other actions on the shipped workbook, open in a real LibreOffice."""

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import xlwings as xw

from pyxl.cells import letter
from pyxl.errors import UserError
from workbook import addin, study
from workbook.addin.actions import ACTIONS
from workbook.addin.file_dialog import ask_for_file
from workbook.addin.opened import opened as read
from workbook.addin.recomputation import examine
from workbook.catalogue import templates_directory
from workbook.verify import differences

pytestmark = pytest.mark.libreoffice

OWN = "PP16 EP64 ZeRO-1 DualPipe"
Cell = Callable[[str, str], xw.Range]


@pytest.fixture
def book(opened: xw.Book) -> xw.Book:
    return opened


def renamed_device(folder: Path) -> Path:
    """A file of a device that does not ship."""
    text = (templates_directory() / "hardware" / "h800-sxm5-80gb.toml").read_text(encoding="utf-8")
    path = folder / "my.toml"
    path.write_text(text.replace('name = "H800 SXM5 80GB"', 'name = "My GPU"'), encoding="utf-8")
    return path


class TestAddStrategy:
    def test_a_copy_has_the_values_of_its_source(self, book: xw.Book) -> None:
        said = addin.add_strategy(book, OWN, "Copy")
        assert said.startswith("'Copy' is a copy of ")
        values = read(book).inputs.values()
        assert values["Copy"] == values[OWN]
        lines = [row[1:5] for row in book.sheets["Summary"].range("A9:E26").value]
        assert [line[1:] for line in lines if line[0] == "Copy"] == [line[1:] for line in lines if line[0] == OWN]
        assert examine(read(book)).verdict == "OK"

    def test_the_copy_of_the_column_at_the_cursor_is_named_after_it(self, book: xw.Book, cell: Cell) -> None:
        book.sheets["Analysis"].activate()
        cell("devices").select()
        addin.add_strategy(book)
        assert f"{OWN} (2)" in read(book).inputs.strategies

    def test_a_broken_formula_is_not_copied(self, book: xw.Book, cell: Cell) -> None:
        cell("compute_time").value = 1.5
        cell("scale_out_bytes").formula = "=1"
        addin.add_strategy(book, OWN, "Copy")
        found = examine(read(book))
        assert {line.difference.strategy for line in found.causes} == {OWN}

    def test_what_was_typed_over_a_look_up_is_copied(self, book: xw.Book, cell: Cell) -> None:
        cell("scale_out_measured").value = 40e9
        addin.add_strategy(book, OWN, "Copy")
        assert read(book).inputs.strategies["Copy"]["scale_out_measured"] == 40e9

    def test_a_strategy_of_a_study_has_the_study_s_values(self, book: xw.Book) -> None:
        shipped_study = study.load("llama-3-70b-h100")
        name = next(iter(shipped_study.strategies))
        said = addin.add_strategy(book, "llama-3-70b-h100", name)
        assert f"'{name} (2)' of llama-3-70b-h100 is in column" in said  # the workbook has one of that name
        values = read(book).inputs.values()[f"{name} (2)"]
        assert values["step_time_lower_bound"] == shipped_study.values[name]["step_time_lower_bound"]
        assert examine(read(book)).verdict == "OK"

    def test_all_strategies_of_a_study_stand_side_by_side_with_their_rows(self, book: xw.Book, tmp_path: Path) -> None:
        text = 'title = "t"\n[common]\nmicro_batch_size = 7.5\nhardware = "H100 SXM5 80GB"\n'
        strategies = "".join(f'[strategies."No. {number}"]\ndevices = {256 * number}\n' for number in (1, 2, 4, 8))
        (tmp_path / "own.toml").write_text(text + strategies, encoding="utf-8")
        free = max(read(book).inputs.rows.columns.values()) + 1
        addin.add_strategy(book, tmp_path / "own.toml")
        columns = read(book).inputs.rows.columns
        assert [columns[f"No. {number}"] for number in (1, 2, 4, 8)] == list(range(free, free + 4))
        assert [read(book).inputs.strategies[f"No. {number}"]["devices"] for number in (1, 8)] == [256, 2048]
        assert examine(read(book)).verdict == "OK"

    def test_a_study_brings_rows_that_the_workbook_lacks(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        """Two devices of the study's own, each in a row of its own."""
        text = 'title = "t"\n[common]\nmicro_batch_size = 7.5\n'
        for name in ("One", "Two"):
            numbers = renamed_device(tmp_path).read_text(encoding="utf-8")
            tables = re.sub(r"^\[(\w+)\]", rf'[hardware."GPU {name}".\1]', numbers[numbers.index("[") :], flags=re.M)
            text += f'[strategies."{name}"]\nhardware = "GPU {name}"\n{tables}\n'
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        addin.add_strategy(book, tmp_path / "own.toml")
        names = [name for _, name in read(book).sheets["Hardware"].column(1)]
        assert {"GPU One", "GPU Two"} <= set(names)
        assert examine(read(book)).verdict == "OK"

    def test_a_study_with_other_numbers_for_a_row_is_refused(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        hardware = book.sheets["Hardware"]
        row = next(n for n, line in enumerate(hardware.used_range.value, 1) if line[0] == "H800 SXM5 80GB")
        before = hardware.range((row, 3)).value
        hardware.range((row, 3)).value = before / 2
        path = addin.export(book, tmp_path / "slow.toml", OWN)
        hardware.range((row, 3)).value = before
        with pytest.raises(UserError, match="with other values: rename one of the two"):
            addin.add_strategy(book, path)
        assert f"{OWN} (2)" not in read(book).inputs.strategies

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
        found = examine(read(book))
        assert found.verdict == "OK"
        now = read(book)
        assert now.inputs.values()[OWN]["step_time_lower_bound"] == study.load().values[OWN]["step_time_lower_bound"]
        row = next(row for row, name in now.sheets["Hardware"].column(1) if name == "My GPU")
        assert any(str(content).startswith("datasheet: ") for _, content in now.sheets["Hardware"].row(row))

    def test_a_model_of_a_config_is_in_the_drop_down(self, book: xw.Book, cell: Cell, tmp_path: Path) -> None:
        shipped = templates_directory() / "models" / "deepseek-v3.json"
        path = tmp_path / "my-model.json"
        path.write_text(shipped.read_text().replace('"num_hidden_layers": 61', '"num_hidden_layers": 31'))
        addin.add_model(book, path)
        now = read(book)
        assert any("model" in str(name) for _, name in now.sheets["Models"].column(1))
        name = [str(name) for _, name in now.sheets["Models"].column(1)][-1]
        cell("model").value = name
        assert examine(read(book)).verdict == "OK"
        assert read(book).inputs.values()[OWN]["num_hidden_layers"] == 31

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
        expected = read(book).inputs.values()[OWN]
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
        assert len(found.movers) == 5
        assert book.sheets["Explain"]["A1"].value == found.heading
        written = [line[0] for line in book.sheets["Explain"].used_range.value]
        ingredients = [term.key for term in found.term.terms]
        assert [key for key in written if key in ingredients] == ingredients

    def test_the_selected_cell_of_the_summary_is_its_quantity(self, book: xw.Book) -> None:
        summary = book.sheets["Summary"]
        row = next(n for n, name in enumerate(summary.range("B1:B26").value, 1) if name == OWN)
        summary.activate()
        summary.range((row, 5)).select()
        assert addin.explain(book).facts["Key"] == "step_time_lower_bound"

    def test_the_largest_movers_come_first(self, book: xw.Book, cell: Cell) -> None:
        where = cell("compute_time")
        found = addin.explain(book, ("Analysis", f"{letter(where.column)}{where.row}"))
        shares = [abs(mover.elasticity) for mover in found.movers]
        assert shares == sorted(shares, reverse=True)
        assert shares[2] > 0.9  # compute follows model and rate in proportion

    def test_what_was_typed_over_is_told_even_where_another_input_is_a_text(self, book: xw.Book, cell: Cell) -> None:
        cell("devices", "ZeRO-1").value = "many"
        where = cell("compute_time")
        where.value = 5
        found = addin.explain(book, ("Analysis", f"{letter(where.column)}{where.row}"))
        assert found.facts["In the workbook"] == "the workbook shows 5 s: typed over"

    def test_a_number_of_the_catalogue_names_its_source(self, book: xw.Book) -> None:
        hardware = book.sheets["Hardware"]
        row = next(n for n, line in enumerate(hardware.used_range.value, 1) if line[0] == "H800 SXM5 80GB")
        assert addin.explain(book, ("Hardware", f"C{row}")).facts["Source"].startswith("datasheet: ")

    def test_the_cursor_of_another_workbook_is_not_taken(self, book: xw.Book) -> None:
        other = book.app.books.add()
        try:
            other.activate()
            with pytest.raises(UserError, match=r"no cell of opened\.xlsx is selected"):
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


def test_an_action_leaves_a_workbook_that_verifies(book: xw.Book, tmp_path: Path) -> None:
    addin.add_strategy(book, OWN, "Copy")
    addin.recompute(book)
    book.save(tmp_path / "after.xlsx")
    assert differences(tmp_path / "after.xlsx", "formualizer")[0] == []


def test_without_a_screen_there_is_no_dialog(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the spreadsheet has no dialog of its own, Python's is asked."""
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(UserError, match="there is no dialog to choose a file here"):
        ask_for_file(SimpleNamespace(app=SimpleNamespace(impl=object())), "A study file", "toml", tmp_path)
