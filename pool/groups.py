"""A control group (v2) for each cell, where the operator has delegated a folder: memory of all its workers
together.

Optional, and never silently absent: whatever keeps it from being made is reported with the kernel's answer.
RLIMIT_AS bounds each worker without it; a group also bounds what they use together, page tables and kernel
memory included.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from typing import Final, NamedTuple

from .roots import file_system

_REMOVE_SECONDS: Final = 1.0
_CGROUP2: Final = 0x63677270


class GroupReport(NamedTuple):
    """What came of the wish for a group. `bytes` is the bound in force, 0 for none."""

    asked: bool
    bytes: int
    reason: str
    errno: int


NOT_ASKED: Final = GroupReport(False, 0, "no delegated control group is named in the policy", 0)


class Group:
    """A cell's own group below the delegated folder. Close it after the cell is dead."""

    def __init__(self, parent: str, name: str, memory_bytes: int) -> None:
        """Raises OSError when the folder is not delegated to us, or has no memory controller."""
        self._path = os.path.join(parent, name)
        _require_control_group(parent)
        os.mkdir(self._path)
        try:
            self._write("memory.max", str(memory_bytes))
            with contextlib.suppress(OSError):  # absent without swap accounting
                self._write("memory.swap.max", "0")
            with open(os.path.join(self._path, "memory.max"), encoding="ascii") as limit:
                self.bytes = int(limit.read())  # the kernel rounds to pages: tell what is in force
        except (OSError, ValueError):
            self.close()
            raise

    def add(self, pid: int) -> None:
        """Put a process in; what it forks from now on is in it, too. Raises OSError."""
        self._write("cgroup.procs", str(pid))

    def close(self) -> None:
        """Remove the group. Its processes were killed; they may take a moment to be gone."""
        give_up_at = time.monotonic() + _REMOVE_SECONDS
        while time.monotonic() < give_up_at:
            try:
                os.rmdir(self._path)
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.005)
            else:
                return

    def _write(self, file: str, text: str) -> None:
        with open(os.path.join(self._path, file), "w", encoding="ascii") as control:
            control.write(text)


def _require_control_group(folder: str) -> None:
    """Raises OSError unless `folder` lies on a control-group file system: elsewhere a bound would be a mere
    text file.
    """
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if file_system(descriptor) != _CGROUP2:
            raise OSError(errno.EMEDIUMTYPE, "no control group")
    finally:
        os.close(descriptor)


def join(parent: str, cell: int, pid: int, memory_bytes: int) -> tuple[Group | None, GroupReport]:
    """Make a group below `parent` ("": none is wished for) and put the cell's process `pid` into it."""
    if not parent:
        return None, NOT_ASKED
    group: Group | None = None
    try:
        group = Group(parent, f"grille-{os.getpid()}-{cell}", memory_bytes)
        group.add(pid)
    except (OSError, ValueError) as error:
        if group is not None:
            group.close()
        number = error.errno or 0 if isinstance(error, OSError) else 0
        return None, GroupReport(
            True, 0, "the named control group is not delegated, or has no memory controller", number
        )
    return group, GroupReport(True, group.bytes, "", 0)
