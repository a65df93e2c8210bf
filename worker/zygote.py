"""The zygote: exec'ed once for a pool with an empty environment, single-threaded; forks a cell for each
workspace.

Exec'ed rather than forked, since a fork of the host would give every worker the host's heap: secrets, other
tenants' results, threads' locks. It parses messages of the supervisor alone and holds no tenant's data.

How a cell comes to be: the zygote forks a builder; the builder enters new namespaces, detaches the mounts,
makes its root empty and forks the cell, pid 1 of the new process namespace; the builder ends. The zygote is
the subreaper, so the cell is now its child, and only then is told to go on: a parent-death signal set before
would have fired with the builder's end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from typing import Final, NoReturn

import msgspec

from ..policy.wire import CellFailed, CellOpened, OpenCell
from . import control, rehearsal
from .cell import Cell
from .confine import kernel, mounts, namespaces
from .confine.failure import LayerFailed, building

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NAME: Final = 15
_NICE: Final = 5


class _Built(msgspec.Struct, array_like=True):
    """From a builder to the zygote: the cell's pid, or the layer that failed."""

    pid: int
    idmapped: bool
    user_namespace: bool
    layer: str
    errno: int


def main(control_fd: int) -> NoReturn:
    """Serve the supervisor at the other end of `control_fd` until it is gone."""
    _settle()
    rehearsal.run()
    gc.collect()
    gc.freeze()  # what is there now is shared by every fork; a collection would touch, and so copy, all of it
    gc.disable()
    supervisor = socket.socket(fileno=control_fd)
    supervisor.set_inheritable(False)
    poll = select.poll()
    poll.register(supervisor, select.POLLIN)
    while True:
        poll.poll(1000)
        _reap()
        if not poll.poll(0):
            continue
        received = control.receive(supervisor, OpenCell)
        if received is None:
            os._exit(0)
        order, (cell_channel, *roots) = received
        _answer(supervisor, order, cell_channel, roots)
        for descriptor in (cell_channel, *roots):
            os.close(descriptor)


def _settle() -> None:
    """Become a quiet, unimportant process that dies with the pool."""
    warnings.simplefilter("ignore")  # a warning is printed with its source line, which opens files
    kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's to act upon
    os.setsid()
    os.umask(0o777)
    os.nice(_NICE)
    # The first to go when memory runs out: the host must not.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(supervisor: socket.socket, order: OpenCell, cell_channel: int, roots: Sequence[int]) -> None:
    """Build a cell and say how that went."""
    built_r, built_w = os.pipe2(os.O_CLOEXEC)
    go_r, go_w = os.pipe2(os.O_CLOEXEC)
    builder = os.fork()
    if builder == 0:
        supervisor.close()
        _build(order, cell_channel, roots, built_w, go_r)
    os.close(built_w)
    os.close(go_r)
    os.waitpid(builder, 0)
    body = os.read(built_r, 4096)
    os.close(built_r)
    built = msgspec.msgpack.decode(body, type=_Built) if body else _Built(0, False, False, "zygote", 0)
    if built.layer:
        control.send(supervisor, CellFailed(order.cell, built.layer, built.errno))
    else:
        pidfd = os.pidfd_open(built.pid)
        os.write(go_w, b"g")
        control.send(supervisor, CellOpened(order.cell, built.idmapped, built.user_namespace), [pidfd])
        os.close(pidfd)
    os.close(go_w)


def _build(order: OpenCell, cell_channel: int, roots: Sequence[int], report: int, go: int) -> NoReturn:
    """The builder's life. Never returns."""
    try:
        trees, idmapped = _confine(order, roots)
        pid = os.fork()
        if pid == 0:
            _live(order, cell_channel, trees, go, {*roots, report})
        built = _Built(pid, idmapped, order.private_id is None, "", 0)
    except LayerFailed as failure:
        built = _Built(0, False, False, failure.layer, failure.errno)
    os.write(report, msgspec.msgpack.encode(built))
    os._exit(0)


def _confine(order: OpenCell, roots: Sequence[int]) -> tuple[list[int], bool]:
    """Namespaces, detached mounts, empty root. The detached trees, and whether their owner was mapped."""
    owners = [os.fstat(root) for root in roots]
    with building("namespaces"):
        # Made first: afterwards our next child would be pid 1 of the new namespace.
        maps = [] if order.private_id is None else _owner_maps(owners, order.private_id)
        namespaces.enter(user_namespace=order.private_id is None)
    with building("mounts"):
        trees = [mounts.detach(root) for root in roots]
        idmapped = bool(maps) and _map_owners(trees, maps)
        mounts.enter_empty_root()
    return trees, idmapped


def _owner_maps(owners: Sequence[os.stat_result], private_id: int) -> list[int]:
    try:
        return [namespaces.mapping_namespace((owner.st_uid, owner.st_gid), private_id) for owner in owners]
    except OSError:
        return []


def _map_owners(trees: Sequence[int], maps: Sequence[int]) -> bool:
    """Show what the mounts' owner may read as the worker's own; without it a private id sees only what
    everybody may.

    Not every file system can (network ones, FUSE); then files that not everybody may read are counted as
    unreadable.
    """
    try:
        for tree, user_namespace in zip(trees, maps, strict=True):
            mounts.map_owner([tree], user_namespace)
    except OSError:
        return False
    return True


def _live(order: OpenCell, cell_channel: int, trees: Sequence[int], go: int, foreign: set[int]) -> NoReturn:
    """The cell's life, as pid 1."""
    try:
        for descriptor in foreign:
            os.close(descriptor)
        if os.read(go, 1) != b"g":  # the zygote has adopted us, or is gone
            os._exit(0)
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(go)
        Cell(socket.socket(fileno=cell_channel), order, trees).forever()
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
