"""Landlock by raw system calls: read beneath the mounts, nothing else anywhere.

The ruleset ties to the mounts' inodes through their descriptors; it holds for this thread and all that it
forks, and cannot be taken back. It does not restrict metadata (stat, chdir, chmod): mounts.py and seccomp do.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from ...policy import landlock as rights
from . import kernel

_CREATE_RULESET_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
_RULESET_ATTR: Final = struct.Struct("<3Q")  # handled_access_fs, handled_access_net, scoped
_PATH_BENEATH_ATTR: Final = struct.Struct("<Qi")  # packed in the kernel, too

_ATTR_SIZE_BY_ABI: Final = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16, 6: 24, 7: 24}
"""How much of the struct a kernel of that ABI reads; a longer one is accepted only if the rest is zero."""


class Ruleset(NamedTuple):
    """A ruleset's descriptor and the ABI that it was made for."""

    descriptor: int
    abi: int


def running_abi() -> int:
    """The kernel's Landlock ABI. Raises OSError where there is no Landlock, or it is switched off."""
    return kernel.syscall("landlock_create_ruleset", None, 0, _CREATE_RULESET_VERSION)


def make_ruleset(roots: Iterable[int], ceiling: int) -> Ruleset:
    """A ruleset that grants reading beneath the open folders `roots`, of ABI `ceiling` at most.

    Raises OSError: ENOSYS or EOPNOTSUPP without Landlock, EPERM where a container's filter forbids it. A
    ceiling of 0 plays a kernel without.
    """
    if ceiling < 1:
        raise OSError(errno.EOPNOTSUPP, "no Landlock")
    abi = min(running_abi(), rights.NEWEST, ceiling)
    handled = rights.handled(abi)
    attribute = _RULESET_ATTR.pack(handled.files, handled.network, handled.scopes)[: _ATTR_SIZE_BY_ABI[abi]]
    ruleset = kernel.syscall("landlock_create_ruleset", attribute, len(attribute), 0)
    for root in roots:
        beneath = _PATH_BENEATH_ATTR.pack(rights.GRANTED, root)
        kernel.syscall("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, beneath, 0)
    return Ruleset(ruleset, abi)


def restrict_self(ruleset: Ruleset) -> None:
    """Put the ruleset in force on this thread, for ever, and close it. Needs no-new-privs. Raises OSError."""
    kernel.syscall("landlock_restrict_self", ruleset.descriptor, 0)
    os.close(ruleset.descriptor)
