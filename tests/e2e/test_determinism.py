"""The same tree and request give the same bytes, whoever serves them and whoever dies meanwhile (contract 2.1).

The oracle is a loop over what the tree was made of, with `re` and the contract's order: no walker, no merge, no worker.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grille

if TYPE_CHECKING:
    from tests.e2e.conftest import Tree

Result = grille.GrepResult | grille.GlobResult
Search = Callable[[grille.Workspace], Result]
AsBytes = Callable[[Result], bytes]
Strike = Callable[[int, signal.Signals], bool]
PolicyFor = Callable[..., grille.Policy]

SEARCHES: dict[str, Search] = {
    "lines": lambda ws: ws.grep("needle", limit=0),
    "lines, cut": lambda ws: ws.grep("needle", limit=17),
    "lines, a page within": lambda ws: ws.grep("needle", limit=23, offset=31),
    "lines, past the end": lambda ws: ws.grep("needle", offset=100_000),
    "lines, cased": lambda ws: ws.grep("NEEDLE", case_sensitive=True),
    "lines, literal": lambda ws: ws.grep("foo(bar)", literal=True),
    "lines, by look-ahead": lambda ws: ws.grep("(?=.*7)needle"),
    "lines, filtered": lambda ws: ws.grep("hay|x", glob=["*.py", "!a*/**"]),
    "files": lambda ws: ws.grep("needle", output_mode="files_with_matches", limit=0),
    "files, cut": lambda ws: ws.grep("straße", output_mode="files_with_matches", limit=9),
    "counts": lambda ws: ws.grep("needle", output_mode="count", limit=0),
    "counts, a page": lambda ws: ws.grep(".", output_mode="count", limit=50, offset=25),
    "nothing": lambda ws: ws.grep("no such text anywhere"),
    "paths": lambda ws: ws.glob("*.py", limit=0),
    "paths, cut": lambda ws: ws.glob("**/*.md", limit=5, offset=5),
    "paths and folders": lambda ws: ws.glob("a*", include_dirs=True, limit=0),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[grille.Pool]:
    """One pool for the module."""
    with grille.Pool() as opened:
        yield opened


@pytest.fixture(scope="module")
def workspaces(pool: grille.Pool, tree: Tree, policy_for: PolicyFor) -> dict[int, grille.Workspace]:
    """The tree, served by 1, 2 and 4 workers."""
    return {
        workers: pool.open(policy_for(tree.root, workers=workers, grep_ceiling=5000, request_seconds=60))
        for workers in (1, 2, 4)
    }


@pytest.fixture(scope="module")
def references(workspaces: dict[int, grille.Workspace], as_bytes: AsBytes) -> dict[str, bytes]:
    """What one undisturbed worker says."""
    return {name: as_bytes(search(workspaces[1])) for name, search in SEARCHES.items()}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_number_of_workers_does_not_show(
    workspaces: dict[int, grille.Workspace], references: dict[str, bytes], as_bytes: AsBytes, name: str
) -> None:
    """Contract 2.1: 1, 2 and 4 workers give the same bytes, run after run."""
    for workers in (2, 4, 2, 4, 1):
        assert as_bytes(SEARCHES[name](workspaces[workers])) == references[name]


@contextmanager
def killer(
    pool: grille.Pool, strike: Strike, signals: list[signal.Signals], pause: float
) -> Iterator[list[int]]:
    """Ends workers of the pool at random from another thread, with random signals; yields the list of the
    ended.
    """
    ended: list[int] = []
    stop = threading.Event()
    chance = random.Random(7)

    def run() -> None:
        while not stop.wait(pause * chance.random()):
            pids = pool.worker_pids()
            if pids:
                victim = chance.choice(pids)
                if strike(victim, chance.choice(signals)):
                    ended.append(victim)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ended
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param([signal.SIGKILL], id="SIGKILL"),
        pytest.param([signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL, signal.SIGABRT], id="any"),
    ],
)
def test_workers_that_die_do_not_show(
    pool: grille.Pool,
    workspaces: dict[int, grille.Workspace],
    references: dict[str, bytes],
    as_bytes: AsBytes,
    strike: Strike,
    signals: list[signal.Signals],
) -> None:
    """Architecture: a shard whose worker died is run again. Results are the same bytes, whatever ended the
    worker.
    """
    with killer(pool, strike, signals, 0.06) as ended:
        for _ in range(60):
            for name, search in SEARCHES.items():
                workers = (2, 4)[len(ended) % 2]
                assert as_bytes(search(workspaces[workers])) == references[name], name
            if len(ended) >= 60:
                break
    assert len(ended) >= 20, "too few deaths to mean anything"


@pytest.mark.parametrize(
    "pattern", ["needle", "^hay", r"\d7$", "(?=.*x)x =", "straße|日本", " ", "(a)(?P<n>.)(?P=n)"]
)
def test_lines_are_those_of_a_plain_loop(
    workspaces: dict[int, grille.Workspace], tree: Tree, pattern: str
) -> None:
    """Contract 2.1, 4: the lines that `re` finds, in the order of paths by component and line numbers; all
    modes agree.
    """
    expected = tree.lines(pattern)
    content = workspaces[2].grep(pattern, limit=0)
    assert [(e.path.removeprefix("/mnt/tree/"), e.line_number, e.line) for e in content.entries] == expected
    assert content.complete
    assert content.totals.entries == content.totals.lines == len(expected)
    counts = workspaces[2].grep(pattern, limit=0, output_mode="count")
    by_path: dict[str, int] = {}
    for path, _, _ in expected:
        by_path[path] = by_path.get(path, 0) + 1
    assert [(e.path.removeprefix("/mnt/tree/"), e.count) for e in counts.entries] == list(by_path.items())
    assert counts.totals.lines == len(expected)
    files = workspaces[2].grep(pattern, limit=0, output_mode="files_with_matches")
    assert [e.path.removeprefix("/mnt/tree/") for e in files.entries] == list(by_path)


def test_totals_of_a_cut_page_cover_what_it_shows(workspaces: dict[int, grille.Workspace]) -> None:
    """Contract 4: totals go beyond the page, so they are never less than the sum of what the page shows."""
    page = workspaces[2].grep(".", output_mode="count", limit=3)
    assert page.truncated
    assert page.totals.lines >= sum(entry.count or 0 for entry in page.entries)


@pytest.fixture(scope="module")
def whole(workspaces: dict[int, grille.Workspace]) -> dict[str, tuple[grille.GrepEntry, ...]]:
    """All entries of one search, on one page."""
    modes: tuple[Literal["content", "count"], ...] = ("content", "count")
    return {mode: workspaces[1].grep("needle", limit=0, output_mode=mode).entries for mode in modes}


@given(limit=st.integers(1, 150), start=st.integers(0, 900), mode=st.sampled_from(["content", "count"]))
@settings(max_examples=30)
def test_pages_laid_end_to_end_are_the_whole(
    workspaces: dict[int, grille.Workspace],
    whole: dict[str, tuple[grille.GrepEntry, ...]],
    limit: int,
    start: int,
    mode: Literal["content", "count"],
) -> None:
    """Contract 2.3: following next_offset from anywhere gives each entry once; the last page alone is not
    truncated.
    """
    total = len(whole[mode])
    first = max(start, total - 8 * limit)  # at most eight pages: small ones lie near the end
    laid: list[grille.GrepEntry] = []
    at: int | None = first
    while at is not None:
        page = workspaces[2].grep("needle", limit=limit, offset=at, output_mode=mode)
        laid += page.entries
        assert page.truncated == (at + limit < total) == (page.next_offset is not None)
        # Counts are summed over all pages; a content search stops behind its page.
        assert page.totals.exact == (not page.truncated or mode == "count")
        at = page.next_offset
    assert tuple(laid) == whole[mode][first:]


def test_exactly_the_limit_is_not_truncated(tmp_path: Path, pool: grille.Pool, policy_for: PolicyFor) -> None:
    """Contract 2.3 (faults I5, I9): one more than the limit is looked for, within one file or over many."""
    (tmp_path / "one.txt").write_text("needle\n" * 50)
    workspace = pool.open(policy_for(tmp_path))
    for limit, truncated in ((49, True), (50, False), (51, False)):
        page = workspace.grep("needle", limit=limit)
        assert (len(page.entries), page.truncated) == (min(limit, 50), truncated)
    (tmp_path / "one.txt").unlink()
    for number in range(50):
        (tmp_path / f"{number}.txt").write_text("needle\n")
    for limit, truncated in ((49, True), (50, False), (51, False)):
        assert workspace.grep("needle", limit=limit).truncated is truncated
        assert workspace.glob("*.txt", limit=limit).truncated is truncated
    workspace.close()


def test_a_page_past_the_end_says_where_the_end_is(
    workspaces: dict[int, grille.Workspace], tree: Tree
) -> None:
    """Contract 2.3: past the end there are no entries, and a note with the total."""
    page = workspaces[2].grep("needle", offset=1_000_000)
    assert page.entries == ()
    assert page.next_offset is None
    assert not page.truncated
    assert any(str(len(tree.lines("needle"))) in notice for notice in page.notices)


def test_ceilings_cut_what_is_asked_for(tree: Tree, pool: grille.Pool, policy_for: PolicyFor) -> None:
    """Contract 2.4: None is the default, 0 the ceiling, and nothing goes beyond it."""
    with pool.open(
        policy_for(tree.root, grep_default=7, grep_ceiling=11, glob_default=3, glob_ceiling=5)
    ) as workspace:
        assert [len(workspace.grep("e", limit=n).entries) for n in (None, 0, 4, 10**9)] == [7, 11, 4, 11]
        assert [len(workspace.glob("*", limit=n).entries) for n in (None, 0, 2, 10**9)] == [3, 5, 2, 5]


@pytest.mark.parametrize("links", [1, 4, 5, 9, 40])
def test_named_skips_do_not_depend_on_how_the_work_was_cut(
    tmp_path: Path, pool: grille.Pool, policy_for: PolicyFor, as_bytes: AsBytes, links: int
) -> None:
    """Contract 2.1, 2.6: which skips are named is a matter of order, not of where one worker's slice
    happened to end.
    """
    for number in range(links):
        (tmp_path / f"l{number:03}").symlink_to("nowhere")
        (tmp_path / f"l{number:03}d").mkdir()
        for file in range(20):
            (tmp_path / f"l{number:03}d" / f"{file}.txt").write_text("hay\n" * 2000)
    said = set()
    for workers in (1, 2, 4):
        with pool.open(policy_for(tmp_path, workers=workers)) as workspace:
            for _ in range(3):
                result = workspace.grep("(?=nothing)nothing at all")
                said.add(as_bytes(result))
                (skip,) = result.skipped
                assert skip.count == links
                assert skip.first == tuple(f"/mnt/tree/l{number:03}" for number in range(min(links, 5)))
    assert len(said) == 1


def test_two_workspaces_never_share_a_worker(tree: Tree, policy_for: PolicyFor) -> None:
    """Architecture: a worker serves exactly one workspace in its life, even where two show the same folder."""
    with grille.Pool() as pool:
        one = pool.open(policy_for(tree.root))
        of_one = set(pool.worker_pids())
        two = pool.open(policy_for(tree.root))
        for _ in range(20):
            assert one.grep("needle").entries == two.grep("needle").entries
        both = set(pool.worker_pids())
        one.close()
        two.grep("needle")
        of_two = set(pool.worker_pids())
        assert of_one
        assert of_two
        assert not of_one & of_two
        assert both >= of_one | of_two


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may look at the namespaces of a process that cannot be traced"
)
def test_workers_of_two_workspaces_have_ids_and_namespaces_of_their_own(
    tree: Tree, policy_for: PolicyFor
) -> None:
    """Confinement: workers of two tenants share neither user id (as root) nor process and mount namespaces."""
    with grille.Pool() as pool:
        seen: list[set[tuple[str, ...]]] = []
        for _ in range(2):
            before = set(pool.worker_pids())
            pool.open(policy_for(tree.root)).grep("needle")
            mine = set(pool.worker_pids()) - before
            seen.append(
                {
                    tuple(os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("pid", "mnt", "net", "ipc"))
                    for pid in mine
                }
            )
        assert seen[0]
        assert seen[1]
        for first in seen[0]:
            for second in seen[1]:
                assert all(a != b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "pattern", ["import asyncio", "needle", "^x = 1 1", "foo\\(bar\\) .*7$", "tab\there"]
)
def test_ripgrep_agrees_on_a_tree_of_2000_files(
    big: Tree, pool: grille.Pool, policy_for: PolicyFor, pattern: str
) -> None:
    """The same files as `rg -l`, with ignore rules off on both sides; the same number of lines as `rg -c`."""
    rg = ripgrep()
    with pool.open(policy_for(big.root, grep_ceiling=100_000)) as workspace:
        ours = workspace.grep(
            pattern, case_sensitive=True, output_mode="files_with_matches", limit=0, no_ignore=True
        )
        counts = workspace.grep(pattern, case_sensitive=True, output_mode="count", limit=0, no_ignore=True)
    theirs = subprocess.run(
        [rg, "-uuu", "-0c", "-e", pattern, "."], cwd=big.root, capture_output=True, check=False
    )
    expected = {}
    for row in theirs.stdout.splitlines():
        path, count = row.split(b"\0")
        expected["/mnt/tree/" + path.decode().removeprefix("./")] = int(count)
    assert {entry.path for entry in ours.entries} == set(expected)
    assert {entry.path: entry.count for entry in counts.entries} == expected
    assert ours.complete


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory, grown: Callable[[Path, int, int], Tree]) -> Tree:
    """2,000 files."""
    return grown(tmp_path_factory.mktemp("big"), 2000, 2)


def ripgrep() -> str:
    """The outside truth, or a skip where it is not installed."""
    import sys

    found = shutil.which(
        "rg", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    )
    if found is None:
        pytest.skip("ripgrep is not installed")
    return found
