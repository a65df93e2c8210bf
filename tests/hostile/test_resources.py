"""Each limit of a tenant, run into through the whole stack: the result says so, or is whole in spite of it.

A limit that nobody has run into is a number in a file. Here each is met by honest work that is too much for it, beside
work that is not, which must be found all the same.

Leaves to others: files and matches that eat memory, scans that eat time, the deadline of a request (test_patterns.py);
files that are too large, lines that are too long, trees with more levels than a worker has descriptors (test_trees.py);
what the kernel answers to a worker that tries for more (tests/escape/test_resources.py).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

import grille
from grille.pool import memory

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
    for number in range(60):
        (root / f"{number:03}.txt").write_text(f"{'ab' * 400}cd\n" * 3 + f"needle {number}\n")
    return root


LABORIOUS: Final = r"(a|b)*([cd])\2|^needle"


def test_a_worker_that_has_used_up_its_time_is_replaced_and_the_result_is_whole(
    laborious: Path, open_tree: Open, workers: Callable[[], list[psutil.Process]]
) -> None:
    """worker_cpu_seconds ends a worker's life and nothing else: what it was at is run again by its successor, and the
    result is complete and right, though the work takes more time than all the first workers have."""
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
    assert [entry.line for entry in result.entries] == [f"needle {number}" for number in range(60)]
    assert len(seen) > 3, "no worker has come to its end"


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


# --- time -----------------------------------------------------------------------------------------------------------


def test_a_pattern_that_takes_too_long_to_compile_is_refused_and_the_next_is_served(
    tmp_path: Path, open_tree: Open
) -> None:
    """compile_seconds: a refusal that names the limit, not a result; one worker's life, and nobody else's."""
    (tmp_path / "a.txt").write_text("needle\n")
    workspace = open_tree(tmp_path, compile_seconds=0.05, workers=2)
    for _ in range(2):
        with pytest.raises(grille.PatternError) as refused:
            workspace.grep("(?i)" + "[\u0100-\uffff]{50}" * 200)
        assert refused.value.code == "pattern_too_costly"
        assert "0.05 s" in str(refused.value)
        assert paths(workspace.grep("needle")) == ["a.txt"]


@pytest.mark.long
def test_a_folder_that_takes_too_long_to_list_is_counted_and_the_rest_is_searched(
    tmp_path: Path, open_tree: Open
) -> None:
    """folder_seconds: the folder is `timed_out`, its neighbours are searched, and the result is incomplete."""
    for name in ("a", "m", "z"):
        (tmp_path / name).mkdir()
    for name in ("a/1.txt", "z/1.txt"):
        (tmp_path / name).write_text("needle\n")
    folder = os.open(tmp_path / "m", os.O_RDONLY)
    for number in range(300_000):
        os.mknod(f"{number:06}", dir_fd=folder)
    os.close(folder)
    result = open_tree(tmp_path, folder_seconds=0.05, request_seconds=60).grep("needle")
    assert paths(result) == ["a/1.txt", "z/1.txt"]
    assert [(skip.reason, skip.count, skip.first) for skip in result.skipped] == [
        ("timed_out", 1, ("/mnt/tree/m",))
    ]
    assert result.reasons == ("timed_out",)


# --- memory ---------------------------------------------------------------------------------------------------------


def test_a_worker_whose_memory_is_nearly_used_up_is_killed_and_its_file_named(
    tmp_path: Path, open_tree: Open, skips: Skips, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The supervisor watches resident memory: whoever comes near the bound is killed before an engine can fail in the
    middle, and the file that it was at is `out_of_memory`. Here the watch is told that any memory is too much."""
    (tmp_path / "a.txt").write_text("needle\n")
    (tmp_path / "b.txt").write_text(BAIT)
    (tmp_path / "z.txt").write_text("needle\n")
    workspace = open_tree(tmp_path, scan_seconds=20, workers=1)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "_SHARE", 0.001)
        result = workspace.grep(f"{BACKTRACKING}|needle")
    assert paths(result) == ["a.txt", "z.txt"]
    assert skips(result) == {"out_of_memory": 1}
    assert result.skipped[0].first == ("/mnt/tree/b.txt",)
    assert result.reasons == ("out_of_memory",)
    assert workspace.grep("needle").complete


def delegated_group() -> str | None:
    """A control group (v2) with a memory controller in which we may make others."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2":
            ours = next(
                row[3:] for row in Path("/proc/self/cgroup").read_text().splitlines() if row[:3] == "0::"
            )
            group = Path(fields[4]) / ours.lstrip("/")
            control = group / "cgroup.subtree_control"
            if control.exists() and "memory" in control.read_text().split() and os.access(group, os.W_OK):
                return str(group)
    return None


def test_a_control_group_is_used_where_it_is_delegated(tmp_path: Path, pool: grille.Pool) -> None:
    """A policy's `cgroup`: the kernel bounds the workers together, the report says so, and the group goes with
    the workspace."""
    group = delegated_group()
    if group is None:
        pytest.skip("no control group with a memory controller is delegated to us")
    with pool.open(policy_with(group, tmp_path)) as workspace:
        assert row(workspace).state == "enforced"
        (made,) = Path(group).glob("grille-*")
        assert int((made / "memory.max").read_text()) <= 2 * 512 * MIB
        assert workspace.grep("needle").complete
    assert not list(Path(group).glob("grille-*"))


def test_a_control_group_that_cannot_be_had_is_told_and_costs_nothing(
    tmp_path: Path, pool: grille.Pool
) -> None:
    """What was wished for and cannot be had is never silently absent: the report names it with the kernel's answer."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.txt").write_text("needle\n")
    (tmp_path / "no group").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for group in (tmp_path / "no group", tmp_path / "nothing here"):
        with pool.open(policy_with(str(group), tmp_path / "tree")) as workspace:
            assert row(workspace).state == "absent"
            assert row(workspace).reason
            assert paths(workspace.grep("needle")) == ["a.txt"]
    assert sorted(tmp_path.rglob("*")) == before


def policy_with(group: str, folder: Path) -> grille.Policy:
    mount = grille.Mount("/mnt/tree", host=str(folder))
    return grille.Policy(mounts=[mount], confinement=grille.Confinement(cgroup=group))


def row(workspace: grille.Workspace) -> Any:
    """The report's row about the control group."""
    return next(layer for layer in workspace.confinement.layers if layer.name == "cgroup")
