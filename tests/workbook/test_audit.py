"""`solbook audit`: what it says of a workbook that somebody edited, where it says it, and what it leaves alone."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from pyxl import reader
from pyxl.archive import packed, parts
from pyxl.cells import Place
from workbook.audit import audit
from workbook.audit.findings import Finding
from workbook.sheets.study import Record

STRATEGY = "PP16 EP64 ZeRO-1 DualPipe"
Edit = Callable[[dict[Place, Any]], Path]


@pytest.fixture
def edit(shipped: Path, tmp_path: Path) -> Edit:
    """A copy whose XML has other values in some cells, all else as it was."""

    def write(values: dict[Place, Any]) -> Path:
        contents = parts(shipped.read_bytes())
        titles = openpyxl.load_workbook(shipped, read_only=True).sheetnames
        for (sheet, address), value in values.items():
            part = f"xl/worksheets/sheet{titles.index(sheet) + 1}.xml"
            text = contents[part].decode()
            start = text.index(f'<c r="{address}"')
            end = text.index(">", start)
            end = end + 1 if text[end - 1] == "/" else text.index("</c>", start) + 4
            kind = ' t="str"' if isinstance(value, str) else ""
            cell = "" if value is None else f'<c r="{address}"{kind}><v>{value}</v></c>'
            contents[part] = (text[:start] + cell + text[end:]).encode()
        path = tmp_path / "edited.xlsx"
        path.write_bytes(packed(contents))
        return path

    return write


def only(path: Path) -> Finding:
    """The one finding, besides stored values that are old: nothing is recalculated here."""
    (found,) = (finding for finding in audit(path).findings if finding.kind.value != "stored values are old")
    return found


def test_an_unchanged_workbook_has_no_finding_and_is_not_touched(solbook: Any, shipped: Path) -> None:
    before = hashlib.sha256(shipped.read_bytes()).hexdigest()
    result = solbook("audit", shipped)
    assert result.returncode == 0, result.stderr
    assert "nothing was changed" in result.stdout
    assert hashlib.sha256(shipped.read_bytes()).hexdigest() == before


def test_an_input_is_told_with_old_and_new_value_and_unit(edit: Edit, rows: reader.ModelRows, solbook: Any) -> None:
    path = edit({rows.place("devices", STRATEGY): 1024})
    result = solbook("audit", path, "--json")
    assert result.returncode == 1
    (found,) = (each for each in json.loads(result.stdout)["findings"] if each["kind"] == "input changed")
    assert (found["quantity"], found["strategies"]) == ("devices", [STRATEGY])
    assert (found["old"], found["new"], found["unit"]) == (2048, 1024, "device")


def test_a_catalogue_number_tells_that_its_source_is_of_the_old_one(edit: Edit, grids: dict[str, reader.Grid]) -> None:
    hardware = grids["Hardware"]
    (row, _), (_, column) = hardware.find("H800 SXM5 80GB")[0], hardware.find("bf16_peak")[0]
    found = only(edit({hardware.place(row, column): 1e15}))
    assert (found.kind.value, found.quantity) == ("catalogue number changed", "Hardware.bf16_peak")
    assert (found.old, found.new, found.unit) == (989.4e12, 1e15, "FLOP/s")
    assert "its source still speaks of the old number: datasheet: deepseek-ai/FlashMLA" in found.text


def test_a_catalogue_number_whose_source_was_mended_tells_the_new_one(
    edit: Edit, grids: dict[str, reader.Grid]
) -> None:
    hardware = grids["Hardware"]
    (row, _), (_, column) = hardware.find("H800 SXM5 80GB")[0], hardware.find("bf16_peak")[0]
    (_, source) = hardware.find("Source: BF16 peak")[0]
    path = edit({hardware.place(row, column): 1e15, hardware.place(row, source): "measured: by us"})
    texts = [finding.text for finding in audit(path).findings if finding.kind.value == "catalogue number changed"]
    assert ["its source is now 'measured: by us'" in text for text in texts] == [True]


def test_a_formula_typed_over_tells_the_formula_in_names(edit: Edit, rows: reader.ModelRows) -> None:
    found = only(edit({rows.place("training_cost", STRATEGY): 1}))
    assert found.kind.value == "formula overwritten"
    assert found.old == "training_device_hours*device_hour_price"


def test_a_word_that_no_drop_down_has_is_told_once(edit: Edit, rows: reader.ModelRows) -> None:
    found = only(edit({rows.place("hardware", STRATEGY): "H900"}))
    assert (found.kind.value, found.old, found.new) == ("not understood", "H800 SXM5 80GB", "H900")
    assert "hardware is 'H900': there are: A100" in found.text


def test_a_change_in_all_strategies_is_one_finding(edit: Edit, rows: reader.ModelRows) -> None:
    found = only(edit({rows.place("sequence_length", strategy): 8192 for strategy in rows.columns}))
    assert (found.quantity, set(found.strategies)) == ("sequence_length", set(rows.columns))


def test_a_stored_value_that_is_old_is_told_with_both(edit: Edit, shipped: Path, rows: reader.ModelRows) -> None:
    place = rows.place("devices", STRATEGY)
    (found,) = (each for each in audit(edit({place: 1024})).findings if each.kind.value == "stored values are old")
    assert "recalculate and save" in found.text


def test_a_workbook_without_stored_values_says_what_to_do(shipped: Path, tmp_path: Path) -> None:
    openpyxl.load_workbook(shipped).save(tmp_path / "saved.xlsx")
    found = audit(tmp_path / "saved.xlsx").findings
    assert [each.kind.value for each in found] == ["no stored values"]
    assert "open the file in a spreadsheet and save it" in found[0].text


def test_without_the_sheet_study_formulas_are_still_audited(
    shipped: Path, rows: reader.ModelRows, tmp_path: Path
) -> None:
    book = openpyxl.load_workbook(shipped)
    del book["Study"]
    sheet, cell = rows.place("compute_time", STRATEGY)
    book[sheet][cell] = 1
    book.save(tmp_path / "returned.xlsx")
    found = {each.kind.value: each for each in audit(tmp_path / "returned.xlsx").findings}
    assert found["formula overwritten"].quantity == "compute_time"
    assert "only what was done to formulas" in found["record of the study"].text
    assert "text changed" not in found


def test_an_edited_record_is_told(shipped: Path, tmp_path: Path) -> None:
    book = openpyxl.load_workbook(shipped)
    cell = next(cell for (cell,) in book["Study"].iter_rows(max_col=1) if "sequence_length" in str(cell.value))
    cell.value = "sequence_length = 2048"
    book.save(tmp_path / "returned.xlsx")
    found = audit(tmp_path / "returned.xlsx").findings
    assert [each.kind.value for each in found if each.sheet == "Study"] == ["record of the study"]


def test_a_workbook_of_another_generator_is_refused(solbook: Any, shipped: Path, tmp_path: Path) -> None:
    contents = parts(shipped.read_bytes())
    custom = "docProps/custom.xml"
    contents[custom] = re.sub(rb">[0-9a-f]{64}<", b">" + b"0" * 64 + b"<", contents[custom])
    contents["xl/workbook.xml"] = contents["xl/workbook.xml"].replace(b"<calcPr ", b'<calcPr calcMode="manual" ')
    (tmp_path / "other.xlsx").write_bytes(packed(contents))
    result = solbook("audit", tmp_path / "other.xlsx")
    assert result.returncode == 2
    assert "audit it with the solbook that built it" in result.stderr


def test_lost_protection_is_told_where_it_was_built_in(solbook: Any, tmp_path: Path) -> None:
    assert solbook("build", "-o", tmp_path / "locked.xlsx", "--protect").returncode == 0
    assert audit(tmp_path / "locked.xlsx").findings == ()
    book = openpyxl.load_workbook(tmp_path / "locked.xlsx")
    book["Analysis"].protection.sheet = False
    book.save(tmp_path / "unlocked.xlsx")
    found = [each for each in audit(tmp_path / "unlocked.xlsx").findings if each.kind.value == "protection removed"]
    assert [each.sheet for each in found] == ["Analysis"]


def test_a_workbook_for_the_add_in_is_clean(solbook: Any, tmp_path: Path) -> None:
    built = solbook("build", "--addin", "-o", tmp_path / "mine.xlsm")
    assert built.returncode == 0, built.stderr
    assert audit(tmp_path / "mine.xlsm").findings == ()


@pytest.mark.parametrize("options", [("gpt-3-175b-a100",), ("llama-3-70b-h100", "--set", "devices=512")])
def test_workbooks_of_other_studies_are_clean(options: tuple[str, ...], solbook: Any, tmp_path: Path) -> None:
    built = solbook("build", *options, "-o", tmp_path / "built.xlsx")
    assert built.returncode == 0, built.stderr
    assert audit(tmp_path / "built.xlsx").findings == ()


def test_the_record_says_how_the_workbook_was_built(solbook: Any, tmp_path: Path) -> None:
    solbook("build", "-o", tmp_path / "built.xlsx", "--protect", "--set", "devices=1024")
    sheet = openpyxl.load_workbook(tmp_path / "built.xlsx")["Study"]
    record = Record({(cell.row, 1): cell.value for (cell,) in sheet.iter_rows(max_col=1) if cell.value is not None})
    assert (record.is_intact, record.options) == (True, ("--protect",))
    (tmp_path / "study.toml").write_text(record.text)
    again = solbook("build", tmp_path / "study.toml", "-o", tmp_path / "again.xlsx", "--protect")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.xlsx").read_bytes() == (tmp_path / "built.xlsx").read_bytes()


def test_reports_are_written_and_never_overwrite(
    edit: Edit, rows: reader.ModelRows, solbook: Any, tmp_path: Path
) -> None:
    path = edit({rows.place("devices", STRATEGY): 1024})
    page, book = tmp_path / "report.html", tmp_path / "report.xlsx"
    assert solbook("audit", path, "--report", page).returncode == 1
    assert "changed from 2,048 devices to 1,024 devices" in page.read_text(encoding="utf-8")
    assert solbook("audit", path, "--report", book).returncode == 1
    lines = list(openpyxl.load_workbook(book)["Audit"].iter_rows(min_row=5, values_only=True))
    assert lines[0][:4] == ("input changed", f"Analysis!{rows.place('devices', STRATEGY)[1]}", "devices", STRATEGY)
    refused = solbook("audit", path, "--report", page)
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    assert solbook("audit", path, "--report", tmp_path / "report.pdf").returncode == 2
    assert solbook("audit", path, "--report", page, "--force").returncode == 1


def test_a_report_never_replaces_the_audited_file(edit: Edit, rows: reader.ModelRows, solbook: Any) -> None:
    path = edit({rows.place("devices", STRATEGY): 1024})
    before = path.read_bytes()
    assert solbook("audit", path, "--report", path, "--force").returncode == 2
    assert path.read_bytes() == before


def test_what_is_no_workbook_of_ours_exits_with_2(solbook: Any, tmp_path: Path) -> None:
    openpyxl.Workbook().save(tmp_path / "theirs.xlsx")
    result = solbook("audit", tmp_path / "theirs.xlsx")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "no solbook workbook" in result.stderr
