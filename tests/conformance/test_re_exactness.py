"""The engines against Python's `re`: which lines match, which entries, which spans, on the same text.

The oracle shares nothing with the engines: it splits the text itself and asks `re.compile(...)` about each line, and
about the whole text for multiline. Patterns come from three places: CPython's own table of cases, where the `test`
package is installed; a generator that uses every construct of the dialect; hypothesis, which also makes them smaller.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.worker.engines import PatternRefused, Scanner, compile_pattern

Range = tuple[int, int]

# --- the oracle -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A pattern, and `re`'s compiled form of what it means under these options."""

    pattern: str
    regex: re.Pattern[str]
    ignore_case: bool = False
    word: bool = False
    multiline: bool = False

    def scanner(self) -> Scanner:
        return compile_pattern(
            self.pattern, ignore_case=self.ignore_case, word=self.word, multiline=self.multiline
        )


# The first releases with possessive repeats and atomic groups lose matches of them (python/cpython#106052). What such a
# pattern means is what the linear engine answers there, and `re` is no oracle for it.
FAULTY_ATOMIC = sys.version_info < (3, 11, 5)
ATOMIC = re.compile(r"[*+?}]\+|\(\?>")


def make_case(
    pattern: str, *, ignore_case: bool = False, word: bool = False, multiline: bool = False
) -> Case | None:
    """None where `re` does not take the pattern, or is known not to answer it as it means to."""
    if FAULTY_ATOMIC and ATOMIC.search(pattern):
        return None
    flags = (re.IGNORECASE if ignore_case else re.NOFLAG) | (
        re.DOTALL | re.MULTILINE if multiline else re.NOFLAG
    )
    head = re.match(r"\(\?[aimsux]+\)", pattern)
    front, body = (pattern[: head.end()], pattern[head.end() :]) if head else ("", pattern)
    # The newline ends a comment that (?x) may have opened.
    end = "\n" if "x" in front else ""
    meant = rf"{front}(?<!\w)(?:{body}{end})(?!\w)" if word else pattern
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Case(pattern, re.compile(meant, flags), ignore_case, word, multiline)
        except (re.error, OverflowError, RecursionError):
            return None


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    r"""Byte offset and text of each line: ended by "\n", with one "\r" before it left out."""
    offset = 0
    parts = text.split("\n")
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if last and not part:
            return
        yield offset, part[:-1] if part.endswith("\r") and not last else part
        offset += len(part.encode()) + 1


def matching_lines(case: Case, text: str) -> list[Range]:
    return [
        (offset, offset + len(line.encode())) for offset, line in lines_of(text) if case.regex.search(line)
    ]


def names_return(pattern: str) -> bool:
    r"""Whether the pattern spells "\r" (outside of `[^...]`, which the generator does not make with it)."""
    return "\r" in pattern or r"\r" in pattern


def matching_entries(case: Case, text: str) -> list[Range]:
    """What `finditer` finds in the whole text, as line numbers, merged, and those as offsets."""
    lines = list(lines_of(text))
    seen = text if names_return(case.pattern) else text.replace("\r\n", "\n")
    entries: list[list[int]] = []
    for found in case.regex.finditer(seen):
        first = seen.count("\n", 0, found.start())
        last = seen.count("\n", 0, max(found.end() - 1, found.start()))
        if first >= len(lines):
            continue
        if entries and first <= entries[-1][1]:
            entries[-1][1] = max(last, entries[-1][1])
        else:
            entries.append([first, last])
    return [(lines[first][0], lines[last][0] + len(lines[last][1].encode())) for first, last in entries]


def check(case: Case, scanner: Scanner, text: str) -> int:
    """Compare everything a scanner says about one text; returns how many lines were compared."""
    try:
        wanted = matching_entries(case, text) if case.multiline else matching_lines(case, text)
    except SystemError:  # CPython 3.11 finds a match, then its groups' spans wrong: there is no answer
        return 0
    data = text.encode()
    hits = scanner.scan(data, 10**9)
    assert list(zip(hits.starts, hits.ends, strict=True)) == wanted, (case, text, scanner.plan)
    assert scanner.contains(data) == bool(wanted), (case, text, scanner.plan)
    few = scanner.scan(data, len(wanted) // 2)
    assert list(zip(few.starts, few.ends, strict=True)) == wanted[: len(wanted) // 2], (case, text)
    check_spans(case, scanner, text)
    return text.count("\n") + 1


def check_spans(case: Case, scanner: Scanner, text: str) -> None:
    lines = [text] if case.multiline else [line for _, line in lines_of(text)][:2]
    for line in lines:
        found = case.regex.search(line)
        assert scanner.span(line) == (found and found.span()), (case, line, scanner.plan)


def scanner_for(case: Case) -> Scanner | None:
    """None where line mode refuses a pattern that needs a newline, which is then shown to match no line."""
    try:
        return case.scanner()
    except PatternRefused as refused:
        code = refused.code
    assert code == "needs_multiline", case
    assert not case.multiline
    for line in ("", "a", "abk a_1", "\r", "\u00e9 \u017f-"):
        assert not case.regex.search(line), case
    return None


# --- CPython's own cases ----------------------------------------------------------------------------------


def cpython_cases() -> list[tuple[str, str]]:
    try:
        from test.re_tests import tests
    except ImportError:
        return []
    return [(row[0], row[1]) for row in tests if isinstance(row[0], str) and isinstance(row[1], str)]


@pytest.mark.skipif(not cpython_cases(), reason="CPython's test package is not installed")
@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize("ignore_case", [False, True])
def test_cpythons_own_table(ignore_case: bool, multiline: bool) -> None:
    """Each pattern of `test.re_tests` answers as `re` does on its own text, alone and among other lines."""
    compared = 0
    for pattern, text in cpython_cases():
        case = make_case(pattern, ignore_case=ignore_case, multiline=multiline) if pattern else None
        scanner = scanner_for(case) if case else None
        if case is None or scanner is None:
            continue
        for buffer in (text, f"{text}\n", f"x\r\n{text}\r\n\r\n\u00e9{text}\n", f"{text}{text.upper()}"):
            compared += check(case, scanner, buffer)
    assert compared > 2000


# --- patterns made at random ------------------------------------------------------------------------------

ASCII = "abAB01_ -.k\t"
# Letters that fold oddly, digits and spaces beyond ASCII, what other engines take for line ends, an astral letter.
SPECIAL = "k\u212a\u017fsS\u0130i\u0131I\u00df\u1e9e\u03c2\u03c3\u03a3\u00b5\u03bc\u00e9\u01c5\u0663\u4e16\U0001f600"
SPECIAL += "\u2028\x85"
WORDS = ["abk", "a_1", "foo", "K\u017fs", "\u00df\u00e9a"]
CLASSES = [r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "[ab]", "[^a]", r"[^\W_]", "[a-k]", r"[^\s]", r"[\w-]"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}"]


class Maker:
    """Makes patterns that use the whole dialect, and lines that they have a fair chance to match."""

    def __init__(self, rnd: random.Random, special: bool, multiline: bool) -> None:
        self.rnd = rnd
        self.special = special
        self.groups = 0
        # Loops within loops take `re` for ever on a long text, so they meet short lines only, and never whole texts.
        self.nested_loops = not multiline and rnd.random() < 0.3
        self.words = WORDS if special else WORDS[:3]

    def letter(self) -> str:
        return self.rnd.choice(SPECIAL if self.special and self.rnd.random() < 0.5 else ASCII)

    def line(self) -> str:
        rnd = self.rnd
        return "".join(
            rnd.choice(self.words) if rnd.random() < 0.12 else self.letter()
            for _ in range(rnd.randrange(5 if self.nested_loops else 9))
        )

    def text(self) -> str:
        ends = ["\n", "\n", "\r\n", "\r\r\n"]
        text = "".join(self.line() + self.rnd.choice(ends) for _ in range(self.rnd.randrange(7)))
        return text + self.rnd.choice(["", self.line(), self.line() + "\r"])

    def pattern(self) -> str:
        self.groups = 0
        flags = f"(?{self.rnd.choice('ixsam')})" if self.rnd.random() < 0.08 else ""
        return flags + self.choice(3)

    def choice(self, depth: int) -> str:
        return "|".join(self.sequence(depth) for _ in range(self.rnd.choice([1, 1, 1, 2])))

    def sequence(self, depth: int) -> str:
        return "".join(self.repeated(self.atom(depth)) for _ in range(self.rnd.choice([1, 1, 2, 2, 3, 4])))

    def repeated(self, atom: str) -> str:
        if self.rnd.random() < 0.65:
            return atom
        loops = len(atom) > 2 and re.search(r"[*+{]|(?<!\()\?", atom)
        quantifier = "?" if loops and not self.nested_loops else self.rnd.choice(QUANTIFIERS)
        return atom + quantifier + self.rnd.choice(["", "", "", "?", "+"])

    def atom(self, depth: int) -> str:
        makers: list[tuple[float, Callable[[int], str]]] = [
            (6, lambda _: re.escape(self.rnd.choice(self.words))),
            (30, lambda _: re.escape(self.letter())),
            (6, lambda _: "."),
            (14, lambda _: self.rnd.choice(CLASSES)),
            (4, lambda _: self.range()),
            (10, lambda _: self.rnd.choice(["^", "$", r"\b", r"\B", r"\A", r"\Z", r"\b", r"\b"])),
            (2, lambda _: self.rnd.choice([r"\n", r"\r", r"\r?\n"])),
        ]
        if depth:
            makers += [
                (8, self.group),
                (4, lambda d: f"(?:{self.choice(d)})"),
                (6, lambda d: f"(?{self.rnd.choice('=!')}{self.choice(d)})"),
                (3, lambda _: self.behind()),
                (2, lambda d: f"(?>{self.choice(d)})"),
                (
                    2,
                    lambda d: (
                        f"(?{self.rnd.choice(['i', '-i', 'a', 's', '-s', 'm', '-m', 'u', 'x'])}:{self.choice(d)})"
                    ),
                ),
            ]
        if self.groups:
            makers += [(3, lambda _: rf"\{self.rnd.randrange(1, self.groups + 1)}"), (1, self.conditional)]
        weights = [weight for weight, _ in makers]
        return self.rnd.choices(makers, weights)[0][1](depth - 1)

    def range(self) -> str:
        low, high = sorted((self.letter(), self.letter()))
        negation = "^" if self.rnd.random() < 0.3 else ""
        return f"[{negation}{re.escape(low)}-{re.escape(high)}{re.escape(self.letter())}]"

    def group(self, depth: int) -> str:
        self.groups += 1
        return f"({self.choice(max(depth, 0))})"

    def behind(self) -> str:
        pieces = [re.escape(self.letter()), r"\w", "[ab]", r"\s", r"\b"]
        body = "".join(self.rnd.choice(pieces) for _ in range(self.rnd.randrange(1, 3)))
        return f"(?<{self.rnd.choice('=!')}{body})"

    def conditional(self, depth: int) -> str:
        depth = max(depth, 0)
        return f"(?({self.rnd.randrange(1, self.groups + 1)}){self.sequence(depth)}|{self.sequence(depth)})"


def compare_at_random(rnd: random.Random, checks: int) -> dict[str, int]:
    """Run until so many lines were compared; returns how often each kind of plan was among the patterns."""
    kinds: dict[str, int] = {}
    compared = 0
    while compared < checks:
        multiline = rnd.random() < 0.3
        maker = Maker(rnd, rnd.random() < 0.5, multiline)
        ignore_case, word = rnd.random() < 0.4, rnd.random() < 0.15
        case = make_case(maker.pattern(), ignore_case=ignore_case, word=word, multiline=multiline)
        scanner = scanner_for(case) if case else None
        if case is None or scanner is None:
            continue
        for program in (scanner.plan.ascii, scanner.plan.unicode):
            kinds[program.kind] = kinds.get(program.kind, 0) + 1
        for special in (False, True, maker.special):
            maker.special = special
            compared += check(case, scanner, maker.text())
    return kinds


def test_random_patterns_on_random_buffers() -> None:
    """Any construct, over ASCII and over letters that fold oddly, by lines and multiline: the same answers as `re`."""
    kinds = compare_at_random(random.Random(20), checks=60_000)
    assert min(kinds[kind] for kind in ("exact", "superset", "backtracking")) > 100


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_two_million_checks(seed: int) -> None:
    """The same, until two million and a half lines were compared."""
    compare_at_random(random.Random(1000 + seed), checks=250_000)


@given(st.randoms(use_true_random=False), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_hypothesis_finds_no_difference(
    rnd: random.Random, special: bool, ignore_case: bool, word: bool, multiline: bool
) -> None:
    """As above, with hypothesis choosing, so that a failure comes back small."""
    maker = Maker(rnd, special, multiline)
    case = make_case(maker.pattern(), ignore_case=ignore_case, word=word, multiline=multiline)
    scanner = scanner_for(case) if case else None
    if case is not None and scanner is not None:
        check(case, scanner, maker.text())


@given(
    st.text(st.sampled_from(ASCII + SPECIAL + r".*+?|()[]{}^$\#&"), min_size=1, max_size=8),
    st.booleans(),
    st.data(),
)
def test_literal_text_is_found_where_it_stands(needle: str, ignore_case: bool, data: st.DataObject) -> None:
    """`literal` finds what `re.escape` would, on lines that hold it in parts or whole."""
    pieces = st.lists(st.sampled_from([needle, needle[:-1], needle.upper(), "x", "\n", "\r\n"]), max_size=9)
    text = "".join(data.draw(pieces))
    scanner = compile_pattern(needle, literal=True, ignore_case=ignore_case)
    case = make_case(re.escape(needle), ignore_case=ignore_case)
    assert case is not None
    check(case, scanner, text)


# --- cases known from other tools -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("(?i:e.x|ex)", "e-x"),
        (r"(\d{1,3}\.){3}\d{1,3}", "192.168.1.1"),
        (r"\d\d\d000", "153.230000"),
        (";(.*,){1}", "abc;de,fg"),
        (r"\$?(\w+)_\d+", "/* average number of code units compared to UTF-16 */$ww_3"),
        (r",\s*([}\]])", "#define sk_new(sk, idx, ptr) ((const char *)get(check_CSTRIN,]#defi"),
        (r"(?s)curl.*\|\s*python", "curl http://xxx:8000/ 2>&1 | python"),
    ],
)
def test_no_prefilter_loses_a_match(pattern: str, line: str) -> None:
    """Patterns on which the literal filters of other search tools were wrong match here, amid other lines."""
    data = f"first\n{line}\nlast\n".encode()
    hits = compile_pattern(pattern).scan(data, 9)
    assert (hits.starts, hits.ends) == ([6], [6 + len(line)])


DIFFERENCES = [
    r"\w+", r"\W", r"\d", r"\s", r"[^\s]", r"\bk\b", r"\B", r"x\B", "(?i)k", "(?i)i", "(?i)[^i]", "(?i)\u0130",
    "(?i)\u00df", "(?i)[a-z]+", "^a", r"\Aa", "a$", r"a\Z", "a.b", "(?s)a.b", "(?x) a b # c", "(?P<n>a)(?P=n)",
    "a*?b", "(?-i:a)B", r"(?a:\W)", r"(?u:\w)", r"(?a)\w", r"(?a)\B", "a++b", "(?>a|ab)c", "a(?>b|bc)", "a(?=b)",
    "a(?!b)", "(?<=a)b", "(?<!a)b", "(?=.*a)b", r"(a|b)\1", "(a)?(?(1)b|c)", "a{1001}", "(?:a{40}b){40}",
    "[\ud800a]", "\ud800|a", "a*", "()", "(?:)", r"(a)(?i:\1)", r"(k)(?i:\1)",
]  # fmt: skip
TEXTS = [
    "a", "b", "ab", "aB", "abc", "aab", "a b", "k", "\u212a", "\u0130", "\u0131", "I", "\u00df", "\u1e9e", "SS",
    "\u00e9", "-", "aa", "ba", "ca", "a\x85b", "a\u2028b", "a\rb", "\x1c", "a" * 1001, ("a" * 40 + "b") * 40, "",
    "\t", "\u0663", "x_", "x ", "\x00", "aA", "k\u212a",
]  # fmt: skip


@pytest.mark.parametrize("pattern", DIFFERENCES)
def test_constructs_on_which_engines_differ(pattern: str) -> None:
    """Each construct that the linear engine reads otherwise than `re`, on each text that could tell the two apart."""
    if FAULTY_ATOMIC and ATOMIC.search(pattern):
        pytest.skip("this Python's re loses matches of possessive repeats and atomic groups")
    for ignore_case, multiline in ((False, False), (True, False), (False, True), (True, True)):
        case = make_case(pattern, ignore_case=ignore_case, multiline=multiline)
        assert case is not None
        scanner = case.scanner()
        for text in TEXTS:
            for buffer in (text, f"{text}\n", f"{text}\r\n", f"x\n{text}\n\u00e9\n"):
                check(case, scanner, buffer)
