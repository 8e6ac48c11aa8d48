"""What xlwings Lite does with main.py, in Pyodide: start it, then call a button's functions and a cell's."""

import json

import core
import main  # unpacks the engine and puts it on the path

from workbook import study

name, inputs = next(iter(study.load().strategies.items()))
keys, values = [[key] for key in inputs], [[value] for value in inputs.values()]
print(
    json.dumps(
        {
            "computed": core.computed(),
            "strategy": name,
            "table": main.SOL_TABLE(keys, values),
            "functions": sorted(function for function in vars(main) if function.startswith("SOL")),
        }
    )
)
