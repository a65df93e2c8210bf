"""One worker, as the supervisor holds it: its socket, its pidfd, its progress page, and what it is doing."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from enum import Enum, auto
from typing import TYPE_CHECKING

import msgspec

from ..policy.wire import HEADER, FromWorker, Ready, ToWorker
from .frames import FrameBuffer, WorkerLied
from .progress import Page

if TYPE_CHECKING:
    from .search import Assignment

_encoder = msgspec.msgpack.Encoder()
_RECEIVE_BYTES = 256 << 10
_MOST_UNREAD = 4 << 20
"""What may wait for a worker that does not read. An honest one is never sent more than two frames ahead."""


class Phase(Enum):
    """Where a worker is in its life."""

    STARTING = auto()
    IDLE = auto()
    LOADING = auto()
    BUSY = auto()
    DYING = auto()


class Worker:
    """A worker of one cell. Everything here runs on the supervisor's thread."""

    def __init__(self, number: int, root: int | None) -> None:
        self.number = number
        self.root = root
        """The one mount that it sees; None: all of them."""
        self.phase = Phase.STARTING
        self.pidfd: int | None = None
        self.ready: Ready | None = None
        self.loaded: int | None = None
        """The query whose pattern it has compiled."""
        self.assignment: Assignment | None = None
        self.kill_at = float("inf")
        """Monotonic time after which it has overstayed."""
        self.overstayed = False
        self.overdrawn = False
        """It was killed since it held too much memory."""
        self.page = Page()
        self.channel, self.their_end = socket.socketpair()
        self.channel.setblocking(False)
        self._frames = FrameBuffer()
        self._unsent = bytearray()

    def hand_over(self) -> None:
        """The cell has its copies: drop ours, so that the channel closes when the worker ends."""
        self.their_end.close()

    @property
    def wants_to_write(self) -> bool:
        return bool(self._unsent)

    def send(self, frame: ToWorker) -> None:
        """Queue a frame. Raises WorkerLied when it has stopped reading."""
        body = _encoder.encode(frame)
        self._unsent += HEADER.pack(len(body)) + body
        if len(self._unsent) > _MOST_UNREAD:
            raise WorkerLied("does not read")
        self.flush()

    def flush(self) -> None:
        """Write what the socket takes. A closed socket is noticed when reading."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            del self._unsent[: self.channel.send(self._unsent)]

    def receive(self) -> list[FromWorker] | None:
        """Frames that have arrived; None once the channel is closed. Raises WorkerLied."""
        try:
            data = self.channel.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return []
        except ConnectionResetError:
            return None
        return self._frames.feed(data) if data else None

    def kill(self) -> None:
        """SIGKILL, at once. Its end is told by the cell."""
        self.phase = Phase.DYING
        if self.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Give up our side."""
        self.channel.close()
        self.their_end.close()
        self.page.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None
