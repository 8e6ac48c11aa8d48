"""Every quantity of every study that ships, printed by whatever Python runs this: a bare one, or Pyodide.

The add-in's modules are imported as well: a Python without packages shows that they do without.
"""

import importlib
import json
import sys

MODULES = ("workbook.addin", "workbook.analysis", "workbook.catalogue", "workbook.study", "workbook.comparison")


def computed() -> dict[str, dict[str, dict[str, str]]]:
    """The values of all studies: by study, strategy and quantity, as Python writes them, to the last bit."""
    for module in MODULES:
        importlib.import_module(module)
    from workbook import study

    return {
        name: {
            strategy: {key: repr(value) for key, value in values.items()}
            for strategy, values in study.load(name).values.items()
        }
        for name in study.names()
    }


if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]
    print(json.dumps(computed()))
