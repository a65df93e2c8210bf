"""Sets of code points: the algebra against Python's own sets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from grille.worker.engines import codepoints as cp

WINDOW = 40
POINTS = st.sets(st.integers(0, WINDOW) | st.integers(cp.LAST - 3, cp.LAST))


def members(ranges: cp.Ranges) -> set[int]:
    return {point for low, high in ranges for point in range(low, high + 1)}


def is_normal(ranges: cp.Ranges) -> bool:
    """Sorted, disjoint, not touching."""
    return all(low <= high for low, high in ranges) and all(
        left[1] + 1 < right[0] for left, right in pairwise(ranges)
    )


@given(POINTS, POINTS)
def test_the_algebra_is_that_of_sets(left: set[int], right: set[int]) -> None:
    """Union, intersection, difference and membership are a set's, and every outcome is in normal form."""
    a, b = cp.from_points(left), cp.from_points(right)
    for ours, theirs in (
        (cp.union(a, b), left | right),
        (cp.intersection(a, b), left & right),
        (cp.difference(a, b), left - right),
    ):
        assert members(ours) == theirs
        assert is_normal(ours)
        assert cp.count(ours) == len(theirs)
    assert all(cp.contains(a, point) == (point in left) for point in range(WINDOW + 2))


@given(POINTS)
def test_a_complement_is_what_is_missing(points: set[int]) -> None:
    """A set and its complement share nothing, make up everything, and the complement of that is the set again."""
    ranges = cp.from_points(points)
    rest = cp.complement(ranges)
    assert cp.intersection(ranges, rest) == cp.NONE
    assert cp.union(ranges, rest) == cp.ALL
    assert cp.complement(rest) == ranges
    assert is_normal(rest)
