"""Results for people and pipes: one row a line or a path, `path:line:text` as other search commands print it.

A context line is `path-line-text`, and `--` stands between what does not adjoin in its file. Every name and
line passes through `pool/escape.py`: no name can forge a row, nothing reaches a terminal raw.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..pool import escape
from ..pool.results import GlobEntry, GrepEntry
from .gather import Answer, Row


def rows(answer: Answer) -> Iterator[str]:
    """The answer's rows, each with its line end."""
    for label, row in _labelled(answer):
        yield _row(label, row)


def rows_in_context(answer: Answer) -> Iterator[str]:
    """The rows of matching lines among their neighbours, in groups."""
    previous: Row | None = None
    for label, row in _labelled(answer):
        if previous is not None and not _adjoins(previous, row):
            yield "--\n"
        previous = row
        entry = row.entry
        assert isinstance(entry, GrepEntry)
        yield from (f"{label}-{near.number}-{escape.line(near.text)}\n" for near in entry.before)
        yield _row(label, row)
        yield from (f"{label}-{near.number}-{escape.line(near.text)}\n" for near in entry.after)


def _labelled(answer: Answer) -> Iterator[tuple[str, Row]]:
    shown, label = None, ""
    for row in answer.rows:
        place = (row.start, row.entry.path)
        if place != shown:
            shown, label = place, escape.name(row.start.label(row.entry.path))
        yield label, row


def _row(label: str, row: Row) -> str:
    entry = row.entry
    if isinstance(entry, GlobEntry):
        return f"{label}/\n" if entry.is_dir else f"{label}\n"
    if entry.line is not None and entry.line_number is not None:
        return "".join(_numbered(label, entry.line, entry.line_number))
    return f"{label}\n" if entry.count is None else f"{label}:{entry.count}\n"


def _numbered(label: str, text: str, first: int) -> Iterator[str]:
    """The lines of a match, each with its number. What was cut off the front of the text is of the first
    line: a match begins there.
    """
    *inner, last = text.split("\n")
    for number, line in enumerate([*(line.removesuffix("\r") for line in inner), last], first):
        yield f"{label}:{number}:{escape.line(line)}\n"


def _adjoins(above: Row, below: Row) -> bool:
    """Whether no line of the file lies between what is printed of these two."""
    upper, lower = above.entry, below.entry
    assert isinstance(upper, GrepEntry) and isinstance(lower, GrepEntry)
    if (above.start, upper.path) != (below.start, lower.path):
        return False
    last = upper.after[-1].number if upper.after else upper.last_line_number or upper.line_number
    first = lower.before[0].number if lower.before else lower.line_number
    assert last is not None and first is not None
    return first <= last + 1
