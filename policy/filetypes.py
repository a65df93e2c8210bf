"""The file types that a grep may ask for by name: ripgrep's (contract 4).

Invariants: every name that ripgrep 15.2 takes is taken here and stands for the same names of files, matched in
their own case; `all` stands for every type at once. A refusal offers near names.

Leaves to others: the table (`filetypes_table`), and what a filter by glob adds to a type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import Final

from .errors import shown
from .filetypes_table import TYPES
from .glob_names import NameTest, keep_case, name_test
from .glob_syntax import Name, Wild, read_glob
from .hints import did_you_mean, near_names

ALL: Final = "all"
"""Taken as a type's name, though it is none: what any type takes."""

NAMES: Final[tuple[str, ...]] = tuple(TYPES)
"""Every type's name, sorted; `all` is not among them."""

# What people call a language whose type has another name, where neither spelling nor extension leads there.
_OTHER_WORDS: Final = MappingProxyType(
    {
        "bash": "sh",
        "c#": "cs",
        "c++": "cpp",
        "cplusplus": "cpp",
        "dockerfile": "docker",
        "f#": "fsharp",
        "golang": "go",
        "javascript": "js",
        "latex": "tex",
        "makefile": "make",
        "node": "js",
        "objective-c": "objc",
        "powershell": "ps",
        "react": "js",
        "shell": "sh",
        "terraform": "tf",
        "text": "txt",
    }
)

_MOST_NEAR: Final = 3
_LONGEST_EXTENSION: Final = 20  # characters; the table's longest has 17


class UnknownType(ValueError):
    """There is no file type of this name.

    `near` holds at most three legal names that may have been meant, the likeliest first; `hint` offers them,
    or is None.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no file type {shown(name)}.")
        self.near = tuple(islice(_near(name), _MOST_NEAR))
        self.hint = did_you_mean(self.near)


def globs_of(name: str) -> tuple[str, ...]:
    """The globs of the names that a type stands for, sorted, none with a slash. Raises `UnknownType`."""
    if name == ALL:
        return tuple(sorted({glob for globs in TYPES.values() for glob in globs.split()}))
    if name not in TYPES:
        raise UnknownType(name)
    return tuple(TYPES[name].split())


def name_matcher(types: Sequence[str]) -> NameTest:
    """A test for the names of files that one of `types` stands for; without types, it takes none.

    Faster than the globs one by one, and closer to ripgrep: no glob here also matches the name that it
    spells, which for `*.[ch]` would be a file with brackets. Raises `UnknownType`.
    """
    globs = {glob for name in types for glob in globs_of(name)}
    return name_test([name for glob in sorted(globs) for name in _names(glob)], keep_case)


def _names(glob: str) -> Iterator[Name]:
    """The component patterns that a glob of the table stands for."""
    reading = read_glob(glob)
    spelt = None if reading.literal is None else tuple(reading.literal[-1])
    for chain in reading.chains:
        name = chain[-1]
        if not isinstance(name, Wild) and name != spelt:
            yield name


def _near(name: str) -> Iterator[str]:
    """Legal names near `name`: in other case, by another word for it, by extension; else by spelling."""
    asked = name.casefold().strip().lstrip("*.") if len(name) <= 60 else ""
    if not asked:
        return
    found = [candidate for candidate in (asked, _OTHER_WORDS.get(asked, "")) if candidate in TYPES]
    if len(asked) <= _LONGEST_EXTENSION and "/" not in asked:
        takers = [candidate for candidate, takes in _matchers() if takes(f"x.{asked}")]
        found += sorted(takers, key=lambda taker: (len(taker), taker))
    yield from dict.fromkeys(found) if found else near_names(asked, NAMES)


@cache
def _matchers() -> tuple[tuple[str, NameTest], ...]:
    # 20 ms for all: paid once, by the first refusal.
    return tuple((name, name_matcher([name])) for name in NAMES)
