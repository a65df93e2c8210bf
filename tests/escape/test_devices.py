"""What lies in a mount and is no file is not read: devices do not open, pipes do not block, sockets do not answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .harness import (
    SUCCESS,
    Attempt,
    Expectation,
    Jail,
    allow_all,
    either,
    open_jail,
    refused,
    returns,
    rows,
    skip,
)
from .toolkit import KEPT, ROOT, Place, call, errno, os, read, slurp


@rows(
    Attempt("null", lambda at: slurp(ROOT, b"null"), bars=refused(errno.EACCES), control=returns(b"")),
    Attempt("zero", lambda at: slurp(ROOT, b"zero"), bars=refused(errno.EACCES), control=returns(bytes(64))),
    Attempt(
        "tty",
        lambda at: call("openat", ROOT, b"tty", os.O_NOFOLLOW),
        bars=refused(errno.EACCES),
        control=either(SUCCESS, refused(errno.ENXIO)),
    ),
    Attempt(
        "tty, for writing",
        lambda at: call("openat", ROOT, b"tty", os.O_RDWR | os.O_NOFOLLOW),
        control=either(SUCCESS, refused(errno.ENXIO)),
    ),
)
def test_devices_do_not_open(attempt: Attempt, jail: Jail) -> None:
    """A device node in the mount does not open, even where everybody may read it."""
    if os.geteuid() != 0:
        skip("root", "an ordinary user makes no device nodes")
    jail.verify(attempt)


def read_fifo(at: Place) -> bytes:
    """A FIFO that nobody writes to: nothing to read, and nothing to wait for."""
    return read(call("openat", ROOT, b"fifo", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))


def read_end_of_sparse(at: Place) -> bytes:
    """A file of a tebibyte that takes no room: read(2) gives zeros, and asks for none of it in advance."""
    return read(call("openat", ROOT, b"sparse", os.O_RDONLY | os.O_NOFOLLOW), 8)


@rows(
    Attempt("FIFO", read_fifo, bars=returns(b""), control=returns(b"")),
    Attempt(
        "FIFO, for writing",
        lambda at: call("openat", ROOT, b"fifo", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK),
    ),
    Attempt(
        "socket", lambda at: slurp(ROOT, b"socket"), bars=refused(errno.ENXIO), control=refused(errno.ENXIO)
    ),
    Attempt("sparse file", read_end_of_sparse, bars=returns(bytes(8)), control=returns(bytes(8))),
    Attempt(
        "folder, read as a file",
        lambda at: slurp(ROOT, b"folder"),
        bars=refused(errno.EISDIR),
        control=refused(errno.EISDIR),
    ),
)
def test_nothing_blocks(attempt: Attempt, jail: Jail) -> None:
    """Whatever is opened answers at once."""
    jail.verify(attempt)


@pytest.fixture(scope="module")
def with_submount() -> Iterator[Jail]:
    """A jail whose mount has a file system mounted within it."""
    if os.geteuid() != 0:
        skip("root", "an ordinary user mounts nothing")
    jail = open_jail("submount")
    yield jail
    jail.close()


@pytest.mark.parametrize(
    ("attempt", "wanted"),
    [
        (Attempt("read", lambda at: slurp(ROOT, b"empty/sub.txt")), returns(KEPT)),
        (Attempt("link", lambda at: slurp(ROOT, b"empty/to-sub", os.O_RDONLY)), refused(errno.ELOOP)),
        (
            Attempt("linked folder", lambda at: slurp(ROOT, b"empty/to-folder/secret.txt")),
            refused(errno.ELOOP),
        ),
        (
            Attempt("up and out", lambda at: slurp(ROOT, b"empty/../../outside/secret.txt")),
            refused(errno.ENOENT),
        ),
        (Attempt("device", lambda at: slurp(ROOT, b"empty/zero")), refused(errno.EACCES)),
        (
            Attempt("write", lambda at: call("openat", ROOT, b"empty/sub.txt", os.O_WRONLY)),
            refused(errno.EROFS, errno.EACCES),
        ),
        (
            Attempt("touch", lambda at: call("utimensat", ROOT, b"empty/sub.txt", None, 0)),
            refused(errno.EROFS),
        ),
        (
            Attempt("make", lambda at: call("mkdirat", ROOT, b"empty/new", 0o777)),
            refused(errno.EROFS, errno.EACCES),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Attempt) else "",
)
def test_a_mount_within_the_mount_is_as_closed(
    attempt: Attempt, wanted: Expectation, with_submount: Jail
) -> None:
    """What is mounted within the mount is shown, and is as read-only, link-less and device-less as the rest.

    The filter, which would hide that, allows everything here.
    """
    outcome = with_submount.behind_bars(attempt, allow_all())
    assert wanted(outcome), outcome
