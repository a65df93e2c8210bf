"""One name against many rules: the last match, whatever the rules' shapes, and at a cost that no pattern can raise."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.worker.ignore.names import MOST_SPELLINGS, NameMachine, spellings
from grille.worker.ignore.patterns import Atom, Name, read_name
from grille.worker.ignore.tables import NO_RULE, NameRule, NameTable, rank_of, says_ignored

BYTES = b"ab.~"

literal_atoms: st.SearchStrategy[Atom] = st.sampled_from(BYTES)
class_atoms: st.SearchStrategy[Atom] = st.frozensets(st.sampled_from(BYTES), min_size=1)


@st.composite
def patterns(draw: st.DrawFn) -> Name:
    """Any pattern, with a bent to the shapes that are looked up rather than matched."""
    tokens = draw(st.lists(literal_atoms | literal_atoms | class_atoms, max_size=5))
    places = st.sampled_from([0, len(tokens)]) | st.integers(0, len(tokens))
    stars = draw(st.frozensets(places, max_size=3))
    return Name(tuple(tokens), stars if tokens else stars or frozenset({0}))


texts = st.lists(st.sampled_from(BYTES), min_size=1, max_size=7).map(bytes)


def as_regex(name: Name) -> re.Pattern[bytes]:
    """The same pattern for Python's engine."""
    parts = []
    for place in range(len(name.tokens) + 1):
        parts.append(b".*" if place in name.stars else b"")
        if place < len(name.tokens):
            atom = name.tokens[place]
            members = [atom] if isinstance(atom, int) else sorted(atom)
            parts.append(b"[%s]" % b"".join(b"\\x%02x" % byte for byte in members))
    return re.compile(b"".join(parts), re.DOTALL)


@given(st.lists(patterns(), max_size=6), texts)
def test_the_machine_finds_the_last_pattern_that_matches(names: list[Name], text: bytes) -> None:
    """Patterns that run together do not touch one another, and match what a regex engine says they match."""
    wanted = max((place for place, name in enumerate(names) if as_regex(name).fullmatch(text)), default=-1)
    assert NameMachine(names).last(text) == wanted


@given(st.lists(st.tuples(patterns(), st.booleans()), max_size=8), st.lists(texts, max_size=8, unique=True))
def test_the_table_finds_the_last_rule(rules: list[tuple[Name, bool]], names: list[bytes]) -> None:
    """Looked up or matched, alone or in bulk: the last rule that matches a name is found, with its verdict."""
    table = NameTable(
        NameRule(rank_of(place, negated=negated), name) for place, (name, negated) in enumerate(rules)
    )
    wanted = {}
    for text in names:
        for place, (name, negated) in enumerate(rules):
            if as_regex(name).fullmatch(text):
                wanted[text] = (place, not negated)
    found = {text: table.last(text) for text in names}
    assert {
        text: (rank // 2, says_ignored(rank)) for text, rank in found.items() if rank != NO_RULE
    } == wanted
    assert table.last_of_each(names) == {text: rank for text, rank in found.items() if rank != NO_RULE}
    assert bool(table) == bool(rules)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 34, 200])
@pytest.mark.parametrize(
    "shape",
    [
        *(b"%d~", b"*%d~", b"*.%d~", b"*.x.%d", b"%d~*", b"%d*~", b"*%d*", b"*%d*x.%d"),
        *(b"%d*x*", b"%d*x?", b"%d?", b"?%d", b"?%d?", b"*%d?", b"?%d*", b"%d*.x?"),
    ],
)
def test_a_table_of_any_size_finds_every_rule(shape: bytes, count: int) -> None:
    """The sieve changes its means with the number of rules, and never loses a name."""
    rules = [shape.replace(b"%d", b"%03d" % number) for number in range(count)]
    names = [read_name(rule) for rule in rules]
    table = NameTable(NameRule(2 * place, name) for place, name in enumerate(names) if name is not None)
    texts = [rule.replace(b"*", filler).replace(b"?", b"q") for rule in rules for filler in (b"", b"-", b".")]
    assert table.last_of_each([*texts, b"other", b"."]) == {text: table.last(text) for text in texts}
    assert set(map(table.last, texts)) == {2 * place for place in range(count)}


@pytest.mark.parametrize(
    ("first", "second"),
    [(b"*.b", b"*b"), (b"*.x.b", b"*b"), (b"*.b", b"a*"), (b"a*", b"ab*"), (b"a.x.b", b"*?.b")],
)
def test_all_rules_that_fit_a_name_are_compared(first: bytes, second: bytes) -> None:
    """Endings with and without a dot, beginnings, names and others lie apart; the last rule wins among all."""
    for rules in ((first, second), (second, first)):
        names = [name for name in map(read_name, rules) if name is not None]
        table = NameTable(NameRule(2 * place, name) for place, name in enumerate(names))
        text = b"ab.x.b" if b"ab*" in rules else b"a.x.b"
        assert table.last(text) == 2
        assert table.last_of_each([text]) == {text: 2}


def test_few_spellings_are_looked_up_and_many_are_not() -> None:
    """Classes are spelled out up to a bound, so no pattern can make a table large."""
    two: frozenset[int] = frozenset(b"ab")
    assert spellings((two, ord("x"))) == [b"ax", b"bx"]
    assert spellings((two,) * 4) is not None
    assert MOST_SPELLINGS == 16
    assert spellings((two,) * 5) is None


# --- cost ----------------------------------------------------------------------------------------------------


def lines_run(action: Callable[[], object]) -> int:
    """How many lines of Python `action` runs: a measure of work that no busy machine disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def cost(patterns: list[bytes], text: bytes) -> int:
    names = [name for name in map(read_name, patterns) if name is not None]
    assert len(names) == len(patterns)
    table = NameTable(NameRule(2 * place, name) for place, name in enumerate(names))
    table.last(text)  # the masks are made once
    return lines_run(lambda: table.last(text))


@pytest.mark.parametrize("tail", [b"b", b"[bc]", b"?b", b"b*b", b"**b"])
def test_stars_cost_nothing(tail: bytes) -> None:
    """Hostile patterns: the work for a name does not grow with the stars, and is linear in the name."""
    few, many = b"*a" * 2 + tail, b"*a" * 60 + tail
    text = b"a" * 250 + b"bc"
    assert cost([many], text) <= cost([few], text) + 2
    assert cost([many], text * 4) <= 4 * cost([many], text) + 20


def test_many_bombs_cost_as_one() -> None:
    """A file of a thousand star bombs takes no more steps for a name than a file of one."""
    text = b"a" * 250 + b"c"
    bombs = [b"*a*a*a*a*a?%d?c" % number for number in range(1000)]
    assert cost(bombs, text) <= cost(bombs[:1], text) + 10
