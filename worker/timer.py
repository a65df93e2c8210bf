"""The limit of a scan: the kernel's timer, at its default action.

When it fires, the worker is dead. A Python handler would not do: it runs between byte codes, and a
backtracking match is one byte code (measured: a 0.3 s alarm had not stopped `.*b` on 64 MiB after 4 s). One
timer serves every scan: it is armed again only once a tenth of the limit is used up, so an ordinary file
costs no system call.

Invariant: after `allow(t)` the process lives for at least `t` seconds and at most 1.1 times as long.
"""

from __future__ import annotations

import signal
import time
from typing import Final

_SLACK: Final = 0.1


class KillTimer:
    """Kills this process when one step takes longer than it may."""

    def __init__(self) -> None:
        self._fires_at = 0.0

    def allow(self, seconds: float, now: float) -> None:
        """From `now` (monotonic), the next step may take `seconds`."""
        if not seconds <= self._fires_at - now <= seconds * (1 + _SLACK):
            longest = seconds * (1 + _SLACK)
            signal.setitimer(signal.ITIMER_REAL, longest)
            self._fires_at = time.monotonic() + longest

    def rest(self) -> None:
        """Nothing is running: waiting for work is not limited."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._fires_at = 0.0
