"""How cells look: number formats, fonts, colours, alignment, widths."""

from __future__ import annotations

from typing import Any

from xlwings import base_classes

from pyxl.libreoffice.engine.unsupported import explained
from pyxl.libreoffice.engine.values import DATE, LOGICAL, TIME
from pyxl.libreoffice.running import bridge, struct

Colour = tuple[int, int, int]
NONE = -1  # the colour of what has none
NORMAL_WEIGHT, BOLD_WEIGHT = 100.0, 150.0  # com.sun.star.awt.FontWeight
POINTS_PER_UNIT = 72 / 2540  # LibreOffice measures in hundredths of a millimetre
# Excel's unit of width is the digit of its standard font: 7 pixels of 1/96 inch, with 5 between two columns.
PIXELS_PER_UNIT, DIGIT, PADDING = 96 / 2540, 7, 5

HORIZONTAL = {
    "general": "STANDARD",
    "left": "LEFT",
    "center": "CENTER",
    "right": "RIGHT",
    "justify": "BLOCK",
    "fill": "REPEAT",
}
VERTICAL = {"bottom": 3, "top": 1, "center": 2, "justify": 4}  # com.sun.star.table.CellVertJustify2; 0 is bottom too


class Formats:
    """The number formats of one document, which LibreOffice keeps under a number each."""

    def __init__(self, document: Any) -> None:
        self._formats = document.NumberFormats
        self._english = struct("lang.Locale", "en", "US", "")
        self._kinds: dict[int, int] = {}

    def kind(self, number: int) -> int:
        """Whether numbers of this format are dates (DATE), times (TIME), truth values (LOGICAL) or neither (0)."""
        if number not in self._kinds:
            self._kinds[number] = self._formats.getByKey(number).Type & (DATE | TIME | LOGICAL)
        return self._kinds[number]

    def standard(self, kind: int) -> int:
        return int(self._formats.getStandardFormat(kind, self._english))

    def code(self, number: int) -> str:
        # The first of every language's formats is the standard one.
        return "General" if number % 10_000 == 0 else str(self._formats.getByKey(number).FormatString)

    def number(self, code: str) -> int:
        """Raises `ValueError` for what is no number format."""
        found = self._formats.queryKey(code, self._english, False)
        if found >= 0:
            return int(found)
        malformed = bridge().getClass("com.sun.star.util.MalformedNumberFormatException")
        try:
            return int(self._formats.addNew(code, self._english))
        except malformed:
            raise ValueError(f"{code!r} is no number format") from None


def mixed(cells: Any, name: str) -> bool:
    """Whether the cells differ in a property."""
    return str(cells.getPropertyState(name).value) == "AMBIGUOUS_VALUE"


def common(cells: Any, name: str) -> Any:
    """The property that all cells share, or None."""
    return None if mixed(cells, name) else cells.getPropertyValue(name)


def to_colour(number: int) -> Colour:
    return number >> 16 & 255, number >> 8 & 255, number & 255


def from_colour(colour: Colour | int | str | None) -> int:
    """From red, green and blue, "#ff0000", or Excel's number, in which blue stands highest."""
    if colour is None:
        return NONE
    if isinstance(colour, int):
        colour = (colour & 255, colour >> 8 & 255, colour >> 16 & 255)
    if isinstance(colour, str):
        return int(colour.removeprefix("#"), 16)
    red, green, blue = colour
    return red << 16 | green << 8 | blue


def to_characters(width: int) -> float:
    """Excel's column width from LibreOffice's."""
    return max(0.0, round((width * PIXELS_PER_UNIT - PADDING) / DIGIT, 2))


def from_characters(characters: float) -> int:
    return round((characters * DIGIT + PADDING) / PIXELS_PER_UNIT)


def horizontal_justification(name: str) -> Any:
    if name not in HORIZONTAL:
        raise NotImplementedError(f"xlwings' horizontal_alignment is not available as {name!r} on LibreOffice")
    return bridge().Enum("com.sun.star.table.CellHoriJustify", HORIZONTAL[name])


def horizontal_name(justification: Any) -> str:
    return {value: name for name, value in HORIZONTAL.items()}.get(justification.value, "general")


def vertical_justification(name: str) -> int:
    if name not in VERTICAL:
        raise NotImplementedError(f"xlwings' vertical_alignment is not available as {name!r} on LibreOffice")
    return VERTICAL[name]


def vertical_name(justification: int) -> str:
    return {value: name for name, value in VERTICAL.items()}.get(justification, "bottom")


@explained
class Font(base_classes.Font):
    """The font of a range; what its cells do not share reads as None."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    @property
    def api(self) -> Any:
        return self._owner.api

    def _set(self, name: str, value: Any) -> None:
        self._owner.require_writable()
        self.api.setPropertyValue(name, value)

    @property
    def bold(self) -> bool | None:
        weight = common(self.api, "CharWeight")
        return None if weight is None else weight >= BOLD_WEIGHT

    @bold.setter
    def bold(self, value: bool) -> None:
        self._set("CharWeight", BOLD_WEIGHT if value else NORMAL_WEIGHT)

    @property
    def italic(self) -> bool | None:
        posture = common(self.api, "CharPosture")
        return None if posture is None else posture.value == "ITALIC"

    @italic.setter
    def italic(self, value: bool) -> None:
        self._set("CharPosture", bridge().Enum("com.sun.star.awt.FontSlant", "ITALIC" if value else "NONE"))

    @property
    def size(self) -> float | None:
        size = common(self.api, "CharHeight")
        return None if size is None else float(size)

    @size.setter
    def size(self, value: float) -> None:
        self._set("CharHeight", float(value))

    @property
    def color(self) -> Colour | None:
        number = common(self.api, "CharColor")
        return None if number is None else (0, 0, 0) if number == NONE else to_colour(number)

    @color.setter
    def color(self, value: Colour | int | str) -> None:
        self._set("CharColor", from_colour(value))

    @property
    def name(self) -> str | None:
        name = common(self.api, "CharFontName")
        return None if name is None else str(name)

    @name.setter
    def name(self, value: str) -> None:
        self._set("CharFontName", value)
