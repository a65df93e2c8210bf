"""What one tenant may spend: time, memory, and how much a page may hold.

Invariants: every limit lies within `BOUNDS`, whether a `Limits` was built by hand, decoded or loaded from a
file; there is no value that means "unlimited"; a request can lower what it gets and never raise it
(contract 2.4).

Leaves to others: enforcing them. Times are held by kills and deadlines in the supervisor, memory and CPU by
the kernel.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import msgspec

from .errors import LimitError, PolicyError, shown, wrong_type

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30

GREATEST_OFFSET: Final = 2**53 - 1  # past the end of any result, and exact for every JSON reader


class Bound(NamedTuple):
    """The legal values of one limit, both ends included."""

    kind: type[int] | type[float]
    least: float
    greatest: float
    unit: str

    def __str__(self) -> str:
        return f"{self.least:,} to {self.greatest:,} {self.unit}"


BOUNDS: Final = MappingProxyType(
    {
        "scan_seconds": Bound(float, 0.01, 60, "seconds"),
        "compile_seconds": Bound(float, 0.05, 60, "seconds"),
        "folder_seconds": Bound(float, 0.05, 600, "seconds"),
        "request_seconds": Bound(float, 0.05, 3600, "seconds"),
        "worker_memory": Bound(int, 128 * MIB, 64 * GIB, "bytes"),
        "worker_cpu_seconds": Bound(int, 1, 86_400, "seconds"),
        "workers": Bound(int, 1, 64, "workers"),
        "max_file_bytes": Bound(int, 1, 2**40, "bytes"),
        "max_line_bytes": Bound(int, 64, 2**30, "bytes"),
        "line_chars": Bound(int, 20, 100_000, "characters"),
        "max_pattern_bytes": Bound(int, 1, 65_536, "bytes"),
        "glob_default": Bound(int, 1, 100_000_000, "entries"),
        "glob_ceiling": Bound(int, 1, 100_000_000, "entries"),
        "grep_default": Bound(int, 1, 100_000_000, "entries"),
        "grep_ceiling": Bound(int, 1, 100_000_000, "entries"),
    }
)
"""The legal range of every limit, by its name."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of one tenant. Every field has a default that suits an agent on a shared host.

    Raises `PolicyError`: `wrong_type` for a value that is no number (a bool is none), `limit_out_of_range`
    for one outside `BOUNDS`; both name the field and the legal values.
    """

    scan_seconds: float = 1.0
    """Wall-clock limit of one scan, that is one pattern over one file. Seconds, 0.01 to 60. It is a kill,
    not a request to stop: a backtracking match cannot be interrupted from within."""

    compile_seconds: float = 1.0
    """Wall-clock limit of compiling one request's pattern and globs. Seconds, 0.05 to 60. Its own limit,
    because a short pattern can take seconds to compile before any file is touched."""

    folder_seconds: float = 10.0
    """Wall-clock limit of listing one folder. Seconds, 0.05 to 600. Longer than a scan: a folder of a
    million names on a slow disk is honest work."""

    request_seconds: float = 20.0
    """Deadline of a whole request, waiting included. Seconds, 0.05 to 3600. What was found by then is the
    result, marked incomplete."""

    worker_memory: int = 512 * MIB
    """Address space of one worker. Bytes, 128 MiB to 64 GiB. Below 128 MiB the interpreter and its engine
    do not fit."""

    worker_cpu_seconds: int = 600
    """CPU time that a worker may use in its life; it is replaced then. Seconds, 1 to 86400. It also ends a
    worker that no longer answers to anyone."""

    workers: int = 2
    """Workers that serve one workspace. 1 to 64. The result does not depend on it (contract 2.1)."""

    max_file_bytes: int = 1_000_000
    """Largest file that is searched; a larger one is counted as `too_large`. Bytes, 1 to 2**40."""

    max_line_bytes: int = 16 * KIB
    """Longest line given to the backtracking engine; a longer one is counted as `long_line`. Bytes, 64 to
    2**30. Its time may grow with a power of the line's length; the linear engine has no such bound."""

    line_chars: int = 200
    """Most characters of a line that an entry shows, the window lying on the match. 20 to 100000."""

    max_pattern_bytes: int = 4 * KIB
    """Longest pattern or glob, as UTF-8. Bytes, 1 to 65536."""

    glob_default: int = 200
    """Entries of a glob page when the request names no limit. 1 to 100000000; cut to `glob_ceiling`."""

    glob_ceiling: int = 1000
    """Most entries of a glob page, whatever the request says. 1 to 100000000."""

    grep_default: int = 100
    """Entries of a grep page when the request names no limit. 1 to 100000000; cut to `grep_ceiling`."""

    grep_ceiling: int = 500
    """Most entries of a grep page, whatever the request says. 1 to 100000000."""

    def __post_init__(self) -> None:
        for name, bound in BOUNDS.items():
            _require_within(name, getattr(self, name), bound)

    def page_limit(self, tool: Literal["glob", "grep"], requested: int | None) -> int:
        """How many entries a page of `tool` may hold (contract 2.3, 2.4): at least 1, at most the ceiling.

        None asks for the policy's default, 0 for as many as the policy allows. Raises `LimitError`:
        `limit_type` for anything but a whole number, `limit_negative` below 0.
        """
        default, ceiling = {
            "glob": (self.glob_default, self.glob_ceiling),
            "grep": (self.grep_default, self.grep_ceiling),
        }[tool]
        if requested is None:
            return min(default, ceiling)
        return min(_whole_number("limit", requested) or ceiling, ceiling)

    def page_offset(self, requested: int | None) -> int:
        """How many entries lie before the page (contract 2.3): None and 0 start at the first. Raises as
        `page_limit` does.

        An offset beyond `GREATEST_OFFSET` is cut to it: both lie past the end of any result.
        """
        return min(_whole_number("offset", 0 if requested is None else requested), GREATEST_OFFSET)


def _require_within(name: str, value: object, bound: Bound) -> None:
    takes_fractions = bound.kind is float
    # bool is an int to Python, and `workers = true` is a slip; so is 2.0 where things are counted.
    if isinstance(value, bool) or not isinstance(value, (int, float) if takes_fractions else int):
        wanted = "a number" if takes_fractions else "a whole number"
        raise wrong_type(name, value, f"{wanted} ({bound})")
    if not bound.least <= value <= bound.greatest:  # NaN compares false, so it is refused here
        raise PolicyError("limit_out_of_range", f"found {shown(value)}; legal are {bound}.", key=name)


def _whole_number(argument: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise LimitError(
            "limit_type", f"{argument} must be a whole number of at least 0; found {shown(value)}."
        )
    if value < 0:
        raise LimitError("limit_negative", f"{argument} must be at least 0; found {shown(value)}.")
    return value
