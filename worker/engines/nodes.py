"""The planner's own form of a pattern: characters, sequences, choices, repeats and places, nothing else.

Invariants: nodes are immutable; a node that can match nothing at all is always `NEVER`, so emptiness of a language is
one comparison; `size` estimates the linear engine's instructions and is known at once, shared parts included. Made
through `chars`, `seq`, `alt`, `repeat` only. Knows neither `re`'s tree nor RE2's syntax.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from .codepoints import Ranges, contains, union


class Place(Enum):
    """Where a match may stand without taking a character; the value is RE2's spelling."""

    LINE_START = "(?m:^)"
    LINE_END = "(?m:$)"
    TEXT_START = r"\A"
    TEXT_END = r"\z"
    # ASCII words only, in RE2 as in Python's (?a).
    BOUNDARY = r"\b"
    NO_BOUNDARY = r"\B"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges
    size: int


@dataclass(frozen=True, slots=True)
class At:
    """A place."""

    place: Place
    size: int = 1


@dataclass(frozen=True, slots=True)
class Seq:
    """One after the other; empty: the empty text."""

    parts: tuple[Node, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Alt:
    """Any of them, the earlier preferred."""

    options: tuple[Node, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` times (None: no bound), the most or (`lazy`) the fewest preferred."""

    body: Node
    low: int
    high: int | None
    lazy: bool
    size: int


Node = Chars | At | Seq | Alt | Repeat

NEVER: Final = Chars((), 0)
EMPTY: Final = Seq((), 0)


def chars(ranges: Ranges) -> Node:
    """One character of `ranges`; the empty set is NEVER."""
    if not ranges:
        return NEVER
    # RE2 makes about two instructions of a range of several bytes (measured: 1.8 for `\w`), ten if it is alone.
    wide = sum(1 for _, high in ranges if high > 0x7F)
    return Chars(ranges, len(ranges) + wide + (8 if wide else 0))


def seq(parts: Iterable[Node]) -> Node:
    """The parts one after the other; NEVER if any is."""
    flat: list[Node] = []
    for part in parts:
        if part == NEVER:
            return NEVER
        if isinstance(part, Seq):
            flat.extend(part.parts)
        else:
            flat.append(part)
    if len(flat) == 1:
        return flat[0]
    return Seq(tuple(flat), sum(part.size for part in flat)) if flat else EMPTY


def alt(options: Iterable[Node]) -> Node:
    """Any of the options that can match at all."""
    kept = [option for option in options if option != NEVER]
    if len(kept) > 1:
        return Alt(tuple(kept), sum(option.size for option in kept) + len(kept))
    return kept[0] if kept else NEVER


def repeat(body: Node, low: int, high: int | None, *, lazy: bool = False) -> Node:
    """`body` repeated; none of a NEVER is the empty text."""
    if high == 0 or body == EMPTY:
        return EMPTY
    if body == NEVER:
        return EMPTY if low == 0 else NEVER
    if low == high == 1:
        return body
    copies = max(low, 1) if high is None else high
    return Repeat(body, low, high, lazy, body.size * copies + copies)


def nullable(node: Node) -> bool:
    """Whether the empty text may match somewhere."""
    match node:
        case Chars():
            return False
        case At():
            return True
        case Seq():
            return all(nullable(part) for part in node.parts)
        case Alt():
            return any(nullable(option) for option in node.options)
        case Repeat():
            return node.low == 0 or nullable(node.body)


def first_chars(node: Node) -> Ranges | None:
    """Every character a match may begin with; None if it may be empty."""
    return _border(node, first=True)


def last_chars(node: Node) -> Ranges | None:
    """Every character a match may end with; None if it may be empty."""
    return _border(node, first=False)


def _border(node: Node, *, first: bool) -> Ranges | None:
    match node:
        case Chars():
            return node.ranges
        case At():
            return None
        case Alt():
            borders = [_border(option, first=first) for option in node.options]
            known = [border for border in borders if border is not None]
            return union(*known) if len(known) == len(borders) else None
        case Repeat():
            return None if node.low == 0 else _border(node.body, first=first)
        case Seq():
            return _sequence_border(node.parts if first else node.parts[::-1], first=first)


def _sequence_border(parts: tuple[Node, ...], *, first: bool) -> Ranges | None:
    found: list[Ranges] = []
    for part in parts:
        if isinstance(part, At):
            continue
        border = _border(part, first=first)
        if border is not None:
            return union(*found, border)
        possible = _possible(part)
        if possible is None:
            return None
        found.append(possible)
    return None


def _possible(part: Node) -> Ranges | None:
    """The border characters of a part that may also be empty, for the plain case of an optional set."""
    if isinstance(part, Repeat) and isinstance(part.body, Chars):
        return part.body.ranges
    return None


def repeats_emptiness(node: Node) -> bool:
    """Whether a repeat's body may be empty: there RE2 and `re` agree that there is a match, not always on its end."""
    match node:
        case Chars() | At():
            return False
        case Seq():
            return any(repeats_emptiness(part) for part in node.parts)
        case Alt():
            return any(repeats_emptiness(option) for option in node.options)
        case Repeat():
            # One optional body is a choice, not a loop.
            loops = node.high is None or node.high > 1
            return (loops and nullable(node.body)) or repeats_emptiness(node.body)


def places(node: Node) -> frozenset[Place]:
    """Every place that is named anywhere in it."""
    match node:
        case Chars():
            return frozenset()
        case At():
            return frozenset((node.place,))
        case Seq():
            return frozenset().union(*(places(part) for part in node.parts))
        case Alt():
            return frozenset().union(*(places(option) for option in node.options))
        case Repeat():
            return places(node.body)


def takes(node: Node, point: int) -> bool:
    """Whether a match may hold this character."""
    match node:
        case Chars():
            return contains(node.ranges, point)
        case At():
            return False
        case Seq():
            return any(takes(part, point) for part in node.parts)
        case Alt():
            return any(takes(option, point) for option in node.options)
        case Repeat():
            return takes(node.body, point)
