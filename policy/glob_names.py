"""Matches one name against the alternatives of one component of a glob.

Invariants:

* No backtracking. Alternatives become chains of states, all of them bits of one number; each character of a
  name moves all states at once. So a name costs at most its characters times the machine words that hold the
  states, whatever the stars.
* The common shapes have tests of their own on top of str's methods; they decide exactly as the machine does.
* What a machine remembers about characters is bounded and does not show.

Without regard to case, two characters are the same if their one-character case folding is. A class then lists
a character if it lists it, its folding, or the upper or lower case of either.

Reading a pattern is left to `glob_syntax`, folders to `globs`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from .glob_syntax import CharClass, Name, Wild, literal_text

NameTest: TypeAlias = Callable[[str], bool]
Fold: TypeAlias = Callable[[str], str]

# Characters whose moves one machine remembers. Names rarely use more; a hostile tree may not fill memory.
REMEMBERED_CHARACTERS: Final = 512
# More tests than this by str's methods take longer than one machine for all of them.
MAX_QUICK_NAMES: Final = 8


def keep_case(text: str) -> str:
    """The folding of a case-sensitive match."""
    return text


def fold_case(text: str) -> str:
    """Case folding that keeps the length: a character that folds to several becomes its lower case."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    # Folding never drops a character: the same length means that none became several.
    return folded if len(folded) == len(text) else "".join(map(_fold_char, text))


def _fold_char(char: str) -> str:
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return folded
    return char


def _class_holds(group: CharClass, char: str, fold: Fold) -> bool:
    if fold is keep_case:
        return group.lists(char) is not group.negated
    folded = fold(char)
    cases = {char, folded, char.lower(), char.upper(), folded.upper(), folded.lower()}
    listed = any(len(case) == 1 and group.lists(case) for case in cases)
    listed = listed or any(fold(single) == folded for single in group.singles)
    return listed is not group.negated


@dataclass(frozen=True, slots=True)
class Layout:
    """Chains of symbols as bits: a state is how many symbols of its chain are matched. A chain's bits adjoin.

    A star is no symbol: it makes the state before it a loop, which any input leaves as it is. `where` has,
    for each symbol, the states that it leads on from; `ends` the states at which a chain is matched.
    """

    start: int
    loops: int
    ends: int
    where: dict[Hashable, int]


def lay_out(chains: Iterable[Sequence[Hashable]], star: Wild) -> Layout:
    start = loops = ends = 0
    where: dict[Hashable, int] = {}
    bit = 1
    for chain in chains:
        start |= bit
        for symbol in chain:
            if symbol is star:
                loops |= bit
            else:
                where[symbol] = where.get(symbol, 0) | bit
                bit <<= 1
        ends |= bit
        bit <<= 1
    return Layout(start, loops, ends, where)


class NameMachine:
    """Matches a name against any set of component patterns."""

    def __init__(self, names: Collection[Name], fold: Fold) -> None:
        folded = [tuple(fold(piece) if isinstance(piece, str) else piece for piece in name) for name in names]
        self._layout = lay_out(folded, Wild.STAR)
        self._fold = fold
        where = self._layout.where.items()
        self._classes = [(symbol, bits) for symbol, bits in where if isinstance(symbol, CharClass)]
        self._moves: dict[str, int] = {}

    def __call__(self, name: str) -> bool:
        states = self._layout.start
        loops = self._layout.loops
        moves = self._moves
        for char in name:
            move = moves.get(char)
            if move is None:
                move = self._move(char)
            states = (states & move) << 1 | states & loops
            if not states:
                return False
        return bool(states & self._layout.ends)

    def _move(self, char: str) -> int:
        """The states that this character leads on from."""
        where = self._layout.where
        move = where.get(Wild.ANY, 0) | where.get(self._fold(char), 0)
        for group, bits in self._classes:
            if _class_holds(group, char, self._fold):
                move |= bits
        if len(self._moves) >= REMEMBERED_CHARACTERS:
            self._moves.clear()
        self._moves[char] = move
        return move


def name_test(names: Collection[Name], fold: Fold) -> NameTest:
    """A test for a component: by str's methods where a name is text around few stars, else by the machine."""
    exact: set[str] = set()
    suffixes: set[str] = set()
    others: dict[Name, NameTest] = {}
    slow: list[Name] = []
    for name in names:
        match _between_stars(name, fold):
            case (text,):
                exact.add(text)
            case ("", ending):
                suffixes.add(ending)
            case (beginning, ending):
                others[name] = _begins_and_ends(beginning, ending)
            case ("", part, ""):
                others[name] = _holds(part)
            case _:
                slow.append(name)
    if len(others) > MAX_QUICK_NAMES:
        slow += others
        others = {}
    quick = _by_methods(exact, suffixes, list(others.values()))
    if fold is not keep_case:
        quick = [_folded(test, fold) for test in quick]
    return _any_of([*quick, NameMachine(slow, fold)] if slow else quick)


def _between_stars(name: Name, fold: Fold) -> tuple[str, ...] | None:
    """The texts before, between and behind the stars of a name; None if it holds other magic."""
    cuts = [-1, *(at for at, piece in enumerate(name) if piece is Wild.STAR), len(name)]
    texts = [literal_text(name[low + 1 : high]) for low, high in pairwise(cuts)]
    parts = tuple(fold(text) for text in texts if text is not None)
    return parts if len(parts) == len(texts) else None


def _by_methods(exact: Set[str], suffixes: Set[str], others: Sequence[NameTest]) -> list[NameTest]:
    # The empty suffix is `*`, which takes every name.
    if "" in suffixes:
        return [lambda name: True]
    tests: list[NameTest] = []
    endings = tuple(suffixes)
    if endings:
        tests.append(lambda name: name.endswith(endings))
    if exact:
        tests.append(exact.__contains__)
    return [*tests, *others]


def _any_of(tests: Sequence[NameTest]) -> NameTest:
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:  # `*.{ts,tsx}`: the endings, and the name that is spelt so
        first, second = tests
        return lambda name: first(name) or second(name)
    return lambda name: any(test(name) for test in tests)


def _begins_and_ends(beginning: str, ending: str) -> NameTest:
    least = len(beginning) + len(ending)
    return lambda name: len(name) >= least and name.startswith(beginning) and name.endswith(ending)


def _holds(part: str) -> NameTest:
    return lambda name: part in name


def _folded(test: NameTest, fold: Fold) -> NameTest:
    return lambda name: test(fold(name))
