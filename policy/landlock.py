"""Landlock's access rights by ABI version, as data (linux/landlock.h).

Invariant: a ruleset handles every right that both this table and the running kernel know, and grants two of
them (read a file, list a folder), beneath the mounts only. A kernel newer than the table is treated as the
newest ABI here: rights are taken from what was tested, never guessed from the kernel's number.
"""

from __future__ import annotations

from typing import Final, NamedTuple

READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
GRANTED: Final = READ_FILE | READ_DIR
"""What a worker may do beneath its mounts. Nothing is granted elsewhere."""


class Handled(NamedTuple):
    """What a ruleset of one ABI denies unless granted."""

    files: int
    network: int
    scopes: int


_ABI1_FILES: Final = (1 << 13) - 1  # EXECUTE .. MAKE_SYM
_REFER: Final = 1 << 13
_TRUNCATE: Final = 1 << 14
_IOCTL_DEV: Final = 1 << 15
_TCP: Final = 0b11  # BIND_TCP | CONNECT_TCP
_SCOPES: Final = 0b11  # ABSTRACT_UNIX_SOCKET | SIGNAL

HANDLED: Final[dict[int, Handled]] = {
    1: Handled(_ABI1_FILES, 0, 0),  # Linux 5.13
    2: Handled(_ABI1_FILES | _REFER, 0, 0),  # 5.19
    3: Handled(_ABI1_FILES | _REFER | _TRUNCATE, 0, 0),  # 6.2
    4: Handled(_ABI1_FILES | _REFER | _TRUNCATE, _TCP, 0),  # 6.7
    5: Handled(_ABI1_FILES | _REFER | _TRUNCATE | _IOCTL_DEV, _TCP, 0),  # 6.10
    6: Handled(_ABI1_FILES | _REFER | _TRUNCATE | _IOCTL_DEV, _TCP, _SCOPES),  # 6.12
    7: Handled(
        _ABI1_FILES | _REFER | _TRUNCATE | _IOCTL_DEV, _TCP, _SCOPES
    ),  # 6.15: audit flags, no new right
}

NEWEST: Final = max(HANDLED)


def handled(abi: int) -> Handled:
    """The rights handled on a kernel of this ABI (1 and up)."""
    return HANDLED[min(abi, NEWEST)]
