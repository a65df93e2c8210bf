"""Attempts to get out, for `grille doctor`: what a worker that was taken over would try first.

Each attempt is made twice: by a worker behind the bars, and by a process of the same kind without them. It
returns when it got what it wanted and raises OSError when the kernel said no; a worker that the filter kills
says nothing more. The judgement is made from outside (pool/doctor.py). Nothing here harms the machine it
succeeds on.

The whole list stands in the test suite (tests/escape); these are the ones that a user should see fail on
their machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from ..policy.wire import Attempted
from .confine import kernel

_AT_FDCWD: Final = -100
_TARGET: Final = b"/etc/passwd"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW
_FOLDER: Final = _READ | os.O_DIRECTORY
_scratch: Final = ctypes.create_string_buffer(4096)

LINK: Final = b"link"
FILE: Final = b"file"
"""What the folder that attempts work on holds: a link to /etc/passwd and a file."""

# asm/unistd.h
_NUMBERS: Final[dict[str, dict[str, int]]] = {
    "x86_64": {
        "openat": 257, "newfstatat": 262, "mkdirat": 258, "fchmodat": 268, "utimensat": 280, "socket": 41,
        "clone": 56, "execve": 59, "ptrace": 101, "kill": 62, "mmap": 9, "prctl": 157, "ioctl": 16, "unshare": 272,
        "chroot": 161, "bpf": 321, "userfaultfd": 323, "keyctl": 250, "memfd_create": 319, "setresuid": 117,
        "readlinkat": 267, "process_vm_readv": 310, "getppid": 110,
    },
    "aarch64": {
        "openat": 56, "newfstatat": 79, "mkdirat": 34, "fchmodat": 53, "utimensat": 88, "socket": 198,
        "clone": 220, "execve": 221, "ptrace": 117, "kill": 129, "mmap": 222, "prctl": 167, "ioctl": 29, "unshare": 97,
        "chroot": 51, "bpf": 280, "userfaultfd": 282, "keyctl": 219, "memfd_create": 279, "setresuid": 147,
        "readlinkat": 78, "process_vm_readv": 270, "getppid": 173,
    },
}  # fmt: skip
_SHARED: Final = {"openat2": 437, "io_uring_setup": 425, "pidfd_open": 434}
_numbers: Final = _SHARED | _NUMBERS.get(kernel.MACHINE, {})
_OPEN_HOW: Final = bytes(24)
_BPF_ARRAY: Final = struct.pack("<4I", 2, 4, 4, 1) + bytes(112)  # one element of four bytes


class Attempt(NamedTuple):
    """`name` says what it is after; `go` tries it, given the descriptor of the folder it may see."""

    name: str
    go: Callable[[int], int]


def _call(name: str, *arguments: kernel.Argument) -> int:
    return kernel.raw_syscall(_numbers[name], *arguments)


def _open(root: int) -> int:
    return _call("openat", root, FILE, _READ)


def _fork(_root: int) -> int:
    child = _call("clone", 17, 0, 0, 0, 0)  # SIGCHLD: a plain fork
    if child == 0:
        os._exit(0)
    return child


ATTEMPTS: Final = (
    Attempt("read /etc/passwd by its path", lambda root: _call("openat", root, _TARGET, _READ)),
    Attempt("read it from the working directory", lambda root: _call("openat", _AT_FDCWD, _TARGET, _READ)),
    Attempt("climb out with ..", lambda root: _call("openat", root, b"../" * 40 + b"etc/passwd", _READ)),
    Attempt("follow a link out of the mount", lambda root: _call("openat", root, LINK, os.O_RDONLY)),
    Attempt("list the root folder", lambda root: _call("openat", root, b"/", _FOLDER)),
    Attempt("read /proc/self/environ", lambda root: _call("openat", root, b"/proc/self/environ", _READ)),
    Attempt("open with openat2", lambda root: _call("openat2", root, _TARGET, _OPEN_HOW, len(_OPEN_HOW))),
    Attempt("ask whether /etc/passwd exists", lambda root: _call("newfstatat", root, _TARGET, _scratch, 0)),
    Attempt("read where a link points", lambda root: _call("readlinkat", root, LINK, _scratch, 4096)),
    Attempt("open a file for writing", lambda root: _call("openat", root, FILE, os.O_WRONLY | os.O_NOFOLLOW)),
    Attempt("empty a file", lambda root: _call("openat", root, FILE, _READ | os.O_TRUNC)),
    Attempt("make a folder", lambda root: _call("mkdirat", root, b"made", 0o700)),
    Attempt("change a file's mode", lambda root: _call("fchmodat", root, FILE, 0o600)),
    Attempt("change a file's time", lambda root: _call("utimensat", root, FILE, None, 0)),
    Attempt("start a process", _fork),
    Attempt("start a program", lambda root: _call("execve", b"/bin/true", None, None)),
    Attempt("signal another process", lambda root: _call("kill", -1, 0)),
    Attempt("look at a process's memory", lambda root: _call("process_vm_readv", 1, None, 0, None, 0, 0)),
    Attempt("be traced", lambda root: _call("ptrace", 0, 0, 0, 0)),
    Attempt("open an internet socket", lambda root: _call("socket", 2, 1, 0)),
    Attempt("open a local socket", lambda root: _call("socket", 1, 1, 0)),
    Attempt("map memory as code", lambda root: _call("mmap", 0, 4096, 0b101, 0x22, -1, 0)),
    Attempt("make a file in memory", lambda root: _call("memfd_create", b"x", 0)),
    Attempt("enter a new user namespace", lambda root: _call("unshare", 0x1000_0000)),
    Attempt("use io_uring", lambda root: _call("io_uring_setup", 1, bytes(120))),
    Attempt("make a BPF map", lambda root: _call("bpf", 0, _BPF_ARRAY, len(_BPF_ARRAY))),
    Attempt("catch page faults", lambda root: _call("userfaultfd", 1)),
    Attempt("read the kernel's keyring", lambda root: _call("keyctl", 0, -3, 1, 0, 0)),
    Attempt("make itself traceable again", lambda root: _call("prctl", 4, 1, 0, 0, 0)),
    Attempt("give a file an order (ioctl)", lambda root: _call("ioctl", _open(root), 0x541B, _scratch)),
    Attempt("become root", lambda root: _call("setresuid", 0, 0, 0)),
)
_by_name: Final = {attempt.name: attempt for attempt in ATTEMPTS}


def perform(name: str, root: int) -> Attempted:
    """Make an attempt. The errno with which the kernel refused, or 0: it worked."""
    try:
        _by_name[name].go(root)
    except OSError as error:
        return Attempted(name, error.errno or errno.EIO)
    return Attempted(name, 0)
