"""What the rest of the worker sees of the engines: a pattern compiled once, then asked about many buffers.

Invariants: the answers are `re`'s, whichever engine gives them. A buffer is searched whole and never line by line
unless `re` has to. Offsets are of bytes in the buffer given. A scanner holds no state between calls beyond the
program for text beyond ASCII, which is planned when the first such buffer comes (most searches meet none).
Time is bounded by whoever calls: there are no threads, signals or clocks here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from .dialect import Reading
from .linear import UNANCHORED, Match
from .plan import Plan
from .planner import Planned, plan_for
from .translate import Alphabet


@dataclass(frozen=True, slots=True)
class Hits:
    """Matching lines in order, each [start, end) in bytes, the end before its line end.

    A multiline match goes from its first line's start to its last line's end, and matches that share a line are one
    entry. long_lines: how many lines only `re` could have decided, and were too long for it.
    """

    starts: list[int]
    ends: list[int]
    long_lines: int


class Scanner(ABC):
    """One pattern, ready to search. Buffers are valid UTF-8 without a byte-order mark."""

    __slots__ = ("_ascii", "_max_line_bytes", "_multiline", "_reading", "_unicode")

    def __init__(
        self, reading: Reading, ascii_side: Planned, max_line_bytes: int, *, multiline: bool
    ) -> None:
        self._reading = reading
        self._ascii = ascii_side
        self._unicode: Planned | None = None
        self._max_line_bytes = max_line_bytes
        self._multiline = multiline

    @property
    def plan(self) -> Plan:
        """Which engine does what, for `explain`."""
        return Plan(self._ascii.program, self._unicode_side().program)

    @abstractmethod
    def contains(self, data: bytes) -> bool:
        """Whether any line matches."""

    @abstractmethod
    def scan(self, data: bytes, most: int) -> Hits:
        """The first `most` matching entries."""

    def span(self, line: str) -> tuple[int, int] | None:
        """`re`'s first match in a line's text, in code points; None: no match, or only `re` could tell and may not.

        A longer line than it may see is not given to `re`; in a multiline entry it sees any length.
        """
        side = self._ascii if line.isascii() else self._unicode_side()
        begin = 0
        # The empty text is asked of `re`, as `\B` in it differs between the engines.
        if line and side.match is not None and side.program.kind == "exact":
            try:
                linear = _linear_span(side.match, line)
            except UnicodeEncodeError:  # a lone surrogate: not text from a file
                linear = (0, 0)
            else:
                if linear is None or side.spans:
                    return linear
            # Where the start is known `re` need not try, and fail, at all the places before it.
            begin = linear[0] if side.starts else 0
        return self._python_span(line, begin)

    def _python_span(self, line: str, begin: int) -> tuple[int, int] | None:
        if not self._multiline and len(line.encode("utf-8", "surrogatepass")) > self._max_line_bytes:
            return None
        try:
            found = self._reading.regex.search(line, begin)
        except SystemError:  # CPython 3.11 found a match, and its groups' spans wrong
            return None
        return None if found is None else found.span()

    def _unicode_side(self) -> Planned:
        if self._unicode is None:
            self._unicode = plan_for(self._reading, Alphabet(ascii_only=False, multiline=self._multiline))
        return self._unicode

    def _side(self, data: bytes) -> Planned:
        return self._ascii if data.isascii() else self._unicode_side()


def _linear_span(match: Match, line: str) -> tuple[int, int] | None:
    data = line.encode()
    start, end = match(UNANCHORED, data, 0, len(data))[0]
    if start < 0:
        return None
    if len(data) == len(line):
        return start, end
    first = len(data[:start].decode())
    return first, first + len(data[start:end].decode())
