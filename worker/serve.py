"""The worker's life behind the bars: take a query, work off its tickets, until the supervisor goes away.

Invariants: single-threaded, no handler, no import, no open outside the mounts. Whatever a repository or a
pattern does ends in a frame or in this process's death; the supervisor can tell which file it was from the
progress page.
"""

from __future__ import annotations

import time
from typing import NoReturn

from ..policy.globs import GlobRefused
from ..policy.progress import Doing
from ..policy.wire import Done, Loaded, Query, Refused, Ticket
from . import channel
from .confine.sequence import FIRST_ROOT_FD
from .engines import PatternRefused, compile_pattern
from .harvest import Harvest
from .progress import ProgressPage
from .scan import FileScan
from .selection import Selection
from .timer import KillTimer
from .walk import Walk


class Server:
    """Serves one supervisor over descriptor 3."""

    def __init__(self, page: ProgressPage) -> None:
        self._page = page
        self._timer = KillTimer()
        self._query: Query | None = None
        self._walk: Walk | None = None
        self._files: FileScan | None = None

    def forever(self) -> NoReturn:
        """Answer frames until the channel closes; raises SupervisorGone then, MemoryError when this worker
        is spent.
        """
        while True:
            frame = channel.receive()
            if isinstance(frame, Query):
                self._load(frame)
            else:
                self._work(frame)
            self._timer.rest()
            self._page.note(Doing.NOTHING)

    def _load(self, query: Query) -> None:
        """Compile a query's pattern and globs, under the compile limit."""
        self._page.note(Doing.COMPILING)
        self._timer.allow(query.compile_seconds, time.monotonic())
        try:
            selection = Selection(query)
            self._files = None
            if query.tool == "grep":
                scanner = compile_pattern(
                    query.pattern,
                    literal=query.literal,
                    ignore_case=query.ignore_case,
                    word=query.word,
                    multiline=query.multiline,
                    max_line_bytes=query.max_line_bytes,
                    max_pattern_bytes=query.max_pattern_bytes,
                )
                self._files = FileScan(query, scanner)
            elif query.tool == "read":
                self._files = FileScan(query, None)
        except PatternRefused as refusal:
            channel.send(Refused(query.id, "pattern", refusal.code, refusal.message, refusal.position))
            return
        except GlobRefused as refusal:
            channel.send(Refused(query.id, "glob", refusal.code, refusal.message, None))
            return
        except MemoryError:
            channel.send(
                Refused(query.id, "pattern", "too_complex", "the pattern takes too much memory", None)
            )
            raise
        self._query = query
        root = FIRST_ROOT_FD + query.root
        self._walk = Walk(root, query, selection, self._files, self._page, self._timer)
        channel.send(Loaded(query.id))

    def _work(self, ticket: Ticket) -> None:
        if self._walk is None or self._query is None or self._query.id != ticket.query:
            raise channel.SupervisorGone
        harvest = Harvest(self._query.need)
        try:
            rest = self._walk.run(ticket.shards, ticket.avoid, ticket.slice_seconds, harvest)
        except MemoryError:
            # What the walk had not reached is not known any more: the supervisor runs the ticket again,
            # without the file that the page names.
            channel.send(Done(ticket.id, (), (), (), out_of_memory=True))
            raise
        if self._files is not None:
            self._page.bytes = self._files.bytes
        self._page.publish_counters()
        channel.send(
            Done(
                ticket.id,
                tuple(harvest.found),
                harvest.marks(),
                tuple(rest),
                out_of_memory=False,
                rules_cut=self._walk.rules_cut,
            )
        )
