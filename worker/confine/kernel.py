"""Raw system calls for what Python's library lacks, with errno turned into an exception.

Invariant: importing this module resolves every symbol it will need. After lock-down no file can be opened,
so a lazy `dlopen` would kill the worker.
"""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final

_libc: Final = ctypes.CDLL(None, use_errno=True)
_syscall: Final = _libc.syscall
_syscall.restype = ctypes.c_long
_prctl: Final = _libc.prctl
_mount: Final = _libc.mount
_umount2: Final = _libc.umount2
_unshare: Final = _libc.unshare

MACHINE: Final = platform.machine()

# From asm/unistd.h. Calls added since 5.1 share one number on every architecture.
_NUMBERS_BY_MACHINE: Final = {
    "x86_64": {
        "capset": 126,
        "pivot_root": 155,
        "getdents64": 217,
        "fstat": 5,
        "seccomp": 317,
        "memfd_create": 319,
    },
    "aarch64": {
        "capset": 91,
        "pivot_root": 41,
        "getdents64": 61,
        "fstat": 80,
        "seccomp": 277,
        "memfd_create": 279,
    },
}
_NUMBERS_SHARED: Final = {
    "open_tree": 428,
    "mount_setattr": 442,
    "close_range": 436,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
NUMBERS: Final = _NUMBERS_SHARED | _NUMBERS_BY_MACHINE.get(MACHINE, {})

Argument = int | bytes | None | ctypes.Array[ctypes.c_char]


def syscall(name: str, *arguments: Argument) -> int:
    """Make the call; its result.

    Raises OSError with the kernel's errno, KeyError on an unknown architecture.
    """
    return raw_syscall(NUMBERS[name], *arguments)


def raw_syscall(number: int, *arguments: Argument) -> int:
    """The same for a call without a name here. Raises OSError."""
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _syscall(ctypes.c_long(number), *passed)
    if result < 0:
        raise _last_error(f"system call {number}")
    return int(result)


def prctl(option: int, *arguments: int) -> int:
    """prctl(2). Raises OSError."""
    padded = [*arguments, 0, 0, 0, 0][:4]
    result = _prctl(ctypes.c_int(option), *[ctypes.c_ulong(a) for a in padded])
    if result < 0:
        raise _last_error("prctl")
    return int(result)


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None) -> None:
    """mount(2). Raises OSError."""
    if _mount(source, target, kind, ctypes.c_ulong(flags), data):
        raise _last_error("mount")


def unmount_lazily(target: bytes) -> None:
    """umount2(2) with MNT_DETACH. Raises OSError."""
    if _umount2(target, 2):
        raise _last_error("umount2")


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError."""
    if _unshare(ctypes.c_int(flags)):
        raise _last_error("unshare")


def _last_error(name: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{name}: {os.strerror(number)}")
