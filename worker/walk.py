"""The walk: shards in path order, depth first, for one slice of time; what is left goes back as new shards.

The order is by component as bytes, and a folder's contents stand where the folder stands. So a depth-first
walk over sorted names *is* the order, everything found in a slice precedes everything that is left, and the
rest of a slice is what remains on each level of the stack, deepest first.

Invariants: nothing outside the shards handed out is opened; links are never followed; a folder is named on
the progress page before it is listed, a file before it is opened. The stack holds a descriptor per level, at
most _MOST_LEVELS: a tree that is deeper ends the slice there, and goes on from a shard of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Final

from ..policy.progress import Doing
from ..policy.wire import MAX_PATH_BYTES, MAX_REST, Avoid, Query, Shard, Skip
from . import folders
from .folders import DT_DIR, DT_LNK, DT_REG, DT_UNKNOWN, Entry
from .harvest import Harvest
from .ignore.stack import IgnoreStack
from .ignoring import Ignoring
from .progress import ProgressPage
from .scan import FileScan, skip_reason
from .selection import Selection, Verdict
from .timer import KillTimer

_MOST_LEVELS: Final = 900
"""Stays below the limit on descriptors (confine/rlimits.py)."""
_OPEN_SHARE: Final = 2
"""A slice lasts at least this many times as long as opening its first folder took: far down a deep tree the
opening alone would use up a slice, and the walk advance by one level a slice."""
_RUN: Final = 64
"""Entries in one shard of the rest: small enough to share out, large enough that a round trip is cheap
beside it.
"""
_KEPT_FOLDERS: Final = 8
_KEPT_FROM: Final = 512
"""Folders with more entries than this are remembered while the query lasts: each slice would list them
anew.
"""


class _Level:
    """An open folder and the entries of it that are still to be visited."""

    __slots__ = ("entries", "fd", "ignored", "next", "path", "rules")

    def __init__(self, path: bytes, fd: int, entries: Sequence[Entry], rules: IgnoreStack | None) -> None:
        self.path = path
        self.fd = fd
        self.entries = entries
        self.next = 0
        self.rules = rules
        self.ignored: set[bytes] = set()
        """Names that ignore files leave out, decided for the whole listing at once."""
        if rules is not None:
            self.ignored = rules.ignored_files(
                [e.name for e in entries if e.kind not in (DT_DIR, DT_UNKNOWN)]
            )
            self.ignored |= rules.ignored_folders([e.name for e in entries if e.kind == DT_DIR])

    def ignores(self, entry: Entry, kind: int) -> bool:
        """Whether ignore files leave an entry out; `kind` is what an entry of unknown kind turned out to
        be.
        """
        if entry.kind == DT_UNKNOWN and self.rules is not None:
            return self.rules.ignored(entry.name, kind == DT_DIR)
        return entry.name in self.ignored


class Walk:
    """Walks shards for one query."""

    def __init__(
        self,
        root: int,
        query: Query,
        selection: Selection,
        files: FileScan | None,
        page: ProgressPage,
        timer: KillTimer,
    ) -> None:
        self._root = root
        self._query = query
        self._selection = selection
        self._files = files
        self._page = page
        self._timer = timer
        self._ignoring = Ignoring() if query.ignore_files and not query.single_file else None
        self._large: dict[bytes, list[Entry]] = {}
        self._avoid: dict[bytes, Skip] = {}
        self._stack: list[_Level] = []
        self._too_deep = False
        self._told = 0
        """Lines of the file at hand that are told, while it is left in the middle."""

    @property
    def rules_cut(self) -> bool:
        """Whether an ignore file on the way held more rules than are kept."""
        return self._ignoring is not None and self._ignoring.cut

    def run(
        self, shards: Sequence[Shard], avoid: Sequence[Avoid], slice_seconds: float, harvest: Harvest
    ) -> list[Shard]:
        """Work through `shards` until the slice is over or the harvest full; the shards that are left, in
        order.

        At least one entry is visited, so that a rest is always less than what was handed out. Raises
        MemoryError; the walk, and this whole process, are of no further use then.
        """
        self._avoid = {a.path: a.reason for a in avoid}
        begun = time.monotonic()
        over_at = 0.0
        try:
            for index, shard in enumerate(shards):
                self._told = shard.told
                self._open(shard, harvest)
                if not over_at:
                    opened = time.monotonic()
                    over_at = opened + max(slice_seconds, _OPEN_SHARE * (opened - begun))
                if not self._drain(over_at, harvest) or (harvest.full and index + 1 < len(shards)):
                    return self._rest([*self._left_on_stack(), *shards[index + 1 :]])
                if time.monotonic() > over_at:
                    return self._rest(list(shards[index + 1 :]))
        finally:
            while self._stack:
                os.close(self._stack.pop().fd)
        return []

    def _drain(self, over_at: float, harvest: Harvest) -> bool:
        """Visit what is on the stack. False when the slice ends first."""
        while self._stack:
            level = self._stack[-1]
            if level.next == len(level.entries):
                os.close(self._stack.pop().fd)
                continue
            entry = level.entries[level.next]
            level.next += 1
            now = time.monotonic()
            self._visit(level, entry, now, harvest)
            if self._told:
                level.next -= 1
                return False
            if harvest.full or now > over_at or self._too_deep:
                self._too_deep = False
                return False
        return True

    def _visit(self, level: _Level, entry: Entry, now: float, harvest: Harvest) -> None:
        path = folders.join(level.path, entry.name)
        if self._avoid and path in self._avoid:
            harvest.skip(self._avoid[path], path)
            return
        kind = entry.kind if entry.kind != DT_UNKNOWN else self._find_out(level.fd, entry.name, path)
        is_dir = kind == DT_DIR
        verdict = self._selection.verdict(path, entry.name, is_dir=is_dir, ignored=level.ignores(entry, kind))
        if verdict is Verdict.HIDDEN:
            return
        if verdict is Verdict.IGNORED:
            harvest.skip(Skip.IGNORED, path)
        elif is_dir:
            self._enter(level, entry.name, path, harvest)
        elif kind == DT_LNK:
            harvest.skip(Skip.SYMLINK, path)
        elif kind != DT_REG:
            harvest.skip(Skip.SPECIAL_FILE, path)
        elif not self._selection.wants(path):
            return
        elif self._query.refuse_hardlinks and folders.has_other_names(level.fd, entry.name):
            return
        elif self._files is None:
            harvest.add(path, modified=self._modified(level.fd, entry.name))
        else:
            self._scan(self._files, level.fd, entry, path, now, harvest)

    def _scan(
        self, files: FileScan, parent: int, entry: Entry, path: bytes, now: float, harvest: Harvest
    ) -> None:
        self._page.note(Doing.SCANNING, path)
        self._page.files += 1
        self._timer.allow(self._query.scan_seconds, now)
        told, self._told = self._told, 0
        self._told = files.scan(parent, entry.name, path, entry.kind == DT_REG, told, harvest)

    def _find_out(self, parent: int, name: bytes, path: bytes) -> int:
        """The kind of an entry that no listing told: a shard of one name, or a file system that keeps it to
        itself.
        """
        self._page.note(Doing.LISTING, path)
        self._timer.allow(self._query.scan_seconds, time.monotonic())
        try:
            return folders.kind_of(parent, name)
        except OSError as error:
            # What cannot be opened still is an entry; who tries to read it will find out why it cannot.
            return DT_LNK if skip_reason(error) is Skip.SYMLINK else DT_REG

    def _enter(self, level: _Level, name: bytes, path: bytes, harvest: Harvest) -> None:
        if self._query.include_dirs and self._selection.wants(path):
            harvest.add(path, is_dir=True, modified=self._modified(level.fd, name))
        if not self._selection.may_want_below(path) or self._is_deep_enough(path):
            return
        if len(path) > MAX_PATH_BYTES - folders.LONGEST_NAME:
            harvest.skip(Skip.UNREADABLE, path)
        elif len(self._stack) >= _MOST_LEVELS:
            level.next -= 1
            self._too_deep = True
        else:
            self._push(path, name, level.fd, None, None, harvest)

    def _modified(self, parent: int, name: bytes) -> int:
        """When an entry was changed, in nanoseconds, where the order asks for it; 0 for what cannot be
        opened.
        """
        return folders.modified(parent, name) if self._query.sort == "mtime" else 0

    def _is_deep_enough(self, path: bytes) -> bool:
        """Whether a listing of limited depth ends at this folder."""
        depth, start = self._query.max_depth, self._query.start
        if depth is None:
            return False
        below = path[len(start) :].strip(b"/")
        return below.count(b"/") + 1 >= depth

    def _open(self, shard: Shard, harvest: Harvest) -> None:
        self._page.note(Doing.LISTING, shard.folder)
        if self._avoid and shard.folder in self._avoid:
            harvest.skip(self._avoid[shard.folder], shard.folder)
            return
        # Opening a folder far down takes a look-up for each level: a folder's time, not a scan's.
        self._timer.allow(self._query.folder_seconds, time.monotonic())
        try:
            if self._ignoring is not None:
                self._ignoring.on_the_way(self._root, shard.folder)
            folder = folders.open_below(self._root, shard.folder)
        except OSError as error:
            harvest.skip(skip_reason(error), shard.folder)
            return
        try:
            self._push(shard.folder, b".", folder, shard.first, shard.last, harvest)
        finally:
            os.close(folder)

    def _push(
        self, path: bytes, name: bytes, parent: int, first: bytes | None, last: bytes | None, harvest: Harvest
    ) -> None:
        """List the folder `name` of `parent` and put it on the stack, or count it as skipped."""
        self._page.note(Doing.LISTING, path)
        now = time.monotonic()
        self._timer.allow(self._query.scan_seconds, now)
        try:
            folder = os.open(name, folders.OPEN_FOLDER, dir_fd=parent)
        except OSError as error:
            harvest.skip(skip_reason(error), path)
            return
        try:
            entries = self._entries(path, folder, first, last, now + self._query.folder_seconds)
        except (OSError, folders.TooSlow) as error:
            os.close(folder)
            harvest.skip(skip_reason(error) if isinstance(error, OSError) else Skip.TIMED_OUT, path)
            return
        rules = None
        if self._ignoring is not None:
            # A folder that was listed whole says which ignore files it has; of a part nothing can be told.
            whole = first is None and last is None and self._selection.only_name_below(path) is None
            rules = self._ignoring.enter(path, folder, frozenset(e.name for e in entries) if whole else None)
        self._stack.append(_Level(path, folder, entries, rules))

    def _entries(
        self, path: bytes, folder: int, first: bytes | None, last: bytes | None, give_up_at: float
    ) -> Sequence[Entry]:
        """What a folder holds between two names. One name is not worth a listing."""
        if first is not None and first == last:
            return [Entry(first, DT_UNKNOWN)]
        spelled_out = self._selection.only_name_below(path)
        if spelled_out is not None:
            return [Entry(spelled_out, DT_UNKNOWN)] if folders.exists(folder, spelled_out) else []
        entries = self._large.get(path) or folders.list_folder(folder, give_up_at)
        if len(entries) > _KEPT_FROM:
            self._remember(path, entries)
        if first is None and last is None:
            return entries
        return [e for e in entries if (first is None or e.name >= first) and (last is None or e.name <= last)]

    def _remember(self, path: bytes, entries: list[Entry]) -> None:
        if path not in self._large and len(self._large) >= _KEPT_FOLDERS:
            del self._large[next(iter(self._large))]
        self._large[path] = entries

    def _left_on_stack(self) -> Iterator[Shard]:
        """What remains on each level, deepest first, in runs: a folder alone, files together."""
        for level in reversed(self._stack):
            left = level.entries[level.next :]
            at = 0
            if self._told:
                yield Shard(level.path, left[0].name, left[0].name, self._told)
                self._told, at = 0, 1
            while at < len(left):
                stop = at + 1
                if left[at].kind != DT_DIR:
                    while stop < len(left) and stop - at < _RUN and left[stop].kind != DT_DIR:
                        stop += 1
                yield Shard(level.path, left[at].name, left[stop - 1].name)
                at = stop

    @staticmethod
    def _rest(shards: list[Shard]) -> list[Shard]:
        """At most MAX_REST shards: those past the bound become one for each folder, split again when their
        turn comes.
        """
        if len(shards) <= MAX_REST:
            return shards
        kept, tail = shards[: MAX_REST // 2], shards[MAX_REST // 2 :]
        merged: list[Shard] = []
        for shard in tail:
            if merged and merged[-1].folder == shard.folder and merged[-1].last is not None:
                merged[-1] = Shard(shard.folder, merged[-1].first, shard.last)
            else:
                merged.append(shard)
        return kept + merged
