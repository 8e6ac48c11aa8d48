"""Native charts from their plan. What must be set by hand for Excel and LibreOffice alike is set here."""

from __future__ import annotations

from typing import Any

from openpyxl.chart import BarChart, LineChart, ScatterChart
from openpyxl.chart.axis import ChartLines
from openpyxl.chart.data_source import AxDataSource, NumDataSource, NumRef, StrRef
from openpyxl.chart.label import DataLabel, DataLabelList
from openpyxl.chart.legend import LegendEntry
from openpyxl.chart.marker import DataPoint, Marker
from openpyxl.chart.series import Series as NativeSeries
from openpyxl.chart.series import SeriesLabel, XYSeries
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import CharacterProperties, Paragraph, ParagraphProperties, RichTextProperties

from pyxl.plan import Chart, Series

GRID = "D9D9D9"
LEADER = "A6A6A6"
MARKER_SIZES = {"circle": 8, "diamond": 14, "dash": 18}


def native(chart: Chart) -> Any:
    """The openpyxl chart of a planned one."""
    built = _scatter(chart) if chart.kind == "scatter" else _columns(chart)
    built.title = chart.title
    built.title.overlay = False
    built.title.tx.rich.p[0].pPr = ParagraphProperties(defRPr=_text(1400, bold=True))
    built.roundedCorners = False
    built.width, built.height = chart.size
    built.legend.position = "b"
    built.legend.overlay = False
    return built


def _text(size: int, *, bold: bool = False) -> CharacterProperties:
    return CharacterProperties(sz=size, b=bold)


def _rich(size: int, rotation: int | None = None) -> RichText:
    body = RichTextProperties(rot=rotation) if rotation is not None else RichTextProperties()
    paragraph = Paragraph(pPr=ParagraphProperties(defRPr=_text(size)), endParaRPr=_text(size))
    return RichText(bodyPr=body, p=[paragraph])


def _axis(
    axis: Any, title: str, number_format: str, limits: tuple[float, float | None] | None, *, logarithmic: bool
) -> None:
    axis.delete = False  # absent, newer Excel hides the axis
    axis.title = title or None
    if title:
        axis.title.overlay = False
        axis.title.tx.rich.p[0].pPr = ParagraphProperties(defRPr=_text(1000))
    axis.number_format = number_format
    axis.numFmt.sourceLinked = False
    axis.txPr = _rich(900)
    axis.crosses = "min"
    if logarithmic:
        axis.scaling.logBase = axis.majorUnit = 10
    if limits:
        axis.scaling.min, axis.scaling.max = limits


def _grid(axis: Any) -> None:
    axis.majorGridlines = ChartLines(spPr=GraphicalProperties(ln=LineProperties(solidFill=GRID, w=6350)))


def _label(series: Any, planned: Series) -> None:
    series.tx = SeriesLabel(strRef=StrRef(planned.name)) if "!" in planned.name else SeriesLabel(v=planned.name)


def _line(series: Any, planned: Series) -> None:
    series.smooth = False  # else LibreOffice rounds the knee of a roof
    series.graphicalProperties = GraphicalProperties()
    if planned.line:
        series.graphicalProperties.line = LineProperties(solidFill=planned.color, w=28575)
    else:
        series.graphicalProperties.line = LineProperties(noFill=True)
    series.marker = Marker(symbol=planned.marker or "none", size=MARKER_SIZES.get(planned.marker))
    if planned.marker:
        series.marker.graphicalProperties = GraphicalProperties(solidFill=planned.color)
        series.marker.graphicalProperties.line = LineProperties(solidFill=planned.color)


def _label_end(series: Any) -> None:
    """A marker at the first of two points, the series' name at the second, a thin line between."""
    series.graphicalProperties.line = LineProperties(solidFill=LEADER, w=6350)
    end = DataPoint(idx=1, marker=Marker(symbol="none"))
    end.graphicalProperties = GraphicalProperties(ln=LineProperties(solidFill=LEADER, w=6350))
    series.dPt.append(end)
    shown = {"showSerName": True, "showVal": False, "showCatName": False, "showLegendKey": False, "showPercent": False}
    label = DataLabel(idx=1, dLblPos="r", **shown)
    label.txPr = _rich(900)
    hidden = dict.fromkeys(shown, False)
    series.dLbls = DataLabelList(dLbl=[label], **hidden)


def _columns(chart: Chart) -> Any:
    bars = BarChart()
    lying = chart.kind == "bars"
    level = lying or chart.kind == "clustered"  # few or short names
    bars.type = "bar" if lying else "col"
    bars.gapWidth = 60
    if chart.kind == "stacked":
        bars.grouping, bars.overlap = "stacked", 100
    for planned in chart.series:
        series = NativeSeries(val=NumDataSource(numRef=NumRef(f=planned.values)))
        series.cat = AxDataSource(strRef=StrRef(f=chart.categories))
        _label(series, planned)
        series.graphicalProperties = GraphicalProperties(solidFill=planned.color)
        series.invertIfNegative = False
        bars.series.append(series)
    _axis(bars.x_axis, chart.x_title, "General", None, logarithmic=False)
    bars.x_axis.txPr = _rich(900, rotation=0 if level else -2700000)
    bars.x_axis.tickLblPos = "low"
    _axis(bars.y_axis, chart.y_title, chart.y_format, chart.y_range, logarithmic=chart.logarithmic)
    _grid(bars.y_axis)
    if lying:  # the first category on top, bars from 0 to either side
        bars.x_axis.scaling.orientation = "maxMin"
        bars.x_axis.crosses, bars.y_axis.crosses = "autoZero", "max"
    if chart.lines:
        lines = LineChart()
        for planned in chart.lines:
            series = NativeSeries(val=NumDataSource(numRef=NumRef(f=planned.values)))
            series.cat = AxDataSource(strRef=StrRef(f=chart.categories))
            _label(series, planned)
            _line(series, planned)
            lines.series.append(series)
        bars += lines
    return bars


def _scatter(chart: Chart) -> Any:
    scatter = ScatterChart()
    scatter.style = 13
    scatter.scatterStyle = "lineMarker"
    for number, planned in enumerate(chart.series):
        series = XYSeries()
        series.xVal = AxDataSource(numRef=NumRef(f=planned.x))
        series.yVal = NumDataSource(numRef=NumRef(f=planned.values))
        _label(series, planned)
        _line(series, planned)
        if planned.labelled:
            _label_end(series)
            scatter.legend.legendEntry.append(LegendEntry(idx=number, delete=True))
        scatter.series.append(series)
    x_format = chart.x_format or chart.y_format
    _axis(scatter.x_axis, chart.x_title, x_format, chart.x_range, logarithmic=chart.x_logarithmic)
    _axis(scatter.y_axis, chart.y_title, chart.y_format, chart.y_range, logarithmic=chart.logarithmic)
    _grid(scatter.x_axis)
    _grid(scatter.y_axis)
    return scatter
