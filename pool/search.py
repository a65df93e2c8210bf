"""One request under way: its query, its shards, what died on it, and when it must end.

What a death means (architecture: "When something dies"): a worker names each file before it touches it. A
death by the kernel's timer is that file's doing, at once. Any other death may be an accident, so the shard
is run again, and only a second death over the same file counts against the file. The file becomes a skip;
the rest of the shard is run again without it, so that results are the same as if the file were not there.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from ..policy.errors import GrilleError
from ..policy.progress import Doing
from ..policy.wire import Avoid, Done, Found, Query, Shard, Skip, SkipMark
from .frames import check_done, is_well_formed, key, within
from .progress import LastWords
from .report import ConfinementReport
from .shards import ShardList, Stretch

_MOST_KILLS: Final = 3
"""Scans killed by the timer before the pattern is given up: a pattern that blows up on three files will on
more.
"""
_MOST_DEATHS_IN_A_ROW: Final = 5
_MOST_AVOIDED: Final = 256
_MOST_AVOIDED_BYTES: Final = 256 << 10

_MOST_WAITING: Final = 100_000
"""Shards that may wait at once. A depth-first walk of a real tree keeps some thousands; a worker that lies
could hand back ever more."""

_FIRST_SLICE_SECONDS: Final = 0.002
"""Short while there is little to share out, so that all workers soon have something."""
_SLICE_SECONDS: Final = 0.025


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a search found, in order, before masking and cutting."""

    found: list[Found]
    skips: list[SkipMark]
    need: int
    """How many entries were wanted. Fewer in `found` means that there are no more."""
    dropped: bool
    """More exists past what was wanted."""
    rules_cut: bool
    """Ignore files held more rules than are kept."""
    reasons: tuple[str, ...]
    """Why something was not searched, beyond the skips: `deadline`, `lost_worker`, `repeated_timeouts`."""
    confinement: ConfinementReport
    """What was in force on the workers that searched."""


@dataclass(eq=False, slots=True)
class Assignment:
    """What a worker is at: a search, and the stretch of it that it holds."""

    ticket: int
    search: Search
    stretch: Stretch | None
    """None while the worker compiles the query."""


@dataclass(eq=False)
class Search:
    """State of one request. Lives on the supervisor's thread, except for `future`."""

    query: Query
    first: Shard
    deadline: float
    future: Future[Outcome] = field(default_factory=Future)
    confinement: ConfinementReport | None = None
    """Set when the supervisor takes the search on."""
    compiled: bool = False
    rules_cut: bool = False
    compiling: bool = False

    def __post_init__(self) -> None:
        self.shards = ShardList(self.first, self.query.need)
        self._avoid: dict[bytes, Skip] = {}
        self._suspects: dict[bytes, int] = {}
        self._deaths_in_a_row = 0
        self._kills = 0
        self._reasons: list[str] = []

    @property
    def over(self) -> bool:
        return self.future.done()

    @property
    def wants_worker(self) -> bool:
        """Whether another worker could help now. Until the pattern has compiled once, one worker's life is
        enough to risk.
        """
        if self.over or not self.shards.waiting:
            return False
        return self.compiled or not self.compiling

    def slice_seconds(self, workers: int) -> float:
        """How long the next ticket may take."""
        return _SLICE_SECONDS if self.shards.waiting > 2 * workers else _FIRST_SLICE_SECONDS

    def take(self, workers: int) -> Stretch | None:
        """The next stretch to hand out."""
        return self.shards.take(max(1, self.shards.waiting // (2 * workers)))

    def avoid(self) -> tuple[Avoid, ...]:
        """The files that must not be touched again."""
        return tuple(Avoid(path, reason) for path, reason in self._avoid.items())

    def settle(self, stretch: Stretch, done: Done) -> None:
        """A ticket came back. Raises WorkerLied."""
        check_done(done, stretch.shards, self.query)
        self._deaths_in_a_row = 0
        self.rules_cut = self.rules_cut or done.rules_cut
        self.shards.settle(stretch, list(done.found), done.skips, done.rest)
        if self.shards.waiting > _MOST_WAITING:
            self.stop("lost_worker")

    def bury(self, stretch: Stretch, words: LastWords, blame: Skip | None) -> None:
        """The worker on `stretch` died. `blame`: what its file is guilty of; None when it may have been an
        accident.
        """
        self._deaths_in_a_row += 1
        path = (
            words.path
            if words.doing in (Doing.SCANNING, Doing.LISTING) and self._is_inside(words, stretch)
            else None
        )
        if path is not None and blame is None:
            self._suspects[path] = self._suspects.get(path, 0) + 1
            if self._suspects[path] > 1:
                blame = Skip.CRASHED
        if path is not None and blame is not None:
            if (
                path not in self._avoid
            ):  # a death over a file that nobody was to touch any more is no progress
                self._deaths_in_a_row = 0
            self._avoid[path] = blame
            self._kills += blame is Skip.TIMED_OUT
        self.shards.give_back(stretch)
        if self._kills >= _MOST_KILLS:
            self.stop("repeated_timeouts")
        elif self._deaths_in_a_row >= _MOST_DEATHS_IN_A_ROW or self._avoids_too_much():
            self.stop("lost_worker")

    def _avoids_too_much(self) -> bool:
        """Every ticket carries the files to avoid: many or long ones would make it longer than a frame may
        be.
        """
        return len(self._avoid) > _MOST_AVOIDED or sum(map(len, self._avoid)) > _MOST_AVOIDED_BYTES

    def stop(self, reason: str) -> None:
        """End now, with what there is."""
        self._reasons.append(reason)
        self.finish()

    def finish(self) -> None:
        """Hand the outcome over."""
        if self.over:
            return
        assert self.confinement is not None
        found, skips = self.shards.results()
        if self._reasons:
            skips = self._with_the_avoided(found, skips)
        self.future.set_result(
            Outcome(
                found,
                skips,
                self.query.need,
                self.shards.cut,
                self.rules_cut,
                tuple(self._reasons),
                self.confinement,
            )
        )

    def refuse(self, error: GrilleError) -> None:
        """End with an error instead of a result."""
        if not self.over:
            self.future.set_exception(error)

    def count_failed_load(self) -> None:
        """A worker died while it compiled, and not of the time limit. Raises nothing; ends the search when
        it goes on.
        """
        self._deaths_in_a_row += 1
        if self._deaths_in_a_row >= _MOST_DEATHS_IN_A_ROW:
            self.stop("lost_worker")

    def _is_inside(self, words: LastWords, stretch: Stretch) -> bool:
        here = key(words.path)
        return is_well_formed(words.path) and any(
            within(here, shard) or here == key(shard.folder) for shard in stretch.shards
        )

    def _with_the_avoided(self, found: list[Found], skips: list[SkipMark]) -> list[SkipMark]:
        """A search that ends early has not come back to the files that cost a worker: they are counted all
        the same.
        """
        told = {name for mark in skips for name in mark.names}
        missing = [(path, reason) for path, reason in self._avoid.items() if path not in told]
        return skips + [SkipMark(len(found), reason, 1, (path,)) for path, reason in missing]
