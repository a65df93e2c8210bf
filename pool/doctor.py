"""The examination behind `grille doctor`: builds real workers on this machine and lets them try to get out.

Each attempt is made by a worker of its own behind the bars, and as a control by a process without them. A
worker's own word counts for nothing but defeat: an attempt is *stopped* when the filter killed the worker,
or when the kernel refused it. An attempt whose control fails, too, proves nothing and says so.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import tempfile
import time
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from ..policy.confinement import Confinement
from ..policy.errors import GrilleError, PoolError
from ..policy.mounts import Mount
from ..policy.tenant import Policy
from ..policy.wire import Attempted, NotLockedDown, Ready, WorkerExited
from . import attest, refusals
from .cells import Cell
from .filters import compiled_filter
from .preflight import proven_zygote
from .report import ConfinementReport, errno_name, report_on
from .roots import Root
from .zygote import Zygote

_SECONDS_EACH: Final = 10.0

Outcome = Literal["killed", "refused", "escaped", "not_made"]


class AttemptReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attempt to get out."""

    name: str
    outcome: Outcome
    """killed: by the system-call filter. refused: by the kernel, with `errno`. escaped: it worked."""
    errno: str | None
    control: str
    """Without bars: `works`, or the errno with which it fails here anyway."""

    @property
    def stopped(self) -> bool:
        return self.outcome in ("killed", "refused")


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What this machine gives, judged by a policy's demand."""

    met: bool
    """The demand is met: workers can be had, and every attempt to get out was stopped."""
    confinement: ConfinementReport | None
    attempts: tuple[AttemptReport, ...]
    problem: str | None = None
    """Why the demand is not met, in a sentence."""
    code: str | None = None
    """The same as a code (policy/errors.py); `escaped` when an attempt was not stopped."""


def examine(confinement: Confinement) -> Diagnosis:
    """Build what `confinement` asks for in a folder of our own, and try to break out of it. Takes about a
    second.
    """
    with tempfile.TemporaryDirectory(prefix="grille-doctor-") as folder:
        _furnish(folder)
        try:
            return _examine_in(folder, confinement)
        except GrilleError as error:
            return Diagnosis(False, None, (), error.message, error.code)


def _furnish(folder: str) -> None:
    os.chmod(folder, 0o755)  # noqa: S103 - workers with a private uid must be able to look in
    with open(os.path.join(folder, "file"), "w", encoding="ascii") as file:
        file.write("inside\n")
    os.symlink("/etc/passwd", os.path.join(folder, "link"))


def _examine_in(folder: str, confinement: Confinement) -> Diagnosis:
    policy = Policy(mounts=[Mount(folder)], confinement=confinement)
    with (
        contextlib.closing(proven_zygote()) as zygote,
        contextlib.closing(Root(policy.mounts[0], pseudo_filesystems=False)) as root,
        contextlib.closing(Cell(1, zygote, [root], policy, compiled_filter())) as cell,
    ):
        report = _attested_report(cell, confinement)
        attempts = tuple(
            _attempt(number, name, zygote, cell, root.fd)
            for number, name in enumerate(zygote.attempts(), start=2)
        )
    escaped = [attempt.name for attempt in attempts if not attempt.stopped]
    if escaped:
        return Diagnosis(False, report, attempts, f"Not stopped: {', '.join(escaped)}.", "escaped")
    return Diagnosis(True, report, attempts)


def _attested_report(cell: Cell, confinement: Confinement) -> ConfinementReport:
    """What is in force on a worker of this cell. Raises ConfinementError, PoolError."""
    victim = _Victim(cell, 1, "")
    try:
        victim.wait_until(lambda: victim.ready is not None and victim.worker.pidfd is not None)
        assert victim.ready is not None and victim.worker.pidfd is not None
        report = report_on(victim.ready, cell.opened, cell.private_id, cell.group_report)
        if refused := confinement.refused(report.missing):
            raise refusals.policy_refuses(report, refused)
        victim.worker.ready = victim.ready
        cell.attest(victim.worker)
        return report
    except attest.NotConfined as lack:
        raise refusals.not_confined(lack.layer) from None
    finally:
        victim.end()


def _attempt(number: int, name: str, zygote: Zygote, cell: Cell, folder: int) -> AttemptReport:
    control = errno_name(zygote.try_control(name, folder)) or "works"
    victim = _Victim(cell, number, name)
    try:
        victim.wait_until(lambda: victim.exited is not None)
    finally:
        victim.end()
    if victim.exited is not None and victim.exited.signal == signal.SIGSYS:
        return AttemptReport(name, "killed", None, control)
    if victim.attempted is None:
        return AttemptReport(name, "not_made", None, control)
    stopped_by = victim.attempted.errno
    return AttemptReport(name, "refused" if stopped_by else "escaped", errno_name(stopped_by), control)


class _Victim:
    """A worker that lives for one attempt, or (with none) long enough to be looked at."""

    def __init__(self, cell: Cell, number: int, attempt: str) -> None:
        self._cell = cell
        self.worker = cell.spawn(number, 0 if cell.one_root_each else None, attempt)
        self.ready: Ready | None = None
        self.attempted: Attempted | None = None
        self.exited: WorkerExited | None = None

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Listen to worker and cell. Raises PoolError when it takes too long, ConfinementError when a layer
        fails.
        """
        give_up_at = time.monotonic() + _SECONDS_EACH
        while not happened():
            channels = [self._cell.channel] if self.exited else [self._cell.channel, self.worker.channel]
            ready, _, _ = select.select(channels, [], [], max(0.0, give_up_at - time.monotonic()))
            if not ready:
                raise PoolError("spawn_failed", "A worker did not answer in time.")
            self._hear_worker()
            self._hear_cell()

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        self.worker.kill()
        with contextlib.suppress(PoolError):
            self.wait_until(lambda: self.exited is not None)
        self._cell.workers.pop(self.worker.number).close()

    def _hear_worker(self) -> None:
        for frame in self.worker.receive() or []:
            if isinstance(frame, Ready):
                self.ready = frame
            elif isinstance(frame, Attempted):
                self.attempted = frame
            elif isinstance(frame, NotLockedDown):
                raise refusals.layer_missing(frame.layer, frame.errno)

    def _hear_cell(self) -> None:
        told = self._cell.receive()
        if told is None:
            raise PoolError("spawn_failed", "The workers' parent ended.")
        for message, descriptor in told:
            if isinstance(message, WorkerExited):
                self._hear_worker()  # what it said before it ended
                self.exited = message
            else:
                self.worker.pidfd = descriptor
