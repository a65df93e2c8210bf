"""What confinement is in force, as data: for `doctor`, for every result, for the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from ..policy.confinement import Tier
from ..policy.wire import Ready

if TYPE_CHECKING:
    from .cells import Cell

State = Literal["enforced", "partial", "absent", "not_requested"]


class LayerReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One layer: its name in policy/confinement.py, whether it is in force, and what there is to say about
    it.
    """

    name: str
    state: State
    detail: str = ""


class ConfinementReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tier in force and every layer. Each `enforced` was seen: by the kernel's word, or by a canary that
    failed.
    """

    tier: Tier
    layers: tuple[LayerReport, ...]

    @classmethod
    def of(cls, ready: Ready, cell: Cell) -> ConfinementReport:
        """The report on an attested worker. Required layers are in force, or there would be no worker."""
        rows = [
            LayerReport("zygote", "enforced", "exec'ed, empty environment"),
            LayerReport("namespaces", "enforced", "own user namespace" if cell.user_namespace else ""),
            LayerReport("mounts", "enforced", "detached, read-only, empty root"),
            LayerReport("close_fds", "enforced"),
            LayerReport("no_new_privs", "enforced"),
            LayerReport("landlock", "enforced", f"ABI {ready.landlock_abi}; listing / was denied"),
            _private_uid(cell),
            LayerReport("dumpable", "enforced"),
            LayerReport("mdwe", "enforced")
            if ready.mdwe
            else LayerReport("mdwe", "absent", "needs Linux 6.3"),
            LayerReport("rlimits", "enforced"),
            LayerReport("seccomp", "enforced", "allow-list, kills the process"),
            LayerReport("canary", "enforced", "a file outside could not be opened"),
            LayerReport("attestation", "enforced"),
        ]
        return cls("A", tuple(rows))

    def summary(self) -> str:
        """One line for people."""
        in_force = [layer.name for layer in self.layers if layer.state == "enforced"]
        return f"tier {self.tier}: {', '.join(in_force)}"


def _private_uid(cell: Cell) -> LayerReport:
    if cell.private_id is None:
        return LayerReport("private_uid", "not_requested", "not started as root: workers keep the user's id")
    if not cell.idmapped:
        return LayerReport(
            "private_uid",
            "partial",
            "the file system cannot map owners: only files that everybody may read are searched",
        )
    return LayerReport("private_uid", "enforced", f"uid {cell.private_id}")
