"""Replaces the source of a module in a VBA project, in place: no other byte of the file moves.

A module's stream holds what a former Excel compiled, then the compressed source. Where the project's version is
0xFFFF, as in the add-in that comes with xlwings, every Excel compiles from the source and ignores the rest. So it is
enough to write a source of the same compressed size; a comment fills it up.

Source: [MS-OVBA] Office VBA File Format Structure, sections 2.3.4.1 (version), 2.3.4.3 (module stream) and 2.4.1
(compression).
"""

from __future__ import annotations

import struct
from io import BytesIO
from itertools import product
from string import ascii_letters, digits

CHUNK = 4096
SHORTEST_COPY = 3
COMPILE_FROM_SOURCE = bytes.fromhex("CC61FFFF")
LETTERS = ascii_letters + digits
FILLING = "".join(LETTERS[place * step % len(LETTERS)] for step in (1, 3, 5) for place in range(len(LETTERS)))
START_OF_SOURCE = b"\x00Attribut"  # of "Attribute VB_Name", behind its first flags


def compressed(source: bytes) -> bytes:
    """The compressed container of a text."""
    chunks = [_chunk(source[start : start + CHUNK]) for start in range(0, len(source), CHUNK)]
    return b"\x01" + b"".join(chunks)


def _chunk(text: bytes) -> bytes:
    """One chunk: groups of eight tokens behind a byte of flags; a token is a literal, or a copy of earlier text."""
    body, position = bytearray(), 0
    while position < len(text):
        flags, tokens = 0, bytearray()
        for bit in range(8):
            if position == len(text):
                break
            offset_bits = max(4, (position - 1).bit_length()) if position else 4
            length, distance = _longest_copy(text, position, (0xFFFF >> offset_bits) + SHORTEST_COPY)
            if length:
                flags |= 1 << bit
                tokens += struct.pack("<H", (distance - 1) << (16 - offset_bits) | (length - SHORTEST_COPY))
                position += length
            else:
                tokens.append(text[position])
                position += 1
        body += bytes([flags]) + tokens
    return struct.pack("<H", 0xB000 | (len(body) - 1)) + body  # its size, header included, less 3


def _longest_copy(text: bytes, position: int, longest: int) -> tuple[int, int]:
    """Length and distance of the longest copy of what comes next, the nearest of equals; zeros if none is worth it."""
    found = 0, 0
    for start in range(position - 1, -1, -1):
        length = 0
        while length < longest and position + length < len(text) and text[start + length] == text[position + length]:
            length += 1
        if length > max(found[0], SHORTEST_COPY - 1):
            found = length, position - start
    return found


def with_source(project: bytes, module: str, source: str) -> bytes:
    """The project with another source of a module; `source` is what follows its attributes.

    Raises `ValueError` where the project would run what it compiled before, or the source does not fit.
    """
    from olefile import OleFileIO

    file = BytesIO(project)
    with OleFileIO(file, write_mode=True) as streams:
        if not streams.openstream("VBA/_VBA_PROJECT").read().startswith(COMPILE_FROM_SOURCE):
            raise ValueError("the VBA project runs what was compiled before")
        path = f"VBA/{module}"
        stream = streams.openstream(path).read()
        start = stream.rindex(START_OF_SOURCE) - 3  # signature and the header of the first chunk
        text = f'Attribute VB_Name = "{module}"\n{source}'.replace("\n", "\r\n")
        streams.write_stream(path, stream[:start] + _of_size(text.encode("ascii"), len(stream) - start))
        return file.getvalue()


def _of_size(text: bytes, size: int) -> bytes:
    """The compressed text, filled up to a size with a comment; each letter of it adds one byte or two."""
    if len(compressed(text)) == size:
        return compressed(text)
    for start, count in product(("'", "' ", "'-"), range(len(FILLING))):
        filled = compressed(text + f"{start}{FILLING[:count]}\r\n".encode("ascii"))
        if len(filled) == size:
            return filled
    raise ValueError(f"a source of {len(compressed(text))} bytes does not fill {size}")
