"""A long life: jobs of all kinds on workspaces that come and go, and nothing grows.

The jobs are what a host sees in a day: searches that are answered, refused, given up by the clock, and such whose
workers are killed under them. Every answer is checked as well: a pool that decays answers wrongly before it dies.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import psutil
import pytest

import grille

if TYPE_CHECKING:
    from tests.e2e.conftest import Tree

PolicyFor = Callable[..., grille.Policy]
Eventually = Callable[[Callable[[], object], float], None]
Strike = Callable[[int, signal.Signals], bool]
Outcome = grille.GrepResult | grille.GlobResult | grille.GrilleError

MIB: Final = 1 << 20
BACKTRACKING: Final = "(?=(a+)+$)a+!"
MOST_GROWTH: Final = 8 * MIB
"""Of resident memory. One job that keeps a kilobyte shows after ten thousand."""
JOBS_OF_ONE_WORKSPACE: Final = 20


class Figures(NamedTuple):
    """All that may not grow, once nothing runs."""

    processes: int
    descriptors: tuple[int, ...]
    """Of this process, of the zygote and of the cells."""
    mounts: tuple[int, ...]
    """Lines of mountinfo, likewise."""
    threads: int
    resident: int


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def mounts(pid: int) -> int:
    return len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines())


def figures() -> Figures:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    ours = psutil.Process()
    (zygote,) = [child for child in ours.children() if any("zygote" in part for part in child.cmdline())]
    cells = [cell.pid for cell in zygote.children()]
    return Figures(
        len(ours.children(recursive=True)),
        (descriptors(ours.pid), descriptors(zygote.pid), *sorted(map(descriptors, cells))),
        (mounts(ours.pid), mounts(zygote.pid), *sorted(map(mounts, cells))),
        threading.active_count(),
        ours.memory_info().rss,
    )


class Day:
    """A pool, three workspaces of it that are opened and closed in turn, and jobs for them."""

    def __init__(
        self, pool: grille.Pool, tree: Tree, bait: Path, policy_for: PolicyFor, strike: Strike
    ) -> None:
        self.pool = pool
        self._tree = tree
        self._strike = strike
        self._chance = random.Random(11)
        self._policy = policy_for(tree.root, request_seconds=60)
        self._burning = pool.open(policy_for(bait, scan_seconds=0.02, request_seconds=0.3, workers=1))
        self._open = [pool.open(self._policy) for _ in range(2)]
        self._jobs: dict[Callable[[], str], int] = {
            self._grep: 60,
            self._glob: 20,
            self._refused: 5,
            self._killed: 10,
            self._timed_out: 4,
            self._closed_meanwhile: 1,
        }
        self.done: Counter[str] = Counter()

    def work(self, jobs: int) -> None:
        """So many jobs, drawn by chance."""
        for number in range(jobs):
            if number % JOBS_OF_ONE_WORKSPACE == 0:
                self._replace(number // JOBS_OF_ONE_WORKSPACE % len(self._open))
            (job,) = self._chance.choices(list(self._jobs), list(self._jobs.values()))
            self.done[job()] += 1

    def quiet(self) -> bool:
        """Whether all workspaces have their workers, two each and one, and nobody else is there, dead or alive."""
        for workspace in (*self._open, self._burning):
            workspace.glob("none")
        descendants = psutil.Process().children(recursive=True)
        try:
            dead = [process for process in descendants if process.status() == psutil.STATUS_ZOMBIE]
        except psutil.NoSuchProcess:
            return False
        return not dead and len(descendants) == 1 + 3 + 5 and len(self.pool.worker_pids()) == 5

    def _replace(self, place: int) -> None:
        self._open[place].close()
        self._open[place] = self.pool.open(self._policy)

    def _any(self) -> grille.Workspace:
        return self._chance.choice(self._open)

    def _grep(self) -> str:
        pattern = self._chance.choice(["needle", r"\d7$", "(?=.*x)x =", "straße"])
        result = self._any().grep(pattern, limit=50)
        expected = self._tree.lines(pattern)
        assert [
            (e.path.removeprefix("/mnt/tree/"), e.line_number, e.line) for e in result.entries
        ] == expected[:50]
        assert result.truncated == (len(expected) > 50)
        return "grep"

    def _glob(self) -> str:
        result = self._any().glob("*.py", limit=0)
        expected = [path for path in self._tree.files if path.endswith(".py")]
        assert [entry.path.removeprefix("/mnt/tree/") for entry in result.entries] == expected
        return "glob"

    def _refused(self) -> str:
        with pytest.raises(grille.PatternError):
            self._any().grep(self._chance.choice(["(", "[a-", "*"]))
        return "refused"

    def _killed(self) -> str:
        """Workers are killed while they search: the answer is as ever."""
        killing = threading.Thread(target=self._kill_workers)
        killing.start()
        self._grep()
        killing.join()
        return "killed"

    def _kill_workers(self) -> None:
        for pid in self.pool.worker_pids():
            self._strike(pid, signal.SIGKILL)

    def _timed_out(self) -> str:
        result = self._burning.grep(BACKTRACKING)
        assert result.incomplete
        assert {"repeated_timeouts", "timed_out", "deadline"} & set(result.reasons)
        return "timed out"

    def _closed_meanwhile(self) -> str:
        """A workspace is closed under a request: an answer or workspace_closed."""
        answers: list[Outcome] = []
        workspace = self.pool.open(self._policy)

        def ask() -> None:
            try:
                answers.append(workspace.grep("needle"))
            except grille.PoolError as error:
                answers.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        workspace.close()
        asking.join(30)
        assert len(answers) == 1, "hangs"
        return "closed"


@pytest.fixture
def day(
    tmp_path: Path, grown: Callable[[Path, int, int], Tree], policy_for: PolicyFor, strike: Strike
) -> Iterator[Day]:
    """A pool with its workspaces, on a tree of 100 files."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "bait").mkdir()
    (tmp_path / "bait" / "bait.txt").write_text("a" * 40 + "!\n")
    with grille.Pool() as pool:
        yield Day(pool, grown(tmp_path / "tree", 100, 5), tmp_path / "bait", policy_for, strike)


@pytest.mark.parametrize(
    "jobs",
    [400, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(1200)])],
    ids=["400", "10000"],
)
def test_nothing_grows(day: Day, eventually: Eventually, jobs: int) -> None:
    """Processes, zombies, descriptors, mounts and threads are as many after many jobs as after some; memory does not
    grow with their number; and every one of the answers is right."""
    mounts_before = mounts(os.getpid())
    day.work(100)  # whatever is made once is made by then
    eventually(day.quiet, 10)
    before = figures()
    day.done.clear()
    day.work(jobs)
    eventually(day.quiet, 10)
    after = figures()
    print(f"\n{jobs} jobs: {dict(day.done)}\nbefore: {before}\nafter:  {after}")
    assert after[:-1] == before[:-1]
    assert after.mounts[0] == mounts_before
    assert after.resident - before.resident < MOST_GROWTH
    assert set(day.done) == {"grep", "glob", "refused", "killed", "timed out", "closed"}
