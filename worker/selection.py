"""Which entries of a walk count: the policy's deny rules, the shared ignore set, the request's globs, in
that order.

Deny rules come first and leave no trace: what they hide is neither named nor counted (contract 2.6). A
component that the request's own glob spells out is searched although the ignore set holds it: who names a
folder means it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from ..policy.globs import GlobSet, compile_filter
from ..policy.noise import is_noise
from ..policy.wire import Query

Components = tuple[str, ...]


class Verdict(Enum):
    """What becomes of an entry."""

    SEARCH = auto()
    IGNORED = auto()
    HIDDEN = auto()


def components(path: bytes) -> Components:
    """A relative path as glob components. Bytes that are no UTF-8 survive as surrogates, so the way back is
    exact.
    """
    return tuple(path.decode("utf-8", "surrogateescape").split("/")) if path else ()


class Selection:
    """The rules of one query. Raises GlobRefused when a glob is not legal."""

    def __init__(self, query: Query) -> None:
        self._deny: GlobSet | None = (
            compile_filter(["!" + rule.decode("utf-8", "surrogateescape") for rule in query.deny])
            if query.deny
            else None
        )
        self._globs: GlobSet | None = None
        self._prefixes: list[Components] = []
        self._prefix: Components = ()
        if query.includes:
            self._globs = compile_filter(query.includes, case_sensitive=query.case_sensitive_globs)
            self._prefixes = [glob.literal_prefix for glob in self._globs.includes]
            self._prefix = _shared_prefix(self._prefixes)
        self._types = compile_filter(query.types) if query.types else None
        self._noise = query.noise and not query.single_file
        self._single_file = query.single_file
        self._covered = frozenset(query.covered)
        self._base = len(components(query.start))
        # A single file is matched by its name: there is no folder that the globs could be relative to.
        if query.single_file:
            self._base -= 1

    def verdict(self, path: bytes, name: bytes, *, is_dir: bool, ignored: bool) -> Verdict:
        """Whether an entry met on the walk is looked at. `ignored`: an ignore file leaves it out."""
        if path in self._covered or (self._deny is not None and self._denies(components(path), is_dir)):
            return Verdict.HIDDEN
        if (ignored or (self._noise and is_noise(name))) and not self._spelled_out(path):
            return Verdict.IGNORED
        return Verdict.SEARCH

    def wants(self, path: bytes) -> bool:
        """Whether the globs take a file or a folder."""
        if self._globs is None and self._types is None:
            return True
        below = self._below_start(path)
        if self._types is not None and not self._types.accepts(below):
            return False
        return self._globs is None or self._globs.accepts(below)

    def may_want_below(self, path: bytes) -> bool:
        """False when nothing in that folder can be wanted."""
        return self._globs is None or self._globs.may_accept_below(self._below_start(path))

    def only_name_below(self, folder: bytes) -> bytes | None:
        """The one entry of a folder that the globs spell out, if they do: the walk starts at a glob's
        literal prefix.
        """
        below = self._below_start(folder)
        if self._single_file or len(below) >= len(self._prefix) or below != self._prefix[: len(below)]:
            return None
        return self._prefix[len(below)].encode("utf-8", "surrogateescape")

    def _denies(self, path: Components, is_dir: bool) -> bool:
        assert self._deny is not None
        return not self._deny.accepts(path) or (is_dir and self._deny.excludes_folder(path))

    def _spelled_out(self, path: bytes) -> bool:
        if not any(self._prefixes):
            return False
        below = self._below_start(path)
        return any(below == prefix[: len(below)] for prefix in self._prefixes)

    def _below_start(self, path: bytes) -> Components:
        return components(path)[self._base :]


def _shared_prefix(prefixes: Sequence[Components]) -> Components:
    """What every include begins with."""
    shared = []
    for names in zip(*prefixes, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)
