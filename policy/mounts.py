"""What a tenant sees: host folders, each shown under a virtual path.

Invariants: both paths of a mount are absolute and normal (no `//`, `.`, `..`, no slash at the end); a
virtual path can be shown as it is; `/`, `/proc`, `/sys` and `/dev` are never shown. No error tells the host
path of a mapped mount (contract 1).

Leaves to others: everything about the disk. Whether the folder exists, and what file system it truly is (a
link to `/proc`, a bind mount of it), is the supervisor's to check when it opens the mount.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import msgspec

from .errors import PolicyError, shown, wrong_type

LONGEST_PATH: Final = 4095  # bytes: PATH_MAX less its NUL, path_resolution(7)
LONGEST_NAME: Final = 255  # bytes: NAME_MAX on every common file system

REFUSED_HOSTS: Final = (
    "/dev",
    "/proc",
    "/sys",
)  # kernel interfaces: reading there acts, blocks or tells secrets


class Mount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One host folder and the virtual path under which the tenant sees it.

    `virtual` is what callers give and get. `host` is the folder on this machine; None means that the folder
    is shown under its own path, so `virtual` is the host path, too. Nothing is expanded: no `~`, no
    `$HOME`, no relative path.

    Raises `PolicyError`: `wrong_type`, `mount_not_absolute`, `mount_not_normal`, `mount_text` or
    `mount_refused`.
    """

    virtual: str
    host: str | None = None

    def __post_init__(self) -> None:
        _require_path("virtual", self.virtual, shown(self.virtual))
        _require_showable(self.virtual)
        if self.host is not None:
            _require_path("host", self.host, f"the host path of {shown(self.virtual)}")
            if self.virtual == "/":
                raise PolicyError(
                    "mount_refused", "a mapped mount needs a name, as in '/repo'; found '/'.", key="virtual"
                )
        _require_allowed(self)

    def __repr__(self) -> str:
        # A policy's repr ends up in logs and tracebacks, and the host path of a mapped mount may not.
        return (
            f"Mount(virtual={self.virtual!r})"
            if self.host is None
            else f"Mount(virtual={self.virtual!r}, host=...)"
        )

    @property
    def host_path(self) -> str:
        """The folder on this machine. For the supervisor alone; it never goes into a result or an error."""
        return self.virtual if self.host is None else self.host

    @property
    def is_mapped(self) -> bool:
        """Whether the tenant sees another path than the host's own, so that host paths must be masked in
        text."""
        return self.host_path != self.virtual


def _require_path(key: str, path: object, name: str) -> None:
    """Refuse what is no normal absolute path. Messages call it `name`: the path itself may be a secret."""
    if not isinstance(path, str):
        raise wrong_type(key, path, "a string holding an absolute path")
    if "\0" in path:
        raise PolicyError("mount_text", f"{name} holds a NUL, which no path can.", key=key)
    if not path.startswith("/"):
        hint = "Nothing expands ~ here: write the home folder out." if path.startswith("~") else None
        raise PolicyError("mount_not_absolute", f"{name} must start with '/'.", hint=hint, key=key)
    components = path[1:].split("/") if path != "/" else []
    if any(component in ("", ".", "..") for component in components):
        raise PolicyError(
            "mount_not_normal",
            f"{name} must be written without '//', '.', '..' and without a slash at its end.",
            key=key,
        )
    sizes = [len(component.encode("utf-8", "surrogatepass")) for component in components]
    if max(sizes, default=0) > LONGEST_NAME or sum(sizes) + len(sizes) > LONGEST_PATH:
        raise PolicyError("mount_not_normal", f"{name} is longer than a path can be.", key=key)


def _require_showable(virtual: str) -> None:
    """Refuse what would forge lines in a listing, or has no UTF-8 form and so cannot cross to a worker or
    into JSON."""
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in virtual):
        raise PolicyError(
            "mount_text",
            f"{shown(virtual)} holds control characters, line separators or bytes that are no UTF-8.",
            hint="Map the folder to a plain virtual path.",
            key="virtual",
        )


def _require_allowed(mount: Mount) -> None:
    key = "virtual" if mount.host is None else "host"
    if mount.host_path == "/":
        raise PolicyError(
            "mount_refused", f"{shown(mount.virtual)} would show the whole machine; name a folder.", key=key
        )
    for refused in REFUSED_HOSTS:
        if mount.host_path == refused or mount.host_path.startswith(refused + "/"):
            # SAFETY: only a first look, by name. A link or a bind mount passes it and meets the
            # supervisor's check of file-system types.
            raise PolicyError(
                "mount_refused",
                f"{shown(mount.virtual)} would show {refused}, which is never shown.",
                key=key,
            )
