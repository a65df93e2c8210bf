"""Many rules about names in one table: which of them is the last to match a name.

Nearly every rule in real ignore files is a name (`node_modules`), an ending (`*.o`), a beginning (`cmake-*`)
or a few of those (`*.py[cod]`): these are looked up by hashing, at a cost that their number does not change.
What is left goes through `names`, rule by rule, the last rule first.

Invariants: a table never changes; a rule's rank orders it, the later the higher, and carries its verdict, so
that one comparison finds the last match.

Leaves to others: where a rule applies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from .names import NameMachine, spellings
from .patterns import Name

NO_RULE: Final = -1

# Up to this many endings, one call of `endswith` tells whether any of them fits; beyond, look-ups by length
# are cheaper.
_MOST_TRIED: Final = 32


class NameRule(NamedTuple):
    """A rule about names, and its rank."""

    rank: int
    name: Name


def rank_of(place: int, *, negated: bool) -> int:
    """The rank of the rule at `place`, from 0, of its file."""
    return 2 * place + negated


def says_ignored(rank: int) -> bool:
    """The verdict of a rule that matched, by its rank."""
    return not rank & 1


class NameTable:
    """Rules about names, compiled. An empty table is false."""

    __slots__ = (
        "_every",
        "_extensions",
        "_head_lengths",
        "_heads",
        "_heads_tried",
        "_literals",
        "_machines",
        "_tail_lengths",
        "_tails",
        "_tails_tried",
    )

    def __init__(self, rules: Iterable[NameRule]) -> None:
        ordered = sorted(rules, key=lambda rule: rule.rank)
        self._every = max((rank for rank, name in ordered if _is_every(name)), default=NO_RULE)
        self._literals: dict[bytes, int] = {}
        self._extensions: dict[bytes, int] = {}  # endings with one dot, their first byte
        self._tails: dict[bytes, int] = {}  # other endings
        self._heads: dict[bytes, int] = {}
        machines: list[tuple[int, NameMachine]] = []
        for rank, name in ordered:
            # What a later `*` decides never comes to its own rule.
            if rank > self._every and not self._look_up(rank, name):
                machines.append((rank, NameMachine(name)))
        self._machines = tuple(reversed(machines))
        self._tail_lengths = _lengths(self._tails)
        self._head_lengths = _lengths(self._heads)
        self._tails_tried = _tried(self._tails)
        self._heads_tried = _tried(self._heads)

    def _look_up(self, rank: int, name: Name) -> bool:
        """Puts the rule where it can be looked up, if it has a shape for that. Called in the order of ranks."""
        if not name.stars <= {0, len(name.tokens)} or len(name.stars) > 1:
            return False
        literals = spellings(name.tokens)
        if literals is None:
            return False
        for literal in literals:
            self._shelf(name, literal)[literal] = rank
        return True

    def _shelf(self, name: Name, literal: bytes) -> dict[bytes, int]:
        if not name.stars:
            return self._literals
        if 0 not in name.stars:
            return self._heads
        return self._extensions if literal.rfind(b".") == 0 else self._tails

    def __bool__(self) -> bool:
        shelves = self._literals or self._extensions or self._tails or self._heads or self._machines
        return bool(shelves) or self._every != NO_RULE

    def last(self, name: bytes) -> int:
        """The rank of the last rule that matches `name`, or `NO_RULE`."""
        found = max(
            self._every,
            self._literals.get(name, NO_RULE),
            self._extensions.get(name[name.rfind(b".") :], NO_RULE),
        )
        if self._tails and name.endswith(self._tails_tried):
            found = max(found, self._last_tail(name))
        if self._heads and name.startswith(self._heads_tried):
            found = max(found, self._last_head(name))
        for rank, machine in self._machines:
            if rank < found:
                break
            if machine.matches(name):
                return rank
        return found

    def last_of_each(self, names: Collection[bytes]) -> dict[bytes, int]:
        """As `last`, for many names at once: those that a rule matches, and its rank.

        One pass a kind of rule, so that a name costs a few tens of nanoseconds in each.
        """
        found = dict.fromkeys(names, self._every) if self._every != NO_RULE else {}
        if self._literals:
            for name in self._literals.keys() & names:
                found[name] = self._literals[name]
        if self._extensions:
            self._raise_by_extension(names, found)
        if self._tails:
            tried = self._tails_tried
            for name in [name for name in names if name.endswith(tried)]:
                _raise(found, name, self._last_tail(name))
        if self._heads:
            tried = self._heads_tried
            for name in [name for name in names if name.startswith(tried)]:
                _raise(found, name, self._last_head(name))
        for rank, machine in self._machines:
            for name in machine.among(names):
                _raise(found, name, rank)
        return found

    def _raise_by_extension(self, names: Collection[bytes], found: dict[bytes, int]) -> None:
        extensions = self._extensions
        for name in [name for name in names if name[name.rfind(b".") :] in extensions]:
            _raise(found, name, extensions[name[name.rfind(b".") :]])

    def _last_tail(self, name: bytes) -> int:
        return max(self._tails.get(name[-length:], NO_RULE) for length in self._tail_lengths)

    def _last_head(self, name: bytes) -> int:
        return max(self._heads.get(name[:length], NO_RULE) for length in self._head_lengths)


def _raise(found: dict[bytes, int], name: bytes, rank: int) -> None:
    if rank > found.get(name, NO_RULE):
        found[name] = rank


def _is_every(name: Name) -> bool:
    return not name.tokens and bool(name.stars)


def _lengths(ends: dict[bytes, int]) -> tuple[int, ...]:
    return tuple(sorted({len(end) for end in ends}))


def _tried(ends: dict[bytes, int]) -> tuple[bytes, ...]:
    return tuple(ends) if len(ends) <= _MOST_TRIED else (b"",)
