"""How the lines of an ignore file are read (gitignore(5), and what git does where that is silent)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.worker.ignore.lines import RuleLine, read_lines


def rule(pattern: bytes, *, negated: bool = False, folders_only: bool = False) -> RuleLine:
    return RuleLine(pattern, negated, folders_only)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b"plain", rule(b"plain")),
        (b"!back", rule(b"back", negated=True)),
        (b"!!twice", rule(b"!twice", negated=True)),
        (b"\\!literal", rule(b"\\!literal")),
        (b"\\#literal", rule(b"\\#literal")),
        (b" #no comment", rule(b" #no comment")),
        (b"!#no comment", rule(b"#no comment", negated=True)),
        (b"folder/", rule(b"folder", folders_only=True)),
        (b"!folder/", rule(b"folder", negated=True, folders_only=True)),
        (b"two//", rule(b"two/", folders_only=True)),
        (b"escaped\\/", rule(b"escaped\\", folders_only=True)),
        (b"/top", rule(b"/top")),
        # Spaces at the end go; one that a backslash escapes stays, and tabs stay.
        (b"spaces   ", rule(b"spaces")),
        (b"kept\\ ", rule(b"kept\\ ")),
        (b"kept\\   ", rule(b"kept\\ ")),
        (b"gone\\\\ ", rule(b"gone\\\\")),
        (b"kept\\\\\\ ", rule(b"kept\\\\\\ ")),
        (b"inner space ", rule(b"inner space")),
        (b"tab\t", rule(b"tab\t")),
        (b"tab \t", rule(b"tab \t")),
        (b"slash/ ", rule(b"slash", folders_only=True)),
        # One CR before the line's end goes, and before the spaces are looked at.
        (b"crlf\r", rule(b"crlf")),
        (b"two\r\r", rule(b"two\r")),
        (b"space then \r", rule(b"space then")),
        (b"cr then\r ", rule(b"cr then\r")),
        (b"folder/\r", rule(b"folder", folders_only=True)),
        # git's lines end at a NUL, and its spaces are looked for before that.
        (b"cut\0off", rule(b"cut")),
        (b"cut  \0off", rule(b"cut")),
        (b"cut\r\0off", rule(b"cut\r")),
        (b"\xff\xfe", rule(b"\xff\xfe")),
        (b"a\xef\xbb\xbf", rule(b"a\xef\xbb\xbf")),
    ],
)
def test_a_line_is_read_as_git_reads_it(line: bytes, wanted: RuleLine) -> None:
    """`!`, the slash at the end, spaces, CR and NUL are taken off the pattern as git takes them off."""
    assert list(read_lines(line + b"\n")) == [wanted]
    assert list(read_lines(line)) == [wanted], "a last line without its end"
    assert list(read_lines(b"x\n" + line + b"\ny\n")) == [rule(b"x"), wanted, rule(b"y")]


@pytest.mark.parametrize(
    "line", [b"", b"# comment", b"#", b"\r", b"   ", b" \r", b"!", b"/", b"!/", b"\0x", b"! "]
)
def test_a_line_without_a_pattern_is_no_rule(line: bytes) -> None:
    """Empty lines, comments and patterns that name nothing are left out, and nothing around them changes."""
    assert list(read_lines(b"x\n" + line + b"\ny")) == [rule(b"x"), rule(b"y")]


def test_a_mark_is_skipped_at_the_start_of_the_file_alone() -> None:
    """A UTF-8 byte order mark is no part of the first pattern, or of a first comment."""
    mark = b"\xef\xbb\xbf"
    assert list(read_lines(mark + b"a\n" + mark + b"b")) == [rule(b"a"), rule(mark + b"b")]
    assert list(read_lines(mark + b"# comment\nb")) == [rule(b"b")]
    assert list(read_lines(mark + mark + b"a")) == [rule(mark + b"a")]


@given(st.lists(st.sampled_from([b" ", b"\\", b"a"]), max_size=8).map(b"".join))
def test_spaces_are_stripped_as_a_reader_from_the_left_would(text: bytes) -> None:
    """The rule as it is told: read from the left, a backslash takes one byte with it; spaces left at the end go."""
    kept, at = 0, 0
    while at < len(text):
        step = 2 if text[at : at + 1] == b"\\" else 1
        if text[at : at + 1] != b" ":
            kept = min(at + step, len(text))
        at += step
    wanted = [rule(text[:kept])] if text[:kept] else []
    assert list(read_lines(text)) == wanted


@pytest.mark.parametrize(
    ("pattern", "anchored"), [(b"a", False), (b"/a", True), (b"a/b", True), (b"[/]", True)]
)
def test_a_slash_anywhere_anchors(pattern: bytes, anchored: bool) -> None:
    """A pattern with a slash, wherever it is, speaks of paths from its file's folder; one without, of names."""
    assert rule(pattern).anchored is anchored
