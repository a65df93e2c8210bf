"""Looks at a worker from outside before it gets its first job: what the kernel says of it, not what it says
of itself.

/proc shows no-new-privs, seccomp, capabilities, ids and threads. It does not show Landlock; that is what the
canaries of the `Ready` frame are for.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Final

from ..policy.confinement import Tier
from ..policy.syscalls import RESULT_FD
from ..policy.wire import Ready


class Vanished(Exception):
    """The process has ended: there is nothing to attest, and its end will be told."""


class NotConfined(Exception):
    """A worker lacks a layer: its name, and what was seen. It must be killed."""

    def __init__(self, layer: str, seen: str) -> None:
        super().__init__(f"{layer}: {seen}")
        self.layer = layer
        self.seen = seen


def pid_of(pidfd: int) -> int:
    """The process's number in our own namespace; -1 once it is gone. A pidfd cannot be reused, so this
    cannot lie.
    """
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as info:
        match = re.search(r"^Pid:\s*(-?\d+)$", info.read(), re.MULTILINE)
    return int(match[1]) if match else -1


_OUTSIDE_ERRNO: Final[dict[Tier, int]] = {"A": errno.ENOENT, "B": errno.ENOENT, "C": errno.EACCES}
"""What opening a file outside must answer: no such name, or, where only Landlock stands there, no such
right.
"""


def attest(pidfd: int, ready: Ready, tier: Tier, private_id: int | None, mounts: int) -> None:
    """Raises NotConfined unless every layer that can be seen from outside is in force on this process, and
    Vanished when it has ended.

    A worker without Landlock is let through here: whether it may lack it is the policy's to say.
    """
    pid = pid_of(pidfd)
    seen = _status(pid)
    # "Seccomp: 3" is a process that the filter has just killed (Linux 5.16 and later), not yet a zombie.
    if seen.get("State", "Z")[0] in "ZX" or seen.get("Seccomp") == "3":
        raise Vanished
    _require("no_new_privs", seen.get("NoNewPrivs"), "1")
    _require("seccomp", seen.get("Seccomp"), "2")
    for field in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        _require("attestation", seen.get(field, "").strip("0"), "")
    if private_id is not None:
        _require("private_uid", seen.get("Uid"), "\t".join([str(private_id)] * 4))
        _require("private_uid", seen.get("Gid"), "\t".join([str(private_id)] * 4))
        _require("private_uid", seen.get("Groups", "").strip(), "")
        _require("attestation", seen.get("CapBnd", "").strip("0"), "")
    _require("attestation", seen.get("Threads"), "1")
    if ready.landlock_abi:
        _require("landlock", ready.witness_errno, errno.EACCES)
    _require("canary", ready.outside_errno, _OUTSIDE_ERRNO[tier])
    _require("canary", ready.inside_errno, 0)
    _check_limits(pid)
    _check_descriptors(pid, mounts)


_LIMITS_OF_NOTHING: Final = ("Max core file size", "Max file size", "Max processes")


def _check_limits(pid: int) -> None:
    limits = {line[:26].strip(): line[26:].split()[:2] for line in _read(pid, "limits").splitlines()[1:]}
    for name in _LIMITS_OF_NOTHING:
        _require("rlimits", limits.get(name), ["0", "0"])
    for name in ("Max address space", "Max cpu time", "Max open files"):
        if "unlimited" in limits.get(name, ["unlimited"]):
            raise NotConfined("rlimits", f"{name} is unlimited")


def _check_descriptors(pid: int, mounts: int) -> None:
    """A worker holds its socket and its mounts. Only root may look; for others the lock-down's word must
    do.
    """
    try:
        held = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    except PermissionError:
        return
    except (FileNotFoundError, ProcessLookupError):
        raise Vanished from None
    expected = set(range(RESULT_FD, RESULT_FD + 1 + mounts))
    if held < expected:
        raise Vanished  # it is ending: its descriptors are going
    _require("close_fds", held, expected)


def _status(pid: int) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in _read(pid, "status").splitlines() if ":\t" in line)


def _read(pid: int, file: str) -> str:
    try:
        with open(f"/proc/{pid}/{file}", encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except (FileNotFoundError, ProcessLookupError):
        raise Vanished from None
    except OSError as error:
        raise NotConfined("attestation", os.strerror(error.errno or 0)) from None


def _require(layer: str, seen: object, wanted: object) -> None:
    if seen != wanted:
        raise NotConfined(layer, f"{seen!r} instead of {wanted!r}")
