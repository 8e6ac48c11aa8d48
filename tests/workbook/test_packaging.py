"""The wheel holds all that a user needs, also the templates, and works from any directory."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked where no checkout is near."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, PROJECT]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    if "No matching distribution" in built.stderr or "Connection" in built.stderr:
        pytest.skip("building the wheel needs hatchling from a package registry")
    assert built.returncode == 0, built.stderr
    with zipfile.ZipFile(next(folder.glob("solbook-*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_has_code_and_templates_only(installed: Path) -> None:
    assert {path.name.partition("-")[0] for path in installed.iterdir()} == {"pyxl", "workbook", "solbook"}
    shipped = {path.name for path in (PROJECT / "templates").rglob("*") if path.is_file()}
    assert {path.name for path in (installed / "workbook" / "templates").rglob("*") if path.is_file()} == shipped


def test_the_installed_command_builds_the_same_workbook(installed: Path, shipped: Path, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(installed), "PATH": ""}
    command = [sys.executable, "-m", "workbook.cli", "build", "-o", "built.xlsx"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "built.xlsx").read_bytes() == shipped.read_bytes()
