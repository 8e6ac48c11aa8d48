"""Rules of a sound file: each finds what a spoiled workbook has, none finds anything in a sound one."""

from __future__ import annotations

import random
import re
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from pyxl import lint
from pyxl.archive import packed
from pyxl.errors import UserError
from pyxl.lint import formulas, schema
from pyxl.lint.book import Book
from pyxl.lint.formula import facts, relative
from pyxl.lint.rules import Finding, Severity
from tests.pyxl.bad_workbooks import BAD, BOOK, SHEET, SOUND, Edit, formula, mutated, named

SPOILED = [pytest.param(rule, edit, id=f"{rule}-{n}") for rule, edits in BAD.items() for n, edit in enumerate(edits)]
RULES = {rule.identifier: rule for rule in lint.all_rules()}


def found(contents: dict[str, bytes], folder: Path) -> list[Finding]:
    path = folder / "book.xlsx"
    path.write_bytes(packed(contents))
    return lint.findings(Book.read(path))


def test_a_sound_workbook_is_clean(tmp_path: Path) -> None:
    assert found(SOUND, tmp_path) == []


@pytest.mark.parametrize(("rule", "edit"), SPOILED)
def test_a_rule_finds_its_fault(rule: str, edit: Edit, tmp_path: Path) -> None:
    contents = dict(SOUND)
    edit(contents)
    assert rule in {finding.rule for finding in found(contents, tmp_path)}


def test_every_rule_has_its_bad_workbook_an_explanation_and_a_source() -> None:
    assert set(BAD) == set(RULES)
    assert len(RULES) == sum(len(theme.by_identifier) for theme in lint.THEMES.values())
    for rule in RULES.values():
        assert rule.explanation, rule.identifier
        assert rule.source, rule.identifier


def test_a_finding_tells_what_where_and_what_to_do(tmp_path: Path) -> None:
    contents = dict(SOUND)
    named("H800")(contents)
    formula("Gone!A1")(contents)
    assert found(contents, tmp_path) == [
        Finding(
            "name-cell", Severity.REPAIR, "", "H800", "the name 'H800' is a cell address",
            "write it with a word, such as 'H800_value'",
        ),
        Finding("formula-sheet", Severity.REPAIR, "Data", "C2", "no sheet is named 'Gone'", "name one that there is"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["H800_value", "rate", "_x", "Überrate", "x.y", "ABCD1", "XFE1", "R1C1x", "\\x"])
def test_names_that_may_be(name: str, tmp_path: Path) -> None:
    contents = dict(SOUND)
    named(name)(contents)
    assert found(contents, tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "0-B2", "B2^2", "-1*B2", "1E+12*B2", "2*-1", 'IF(B2>0,"a;{(",1)', "SUM($B$2:B3)", "LOG10(B2)", "rate*2",
        "INDEX(B2:B3,1)", "'Other sheet'!A1+Data!B2", "SUM(B3:B2)", "IF(TRUE,1,FALSE())", "B2%",
        "SUM('Other sheet'!A1:A2)", "First+1", "B2&amp;\"it's 'x'!\"", "XFD1048576",
    ],
)  # fmt: skip
def test_formulas_that_may_be(text: str, tmp_path: Path) -> None:
    contents = dict(SOUND)
    formula(text)(contents)
    assert found(contents, tmp_path) == []


def test_functions_of_the_portable_subset_are_told_from_others() -> None:
    assert not formulas.PORTABLE & {"OFFSET", "INDIRECT", "LET", "XLOOKUP", "SUBTOTAL"}
    assert {"IFNA", "MAXIFS"} < formulas.PORTABLE & formulas.PREFIXED


def test_facts_of_a_formula() -> None:
    text = "IF('a b'!$C$1>=2,MAX(A1:B2,Sheet!C3,\"x\"),_xlfn.IFNA(name,0-1))"
    said = facts(text)
    assert said.functions == ["IF", "MAX", "_xlfn.IFNA"]
    assert (said.depth, said.arguments, said.operators, said.longest_text) == (2, 3, 2, 1)
    assert list(zip(said.references, said.reference_sheets, strict=True)) == [
        ("$C$1", "a b"), ("A1:B2", ""), ("C3", "Sheet"),
    ]  # fmt: skip
    assert (said.names, said.numbers, said.sheets) == (["name"], ["2", "0", "1"], ["a b", "Sheet"])


def test_a_formula_reads_alike_from_every_cell() -> None:
    assert relative("B2*$C3+D$4", 5, 5) == relative("C3*$C4+E$4", 6, 6) != relative("C3*$C4+E$4", 6, 5)
    assert relative('LOG10(B2)&"B2"&B1!B2', 2, 2) == 'LOG10(R[0]C[0])&"B2"&B1!R[0]C[0]'


def test_formulas_that_differ_in_their_column_alone_keep_their_own_references(tmp_path: Path) -> None:
    contents = dict(SOUND)
    contents[SHEET] = re.sub(
        rb'<row r="5".*?</row>', rb'<row r="5"><c r="J5"><f>J4+$J5+Z9</f></c><c r="K5"><f>K4+$J5+Z9</f></c></row>',
        contents[SHEET],
    )  # fmt: skip
    (tmp_path / "a.xlsx").write_bytes(packed(contents))
    written = {each.cell: each for each in Book.read(tmp_path / "a.xlsx").formulas if each.within == "cell"}
    assert written["J5"].facts is written["K5"].facts
    assert written["K5"].references == ["K4", "$J5", "Z9"]
    assert written["J5"].references == ["J4", "$J5", "Z9"]


# What is no workbook


def _ods() -> bytes:
    return packed({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<a/>"})


def _bomb() -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(BOOK, "w") as part:
        for _ in range(501):
            part.write(bytes(1_000_000))
    return buffer.getvalue()


ENTITIES = b'<!DOCTYPE a [<!ENTITY b "%s"><!ENTITY c "%s">]><a>%s</a>' % (
    b"b" * 10_000,
    b"&b;" * 10_000,
    b"&c;" * 10_000,
)
NONE = {
    "empty": b"",
    "text": b"name,value\n",
    "old or encrypted": bytes.fromhex("D0CF11E0A1B11AE1") + bytes(1_000),
    "cut off": packed(SOUND)[:5_000],
    "of LibreOffice": _ods(),
    "a zip bomb": _bomb(),
    "broken XML": packed({**SOUND, SHEET: SOUND[SHEET][:-20]}),
    "a control character": packed({**SOUND, SHEET: SOUND[SHEET].replace(b"<t>text</t>", b"<t>\x01</t>")}),
    "another root": packed({**SOUND, BOOK: b"<a/>"}),
    "an entity bomb": packed({**SOUND, BOOK: ENTITIES}),
}


@pytest.mark.parametrize("data", NONE.values(), ids=NONE)
def test_what_is_no_workbook_is_refused_in_a_line(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"a\.xlsx") as refused:
        Book.read(path)
    assert "\n" not in str(refused.value)


def test_whatever_happened_to_a_file_it_is_judged_or_refused(tmp_path: Path) -> None:
    chance = random.Random(5)
    judged = 0
    for _ in range(300):
        contents = dict(SOUND)
        for part in chance.choices(sorted(contents), k=chance.randint(1, 4)):
            contents[part] = mutated(contents[part], chance)
        try:
            found(contents, tmp_path)
            judged += 1
        except UserError:
            continue
    assert judged > 100


def test_a_broken_archive_is_judged_or_refused(tmp_path: Path) -> None:
    chance, whole = random.Random(6), packed(SOUND)
    path = tmp_path / "a.xlsx"
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 20)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(bytes(data))
        try:
            lint.findings(Book.read(path))
        except UserError:
            continue


# Microsoft's schemas


@pytest.mark.usefixtures("schemas")
def test_the_schema_finds_what_no_rule_does(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(SOUND))
    assert schema.findings(path) == []
    path.write_bytes(packed({**SOUND, SHEET: SOUND[SHEET].replace(b"<sheetView ", b'<sheetView view="strange" ')}))
    assert lint.findings(Book.read(path)) == []
    (finding,) = schema.findings(path)
    assert (finding.rule, finding.sheet) == ("schema", f"/{SHEET}")
