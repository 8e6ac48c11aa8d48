"""The core runs where nothing can be installed: in LibreOffice's own Python and in Excel on the web."""

import json
import subprocess
import sys
from pathlib import Path

from tests.pyodide.core import computed

PROJECT = Path(__file__).parents[2]
CORE = PROJECT / "tests" / "pyodide" / "core.py"


def test_a_python_without_packages_computes_the_same_values() -> None:
    bare = [sys.executable, "-I", "-S", CORE, PROJECT]  # neither site-packages nor the environment
    ran = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == computed()
