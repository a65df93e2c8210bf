"""From an outcome to a page: the cut, the state, the ledger, the totals (contract 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.wire import SAMPLE_NAMES, Found, Line, Skip, SkipMark
from grille.pool import page
from grille.pool.mask import Mask
from grille.pool.report import ConfinementReport
from grille.pool.search import Outcome

MASK = Mask([])
PATHS = page.Paths("/mnt/w")
FAILURES = {Skip.UNREADABLE, Skip.TIMED_OUT, Skip.OUT_OF_MEMORY, Skip.CRASHED}
NEED = 1_000_000  # far more than any case holds: all was found, unless a case says otherwise
REPORT = cast("ConfinementReport", None)


def hit(path: bytes, lines: int) -> Found:
    return Found(path, False, lines, tuple(Line(n, f"line {n}", 0, 6, 0) for n in range(1, lines + 1)))


def outcome(
    found: Sequence[Found] = (),
    skips: Sequence[SkipMark] = (),
    *,
    need: int = NEED,
    dropped: bool = False,
    reasons: tuple[str, ...] = (),
) -> Outcome:
    return Outcome(list(found), list(skips), need, dropped, False, reasons, REPORT)


def fields_of(result: Outcome, offset: int = 0, limit: int = 10) -> page.CommonFields:
    return page.common_fields(result, PATHS, page.Window(offset, limit), 0.0)


def entries_of(result: Outcome, offset: int, limit: int) -> list[tuple[str, int | None]]:
    entries = page.grep_entries(result, PATHS, page.Window(offset, limit), MASK, "content", 200)
    return [(entry.path, entry.line_number) for entry in entries]


hits = st.lists(st.integers(1, 6), max_size=12).map(
    lambda sizes: [hit(f"{number:02}".encode(), size) for number, size in enumerate(sizes)]
)
marks = st.lists(
    st.tuples(st.sampled_from(list(Skip)), st.integers(1, 9), st.integers(0, 12)), max_size=6
).map(
    lambda drawn: [
        SkipMark(at, reason, count, tuple(b"%02d-%d" % (at, n) for n in range(min(count, SAMPLE_NAMES))))
        for reason, count, at in sorted(drawn, key=lambda one: one[2])
    ]
)


@given(hits, st.integers(0, 40), st.integers(1, 20))
def test_a_page_is_a_slice_of_all_entries(found: list[Found], offset: int, limit: int) -> None:
    """Contract 2.3: a page holds entries offset to offset + limit, across files and within one."""
    everything = [(f"/mnt/w/{one.path.decode()}", line.number) for one in found for line in one.lines]
    assert entries_of(outcome(found), offset, limit) == everything[offset : offset + limit]


@given(hits, marks, st.integers(0, 40), st.integers(1, 20), st.booleans())
def test_each_result_has_one_state(
    found: list[Found], skips: list[SkipMark], offset: int, limit: int, stopped: bool
) -> None:
    """Contract 2.5: complete exactly if neither truncated nor incomplete; a next page exactly if truncated."""
    total = sum(len(one.lines) for one in found)
    skips = [mark for mark in skips if mark.at <= len(found)]
    fields = fields_of(outcome(found, skips, reasons=("deadline",) if stopped else ()), offset, limit)
    assert fields["complete"] == (not fields["truncated"] and not fields["incomplete"])
    assert fields["truncated"] == (total > offset + limit) == (fields["next_offset"] is not None)
    assert fields["incomplete"] == bool(fields["reasons"])
    failed = any(mark.reason in FAILURES for mark in skips)
    assert fields["totals"].exact == (not stopped and not failed)
    if fields["totals"].exact:
        assert (fields["totals"].entries, fields["totals"].files) == (total, len(found))
    assert bool(fields["notices"]) or not fields["incomplete"]


@given(hits, marks, st.integers(0, 20), st.integers(1, 10), st.data())
def test_what_lies_behind_the_cut_does_not_show(
    found: list[Found], skips: list[SkipMark], offset: int, limit: int, data: st.DataObject
) -> None:
    """Contract 2.1: a search that stopped early and one that went on say the same about a page that is cut."""
    skips = [mark for mark in skips if mark.at <= len(found)]
    need = offset + limit + 1
    at, kept = 0, 0
    while kept < len(found) and at < need:
        at += len(found[kept].lines)
        kept += 1
    if at < need:
        return
    more = data.draw(st.integers(kept, len(found)))
    stopped = outcome(found[:kept], [mark for mark in skips if mark.at < kept], need=need, dropped=True)
    went_on = outcome(
        found[:more], [mark for mark in skips if mark.at <= more], need=need, dropped=more < len(found)
    )
    first, second = fields_of(stopped, offset, limit), fields_of(went_on, offset, limit)
    for fields in (first, second):
        del fields["elapsed_ms"]  # type: ignore[misc]
    assert first == second
    assert entries_of(stopped, offset, limit) == entries_of(went_on, offset, limit)


@pytest.mark.parametrize("reason", list(Skip))
def test_failures_make_a_result_incomplete_and_rules_do_not(reason: Skip) -> None:
    """Contract 2.5, 2.6: every skip is counted; those that should have been searched make the result
    incomplete.
    """
    fields = fields_of(outcome([], [SkipMark(0, reason, 7, (b"a", b"b"))]))
    (skipped,) = fields["skipped"]
    assert (skipped.reason, skipped.count, skipped.first) == (
        reason.name.lower(),
        7,
        ("/mnt/w/a", "/mnt/w/b"),
    )
    failed = reason in FAILURES
    assert fields["incomplete"] == failed
    assert fields["reasons"] == ((reason.name.lower(),) if failed else ())
    assert ("Nothing was found, but not everything was searched." in fields["notices"]) == failed


@given(marks)
def test_the_ledger_sums_by_reason_and_names_the_first(skips: list[SkipMark]) -> None:
    """Contract 2.6: one row a reason, the counts summed, the first few named in order."""
    ledger = fields_of(outcome([], skips))["skipped"]
    assert len({row.reason for row in ledger}) == len(ledger)
    for row in ledger:
        mine = [mark for mark in skips if mark.reason.name.lower() == row.reason]
        names = [f"/mnt/w/{name.decode()}" for mark in mine for name in mark.names]
        assert row.count == sum(mark.count for mark in mine)
        assert list(row.first) == names[:SAMPLE_NAMES]
    assert sum(row.count for row in ledger) == sum(mark.count for mark in skips)


def test_past_the_end_says_how_many_there_are() -> None:
    """Contract 2.3: past the end, no entries and a note with the total; on the last entry, none."""
    whole = outcome([hit(b"a", 3)])
    assert entries_of(whole, 3, 10) == []
    assert any(" 3 " in notice for notice in fields_of(whole, 3)["notices"])
    assert fields_of(whole, 2)["notices"] == ()


def test_a_cut_names_where_to_go_on() -> None:
    """Contract 2.3: a page knows its next_offset, and says it in words."""
    fields = fields_of(outcome([hit(b"a", 30)]), 5, 10)
    assert fields["next_offset"] == 15
    assert any("15" in notice for notice in fields["notices"])


@pytest.mark.parametrize(
    ("virtual", "path", "shown"),
    [
        ("/mnt/w", b"a/b", "/mnt/w/a/b"),
        ("/mnt/w", b"", "/mnt/w"),
        ("/", b"a", "/a"),
        ("/", b"", "/"),
        ("/mnt/w", b"\xff\n", "/mnt/w/\\x{ff}\n"),
    ],
)
def test_paths_are_virtual(virtual: str, path: bytes, shown: str) -> None:
    """Contract 1: paths that callers get are virtual and absolute; bytes that are no UTF-8 are escaped
    reversibly.
    """
    assert page.Paths(virtual).virtual(path) == shown
