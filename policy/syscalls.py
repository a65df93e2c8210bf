"""The system calls that a locked-down worker may make, as a table with a reason for each.

Invariants: everything absent from ALLOWED kills the process (SECCOMP_RET_KILL_PROCESS), on any architecture
and in any calling convention but the native one. No rule lets a path be looked up from the working directory
or the root (`openat` needs a real directory descriptor), none can create, write, follow a link, map code,
start a process or reach the network. `write` reaches the result socket alone.

The list is the smallest on which the whole job runs, found by taking calls away until it died. The worker
lists folders with raw `getdents64` and asks for sizes with raw `fstat`, so the libc's own choices
(`newfstatat` with a path, `fcntl`, `lseek`) are not needed and the same list serves every tier and every
glibc.

This module says what is allowed; pool/filters.py compiles it, worker/confine/seccomp.py loads the result.
"""

from __future__ import annotations

from typing import Final, NamedTuple

RESULT_FD: Final = 3
"""Descriptor of the worker's one socket. The `write` rule is pinned to it."""

_ALL_BITS: Final = 0xFFFF_FFFF_FFFF_FFFF

ITIMER_REAL: Final = 0
PROT_READ_WRITE: Final = 0x1 | 0x2
MAP_PRIVATE_ANONYMOUS: Final = 0x02 | 0x20
MREMAP_MAYMOVE: Final = 1

O_CLOEXEC: Final = 0o2000000
O_NONBLOCK: Final = 0o4000
O_NOCTTY: Final = 0o400


class OpenFlags(NamedTuple):
    """The `open` flags whose numbers differ between architectures (asm/fcntl.h)."""

    directory: int
    nofollow: int
    largefile: int


OPEN_FLAGS: Final[dict[str, OpenFlags]] = {
    "aarch64": OpenFlags(directory=0o40000, nofollow=0o100000, largefile=0o400000),
    "x86_64": OpenFlags(directory=0o200000, nofollow=0o400000, largefile=0o100000),
}
"""Architectures that grille knows, by `uname -m`. Another one is refused, never guessed at."""


class Argument(NamedTuple):
    """One condition on a call: `(args[position] & mask) == value`, over all 64 bits of the register.

    The kernel reads many arguments as 32-bit integers and ignores what stands above; a filter that compared
    only the low half would pass a call that a later kernel reads whole (CVE-2019-10063). Full masks are
    deliberate: a libc that leaves garbage in the upper half dies here, loudly.
    """

    position: int
    mask: int
    value: int


class Rule(NamedTuple):
    """A call that is allowed when every condition of `arguments` holds."""

    call: str
    arguments: tuple[Argument, ...]
    reason: str


def exactly(index: int, value: int) -> Argument:
    """The argument must be `value`, to the bit."""
    return Argument(index, _ALL_BITS, value)


# A directory descriptor is a small positive number. AT_FDCWD (-100) has bit 31 set, in whatever width the
# libc sign-extends it to, so this one bit excludes every look-up that starts from the working directory.
_REAL_DIRFD: Final = Argument(0, 0x8000_0000, 0)


def allowed(machine: str) -> tuple[Rule, ...]:
    """The allow-list for an architecture (`uname -m`).

    Raises KeyError for an architecture whose flag numbers are not in OPEN_FLAGS.
    """
    flags = OPEN_FLAGS[machine]
    harmless = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags.directory | flags.largefile
    read_only_no_link = Argument(2, _ALL_BITS & ~harmless, flags.nofollow)
    return (
        Rule("brk", (), "malloc"),
        Rule("close", (), "files and folders, once read"),
        Rule("exit_group", (), "the ordinary end"),
        Rule("fstat", (), "size and kind of an open file; takes no path, unlike newfstatat"),
        Rule(
            "getdents64",
            (),
            "lists a folder, with the kind of each entry, so that nothing else need be asked",
        ),
        Rule(
            "mmap",
            (exactly(2, PROT_READ_WRITE), exactly(3, MAP_PRIVATE_ANONYMOUS)),
            "memory for Python and RE2; never a file (a truncated one is SIGBUS), never shared, never code",
        ),
        Rule("mremap", (exactly(3, MREMAP_MAYMOVE),), "realloc, and the shrinking of a read buffer"),
        Rule("munmap", (), "gives memory back"),
        Rule(
            "openat",
            (_REAL_DIRFD, read_only_no_link),
            "a file or folder below a directory descriptor: read only, and O_NOFOLLOW always set",
        ),
        Rule("read", (), "files, and the supervisor's frames"),
        Rule("setitimer", (exactly(0, ITIMER_REAL),), "the limit of a scan: a kill by the kernel's timer"),
        Rule("write", (exactly(0, RESULT_FD),), "results, to the supervisor alone"),
    )
