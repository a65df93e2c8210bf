"""Multiline meaning: the pattern is searched in the whole text, under DOTALL and MULTILINE (contract 4).

The text a pattern sees has its line ends as "\\n": a "\\r\\n" is one "\\n" to it, so `$` stands before either and `.`
takes one character for either. A pattern that asks for "\\r" by name sees the text as it stands.

Entries are what `re`'s finditer finds, widened to whole lines; those that share a line are merged. An empty match
behind a last newline is on no line. Where the linear engine's spans are `re`'s it does all the work; else it says
whether there is anything at all and from where on, and `re` looks at the text from there, whatever the length of its
lines. Like any search for all matches this can cost the text's length for each match: `a.*z|a` looks to the end
for each "a".
"""

from __future__ import annotations

from collections.abc import Iterator

from .dialect import Reading
from .line_ends import fold, text_end, unfold
from .linear import UNANCHORED, Match
from .planner import Planned
from .scanner import Hits, Scanner
from .translate import names_carriage_return

_NEWLINE = 0x0A


class TextScanner(Scanner):
    """A pattern whose matches may go over several lines."""

    __slots__ = ("_as_it_stands", "_may_be_empty")

    def __init__(self, reading: Reading, ascii_side: Planned, max_line_bytes: int) -> None:
        super().__init__(reading, ascii_side, max_line_bytes, multiline=True)
        self._as_it_stands = names_carriage_return(reading.tree)
        self._may_be_empty: bool = reading.tree.getwidth()[0] == 0

    def contains(self, data: bytes) -> bool:
        side = self._side(data)
        data = self._seen(data)
        if not data or side.never:
            return False
        if side.match is not None and side.program.kind == "exact" and not self._may_be_empty:
            return side.match(UNANCHORED, data, 0, len(data))[0][0] >= 0
        return next(_entries(data, self._spans(side, data)), None) is not None

    def scan(self, data: bytes, most: int) -> Hits:
        side = self._side(data)
        searched = self._seen(data)
        starts: list[int] = []
        ends: list[int] = []
        if searched and not side.never and most > 0:
            for start, end in _entries(searched, self._spans(side, searched)):
                starts.append(start)
                ends.append(end)
                if len(starts) == most:
                    break
        if searched is not data:
            both = unfold(data, [offset for entry in zip(starts, ends, strict=True) for offset in entry])
            return Hits(both[::2], both[1::2], 0)
        ends = [text_end(data, start, end) for start, end in zip(starts, ends, strict=True)]
        return Hits(starts, ends, 0)

    def _seen(self, data: bytes) -> bytes:
        return data if self._as_it_stands else fold(data)

    def _spans(self, side: Planned, data: bytes) -> Iterator[tuple[int, int]]:
        """Matches in order, in bytes."""
        if side.match is None:
            return self._python_spans(data, 0)
        # After an empty match `re` may still take a longer one at the same place; RE2 cannot be asked for that.
        if side.spans and not side.nullable:
            return _linear_spans(side.match, data, side.crosses_lines)
        first = side.match(UNANCHORED, data, 0, len(data))[0][0]
        return iter(()) if first < 0 else self._python_spans(data, first)

    def _python_spans(self, data: bytes, first: int) -> Iterator[tuple[int, int]]:
        """By `re`, none of whose matches begins before byte `first`."""
        text = data.decode()
        counted_to, offset = len(data[:first].decode()), first
        for found in self._reading.regex.finditer(text, counted_to):
            start = offset + len(text[counted_to : found.start()].encode())
            offset = start + len(found.group().encode())
            counted_to = found.end()
            yield start, offset


def _linear_spans(match: Match, data: bytes, crosses_lines: bool) -> Iterator[tuple[int, int]]:
    position, size = 0, len(data)
    while position < size:
        start, end = match(UNANCHORED, data, position, size)[0]
        if start < 0:
            return
        yield start, end
        if crosses_lines:
            position = end
        else:
            # Nothing else that begins on this line could add to its entry.
            following = data.find(b"\n", end)
            position = size if following < 0 else following + 1


def _entries(data: bytes, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans widened to lines, merged where they share one; one look back a line, however many matches it has."""
    size = len(data)
    start, end = -1, -1
    for first, after in spans:
        if first == size and data[-1] == _NEWLINE:
            break
        if first > end:
            if start >= 0:
                yield start, end
            start = data.rfind(b"\n", end + 1, first) + 1 or end + 1
            end = first
        last = after - 1 if after > first else first
        if last >= end:
            end = data.find(b"\n", last)
            if end < 0:
                end = size
    if start >= 0:
        yield start, end
