"""Contents of a workbook against the plan that it was laid out by."""

from collections.abc import Mapping
from typing import Any

from pyxl import cells
from pyxl.changes import Change, What, compare
from pyxl.plan import Formula, Plan, Sheet

ROWS, END = 5, 8  # devices, and the last line of the look-up's range: the lines between are empty


def planned() -> Plan:
    table, use = Sheet("Table"), Sheet("Use")
    table.put_row(1, 1, ["Device", "Speed"], "header")
    for row in range(2, ROWS + 2):
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

    return {s.title: {place: held(cell.content) for place, cell in s.cells.items()} for s in planned().sheets}


def changed(found: Mapping[str, Mapping[tuple[int, int], Any]]) -> list[tuple[What, str, tuple[int, int]]]:
    changes: tuple[Change, ...] = compare(planned(), found).changes
    return [(change.what, change.sheet, change.place) for change in changes]


def test_nothing_is_changed_in_what_was_built() -> None:
    assert changed(contents()) == []


def test_sheets_that_exchanged_their_titles_are_renamed_and_nothing_else() -> None:
    found = contents({"Table!": "Use!"})
    found = {"Use": found["Table"], "Table": found["Use"]}
    assert compare(planned(), found).renamed == {"Table": "Use", "Use": "Table"}
    assert changed(found) == []


def test_a_copy_of_a_sheet_takes_its_title_from_none() -> None:
    found = contents()
    found["Copy"] = dict(found["Table"])
    found["Table"] |= {(row, 1): f"other {row}" for row in (2, 3)}
    assert not compare(planned(), found).renamed
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
