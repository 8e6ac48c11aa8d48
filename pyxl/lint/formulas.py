"""Rules about formulas, wherever they stand: in cells, conditional formats, validations, names and charts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyxl.lint.book import Book, Written, whole
from pyxl.lint.ranges import parsed
from pyxl.lint.rules import Found, Rules, Severity, some

rule = Rules[Book]()

LONGEST_FORMULA = 8_192
DEEPEST_CALL = 64
MOST_ARGUMENTS = 255
LONGEST_TEXT = 255
PREFIX = "_XLFN."
_FAR = re.compile(r"[A-Za-z]{3}|[0-9]{7}")  # others lie within

# Functions since Excel 2010: a file has them with a prefix. Source: XlsxWriter, "Working with Formulas"
_PREFIXED = """
    ACOT ACOTH AGGREGATE ANCHORARRAY ARABIC ARRAYTOTEXT BASE BETA.DIST BETA.INV BINOM.DIST BINOM.DIST.RANGE BINOM.INV
    BITAND BITLSHIFT BITOR BITRSHIFT BITXOR BYCOL BYROW CEILING.MATH CEILING.PRECISE CHISQ.DIST CHISQ.DIST.RT CHISQ.INV
    CHISQ.INV.RT CHISQ.TEST CHOOSECOLS CHOOSEROWS COMBINA CONCAT CONFIDENCE.NORM CONFIDENCE.T COT COTH COVARIANCE.P
    COVARIANCE.S CSC CSCH DAYS DECIMAL DROP ERF.PRECISE ERFC.PRECISE EXPAND EXPON.DIST F.DIST F.DIST.RT F.INV F.INV.RT
    F.TEST FIELDVALUE FILTER FILTERXML FLOOR.MATH FLOOR.PRECISE FORECAST.ETS FORECAST.ETS.CONFINT
    FORECAST.ETS.SEASONALITY FORECAST.ETS.STAT FORECAST.LINEAR FORMULATEXT GAMMA GAMMA.DIST GAMMA.INV GAMMALN.PRECISE
    GAUSS HSTACK HYPGEOM.DIST IFNA IFS IMCOSH IMCOT IMCSC IMCSCH IMSEC IMSECH IMSINH IMTAN ISFORMULA ISOMITTED
    ISOWEEKNUM LAMBDA LET LOGNORM.DIST LOGNORM.INV MAKEARRAY MAP MAXIFS MINIFS MODE.MULT MODE.SNGL MUNIT NEGBINOM.DIST
    NORM.DIST NORM.INV NORM.S.DIST NORM.S.INV NUMBERVALUE PDURATION PERCENTILE.EXC PERCENTILE.INC PERCENTRANK.EXC
    PERCENTRANK.INC PERMUTATIONA PHI POISSON.DIST QUARTILE.EXC QUARTILE.INC QUERYSTRING RANDARRAY RANK.AVG RANK.EQ
    REDUCE RRI SCAN SEC SECH SEQUENCE SHEET SHEETS SINGLE SKEW.P SORT SORTBY STDEV.P STDEV.S SWITCH T.DIST T.DIST.2T
    T.DIST.RT T.INV T.INV.2T T.TEST TAKE TEXTAFTER TEXTBEFORE TEXTJOIN TEXTSPLIT TOCOL TOROW UNICHAR UNICODE UNIQUE
    VALUETOTEXT VAR.P VAR.S VSTACK WEBSERVICE WEIBULL.DIST WRAPCOLS WRAPROWS XLOOKUP XMATCH XOR Z.TEST
    """
PREFIXED = frozenset(_PREFIXED.split())
# Alike in Excel, LibreOffice, formulas, ironcalc, formualizer and HyperFormula. Source: spreadsheet-tech, section 8
_PORTABLE = """
    ABS AND AVERAGE AVERAGEIF CEILING CEILING.MATH CHOOSE CONCATENATE COUNT COUNTIF COUNTIFS EXP FALSE FIND FLOOR GCD
    HLOOKUP IF IFERROR IFNA IFS INDEX INT ISBLANK ISERROR ISNA ISNUMBER ISTEXT LARGE LEFT LEN LN LOG LOG10 MATCH MAX
    MAXIFS MEDIAN MID MIN MOD NOT OR PI POWER PRODUCT REPT ROUND ROUNDDOWN ROUNDUP SIGN SMALL SQRT STDEV SUBSTITUTE SUM
    SUMIF SUMIFS SUMPRODUCT SUMSQ SWITCH TEXT TEXTJOIN TRUE TRUNC VALUE VLOOKUP XOR
    """
PORTABLE = frozenset(_PORTABLE.split())
ONLY_TO_FORMAT = frozenset({"ISFORMULA"})  # no cell's value depends on it


def bare(function: str) -> str:
    """A function's name without its prefix."""
    return function.upper().removeprefix(PREFIX).removeprefix("_XLWS.")


def _at(each: Written, what: str, advice: str) -> Found:
    inside = "" if each.within == "cell" else f"{each.within}: "
    return Found(inside + what, advice, each.sheet, each.cell)


@rule("formula-length", Severity.REPAIR)
def formula_lengths(book: Book) -> Iterator[Found]:
    """A formula has at most 8,192 characters, and a text in it 255.

    Source: Microsoft, "Excel specifications and limits"; "Text values in formulas are limited to 255 characters"
    """
    for each in book.formulas:
        if len(each.text) > LONGEST_FORMULA:
            yield _at(each, f"a formula of {len(each.text)} characters", f"split it: at most {LONGEST_FORMULA}")
        if each.facts.longest_text > LONGEST_TEXT and each.within != "validation":
            yield _at(each, f"a text of {each.facts.longest_text} characters", f"use at most {LONGEST_TEXT}")


@rule("formula-depth", Severity.REPAIR)
def formula_depths(book: Book) -> Iterator[Found]:
    """Calls stand within calls at most 64 levels deep.

    Source: Microsoft, "Excel specifications and limits"
    """
    for each in book.formulas:
        if each.facts.depth > DEEPEST_CALL:
            yield _at(each, f"calls {each.facts.depth} levels deep", "split the formula")


@rule("formula-arguments", Severity.REPAIR)
def formula_arguments(book: Book) -> Iterator[Found]:
    """A function has at most 255 arguments.

    Source: Microsoft, "Excel specifications and limits"
    """
    for each in book.formulas:
        if each.facts.arguments > MOST_ARGUMENTS:
            yield _at(each, f"a call with {each.facts.arguments} arguments", "use a range")


@rule("formula-brackets", Severity.REPAIR)
def formula_brackets(book: Book) -> Iterator[Found]:
    """Brackets, braces and quotes are closed, and arguments stand apart by commas whatever the country.

    Source: ECMA-376 part 1, section 18.17; XlsxWriter, "Formula errors"; "Removed Records: Formula"
    """
    for each in book.formulas:
        if each.facts.open_brackets:
            yield _at(each, "brackets do not match", "mend the formula")
        if each.facts.open_quote:
            yield _at(each, "a quote is not closed", "mend the formula")
        if each.facts.semicolon:
            yield _at(each, "; stands between arguments", "write a comma")


@rule("formula-prefix", Severity.REPAIR)
def formula_prefixes(book: Book) -> Iterator[Found]:
    """Functions since Excel 2010 have the prefix _xlfn. in a file: without it Excel shows #NAME?, or repairs.

    Source: XlsxWriter, "Formulas added in Excel 2010 and later"
    """
    for each in book.formulas:
        if without := [name for name in each.facts.functions if name.upper() in PREFIXED]:
            yield _at(each, f"{without[0]} has no prefix", f"write _xlfn.{without[0].upper()}")


@rule("formula-sheet", Severity.REPAIR)
def formula_sheets(book: Book) -> Iterator[Found]:
    """A formula refers to sheets that there are.

    Source: XlsxWriter, "Formula errors": Excel takes the formula for damaged
    """
    for each in book.formulas:
        if each.within != "name":
            missing = [t for t in each.facts.sheets if t.casefold() not in book.known_titles and "[" not in t]
            if missing:
                yield _at(each, f"no sheet is named '{missing[0]}'", "name one that there is")


@rule("formula-reference", Severity.REPAIR)
def formula_references(book: Book) -> Iterator[Found]:
    """References lie within A1 to XFD1048576: what looks like one beyond is read as a name that nobody defined.

    Source: Microsoft, "Excel specifications and limits"
    """
    for each in book.formulas:
        far = [text for text in each.facts.references if _FAR.search(text)]
        outside = [text for text in far if parsed(_upright(text)) is None]
        if outside:
            yield _at(each, f"{outside[0]} lies beyond XFD1048576", "refer to a cell")


def _upright(reference: str) -> str:
    """A range from its first cell to its last: B2:A1 is as good as A1:B2."""
    text = reference.replace("$", "").upper()
    first, _, last = text.partition(":")
    return text if not last or parsed(text) or not (parsed(first) and parsed(last)) else first


@rule("formula-error", Severity.RULE)
def formula_errors(book: Book) -> Iterator[Found]:
    """No formula holds an error, such as the #REF! that a deleted row leaves.

    Source: Financial Modelling Code, checks
    """
    for each in book.formulas:
        if each.facts.errors and each.within != "name":
            yield _at(each, f"{each.facts.errors[0]} in a formula", "point it to cells again")


@rule("formula-name", Severity.RULE)
def formula_names(book: Book) -> Iterator[Found]:
    """The names in formulas are defined: others show #NAME?.

    Source: ECMA-376 part 1, section 18.17.2.5
    """
    known = {each.get("name", "").casefold() for each in book.names}
    known |= {table.get("displayName", "").casefold() for _, _, table in book.tables}
    for each in book.formulas:
        if unknown := [name for name in each.facts.names if name.casefold() not in known]:
            yield _at(each, f"nothing is named {unknown[0]}", "define the name, or refer to cells")


@rule("formula-function", Severity.RULE)
def formula_functions(book: Book) -> Iterator[Found]:
    """Functions are of the portable subset, which Excel, LibreOffice and every evaluator compute alike. Conditional
    formats may ask ISFORMULA: no cell's value depends on it.

    Source: spreadsheet-tech, section 8
    """
    for each in book.formulas:
        allowed = PORTABLE | ONLY_TO_FORMAT if each.within == "conditional format" else PORTABLE
        if strange := [name for name in each.facts.functions if bare(name) not in allowed]:
            yield _at(each, f"{strange[0]} is not portable", "use functions that every program knows")


@rule("formula-portable", Severity.RULE)
def formula_portable(book: Book) -> Iterator[Found]:
    """Signs before brackets, whole rows and columns, table columns, lists in braces, INDEX with 0 and exponents without
    a sign are read differently, or stop some programs. Print titles are whole rows: that is their form.

    Source: spreadsheet-tech, sections 1 and 8; modelling-standards, findings 4 and 5
    """
    for each in book.formulas:
        if each.facts.not_portable and each.within != "name":
            yield _at(each, f"not portable: {some(each.facts.not_portable)}", "write it otherwise")


@rule("formula-shared", Severity.REPAIR)
def shared_formulas(book: Book) -> Iterator[Found]:
    """A shared formula is written once, with the range it is for; array formulas have a range; kinds are known ones.

    Source: ECMA-376 part 1, section 18.3.1.40
    """
    for sheet in book.sheets:
        masters = set()
        for cell in sheet.cells:
            if cell.formula is None or not cell.formula.attrib:
                continue
            kind, index = cell.formula.get("t", "normal"), cell.formula.get("si")
            where, area = (sheet.title, cell.address), cell.formula.get("ref")
            if kind not in ("normal", "shared", "array", "dataTable"):
                yield Found(f"a formula of kind '{kind}'", "write a normal one", *where)
            if area is not None and parsed(area) is None:
                yield Found(f"a formula for '{area}'", "name a range", *where)
            if kind in ("array", "dataTable") and area is None:
                yield Found(f"a formula of kind '{kind}' without a range", "name its range", *where)
            if kind == "shared":
                if cell.formula.text and area is not None:
                    masters.add(index)
                elif index not in masters or whole(index) is None:
                    yield Found(f"shared formula {index} is not written above", "write it with its range", *where)
