"""Names that a spreadsheet would misread are refused, all others pass."""

import pytest

from pyxl.errors import UserError
from pyxl.naming import check_name, is_cell_address


@pytest.mark.parametrize("name", ["H800", "h800", "TP8", "B200", "$A$1", "XFD1048576", "gpt2", "R1C1", "R", "c", "RC"])
def test_cell_addresses(name: str) -> None:
    assert is_cell_address(name)
    with pytest.raises(UserError, match="cell address"):
        check_name(name, "hardware")
    assert check_name(name, "precision", may_be_address=True) == name


@pytest.mark.parametrize(
    "name",
    [
        "H800 SXM5 80GB",
        "XFE1",
        "A1048577",
        "A0",
        "gpt-2",
        "GPUs",
        "deepseek-v3",
        "1F1B",
        "ZB1P",
        "MI300X",
        "Größe",
        "x" * 60,
    ],
)
def test_names_that_pass(name: str) -> None:
    assert check_name(name, "row") == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "has no name"),
        ("  ", "has no name"),
        (None, "has no name"),
        (7, "has no name"),
        ("x" * 61, "61 characters"),
        ("=a", "formula"),
        ("+a", "formula"),
        ("-a", "formula"),
        ("@a", "formula"),
        ("a\nb", "control"),
        ("a\x00b", "control"),
        ("a\u202eb", "control"),
        (" a", "blanks"),
        ("a*", "wildcards"),
        ("what?", "wildcards"),
        ("405", "as a value"),
        ("1e5", "as a value"),
        ("true", "as a value"),
    ],
)
def test_names_that_do_not(name: object, problem: str) -> None:
    with pytest.raises(UserError, match=problem) as error:
        check_name(name, "row")
    assert "\n" not in str(error.value)
