"""Which layers of confinement a tenant's workers must have, and which of them the operator can do without.

Invariants: the default is strict; only a layer that is named can be missing; a layer that holds up the
others can never be named; there is no way to say "none".

Leaves to others: building the layers (the worker), and finding out which are in force (the supervisor).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import msgspec

from .errors import PolicyError, shown, wrong_type

Tier = Literal["A", "B", "C"]
"""How the mounts are reached. A: detached read-only mounts in an empty root; B: a chroot into the mount; C:
Landlock alone."""

Standing = Literal["required", "dispensable", "optional"]
"""required: its absence is always an error. dispensable: an error unless named. optional: absence is
reported, never an error."""


class Layer(NamedTuple):
    """One layer: what its absence means, and what it does."""

    standing: Standing
    meaning: str


LAYERS: Final = MappingProxyType(
    {
        "attestation": Layer(
            "required", "the supervisor checks each worker from outside before its first job"
        ),
        "canary": Layer(
            "required", "a worker proves that it cannot reach a file outside and can reach one inside"
        ),
        "cgroup": Layer("optional", "memory and processes are bounded together, by a control group"),
        "chroot": Layer(
            "dispensable",
            "tier B: a worker's root is the mount itself; asked for where tier A is not in force",
        ),
        "close_fds": Layer("required", "a worker inherits no descriptor but its own"),
        "dumpable": Layer("required", "no one may trace a worker or take a core of it"),
        "landlock": Layer(
            "dispensable",
            "the kernel lets a worker open files beneath its mounts alone; never missing below tier A",
        ),
        "mdwe": Layer("optional", "no memory becomes executable after it was writable"),
        "mounts": Layer(
            "dispensable", "tier A: read-only detached mounts in an empty root, so that no other path exists"
        ),
        "namespaces": Layer("optional", "own process, network, IPC and host-name spaces"),
        "no_new_privs": Layer("required", "no program can raise a worker's rights"),
        "private_uid": Layer("optional", "a user id of its own for each worker, when started as root"),
        "rlimits": Layer("required", "address space, CPU, descriptors and file sizes are bounded"),
        "seccomp": Layer("required", "a short list of system calls; any other kills the worker"),
        "zygote": Layer("required", "workers are forked from a process that never held the host's memory"),
    }
)
"""Every layer by its name."""


class Confinement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How strictly one tenant's workers are confined. The default is strict.

    Raises `PolicyError`: `wrong_type`, `layer_unknown` or `layer_required`; the latter two list the legal
    names.
    """

    allow_missing: Sequence[str] = ()
    """Layers that may be absent, by their names in `LAYERS`. Kept as a sorted tuple. `mounts` lets workers
    run at tier B, `mounts` and `chroot` together at tier C."""

    fresh_workers: bool = False
    """A new worker for every request. Costs some milliseconds each; nothing of one request is left for the
    next."""

    pseudo_filesystems: bool = False
    """Whether a mount may contain kernel and user-space file systems (proc, sysfs, FUSE, ...). Mounts that
    lie in /proc, /sys or /dev are refused all the same."""

    cgroup: str = ""
    """A control group (v2) folder that is delegated to the host process, with the memory controller: each
    workspace gets a group of its own below it. Empty: none. Memory of a workspace is then bounded as a
    whole."""

    def __post_init__(self) -> None:
        if not isinstance(self.cgroup, str):
            raise wrong_type("cgroup", self.cgroup, "a string holding a folder")
        if self.cgroup and not self.cgroup.startswith("/"):
            raise PolicyError(
                "wrong_type", "found a relative path where an absolute one is wanted.", key="cgroup"
            )
        for name in ("fresh_workers", "pseudo_filesystems"):
            if not isinstance(getattr(self, name), bool):
                raise wrong_type(name, getattr(self, name), "true or false")
        if not isinstance(self.allow_missing, (list, tuple)):
            raise wrong_type("allow_missing", self.allow_missing, "an array of layer names")
        for index, name in enumerate(self.allow_missing):
            _require_missable(f"allow_missing[{index}]", name)
        msgspec.structs.force_setattr(self, "allow_missing", tuple(sorted(set(self.allow_missing))))

    @property
    def lowest_tier(self) -> Tier:
        """The weakest tier at which this policy lets workers run."""
        if "mounts" not in self.allow_missing:
            return "A"
        return "C" if "chroot" in self.allow_missing else "B"

    def refused(self, missing: Collection[str]) -> tuple[str, ...]:
        """Those of the `missing` layers whose absence is an error under this policy, sorted; none means: go
        on.

        Pass `chroot` only where it was asked for, that is where `mounts` is missing. Without both `mounts`
        and `landlock` nothing would keep a taken-over worker to its files, so then `landlock` is refused
        even where it was named.
        """
        allowed = {name for name, layer in LAYERS.items() if layer.standing == "optional"} | set(
            self.allow_missing
        )
        if "mounts" in missing:
            allowed -= {"landlock"}
        return tuple(sorted(set(missing) - allowed))


def _require_missable(key: str, name: object) -> None:
    if not isinstance(name, str):
        raise wrong_type(key, name, "the name of a layer")
    legal = ", ".join(known for known, layer in LAYERS.items() if layer.standing != "required")
    if name not in LAYERS:
        raise PolicyError("layer_unknown", f"there is no layer {shown(name)}; legal are {legal}.", key=key)
    if LAYERS[name].standing == "required":
        raise PolicyError("layer_required", f"{name} is never missing; legal are {legal}.", key=key)
