"""A worker reaches no network and no other process's socket: it cannot even make one of its own."""

from __future__ import annotations

from .harness import SUCCESS, Attempt, Jail, either, refused, rows
from .toolkit import RESULT, Place, address, buffer, call, errno, struct


def connect_tcp(at: Place) -> int:
    """A connection to a listener on the loopback."""
    to = struct.pack("<H", 2) + at.port.to_bytes(2, "big") + b"\x7f\0\0\1" + bytes(8)
    return call("connect", call("socket", 2, 1, 0), to, 16)


def bind_tcp(at: Place) -> int:
    """A listener of one's own."""
    socket = call("socket", 2, 1, 0)
    call("bind", socket, struct.pack("<HHI", 2, 0, 0) + bytes(8), 16)
    return call("listen", socket, 1)


def send_udp(at: Place) -> int:
    """A datagram to a port."""
    to = struct.pack("<H", 2) + at.port.to_bytes(2, "big") + b"\x7f\0\0\1" + bytes(8)
    return call("sendto", call("socket", 2, 2, 0), b"x", 1, 0, to, 16)


def connect_abstract(at: Place) -> int:
    """A connection to a unix socket without a path."""
    name = struct.pack("<H", 1) + b"\0" + at.abstract
    return call("connect", call("socket", 1, 1, 0), name, len(name))


def connect_path_inside(at: Place) -> int:
    """A connection to a unix socket in the mount. Nobody listens, as the kernel tells who gets so far."""
    name = struct.pack("<H", 1) + at.root + b"/socket\0"
    return call("connect", call("socket", 1, 1, 0), name, len(name))


@rows(
    Attempt("AF_UNIX", lambda at: call("socket", 1, 1, 0), alone=True),
    Attempt("AF_INET", lambda at: call("socket", 2, 1, 0), alone=True),
    Attempt(
        "AF_INET6",
        lambda at: call("socket", 10, 1, 0),
        alone=True,
        control=either(SUCCESS, refused(errno.EAFNOSUPPORT)),
    ),
    Attempt("AF_NETLINK", lambda at: call("socket", 16, 3, 0), alone=True),
    Attempt(
        "AF_PACKET",
        lambda at: call("socket", 17, 3, 0),
        control=either(SUCCESS, refused(errno.EPERM, errno.EAFNOSUPPORT)),
    ),
    Attempt(
        "AF_ALG", lambda at: call("socket", 38, 5, 0), control=either(SUCCESS, refused(errno.EAFNOSUPPORT))
    ),
    Attempt(
        "AF_VSOCK",
        lambda at: call("socket", 40, 1, 0),
        alone=True,
        control=either(SUCCESS, refused(errno.EAFNOSUPPORT)),
    ),
    Attempt("raw", lambda at: call("socket", 2, 3, 1), needs_root="CAP_NET_RAW"),
    Attempt("socketpair", lambda at: call("socketpair", 1, 1, 0, buffer(8)), alone=True),
    Attempt("accept", lambda at: call("accept4", RESULT, None, None, 0), control=refused(errno.EINVAL)),
)
def test_no_socket_is_made(attempt: Attempt, jail: Jail) -> None:
    """A worker makes no socket of any family."""
    jail.verify(attempt)


@rows(
    Attempt("connect, TCP", connect_tcp, stopped_at="socket"),
    Attempt(
        "bind and listen, TCP", bind_tcp, stopped_at="socket", alone=None
    ),  # Landlock knows TCP from ABI 4
    Attempt("sendto, UDP", send_udp, stopped_at="socket"),
    Attempt("connect, abstract unix socket", connect_abstract, stopped_at="socket"),
    Attempt(
        "connect, unix socket in the mount",
        connect_path_inside,
        stopped_at="socket",
        control=refused(errno.ECONNREFUSED),
    ),
)
def test_nobody_is_reached(attempt: Attempt, jail: Jail) -> None:
    """Nobody who listens is reached; without the filter, the namespaces and Landlock would still stand there."""
    jail.verify(attempt)


def pass_a_descriptor(at: Place) -> int:
    """Send a descriptor over the result socket (SCM_RIGHTS)."""
    data = b"x"
    vector = struct.pack("<QQ", address(data), 1)
    rights = struct.pack("<QiiI", 20, 1, 1, 3) + bytes(4)
    message = struct.pack("<QIxxxxQQQQIxxxx", 0, 0, address(vector), 1, address(rights), len(rights), 0)
    return call("sendmsg", RESULT, message, 0)


@rows(
    Attempt("sendmsg, a descriptor", pass_a_descriptor, alone=True),
    Attempt("sendto on the result socket", lambda at: call("sendto", RESULT, b"", 0, 0, None, 0), alone=True),
    Attempt(
        "recvfrom on the result socket",
        lambda at: call("recvfrom", RESULT, buffer(1), 0, 0x40, None, None),
        control=either(SUCCESS, refused(errno.EAGAIN)),
    ),
    Attempt(
        "recvmsg on the result socket",
        lambda at: call("recvmsg", RESULT, bytes(56), 0x40),
        control=either(SUCCESS, refused(errno.EAGAIN)),
    ),
    Attempt(
        "getpeername", lambda at: call("getpeername", RESULT, buffer(128), struct.pack("<I", 128)), alone=True
    ),
    Attempt(
        "SO_PEERCRED",
        lambda at: call("getsockopt", RESULT, 1, 17, buffer(12), struct.pack("<I", 12)),
        alone=True,
    ),
    Attempt(
        "setsockopt", lambda at: call("setsockopt", RESULT, 1, 7, struct.pack("<i", 1 << 20), 4), alone=True
    ),
    Attempt("poll", lambda at: call("poll", None, 0, 0), alone=True, calls=("poll",)),
    Attempt("epoll_create1", lambda at: call("epoll_create1", 0), alone=True),
)
def test_the_result_socket_is_for_reading_and_writing(attempt: Attempt, jail: Jail) -> None:
    """The one socket takes bytes and gives bytes. It passes no descriptors and tells nothing of who is behind it."""
    jail.verify(attempt)
