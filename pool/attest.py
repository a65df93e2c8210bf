"""Looks at a worker from outside before it gets its first job: what the kernel says of it, not what it says
of itself.

/proc shows no-new-privs, seccomp, capabilities, ids and threads. It does not show Landlock; that is what the
canaries of the `Ready` frame are for.
"""

from __future__ import annotations

import errno
import os
import re

from ..policy.wire import Ready


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


def attest(pidfd: int, ready: Ready, private_id: int | None) -> None:
    """Raises NotConfined unless every layer that can be seen from outside is in force on this process."""
    seen = _status(pid_of(pidfd))
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
    _require("landlock", ready.root_errno, errno.EACCES)
    if ready.outside_errno not in (errno.ENOENT, errno.EACCES):
        raise NotConfined("canary", f"a file outside answered errno {ready.outside_errno}")
    if ready.inside_errno:
        raise NotConfined("canary", f"the mount itself answered errno {ready.inside_errno}")


def _status(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            return dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    except OSError as error:
        raise NotConfined("attestation", os.strerror(error.errno or 0)) from None


def _require(layer: str, seen: object, wanted: object) -> None:
    if seen != wanted:
        raise NotConfined(layer, f"{seen!r} instead of {wanted!r}")
