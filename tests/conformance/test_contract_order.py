"""Contract 2 through the API: order by time, pages, ceilings, states, the ledger of skips.

Order by path, whatever the workers do, is held by tests/e2e/test_determinism.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grille

Files = Mapping[str, str | bytes]
Show = Callable[..., grille.Workspace]
Plot = Callable[[Files], tuple[grille.Workspace, str, Path]]


def names(result: Any) -> list[str]:
    return [entry.path.removeprefix("/mnt/tree/") for entry in result.entries]


def skips(result: Any) -> dict[str, tuple[int, list[str]]]:
    return {s.reason: (s.count, [p.removeprefix("/mnt/tree/") for p in s.first]) for s in result.skipped}


# --- order ----------------------------------------------------------------------------------------------------------


def age(root: Path, times: Mapping[str, int]) -> None:
    for name, seconds in times.items():
        os.utime(root / name, ns=(0, seconds * 10**9 + 1))


TIMES = {"a": 3, "b/c": 9, "b/d": 1, "e": 3, "b.x": 3, "f": 0}
NEWEST_FIRST = ["b/c", "a", "b.x", "e", "b/d", "f"]


def test_by_time_the_newest_come_first_and_ties_by_path(show: Show, tmp_path: Path) -> None:
    """Contract 2.1: `sort="mtime"` is newest first, ties by path, for glob and for every mode of grep (fault I2)."""
    workspace = show(dict.fromkeys(TIMES, "needle\nneedle\n"))
    age(tmp_path, TIMES)
    assert names(workspace.glob("**", sort="mtime")) == NEWEST_FIRST
    lines = workspace.grep("needle", sort="mtime").entries
    assert [(entry.path, entry.line_number) for entry in lines] == [
        (f"/mnt/tree/{name}", number) for name in NEWEST_FIRST for number in (1, 2)
    ]
    assert names(workspace.grep("needle", sort="mtime", output_mode="count")) == NEWEST_FIRST
    assert names(workspace.grep("needle", sort="mtime", output_mode="files_with_matches")) == NEWEST_FIRST


def test_an_order_by_time_is_applied_before_the_cut(show: Show, tmp_path: Path) -> None:
    """Contract 2.2: a page in the order of time holds the newest of all, wherever they lie in the tree."""
    times = {f"d{number % 7}/f{number:03}": (number * 37) % 101 for number in range(101)}
    workspace = show(dict.fromkeys(times, "needle\n"), limits={"workers": 2})
    age(tmp_path, times)
    newest = sorted(times, key=lambda name: -times[name])
    assert names(workspace.glob("*", sort="mtime", limit=5)) == newest[:5]
    assert names(workspace.grep("needle", sort="mtime", limit=5, offset=5)) == newest[5:10]


def test_folders_have_their_place_in_the_order_of_time(show: Show, tmp_path: Path) -> None:
    """Contract 2.1: with `include_dirs` a folder is an entry like any other, also by time."""
    workspace = show({"a/x": "", "b/y": ""})
    age(tmp_path, {"a/x": 1, "b/y": 2, "a": 4, "b": 3})
    assert names(workspace.glob("**", include_dirs=True, sort="mtime")) == ["a", "b", "b/y", "a/x"]


# --- limits and pages -----------------------------------------------------------------------------------------------

PIECES = ["a", "a.b", "a-b", "b", "B", "é"]
paths = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".txt")
trees = st.dictionaries(paths, st.integers(0, 4).map(lambda count: "needle\nhay\n" * count), max_size=8)


@given(files=trees, limit=st.integers(1, 7), sort=st.sampled_from(["path", "mtime"]), data=st.data())
@settings(max_examples=40)
def test_pages_of_every_tool_are_the_whole(
    plot: Plot, files: dict[str, str], limit: int, sort: Any, data: st.DataObject
) -> None:
    """Contract 2.3: for every tool, mode and order, pages laid end to end are the whole, each entry once."""
    workspace, start, _ = plot(files)
    searches: dict[str, Callable[..., Any]] = {
        "glob": lambda **page: workspace.glob("**", start, include_dirs=True, sort=sort, **page),
        "content": lambda **page: workspace.grep("needle", start, sort=sort, **page),
        "count": lambda **page: workspace.grep("needle", start, sort=sort, output_mode="count", **page),
        "files": lambda **page: workspace.grep(
            "needle", start, sort=sort, output_mode="files_with_matches", **page
        ),
        "ls": lambda **page: workspace.ls(start, depth=4, **page),
    }
    search = searches[data.draw(st.sampled_from(sorted(searches)), label="tool")]
    whole = search(limit=0)
    assert whole.complete and not whole.truncated
    laid: list[Any] = []
    at: int | None = 0
    while at is not None:
        page = search(limit=limit, offset=at)
        assert (page.offset, page.limit) == (at, limit)
        assert page.truncated == (page.next_offset is not None) == (at + limit < len(whole.entries))
        assert page.complete != page.truncated
        laid += page.entries
        at = page.next_offset
    assert tuple(laid) == whole.entries


@pytest.mark.parametrize("count", [1, 3, 10])
def test_exactly_the_limit_is_the_whole(show: Show, count: int) -> None:
    """Contract 2.3: a result of exactly `limit` entries is not called truncated, one more is (fault I5): all tools."""
    workspace = show({f"{number:02}.txt": "needle\n" for number in range(count)})
    searches: list[Callable[..., Any]] = [
        lambda **page: workspace.glob("*", **page),
        lambda **page: workspace.glob("*", sort="mtime", **page),
        workspace.ls,
        lambda **page: workspace.grep("needle", **page),
        lambda **page: workspace.grep("needle", output_mode="count", **page),
        lambda **page: workspace.grep("needle", output_mode="files_with_matches", **page),
    ]
    for search in searches:
        exact = search(limit=count)
        assert (len(exact.entries), exact.truncated, exact.next_offset) == (count, False, None)
        assert exact.complete
        assert search(limit=count + 1).complete
        if count > 1:
            cut = search(limit=count - 1)
            assert (len(cut.entries), cut.truncated, cut.next_offset) == (count - 1, True, count - 1)


def test_past_the_end_every_tool_tells_the_total(show: Show) -> None:
    """Contract 2.3: past the end there are no entries, and a note with the total, for each tool."""
    workspace = show({f"{number:02}.txt": "needle\n" for number in range(17)})
    results: list[Any] = [
        workspace.glob("*", offset=17),
        workspace.glob("*", offset=40, sort="mtime"),
        workspace.ls(offset=17),
        workspace.grep("needle", offset=17),
        workspace.grep("needle", offset=2**60, output_mode="count"),
    ]
    for result in results:
        assert (result.entries, result.truncated, result.next_offset) == ((), False, None)
        assert any("17" in notice for notice in result.notices)


def test_past_the_end_of_nothing_there_is_a_note_too(show: Show) -> None:
    """Contract 2.3: an offset where nothing was found at all is past the end as well; the total is 0."""
    result = show({"a": "hay\n"}).grep("needle", offset=5)
    assert any("0 entries" in notice for notice in result.notices)


@pytest.mark.parametrize("argument", ["limit", "offset"])
def test_negative_numbers_are_refused_by_every_tool(show: Show, argument: str) -> None:
    """Contract 2.3, 2.4: a number below 0 is refused, never counted from the end (fault I7)."""
    workspace = show({"a": "needle\n"})
    calls: list[Callable[..., Any]] = [
        lambda **page: workspace.glob("*", **page),
        lambda **page: workspace.grep("needle", **page),
        workspace.ls,
    ]
    for call in calls:
        with pytest.raises(grille.LimitError) as refused:
            call(**{argument: -1})
        assert refused.value.code == "limit_negative"


def test_the_documented_defaults_and_ceilings_hold(show: Show) -> None:
    """Contract 2.4: glob shows 200 and at most 1000, grep 100 and at most 500; `ls` goes by glob's numbers."""
    workspace = show({f"{number:04}": "needle\n" for number in range(1100)})
    for asked, glob, grep in ((None, 200, 100), (0, 1000, 500), (5000, 1000, 500), (3, 3, 3)):
        assert len(workspace.glob("*", limit=asked).entries) == glob
        assert len(workspace.ls(limit=asked).entries) == glob
        assert len(workspace.grep("needle", limit=asked).entries) == grep


# --- states ---------------------------------------------------------------------------------------------------------


def test_a_result_is_complete_truncated_incomplete_or_both(show: Show, tmp_path: Path) -> None:
    """Contract 2.5: truncated and incomplete are fields of their own and may both be true; complete is neither."""
    workspace = show({"a/x": "needle\n", "b": "needle\n" * 3})

    def state(**page: Any) -> tuple[bool, bool, bool]:
        result = workspace.grep("needle", **page)
        return result.complete, result.truncated, result.incomplete

    assert state() == (True, False, False)
    assert state(limit=1) == (False, True, False)
    (tmp_path / "a").chmod(0)
    try:
        assert state() == (False, False, True)
        assert state(limit=1) == (False, True, True)
    finally:
        (tmp_path / "a").chmod(0o700)


def test_nothing_found_but_not_everything_searched_is_said_in_words(show: Show, tmp_path: Path) -> None:
    """Contract 2.5: no entries and incomplete never reads as "nothing matched" (faults A10, B1): every tool."""
    workspace = show({"locked/x": "needle\n", "b": "hay\n"})
    (tmp_path / "locked").chmod(0)
    try:
        for result in (workspace.grep("needle"), workspace.glob("x"), workspace.ls("/mnt/tree/locked")):
            assert result.entries == ()
            assert (result.complete, result.incomplete, result.reasons) == (False, True, ("unreadable",))
            assert any("not everything was searched" in notice for notice in result.notices)
            assert skips(result) == {"unreadable": (1, ["locked"])}
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_nothing_found_where_everything_was_searched_is_complete(show: Show) -> None:
    """Contract 2.5: a search of everything that finds nothing is complete and has nothing to add."""
    result = show({"b": "hay\n"}).grep("needle")
    assert (result.entries, result.complete, result.reasons, result.notices) == ((), True, (), ())


def test_sums_over_what_was_not_searched_are_not_exact(show: Show, tmp_path: Path) -> None:
    """Contract 2.5: totals of an incomplete result do not call themselves exact."""
    workspace = show({"locked/x": "needle\n", "b": "needle\n"})
    (tmp_path / "locked").chmod(0)
    try:
        assert not workspace.grep("needle", output_mode="count").totals.exact
    finally:
        (tmp_path / "locked").chmod(0o700)


# --- the ledger -----------------------------------------------------------------------------------------------------


def test_every_rule_that_leaves_something_out_is_counted_with_names(show: Show, tmp_path: Path) -> None:
    """Contract 2.6: each thing not searched is counted under its own reason, and the first few are named."""
    workspace = show(
        {
            "bin": b"\0needle\n",
            "large": b"needle\n" * 200_000,
            "long": "z" * 20_000 + "needle\n",
            "locked": "needle\n",
            "node_modules/x": "needle\n",
            "a.log": "needle\n",
            "found": "needle\n",
        }
    )
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("found")
    (tmp_path / "locked").chmod(0)
    result = workspace.grep(r"(needle)(?!.*\1)")  # a pattern for the engine with a bound on lines
    assert names(result) == ["found"]
    assert skips(result) == {
        "binary": (1, ["bin"]),
        "too_large": (1, ["large"]),
        "long_line": (1, ["long"]),
        "unreadable": (1, ["locked"]),
        "special_file": (1, ["fifo"]),
        "symlink": (1, ["link"]),
        "ignored": (2, ["a.log", "node_modules"]),
    }


def test_rules_do_not_make_a_result_incomplete_and_failures_do(show: Show, tmp_path: Path) -> None:
    """Contract 2.5, 2.6: what a rule leaves out is counted in a complete result; what failed makes it incomplete."""
    workspace = show({"bin": b"\0", "large": b"x" * 1_100_000, "a.log": "", "locked": "x\n", "link/": ""})
    (tmp_path / "soft").symlink_to("link")
    assert workspace.grep("needle").complete
    (tmp_path / "locked").chmod(0)
    assert workspace.grep("needle").reasons == ("unreadable",)


def test_at_most_five_are_named_and_all_are_counted(show: Show, tmp_path: Path) -> None:
    """Contract 2.6: the first few in the order of the result are named; the count is of all."""
    workspace = show({f"{number:02}.bin": b"\0" for number in range(23)})
    assert skips(workspace.grep("x")) == {"binary": (23, [f"{number:02}.bin" for number in range(5)])}
