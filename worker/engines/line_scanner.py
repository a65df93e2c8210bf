"""Line by line meaning at whole-buffer speed: each line is matched as its own text (contract 4).

How: the linear engine searches the buffer; a hit is widened to its line, and the search goes on at the next one.
No translated pattern can take a newline, so each call costs at most the text up to the end of the hit's line, and a
buffer costs no more than its length however many lines match.

Places where a buffer is not its lines, and what is done: after a last newline the engine sees one more, empty
line: that hit is dropped. A "\\r" before a newline is folded away first wherever it could be seen. On an empty line
`\\B` differs between engines (and CPython minors): `re` was asked once, when the scanner was made.
"""

from __future__ import annotations

from collections.abc import Iterator

from .dialect import Reading
from .line_ends import fold, text_end, unfold
from .linear import UNANCHORED, Match
from .planner import Planned
from .scanner import Hits, Scanner

_NEWLINE = 0x0A


class LineScanner(Scanner):
    """A pattern that is matched against each line by itself."""

    __slots__ = ("_blank",)

    def __init__(self, reading: Reading, ascii_side: Planned, max_line_bytes: int) -> None:
        super().__init__(reading, ascii_side, max_line_bytes, multiline=False)
        self._blank = reading.regex.search("") is not None

    def contains(self, data: bytes) -> bool:
        side = self._ascii if data.isascii() else self._unicode_side()
        if side.sees_returns:
            data = fold(data)
        if side.needle is not None and side.needle not in data:
            return False
        match = side.match
        if match is None or side.nullable or side.program.kind != "exact":
            return bool(self._lines(side, data, 1)[0])
        return match(UNANCHORED, data, 0, len(data))[0][0] >= 0

    def scan(self, data: bytes, most: int) -> Hits:
        side = self._side(data)
        searched = fold(data) if side.sees_returns else data
        starts, ends, long_lines = self._lines(side, searched, most)
        if searched is not data:
            # Start and end by turns are ascending, as `unfold` wants them.
            both = unfold(data, [offset for line in zip(starts, ends, strict=True) for offset in line])
            return Hits(both[::2], both[1::2], long_lines)
        if b"\r" in data:
            ends = [text_end(data, start, end) for start, end in zip(starts, ends, strict=True)]
        return Hits(starts, ends, long_lines)

    def _lines(self, side: Planned, data: bytes, most: int) -> tuple[list[int], list[int], int]:
        starts: list[int] = []
        ends: list[int] = []
        long_lines = 0
        if side.never or most <= 0:
            return starts, ends, long_lines
        exact = side.program.kind == "exact"
        for start, end in _every_line(data) if side.match is None else _candidates(side, side.match, data):
            decided = (start != end or self._blank) if exact else self._decide(data[start:end])
            if decided:
                starts.append(start)
                ends.append(end)
                if len(starts) == most:
                    break
            elif decided is None:
                long_lines += 1
        return starts, ends, long_lines

    def _decide(self, line: bytes) -> bool | None:
        """Whether a candidate line matches; None: only `re` could tell, and the line is too long for it."""
        if not line:
            return self._blank
        ascii_side = self._ascii
        if ascii_side.program.kind == "exact" and line.isascii():
            # An ASCII line in a buffer beyond ASCII: the linear engine is exact on it and in no danger.
            if ascii_side.match is None:
                return False
            return ascii_side.match(UNANCHORED, line, 0, len(line))[0][0] >= 0
        if len(line) > self._max_line_bytes:
            return None
        try:
            return self._reading.regex.search(line.decode()) is not None
        except SystemError:
            # CPython 3.11: it found a match, then its own check of the groups' spans failed.
            return True


def _every_line(data: bytes) -> Iterator[tuple[int, int]]:
    position, size = 0, len(data)
    while position < size:
        end = data.find(b"\n", position)
        if end < 0:
            end = size
        yield position, end
        position = end + 1


def _candidates(side: Planned, match: Match, data: bytes) -> Iterator[tuple[int, int]]:
    """The lines on which the linear engine finds something."""
    needle = side.needle
    position, size = 0, len(data)
    while position < size:
        if needle is not None:
            near = data.find(needle, position)
            if near < 0:
                return
            position = data.rfind(b"\n", position, near) + 1 or position
        found = match(UNANCHORED, data, position, size)[0][0]
        if found < 0 or (found == size and data[-1] == _NEWLINE):
            return
        start = data.rfind(b"\n", position, found) + 1 or position
        end = data.find(b"\n", found)
        if end < 0:
            end = size
        yield start, end
        position = end + 1
