"""What confinement is in force, as data: for `doctor`, for every result, for the log."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from ..policy import landlock
from ..policy.confinement import Tier
from ..policy.wire import CellOpened, Missed, Ready
from .groups import GroupReport

State = Literal["enforced", "partial", "absent", "not_requested"]

TIER_LOSSES: Final[dict[Tier, str]] = {
    "A": "",
    "B": "No read-only mount stands behind the system-call filter: only the filter keeps links from being followed "
    "and files from being changed.",
    "C": "Files outside cannot be read, but a worker that was taken over can tell which paths exist on this machine.",
}
"""What is lost below tier A, in words."""


class LayerReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One layer (policy/confinement.py): whether it is in force, and why not or how far, in words and by
    errno.
    """

    name: str
    state: State
    reason: str = ""
    errno: str | None = None
    """The kernel's answer by name (`EPERM`), where one explains the state."""
    abi: int | None = None
    """Landlock's ABI in force."""


class ConfinementReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tier in force and every layer. Each `enforced` was seen: by the kernel's word, or by a canary that
    failed.
    """

    tier: Tier
    layers: tuple[LayerReport, ...]
    losses: str = ""
    """What this tier loses against tier A, in words."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The layers that are absent, for the policy to weigh."""
        return tuple(layer.name for layer in self.layers if layer.state == "absent")

    def summary(self) -> str:
        """One line for people."""
        in_force = ", ".join(
            _phrase(layer) for layer in self.layers if layer.state in ("enforced", "partial")
        )
        return f"tier {self.tier}: {in_force}"


def report_on(
    ready: Ready, opened: CellOpened, private_id: int | None, group: GroupReport
) -> ConfinementReport:
    """The report on an attested worker."""
    rows = (
        LayerReport("zygote", "enforced", "exec'ed, empty environment"),
        _namespaces(opened),
        *_file_system(opened),
        LayerReport("close_fds", "enforced"),
        LayerReport("no_new_privs", "enforced"),
        _landlock(ready),
        _private_uid(opened, private_id),
        LayerReport("dumpable", "enforced"),
        LayerReport("mdwe", "enforced") if ready.mdwe else LayerReport("mdwe", "absent", "needs Linux 6.3"),
        LayerReport("rlimits", "enforced"),
        LayerReport("seccomp", "enforced", "allow-list; anything else kills the worker"),
        _cgroup(group),
        LayerReport("canary", "enforced", "a file outside could not be opened"),
        LayerReport("attestation", "enforced"),
    )
    return ConfinementReport(opened.tier, rows, TIER_LOSSES[opened.tier])


def errno_name(number: int) -> str | None:
    """`EPERM` for 1; None for 0."""
    return errno.errorcode.get(number, str(number)) if number else None


def _namespaces(opened: CellOpened) -> LayerReport:
    missed = _missed("namespaces", opened.missed)
    if opened.tier != "A" and missed is not None:
        return LayerReport(
            "namespaces", "absent", "creating namespaces is not allowed here", errno_name(missed.errno)
        )
    if opened.tier != "A":
        return LayerReport("namespaces", "partial", "all but mounts")
    return LayerReport("namespaces", "enforced", "in a user namespace" if opened.user_namespace else "")


def _file_system(opened: CellOpened) -> list[LayerReport]:
    if opened.tier == "A":
        how = "detached, read-only, in an empty root" + ("" if opened.pivoted else " left by chroot")
        return [LayerReport("mounts", "enforced", how), LayerReport("chroot", "not_requested")]
    why = _missed("mounts", opened.missed) or _missed("namespaces", opened.missed)
    no_mounts = LayerReport(
        "mounts", "absent", "mounting is not allowed here", errno_name(why.errno) if why is not None else None
    )
    if opened.tier == "B":
        return [no_mounts, LayerReport("chroot", "enforced", "each worker sees one mount as its root")]
    why = _missed("chroot", opened.missed)
    return [
        no_mounts,
        LayerReport("chroot", "absent", "chroot is not allowed here", errno_name(why.errno) if why else None),
    ]


def _landlock(ready: Ready) -> LayerReport:
    if not ready.landlock_abi:
        return LayerReport(
            "landlock", "absent", "this kernel or container has none", errno_name(ready.landlock_errno)
        )
    if ready.landlock_abi < landlock.NEWEST:
        return LayerReport(
            "landlock", "partial", "older rights only; the filter denies the rest", abi=ready.landlock_abi
        )
    return LayerReport(
        "landlock", "enforced", "the folder outside could not be listed", abi=ready.landlock_abi
    )


def _private_uid(opened: CellOpened, private_id: int | None) -> LayerReport:
    if private_id is None:
        return LayerReport("private_uid", "not_requested", "not started as root: workers keep the user's id")
    if not opened.idmapped:
        return LayerReport(
            "private_uid",
            "partial",
            "owners cannot be mapped here: only files that everybody may read are searched",
        )
    return LayerReport("private_uid", "enforced", f"uid {private_id}")


def _cgroup(group: GroupReport) -> LayerReport:
    if not group.asked:
        return LayerReport("cgroup", "not_requested", group.reason)
    if not group.bytes:
        return LayerReport("cgroup", "absent", group.reason, errno_name(group.errno))
    return LayerReport("cgroup", "enforced", f"{group.bytes} bytes for the workspace")


def _missed(layer: str, missed: Sequence[Missed]) -> Missed | None:
    return next((m for m in missed if m.layer == layer), None)


def _phrase(layer: LayerReport) -> str:
    return f"{layer.name} (ABI {layer.abi})" if layer.abi else layer.name
