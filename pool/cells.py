"""One workspace's cell, as the supervisor holds it: its control channel, its pidfd, its workers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ..policy.errors import ConfinementError
from ..policy.limits import Limits
from ..policy.wire import (
    MAX_CONTROL_BYTES,
    CellFailed,
    FromCell,
    OpenCell,
    SpawnWorker,
    WorkerExited,
    WorkerSpawned,
)
from .workers import Worker

if TYPE_CHECKING:
    from .zygote import Zygote

_FIRST_PRIVATE_ID = 1_900_000_000
"""Ids that no distribution, container engine or systemd hands out (uids above 1,879,048,191 are unassigned
there).
"""
_IDS_PER_PROCESS = 1 << 10


def private_id(cell: int) -> int | None:
    """The uid and gid of a cell's workers: its own when we are root, None when we may not choose."""
    if os.geteuid() != 0:
        return None
    return _FIRST_PRIVATE_ID + (os.getpid() & 0xFFFF) * _IDS_PER_PROCESS + cell % _IDS_PER_PROCESS


class Cell:
    """An open cell. Raises ConfinementError when it cannot be built; there is no weaker one in its place."""

    def __init__(
        self, number: int, zygote: Zygote, roots: Sequence[int], limits: Limits, program: bytes, canary: bytes
    ) -> None:
        self.number = number
        self.private_id = private_id(number)
        self.workers: dict[int, Worker] = {}
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        order = OpenCell(
            cell=number,
            private_id=self.private_id,
            filter=program,
            canary=canary,
            memory_bytes=limits.worker_memory,
            cpu_seconds=limits.worker_cpu_seconds,
        )
        with theirs:
            answer = zygote.open_cell(order, theirs.fileno(), roots)
        if isinstance(answer, CellFailed):
            self.channel.close()
            raise _not_built(answer)
        opened, self.pidfd = answer
        self.idmapped = opened.idmapped
        self.user_namespace = opened.user_namespace
        self.channel.setblocking(False)

    def spawn(self, number: int) -> Worker:
        """Order a worker. It is of use once it has said that it is ready. Raises OSError when the cell is
        gone.
        """
        worker = Worker(number)
        try:
            descriptors = [worker.their_end.fileno(), worker.page.memfd]
            socket.send_fds(self.channel, [msgspec.msgpack.encode(SpawnWorker(number))], descriptors)
        except OSError:
            worker.close()
            raise
        worker.hand_over()
        self.workers[number] = worker
        return worker

    def receive(self) -> list[tuple[WorkerSpawned | WorkerExited, int | None]] | None:
        """What the cell tells; None once it is gone."""
        told: list[tuple[WorkerSpawned | WorkerExited, int | None]] = []
        while True:
            try:
                body, descriptors, _, _ = socket.recv_fds(self.channel, MAX_CONTROL_BYTES, 1)
            except BlockingIOError:
                return told
            except ConnectionResetError:
                return None
            if not body:
                return told or None
            told.append(
                (msgspec.msgpack.decode(body, type=FromCell), descriptors[0] if descriptors else None)
            )

    def kill(self) -> None:
        """End the cell; the kernel ends its workers with it."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill, and give up every descriptor."""
        self.kill()
        self.channel.close()
        os.close(self.pidfd)
        for worker in self.workers.values():
            worker.close()
        self.workers.clear()


def _not_built(failed: CellFailed) -> ConfinementError:
    why = os.strerror(failed.errno) if failed.errno else "the folder changed while it was being opened"
    return ConfinementError(
        "layer_missing",
        f"This machine does not give the layer '{failed.layer}' ({why}).",
        hint="`grille doctor` shows every layer and what is missing.",
    )
