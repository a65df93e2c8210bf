"""A worker holds its socket and its mounts, and no descriptor that it was not meant to have."""

from __future__ import annotations

from .harness import Attempt, Jail, refused, rows
from .toolkit import Place, buffer, call, errno, errno_of, listing, read, slurp


def open_descriptors(at: Place) -> list[int]:
    """Which of the first thousand descriptors are open, as far as `fstat` can tell."""
    memory = buffer(256)
    return [fd for fd in range(1000) if errno_of("fstat", fd, memory) != errno.EBADF]


@rows(
    Attempt("leaked folder: list", lambda at: listing(at.leaked[0]), bars=refused(errno.EBADF)),
    Attempt(
        "leaked folder: open below", lambda at: slurp(at.leaked[0], b"secret.txt"), bars=refused(errno.EBADF)
    ),
    Attempt(
        "leaked O_PATH folder: open below",
        lambda at: slurp(at.leaked[1], b"secret.txt"),
        bars=refused(errno.EBADF),
    ),
    Attempt("leaked file", lambda at: call("fstat", at.leaked[2], buffer(144)), bars=refused(errno.EBADF)),
    Attempt("leaked memfd", lambda at: read(at.leaked[3]), bars=refused(errno.EBADF)),
    Attempt("leaked pipe", lambda at: read(at.leaked[4]), bars=refused(errno.EBADF)),
    Attempt("leaked socket", lambda at: read(at.leaked[5]), bars=refused(errno.EBADF)),
    Attempt(
        "leaked writable file: read",
        lambda at: call("read", at.leaked[6], buffer(1), 1),
        bars=refused(errno.EBADF),
    ),
    Attempt("standard input", lambda at: call("read", 0, buffer(1), 1), bars=refused(errno.EBADF)),
)
def test_nothing_leaks_in(attempt: Attempt, jail: Jail) -> None:
    """A descriptor that was open before the lock-down is closed: a folder would be listed through every other layer."""
    jail.verify(attempt)
