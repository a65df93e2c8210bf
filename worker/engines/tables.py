"""Classes and letter case as `re` in this interpreter has them, ready for look-up.

Invariants: the committed table of the running minor is used, one per minor because each CPython brings its own
Unicode version; a minor that has none yet is surveyed at import (slower, never wrong). Everything is made at import,
before the lock-down, and only read afterwards.
"""

from __future__ import annotations

import sys
from typing import Final

from .codepoints import LAST, Ranges, union

_Runs = tuple[tuple[int, int, int, int], ...]


def _spread(runs: _Runs) -> dict[int, int]:
    return {
        point: point + shift for first, last, step, shift in runs for point in range(first, last + 1, step)
    }


if sys.version_info[:2] == (3, 11):
    from . import tables_3_11 as _committed
elif sys.version_info[:2] == (3, 12):
    from . import tables_3_12 as _committed
elif sys.version_info[:2] == (3, 13):
    from . import tables_3_13 as _committed
else:
    _committed = None

WORD: Ranges
DIGIT: Ranges
SPACE: Ranges
# Only characters that the mapping changes are keys.
LOWER: dict[int, int]
UPPER: dict[int, int]

if _committed is not None:
    WORD, DIGIT, SPACE = _committed.WORD, _committed.DIGIT, _committed.SPACE
    LOWER, UPPER = _spread(_committed.LOWER), _spread(_committed.UPPER)
else:
    from .survey import survey

    _facts = survey()
    WORD, DIGIT, SPACE = _facts.word, _facts.digit, _facts.space
    LOWER, UPPER = dict(_facts.lower), dict(_facts.upper)

ASCII_WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_DIGIT: Final[Ranges] = ((0x30, 0x39),)
ASCII_SPACE: Final[Ranges] = ((0x09, 0x0D), (0x20, 0x20))
ASCII_LOWER: Final[dict[int, int]] = {point: point + 32 for point in range(0x41, 0x5B)}
ASCII_UPPER: Final[dict[int, int]] = {point + 32: point for point in range(0x41, 0x5B)}


def _inverse(lower: dict[int, int]) -> dict[int, tuple[int, ...]]:
    sources: dict[int, tuple[int, ...]] = {}
    for point, mapped in lower.items():
        sources[mapped] = (*sources.get(mapped, ()), point)
    return sources


# From a lower-case character to those that are mapped to it, itself left out.
RAISED: Final[dict[int, tuple[int, ...]]] = _inverse(LOWER)
ASCII_RAISED: Final[dict[int, tuple[int, ...]]] = _inverse(ASCII_LOWER)

# All that case touches at all: outside of it a set may be taken as it stands.
CASED: Final[Ranges] = union(((p, p) for p in LOWER), ((p, p) for p in UPPER))
ASCII_CASED: Final[Ranges] = ((0x41, 0x5A), (0x61, 0x7A))
assert CASED[-1][1] <= LAST
