"""The one owner of what is replaced in text before it leaves: host paths become the virtual paths that the
tenant knows (contract 2.7), and secrets that the policy names are redacted.

Paths of entries need no masking: they are virtual from the start. Line text is the file's own, and may spell
a host path.

Invariants: masking comes before the cut; compiled once for a workspace; a longer root wins over one that is
its prefix; a root is masked only on segment boundaries, so `/srv/ws-old` is not touched by `/srv/ws`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ..policy.redaction import Redactor
from ..policy.wire import Line
from .roots import Root

# What follows a root that is spelled out: anything that does not go on with a name.
_BEHIND = r"(?![\w\-]|\.[\w])"
# Before a root of several components anything may stand (`-I/srv/ws/include`). A root of one (`/data`) tells
# little, and would be found in the middle of many other paths.
_BEFORE_SHORT = r"(?<![\w.\-])"

ELLIPSIS = "..."
"""Stands where text of a line was left out; counted among the line's characters."""


class Masked(NamedTuple):
    """Masked text, and where two places of the original now are."""

    text: str
    places: tuple[int, ...]


class Mask:
    """Replaces the roots of one workspace."""

    def __init__(self, roots: Iterable[Root], redactor: Redactor | None = None) -> None:
        spellings = {
            spelling: root.mount.virtual
            for root in roots
            if root.mount.is_mapped
            for spelling in (root.mount.host_path, root.real_path)
        }
        longest_first = sorted(spellings, key=len, reverse=True)
        self._virtual = spellings
        self._pattern = re.compile("|".join(map(_spelled, longest_first))) if spellings else None
        self._redactor = redactor
        self.margin = max(
            len(longest_first[0]) + 2 if spellings else 0, redactor.longest if redactor is not None else 0
        )
        """Characters to look at beyond a cut, so that no root and no secret is seen by half."""

    def apply(self, text: str, *places: int, tally: Counter[str] | None = None) -> Masked:
        """`text` masked and redacted; each of `places`, an index into it, as the index of the same character
        afterwards. `tally` counts what was redacted, by the pattern's name.
        """
        masked = self._masked(text, places)
        if self._redactor is None:
            return masked
        redacted = self._redactor.apply(masked.text, *masked.places)
        if tally is not None:
            tally.update(redacted.count_by_name)
        return Masked(redacted.text, redacted.places)

    def _masked(self, text: str, places: tuple[int, ...]) -> Masked:
        if self._pattern is None:
            return Masked(text, places)
        parts: list[str] = []
        copied, shift = 0, [0] * len(places)
        for found in self._pattern.finditer(text):
            virtual = self._virtual[found[0]]
            parts += [text[copied : found.start()], virtual]
            copied = found.end()
            for index, place in enumerate(places):
                if place >= found.end():
                    shift[index] += len(virtual) - len(found[0])
                elif place > found.start():
                    shift[index] += found.start() - place
        parts.append(text[copied:])
        return Masked(
            "".join(parts), tuple(place + moved for place, moved in zip(places, shift, strict=True))
        )

    def window(self, line: Line, width: int, tally: Counter[str] | None = None) -> str:
        """At most `width` characters of the line, masked, the match inside, with marks where text was left
        out.
        """
        cut_before = line.before > 0
        cut_behind = line.before + len(line.text) < line.length
        # Text nearer than the margin to a shipped edge may hold half a root: it never shows.
        first = self.margin if cut_before else 0
        last = len(line.text) - (self.margin if cut_behind else 0)
        text, (first, last, match) = self.apply(
            line.text, first, max(first, last), line.match_start, tally=tally
        )
        if not cut_before and not cut_behind and len(text) <= width:
            return text
        start = max(first, min(match - width // 4, last - width))
        stop = min(start + width, last)
        return _with_marks(text[start:stop], cut_before or start > 0, cut_behind or stop < len(text), width)


def _with_marks(shown: str, before: bool, behind: bool, width: int) -> str:
    if before:
        shown = (
            ELLIPSIS + shown[max(0, len(shown) + len(ELLIPSIS) - width) :] if not behind else ELLIPSIS + shown
        )
    if behind:
        shown = shown[: width - len(ELLIPSIS)] + ELLIPSIS
    return shown


def _spelled(root: str) -> str:
    before = "" if root.count("/") > 1 else _BEFORE_SHORT
    return before + re.escape(root) + _BEHIND
