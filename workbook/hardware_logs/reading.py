"""Opening a log: bounded in size, line by line, and given to the tool that wrote it."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

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
from workbook.hardware_logs.records import Log, Supplied

LARGEST_LOG = 32_000_000
LONGEST_LINE = 10_000

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
        with path.open("rb") as file:
            if path.stat().st_size > LARGEST_LOG:
                raise UserError(
                    f"{path} is larger than {LARGEST_LOG // 1_000_000} MB, more than any benchmark prints: "
                    "cut out the tables"
                )
            day = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).date()
            log = Log(path.name, "", hashlib.file_digest(file, "sha256").hexdigest(), f"{day}", supplied or Supplied())
            _read(file, path, log)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    if not log.records:
        ignored = "; ".join(f"{entry.what}: {entry.why}" for entry in list(log.ignored.values())[:3])
        raise UserError(
            f"{path} is a log of {log.tool}, but holds no measurement" + (f" ({ignored})" if ignored else "")
            + ": give the whole output of a finished run"
        )  # fmt: skip
    return log


def _read(file: BinaryIO, path: Path, log: Log) -> None:
    file.seek(0)
    if file.read(LONGEST_LINE).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        _read_json(_parsed(file, path), path, log)
        return
    for _, line in _lines(file, path):
        for reader in READERS:
            if reader.MARK.search(line):
                log.tool = reader.TOOL
                reader.read(_lines(file, path), log)
                return
    tools = ", ".join(reader.TOOL for reader in READERS)
    raise UserError(f"{path} is no log of a known benchmark: there are {tools}")


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without ends, colours and byte order mark."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8-sig")
    number = 0
    try:
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise UserError(f"{path}:{number}: a line has more than {LONGEST_LINE:,} characters: no benchmark's")
            yield number, _TERMINAL_CODES.sub("", line).rstrip()
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text behind line {number}: save the log as UTF-8") from None
    finally:
        text.detach()  # the file stays open for the reader


def _parsed(file: BinaryIO, path: Path) -> dict[str, Any]:
    file.seek(0)
    try:
        content = json.loads(file.read(LARGEST_LOG).decode("utf-8-sig"))
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
