"""The lock-down of one worker, step by step.

The order is the point; do not permute it. Beside each step stands what breaks if it moves.

  1. descriptors     first: a folder left open lists its contents through every later layer (measured),
  Landlock
                     included
  2. no new privs    before Landlock and seccomp, which the kernel refuses without it
  3. ruleset made    before the ids go: its descriptors were opened by whoever we were
  4. chroot          at tier B alone; before the ids go, since it takes a capability
  5. identity        before PDEATHSIG, which a change of ids clears (measured: 9 -> 0); before DUMPABLE,
  which it
                     resets
  6. process flags   before the limits, so that no core is taken of what follows
  7. rlimits         after the ids: NPROC counts per id; before seccomp, which has no setrlimit
  8. Landlock        after everything that mounts (mount(2) is EPERM under it); before seccomp, which has no
  such
                     call
  9. seccomp         last: it forbids all of the above
 10. canaries        behind the bars, with the calls that a worker has; the supervisor asks for what they saw

Leaves to others: the empty root and the namespaces (builder.py has made them), and the judgement: a layer
that could not be put in force raises, unless the policy called it dispensable; the supervisor weighs what
the canaries saw.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...policy.syscalls import RESULT_FD
from ...policy.wire import Ready
from . import descriptors, identity, kernel, landlock, rlimits, seccomp
from .failure import LayerFailed, building

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
    chroot: bool
    """Tier B: make the one mount our root."""
    may_lack_landlock: bool
    landlock_ceiling: int


def lock_down(bars: Bars) -> Ready:
    """Give everything up, for ever, and say what the bars look like from inside. Raises LayerFailed."""
    with building("close_fds"):
        roots = descriptors.line_up(bars.socket, bars.roots)
        witness = os.open("/", os.O_PATH | os.O_CLOEXEC)
    with building("no_new_privs"):
        kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    ruleset, landlock_errno = _make_ruleset(roots, bars)
    if bars.chroot:
        with building("chroot"):
            os.fchdir(roots[0])
            os.chroot(".")
    with building("private_uid"):
        identity.become(bars.private_id)
    with building("dumpable"):
        kernel.prctl(_PR_SET_DUMPABLE, 0)
        kernel.prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    mdwe = _refuse_executable_memory()
    with building("rlimits"):
        rlimits.apply(memory_bytes=bars.memory_bytes, cpu_seconds=bars.cpu_seconds)
    if ruleset is not None:
        with building("landlock"):
            landlock.restrict_self(ruleset)
    with building("seccomp"):
        seccomp.load(bars.filter)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    ready = Ready(
        landlock_abi=0 if ruleset is None else ruleset.abi,
        landlock_errno=landlock_errno,
        # Through a descriptor, as the filter wants it. The kernel ignores it for an absolute path.
        outside_errno=_open_errno(bars.canary, flags, roots[0]),
        witness_errno=_open_errno(b".", flags | os.O_DIRECTORY, witness),
        inside_errno=_open_errno(b".", flags | os.O_DIRECTORY, roots[0]),
        mdwe=mdwe,
    )
    os.close(witness)
    return ready


def _make_ruleset(roots: Sequence[int], bars: Bars) -> tuple[landlock.Ruleset | None, int]:
    try:
        return landlock.make_ruleset(roots, bars.landlock_ceiling), 0
    except OSError as error:
        if bars.may_lack_landlock:
            return None, error.errno or 0
        raise LayerFailed("landlock", error.errno or 0) from error


def _refuse_executable_memory() -> bool:
    try:
        kernel.prctl(_PR_SET_MDWE, _PR_MDWE_REFUSE_EXEC_GAIN)
    except OSError:
        return False  # Linux < 6.3; the seccomp rule on mmap says the same
    return True


def _open_errno(path: bytes, flags: int, root: int) -> int:
    try:
        os.close(os.open(path, flags, dir_fd=root))
    except OSError as error:
        return error.errno or 0
    return 0
