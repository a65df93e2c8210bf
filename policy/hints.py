"""Guesses for people and models: what a request that failed or found nothing may have meant (contract 7).

Each is a sentence to stand behind an answer, or None where nothing can be guessed.

Invariants: pure functions of their arguments; every test of a pattern is linear in it and compiles nothing of
the caller's; a guess never changes what is searched, and is only made where it is likely true.

Leaves to others: when to guess, and which names exist for this caller. A name that is denied must not be
offered here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

MOST_NAMES: Final = 5000  # of those given are looked at: difflib compares each with the wanted one
LONGEST_NAME: Final = 255  # characters compared, NAME_MAX: difflib takes time in the product of two lengths

_GLOB_TEXT: Final = re.compile(r"[\w*?./@~,+!\-\[\]{}]+")
# In a regular expression a star needs something to repeat, and two stars are an error.
_GLOB_START: Final = re.compile(r"\*|!\*|[\w./\-]+\*\*")
# `src/*.py` would be any number of slashes and one character more. Not at the very start: `/*` opens comments.
_GLOB_INSIDE: Final = re.compile(r"[\w.\-]/\*(?:\.\w|/)|[\w.\-]/\*\Z")

_REGEX_SIGNS: Final = re.compile(
    r"""
      (?<!\\)\\[wdsbWDSB](?![A-Za-z])   # a class; `C:\dir` is none
    | \\[.(){}+*?|^$\[\]]               # an escaped sign
    | [\w\])]\.[*+]                     # foo.*
    | \A\.[*+]
    | \w\|\w                            # a|b
    | [^\s\[\]]\][+*]                   # [a-z]+
    | \)[+*?]
    | \(\?(?:[:=!<]|[aimsx]+\))
    | \A\^\w                            # ^import
    """,
    re.VERBOSE,
)

_ZERO_REPEAT: Final = re.compile(r"(?<!\\)\{0\}")
# A number in braces behind what no one would repeat is a placeholder: `{1}`, `"{2}"`, `${1}`.
_ODD_REPEAT: Final = re.compile(r"""(?:\A|[\s"'(=:,|>/]|(?<!\\)\$)\{\d{1,3}\}""")

_ESCAPES: Final = re.compile(r"\\(.)", re.DOTALL)


def looks_like_glob(pattern: str) -> str | None:
    """For a grep pattern that is a glob (`*.py`, `src/**/*.ts`, `**/foo`), and that as a regular expression
    is invalid or senseless."""
    if not _GLOB_TEXT.fullmatch(pattern):
        return None
    if not (_GLOB_START.match(pattern) or "/**" in pattern or _GLOB_INSIDE.search(pattern)):
        return None
    return (
        "The pattern looks like a glob, and grep takes a regular expression: "
        "choose files with glob=, or pass literal=True to search for this text."
    )


def looks_like_regex(pattern: str) -> str | None:
    """For a literal search that found nothing, with a text that is written as a regular expression
    (`a|b`, `foo.*bar`, `\\w+`, `^x$`)."""
    if not _REGEX_SIGNS.search(pattern):
        return None
    return (
        "The text looks like a regular expression, and literal=True takes it as it stands: leave literal out."
    )


def escape_braces(pattern: str) -> str | None:
    """For a pattern with a number in braces that is meant as text (`Hello {0}`) and that `re` takes for a
    repetition.

    `interface{}` and `${name}` get None: to Python's `re` such braces are plain text.
    """
    if not (_ZERO_REPEAT.search(pattern) or _ODD_REPEAT.search(pattern)):
        return None
    return (
        "A number in braces repeats what stands before it: "
        r"write \{ for the brace itself, or pass literal=True."
    )


def pattern_needs_multiline(pattern: str) -> str | None:
    """For a pattern that names a line end (`\\n`, or one in the text), where lines are searched one by
    one."""
    named = "\n" in pattern or any(escape[1] == "n" for escape in _ESCAPES.finditer(pattern))
    if not named:
        return None
    return r"Lines are searched one by one, without their ends: pass multiline=True, or leave \n out."


def near_names(wanted: str, names: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """At most `most` of `names` that `wanted` may stand for, the likeliest first.

    First the same name in other case, then names that begin with it (the shortest first), names that
    `difflib` finds alike, and names that it begins with. At most 5000 names are looked at, 255 characters of each;
    names that hold characters no sentence should show are passed over.
    """
    asked = wanted[:LONGEST_NAME].casefold()
    folded = {
        name: name[:LONGEST_NAME].casefold()
        for name in islice(names, MOST_NAMES)
        if name and name != wanted and name.isprintable()
    }
    if not asked:
        return ()
    same = sorted(name for name, fold in folded.items() if fold == asked)
    longer = sorted((len(name), name) for name, fold in folded.items() if fold.startswith(asked))
    shorter = sorted(
        (-len(name), name) for name, fold in folded.items() if len(fold) > 1 and asked.startswith(fold)
    )
    alike = difflib.get_close_matches(asked, dict.fromkeys(folded.values()), n=most)
    spelled = [name for fold in alike for name in sorted(folded) if folded[name] == fold]
    ordered = dict.fromkeys([*same, *(name for _, name in longer), *spelled, *(name for _, name in shorter)])
    return tuple(islice(ordered, most))


def did_you_mean(near: Sequence[str]) -> str | None:
    """The question that offers `near`, or None where there is nothing to offer."""
    if not near:
        return None
    *others, last = near
    return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"
