"""One workspace's cell, as the supervisor holds it: its control channel, its pidfd, its workers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ..policy import landlock
from ..policy.confinement import Tier
from ..policy.errors import ConfinementError
from ..policy.tenant import Policy
from ..policy.wire import (
    MAX_CONTROL_BYTES,
    CellFailed,
    FromCell,
    OpenCell,
    SpawnWorker,
    WorkerExited,
    WorkerSpawned,
)
from . import attest, groups, refusals
from .roots import Root
from .workers import Worker

if TYPE_CHECKING:
    from .zygote import Zygote

_FIRST_PRIVATE_ID = 1_900_000_000
"""Ids that no distribution, container engine or systemd hands out (uids above 1,879,048,191 are unassigned
there).
"""
_IDS_PER_PROCESS = 1 << 10

_TIERS: Final[tuple[Tier, ...]] = ("A", "B", "C")
_CANARIES: Final = ("/etc/passwd", os.path.realpath(os.__file__), os.path.realpath(sys.executable))
"""Files that everybody may read. One of them lies in no mount, whatever is mounted short of the whole
machine.
"""
_PLAY_OLDER_LANDLOCK: Final = "GRILLE_TEST_LANDLOCK_ABI"
"""Environment variable of the host with which tests play an older kernel; it can only lower the ABI."""


def private_id(cell: int) -> int | None:
    """The uid and gid of a cell's workers: its own when we are root, None when we may not choose."""
    if os.geteuid() != 0:
        return None
    return _FIRST_PRIVATE_ID + (os.getpid() & 0xFFFF) * _IDS_PER_PROCESS + cell % _IDS_PER_PROCESS


class Cell:
    """An open cell. Raises ConfinementError when no tier that the policy allows can be built."""

    def __init__(
        self, number: int, zygote: Zygote, roots: Sequence[Root], policy: Policy, program: bytes
    ) -> None:
        self.private_id = private_id(number)
        self.workers: dict[int, Worker] = {}
        self._mounts = len(roots)
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        order = OpenCell(
            cell=number,
            tiers=_TIERS[: _TIERS.index(policy.confinement.lowest_tier) + 1],
            may_lack_landlock="landlock" in policy.confinement.allow_missing,
            landlock_ceiling=int(os.environ.get(_PLAY_OLDER_LANDLOCK, landlock.NEWEST)),
            private_id=self.private_id,
            filter=program,
            canary=_canary(roots),
            memory_bytes=policy.limits.worker_memory,
            cpu_seconds=policy.limits.worker_cpu_seconds,
        )
        try:
            with theirs:
                answer = zygote.open_cell(order, theirs.fileno(), [root.fd for root in roots])
        except BaseException:
            self.channel.close()
            raise
        if isinstance(answer, CellFailed):
            self.channel.close()
            raise refusals.no_tier(answer.missed, policy.confinement)
        self.opened, self.pidfd = answer
        self.channel.setblocking(False)
        memory = policy.limits.workers * policy.limits.worker_memory
        self._group, self.group_report = groups.join(
            policy.confinement.cgroup, number, attest.pid_of(self.pidfd), memory
        )

    def attest(self, worker: Worker) -> None:
        """Raises NotConfined or Vanished unless a worker that has said `Ready` is confined as this cell's
        must be.
        """
        assert worker.pidfd is not None and worker.ready is not None
        mounts = 1 if self.one_root_each else self._mounts
        attest.attest(worker.pidfd, worker.ready, self.opened.tier, self.private_id, mounts)

    @property
    def one_root_each(self) -> bool:
        """Tier B: a worker sees one mount, so it can help with requests on that mount alone."""
        return self.opened.tier == "B"

    def spawn(self, number: int, root: int | None, attempt: str = "") -> Worker:
        """Order a worker, for one mount or (None) for all. It is of use once it has said that it is ready.

        With an `attempt` it is one that `doctor` sacrifices: it makes the attempt and ends.

        Raises OSError when the cell is gone.
        """
        worker = Worker(number, root)
        try:
            descriptors = [worker.their_end.fileno(), worker.page.memfd]
            socket.send_fds(
                self.channel, [msgspec.msgpack.encode(SpawnWorker(number, root, attempt))], descriptors
            )
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
        if self._group is not None:
            self._group.close()


def _canary(roots: Sequence[Root]) -> bytes:
    """A file outside every mount, which a worker must not be able to open."""
    for candidate in _CANARIES:
        if os.path.exists(candidate) and not any(_contains(root.real_path, candidate) for root in roots):
            return os.fsencode(candidate)
    raise ConfinementError(
        "canary_failed", "No file outside the mounts is left to prove the confinement with."
    )


def _contains(folder: str, path: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
