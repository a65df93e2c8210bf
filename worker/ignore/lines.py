"""Reads the lines of an ignore file as git reads them: which are rules, and what surrounds their patterns.

Invariants: any bytes are a valid file; a line's meaning never depends on another line; the work is linear in
the bytes looked at, which `max_bytes` bounds.

Leaves to others: what a pattern means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

_MARK: Final = b"\xef\xbb\xbf"  # UTF-8's byte order mark; git skips one, at the start of the file alone


class RuleLine(NamedTuple):
    """One rule: its pattern without `!` and without the slash that asks for a folder."""

    pattern: bytes
    negated: bool
    folders_only: bool

    @property
    def anchored(self) -> bool:
        """Whether the pattern speaks of a path from the file's folder on, rather than of a name at any depth."""
        return b"/" in self.pattern


def read_lines(data: bytes) -> Iterator[RuleLine]:
    """The rules of an ignore file, in order. Empty lines, comments and patterns that name nothing are left out."""
    for line in data.removeprefix(_MARK).split(b"\n"):
        if line and not line.startswith(b"#"):
            rule = _read_line(line)
            if rule.pattern:
                yield rule


def _read_line(line: bytes) -> RuleLine:
    # In git's order: one CR goes, then all from the first NUL on (git's lines are C strings), then spaces.
    text = _without_trailing_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
    negated = text.startswith(b"!")
    pattern = text[negated:]
    folders_only = pattern.endswith(b"/")
    return RuleLine(pattern[:-1] if folders_only else pattern, negated, folders_only)


def _without_trailing_spaces(text: bytes) -> bytes:
    """`text` without the spaces at its end, but with one that a backslash escapes."""
    stripped = text.rstrip(b" ")
    if stripped == text:
        return text
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    # An odd number: the last backslash escapes the first of the spaces.
    return text[: len(stripped) + backslashes % 2]
