"""Compiles the allow-list (policy/syscalls.py) into a seccomp program, once for a process.

libseccomp knows the call numbers, the 64-bit compares and the x32 trap; we do not write BPF by hand. It
compiles here, in the supervisor; workers load the bytes.
"""

from __future__ import annotations

import functools
import os
import platform

from ..policy import syscalls
from ..policy.errors import ConfinementError

_PACKAGES = "libseccomp2 on Debian and Ubuntu, libseccomp on Fedora, Arch and openSUSE"


@functools.cache
def compiled_filter() -> bytes:
    """The program for this machine. Raises ConfinementError when libseccomp or the architecture is
    unknown.
    """
    machine = platform.machine()
    if machine not in syscalls.OPEN_FLAGS:
        known = ", ".join(sorted(syscalls.OPEN_FLAGS))
        raise ConfinementError(
            "layer_missing", f"No system-call list is known for {machine}; there is one for {known}."
        )
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise ConfinementError(
            "library_missing", f"libseccomp.so.2 was not found: install the package {_PACKAGES}."
        ) from error
    program = pyseccomp.SyscallFilter(defaction=pyseccomp.KILL_PROCESS)
    # libseccomp answers a foreign calling convention with a kill of one thread; we want the process.
    program.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    for rule in syscalls.allowed(machine):
        conditions = [pyseccomp.Arg(a.position, pyseccomp.MASKED_EQ, a.mask, a.value) for a in rule.arguments]
        program.add_rule(pyseccomp.ALLOW, rule.call, *conditions)
    return _exported(program)


def _exported(program: object) -> bytes:
    memory = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    with open(memory, "w+b") as file:
        program.export_bpf(file)  # type: ignore[attr-defined]
        file.seek(0)
        return file.read()
