"""The worker's side of the progress page (policy/progress.py): notes, before each step, what it is about to
do.
"""

from __future__ import annotations

import mmap

from ..policy.progress import COUNTERS, NOW, NOW_AT, PAGE_BYTES, PATH_AT, Doing


class ProgressPage:
    """A page mapped before lock-down; the descriptor is gone by the time anything is noted."""

    def __init__(self, memfd: int) -> None:
        self._page = mmap.mmap(memfd, PAGE_BYTES)
        self.files = 0
        self.bytes = 0

    def note(self, doing: Doing, path: bytes = b"") -> None:
        """Say what comes next. The path is written before the length that makes it readable."""
        self._page[PATH_AT : PATH_AT + len(path)] = path
        NOW.pack_into(self._page, NOW_AT, doing, len(path))

    def publish_counters(self) -> None:
        """Make the counters visible. Once a slice is often enough for a progress line."""
        COUNTERS.pack_into(self._page, 0, self.files, self.bytes)
