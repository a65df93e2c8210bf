"""Compiles the allow-list (policy/syscalls.py) into a seccomp program, once for a process.

libseccomp knows the call numbers, the 64-bit compares and the x32 trap; we do not write BPF by hand. It
compiles here, in the supervisor; workers load the bytes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from collections.abc import Iterable
from typing import Any, Final

from ..policy import syscalls
from ..policy.errors import ConfinementError

_MOST_CALLS: Final = 600
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
    return compiled(syscalls.allowed(machine), machine)


def compiled(rules: Iterable[syscalls.Rule], machine: str) -> bytes:
    """A program that allows exactly `rules` and kills the process for anything else."""
    pyseccomp = _library()
    program = _empty(pyseccomp.KILL_PROCESS, machine)
    for rule in rules:
        conditions = [pyseccomp.Arg(a.position, pyseccomp.MASKED_EQ, a.mask, a.value) for a in rule.arguments]
        program.add_rule(pyseccomp.ALLOW, rule.call, *conditions)
    return _exported(program)


def compiled_denial(call: str, machine: str) -> bytes:
    """A program that kills for `call` alone: with it the preflight finds out whether a job needs that
    call.
    """
    pyseccomp = _library()
    program = _empty(pyseccomp.ALLOW, machine)
    program.add_rule(pyseccomp.KILL_PROCESS, call)
    return _exported(program)


def call_names() -> list[str]:
    """The system calls of this machine that libseccomp knows, by name."""
    pyseccomp = _library()
    names = []
    for number in range(_MOST_CALLS):
        with contextlib.suppress(ValueError):  # a number without a call
            names.append(pyseccomp.resolve_syscall(pyseccomp.system_arch(), number).decode())
    return names


def _library() -> Any:
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise ConfinementError(
            "library_missing", f"libseccomp.so.2 was not found: install the package {_PACKAGES}."
        ) from error
    return pyseccomp


def _empty(default: int, machine: str) -> Any:
    pyseccomp = _library()
    program = pyseccomp.SyscallFilter(defaction=default)
    # libseccomp answers a foreign calling convention with a kill of one thread; we want the process.
    program.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    arch = {"x86_64": pyseccomp.Arch.X86_64, "aarch64": pyseccomp.Arch.AARCH64}[machine]
    if arch != pyseccomp.system_arch():
        program.add_arch(arch)
        program.remove_arch(pyseccomp.system_arch())
    return program


def _exported(program: Any) -> bytes:
    memory = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    with open(memory, "w+b") as file:
        program.export_bpf(file)
        file.seek(0)
        return file.read()
