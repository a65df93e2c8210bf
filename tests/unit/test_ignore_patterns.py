"""What each form of pattern matches: git's rules, row by row. tests/conformance asks git itself, at random."""

from __future__ import annotations

import string

import pytest

from grille.worker.ignore.patterns import ANY_BYTE, read_name, read_path
from grille.worker.ignore.rules import parse_rules
from grille.worker.ignore.stack import EMPTY, Source


def matches(pattern: bytes, path: bytes) -> bool:
    """Whether the rule says so of the very entry at `path`, a folder: what lies above is not asked."""
    stack = EMPTY.push(parse_rules(pattern), Source.GITIGNORE)
    *above, name = path.split(b"/")
    for folder in above:
        stack = stack.enter(folder)
    return stack.ignored(name, True)


def check(pattern: bytes, yes: bytes, no: bytes) -> None:
    assert [path for path in yes.split() if not matches(pattern, path)] == []
    assert [path for path in no.split() if matches(pattern, path)] == []


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        # Without a slash: the name, at any depth.
        (b"log", b"log a/log a/b/log", b"logs xlog log/a"),
        (b"*.log", b".log a.log a/b.log a.b.log", b"log a.logs alog"),
        (b"log*", b"log logs a/log.1", b"alog"),
        (b"*", b"a .a a/b", b""),
        (b"**", b"a .a a/b", b""),
        (b"a**", b"a ab x/abc", b"ba"),
        (b"a**b", b"ab axb x/axxb", b"a b a/b"),
        (b"?", b"a x/b -", b"ab"),
        (b"a?c", b"abc a.c x/a-c", b"ac abbc a/c"),
        (b"*a*b*", b"ab xaxbx x/ba.ab", b"a b ba"),
        # A slash at the start or within: the path from the file's folder.
        (b"/log", b"log", b"a/log"),
        (b"a/log", b"a/log", b"log x/a/log a/b/log"),
        (b"/a/log", b"a/log", b"x/a/log"),
        (b"a/*", b"a/b a/.b", b"a a/b/c x/a/b"),
        (b"a/*.c", b"a/x.c a/.c", b"a/b/x.c x.c"),
        (b"*/b", b"a/b x/b", b"b a/x/b"),
        (b"/*", b"a .a", b"a/b"),
        (b"/*/*", b"a/b", b"a a/b/c"),
        (b"/*/x*y/z", b"a/xy/z b/x.y/z", b"xy/z a/b/xy/z a/xy/zz"),
        (b"//a", b"", b"a a/a"),
        (b"a//b", b"", b"a/b a b"),
        # `**` as a component.
        (b"**/a", b"a x/a x/y/a", b"xa"),
        (b"**/a/b", b"a/b x/a/b a/b/a/b a/a/b", b"b a/x/b"),
        (b"a/**", b"a/b a/b/c", b"a x/a/b"),
        (b"a/**/b", b"a/b a/x/b a/x/y/b a/b/b", b"b a x/a/b a/x"),
        (b"/**/b", b"b a/b a/x/b", b"bb"),
        (b"/**", b"a a/b", b""),
        (b"**/**", b"a a/b", b""),
        (b"a/**/**", b"a/b a/b/c", b"a"),
        (b"a/**/**/b", b"a/b a/x/b a/x/y/b", b"a"),
        (b"a/**/b/**/c", b"a/b/c a/x/b/c a/b/x/c a/b/b/b/c a/x/b/y/c", b"a/c b/c a/b a/c/b"),
        (b"**/a/**", b"a/b x/a/b a/b/c", b"a x/a b"),
        (b"a/***/b", b"a/b a/x/y/b", b"a"),
        (b"**/*.c", b"a.c x/a.c x/y/.c", b"a.cc c"),
        (b"**/*", b"a a/b", b""),
        (b"a/**/*", b"a/b a/b/c", b"a"),
        # `**` beside something else in its component is a star.
        (b"a/**b", b"a/b a/xb", b"a/x/b ab"),
        (b"a/b**", b"a/b a/bx", b"a/b/x a/x"),
        (b"foo**/bar", b"foo/bar foox/bar", b"foobar foo/x/bar"),
        (b"**foo/bar", b"foo/bar xfoo/bar", b"x/foo/bar"),
        # An escaped slash is a slash, but makes `**` span at least one folder.
        (b"a\\/b", b"a/b", b"b a x/a/b"),
        (b"**\\/b", b"x/b x/y/b", b"b"),
        (b"a/**\\/b", b"a/x/b a/x/y/b", b"a/b b"),
        (b"\\/a", b"", b"a"),
        # Backslashes.
        (b"\\a", b"a x/a", b"\\a"),
        (b"\\*", b"* x/*", b"a \\*"),
        (b"a\\?", b"a?", b"ab a\\?"),
        (b"\\[a]", b"[a]", b"a \\[a]"),
        (b"\\\\", b"\\", b"\\\\"),
        (b"*\\*", b"* a*", b"a"),
        (b"\\#a", b"#a", b"\\#a"),
        (b"\\!a", b"!a", b"a"),
        (b"a\\", b"", b"a a\\ a\\\\"),
        (b"\\", b"", b"\\ a"),
        (b"a/b\\", b"", b"a/b a/b\\"),
        (b"*\\", b"", b"a\\ \\"),
        # Bytes that are no UTF-8, and such as are.
        (b"a\xff*", b"a\xff a\xffb", b"a"),
        (b"\xc3\xa9", b"\xc3\xa9", b"\xc3"),
        (b"??", b"\xc3\xa9 ab", b"a"),
    ],
)
def test_a_pattern_matches_what_git_says(pattern: bytes, yes: bytes, no: bytes) -> None:
    """Names, paths, stars and escapes mean what gitignore(5) says, and git does where that is silent."""
    check(pattern, yes, no)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (b"[ab]", b"a b x/a", b"c ab [ab]"),
        (b"[!ab]", b"c ! x/c", b"a b"),
        (b"[^ab]", b"c ^ !", b"a b"),
        (b"x[a-c]", b"xa xb xc", b"xd x- x"),
        (b"x[c-a]", b"xc", b"xa xb x-"),  # an empty range; its start was a member before that
        (b"x[a-]", b"xa x-", b"xb"),
        (b"x[-a]", b"xa x-", b"xb"),
        (b"x[a-c-e]", b"xa xc x- xe", b"xd"),
        (b"x[]]", b"x]", b"x x[]]"),
        (b"x[]a]", b"x] xa", b"x["),
        (b"x[!]a]", b"xb x[", b"x] xa"),
        (b"x[]-a]", b"x] x^ xa x_", b"x- x["),
        (b"x[--0]", b"x- x. x0", b"x1 x,"),
        (b"x[a!^]", b"xa x! x^", b"xb"),
        (b"x[[]", b"x[", b"x]"),
        (b"x[*?]", b"x* x?", b"xa"),
        (b"x[\\]]", b"x]", b"x\\ x"),
        (b"x[\\\\]", b"x\\", b"x]"),
        (b"x[\\a-\\c]", b"xa xb xc", b"x\\ x- xd"),
        (b"x[[-\\]]", b"x[ x\\ x]", b"x- xa"),
        (b"x[\\-z]", b"x- xz", b"xa x\\"),
        # Classes by name; a class or a range does not start another range.
        (b"x[[:digit:]]", b"x0 x9", b"xa x: x"),
        (b"x[[:alpha:]-z]", b"xa xZ x- xz", b"x0"),
        (b"x[a-c-[:digit:]]", b"xa x- x5", b"xd x["),
        (b"x[![:upper:][:digit:]]", b"xa x-", b"xA x0"),
        (b"[[:xdigit:]]*.o", b"a.o F0.o", b"g.o .o"),
        (b"x[[:nope:]a]", b"", b"xa x: xn"),
        (b"x[[::]a]", b"", b"xa x:"),
        (b"x[[:]a]", b"x[a] x:a]", b"xa"),
        (b"x[[:digit]1]", b"xd1] x[1] x:1]", b"x1"),
        # Brackets that do not close match nothing, not even themselves.
        (b"[", b"", b"["),
        (b"x[a", b"", b"x[a xa"),
        (b"x[", b"", b"x["),
        (b"x[]", b"", b"x[] x]"),
        (b"x[!", b"", b"x[! x!"),
        (b"x[a\\", b"", b"xa x[a\\"),
        (b"x[a-", b"", b"xa x-"),
        (b"x[[:alpha:", b"", b"xa"),
        (b"a/[", b"", b"a/["),
        # No class matches a slash, and a slash in one anchors the rule.
        (b"a[/]b", b"", b"a/b ab"),
        (b"a[!x]b", b"a.b x/a-b", b"axb a/b"),
        (b"[/a]b", b"ab", b"x/ab"),
        (b"a[.-0]b", b"a.b a0b", b"a/b"),
    ],
)
def test_brackets_match_what_git_says(pattern: bytes, yes: bytes, no: bytes) -> None:
    """Ranges, negation, escapes and classes in brackets are wildmatch's, the malformed ones included."""
    check(pattern, yes, no)


@pytest.mark.parametrize(
    ("name", "members"),
    [
        (b"alnum", string.ascii_letters + string.digits),
        (b"alpha", string.ascii_letters),
        (b"blank", " \t"),
        (b"cntrl", "".join(map(chr, range(32))) + "\x7f"),
        (b"digit", string.digits),
        (b"graph", string.ascii_letters + string.digits + string.punctuation),
        (b"lower", string.ascii_lowercase),
        (b"print", string.ascii_letters + string.digits + string.punctuation + " "),
        (b"punct", string.punctuation),
        (b"space", " \t\n\r"),
        (b"upper", string.ascii_uppercase),
        (b"xdigit", string.hexdigits),
    ],
)
def test_classes_are_ascii(name: bytes, members: str) -> None:
    """Each class holds ASCII's members, never the slash; git's `space` has four."""
    wanted = frozenset(members.encode()) - {ord("/")}
    assert read_name(b"[[:%s:]]" % name) == read_name(b"[%s]" % _escaped(wanted))
    negated = read_name(b"[![:%s:]]" % name)
    assert negated is not None
    assert negated.tokens == (ANY_BYTE - wanted,)


def _escaped(members: frozenset[int]) -> bytes:
    return b"".join(b"\\%c" % byte for byte in sorted(members))


def test_a_component_that_nothing_matches_makes_the_path_match_nothing() -> None:
    """One bad component spoils its rule, and only that."""
    for pattern in (b"a/[", b"[/a", b"a//b", b"a/", b"", b"/", b"a/b\\", b"**/[[:x:]]/**"):
        assert read_path(pattern) is None, pattern
