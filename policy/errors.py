"""Every error that grille raises for a caller, and the table of their codes.

Invariants: each error has a stable code out of `CODES`, a message for people and sometimes a hint; an error
survives copy and pickle unchanged; none is an `OSError` or a `TimeoutError`, so no `except OSError` of a
host swallows a refusal.

Leaves to others: which words to use. A message is built from codes, keys and virtual paths, never from the
text of an operating system's error, because that text holds host paths (contract 7).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

CODES: Final = MappingProxyType(
    {
        # PolicyError: a policy file
        "file_not_found": "the policy file does not exist",
        "file_not_regular": "the policy file is a folder, a pipe, a socket or a device",
        "file_not_utf8": "the policy file is not UTF-8 text",
        "file_too_large": "the policy file is larger than a policy file may be",
        "file_unreadable": "the policy file exists and cannot be read",
        "missing_key": "a key that has no default is absent",
        "toml_syntax": "the policy file is not valid TOML",
        "unknown_key": "a key that no policy has",
        "wrong_type": "a value is of another kind than its key wants",
        # PolicyError: a policy
        "deny_count": "more deny rules than a policy may have",
        "deny_invalid": "a deny rule is no legal glob",
        "layer_required": "a layer was called dispensable that never is",
        "layer_unknown": "a layer was called dispensable that does not exist",
        "limit_out_of_range": "a limit lies outside its legal range",
        "mount_count": "no mount at all, or more than a policy may have",
        "mount_duplicate": "two mounts claim one virtual path",
        "mount_not_absolute": "a mount's path does not start with /",
        "mount_not_folder": "a mount's host path is no folder",
        "mount_not_found": "a mount's host path does not exist",
        "mount_not_normal": "a mount's path holds //, . or .., ends with /, or is too long",
        "mount_refused": "a mount shows a place that is never shown",
        "mount_text": "a mount's path holds characters that no path may show",
        "mount_unreadable": "a mount's host path cannot be opened",
        "redact_unknown": "a pattern of secrets that does not exist",
        # RequestError itself
        "argument_invalid": "an argument of a request has a wrong type or value",
        "no_ignore_refused": "the policy does not let a request switch ignore rules off",
        "type_unknown": "a file type that is not in the table",
        # PatternError
        "glob_invalid": "a glob is not well formed",
        "glob_outside": "an absolute glob lies outside every mount",
        "glob_too_large": "a glob expands to more alternatives than are allowed",
        "glob_too_long": "a glob is longer than is allowed",
        "pattern_empty": "the pattern is empty",
        "pattern_invalid": "the pattern is no legal regular expression",
        "pattern_multiline": "the pattern needs line ends, and multiline is off",
        "pattern_too_costly": "the pattern took more time or memory to compile than is allowed",
        "pattern_too_long": "the pattern is longer than the policy allows",
        # PathError
        "foreign": "a UNC or NT path",
        "not_absolute": "a path does not start with /",
        "not_file": "the path is not a regular file",
        "not_folder": "the path is not a folder",
        "not_found": "nothing is there, or the policy hides what is there",
        "outside": "the path lies in no mount",
        "parent": "the path holds .. as a component",
        "path_text": "the path holds characters that no path can hold",
        "path_too_long": "the path is longer than any path can be",
        "tilde": "the path starts with ~, which nothing expands",
        "unreadable": "the path exists and cannot be read",
        # LimitError
        "limit_negative": "a limit or offset is below 0",
        "limit_type": "a limit or offset is no whole number",
        # ConfinementError
        "attestation_failed": "a worker seen from outside lacks a layer it should have",
        "canary_failed": "a worker reached a canary that must be out of reach, or missed one within",
        "kernel_too_old": "the kernel lacks a system call that nothing replaces",
        "layer_missing": "a layer is missing that the policy does not call dispensable",
        "preflight_failed": "the sample job did not live under the filter on this machine",
        "library_missing": "libseccomp.so.2 is not installed",
        # PoolError
        "cancelled": "the request was cancelled",
        "overloaded": "too many requests wait already",
        "pool_closed": "the pool is closed",
        "spawn_failed": "a worker or its parent could not be started",
        "worker_lost": "workers die again and again",
        "workspace_closed": "the workspace is closed",
    }
)
"""Every code, with what it means. A code never changes its meaning; new ones may be added."""

_SHOWN_CHARACTERS: Final = 60  # an error is one line to read: enough of a value to recognise it


class GrilleError(Exception):
    """Base of all errors that grille raises (contract 7).

    `code` is a key of `CODES`, for programs. `message` is a sentence for people that says what to do next.
    `hint` is a sentence of its own where a remedy can be guessed ("Did you mean ...?"), else None.
    `str(error)` is the message and the hint.
    """

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        # Exception pickles as (class, args, __dict__): args rebuild the error, __dict__ brings the rest.
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} {self.hint}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(code={self.code!r}, message={self.message!r})"


class PolicyError(GrilleError):
    """A policy, or a policy file, says something illegal.

    `key` is the dotted key at fault with its index (`mounts[2].host`) or None; `source` is the file as the
    caller spelled it, with a line where one is known (`grille.toml, line 7`), or None. Both already stand
    at the head of `message`.
    """

    def __init__(
        self,
        code: str,
        problem: str,
        *,
        hint: str | None = None,
        key: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(code, ": ".join(part for part in (source, key, problem) if part), hint=hint)
        self.problem = problem
        self.key = key
        self.source = source

    def placed(self, *, key: str | None, source: str | None = None) -> PolicyError:
        """The same complaint about `key`, for whoever knows better where the value stood."""
        return PolicyError(self.code, self.problem, hint=self.hint, key=key, source=source)


class RequestError(GrilleError):
    """A request is refused. Nothing was searched, so there is no result."""


class PatternError(RequestError):
    """A regular expression or a glob is refused.

    `position` is where the fault was found, in characters from 0, or None.
    """

    def __init__(
        self, code: str, message: str, *, hint: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.position = position


class PathError(RequestError):
    """A path is refused. What lies outside, what is absent and what is denied get answers that do not tell
    them apart."""


class LimitError(RequestError):
    """A limit or an offset is no number, or below 0."""


class ConfinementError(GrilleError):
    """This machine does not give the confinement that the policy demands. Nothing runs with less."""


class PoolError(GrilleError):
    """The pool cannot serve: it is closed, overloaded, or its processes fail."""


def shown(value: object) -> str:
    """`value` as it may stand in an error: one line, at most about 60 characters, escaped, whatever it is.

    A whole number of thousands of digits has no decimal form in Python (`int` raises), so it is told by its
    size.
    """
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length()} bits"
    if not isinstance(value, (str, int, float)):
        return f"a value of type {type(value).__name__}"
    text = repr(value[: _SHOWN_CHARACTERS + 1]) if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def wrong_type(key: str, value: object, wanted: str) -> PolicyError:
    """The error for a value of another kind than `key` wants. It names the kind found and not the value:
    that may be a host path."""
    return PolicyError("wrong_type", f"found {kind(value)} where {wanted} is wanted.", key=key)


def kind(value: object) -> str:
    """What `value` is, in TOML's words where it has them."""
    names = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a string",
        dict: "a table",
    }
    names |= {list: "an array", tuple: "an array"}
    return names.get(type(value), f"a value of type {type(value).__name__}")
