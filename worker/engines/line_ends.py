r"""Line ends: a line ends at "\n", and one "\r" before it belongs to the end (contract 4).

Invariant: `fold` turns each "\r\n" into "\n", so that neither engine ever sees that "\r"; `unfold` turns ascending
offsets into a folded buffer back into offsets into the one it came from.
"""

from __future__ import annotations

from collections.abc import Iterable

_CARRIAGE_RETURN = 0x0D


def fold(data: bytes) -> bytes:
    r"""`data` with its line ends as "\n"; the same object if they are already."""
    # The single byte first: memchr, ten times as fast as looking for two.
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def unfold(data: bytes, offsets: Iterable[int]) -> list[int]:
    """Offsets into `fold(data)`, ascending, as offsets into `data`; a line's end becomes that of its text."""
    mapped: list[int] = []
    folded = 0
    following = data.find(b"\r\n")
    for offset in offsets:
        while following >= 0 and following - folded < offset:
            folded += 1
            following = data.find(b"\r\n", following + 2)
        mapped.append(offset + folded)
    return mapped


def text_end(data: bytes, start: int, end: int) -> int:
    r"""Where the text of the line [start, end) ends, `end` being its "\n" or the end of the buffer."""
    if start < end < len(data) and data[end - 1] == _CARRIAGE_RETURN:
        return end - 1
    return end
