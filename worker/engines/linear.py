"""RE2, and nothing but RE2: the one module that knows the wheel.

Invariants: a program is compiled with bounded memory, no logging (RE2 writes to stderr by default, where a confined
worker may not) and no captures. `match` is the wheel's own bound method: its Python layer costs 0.4 us a call,
as much again as the call itself. Where the wheel is missing every pattern is refused here, and `re` does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

try:
    import re2
except ImportError:  # no wheel for this interpreter
    _RE2: Any = None
else:
    _RE2 = re2

# (anchor, buffer, start, end) -> spans; the first is (-1, -1) where nothing matches. Offsets are in bytes, and what
# lies before `start` is seen by `^` and `\b`.
Match = Callable[[Any, bytes, int, int], list[tuple[int, int]]]

# Bytes for program and lazily built automaton together: with RE2's default of 8 MiB `\w{5}\s+\w{5}\s+\w{5}` over
# Unicode falls back to its slow engine (4 MB/s instead of 400).
_MAX_MEMORY: Final = 64 * 2**20


def _options() -> Any:
    options = _RE2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    options.never_capture = True
    return options


UNANCHORED: Final[Any] = None if _RE2 is None else _RE2._re2.RE2.Anchor.UNANCHORED
_OPTIONS: Final[Any] = None if _RE2 is None else _options()


class LinearRefused(Exception):
    """RE2 does not take the pattern: too large, too deeply nested, or not there."""


def compile_linear(text: str) -> Match:
    """The unanchored search of a compiled program. Raises LinearRefused, MemoryError."""
    if _RE2 is None:
        raise LinearRefused("the linear engine is not installed")
    program = _RE2._re2.RE2(text.encode("utf-8"), _OPTIONS)
    if not program.ok():
        raise LinearRefused(program.error().decode("utf-8", "replace"))
    match: Match = program.Match
    return match
