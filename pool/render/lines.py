"""The lines that an entry of a grep brings, each with its number and ready to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .. import escape
from ..results import ContextLine, GrepEntry


class Shown(NamedTuple):
    """A line of a file: its number (`12`, or `12-14` where a match's lines cannot be told apart), its text
    on one line, and whether it belongs to a match or stands near one.
    """

    number: str
    text: str
    matches: bool


def lines_of(entry: GrepEntry) -> Iterator[Shown]:
    """An entry's context and match, in the file's order."""
    yield from (_near(line) for line in entry.before)
    yield from _match(entry)
    yield from (_near(line) for line in entry.after)


def first_number(entry: GrepEntry) -> int:
    """The first line that an entry shows."""
    return entry.before[0].number if entry.before else entry.line_number or 0


def last_number(entry: GrepEntry) -> int:
    """The last line that an entry shows."""
    if entry.after:
        return entry.after[-1].number
    return entry.last_line_number or entry.line_number or 0


def has_context(entries: Sequence[GrepEntry]) -> bool:
    """Whether lines near the matches are shown."""
    return any(entry.before or entry.after for entry in entries)


def _near(line: ContextLine) -> Shown:
    return Shown(str(line.number), escape.line(line.text), matches=False)


def _match(entry: GrepEntry) -> Iterator[Shown]:
    first = entry.line_number or 0
    last = entry.last_line_number or first
    text = entry.line or ""
    lines = text.split("\n")
    # A window of a long match may lack line ends, and a file's text is what a worker says it is: numbers are
    # given to the lines only where they are as many as they should be.
    if len(lines) == last - first + 1:
        for number, line in enumerate(lines, start=first):
            line = line if number == last else line.removesuffix("\r")  # a line end's, within the match
            yield Shown(str(number), escape.line(line), matches=True)
    else:
        yield Shown(str(first) if last == first else f"{first}-{last}", escape.line(text), matches=True)
