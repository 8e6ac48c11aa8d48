"""Tests that need LibreOffice are skipped where it is missing, unless the run demands it."""

import os

import pytest

from pyxl.errors import MissingProgram
from pyxl.libreoffice import running

REQUIRED = "SOLBOOK_REQUIRE_LIBREOFFICE"  # set to 1 in CI: a missing program must not look like success


def _missing() -> str | None:
    try:
        running.program()
    except MissingProgram as error:
        return str(error)
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("libreoffice") and (reason := _missing()):
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{reason} ({REQUIRED} is set)", pytrace=False)
        pytest.skip(reason)
