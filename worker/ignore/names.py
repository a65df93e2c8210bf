"""Matches one name against one pattern, in time linear in the name whatever the pattern and the name are.

The general case is a machine of bits: bit i of the state says that the first i tokens have matched what was
read. A byte moves all bits at once, by a mask of the tokens that accept it; a star keeps its bit standing.
Nothing is ever tried twice, so `*a*a*a*a*b` costs what `*.py` costs. One step works on as many bits as the
pattern has tokens, and `LONGEST_NAME` bounds those.

Invariant: a `NameMachine` changes only in what it remembers of bytes it has seen, at most 256 masks.

Leaves to others: rules that are a literal, an ending or a beginning (`tables` looks them up); several
components (`rules`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Final

from .patterns import Atom, Name

# Bytes. Linux names have at most 255 (NAME_MAX) and paths 4,096 (PATH_MAX): a pattern that wants more matches
# nothing.
LONGEST_NAME: Final = 4096

# How many literals a pattern with classes may stand for and still be looked up: `*.py[cod]` is three,
# `*.sw[a-p]` sixteen, `[Ww][Ii][Nn]32` eight.
MOST_SPELLINGS: Final = 16


class NameMachine:
    """A compiled pattern of any shape. Its tests come cheapest first: nearly every name fails at one of them."""

    __slots__ = ("_accepting", "_head", "_masks", "_middle", "_standing", "_tail", "_tokens")

    def __init__(self, name: Name) -> None:
        self._tokens = name.tokens
        self._standing = sum(1 << place for place in name.stars)
        self._accepting = 1 << len(name.tokens)
        self._masks: dict[int, int] = {}
        runs = _literal_runs(name)
        self._head = runs[0]
        self._tail = runs[-1]
        self._middle = max(runs, key=len)

    def matches(self, name: bytes) -> bool:
        """Whether the whole of `name` matches."""
        if self._middle not in name or not name.startswith(self._head) or not name.endswith(self._tail):
            return False
        state, masks, standing = 1, self._masks, self._standing
        for byte in name:
            mask = masks.get(byte)
            if mask is None:
                mask = masks[byte] = self._mask_of(byte)
            state = (state & mask) << 1 | state & standing
            if not state:
                return False
        return bool(state & self._accepting)

    def among(self, names: Iterable[bytes]) -> list[bytes]:
        """Those of `names` that match."""
        middle, matches = self._middle, self.matches
        return [name for name in names if middle in name and matches(name)]

    def _mask_of(self, byte: int) -> int:
        bits = bytearray(len(self._tokens) // 8 + 1)
        for place, token in enumerate(self._tokens):
            accepts = token == byte if isinstance(token, int) else byte in token
            if accepts:
                bits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(bits, "little")


def can_match(name: Name) -> bool:
    """Whether any name can match: none does if it would have to be too long, or if a class accepts nothing."""
    return len(name.tokens) <= LONGEST_NAME and all(token != frozenset() for token in name.tokens)


def spellings(tokens: tuple[Atom, ...]) -> list[bytes] | None:
    """All byte strings that `tokens` stand for, or None if they are more than `MOST_SPELLINGS`."""
    count = 1
    for token in tokens:
        if not isinstance(token, int):
            count *= len(token)
            if count > MOST_SPELLINGS:
                return None
    choices = [(token,) if isinstance(token, int) else sorted(token) for token in tokens]
    return [bytes(choice) for choice in product(*choices)]


def _literal_runs(name: Name) -> list[bytes]:
    """The bytes between stars and classes, in order: every match holds them, the first and last at its ends."""
    runs = [bytearray()]
    for place, token in enumerate(name.tokens):
        if place in name.stars:
            runs.append(bytearray())
        if isinstance(token, int):
            runs[-1].append(token)
        else:
            runs.append(bytearray())
    if len(name.tokens) in name.stars:
        runs.append(bytearray())
    return [bytes(run) for run in runs]
