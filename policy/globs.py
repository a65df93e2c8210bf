"""Matches paths against globs, on hostile patterns and hostile names, in time that both sides bound.

The rules (contract 3):

* A pattern without `/` matches the name at any depth; one with `/` matches the whole path from the start
  folder. A leading `./` is such a slash: `./*.py` finds only what lies in the start folder itself.
* `**` as a whole component spans folders, also none; elsewhere it is `*`. `src/**` is all below src, not src.
* `*`, `?`, `[...]`, `[!...]`, `[^...]` stay within a name; `{a,b}` may hold `/`; a backslash escapes.
* A leading dot is nothing special. A slash at the end is dropped: `x/` is `x`, file or folder.
* A pattern with `[` or `{` also matches the path that it spells: `app/[id]/page.tsx`.
* An undecodable byte arrives as one surrogate character, which `?` matches.

Invariants:

* No backtracking: folders are matched as `glob_names` matches characters, with `**` as the star.
* The common shapes are matched without the machine, and exactly as the machine would.
* A compiled glob never changes.

The text of a pattern is left to `glob_syntax`, a single name to `glob_names`, the start folder to the caller.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from .glob_names import Fold, NameTest, fold_case, keep_case, lay_out, name_test
from .glob_syntax import (
    Chain,
    GlobRefused,
    Name,
    Wild,
    dotdot_refusal,
    home_refusal,
    literal_text,
    read_glob,
    split_components,
)

__all__ = ["Glob", "GlobRefused", "GlobSet", "compile_filter", "compile_glob", "rebase"]

Path: TypeAlias = tuple[str, ...]
# All names that one component may be: the alternatives of its braces.
NameSet: TypeAlias = frozenset[Name]

# More chains than this go through one machine together instead of one after the other.
MAX_QUICK_PATHS: Final = 4


@dataclass(frozen=True, slots=True)
class Glob:
    """One compiled pattern. Paths are components below the start folder; `()`, the start, never matches.

    `literal_prefix`: components that every match begins with (the whole path if nothing is magic): a walk may
    start there. Without regard to case it ends before the first cased letter: spelling on disk may differ.
    `literal_alternative`: the path that a pattern with `[` or `{` spells, if it means more than that. It
    matches, too, as if nothing in it were magic; so without a `/` it is a name at any depth.
    """

    pattern: str
    case_sensitive: bool
    negated: bool
    literal_prefix: Path = field(compare=False)
    literal_alternative: Path | None = field(compare=False)
    _program: _Program = field(compare=False, repr=False)

    def matches(self, path: Path) -> bool:
        """True if the pattern matches this path. `negated` does not turn the answer round."""
        return self._program.matches(path)

    def may_match_below(self, folder: Path) -> bool:
        """False only if no path inside the folder can match, at any depth."""
        return self._program.may_match_below(folder)

    def covers(self, folder: Path) -> bool:
        """True only if every path inside the folder matches, as with `vendor/**` for vendor."""
        return self._program.covers(folder)


@dataclass(frozen=True, slots=True)
class GlobSet:
    """Includes and excludes of one filter. An excluded folder takes along all that is in it."""

    includes: tuple[Glob, ...]
    excludes: tuple[Glob, ...]

    def accepts(self, path: Path) -> bool:
        """True if an include matches, or there is none, and neither path nor a folder above is excluded."""
        if self.includes and not any(glob.matches(path) for glob in self.includes):
            return False
        return not self._is_excluded(path)

    def may_accept_below(self, folder: Path) -> bool:
        """False only if nothing inside the folder can be accepted."""
        if self.excludes_folder(folder):
            return False
        return not self.includes or any(glob.may_match_below(folder) for glob in self.includes)

    def excludes_folder(self, folder: Path) -> bool:
        """True if an exclude takes out all that is inside: `!vendor` and `!vendor/**` both do for vendor."""
        return self._is_excluded(folder) or any(glob.covers(folder) for glob in self.excludes)

    def _is_excluded(self, path: Path) -> bool:
        if not self.excludes:
            return False
        above = [path[:depth] for depth in range(len(path), 0, -1)]
        return any(glob.matches(part) for glob in self.excludes for part in above)


def compile_glob(pattern: str, *, case_sensitive: bool = True) -> Glob:
    """Compiles one pattern; a leading `!` is an ordinary character.

    Raises GlobRefused with code empty, too_long, absolute, home, dotdot or too_many_alternatives.
    """
    return _compile(pattern, pattern, case_sensitive, negated=False)


def compile_filter(patterns: Sequence[str], case_sensitive: bool = True) -> GlobSet:
    """Compiles a filter; a leading `!` makes a pattern an exclude, a leading `\\!` is that character.

    The order of the patterns does not count: an exclude wins. Raises GlobRefused as compile_glob does.
    """
    includes: list[Glob] = []
    excludes: list[Glob] = []
    for text in patterns:
        glob = _compile(text, text.removeprefix("!"), case_sensitive, negated=text.startswith("!"))
        (excludes if glob.negated else includes).append(glob)
    return GlobSet(tuple(includes), tuple(excludes))


def rebase(pattern: str, start_virtual_path: str) -> str:
    """An absolute pattern below the start path, as one from the start path; a relative one as it is.

    The characters of the start stand for themselves. The result begins with `./`, so it stays anchored. Of an
    exclude in a filter, pass what follows the `!`.
    Raises GlobRefused: absolute (elsewhere, or with magic before the start ends), home, dotdot, empty (the
    start itself).
    """
    if pattern.startswith("~"):
        raise home_refusal()
    if not pattern.startswith("/"):
        return pattern
    components = split_components(pattern)
    if ".." in components:
        raise dotdot_refusal()
    start = split_components(start_virtual_path)
    if pattern.startswith("//") or not _begins_with(components, start):
        raise GlobRefused(
            "absolute",
            f"The glob is an absolute path outside of {start_virtual_path}. "
            "Write it from there, without a leading slash.",
        )
    if len(components) == len(start):
        raise GlobRefused("empty", f"The glob names {start_virtual_path} itself. Add /** for all in it.")
    return "./" + "/".join(components[len(start) :])


def _begins_with(components: Sequence[str], start: Sequence[str]) -> bool:
    if len(components) < len(start):
        return False
    return all(part in (name, _escaped(name)) for part, name in zip(components, start, strict=False))


def _escaped(name: str) -> str:
    return "".join("\\" + char if char in "\\*?[]{}" else char for char in name)


def _compile(text: str, body: str, case_sensitive: bool, *, negated: bool) -> Glob:
    reading = read_glob(body)
    fold = keep_case if case_sensitive else fold_case
    return Glob(
        pattern=text,
        case_sensitive=case_sensitive,
        negated=negated,
        literal_prefix=_common_prefix([_literal_head(chain, case_sensitive) for chain in reading.chains]),
        literal_alternative=reading.literal,
        _program=_program(merge_chains(reading.chains), fold),
    )


def _literal_head(chain: Chain, case_sensitive: bool) -> Path:
    head: list[str] = []
    for link in chain:
        text = None if isinstance(link, Wild) else literal_text(link)
        if text is None or not (case_sensitive or _is_caseless(text)):
            break
        head.append(text)
    return tuple(head)


def _is_caseless(text: str) -> bool:
    # No other character folds to one without upper and lower case: a test holds that for all of Unicode.
    return all(char.lower() == char.upper() for char in text)


def _common_prefix(heads: Sequence[Path]) -> Path:
    # Under any order, what the smallest and the greatest share, all share.
    low, high = min(heads), max(heads)
    shared = 0
    while shared < len(low) and low[shared] == high[shared]:
        shared += 1
    return low[:shared]


# As a chain, with all names that a component may be taken together.
MergedChain: TypeAlias = tuple[NameSet | Wild, ...]


def merge_chains(chains: Iterable[Chain]) -> list[MergedChain]:
    """Chains that differ in one component become one chain: `*.{ts,tsx}` is one test and not two paths."""
    merged: list[MergedChain] = [
        tuple(link if isinstance(link, Wild) else frozenset((link,)) for link in chain) for chain in chains
    ]
    for position in range(max(map(len, merged)) - 1, -1, -1):
        merged = _merge_at(position, merged)
    return merged


def _merge_at(position: int, chains: Sequence[MergedChain]) -> list[MergedChain]:
    unions: dict[Hashable, MergedChain] = {}
    for chain in chains:
        link = chain[position] if position < len(chain) else Wild.SPAN
        if isinstance(link, Wild):
            unions[chain] = chain
            continue
        before, after = chain[:position], chain[position + 1 :]
        twin = unions.get((before, after))
        other = twin[position] if twin else frozenset[Name]()
        unions[before, after] = (*before, link.union(other if isinstance(other, frozenset) else ()), *after)
    return list(unions.values())


class _Program(Protocol):
    """What the methods of the same name of Glob ask; see there."""

    def matches(self, path: Path) -> bool: ...
    def may_match_below(self, folder: Path) -> bool: ...
    def covers(self, folder: Path) -> bool: ...


def _program(chains: Sequence[MergedChain], fold: Fold) -> _Program:
    if len(chains) > MAX_QUICK_PATHS or not all(QuickPath.fits(chain) for chain in chains):
        return PathMachine(chains, fold)
    quick = tuple(QuickPath(chain, fold) for chain in chains)
    return quick[0] if len(quick) == 1 else AnyPath(quick)


@dataclass(frozen=True, slots=True)
class AnyPath:
    """A few quick paths, of which one has to match."""

    paths: tuple[QuickPath, ...]

    def matches(self, path: Path) -> bool:
        return any(quick.matches(path) for quick in self.paths)

    def may_match_below(self, folder: Path) -> bool:
        return any(quick.may_match_below(folder) for quick in self.paths)

    def covers(self, folder: Path) -> bool:
        return any(quick.covers(folder) for quick in self.paths)


class QuickPath:
    """A chain with at most one `**`, and that before the last name: `*.py`, `src/**/*.ts`, `docs/*.md`."""

    @staticmethod
    def fits(chain: MergedChain) -> bool:
        return Wild.SPAN not in chain[:-2]

    def __init__(self, chain: MergedChain, fold: Fold) -> None:
        *head, last = (link for link in chain if isinstance(link, frozenset))
        self._spans = Wild.SPAN in chain
        self._head = tuple(name_test(names, fold) for names in head)
        self._last = name_test(last, fold)
        self._takes_all = self._spans and (Wild.STAR,) in last

    def matches(self, path: Path) -> bool:
        above = len(path) - 1
        if above == len(self._head) or (self._spans and above > len(self._head)):
            return self._last(path[-1]) and (not self._head or self._head_fits(path))
        return False

    def may_match_below(self, folder: Path) -> bool:
        return (self._spans or len(folder) <= len(self._head)) and self._head_fits(folder)

    def covers(self, folder: Path) -> bool:
        return self._takes_all and len(folder) >= len(self._head) and self._head_fits(folder)

    def _head_fits(self, path: Path) -> bool:
        # zip ends with the shorter: a folder above the end of the head has to fit as far as it goes.
        return all(test(name) for test, name in zip(self._head, path, strict=False))


class PathMachine:
    """Matches a path against any set of chains, `**` being the star. Names are tested only if they count."""

    def __init__(self, chains: Sequence[MergedChain], fold: Fold) -> None:
        self._layout = lay_out(chains, Wild.SPAN)
        self._tests: list[tuple[NameTest, int]] = []
        self._all_below = 0
        for symbol, bits in self._layout.where.items():
            if isinstance(symbol, frozenset):
                self._tests.append((name_test(symbol, fold), bits))
                if (Wild.STAR,) in symbol:
                    # Where only `**` and a name of any kind remain, all that follows matches.
                    self._all_below |= bits & self._layout.loops & self._layout.ends >> 1

    def matches(self, path: Path) -> bool:
        return bool(self._after(path) & self._layout.ends)

    def may_match_below(self, folder: Path) -> bool:
        return bool(self._after(folder) & ~self._layout.ends)

    def covers(self, folder: Path) -> bool:
        return bool(self._after(folder) & self._all_below)

    def _after(self, path: Path) -> int:
        states = self._layout.start
        for name in path:
            if not states:
                break
            move = 0
            for test, bits in self._tests:
                if states & bits and test(name):
                    move |= bits
            states = (states & move) << 1 | states & self._layout.loops
        return states
