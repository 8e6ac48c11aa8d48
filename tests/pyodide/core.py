"""What has to come out the same in every Python: run by a bare one, with the standard library alone, and by Pyodide.

The add-in's modules are imported as well: a Python without packages shows that they do without.
"""

import importlib
import json
import sys

MODULES = (
    "workbook.addin",
    "workbook.analysis",
    "workbook.audit.table",
    "workbook.catalogue",
    "workbook.comparison",
    "workbook.study",
)


def computed() -> dict[str, dict[str, str]]:
    """Every quantity of the shipped study, by strategy and key, as Python writes it: to the last bit."""
    for module in MODULES:
        importlib.import_module(module)
    from workbook import study

    return {
        strategy: {key: repr(value) for key, value in values.items()}
        for strategy, values in study.load().values.items()
    }


if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]
    print(json.dumps(computed()))
