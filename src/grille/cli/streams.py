"""Standard output and standard error, as bytes: UTF-8 whatever the locale says, and quiet when the reader has
gone.

Invariant: nothing raw reaches a terminal. What `write` and `tell` get is escaped already; `tell_message` sees
to it itself.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Final

# Large enough that a write is cheap, small enough that `head` is served at once.
_CHUNK_CHARACTERS: Final = 1 << 16


class OutputFailed(Exception):
    """Standard output took no more, and not because its reader had enough. The text says why."""


def write(pieces: Iterable[str]) -> None:
    """Print `pieces`, which carry their own line ends. Ends early, and quietly, when nobody reads on.

    Raises OutputFailed.
    """
    try:
        _write_all(pieces)
    except BrokenPipeError:
        _abandon_stdout()
    except OSError as error:
        _abandon_stdout()
        raise OutputFailed(os.strerror(error.errno or errno.EIO)) from None


def tell(lines: Sequence[str]) -> None:
    """Print lines on standard error, each after the program's name."""
    text = "".join(f"grille: {line}\n" for line in lines)
    try:
        sys.stderr.flush()
        sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stderr.buffer.flush()
    except (OSError, AttributeError):  # closed, or no such descriptor: there is nobody to tell
        pass


def tell_message(text: str) -> None:
    """`tell` for a message from elsewhere, of any number of lines."""
    from ..pool import escape

    tell([escape.line(line) for line in text.splitlines()])


def _write_all(pieces: Iterable[str]) -> None:
    if sys.stdout is None:  # closed by the caller: `grille ... >&-`
        raise OSError(errno.EBADF, "stdout")
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _CHUNK_CHARACTERS:
            sys.stdout.buffer.write("".join(held).encode("utf-8"))
            held, size = [], 0
    sys.stdout.buffer.write("".join(held).encode("utf-8"))
    sys.stdout.buffer.flush()


def _abandon_stdout() -> None:
    """Python flushes standard output once more at its end: let that go nowhere, rather than fail again."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
