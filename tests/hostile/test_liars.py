"""A worker that was taken over says anything, at any speed, or nothing: the supervisor answers all the same.

Each lie (liars.py) is told by real workers behind the real bars, and each test asks for all of this:

 * the request ends, with a result that says what it lacks or with a typed error, by its deadline and a grace;
 * what lied is dead: no process lives that the pool does not count;
 * another workspace of the same pool is served meanwhile and afterwards, with the same answer and without a long wait;
 * the supervisor's memory stays within a bound at every moment, and no descriptor and no process is left;
 * a lie is in the log as a security event, in words that tell which one it was.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import psutil
import pytest

import grille
from grille.pool import zygote as product_zygote

from .liars import BYTES, DEATHS, LIES, PLACES, RESTS, SHAPES, WORDS, Stage

BOOT: Final = (
    "import sys; sys.path[:0] = sys.argv[2:]; sys.argv[2:] = []; "
    f"sys.path.append({str(Path(__file__).parent)!r}); "
    "from liars import zygote; zygote(int(sys.argv[1]))"
)
MIB: Final = 1 << 20
REQUEST_SECONDS: Final = 1.5
LIMITS: Final = grille.Limits(
    request_seconds=REQUEST_SECONDS, compile_seconds=0.3, scan_seconds=0.3, folder_seconds=0.3, workers=2
)
GRACE_SECONDS: Final = 1.5
"""Beyond the deadline: for the machine's other work, not for the supervisor."""
LONGEST_WAIT: Final = 1.0
"""What a neighbour's request, of some milliseconds, may take at most."""
MOST_AT_ANY_TIME: Final = 192 * MIB
"""Of the supervisor's growth, while two workers send frames of 16 MiB as fast as they can."""
MOST_KEPT: Final = 64 * MIB


@dataclass
class Neighbour:
    """An honest workspace on the liars' pool, asked again and again while they lie."""

    workspace: grille.Workspace
    expected: int
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
        if answer != self.expected:
            self.wrong.append(answer)


def resident() -> int:
    return int(psutil.Process().memory_info().rss)


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
    end = time.monotonic() + 5
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
    opened: int = 0

    def tree(self) -> Path:
        """A folder `d` and its neighbours, and a second mount for the order."""
        self.opened += 1
        root = self.base / str(self.opened)
        (root / "tree" / "d").mkdir(parents=True)
        (root / "orders").mkdir()
        for name in ("d/a.txt", "d/b.txt", "c.txt"):
            (root / "tree" / name).write_text("needle\n")
        return root

    def open(self, root: Path, **limits: Any) -> grille.Workspace:
        mounts = [
            grille.Mount("/mnt/tree", host=str(root / "tree")),
            grille.Mount("/mnt/orders", host=str(root / "orders")),
        ]
        return self.pool.open(grille.Policy(mounts=mounts, limits=msgspec.structs.replace(LIMITS, **limits)))

    def replace_workers(self, honest: set[int]) -> None:
        """End the idle workers beside the `honest` ones: the next request has new ones started."""
        eventually(
            lambda: len(set(self.pool.worker_pids()) - honest) == LIMITS.workers, "all workers have started"
        )
        ended = set(self.pool.worker_pids()) - honest
        for pid in ended & workers_alive():  # SAFETY: children of our own cells, by the kernel's word
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not ended & workers_alive(), "the workers have ended")


def order(root: Path, lie: str) -> None:
    """Tell a workspace's workers what to do from now on."""
    assert lie in LIES
    (root / "orders" / "new").write_text(lie)
    os.replace(root / "orders" / "new", root / "orders" / "lie")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_zygote, "_BOOT", BOOT.replace("{", "{{").replace("}", "}}"))
        with grille.Pool() as pool:
            scene = Scene(pool, Neighbour(None, 3), tmp_path_factory.mktemp("scene"))  # type: ignore[arg-type]
            root = scene.tree()
            order(root, "honest")
            scene.neighbour.workspace = scene.open(
                root, request_seconds=20, scan_seconds=5, compile_seconds=5
            )
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


@pytest.fixture
def tell(scene: Scene, caplog: pytest.LogCaptureFixture) -> Iterator[Tell]:
    """Has a new workspace tell a lie, asks it once, and looks at everything that the module's docstring names."""
    neighbour = scene.neighbour
    before_memory, before_descriptors, before_workers = resident(), descriptors(), workers_alive()
    caplog.set_level(logging.WARNING, "grille")
    stop = threading.Event()
    pestering = threading.Thread(target=neighbour.pester, args=(stop,))

    def tell_(lie: str, ask: Callable[[grille.Workspace], Answer] = grep, **limits: Any) -> Heard:
        root = scene.tree()
        order(root, "honest")
        with scene.open(root, **limits) as workspace:
            order(root, lie)
            if LIES[lie].stage is Stage.START:
                scene.replace_workers(before_workers)
            pestering.start()
            answer = bounded(lambda: ask(workspace), workspace.policy.limits.request_seconds)
            eventually(lambda: workers_alive() <= set(scene.pool.worker_pids()), "every liar is dead")
            order(root, "honest")
            # What was started as a liar may still have to be found out; then the workspace is as good as any.
            again = [in_short(bounded(lambda: grep(workspace), REQUEST_SECONDS)) for _ in range(3)]
            assert again[-1] == "complete", "a workspace is served again"
        return Heard(answer, "\n".join(m for m in caplog.messages if m.startswith("security:")))

    try:
        yield tell_
    finally:
        stop.set()
        if pestering.ident is not None:
            pestering.join()
    eventually(lambda: descriptors() == before_descriptors, "no descriptor is left")
    eventually(lambda: workers_alive() == before_workers, "no worker is left")
    assert resident() - before_memory < MOST_KEPT
    neighbour.judge(before_memory)


def lies_like(*prefixes: str) -> list[str]:
    return [lie for lie in LIES if lie.startswith(prefixes)]


def stage(lie: str) -> str:
    return lie.rpartition(", ")[2]


FLOODS: Final = lies_like("the same frame without end", "16 MiB of bytes")
GROUPS: Final[dict[str, list[str]]] = {
    "bytes": [*BYTES, *lies_like("a length of 4 GiB for an answer")],
    "shapes": list(SHAPES),
    "turns": lies_like(
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
    "places": [f"a {what}: {place}" for what in ("finding", "skip") for place in PLACES],
    "findings": lies_like(
        "findings", "a finding twice", "more entries", "more files", "a path without", "a count"
    ),
    "made up": lies_like("lines out", "a line ", "more of a line", "a match outside", "skips ", "a skip "),
    "rests": lies_like("a rest"),
    "floods": FLOODS,
    "endless": [lie for lie in LIES if lie.endswith("without end") and lie not in FLOODS],
    "silence": lies_like(
        "no answer", "never reads", "half a frame, ", "half a header", "a byte now and then"
    ),
    "closed": lies_like("closes its socket"),
    "deaths": lies_like("dies by"),
    "last words": lies_like("last words"),
    "alone": [
        "refused with strange words",
        "a million findings",
        "out of memory over another file each time",
    ],
}
GROUPS["made up"] = [
    lie for lie in GROUPS["made up"] if lie not in GROUPS["places"] and "without end" not in lie
]
GROUPS["findings"] = [lie for lie in GROUPS["findings"] if lie not in GROUPS["places"]]


def test_every_lie_is_told_once() -> None:
    """Each lie stands in one test: a lie that nobody tells shows nothing."""
    assert sorted(lie for group in GROUPS.values() for lie in group) == sorted(set(LIES) - {"honest"})


# --- frames ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", GROUPS["bytes"])
def test_bytes_that_are_no_frame(tell: Tell, lie: str) -> None:
    """A length is checked before a byte of the body is read, the body is decoded strictly: anything else ends the worker."""
    heard = tell(lie)
    assert str(heard) in {"after": {"complete", "lost_worker"}, "start": {"deadline", "lost_worker"}}.get(
        stage(lie), {"lost_worker"}
    )
    size = {"a length of 4 GiB": "4294967295 bytes", "a length of 17 MiB": "17825792 bytes"}
    assert next((told for name, told in size.items() if lie.startswith(name)), "frame") in heard.security


@pytest.mark.parametrize("lie", GROUPS["shapes"])
def test_frames_of_the_wrong_shape(tell: Tell, lie: str) -> None:
    """Every field is of its type and within its bound before anybody looks at it."""
    heard = tell(lie)
    assert str(heard) == "lost_worker"
    assert "a malformed frame" in heard.security


@pytest.mark.parametrize("lie", GROUPS["turns"])
def test_frames_out_of_turn(tell: Tell, lie: str) -> None:
    """Each frame has its turn. One that comes out of it ends the worker, and changes nobody's search."""
    heard = tell(lie)
    allowed = {"lost_worker"}
    if stage(lie) == "start":
        allowed |= {"deadline"}  # new workers are started, and lie, until the time is over
    elif "twice" in lie or stage(lie) == "after":
        allowed |= {"complete"}  # the lie may come once the honest answer has ended the search
    assert str(heard) in allowed
    assert any(words in heard.security for words in ("a frame out of turn", "nobody asked for"))


def test_a_refusal_is_told_in_one_plain_line(tell: Tell) -> None:
    """A worker may refuse a pattern in words of its own: they reach the caller as one printable line of bounded length."""
    heard = tell("refused with strange words")
    assert str(heard) == "pattern_invalid"
    assert str(heard.answer).isprintable()
    assert len(str(heard.answer)) < 10_000


# --- content --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", GROUPS["places"])
def test_paths_outside_what_was_handed_out(tell: Tell, lie: str) -> None:
    """What a worker names lies in the shards that it was given, as a path that a folder can hold."""
    heard = tell(lie)
    if lie == "a skip: the folder itself":  # an honest answer, where the folder could not be listed
        assert str(heard) == "unreadable"
        return
    assert str(heard) == "lost_worker"
    assert "outside the shards" in heard.security or "a path that no folder holds" in heard.security


@pytest.mark.parametrize("lie", GROUPS["findings"])
def test_findings_that_cannot_be(tell: Tell, lie: str) -> None:
    """Findings stand in order, once each, no more of them than asked for, and count what they hold."""
    heard = tell(lie)
    assert str(heard) == "lost_worker"
    assert any(
        words in heard.security for words in ("findings out of order", "entries where", "a count that is not")
    )


@pytest.mark.parametrize("output_mode", ["files_with_matches", "count"])
def test_lines_that_nobody_asked_for(tell: Tell, output_mode: Literal["files_with_matches", "count"]) -> None:
    """Where paths are asked for, a worker has no lines to send."""
    heard = tell("a line twice", lambda ws: ws.grep("needle", "/mnt/tree/d", output_mode=output_mode))
    assert str(heard) == "lost_worker"
    assert "lines that nobody asked for" in heard.security


@pytest.mark.parametrize("lie", GROUPS["made up"])
def test_a_result_keeps_its_form_whatever_is_made_up(tell: Tell, lie: str) -> None:
    """A match can be made up, the form of a result cannot: lines ascend from 1 and are shown within their width, skips are
    counted once for a reason, and the whole is JSON as it stands. Or it is refused as a lie."""
    heard = tell(lie)
    result = heard.answer
    assert isinstance(result, grille.GrepResult)
    if heard.security:
        assert result.reasons == ("lost_worker",)
    json.loads(msgspec.json.encode(result))
    numbers = [entry.line_number or 0 for entry in result.entries]
    assert numbers == sorted(set(numbers))
    assert min(numbers, default=1) >= 1
    assert all(len(entry.line or "") <= LIMITS.line_chars for entry in result.entries)
    assert all(len(entry.line or "") <= (entry.line_length or 0) for entry in result.entries)
    assert all(skip.count <= 2**53 for skip in result.skipped)


@pytest.mark.parametrize("lie", GROUPS["rests"])
def test_a_rest_that_cannot_be(tell: Tell, lie: str) -> None:
    """What is handed back is less than what was handed out, a part of it, in order, without overlap, behind the last
    finding: else a worker could multiply its own work, or walk where it was not sent."""
    heard = tell(lie)
    assert str(heard) == "lost_worker"
    assert any(words in heard.security for words in ("a rest", "impossible name", "no folder holds"))


# --- too much, too little -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", GROUPS["floods"])
def test_a_flood_ends_with_its_sender(tell: Tell, lie: str) -> None:
    """Nobody reads on behind a lie: however fast a worker writes, the supervisor holds one frame of bounded length."""
    heard = tell(lie, request_seconds=0.8)
    assert str(heard) in {"lost_worker", "deadline", "pattern_too_costly", "complete"}
    if lie.startswith("the same"):
        assert "a frame out of turn" in heard.security


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


@pytest.mark.parametrize("lie", GROUPS["silence"])
def test_silence_ends_by_the_clock(tell: Tell, lie: str) -> None:
    """Who does not answer within the limit of its step is killed. Silence is no lie; it counts as time run out."""
    heard = tell(lie, request_seconds=0.8, compile_seconds=0.1, scan_seconds=0.1, folder_seconds=0.1)
    allowed = {
        "start": {"deadline", "pattern_too_costly", "complete"},
        "query": {"deadline", "pattern_too_costly"},
        "ticket": {"deadline", "lost_worker"},
        "after": {"deadline", "lost_worker", "complete", "pattern_too_costly"},
    }
    assert str(heard) in allowed[stage(lie)]


@pytest.mark.parametrize("lie", GROUPS["closed"])
def test_a_closed_socket_ends_its_worker(tell: Tell, lie: str) -> None:
    """Who hangs up is of no more use: it is killed, and another takes its place at once."""
    heard = tell(lie)
    allowed = {"start": {"deadline"}, "after": {"complete"}}
    assert str(heard) in {"lost_worker"} | allowed.get(stage(lie), set())


# --- deaths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", GROUPS["deaths"])
def test_workers_that_die_again_and_again(tell: Tell, lie: str) -> None:
    """Five deaths in a row end a request as incomplete, whatever they were; a call that the filter kills is in the log."""
    heard = tell(lie)
    allowed = {
        "start": {"deadline", "lost_worker", "spawn_failed"},
        "query": {"pattern_too_costly"} if "SIGALRM" in lie else {"lost_worker"},
        "ticket": {"lost_worker"},
        "after": {"lost_worker", "complete"},
    }
    assert str(heard) in allowed[stage(lie)]
    if "SIGSYS" in lie:
        assert "system-call filter" in heard.security


@pytest.mark.parametrize("lie", GROUPS["last words"])
def test_last_words_are_believed_within_the_shard_alone(tell: Tell, lie: str) -> None:
    """A dying worker blames a file: it counts as guilty only where it could have been sent, and nothing else is named. Who
    blames the same file over and over ends the request as one who blames none."""
    heard = tell(lie)
    result = heard.answer
    assert isinstance(result, grille.GrepResult)
    assert {"lost_worker", "repeated_timeouts"} & set(result.reasons)
    for skip in result.skipped:
        for name in skip.first:
            assert name == "/mnt/tree/d" or name.startswith("/mnt/tree/d/")
            assert not {"", ".", ".."} & set(name.split("/")[1:])
            assert "\0" not in name
    if "file that is" in lie:
        assert ("timed_out" if "SIGALRM" in lie else "crashed") in result.reasons
        assert [skip.count for skip in result.skipped] == [1]


def test_memory_that_runs_out_again_and_again_ends_the_request(tell: Tell) -> None:
    """Each such death costs a file its place in the search; when too many do, the request is given up."""
    assert str(tell("out of memory over another file each time")) in {
        "lost_worker+out_of_memory",
        "deadline+out_of_memory",
    }


# --- the beginning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(
    "lie", ["dies by exit 0, start", "dies by SIGSYS, start", "closes its socket and lives on, start"]
)
def test_a_workspace_whose_workers_end_at_once_opens_or_says_why_not(
    scene: Scene, lie: str, workers: int
) -> None:
    """Contract 9: opening ends, with a workspace or a typed error, also where no worker lives to be attested. A worker that
    is gone lacks no layer."""
    for _ in range(3):
        root = scene.tree()
        order(root, lie)

        def open_(root: Path = root) -> Answer:
            with scene.open(root, workers=workers):
                return grille.PoolError("opened", "")

        assert in_short(bounded(open_, REQUEST_SECONDS)) in {"opened", "spawn_failed"}
