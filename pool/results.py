"""What a request gives back: entries in the contract's order, the state, the ledger of skips. Plain data,
JSON as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .report import ConfinementReport

if TYPE_CHECKING:
    from .render import Style


class GlobEntry(msgspec.Struct, frozen=True):
    """A path that the glob matched. Virtual, absolute; a byte that is no UTF-8 stands as `\\x{ff}`
    (escape.py).
    """

    path: str
    is_dir: bool = False


class ContextLine(msgspec.Struct, frozen=True):
    """A line near a match. Never counted, never shown twice (contract 4)."""

    number: int
    text: str


class GrepEntry(msgspec.Struct, frozen=True):
    """A matching line, or a file with matches.

    `line_number` and `line` are set in output mode `content`; `line` is at most `line_chars` long, the
    window lying on the match, and `line_length` is the true length in code points. `count` is the number of
    matching lines in mode `count`.
    """

    path: str
    line_number: int | None = None
    line: str | None = None
    line_length: int | None = None
    count: int | None = None
    before: tuple[ContextLine, ...] = ()
    after: tuple[ContextLine, ...] = ()
    last_line_number: int | None = None
    """The last line of a match over several lines."""


class Skipped(msgspec.Struct, frozen=True):
    """What was not searched, for one reason (contract 2.6): how many, and the first few by name."""

    reason: str
    count: int
    first: tuple[str, ...]


class Totals(msgspec.Struct, frozen=True):
    """Sums over what was searched, past the page's end, too. `exact` is False when the search stopped
    early.
    """

    entries: int
    files: int
    lines: int
    exact: bool


class _Result(msgspec.Struct, frozen=True, kw_only=True):
    complete: bool
    """Everything was searched and everything found is on this page."""
    truncated: bool
    """More entries exist past this page."""
    incomplete: bool
    """Something was not searched that should have been: see `reasons` and `skipped`."""
    reasons: tuple[str, ...]
    """Why it is incomplete: `deadline`, `repeated_timeouts`, `lost_worker`, or skip reasons that count as a
    failure.
    """
    next_offset: int | None
    """The offset of the next page; None at the end."""
    offset: int
    limit: int
    totals: Totals
    skipped: tuple[Skipped, ...]
    notices: tuple[str, ...]
    """What must be said about the state of this result, incompleteness first."""
    hints: tuple[str, ...] = ()
    """Guesses at what to try, where nothing was found. They change no result."""
    elapsed_ms: float
    confinement: ConfinementReport


class GlobResult(_Result, frozen=True, kw_only=True):
    """A page of paths."""

    path: str
    """Where the search started."""
    entries: tuple[GlobEntry, ...]
    tool: str = "glob"

    def render(self, style: Style = "claude", max_chars: int | None = None) -> str:
        """This page as text for a model, in at most `max_chars` code points (contract 8; see `render/`).
        Raises RequestError for an unknown style or a bound below 200.
        """
        from .render import render

        return render(self, style, max_chars)


class GrepResult(_Result, frozen=True, kw_only=True):
    """A page of lines, files or counts."""

    path: str
    """Where the search started."""
    output_mode: str
    entries: tuple[GrepEntry, ...]
    redacted: dict[str, int] = {}
    """How many secrets were replaced on this page, by the name of the pattern (Policy.redact)."""
    tool: str = "grep"

    def render(self, style: Style = "claude", max_chars: int | None = None) -> str:
        """This page as text for a model, in at most `max_chars` code points (contract 8; see `render/`).
        Raises RequestError for an unknown style or a bound below 200.
        """
        from .render import render

        return render(self, style, max_chars)


class LsResult(_Result, frozen=True, kw_only=True):
    """A page of what a folder holds, `depth` levels deep."""

    path: str
    depth: int
    entries: tuple[GlobEntry, ...]
    tool: str = "ls"


class ReadResult(_Result, frozen=True, kw_only=True):
    """Lines `start_line` to `end_line` of a file, joined by line feeds. `next_line` is where to go on when
    it was too much.
    """

    path: str
    text: str
    start_line: int
    end_line: int
    total_lines: int
    next_line: int | None
    redacted: dict[str, int] = {}
    """How many secrets were replaced, by the name of the pattern (Policy.redact)."""
    tool: str = "read"


SearchResult = GlobResult | GrepResult
Result = GlobResult | GrepResult | LsResult | ReadResult
