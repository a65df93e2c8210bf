"""Which descriptors a process keeps. An inherited one bypasses every later layer, so this is a layer, not
hygiene.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Sequence

from ...policy.syscalls import RESULT_FD
from . import kernel

_LAST = 0xFFFF_FFFF


def close_all_but(kept: Collection[int]) -> None:
    """Close every descriptor that is not in `kept`. Raises OSError."""
    lowest = 0
    for descriptor in sorted(kept):
        if descriptor > lowest:
            kernel.syscall("close_range", lowest, descriptor - 1, 0)
        lowest = descriptor + 1
    kernel.syscall("close_range", lowest, _LAST, 0)


def line_up(socket: int, roots: Sequence[int]) -> list[int]:
    """Make the socket descriptor RESULT_FD and the mounts the ones that follow it; close every other. The
    mounts'.

    Standard input, output and error go, too: nothing that a worker could print has a reader.
    """
    first = RESULT_FD + 1
    last = first + len(roots)
    # Out of the way first, so that no dup2 below overwrites a descriptor that is still to be moved.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, last) for fd in (socket, *roots)]
    for target, fd in enumerate(moved, start=RESULT_FD):
        os.dup2(fd, target, inheritable=False)
    close_all_but(range(RESULT_FD, last))
    return list(range(first, last))
