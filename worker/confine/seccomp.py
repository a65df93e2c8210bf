"""Loads a compiled seccomp program. What it allows is policy/syscalls.py; who compiles it is the supervisor.

Loaded as bytes by one raw call: libseccomp's own loader frees memory after the filter is live, under the
filter.
"""

from __future__ import annotations

import ctypes
from typing import Final

from . import kernel

_SET_MODE_FILTER: Final = 1
_SPEC_ALLOW: Final = (
    4  # without it kernels before 5.16 slow every seccomp process down (SSBD); memory holds no other tenant
)
_INSTRUCTION_BYTES: Final = 8


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def load(program: bytes) -> None:
    """Put the filter in force, for ever. Needs no-new-privs. Raises OSError."""
    packed = _Program(len(program) // _INSTRUCTION_BYTES, program)
    kernel.syscall("seccomp", _SET_MODE_FILTER, _SPEC_ALLOW, ctypes.addressof(packed))
