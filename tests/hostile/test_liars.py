"""A worker that was taken over says anything, at any speed, or nothing: the supervisor answers all the same.

Each lie (liars.py) is told by real workers behind the real bars, and each test asks for all of this:

 * the request ends, with a result that says what it lacks or with a typed error, by its deadline and a grace;
 * what lied is dead: no process lives that the pool does not count;
 * another workspace of the same pool is served meanwhile and afterwards, with the same answer and without a long wait;
 * the supervisor's memory stays within a bound at every moment, and no descriptor and no process is left;
 * a lie is in the log as a security event, in words that tell which one it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import logging
import mmap
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import psutil
import pytest

import grille
from grille.pool import zygote as product_zygote

from .liars import BYTES, LIES, ORDER, PLACES, SHAPES, Stage

BOOT: Final = (
    "import sys; sys.path[:0] = sys.argv[2:]; sys.argv[2:] = []; "
    f"sys.path.append({str(Path(__file__).parent)!r}); "
    "from liars import zygote; zygote(int(sys.argv[1]), {orders!r})"
)
MIB: Final = 1 << 20
REQUEST_SECONDS: Final = 1.5
LIMITS: Final = grille.Limits(
    request_seconds=REQUEST_SECONDS, compile_seconds=0.3, scan_seconds=0.3, folder_seconds=0.3, workers=2
)
GRACE_SECONDS: Final = 6.0
"""Beyond the deadline: for the machine's other work, not for the supervisor."""
LONGEST_WAIT: Final = 6.0
"""What a request of a neighbour may take at most: far above its milliseconds on a busy machine, far below for ever."""
MOST_AT_ANY_TIME: Final = 512 * MIB
"""Of the supervisor's growth, while two workers send frames of 16 MiB as fast as they can: each as bytes, as a body,
and one of them as objects."""
MOST_KEPT: Final = 128 * MIB
"""Of the same growth, once all is over and what is free was given back."""


@dataclass
class Neighbour:
    """An honest workspace on the liars' pool, asked again and again while they lie."""

    workspace: grille.Workspace = field(init=False)
    slowest: float = 0.0
    peak: int = 0
    asked: int = 0
    wrong: list[object] = field(default_factory=list)

    def pester(self, stop: threading.Event) -> None:
        """Ask until told to stop."""
        self.slowest, self.peak, self.asked = 0.0, 0, 0
        while not stop.wait(0.005):
            self.ask()

    def judge(self, before_memory: int) -> None:
        """Once more, now that it is quiet; then whether all went well meanwhile."""
        self.ask()
        assert self.wrong == []
        assert self.asked > 1
        assert self.slowest < LONGEST_WAIT
        assert self.peak - before_memory < MOST_AT_ANY_TIME

    def ask(self) -> None:
        """One request, and a look at our own memory."""
        began = time.monotonic()
        try:
            answer: object = len(self.workspace.grep("needle").entries)
        except grille.GrilleError as error:
            answer = error
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.peak = max(self.peak, resident())
        self.asked += 1
        if answer != 3:
            self.wrong.append(answer)


def resident() -> int:
    return int(psutil.Process().memory_info().rss)


def held() -> int:
    """What is in use, without what Python and the C library keep for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def workers_alive() -> set[int]:
    """Workers as the kernel knows them: what the cells, which the zygote has forked, have forked."""
    (zygote,) = [
        child for child in psutil.Process().children() if any("liars" in part for part in child.cmdline())
    ]
    found = set()
    for cell in zygote.children():
        try:
            found |= {worker.pid for worker in cell.children() if worker.status() != psutil.STATUS_ZOMBIE}
        except psutil.NoSuchProcess:
            continue
    return found


def eventually(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"did not come true: {what}")
        time.sleep(0.005)


@dataclass
class Scene:
    """A pool of which some workspaces lie."""

    pool: grille.Pool
    neighbour: Neighbour
    base: Path
    orders: mmap.mmap
    opened: int = 0

    def tree(self) -> Path:
        """A folder `d` and its neighbours."""
        self.opened += 1
        root = self.base / str(self.opened)
        (root / "d").mkdir(parents=True)
        for name in ("d/a.txt", "d/b.txt", "c.txt"):
            (root / name).write_text("needle\n")
        return root

    def open(self, root: Path, **limits: Any) -> grille.Workspace:
        mounts = [grille.Mount("/mnt/tree", host=str(root))]
        return self.pool.open(grille.Policy(mounts=mounts, limits=msgspec.structs.replace(LIMITS, **limits)))

    def order(self, root: Path, lie: str) -> None:
        """Tell the workers that serve `root` what to do from now on; all others are honest."""
        ORDER.pack_into(self.orders, 0, 0, 0)
        ORDER.pack_into(self.orders, 0, root.stat().st_ino, list(LIES).index(lie))

    def replace_workers(self, honest: set[int], give_order: Callable[[], None]) -> None:
        """End the idle workers beside the `honest` ones: those that the next request has started obey the order."""
        eventually(
            lambda: len(set(self.pool.worker_pids()) - honest) == LIMITS.workers, "all workers have started"
        )
        give_order()
        ended = set(self.pool.worker_pids()) - honest
        for pid in ended & workers_alive():  # SAFETY: children of our own cells, by the kernel's word
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not ended & workers_alive(), "the workers have ended")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    base = tmp_path_factory.mktemp("scene")
    orders = base / "orders"
    orders.write_bytes(bytes(mmap.PAGESIZE))
    boot = BOOT.format(orders=str(orders)).replace("{", "{{").replace("}", "}}")
    with pytest.MonkeyPatch.context() as patch, open(orders, "r+b") as file, grille.Pool() as pool:
        patch.setattr(product_zygote, "_BOOT", boot)
        scene = Scene(pool, Neighbour(), base, mmap.mmap(file.fileno(), mmap.PAGESIZE))
        neighbour = scene.open(scene.tree(), request_seconds=20, scan_seconds=5, compile_seconds=5)
        scene.neighbour.workspace = neighbour
        for _ in range(20):
            scene.neighbour.ask()
        yield scene


Answer = grille.GrepResult | grille.GlobResult | grille.GrilleError


def bounded(ask: Callable[[], Answer], seconds: float) -> Answer:
    """The answer or the error; fails where neither comes within some seconds and the grace."""
    answers: list[Answer | BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:
            answers.append(error)

    asking = threading.Thread(target=run, daemon=True)
    asking.start()
    asking.join(seconds + GRACE_SECONDS)
    if not answers:
        pytest.fail("no answer by the deadline")
    if isinstance(answers[0], BaseException) and not isinstance(answers[0], grille.GrilleError):
        raise answers[0]
    return answers[0]


def in_short(answer: Answer) -> str:
    """Why an answer is incomplete, or the code of the error."""
    if isinstance(answer, grille.GrilleError):
        return answer.code
    return "+".join(answer.reasons) or "complete"


def grep(workspace: grille.Workspace) -> Answer:
    return workspace.grep("needle", "/mnt/tree/d", limit=0)


@dataclass
class Heard:
    """What came of a lie."""

    answer: Answer
    security: str
    """The security events in the log, a line each."""

    def __str__(self) -> str:
        return in_short(self.answer)


Tell = Callable[..., Heard]


def security_events(caplog: pytest.LogCaptureFixture) -> str:
    return "; ".join(message for message in caplog.messages if message.startswith("security:"))


@pytest.fixture
def tell(scene: Scene, caplog: pytest.LogCaptureFixture) -> Iterator[Tell]:
    """Has a workspace tell a lie, asks it once, and looks at everything that the module's docstring names."""
    neighbour = scene.neighbour
    before_memory, before_descriptors, before_workers = held(), descriptors(), workers_alive()
    caplog.set_level(logging.WARNING, "grille")
    root = scene.tree()
    stop = threading.Event()
    pestering = threading.Thread(target=neighbour.pester, args=(stop,))
    pestering.start()

    def tell_(lie: str, ask: Callable[[grille.Workspace], Answer] = grep, **limits: Any) -> Heard:
        caplog.clear()
        scene.order(root, "honest")
        with scene.open(root, **limits) as workspace:
            if LIES[lie].stage is Stage.START:
                scene.replace_workers(before_workers, lambda: scene.order(root, lie))
            else:
                scene.order(root, lie)
            answer = bounded(lambda: ask(workspace), workspace.policy.limits.request_seconds)
            if LIES[lie].stage is Stage.AFTER and lie in (*GROUPS["bytes"], *GROUPS["turns"]):
                eventually(
                    lambda: (bounded(lambda: ask(workspace), REQUEST_SECONDS), security_events(caplog))[1],
                    lie,
                )
            eventually(lambda: workers_alive() <= set(scene.pool.worker_pids()), f"every liar is dead: {lie}")
            scene.order(root, "honest")
            # What was started as a liar may still have to be found out; then the workspace is as good as any.
            again = (in_short(bounded(lambda: grep(workspace), REQUEST_SECONDS)) for _ in range(3))
            assert "complete" in again, f"a workspace is served again: {lie}"
        return Heard(answer, security_events(caplog))

    try:
        yield tell_
    finally:
        stop.set()
        pestering.join()
    eventually(lambda: descriptors() == before_descriptors, "no descriptor is left")
    eventually(lambda: workers_alive() == before_workers, "no worker is left")
    assert held() - before_memory < MOST_KEPT
    neighbour.judge(before_memory)


def heard_wrong(
    tell: Tell, lies: Sequence[str], right: Callable[[str, Heard], bool], **limits: Any
) -> dict[str, str]:
    """Has all of `lies` told, one after the other: what came of those where it was not right."""
    heard = {lie: tell(lie, **limits) for lie in lies}
    return {lie: f"{what}; {what.security[:200]}" for lie, what in heard.items() if not right(lie, what)}


def is_lost(*words: str) -> Callable[[str, Heard], bool]:
    """Whether the request was given up, as it must be, and the log says why, in one of these words."""
    return lambda lie, heard: str(heard) == "lost_worker" and any(word in heard.security for word in words)


def stage(lie: str) -> str:
    return lie.rpartition(", ")[2]


def sorted_into_groups() -> dict[str, list[str]]:
    """Which lie stands in which test: the first group that knows a lie by its beginning has it."""
    known: dict[str, tuple[str, ...]] = {
        "bytes": (*BYTES, "a length of 4 GiB for an answer"),
        "shapes": tuple(SHAPES),
        "places": tuple(f"a {what}: {place}" for what in ("finding", "skip") for place in PLACES),
        "turns": (
            "ready again",
            "not locked down after all",
            "an attempt to get out",
            "done with what was never begun",
            "another ticket done",
            "a ticket done twice",
            "another query",
            "a query loaded",
            "refused in the middle",
        ),
        "floods": ("the same frame without end", "16 MiB of bytes"),
        "alone": ("refused with strange words", "a million findings", "out of memory"),
        "silence": ("no answer", "never reads", "half a ", "a byte now and then"),
        "closed": ("closes its socket",),
        "deaths": ("dies by",),
        "last words": ("last words",),
        "rests": ("a rest",),
        "findings": (
            "findings ",
            "a finding twice",
            "more entries",
            "more files",
            "a path without",
            "a count ",
        ),
        "made up": ("lines out", "a line ", "more of a line", "a match", "skips out", "skips past", "a skip"),
        "endless": ("",),
    }
    groups: dict[str, list[str]] = {group: [] for group in known}
    for lie in LIES:
        if lie != "honest":
            groups[next(g for g, begins in known.items() if lie.startswith(begins))].append(lie)
    return groups


STARTLESS: Final = {"lost_worker", "deadline", "spawn_failed"}
"""What comes of a request whose workers end as soon as they start: new ones are started until the time is over, or
until it is told that they end before they are of use."""
GROUPS: Final = sorted_into_groups()


def test_every_lie_has_its_test() -> None:
    """No group is empty, and what is left over is what it is for: else a lie would be judged by another's rule."""
    assert all(lie.endswith("without end") for lie in GROUPS["endless"])
    assert all(GROUPS.values())
    assert len(GROUPS["alone"]) == 3


# --- frames ---------------------------------------------------------------------------------------------------------


def test_bytes_that_are_no_frame(tell: Tell) -> None:
    """A length is checked before the body is read, the body is decoded strictly: anything else ends the worker."""
    size = {"a length of 4 GiB": "4294967295 bytes", "a length of 17 MiB": "17825792 bytes"}
    may_be = {"after": {"complete", "lost_worker"}, "start": STARTLESS}

    def right(lie: str, heard: Heard) -> bool:
        told = next((told for name, told in size.items() if lie.startswith(name)), "frame")
        return str(heard) in may_be.get(stage(lie), {"lost_worker"}) and told in heard.security

    assert heard_wrong(tell, GROUPS["bytes"], right) == {}


def test_frames_of_the_wrong_shape(tell: Tell) -> None:
    """Every field is of its type and within its bound before anybody looks at it."""
    assert heard_wrong(tell, GROUPS["shapes"], is_lost("a malformed frame")) == {}


def test_frames_out_of_turn(tell: Tell) -> None:
    """Each frame has its turn. One that comes out of it ends the worker, and changes nobody's search."""

    def right(lie: str, heard: Heard) -> bool:
        allowed = {"lost_worker"}
        if stage(lie) == "start":
            allowed |= STARTLESS
        elif "twice" in lie or stage(lie) == "after":
            allowed |= {"complete"}  # the lie may come once the honest answer has ended the search
        if str(heard) == "complete" and stage(lie) == "after":
            return True  # the search was over before the lie was read, and it changed nothing
        return str(heard) in allowed and any(
            w in heard.security for w in ("a frame out of turn", "nobody asked for")
        )

    assert heard_wrong(tell, GROUPS["turns"], right) == {}


def test_a_refusal_is_told_in_one_plain_line(tell: Tell) -> None:
    """A worker may refuse a pattern in its own words: they reach the caller as one printable line of bounded length."""
    heard = tell("refused with strange words")
    assert str(heard) == "pattern_invalid"
    assert str(heard.answer).isprintable()
    assert len(str(heard.answer)) < 10_000


# --- content --------------------------------------------------------------------------------------------------------


def test_paths_outside_what_was_handed_out(tell: Tell) -> None:
    """What a worker names lies in the shards that it was given, as a path that a folder can hold."""
    wrong = heard_wrong(tell, GROUPS["places"], is_lost("outside the shards", "a path that no folder holds"))
    # The folder itself: an honest answer, where it could not be listed.
    assert wrong == {"a skip: the folder itself": "unreadable; "}


def test_findings_that_cannot_be(tell: Tell) -> None:
    """Findings stand in order, once each, no more of them than asked for, and count what they hold."""
    right = is_lost("findings out of order", "entries where", "findings and", "a count that is not")
    assert heard_wrong(tell, GROUPS["findings"], right) == {}


@pytest.mark.parametrize("output_mode", ["files_with_matches", "count"])
def test_lines_that_nobody_asked_for(tell: Tell, output_mode: Literal["files_with_matches", "count"]) -> None:
    """Where paths are asked for, a worker has no lines to send."""
    heard = tell("a line twice", lambda ws: ws.grep("needle", "/mnt/tree/d", output_mode=output_mode))
    assert str(heard) == "lost_worker"
    assert "lines that nobody asked for" in heard.security


def test_a_result_keeps_its_form_whatever_is_made_up(tell: Tell) -> None:
    """A match can be made up, the form of a result cannot: lines ascend from 1 and are shown within their width,
    skips are counted once for a reason, and the whole is JSON as it stands. Or it is refused as a lie."""

    def right(lie: str, heard: Heard) -> bool:
        result = heard.answer
        assert isinstance(result, grille.GrepResult)
        json.loads(msgspec.json.encode(result))
        numbers = [entry.line_number or 0 for entry in result.entries]
        return (
            result.reasons == (("lost_worker",) if heard.security else ())
            and numbers == sorted(set(numbers))
            and min(numbers, default=1) >= 1
            and all(len(entry.line or "") <= LIMITS.line_chars for entry in result.entries)
            and all(len(entry.line or "") <= (entry.line_length or 0) for entry in result.entries)
            and all(skip.count <= 2**53 for skip in result.skipped)
        )

    assert heard_wrong(tell, GROUPS["made up"], right) == {}


def test_a_rest_that_cannot_be(tell: Tell) -> None:
    """What is handed back is less than what was handed out, a part of it, in order, without overlap, behind the last
    finding: else a worker could multiply its own work, or walk where it was not sent."""
    assert heard_wrong(tell, GROUPS["rests"], is_lost("a rest", "impossible name", "no folder holds")) == {}


# --- too much, too little -------------------------------------------------------------------------------------------


def test_a_flood_ends_with_its_sender(tell: Tell) -> None:
    """Nobody reads on behind a lie: however fast a worker writes, the supervisor holds one frame of bounded length."""

    def right(lie: str, heard: Heard) -> bool:
        as_must_be = str(heard) in {"lost_worker", "pattern_too_costly"} | STARTLESS
        return as_must_be and (not lie.startswith("the same") or "a frame out of turn" in heard.security)

    assert heard_wrong(tell, GROUPS["floods"], right, request_seconds=0.8) == {}


@pytest.mark.parametrize("lie", GROUPS["endless"])
def test_answers_without_end_cost_time_of_their_own_alone(tell: Tell, lie: str) -> None:
    """Answers that could be true, and always a little more of them, end at the deadline: until then they cost a bounded
    amount of the supervisor's memory, and other tenants next to nothing. Those that could not be true end sooner."""
    assert str(tell(lie)).split("+")[0] in {"deadline", "lost_worker", "complete"}


def test_a_million_findings_are_not_looked_at_one_by_one(tell: Tell) -> None:
    """More entries than asked for are a lie as soon as they are counted: a neighbour waits for no million of checks."""
    heard = tell(
        "a million findings", lambda ws: ws.grep("needle", "/mnt/tree/d", output_mode="files_with_matches")
    )
    assert str(heard) in {"lost_worker", "deadline"}
    assert heard.security


def test_silence_ends_by_the_clock(tell: Tell) -> None:
    """Who does not answer within the limit of its step is killed. Silence is no lie; it counts as time run out."""
    allowed = {
        "start": {"deadline", "pattern_too_costly"},
        "query": {"deadline", "pattern_too_costly"},
        "ticket": {"deadline", "lost_worker"},
        "after": {"deadline", "lost_worker", "complete", "pattern_too_costly"},
    }
    short = {"request_seconds": 0.4, "compile_seconds": 0.05, "scan_seconds": 0.05, "folder_seconds": 0.05}
    wrong = heard_wrong(
        tell, GROUPS["silence"], lambda lie, heard: str(heard) in allowed[stage(lie)], **short
    )
    assert wrong == {}


def test_a_closed_socket_ends_its_worker(tell: Tell) -> None:
    """Who hangs up is of no more use: it is killed, and another takes its place at once."""
    # At the start it is found out by its descriptors, and taken for a worker without bars: so much the better.
    allowed = {"start": STARTLESS | {"attestation_failed"}, "after": {"lost_worker", "complete"}}
    wrong = heard_wrong(
        tell, GROUPS["closed"], lambda lie, heard: str(heard) in allowed.get(stage(lie), {"lost_worker"})
    )
    assert wrong == {}


# --- deaths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["start", "query", "ticket", "after"])
def test_workers_that_die_again_and_again(tell: Tell, when: str) -> None:
    """Five deaths in a row end a request as incomplete, whatever they were; a kill by the filter is in the log."""
    allowed = {
        "start": STARTLESS,
        "query": {"lost_worker"},
        "ticket": {"lost_worker"},
        "after": {"lost_worker", "complete"},
    }

    def right(lie: str, heard: Heard) -> bool:
        if "SIGALRM" in lie and when in {"start", "query"}:
            return str(heard) in {"pattern_too_costly"} | STARTLESS
        return str(heard) in allowed[when] and ("SIGSYS" not in lie or "system-call filter" in heard.security)

    assert heard_wrong(tell, [lie for lie in GROUPS["deaths"] if stage(lie) == when], right) == {}


@pytest.mark.parametrize("end", ["SIGALRM", "SIGSEGV"])
def test_last_words_are_believed_within_the_shard_alone(tell: Tell, end: str) -> None:
    """A dying worker blames a file: it counts as guilty only where it could have been sent, and nothing else is named.
    Who blames the same file over and over ends the request as one who blames none."""

    def right(lie: str, heard: Heard) -> bool:
        result = heard.answer
        assert isinstance(result, grille.GrepResult)
        names = [name for skip in result.skipped for name in skip.first]
        if "file that is" in lie:
            blamed = "timed_out" if end == "SIGALRM" else "crashed"
            if blamed not in result.reasons or [skip.count for skip in result.skipped] != [1]:
                return False
        return bool({"lost_worker", "repeated_timeouts"} & set(result.reasons)) and all(
            map(lies_inside, names)
        )

    assert heard_wrong(tell, [lie for lie in GROUPS["last words"] if lie.endswith(end)], right) == {}


def lies_inside(name: str) -> bool:
    """Whether a virtual path is one that the folder searched can hold."""
    inside = name == "/mnt/tree/d" or name.startswith("/mnt/tree/d/")
    return inside and "\0" not in name and not {"", ".", ".."} & set(name.split("/")[1:])


def test_memory_that_runs_out_again_and_again_ends_the_request(tell: Tell) -> None:
    """Each such death costs a file its place in the search; when too many do, the request is given up."""
    heard = str(tell("out of memory over another file each time"))
    assert heard in {"lost_worker+out_of_memory", "deadline+out_of_memory"}


# --- the beginning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(
    "lie", ["dies by exit 0, start", "dies by SIGSYS, start", "closes its socket and lives on, start"]
)
def test_a_workspace_whose_workers_end_at_once_opens_or_says_why_not(
    scene: Scene, lie: str, workers: int
) -> None:
    """Contract 9: opening ends, with a workspace or a typed error, also where no worker lives to be attested. A worker
    that is gone lacks no layer."""
    for _ in range(3):
        root = scene.tree()
        scene.order(root, lie)

        def open_(root: Path = root) -> Answer:
            with scene.open(root, workers=workers):
                return grille.PoolError("opened", "")

        allowed = {"opened", "spawn_failed"} | ({"attestation_failed"} if "socket" in lie else set())
        assert in_short(bounded(open_, REQUEST_SECONDS)) in allowed
