"""Makes the README's pictures from the real workbook: python tests/pictures/render.py (LibreOffice, pdftoppm)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyxl.libreoffice import engine
from pyxl.writer import workbook_bytes
from workbook.book import plan
from workbook.study import load

HERE = Path(__file__).parent
# Page of the PDF and the part of it in pixels at the resolution below: left, top, width, height.
PICTURES = {"summary": (1, 50, 80, 1690, 1310), "roofline": (9, 90, 630, 1240, 630)}
RESOLUTION = 155


def main() -> int:
    """Render the shipped study and cut both pictures out."""
    with TemporaryDirectory() as folder:
        book, pdf = Path(folder) / "workbook.xlsx", Path(folder) / "workbook.pdf"
        book.write_bytes(workbook_bytes(plan(load())))
        with engine.started() as app:
            app.books.open(book).to_pdf(pdf)
        for name, (page, left, top, width, height) in PICTURES.items():
            box = ["-x", left, "-y", top, "-W", width, "-H", height]
            command = [
                "pdftoppm",
                "-png",
                "-r",
                RESOLUTION,
                "-f",
                page,
                "-l",
                page,
                "-singlefile",
                *box,
                pdf,
                HERE / name,
            ]
            subprocess.run([str(part) for part in command], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
