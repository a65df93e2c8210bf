"""Which rows of a text stay when it may not grow longer than a number of characters (contract 8).

Invariants: the text is never longer than the bound; an entry's rows stay together or go together, from the
end; the lines around the rows always stay, in full where they take at most half of the room, else in their
brief form, which drops notices, hints and the ledger of skips, and keeps state, sums, truncation and advice.

How the lines read is the styles' business.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

_SHARE: Final = 2
"""Lines around the rows may take one part in this many; a page of nothing but notices helps nobody."""


class Frame(NamedTuple):
    """The lines around the rows."""

    head: tuple[str, ...]
    tail: tuple[str, ...]

    @property
    def size(self) -> int:
        """Characters, each line with its line feed."""
        return sum(len(line) + 1 for line in (*self.head, *self.tail))


class Cut(NamedTuple):
    """How many entries the text shows, and how many it leaves out for want of room."""

    kept: int
    left_out: int
    needed: int
    """Where nothing is kept: characters that a text with the first entry takes. Else 0."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text before it is cut: a block of whole rows for each entry, and the lines around them."""

    blocks: Sequence[str]
    full: Callable[[Cut], Frame]
    brief: Callable[[Cut], Frame]
    """At most 200 characters, whatever the result; see `LEAST_CHARS`."""


def fitted(draft: Draft, max_chars: int | None) -> str:
    """The text, in at most `max_chars` code points; None for no bound."""
    everything = Cut(len(draft.blocks), 0, 0)
    text = _joined(draft, draft.full(everything), len(draft.blocks))
    if max_chars is None or len(text) <= max_chars:
        return text
    sizes = (0, *accumulate(len(block) + 1 for block in draft.blocks))
    cut = _cut(draft.full, sizes, max_chars)
    frame = draft.full(cut)
    if not cut.kept or frame.size > max_chars // _SHARE:
        cut = _cut(draft.brief, sizes, max_chars)
        frame = draft.brief(cut)
    return _joined(draft, frame, cut.kept)


def _cut(frame: Callable[[Cut], Frame], sizes: Sequence[int], max_chars: int) -> Cut:
    """As many entries as fit. `sizes[n]`: characters of the first n blocks, line feeds included."""
    most = len(sizes) - 1
    kept = bisect_right(sizes, max_chars + 1) - 1
    # The frame's own length hangs on the number kept, so the last steps are tried one by one.
    while kept and frame(Cut(kept, most - kept, 0)).size + sizes[kept] - 1 > max_chars:
        kept -= 1
    if kept or not most:
        return Cut(kept, most - kept, 0)
    return Cut(0, most, frame(Cut(1, most - 1, 0)).size + sizes[1] - 1)


def _joined(draft: Draft, frame: Frame, kept: int) -> str:
    return "\n".join((*frame.head, *draft.blocks[:kept], *frame.tail))
