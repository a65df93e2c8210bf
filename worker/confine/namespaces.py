"""Own namespaces: mounts, processes, network, IPC, host name, control groups; and a user namespace for an
ordinary user.

Invariants: exactly one id is mapped, so no other owner's rights can be taken on inside; setgroups is denied
first, as user_namespaces(7) demands.
"""

from __future__ import annotations

import os
import signal
from typing import Final

from . import kernel

_NEWNS: Final = 0x0002_0000
_NEWCGROUP: Final = 0x0200_0000
_NEWUTS: Final = 0x0400_0000
_NEWIPC: Final = 0x0800_0000
_NEWUSER: Final = 0x1000_0000
_NEWPID: Final = 0x2000_0000
_NEWNET: Final = 0x4000_0000
_OTHERS: Final = _NEWPID | _NEWNET | _NEWIPC | _NEWUTS | _NEWCGROUP


def enter(*, user_namespace: bool) -> None:
    """Unshare everything; the next child is pid 1 of the new process namespace. Raises OSError.

    With `user_namespace` (an ordinary user, who lacks CAP_SYS_ADMIN) the caller keeps its own ids, mapped to
    themselves.
    """
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(_NEWNS | _OTHERS | (_NEWUSER if user_namespace else 0))
    if user_namespace:
        _write_maps("self", f"{uid} {uid} 1", f"{gid} {gid} 1")


def enter_without_mounts() -> None:
    """For the lower tiers, where mounting is forbidden: what else can be had, all or nothing. Raises
    OSError.
    """
    kernel.unshare(_OTHERS)


def mapping_namespace(owner: tuple[int, int], shown: int) -> int:
    """A descriptor of a user namespace that maps files of `owner` (uid, gid) to the id `shown`, for an
    id-mapped mount.

    A namespace lives as long as somebody holds it, so a child makes it, the parent takes hold of it, and the
    child goes.
    """
    ready_r, ready_w = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        try:
            kernel.unshare(_NEWUSER)
            os.write(ready_w, b"u")
            signal.pause()
        finally:
            os._exit(1)
    try:
        os.close(ready_w)
        if os.read(ready_r, 1) != b"u":
            raise PermissionError("no user namespace")
        _write_maps(str(child), f"{owner[0]} {shown} 1", f"{owner[1]} {shown} 1")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready_r)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _write_maps(process: str, uid_map: str, gid_map: str) -> None:
    for file, text in (("setgroups", "deny"), ("uid_map", uid_map), ("gid_map", gid_map)):
        with open(f"/proc/{process}/{file}", "w", encoding="ascii") as maps:
            maps.write(text)
