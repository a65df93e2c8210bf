"""The supervisor's hold on the zygote: starts it, asks it for cells, ends it.

The zygote gets an empty environment, one socket and /dev/null; nothing of the host's heap, descriptors or
secrets.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from ..policy.errors import PoolError
from ..policy.wire import (
    MAX_CONTROL_BYTES,
    Attempts,
    CellFailed,
    CellOpened,
    ControlTried,
    FilterTried,
    FromZygote,
    ListAttempts,
    OpenCell,
    ToZygote,
    TryControl,
    TryFilter,
)

_BOOT = (
    "import sys; sys.path[:0] = sys.argv[2:]; sys.argv[2:] = []; "
    "from {package}.worker.zygote import main; main(int(sys.argv[1]))"
)
_NEEDED = ("msgspec", "re2", "pathspec")
_ANSWER_SECONDS = 30.0


class Zygote:
    """A running zygote. Used by the supervisor's thread alone, which must be the one that made it
    (parent-death signal).
    """

    def __init__(self) -> None:
        package = __name__.rpartition(".pool.")[0]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-B",
                    "-c",
                    _BOOT.format(package=package),
                    str(theirs.fileno()),
                    *_import_paths(package),
                ],
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("GRILLE_DEBUG_ZYGOTE") else subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
            )
        self._channel = ours
        self._channel.settimeout(_ANSWER_SECONDS)

    @property
    def pid(self) -> int:
        return self._process.pid

    def open_cell(
        self, order: OpenCell, channel: int, roots: Sequence[int]
    ) -> tuple[CellOpened, int] | CellFailed:
        """A new cell and its pidfd, or why there is none. Raises PoolError when the zygote does not
        answer.
        """
        answer, descriptors = self._ask(order, [channel, *roots])
        if isinstance(answer, CellOpened):
            return answer, descriptors[0]
        if isinstance(answer, CellFailed):
            return answer
        raise _gone()

    def try_filter(self, program: bytes) -> FilterTried:
        """How the sample job ends under a seccomp program. Raises PoolError when the zygote does not
        answer.
        """
        answer, _ = self._ask(TryFilter(program), [])
        if not isinstance(answer, FilterTried):
            raise _gone()
        return answer

    def attempts(self) -> tuple[str, ...]:
        """The attempts to get out that `doctor` can make. Raises PoolError when the zygote does not
        answer.
        """
        answer, _ = self._ask(ListAttempts(), [])
        if not isinstance(answer, Attempts):
            raise _gone()
        return answer.names

    def try_control(self, attempt: str, folder: int) -> int:
        """The errno that stops an attempt without bars; 0: it works. Raises PoolError as above."""
        answer, _ = self._ask(TryControl(attempt), [folder])
        if not isinstance(answer, ControlTried):
            raise _gone()
        return answer.errno

    def _ask(self, question: ToZygote, descriptors: Sequence[int]) -> tuple[FromZygote, list[int]]:
        try:
            socket.send_fds(self._channel, [msgspec.msgpack.encode(question)], list(descriptors))
            body, received, _, _ = socket.recv_fds(self._channel, MAX_CONTROL_BYTES, 1)
        except OSError as error:
            raise _gone() from error
        if not body:
            raise _gone()
        return msgspec.msgpack.decode(body, type=FromZygote), received

    def close(self) -> None:
        """End it. Its cells end with their own channels."""
        self._channel.close()
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)


def _gone() -> PoolError:
    return PoolError(
        "spawn_failed", "The zygote process ended or does not answer; run `grille doctor` to see why."
    )


def _import_paths(package: str) -> list[str]:
    """Where the zygote finds what it imports: found here, since it runs without site-packages and without
    environment.
    """
    paths: list[str] = []
    for name in (package, *_NEEDED):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise PoolError("spawn_failed", f"The module {name} is not installed; install grille again.")
        folder = (
            os.path.dirname(os.path.dirname(spec.origin))
            if spec.submodule_search_locations
            else os.path.dirname(spec.origin)
        )
        if folder not in paths:
            paths.append(folder)
    return paths
