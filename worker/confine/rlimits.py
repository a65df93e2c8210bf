"""Resource limits of a worker, set once, hard equal to soft wherever a soft one has no use."""

from __future__ import annotations

import resource
from typing import Final

DESCRIPTORS: Final = 1024
"""One for each level of a walk below a shard's folder, and the mounts; walk.py stays far below."""


def apply(*, memory_bytes: int, cpu_seconds: int) -> None:
    """Raises OSError or ValueError (a lower hard limit was in force already, which is as good)."""
    table = {
        resource.RLIMIT_AS: (memory_bytes, memory_bytes),
        resource.RLIMIT_CPU: (cpu_seconds, cpu_seconds + 1),  # SIGXCPU at the first, SIGKILL at the second
        resource.RLIMIT_NOFILE: (DESCRIPTORS, DESCRIPTORS),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_CORE: (0, 0),  # a core may also go to a pipe, which only a cleared DUMPABLE stops
        resource.RLIMIT_NPROC: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
        resource.RLIMIT_SIGPENDING: (16, 16),
        resource.RLIMIT_RTPRIO: (0, 0),
        resource.RLIMIT_NICE: (0, 0),
    }
    for kind, (soft, hard) in table.items():
        allowed = resource.getrlimit(kind)[1]
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))
