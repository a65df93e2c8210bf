"""The PATHs of a command line: where each search starts, what is mounted for it, how its results are called.

Without a policy file each PATH is a mount of its own, shown under its own real path; a file's mount is its
folder. PATHs that name the same place are searched once, under the first spelling. With a policy file PATHs
are virtual and go to the workspace as they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ..policy.errors import PathError, PolicyError, shown
from ..policy.mounts import Mount
from ..pool import escape


class Start(NamedTuple):
    """Where one search starts.

    The workspace takes and gives paths in the form of `escape.unicode_text`, but for a mount's own part of a
    result, which stands as the policy spells it.
    """

    request: str | None
    """What the workspace is asked for; None: its first mount."""
    virtual: str | None = None
    """How the paths of results begin; None under a policy file."""
    real: str | None = None
    """The true path, which stands in its place in JSON; None under a policy file."""
    typed: str | None = None
    """How the user spelled it; text output begins with it. None: the current folder, which is left out."""
    mount: Mount | None = None
    """What must be mounted; None under a policy file."""

    def path(self, virtual: str) -> str:
        """The absolute path of a result, for a program: without surrogates."""
        below = self._below(virtual)
        return (
            virtual if below is None or self.real is None else _joined(escape.unicode_text(self.real), below)
        )

    def label(self, virtual: str) -> str:
        """The path of a result, for a person: relative if the PATH was, as ripgrep shows it; not escaped."""
        below = self._below(virtual)
        if below is None:
            return escape.unescape(virtual)
        below = escape.unescape(below)
        return _joined(self.typed, below) if self.typed is not None else below or "."

    def _below(self, virtual: str) -> str | None:
        if self.virtual is None:
            return None
        if virtual == self.virtual:
            return ""
        folder = self.virtual.rstrip("/") + "/"
        return virtual.removeprefix(folder) if virtual.startswith(folder) else None


def virtual_starts(paths: Sequence[str]) -> list[Start]:
    """Starts under a policy file, each place once."""
    if not paths:
        return [Start(None)]
    return [Start(path) for path in dict.fromkeys(paths)]


def real_starts(paths: Sequence[str]) -> list[Start]:
    """Starts on this machine, each place once. Raises PathError when one does not exist, PolicyError when it
    may not be shown (`/`, `/proc`, ...).
    """
    starts: dict[str, Start] = {}
    for typed in paths or (None,):
        start = _real_start(typed)
        starts.setdefault(start.real or "", start)
    return list(starts.values())


def overlapping(starts: Sequence[Start]) -> bool:
    """Whether one start lies within another, so that both searches can meet the same files."""
    places = [start.real or start.request or "" for start in starts]
    inside = {place.rstrip("/") for place in places}
    return any(parent in inside for place in places for parent in _parents(place))


def _parents(place: str) -> list[str]:
    parts = place.rstrip("/").split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _real_start(typed: str | None) -> Start:
    try:
        real = os.path.realpath("." if typed is None else typed, strict=True)
        if not typed and typed is not None:
            raise FileNotFoundError
        is_folder = os.path.isdir(real)
    except (OSError, ValueError):
        raise _absent(typed) from None
    folder = real if is_folder else os.path.dirname(real)
    mount = _mount(folder)
    below = "" if is_folder else escape.unicode_text(os.path.basename(real))
    request = _joined(escape.unicode_text(mount.virtual), below)
    return Start(request, _joined(mount.virtual, below), real, typed, mount)


def _mount(folder: str) -> Mount:
    """A folder under its own path; where that path holds what no virtual path may (a line break, a byte that
    is no UTF-8), under the escaped form of it.
    """
    virtual = escape.name(folder)
    try:
        return Mount(folder) if virtual == folder else Mount(virtual, host=folder)
    except PolicyError as error:
        raise error.placed(key=None) from None  # there is no policy file whose key could be named


def _absent(typed: str | None) -> PathError:
    if typed is None:
        return PathError("not_found", "The current folder does not exist any more, or cannot be reached.")
    return PathError("not_found", f"{shown(typed)} does not exist, or cannot be reached.")


def _joined(folder: str, below: str) -> str:
    return os.path.join(folder, below) if below else folder
