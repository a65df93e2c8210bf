"""Each limit of a tenant, run into through the whole stack: the result says so, or is whole in spite of it.

A limit that nobody has run into is a number in a file. Here each is met by honest work that is too much for it, beside work
that is not, which must be found all the same.

Leaves to others: files and matches that eat memory, scans and compilations that eat time (test_patterns.py); files that are
too large, lines that are too long (test_trees.py); what the kernel answers to a worker that tries (tests/escape).
"""

from __future__ import annotations

import os
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

import grille

Open = Callable[..., grille.Workspace]
Skips = Callable[[Any], dict[str, int]]

MIB: Final = 1 << 20
BACKTRACKING: Final = "(?=(a+)+$)a+!"
BAIT: Final = "a" * 30 + "!\n"


def paths(result: grille.GrepResult | grille.GlobResult) -> list[str]:
    return [entry.path.removeprefix("/mnt/tree/") for entry in result.entries]


@pytest.fixture
def workers(pool: grille.Pool) -> Callable[[], list[psutil.Process]]:
    """The pool's workers, as the kernel knows them."""
    return lambda: [psutil.Process(pid) for pid in pool.worker_pids()]


# --- processor time -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def laborious(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files on each of which LABORIOUS works for a tenth of a second, honestly: its time grows with a line's square."""
    root = tmp_path_factory.mktemp("laborious")
    for number in range(40):
        (root / f"{number:03}.txt").write_text(f"{'ab' * 400}cd\n" * 3 + f"needle {number}\n")
    return root


LABORIOUS: Final = r"(a|b)*([cd])\2|^needle"


def test_a_worker_that_has_used_up_its_time_is_replaced_and_the_result_is_whole(
    laborious: Path, open_tree: Open, workers: Callable[[], list[psutil.Process]]
) -> None:
    """worker_cpu_seconds ends a worker's life and nothing else: what it was at is run again by its successor, and the
    result is complete and right, though the work takes more time than any one worker has."""
    workspace = open_tree(laborious, worker_cpu_seconds=1, workers=2, request_seconds=60, scan_seconds=10)
    seen = {worker.pid for worker in workers()}
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.02):
            seen.update(worker.pid for worker in workers())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        result = workspace.grep(LABORIOUS, limit=0)
    finally:
        stop.set()
        looking.join()
    assert (result.reasons, result.skipped) == ((), ())
    assert [entry.line for entry in result.entries] == [f"needle {number}" for number in range(40)]
    assert len(seen) > 3


def test_a_worker_has_the_limits_that_the_policy_says(
    tmp_path: Path, open_tree: Open, workers: Callable[[], list[psutil.Process]]
) -> None:
    """The kernel holds what the policy says, on the very process that does the work, and no more can be had."""
    (tmp_path / "a.txt").write_text("needle\n")
    workspace = open_tree(tmp_path, worker_memory=200 * MIB, worker_cpu_seconds=7, workers=1)
    assert len(workspace.grep("needle").entries) == 1
    table = {
        "Max address space": (200 * MIB, 200 * MIB),
        "Max cpu time": (7, 8),
        "Max file size": (0, 0),
        "Max processes": (0, 0),
        "Max core file size": (0, 0),
        "Max locked memory": (0, 0),
    }
    found = {}
    for row in Path(f"/proc/{workers()[-1].pid}/limits").read_text().splitlines()[1:]:
        name, soft, hard = re.split(r"\s{2,}", row)[:3]
        found[name] = (soft, hard)
    assert {name: found[name] for name in table} == {name: (str(a), str(b)) for name, (a, b) in table.items()}
    assert int(found["Max open files"][0]) <= 1024
