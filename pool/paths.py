"""Virtual paths: which mount a path lies in, and what is refused on the raw string, before the disk is asked
anything.

One answer for what lies outside, what does not exist and what a deny rule hides: nobody can tell them apart
(contract 7).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ..policy import hints
from ..policy.errors import PathError, shown
from ..policy.globs import GlobSet
from . import escape
from .roots import Root, Target

_LONGEST = 32_768  # code points; far beyond PATH_MAX, and short enough to scan for free


class Place(NamedTuple):
    """A mount, by number, and the path below it; "" is the mount itself."""

    root: int
    below: str


def locate(path: str, roots: Sequence[Root]) -> Place:
    """The mount that `path` lies in, the longest virtual path winning. Raises PathError.

    Escapes that results hold for bytes that are no UTF-8 are read back first, so that no check sees less
    than the disk.
    """
    path = escape.unescape(path) if isinstance(path, str) else path
    _refuse_by_spelling(path)
    components = [c for c in path.split("/") if c not in ("", ".")]
    best: Place | None = None
    best_length = -1
    for number, root in enumerate(roots):
        mount = root.mount.virtual.strip("/").split("/")
        if components[: len(mount)] == mount and len(mount) > best_length:
            best, best_length = Place(number, "/".join(components[len(mount) :])), len(mount)
    if best is None:
        raise not_found(path, roots)
    return best


def start_of(place: Place, path: str, roots: Sequence[Root], deny: GlobSet | None) -> Target:
    """What stands at a place, links resolved. Raises PathError, the same one for absent and for denied."""
    if denied(place.below, deny):
        raise _absent(place, path, roots, deny)
    try:
        target = roots[place.root].resolve(place.below, path)
    except PathError as error:
        raise (_absent(place, path, roots, deny) if error.code == "not_found" else error) from None
    below = target.path.decode("utf-8", "surrogateescape")
    if denied(below, deny, folder=target.kind == "folder"):
        raise _absent(place, path, roots, deny)
    return target


def _absent(place: Place, path: str, roots: Sequence[Root], deny: GlobSet | None) -> PathError:
    """As `not_found`, with the names nearby that are no secret: a denied path gets just the same."""
    error = not_found(path, roots)
    folder, _, name = place.below.rpartition("/")
    if not name or denied(folder, deny, folder=True):
        return error
    names = [
        other
        for other in roots[place.root].names_in(folder)
        if other != name and not denied(_joined(folder, other), deny)
    ]
    base = roots[place.root].mount.virtual.rstrip("/")
    near = [
        escape.unicode_text(f"{base}/{_joined(folder, other)}") for other in hints.near_names(name, names)
    ]
    error.hint = hints.did_you_mean(near) or error.hint
    return error


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def denied(below: str, deny: GlobSet | None, *, folder: bool = False) -> bool:
    """Whether a deny rule hides a path, or a folder that it lies in. `folder`: it is one itself, so that a rule for all
    that is in it hides it, too, as on a walk.
    """
    if deny is None or not below:
        return False
    components = tuple(below.split("/"))
    return not deny.accepts(components) or any(
        deny.excludes_folder(components[:depth]) for depth in range(1, len(components) + folder)
    )


def not_found(path: str, roots: Sequence[Root]) -> PathError:
    """The one answer for everything that is not to be seen."""
    mounts = ", ".join(root.mount.virtual for root in roots[:5]) + (", ..." if len(roots) > 5 else "")
    return PathError(
        "not_found", f"Nothing is found at {shown(path)}.", hint=f"What there is lies under {mounts}."
    )


def _refuse_by_spelling(path: object) -> None:
    if not isinstance(path, str):
        raise PathError("path_text", "The path must be a string.")
    # UNC and NT names: merely resolving one can send credentials over the network on some systems.
    if path.startswith(("\\\\", "//", "\\??\\")):
        raise PathError("foreign", "UNC and NT paths are refused; use a path that starts with a single /.")
    if path.startswith("~"):
        raise PathError("tilde", f"Nothing expands ~ in {shown(path)}; write the whole path.")
    if not path.startswith("/"):
        raise PathError("not_absolute", f"The path must start with /; found {shown(path)}.")
    if "\0" in path:
        raise PathError("path_text", "The path holds a NUL, which no path can.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise PathError("path_text", "The path holds a lone surrogate, which no path can.") from None
    if len(path) > _LONGEST:
        raise PathError("path_too_long", f"{shown(path)} is longer than a path can be.")
    if ".." in path.split("/"):
        raise PathError("parent", f"{shown(path)} holds '..'; write the path without it.")
