"""Matches a name against many patterns at once, in time linear in the name whatever patterns and name are.

A machine of bits: each pattern has a bit for every token and one for its end, and a bit that is set says that the
tokens before it have matched what was read. A byte moves all bits at once, by a mask of the tokens that accept
it; a star keeps its bit standing. Nothing is tried twice, so `*a*a*a*a*b` costs what `*.py` costs, and ten
thousand patterns cost more words in each step but no more steps.

Invariant: a `NameMachine` changes only in the masks it remembers, one for each of 256 bytes at most.

Leaves to others: patterns that are a literal, an ending or a beginning (`tables` looks them up); paths (`rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final, NamedTuple

from .patterns import Atom, Name

# Bytes. Linux names have at most 255 (NAME_MAX), paths 4,096 (PATH_MAX): what wants more matches nothing.
LONGEST_NAME: Final = 4096

# How many literals a pattern with classes may stand for and still be looked up: `*.py[cod]` is three,
# `*.sw[a-p]` sixteen, `[Ww][Ii][Nn]32` eight.
MOST_SPELLINGS: Final = 16


class NameMachine:
    """Patterns compiled together, in order."""

    __slots__ = ("_atoms", "_ends", "_masks", "_order", "_standing", "_starts", "_width")

    def __init__(self, names: Sequence[Name]) -> None:
        self._atoms: dict[Atom, list[int]] = {}
        self._masks: dict[int, int] = {}
        self._order: dict[int, int] = {}  # a pattern's place among the patterns, by the length of its end bit
        starts: list[int] = []
        standing: list[int] = []
        at = 0
        for place, name in enumerate(names):
            starts.append(at)
            standing += [at + star for star in name.stars]
            for atom in name.tokens:
                self._atoms.setdefault(atom, []).append(at)
                at += 1
            # No token accepts anything at a pattern's end, so no bit ever moves on into the next pattern.
            at += 1
            self._order[at] = place
        self._width = at
        self._starts = self._bits(starts)
        self._standing = self._bits(standing)
        self._ends = self._bits(length - 1 for length in self._order)

    def last(self, name: bytes) -> int:
        """The place of the last pattern that all of `name` matches, or -1."""
        state, masks, standing = self._starts, self._masks, self._standing
        for byte in name:
            mask = masks.get(byte)
            if mask is None:
                mask = masks[byte] = self._mask_of(byte)
            state = (state & mask) << 1 | state & standing
            if not state:
                return -1
        return self._order.get((state & self._ends).bit_length(), -1)

    def _mask_of(self, byte: int) -> int:
        mask = self._bits(self._atoms.get(byte, ()))
        for atom, places in self._atoms.items():
            if not isinstance(atom, int) and byte in atom:
                mask |= self._bits(places)
        return mask

    def _bits(self, places: Iterable[int]) -> int:
        # By way of a buffer: adding the bits one by one would copy the number each time.
        buffer = bytearray(self._width // 8 + 1)
        for place in places:
            buffer[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(buffer, "little")


class Ends(NamedTuple):
    """What every match of a pattern begins and ends with, and the longest literal it holds; each may be empty."""

    head: bytes
    middle: bytes
    tail: bytes


def ends_of(name: Name) -> Ends:
    """The literals that a name must hold to match `name`: cheap tests before the machine."""
    runs = [bytearray()]
    for place, atom in enumerate(name.tokens):
        if place in name.stars:
            runs.append(bytearray())
        if isinstance(atom, int):
            runs[-1].append(atom)
        else:
            runs.append(bytearray())
    if len(name.tokens) in name.stars:
        runs.append(bytearray())
    return Ends(bytes(runs[0]), bytes(max(runs, key=len)), bytes(runs[-1]))


def can_match(name: Name) -> bool:
    """Whether any name can match: none can if it would be too long, or if a class accepts nothing."""
    return len(name.tokens) <= LONGEST_NAME and frozenset() not in name.tokens


def spellings(tokens: tuple[Atom, ...]) -> list[bytes] | None:
    """All byte strings that `tokens` stand for, or None if they are more than `MOST_SPELLINGS`."""
    count = 1
    choices: list[Sequence[int]] = []
    for atom in tokens:
        choice = (atom,) if isinstance(atom, int) else sorted(atom)
        count *= len(choice)
        if count > MOST_SPELLINGS:
            return None
        choices.append(choice)
    return [bytes(spelling) for spelling in product(*choices)]
