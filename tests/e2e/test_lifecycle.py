"""Processes come and go: whatever ends, and whoever ends it, nothing is left behind, nothing leaks and
nobody waits for ever.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

import grille

if TYPE_CHECKING:
    from tests.e2e.conftest import Tree

Result = grille.GrepResult | grille.GlobResult
AsBytes = Callable[[Result], bytes]
Strike = Callable[[int, signal.Signals], bool]
PolicyFor = Callable[..., grille.Policy]
Eventually = Callable[[Callable[[], object], float], None]

BACKTRACKING = "(?=(a+)+$)a+!"
BAIT = "a" * 40 + "!\n"


@pytest.fixture
def pool() -> Iterator[grille.Pool]:
    """A pool of the test's own."""
    with grille.Pool() as opened:
        yield opened


@pytest.fixture
def bait(tmp_path: Path) -> Path:
    """A folder on whose only file a backtracking pattern burns until it is killed."""
    (tmp_path / "bait.txt").write_text(BAIT)
    return tmp_path


def descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def zygote() -> psutil.Process:
    (found,) = [
        child for child in psutil.Process().children() if any("zygote" in part for part in child.cmdline())
    ]
    return found


def zombies() -> list[psutil.Process]:
    found = []
    for process in descendants():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def bounded(work: Callable[[], Any], seconds: float = 20) -> Any:
    """What `work` returns or raises; fails when it takes longer than `seconds`, that is when it hangs."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        pytest.fail(f"hangs: no answer within {seconds} s")
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


def answer_of(ask: Callable[[], Result]) -> Result | str:
    """The result, or the code of the error; fails on any other error, and when it hangs."""
    try:
        result: Result = bounded(ask)
    except grille.GrilleError as error:
        return error.code
    return result


# --- the host process dies ------------------------------------------------------------------------------------------

HOST = """
    import sys, threading
    import grille
    moment, folder = sys.argv[1:]
    print("imported", flush=True)
    pool = grille.Pool()
    policy = grille.Policy(
        mounts=[grille.Mount("/mnt/tree", host=folder)], limits=grille.Limits(scan_seconds=60, request_seconds=600)
    )
    workspaces = [pool.open(policy) for _ in range(2)]
    workspaces[0].grep("x")
    if moment == "busy":
        threading.Thread(target=workspaces[0].grep, args=("(?=(a+)+$)a+!",)).start()
        workspaces[1].grep("x")
    print("opened", flush=True)
    sys.stdin.read()
"""

# Adopts what a dying host leaves behind, so that "nothing is left" is the kernel's word: ECHILD.
REAPER = """
    import ctypes, json, os, select, signal, subprocess, sys, time
    import psutil
    host_code, moment, folder, wait_for, delay = sys.argv[1:]
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    host = subprocess.Popen(
        [sys.executable, "-c", host_code, moment, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while host.stdout.readline().strip().decode() != wait_for:
        assert host.poll() is None, "the host ended by itself"
    select.select([], [], [], float(delay))
    seen = [process.pid for process in psutil.Process(host.pid).children(recursive=True)]
    host.send_signal(signal.SIGKILL)
    host.wait()
    end = time.monotonic() + 5
    left = None
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                select.select([], [], [], 0.01)
        except ChildProcessError:
            left = [pid for pid in seen if psutil.pid_exists(pid)]
            if not left:
                break
            select.select([], [], [], 0.01)
    print(json.dumps({"seen": len(seen), "left": left}))
"""


@pytest.mark.parametrize(
    ("moment", "wait_for", "delay", "at_least"),
    [
        pytest.param("idle", "opened", 0, 7, id="idle"),
        pytest.param("busy", "opened", 0.1, 7, id="busy"),
        pytest.param("idle", "imported", 0, 0, id="at once"),
        pytest.param("idle", "imported", 0.06, 0, id="while the zygote starts"),
        pytest.param("idle", "imported", 0.16, 0, id="while cells are built"),
    ],
)
def test_a_host_killed_by_sigkill_leaves_no_process_behind(
    bait: Path, moment: str, wait_for: str, delay: float, at_least: int
) -> None:
    """Architecture, fault M8: zygote, cells and workers die with the host, in whatever state they are,
    within seconds.
    """
    host, reaper = textwrap.dedent(HOST), textwrap.dedent(REAPER)
    done = subprocess.run(
        [sys.executable, "-c", reaper, host, moment, str(bait), wait_for, str(delay)],
        capture_output=True,
        check=True,
        timeout=60,
    )
    told = json.loads(done.stdout)
    assert told["left"] == []
    assert told["seen"] >= at_least  # zygote, two cells, two workers each


CTRL_C = """
    import os, signal, sys, threading, time
    import grille
    with grille.Pool() as pool:
        policy = grille.Policy(
            mounts=[grille.Mount("/mnt/tree", host=sys.argv[1])],
            limits=grille.Limits(scan_seconds=60, request_seconds=600),
        )
        workspace = pool.open(policy)
        pids = pool.worker_pids()
        print("opened", flush=True)
        try:
            workspace.grep("(?=(a+)+$)a+!")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(len(workspace.grep("a!").entries), flush=True)
"""


def test_ctrl_c_ends_the_request_and_not_the_pool(bait: Path) -> None:
    """An interrupt reaches the caller, who waits no more; zygote and workers do not take it as their own,
    and serve on.
    """
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CTRL_C), str(bait)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert host.stdout is not None
    try:
        assert host.stdout.readline() == b"opened\n"
        busy_until = time.monotonic() + 10
        while not any(
            child.cpu_times().user > 0.2 for child in psutil.Process(host.pid).children(recursive=True)
        ):
            assert time.monotonic() < busy_until
            time.sleep(0.01)
        os.killpg(host.pid, signal.SIGINT)
        assert host.communicate(timeout=20)[0] == b"interrupted\n1\n"
        assert host.returncode == 0
    finally:
        host.kill()
        host.communicate()


# --- one of our processes dies --------------------------------------------------------------------------------------


def served_again(workspace: grille.Workspace, expected: int) -> int:
    """Asks until it is served; how many requests failed with a PoolError before."""
    for failed in range(5):
        try:
            assert len(bounded(lambda: workspace.grep("needle", limit=0)).entries) == expected
        except grille.PoolError:
            continue
        return failed
    pytest.fail("never served again")


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_killed_zygote_is_replaced(
    pool: grille.Pool, tree: Tree, bait: Path, policy_for: PolicyFor, eventually: Eventually, busy: bool
) -> None:
    """The next request is served by a new zygote or fails with a PoolError; then all is as before. Nothing
    hangs.
    """
    workspace = pool.open(policy_for(tree.root, grep_ceiling=5000))
    other = pool.open(policy_for(bait, scan_seconds=30))
    expected = len(workspace.grep("needle", limit=0).entries)
    outcome: list[object] = []

    def ask() -> None:
        try:
            outcome.append(other.grep(BACKTRACKING))
        except grille.GrilleError as error:
            outcome.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    if busy:
        asking.start()
    gone = zygote()
    gone.kill()
    eventually(lambda: not gone.is_running() or gone.status() == psutil.STATUS_ZOMBIE, 5)
    assert served_again(workspace, expected) <= 2
    if busy:
        other.close()
        asking.join(20)
        assert isinstance(outcome[0], grille.PoolError | grille.GrepResult)
    third = bounded(lambda: pool.open(policy_for(tree.root)))
    assert bounded(lambda: third.grep("needle")).entries


def test_a_killed_cell_is_replaced_and_does_not_show(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor, as_bytes: AsBytes
) -> None:
    """A cell that dies takes its workers along; their shards are run again in a new one: the result is the
    same bytes.
    """
    workspace = pool.open(policy_for(tree.root, grep_ceiling=5000))
    reference = as_bytes(workspace.grep("needle", limit=0))
    for _ in range(5):
        for cell in zygote().children():
            cell.kill()
        assert as_bytes(bounded(lambda: workspace.grep("needle", limit=0))) == reference


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGSTOP])
def test_an_idle_worker_that_ends_is_replaced(
    pool: grille.Pool,
    tree: Tree,
    policy_for: PolicyFor,
    as_bytes: AsBytes,
    strike: Strike,
    end: signal.Signals,
) -> None:
    """Whatever ends or stops a worker between two requests, the next request is answered as ever."""
    workspace = pool.open(policy_for(tree.root, scan_seconds=0.5, folder_seconds=0.5, compile_seconds=0.5))
    reference = as_bytes(workspace.grep("needle"))
    for _ in range(3):
        for pid in pool.worker_pids():
            strike(pid, end)
        answer = answer_of(lambda: workspace.grep("needle"))
        # A stopped worker cannot be told from one whose compiling takes too long.
        if end is not signal.SIGSTOP or answer != "pattern_too_costly":
            assert not isinstance(answer, str)
            assert as_bytes(answer) == reference


def test_workers_killed_as_they_start_are_never_taken_for_unconfined(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor, as_bytes: AsBytes, strike: Strike
) -> None:
    """A worker that is gone lacks no layer: its death may cost a request, and is never called a
    ConfinementError.
    """
    workspace = pool.open(policy_for(tree.root, workers=4))
    reference = as_bytes(workspace.grep("needle"))
    stop = threading.Event()
    killed: set[int] = set()

    def kill_newcomers() -> None:
        while not stop.is_set():
            for pid in set(pool.worker_pids()) - killed:
                killed.add(pid)
                strike(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_newcomers)
    killer.start()
    try:
        end = time.monotonic() + 20
        while len(killed) < 120 and time.monotonic() < end:
            answer = answer_of(lambda: workspace.grep("needle"))
            if isinstance(answer, str):
                assert answer in {"spawn_failed", "worker_lost"}
            else:
                assert answer.incomplete or as_bytes(answer) == reference
    finally:
        stop.set()
        killer.join()
    for _ in range(3):
        try:
            assert as_bytes(bounded(lambda: workspace.grep("needle"))) == reference
            return
        except grille.PoolError:
            continue
    pytest.fail("never served again")


def test_the_numbers_told_of_workers_are_those_of_live_processes(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor, strike: Strike
) -> None:
    """`worker_pids` is for an operator's `kill`: -1 or 0 in it would mean every process of the machine."""
    workspace = pool.open(policy_for(tree.root, workers=4))
    for _ in range(40):
        told = pool.worker_pids()
        for pid in told:
            strike(pid, signal.SIGKILL)
        for _ in range(20):
            told += pool.worker_pids()
        assert min(told, default=2) > 1
        answer = answer_of(lambda: workspace.grep("needle", limit=1))
        assert not isinstance(answer, str) or answer in {"spawn_failed", "worker_lost"}


# --- closing --------------------------------------------------------------------------------------------------------


def test_closing_a_pool_ends_every_process(
    tree: Tree, bait: Path, policy_for: PolicyFor, eventually: Eventually
) -> None:
    """After close() returns there is no zygote, and within moments no cell and no worker, be it burning in
    a scan.
    """
    pool = grille.Pool()
    workspace, burning = pool.open(policy_for(tree.root)), pool.open(policy_for(bait, scan_seconds=60))
    workspace.grep("needle")
    burned: list[Result | str] = []
    thread = threading.Thread(target=lambda: burned.append(answer_of(lambda: burning.grep(BACKTRACKING))))
    thread.start()
    ours = descendants()
    assert len(ours) >= 7
    pool.close()
    pool.close()
    thread.join(10)
    assert not thread.is_alive()
    assert burned in (["pool_closed"], ["workspace_closed"])  # whichever the closing reached first
    eventually(lambda: not any(process.is_running() for process in ours), 5)
    assert not zombies()


def test_a_closed_pool_refuses(tree: Tree, policy_for: PolicyFor) -> None:
    """Contract 7: after close() every call is a PoolError that says what was closed."""
    pool = grille.Pool()
    workspace = pool.open(policy_for(tree.root))
    pool.close()
    for call in (
        lambda: workspace.grep("x"),
        lambda: workspace.glob("*"),
        lambda: pool.open(policy_for(tree.root)),
    ):
        with pytest.raises(grille.PoolError) as refused:
            bounded(call)
        assert refused.value.code in {"pool_closed", "workspace_closed"}
    workspace.close()


def test_a_closed_workspace_refuses_at_once_and_always(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor
) -> None:
    """Contract 7: after close() a workspace answers workspace_closed and never looks at a mount again, its
    own or another's.
    """
    for _ in range(5):
        workspace = pool.open(policy_for(tree.root))
        workspace.close()
        workspace.close()
        for _ in range(20):
            with pytest.raises(grille.PoolError) as refused:
                workspace.grep("x", "/mnt/tree")
            assert refused.value.code == "workspace_closed"
            pool.worker_pids()  # a round of the supervisor's thread: what close() told it has been done


def repeat(call: Callable[[], object], errors: list[BaseException]) -> None:
    """Calls until it is refused; what ended it is put into `errors`."""
    try:
        while True:
            call()
    except BaseException as error:
        errors.append(error)


def test_a_workspace_closed_while_others_use_it_answers_everyone(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor
) -> None:
    """Contract 7: each request that meets the close ends with workspace_closed, and with no other error."""
    workspace = pool.open(policy_for(tree.root))
    errors: list[BaseException] = []
    ask = partial(workspace.grep, "needle", "/mnt/tree")
    threads = [threading.Thread(target=repeat, args=(ask, errors), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        pool.worker_pids()
    workspace.close()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "hangs"
    assert [(type(error), getattr(error, "code", error)) for error in errors] == [
        (grille.PoolError, "workspace_closed")
    ] * 4


def test_a_pool_closed_while_others_use_it_answers_everyone(tree: Tree, policy_for: PolicyFor) -> None:
    """Contract 7: whatever call meets the close, it ends with a PoolError. Nobody waits for a thread that
    has gone.
    """
    for _ in range(12):
        pool = grille.Pool()
        workspace = pool.open(policy_for(tree.root))
        errors: list[BaseException] = []
        calls = [
            partial(workspace.grep, "needle", "/mnt/tree", limit=1),
            partial(workspace.grep, "needle"),
            partial(workspace.glob, "*.py", limit=1),
            pool.worker_pids,
        ]
        threads = [threading.Thread(target=repeat, args=(call, errors), daemon=True) for call in calls]
        for thread in threads:
            thread.start()
        workspace.grep("needle")
        pool.close()
        for thread in threads:
            thread.join(15)
            assert not thread.is_alive(), "hangs"
        assert {(type(error), getattr(error, "code", repr(error))) for error in errors} <= {
            (grille.PoolError, "pool_closed"),
            (grille.PoolError, "workspace_closed"),
        }


# --- a long life ----------------------------------------------------------------------------------------------------


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_no_descriptor_and_no_zombie_is_left_by_200_requests_and_50_deaths(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor, eventually: Eventually, strike: Strike
) -> None:
    """Faults M4, M9: what ends is reaped and closed, in the host, in the zygote and in the cell."""
    workspace = pool.open(policy_for(tree.root))
    workspace.grep("needle")
    watched = [os.getpid(), zygote().pid, *(cell.pid for cell in zygote().children())]
    before = {pid: descriptors(pid) for pid in watched}
    for number in range(200):
        workspace.grep("needle", limit=5)
        if number % 4 == 0:
            strike(pool.worker_pids()[0], signal.SIGKILL)
        if number % 40 == 0:
            with pytest.raises(grille.PatternError):
                workspace.grep("(")
            pool.open(policy_for(tree.root)).close()
    workspace.grep("needle")
    eventually(lambda: len(pool.worker_pids()) == 2, 5)
    eventually(lambda: {pid: descriptors(pid) for pid in watched} == before, 5)
    eventually(lambda: not zombies(), 5)
    assert len(descendants()) == 4  # zygote, cell, two workers


def test_no_thread_is_left_by_a_pool(tree: Tree, policy_for: PolicyFor) -> None:
    """A pool is one thread, and that ends with it; descriptors, too."""
    before = (threading.active_count(), descriptors(os.getpid()))
    for _ in range(3):
        with grille.Pool() as pool:
            assert threading.active_count() == before[0] + 1
            pool.open(policy_for(tree.root)).grep("needle")
    assert (threading.active_count(), descriptors(os.getpid())) == before


def test_the_budget_holds_and_the_longest_idle_workspace_gives_way(
    tree: Tree, policy_for: PolicyFor, eventually: Eventually
) -> None:
    """Architecture: warm workers are kept within the pool's budget; an evicted workspace is served again
    when it asks.
    """
    with grille.Pool(max_workers=3) as pool:
        workspaces = [pool.open(policy_for(tree.root, workers=2)) for _ in range(4)]
        expected = workspaces[0].grep("needle").entries
        for turn in range(12):
            assert workspaces[turn % 4].grep("needle").entries == expected
            assert len(pool.worker_pids()) <= 3
        eventually(lambda: len(descendants()) <= 1 + 3 + 3, 5)
        kept = set(pool.worker_pids())
        assert workspaces[3].grep("needle").entries == expected
        assert set(pool.worker_pids()) & kept, "the one used last was evicted"


def test_more_busy_workspaces_than_the_budget_are_all_served(tree: Tree, policy_for: PolicyFor) -> None:
    """A budget smaller than the number of busy tenants delays them and starves none."""
    with grille.Pool(max_workers=1) as pool:
        workspaces = [pool.open(policy_for(tree.root, workers=2)) for _ in range(4)]
        answers: list[int] = []
        threads = [
            threading.Thread(
                target=lambda ws=ws: answers.extend(len(ws.grep("needle").entries) for _ in range(10))
            )
            for ws in workspaces
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "hangs"
        assert answers == [100] * 40


def _all_new(pool: grille.Pool, before: set[int]) -> bool:
    return not set(pool.worker_pids()) & before


def test_a_fresh_worker_serves_every_request_where_the_policy_asks_for_it(
    tree: Tree, eventually: Eventually
) -> None:
    """Architecture: with fresh_workers no worker serves a second request."""
    policy = grille.Policy(
        mounts=[grille.Mount("/mnt/tree", host=str(tree.root))],
        limits=grille.Limits(workers=1),
        confinement=grille.Confinement(fresh_workers=True),
    )
    with grille.Pool() as pool, pool.open(policy) as workspace:
        first = set(pool.worker_pids())
        expected = workspace.grep("needle").entries
        for _ in range(10):
            assert workspace.grep("needle").entries == expected
            eventually(partial(_all_new, pool, first), 5)
            first = set(pool.worker_pids())


# --- many callers ---------------------------------------------------------------------------------------------------


def test_async_twins_give_the_same_bytes(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor, as_bytes: AsBytes
) -> None:
    """Contract 9: every method has an async twin with the same meaning; many can be awaited at once."""
    workspace = pool.open(policy_for(tree.root))
    grepped, globbed = as_bytes(workspace.grep("needle", limit=7)), as_bytes(workspace.glob("*.py"))

    async def ask() -> list[Result]:
        greps = [workspace.agrep("needle", limit=7) for _ in range(10)]
        globs = [workspace.aglob("*.py") for _ in range(10)]
        return [*await asyncio.gather(*greps), *await asyncio.gather(*globs)]

    assert [as_bytes(result) for result in asyncio.run(ask())] == [grepped] * 10 + [globbed] * 10

    async def refuse() -> None:
        with pytest.raises(grille.PatternError):
            await workspace.agrep("(")
        with pytest.raises(grille.PathError):
            await workspace.aglob("*", "/nowhere")

    asyncio.run(refuse())


def test_cancelling_an_await_kills_the_work(
    pool: grille.Pool, bait: Path, policy_for: PolicyFor, eventually: Eventually
) -> None:
    """Contract 9, fault M6: when the task is cancelled, the worker that burns for it is killed at once."""
    workspace = pool.open(policy_for(bait, scan_seconds=60, request_seconds=600))

    def burning() -> list[psutil.Process]:
        return [p for p in map(psutil.Process, pool.worker_pids()) if p.cpu_times().user > 0.2]

    async def ask_and_cancel() -> list[psutil.Process]:
        task = asyncio.create_task(workspace.agrep(BACKTRACKING))
        end = time.monotonic() + 20
        while not (found := await asyncio.to_thread(burning)):
            assert time.monotonic() < end
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return found

    (burner,) = asyncio.run(ask_and_cancel())
    eventually(lambda: not burner.is_running(), 3)
    assert len(bounded(lambda: workspace.grep("a!")).entries) == 1


def test_a_pool_serves_many_threads(
    pool: grille.Pool, tree: Tree, policy_for: PolicyFor, as_bytes: AsBytes
) -> None:
    """Contract 9: everything may be called from several threads; each caller gets its own answer."""
    workspaces = [pool.open(policy_for(tree.root)) for _ in range(2)]
    patterns = ["needle", "hay", "straße", "foo", "import"]
    references = {pattern: as_bytes(workspaces[0].grep(pattern)) for pattern in patterns}
    wrong: list[object] = []

    def ask(number: int) -> None:
        for turn in range(12):
            pattern = patterns[(number + turn) % 5]
            try:
                if as_bytes(workspaces[turn % 2].grep(pattern)) != references[pattern]:
                    wrong.append(pattern)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "hangs"
    assert wrong == []


def test_workspaces_can_be_opened_from_several_threads(pool: grille.Pool) -> None:
    """Contract 9: a pool is shared by all tenants of a host process, which has threads."""
    opened: list[grille.Workspace] = []
    threads = [
        threading.Thread(
            target=lambda: opened.append(pool.open(grille.Policy.for_paths([os.path.dirname(__file__)])))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(opened) == 4
    assert all(workspace.glob("test_lifecycle.py").entries for workspace in opened)
