"""Classes, categories and letter case against `re`, over all code points."""

from __future__ import annotations

import random
import re
import warnings
from array import array
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

from grille.worker.engines import classes, tables
from grille.worker.engines.codepoints import LAST, Ranges, complement

EVERY = array("I", range(LAST + 1)).tobytes().decode("utf-32", "surrogatepass")

# Where folding is special: letters of three cases, of one case in Unicode and another in ASCII, beyond the BMP.
SPECIAL = "aAkK\u212asS\u017fiI\u0130\u0131\u00df\u1e9e\u03bc\u00b5\u03c3\u03c2\u03a3\u01c4\u01c5\u01c6\u0149"
BEYOND = "\U00010400\U00010428\U00010427\U0001e943\U0001f600"


def by_re(pattern: str, flags: int) -> Ranges:
    """Every code point that the one-character pattern matches."""
    return tuple((m.start(), m.end() - 1) for m in re.finditer(f"(?:{pattern})+", EVERY, flags))


def by_us(pattern: str, flags: int) -> Ranges:
    tree = parser.parse(pattern, flags)
    ((op, av),) = tree.data
    if op is sre.LITERAL:
        return classes.literal(av, tree.state.flags)
    if op is sre.NOT_LITERAL:
        return complement(classes.literal(av, tree.state.flags))
    return classes.members(av, tree.state.flags)


@pytest.mark.parametrize("flags", [0, re.I, re.A, re.I | re.A], ids=["plain", "i", "a", "ia"])
@pytest.mark.parametrize(
    "pattern",
    [
        r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"[^\w\s]", r"[\W_]", r"[\d€]", r"[^\n]",
        "k", "[^k]", "[a-z]", "[^A-Z]", "[A-z]", "[k-\u017f]", "[\u0130i]", "\u0131", "\u00df", "[\u00b5x]",
        "\U00010400", "[\U00010400x]", "[\U00010400-\U00010427]", "[^\U00010428-\U0001044f]", "[\u01dd-\U000104f3]",
        "[\U0001f600-\U0001f64f]", "[\x00-\U0010ffff]", "\ud800", r"[\ud800-\udfff]",
    ],
)  # fmt: skip
def test_one_character_matches_what_re_says(pattern: str, flags: int) -> None:
    """A literal or a class matches exactly `re`'s code points, under every pair of flags that matters."""
    assert by_us(pattern, flags) == by_re(pattern, flags)


def random_class(rnd: random.Random) -> str:
    pool = [*SPECIAL, *BEYOND, *map(chr, tables.LOWER), *map(chr, tables.UPPER)]

    def letter() -> str:
        return rnd.choice(pool) if rnd.random() < 0.8 else chr(rnd.randrange(LAST + 1))

    parts = []
    for _ in range(rnd.randrange(1, 4)):
        low, high = sorted((letter(), letter()))
        parts.append(
            rnd.choice(
                [
                    rnd.choice([r"\w", r"\W", r"\d", r"\D", r"\s", r"\S"]),
                    re.escape(low),
                    f"{re.escape(low)}-{re.escape(high)}",
                ]
            )
        )
    return f"[{'^' * (rnd.random() < 0.3)}{''.join(parts)}]"


def compare_random_classes(seed: int, count: int) -> None:
    rnd = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count):
            pattern, flags = random_class(rnd), rnd.choice([re.I, re.I, re.I | re.A, 0])
            assert by_us(pattern, flags) == by_re(pattern, flags), (pattern, flags)


def test_random_classes_match_what_re_says() -> None:
    """Classes made at random around the odd corners of folding, each over all code points."""
    compare_random_classes(seed=1, count=60)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_very_many_random_classes_match_what_re_says() -> None:
    """The same, for minutes."""
    compare_random_classes(seed=2, count=10_000)


def test_a_case_closure_holds_all_that_compares_equal() -> None:
    """What a case-insensitive back-reference may take for a character is in that character's closure."""
    for letter in SPECIAL + BEYOND:
        same = {chr(p) for p in range(0x2200) if re.fullmatch(r"(?i)(.)\1", letter + chr(p))}
        closure = classes.case_closure(((ord(letter), ord(letter)),), re.I | re.U)
        assert same <= {chr(p) for low, high in closure for p in range(low, high + 1)}, letter
