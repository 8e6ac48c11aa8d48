"""A session in xlwings Lite, in Pyodide: main.py starts, cells call functions, and each button is pressed once.

What came of it is printed as JSON. The workbook is in book.json, as tests/pyodide/snapshot.py takes it.
"""

import contextlib
import io
import json
import pathlib
import shutil
import time

import core
import main  # unpacks the engine and puts it on the path
import snapshot

from workbook import study
from workbook.catalogue import templates_directory

BOOK = json.loads(pathlib.Path("book.json").read_text())
CELL = "Analysis", BOOK.pop("cell")  # a calculation of the first strategy
STRATEGY, INPUTS = next(iter(study.load().strategies.items()))


async def pressed(action: str, sheet: str, address: str, change: object = None) -> dict[str, object]:
    """What a button says, and which cells it writes, with the cursor on a cell, after that cell was changed."""
    book = snapshot.book("shipped.xlsx", BOOK, (sheet, address))
    if change is not None:
        book.impl.type_over(sheet, address, change)
    started, printed = time.perf_counter(), io.StringIO()
    with contextlib.redirect_stdout(printed):
        await getattr(main, action)(book)
    return {
        "said": printed.getvalue().strip(),
        "sheets": sorted({sheet for sheet, _, what, _ in book.impl.written if what != "activate"}),
        "seconds": time.perf_counter() - started,
    }


async def session() -> None:
    """All of it, in one start of Pyodide."""
    keys, values = [[key] for key in INPUTS], [[value] for value in INPUTS.values()]
    done: dict[str, object] = {
        "computed": core.computed(),
        "strategy": STRATEGY,
        "table": main.SOL_TABLE(keys, values),
        "functions": sorted(function for function in vars(main) if function.startswith("SOL")),
        "recompute": await pressed("recompute", *CELL),
        "recompute, a formula overwritten": await pressed("recompute", *CELL, 1),
        "explain": await pressed("explain", *CELL),
        "audit": await pressed("audit", *CELL),
        "audit, a formula overwritten": await pressed("audit", *CELL, 1),
        "add_strategy": await pressed("add_strategy", *CELL),
        "add_hardware, nothing imported": await pressed("add_hardware", "Summary", "A1"),
        "export": await pressed("export", *CELL),
    }
    (exported,) = pathlib.Path(main.FILES).glob("*.toml")
    done["exported"] = exported.read_text()
    shutil.copy(templates_directory() / "models" / "gpt-2.json", f"{main.FILES}/my-model.json")
    done["add_model"] = await pressed("add_model", "Summary", "A1")
    print(json.dumps(done))
