"""A plan compared with what became of it: what is a change, wherever it stands now, and what is none."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pyxl import cells
from pyxl.changes import Comparison, What, compare
from pyxl.plan import Formula, Plan, Sheet

Held = dict[tuple[int, int], Any]
ROWS = 12


def sheet(title: str, contents: Mapping[tuple[int, int], Any]) -> Sheet:
    made = Sheet(title)
    for (row, column), content in contents.items():
        made.put(row, column, content)
    return made


def labelled(row: int) -> str:
    return f"quantity {row}"


@pytest.fixture
def plan() -> Plan:
    """Twelve labelled rows that each double the one above, a table with two spare rows, and sums over both."""
    data: dict[tuple[int, int], Any] = {(row, 1): labelled(row) for row in range(1, ROWS + 1)}
    data |= {(row, 2): Formula(f"B{row - 1}*2", 1) for row in range(2, ROWS + 1)} | {(1, 2): 1}
    data |= {(20, 1): "total", (20, 2): Formula("SUM(B1:B12)", 1), (21, 2): Formula("Table!$B$2:$B$9", 1), (21, 1): "x"}
    table = {(row, 1): f"device {row}" for row in range(2, 8)} | {(row, 2): row / 8 for row in range(2, 8)}
    return Plan("", "", [sheet("Data", data), sheet("Table", table | {(1, 1): "name", (1, 2): "rate"})])


def found(plan: Plan) -> dict[str, Held]:
    """The plan's sheets as a file holds them."""
    return {
        s.title: {
            place: cells.Formula(f"={c.content.text}") if isinstance(c.content, Formula) else c.content
            for place, c in s.cells.items()
        }
        for s in plan.sheets
    }


def inserted(held: Held, at: int, by: int = 1) -> Held:
    """The rows from `at` on further down; formulas are the caller's."""
    return {(row + by if row >= at else row, column): content for (row, column), content in held.items()}


def whats(comparison: Comparison) -> list[tuple[What, str, tuple[int, int]]]:
    return [(change.what, change.sheet, change.place) for change in comparison.changes]


def test_what_was_not_touched_has_no_changes(plan: Plan) -> None:
    assert whats(compare(plan, found(plan))) == []


def test_inserted_rows_with_formulas_that_follow_are_no_change(plan: Plan) -> None:
    sheets = found(plan)
    rows = {row: row + 2 if row >= 5 else row for row in range(1, 30)}
    data = {(rows[row], column): content for (row, column), content in sheets["Data"].items()}
    for row in range(2, ROWS + 1):
        data[rows[row], 2] = cells.Formula(f"=B{rows[row - 1]}*2")
    data[rows[20], 2] = cells.Formula("=SUM(B1:B14)")
    sheets["Data"] = data
    assert whats(compare(plan, sheets)) == []


def test_inserted_rows_with_formulas_that_do_not_follow_are_changes(plan: Plan) -> None:
    sheets = found(plan)
    sheets["Data"] = inserted(sheets["Data"], 5)
    assert (What.FORMULA, "Data", (20, 2)) in whats(compare(plan, sheets))


def test_a_sorted_table_is_no_change(plan: Plan) -> None:
    sheets = found(plan)
    table = sheets["Table"]
    sheets["Table"] = {(9 - row if row > 1 else row, column): content for (row, column), content in table.items()}
    comparison = compare(plan, sheets)
    assert whats(comparison) == []
    assert comparison.sheets["Table"].rows.moved


@pytest.mark.parametrize("shrunk", ["Table!$B$2:$B$8", "Table!$B$3:$B$9", "Table!$A$2:$A$9", "Data!$B$2:$B$9"])
def test_another_range_is_a_change_even_over_spare_rows(plan: Plan, shrunk: str) -> None:
    sheets = found(plan)
    sheets["Data"][21, 2] = cells.Formula(f"={shrunk}")
    assert whats(compare(plan, sheets)) == [(What.FORMULA, "Data", (21, 2))]


def test_a_row_moved_out_of_a_sum_is_a_change_of_the_sum(plan: Plan) -> None:
    sheets = found(plan)
    data = sheets["Data"]
    for column in (1, 2):
        data[30, column] = data.pop((6, column))
    data[7, 2] = cells.Formula("=B30*2")
    assert whats(compare(plan, sheets)) == [(What.FORMULA, "Data", (20, 2))]


def test_a_deleted_row_breaks_what_refers_to_it_and_nothing_else(plan: Plan) -> None:
    sheets = found(plan)
    data = {(row - 1 if row > 6 else row, c): content for (row, c), content in sheets["Data"].items() if row != 6}
    for row in range(7, ROWS + 1):
        data[row - 1, 2] = cells.Formula("=#REF!*2" if row == 7 else f"=B{row - 2}*2")
    data[19, 2] = cells.Formula("=SUM(B1:B11)")
    sheets["Data"] = data
    comparison = compare(plan, sheets)
    assert comparison.sheets["Data"].rows.deleted == {6}
    assert whats(comparison) == [(What.BROKEN, "Data", (7, 2))]


@pytest.mark.parametrize(("at", "left"), [(12, "B1:B11"), (1, "B1:B11")])
def test_a_row_deleted_at_the_end_of_a_range_shrinks_it(plan: Plan, at: int, left: str) -> None:
    sheets = found(plan)
    data = {(row - 1 if row > at else row, c): content for (row, c), content in sheets["Data"].items() if row != at}
    for row in range(2, ROWS + 1):
        now, before = row - (row > at), row - 1 - (row - 1 > at)
        if row != at:
            data[now, 2] = cells.Formula("=#REF!*2" if row - 1 == at else f"=B{before}*2")
    data[19, 2] = cells.Formula(f"=SUM({left})")
    sheets["Data"] = data
    assert {what for what, *_ in whats(compare(plan, sheets))} <= {What.BROKEN}


CHANGES: dict[str, tuple[Callable[[Held], object], What]] = {
    "typed over": (lambda data: data.update({(5, 2): 7.0}), What.OVERWRITTEN),
    "emptied": (lambda data: data.pop((5, 2)), What.EMPTIED),
    "another row": (lambda data: data.update({(5, 2): cells.Formula("=B3*2")}), What.FORMULA),
    "another column": (lambda data: data.update({(5, 2): cells.Formula("=A4*2")}), What.FORMULA),
    "another sheet": (lambda data: data.update({(5, 2): cells.Formula("=Table!B4*2")}), What.FORMULA),
    "another sign": (lambda data: data.update({(5, 2): cells.Formula("=B4/2")}), What.FORMULA),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_change_is_found_where_it_was_made(plan: Plan, how: str) -> None:
    sheets = found(plan)
    edit, what = CHANGES[how]
    edit(sheets["Data"])
    assert whats(compare(plan, sheets)) == [(what, "Data", (5, 2))]


@pytest.mark.parametrize("text", ["=b4 * 2", "=$B$4*2", "=Data!B4*2", "='Data'!$B4*2", "=@B4*2", "=B4:B4*2"])
def test_how_a_formula_is_written_is_no_change(plan: Plan, text: str) -> None:
    sheets = found(plan)
    sheets["Data"][5, 2] = cells.Formula(text)
    assert whats(compare(plan, sheets)) == []


def test_a_renamed_sheet_is_found_by_its_texts_and_formulas_follow_it(plan: Plan) -> None:
    sheets = found(plan)
    sheets["Devices"] = sheets.pop("Table")
    sheets["Data"][21, 2] = cells.Formula("=Devices!$B$2:$B$9")
    comparison = compare(plan, sheets)
    assert comparison.renamed == {"Table": "Devices"}
    assert whats(comparison) == []


def test_an_empty_cell_that_was_filled_is_told(plan: Plan) -> None:
    plan.sheets[1].put(8, 1, None, "input")
    sheets = found(plan)
    sheets["Table"][8, 1] = "device 8"
    assert whats(compare(plan, sheets)) == [(What.FILLED, "Table", (8, 1))]


def test_a_hundred_thousand_rows_of_the_user_s_own_take_little_time(plan: Plan) -> None:
    sheets = found(plan)
    sheets["Data"] |= {(row, 5): "the same" for row in range(1, 100_000)}
    comparison = compare(plan, sheets)
    assert whats(comparison) == []
    assert len(comparison.sheets["Data"].added) == 99_999


END = 8  # the last line of the look-up's range: the lines between are empty


def with_look_ups() -> Plan:
    table, use = Sheet("Table"), Sheet("Use")
    table.put_row(1, 1, ["Device", "Speed"], "header")
    for row in range(2, 7):
        table.put_row(row, 1, [f"device {row}", 10 * row], "input")
    use.put_row(1, 1, ["Name", "Speed", "Twice"], "header")
    for row in range(2, 6):
        use.put(row, 1, f"device {row}", "input")
        use.put(row, 2, Formula(f"INDEX(Table!$B$2:$B${END},MATCH($A${row},Table!$A$2:$A${END},0))", 0), "look-up")
        use.put(row, 3, Formula(f"$B${row}*2", 0), "calculation")
    return Plan("Test", "", [table, use])


def contents(edit: Mapping[str, str] | None = None) -> dict[str, dict[tuple[int, int], Any]]:
    """What the file holds as it was built, but for texts in its formulas."""

    def held(content: Any) -> Any:
        if not isinstance(content, Formula):
            return content
        text = content.text
        for old, new in (edit or {}).items():
            text = text.replace(old, new)
        return cells.Formula(f"={text}")

    return {s.title: {place: held(cell.content) for place, cell in s.cells.items()} for s in with_look_ups().sheets}


def changed(sheets: Mapping[str, Held]) -> list[tuple[What, str, tuple[int, int]]]:
    return whats(compare(with_look_ups(), sheets))


def test_sheets_that_exchanged_their_titles_are_renamed_and_nothing_else() -> None:
    found = contents({"Table!": "Use!"})
    found = {"Use": found["Table"], "Table": found["Use"]}
    assert compare(with_look_ups(), found).renamed == {"Table": "Use", "Use": "Table"}
    assert changed(found) == []


def test_a_copy_of_a_sheet_takes_its_title_from_none() -> None:
    found = contents()
    found["Copy"] = dict(found["Table"])
    found["Table"] |= {(row, 1): f"other {row}" for row in (2, 3)}
    assert not compare(with_look_ups(), found).renamed
    assert changed(found) == [(What.VALUE, "Table", (2, 1)), (What.VALUE, "Table", (3, 1))]


def test_empty_lines_inserted_or_deleted_at_the_end_of_a_table_change_no_formula() -> None:
    assert changed(contents({f"${END},": f"${END + 2},"})) == []
    assert changed(contents({f"${END},": f"${END - 2},"})) == []


def test_a_range_that_ends_elsewhere_than_those_of_others_is_changed() -> None:
    found = contents({f"${END},": f"${END + 2},"})
    found["Use"][4, 2] = cells.Formula(found["Use"][4, 2].replace(f"${END + 2}", f"${END + 1}"))
    assert changed(found) == [(What.FORMULA, "Use", (4, 2))]


def test_a_line_whose_texts_stand_in_others_too_is_found_where_it_was_moved_to() -> None:
    plan, found = Plan("Test", "", [Sheet("Some")]), {"Some": {}}
    columns = [["Key", "stage"], ["first", "one"], ["one", "one"], ["last", "one"]]
    for column, texts in enumerate(columns, start=1):
        for row, text in enumerate(texts, start=1):
            plan.sheets[0].put(row, column, text, "input")
            found["Some"][row, {2: 3, 3: 2}.get(column, column)] = text
    compared = compare(plan, found)
    assert compared.changes == ()
    assert len(compared.sheets["Some"].columns.moved) == 1
