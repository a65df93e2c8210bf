"""The lock-down of one worker, step by step.

The order is the point; do not permute it. Beside each step stands what breaks if it moves.

  1. descriptors     first: a folder left open lists its contents through every later layer (measured),
  Landlock included
  2. no new privs    before Landlock and seccomp, which the kernel refuses without it
  3. ruleset made    before the ids go: its descriptors were opened by whoever we were
  4. identity        before PDEATHSIG, which a change of ids clears (measured: 9 -> 0); before DUMPABLE,
  which it resets
  5. process flags   before the limits, so that no core is taken of what follows
  6. rlimits         after the ids: NPROC counts per id; before seccomp, which has no setrlimit
  7. Landlock        after everything that mounts (mount(2) is EPERM under it); before seccomp, which has no
  such call
  8. seccomp         last: it forbids all of the above
  9. canaries        behind the bars, with the calls that a worker has; the supervisor asks for what they saw

Leaves to others: the empty root and the namespaces (cell.py has built them), and the judgement (the
supervisor's).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...policy.syscalls import RESULT_FD
from ...policy.wire import Ready
from . import identity, kernel, landlock, rlimits, seccomp
from .failure import building

FIRST_ROOT_FD: Final = RESULT_FD + 1
"""The mounts' descriptors follow the socket, in the policy's order."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_MDWE: Final = 65
_PR_MDWE_REFUSE_EXEC_GAIN: Final = 1
_SIGKILL: Final = 9


class Bars(NamedTuple):
    """What one worker is locked into."""

    socket: int
    roots: Sequence[int]
    private_id: int | None
    memory_bytes: int
    cpu_seconds: int
    filter: bytes
    canary: bytes


def lock_down(bars: Bars) -> Ready:
    """Give everything up, for ever, and say what the bars look like from inside. Raises LayerFailed."""
    with building("close_fds"):
        roots = _keep_only(bars.socket, bars.roots)
    with building("no_new_privs"):
        kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    with building("landlock"):
        abi = landlock.running_abi()
        ruleset = landlock.make_ruleset(roots)
    with building("private_uid"):
        identity.become(bars.private_id)
    with building("dumpable"):
        kernel.prctl(_PR_SET_DUMPABLE, 0)
        kernel.prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    mdwe = _refuse_executable_memory()
    with building("rlimits"):
        rlimits.apply(memory_bytes=bars.memory_bytes, cpu_seconds=bars.cpu_seconds)
    with building("landlock"):
        landlock.restrict_self(ruleset)
        os.close(ruleset)
    with building("seccomp"):
        seccomp.load(bars.filter)
    return _look_around(roots[0], bars.canary, abi, mdwe)


def _keep_only(socket: int, roots: Sequence[int]) -> list[int]:
    """Descriptors 3 (the socket) and 4.. (the mounts), and no other one."""
    last = FIRST_ROOT_FD + len(roots)
    # Out of the way first, so that no dup2 below overwrites a descriptor that is still to be moved.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, last) for fd in (socket, *roots)]
    for target, fd in enumerate(moved, start=RESULT_FD):
        os.dup2(fd, target, inheritable=False)
    for standard in range(RESULT_FD):
        os.close(standard)
    kernel.syscall("close_range", last, 0xFFFF_FFFF, 0)
    return list(range(FIRST_ROOT_FD, last))


def _refuse_executable_memory() -> bool:
    try:
        kernel.prctl(_PR_SET_MDWE, _PR_MDWE_REFUSE_EXEC_GAIN)
    except OSError:
        return False  # Linux < 6.3; the seccomp rule on mmap says the same
    return True


def _look_around(root: int, canary: bytes, abi: int, mdwe: bool) -> Ready:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    return Ready(
        landlock_abi=abi,
        # Through a descriptor, as the filter wants it. The kernel ignores it for an absolute path.
        outside_errno=_open_errno(canary, flags, root),
        root_errno=_open_errno(b"/", flags | os.O_DIRECTORY, root),
        inside_errno=_open_errno(b".", flags | os.O_DIRECTORY, root),
        mdwe=mdwe,
    )


def _open_errno(path: bytes, flags: int, root: int) -> int:
    try:
        os.close(os.open(path, flags, dir_fd=root))
    except OSError as error:
        return error.errno or 0
    return 0
