"""The shared ignore set: what is in it, and that the fast test says what the data says."""

from __future__ import annotations

import ast
import inspect
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy import noise
from grille.policy.noise import NOISE_NAMES, NOISE_PATTERNS, is_noise


def by_fnmatch(name: bytes) -> bool:
    return any(fnmatchcase(name, entry) for entry in (*NOISE_NAMES, *NOISE_PATTERNS))


@pytest.mark.parametrize("name", sorted(NOISE_NAMES))
def test_every_name_is_noise_and_its_neighbours_are_judged_by_the_data(name: bytes) -> None:
    """A name is matched whole, in its own case (contract 6)."""
    assert is_noise(name)
    for near in (name + b"x", b"x" + name, name[:-1], name.swapcase(), name + b"\n", name + b".local"):
        assert is_noise(near) == by_fnmatch(near), near


@pytest.mark.parametrize("pattern", NOISE_PATTERNS)
@pytest.mark.parametrize("middle", [b"", b"x", b"a.b", b"\n", b"\xff", b".part", b".upload-", b"*"])
def test_every_pattern_matches_whatever_its_star_stands_for(pattern: bytes, middle: bytes) -> None:
    """A pattern's star stands for any bytes, also none; what lacks the rest is no noise by that pattern."""
    name = pattern.replace(b"*", middle)
    assert is_noise(name)
    for near in (name[:-1], name + b"x", name[1:], b"x" + name):
        assert is_noise(near) == by_fnmatch(near), near


fragments = st.sampled_from(
    [*sorted(NOISE_NAMES), *(part for pattern in NOISE_PATTERNS for part in pattern.split(b"*"))]
)


@given(st.lists(fragments | st.binary(max_size=3), max_size=4).map(b"".join))
def test_the_fast_test_says_what_fnmatch_says(name: bytes) -> None:
    """Prefix and suffix tests decide exactly as the patterns do, for any bytes."""
    assert is_noise(name) == by_fnmatch(name)


def test_the_set_holds_both_traditions() -> None:
    """Version control as contract 6 lists it, and the fifty entries of the set that DeerFlow has."""
    assert {b".git", b".svn", b".hg", b".bzr", b".jj", b".sl"} <= NOISE_NAMES
    assert len(NOISE_NAMES - {b".jj", b".sl"}) + len(NOISE_PATTERNS) == 50
    for kept in (b".env.local", b"Logs", b".github", b".gitignore", b"builds", b"src", b".upload-.par"):
        assert not is_noise(kept)


def test_the_lists_are_sorted_and_each_pattern_has_one_star() -> None:
    """The set is a table: one entry a line, in order, nothing twice, one `*` and no other magic."""
    nodes = list(ast.walk(ast.parse(inspect.getsource(noise))))
    names = [ast.literal_eval(item) for node in nodes if isinstance(node, ast.Set) for item in node.elts]
    assert names == sorted(set(names)) == sorted(NOISE_NAMES)
    assert list(NOISE_PATTERNS) == sorted(set(NOISE_PATTERNS))
    for pattern in NOISE_PATTERNS:
        assert pattern.count(b"*") == 1
        assert not set(pattern) & set(b"?[]")
