"""The worker's end of its channel: whole frames in, whole frames out, through descriptor 3 and nothing else.

Plain read and write: the filter knows no socket call. Reading blocks; there is nothing else to do.
"""

from __future__ import annotations

import os

import msgspec

from ..policy.syscalls import RESULT_FD
from ..policy.wire import HEADER, MAX_REQUEST_BYTES, FromWorker, ToWorker

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ToWorker)


class SupervisorGone(Exception):
    """The other end is closed, or sent what no supervisor sends. There is nobody left to serve."""


def receive() -> ToWorker:
    """The next frame. Raises SupervisorGone."""
    (size,) = HEADER.unpack(_read_exactly(HEADER.size))
    if size > MAX_REQUEST_BYTES:
        raise SupervisorGone
    return _decoder.decode(_read_exactly(size))


def send(frame: FromWorker) -> None:
    """Write one frame whole. Raises SupervisorGone."""
    body = _encoder.encode(frame)
    left = memoryview(HEADER.pack(len(body)) + body)
    try:
        while left:
            left = left[os.write(RESULT_FD, left) :]
    except OSError as error:
        raise SupervisorGone from error


def _read_exactly(size: int) -> bytes:
    parts = []
    while size:
        try:
            part = os.read(RESULT_FD, size)
        except OSError as error:
            raise SupervisorGone from error
        if not part:
            raise SupervisorGone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
