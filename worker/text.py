"""From a file's bytes to searchable text: valid UTF-8, or the reason why there is none (contract 4,
"Text").
"""

from __future__ import annotations

import codecs
import encodings.utf_16_be
import encodings.utf_16_le
import encodings.utf_32_be
import encodings.utf_32_le
from typing import Final, NamedTuple

BINARY_WINDOW: Final = 8192
"""A NUL this near to the start makes the whole file binary; a later one ends its text there."""

# Longest mark first: UTF-32's little-endian mark begins with UTF-16's. The codecs are called as functions,
# since a look-up by name may import a module, and nothing can be opened here.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, encodings.utf_32_le.decode),
    (codecs.BOM_UTF32_BE, encodings.utf_32_be.decode),
    (codecs.BOM_UTF16_LE, encodings.utf_16_le.decode),
    (codecs.BOM_UTF16_BE, encodings.utf_16_be.decode),
)


class Text(NamedTuple):
    """`data` is valid UTF-8. `binary`: the file is binary, all of it or from the end of `data` on."""

    data: bytes
    binary: bool


def searchable(raw: bytes) -> Text:
    """The text of a file. Bytes that are no UTF-8 become U+FFFD; a mark at the start is taken off."""
    if _is_marked(raw):
        raw = _decode_marked(raw)
    nul = raw.find(0)
    binary = nul >= 0
    if binary:
        if nul < BINARY_WINDOW:
            return Text(b"", binary=True)
        raw = raw[: raw.rfind(b"\n", 0, nul) + 1]  # whole lines only: half a line is no line of the file
    if raw.isascii():
        return Text(raw, binary)
    if raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raw = raw.decode("utf-8", "replace").encode("utf-8")
    return Text(raw, binary)


def begins_binary(start: bytes) -> bool:
    """Whether a file that begins so is binary, whatever follows: it need not be read on."""
    return 0 in start[:BINARY_WINDOW] and not _is_marked(start)


def _is_marked(raw: bytes) -> bool:
    """Whether a byte-order mark says that NULs are part of the text."""
    return raw[:2] in (b"\xff\xfe", b"\xfe\xff") or raw[:4] == codecs.BOM_UTF32_BE


def _decode_marked(raw: bytes) -> bytes:
    for mark, decode in _MARKS:
        if raw.startswith(mark):
            return decode(raw[len(mark) :], "replace")[0].encode("utf-8", "replace")
    return raw
