"""The styles of the workbook, one per role. The legend on the sheet About lists them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How cells of one role look: hexadecimal colours, and whether text wraps."""

    meaning: str
    color: str = "000000"
    fill: str | None = None
    bold: bool = False
    italic: bool = False
    size: int = 10
    wrap: bool = False
    align: str | None = None
    border: bool = False
    unlocked: bool = False


FONT = "Calibri"

STYLES: dict[str, Style] = {
    "title": Style("Title", color="1F3864", bold=True, size=16),
    "headline": Style("Headline answer", color="1F3864", bold=True, size=12),
    "section": Style("Section", color="FFFFFF", fill="1F3864", bold=True),
    "header": Style("Header", fill="D9E2F3", bold=True, wrap=True, align="center", border=True),
    "label": Style("Name of a quantity"),
    "key": Style("Key: the name that scripts and formulas in words use", color="595959"),
    "text": Style("Text"),
    "note": Style("Note or source", color="595959", italic=True),
    "prose": Style("Explanation", wrap=True),
    "input": Style("Input: yours to change", color="0000FF", fill="FFF9DB", border=True, unlocked=True),
    "name": Style(
        "Name of a strategy: yours to change",
        color="0000FF",
        fill="FFF9DB",
        bold=True,
        wrap=True,
        align="center",
        border=True,
        unlocked=True,
    ),
    "look-up": Style(
        "Look-up in another sheet; type over it to override", color="00703C", align="right", border=True, unlocked=True
    ),
    "constant": Style("Constant: a number of the field, with its source", color="0000FF", fill="F2F2F2", border=True),
    "calculation": Style("Calculation: a live formula", align="right", border=True),
    "word": Style("Calculation whose answer is a word", align="center", border=True),
    "result": Style("Headline result: a live formula", fill="E2EFDA", bold=True, border=True),
    "check": Style("Check: OK, or what is wrong", border=True),
    "reported": Style("Check that a program reports", border=True, unlocked=True),
    "words": Style("Formula in words", color="404040"),
    "link": Style("Link to a sheet", color="0563C1"),
    # Conditional ones: the writer applies them while a condition holds.
    "override": Style("A look-up that you typed over", color="9C5700", fill="FFD966", bold=True),
    "overwritten": Style("A calculation that somebody typed over", color="FFFFFF", fill="C00000", bold=True),
    "failed": Style("A failed check", color="FFFFFF", fill="C00000", bold=True),
    "passed": Style("A passed check", color="006100", fill="E2EFDA"),
    "good": Style("Compute-bound, or fits", color="006100", fill="C6EFCE"),
    "bad": Style("Waits for a network or memory, or does not fit", color="9C0006", fill="FFC7CE"),
}

NUMBER_FORMATS: dict[str, str] = {
    # Excel allows two conditions and a rest; digits are written out because readers rewrite 1E12.
    "byte": '[>=1000000000]#,##0.00,,," GB";[>=1000000]#,##0.00,," MB";#,##0" B"',
    "byte/s": '[>=1000000000000]0.00,,,," TB/s";[>=1000000000]0.0,,," GB/s";0.0,," MB/s"',
    "byte/token": '[>=1000000]0.00,," MB";[>=1000]0.00," kB";0" B"',
    "FLOP": '[>=1000000000000]#,##0.00,,,," TFLOP";[>=1000000000]0.00,,," GFLOP";#,##0" FLOP"',
    "FLOP/token": '[>=1000000000]0.000,,," GFLOP";[>=1000000]0.000,," MFLOP";#,##0" FLOP"',
    "FLOP/s": '[>=1000000000000000]#,##0.00,,,,," PFLOP/s";[>=1000000000000]0.0,,,," TFLOP/s";0.0,,," GFLOP/s"',
    "s": '[=0]"0 s";[>=0.01]#,##0.000" s";0.00E+00" s"',
    "W": '#,##0" W"',
    "USD/device/hour": "0.00",
    "token": '[>=1000000000000]0.00,,,," T";#,##0',
    "s/token": "0.00E+00",
    "device": "#,##0",
    "1": "#,##0.####;-#,##0.####;0",
}


def number_format(unit: str, own: str | None = None) -> str:
    """How numbers of a unit are shown, unless the quantity has its own format. Cells hold base units."""
    return own or NUMBER_FORMATS.get(unit, "General")


def fill(style: str) -> str:
    """The colour behind cells of a style, as #RRGGBB."""
    return f"#{STYLES[style].fill}"
