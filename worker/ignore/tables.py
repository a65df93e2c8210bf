"""Many rules about names in one table: which of them is the last to match a name.

Nearly every rule in real ignore files is a name (`node_modules`), an ending (`*.o`), a beginning (`cmake-*`) or a
few of those (`*.py[cod]`): these are looked up by hashing. The others go through one machine together (`names`).

A walk asks about all names of a folder, and nearly none of them matches. So `last_of_each` sifts them first, one
test a kind of rule and not a rule, and asks `last` about what is left: a tenth of a microsecond a name and test.

Invariants: a table never changes; a rule's rank orders it, the later the higher, and carries its verdict, so that
one comparison finds the last match; the sieve may keep a name too many and never loses one.

Leaves to others: where a rule applies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from .names import NameMachine, ends_of, spellings
from .patterns import Name

NO_RULE: Final = -1

# Beyond, so many tests in a row cost more than `last`.
_MOST_SIFTED: Final = 16


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

    __slots__ = ("_every", "_heads", "_literals", "_machine", "_machine_ranks", "_sieve", "_tails")

    def __init__(self, rules: Iterable[NameRule]) -> None:
        ordered = sorted(rules, key=lambda rule: rule.rank)
        self._every = max((rank for rank, name in ordered if _is_every(name)), default=NO_RULE)
        self._literals: dict[bytes, int] = {}
        self._tails = _Shelf(_after_dot)
        self._heads = _Shelf(_first_byte)
        rest: list[NameRule] = []
        for rule in ordered:
            # What a later `*` decides never comes to its own rule.
            if rule.rank > self._every and not self._put_up(rule):
                rest.append(rule)
        self._machine = NameMachine([rule.name for rule in rest])
        self._machine_ranks = tuple(rule.rank for rule in rest)
        self._sieve = _Sieve(self._literals, self._tails, self._heads, rest, everything=self._every != NO_RULE)

    ...
