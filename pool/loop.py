"""The supervisor's loop: starts, feeds, watches and kills workers for all workspaces of a pool, on one
thread.

Invariants: a worker serves one workspace in its life. It gets a job only after it was attested. It holds at
most one ticket, so at most one reply of bounded length can be under way. Whatever overstays is killed;
whatever dies is replaced; no reply of a worker is used unchecked (frames.py). The loop never blocks on a
worker, a cell or a repository; it does block, for at most some seconds, on the zygote, which reads nothing
but our messages.

Leaves to others: commands from other threads (supervisor.py), what a death means for a search (search.py),
what is on a page (page.py).
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import selectors
import signal
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import msgspec

from ..policy.errors import ConfinementError, GrilleError, PoolError
from ..policy.wire import (
    Done,
    FromWorker,
    Loaded,
    NotLockedDown,
    Ready,
    Refused,
    Skip,
    Ticket,
    WorkerExited,
    WorkerSpawned,
)
from . import attest, memory, refusals
from .cells import Cell
from .filters import compiled_filter
from .frames import WorkerLied
from .preflight import proven_zygote
from .progress import NO_WORDS
from .report import report_on
from .search import Assignment, Search
from .tenant import Tenant
from .workers import Phase, Worker
from .zygote import Zygote

log = logging.getLogger("grille")

_START_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 0.25
"""What a worker may take beyond its limits before the supervisor kills it: the kernel's timer comes first."""
_ABANDONED_SECONDS: Final = 0.1
"""How long a worker may go on with a search that is over before it is killed and replaced."""
_MOST_FAILED_STARTS: Final = 3


class Loop:
    """The thread's own state."""

    def __init__(
        self, commands: queue.SimpleQueue[Callable[[Loop], None]], wake: int, max_workers: int
    ) -> None:
        self._commands = commands
        self._wake = wake
        self._max_workers = max_workers
        self._zygote: Zygote | None = None
        self._tenants: list[Tenant] = []
        self._numbers = count(1)
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake, selectors.EVENT_READ, self._take_commands)
        self._look_at_memory_at = 0.0
        self._stopping = False

    # --- commands

    def open(self, tenant: Tenant) -> None:
        self._tenants.append(tenant)
        try:
            self._refuse_when_stopping()
            self._open_cell(tenant)
        except GrilleError as error:
            tenant.report.set_exception(error)
            return
        assert tenant.cell is not None
        for number in range(tenant.policy.limits.workers):
            root = number % len(tenant.roots) if tenant.cell.one_root_each else None
            if tenant.cell is None or not self._spawn(tenant, root):
                break

    def submit(self, tenant: Tenant, search: Search) -> None:
        if tenant.closed:
            search.refuse(PoolError("workspace_closed", "The workspace is closed; open it again."))
            return
        tenant.used_at = time.monotonic()
        tenant.searches.append(search)
        try:
            self._refuse_when_stopping()
            if tenant.cell is None:
                self._open_cell(tenant)
        except GrilleError as error:
            search.refuse(error)
            return
        search.confinement = tenant.report.result()

    def _refuse_when_stopping(self) -> None:
        if self._stopping:
            raise PoolError("pool_closed", "The pool is closed; open a new one.")

    def cancel(self, search: Search) -> None:
        search.refuse(PoolError("cancelled", "The request was cancelled."))

    def close_tenant(self, tenant: Tenant) -> None:
        tenant.closed = True
        for search in tenant.searches:
            search.refuse(
                PoolError("workspace_closed", "The workspace was closed while a request was under way.")
            )
        self._close_cell(tenant)
        if tenant in self._tenants:
            self._tenants.remove(tenant)
        for root in tenant.roots:
            root.close()

    def stop(self) -> None:
        self._stopping = True

    def worker_pids(self) -> list[int]:
        cells = [tenant.cell for tenant in self._tenants if tenant.cell is not None]
        workers = [w for cell in cells for w in cell.workers.values() if w.phase is not Phase.DYING]
        pids = [attest.pid_of(w.pidfd) for w in workers if w.pidfd is not None]
        return [pid for pid in pids if pid > 0]  # -1 is one that has just ended, and every process to kill(2)

    # --- the loop

    def run(self) -> None:
        while not self._stopping:
            for key, events in self._selector.select(self._seconds_to_next_deadline()):
                # A handler of this very round may have unregistered what comes later in it.
                if key.fd in self._selector.get_map() and self._selector.get_key(key.fd).data is key.data:
                    key.data(events)
            now = time.monotonic()
            for tenant in list(self._tenants):
                with self._blaming(tenant):
                    self._enforce_deadlines(tenant, now)
                    self._schedule(tenant, now)
            if now >= self._look_at_memory_at:
                self._look_at_memory_at = now + memory.INTERVAL_SECONDS

    def shut_down(self) -> None:
        """End everything, whether the loop was told to stop or died of a bug of ours: nobody may wait for
        ever.
        """
        self._stopping = True
        while not self._commands.empty():
            self._commands.get()(self)
        for tenant in list(self._tenants):
            gone = PoolError("pool_closed", "The pool was closed while a request was under way.")
            if not tenant.report.done():
                tenant.report.set_exception(gone)
            for search in tenant.searches:
                search.refuse(gone)
            self.close_tenant(tenant)
        if self._zygote is not None:
            self._zygote.close()
        self._selector.close()

    @contextlib.contextmanager
    def _blaming(self, tenant: Tenant) -> Iterator[None]:
        """A bug of ours that one tenant's work brings to light ends that tenant's searches, and nobody
        else's.
        """
        try:
            yield
        except Exception:
            log.exception("should not happen, please report: serving a workspace failed")
            self._fail(
                tenant, PoolError("worker_lost", "Serving the request failed inside grille; see the log.")
            )
            self._close_cell(tenant)

    def _take_commands(self, _events: int) -> None:
        os.eventfd_read(self._wake)
        while not self._commands.empty():
            self._commands.get()(self)

    def _seconds_to_next_deadline(self) -> float | None:
        times = [search.deadline for tenant in self._tenants for search in tenant.searches]
        times += [
            worker.kill_at
            for tenant in self._tenants
            if tenant.cell is not None
            for worker in tenant.cell.workers.values()
            if worker.phase is not Phase.DYING
        ]
        if any(search.shards.running for tenant in self._tenants for search in tenant.searches):
            times.append(self._look_at_memory_at)
        nearest = min(times, default=float("inf"))
        return None if nearest == float("inf") else max(0.0, nearest - time.monotonic())

    def _enforce_deadlines(self, tenant: Tenant, now: float) -> None:
        for search in tenant.searches:
            if now >= search.deadline:
                search.stop("deadline")
        if tenant.cell is None:
            return
        for worker in tenant.cell.workers.values():
            if now >= worker.kill_at and worker.phase is not Phase.DYING:
                worker.overstayed = True
                worker.kill()
        if now >= self._look_at_memory_at:
            self._watch_memory(tenant, tenant.cell)

    @staticmethod
    def _watch_memory(tenant: Tenant, cell: Cell) -> None:
        for worker in cell.workers.values():
            if worker.phase is Phase.BUSY and worker.pidfd is not None:
                pid = attest.pid_of(worker.pidfd)
                if pid > 0 and memory.overdrawn(pid, tenant.policy.limits.worker_memory):
                    worker.overdrawn = True
                    worker.kill()

    def _schedule(self, tenant: Tenant, now: float) -> None:
        """Give every idle worker the earliest work there is; replace what is missing."""
        for search in [s for s in tenant.searches if s.over]:
            tenant.searches.remove(search)
            self._release_workers_of(tenant, search, now)
        if tenant.cell is None or not (tenant.searches or not tenant.report.done()):
            return
        self._staff(tenant, tenant.cell)
        if tenant.cell is None:
            return
        for worker in list(tenant.cell.workers.values()):
            if worker.phase is Phase.IDLE:
                self._employ(tenant, worker, now)

    def _employ(self, tenant: Tenant, worker: Worker, now: float) -> None:
        wanting = [s for s in tenant.searches if s.wants_worker and worker.root in (None, s.query.root)]
        if not wanting:
            return
        # The search with the fewest workers first, so that a long one does not starve a short one.
        search = min(wanting, key=lambda s: s.shards.running)
        try:
            if worker.loaded != search.query.id:
                self._load(worker, search, now)
            else:
                self._assign(tenant, worker, search, now)
        except WorkerLied as lie:
            self._punish(worker, lie)

    def _load(self, worker: Worker, search: Search, now: float) -> None:
        search.compiling = True
        worker.phase = Phase.LOADING
        worker.loaded = search.query.id
        worker.assignment = Assignment(0, search, None)
        worker.kill_at = now + search.query.compile_seconds * 1.1 + _GRACE_SECONDS
        # A worker that sees one mount knows it as its first and only one.
        query = search.query if worker.root is None else msgspec.structs.replace(search.query, root=0)
        worker.send(query)
        self._watch_worker(worker)

    def _assign(self, tenant: Tenant, worker: Worker, search: Search, now: float) -> None:
        workers = tenant.policy.limits.workers
        stretch = search.take(workers)
        if stretch is None:
            return
        slice_seconds = search.slice_seconds(workers)
        ticket = Ticket(next(self._numbers), search.query.id, stretch.shards, slice_seconds, search.avoid())
        worker.phase = Phase.BUSY
        worker.assignment = Assignment(ticket.id, search, stretch)
        longest = max(search.query.scan_seconds * 1.1, search.query.folder_seconds)
        worker.kill_at = now + slice_seconds + longest + _GRACE_SECONDS
        worker.send(ticket)
        self._watch_worker(worker)

    def _release_workers_of(self, tenant: Tenant, search: Search, now: float) -> None:
        """A search is over: what still works on it gets a moment, then is killed. None of it is used."""
        if tenant.cell is None:
            return
        for worker in tenant.cell.workers.values():
            mine = worker.assignment is not None and worker.assignment.search is search
            if mine:
                worker.kill_at = min(worker.kill_at, now + _ABANDONED_SECONDS)
            if worker.phase is Phase.IDLE and tenant.policy.confinement.fresh_workers:
                worker.kill()

    # --- cells and workers

    def _open_cell(self, tenant: Tenant) -> None:
        program = compiled_filter()
        if self._zygote is None:
            self._zygote = proven_zygote()
        number = next(self._numbers)
        try:
            cell = Cell(number, self._zygote, tenant.roots, tenant.policy, program)
        except PoolError:
            self._zygote.close()
            self._zygote = None
            raise
        tenant.cell = cell
        tenant.failed_starts = 0

        def hear(_events: int) -> None:
            with self._blaming(tenant):
                self._hear_cell(tenant, cell)

        self._selector.register(cell.channel, selectors.EVENT_READ, hear)

    def _close_cell(self, tenant: Tenant) -> None:
        cell, tenant.cell = tenant.cell, None
        if cell is None:
            return
        self._selector.unregister(cell.channel)
        for worker in cell.workers.values():
            self._unwatch(worker)
        cell.close()

    def _staff(self, tenant: Tenant, cell: Cell) -> None:
        """Bring the workspace to its full number of workers, for the mounts that searches wait for."""
        missing = tenant.policy.limits.workers - len(cell.workers)
        if not cell.one_root_each:
            while missing > 0 and self._spawn(tenant, None):
                missing -= 1
            return
        served = {worker.root for worker in cell.workers.values() if worker.phase is not Phase.DYING}
        for root in {search.query.root for search in tenant.searches} - served:
            if missing <= 0:
                # A full house that serves other mounts: one that is idle makes way, and is replaced when it
                # is gone.
                idle = [w for w in cell.workers.values() if w.phase is Phase.IDLE]
                if idle:
                    idle[0].kill()
                return
            self._spawn(tenant, root)
            missing -= 1
        while missing > 0 and self._spawn(tenant, tenant.searches[0].query.root if tenant.searches else 0):
            missing -= 1

    def _spawn(self, tenant: Tenant, root: int | None) -> bool:
        """Order one more worker; False when there is no room, or no cell to put it in."""
        assert tenant.cell is not None
        if not self._make_room(tenant):
            return False
        try:
            worker = tenant.cell.spawn(next(self._numbers), root)
        except OSError:
            self._lose_cell(tenant)
            return False
        worker.kill_at = time.monotonic() + _START_SECONDS

        def hear(events: int) -> None:
            with self._blaming(tenant):
                self._hear_worker(tenant, worker, events)

        self._selector.register(worker.channel, selectors.EVENT_READ, hear)
        return True

    def _make_room(self, tenant: Tenant) -> bool:
        """Keep the pool's budget: the least recently used idle workspace gives up its cell."""
        while self._worker_count() >= self._max_workers:
            idle = [t for t in self._tenants if t.cell is not None and not t.searches and t is not tenant]
            if not idle:
                return tenant.cell is not None and not tenant.cell.workers
            self._close_cell(min(idle, key=lambda t: t.used_at))
        return True

    def _worker_count(self) -> int:
        return sum(len(t.cell.workers) for t in self._tenants if t.cell is not None)

    def _watch_worker(self, worker: Worker) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.wants_to_write else 0)
        key = self._selector.get_map().get(worker.channel)
        if key is not None and key.events != events:
            self._selector.modify(worker.channel, events, key.data)

    def _unwatch(self, worker: Worker) -> None:
        if worker.channel.fileno() >= 0 and worker.channel in self._selector.get_map():
            self._selector.unregister(worker.channel)

    def _hear_cell(self, tenant: Tenant, cell: Cell) -> None:
        told = cell.receive()
        if told is None:
            self._lose_cell(tenant)
            return
        for message, descriptor in told:
            worker = cell.workers.get(message.worker)
            if isinstance(message, WorkerSpawned) and descriptor is not None:
                if worker is None:
                    os.close(descriptor)
                else:
                    worker.pidfd = descriptor
                    if worker.phase is Phase.DYING:
                        worker.kill()  # it was given up before there was anything to kill it by
                    self._admit(tenant, worker)
            elif isinstance(message, WorkerExited) and worker is not None:
                self._hear_worker(tenant, worker, selectors.EVENT_READ)  # what it said before it died
                self._bury(tenant, cell, worker, message)

    def _lose_cell(self, tenant: Tenant) -> None:
        """The cell died, and all its workers with it: their shards are run again, in a new one."""
        log.warning("a cell ended unexpectedly; its workspace gets a new one")
        cell = tenant.cell
        if cell is None:
            return
        for worker in cell.workers.values():
            self._settle_death(worker, None)
        self._close_cell(tenant)
        if not tenant.report.done():
            tenant.report.set_exception(
                PoolError(
                    "spawn_failed", "The workspace's process ended before it was ready; see `grille doctor`."
                )
            )
            return
        tenant.failed_starts += 1
        failed_starts = tenant.failed_starts
        if tenant.searches:
            try:
                if failed_starts > _MOST_FAILED_STARTS:
                    raise PoolError(
                        "worker_lost", "The workspace's processes end again and again; see the log."
                    )
                self._open_cell(tenant)
                tenant.failed_starts = failed_starts
            except GrilleError as error:
                for search in tenant.searches:
                    search.refuse(error)

    def _hear_worker(self, tenant: Tenant, worker: Worker, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                worker.flush()
                self._watch_worker(worker)
            frames = worker.receive() if events & selectors.EVENT_READ else []
            if frames is None:
                # Whoever closes its socket is of no more use, dead or not. The cell will tell how it ended.
                self._unwatch(worker)
                worker.kill()
                return
            for frame in frames:
                self._obey_frame(tenant, worker, frame)
        except WorkerLied as lie:
            self._punish(worker, lie)

    def _punish(self, worker: Worker, lie: WorkerLied) -> None:
        log.error("security: worker %d was killed: it sent %s", worker.number, str(lie))
        self._unwatch(worker)
        worker.kill()

    def _obey_frame(self, tenant: Tenant, worker: Worker, frame: FromWorker) -> None:
        if worker.phase is Phase.DYING:
            return
        if isinstance(frame, Ready):
            self._require_first(worker)
            worker.ready = frame
            self._admit(tenant, worker)
        elif isinstance(frame, NotLockedDown):
            self._require_first(worker)
            self._fail(tenant, refusals.layer_missing(frame.layer, frame.errno))
        elif isinstance(frame, Loaded):
            search = self._require(worker, Phase.LOADING, frame.query)
            search.compiled = True
            self._set_idle(worker)
        elif isinstance(frame, Refused):
            search = self._require(worker, Phase.LOADING, frame.query)
            search.refuse(refusals.pattern_refused(frame, search.query))
            worker.loaded = None
            self._set_idle(worker)
        elif isinstance(frame, Done):
            self._take_result(worker, frame)
        else:
            raise WorkerLied("an attempt to get out that nobody asked for")

    def _take_result(self, worker: Worker, done: Done) -> None:
        assignment = worker.assignment
        if worker.phase is not Phase.BUSY or assignment is None or assignment.ticket != done.ticket:
            raise WorkerLied("an answer that nobody asked for")
        search = assignment.search
        assert assignment.stretch is not None
        if done.out_of_memory:
            worker.assignment = None
            worker.kill()
            search.bury(assignment.stretch, worker.page.last_words(), Skip.OUT_OF_MEMORY)
            return
        if not search.over:
            search.settle(assignment.stretch, done)
            if search.shards.finished:
                search.finish()
        self._set_idle(worker)

    @staticmethod
    def _require_first(worker: Worker) -> None:
        """A worker says once how its lock-down went. Raises WorkerLied."""
        if worker.phase is not Phase.STARTING or worker.ready is not None:
            raise WorkerLied("a frame out of turn")

    @staticmethod
    def _require(worker: Worker, phase: Phase, query: int | None) -> Search:
        """The search that a frame is about. Raises WorkerLied when it comes out of turn."""
        expected = worker.assignment.search if worker.assignment is not None else None
        if worker.phase is not phase or (expected.query.id if expected else None) != query:
            raise WorkerLied("a frame out of turn")
        return expected  # type: ignore[return-value]

    def _set_idle(self, worker: Worker) -> None:
        worker.phase = Phase.IDLE
        worker.assignment = None
        worker.kill_at = float("inf")

    def _admit(self, tenant: Tenant, worker: Worker) -> None:
        """A worker is served once it is locked down by its own word and by the kernel's."""
        if (
            worker.pidfd is None
            or worker.ready is None
            or worker.phase is not Phase.STARTING
            or tenant.cell is None
        ):
            return
        report = report_on(worker.ready, tenant.cell.opened, tenant.cell.private_id, tenant.cell.group_report)
        if refused := tenant.policy.confinement.refused(report.missing):
            worker.kill()
            self._fail(tenant, refusals.policy_refuses(report, refused))
            return
        try:
            tenant.cell.attest(worker)
        except attest.Vanished:
            return
        except attest.NotConfined as lack:
            worker.kill()
            log.error("security: a worker lacks %s", lack)
            self._fail(tenant, refusals.not_confined(lack.layer))
            return
        tenant.failed_starts = 0
        self._set_idle(worker)
        if not tenant.report.done():
            log.info("a workspace is open, %s", report.summary())
            tenant.report.set_result(report)

    def _fail(self, tenant: Tenant, error: ConfinementError | PoolError) -> None:
        """The workspace cannot be served as its policy demands."""
        if not tenant.report.done():
            tenant.report.set_exception(error)
        for search in tenant.searches:
            search.refuse(error)

    def _bury(self, tenant: Tenant, cell: Cell, worker: Worker, exited: WorkerExited) -> None:
        started = worker.phase is not Phase.STARTING and worker.ready is not None
        self._settle_death(worker, exited)
        self._unwatch(worker)
        cell.workers.pop(worker.number, None)
        worker.close()
        if not started:
            tenant.failed_starts += 1
            if tenant.failed_starts >= _MOST_FAILED_STARTS:
                self._fail(
                    tenant,
                    PoolError("spawn_failed", "Workers end before they are ready; see `grille doctor`."),
                )

    def _settle_death(self, worker: Worker, exited: WorkerExited | None) -> None:
        """What a worker's death means for the search that it worked on."""
        if exited is not None and exited.signal == signal.SIGSYS:
            log.error("security: worker %d was killed by the system-call filter", worker.number)
        assignment, worker.assignment = worker.assignment, None
        if assignment is None or assignment.search.over:
            return
        search = assignment.search
        too_long = worker.overstayed or (exited is not None and exited.signal == signal.SIGALRM)
        if assignment.stretch is None:
            search.compiling = search.compiled
            if too_long:
                search.refuse(refusals.compile_timeout(search.query))
            else:
                search.count_failed_load()
            return
        words = worker.page.last_words()
        if exited is not None and exited.signal == signal.SIGXCPU:
            words = NO_WORDS  # its age, and no file's doing
        blame = Skip.OUT_OF_MEMORY if worker.overdrawn else Skip.TIMED_OUT if too_long else None
        search.bury(assignment.stretch, words, blame)
        if search.shards.finished:
            search.finish()
