"""Opening a log: bounded in size, line by line, and given to the tool that wrote it."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyxl.errors import UserError
from workbook.hardware_logs import (
    all_reduce_bench,
    babelstream,
    cutlass_profiler,
    gemm_csv,
    hipblaslt_bench,
    mamf_finder,
    nccl_tests,
    nccl_tests_json,
    nvbandwidth,
    p2p_bandwidth_latency,
    perftest,
    rocblas_bench,
)
from workbook.hardware_logs.records import CONTRADICTION, Log, Supplied

LARGEST_LOG = 10_000_000
LONGEST_LINE = 10_000
MOST_DOUBTED = 4  # a log is refused where one row of this many contradicts itself

READERS = (
    nccl_tests,
    all_reduce_bench,
    nvbandwidth,
    p2p_bandwidth_latency,
    perftest,
    babelstream,
    mamf_finder,
    hipblaslt_bench,
    rocblas_bench,
    cutlass_profiler,
    gemm_csv,
)
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def read(path: Path, supplied: Supplied | None = None) -> Log:
    """A log's records. Raises `UserError` where it cannot be read, is of no known tool, or holds no measurement."""
    try:
        if not path.is_file():
            raise UserError(f"{path} is no file: give the log of a benchmark")
        if path.stat().st_size > LARGEST_LOG:
            raise UserError(
                f"{path} is larger than {LARGEST_LOG // 1_000_000} MB, more than any benchmark prints: cut it down"
            )
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            begin = file.read(LONGEST_LINE).removeprefix(b"\xef\xbb\xbf").lstrip()
        day = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).date()
        name = "".join(character if character.isprintable() else "?" for character in path.name)
        log = Log(name, "", digest, f"{day}", supplied or Supplied())
        if begin.startswith(b"{"):
            _read_json(_parsed(path), path, log)
        else:
            _read_text(path, log)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    if log.doubted and log.doubted.count * MOST_DOUBTED > len(log.records):
        raise UserError(f"{path}:{log.doubted.line}: of {log.doubted.count} rows, {CONTRADICTION}")
    if not log.records:
        ignored = "; ".join(f"{entry.what}: {entry.why}" for entry in list(log.ignored.values())[:3])
        reasons = f" ({ignored})" if ignored else ""
        raise UserError(
            f"{path} is a log of {log.tool}, but holds no measurement{reasons}: give the whole output of a finished run"
        )
    return log


def _read_text(path: Path, log: Log) -> None:
    for _, line in _lines(path):
        for reader in READERS:
            if reader.MARK.search(line):
                log.tool = reader.TOOL
                reader.read(_lines(path), log)
                return
    tools = ", ".join(reader.TOOL for reader in READERS)
    raise UserError(f"{path} is no log of a known benchmark: there are {tools}")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without ends, colours and byte order mark."""
    number = 0
    with path.open(encoding="utf-8-sig") as text:
        try:
            while line := text.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise UserError(
                        f"{path}:{number}: a line has more than {LONGEST_LINE:,} characters: no benchmark's"
                    )
                yield number, _TERMINAL_CODES.sub("", line).rstrip()
        except UnicodeDecodeError:
            raise UserError(f"{path} is not UTF-8 text behind line {number}: save the log as UTF-8") from None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text: save the log as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no whole JSON ({error}): give the file of a finished run") from None
    assert isinstance(content, dict)  # it begins with a brace
    return content


def _read_json(content: dict[str, Any], path: Path, log: Log) -> None:
    if nvbandwidth.recognises(content):
        log.tool = nvbandwidth.TOOL
        nvbandwidth.read_json(content, log)
    elif nccl_tests_json.recognises(content):
        log.tool = nccl_tests.TOOL
        nccl_tests_json.read(content, log)
    else:
        raise UserError(f"{path} is JSON of no known benchmark: there are nccl-tests (-J) and nvbandwidth (-j)")
