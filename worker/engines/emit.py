"""From nodes to RE2's syntax, within RE2's limits.

Invariant: the text means what the nodes mean, except where `loosened` says that a counted repeat was widened, which
only enlarges the language. Knows RE2's grammar and bounds; what the nodes stand for it does not ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from .codepoints import LAST, SURROGATES, Ranges, complement, count, union
from .nodes import Alt, At, Chars, Node, Repeat, Seq

# RE2's kMaxRepeat; it also bounds the product of nested counts.
_MAX_COUNT: Final = 1000

_PLAIN: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ -,;:'\"!#%&/<>=@`~"
)
_SHORT: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


@dataclass(frozen=True, slots=True)
class Emission:
    """An RE2 pattern; `loosened` empty: it means exactly what the nodes did."""

    text: str
    loosened: tuple[str, ...]


def emit(node: Node, *, uncounted: bool = False) -> Emission:
    """Write `node` for RE2; with `uncounted` every `{m,n}` becomes `*` or `+`, for programs otherwise too large."""
    writer = _Writer(_MAX_COUNT if not uncounted else 1)
    text = writer.write(node, 1)
    return Emission(text, tuple(writer.loosened))


@dataclass(slots=True)
class _Writer:
    most: int
    loosened: dict[str, None] = field(default_factory=dict)

    def write(self, node: Node, product: int) -> str:
        """`product`: how many copies of this node the counts around it make."""
        match node:
            case Chars():
                return _chars(node.ranges)
            case At():
                return node.place.value
            case Seq():
                return "".join([self._operand(part, product, Alt) for part in node.parts])
            case Alt():
                return "|".join([self.write(option, product) for option in node.options])
            case Repeat():
                return self._repeat(node, product)

    def _operand(self, node: Node, product: int, *looser: type[Node]) -> str:
        text = self.write(node, product)
        return f"(?:{text})" if isinstance(node, looser) else text

    def _repeat(self, node: Repeat, product: int) -> str:
        low, high = node.low, node.high
        copies = max(low, high or 0, 1)
        if copies > 1 and copies * product > self.most:
            self.loosened[f"a counted repeat beyond {_MAX_COUNT}" if self.most > 1 else "counted repeats"] = (
                None
            )
            if product == 1 and self.most > 1:
                low, high = min(low, _MAX_COUNT), None
            else:
                low, high = min(low, 1), None
            copies = max(low, 1)
        body = self._operand(node.body, product * copies, Alt, Seq, Repeat, At)
        return body + _count(low, high) + ("?" if node.lazy and low != high else "")


def _count(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    if (low, high) == (0, 1):
        return "?"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


@lru_cache(maxsize=256)
def _chars(ranges: Ranges) -> str:
    if count(ranges) == 1:
        return _literal(ranges[0][0])
    # No buffer holds a surrogate, so a class may be said to have them or not, whichever is shorter.
    outside = complement(union(ranges, SURROGATES))
    if ranges[-1][1] == LAST and len(outside) < len(ranges):
        return f"[^{_class(outside)}]" if outside else "(?s:.)"
    return f"[{_class(ranges)}]"


def _class(ranges: Ranges) -> str:
    parts = []
    for low, high in ranges:
        dash = "-" if high > low + 1 else ""
        parts.append(_member(low) + (dash + _member(high) if high > low else ""))
    return "".join(parts)


def _member(point: int) -> str:
    character = chr(point)
    if character.isascii() and character.isalnum():
        return character
    return _SHORT.get(character) or f"\\x{{{point:x}}}"


def _literal(point: int) -> str:
    character = chr(point)
    if character in _PLAIN or (point > 0xA0 and character.isprintable()):
        return character
    if character in _SHORT:
        return _SHORT[character]
    return "\\" + character if character.isascii() and character.isprintable() else f"\\x{{{point:x}}}"
