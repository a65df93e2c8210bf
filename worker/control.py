"""The control channel's lower end: messages with descriptors, for the zygote and the cells.

Both ends are ours and neither reads a tenant's byte, so a malformed message is a bug and ends the process.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import msgspec

from ..policy.wire import MAX_CONTROL_BYTES

_MOST_DESCRIPTORS = 128
_encoder = msgspec.msgpack.Encoder()


def receive(channel: socket.socket, kind: Any) -> tuple[Any, list[int]] | None:
    """The next message, of type or union `kind`, and its descriptors (close-on-exec); None once the
    supervisor is gone.
    """
    try:
        body, descriptors, _, _ = socket.recv_fds(
            channel, MAX_CONTROL_BYTES, _MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
    except ConnectionResetError:
        return None
    return (msgspec.msgpack.decode(body, type=kind), descriptors) if body else None


def send(channel: socket.socket, message: msgspec.Struct, descriptors: Sequence[int] = ()) -> None:
    """One message. Raises OSError when the supervisor is gone."""
    socket.send_fds(channel, [_encoder.encode(message)], list(descriptors))
