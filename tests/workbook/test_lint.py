"""`solbook lint`: what we write is clean, each rule of modelling finds its fault, and the command says so."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyxl.archive import packed, parts
from pyxl.errors import UserError
from pyxl.lint.book import Book
from pyxl.lint.rules import Severity
from pyxl.readings.formula import RULES
from pyxl.readings.printing import ATOM, Text
from pyxl.writer import workbook_bytes
from tests.pyxl.bad_workbooks import mutated
from workbook import lint, study
from workbook.book import plan
from workbook.lint import modelling
from workbook.lint.layout import Layout

SMALL = """
title = "Two strategies"
[common]
model = "deepseek-v3"
hardware = "H800 SXM5 80GB"
[strategies."ZeRO-1"]
[strategies."ZeRO-3"]
zero_stage = "ZeRO-3"
"""


SHEETS = ("Summary", "Analysis", "Hardware", "Constants", "Checks", "Sources", "About")  # enough for every rule


class Sample:
    """Some sheets of a workbook of two strategies, whose parts can be edited."""

    def __init__(self, data: bytes, rows: Mapping[str, int], path: Path) -> None:
        self.contents, self.rows, self.path = parts(data), rows, path
        self._parts = {title: f"xl/worksheets/sheet{number}.xml" for number, title in enumerate(SHEETS, start=1)}

    def edit(self, part: str, pattern: str, new: str) -> None:
        """Replace the first match in a part, or on a sheet by its title."""
        name = self._parts.get(part, part)
        self.contents[name], count = re.subn(pattern.encode(), new.encode(), self.contents[name], count=1, flags=re.S)
        assert count == 1, (part, pattern)

    def cell(self, sheet: str, address: str, inside: str, kind: str = "n", style: str = r"\1") -> None:
        """Another content of a cell."""
        old = rf'<c r="{address}" s="(\d+)"[^>]*?(?:/>|>.*?</c>)'
        self.edit(sheet, old, rf'<c r="{address}" s="{style}" t="{kind}">{inside}</c>')

    def formula(self, key: str, text: str, column: str = "G") -> None:
        """Another formula of a quantity."""
        self.cell("Analysis", f"{column}{self.rows[key]}", f"<f>{text}</f><v>1</v>")

    def layout(self) -> Layout:
        self.path.write_bytes(packed(self.contents))
        return Layout(Book.read(self.path))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Mapping[str, int]]:
    path = tmp_path_factory.mktemp("small") / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    planned = plan(study.load(str(path)))
    planned.sheets = [sheet for sheet in planned.sheets if sheet.title in SHEETS]
    data = workbook_bytes(planned)
    path.write_bytes(data)
    layout = Layout(Book.read(path))
    assert layout.model is not None
    return data, layout.model.rows


@pytest.fixture
def sample(small: tuple[bytes, Mapping[str, int]], tmp_path: Path) -> Sample:
    return Sample(*small, tmp_path / "small.xlsx")


@pytest.fixture(scope="module")
def sound(small: tuple[bytes, Mapping[str, int]], tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return Sample(*small, tmp_path_factory.mktemp("sound") / "small.xlsx").layout()


def _formula(text: str) -> Callable[[Sample], None]:
    return lambda sample: sample.formula("step_flops", text)


def _edit(part: str, pattern: str, new: str) -> Callable[[Sample], None]:
    return lambda sample: sample.edit(part, pattern, new)


def _repeated(sample: Sample) -> None:
    """Two rows with the formula of a third, in both columns."""
    for key in ("compute_time", "hbm_time"):
        for column in "GH":
            sample.formula(key, f"{column}5*{column}6+{column}7*{column}8+{column}9*{column}10", column)


def _circle(sample: Sample) -> None:
    sample.formula("world_size", f"G{sample.rows['step_flops']}")
    sample.formula("step_flops", f"G{sample.rows['world_size']}+1")


BOOK, STYLES, EMPTY = "xl/workbook.xml", "xl/styles.xml", ""
BAD: dict[str, list[Callable[[Sample], None]]] = {
    "R1": [_formula("G5+G6"), lambda s: s.cell("Summary", "D12", "<f>$A12</f><v>1</v>")],
    "R2": [_edit("Analysis", ">Unit<", ">Units<"), _edit("Summary", ">Bound by<", ">Strategy<"),
           _edit(BOOK, 'name="Analysis"', 'name="Model"')],
    "R3": [lambda s: s.cell("Analysis", f"C{s.rows['step_flops']}", EMPTY), lambda s: s.cell("Hardware", "B6", EMPTY)],
    "R4": [lambda s: s.formula("step_flops", f"G{s.rows['training_cost']}")],
    "R5": [lambda s: s.cell("Analysis", f"G{s.rows['step_flops']}", "<v>7</v>"),
           lambda s: s.formula("devices", "2*G10")],
    "R6": [_formula("3*G10")],
    "R7": [_formula("+".join(["G10"] * 22)), _formula('IF(G10=1,"' + "x" * 290 + '",1)')],
    "R8": [_formula("ABS(G10)")],
    "R9": [_formula("IF(G10=1,1," * 5 + "2" + ")" * 5)],
    "R11": [_repeated],
    "R12": [lambda s: s.cell("Hardware", "B3", "<f>Analysis!$B$3</f><v>OK</v>", "str")],
    "R13": [_formula("H10+1"), _formula("Hardware!B8+1")],
    "R14": [_edit("Analysis", "<dataValidations", '<mergeCells><mergeCell ref="X1:Y1"/></mergeCells><dataValidations')],
    "R15": [lambda s: s.cell("Checks", "C7", "<v>7</v>", style="0"), _edit("About", ">look-up<", ">looked up<")],
    "R16": [_edit(BOOK, '(name="Checks" sheetId="[0-9]+") state="visible"', r'\1 state="veryHidden"'),
            _edit("Analysis", '<row r="9"', '<row r="9" hidden="1"'),
            _edit("Hardware", "<col ", '<col hidden="1" '),
            _edit(STYLES, '<color rgb="00595959"/>', '<color rgb="00FFFFFF"/>')],
    "R17": [_edit(BOOK, 'name="About"', 'name="Notes"'), _edit("About", '<hyperlink [^>]*Checks[^>]*>', ""),
            _edit("About", ">What it leaves out<", "><")],
    "R18": [lambda s: s.cell("Hardware", "B3", "<f>Checks!$B$4</f><v>OK</v>", "str"),
            _edit(BOOK, 'name="Checks"', 'name="Tests"'),
            lambda s: s.cell("Checks", "B3", "<v>7</v>")],
    "R19": [_circle],
    "R20": [_formula("ROUND(G10,0)")],
    "R21": [lambda s: s.cell("Analysis", f"B{s.rows['step_flops']}", EMPTY),
            lambda s: s.cell("Analysis", f"A{s.rows['devices']}", "<is><t>step_flops</t></is>", "inlineStr"),
            lambda s: s.cell("Analysis", f"G{s.rows['step_flops']}", "<f>G10</f><v>-1</v>")],
    "R22": [_edit("Analysis", "<dataValidation [^>]*decimal.*?</dataValidation>", "")],
    "R23": [_edit(STYLES, r'(<cellXfs.*?<protection )locked="0"', r'\1locked="1"'),
            _edit(STYLES, '(<cellXfs.*?fontId="5" fillId="0" borderId="2"[^>]*><alignment horizontal="right"[^>]*>)',
                  r'\1<protection locked="0"/>'),
            _edit("Analysis", "</sheetData>", '</sheetData><sheetProtection sheet="1" password="CAFE"/>')],
    "R24": [_edit(BOOK, "<definedNames>", '<definedNames><definedName name="rate">Data!$B$2</definedName>')],
    "R25": [_edit("Sources", "<pane [^>]*>", ""), _edit(BOOK, "<definedName [^>]*>'Sources'.*?</definedName>", "")],
    "R26": [lambda s: s.cell("Constants", "F6", EMPTY), lambda s: s.cell("Hardware", "V8", EMPTY)],
    "R28": [_formula("[1]Data!$A$1"),
            _edit("xl/_rels/workbook.xml.rels", "relationships/styles", "relationships/externalLink")],
}  # fmt: skip
SPOILED = [pytest.param(rule, edit, id=f"{rule}-{n}") for rule, edits in BAD.items() for n, edit in enumerate(edits)]


@pytest.mark.parametrize("rule", BAD)
def test_a_rule_of_modelling_finds_nothing_in_a_sound_workbook(rule: str, sound: Layout) -> None:
    assert [each for each in modelling.rule.by_identifier[rule].check(sound) if each.severity is None] == []


@pytest.mark.parametrize(("rule", "spoil"), SPOILED)
def test_a_rule_of_modelling_finds_its_fault(rule: str, spoil: Callable[[Sample], None], sample: Sample) -> None:
    spoil(sample)
    assert list(modelling.rule.by_identifier[rule].check(sample.layout()))


def test_every_rule_of_modelling_is_checked_or_held_elsewhere() -> None:
    checked, held = set(modelling.rule.by_identifier), set(modelling.HELD_ELSEWHERE)
    assert checked | held == {f"R{number}" for number in range(1, 29)}
    assert not checked & held
    assert set(BAD) == checked
    assert all(rule.explanation and rule.source for rule in modelling.rule.by_identifier.values())


def test_cells_may_use_the_functions_that_operations_print() -> None:
    printed = set()
    for rule in RULES.values():
        for arity in (1, 2, 3):
            try:
                text = rule(*[Text("x", ATOM)] * arity).text
            except TypeError:
                continue
            printed |= set(re.findall(r"[A-Z]+(?=\()", text))
    assert printed == modelling.FUNCTIONS


def test_whatever_happened_to_a_file_the_rules_judge_it_or_it_is_refused(sample: Sample) -> None:
    chance, sound = random.Random(7), dict(sample.contents)
    sheets = [name for name in sound if "worksheets/sheet" in name]
    for _ in range(40):
        sample.contents = dict(sound)
        for part in [chance.choice(sheets), chance.choice(sorted(sound))]:
            sample.contents[part] = mutated(sample.contents[part], chance)
        try:
            lint.findings(sample.layout().book.path)
        except UserError:
            continue
    sample.contents = dict(sound)
    sample.edit("Analysis", '<c r="G9"', '<c r=""')
    assert "cell-order" in {finding.rule for finding in lint.findings(sample.layout().book.path)}


# What we write


@pytest.mark.parametrize("name", study.names())
def test_the_workbook_of_every_study_is_clean(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook_bytes(plan(study.load(name))))
    assert lint.findings(path) == []


def test_a_protected_workbook_is_clean(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook_bytes(plan(study.load(), protect=True)))
    assert lint.findings(path) == []


def test_a_workbook_with_macros_is_told_of_them(solbook: Any, tmp_path: Path) -> None:
    assert solbook("build", "--addin", "-o", "a.xlsm", cwd=tmp_path).returncode == 0
    (finding,) = lint.findings(tmp_path / "a.xlsm")
    assert (finding.rule, finding.severity, finding.what) == ("R28", Severity.ADVICE, "the file has macros")
    assert lint.clean([finding])


@pytest.mark.usefixtures("schemas")
def test_the_shipped_workbook_keeps_the_schemas_of_office(shipped: Path) -> None:
    assert lint.findings(shipped, schema=True) == []


@pytest.mark.libreoffice
def test_a_workbook_that_libreoffice_saved_needs_no_repair(opened: Any, tmp_path: Path) -> None:
    opened.save(tmp_path / "saved.xlsx")
    found = lint.findings(tmp_path / "saved.xlsx")
    assert {(each.severity.value, each.rule) for each in found} <= {("advice", "R25")}  # it drops frozen panes


def test_an_override_and_sheets_of_the_user_are_theirs(sample: Sample) -> None:
    sample.cell("Analysis", f"G{sample.rows['bf16_peak']}", "<v>7</v>")
    sample.edit(BOOK, 'name="Sources"', 'name="My own"')
    sample.edit(
        "Sources", "<sheetData>.*</sheetData>", '<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData>'
    )
    assert lint.clean(modelling.rule.findings(sample.layout()))


# The command


def test_the_command_says_that_a_file_is_clean(shipped: Path, solbook: Any) -> None:
    ran = solbook("lint", shipped)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"{shipped}: clean (0 repair, 0 rule, 0 advice)\n"


def test_the_command_tells_what_it_found_the_worst_first(sample: Sample, solbook: Any) -> None:
    for row in range(6, 13):
        sample.cell("Checks", f"C{row}", "<v>NaN</v>")
    sample.formula("step_flops", "3*G10")
    sample.formula("step_flops", "3*H10", "H")
    sample.layout()
    ran = solbook("lint", sample.path)
    row = sample.rows["step_flops"]
    *found, last = ran.stdout.splitlines()
    assert ran.returncode == 1
    assert found[0] == "repair cell-number Checks!C6: 'NaN' is no number: leave the cell empty"
    assert found[5] == "repair cell-number and 2 more; --json lists all"
    assert f"rule   R6 Analysis!G{row}: the number 3 in a formula: make it a constant" in found
    assert re.fullmatch(rf"{re.escape(str(sample.path))}: not clean \(\d+ repair, \d+ rule, \d+ advice\)", last)
    told = json.loads(solbook("lint", sample.path, "--json").stdout)
    assert (told["clean"], len([each for each in told["findings"] if each["rule"] == "cell-number"])) == (False, 7)


def test_the_command_explains_its_rules(solbook: Any) -> None:
    explained = solbook("lint", "--rules").stdout.splitlines()
    assert len(explained) == len(set(explained)) == len(list(lint.rules()))
    assert any(line.startswith("Names: name-cell (repair). A name is no cell address") for line in explained)
    assert any(line.startswith("Modelling: R27 (held elsewhere). ") for line in explained)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", bytes.fromhex("D0CF11E0A1B11AE1")])
def test_what_is_no_workbook_is_refused(data: bytes, solbook: Any, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(data)
    for arguments in (["a.xlsx"], ["missing.xlsx"], ["."], []):
        ran = solbook("lint", *arguments, cwd=tmp_path)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
