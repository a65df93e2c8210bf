"""A worker that wants more memory, descriptors or time than it may have ends there, and only it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grille.policy.limits import MIB, Limits
from grille.pool.cells import Cell
from grille.pool.filters import compiled_filter
from grille.worker.confine import rlimits

from .harness import Attempt, Jail, killed, raises, refused, returns, rows
from .toolkit import KEPT, ROOT, Place, burn, call, ctypes, errno, os, signal, slurp


@pytest.fixture(scope="module")
def poor_cell(jail: Jail) -> Iterator[Cell]:
    """A cell whose workers may use 128 MiB and a second of processor time."""
    cell = jail.cell(compiled_filter(), Limits(worker_memory=128 * MIB, worker_cpu_seconds=1))
    yield cell
    cell.close()


def take_memory(at: Place) -> str:
    """More address space than a worker may have."""
    return f"{len(bytearray(200 << 20))} bytes"


def take_memory_bit_by_bit(at: Place) -> int:
    """The same in pieces of a page: malloc grows by brk."""
    held: list[bytearray] = []
    while len(held) < 50_000:
        held.append(bytearray(4000))
    return len(held)


def take_descriptors(at: Place, count: int) -> int:
    """More open folders than a worker may have."""
    last = -1
    for _ in range(count):
        last = call("openat", ROOT, b".", os.O_RDONLY | os.O_NOFOLLOW)
    return last


def crash(at: Place) -> bytes:
    """Read where nothing is."""
    return ctypes.string_at(16, 1)


@rows(
    Attempt("memory at once", take_memory, bars=raises("MemoryError"), control=returns("209715200 bytes")),
    Attempt("memory bit by bit", take_memory_bit_by_bit, bars=raises("MemoryError"), control=returns(50_000)),
    Attempt("descriptors", take_descriptors, arguments=(rlimits.DESCRIPTORS,), bars=refused(errno.EMFILE)),
    Attempt("processor time", lambda at: burn(8.0), bars=killed(signal.SIGXCPU)),
    Attempt("a crash", crash, bars=killed(signal.SIGSEGV), control=killed(signal.SIGSEGV)),
)
def test_a_worker_ends_at_its_limits(attempt: Attempt, jail: Jail, poor_cell: Cell) -> None:
    """The kernel holds the limits; no core is left behind, and the cell's next worker works."""
    if attempt.name == "processor time":
        control: object = jail.without_bars(attempt._replace(do=lambda at: burn(1.3)))[0]
        assert attempt.control(control), control  # type: ignore[arg-type]
    else:
        outcome, _ = jail.without_bars(attempt)
        assert attempt.control(outcome), outcome
    before = jail.yard.fingerprint()
    outcome = jail.behind_bars(attempt, cell=poor_cell)
    assert attempt.bars(outcome), outcome
    assert jail.yard.fingerprint() == before
    next_one = jail.behind_bars(Attempt("read", lambda at: slurp(ROOT, b"kept.txt")), cell=poor_cell)
    assert returns(KEPT)(next_one)
