"""Formula texts: what spreadsheets rewrite is no other formula, everything else is; addresses become names."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyxl.cells import coordinates, letter
from pyxl.formula_text import Target, canonical, references, renamed


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("=IF(A1>0,TRUE,FALSE)", "=IF(A1>0,TRUE(),FALSE())"),
        ("=1E+12*G7", "=1000000000000*G7"),
        ("=0.5*G7", "=.5*G7"),
        ("=MAX(G7,G8)", "=max( g7 , g8 )"),
        ("=_xlfn.IFNA(G7,0)", "=IFNA(G7,0)"),
        ("=INDEX(Hardware!$C$8:$C$36,G7)", "=INDEX('Hardware'!$C$8:$C$36,@G7)"),
        ("=G7&\"a  b\"", "=G7 & \"a  b\""),
    ],
)  # fmt: skip
def test_what_spreadsheets_rewrite_is_the_same_formula(ours: str, theirs: str) -> None:
    assert canonical(ours) == canonical(theirs)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("=G7+G8", "=G7-G8"),
        ("=G7+G8", "=G7+G9"),
        ("=G7*2", "=G7*2.0000001"),
        ("=SUM(G7:G9)", "=SUM(G7:G10)"),
        ("=SUM(G7:G9)", "=SUM(G7,G9)"),
        ('=G7&"a b"', '=G7&"a  b"'),
        ('=G7&"a"', '=G7&"A"'),
        ("=(G7+G8)*G9", "=G7+G8*G9"),
        ("=Hardware!A1", "=Models!A1"),
        ("=TRUE", "=FALSE"),
        ("=LOG10(G7)", "=LOG(G7)"),
    ],
)
def test_any_other_text_is_another_formula(before: str, after: str) -> None:
    assert canonical(before) != canonical(after)


def test_references_are_told_from_functions_texts_and_names() -> None:
    text = "=LOG10(A1)+'It''s'!$B$2:C3&\"D4\"&H800_name+Sheet1!E5"
    assert references(text) == [
        Target("", (1, 1), (1, 1)),
        Target("It's", (2, 2), (3, 3)),
        Target("Sheet1", (5, 5), (5, 5)),
    ]


def test_addresses_are_replaced_by_names_and_what_has_none_stays() -> None:
    names = {Target("", (7, 7), (7, 7)): "hidden_size"}
    assert renamed('=G7*2+G8&"G7"', names.get) == 'hidden_size*2+G8&"G7"'


@given(st.integers(1, 16_384), st.integers(1, 1_048_576))
def test_an_address_and_its_coordinates_are_one(column: int, row: int) -> None:
    assert coordinates(f"{letter(column)}{row}") == (row, column)


@given(st.integers(0, 2**32))
def test_case_and_blanks_change_nothing(seed: int) -> None:
    dice = random.Random(seed)
    tokens = [
        "MAX",
        "(",
        "G7",
        "*",
        "1.5E+3",
        ",",
        "$B$2",
        "/",
        "IF",
        "(",
        "G8",
        ">",
        "0",
        ",",
        "G9",
        ",",
        "1",
        ")",
        ")",
    ]
    written = (dice.choice((str.lower, str.upper))(token) + " " * dice.randrange(3) for token in tokens)
    assert canonical("=" + "".join(written)) == canonical("=" + "".join(tokens))
