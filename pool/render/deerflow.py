"""The style "deerflow": the lines of DeerFlow's own tools, to the letter, for what those tools can say
(contract 8).

    Found 2 paths under /mnt/w (showing first 2)        Found 2 matches under /mnt/w
    1. /mnt/w/a.py                                      /mnt/w/a.py:12: text
    2. /mnt/w/b.py                                      /mnt/w/b.py:3: text
    Results truncated. Narrow the path or pattern to see fewer matches.

    No files matched under /mnt/w                       No matches found under /mnt/w

"paths" and "matches" also for one. A complete result from the first entry on is these lines and no more. What
DeerFlow's tools cannot say is said in their spirit:

* An incomplete result begins with a line `INCOMPLETE: ...` that says so in words. Where nothing was found it
  goes on with `Found nothing in what was searched under ...`, never with the words for a search of everything.
* Output mode `files_with_matches`: `Found 2 files under /mnt/w`, then rows like a glob's.
* Output mode `count`: `Found 5 matches in 2 files under /mnt/w`, which are the totals over all pages, then rows
  `/mnt/w/a.py: 3`. A match is a matching line.
* Context: rows `/mnt/w/a.py-11- text` about the row of the match. A match over several lines is a row for each.
* A page from an offset on: `(showing from 11)` in place of `(showing first 10)`, and paths are numbered on.
* Any other notice, and where to go on after rows that found no room: a line `Note: ...`.

Hints, and skips that are no failure, are not told: DeerFlow tells none, and a reader of exact lines expects none.

Invariants: each row begins with `/`, or with a number, a dot, a blank and `/`; no line of our own does. A
colon in a name that could pass for the one before the line number is shown as `\\x{3a}`, a dash as `\\x{2d}`; so
the name in a row ends at the first `:12: `, `:12-14: ` or `-12- `.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..results import GlobResult, GrepResult, SearchResult
from . import names
from .budget import Cut, Draft, Frame
from .lines import lines_of

_GLOB_TRUNCATED: Final = "Results truncated. Narrow the path or pattern to see fewer matches."
_GREP_TRUNCATED: Final = "Results truncated. Narrow the path or add a glob filter."

_BRIEF_PATH: Final = 8
"""Characters of the start path that the shortest text has room for."""


def draft(result: SearchResult) -> Draft:
    """`result` in this style, not yet cut."""
    told = _Told(result)
    return Draft(tuple(_blocks(result)), told.full, told.brief)


def _blocks(result: SearchResult) -> Iterator[str]:
    if isinstance(result, GlobResult):
        return _numbered([entry.path for entry in result.entries], result.offset)
    if result.output_mode == "files_with_matches":
        return _numbered([entry.path for entry in result.entries], result.offset)
    return _content(result) if result.output_mode == "content" else _counts(result)


def _numbered(paths: Sequence[str], offset: int) -> Iterator[str]:
    for number, path in enumerate(paths, start=offset + 1):
        yield f"{number}. {names.path(path)}"


def _counts(result: GrepResult) -> Iterator[str]:
    for entry in result.entries:
        yield f"{names.path_before_number(entry.path)}: {entry.count}"


def _content(result: GrepResult) -> Iterator[str]:
    path, name = "", ""
    for entry in result.entries:
        if entry.path != path:
            path, name = entry.path, names.path_before_number(entry.path)
        yield "\n".join(_row(name, *line) for line in lines_of(entry))


def _row(name: str, number: str, text: str, matches: bool) -> str:
    return f"{name}:{number}: {text}" if matches else f"{name}-{number}- {text}"


@dataclass(frozen=True, slots=True)
class _Told:
    """What is said around the rows of one result."""

    result: SearchResult

    def full(self, cut: Cut) -> Frame:
        result = self.result
        head = [self._found(names.path(result.path), cut, self._things())]
        if result.incomplete:
            why = ", ".join(reason.replace("_", " ") for reason in result.reasons)
            head.insert(0, f"INCOMPLETE: not everything was searched ({why}), so more may match.")
        notices = [f"Note: {names.sentence(n)}" for n in result.notices if not _is_paging(n, result)]
        room = [f"Note: {self._left_out(cut)}"] if cut.left_out else []
        return Frame(tuple(head), (*notices, *self._truncated(), *room))

    def brief(self, cut: Cut) -> Frame:
        state = ("INCOMPLETE search.",) if self.result.incomplete else ()
        path = names.shortened(names.path(self.result.path), _BRIEF_PATH)
        go_on = f"next offset {self.result.offset + cut.kept}."
        room = f"{cut.left_out} left out; {go_on}"
        if not cut.kept:
            room = f"too short, needs {cut.needed} characters; {go_on}"
        tail = (*self._truncated(), *([f"Note: {room}"] if cut.left_out else []))
        return Frame((*state, self._found(path, cut, self._noun())), tail)

    def _found(self, under: str, cut: Cut, things: str) -> str:
        result = self.result
        if not result.totals.entries and not result.entries:
            return _nothing(result, under)
        return f"Found {things} under {under}{self._showing(cut)}"

    def _noun(self) -> str:
        """How many entries the page has, and what they are."""
        if isinstance(self.result, GlobResult):
            return f"{len(self.result.entries)} paths"
        noun = "matches" if self.result.output_mode == "content" else "files"
        return f"{len(self.result.entries)} {noun}"

    def _things(self) -> str:
        totals = self.result.totals
        if not isinstance(self.result, GrepResult) or self.result.output_mode != "count":
            return self._noun()
        some = "" if totals.exact else "at least "
        return f"{some}{totals.lines} matches in {totals.files} files"

    def _showing(self, cut: Cut) -> str:
        if not cut.kept or not (self.result.truncated or self.result.offset or cut.left_out):
            return ""
        if self.result.offset:
            return f" (showing from {self.result.offset + 1})"
        return f" (showing first {cut.kept})"

    def _truncated(self) -> tuple[str, ...]:
        if not self.result.truncated:
            return ()
        return (_GLOB_TRUNCATED if isinstance(self.result, GlobResult) else _GREP_TRUNCATED,)

    def _left_out(self, cut: Cut) -> str:
        go_on = f"go on with offset {self.result.offset + cut.kept}."
        if not cut.kept:
            return f"no entry fits in this text, the first needs {cut.needed} characters; {go_on}"
        return f"{cut.left_out} of them were left out of this text; {go_on}"


def _nothing(result: SearchResult, under: str) -> str:
    if result.incomplete:
        return f"Found nothing in what was searched under {under}"
    missing = "No files matched" if isinstance(result, GlobResult) else "No matches found"
    return f"{missing} under {under}"


def _is_paging(notice: str, result: SearchResult) -> bool:
    """DeerFlow's own sentence says that there is more; its tools know no offset."""
    return notice == f"More entries follow; go on with offset {result.next_offset}."
