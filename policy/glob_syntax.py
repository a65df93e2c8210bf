"""Reads the text of a glob: from characters to the component patterns that it stands for.

Invariants:

* Reading costs time linear in the pattern, and expansion is counted before it is done: no pattern makes
  more than MAX_ALTERNATIVES alternatives or MAX_EXPANDED pieces of them, whatever its braces say.
* Nothing here recurses, so nesting cannot exhaust the stack.
* What comes out has no `/`, no `.` and no `..` component, no leading `~`, and is never absolute.
* A pattern means what the set of its brace expansions means, each with its own slash rule:
  `{*.py,docs/*.md}` is `*.py` at any depth, and `docs/*.md` from the start folder.

Choices where tools differ:

* A class is read before braces, as ripgrep does: `{[,],x}` offers `[,]` and `x`.
* A brace group needs a comma, as in bash: `{}`, `{a}` and braces without a partner are plain text. Braces pair
  from the inside out, so `{{a,b}` is `{a` or `{b`.
* `[z-a]` holds nothing; `[[:alpha:]]` and `{1..9}` have no special meaning.
* A backslash escapes inside a class, too; one at the very end is plain text.

Matching is left to `globs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

MAX_CHARACTERS: Final = 4096
MAX_COMPONENTS: Final = 256
MAX_ALTERNATIVES: Final = 1000
# Pieces of all alternatives together. Without it a thousand alternatives of a thousand characters would pass.
MAX_EXPANDED: Final = 32_768


class GlobRefused(ValueError):
    """A pattern that is not taken. `code` is stable; `message` is a sentence that says what to do next."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Wild(Enum):
    """What a piece of a pattern may stand for, other than a character or a class."""

    ANY = "?"
    STAR = "*"
    SPAN = "**"


@dataclass(frozen=True, slots=True)
class CharClass:
    """`[...]`: single characters and ranges. A range with its ends the wrong way round holds nothing."""

    singles: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def lists(self, char: str) -> bool:
        """True if the character is listed, before any negation."""
        return char in self.singles or any(low <= char <= high for low, high in self.ranges)


# A literal character is a str of length one; while reading, an escaped one is its two characters of text.
Piece: TypeAlias = str | CharClass | Wild
Name: TypeAlias = tuple[Piece, ...]
Chain: TypeAlias = tuple[Name | Wild, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A pattern, read: what it may match, and the path that it spells if none of it is magic.

    Each chain is matched against a whole path below the start folder. `Wild.SPAN` in it is zero or more
    folders and is never last.
    """

    chains: tuple[Chain, ...]
    literal: tuple[str, ...] | None


def read_glob(pattern: str) -> Reading:
    """Reads a pattern (contract 3).

    Raises GlobRefused: empty, too_long, absolute, home, dotdot, too_many_alternatives.
    """
    if len(pattern) > MAX_CHARACTERS:
        message = f"The glob is longer than {MAX_CHARACTERS} characters. Shorten it or search in parts."
        raise GlobRefused("too_long", message)
    chains: dict[Chain, None] = {}
    for alternative in _expand(_pieces(pattern)):
        chain = _chain(alternative)
        if chain:
            chains[chain] = None
    if not chains:
        raise GlobRefused("empty", "The glob names nothing. Write ** for all, or *.py for one kind of file.")
    literal = _literal_reading(pattern, chains)
    if literal is not None:
        chains[literal] = None
    return Reading(tuple(chains), None if literal is None else _spelt(literal))


def literal_text(name: Name) -> str | None:
    """The one name that a component stands for, or None if it holds magic."""
    if all(isinstance(piece, str) for piece in name):
        return "".join(piece for piece in name if isinstance(piece, str))
    return None


def split_components(text: str) -> tuple[str, ...]:
    """The components of a path's or pattern's raw text, without empty ones and `.`."""
    return tuple(part for part in text.split("/") if part not in ("", "."))


def home_refusal() -> GlobRefused:
    return GlobRefused(
        "home",
        "A glob cannot start with ~: there is no home folder here. Give the path itself, "
        "or write \\~ if a name really begins with that character.",
    )


def dotdot_refusal() -> GlobRefused:
    return GlobRefused("dotdot", "A glob cannot hold '..'. Make the folder to search the start path instead.")


# --- characters to pieces


def _pieces(pattern: str) -> list[Piece]:
    """Characters, escapes (two characters of text), classes and wildcards, in the order of the text."""
    pieces: list[Piece] = []
    at = 0
    # Up to here no class can close. Without this memory each `[` of `[[[[...` would search to the end again.
    no_class_before = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "[" and at >= no_class_before:
            found, stop = _class_at(pattern, at)
            if found is None:
                no_class_before = stop
            else:
                pieces.append(found)
                at = stop
                continue
        if char == "\\" and at + 1 < len(pattern):
            # A name cannot hold a slash, so an escaped one still separates.
            pieces.append("/" if pattern[at + 1] == "/" else pattern[at : at + 2])
            at += 2
            continue
        pieces.append(Wild.STAR if char == "*" else Wild.ANY if char == "?" else char)
        at += 1
    return pieces


def _class_at(pattern: str, start: int) -> tuple[CharClass | None, int]:
    """The class that opens at `start` and the index behind it; or None and how far there is no end of it."""
    at = start + 1
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    first = at
    singles: set[str] = set()
    ranges: list[tuple[str, str]] = []
    while True:
        if pattern[at : at + 1] == "]" and at > first:
            return CharClass(frozenset(singles), tuple(ranges), negated), at + 1
        low, after = _member_at(pattern, at)
        if low is None:
            return None, after
        at = after
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, after = _member_at(pattern, at + 1)
            if high is None:
                return None, after
            ranges.append((low, high))
            at = after
        else:
            singles.add(low)


def _member_at(pattern: str, at: int) -> tuple[str | None, int]:
    """One character of a class, its escape undone, and the index behind it; None where the component ends."""
    if pattern[at : at + 1] == "\\" and at + 1 < len(pattern):
        at += 1
    char = pattern[at : at + 1]
    return (None, at) if char in ("", "/") else (char, at + 1)


# --- braces


@dataclass(slots=True)
class _Level:
    """One open brace group (or the whole pattern): finished alternatives, and the one being read."""

    done: list[Name] = field(default_factory=list)
    partial: list[Name] = field(default_factory=lambda: [()])
    run: list[Piece] = field(default_factory=list)

    def multiply(self, choices: Sequence[Name]) -> None:
        self.partial = _cross(_cross(self.partial, [tuple(self.run)]), choices)
        self.run = []

    def end_alternative(self) -> None:
        self.multiply([()])
        self.done += self.partial
        self.partial = [()]
        if len(self.done) > MAX_ALTERNATIVES:
            raise _too_many()


def _expand(pieces: Sequence[Piece]) -> list[Name]:
    """All alternatives of the pattern, none of its braces left."""
    structural = _structural_braces(pieces)
    levels = [_Level()]
    for index, piece in enumerate(pieces):
        if index not in structural:
            levels[-1].run.append(piece)
        elif piece == "{":
            levels.append(_Level())
        elif piece == ",":
            levels[-1].end_alternative()
        else:
            levels[-1].end_alternative()
            group = levels.pop()
            levels[-1].multiply(group.done)
    levels[0].end_alternative()
    return levels[0].done


def _structural_braces(pieces: Sequence[Piece]) -> set[int]:
    """Indexes of the braces and commas that form groups: closed, and with a comma of their own."""
    structural: set[int] = set()
    open_groups: list[list[int]] = []
    for index, piece in enumerate(pieces):
        if piece == "{":
            open_groups.append([index])
        elif piece == "," and open_groups:
            open_groups[-1].append(index)
        elif piece == "}" and open_groups:
            group = open_groups.pop()
            if len(group) > 1:
                structural.update(group, (index,))
    return structural


def _cross(left: Sequence[Name], right: Sequence[Name]) -> list[Name]:
    """Every left with every right; the size is known, and refused, before anything is built."""
    # An empty side is common in deep nesting, which would otherwise copy every alternative at every level.
    if left == [()]:
        return list(right)
    if right == [()]:
        return list(left)
    count = len(left) * len(right)
    size = sum(map(len, left)) * len(right) + sum(map(len, right)) * len(left)
    if count > MAX_ALTERNATIVES or size > MAX_EXPANDED:
        raise _too_many()
    return [first + second for first in left for second in right]


def _too_many() -> GlobRefused:
    return GlobRefused(
        "too_many_alternatives",
        f"The braces of the glob stand for too many patterns (at most {MAX_ALTERNATIVES}, "
        f"and {MAX_EXPANDED} characters in all). Use * or ? in place of some, or search in parts.",
    )


# --- pieces to components


def _chain(alternative: Name) -> Chain:
    """The components to match from the start folder down; () if the alternative names nothing."""
    if alternative[:1] == ("/",):
        message = "The glob is an absolute path outside of what is searched. Write it from the start path."
        raise GlobRefused("absolute", message)
    if alternative[:1] == ("~",):
        raise home_refusal()
    while alternative[-1:] == ("/",):
        alternative = alternative[:-1]
    components = [part for part in _split(alternative) if part not in ((), (".",))]
    if len(components) > MAX_COMPONENTS:
        raise GlobRefused("too_long", f"The glob has more than {MAX_COMPONENTS} components. Use ** for some.")
    chain: list[Name | Wild] = [] if "/" in alternative else [Wild.SPAN]
    for component in components:
        link = _link(component)
        if link is not Wild.SPAN or chain[-1:] != [Wild.SPAN]:
            chain.append(link)
    if not components:
        return ()
    if chain[-1] is Wild.SPAN:
        # `src/**` is everything below src, but not src: whatever the folders between, a name comes last.
        chain.append((Wild.STAR,))
    return tuple(chain)


def _split(alternative: Name) -> Iterator[Name]:
    part: list[Piece] = []
    for piece in alternative:
        if piece == "/":
            yield tuple(part)
            part = []
        else:
            part.append(piece)
    yield tuple(part)


def _link(component: Name) -> Name | Wild:
    if component == (Wild.STAR, Wild.STAR):
        return Wild.SPAN
    name: list[Piece] = []
    for piece in component:
        if piece is not Wild.STAR or name[-1:] != [Wild.STAR]:
            name.append(piece[-1] if isinstance(piece, str) else piece)
    if name == [".", "."]:
        raise dotdot_refusal()
    return tuple(name)


def _literal_reading(pattern: str, chains: dict[Chain, None]) -> Chain | None:
    """The pattern as a plain path, if it has magic: `app/[id]/page.tsx` may be just that.

    A pattern with a backslash was written as a glob, and is none. Nor is one with no wildcards but `*` and
    `?`: these match their own characters anyway.
    """
    if "\\" in pattern or not any(char in pattern for char in "[{"):
        return None
    components = [tuple(part) for part in split_components(pattern)]
    spans = [] if "/" in pattern.rstrip("/") else [Wild.SPAN]
    chain: Chain = (*spans, *components)
    return None if chain in chains else chain


def _spelt(literal: Chain) -> tuple[str, ...]:
    names = (name for name in literal if not isinstance(name, Wild))
    return tuple("".join(piece for piece in name if isinstance(piece, str)) for name in names)
