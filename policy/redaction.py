"""Replaces secrets in text by marks before it leaves (optional in a policy, and off unless asked for).

Secrets are known by their form alone (`redaction_table`), so this is a net and not a wall: a password that looks
like a word in the middle of code gets through, and some harmless text is caught.

Invariants: each stretch of secrets becomes one mark, `[redacted: NAME]`, and nothing of it is left beside the
mark; the same text gives the same result, and a result is not changed by a second round; time is linear in the
text. Hits that overlap are replaced together, under the name of the leftmost, of these the longest, of these the
first in the table.

Leaves to others: cutting. Who cuts a text looks at `Redactor.longest` characters beyond the cut, and shows none
of these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from .redaction_table import KEY_END, ROWS, Row

ALL: Final = "all"
"""Taken in place of every name."""

NAMES: Final[tuple[str, ...]] = tuple(dict.fromkeys(row.name for row in ROWS))
"""The names of the patterns."""

_KEY_ENDS: Final = re.compile(r"^[ \t]{0,64}" + KEY_END, re.MULTILINE)
_BODY_LINE: Final = re.compile(r"[ \t]{0,64}[A-Za-z0-9+/]{40,256}\r?")
_LAST_LINE: Final = re.compile(r"[ \t]{0,64}[A-Za-z0-9+/]{1,256}={0,2}\r?")


class Hit(NamedTuple):
    """Where a secret begins and ends, and the name of its pattern."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Search:
    """A row of the table, compiled."""

    name: str
    needs: tuple[str, ...]
    pattern: re.Pattern[str]
    group: str | int
    tail: re.Pattern[str]

    @classmethod
    def of(cls, row: Row) -> Self:
        pattern = re.compile(row.pattern, re.MULTILINE)
        group = "secret" if pattern.groups else 0
        return cls(row.name, row.needs, pattern, group, re.compile(row.tail))

    def hits(self, text: str) -> Iterator[Hit]:
        # Some patterns are slow to search for, and most lines hold no secret: this is ten times as fast.
        if not any(need in text for need in self.needs):
            return
        at = 0
        while found := self.pattern.search(text, at):
            end = found.end(self.group)
            while more := self.tail.match(text, end):
                end = more.end()
            yield Hit(found.start(self.group), end, self.name)
            at = max(end, found.end())


class Redacted(NamedTuple):
    """Redacted text, how many marks of each name it holds, and where places of the original now are."""

    text: str
    count_by_name: Mapping[str, int]
    places: tuple[int, ...]


class Redactor:
    """Replaces the secrets of some patterns.

    `longest`: a secret of up to so many characters is seen whole by whoever looks that far beyond a cut; one
    of more is seen from where it begins. 0 without names.
    Raises ValueError for a name that is neither in `NAMES` nor `all`.
    """

    def __init__(self, names: Iterable[str]) -> None:
        wanted = set(names)
        unknown = sorted(wanted - {ALL, *NAMES})
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no pattern; legal are {', '.join((ALL, *NAMES))}.")
        rows = [row for row in ROWS if row.name in wanted or ALL in wanted]
        self._searches = [Search.of(row) for row in rows]
        self._halves = any(row.name == "private_key" for row in rows)
        self.longest = max((row.reach for row in rows), default=0)

    def apply(self, text: str, *places: int) -> Redacted:
        """`text` redacted; each of `places`, an index into it, as the index of the same character
        afterwards; within a secret, as the start of its mark."""
        hits = [hit for search in self._searches for hit in search.hits(text)]
        if self._halves:
            hits += _halves(text)
        if not hits:
            return Redacted(text, {}, places)
        marks = _merged(hits)
        counts = dict(Counter(mark.name for mark in marks))
        return Redacted(_replaced(text, marks), counts, tuple(_moved(place, marks) for place in places))


def _halves(text: str) -> Iterator[Hit]:
    """The second halves of private keys whose beginning is not in this text, as a page may begin within one.

    No pattern could look for lines of base64 that an end follows without looking at each line many times.
    """
    for found in _KEY_ENDS.finditer(text):
        start = found.start()
        while start:
            above = text.rfind("\n", 0, start - 1) + 1
            line = _LAST_LINE if start == found.start() else _BODY_LINE
            if not line.fullmatch(text, above, start - 1):
                break
            start = above
        if start < found.start():
            yield Hit(start, found.end(), "private_key")


def _merged(hits: list[Hit]) -> list[Hit]:
    """Hits in order, none touching the next; `hits` come in the table's order, which sorting keeps."""
    marks: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if marks and hit.start < marks[-1].end:
            marks[-1] = marks[-1]._replace(end=max(marks[-1].end, hit.end))
        else:
            marks.append(hit)
    return marks


def _replaced(text: str, marks: list[Hit]) -> str:
    parts: list[str] = []
    copied = 0
    for mark in marks:
        parts += [text[copied : mark.start], _mark(mark)]
        copied = mark.end
    return "".join([*parts, text[copied:]])


def _moved(place: int, marks: list[Hit]) -> int:
    shift = 0
    for mark in marks:
        if place <= mark.start:
            break
        if place < mark.end:
            return mark.start + shift
        shift += len(_mark(mark)) - (mark.end - mark.start)
    return place + shift


def _mark(hit: Hit) -> str:
    return f"[redacted: {hit.name}]"
