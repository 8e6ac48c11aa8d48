"""Single mutations of the shipped workbook's XML: the audit names exactly what was done, and nothing else.

Nothing is recalculated here, so the stored values of what follows from a change are old: the audit may say that too.
"""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from pyxl.archive import packed, parts
from pyxl.cells import Formula, Place
from workbook.audit import audit

MUTATIONS = 115
HARMLESS = 28
BOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SHOWN = ("Roofline", "Stages", "Collectives", "Precision", "Recomputation", "Elasticities", "Summary", "Checks")
REFERENCE = re.compile(r"(?<![\w$!:.'])([A-Z]{1,2})(\d+)(?![\d(:!.\w])")
RANGE_END = re.compile(r"(:\$?[A-Z]{1,2}\$?)(\d+)")


@dataclass
class Mutated:
    """A workbook's parts, what its cells hold, and chance; `edit` changes a cell as its XML has it."""

    parts: dict[str, bytes]
    held: Mapping[Place, Any]
    chance: random.Random

    def part(self, sheet: str) -> str:
        titles = re.findall(r'<sheet [^>]*?name="([^"]*)"', self.parts[BOOK].decode())
        return f"xl/worksheets/sheet{titles.index(sheet) + 1}.xml"

    def pick(self, wanted: Callable[[Place, Any], bool]) -> Place:
        return self.chance.choice([place for place, content in self.held.items() if wanted(place, content)])

    def edit(self, place: Place, *, formula: str | None = None, value: Any = None) -> None:
        part = self.part(place[0])
        root = etree.fromstring(self.parts[part])
        (cell,) = root.iterfind(f'.//{SPACE}c[@r="{place[1]}"]')
        for child in list(cell):
            cell.remove(child)
        cell.attrib.pop("t", None)
        if formula is not None:
            etree.SubElement(cell, f"{SPACE}f").text = formula
        if value is not None:
            if isinstance(value, str):
                cell.set("t", "str")
            etree.SubElement(cell, f"{SPACE}v").text = str(value)
        self.parts[part] = etree.tostring(root)

    def replace(self, part: str, old: str, new: str) -> None:
        text = self.parts[part].decode()
        assert old in text, old
        self.parts[part] = text.replace(old, new, 1).encode()


Expected = tuple[str, str, str]  # kind, sheet, cell


def formula_of(book: Mutated, wanted: Callable[[str], bool], sheets: tuple[str, ...] = ("Analysis", *SHOWN)) -> Place:
    return book.pick(lambda place, held: place[0] in sheets and isinstance(held, Formula) and wanted(held))


def is_calculation(text: str) -> bool:
    return (
        not text.startswith("=INDEX(") and "Checks!$B$3" not in text and not re.fullmatch(r"=Analysis!\$\w+\$4", text)
    )


def overwrite_by_number(book: Mutated) -> Expected:
    place = formula_of(book, is_calculation)
    book.edit(place, value=book.chance.uniform(1, 1e12))
    return "formula overwritten", *place


def overwrite_a_master_check(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: "Checks!$B$3" in text)
    book.edit(place, value="OK")
    return "formula overwritten", *place


def edit_a_reference(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: is_calculation(text) and bool(REFERENCE.search(text)))
    found = book.chance.choice(list(REFERENCE.finditer(book.held[place])))
    row = int(found[2]) + book.chance.choice([1, 2, -1])
    text = f"{book.held[place][: found.start()]}{found[1]}{row}{book.held[place][found.end() :]}"
    book.edit(place, formula=text[1:], value=1.5)
    return "formula changed", *place


def change_a_sign(book: Mutated) -> Expected:
    signs = {"+": "-", "-": "+", "*": "/", "/": "*", ">=": "<", "<=": ">"}
    place = formula_of(book, lambda text: is_calculation(text) and '"' not in text and any(s in text for s in signs))
    text = book.held[place][1:]
    sign = book.chance.choice([sign for sign in signs if sign in text])
    book.edit(place, formula=text.replace(sign, signs[sign], 1), value=1.5)
    return "formula changed", *place


def change_a_number(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: is_calculation(text) and bool(re.search(r"[(*+,]2[)*+,]", text)))
    text = re.sub(r"([(*+,])2([)*+,])", r"\g<1>3\2", book.held[place][1:], count=1)
    book.edit(place, formula=text, value=1.5)
    return "formula changed", *place


def shift_a_range(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: bool(RANGE_END.search(text)) and not text.startswith("=INDEX("))
    text = RANGE_END.sub(
        lambda found: f"{found[1]}{int(found[2]) + book.chance.choice([-1, 1])}", book.held[place], count=1
    )
    book.edit(place, formula=text[1:], value=1.5)
    return "formula changed", *place


def shift_the_range_of_a_look_up(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: text.startswith("=INDEX(") and "Models!" in text, ("Analysis",))
    text = RANGE_END.sub(lambda found: f"{found[1]}{int(found[2]) - 1}", book.held[place], count=1)
    book.edit(place, formula=text[1:], value=1)
    return "formula changed", *place


def add_a_constant(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: is_calculation(text) and '"' not in text)
    book.edit(place, formula=f"{book.held[place][1:]}+1", value=1.5)
    return "formula changed", *place


def type_over_a_look_up(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: text.startswith("=INDEX("), ("Analysis",))
    book.edit(place, value=book.chance.randint(2, 99))
    return "look-up typed over", *place


def empty_a_formula(book: Mutated) -> Expected:
    place = formula_of(book, is_calculation)
    book.edit(place)
    return "cell emptied", *place


def edit_an_input(book: Mutated) -> Expected:
    def is_input(place: Place, held: Any) -> bool:
        return place[0] == "Analysis" and isinstance(held, float) and held > 1

    place = book.pick(is_input)
    book.edit(place, value=book.held[place] * 2)
    return "input changed", *place


def choose_another_strategy(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: bool(re.fullmatch(r"=Analysis!\$\w+\$4", text)), SHOWN)
    book.edit(place, value="ZeRO-1")
    return "input changed", *place


def edit_a_catalogue(book: Mutated) -> Expected:
    place = book.pick(
        lambda p, held: p[0] in ("Hardware", "Models", "Choices") and isinstance(held, float) and held > 0
    )
    book.edit(place, value=book.held[place] * 1.5)
    return "catalogue number changed", *place


def edit_a_constant(book: Mutated) -> Expected:
    place = book.pick(lambda p, held: p[0] == "Constants" and isinstance(held, float))
    book.edit(place, value=book.held[place] + 1)
    return "constant changed", *place


def edit_a_text(book: Mutated) -> Expected:
    def is_text(place: Place, held: Any) -> bool:
        documents = ("Analysis", "Checks", "Formulas", "Sources", "About")
        return place[0] in documents and isinstance(held, str) and not isinstance(held, Formula) and len(held) > 30

    place = book.pick(is_text)
    book.edit(place, value=f"{book.held[place]}, or so")
    return "text changed", *place


def edit_a_stored_value(book: Mutated) -> Expected:
    place = formula_of(book, lambda text: is_calculation(text) and '"' not in text, ("Analysis", "Roofline", "Stages"))
    book.edit(place, formula=book.held[place][1:], value=12345.678)
    return "stored values are old", *place


def hide_a_sheet(book: Mutated) -> Expected:
    sheet = book.chance.choice(["Constants", "Checks", "Sources"])
    state = book.chance.choice(["hidden", "veryHidden"])
    text = book.parts[BOOK].decode()
    book.parts[BOOK] = re.sub(rf'(name="{sheet}"[^>]*?state=")visible', rf"\g<1>{state}", text).encode()
    return "hidden", sheet, ""


def hide_a_row(book: Mutated) -> Expected:
    row = int(re.findall(r"\d+", formula_of(book, is_calculation, ("Analysis",))[1])[0])
    part = book.part("Analysis")
    book.parts[part] = re.sub(rf'<row r="{row}"', f'<row r="{row}" hidden="1"', book.parts[part].decode()).encode()
    return "hidden", "Analysis", f"A{row}"


def remove_a_drop_down(book: Mutated) -> Expected:
    part = book.part("Analysis")
    rules = re.findall(r"<dataValidation .*?</dataValidation>", book.parts[part].decode())
    rule = book.chance.choice(rules)
    book.replace(part, rule, "")
    first = re.search(r'sqref="([A-Z]+\d+)', rule)
    assert first is not None
    return "drop-down removed", "Analysis", first[1]


def calculate_by_hand(book: Mutated) -> Expected:
    book.replace(BOOK, "<calcPr ", '<calcPr calcMode="manual" ')
    return "manual calculation", "", ""


def break_a_name(book: Mutated) -> Expected:
    book.replace(BOOK, "<definedNames>", '<definedNames><definedName name="Speed">Hardware!#REF!</definedName>')
    return "name broken", "", ""


def link_to_another_file(book: Mutated) -> Expected:
    book.parts["xl/externalLinks/externalLink1.xml"] = b"<externalLink/>"
    book.parts["xl/externalLinks/_rels/externalLink1.xml.rels"] = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        b'Type="x/externalLinkPath" Target="other.xlsx" TargetMode="External"/></Relationships>'
    )
    return "external link", "", ""


def add_macros(book: Mutated) -> Expected:
    book.parts["xl/vbaProject.bin"] = b"\xd0\xcf\x11\xe0"
    return "macros added", "", ""


ALL: tuple[Callable[[Mutated], Expected], ...] = (
    overwrite_by_number,
    edit_a_reference,
    change_a_sign,
    shift_a_range,
    shift_the_range_of_a_look_up,
    add_a_constant,
    change_a_number,
    type_over_a_look_up,
    empty_a_formula,
    edit_an_input,
    edit_a_catalogue,
    edit_a_constant,
    edit_a_text,
    edit_a_stored_value,
    choose_another_strategy,
    overwrite_a_master_check,
    remove_a_drop_down,
    hide_a_row,
    hide_a_sheet,
    calculate_by_hand,
    break_a_name,
    link_to_another_file,
    add_macros,
)


@pytest.fixture
def mutated(shipped: Path, held: dict[Place, Any]) -> Callable[[int], Mutated]:
    contents = parts(shipped.read_bytes())
    return lambda seed: Mutated(dict(contents), held, random.Random(seed))


@pytest.mark.parametrize("seed", range(MUTATIONS))
def test_a_mutation_is_named_and_nothing_else(seed: int, mutated: Callable[[int], Mutated], tmp_path: Path) -> None:
    book = mutated(seed)
    kind, sheet, cell = ALL[seed % len(ALL)](book)
    path = tmp_path / "mutated.xlsx"
    path.write_bytes(packed(book.parts))
    found = [(f.kind.value, f.sheet, f.cell) for f in audit(path).findings]
    if kind != "stored values are old":
        found = [each for each in found if each[0] != "stored values are old"]
    assert found == [(kind, sheet, cell)]


def as_excel_writes(text: str) -> str:
    """The same formula as other programs write it."""
    return re.sub(r"\bTRUE\b(?!\()", "TRUE()", text).replace("FALSE)", "FALSE())")


HARMLESS_TEXTS: tuple[Callable[[str], str], ...] = (
    as_excel_writes,
    lambda text: text.replace(",", ", ").replace("*", " * "),
    lambda text: text.replace("INDEX(", "_xlfn.INDEX(").replace("MAX(", "_xlfn.MAX("),
    lambda text: text.replace("SUM(", "sum(").replace("IF(", "if(").replace("INDEX(", "index("),
    lambda text: REFERENCE.sub(r"$\1$\2", text),
    lambda text: REFERENCE.sub(r"@\1\2", text),
    lambda text: text.replace("1E+12", "1000000000000"),
)


@pytest.mark.parametrize("seed", range(HARMLESS))
def test_how_a_formula_is_written_is_no_finding(seed: int, mutated: Callable[[int], Mutated], tmp_path: Path) -> None:
    book = mutated(seed)
    rewrite = HARMLESS_TEXTS[seed % len(HARMLESS_TEXTS)]
    for _ in range(5):
        place = formula_of(book, lambda text: '"' not in text)
        part = book.part(place[0])
        root = etree.fromstring(book.parts[part])
        (cell,) = root.iterfind(f'.//{SPACE}c[@r="{place[1]}"]')
        formula = cell.find(f"{SPACE}f")
        assert formula is not None
        formula.text = rewrite(book.held[place])[1:]
        book.parts[part] = etree.tostring(root)
    path = tmp_path / "rewritten.xlsx"
    path.write_bytes(packed(book.parts))
    assert audit(path).findings == ()


def test_a_formula_that_points_to_an_empty_cell_is_named(mutated: Callable[[int], Mutated], tmp_path: Path) -> None:
    book = mutated(0)
    place = formula_of(book, is_calculation, ("Analysis",))
    assert ("Stages", "C5") not in book.held
    book.edit(place, formula="Stages!C5", value=0)
    path = tmp_path / "mutated.xlsx"
    path.write_bytes(packed(book.parts))
    (found,) = (f for f in audit(path).findings if f.kind.value != "stored values are old")
    assert (found.kind.value, found.sheet, found.cell) == ("formula changed", *place)


def test_a_text_in_place_of_a_constant_is_named_by_its_quantity(
    mutated: Callable[[int], Mutated], tmp_path: Path
) -> None:
    book = mutated(0)
    book.edit(("Constants", "B6"), value="two")
    path = tmp_path / "mutated.xlsx"
    path.write_bytes(packed(book.parts))
    (found,) = audit(path).findings
    assert (found.kind.value, found.quantity, found.old, found.new) == (
        "not understood", "flops_per_multiply_add", 2, "two",
    )  # fmt: skip
