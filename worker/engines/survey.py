"""What the running CPython itself says of classes and letter case: the source of the tables.

Invariant: every fact is read off the interpreter (`re` for classes, `_sre` and `str` for case), none off a Unicode
data file, because the definition of right is what `re` answers. A survey takes tenths of a second, which is why
its outcome is committed (see `tables`).
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from re import _compiler as compiler  # type: ignore[attr-defined]

from .codepoints import LAST, Ranges

CasePairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Classes as ranges; case as (character, mapped character) pairs, sorted, only where the two differ."""

    word: Ranges
    digit: Ranges
    space: Ranges
    lower: CasePairs
    upper: CasePairs


def survey() -> Facts:
    """Ask the running interpreter about every code point."""
    # Built through UTF-32: joining 1.1 million chr() calls takes three times as long.
    every = array("I", range(LAST + 1)).tobytes().decode("utf-32", "surrogatepass")

    def spans(pattern: str) -> Ranges:
        return tuple((found.start(), found.end() - 1) for found in re.finditer(pattern, every))

    return Facts(spans(r"\w+"), spans(r"\d+"), spans(r"\s+"), _lower_pairs(), _upper_pairs(every))


def _lower_pairs() -> CasePairs:
    tolower = compiler._sre.unicode_tolower
    return tuple((point, tolower(point)) for point in range(LAST + 1) if tolower(point) != point)


def _upper_pairs(every: str) -> CasePairs:
    """Upper case as `re` means it: where `str.upper` gives several characters, the first of them.

    Only characters that are their own lower case are listed: `re` lowers first and asks afterwards.
    """
    tolower, iscased = compiler._sre.unicode_tolower, compiler._sre.unicode_iscased
    return tuple(
        (point, ord(character.upper()[0]))
        for point, character in enumerate(every)
        if iscased(point) and tolower(point) == point
    )
