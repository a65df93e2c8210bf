"""One file under one pattern: read it, decide whether it is text, find the matching lines, cut out what is
shown.

Invariants: at most one descriptor is open; a file is read with read(2) alone, never mapped (a file truncated
under a map is SIGBUS), and at most one byte beyond the policy's size; nothing but a regular file is read to
its end. The caller has armed the kill timer and named the file on the progress page.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from ..policy.wire import Line, Query, Skip
from . import folders
from .engines import Scanner
from .harvest import Harvest
from .text import searchable

_FIRST_READ: Final = 64 << 10
"""Most files are shorter, and a short read is the end of the file: one read, no fstat."""
_NEXT_READ: Final = 1 << 20

_SKIP_BY_ERRNO: Final = {
    errno.ELOOP: Skip.SYMLINK,
    errno.ENOENT: Skip.VANISHED,
    errno.ENOTDIR: Skip.VANISHED,
    errno.ESTALE: Skip.VANISHED,
    errno.ENXIO: Skip.SPECIAL_FILE,
    errno.ENODEV: Skip.SPECIAL_FILE,
    errno.EAGAIN: Skip.SPECIAL_FILE,  # a FIFO with a writer; O_NONBLOCK keeps it from holding us
    errno.EISDIR: Skip.SPECIAL_FILE,
}


class NotSearched(Exception):
    """The file is skipped, for `reason`."""

    def __init__(self, reason: Skip) -> None:
        self.reason = reason


def skip_reason(error: OSError) -> Skip:
    """What an error while opening or reading means for the ledger of skips."""
    return _SKIP_BY_ERRNO.get(error.errno or 0, Skip.UNREADABLE)


class FileScan:
    """Scans files for one query."""

    def __init__(self, query: Query, scanner: Scanner) -> None:
        self._scanner = scanner
        self._query = query
        self.bytes = 0

    def scan(self, parent: int, name: bytes, path: bytes, certain: bool, harvest: Harvest) -> None:
        """Search the file `name` in the open folder `parent`; put what comes of it into `harvest`.

        `certain`: the folder said that this is a regular file. Raises MemoryError.
        """
        try:
            raw = self._read(parent, name, certain)
        except NotSearched as skipped:
            harvest.skip(skipped.reason, path)
            return
        self.bytes += len(raw)
        text = searchable(raw)
        if self._scanner.contains(text.data):
            self._collect(text.data, path, harvest)
        else:
            self._count_long_lines(text.data, path, harvest)
        if text.binary:
            harvest.skip(Skip.BINARY, path)

    def _collect(self, data: bytes, path: bytes, harvest: Harvest) -> None:
        wants_all = self._query.output == "count"
        most = len(data) + 1 if wants_all else harvest.wanted if self._query.output == "content" else 1
        hits = self._scanner.scan(data, most)
        if hits.starts:
            if self._query.output == "content":
                harvest.add(path, count=len(hits.starts), lines=self._lines(data, hits.starts, hits.ends))
            else:
                harvest.add(path, count=len(hits.starts))
        if hits.long_lines:
            harvest.skip(Skip.LONG_LINE, path)

    def _count_long_lines(self, data: bytes, path: bytes, harvest: Harvest) -> None:
        if len(data) > self._query.max_line_bytes and self._scanner.scan(data, 1).long_lines:
            harvest.skip(Skip.LONG_LINE, path)

    def _lines(self, data: bytes, starts: list[int], ends: list[int]) -> tuple[Line, ...]:
        lines = []
        number, counted_to = 1, 0
        for start, end in zip(starts, ends, strict=True):
            number += data.count(b"\n", counted_to, start)
            counted_to = start
            lines.append(self._line(number, data[start:end]))
        return tuple(lines)

    def _line(self, number: int, raw: bytes) -> Line:
        text = raw.decode("utf-8", "replace")
        shown, margin = self._query.line_chars, self._query.margin_chars
        if len(text) <= shown:
            return Line(number, text, 0, len(text), 0)
        # The span comes from the engine that may take long; a line past its bound is shown from its start.
        span = self._scanner.span(text) if len(raw) <= self._query.max_line_bytes else None
        match = span[0] if span else 0
        first = max(0, match - shown - margin)
        return Line(number, text[first : match + shown + margin], first, len(text), match - first)

    def _read(self, parent: int, name: bytes, certain: bool) -> bytes:
        limit = self._query.max_file_bytes
        try:
            file = os.open(name, folders.OPEN_FILE, dir_fd=parent)
            try:
                if not certain and not stat.S_ISREG(folders.status(file).mode):
                    raise NotSearched(Skip.SPECIAL_FILE)
                data = os.read(file, _FIRST_READ)
                if not data and not stat.S_ISREG(folders.status(file).mode):
                    raise NotSearched(Skip.SPECIAL_FILE)  # a FIFO took the file's place since the listing
                if len(data) == _FIRST_READ:
                    data = self._read_on(file, data, limit)
            finally:
                os.close(file)
        except OSError as error:
            raise NotSearched(skip_reason(error)) from error
        if len(data) > limit:
            raise NotSearched(Skip.TOO_LARGE)
        return data

    def _read_on(self, file: int, first: bytes, limit: int) -> bytes:
        now = folders.status(file)
        if not stat.S_ISREG(now.mode):
            raise NotSearched(Skip.SPECIAL_FILE)
        if now.size > limit:
            raise NotSearched(Skip.TOO_LARGE)
        parts, held = [first], len(first)
        # A file that grows while it is read stops at the limit, like one that was too large from the start.
        while held <= limit and (part := os.read(file, min(_NEXT_READ, limit + 1 - held))):
            parts.append(part)
            held += len(part)
        return b"".join(parts)
