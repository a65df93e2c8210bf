"""Finds the line on which a key of a TOML text stands, for errors.

Invariant: a line is told only if the TOML parser itself agrees: the text up to that line lacks the key, and
the text up to the end of the statement that starts there has it. So a line within a multi-line string never
passes for a key.

Leaves to others: whether the text is valid. It must be; the search parses beginnings of it.
"""

from __future__ import annotations

import bisect
import re
import tomllib
from typing import Any, Final

LARGEST_TEXT: Final = 2**16  # characters; a longer one gets errors without lines rather than slow errors
MOST_PARSES: Final = 100  # a halving search over any sane file needs about ten

_STATEMENT = re.compile(r"""^[ \t]*(?:\[|[A-Za-z0-9_"'-][^\n]*=)""", re.MULTILINE)
_STEP = re.compile(r"([A-Za-z0-9_-]+)|\[(\d+)\]")


class _TooLong(Exception):
    """The search has parsed enough."""


def line_of(text: str, key: str) -> int | None:
    """The line, from 1, of the statement that first brings `key` (`mounts[2].host`) into `text`.

    For a key that is absent it is the line of the nearest table around it. None if that is the text as a
    whole, or if the search would be long.
    """
    if len(text) > LARGEST_TEXT:
        return None
    steps = [name or int(index) for name, index in _STEP.findall(key)]
    whole = tomllib.loads(text)
    while steps and not _has(whole, steps):
        steps.pop()
    return _first_line(text, steps) if steps else None


def _first_line(text: str, steps: list[str | int]) -> int | None:
    starts = [match.start() for match in _STATEMENT.finditer(text)]
    ends = [*starts[1:], len(text)]
    parses = 0

    def has_by(position: int) -> bool:
        # A cut inside a long array or string does not parse: the statement ends at a later cut.
        nonlocal parses
        for end in ends[position:]:
            parses += 1
            if parses > MOST_PARSES:
                raise _TooLong
            table = _parse(text[:end])
            if table is not None:
                return _has(table, steps)
        return True

    try:
        found = bisect.bisect_left(range(len(ends)), True, key=has_by)
    except _TooLong:
        return None
    return text.count("\n", 0, starts[found]) + 1


def _parse(beginning: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(beginning)
    except tomllib.TOMLDecodeError:
        return None


def _has(table: Any, steps: list[str | int]) -> bool:
    for step in steps:
        if isinstance(step, str) and isinstance(table, dict) and step in table:
            table = table[step]
        elif isinstance(step, int) and isinstance(table, list) and step < len(table):
            table = table[step]
        else:
            return False
    return True
