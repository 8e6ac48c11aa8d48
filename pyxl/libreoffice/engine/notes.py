"""The note of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyxl.libreoffice.engine.ranges import Range


class Note:
    """The note of one cell, which LibreOffice calls its annotation."""

    def __init__(self, location: Range) -> None:
        self.location = location

    @property
    def api(self) -> Any:
        return self.location.api.getCellByPosition(0, 0).getAnnotation()

    @property
    def text(self) -> str:
        return str(self.api.String)

    @text.setter
    def text(self, value: str) -> None:
        self.location.require_writable()
        self.api.setString(value)

    @property
    def author(self) -> str:
        return str(self.api.Author)

    def delete(self) -> None:
        self.location.require_writable()
        self.location.api.clearContents(8)  # com.sun.star.sheet.CellFlags.ANNOTATION
