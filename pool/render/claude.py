"""The style "claude": relative paths, one line of sums, advice for the next page (contract 8).

    # INCOMPLETE: not everything was searched (deadline); more may match.
    # Note: The time for this request ran out before everything was searched.
    # Found at least 3 matching lines in 2 files under /mnt/w; entries 1 to 2 shown.
    a.py-11-import os
    a.py:12:text of a matching line
    --
    b.py:3:another
    # Not searched: 3 ignored, 1 binary.
    # More entries follow; go on with offset 2.

Rows by output mode: `path:line:text` with `path-line-text` for context and `--` where lines are missing in
between; `path`; `path:count`. A folder ends in `/`. A match over several lines is a row for each, or one row
`path:12-14:text` where it is shown in part. Where nothing was found, `# Hint: ...` may say what to try.

Invariants: each line of our own begins with `# `, and no row does. A name that begins with anything but
printable ASCII, or with `#`, `-` or `"`, that ends in a blank, or that holds what could be taken for the
number behind a name, stands between double quotes, a `"` in it as `\\x{22}`. So a row that begins with `"` has
its name up to the next `"`, and any other has it up to the first `:12:`, `:12-14:` or `-12-`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..results import GlobResult, GrepEntry, GrepResult, SearchResult, Skipped
from . import names
from .budget import Cut, Draft, Frame
from .lines import first_number, has_context, last_number, lines_of

MARK: Final = "# "
"""Begins each line that is ours."""

GAP: Final = "--"
"""Stands between rows with context where lines of the file are missing, or another file begins."""

_NAMES_OF_A_SKIP: Final = 3


def draft(result: SearchResult) -> Draft:
    """`result` in this style, not yet cut."""
    told = _Told(result)
    return Draft(tuple(_blocks(result)), told.full, told.brief)


def _blocks(result: SearchResult) -> Iterator[str]:
    if isinstance(result, GlobResult):
        for path in result.entries:
            yield names.label(names.below(path.path, result.path) + "/" * path.is_dir)
    elif result.output_mode == "content":
        yield from _content(result)
    else:
        for entry in result.entries:
            relative = names.below(entry.path, result.path)
            if entry.count is None:
                yield names.label(relative)
            else:
                yield f"{names.label_before_number(relative)}:{entry.count}"


def _content(result: GrepResult) -> Iterator[str]:
    gaps = has_context(result.entries)
    previous: GrepEntry | None = None
    label = ""
    for entry in result.entries:
        same_file = previous is not None and previous.path == entry.path
        if not same_file:
            label = names.label_before_number(names.below(entry.path, result.path))
        rows = [_row(label, *line) for line in lines_of(entry)]
        if gaps and previous and not (same_file and first_number(entry) <= last_number(previous) + 1):
            rows.insert(0, GAP)
        previous = entry
        yield "\n".join(rows)


def _row(label: str, number: str, text: str, matches: bool) -> str:
    return f"{label}:{number}:{text}" if matches else f"{label}-{number}-{text}"


@dataclass(frozen=True, slots=True)
class _Told:
    """What is said around the rows of one result."""

    result: SearchResult

    def full(self, cut: Cut) -> Frame:
        result = self.result
        under = f" under {names.path(result.path)}"
        summary = f"{self._found(under)}{self._range(cut)}."
        notices = (_ours(f"Note: {names.sentence(notice)}") for notice in self._notices())
        hints = (_ours(f"Hint: {names.sentence(hint)}") for hint in self.result.hints)
        tail = (*self._skips(), *hints, *self._paging(cut))
        return Frame((*self._state(), *notices, _ours(summary)), tail)

    def brief(self, cut: Cut) -> Frame:
        state = [_ours("INCOMPLETE: not all searched.")] if self.result.incomplete else []
        summary = f"{self._found('')}{self._range(cut)}."
        return Frame((*state, _ours(summary)), tuple(self._paging(cut)))

    def _state(self) -> Iterator[str]:
        if self.result.incomplete:
            why = ", ".join(reason.replace("_", " ") for reason in self.result.reasons)
            yield _ours(f"INCOMPLETE: not everything was searched ({why}); more may match.")

    def _notices(self) -> list[str]:
        """All but the advice for the next page, which stands at the end."""
        next_offset = self.result.next_offset
        advice = None if next_offset is None else _next_page(next_offset)
        return [notice for notice in self.result.notices if notice != advice]

    def _found(self, under: str) -> str:
        """The sums, over all pages."""
        result, totals = self.result, self.result.totals
        if not totals.entries and not result.entries:
            return _nothing(result, under)
        some = "" if totals.exact else "at least "
        files = _counted(totals.files, "file")
        if isinstance(result, GlobResult):
            return f"Found {some}{_counted(totals.entries, 'path')}{under}"
        if result.output_mode == "files_with_matches":
            return f"Found {some}{files} with matches{under}"
        over_several = any(entry.last_line_number is not None for entry in result.entries)
        noun = ("match", "matches") if over_several else ("matching line", "matching lines")
        return f"Found {some}{_counted(totals.lines, *noun)} in {files}{under}"

    def _range(self, cut: Cut) -> str:
        """Which of the entries these are, where they are not all."""
        first = self.result.offset + 1
        if not self.result.entries and self.result.totals.entries:
            return f"; none from entry {first} on"
        if not cut.kept or (first == 1 and not self.result.truncated and not cut.left_out):
            return ""
        return f"; entries {first} to {first + cut.kept - 1} shown"

    def _skips(self) -> Iterator[str]:
        if self.result.skipped:
            yield _ours("Not searched: " + ", ".join(map(self._skip, self.result.skipped)) + ".")

    def _skip(self, skipped: Skipped) -> str:
        """How many for one reason; by name where it is a failure, for somebody may want to mend it."""
        told = f"{skipped.count} {skipped.reason.replace('_', ' ')}"
        if skipped.reason not in self.result.reasons or not skipped.first:
            return told
        shown = [names.quoted(names.below(one, self.result.path)) for one in skipped.first[:_NAMES_OF_A_SKIP]]
        return f"{told} ({', '.join(shown)}{', ...' if skipped.count > len(shown) else ''})"

    def _paging(self, cut: Cut) -> Iterator[str]:
        go_on = f"go on with offset {self.result.offset + cut.kept}."
        if cut.left_out and not cut.kept:
            needs = f"the first needs {cut.needed} characters"
            yield _ours(f"All {cut.left_out} entries left out: {needs}; {go_on}")
        elif cut.left_out:
            more = ", more follow" if self.result.truncated else ""
            yield _ours(f"{_counted(cut.left_out, 'entry', 'entries')} left out{more}; {go_on}")
        elif self.result.next_offset is not None:
            yield _ours(_next_page(self.result.next_offset))


def _nothing(result: SearchResult, under: str) -> str:
    """No entries at all. That nothing matches is said only where everything was searched."""
    if result.incomplete:
        return f"Nothing was found in what was searched{under}"
    missing = "No files matched" if isinstance(result, GlobResult) else "No matches found"
    return missing + under


def _next_page(offset: int) -> str:
    """The advice for the next page, in the words of the notice that says the same."""
    return f"More entries follow; go on with offset {offset}."


def _counted(count: int, noun: str, plural: str = "") -> str:
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _ours(sentence: str) -> str:
    return MARK + sentence
