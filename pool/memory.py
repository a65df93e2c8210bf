"""Watches the resident memory of busy workers.

The kernel bounds a worker's address space (RLIMIT_AS), and an allocation past it fails. Python survives
that; a C++ engine may abort in the middle of it. So a worker that comes near its bound is killed first, and
its file is named.
"""

from __future__ import annotations

from typing import Final

import psutil

_SHARE: Final = 0.9
INTERVAL_SECONDS: Final = 0.25


def overdrawn(pid: int, memory_bytes: int) -> bool:
    """Whether a process holds more resident memory than its share. False for one that is gone."""
    try:
        return psutil.Process(pid).memory_info().rss > _SHARE * memory_bytes
    except psutil.Error:
        return False
