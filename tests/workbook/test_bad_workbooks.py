"""Files that are no workbook, damaged, hostile or absurd: a clear line and exit code 2, in bounded time and memory."""

import io
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook

from pyxl import files
from pyxl.archive import packed, parts

Ran = Callable[..., tuple[int, str, str]]
Parts = dict[str, bytes]

BOOK, LINKS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
SUMMARY, ANALYSIS, STUDY = (f"xl/worksheets/sheet{number}.xml" for number in (1, 2, 17))
SPREADSHEET = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OLE2 = bytes.fromhex("D0CF11E0A1B11AE1")
PART, MOST_MEMORY = 0.25, 900_000_000  # of the largest workbook that is read; bytes for this part of it

COMMANDS: Mapping[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "audit": lambda file, other: ("audit", file),
    "explain": lambda file, other: ("explain", file, "step_time_lower_bound"),
    "diff, first": lambda file, other: ("diff", file, other),
    "diff, second": lambda file, other: ("diff", other, file),
    "lint": lambda file, other: ("lint", file),
    "verify": lambda file, other: ("verify", file, "--with", "formualizer"),
}


@pytest.fixture(scope="session")
def ours(shipped: Path) -> Parts:
    """The parts of the shipped workbook; tests copy them."""
    return parts(shipped.read_bytes())


def sheet(rows: bytes) -> bytes:
    return b"<worksheet " + SPREADSHEET + b"><sheetData>" + rows + b"</sheetData></worksheet>"


def put(part: str, content: bytes) -> Callable[[Parts], Parts]:
    """A change: other content in a part."""
    return lambda ours: {**ours, part: content}


def edit(part: str, pattern: bytes, new: bytes) -> Callable[[Parts], Parts]:
    """A change: something else in a part, in the one place that a pattern finds first."""

    def change(ours: Parts) -> Parts:
        content, count = re.subn(pattern, lambda match: new, ours[part], count=1)
        assert count == 1, pattern
        return {**ours, part: content}

    return change


def without(*names: str) -> Callable[[Parts], Parts]:
    return lambda ours: {name: data for name, data in ours.items() if name not in names}


def row_below(row: bytes) -> Callable[[Parts], Parts]:
    return edit(ANALYSIS, b"</sheetData>", row + b"</sheetData>")


def cell(content: bytes, attributes: bytes = b"") -> Callable[[Parts], Parts]:
    """A change: a cell of the user's below all others on Analysis."""
    return row_below(b'<row r="9000"><c r="A9000"' + attributes + b">" + content + b"</c></row>")


def entities(text: bytes) -> bytes:
    """Entities that grow tenfold nine times ("billion laughs")."""
    grown = (b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
    return b'<!DOCTYPE l [<!ENTITY l0 "lol">' + b"".join(grown) + b"]>" + text


def undeclared(ours: Parts) -> bytes:
    """An archive with a part that is larger than it says."""
    stream = io.BytesIO(packed(ours))
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/more.xml", b" " * 3_000_000)
    data = bytearray(stream.getvalue())
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.rindex(mark) + offset
        data[at : at + 4] = (1000).to_bytes(4, "little")
    return bytes(data)


# What no command can read


NO_WORKBOOK: dict[str, tuple[Callable[[Parts], bytes], str]] = {
    "nothing.xlsx": (lambda ours: b"", r"is no Excel workbook \(.xlsx\): open it in .* and save it"),
    "table.csv.xlsx": (lambda ours: b"a,b\n1,2\n", r"is no Excel workbook \(.xlsx\): open it in .* and save it"),
    "page.xlsx": (lambda ours: b"<html><table>", r"is no Excel workbook \(.xlsx\)"),
    "old.xls": (lambda ours: OLE2 + bytes(1000), "is encrypted or an old .xls file: save it as .xlsx without"),
    "encrypted.xlsx": (lambda ours: OLE2 + bytes(1000), "is encrypted or an old .xls file: save it as .xlsx without"),
    "open.ods": (
        lambda ours: packed({"mimetype": b"application/vnd.oasis", "content.xml": b"<x/>"}),
        r"is no Excel workbook \(.xlsx\), it has no xl/workbook.xml: open it",
    ),
    "binary.xlsb": (lambda ours: packed({"xl/workbook.bin": b"x"}), "it has no xl/workbook.xml"),
    "cut off.xlsx": (lambda ours: packed(ours)[:100_000], "is damaged or cut off: .* take another copy"),
    "larger than declared.xlsx": (undeclared, "is damaged or cut off: Bad CRC-32 for file 'xl/media/more.xml'"),
    "bomb.xlsx": (lambda ours: packed({**ours, "xl/media/x": bytes(files.LARGEST_CONTENT)}), "unpacks to more than"),
    "elements.xlsx": (
        lambda ours: packed({**ours, SUMMARY: sheet(b"<row/>" * (files.MOST_PIECES // 2))}),
        "has too many cells to be read: take out sheets or rows",
    ),
    "another workbook.xlsx": (lambda ours: packed({BOOK: b"<html/>"}), f"is no Excel .*{BOOK}|damaged: {BOOK}"),
    "broken sheet.xlsx": (
        lambda ours: packed(edit(ANALYSIS, b"</row>", b"</rows>")(ours)),
        f"is damaged: {ANALYSIS} is no XML .*: open it in Excel",
    ),
    "broken workbook.xlsx": (
        lambda ours: packed(edit(BOOK, b"</sheets>", b"</sheet>")(ours)),
        f"is damaged: {BOOK} is no XML .*: open it in Excel",
    ),
    "empty workbook.xlsx": (lambda ours: packed(put(BOOK, b"")(ours)), f"is damaged: {BOOK} is no XML"),
    "broken texts.xlsx": (
        lambda ours: packed(put("xl/sharedStrings.xml", b"<sst")(ours)),
        "is damaged: xl/sharedStrings.xml is no XML .*: open it in Excel",
    ),
    "broken links.xlsx": (lambda ours: packed(put(LINKS, b"?")(ours)), f"is damaged: {LINKS} is no XML"),
    "laughs.xlsx": (
        lambda ours: packed(put(ANALYSIS, entities(sheet(b"<row><c><v>&l9;</v></c></row>")))(ours)),
        f"{ANALYSIS} is no XML .*(entity|amplification)",
    ),
    "quadratic.xlsx": (
        lambda ours: packed(
            put(
                ANALYSIS,
                b'<!DOCTYPE l [<!ENTITY a "%s">]>' % (b"a" * 100_000)
                + sheet(b'<row><c t="inlineStr"><is><t>%s</t></is></c></row>' % (b"&a;" * 20_000)),
            )(ours)
        ),
        f"{ANALYSIS} is no XML .*(entity|amplification)",
    ),
    "deep.xlsx": (
        lambda ours: packed(put(ANALYSIS, sheet(b"<row>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</row>"))(ours)),
        f"{ANALYSIS} is no XML .*depth",
    ),
    "long text.xlsx": (
        lambda ours: packed(put(ANALYSIS, sheet(b"<row><c><v>" + b"1" * 20_000_000 + b"</v></c></row>"))(ours)),
        f"{ANALYSIS} is no XML .*(too long|limit)",
    ),
}


def refused(ran: Ran, command: str, file: Path, other: Path) -> str:
    """What a command says of a file that it refuses, in one line that names the file."""
    before = sorted(file.parent.iterdir())
    code, output, errors = ran(*COMMANDS[command](file, other))
    assert (code, output) == (2, ""), errors
    assert re.fullmatch(r"solbook: .*\n", errors), "one line, no traceback"
    assert file.name in errors
    assert sorted(file.parent.iterdir()) == before, "nothing is written"
    return errors


@pytest.mark.parametrize("name", NO_WORKBOOK)
def test_every_command_refuses_what_is_no_workbook_in_one_line(
    ran: Ran, shipped: Path, ours: Parts, tmp_path: Path, name: str
) -> None:
    make, said = NO_WORKBOOK[name]
    (tmp_path / name).write_bytes(make(ours))
    started = time.perf_counter()
    for command in COMMANDS:
        assert re.search(said, refused(ran, command, tmp_path / name, shipped)), command
    assert time.perf_counter() - started < 5 * len(COMMANDS)


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (folder, "Is a directory"),
        (os.mkfifo, "a device or a pipe, no file"),
        (endless, "a device or a pipe, no file"),
        (loop, "Too many levels"),
    ],
)
def test_no_command_waits_for_what_is_no_file(
    ran: Ran, shipped: Path, tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    make(tmp_path / "odd.xlsx")
    for command in COMMANDS:
        assert said in refused(ran, command, tmp_path / "odd.xlsx", shipped)


# What is a workbook, but damaged inside: all that read cells refuse it, lint lists what is wrong

DAMAGED: dict[str, tuple[Callable[[Parts], Parts], str]] = {
    "sheet missing": (without(ANALYSIS), "the sheet 'Analysis' leads to no part"),
    "links missing": (without(LINKS), "the sheet 'Summary' leads to no part"),
    "link to nowhere": (edit(LINKS, rb"sheet2\.xml", b"sheet99.xml"), "the sheet 'Analysis' leads to no part"),
    "link to outside": (
        edit(LINKS, rb"/xl/worksheets/sheet2\.xml", b"../../etc/passwd"),
        "the sheet 'Analysis' leads to no part",
    ),
    "two sheets of a name": (edit(BOOK, b'name="Summary"', b'name="ANALYSIS"'), "two sheets are called 'analysis'"),
    "no such text": (cell(b"<v>5</v>", b' t="s"'), "cell A9000: there is no shared text 5"),
    "text before the first": (cell(b"<v>-1</v>", b' t="s"'), "cell A9000: there is no shared text -1"),
    "400 digits": (cell(b"<v>%s</v>" % (b"9" * 400)), "cell A9000: '9{20}' is no number that a cell can hold"),
    "not a number": (cell(b"<v>nan</v>"), "cell A9000: 'nan' is no number"),
    "a word for a number": (cell(b"<v>many</v>"), "cell A9000: 'many' is no number"),
    "no such shared formula": (cell(b'<f t="shared" si="7"/>'), "cell A9000: there is no shared formula 7"),
    "endless formula": (cell(b"<f>" + b"1+" * 20_000 + b"1</f>"), "its formula has more than 32,767 characters"),
    "filled down, too long": (
        row_below(
            b'<row r="9000"><c r="A9000"><f t="shared" si="0">%s1</f></c></row>' % (b"1+" * 16_000)
            + b"".join(b'<row r="%d"><c><f t="shared" si="0"/></c></row>' % row for row in range(9001, 9700))
        ),
        "the formulas that were filled down are too long",
    ),
    "beyond the last column": (row_below(b'<row r="9000"><c r="XFE9000"/></row>'), "beyond the last one, XFD1048576"),
    "beyond the last row": (row_below(b'<row r="1048577"/>'), "there is no row 1048577"),
    "row of words": (row_below(b'<row r="abc"/>'), "r='abc', which is no whole number"),
    "no address": (row_below(b'<row r="9000"><c r="AAAA1"/></row>'), "'AAAA1' is no cell address"),
    "column of words": (edit(ANALYSIS, b"<cols>", b'<cols><col min="x" max="3" hidden="1"/>'), "min='x'"),
}


@pytest.mark.parametrize("fault", DAMAGED)
def test_a_damaged_part_is_named_with_what_is_wrong_in_it(
    ran: Ran, shipped: Path, ours: Parts, tmp_path: Path, fault: str
) -> None:
    change, said = DAMAGED[fault]
    file = tmp_path / "damaged.xlsx"
    file.write_bytes(packed(change(ours)))
    for command in COMMANDS.keys() - {"lint"}:
        errors = refused(ran, command, file, shipped)
        assert re.search(
            rf"damaged.xlsx is damaged: xl/\S+ cannot be understood \(.*{said}.*\): open it in Excel", errors
        )
    code, output, errors = ran("lint", file)
    assert (code, errors) == (1, "") or fault.startswith(("filled down", "no such shared")), output


# What is sound, and not ours


def made(**sheets: list[list[object]]) -> bytes:
    book = Workbook()
    del book["Sheet"]
    for title, lines in sheets.items():
        book.create_sheet(title)
        for line in lines:
            book[title].append(line)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


NOT_OURS: dict[str, tuple[Callable[[Parts], bytes], str]] = {
    "somebody else's": (lambda ours: made(Costs=[["a", 1], ["b", "=B1"]]), "is no solbook workbook: .* 'Hardware'"),
    "with our titles": (
        lambda ours: made(**{title: [["x"]] for title in ("Analysis", "Constants", "Hardware", "Models", "Choices")}),
        "the workbook lacks the catalogue column|is no solbook workbook",
    ),
    "Analysis deleted": (lambda ours: packed(edit(BOOK, rb'<sheet [^>]*"Analysis"[^>]*>', b"")(ours)), "'Analysis'"),
    "all rows deleted": (lambda ours: packed(put(ANALYSIS, sheet(b""))(ours)), "'Analysis'"),
}


@pytest.mark.parametrize("case", NOT_OURS)
def test_a_workbook_that_is_not_ours_is_called_so(
    ran: Ran, shipped: Path, ours: Parts, tmp_path: Path, case: str
) -> None:
    make, said = NOT_OURS[case]
    (tmp_path / "other.xlsx").write_bytes(make(ours))
    for command in COMMANDS.keys() - {"lint", "verify"}:
        assert re.search(said, refused(ran, command, tmp_path / "other.xlsx", shipped)), command


# What is odd, but ours: every command answers, and the audit says what it is


def shared(rows: int) -> Callable[[Parts], Parts]:
    """Formulas filled down, as Excel writes them."""
    first = b'<row r="9000"><c r="B9000"><f t="shared" ref="B9000:B%d" si="0">A9000*2</f><v>0</v></c></row>'
    more = (
        b'<row r="%d"><c r="B%d"><f t="shared" si="0"/><v>0</v></c></row>' % (n, n) for n in range(9001, 9000 + rows)
    )
    return row_below(first % (9000 + rows) + b"".join(more))


def everywhere(pattern: bytes, new: bytes) -> Callable[[Parts], Parts]:
    def change(ours: Parts) -> Parts:
        return {
            name: re.sub(pattern, new, data) if name.endswith((".xml", ".rels")) else data
            for name, data in ours.items()
        }

    return change


STRICT = everywhere(
    rb"http://schemas\.openxmlformats\.org/(spreadsheetml/2006/main|officeDocument/2006/relationships)",
    rb"http://purl.oclc.org/ooxml/\1",
)
HIDDEN = b'<cols><col min="1" max="16384" hidden="1"/>' + b'<col min="2" max="16384" hidden="1"/>' * 20_000
RULES = b'<dataValidation type="list" sqref="XFD1 H:H"><formula1>"a"</formula1></dataValidation>'

ODD: dict[str, tuple[Callable[[Parts], Parts], str]] = {
    "strict namespaces": (STRICT, "nothing was changed"),
    "comments in the XML": (
        lambda ours: {**ours, ANALYSIS: ours[ANALYSIS].replace(b"<v>", b"<!-- a --><?b c?><v>")},
        "nothing was changed",
    ),
    "filled down": (shared(300), "300 cells of the user's own, from B9000 on"),
    "phonetic": (
        cell(b'<is><t>a</t><rPh sb="0" eb="1"><t>b</t></rPh></is>', b' t="inlineStr"'),
        "1 cell of the user's own",
    ),
    "data table": (cell(b'<f t="dataTable" ref="A9000:A9001" r1="A1"/><v>1</v>'), "1 cell of the user's own"),
    "array formula": (cell(b'<f t="array" ref="A9000">SUM(A:A*1:1)</f><v>1</v>'), "1 cell of the user's own"),
    "date": (cell(b"<v>2026-01-31T12:00:00</v>", b' t="d"'), "1 cell of the user's own"),
    "32,767 characters": (cell(b"<is><t>%s</t></is>" % (b"x" * 32_767), b' t="inlineStr"'), "1 cell of the user's own"),
    "quotes": (cell(b"<f>" + b"'" * 8_000 + b"</f>"), "1 cell of the user's own"),
    "brackets": (cell(b"<f>" + b"(" * 16_000 + b"1" + b")" * 16_000 + b"</f>"), "1 cell of the user's own"),
    "row without addresses": (
        row_below(b'<row><c t="inlineStr"><is><t>x</t></is></c></row>'),
        "1 cell of the user's own",
    ),
    "merged": (
        edit(ANALYSIS, b"</sheetData>", b'</sheetData><mergeCells><mergeCell ref="A5:XFD1048576"/></mergeCells>'),
        "nothing was changed",
    ),
    "many columns hidden": (edit(ANALYSIS, b"<cols>", HIDDEN), r"columns A, B, .* are hidden"),
    "absurd study": (
        edit(STUDY, rb"devices = \d+", b"devices = " + b"[" * 5_000),
        "nested too deeply",
    ),
    "no TOML": (edit(STUDY, rb"devices = \d+", b"devices = = ["), "the sheet Study is not TOML"),
    "many rules": (
        lambda ours: {**ours, ANALYSIS: re.sub(rb"(<dataValidations[^>]*>)", rb"\1" + RULES * 3_000, ours[ANALYSIS])},
        "drop-down|rule for numbers",
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_read_and_told(ran: Ran, shipped: Path, ours: Parts, tmp_path: Path, case: str) -> None:
    change, said = ODD[case]
    file = tmp_path / "odd.xlsx"
    file.write_bytes(packed(change(ours)))
    kept = file.read_bytes()
    for command in ("audit", "explain", "lint"):
        started = time.perf_counter()
        code, output, errors = ran(*COMMANDS[command](file, shipped))
        assert (code in (0, 1), errors) == (True, ""), command
        assert time.perf_counter() - started < 15, command
        if command == "audit":
            assert re.search(said, output)
    assert file.read_bytes() == kept


@pytest.mark.parametrize("suffix", [".xlsm", ".xltx", ".XLSX"])
def test_other_endings_of_workbooks_are_fine(ran: Ran, shipped: Path, tmp_path: Path, suffix: str) -> None:
    file = Path(shutil.copyfile(shipped, tmp_path / f"ours{suffix}"))
    for command in COMMANDS.keys() - {"lint"}:
        assert ran(*COMMANDS[command](file, shipped))[0] == 0, command


INPUTS = {
    "#N/A": ("#N/A", "e"),
    "a truth value": (True, "b"),
    "300 digits": (float("9" * 300), "n"),
    "a negative number": (-1e307, "n"),
    "a text": ("x" * 32_767, "s"),
    "control characters": ("a\nb\t[bold]", "s"),
}


@pytest.mark.parametrize(
    ("case", "key"),
    [*((case, "devices") for case in INPUTS), *((case, "strategy") for case in INPUTS), ("a text", "model")],
)
def test_absurd_inputs_are_findings(ran: Ran, shipped: Path, edited: Callable[..., Path], case: str, key: str) -> None:
    value, kind = INPUTS[case]

    def change(book: Workbook) -> None:
        (at,) = [
            each for (each,) in book["Analysis"]["A1:A20"] if each.value in (key, "Key" if key == "strategy" else key)
        ]
        cell = book["Analysis"].cell(at.row, 8)
        cell.value, cell.data_type = value, kind

    file = edited(change)
    for command in ("audit", "explain", "diff, first"):
        code, output, errors = ran(*COMMANDS[command](file, shipped))
        assert (code in (0, 1), errors) == (True, ""), command
        if command == "audit":
            assert (code, "Analysis!H" in output) == (1, True)
            assert max(map(len, output.splitlines())) < 5_000


def test_no_escape_sequence_reaches_the_terminal(ran: Ran, ours: Parts, tmp_path: Path) -> None:
    change = edit(ANALYSIS, rb"<t>ZeRO-1</t>", b"<t>_x001B_]0;title_x0007_</t>")
    (tmp_path / "file.xlsx").write_bytes(packed(change(ours)))
    _, output, _ = ran("audit", tmp_path / "file.xlsx")
    assert "?]0;title?" in output
    assert "\x1b]" not in output
    assert ran("audit", tmp_path / "file.xlsx", "--report", tmp_path / "report.xlsx")[0] == 1
    load_workbook(tmp_path / "report.xlsx")


def test_the_audited_file_is_no_place_for_the_report(ran: Ran, shipped: Path, tmp_path: Path) -> None:
    file = Path(shutil.copyfile(shipped, tmp_path / "ours.xlsx"))
    code, _, errors = ran("audit", file, "--report", file, "--force")
    assert (code, "give the report another name" in errors) == (2, True)
    assert file.read_bytes() == shipped.read_bytes()


# Many rows of the user's own


def lines(first: int, count: int, text: bytes) -> bytes:
    return b"".join(
        b'<row r="%d"><c r="A%d" t="inlineStr"><is><t>%s</t></is></c>' % (n, n, text % n if b"%d" in text else text)
        + b'<c r="B%d"><f>C%d*2</f><v>2</v></c><c r="C%d"><v>1</v></c></row>' % (n, n, n)
        for n in range(first, first + count)
    )


@pytest.mark.parametrize("text", [b"note %d", b"the same", b"devices"])
def test_ten_thousand_rows_on_our_sheet_take_little_longer(
    ran: Ran, shipped: Path, ours: Parts, tmp_path: Path, text: bytes
) -> None:
    file = tmp_path / "rows.xlsx"
    file.write_bytes(packed(row_below(lines(900, 10_000, text))(ours)))
    started = time.perf_counter()
    _, output, errors = ran("audit", file)
    assert errors == ""
    assert "Analysis: 30,000 cells of the user's own, from A900 on" in output
    assert "changed" not in output.replace("nothing was changed", "")
    assert time.perf_counter() - started < 10


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
@pytest.mark.parametrize("command", ["audit", "lint"])
def test_memory_stays_in_proportion_to_the_cells(ours: Parts, tmp_path: Path, command: str) -> None:
    file = tmp_path / "large.xlsx"
    cells = b"<row>" + b"<c><v>1</v></c>" * 1_000 + b"</row>"
    file.write_bytes(packed({**ours, SUMMARY: sheet(cells * int(PART * files.MOST_PIECES / 4_002))}))
    ended = subprocess.run(
        [sys.executable, "-m", "workbook.cli", command, str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY)),
    )
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.parametrize("gone", ["deleted", "absurd"])
def test_without_the_record_of_its_study_a_workbook_has_that_one_finding(
    ran: Ran, ours: Parts, tmp_path: Path, gone: str
) -> None:
    deleted, absurd = edit(BOOK, rb'<sheet [^>]*"Study"[^>]*>', b""), edit(STUDY, rb"devices = \d+", b"devices = = [")
    (tmp_path / "file.xlsx").write_bytes(packed((deleted if gone == "deleted" else absurd)(ours)))
    code, output, _ = ran("audit", tmp_path / "file.xlsx")
    assert (code, "1 finding in" in output, "what was changed in inputs" in output) == (1, True, True)
