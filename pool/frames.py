"""What a worker says, checked before it is believed.

A worker is hostile once it has read a byte: it may send anything. Frames are bounded in length, decoded
strictly, and their content must be possible: paths well formed, in order, inside the shards handed out; no
more entries than asked for; the rest a part of what was handed out. Whatever fails raises WorkerLied, and
the worker is killed.

What cannot be checked: a worker that leaves a match out, or makes one up. It has seen only its own tenant's
files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ..policy.wire import (
    HEADER,
    MAX_PATH_BYTES,
    MAX_REPLY_BYTES,
    Done,
    Found,
    FromWorker,
    Line,
    Query,
    Shard,
    Skip,
)

_decoder: Final = msgspec.msgpack.Decoder(FromWorker)

_IMPOSSIBLE: Final = {b"", b".", b".."}

Key = tuple[bytes, ...]


class WorkerLied(Exception):
    """A frame that no honest worker sends. The text is for the operator's log."""


class FrameBuffer:
    """Collects bytes of one worker and cuts them into frames."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[FromWorker]:
        """The frames that are complete now. Raises WorkerLied on a length or a shape that is not allowed."""
        self._held += data
        frames = []
        while len(self._held) >= HEADER.size:
            (size,) = HEADER.unpack_from(self._held)
            if size > MAX_REPLY_BYTES:
                raise WorkerLied(f"a frame of {size} bytes")
            end = HEADER.size + size
            if len(self._held) < end:
                break
            frames.append(_decoded(bytes(self._held[HEADER.size : end])))
            del self._held[:end]
        return frames


def _decoded(body: bytes) -> FromWorker:
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise WorkerLied(f"a malformed frame: {type(error).__name__}") from None


def key(path: bytes) -> Key:
    """A path as the order compares it: component by component, as bytes (contract 2.1)."""
    return tuple(path.split(b"/")) if path else ()


def check_done(done: Done, shards: Sequence[Shard], query: Query) -> None:
    """Raises WorkerLied unless `done` is a possible answer to `shards`.

    Sizes come first: whoever sends a million of anything is not to cost the time of looking at each.
    """
    if len(done.found) > query.need or len(done.skips) > (len(done.found) + 1) * len(Skip):
        raise WorkerLied(f"{len(done.found)} findings and {len(done.skips)} skips")
    entries = sum(len(found.lines) or 1 for found in done.found)
    if entries > query.need:
        raise WorkerLied(f"{entries} entries where {query.need} were wanted")
    territory = Territory(shards)
    for found in done.found:
        territory.step_to(found.path)
        _check_found(found, query)
    _check_skips(done, territory)
    territory.check_rest(done.rest)


def _check_skips(done: Done, territory: Territory) -> None:
    """Marks stand in order, one for each place and reason, and name what lies in the shards."""
    place: set[Skip] = set()
    at = 0
    for mark in done.skips:
        if mark.at > at:
            place, at = set(), mark.at
        if mark.at < at or mark.at > len(done.found) or mark.reason in place or mark.count < len(mark.names):
            raise WorkerLied("a skip that stands nowhere, or twice")
        place.add(mark.reason)
        if not all(territory.holds(name) for name in mark.names):
            raise WorkerLied("a skip outside the shards")


def _check_found(found: Found, query: Query) -> None:
    if query.tool == "grep" and query.output == "content":
        if found.count != len(found.lines) or not found.lines:
            raise WorkerLied("a count that is not its lines'")
        _check_lines(found.lines, query, 2 * (query.line_chars + query.margin_chars))
    elif query.tool == "read":
        _check_lines(found.lines, query, query.most_bytes)
    elif found.lines or found.count < 1:
        raise WorkerLied("lines that nobody asked for")


def _check_lines(lines: Sequence[Line], query: Query, longest: int) -> None:
    """Line numbers ascend; no text is longer than is shipped, or than the line that it is of."""
    behind = 0
    for line in lines:
        if line.number <= behind or (line.last and line.last < line.number):
            raise WorkerLied("lines out of order")
        behind = max(line.number, line.last)
        if len(line.text) > longest or line.before + len(line.text) > line.length:
            raise WorkerLied("more text than was asked for")
        if len(line.context_before) > query.before or len(line.context_after) > query.after:
            raise WorkerLied("context that nobody asked for")
        for context in (*line.context_before, *line.context_after):
            if len(context.text) > min(longest, context.length):
                raise WorkerLied("more text than was asked for")


class Territory:
    """The shards handed out, with a mark that moves forward through them."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._at = 0
        self._last: Key = ()

    def step_to(self, path: bytes) -> None:
        """Take the next finding. It must lie in the shards, behind the one before."""
        here = key(_well_formed(path))
        if self._last and here <= self._last:
            raise WorkerLied("findings out of order")
        while self._at < len(self._shards) and not within(here, self._shards[self._at]):
            self._at += 1
        if self._at == len(self._shards):
            raise WorkerLied("a finding outside the shards")
        self._last = here

    def holds(self, path: bytes) -> bool:
        """Whether a path lies in the shards, or is a folder that one of them lists."""
        here = key(_well_formed(path)) if path else ()
        return any(here == key(shard.folder) or within(here, shard) for shard in self._shards)

    def check_rest(self, rest: Sequence[Shard]) -> None:
        """Take what is handed back: parts of what was handed out, in order, without overlap, behind the last
        finding.

        And less than what was handed out: a worker that makes no progress would be fed for ever.
        """
        behind = max(self._last, _beginning(self._shards[0]))
        for index, shard in enumerate(rest):
            _check_names(shard)
            begins = _beginning(shard)
            if shard.told:
                self._check_goes_on(shard, index)
            elif begins <= behind or _end(shard) <= begins:
                raise WorkerLied("a rest out of order, or nothing but what was handed out")
            if not any(_is_part(key(shard.folder), shard, mine) for mine in self._shards):
                raise WorkerLied("a rest that was not handed out")
            behind = _end(shard)

    def _check_goes_on(self, shard: Shard, index: int) -> None:
        """A file that is left in the middle: the last one that anything was found in, and further on than
        before.
        """
        before = next((mine.told for mine in self._shards if _is_same(mine, shard)), 0)
        if index or shard.first != shard.last or _beginning(shard) != self._last or shard.told <= before:
            raise WorkerLied("a file left in the middle that is not the one at hand")


_PAST_EVERY_NAME: Final = b"\xff" * 4097
"""Greater than any name that a frame may hold."""


def _beginning(shard: Shard) -> Key:
    """Where a shard begins in the order."""
    return (*key(shard.folder), shard.first or b"")


def _end(shard: Shard) -> Key:
    """Where a shard ends: past everything beneath its last name."""
    if shard.last is None:
        return (*key(shard.folder), _PAST_EVERY_NAME)
    return (*key(shard.folder), shard.last, _PAST_EVERY_NAME)


def _is_same(one: Shard, other: Shard) -> bool:
    return (one.folder, one.first, one.last) == (other.folder, other.first, other.last)


def _check_names(shard: Shard) -> None:
    if shard.folder:
        _well_formed(shard.folder)
    for name in (shard.first, shard.last):
        if name is not None and (b"/" in name or not _well_formed(name)):
            raise WorkerLied("a shard with an impossible name")


def within(path: Key, shard: Shard) -> bool:
    """Whether a path stands in a shard's run of entries, or beneath one of them."""
    folder = key(shard.folder)
    if path[: len(folder)] != folder or len(path) == len(folder):
        return False
    name = path[len(folder)]
    return (shard.first is None or name >= shard.first) and (shard.last is None or name <= shard.last)


def _is_part(folder: Key, rest: Shard, shard: Shard) -> bool:
    if folder == key(shard.folder):
        starts_inside = shard.first is None or (rest.first is not None and rest.first >= shard.first)
        ends_inside = shard.last is None or (rest.last is not None and rest.last <= shard.last)
        return starts_inside and ends_inside
    return within(folder, shard)


def is_well_formed(path: bytes) -> bool:
    """Whether a folder could hold such a path."""
    return len(path) <= MAX_PATH_BYTES and b"\0" not in path and not _IMPOSSIBLE & set(path.split(b"/"))


def _well_formed(path: bytes) -> bytes:
    if not is_well_formed(path):
        raise WorkerLied("a path that no folder holds")
    return path
