"""From a search's outcome to one page: mask, then cut, then say what state the result is in (contract 2).

Runs on the caller's thread. The order of finishing is the contract's: sorted (the shards saw to it), masked,
cut.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypedDict

from ..policy.wire import SAMPLE_NAMES, Context, Found, Line, Skip, SkipMark
from . import escape
from .mask import Mask
from .report import ConfinementReport
from .results import ContextLine, GlobEntry, GrepEntry, ReadResult, Skipped, Totals
from .search import Outcome

_FAILURES: Final = (Skip.UNREADABLE, Skip.TIMED_OUT, Skip.OUT_OF_MEMORY, Skip.CRASHED)
"""Skips that nobody asked for: with one of them a result is incomplete. The others are rules, and merely
counted.
"""

_REASON_SENTENCES: Final = {
    "deadline": "The time for this request ran out before everything was searched.",
    "repeated_timeouts": "The pattern ran into its time limit on several files and was given up.",
    "lost_worker": "Workers died again and again, so a part of the tree was not searched.",
    "too_many": "There is more than can be ordered at once; narrow the search.",
    "unreadable": "Something could not be read.",
    "timed_out": "Something took longer than its time limit and was left out.",
    "out_of_memory": "A file took more memory than is allowed and was left out.",
    "crashed": "A file made workers crash and was left out.",
}


class Window(NamedTuple):
    """Which entries a page shows."""

    offset: int
    limit: int


class Paths:
    """Virtual names for what a worker reports relative to a mount.

    A byte that is no UTF-8 stands as `\\x{ff}` (escape.py), so that every result is JSON as it stands;
    requests take such a path back (paths.py).
    """

    def __init__(self, virtual: str) -> None:
        self._virtual = virtual.rstrip("/")

    def virtual(self, path: bytes) -> str:
        if not path:
            return self._virtual or "/"
        return f"{self._virtual}/{escape.unicode_text(path.decode('utf-8', 'surrogateescape'))}"


def ordered(outcome: Outcome, sort: str) -> Outcome:
    """The outcome in the order that was asked for. By time: the newest first, ties by path, as they come
    (contract 2.1).
    """
    if sort == "path":
        return outcome
    newest_first = sorted(outcome.found, key=lambda found: -found.modified)
    # A skip has no place among entries that are ordered by time: all stand in front, and all are told.
    skips = [SkipMark(0, mark.reason, mark.count, mark.names) for mark in outcome.skips]
    reasons = outcome.reasons + (("too_many",) if outcome.dropped else ())
    return replace(outcome, found=newest_first, skips=skips, reasons=reasons)


def glob_entries(outcome: Outcome, paths: Paths, window: Window) -> tuple[GlobEntry, ...]:
    """The page's paths."""
    shown = outcome.found[window.offset : window.offset + window.limit]
    return tuple(GlobEntry(paths.virtual(found.path), found.is_dir) for found in shown)


def grep_entries(
    outcome: Outcome,
    paths: Paths,
    window: Window,
    mask: Mask,
    output_mode: str,
    line_chars: int,
    tally: Counter[str] | None = None,
) -> tuple[GrepEntry, ...]:
    """The page's lines, files or counts. `tally` counts what was redacted."""
    entries = []
    for found, line in _on_page(outcome.found, window):
        path = paths.virtual(found.path)
        if line is not None:
            entries.append(_line_entry(path, line, mask, line_chars, tally))
        else:
            entries.append(GrepEntry(path, count=found.count if output_mode == "count" else None))
    return tuple(entries)


def _line_entry(path: str, line: Line, mask: Mask, line_chars: int, tally: Counter[str] | None) -> GrepEntry:
    def shown(context: Context) -> ContextLine:
        whole = Line(context.number, context.text, 0, context.length, 0)
        return ContextLine(context.number, mask.window(whole, line_chars, tally))

    return GrepEntry(
        path,
        line.number,
        mask.window(line, line_chars, tally),
        line.length,
        before=tuple(map(shown, line.context_before)),
        after=tuple(map(shown, line.context_after)),
        last_line_number=line.last if line.last > line.number else None,
    )


def _on_page(found: Sequence[Found], window: Window) -> Iterator[tuple[Found, Line | None]]:
    at, stop = 0, window.offset + window.limit
    for one in found:
        size = len(one.lines) or 1
        if at + size > window.offset:
            for index in range(max(0, window.offset - at), min(size, stop - at)):
                yield one, one.lines[index] if one.lines else None
        at += size
        if at >= stop:
            return


def read_result(
    outcome: Outcome, path: str, first: int, last: int, mask: Mask, common: CommonFields
) -> ReadResult:
    """What was read: masked text, and whether more of what was asked for follows."""
    found = outcome.found[0] if outcome.found else None
    lines = found.lines if found is not None else ()
    total = found.count if found is not None else 0
    end = lines[-1].number if lines else first - 1
    half = bool(lines) and lines[-1].length > len(lines[-1].text)
    cut = half or (bool(lines) and end < min(last, total))
    # A file that is not text, or too large, must not read as an empty one, nor the text before a NUL as the whole.
    hidden = tuple(row.reason for row in common["skipped"])
    reasons = tuple(dict.fromkeys([*common["reasons"], *hidden]))
    what = "The file is not shown" if found is None else "The rest of the file is not shown"
    notices = [f"{what}: {reason.replace('_', ' ')}." for reason in hidden]
    if half:
        notices.append(f"Line {end} is longer than max_bytes; the rest of it is not shown.")
    elif cut:
        notices.append(f"More lines follow; go on with start_line {end + 1}.")
    changed = CommonFieldsChanged(
        truncated=cut,
        incomplete=bool(reasons),
        complete=not cut and not reasons,
        reasons=reasons,
        notices=tuple(notices),
        totals=Totals(entries=len(lines), files=int(found is not None), lines=len(lines), exact=not cut),
    )
    tally: Counter[str] = Counter()
    fields: dict[str, Any] = {**common, **changed}
    return ReadResult(
        path=path,
        text=mask.apply("\n".join(line.text for line in lines), tally=tally).text,
        start_line=first,
        end_line=end,
        total_lines=total,
        next_line=end + 1 if cut and end < total else None,
        redacted=dict(tally),
        **fields,
    )


class CommonFields(TypedDict):
    """The fields that every result has."""

    complete: bool
    truncated: bool
    incomplete: bool
    reasons: tuple[str, ...]
    next_offset: int | None
    offset: int
    limit: int
    totals: Totals
    skipped: tuple[Skipped, ...]
    notices: tuple[str, ...]
    elapsed_ms: float
    confinement: ConfinementReport


class CommonFieldsChanged(TypedDict):
    """Those that `read` says in its own way."""

    truncated: bool
    incomplete: bool
    complete: bool
    reasons: tuple[str, ...]
    notices: tuple[str, ...]
    totals: Totals


def common_fields(outcome: Outcome, paths: Paths, window: Window, started: float) -> CommonFields:
    """The state of a result, its ledger, its notices. `started`: monotonic time of the call."""
    total = sum(len(found.lines) or 1 for found in outcome.found)
    stop = window.offset + window.limit
    truncated = total > stop
    skipped = _ledger(_before_the_cut(outcome, stop) if truncated else outcome.skips, paths)
    failures = [s.reason for s in skipped if Skip[s.reason.upper()] in _FAILURES]
    reasons = tuple(dict.fromkeys([*outcome.reasons, *failures]))
    return CommonFields(
        complete=not truncated and not reasons,
        truncated=truncated,
        incomplete=bool(reasons),
        reasons=reasons,
        next_offset=stop if truncated else None,
        offset=window.offset,
        limit=window.limit,
        totals=_totals(outcome, stop + 1),
        skipped=skipped,
        notices=tuple(_notices(outcome, total, window, reasons)),
        elapsed_ms=(time.monotonic() - started) * 1000,
        confinement=outcome.confinement,
    )


def _totals(outcome: Outcome, most: int) -> Totals:
    """Sums over all pages where everything was found; else over what comes before the stop, so that they do
    not depend on timing.
    """
    held = sum(len(found.lines) or 1 for found in outcome.found)
    failed = any(mark.reason in _FAILURES for mark in outcome.skips)
    exact = held < outcome.need and not outcome.dropped and not outcome.reasons and not failed
    entries, files, lines = 0, 0, 0
    previous: bytes | None = None
    for found in outcome.found:
        if not exact and entries >= most:
            break
        # A file that is cut in the middle counts up to the cut. A count is one entry, however many lines it
        # counts.
        lines += min(found.count, most - entries) if found.lines and not exact else found.count
        entries += len(found.lines) or 1
        files += found.path != previous  # a file with very many lines comes in several pieces
        previous = found.path
    return Totals(entries if exact else min(entries, most), files, lines, exact)


def _before_the_cut(outcome: Outcome, stop: int) -> list[SkipMark]:
    """The skips that stand before the first entry past the page. Others were met or not by chance of
    timing.
    """
    at = 0
    for index, found in enumerate(outcome.found):
        at += len(found.lines) or 1
        if at > stop:
            return [mark for mark in outcome.skips if mark.at <= index]
    return outcome.skips


def _ledger(marks: Sequence[SkipMark], paths: Paths) -> tuple[Skipped, ...]:
    counts: dict[Skip, int] = {}
    names: dict[Skip, list[str]] = {}
    for mark in marks:
        counts[mark.reason] = counts.get(mark.reason, 0) + mark.count
        names.setdefault(mark.reason, []).extend(paths.virtual(name) for name in mark.names)
    return tuple(
        Skipped(reason.name.lower(), counts[reason], tuple(names[reason][:SAMPLE_NAMES]))
        for reason in sorted(counts)
    )


def _notices(outcome: Outcome, total: int, window: Window, reasons: Sequence[str]) -> Iterator[str]:
    stop = window.offset + window.limit
    for reason in reasons:
        yield _REASON_SENTENCES[reason]
    if total == 0 and reasons:
        yield "Nothing was found, but not everything was searched."
    if window.offset > 0 and total <= window.offset:
        yield f"Offset {window.offset} is past the end: there are {total} entries in all."
    if total > stop:
        yield f"More entries follow; go on with offset {stop}."
    if outcome.rules_cut and not outcome.dropped:
        yield "Ignore files hold more rules than are kept: something may be shown that they leave out."
