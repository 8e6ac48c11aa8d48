"""Add strategy: a further column of the sheet Analysis, formulas included; the Summary and its charts pick it up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyxl.cells import Formula, letter
from pyxl.errors import UserError
from pyxl.formula_text import references
from pyxl.naming import LAST_ROW, check_name
from pyxl.open_book import Formulas
from pyxl.quantity import Kind
from workbook import study
from workbook.addin.catalogues import add_rows
from workbook.addin.opened import Opened, opened
from workbook.addin.own_sheets import as_text
from workbook.analysis import analysis
from workbook.catalogue import Table
from workbook.file_inputs import MODEL_SHEET

if TYPE_CHECKING:
    import xlwings as xw


def add_strategy(
    book: xw.Book, source: str | Path | None = None, name: str | None = None, formulas: Formulas | None = None
) -> str:
    """Add a strategy in the next free column and say what was done.

    `source` is a strategy of the workbook, else a study by name or path, of which `name` picks one strategy (all if
    None); None is the strategy at the cursor. A copy may be given its `name`. Raises `UserError` where there is no
    such source, no free column, or the sheet takes no changes.
    """
    read = opened(book, formulas)
    source = read.selected_strategy() if source is None else source
    if str(source) in read.inputs.rows.columns:
        return _copy(read, str(source), name)
    return _from_study(read, study.load(str(source)), name)


def _copy(read: Opened, source: str, name: str | None) -> str:
    name = check_name(name or _free_name(read, source), "strategy", word="ZeRO-1")
    _require_new(read, name)
    rows = read.inputs.rows
    contents = {key: rows.content(key, source) for key in read.inputs.strategies[source]}
    column = _write(read, source, next(_free_columns(read)), name, contents)
    return f"'{name}' is a copy of '{source}', in column {column} of the sheet {MODEL_SHEET}: change its inputs."


def _free_name(read: Opened, wanted: str) -> str:
    """The name, with a number behind it where the workbook has a strategy of that name."""
    taken = {name.casefold() for name in read.inputs.rows.columns}
    numbered = (f"{wanted} ({number})" for number in range(2, len(taken) + 3))
    return next(name for name in (wanted, *numbered) if name.casefold() not in taken)


def _require_new(read: Opened, name: str) -> None:
    for taken in read.inputs.rows.columns:
        if taken.casefold() == name.casefold():
            raise UserError(f"the workbook has a strategy named '{taken}': give the new one another name")


def _from_study(read: Opened, loaded: study.Study, name: str | None) -> str:
    if name is not None and name not in loaded.strategies:
        raise UserError(f"{loaded.origin} has no strategy '{name}': there are {', '.join(loaded.strategies)}")
    loaded.require_valid()
    wanted = [name] if name is not None else list(loaded.strategies)
    free = _free_columns(read)
    columns = [next(free) for _ in wanted]
    said = add_rows(read, _needed(loaded, wanted))
    model = next(iter(read.inputs.rows.columns))
    for each, column in zip(wanted, columns, strict=True):
        inputs = loaded.strategies[each]
        defaults = {q.name: q.value for q in analysis if q.kind is Kind.INPUT}
        own_name = _free_name(read, each)
        placed = _write(read, model, column, own_name, {**defaults, **inputs})
        said.append(f"'{own_name}' of {loaded.origin} is in column {placed} of the sheet {MODEL_SHEET}.")
    for key, value in loaded.constants.items():
        if value != read.inputs.constants.get(key):
            said.append(f"The study sets {key} to {value}, the sheet Constants keeps {read.inputs.constants.get(key)}.")
    return "\n".join(said)


def _needed(loaded: study.Study, wanted: Sequence[str]) -> list[tuple[Table, str]]:
    """The rows of the catalogues that strategies of a study use."""
    chosen = [(quantity.name, str(quantity.choices)) for quantity in analysis if quantity.choices]
    rows = {(table, str(loaded.values[name][key])): None for name in wanted for key, table in chosen}
    return [(loaded.tables[table], row) for table, row in rows]


def _free_columns(read: Opened) -> Iterator[int]:
    """Empty columns that the sheet Summary shows, those behind the last strategy first."""
    grid, taken = read.inputs.rows.grid, set(read.inputs.rows.columns.values())
    free = [column for column in _slots(read) if not grid.column(column)]
    yield from sorted(free, key=lambda column: (column < max(taken), column))
    raise UserError(
        f"the sheet {MODEL_SHEET} has no free column that the Summary shows: delete a strategy's column, or clear one"
    )


def _slots(read: Opened) -> Iterator[int]:
    """The columns that the Summary shows: each line of its first table has the number of one, from the first on."""
    summary = read.sheets.get("Summary")
    if summary is None or not summary.find("Slot"):
        raise UserError(
            "the workbook has no sheet 'Summary' as solbook wrote it: if it was renamed, give its name back"
        )
    (top, left), *others = summary.find("Slot")
    for row, number in summary.column(left):
        name = summary.cells.get((row, left + 1))
        shown = references(name) if isinstance(name, Formula) else ()
        if shown and isinstance(number, int | float) and top < row < min([LAST_ROW, *(other for other, _ in others)]):
            yield shown[0].first[1] + int(number) - 1


def _write(read: Opened, model: str, column: int, name: str, inputs: Mapping[str, Any]) -> str:
    """Fill a column: the looks of a model strategy's, this name, these inputs, and every formula as it should be."""
    rows, sheet = read.inputs.rows, read.book.sheets[MODEL_SHEET]
    contents: dict[int, Any] = {rows.head: as_text(name)}
    for key, row in rows.rows.items():
        content = inputs[key] if key in inputs else read.located.formula(key, column)
        # Where no formula can be made, and where an input is one of the user's own, the copy has what fits.
        if not isinstance(content, Formula) and (content is not None or key in inputs):
            contents[row] = content
    try:
        first, last = (rows.head, rows.columns[model]), (max(rows.rows.values()), rows.columns[model])
        sheet.range(first, last).copy(sheet.range((rows.head, column)))
        for row, block in _blocks(contents):
            cells = sheet.range((row, column), (row + len(block) - 1, column))
            if _is_formula(block[0]):
                cells.formula = [[content] for content in block]
            else:
                cells.value = [[content] for content in block]
    except Exception as error:  # each spreadsheet has its own
        raise UserError(f"cannot write to the sheet {MODEL_SHEET}: is it protected? ({error})") from error
    return letter(column)


def _is_formula(content: Any) -> bool:
    return isinstance(content, str) and content.startswith("=")


def _blocks(contents: Mapping[int, Any]) -> Iterator[tuple[int, list[Any]]]:
    """Consecutive rows that hold formulas all, or values all."""
    numbered = enumerate(sorted(contents))
    for _, run in groupby(numbered, key=lambda pair: (pair[1] - pair[0], _is_formula(contents[pair[1]]))):
        rows = [row for _, row in run]
        yield rows[0], [contents[row] for row in rows]
