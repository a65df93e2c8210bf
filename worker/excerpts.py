"""From matching places in a text to what is reported of them: line numbers, windows of long lines, context.

Invariants: line numbers are counted on from the match before, never from the start again; a context line is
shipped once, with the nearer match, and a line that matches is nobody's context; no text is longer than what
is shown and the margin that masking needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ..policy.wire import FILE_BYTES, Context, Line, Query
from .engines import Scanner

_LINE_OVERHEAD = 32
"""Bytes of a line in a reply beside its text."""


class Excerpts:
    """Cuts out of texts for one query."""

    def __init__(self, query: Query, scanner: Scanner | None) -> None:
        self._query = query
        self._scanner = scanner

    def lines(
        self, data: bytes, starts: Sequence[int], ends: Sequence[int], skip: int
    ) -> tuple[tuple[Line, ...], bool]:
        """The matches behind the first `skip`, as many as fit one reply; and whether that is all of them."""
        lines: list[Line] = []
        number, counted_to, held = 1, 0, 0
        for at in range(skip, len(starts)):
            if held > FILE_BYTES:
                return tuple(lines), False
            start, end = starts[at], ends[at]
            number += data.count(b"\n", counted_to, start)
            counted_to = start
            line = self._line(data, start, end, number)
            if self._query.before or self._query.after:
                gap = _next_line(data, ends[at - 1]) if at else 0
                stop = starts[at + 1] if at + 1 < len(starts) else len(data)
                line = self._with_context(line, data, start, end, gap, stop, first=at == 0)
            lines.append(line)
            held += len(line.text) + _LINE_OVERHEAD
            held += sum(len(c.text) + _LINE_OVERHEAD for c in (*line.context_before, *line.context_after))
        return tuple(lines), True

    def whole_lines(self, data: bytes, first: int, last: int, most_bytes: int) -> tuple[Line, ...]:
        """Lines `first` to `last` as they stand, for `read`, as many as `most_bytes` hold.

        One is always given; where it is too long itself, its text is less than its length says.
        """
        lines: list[Line] = []
        held = 0
        for number, (start, end) in enumerate(_line_places(data), start=1):
            if number < first:
                continue
            held += end - start + 1
            if number > last or (lines and held > most_bytes):
                break
            text = data[start:end].decode("utf-8", "replace")
            shown = text
            if end - start > most_bytes:
                shown = data[start : start + most_bytes].decode(
                    "utf-8", "ignore"
                )  # a code point cut in two goes
            lines.append(Line(number, shown, 0, len(text), 0))
        return tuple(lines)

    def _line(self, data: bytes, start: int, end: int, number: int) -> Line:
        raw = data[start:end]
        text = raw.decode("utf-8", "replace")
        last = number + raw.count(b"\n")
        shown, margin = self._query.line_chars, self._query.margin_chars
        if len(text) <= shown:
            return Line(number, text, 0, len(text), 0, last)
        # The span comes from the engine that may take long; a line past its bound is shown from its start.
        span = self._scanner.span(text) if self._scanner and len(raw) <= self._query.max_line_bytes else None
        match = span[0] if span else 0
        first = max(0, match - shown - margin)
        return Line(number, text[first : match + shown + margin], first, len(text), match - first, last)

    def _with_context(
        self, line: Line, data: bytes, start: int, end: int, gap: int, stop: int, *, first: bool
    ) -> Line:
        """`line` with its neighbours. The gap to the match before begins at `gap`, the next match at `stop`.

        Windows that overlap are merged: the lines of a gap go to the match before as far as it asks for
        them, and what is left to this one.
        """
        above = data.count(b"\n", gap, start)
        told = 0 if first else min(self._query.after, above)
        before: list[Context] = []
        at = start
        while len(before) < min(self._query.before, above - told):
            at = data.rfind(b"\n", 0, at - 1) + 1
            before.append(self._context(data, at, line.number - len(before) - 1))
        after: list[Context] = []
        at = _next_line(data, end)
        while len(after) < self._query.after and at < stop:
            after.append(self._context(data, at, line.last + len(after) + 1))
            at = _next_line(data, at)
        return msgspec.structs.replace(
            line, context_before=tuple(reversed(before)), context_after=tuple(after)
        )

    def _context(self, data: bytes, at: int, number: int) -> Context:
        stop = data.find(b"\n", at)
        raw = data[at : stop if stop >= 0 else len(data)].removesuffix(b"\r")
        longest = self._query.line_chars + self._query.margin_chars
        # Four bytes are the longest code point, so this much holds what is shipped; the cut point is
        # replaced whole.
        text = raw[: 4 * longest + 4].decode("utf-8", "replace")
        length = len(text) if len(raw) <= 4 * longest + 4 else len(raw.decode("utf-8", "replace"))
        return Context(number, text[:longest], length)


def _next_line(data: bytes, at: int) -> int:
    """Where the line behind the one at `at` begins; the end of the text where there is none."""
    stop = data.find(b"\n", at)
    return len(data) if stop < 0 else stop + 1


def _line_places(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, without its line end."""
    at = 0
    while at < len(data):
        stop = data.find(b"\n", at)
        end = len(data) if stop < 0 else stop
        yield at, end - (end > at and data[end - 1 : end] == b"\r" and stop >= 0)
        at = end + 1
