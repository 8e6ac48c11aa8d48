"""Tests that need LibreOffice are skipped where it is missing, unless the run demands it."""

import os

import pytest

from pyxl.errors import UserError
from pyxl.evaluators import libreoffice

REQUIRED = "SOLBOOK_REQUIRE_LIBREOFFICE"


@pytest.fixture(autouse=True)
def _libreoffice(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("libreoffice"):
        try:
            libreoffice.program()
        except UserError as error:
            if os.environ.get(REQUIRED) == "1":
                pytest.fail(f"{error} ({REQUIRED} is set)", pytrace=False)
            pytest.skip(str(error))
