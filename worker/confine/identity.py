"""Who a worker is: a private id instead of root, no groups, no capabilities, not even the possibility of
any.
"""

from __future__ import annotations

import os
import struct
from typing import Final

from . import kernel

_PR_CAPBSET_DROP: Final = 24
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_CAPABILITY_VERSION_3: Final = 0x2008_0522
_HIGHEST_CAPABILITY: Final = 63

_CAP_SETGID: Final = 6
_CAP_SETUID: Final = 7
_CAP_SETPCAP: Final = 8
_CAP_SYS_CHROOT: Final = 18


def keep_only_what_workers_need_dropped() -> None:
    """For a cell: keep the capabilities that locking a worker down takes, lose the rest. Raises OSError."""
    _set_capabilities(1 << _CAP_SETGID | 1 << _CAP_SETUID | 1 << _CAP_SETPCAP | 1 << _CAP_SYS_CHROOT)


def become(private_id: int | None) -> None:
    """For a worker: no capabilities for ever; and the uid and gid `private_id`, unless None. Raises
    OSError.
    """
    for capability in range(_HIGHEST_CAPABILITY + 1):
        try:
            kernel.prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            break  # EINVAL past the kernel's last one; EPERM for a user who has none to lose
    kernel.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    if private_id is not None:
        os.setgroups([])
        os.setresgid(private_id, private_id, private_id)
        os.setresuid(private_id, private_id, private_id)
    _set_capabilities(0)


def _set_capabilities(kept: int) -> None:
    header = struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)
    low, high = kept & 0xFFFF_FFFF, kept >> 32
    kernel.syscall("capset", header, struct.pack("<6I", low, low, 0, high, high, 0))
