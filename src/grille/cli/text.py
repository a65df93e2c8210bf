"""Results for people and pipes: one row an entry, `path:line:text` as other search commands print it.

Every name and line passes through `pool/escape.py`: no name can forge a row, nothing reaches a terminal raw.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..pool import escape
from ..pool.results import GlobEntry
from .gather import Answer, Row


def rows(answer: Answer) -> Iterator[str]:
    """The answer's rows, each with its line end."""
    path, label = None, ""
    for row in answer.rows:
        if row.entry.path is not path:
            path = row.entry.path
            label = escape.name(row.start.label(path))
        yield _row(label, row)


def _row(label: str, row: Row) -> str:
    entry = row.entry
    if isinstance(entry, GlobEntry):
        return f"{label}/\n" if entry.is_dir else f"{label}\n"
    if entry.line is not None:
        return f"{label}:{entry.line_number}:{escape.line(entry.line)}\n"
    return f"{label}\n" if entry.count is None else f"{label}:{entry.count}\n"
