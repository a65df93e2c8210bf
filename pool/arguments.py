"""The arguments of requests, checked for type, size and range before anything is searched (contract 2.4, 3,
4).

One check for each argument, the same at every door. What a pattern or a glob means is found out behind the
bars.
"""

from __future__ import annotations

from typing import Final, Literal

from ..policy.errors import PatternError, RequestError, shown
from ..policy.filetypes import UnknownType, globs_of
from ..policy.globs import GlobRefused, rebase
from .page import Window
from .scope import Scope, Start

_MOST_GLOBS: Final = 64
Sort = Literal["path", "mtime"]


def window_of(scope: Scope, tool: Literal["glob", "grep"], limit: int | None, offset: int | None) -> Window:
    limits = scope.policy.limits
    return Window(limits.page_offset(offset), limits.page_limit(tool, limit))


def pattern_text(scope: Scope, pattern: object) -> str:
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


def globs(scope: Scope, globs: object) -> tuple[str, ...]:
    listed = (globs,) if isinstance(globs, str) else () if globs is None else globs
    if not isinstance(listed, (list, tuple)) or len(listed) > _MOST_GLOBS:
        raise RequestError("argument_invalid", f"glob must be a string, or at most {_MOST_GLOBS} of them.")
    return tuple(pattern_text(scope, glob) for glob in listed)


def sort_order(value: object) -> Sort:
    if value == "path":
        return "path"
    if value == "mtime":
        return "mtime"
    raise RequestError("argument_invalid", f"sort must be 'path' or 'mtime'; found {shown(value)}.")


def whole_number(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(
            "argument_invalid", f"{name} must be a whole number from {least} to {most}; found {shown(value)}."
        )
    return value


def types(names: object) -> tuple[str, ...]:
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


def ignoring(scope: Scope, asked: object) -> dict[str, bool]:
    """Which ignore rules hold: the policy's, unless the request may and does switch them off."""
    on = not no_ignore(scope, asked)
    return {"noise": on, "ignore_files": on and scope.policy.use_ignore_files}


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RequestError("argument_invalid", f"{name} must be true or false; found {shown(value)}.")
    return value


def no_ignore(scope: Scope, asked: object) -> bool:
    if not flag("no_ignore", asked):
        return False
    if not scope.policy.allow_no_ignore:
        raise RequestError(
            "no_ignore_refused", "The policy does not let a request switch the ignore rules off."
        )
    return True


def rebased(pattern: str, start: str) -> str:
    try:
        return rebase(pattern, start)
    except GlobRefused as refused:
        code = "glob_outside" if refused.code == "absolute" else "glob_invalid"
        raise PatternError(code, str(refused)) from None


def rebased_filter(glob: str, start: Start) -> str:
    excludes = glob.startswith("!")
    folder = start.virtual if start.target.kind == "folder" else start.virtual.rpartition("/")[0]
    return "!" * excludes + rebased(glob.removeprefix("!"), folder or "/")


def as_include(pattern: str) -> str:
    """A glob's own pattern for a filter, in which a leading "!" would turn it round."""
    return "\\" + pattern if pattern.startswith("!") else pattern
