"""Writing a plan: stored values, equal bytes, whole files or none; and telling whether somebody edited them."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from openpyxl.utils import get_column_letter

from pyxl import fingerprint
from pyxl.cells import letter
from pyxl.errors import UserError
from pyxl.plan import Formula, Plan, Sheet
from pyxl.quantity import Failure
from pyxl.stored_values import with_stored_values
from pyxl.workbook_file import read
from pyxl.writer import workbook_bytes, write_file

VALUES: dict[str, Any] = {
    "1+1": 2,
    "1/3": 1 / 3,
    "2^70": 2**70,
    "1/1E+300": 1e-300,
    "0-5": -5,
    "1>0": True,
    "1<0": False,
    '"a"&"b"': "ab",
    '"<&>"': "<&>",
    '""': "",
    "1/0": Failure("#DIV/0!", "why"),
}


def made(**cells: Any) -> Plan:
    """A plan of one sheet with these cells."""
    sheet = Sheet("Data")
    for address, content in cells.items():
        sheet.put(int(address[1:]), ord(address[0]) - 64, content)
    return Plan("Title", "Description", [sheet])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A written workbook."""
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook_bytes(made(A1="input", B1=4, C1=Formula("B1*2", 8.0), A2="=text", B2=0.5)))
    return path


def test_letters() -> None:
    assert [letter(column) for column in range(1, 16_385)] == [get_column_letter(c) for c in range(1, 16_385)]


def test_every_kind_of_value_is_stored_beside_its_formula(tmp_path: Path) -> None:
    cells = {f"A{row}": Formula(text, value) for row, (text, value) in enumerate(VALUES.items(), start=1)}
    (tmp_path / "a.xlsx").write_bytes(workbook_bytes(made(**cells)))
    stored = read(tmp_path / "a.xlsx").stored
    for row, value in enumerate(VALUES.values(), start=1):
        found = stored.get(("Data", f"A{row}"))
        expected = str(value) if isinstance(value, Failure) else value
        assert (found, isinstance(found, bool)) == (expected, isinstance(value, bool)), value
    assert {place: str(content) for place, content in read(tmp_path / "a.xlsx").held.items()} == {
        ("Data", f"A{row}"): f"={text}" for row, text in enumerate(VALUES, start=1)
    }


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_what_a_cell_cannot_hold_is_not_stored(value: Any) -> None:
    file = BytesIO(workbook_bytes(made(A1=Formula("B1", value))))
    assert load_workbook(file)["Data"]["A1"].value == "=B1"
    assert load_workbook(file, data_only=True)["Data"]["A1"].value is None


def test_a_text_that_looks_like_a_formula_stays_text(path: Path) -> None:
    sheet = load_workbook(path)["Data"]
    assert (sheet["A2"].value, sheet["A2"].data_type) == ("=text", "s")
    assert sheet["C1"].data_type == "f"


def test_stored_values_change_nothing_else() -> None:
    plan = made(A1=1, B1=Formula('A1&"<v></v>"', "1<v></v>"), A2='<c r="B1"><f>A1</f><v></v></c>')
    file = workbook_bytes(plan)
    assert with_stored_values(file, {}) == file
    sheet = load_workbook(BytesIO(file))["Data"]
    assert (sheet["B1"].value, sheet["A2"].value) == ('=A1&"<v></v>"', '<c r="B1"><f>A1</f><v></v></c>')
    assert load_workbook(BytesIO(file), data_only=True)["Data"]["B1"].value == "1<v></v>"


def test_equal_plans_give_equal_bytes() -> None:
    assert workbook_bytes(made(A1=1, B1=Formula("A1", 1))) == workbook_bytes(made(A1=1, B1=Formula("A1", 1)))
    assert workbook_bytes(made(A1=1)) != workbook_bytes(made(A1=2))


# Files


def test_a_file_is_written_with_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_file(tmp_path / "a.xlsx", b"data")
    assert (tmp_path / "a.xlsx").read_bytes() == b"data"
    assert (tmp_path / "a.xlsx").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=r"cannot write .*folder: Is a directory; nothing was changed"):
        write_file(tmp_path / "folder", b"data")
    with pytest.raises(UserError, match=r"cannot write .*missing/a.xlsx: No such file or directory"):
        write_file(tmp_path / "missing" / "a.xlsx", b"data")
    assert [each.name for each in tmp_path.rglob("*")] == ["folder"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    (tmp_path / "a.xlsx").write_bytes(b"old")
    script = (
        "import resource; from pathlib import Path; from pyxl.writer import write_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); write_file(Path('a.xlsx'), bytes(1000))"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stderr.endswith("UserError: cannot write a.xlsx: File too large; nothing was changed\n")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a.xlsx", b"old")]


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"old")
    with pytest.raises(TypeError):
        write_file(tmp_path / "a.xlsx", "no bytes")  # type: ignore[arg-type]
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a.xlsx", b"old")]


# Fingerprints


def test_our_own_file_may_be_replaced(path: Path, tmp_path: Path) -> None:
    fingerprint.require_replaceable(path, force=False)
    fingerprint.require_replaceable(tmp_path / "new.xlsx", force=False)


def test_numbers_of_17_digits_are_no_edit(tmp_path: Path) -> None:
    sheet = Sheet("Data")
    for row, number in enumerate((0.15151515151515152, 2.2542498272950047, 10.261898695858445, 1 / 3, 2e-300), start=1):
        sheet.put(row, 1, number, "input")
    write_file(tmp_path / "a.xlsx", workbook_bytes(Plan("T", "", [sheet])))
    fingerprint.require_replaceable(tmp_path / "a.xlsx", force=False)


def test_a_file_that_was_opened_and_saved_may_be_replaced(path: Path) -> None:
    load_workbook(path).save(path)
    fingerprint.require_replaceable(path, force=False)


@pytest.mark.parametrize(
    ("address", "content"),
    [("B1", 5), ("B1", None), ("B1", "4"), ("C1", "=B1*3"), ("C1", 8), ("Z99", "note"), ("A2", "=1+1")],
)
def test_a_file_with_an_edited_cell_may_not(address: str, content: Any, path: Path) -> None:
    book: Any = load_workbook(path)
    book["Data"][address] = content
    book.save(path)
    with pytest.raises(UserError, match="was edited since solbook wrote it"):
        fingerprint.require_replaceable(path, force=False)
    fingerprint.require_replaceable(path, force=True)


def test_a_file_with_another_sheet_may_not(path: Path) -> None:
    book: Any = load_workbook(path)
    book["Data"].title = "Renamed"
    book.save(path)
    with pytest.raises(UserError, match="was edited"):
        fingerprint.require_replaceable(path, force=False)


def test_a_read_only_file_may_not(path: Path) -> None:
    path.chmod(0o444)
    for force in (False, True):
        with pytest.raises(UserError, match="is read-only"):
            fingerprint.require_replaceable(path, force=force)


@pytest.mark.libreoffice
def test_a_file_that_libreoffice_saved_may_be_replaced(app: Any, path: Path, tmp_path: Path) -> None:
    with app.books.open(path) as book:
        book.save(tmp_path / "saved.xlsx")
        book.sheets["Data"]["B1"].value = 5
        book.save(tmp_path / "edited.xlsx")
    fingerprint.require_replaceable(tmp_path / "saved.xlsx", force=False)
    with pytest.raises(UserError, match="was edited"):
        fingerprint.require_replaceable(tmp_path / "edited.xlsx", force=False)
