"""From a request to a scanner, or to the reason why there is none."""

from __future__ import annotations

from .dialect import Reading, Request, read
from .line_scanner import LineScanner
from .planner import is_never, plan_for
from .refusal import PatternRefused
from .scanner import Scanner
from .text_scanner import TextScanner
from .translate import Alphabet


def compile_pattern(
    pattern: str,
    *,
    literal: bool = False,
    ignore_case: bool = False,
    word: bool = False,
    multiline: bool = False,
    max_line_bytes: int = 16384,
    max_pattern_bytes: int = 4096,
) -> Scanner:
    r"""A scanner for a Python pattern (contract 4).

    literal: plain text. word: the match must be a whole word, `(?<!\w)(?:p)(?!\w)`. max_line_bytes: longer lines
    (of UTF-8) are not given to the backtracking engine. Raises PatternRefused; MemoryError passes through.
    """
    request = Request(pattern, literal, ignore_case, word, multiline)
    reading = read(request, max_pattern_bytes)
    ascii_side = plan_for(reading, Alphabet(ascii_only=True, multiline=multiline))
    if multiline:
        return TextScanner(reading, ascii_side, max_line_bytes)
    if ascii_side.never and _needs_newline(reading):
        raise PatternRefused("needs_multiline", "the pattern can only match across a line end")
    return LineScanner(reading, ascii_side, max_line_bytes)


def _needs_newline(reading: Reading) -> bool:
    """Whether it matches nothing without a newline, and something with one."""
    within_line = is_never(reading, Alphabet(ascii_only=False, multiline=False))
    return within_line and not is_never(reading, Alphabet(ascii_only=False, multiline=True))
