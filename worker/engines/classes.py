"""Which code points one item of a parsed pattern matches: literals, classes, categories, under every flag.

Follows what CPython's `re` compiler and matcher do, its odd corners included, because the definition of right is
what `re` answers: under IGNORECASE a character is lowered, then looked up in a set of lowered members. Checked
over all code points in tests/unit/test_engines_classes.py. Nothing here knows of RE2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from re import _casefix as casefix  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from typing import Any, Final

from . import tables
from .codepoints import NONE, Ranges, complement, difference, from_points, intersection, union

BMP_LAST: Final = 0xFFFF

# Plain numbers: an operation on `re.RegexFlag` costs a microsecond, and there are several a character.
_IGNORECASE: Final[int] = sre.SRE_FLAG_IGNORECASE
_UNICODE: Final[int] = sre.SRE_FLAG_UNICODE


@dataclass(frozen=True, slots=True)
class _Case:
    """One of the two notions of case: all of Unicode, or (under the ASCII flag) A to Z."""

    lower: dict[int, int]
    raised: dict[int, tuple[int, ...]]
    # Characters that match beside a lower-case one although they are not mapped to it.
    fixes: dict[int, tuple[int, ...]]
    cased: Ranges
    capitals: Ranges
    lowered: Ranges


_UNICODE_CASE: Final = _Case(
    tables.LOWER,
    tables.RAISED,
    casefix._EXTRA_CASES,
    tables.CASED,
    from_points(tables.LOWER),
    from_points(tables.RAISED),
)
_ASCII_CASE: Final = _Case(
    tables.ASCII_LOWER,
    tables.ASCII_RAISED,
    {},
    tables.ASCII_CASED,
    from_points(tables.ASCII_LOWER),
    from_points(tables.ASCII_RAISED),
)

_CATEGORIES: Final[dict[tuple[Any, bool], Ranges]] = {
    (sre.CATEGORY_WORD, True): tables.WORD,
    (sre.CATEGORY_DIGIT, True): tables.DIGIT,
    (sre.CATEGORY_SPACE, True): tables.SPACE,
    (sre.CATEGORY_NOT_WORD, True): complement(tables.WORD),
    (sre.CATEGORY_NOT_DIGIT, True): complement(tables.DIGIT),
    (sre.CATEGORY_NOT_SPACE, True): complement(tables.SPACE),
    (sre.CATEGORY_WORD, False): tables.ASCII_WORD,
    (sre.CATEGORY_DIGIT, False): tables.ASCII_DIGIT,
    (sre.CATEGORY_SPACE, False): tables.ASCII_SPACE,
    (sre.CATEGORY_NOT_WORD, False): complement(tables.ASCII_WORD),
    (sre.CATEGORY_NOT_DIGIT, False): complement(tables.ASCII_DIGIT),
    (sre.CATEGORY_NOT_SPACE, False): complement(tables.ASCII_SPACE),
}

# All that a class depends on; other flags would only split the cache.
_RELEVANT: Final = _IGNORECASE | _UNICODE


def literal(point: int, flags: int) -> Ranges:
    """What a single literal character matches."""
    if not flags & _IGNORECASE:
        return ((point, point),)
    return _folded_literal(point, bool(flags & _UNICODE))


def members(items: Iterable[tuple[Any, Any]], flags: int) -> Ranges:
    """What a bracketed class (the items of an IN node) matches."""
    return _members(tuple(items), flags & _RELEVANT)


def word(flags: int) -> Ranges:
    r"""What `\w` matches, which is also what `\b` is made of."""
    return tables.WORD if flags & _UNICODE else tables.ASCII_WORD


def case_closure(ranges: Ranges, flags: int) -> Ranges:
    """`ranges` and all that a case-insensitive back-reference may take for one of them."""
    case = _case(bool(flags & _UNICODE))
    return union(ranges, _preimage(_lowered(ranges, case), case))


def _case(unicode: bool) -> _Case:
    return _UNICODE_CASE if unicode else _ASCII_CASE


@lru_cache(maxsize=512)
def _folded_literal(point: int, unicode: bool) -> Ranges:
    case = _case(unicode)
    if not _touches(((point, point),), case.cased):
        return ((point, point),)
    low = case.lower.get(point, point)
    return _preimage(from_points((low, *case.fixes.get(low, ()))), case)


@lru_cache(maxsize=512)
def _members(items: tuple[tuple[Any, Any], ...], flags: int) -> Ranges:
    negated = bool(items) and items[0][0] is sre.NEGATE
    positive = items[1:] if negated else items
    unicode = bool(flags & _UNICODE)
    if flags & _IGNORECASE:
        found = _folded_members(positive, unicode)
    else:
        found = union(*(_plain(op, av, unicode) for op, av in positive))
    return complement(found) if negated else found


def _plain(op: Any, av: Any, unicode: bool) -> Ranges:
    if op is sre.LITERAL:
        return ((av, av),)
    if op is sre.RANGE:
        return (av,)
    assert op is sre.CATEGORY, op
    return _CATEGORIES[av, unicode]


def _folded_members(items: tuple[tuple[Any, Any], ...], unicode: bool) -> Ranges:
    case = _case(unicode)
    parts: list[Ranges] = []
    for op, av in items:
        plain = _plain(op, av, unicode)
        if op is sre.CATEGORY:
            parts.append(plain)
        elif plain[-1][1] > BMP_LAST:
            # Beyond the BMP `re` looks up the item as written, and a range by the upper case as well.
            parts.append(_beyond_bmp(plain, case) if op is sre.RANGE else plain)
        else:
            parts.append(_lowered(plain, case))
    # `re` does not lower the character where no item is cased; then this changes nothing either.
    return _preimage(union(*parts), case)


def _beyond_bmp(plain: Ranges, case: _Case) -> Ranges:
    within = intersection(plain, ((0, BMP_LAST),))
    by_upper = from_points(
        point for point, upper in tables.UPPER.items() if plain[0][0] <= upper <= plain[0][1]
    )
    return union(_lowered(within, case), plain, by_upper)


def _lowered(ranges: Ranges, case: _Case) -> Ranges:
    lowered = [case.lower[point] for point in _points(intersection(ranges, case.capitals))]
    stay = difference(ranges, case.capitals)
    fixed = [
        extra
        for low, extras in case.fixes.items()
        if low in lowered or _touches(((low, low),), stay)
        for extra in extras
    ]
    return union(stay, from_points(lowered), from_points(fixed))


def _preimage(lowered: Ranges, case: _Case) -> Ranges:
    """Every character whose lower case is in `lowered`."""
    capitals = (up for point in _points(intersection(lowered, case.lowered)) for up in case.raised[point])
    return union(difference(lowered, case.capitals), from_points(capitals))


def _touches(left: Ranges, right: Ranges) -> bool:
    return intersection(left, right) != NONE


def _points(ranges: Ranges) -> Iterator[int]:
    for low, high in ranges:
        yield from range(low, high + 1)
