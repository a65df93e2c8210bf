"""Which plan a pattern gets, and that the plan's own promises hold."""

from __future__ import annotations

import re
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

from grille.worker.engines import PatternRefused, compile_pattern
from grille.worker.engines.emit import emit
from grille.worker.engines.linear import UNANCHORED, LinearRefused, compile_linear
from grille.worker.engines.needle import needle
from grille.worker.engines.nodes import EMPTY, NEVER, alt, chars, nullable, repeat, seq
from grille.worker.engines.translate import Alphabet, translate

A, B = chars(((97, 97),)), chars(((98, 98),))


def kinds(pattern: str, **options: bool) -> tuple[str, str]:
    plan = compile_pattern(pattern, **options).plan
    return plan.ascii.kind, plan.unicode.kind


# --- plans ------------------------------------------------------------------------------------------------

EXACT = [
    "foo", "a|b", "a*b+c?", "a{2,5}", "a.*?b", r"\w+\s+\d", "[^a-z]", r"^\s*import\s", "a$", r"\Aa\Z",
    "(?i)stra\u00dfe",
    r"\bfoo\b", r"foo\b|\bbar", "foo(?=bar)", "foo(?=b+)", "(?<=ab)c", r"foo(?!\d)", r"(?<!\w)foo", r"(?!\d)\w+",
    "a(?>b|c)",
    r'"[^"]*+"', "a++", r"(?:\bfoo|x)y", r"\bx\B\w", "(?x) a  b # c", "(?a)\\w", "(?:a|b)*c", "^$", "",
]  # fmt: skip
SUPERSET = [
    (r"(\w+) \1", "back-reference"), (r"(?i)(a)b\1", "back-reference"), ("(a)?(?(1)b|c)", "conditional"),
    ("x(?=.*a)b", "look-ahead"), ("x(?!foo)bar", "look-ahead"), ("a+(?<=aa)b", "look-behind"), ("a(?>b|bc)d", "atomic"),
    ("a(?:bc)++d", "possessive"), ("a{1001}", "counted"), ("(?:a{40}b){40}", "counted"), (r"a(?a:\w)", "(?a:...)"),
]  # fmt: skip


@pytest.mark.parametrize("pattern", [pattern for pattern in EXACT if pattern])
def test_exact_on_both_sorts_of_buffer(pattern: str) -> None:
    """Where the linear engine can say exactly what `re` says, it decides alone."""
    assert kinds(pattern) == ("exact", "exact")


@pytest.mark.parametrize(("pattern", "reason"), SUPERSET)
def test_a_superset_names_its_reason(pattern: str, reason: str) -> None:
    """What RE2 cannot say is dropped, `re` confirms, and the plan tells people why."""
    program = compile_pattern(pattern).plan.ascii
    assert program.kind == "superset"
    assert program.text is not None
    assert any(reason in given for given in program.reasons)


def test_a_superset_of_every_line_is_called_backtracking() -> None:
    """A program that finds something on each line would only add its own cost."""
    program = compile_pattern("(?=.*a)(?=.*b)(?!.*c)").plan.ascii
    assert program.kind == "backtracking"
    assert program.text is None


def test_a_word_boundary_that_nothing_decides_is_exact_in_ascii_only() -> None:
    r"""RE2's `\b` is ASCII's: beyond, one that stands beside no known character is dropped."""
    assert kinds(r"x.\b.y") == ("exact", "superset")


def test_huge_classes_make_coarse_programs() -> None:
    r"""`\w` over Unicode times a count would be a million instructions: non-ASCII is then told apart by `re`."""
    plan = compile_pattern(r"\w{300}x").plan
    assert plan.ascii.kind == "exact"
    assert plan.unicode.kind == "superset"
    assert len(plan.unicode.text or "") < 200


def test_what_can_never_match_needs_no_engine() -> None:
    """A pattern with a letter beyond ASCII cannot match an ASCII buffer, so no program is made for one."""
    plan = compile_pattern("gr\u00f6\u00dfe").plan
    assert plan.ascii.text is None
    assert plan.ascii.kind == "exact"
    assert plan.unicode.text == "gr\u00f6\u00dfe"


def test_case_is_spelled_out() -> None:
    """RE2's own folding differs from `re`'s for i; two-letter sets keep its search for literals fast."""
    plan = compile_pattern("ki", ignore_case=True).plan
    assert plan.ascii.text == "[Kk][Ii]"
    assert compile_linear("[i\\x{130}\\x{131}I]")(UNANCHORED, "\u0130".encode(), 0, 2)[0] == (0, 2)
    assert compile_pattern("i", ignore_case=True).contains("\u0130".encode())


# --- nodes, needle, emission ------------------------------------------------------------------------------


def test_emptiness_is_never_hidden() -> None:
    """A node that can match nothing is NEVER, however it was made; none of it is the empty text."""
    assert seq([A, NEVER]) is NEVER
    assert alt([NEVER, NEVER]) is NEVER
    assert alt([NEVER, A]) is A
    assert repeat(NEVER, 1, None) is NEVER
    assert repeat(NEVER, 0, None) is EMPTY
    assert chars(()) is NEVER
    assert nullable(EMPTY)
    assert not nullable(A)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"\bfoobar\b", b"foobar"), (r"^\s*import\s", b"import"), (r"\w+_test", b"_test"), (r"\w(?:abcd)+e", b"abcd"),
        ("foo", None), (r"\bab\b", None), (r"\w(abc)?", None), (r"\w(?:abc|abd)", None), ("[Ff]oobar", None),
        (r"\b\u00e9t\u00e9", "\u00e9t\u00e9".encode()),
    ],
)  # fmt: skip
def test_a_needle_is_what_every_match_holds(pattern: str, wanted: bytes | None) -> None:
    """Only a mandatory literal counts, and only where RE2 does not look for one itself."""
    tree = parser.parse(pattern, 0)
    node = translate(tree, tree.state.flags, Alphabet(ascii_only=False, multiline=False)).node
    assert needle(node) == wanted


@pytest.mark.parametrize(
    "pattern",
    [
        r"a-]^\\",
        "[]^-]",
        r"[\]\\-]",
        "\\.\\*\\(\\)",
        "\x00\x01\x7f",
        "\t\r",
        "#&~ ",
        "\u2028\u00ad\u0301",
        "(?:a|b)*?c",
        "{}",
        "a{,2}",
    ],
)
def test_emitted_text_means_what_the_nodes_do(pattern: str) -> None:
    """Every character RE2 gives a meaning is escaped: each line made of the pattern's own letters agrees with `re`."""
    tree = parser.parse(pattern, 0)
    node = translate(tree, tree.state.flags, Alphabet(ascii_only=False, multiline=False)).node
    search = compile_linear(emit(node).text)
    for line in [*pattern, pattern, pattern + pattern, "abc", "ab", "c", "aa", ".*()", "{}"]:
        data = line.encode()
        assert (search(UNANCHORED, data, 0, len(data))[0][0] >= 0) == bool(re.search(pattern, line)), line


def test_what_re2_refuses_is_told() -> None:
    """A refusal is an exception with RE2's words, never a program that matches nothing."""
    with pytest.raises(LinearRefused, match="repetition"):
        compile_linear("a{1001}")


# --- hostile patterns -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "code", "position"),
    [
        ("", "empty", None), ("a" * 4097, "too_long", None), ("\u00e9" * 2049, "too_long", None),
        ("(" * 200_000, "too_long", None),
        ("a(", "invalid", 1), ("[z-a]", "invalid", 1), ("*a", "invalid", 0), ("a(?i)", "invalid", 1),
        ("(?L)a", "invalid", 3),
        ("(?<=a*)b", "invalid", None), (r"\8", "invalid", 1), (r"\N{no such letter}", "invalid", 0),
        ("(" * 2000 + ")" * 2000, "too_complex", None), ("a{4294967296}", "too_complex", None),
        (r"a\nb", "needs_multiline", None), ("a\nb", "needs_multiline", None), (r"[\n]", "needs_multiline", None),
        (r"(?:a|b\n)\n+", "needs_multiline", None), (r"foo(?=\n)", "needs_multiline", None),
    ],
)  # fmt: skip
def test_refusals_are_typed(pattern: str, code: str, position: int | None) -> None:
    """Each bad pattern has its code, and Python's own position where Python gives one."""
    with pytest.raises(PatternRefused) as caught:
        compile_pattern(pattern)
    assert caught.value.code == code
    if position is not None:
        assert caught.value.position == position


def test_an_invalid_pattern_speaks_in_pythons_words() -> None:
    """The message is the one `re.compile` gives (contract 4)."""
    with pytest.raises(re.error) as theirs:
        re.compile("(?P<a>b")
    with pytest.raises(PatternRefused) as ours:
        compile_pattern("(?P<a>b")
    assert (ours.value.message, ours.value.position) == (theirs.value.msg, theirs.value.pos)


@pytest.mark.parametrize(
    "pattern", ["(?=a)b+c", "(?!)", "a$b", r"(?:\n|x)", r"\n?a", r"(?:^|\n)a", "[^a]", r"\s"]
)
def test_what_might_match_a_line_is_not_refused(pattern: str) -> None:
    """Only a pattern that has no match without a newline, and one with it, needs multiline."""
    assert compile_pattern(pattern) is not None
    assert compile_pattern(r"a\nb", multiline=True) is not None


@pytest.mark.parametrize("pattern", ["[[a]", "[a&&b]", "[a||b]", "[a~~b]"])
def test_no_warning_leaves(pattern: str, recwarn: pytest.WarningsRecorder) -> None:
    """`re`'s warnings about patterns are for programmers: none is shown, and the caller's filters stay as they were."""
    import warnings

    before = list(warnings.filters)
    compile_pattern(pattern)
    assert not recwarn.list
    assert list(warnings.filters) == before


@pytest.mark.parametrize(
    "pattern",
    [
        r"\w{1000}" * 500, "a{1000}" * 560, r"\w" * 2000, r"\b\w*" * 800, r"\bx" * 1300, r"[^\W_]{3,255}",
        r"(?:\w{0,30}\W{0,3}){0,30}x", "[^\\n]{0,1000}" * 8 + "\x00", "(?<!a)" * 600 + "b",
        "(?:" * 150 + "a" + ")*" * 150,
        "(a)" + "".join(rf"(\{i}\{i})" for i in range(1, 99)), "a{4294967294}",
    ],
    ids=range(12),
)  # fmt: skip
def test_compile_bombs_are_planned_small(pattern: str) -> None:
    """Whatever 4 KiB of pattern would multiply to, the linear program's text stays within a small multiple of it."""
    plan = compile_pattern(pattern).plan
    for program in (plan.ascii, plan.unicode):
        assert len(program.text or "") < 1_000_000


@pytest.mark.parametrize(
    "pattern", ["a\ud800b", "[\ud800-\udfff]", "\udc80|x", "[x\udc80]", "a\x00b", "\x00"]
)
def test_odd_characters_have_right_answers(pattern: str) -> None:
    """A lone surrogate is in no text, so only what stands beside it can match; NUL is a character like others."""
    scanner = compile_pattern(pattern)
    for line in ("ab", "x", "a\x00b", "\x00", "\u00e9x", "\u00e9"):
        assert scanner.contains(line.encode()) == bool(re.search(pattern, line))
        assert scanner.span(line) == ((found := re.search(pattern, line)) and found.span())
