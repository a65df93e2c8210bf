"""How a cell comes to be, at one tier.

The zygote forks a builder; the builder enters new namespaces, detaches the mounts, makes its root empty and
forks the cell, pid 1 of the new process namespace; the builder ends. The zygote is the subreaper, so the
cell is now its child, and only then is told to go on: a parent-death signal set before would have fired with
the builder's end.

Each tier gets a builder of its own, since one that failed half-way has left its old namespaces for good. A
tier is reached only by building it; no probe's return code stands for it (on some systems unshare succeeds
and mounting then fails).

  A  detached read-only mounts in an empty root. Nothing outside has a name.
  B  no mount can be made (a container without CAP_SYS_ADMIN): each worker is chrooted into one mount. Links
  are not
     followed, and devices not opened, because the filter and the kinds of entries say so, not because the
     mount does.
  C  not even chroot: Landlock alone. It denies reading outside; that a path exists can still be told from an
  errno
     by a worker that was taken over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import msgspec

from ..policy.confinement import Tier
from ..policy.wire import Missed, OpenCell
from .cell import Cell
from .confine import descriptors, kernel, mounts, namespaces
from .confine.failure import LayerFailed, building

_PR_SET_PDEATHSIG = 1


class Built(msgspec.Struct, array_like=True):
    """What a builder achieved. `pid` 0: nothing, because of what is in `missed`."""

    pid: int
    pivoted: bool
    idmapped: bool
    user_namespace: bool
    missed: list[Missed]
    go: int = -1
    """The pipe on which the cell waits until the zygote has adopted it."""

    def release(self) -> None:
        """Let the cell begin."""
        os.write(self.go, b"g")
        os.close(self.go)


class _Place(NamedTuple):
    """Where workers will live: the mounts' descriptors, and what is to be said of them."""

    roots: Sequence[int]
    pivoted: bool = False
    idmapped: bool = False
    user_namespace: bool = False
    missed: Sequence[Missed] = ()


def build(order: OpenCell, tier: Tier, cell_channel: int, roots: Sequence[int]) -> Built:
    """Try one tier. Returns what came of it; raises nothing on a machine that can fork."""
    report_r, report_w = os.pipe2(os.O_CLOEXEC)
    go_r, go_w = os.pipe2(os.O_CLOEXEC)
    builder = os.fork()
    if builder == 0:
        os.close(
            go_w
        )  # else the cell would hold its own pipe open and never see the zygote's end of it close
        _be_builder(order, tier, cell_channel, roots, report_w, go_r)
    os.close(report_w)
    os.close(go_r)
    os.waitpid(builder, 0)
    body = os.read(report_r, 4096)
    os.close(report_r)
    built = msgspec.msgpack.decode(body, type=Built) if body else _nothing("zygote", 0)
    if built.pid:
        built.go = go_w
    else:
        os.close(go_w)
    return built


def _nothing(layer: str, errno: int) -> Built:
    return Built(0, False, False, False, [Missed(layer, errno)])


def _be_builder(
    order: OpenCell, tier: Tier, cell_channel: int, roots: Sequence[int], report: int, go: int
) -> NoReturn:
    """The builder's life. Never returns, never raises."""
    try:
        place = {"A": _empty_root, "B": _chroot, "C": _where_we_are}[tier](order, roots)
        pid = os.fork()
        if pid == 0:
            _be_cell(order, tier, cell_channel, place.roots, go)
        built = Built(pid, place.pivoted, place.idmapped, place.user_namespace, list(place.missed))
    except LayerFailed as failure:
        built = _nothing(failure.layer, failure.errno)
    except BaseException:
        built = _nothing("zygote", 0)
    with contextlib.suppress(BaseException):
        os.write(report, msgspec.msgpack.encode(built))
    os._exit(0)


def _empty_root(order: OpenCell, roots: Sequence[int]) -> _Place:
    """Tier A. An ordinary user gets the right to mount from a user namespace of its own."""
    owners = [os.fstat(root) for root in roots]
    user_namespace = order.private_id is None
    with building("namespaces"):
        # Made first: afterwards our next child would be pid 1 of the new namespace.
        maps = [] if order.private_id is None else _owner_maps(owners, order.private_id)
        namespaces.enter(user_namespace=user_namespace)
    with building("mounts"):
        trees = [mounts.detach(root) for root in roots]
        idmapped = bool(maps) and _map_owners(trees, maps)
        pivoted = mounts.enter_empty_root()
    return _Place(trees, pivoted, idmapped, user_namespace)


def _chroot(order: OpenCell, roots: Sequence[int]) -> _Place:
    """Tier B. Whether chroot is allowed is found out by a child that does it."""
    child = os.fork()  # before any unsharing: the first child of a new process namespace must not end
    if child == 0:
        try:
            os.fchdir(roots[0])
            os.chroot(".")
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    refused = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if refused:
        raise LayerFailed("chroot", max(0, refused))
    return _where_we_are(order, roots)


def _where_we_are(order: OpenCell, roots: Sequence[int]) -> _Place:
    """Tier C, and the ground of tier B: namespaces other than for mounts, where they can be had."""
    try:
        if order.private_id is None:
            raise PermissionError(1, "an ordinary user")
        namespaces.enter_without_mounts()
    except OSError as error:
        return _Place(roots, missed=[Missed("namespaces", error.errno or 0)])
    return _Place(roots)


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
            mounts.map_owner(tree, user_namespace)
    except OSError:
        return False
    return True


def _be_cell(order: OpenCell, tier: Tier, cell_channel: int, roots: Sequence[int], go: int) -> NoReturn:
    """The cell's life: pid 1 of its process namespace, where there is one."""
    try:
        descriptors.close_all_but({0, 1, 2, cell_channel, go, *roots})
        if os.read(go, 1) != b"g":  # the zygote has adopted us, or is gone
            os._exit(0)
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(go)
        Cell(socket.socket(fileno=cell_channel), order, tier, roots).forever()
    finally:
        os._exit(1)
