"""The supervisor's front: starts the loop's thread and hands it commands from any other thread.

Leaves to others: everything that the thread does (loop.py).
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

from ..policy.errors import PoolError
from .loop import Loop
from .search import Search
from .tenant import Tenant


class Supervisor:
    """Starts the thread; every method may be called from any thread."""

    def __init__(self, max_workers: int) -> None:
        self._commands: queue.SimpleQueue[Callable[[Loop], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(
            target=self._run, args=(max_workers,), name="grille: supervisor", daemon=True
        )
        self._thread.start()

    def open(self, tenant: Tenant) -> None:
        """Build the tenant's cell and its first workers; `tenant.report` says how that went."""
        self._tell(lambda loop: loop.open(tenant))

    def submit(self, tenant: Tenant, search: Search) -> None:
        """Start a search; its future resolves to an Outcome or an error."""
        self._tell(lambda loop: loop.submit(tenant, search))

    def cancel(self, search: Search) -> None:
        """End a search at once and kill what works on it."""
        self._tell(lambda loop: loop.cancel(search))

    def close_tenant(self, tenant: Tenant) -> None:
        self._tell(lambda loop: loop.close_tenant(tenant))

    def close(self) -> None:
        """End everything: searches, workers, cells, zygote, thread."""
        with contextlib.suppress(PoolError):
            self._tell(Loop.stop)
        self._thread.join()

    def worker_pids(self) -> list[int]:
        """Process numbers of all live workers, for tests and for an operator's `ps`."""
        answer: Future[list[int]] = Future()
        self._tell(lambda loop: answer.set_result(loop.worker_pids()))
        return answer.result(10)

    def _tell(self, command: Callable[[Loop], None]) -> None:
        with self._lock:
            if self._ended:
                raise PoolError("pool_closed", "The pool is closed; open a new one.")
            self._commands.put(command)
            os.eventfd_write(self._wake, 1)

    def _run(self, max_workers: int) -> None:
        loop = Loop(self._commands, self._wake, max_workers)
        try:
            loop.run()
        finally:
            # From here on nobody can put a command; what was put is refused by a loop that has stopped.
            with self._lock:
                self._ended = True
                loop.shut_down()
                os.close(self._wake)
