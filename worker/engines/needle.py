"""A literal that every match holds: where a buffer has none of it, no engine need look.

Why beside RE2, which does this itself for a literal at the start of a pattern: behind a `\\b`, a look-behind or a
`\\s*` it does not, and then runs at 0.8 GB/s where `bytes.find` runs at 3. Invariant: a needle is in the text of every
match of the nodes, so of every match of the pattern, as the nodes are a superset of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .nodes import At, Chars, Node, Repeat, Seq

# Bytes; a shorter one is in most files anyway.
_SHORTEST: Final = 3


def needle(node: Node) -> bytes | None:
    """The longest literal that must be there, in UTF-8; None: none worth the call, or RE2 does it by itself."""
    parts = node.parts if isinstance(node, Seq) else (node,)
    if parts and isinstance(parts[0], Chars) and _is_literal(parts[0]):
        return None
    longest = max(_runs(parts), key=len, default="").encode("utf-8")
    return longest if len(longest) >= _SHORTEST else None


def _runs(parts: tuple[Node, ...]) -> Iterator[str]:
    run = ""
    for part in parts:
        if isinstance(part, Chars) and _is_single(part):
            run += chr(part.ranges[0][0])
        elif not isinstance(part, At):
            yield run
            run = ""
            if isinstance(part, Repeat) and part.low >= 1:
                yield from _runs(part.body.parts if isinstance(part.body, Seq) else (part.body,))
    yield run


def _is_single(part: Chars) -> bool:
    return len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]


def _is_literal(part: Chars) -> bool:
    """One character, or one ASCII letter in both cases: what RE2 takes for the start of a literal."""
    if _is_single(part):
        return True
    points = [low for low, high in part.ranges if low == high]
    return len(points) == len(part.ranges) == 2 and points[1] - points[0] == 0x20 and chr(points[0]).isalpha()
