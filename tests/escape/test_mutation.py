"""The allow-list holds nothing that could be left out, and no condition that could be dropped.

Taking a rule away must kill the job; taking a condition away must let a named attempt of this suite through the filter.
A rule or a condition for which neither happens is not known to matter, and has no place in the list.
"""

from __future__ import annotations

import contextlib
import platform
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

import grille
from grille.policy import syscalls
from grille.policy.errors import GrilleError
from grille.policy.syscalls import Argument, Rule
from grille.policy.wire import WorkerExited, WorkerSpawned
from grille.pool import loop
from grille.pool.cells import Cell
from grille.pool.filters import compiled
from grille.pool.zygote import Zygote

from . import test_kernel_surface, test_paths, test_writes
from .harness import ATTEMPTS, SUCCESS, S, Jail

assert test_kernel_surface and test_paths and test_writes  # their rows are what ATTEMPTS holds

MACHINE = platform.machine()
RULES = syscalls.allowed(MACHINE)
LOW_HALF = 0xFFFF_FFFF


# --- a rule less -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """The product's own, with real workers."""
    with contextlib.closing(Zygote()) as running:
        yield running


def without(rule: Rule) -> bytes:
    """The filter, a rule less."""
    return compiled([kept for kept in RULES if kept is not rule], MACHINE)


def test_the_sample_job_lives_under_the_whole_list(zygote: Zygote) -> None:
    """The control of the next test."""
    tried = zygote.try_filter(compiled(RULES, MACHINE))
    assert (tried.signal, tried.status) == (0, 0)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.call)
def test_the_sample_job_dies_without_any_rule(rule: Rule, zygote: Zygote) -> None:
    """Each rule is used by the job that is run before a pool serves anybody; so a missing one is noticed then."""
    assert zygote.try_filter(without(rule)).signal == signal.SIGSYS


def grep_under(program: bytes, tree: Path) -> tuple[list[str], set[int]]:
    """What a real search over `tree` finds with workers under `program`, and the signals that its workers died of."""
    signals: set[int] = set()
    receive = Cell.receive

    def overheard(cell: Cell) -> list[tuple[WorkerSpawned | WorkerExited, int | None]] | None:
        told = receive(cell)
        signals.update(said.signal for said, _ in told or [] if isinstance(said, WorkerExited))
        return told

    policy = grille.Policy(mounts=[grille.Mount("/tree", host=str(tree))], limits=grille.Limits(workers=1))
    with (
        mock.patch.object(loop, "compiled_filter", lambda: program),
        mock.patch.object(loop, "proven_zygote", Zygote),  # a preflight would not let a mutated list come so far
        mock.patch.object(Cell, "receive", overheard),
        grille.Pool() as pool,
    ):
        try:
            with pool.open(policy) as workspace:
                result = workspace.grep(r"need(?=le)")
        except GrilleError:
            return [], signals
        return [entry.path for entry in result.entries], signals


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files, a nested folder, and one file that takes more than one read."""
    root = tmp_path_factory.mktemp("tree")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "deep.txt").write_text("hay\nneedle\n")
    (root / "large.txt").write_bytes(b"hay hay hay hay\n" * 50_000 + b"needle\n")
    (root / "small.txt").write_text("needle\n")
    return root


FOUND = ["/tree/a/b/deep.txt", "/tree/large.txt", "/tree/small.txt"]


def test_a_search_finds_everything_under_the_whole_list(tree: Path) -> None:
    """The control of the next test."""
    assert grep_under(compiled(RULES, MACHINE), tree) == (FOUND, set())


_NOT_AT_WORK = {"exit_group": "a worker ends when it is killed, or when the supervisor is gone"}


@pytest.mark.parametrize("rule", [r for r in RULES if r.call not in _NOT_AT_WORK], ids=lambda rule: rule.call)
def test_a_search_dies_without_any_rule(rule: Rule, tree: Path) -> None:
    """A real search by a real worker needs each rule: without it the worker is killed by the filter."""
    _, signals = grep_under(without(rule), tree)
    assert signal.SIGSYS in signals


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
_OPEN_MASK = next(a.mask for rule in RULES if rule.call == "openat" for a in rule.arguments if a.position == 2)

WIDENINGS = (
    Widening("mmap", 2, 0, ["executable", "no access"]),
    Widening("mmap", 2, LOW_HALF, ["protection with bits above"]),
    Widening("mmap", 3, 0, ["shared", "at a fixed address"]),
    Widening("mmap", 3, LOW_HALF, ["flags with bits above"]),
    Widening("mremap", 3, 0, ["mremap to a fixed address", "mremap without unmapping"]),
    Widening("mremap", 3, LOW_HALF, ["mremap with bits above"], "the kernel reads all 64 bits of these flags"),
    Widening("openat", 0, 0, ["the working directory, zero-extended", "/etc/passwd from the working directory"], "empty root, Landlock"),
    Widening("openat", 2, 0, ["O_PATH inside", "O_NOATIME", "O_ASYNC", "O_SYNC"]),
    Widening("openat", 2, LOW_HALF & _OPEN_MASK, ["O_RDONLY with bits above", "O_RDONLY with all bits above"]),
    Widening("openat", 2, _OPEN_MASK & ~0o3, ["O_WRONLY", "O_RDWR"], "read-only mount"),
    Widening("openat", 2, _OPEN_MASK & ~0o100, ["O_RDONLY|O_CREAT"], "read-only mount"),
    Widening("openat", 2, _OPEN_MASK & ~0o1000, ["O_RDONLY|O_TRUNC"], "read-only mount"),
    Widening("openat", 2, _OPEN_MASK & ~0o10000000, ["O_PATH inside"]),
    Widening("openat", 2, _OPEN_MASK & ~_FLAGS.nofollow, ["link to a file inside, followed"], "mount without links"),
    Widening("setitimer", 0, 0, ["setitimer, PROF"]),
    Widening("setitimer", 0, LOW_HALF, ["setitimer with bits above"]),
    Widening("write", 0, 0, ["write to stdout", "write outside, to a leaked descriptor"], "closed descriptors"),
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
    """No condition of the list is without an attempt that shows what it is for: dropped whole, and cut to its low half."""
    conditions = {(rule.call, a.position) for rule in RULES for a in rule.arguments}
    assert {(w.call, w.position) for w in WIDENINGS if w.mask == 0} == conditions
    whole = {(rule.call, a.position) for rule in RULES for a in rule.arguments if a.mask > LOW_HALF}
    assert {(w.call, w.position) for w in WIDENINGS if w.mask in (LOW_HALF, LOW_HALF & _OPEN_MASK)} == whole
