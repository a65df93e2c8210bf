"""The allow-list holds nothing that could be left out, and no condition that could be dropped.

Taking a rule away must kill the job; taking a condition away must let a named attempt of this suite through the filter.
A rule or a condition for which neither happens is not known to matter, and has no place in the list.
"""

from __future__ import annotations

import contextlib
import platform
import select
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import grille
from grille.policy import syscalls
from grille.policy.syscalls import Argument, Rule
from grille.policy.wire import Done, Query, Ticket, WorkerExited
from grille.pool.cells import Cell
from grille.pool.filters import compiled
from grille.pool.roots import Root
from grille.pool.search import Search
from grille.pool.workspace import Workspace
from grille.pool.zygote import Zygote

from . import test_kernel_surface, test_paths, test_writes
from .harness import ATTEMPTS, SUCCESS, Jail, S

_ROWS = (test_kernel_surface, test_paths, test_writes)  # loading them fills ATTEMPTS

MACHINE = platform.machine()
RULES = syscalls.allowed(MACHINE)
LOW_HALF = 0xFFFF_FFFF


# --- a rule less -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def zygote(jail: Jail) -> Iterator[Zygote]:
    """The product's own, with real workers. (The jail is asked for because it skips where nothing can be confined.)"""
    with contextlib.closing(Zygote()) as running:
        yield running


def without(rule: Rule) -> bytes:
    """The filter, a rule less."""
    return compiled([kept for kept in RULES if kept is not rule], MACHINE)


def test_the_sample_job_lives_under_the_whole_list(zygote: Zygote) -> None:
    """The control of the next test."""
    tried = zygote.try_filter(compiled(RULES, MACHINE))
    assert (tried.signal, tried.status) == (0, 0)


# What the sample does not need, with the reason. A real search needs it all the same: see below.
_NOT_IN_THE_SAMPLE = {"brk": "whether a heap grows by brk depends on what was freed before"}


@pytest.mark.parametrize(
    "rule", [r for r in RULES if r.call not in _NOT_IN_THE_SAMPLE], ids=lambda rule: rule.call
)
def test_the_sample_job_dies_without_any_rule(rule: Rule, zygote: Zygote) -> None:
    """Each rule is used by the job that is run before a pool serves anybody; so a missing one is noticed then."""
    assert zygote.try_filter(without(rule)).signal == signal.SIGSYS


class Clerk:
    """Stands where the supervisor would and keeps the search that it is given."""

    def open(self, tenant: Any) -> None:
        """Nothing is started."""
        tenant.report.set_result(None)

    def submit(self, _tenant: object, search: Search) -> None:
        """Keep it, and answer at once."""
        self.search = search
        search.future.cancel()

    def cancel(self, _search: object) -> None:
        """There is nothing to cancel."""

    def close_tenant(self, tenant: Any) -> None:
        """There is nothing but descriptors to close."""
        for root in tenant.roots:
            root.close()


LIMITS = grille.Limits(workers=1, grep_ceiling=100_000, line_chars=2000, max_file_bytes=10_000_000)


@pytest.fixture(scope="module")
def search(tree: Path) -> Search:
    """A search as the product prepares it: for a pattern that must backtrack, over the whole tree."""
    clerk = Clerk()
    policy = grille.Policy(mounts=[grille.Mount("/tree", host=str(tree))], limits=LIMITS)
    with contextlib.closing(Workspace(clerk, policy)) as workspace, contextlib.suppress(CancelledError):  # type: ignore[arg-type]
        workspace.grep(r"need(?=le)", limit=0)
    return clerk.search


def searched(program: bytes, search: Search, tree: Path, zygote: Zygote) -> tuple[list[bytes], WorkerExited]:
    """The files that a real worker under `program` finds, and how it ends once its supervisor is gone."""
    mount = grille.Mount("/tree", host=str(tree))
    policy = grille.Policy(mounts=[mount], limits=LIMITS)
    frames: list[Query | Ticket] = [search.query, Ticket(1, search.query.id, (search.first,), 10.0, ())]
    found: list[bytes] = []
    with (
        contextlib.closing(Root(mount, pseudo_filesystems=False)) as root,
        contextlib.closing(Cell(1, zygote, [root], policy, program)) as cell,
    ):
        worker = cell.spawn(1, None)
        channels = [cell.channel, worker.channel]
        until = time.monotonic() + 30
        while (left := until - time.monotonic()) > 0:
            select.select(channels, [], [], left)
            told = [said for said, _ in cell.receive() or [] if isinstance(said, WorkerExited)]
            for said in (worker.receive() or []) if len(channels) == 2 else []:
                if isinstance(said, Done):
                    found = [hit.path for hit in said.found]
                if frames:
                    worker.send(frames.pop(0))  # each answer but the last is followed by the next order
                else:
                    channels.pop()
                    worker.channel.close()
            if told:
                return found, told[0]
    raise AssertionError("hangs")


FOUND = [b"a/b/deep.txt", b"small.txt", b"z-large.txt"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A nested folder, and a file of more than one read, with lines enough that what is held grows the heap."""
    root = tmp_path_factory.mktemp("tree")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "deep.txt").write_text("hay\nneedle\n")
    (root / "z-large.txt").write_bytes((b"hay " * 200 + b"needle\n") * 8_000)
    (root / "small.txt").write_text("needle\n")
    return root


def test_a_search_finds_everything_under_the_whole_list(search: Search, tree: Path, zygote: Zygote) -> None:
    """The control of the next test: all is found, and the worker ends by itself."""
    found, end = searched(compiled(RULES, MACHINE), search, tree, zygote)
    assert found == FOUND
    assert (end.signal, end.status) == (0, 1)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.call)
def test_a_search_dies_without_any_rule(rule: Rule, search: Search, tree: Path, zygote: Zygote) -> None:
    """A real search by a real worker needs each rule: without it the worker is killed by the filter."""
    _, end = searched(without(rule), search, tree, zygote)
    assert end.signal == signal.SIGSYS


# --- a condition less ------------------------------------------------------------------------------------------------


class Widening(NamedTuple):
    """A condition changed to compare only the bits of `mask`, and the attempts that it then lets through."""

    call: str
    position: int
    mask: int
    attempts: Sequence[str]
    """By name. Each is killed under the real filter."""
    stopped_elsewhere: str = ""
    """The layer that still refuses it. Empty: it succeeds."""

    def __str__(self) -> str:
        return f"{self.call} arg{self.position} & {self.mask:#x}"


_FLAGS = syscalls.OPEN_FLAGS[MACHINE]
_OPEN_MASK = next(
    a.mask for rule in RULES if rule.call == "openat" for a in rule.arguments if a.position == 2
)

WIDENINGS = (
    Widening("mmap", 2, 0, ["executable", "no access"]),
    Widening("mmap", 2, LOW_HALF, ["protection with bits above"]),
    Widening("mmap", 3, 0, ["shared", "at a fixed address"]),
    Widening("mmap", 3, LOW_HALF, ["flags with bits above"]),
    Widening("mremap", 3, 0, ["mremap to a fixed address", "mremap without unmapping"]),
    Widening(
        "mremap", 3, LOW_HALF, ["mremap with bits above"], "the kernel reads all 64 bits of these flags"
    ),
    Widening(
        "openat",
        0,
        0,
        ["the working directory, zero-extended", "/etc/passwd from the working directory"],
        "empty root, Landlock",
    ),
    Widening("openat", 2, 0, ["O_PATH inside", "O_NOATIME", "O_ASYNC", "O_SYNC"]),
    Widening(
        "openat", 2, LOW_HALF & _OPEN_MASK, ["O_RDONLY with bits above", "O_RDONLY with all bits above"]
    ),
    Widening("openat", 2, _OPEN_MASK & ~0o3, ["O_WRONLY", "O_RDWR"], "read-only mount"),
    Widening("openat", 2, _OPEN_MASK & ~0o100, ["O_RDONLY|O_CREAT"], "read-only mount"),
    Widening("openat", 2, _OPEN_MASK & ~0o1000, ["O_RDONLY|O_TRUNC"], "read-only mount"),
    Widening("openat", 2, _OPEN_MASK & ~0o10000000, ["O_PATH inside"]),
    Widening(
        "openat", 2, _OPEN_MASK & ~_FLAGS.nofollow, ["link to a file inside, followed"], "mount without links"
    ),
    Widening("setitimer", 0, 0, ["setitimer, PROF"]),
    Widening("setitimer", 0, LOW_HALF, ["setitimer with bits above"]),
    Widening(
        "write", 0, 0, ["write to stdout", "write outside, to a leaked descriptor"], "closed descriptors"
    ),
    Widening("write", 0, LOW_HALF, ["write to 3 with bits above"]),
)


def widened(widening: Widening) -> bytes:
    """The filter with one condition weaker."""

    def weaker(argument: Argument) -> Argument:
        if argument.position != widening.position:
            return argument
        return Argument(argument.position, widening.mask, argument.value & widening.mask)

    rules = [
        rule._replace(arguments=tuple(map(weaker, rule.arguments))) if rule.call == widening.call else rule
        for rule in RULES
    ]
    assert tuple(rules) != RULES, "nothing was widened"
    return compiled(rules, MACHINE)


@pytest.mark.parametrize("widening", WIDENINGS, ids=str)
def test_a_weaker_condition_lets_an_attempt_through(widening: Widening, jail: Jail) -> None:
    """Under the real filter the attempt is killed; under the weaker one it passes, or reaches another layer."""
    with contextlib.closing(jail.cell(widened(widening))) as cell:
        for name in widening.attempts:
            attempt = ATTEMPTS[name]
            assert S(jail.behind_bars(attempt)), name
            outcome = jail.behind_bars(attempt, cell=cell)
            assert not S(outcome), name
            assert SUCCESS(outcome) is (not widening.stopped_elsewhere), (name, outcome)


def test_every_condition_is_widened() -> None:
    """Each condition has an attempt that shows what it is for: dropped whole, and cut to its low half."""
    conditions = {(rule.call, a.position) for rule in RULES for a in rule.arguments}
    assert {(w.call, w.position) for w in WIDENINGS if w.mask == 0} == conditions
    whole = {(rule.call, a.position) for rule in RULES for a in rule.arguments if a.mask > LOW_HALF}
    assert {(w.call, w.position) for w in WIDENINGS if w.mask in (LOW_HALF, LOW_HALF & _OPEN_MASK)} == whole
