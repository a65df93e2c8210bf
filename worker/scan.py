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
from typing import Final, NamedTuple

from ..policy.wire import Query, Skip
from . import folders
from .engines import Hits, Scanner
from .excerpts import Excerpts
from .harvest import Harvest
from .text import Text, begins_binary, searchable

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


class _Searched(NamedTuple):
    """A file of which more matched than one reply holds."""

    path: bytes
    text: Text
    hits: Hits
    modified: int


class FileScan:
    """Scans files for one query; without a scanner (the tool `read`) it takes the lines that are asked
    for.
    """

    def __init__(self, query: Query, scanner: Scanner | None) -> None:
        self._scanner = scanner
        self._excerpts = Excerpts(query, scanner)
        self._modified = 0
        self._query = query
        self._half_told: _Searched | None = None
        self.bytes = 0

    def scan(self, parent: int, name: bytes, path: bytes, certain: bool, told: int, harvest: Harvest) -> int:
        """Search the file `name` in the open folder `parent`; put what comes of it into `harvest`.

        `certain`: the folder said that this is a regular file. `told`: how many of its lines were reported
        before. 0 when the file is done, else how many lines are told now: it is to be searched again, behind
        them. Raises MemoryError.
        """
        if told and self._half_told is not None and self._half_told.path == path:
            return self._tell_lines(self._half_told, told, harvest)
        self._half_told = None
        try:
            raw = self._read(parent, name, certain)
        except NotSearched as skipped:
            harvest.skip(skipped.reason, path)
            return 0
        self.bytes += len(raw)
        text = searchable(raw)
        if self._scanner is None:
            # A binary file has no lines, which must not read like a file that is empty.
            if text.data or not text.binary:
                self._take_lines(text, path, harvest)
        elif not self._scanner.contains(text.data):
            self._count_long_lines(self._scanner, text.data, path, harvest)
        elif self._query.output == "content":
            hits = self._scanner.scan(text.data, min(told + harvest.wanted, self._query.max_per_file))
            return self._tell_lines(_Searched(path, text, hits, self._modified), told, harvest)
        else:
            hits = self._scanner.scan(
                text.data, self._query.max_per_file if self._query.output == "count" else 1
            )
            if hits.starts:
                harvest.add(path, count=len(hits.starts), modified=self._modified)
            if hits.long_lines:
                harvest.skip(Skip.LONG_LINE, path)
        if text.binary:
            harvest.skip(Skip.BINARY, path)
        return 0

    def _tell_lines(self, searched: _Searched, told: int, harvest: Harvest) -> int:
        """Report the lines behind the first `told`; as `scan`, how many are told now if some are left."""
        data, hits = searched.text.data, searched.hits
        lines, whole = self._excerpts.lines(data, hits.starts, hits.ends, told)
        if lines:
            harvest.add(searched.path, count=len(lines), lines=lines, modified=searched.modified)
        if not whole:
            self._half_told = searched  # whoever goes on here need not search the file again
            return told + len(lines)
        if hits.long_lines:
            harvest.skip(Skip.LONG_LINE, searched.path)
        if searched.text.binary:
            harvest.skip(Skip.BINARY, searched.path)
        return 0

    def _take_lines(self, text: Text, path: bytes, harvest: Harvest) -> None:
        """What `read` shows. `count` tells how many lines the file has."""
        first, last = self._query.first_line, self._query.last_line
        lines = self._excerpts.whole_lines(text.data, first, last, self._query.most_bytes)
        total = text.data.count(b"\n") + (not text.data.endswith(b"\n") and bool(text.data))
        harvest.add(path, count=total, lines=lines)

    def _count_long_lines(self, scanner: Scanner, data: bytes, path: bytes, harvest: Harvest) -> None:
        if len(data) > self._query.max_line_bytes and scanner.scan(data, 1).long_lines:
            harvest.skip(Skip.LONG_LINE, path)

    def _read(self, parent: int, name: bytes, certain: bool) -> bytes:
        limit = self._query.max_file_bytes
        try:
            file = os.open(name, folders.OPEN_FILE, dir_fd=parent)
            try:
                if not certain or self._query.sort == "mtime":
                    now = folders.status(file)
                    self._modified = now.modified
                    if not stat.S_ISREG(now.mode):
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
        if begins_binary(first):
            raise NotSearched(Skip.BINARY)
        parts, held = [first], len(first)
        # A file that grows while it is read stops at the limit, like one that was too large from the start.
        while held <= limit and (part := os.read(file, min(_NEXT_READ, limit + 1 - held))):
            parts.append(part)
            held += len(part)
        return b"".join(parts)
