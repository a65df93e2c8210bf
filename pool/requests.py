"""From a caller's arguments to a Query, and from an Outcome to a page: one class for each tool."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from ..policy.errors import PathError, RequestError, shown
from ..policy.wire import ALL, MAX_CONTEXT, MAX_READ_BYTES, Query, Shard
from . import advice, page
from .arguments import (
    as_include,
    flag,
    globs,
    ignoring,
    pattern_text,
    rebased,
    rebased_filter,
    sort_order,
    types,
    whole_number,
    window_of,
)
from .results import GlobResult, GrepResult, LsResult, ReadResult
from .roots import Target
from .scope import Scope, Start, mount_of, mount_of_any, start_at
from .search import Outcome, Search

OutputMode = Literal["content", "files_with_matches", "count"]
_OUTPUT_MODES: Final = ("content", "files_with_matches", "count")
_MOST_SORTED: Final = 1_000_000
"""Entries that are held where the whole must be known before the page: an order by time, sums over all
files.
"""
_DEEPEST: Final = 64
_query_numbers: Final = itertools.count(1)

T = TypeVar("T")


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
        window = window_of(scope, "glob", self.limit, self.offset)
        pattern = pattern_text(scope, self.pattern)
        start = start_at(scope, self.path if self.path is not None else mount_of(scope, pattern))
        if start.target.kind != "folder":
            raise RequestError(
                "argument_invalid", f"{shown(start.virtual)} is a file; a glob searches a folder."
            )
        query = _query(
            scope,
            "glob",
            start,
            window,
            includes=(as_include(rebased(pattern, start.virtual)),),
            case_sensitive_globs=flag("case_sensitive", self.case_sensitive),
            include_dirs=flag("include_dirs", self.include_dirs),
            **_order(window, sort_order(self.sort)),
            **ignoring(scope, self.no_ignore),
        )

        def finish(outcome: Outcome) -> GlobResult:
            outcome = page.ordered(outcome, query.sort)
            names = page.Paths(scope.roots[start.root].mount.virtual)
            common = page.common_fields(outcome, names, window, started)
            common["notices"] += advice.on_mounts_below(scope.mounts_below(start))
            return GlobResult(
                path=start.virtual,
                entries=page.glob_entries(outcome, names, window),
                hints=() if outcome.found else advice.on_no_path(common["skipped"]),
                **common,
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
        window = window_of(scope, "grep", self.limit, self.offset)
        pattern = pattern_text(scope, self.pattern)
        if self.output_mode not in _OUTPUT_MODES:
            legal = ", ".join(_OUTPUT_MODES)
            raise RequestError(
                "argument_invalid", f"output_mode must be one of {legal}; found {shown(self.output_mode)}."
            )
        context = whole_number("context", self.context, 0, MAX_CONTEXT)
        globs_asked = globs(scope, self.glob)
        start = start_at(scope, self.path if self.path is not None else mount_of_any(scope, globs_asked))
        query = _query(
            scope,
            "grep",
            start,
            window,
            pattern=pattern,
            literal=flag("literal", self.literal),
            ignore_case=not flag("case_sensitive", self.case_sensitive),
            word=flag("word", self.word),
            multiline=flag("multiline", self.multiline),
            output=self.output_mode,
            before=max(context, whole_number("before", self.before, 0, MAX_CONTEXT)),
            after=max(context, whole_number("after", self.after, 0, MAX_CONTEXT)),
            max_per_file=ALL
            if self.max_per_file is None
            else whole_number("max_per_file", self.max_per_file, 1, ALL),
            includes=tuple(rebased_filter(glob, start) for glob in globs_asked),
            types=types(self.type),
            **_order(window, sort_order(self.sort), whole=self.output_mode == "count"),
            **ignoring(scope, self.no_ignore),
        )

        def finish(outcome: Outcome) -> GrepResult:
            outcome = page.ordered(outcome, query.sort)
            names = page.Paths(scope.roots[start.root].mount.virtual)
            tally: Counter[str] = Counter()
            common = page.common_fields(outcome, names, window, started)
            common["notices"] += advice.on_mounts_below(scope.mounts_below(start))
            if query.single_file and not outcome.found:
                common["notices"] += advice.on_skipped_file(common["skipped"])
            return GrepResult(
                path=start.virtual,
                output_mode=self.output_mode,
                entries=page.grep_entries(
                    outcome,
                    names,
                    window,
                    scope.mask,
                    self.output_mode,
                    scope.policy.limits.line_chars,
                    tally,
                ),
                redacted=dict(tally),
                hints=() if outcome.found else advice.on_no_match(pattern, query.literal, common["skipped"]),
                **common,
            )

        return Prepared(_search(scope, query, start.target, started), finish)


@dataclass(frozen=True, slots=True)
class LsRequest:
    """Arguments of `Workspace.ls`."""

    path: str | None
    depth: int
    limit: int | None
    offset: int | None
    no_ignore: bool

    def prepare(self, scope: Scope) -> Prepared[LsResult]:
        started = time.monotonic()
        window = window_of(scope, "glob", self.limit, self.offset)
        start = start_at(scope, self.path)
        if start.target.kind != "folder":
            raise PathError("not_folder", f"{shown(start.virtual)} is a file; `read` shows what is in it.")
        query = _query(
            scope,
            "glob",
            start,
            window,
            include_dirs=True,
            max_depth=whole_number("depth", self.depth, 1, _DEEPEST),
            **ignoring(scope, self.no_ignore),
        )

        def finish(outcome: Outcome) -> LsResult:
            names = page.Paths(scope.roots[start.root].mount.virtual)
            common = page.common_fields(outcome, names, window, started)
            common["notices"] += advice.on_mounts_below(scope.mounts_below(start))
            return LsResult(
                path=start.virtual,
                depth=self.depth,
                entries=page.glob_entries(outcome, names, window),
                **common,
            )

        return Prepared(_search(scope, query, start.target, started), finish)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Arguments of `Workspace.read`."""

    path: str
    start_line: int
    end_line: int | None
    max_bytes: int

    def prepare(self, scope: Scope) -> Prepared[ReadResult]:
        started = time.monotonic()
        window = page.Window(0, ALL)
        first = whole_number("start_line", self.start_line, 1, ALL)
        last = ALL if self.end_line is None else whole_number("end_line", self.end_line, first, ALL)
        start = start_at(scope, self.path)
        if start.target.kind != "file":
            raise PathError("not_file", f"{shown(start.virtual)} is a folder; `ls` shows what is in it.")
        query = _query(
            scope,
            "read",
            start,
            window,
            need=ALL,
            first_line=first,
            last_line=last,
            most_bytes=whole_number("max_bytes", self.max_bytes, 1, MAX_READ_BYTES),
        )

        def finish(outcome: Outcome) -> ReadResult:
            names = page.Paths(scope.roots[start.root].mount.virtual)
            common = page.common_fields(outcome, names, window, started)
            return page.read_result(outcome, start.virtual, first, last, scope.mask, common)

        return Prepared(_search(scope, query, start.target, started), finish)


def _query(
    scope: Scope, tool: Literal["glob", "grep", "read"], start: Start, window: page.Window, **differing: Any
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
        "covered": scope.covered(start.root),
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
