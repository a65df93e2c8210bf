"""What a policy comes to once its mounts are open, and where in it a request starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ..policy.errors import PolicyError
from ..policy.globs import GlobRefused, GlobSet, compile_filter
from ..policy.redaction import Redactor
from ..policy.tenant import Policy
from .mask import Mask
from .paths import locate, start_of
from .roots import Root, Target


class Scope:
    """What a policy comes to once its mounts are open: shared by all requests of a workspace. Raises
    PolicyError.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.deny = _compile_deny(policy.deny)
        self.roots: list[Root] = []
        try:
            for mount in policy.mounts:
                self.roots.append(Root(mount, policy.confinement.pseudo_filesystems))
        except PolicyError:
            for root in self.roots:
                root.close()
            raise
        self._covered = [_covered(root, self.roots) for root in self.roots]
        self.mask = Mask(self.roots, Redactor(policy.redact) if policy.redact else None)

    def covered(self, root: int) -> tuple[bytes, ...]:
        """Folders of a mount over which another one lies, relative to it: a tenant sees the other one
        there.
        """
        return self._covered[root]

    def mounts_below(self, start: Start) -> tuple[str, ...]:
        """Virtual paths of the mounts that lie below a start, and so are not searched from it."""
        above = start.target.path + b"/" if start.target.path else b""
        base = self.roots[start.root].mount.virtual.rstrip("/")
        return tuple(
            f"{base}/{os.fsdecode(path)}" for path in self._covered[start.root] if path.startswith(above)
        )


def _covered(root: Root, roots: Sequence[Root]) -> tuple[bytes, ...]:
    above = root.mount.virtual.rstrip("/") + "/"
    below = [other.mount.virtual for other in roots if other.mount.virtual.startswith(above)]
    return tuple(os.fsencode(virtual[len(above) :]) for virtual in below)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a request begins: as the caller calls it, and where that is."""

    virtual: str
    root: int
    target: Target


def start_at(scope: Scope, path: str | None) -> Start:
    virtual = scope.policy.mounts[0].virtual if path is None else path
    place = locate(virtual, scope.roots)
    return Start(virtual, place.root, start_of(place, virtual, scope.roots, scope.deny))


def mount_of(scope: Scope, pattern: str) -> str | None:
    """The mount that an absolute pattern points into, if it is one: the search starts there."""
    if not pattern.startswith("/"):
        return None
    fitting = [m.virtual for m in scope.policy.mounts if pattern.startswith(m.virtual.rstrip("/") + "/")]
    return max(fitting, key=len, default=None)


def mount_of_any(scope: Scope, globs: Sequence[str]) -> str | None:
    """The mount that the first absolute one of a filter's globs points into, if there is one."""
    found = (mount_of(scope, glob.removeprefix("!")) for glob in globs)
    return next((virtual for virtual in found if virtual is not None), None)


def _compile_deny(rules: Sequence[str]) -> GlobSet | None:
    try:
        return compile_filter(["!" + rule for rule in rules]) if rules else None
    except GlobRefused as refused:
        raise PolicyError("deny_invalid", str(refused), key="deny") from None
