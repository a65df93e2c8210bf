"""Reads a rule's pattern into steps, one a path component, with git's wildmatch as the grammar
(gitignore(5)).

* `*`, `?` and `[...]` stay within a name; a backslash takes the next byte as it is.
* `**` as a whole component spans any number of folders: also none in front of another component, at least one
  name at the end. Elsewhere a run of stars is one star. A step that may lie any number of folders deeper
  `floats`.
* In brackets: `!` or `^` first negates; `]` first, or escaped, is itself; `a-z` is a range, also with escaped
  ends; `[:alpha:]` and its like are ASCII's. No class matches `/`.
* What can match nothing is None: brackets that do not close, an unknown `[:class:]`, a backslash at the very
  end, an empty component.

`foo**/bar` is where versions of git differ: before 2.52 the star run after a literal beginning spanned
folders. Here it is one star, as gitignore(5) always said.

Invariant: the work is linear in the pattern, and so is what comes out.

Leaves to others: `!`, the slash at the end and everything else around a pattern (`lines`), matching (`names`,
`rules`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

Atom: TypeAlias = "int | frozenset[int]"  # one byte of a name: this one, or one of these

_SLASH, _STAR, _QUESTION, _OPEN, _CLOSE, _BACKSLASH, _DASH, _COLON = b"/*?[]\\-:"

ANY_BYTE: Final = frozenset(range(256)) - {_SLASH}


def _bytes_where(text: str) -> frozenset[int]:
    return frozenset(text.encode("ascii"))


_DIGITS: Final = _bytes_where("0123456789")
_LOWER: Final = _bytes_where("abcdefghijklmnopqrstuvwxyz")
_UPPER: Final = _bytes_where("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ALNUM: Final = _DIGITS | _LOWER | _UPPER
_PRINT: Final = frozenset(range(0x20, 0x7F))

_CLASSES: Final = {
    b"alnum": _ALNUM,
    b"alpha": _LOWER | _UPPER,
    b"blank": _bytes_where(" \t"),
    b"cntrl": frozenset({*range(0x20), 0x7F}),
    b"digit": _DIGITS,
    b"graph": _PRINT - {0x20},
    b"lower": _LOWER,
    b"print": _PRINT,
    b"punct": _PRINT - _ALNUM - {0x20},
    b"space": _bytes_where(" \t\n\r"),  # git's own table: without VT and FF
    b"upper": _UPPER,
    b"xdigit": _DIGITS | _bytes_where("abcdefABCDEF"),
}


@dataclass(frozen=True, slots=True)
class Name:
    """A pattern for one name: tokens, and the places (0 to their number) where a star stands."""

    tokens: tuple[Atom, ...]
    stars: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """One component of a path. A floating one may stand any number of folders below where the last one matched."""

    name: Name
    floats: bool = False


_ANY_NAME: Final = Name((), frozenset({0}))


class _MatchesNothing(Exception):
    """The pattern is one that git never matches."""


def read_name(pattern: bytes) -> Name | None:
    """The pattern of one name, `**` being a star; None if it matches nothing. It must hold no `/`."""
    assert b"/" not in pattern
    try:
        name, _ = _read_component(pattern, 0)
    except _MatchesNothing:
        return None
    return name


def read_path(pattern: bytes) -> tuple[Step, ...] | None:
    """The steps of a pattern for paths from the ignore file's folder on; None if it matches nothing.

    A `/` at its start is dropped: it says no more than any other `/`.
    """
    text = pattern.removeprefix(b"/")
    steps: list[Step] = []
    try:
        at, floats = 0, False
        while True:
            beyond = _beyond_globstar(text, at)
            if beyond == len(text):
                return (*steps, Step(_ANY_NAME, floats=True))
            if beyond is not None:
                # An escaped slash takes part in no shortcut of git's: the run then spans at least one folder.
                if text[beyond] == _BACKSLASH:
                    steps.append(Step(_ANY_NAME, floats))
                    beyond += 1
                at, floats = beyond + 1, True
                continue
            name, at = _read_component(text, at)
            steps.append(Step(name, floats))
            if at > len(text):
                return tuple(steps)
            floats = False
    except _MatchesNothing:
        return None


def _beyond_globstar(text: bytes, at: int) -> int | None:
    """Where the run of stars ends that is the whole component at `at`; None if there is no such run."""
    end = at
    while end < len(text) and text[end] == _STAR:
        end += 1
    if end - at < 2:
        return None
    return end if end == len(text) or text.startswith((b"/", b"\\/"), end) else None


def _read_component(text: bytes, at: int) -> tuple[Name, int]:
    """The component at `at`, and where the next one starts: past the end of `text` after the last one."""
    tokens: list[Atom] = []
    stars: set[int] = set()
    end = len(text)
    while at < end:
        byte = text[at]
        if byte == _BACKSLASH:
            at += 1
            if at == end:
                raise _MatchesNothing
            byte = text[at]
            if byte == _SLASH:
                break
            tokens.append(byte)
        elif byte == _SLASH:
            break
        elif byte == _STAR:
            stars.add(len(tokens))
        elif byte == _QUESTION:
            tokens.append(ANY_BYTE)
        elif byte == _OPEN:
            accepted, at = _read_brackets(text, at + 1)
            tokens.append(accepted)
        else:
            tokens.append(byte)
        at += 1
    if not tokens and not stars:
        raise _MatchesNothing
    return Name(tuple(tokens), frozenset(stars)), at + 1


def _read_brackets(text: bytes, at: int) -> tuple[frozenset[int], int]:
    """What the brackets accept whose inside starts at `at`, and where their `]` stands."""
    negated = text[at : at + 1] in (b"!", b"^")
    at += negated
    accepted: set[int] = set()
    close = 0  # the next closing bracket, where a class may end
    low = 0  # what a range may start with: the byte before, or 0 after a range or a class
    first = True
    while first or _byte(text, at) != _CLOSE:
        first = False
        byte = _byte(text, at)
        if byte == _DASH and low and at + 1 < len(text) and text[at + 1] != _CLOSE:
            high, at = _read_member(text, at + 1)
            accepted.update(range(low, high + 1))
            low = 0
        elif byte == _OPEN and text[at + 1 : at + 2] == b":":
            # The same one serves until it is passed: asked for each time, the work would be quadratic.
            if close < at + 2:
                close = text.find(b"]", at + 2)
            if close < 0:
                raise _MatchesNothing
            if close == at + 2 or text[close - 1] != _COLON:
                low = _OPEN  # no class: the bracket is itself
                accepted.add(_OPEN)
            else:
                accepted |= _class_of(text[at + 2 : close - 1])
                low, at = 0, close
        else:
            low, at = _read_member(text, at)
            accepted.add(low)
        at += 1
    return (ANY_BYTE - accepted if negated else frozenset(accepted) & ANY_BYTE), at


def _class_of(name: bytes) -> frozenset[int]:
    if name not in _CLASSES:
        raise _MatchesNothing
    return _CLASSES[name]


def _read_member(text: bytes, at: int) -> tuple[int, int]:
    """The byte that stands in brackets at `at`, escaped or not, and the place of its last byte."""
    byte = _byte(text, at)
    if byte == _BACKSLASH:
        return _byte(text, at + 1), at + 1
    return byte, at


def _byte(text: bytes, at: int) -> int:
    if at >= len(text):
        raise _MatchesNothing
    return text[at]
