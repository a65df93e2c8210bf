"""The policy of one tenant: what it may see and what it may spend.

Invariants: a `Policy` is complete, checked and frozen once it exists; it has at least one mount, and no two
mounts claim one virtual path. Nested mounts are legal: the longest virtual path wins.

Leaves to others: the disk (whether the mounts exist), and the meaning of deny globs, which are checked here
by size alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final, Self

import msgspec

from .confinement import Confinement
from .errors import PolicyError, shown, wrong_type
from .hints import did_you_mean, near_names
from .limits import Limits
from .mounts import Mount
from .redaction import ALL, NAMES

MOST_MOUNTS: Final = 64  # each costs every worker a descriptor and a Landlock rule
MOST_DENY_RULES: Final = 1000  # each is tried on every entry of a walk
LONGEST_DENY_RULE: Final = 4096  # bytes: PATH_MAX, a longer rule could match nothing


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one tenant may see and spend (contract 1).

    Raises `PolicyError`, with the key at fault: `wrong_type`, `mount_count`, `mount_duplicate`,
    `deny_count`, `deny_invalid`, `redact_unknown`.
    """

    mounts: Sequence[Mount]
    """The folders shown, 1 to 64. The first is where a request without a path searches. Kept as a tuple."""

    deny: Sequence[str] = ()
    """Globs of what is never shown and never told of, at most 1000. No request lifts them (contract 6).
    Kept as a tuple."""

    use_ignore_files: bool = True
    """Whether `.gitignore` and `.ignore` count (contract 6)."""

    allow_no_ignore: bool = True
    """Whether a request's `no_ignore` is granted. It never lifts a deny rule."""

    refuse_hardlinks: bool = False
    """Whether files with more than one name are left out. A hard link made by someone else can bring a file
    of theirs into a mount; package caches use hard links too, so it is off by default."""

    redact: Sequence[str] = ()
    """Named patterns replaced in line text and `read` before it leaves: names of redaction.NAMES, or `all`.
    Kept as a tuple."""

    limits: Limits = Limits()
    """What the tenant may spend."""

    confinement: Confinement = Confinement()
    """How strictly its workers are confined."""

    def __post_init__(self) -> None:
        for name in ("use_ignore_files", "allow_no_ignore", "refuse_hardlinks"):
            if not isinstance(getattr(self, name), bool):
                raise wrong_type(name, getattr(self, name), "true or false")
        if not isinstance(self.limits, Limits):
            raise wrong_type("limits", self.limits, "Limits")
        if not isinstance(self.confinement, Confinement):
            raise wrong_type("confinement", self.confinement, "Confinement")
        msgspec.structs.force_setattr(self, "mounts", _checked_mounts(self.mounts))
        msgspec.structs.force_setattr(self, "deny", _checked_deny(self.deny))
        msgspec.structs.force_setattr(self, "redact", _checked_redact(self.redact))

    @classmethod
    def for_paths(cls, paths: Iterable[str | os.PathLike[str]]) -> Self:
        """The policy that shows each of `paths` under its own path, with every default. Paths must be
        absolute and normal."""
        return cls(mounts=tuple(Mount(os.fspath(path)) for path in paths))


def _checked_mounts(mounts: object) -> tuple[Mount, ...]:
    if not isinstance(mounts, (list, tuple)):
        raise wrong_type("mounts", mounts, "an array of mounts")
    if not 1 <= len(mounts) <= MOST_MOUNTS:
        raise PolicyError(
            "mount_count", f"found {len(mounts)} mounts; legal are 1 to {MOST_MOUNTS}.", key="mounts"
        )
    first_at: dict[str, int] = {}
    for index, mount in enumerate(mounts):
        if not isinstance(mount, Mount):
            raise wrong_type(f"mounts[{index}]", mount, "a Mount")
        if mount.virtual in first_at:
            raise PolicyError(
                "mount_duplicate",
                f"{shown(mount.virtual)} is the virtual path of mounts[{first_at[mount.virtual]}] already.",
                key=f"mounts[{index}].virtual",
            )
        first_at[mount.virtual] = index
    return tuple(mounts)


def _checked_deny(deny: object) -> tuple[str, ...]:
    if not isinstance(deny, (list, tuple)):
        raise wrong_type("deny", deny, "an array of globs")
    if len(deny) > MOST_DENY_RULES:
        raise PolicyError(
            "deny_count", f"found {len(deny)} rules; at most {MOST_DENY_RULES} are legal.", key="deny"
        )
    for index, rule in enumerate(deny):
        _require_rule(f"deny[{index}]", rule)
    return tuple(deny)


def _require_rule(key: str, rule: object) -> None:
    if not isinstance(rule, str):
        raise wrong_type(key, rule, "a string holding a glob")
    if not rule or "\0" in rule:
        raise PolicyError("deny_invalid", "a rule that is empty or holds a NUL can match nothing.", key=key)
    try:
        rule.encode("utf-8", "surrogateescape")  # as names are: a rule may be for one that is no UTF-8
    except UnicodeEncodeError:
        raise PolicyError(
            "deny_invalid", "a rule holds a lone surrogate, which no name does.", key=key
        ) from None
    if len(rule.encode("utf-8", "surrogatepass")) > LONGEST_DENY_RULE:
        raise PolicyError("deny_invalid", f"a rule may have at most {LONGEST_DENY_RULE} bytes.", key=key)


def _checked_redact(redact: object) -> tuple[str, ...]:
    if not isinstance(redact, (list, tuple)):
        raise wrong_type("redact", redact, "an array of names")
    for index, name in enumerate(redact):
        if not isinstance(name, str):
            raise wrong_type(f"redact[{index}]", name, "a pattern's name")
        if name not in (ALL, *NAMES):
            raise PolicyError(
                "redact_unknown",
                f"{shown(name)} is no pattern; legal are {', '.join((ALL, *NAMES))}.",
                hint=did_you_mean(near_names(name, NAMES, most=1)),
                key=f"redact[{index}]",
            )
    return tuple(redact)
