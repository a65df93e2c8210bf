"""What a scanner promises to the worker: lines, line ends, counts, spans, multiline entries, bounded work."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import Any

import pytest

from grille.worker.engines import Hits, Scanner, compile_pattern


def found(scanner: Scanner, data: bytes, most: int = 10**9) -> list[bytes]:
    hits = scanner.scan(data, most)
    lines = [data[start:end] for start, end in zip(hits.starts, hits.ends, strict=True)]
    assert scanner.contains(data) == bool(lines) or most == 0
    return lines


# --- lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "data", "lines"),
    [
        ("a", b"", []),
        ("a", b"a", [b"a"]),
        ("a", b"a\n", [b"a"]),
        ("a", b"\na\n\nba", [b"a", b"ba"]),
        ("^$", b"", []),
        ("^$", b"\n", [b""]),
        ("^$", b"a\n", []),
        ("^$", b"a\n\n", [b""]),
        ("^$", b"a\r\n\r\nb", [b""]),
        ("x*", b"a\nx\n", [b"a", b"x"]),
        ("$", b"a\nb", [b"a", b"b"]),
        ("needle$", b"needle\r\nneedle \r\nneedle", [b"needle", b"needle"]),
        ("a.$", b"a\r\nab\r\n", [b"ab"]),
        (r"\s$", b"a\r\nb \r\n", [b"b "]),
        (r"a\s", b"a\n\na b", [b"a b"]),
        ("[^a]", b"a\na\r\nb", [b"b"]),
        (r"\r", b"a\r\nb\rc\nd\r\r\ne\r", [b"b\rc", b"d\r", b"e\r"]),
        (r"a\r?$", b"a\r\nb\na", [b"a", b"a"]),
        (r"\Aa\Z", b"a\nba\nab\na\r\n", [b"a", b"a"]),
        (r"\bfoo\b", b"foos\nfoo\r\n", [b"foo"]),
        (r"(\w)\1", b"ab\r\naa\r\n\xc3\xa9\xc3\xa9\r\n", [b"aa", b"\xc3\xa9\xc3\xa9"]),
        (".", "\u2028\n\x85\x0b\n".encode(), ["\u2028".encode(), "\x85\x0b".encode()]),
        (" ", b"a b\nc", [b"a b"]),
    ],
)
def test_lines(pattern: str, data: bytes, lines: list[bytes]) -> None:
    r"""Lines end at "\n" alone, one "\r" before it is not text, and a last "\n" begins no line (contract 4)."""
    assert found(compile_pattern(pattern), data) == lines


@pytest.mark.parametrize("pattern", ["a", r"(a)\1?", "(?=a).", "^a", "a$"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_most_takes_the_first(pattern: str, end: bytes) -> None:
    """A limit keeps the first lines of the buffer, and offsets are those of the buffer as given."""
    data = end.join([b"a", b"b", b"a\xc3\xa9a", b"a"]) + end
    scanner = compile_pattern(pattern)
    whole = scanner.scan(data, 10)
    assert found(scanner, data)[0] == b"a"
    for most in range(len(whole.starts) + 1):
        part = scanner.scan(data, most)
        assert (part.starts, part.ends) == (whole.starts[:most], whole.ends[:most])


def test_literal_text_means_itself() -> None:
    """With `literal` no character has a meaning of its own (contract 4)."""
    text = r"a.b*[c]\d(?i)^$#"
    assert found(compile_pattern(text, literal=True), f"aXb\n{text}\n".encode()) == [text.encode()]
    assert found(compile_pattern("A.", literal=True, ignore_case=True), b"a.\nab") == [b"a."]


@pytest.mark.parametrize(
    ("pattern", "data", "lines"),
    [
        ("foo", "foo\nfoos\nfoo_\n\u00e9foo\n(foo)\nsfoo foo", ["foo", "(foo)", "sfoo foo"]),
        ("-x", "-x\na-x\n--x\n -x-", ["-x", "--x", " -x-"]),
        ("a|ab", "ab\nabc", ["ab"]),
        ("(?i)FOO", "foo\nfoot", ["foo"]),
        ("(?x)foo # end", "foo\nfoot", ["foo"]),
        (r"(?a)\w+", "\u00e9", []),
    ],
)
def test_word_takes_whole_words_only(pattern: str, data: str, lines: list[str]) -> None:
    r"""`word` is `(?<!\w)(?:p)(?!\w)`, whatever flags or comments the pattern brings."""
    assert found(compile_pattern(pattern, word=True), data.encode()) == [line.encode() for line in lines]


def test_long_lines_are_counted_where_only_re_can_tell() -> None:
    """A line beyond the bound is not given to `re`; the linear engine searches any length (contract 4)."""
    data = b"a" * 50 + b"\naa\n" + b"a" * 50
    assert compile_pattern(r"(a)\1", max_line_bytes=10).scan(data, 9) == Hits([51], [53], 2)
    assert compile_pattern("aa$", max_line_bytes=10).scan(data, 9) == Hits([0, 51, 54], [50, 53, 104], 0)
    # Beyond ASCII this one is a superset, but on a line of ASCII the linear engine is exact.
    scanner = compile_pattern(r"a.\b.", max_line_bytes=10)
    assert scanner.plan.unicode.kind == "superset"
    buffer = "\u00e9\n".encode() + b"a" * 50 + b" x\n" + "aa \u00e9".encode() * 20
    assert scanner.scan(buffer, 9) == Hits([3], [55], 1)


@pytest.mark.parametrize(
    ("pattern", "line", "span"),
    [
        ("b+", "abbc", (1, 3)),
        ("b+", "\u00e9bb", (1, 3)),
        ("(?<=a)b", "ab", (1, 2)),
        (r"(b)\1", "\u00e9abb", (2, 4)),
        ("a|ab", "xab", (1, 2)),
        ("(?:a|ab)(?:c|bcd)", "abcd", (0, 4)),
        ("z", "abc", None),
        (r"\B", "", None if sys.version_info < (3, 14) else (0, 0)),
    ],
)
def test_spans_are_of_code_points(pattern: str, line: str, span: tuple[int, int] | None) -> None:
    """A span is `re`'s first match on the line, in code points, whichever engine found it."""
    assert compile_pattern(pattern).span(line) == span


def test_no_span_for_a_line_that_re_may_not_see() -> None:
    """Where only `re` knows the span, a line beyond the bound has none."""
    assert compile_pattern(r"(a)\1", max_line_bytes=4).span("aaaaa") is None
    assert compile_pattern("a+", max_line_bytes=4).span("aaaaa") == (0, 5)


# --- multiline --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "data", "entries"),
    [
        ("a.b", b"x\na\nb\ny", [b"a\nb"]),
        (r"a\nb", b"a\r\nb\r\n", [b"a\r\nb"]),
        (r"a$", b"a\r\nba\n", [b"a", b"ba"]),
        (r"^b", b"a\r\nb\r\n", [b"b"]),
        ("a.b", b"a\r\nb", [b"a\r\nb"]),
        (r"a\r\nb", b"a\r\nb\na\nb", [b"a\r\nb"]),
        (r"a\n", b"a\nb\n", [b"a"]),
        (r"\n", b"a\nb\n", [b"a", b"b"]),
        ("a|b\nc", b"a b\nc\nd", [b"a b\nc"]),
        ("b\nc|d.*?e", b"ab\ncd\ne\nf", [b"ab\ncd\ne"]),
        ("^$", b"a\n\nb\n", [b""]),
        (r"\Z", b"a\n", []),
        (r"\Z", b"a", [b"a"]),
        (r"\Aa", b"a\na", [b"a"]),
        ("x*", b"a\nb\n", [b"a", b"b"]),
        ("a", b"", []),
        ("(?-s:a.b)", b"a\nb\naxb", [b"axb"]),
        (r"(\w)\n\1", b"a\r\na\nb\nb", [b"a\r\na", b"b\nb"]),
        (r"(?<=a)\nb", "\u00e9a\r\nb\r\n".encode(), ["\u00e9a\r\nb".encode()]),
    ],
)
def test_multiline_entries(pattern: str, data: bytes, entries: list[bytes]) -> None:
    r"""Entries are whole lines; matches that share one are merged; "\r\n" is one "\n" unless "\r" is asked for."""
    scanner = compile_pattern(pattern, multiline=True)
    assert found(scanner, data) == entries
    assert found(scanner, data, 1) == entries[:1]


# --- bounded work -----------------------------------------------------------------------------------------


class Counting:
    """Stands for the linear search, and writes down where each call began."""

    def __init__(self, match: Any) -> None:
        self.match = match
        self.begins: list[int] = []

    def __call__(self, anchor: Any, data: bytes, start: int, end: int) -> list[tuple[int, int]]:
        self.begins.append(start)
        found: list[tuple[int, int]] = self.match(anchor, data, start, end)
        return found


@pytest.mark.parametrize("pattern", ["a", "a*", r"a(?=\w*b)", r"(a)\1", "x(?!foo)a"])
def test_one_call_a_hit_and_never_back(pattern: str) -> None:
    """The engine is asked once for each candidate line and once more, each time from where the last line ended."""
    data = b"aaaa xab\n" * 300
    scanner = compile_pattern(pattern)
    counting = Counting(scanner._ascii.match)
    scanner._ascii = dataclasses.replace(scanner._ascii, match=counting)
    scanner.scan(data, 10**9)
    assert len(counting.begins) <= 301
    assert counting.begins == sorted(set(counting.begins))
    assert all(begin % 9 == 0 for begin in counting.begins)


def seconds(scanner: Scanner, data: bytes) -> float:
    best = 10.0
    for _ in range(3):
        began = time.process_time()
        scanner.scan(data, 10**9)
        best = min(best, time.process_time() - began)
    return best


@pytest.mark.parametrize(
    ("pattern", "unit", "multiline"),
    [
        ("a", b"a\n", False),
        ("a$", b"a\r\n", False),
        (r"(a)\1", b"ab\n", False),
        ("zzz|a", b"a" * 100 + b"\n", False),
        (r"\bneedle\b", b"needles\n", False),
        ("a", b"a", True),
        ("ab|b\nc", b"ab", True),
        ("a\n", b"a\r\n", True),
        (r"(a)b", b"ab", True),
        ("(?<=a)b", b"ab\r\n", True),
        ("a", b"a\xc3\xa9", True),
    ],
)
def test_cost_grows_with_the_buffer_and_no_faster(pattern: str, unit: bytes, multiline: bool) -> None:
    """Sixteen times the text may cost sixteen times as much, with room for noise, and nowhere near its square."""
    scanner = compile_pattern(pattern, multiline=multiline)
    small, large = unit * 2_000, unit * 32_000
    assert seconds(scanner, large) < 16 * 5 * max(seconds(scanner, small), 0.0002)


def test_one_long_line_is_looked_at_once() -> None:
    """Ten megabytes without a line end: found, and its ends found, by one pass."""
    data = b"x" * 5_000_000 + b"needle" + b"y" * 5_000_000
    assert compile_pattern(r"\bneedle|lex?y").scan(data, 5) == Hits([0], [len(data)], 0)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a*)*b",
        "(a|aa)+$",
        "(.*)*q",
        r"(\w+\s?)+$",
        "(x+x+)+y",
        r"^(\d+)*[a-z]$",
        "(a?){25}a{25}b",
    ],
)
@pytest.mark.parametrize("text", ["a", "x", "1", "\u00e9"])
def test_exact_plans_answer_redos_at_once(pattern: str, text: str) -> None:
    """What takes `re` longer than the universe is decided by the linear engine; a hang would fail this test."""
    scanner = compile_pattern(pattern)
    assert scanner.plan.ascii.kind == scanner.plan.unicode.kind == "exact"
    assert not scanner.contains((text * 30_000 + "!\n").encode())
