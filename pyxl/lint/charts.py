"""Rules about drawings and charts. What their references point to, the rules of formulas check."""

from __future__ import annotations

from collections.abc import Iterator

from pyxl.lint.book import Book, whole
from pyxl.lint.rules import Found, Rules, Severity
from pyxl.naming import LAST_COLUMN, LAST_ROW

rule = Rules[Book]()

MOST_SERIES = 255


@rule("chart-axis", Severity.REPAIR)
def chart_axes(book: Book) -> Iterator[Found]:
    """Each axis that a plot names is described once, and so is the axis that it crosses.

    Source: ECMA-376 part 1, section 21.2.2.9; "Removed Part: /xl/drawings/drawing1.xml (Drawing shape)"
    """
    for title, chart in book.charts:
        for area in chart.iter("{*}plotArea"):
            described: list[str] = []
            named: set[str] = set()
            for each in area:
                own = [axis.get("val", "") for axis in each.findall("{*}axId")]
                if each.tag.endswith("Ax"):
                    described += own
                    named |= {axis.get("val", "") for axis in each.findall("{*}crossAx")}
                else:
                    named |= set(own)
            for axis in named.difference(described):
                yield Found(f"a chart names axis {axis} without describing it", "describe it", title)
            if len(described) != len(set(described)):
                yield Found("a chart describes an axis twice", "describe each once", title)


@rule("chart-series", Severity.REPAIR)
def chart_series(book: Book) -> Iterator[Found]:
    """A chart has plots, at most 255 series, each with an index of its own.

    Source: Microsoft, "Excel specifications and limits"; ECMA-376 part 1, section 21.2.2.84
    """
    for title, chart in book.charts:
        indices = [each.get("val") for each in chart.iterfind(".//{*}ser/{*}idx")]
        if not indices or len(indices) > MOST_SERIES or len(indices) != len(set(indices)):
            what = f"a chart of {len(indices)} series with {len(set(indices))} indices"
            yield Found(what, f"draw 1 to {MOST_SERIES}, each with its own", title)


@rule("drawing-anchor", Severity.REPAIR)
def drawing_anchors(book: Book) -> Iterator[Found]:
    """A drawing stands on the sheet: its row and column are numbers of cells, counted from 0.

    Source: ECMA-376 part 1, section 20.5.2.11
    """
    for sheet in book.sheets:
        for part in book.related(sheet.part, "drawing"):
            for corner in (*book.trees[part].iter("{*}from"), *book.trees[part].iter("{*}to")):
                for tag, most in (("row", LAST_ROW), ("col", LAST_COLUMN)):
                    text = corner.findtext(f"{{*}}{tag}")
                    if whole(text) is None or int(text) >= most:
                        yield Found(f"a drawing stands at {tag} {text}", "put it on the sheet", sheet.title)
