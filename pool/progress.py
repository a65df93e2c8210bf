"""The supervisor's side of the progress page (policy/progress.py): makes it, and reads what a worker last
said.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import Final, NamedTuple

from ..policy.progress import COUNTERS, NOW, NOW_AT, PAGE_BYTES, PATH_AT, Doing
from ..policy.wire import MAX_PATH_BYTES


class LastWords(NamedTuple):
    """What a worker was about to do. A worker's own word: check it against the shard before acting on it."""

    doing: Doing
    path: bytes


NO_WORDS: Final = LastWords(Doing.NOTHING, b"")
"""Of a worker that said nothing, or whose words do not matter."""


class Page:
    """One worker's page. `memfd` goes to the cell with the order to spawn."""

    def __init__(self) -> None:
        self.memfd = os.memfd_create("grille-progress", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.memfd, PAGE_BYTES)
        # SAFETY: a page that could shrink would make our own read of it a SIGBUS.
        fcntl.fcntl(
            self.memfd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        )
        self._page = mmap.mmap(self.memfd, PAGE_BYTES, prot=mmap.PROT_READ)

    def last_words(self) -> LastWords:
        """What the page says now. Anything malformed reads as nothing."""
        doing, length = NOW.unpack_from(self._page, NOW_AT)
        if doing not in Doing._value2member_map_ or length > MAX_PATH_BYTES:
            return NO_WORDS
        return LastWords(Doing(doing), self._page[PATH_AT : PATH_AT + length])

    def counters(self) -> tuple[int, int]:
        """Files and bytes that the worker says it has scanned in its life."""
        files, scanned = COUNTERS.unpack_from(self._page, 0)
        return files, scanned

    def close(self) -> None:
        self._page.close()
        os.close(self.memfd)
