"""A cell: pid 1 of one workspace's namespaces, in its empty root (builder.py). Forks workers on the
supervisor's word, tells how they end.

It holds the workspace's detached mounts and the compiled filter, and nothing of any other tenant. It never
opens a file below a mount. When it dies, for whatever reason, the kernel kills every worker in its process
namespace.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Sequence
from typing import NoReturn

from ..policy.confinement import Tier
from ..policy.wire import NotLockedDown, OpenCell, SpawnWorker, WorkerExited, WorkerSpawned
from . import channel, control, escapes
from .confine import identity, sequence
from .confine.failure import LayerFailed
from .progress import ProgressPage
from .serve import Server


class Cell:
    """The loop of pid 1."""

    def __init__(
        self, control_channel: socket.socket, order: OpenCell, tier: Tier, mounts: Sequence[int]
    ) -> None:
        self._control = control_channel
        self._order = order
        self._tier = tier
        self._mounts = mounts
        self._workers: dict[int, tuple[int, int]] = {}
        """pidfd -> (worker's number, pid)"""
        self._poll = select.poll()
        self._poll.register(control_channel, select.POLLIN)

    def forever(self) -> NoReturn:
        """Serve until the supervisor closes the control channel; then end, and every worker with us."""
        if self._order.private_id is not None:
            identity.keep_only_what_workers_need_dropped()
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != self._control.fileno():
                    self._bury(descriptor)
                elif not self._obey():
                    os._exit(0)

    def _obey(self) -> bool:
        received = control.receive(self._control, SpawnWorker)
        if received is None:
            return False
        order, (worker_socket, page) = received
        pid = os.fork()
        if pid == 0:
            self._become_worker(worker_socket, page, order)
        os.close(worker_socket)
        os.close(page)
        pidfd = os.pidfd_open(pid)
        self._workers[pidfd] = (order.worker, pid)
        self._poll.register(pidfd, select.POLLIN)
        control.send(self._control, WorkerSpawned(order.worker), [pidfd])
        return True

    def _bury(self, pidfd: int) -> None:
        number, pid = self._workers.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        control.send(self._control, WorkerExited(number, max(0, -status), max(0, status)))

    def _become_worker(self, worker_socket: int, page: int, spawn: SpawnWorker) -> NoReturn:
        """The child's side of the fork. Never returns, never raises: a traceback would open source files."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            progress = ProgressPage(page)
            bars = sequence.Bars(
                socket=worker_socket,
                roots=self._mounts if spawn.root is None else [self._mounts[spawn.root]],
                private_id=self._order.private_id,
                memory_bytes=self._order.memory_bytes,
                cpu_seconds=self._order.cpu_seconds,
                filter=self._order.filter,
                canary=self._order.canary,
                chroot=self._tier == "B",
                may_lack_landlock=self._order.may_lack_landlock,
                landlock_ceiling=self._order.landlock_ceiling,
            )
            channel.send(sequence.lock_down(bars))
            if spawn.attempt:
                channel.send(escapes.perform(spawn.attempt, sequence.FIRST_ROOT_FD))
                os._exit(0)
            Server(progress).forever()
        except LayerFailed as failure:
            with contextlib.suppress(BaseException):
                channel.send(NotLockedDown(failure.layer, failure.errno))
        except BaseException:  # noqa: S110 - SupervisorGone, MemoryError, our own bugs: all end the same way
            pass
        finally:
            os._exit(1)
        raise AssertionError
