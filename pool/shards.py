"""The order of a search: shards as a list in path order, and what has come of each.

The invariant is the contract's order: read from the front, the list always spells every path of the search
exactly once. A shard is waiting, running or done; a running one that comes back is replaced, in its place,
by what it found and the shards it left. The *watermark* is the first one that is not done: everything before
it is final.

Stopping early: entries held by done shards only move back when an earlier shard yields more. So as soon as
the done shards up to some point hold all that is wanted, nothing past that point can be on the page,
whatever is still unfinished before it, and everything past it is dropped. That bounds memory, too.

What does not work: taking shards from a plain queue and sorting at the end (memory without bound, no early
stop), or cutting at the first `n` found (depends on timing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from ..policy.wire import MAX_BATCH, SAMPLE_NAMES, Found, Shard, Skip, SkipMark


class State(Enum):
    """Of one stretch of the order."""

    WAITING = auto()
    RUNNING = auto()
    DONE = auto()


class Stretch:
    """Neighbouring shards and what came of them. Linked both ways; `ShardList` alone changes the links."""

    __slots__ = ("after", "before", "entries", "found", "shards", "skips", "state")

    def __init__(self, shards: tuple[Shard, ...], state: State) -> None:
        self.shards = shards
        self.state = state
        self.found: list[Found] = []
        self.skips: list[SkipMark] = []
        self.entries = 0
        self.before: Stretch | None = None
        self.after: Stretch | None = None


def entry_count(found: Sequence[Found]) -> int:
    """How many entries these are: lines where there are lines, else paths."""
    return sum(len(f.lines) or 1 for f in found)


class ShardList:
    """All stretches of one search. `need`: entries after which nothing more is wanted."""

    def __init__(self, first: Shard, need: int) -> None:
        self._need = need
        self._held = 0
        self.waiting = 1
        self.running = 0
        self.cut = False
        """Whether something was dropped, since what is before it suffices."""
        self._front: Stretch | None = Stretch((first,), State.WAITING)

    @property
    def finished(self) -> bool:
        return not self.waiting and not self.running

    def take(self, share: int) -> Stretch | None:
        """The earliest waiting stretch, joined with up to `share` - 1 waiting ones behind it; now running."""
        stretch = next((s for s in self._all() if s.state is State.WAITING), None)
        if stretch is None:
            return None
        while (
            len(stretch.shards) < min(share, MAX_BATCH)
            and stretch.after
            and stretch.after.state is State.WAITING
        ):
            stretch.shards += stretch.after.shards
            self._unlink(stretch.after)
            self.waiting -= 1
        stretch.state = State.RUNNING
        self.waiting -= 1
        self.running += 1
        return stretch

    def give_back(self, stretch: Stretch) -> None:
        """Its worker died: it waits again. Nothing of it was kept."""
        if stretch.state is State.RUNNING:
            stretch.state = State.WAITING
            self.running -= 1
            self.waiting += 1

    def settle(
        self, stretch: Stretch, found: list[Found], skips: Sequence[SkipMark], rest: Sequence[Shard]
    ) -> None:
        """A running stretch is done; `rest` takes its place behind it. One that was dropped meanwhile stays
        dropped.
        """
        if stretch.state is not State.RUNNING:
            return
        stretch.state = State.DONE
        self.running -= 1
        stretch.shards = ()
        stretch.found, stretch.skips = found, _compact(skips)
        stretch.entries = entry_count(found)
        self._held += stretch.entries
        place = stretch
        for shard in rest:
            new = Stretch((shard,), State.WAITING)
            self._link_behind(place, new)
            place = new
            self.waiting += 1
        self._join_done(stretch)
        if self._held >= self._need:
            self._drop_what_cannot_matter()

    def results(self) -> tuple[list[Found], list[SkipMark]]:
        """Everything that the done stretches hold, in order."""
        found: list[Found] = []
        skips: list[SkipMark] = []
        for stretch in self._all():
            skips += _moved(stretch.skips, len(found))
            found += stretch.found
        return found, skips

    def _all(self) -> Iterator[Stretch]:
        stretch = self._front
        while stretch is not None:
            yield stretch
            stretch = stretch.after

    def _join_done(self, stretch: Stretch) -> None:
        """Keep the list short: neighbours that are done become one."""
        before = stretch.before
        if before is not None and before.state is State.DONE:
            before.skips = _compact([*before.skips, *_moved(stretch.skips, len(before.found))])
            before.found += stretch.found
            before.entries += stretch.entries
            self._unlink(stretch)
            stretch = before
        after = stretch.after
        if after is not None and after.state is State.DONE:
            self._join_done(after)

    def _drop_what_cannot_matter(self) -> None:
        held = 0
        for stretch in self._all():
            if stretch.state is State.DONE:
                if held + stretch.entries >= self._need:
                    self._trim(stretch, self._need - held)
                    self._drop_behind(stretch)
                    return
                held += stretch.entries

    def _trim(self, stretch: Stretch, wanted: int) -> None:
        """Cut a done stretch behind the finding that holds its entry number `wanted`, with the skips behind
        it.
        """
        kept = entries = 0
        while entries < wanted:
            entries += len(stretch.found[kept].lines) or 1
            kept += 1
        if kept < len(stretch.found):
            self.cut = True
            del stretch.found[kept:]
            self._held -= stretch.entries - entries
            stretch.entries = entries
        stretch.skips = [mark for mark in stretch.skips if mark.at < kept]

    def _drop_behind(self, last: Stretch) -> None:
        dropped = last.after
        last.after = None
        self.cut = self.cut or dropped is not None
        while dropped is not None:
            self.waiting -= dropped.state is State.WAITING
            self.running -= dropped.state is State.RUNNING
            self._held -= dropped.entries
            dropped.state = State.DONE
            dropped = dropped.after

    def _link_behind(self, place: Stretch, new: Stretch) -> None:
        new.before, new.after = place, place.after
        if place.after is not None:
            place.after.before = new
        place.after = new

    def _unlink(self, stretch: Stretch) -> None:
        if stretch.before is not None:
            stretch.before.after = stretch.after
        else:
            self._front = stretch.after
        if stretch.after is not None:
            stretch.after.before = stretch.before


def _moved(skips: Sequence[SkipMark], by: int) -> list[SkipMark]:
    return [SkipMark(mark.at + by, mark.reason, mark.count, mark.names) for mark in skips]


def _compact(skips: Sequence[SkipMark]) -> list[SkipMark]:
    """Marks at one place made one, and no more names of a reason than are ever shown: those in front.

    Without this a worker that lies could fill the supervisor's memory with names (each up to 64 KiB).
    """
    shown: Counter[Skip] = Counter()
    merged: dict[tuple[int, Skip], SkipMark] = {}
    for mark in skips:
        place = (mark.at, mark.reason)
        before = merged.get(place)
        names = mark.names[: max(0, SAMPLE_NAMES - shown[mark.reason])]
        shown[mark.reason] += len(names)
        merged[place] = SkipMark(
            mark.at,
            mark.reason,
            mark.count + (before.count if before else 0),
            (*before.names, *names) if before else names,
        )
    return list(merged.values())
