"""Chooses, for one sort of buffer, the best program that the linear engine takes.

Tried in turn: the exact translation; for text beyond ASCII the same with coarse classes; counted repeats widened.
Each step is a superset of the one before, so candidates confirmed by `re` keep the answer the same. What is left
after that, and a superset that every line matches, is for `re` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .dialect import Reading
from .emit import emit
from .linear import LinearRefused, Match, compile_linear
from .needle import needle
from .nodes import NEVER, At, Node, Place, nullable, places, takes
from .plan import Program
from .translate import Alphabet, Translation, translate

# Estimated instructions. RE2 compiles about two million a second, and a program of a million takes 185 MB of a
# worker's memory whatever its own limit says; this many take under a tenth of either.
_MAX_SIZE: Final = 120_000

_CARRIAGE_RETURN: Final = 0x0D
_STARTS: Final = frozenset((Place.LINE_START, Place.TEXT_START))
_ENDS: Final = frozenset((Place.LINE_END, Place.TEXT_END))


@dataclass(frozen=True, slots=True)
class Planned:
    """A program and what the scanners need to know of it.

    match: the linear search, None for "backtracking" and for a pattern that no such buffer can match.
    never: that latter. nullable: it may match the empty text. spans: its spans are `re`'s. starts: their starts are.
    crosses_lines: a match may hold a newline. sees_returns: a "\\r" before a "\\n" could change the answer.
    needle: bytes that every match holds, where looking for them first pays.
    """

    program: Program
    match: Match | None
    never: bool = False
    nullable: bool = True
    spans: bool = False
    starts: bool = False
    crosses_lines: bool = True
    sees_returns: bool = True
    needle: bytes | None = None


def plan_for(reading: Reading, alphabet: Alphabet) -> Planned:
    """The program for buffers of this alphabet. Raises MemoryError only."""
    refusal = "the linear engine takes no such pattern"
    for found, uncounted in _attempts(reading, alphabet):
        if found is None:
            return _backtracking(("nested too deeply to translate",))
        if found.node == NEVER:
            program = Program("exact", ("no such text can match",), None)
            return Planned(program, None, never=True, nullable=False, sees_returns=False)
        if found.node.size > _MAX_SIZE and not uncounted:
            continue
        try:
            return _compiled(found, uncounted)
        except LinearRefused as refused:
            refusal = str(refused)
        except RecursionError:
            return _backtracking(("nested too deeply to translate",))
    return _backtracking((refusal,))


def is_never(reading: Reading, alphabet: Alphabet) -> bool:
    """Whether no text of this alphabet can match."""
    try:
        return translate(reading.tree, reading.flags, alphabet).node == NEVER
    except RecursionError:
        return False


def _attempts(reading: Reading, alphabet: Alphabet) -> Iterator[tuple[Translation | None, bool]]:
    try:
        found = translate(reading.tree, reading.flags, alphabet)
        if not alphabet.multiline and not found.loosened and _everywhere(found.node):
            found = Translation(At(Place.LINE_START), (), ("matches every line",), start_shifted=False)
        yield found, False
        if not alphabet.ascii_only:
            coarse = Alphabet(ascii_only=False, multiline=alphabet.multiline, coarse=True)
            found = translate(reading.tree, reading.flags, coarse)
            yield found, False
        yield found, True
    except RecursionError:
        yield None, False


def _compiled(found: Translation, uncounted: bool) -> Planned:
    node = found.node
    written = emit(node, uncounted=uncounted)
    reasons = (*found.loosened, *written.loosened)
    if reasons and _everywhere(node):
        return _backtracking((*reasons, "what is left matches every line"))
    match = compile_linear(written.text)
    exact = not reasons
    return Planned(
        Program("exact" if exact else "superset", reasons, written.text),
        match,
        nullable=nullable(node),
        spans=exact and not found.shifted,
        starts=exact and not found.start_shifted,
        crosses_lines=takes(node, 0x0A),
        sees_returns=not exact or _sees_returns(node),
        needle=needle(node),
    )


def _backtracking(reasons: tuple[str, ...]) -> Planned:
    return Planned(Program("backtracking", reasons, None), None)


def _everywhere(node: Node) -> bool:
    """Whether every line has a match: it may be empty, and asks for no more than one end of the line."""
    named = places(node)
    return nullable(node) and (named <= _STARTS or named <= _ENDS)


def _sees_returns(node: Node) -> bool:
    r"""Whether the "\r" of a line end could be matched, or moves a place that is named. `\b` takes "\r" for an end."""
    unmoved = {Place.LINE_START, Place.TEXT_START, Place.BOUNDARY}
    return takes(node, _CARRIAGE_RETURN) or not places(node) <= unmoved
