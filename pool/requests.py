"""From a caller's arguments to a Query, and from an Outcome to a page.

Arguments are checked for type and size here. What a pattern or a glob means is found out behind the bars:
nothing here compiles a tenant's pattern.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from ..policy.errors import PatternError, PolicyError, RequestError, shown
from ..policy.globs import GlobRefused, GlobSet, compile_filter, rebase
from ..policy.filetypes import UnknownType, globs_of
from ..policy.tenant import Policy
from ..policy.wire import ALL, MAX_CONTEXT, Query, Shard
from . import page
from .mask import Mask
from .paths import locate, start_of
from .results import GlobResult, GrepResult
from .roots import Root, Target
from .search import Outcome, Search

OutputMode = Literal["content", "files_with_matches", "count"]
Sort = Literal["path", "mtime"]
_OUTPUT_MODES: Final = ("content", "files_with_matches", "count")
_MOST_GLOBS: Final = 64
_MOST_SORTED: Final = 1_000_000
"""Entries that are held where the whole must be known before the page: an order by time, sums over all
files.
"""
_query_numbers: Final = itertools.count(1)

T = TypeVar("T")


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
        self.mask = Mask(self.roots)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a request begins: as the caller calls it, and where that is."""

    virtual: str
    root: int
    target: Target


@dataclass(frozen=True, slots=True)
class Prepared(Generic[T]):
    """A search to submit, and how its outcome becomes the caller's page."""

    search: Search
    finish: Callable[[Outcome], T]


class Request(Protocol[T]):
    """What the workspace runs."""

    def prepare(self, scope: Scope) -> Prepared[T]:
        """Check, locate, and make a search of it. Raises RequestError."""
        ...


@dataclass(frozen=True, slots=True)
class GlobRequest:
    """Arguments of `Workspace.glob`."""

    pattern: str
    path: str | None
    include_dirs: bool
    limit: int | None
    offset: int | None
    sort: str
    case_sensitive: bool
    no_ignore: bool

    def prepare(self, scope: Scope) -> Prepared[GlobResult]:
        started = time.monotonic()
        window = _window(scope, "glob", self.limit, self.offset)
        pattern = _pattern(scope, self.pattern)
        start = _start(scope, self.path if self.path is not None else _mount_of(scope, pattern))
        if start.target.kind != "folder":
            raise RequestError(
                "argument_invalid", f"{shown(start.virtual)} is a file; a glob searches a folder."
            )
        query = _query(
            scope,
            "glob",
            start,
            window,
            includes=(_rebased(pattern, start.virtual),),
            case_sensitive_globs=_flag("case_sensitive", self.case_sensitive),
            include_dirs=_flag("include_dirs", self.include_dirs),
            **_order(window, _sort(self.sort)),
            **_ignoring(scope, self.no_ignore),
        )

        def finish(outcome: Outcome) -> GlobResult:
            outcome = page.ordered(outcome, query.sort)
            names = page.Paths(scope.roots[start.root].mount.virtual)
            return GlobResult(
                path=start.virtual,
                entries=page.glob_entries(outcome, names, window),
                **page.common_fields(outcome, names, window, started),
            )

        return Prepared(_search(scope, query, start.target, started), finish)


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """Arguments of `Workspace.grep`."""

    pattern: str
    path: str | None
    glob: str | Sequence[str] | None
    literal: bool
    case_sensitive: bool
    word: bool
    multiline: bool
    type: str | Sequence[str] | None
    output_mode: OutputMode
    before: int
    after: int
    context: int
    max_per_file: int | None
    limit: int | None
    offset: int | None
    sort: str
    no_ignore: bool

    def prepare(self, scope: Scope) -> Prepared[GrepResult]:
        started = time.monotonic()
        window = _window(scope, "grep", self.limit, self.offset)
        pattern = _pattern(scope, self.pattern)
        if self.output_mode not in _OUTPUT_MODES:
            legal = ", ".join(_OUTPUT_MODES)
            raise RequestError(
                "argument_invalid", f"output_mode must be one of {legal}; found {shown(self.output_mode)}."
            )
        context = _whole_number("context", self.context, 0, MAX_CONTEXT)
        start = _start(scope, self.path)
        query = _query(
            scope,
            "grep",
            start,
            window,
            pattern=pattern,
            literal=_flag("literal", self.literal),
            ignore_case=not _flag("case_sensitive", self.case_sensitive),
            word=_flag("word", self.word),
            multiline=_flag("multiline", self.multiline),
            output=self.output_mode,
            before=max(context, _whole_number("before", self.before, 0, MAX_CONTEXT)),
            after=max(context, _whole_number("after", self.after, 0, MAX_CONTEXT)),
            max_per_file=ALL
            if self.max_per_file is None
            else _whole_number("max_per_file", self.max_per_file, 1, ALL),
            includes=tuple(_rebased_filter(glob, start) for glob in _globs(scope, self.glob)),
            types=_types(self.type),
            **_order(window, _sort(self.sort), whole=self.output_mode == "count"),
            **_ignoring(scope, self.no_ignore),
        )

        def finish(outcome: Outcome) -> GrepResult:
            outcome = page.ordered(outcome, query.sort)
            names = page.Paths(scope.roots[start.root].mount.virtual)
            line_chars = scope.policy.limits.line_chars
            return GrepResult(
                path=start.virtual,
                output_mode=self.output_mode,
                entries=page.grep_entries(outcome, names, window, scope.mask, self.output_mode, line_chars),
                **page.common_fields(outcome, names, window, started),
            )

        return Prepared(_search(scope, query, start.target, started), finish)


# --- arguments
# ------------------------------------------------------------------------------------------------------


def _window(
    scope: Scope, tool: Literal["glob", "grep"], limit: int | None, offset: int | None
) -> page.Window:
    limits = scope.policy.limits
    return page.Window(limits.page_offset(offset), limits.page_limit(tool, limit))


def _pattern(scope: Scope, pattern: object) -> str:
    if not isinstance(pattern, str):
        raise PatternError("pattern_invalid", f"The pattern must be a string; found {shown(pattern)}.")
    if not pattern:
        raise PatternError("pattern_empty", "The pattern is empty; say what to search for.")
    longest = scope.policy.limits.max_pattern_bytes
    if len(pattern.encode("utf-8", "surrogatepass")) > longest:
        raise PatternError(
            "pattern_too_long", f"The pattern is longer than {longest} bytes; use a shorter one."
        )
    if any("\ud800" <= c <= "\udfff" for c in pattern):
        raise PatternError("pattern_invalid", "The pattern holds a lone surrogate, which no text does.")
    return pattern


def _globs(scope: Scope, globs: object) -> tuple[str, ...]:
    listed = (globs,) if isinstance(globs, str) else () if globs is None else globs
    if not isinstance(listed, (list, tuple)) or len(listed) > _MOST_GLOBS:
        raise RequestError("argument_invalid", f"glob must be a string, or at most {_MOST_GLOBS} of them.")
    return tuple(_pattern(scope, glob) for glob in listed)


def _sort(value: object) -> Literal["path", "mtime"]:
    if value == "path":
        return "path"
    if value == "mtime":
        return "mtime"
    raise RequestError("argument_invalid", f"sort must be 'path' or 'mtime'; found {shown(value)}.")


def _whole_number(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(
            "argument_invalid", f"{name} must be a whole number from {least} to {most}; found {shown(value)}."
        )
    return value


def _types(names: object) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else () if names is None else names
    if not isinstance(listed, (list, tuple)) or not all(isinstance(name, str) for name in listed):
        raise RequestError("argument_invalid", "type must be the name of a file type, or several.")
    try:
        return tuple(dict.fromkeys(glob for name in listed for glob in globs_of(name)))
    except UnknownType as unknown:
        near = (
            f"Did you mean {', '.join(unknown.near)}?"
            if unknown.near
            else "They are ripgrep's: py, rust, ts, ..."
        )
        raise RequestError("type_unknown", str(unknown), hint=near) from None


def _ignoring(scope: Scope, no_ignore: object) -> dict[str, bool]:
    """Which ignore rules hold: the policy's, unless the request may and does switch them off."""
    on = not _no_ignore(scope, no_ignore)
    return {"noise": on, "ignore_files": on and scope.policy.use_ignore_files}


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RequestError("argument_invalid", f"{name} must be true or false; found {shown(value)}.")
    return value


def _no_ignore(scope: Scope, asked: object) -> bool:
    if not _flag("no_ignore", asked):
        return False
    if not scope.policy.allow_no_ignore:
        raise RequestError(
            "no_ignore_refused", "The policy does not let a request switch the ignore rules off."
        )
    return True


def _start(scope: Scope, path: str | None) -> Start:
    virtual = scope.policy.mounts[0].virtual if path is None else path
    place = locate(virtual, scope.roots)
    return Start(virtual, place.root, start_of(place, virtual, scope.roots, scope.deny))


def _mount_of(scope: Scope, pattern: str) -> str | None:
    """The mount that an absolute pattern points into, if it is one: the search starts there."""
    if not pattern.startswith("/"):
        return None
    fitting = [m.virtual for m in scope.policy.mounts if pattern.startswith(m.virtual.rstrip("/") + "/")]
    return max(fitting, key=len, default=None)


def _rebased(pattern: str, start: str) -> str:
    try:
        return rebase(pattern, start)
    except GlobRefused as refused:
        code = "glob_outside" if refused.code == "absolute" else "glob_invalid"
        raise PatternError(code, str(refused)) from None


def _rebased_filter(glob: str, start: Start) -> str:
    excludes = glob.startswith("!")
    folder = start.virtual if start.target.kind == "folder" else start.virtual.rpartition("/")[0]
    return "!" * excludes + _rebased(glob.removeprefix("!"), folder or "/")


def _compile_deny(rules: Sequence[str]) -> GlobSet | None:
    try:
        return compile_filter(["!" + rule for rule in rules]) if rules else None
    except GlobRefused as refused:
        raise PolicyError("deny_invalid", str(refused), key="deny") from None


# --- searches
# -------------------------------------------------------------------------------------------------------


def _query(
    scope: Scope, tool: Literal["glob", "grep"], start: Start, window: page.Window, **differing: Any
) -> Query:
    limits = scope.policy.limits
    fields: dict[str, Any] = {
        "id": next(_query_numbers),
        "tool": tool,
        "root": start.root,
        "start": start.target.path,
        "single_file": start.target.kind == "file",
        "refuse_hardlinks": scope.policy.refuse_hardlinks,
        "pattern": "",
        "literal": False,
        "ignore_case": False,
        "word": False,
        "multiline": False,
        "output": "content",
        "ignore_files": scope.policy.use_ignore_files,
        "includes": (),
        "case_sensitive_globs": True,
        "include_dirs": False,
        "noise": True,
        "deny": tuple(map(os.fsencode, scope.policy.deny)),
        # One more than is shown, so that a result of exactly `limit` entries is not called truncated
        # (contract 2.3).
        "need": window.offset + window.limit + 1,
        "compile_seconds": limits.compile_seconds,
        "scan_seconds": limits.scan_seconds,
        "folder_seconds": limits.folder_seconds,
        "max_file_bytes": limits.max_file_bytes,
        "max_line_bytes": limits.max_line_bytes,
        "max_pattern_bytes": limits.max_pattern_bytes,
        "line_chars": limits.line_chars,
        "margin_chars": scope.mask.margin,
    }
    return Query(**(fields | differing))


def _order(window: page.Window, sort: Literal["path", "mtime"], *, whole: bool = False) -> dict[str, Any]:
    """How entries are ordered, and how many of them are needed for that."""
    if sort == "mtime" or whole:
        return {"sort": sort, "need": max(_MOST_SORTED, window.offset + window.limit + 1)}
    return {"sort": sort}


def _search(scope: Scope, query: Query, target: Target, started: float) -> Search:
    folder, _, name = target.path.rpartition(b"/")
    shard = Shard(target.path) if target.kind == "folder" else Shard(folder, name, name)
    return Search(query, shard, deadline=started + scope.policy.limits.request_seconds)
