"""From a pattern's text to Python's own reading of it: the parse tree and the compiled `re` object.

Invariants: `re`'s parser and compiler decide what is a pattern, and both come from one parse, so the tree that is
translated is the tree that confirms. Their warnings are muted, and only theirs. Nothing is imported after this
module is, which the lock-down needs: what the parser loads on demand (`warnings`, `unicodedata` for `\\N{...}`) is
loaded here. Leaves the question which engine runs to `planner`.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from dataclasses import dataclass
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

from .refusal import PatternRefused

# The parser's `\N{...}` imports it when it meets one; by then no file can be opened.
_NAMES: Final = unicodedata.lookup


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for: one pattern and the letters beside it (contract 4)."""

    pattern: str
    literal: bool
    ignore_case: bool
    word: bool
    multiline: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """Python's reading of a request: `tree` is `re._parser`'s, `flags` its final global flags."""

    tree: Any
    flags: int
    regex: re.Pattern[str]


def read(request: Request, max_pattern_bytes: int) -> Reading:
    """Parse and compile.

    Raises PatternRefused: "empty", "too_long" (bytes of UTF-8), "invalid", "too_complex" (nested or repeated
    beyond what `re` takes). MemoryError passes through: the worker is then thrown away.
    """
    if not request.pattern:
        raise PatternRefused("empty", "the pattern is empty")
    # Before anything else looks at it: the parser's cost grows with the text.
    if len(request.pattern.encode("utf-8", "surrogatepass")) > max_pattern_bytes:
        raise PatternRefused("too_long", f"the pattern is longer than {max_pattern_bytes} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _read(request)
    except re.error as error:
        raise PatternRefused("invalid", error.msg, error.pos) from None
    except RecursionError:
        raise PatternRefused("too_complex", "the pattern is nested too deeply") from None
    except OverflowError as error:
        raise PatternRefused("too_complex", str(error)) from None


def _read(request: Request) -> Reading:
    flags = re.IGNORECASE if request.ignore_case else re.NOFLAG
    if request.multiline:
        flags |= re.DOTALL | re.MULTILINE
    text = re.escape(request.pattern) if request.literal else request.pattern
    tree = parser.parse(text, int(flags))
    if request.word:
        tree = _whole_word(tree)
    return Reading(tree, int(flags) | int(tree.state.flags), compiler.compile(tree, int(flags)))


def _whole_word(tree: Any) -> Any:
    r"""`(?<!\w)(?:p)(?!\w)`, built as a tree.

    Text around the pattern would not do: a global flag must stand first, and under `(?x)` a comment at the end
    would swallow what follows.
    """

    def part(items: list[Any]) -> Any:
        return parser.SubPattern(tree.state, items)

    def no_word(direction: int) -> Any:
        return sre.ASSERT_NOT, (direction, part([(sre.IN, [(sre.CATEGORY, sre.CATEGORY_WORD)])]))

    return part([no_word(-1), (sre.SUBPATTERN, (None, 0, 0, tree)), no_word(1)])
