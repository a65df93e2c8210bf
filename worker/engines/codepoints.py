"""Sets of code points as sorted ranges, and the algebra on them.

Invariants: a `Ranges` is a tuple of inclusive (low, high) pairs, sorted, disjoint, and not touching, so two equal
sets are equal tuples and serve as dictionary keys. Knows nothing of classes or of regular expressions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

Ranges = tuple[tuple[int, int], ...]

LAST: Final = 0x10FFFF
NONE: Final[Ranges] = ()
ALL: Final[Ranges] = ((0, LAST),)
ASCII: Final[Ranges] = ((0, 0x7F),)
NEWLINE: Final[Ranges] = ((0x0A, 0x0A),)
# Lone surrogates cannot stand in UTF-8, so no buffer holds one and RE2 takes none in a pattern.
SURROGATES: Final[Ranges] = ((0xD800, 0xDFFF),)


def union(*parts: Iterable[tuple[int, int]]) -> Ranges:
    """Every code point of any part; the parts may be unsorted and may overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for part in parts for pair in part):
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Every code point that is not in `ranges`."""
    gaps: list[tuple[int, int]] = []
    following = 0
    for low, high in ranges:
        if low > following:
            gaps.append((following, low - 1))
        following = high + 1
    if following <= LAST:
        gaps.append((following, LAST))
    return tuple(gaps)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """Every code point that is in both."""
    shared: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            shared.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(shared)


def difference(left: Ranges, right: Ranges) -> Ranges:
    """Every code point of `left` that is not in `right`."""
    return intersection(left, complement(right))


def contains(ranges: Ranges, point: int) -> bool:
    """Whether `point` is in the set; a binary search."""
    index = bisect_right(ranges, (point, LAST + 1)) - 1
    return index >= 0 and point <= ranges[index][1]


def from_points(points: Iterable[int]) -> Ranges:
    """The set of single code points."""
    return union((point, point) for point in points)


def count(ranges: Ranges) -> int:
    """How many code points are in the set."""
    return sum(high - low + 1 for low, high in ranges)
