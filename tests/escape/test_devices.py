"""What lies in a mount and is no file is not read: devices do not open, pipes do not block, sockets do not answer."""

from __future__ import annotations

from .harness import SUCCESS, Attempt, Jail, either, refused, returns, rows
from .toolkit import ROOT, Place, buffer, call, errno, os, read, slurp

_AS_ROOT = "CAP_MKNOD"


@rows(
    Attempt("null", lambda at: slurp(ROOT, b"null"), bars=refused(errno.EACCES), control=returns(b""), needs_root="CAP_MKNOD"),
    Attempt("zero", lambda at: slurp(ROOT, b"zero"), bars=refused(errno.EACCES), control=returns(bytes(64)), needs_root="CAP_MKNOD"),
    Attempt("tty", lambda at: call("openat", ROOT, b"tty", os.O_NOFOLLOW), bars=refused(errno.EACCES), control=either(SUCCESS, refused(errno.ENXIO)), needs_root="CAP_MKNOD"),
    Attempt("tty, for writing", lambda at: call("openat", ROOT, b"tty", os.O_RDWR | os.O_NOFOLLOW), control=either(SUCCESS, refused(errno.ENXIO)), needs_root="CAP_MKNOD"),
)
def test_devices_do_not_open(attempt: Attempt, jail: Jail) -> None:
    """A device node in the mount does not open, even where everybody may read it."""
    if attempt.needs_root and os.geteuid() != 0:
        import pytest

        pytest.skip("an ordinary user makes no device nodes")
    jail.verify(attempt)


def read_fifo(at: Place) -> bytes:
    """A FIFO that nobody writes to: nothing to read, and nothing to wait for."""
    return read(call("openat", ROOT, b"fifo", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))


def read_end_of_sparse(at: Place) -> bytes:
    """A file of a tebibyte that takes no room: read(2) gives zeros, and asks for none of it in advance."""
    return read(call("openat", ROOT, b"sparse", os.O_RDONLY | os.O_NOFOLLOW), 8)


@rows(
    Attempt("FIFO", read_fifo, bars=returns(b""), control=returns(b"")),
    Attempt("FIFO, for writing", lambda at: call("openat", ROOT, b"fifo", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)),
    Attempt("socket", lambda at: slurp(ROOT, b"socket"), bars=refused(errno.ENXIO), control=refused(errno.ENXIO)),
    Attempt("sparse file", read_end_of_sparse, bars=returns(bytes(8)), control=returns(bytes(8))),
    Attempt("folder, read as a file", lambda at: slurp(ROOT, b"folder"), bars=refused(errno.EISDIR), control=refused(errno.EISDIR)),
)
def test_nothing_blocks(attempt: Attempt, jail: Jail) -> None:
    """Whatever is opened answers at once."""
    jail.verify(attempt)
