"""Hints: guessed where a guess is likely true, and nowhere else."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.hints import (
    did_you_mean,
    escape_braces,
    looks_like_glob,
    looks_like_regex,
    near_names,
    pattern_needs_multiline,
)

Hint = Callable[[str], str | None]

GUESSES: list[tuple[Hint, list[str], list[str]]] = [
    (
        looks_like_glob,
        [
            "*.py", "**/foo", "src/**/*.ts", "**/*.{ts,tsx}", "*", "**", "*foo*", "src/*.py", "src/**", "src/*",
            "a/*/b.py", "*.[ch]", "!*.md", "test_**", "./src/*.py", "*.test.js", "/src/**/x",
        ],
        [
            "foo", "a.py", r".*\.py", "foo.*bar", "a*b", "/*", "/* comment */", "//*", "https?://", "a/b", "", " ",
            r"\*\.py", "(a|b)*", "x.*/y", "*.py|*.js", "[a-z]*", "foo/.*", "*args, **kwargs", "^*", "http:/*x",
        ],
    ),
    (
        looks_like_regex,
        [
            "a|b", "foo.*bar", r"\w+", "^x$", "^import", ".*", r"foo\.bar", r"\bword\b", "[a-z]+", "(ab)+", "(?:a)",
            r"foo\(", ".+x", r"\d{3}", "TODO|FIXME", r"\s*=", "(a|b)", "x[0-9]*", "(?i)todo",
        ],
        [
            "foo", "foo()", "a.b", "arr[0]", "a || b", "a | b", "$HOME", "el$", "^", "C:\\dir\\bin", "x = y + z",
            "what?", "a*b", "*.py", "{}", "f(x)", "", "...", "C:\\work", "1.5", "a^b",
        ],
    ),
    (
        escape_braces,
        ["Hello {0}", "{0}", "{1} and", "'{2}'", "${1}", "x{0}", "({0})", ">{12}<", "key={3}"],
        [
            "interface{}", "map[string]interface{}", "${name}", "a{2}", r"\d{4}", "x{1,3}", r"\{0\}", "{}", "{a,b}",
            "f{", "", "[ab]{3}", r"\${name}", "(ab){2}", "{{0", r"\s{2}",
        ],
    ),
    (
        pattern_needs_multiline,
        [r"a\nb", "a\nb", r"\n", r"\r\n", r"x\\\ny", r"foo\s*\n\s*bar"],
        ["a", r"a\\nb", r"\\n", r"\N{DASH}", r"\s+", "n", "", "\\", r"a\tb"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "pattern"), [(hint, text) for hint, yes, _ in GUESSES for text in yes])
def test_guesses_where_it_is_likely_true(hint: Hint, pattern: str) -> None:
    """A guess is one or more sentences on one printable line."""
    sentence = hint(pattern)
    assert sentence is not None
    assert sentence.isprintable() and sentence.endswith(".")


@pytest.mark.parametrize(("hint", "pattern"), [(hint, text) for hint, _, no in GUESSES for text in no])
def test_is_silent_elsewhere(hint: Hint, pattern: str) -> None:
    """A guess that is not likely true is worse than none."""
    assert hint(pattern) is None


SENSELESS = ["src/*.py", "src/*", "a/*/b.py", "./src/*.py", "!*.md"]


@pytest.mark.parametrize("pattern", GUESSES[0][1])
def test_what_looks_like_a_glob_is_no_regular_expression(pattern: str) -> None:
    """What is called a glob does not compile, or does not take a path that the glob takes."""
    try:
        compiled = re.compile(pattern)
    except re.error:
        return
    assert pattern in SENSELESS
    assert not compiled.fullmatch(pattern.replace("*", "name"))


@pytest.mark.parametrize("pattern", GUESSES[2][1])
def test_braces_that_need_a_backslash_do_not_find_themselves(pattern: str) -> None:
    """Where a brace is called a repetition, `re` does not take the pattern for its own text; with a backslash
    it does."""
    try:
        found = re.search(pattern, pattern)
    except re.error:
        found = None
    assert not found or found[0] != pattern
    literal = pattern.replace("{", r"\{").replace("$", r"\$").replace("(", r"\(").replace(")", r"\)")
    escaped = re.search(literal, pattern)
    assert escaped is not None and escaped[0] == pattern


@pytest.mark.parametrize("pattern", ["interface{}", "map{}", "{}", "f{", "{a,b}"])
def test_braces_without_a_number_are_plain_text(pattern: str) -> None:
    """There is no hint for `interface{}`, since `re` finds it as it stands."""
    assert re.search(pattern, f"x {pattern} y")


@given(st.text(alphabet="*ab/.{}0,[]()|^$\\n\n wd!?+", max_size=12))
def test_a_glob_hint_is_never_for_a_pattern_that_finds_its_own_text(pattern: str) -> None:
    """Whoever searches for a text that is there as they wrote it is not told that it is a glob."""
    if looks_like_glob(pattern) is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            found = re.search(pattern, pattern)
        except re.error:
            return
    assert not found or found[0] != pattern


@pytest.mark.parametrize("hint", [hint for hint, *_ in GUESSES])
@pytest.mark.parametrize(
    "piece", ["*", "a", "\\", "[", "(", "a.", "/*", "a/", "{", " ", "a|", "**/", "]", "{0", "$"]
)
def test_time_grows_with_the_pattern(hint: Hint, piece: str) -> None:
    """A hostile pattern of sixteen times the length takes about sixteen times as long, not 256 times."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece)) + "\t"
        started = time.process_time()
        hint(text)
        return time.process_time() - started

    small = min(seconds(4_000) for _ in range(3))
    large = min(seconds(64_000) for _ in range(2))
    assert large <= 64 * small + 0.01


# --- names ------------------------------------------------------------------------------------------------

TREE = ["src", "Src", "src-old", "source", "tests", "test_main.py", "main.py", "README.md", "docs", "a"]


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("SRC", ("Src", "src", "src-old")),
        ("readme.md", ("README.md",)),
        ("read", ("README.md",)),
        ("test", ("tests", "test_main.py")),
        ("mian.py", ("main.py", "test_main.py")),
        ("docs2", ("docs",)),
        ("docsandmore", ("docs",)),
        ("sorce", ("source", "Src", "src")),
        ("src", ("Src", "src-old")),
        ("zzz", ()),
        ("", ()),
    ],
)
def test_near_names(wanted: str, near: tuple[str, ...]) -> None:
    """Other case first, then what begins so, then what is spelled alike, then what it begins with."""
    assert near_names(wanted, TREE)[: len(near) or None] == near


def test_near_names_are_few() -> None:
    """No more are told than were asked for, and in the same order whatever order they come in."""
    names = [f"name{number}" for number in range(50)]
    assert near_names("name", names, 2) == ("name0", "name1") == near_names("name", names[::-1], 2)
    assert len(near_names("name", names)) == 3


def test_names_that_no_sentence_should_show_are_passed_over() -> None:
    """A name with control characters, or one that is no Unicode, is not offered."""
    assert near_names("name", ["name\n", "name\x1b[2J", "name\udcff", "name\u2028", "names"]) == ("names",)


@given(st.text(max_size=8), st.lists(st.text(max_size=8), max_size=8), st.integers(1, 4))
def test_near_names_come_from_the_names(wanted: str, names: list[str], most: int) -> None:
    """Whatever is given, what is offered is some of the names, each once, and never the wanted one."""
    near = near_names(wanted, names, most)
    assert len(near) <= most
    assert len(set(near)) == len(near)
    assert set(near) <= set(names) - {wanted}


def test_near_names_look_at_a_bounded_part() -> None:
    """A huge folder, or a huge name, does not make a guess slow: only so many are compared."""
    looked_at = iter(f"{number:0300}" for number in range(10**9))
    assert near_names("x" * 10**6, looked_at) == ()
    assert next(looked_at) == f"{5000:0300}"


@pytest.mark.parametrize(
    ("near", "question"),
    [
        ((), None),
        (("a",), "Did you mean a?"),
        (("a", "b"), "Did you mean a or b?"),
        (("a", "b", "c"), "Did you mean a, b or c?"),
    ],
)
def test_did_you_mean(near: tuple[str, ...], question: str | None) -> None:
    """What is near is offered as one question; nothing near, no question."""
    assert did_you_mean(near) == question
