"""The zygote: exec'ed once for a pool with an empty environment, single-threaded; forks a cell for each
workspace.

Exec'ed rather than forked, since a fork of the host would give every worker the host's heap: secrets, other
tenants' results, threads' locks. It parses messages of the supervisor alone and holds no tenant's data.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import select
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from typing import Final, NoReturn

from ..policy.wire import (
    Attempts,
    CellFailed,
    CellOpened,
    ControlTried,
    ListAttempts,
    Missed,
    OpenCell,
    ToZygote,
    TryFilter,
)
from . import builder, control, escapes, preflight, rehearsal
from .confine import kernel

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_NICE: Final = 5


def main(control_fd: int) -> NoReturn:
    """Serve the supervisor at the other end of `control_fd` until it is gone."""
    _settle()
    rehearsal.run()
    gc.collect()
    gc.freeze()  # what is there now is shared by every fork; a collection would touch, and so copy, all of it
    gc.disable()
    supervisor = socket.socket(fileno=control_fd)
    supervisor.set_inheritable(False)
    poll = select.poll()
    poll.register(supervisor, select.POLLIN)
    while True:
        poll.poll(1000)
        _reap()
        if not poll.poll(0):
            continue
        received = control.receive(supervisor, ToZygote)
        if received is None:
            os._exit(0)
        order, given = received
        if isinstance(order, OpenCell):
            cell_channel, *roots = given
            _answer(supervisor, order, cell_channel, roots)
        elif isinstance(order, TryFilter):
            control.send(supervisor, preflight.try_filter(order.filter))
        elif isinstance(order, ListAttempts):
            control.send(supervisor, Attempts(tuple(attempt.name for attempt in escapes.ATTEMPTS)))
        else:
            control.send(supervisor, _try_control(order.attempt, given[0]))
        for descriptor in given:
            os.close(descriptor)


def _settle() -> None:
    """Become a quiet, unimportant process that dies with the pool."""
    warnings.simplefilter("ignore")  # a warning is printed with its source line, which opens files
    kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's to act upon
    os.setsid()
    os.umask(0o777)
    os.nice(_NICE)
    # The first to go when memory runs out: the host must not.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(supervisor: socket.socket, order: OpenCell, cell_channel: int, roots: Sequence[int]) -> None:
    """Build a cell at the strongest tier that this machine gives and the policy allows, and say how that
    went.
    """
    missed: list[Missed] = []
    for tier in order.tiers:
        built = builder.build(order, tier, cell_channel, roots)
        missed += built.missed
        if built.pid:
            pidfd = os.pidfd_open(built.pid)
            built.release()
            opened = CellOpened(
                order.cell, tier, built.pivoted, built.idmapped, built.user_namespace, tuple(missed)
            )
            control.send(supervisor, opened, [pidfd])
            os.close(pidfd)
            return
    control.send(supervisor, CellFailed(order.cell, tuple(missed)))


def _try_control(attempt: str, folder: int) -> ControlTried:
    """An attempt without bars, in a process and namespaces of its own: what works must not stay."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(escapes.perform(attempt, folder).errno)
        finally:
            os._exit(errno.EIO)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ControlTried(max(0, ended))


if __name__ == "__main__":
    main(int(sys.argv[1]))
