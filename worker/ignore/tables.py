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

# So many tests in a row cost as much as what they save.
_MOST_SIFTED: Final = 32


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
        "_dotless_lengths",
        "_every",
        "_head_lengths",
        "_heads",
        "_literals",
        "_machine",
        "_machine_ranks",
        "_needles",
        "_sieve",
        "_tail_lengths",
        "_tails",
    )

    def __init__(self, rules: Iterable[NameRule]) -> None:
        ordered = sorted(rules, key=lambda rule: rule.rank)
        self._every = max((rank for rank, name in ordered if _is_every(name)), default=NO_RULE)
        self._literals: dict[bytes, int] = {}
        self._tails: dict[bytes, int] = {}
        self._heads: dict[bytes, int] = {}
        # What a later `*` decides never comes to its own rule.
        rest = [rule for rule in ordered if rule.rank > self._every and not self._shelve(rule)]
        self._machine = NameMachine([rule.name for rule in rest])
        self._machine_ranks = tuple(rule.rank for rule in rest)
        needles = {ends_of(rule.name).middle for rule in rest}
        self._needles = tuple(needles) if len(needles) <= _MOST_SIFTED else (b"",)
        self._sieve = _Sieve.of(self._literals, self._tails, self._heads, rest, every=self._every)
        # The lengths to try, by a key that a name shares with all endings or beginnings it may have.
        self._head_lengths = _lengths_by_key((head[:1], head) for head in self._heads)
        self._dotless_lengths = _lengths(tail for tail in self._tails if b"." not in tail)
        self._tail_lengths = {
            key: (*lengths, *self._dotless_lengths)
            for key, lengths in _lengths_by_key(
                (extension_of(tail), tail) for tail in self._tails if b"." in tail
            ).items()
        }

    def _shelve(self, rule: NameRule) -> bool:
        """Puts a rule where it can be looked up, if it has a shape for that. To be called in the order of ranks."""
        tokens, stars = rule.name.tokens, rule.name.stars
        if not stars:
            shelf = self._literals
        elif stars == {0}:
            shelf = self._tails
        elif stars == {len(tokens)}:
            shelf = self._heads
        else:
            return False
        literals = spellings(tokens)
        if literals is None:
            return False
        shelf.update(dict.fromkeys(literals, rule.rank))
        return True

    def __bool__(self) -> bool:
        shelves = (self._literals, self._tails, self._heads, self._machine_ranks)
        return self._every != NO_RULE or any(shelves)

    def last(self, name: bytes) -> int:
        """The rank of the last rule that matches `name`, or `NO_RULE`."""
        found = self._literals.get(name, self._every)
        for length in self._tail_lengths.get(name.rpartition(b".")[2], self._dotless_lengths):
            rank = self._tails.get(name[-length:], NO_RULE)
            if rank > found:  # noqa: PLR1730 - max() is a call, and costs three times as much
                found = rank
        for length in self._head_lengths.get(name[:1], ()):
            rank = self._heads.get(name[:length], NO_RULE)
            if rank > found:  # noqa: PLR1730 - max() is a call, and costs three times as much
                found = rank
        for needle in self._needles:
            if needle in name:
                place = self._machine.last(name)
                return found if place < 0 else max(found, self._machine_ranks[place])
        return found

    def last_of_each(self, names: Collection[bytes]) -> dict[bytes, int]:
        """As `last`, for many names at once: those that a rule matches, each with the rank."""
        last = self.last
        return {name: rank for name in self._sieve.sift(names) if (rank := last(name)) != NO_RULE}


class _Sieve(NamedTuple):
    """Tests that every name passes which a table's rules match."""

    literals: dict[bytes, int]
    extensions: frozenset[bytes]
    endings: tuple[bytes, ...]
    beginnings: tuple[bytes, ...]
    needles: tuple[bytes, ...]
    passes_all: bool

    @classmethod
    def of(
        cls,
        literals: dict[bytes, int],
        tails: Iterable[bytes],
        heads: Iterable[bytes],
        rest: Iterable[NameRule],
        *,
        every: int,
    ) -> _Sieve:
        """The sieve of a table with these shelves, and with `rest` in its machine."""
        ends = [ends_of(rule.name) for rule in rest]
        all_tails = [*tails, *(end.tail for end in ends if end.tail)]
        # `.c` is common where `.mod.c` is rare, so the latter is better asked for as it is, if there are few such.
        endings = {tail for tail in all_tails if tail.rfind(b".") != 0}
        if len(endings) > _MOST_SIFTED:
            endings = {tail for tail in endings if b"." not in tail}
        beginnings = {*heads, *(end.head for end in ends if end.head and not end.tail)}
        # The empty needle, of a rule without any literal, lies in every name.
        needles = {end.middle for end in ends if not end.head and not end.tail}
        return cls(
            literals,
            extensions=frozenset(extension_of(tail) for tail in set(all_tails) - endings),
            endings=tuple(endings),
            beginnings=tuple(beginnings),
            needles=tuple(needles),
            passes_all=every != NO_RULE or max(map(len, (endings, beginnings, needles))) > _MOST_SIFTED,
        )

    def sift(self, names: Collection[bytes]) -> Collection[bytes]:
        if self.passes_all:
            return names
        kept = self.literals.keys() & names
        if extensions := self.extensions:
            kept.update([name for name in names if name.rpartition(b".")[2] in extensions])
        if endings := self.endings:
            kept.update([name for name in names if name.endswith(endings)])
        if beginnings := self.beginnings:
            kept.update([name for name in names if name.startswith(beginnings)])
        if needles := self.needles:
            joined = b"\0".join(names)  # no name and no pattern holds a NUL
            for needle in needles:
                if needle in joined:
                    kept.update([name for name in names if needle in name])
        return kept


def extension_of(name: bytes) -> bytes:
    """What follows the last dot; without a dot, all of it."""
    return name.rpartition(b".")[2]


def _is_every(name: Name) -> bool:
    return not name.tokens and bool(name.stars)


def _lengths(literals: Iterable[bytes]) -> tuple[int, ...]:
    return tuple(sorted({len(literal) for literal in literals}))


def _lengths_by_key(keyed: Iterable[tuple[bytes, bytes]]) -> dict[bytes, tuple[int, ...]]:
    lengths: dict[bytes, set[int]] = {}
    for key, literal in keyed:
        lengths.setdefault(key, set()).add(len(literal))
    return {key: tuple(sorted(found)) for key, found in lengths.items()}
