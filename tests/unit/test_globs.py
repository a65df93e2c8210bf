"""The glob rules of contract 3, row by row and against reference matchers that share no code with ours."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from types import FrameType
from typing import Any, TypeAlias

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from grille.policy.glob_names import REMEMBERED_CHARACTERS, NameMachine, fold_case, keep_case, name_test
from grille.policy.glob_syntax import (
    MAX_ALTERNATIVES,
    MAX_CHARACTERS,
    MAX_COMPONENTS,
    CharClass,
    Name,
    Wild,
    read_glob,
)
from grille.policy.globs import (
    Glob,
    GlobRefused,
    PathMachine,
    compile_filter,
    compile_glob,
    merge_chains,
    rebase,
)


def parts(path: str) -> tuple[str, ...]:
    return tuple(path.split("/")) if path else ()


def check(pattern: str, matching: str, others: str) -> None:
    """Both lists are paths, space-separated; `-` is the start folder itself."""
    glob = compile_glob(pattern)
    found = {path: glob.matches(parts(path.replace("-", ""))) for path in f"{matching} {others}".split()}
    assert found == dict.fromkeys(matching.split(), True) | dict.fromkeys(others.split(), False)


# --- the rules, in rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", "a.py x/a.py x/y/.py", "a.pyc a.py/x - py"),
        ("a", "a x/a x/y/a", "b a/b A aa"),
        ("src/a", "src/a", "x/src/a a src/x/a"),
        ("src/*.js", "src/a.js", "other/a.js a.js src/x/a.js x/src/a.js"),
        ("./a", "a", "x/a"),
        ("./*.py", "a.py", "x/a.py"),
        ("././x/./a", "x/a", "y/x/a"),
        ("x/", "x y/x", "x/a"),
        ("x/y//", "x/y", "y x/y/z"),
        ("a//b", "a/b", "a x/a/b"),
        ("**/", "a a/b", "-"),
    ],
)
def test_a_slash_anchors_and_none_means_any_depth(pattern: str, matching: str, others: str) -> None:
    """Without `/` the name counts, at any depth; with one the whole path; a slash at the end is no slash."""
    check(pattern, matching, others)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("src/**/*.py", "src/a.py src/x/a.py src/x/y/a.py", "a.py x/src/a.py src.py"),
        ("src/**", "src/a src/x/y/z src/.h", "src a x/src/a"),
        ("**", "a a/b .h/.h", "-"),
        ("**/a", "a x/a x/y/a", "a/x b"),
        ("**/src/**/*.ts", "src/a.ts x/src/a.ts x/src/y/a.ts", "src x/a.ts"),
        ("**/**/*.py", "a.py x/a.py", "a"),
        ("a/**/**/b/**", "a/b/c a/x/b/c a/b/b", "a/b a/x/b"),
        ("a**b/c", "ab/c axxb/c", "a/b/c ax/xb/c"),
        ("x/***", "x/a x/ab", "x x/a/b"),
        ("**a", "a xa y/xa", "ab"),
        ("**/*", "a x/a", "-"),
        ("**/x/**", "x/a y/x/a y/x/z/a", "x y/x a"),
    ],
)
def test_a_double_star_spans_folders(pattern: str, matching: str, others: str) -> None:
    """`**` as a component is zero or more folders and never the folder named before it; elsewhere it is `*`."""
    check(pattern, matching, others)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("?", "a é \udce9 [ . -", "ab"),
        ("a?c", "abc a?c", "ac a/c"),
        ("a*a", "aa aba a*a", "a ab"),
        ("ab*ba", "abba abxba", "aba"),
        ("*ab*", "ab xabx", "ba a/b"),
        ("[a-c]x", "ax bx cx", "dx x [a-c]x/y"),
        ("[!a]", "b ! ^", "a ab"),
        ("[^a]", "b ! ^", "a ab"),
        ("[]a]", "] a", "b"),
        ("[!]a]", "b", "] a"),
        ("[]-a]", "] ^ _ a", "b \\"),
        ("[a-]", "a -", "b"),
        ("[--0]", "- . 0", "1"),
        ("[a", "[a", "a"),
        ("x[", "x[", "x"),
        ("[]", "[]", "]"),
        ("[!]", "[!]", "!"),
        ("[a/b]", "[a/b]", "a b"),
        ("[z-a]", "[z-a]", "a z b"),
        ("[!z-a]", "a z b", "ab"),
        (r"[\]]", "]", "\\"),
        (r"[a\-c]", "a - c", "b"),
        ("[[]", "[", "[]x"),
        ("[*?]", "* ?", "a"),
        ("[\udc80-\udcff]", "\udce9", "a"),
    ],
)
def test_wildcards_and_classes_stay_within_a_name(pattern: str, matching: str, others: str) -> None:
    """`?` is one character, `[...]` one of a set; an unclosed `[` is itself; a class never crosses a `/`."""
    glob = compile_glob(pattern)
    # `-` is a character here, not the start folder.
    for path in matching.split():
        assert glob.matches(parts(path)), path
    for path in others.split():
        assert not glob.matches(parts(path)), path
    assert not glob.matches(())


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"\*", "* x/*", "a"),
        (r"\[a]", "[a]", "a"),
        (r"\{a,b\}", "{a,b}", "a b"),
        (r"{a\,b,c}", "a,b c", "a b"),
        (r"\a\?", "a?", "ab"),
        (r"a\/b", "a/b", "b"),
        ("a\\", "a\\", "a"),
        (r"\~x", "~x", "x"),
        (r"\!x", "!x", "x"),
        (r"\\", "\\", "\\\\"),
    ],
)
def test_a_backslash_takes_the_magic_away(pattern: str, matching: str, others: str) -> None:
    """An escaped character is itself; a backslash with nothing behind it, too."""
    check(pattern, matching, others)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.{ts,tsx}", "a.ts x/a.tsx", "a.js ts"),
        ("{src,lib}/**", "src/a lib/x/y", "src lib x/src/a"),
        ("src/{a/,}b", "src/a/b src/b", "b src/a"),
        ("{a,{b,c{d,e}}}", "a b cd ce", "c d e"),
        ("{*.py,docs/*.md}", "a.py x/a.py docs/a.md", "x/docs/a.md a.md"),
        ("src{,/**}", "src x/src src/a src/x/y", "x/src/a"),
        ("{a,}", "a x/a", "b -"),
        ("{}", "{}", "a"),
        ("{a}", "{a}", "a"),
        ("x{a}y{b,c}", "x{a}yb x{a}yc", "xayb"),
        ("{{a,b}}", "{a} {b}", "a"),
        ("{a,b", "{a,b", "a b"),
        ("a,b}", "a,b}", "a b"),
        ("{{a,b}", "{a {b", "a"),
        ("{a,b}}", "a} b}", "a"),
        ("{a,{b,c}", "{a,b {a,c", "a"),
        ("{[,],x}", ", x", "["),
        ("[{,}]", "{ , }", "a"),
        ("{**/,}x", "x a/x a/b/x", "y"),
        ("{1..3}", "{1..3}", "1 2"),
        ("${a,b}", "$a $b", "a"),
    ],
)
def test_braces_mean_the_set_of_what_they_expand_to(pattern: str, matching: str, others: str) -> None:
    """Groups nest, may hold `/` and be partly empty; without comma or partner a brace is plain text."""
    check(pattern, matching, others)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*", ".hidden x/.h a", "-"),
        (".github/workflows/*.yml", ".github/workflows/a.yml", "github/workflows/a.yml"),
        ("**/.ssh/**", ".ssh/id x/.ssh/id", ".ssh"),
        ("src..old/*", "src..old/a", "src/a"),
        ("a..b", "a..b", "a"),
        ("...", "...", "a"),
        ("a~", "a~", "a"),
        ("x/~y", "x/~y", "y"),
        ("./~y", "~y", "x/~y"),
        ("!x", "!x y/!x", "x"),
    ],
)
def test_dots_and_tildes_elsewhere_are_ordinary(pattern: str, matching: str, others: str) -> None:
    """A leading dot is not special; `..` in a longer name and `~` behind the start are only characters."""
    check(pattern, matching, others)


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("", "empty"),
        (".", "empty"),
        ("./", "empty"),
        ("{,}", "empty"),
        ("/", "absolute"),
        ("/etc/*", "absolute"),
        ("//host/x", "absolute"),
        ("{a,/b}", "absolute"),
        ("{a,}/b", "absolute"),
        (r"\/a", "absolute"),
        ("..", "dotdot"),
        ("a/../b", "dotdot"),
        ("a/..", "dotdot"),
        ("../*.py", "dotdot"),
        ("a/{..,b}/c", "dotdot"),
        ("a/{.,x}./c", "dotdot"),
        (r"a/\.\./c", "dotdot"),
        ("**/..", "dotdot"),
        ("~", "home"),
        ("~/x", "home"),
        ("~bob/x", "home"),
        ("{~,a}/x", "home"),
        ("a" * (MAX_CHARACTERS + 1), "too_long"),
        ("a/" * (MAX_COMPONENTS + 1), "too_long"),
        ("{a,b}" * 10, "too_many_alternatives"),
        ("{a,b}" * 9 + "x" * 1000, "too_many_alternatives"),
    ],
)
def test_what_is_refused_has_a_code_and_a_sentence(pattern: str, code: str) -> None:
    """Refusals are a closed set of codes; the message is for people and holds nothing of the pattern."""
    with pytest.raises(GlobRefused) as refusal:
        compile_glob(pattern)
    assert refusal.value.code == code
    assert refusal.value.message == str(refusal.value)
    assert refusal.value.message.endswith(".")
    assert len(pattern) < 5 or pattern not in refusal.value.message


@pytest.mark.parametrize(
    "pattern", ["a" * MAX_CHARACTERS, "a/" * MAX_COMPONENTS, "{a,b}" * 9, "{" + "a," * 999 + "b}"]
)
def test_the_bounds_themselves_are_allowed(pattern: str) -> None:
    """A pattern exactly at a bound is taken: 4096 characters, 256 components, up to 1000 alternatives."""
    assert compile_glob(pattern).pattern == pattern


def test_one_alternative_more_is_refused() -> None:
    """1000 alternatives pass, 1001 do not, whether listed or multiplied."""
    names = [str(number) for number in range(MAX_ALTERNATIVES + 1)]
    assert compile_glob("{" + ",".join(names[:-1]) + "}").matches((names[-2],))
    for pattern in ("{" + ",".join(names) + "}", "{" + ",".join(names[:501]) + "}{a,b}"):
        with pytest.raises(GlobRefused, match="too many"):
            compile_glob(pattern)


# --- names that look like globs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "literal", "matching", "others"),
    [
        ("app/[id]/page.tsx", "app/[id]/page.tsx", "app/[id]/page.tsx app/i/page.tsx", "app/x/page.tsx"),
        ("./app/[id]/", "app/[id]", "app/[id] app/i", "x/app/[id] app/[id]/x"),
        ("[...slug].tsx", "[...slug].tsx", "[...slug].tsx x/[...slug].tsx s.tsx", "slug.tsx"),
        ("{a,b}.txt", "{a,b}.txt", "{a,b}.txt a.txt b.txt", "c.txt"),
        ("a[1].*", "a[1].*", "a1.txt a[1].*", "a[1].txt"),
        ("*.py", None, "a.py", "a"),
        ("src/**/?.py", None, "src/a.py src/**/?.py", "a"),
        (r"\[id]/[ab]", None, "[id]/a", "[id]/[ab]"),
        ("{a}", None, "{a}", "a"),
        ("plain/[", None, "plain/[", "plain"),
    ],
)
def test_a_path_that_the_pattern_spells_is_found(
    pattern: str, literal: str | None, matching: str, others: str
) -> None:
    """When a name holds `[` and that very path exists, it is found, unless the pattern escapes something."""
    check(pattern, matching, others)
    glob = compile_glob(pattern)
    assert glob.literal_alternative == (None if literal is None else parts(literal))
    for path in map(parts, matching.split()):
        assert all(glob.may_match_below(path[:depth]) for depth in range(len(path)))


# --- prefixes and pruning ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "prefix", "caseless"),
    [
        ("src/**/*.py", "src", ""),
        ("src/a/*.py", "src/a", ""),
        ("src/a.py", "src/a.py", ""),
        ("src/**", "src", ""),
        ("*.py", "", ""),
        ("a.py", "", ""),
        ("./a.py", "a.py", ""),
        ("src/{a,b}/c", "src", ""),
        ("src/{a/b,a/c}", "src", ""),
        ("app/[id]/x", "app", ""),
        (r"\[1]/*", "[1]", "[1]"),
        ("2024/01/logs/*", "2024/01/logs", "2024/01"),
        ("2024/é/*", "2024/é", "2024"),
        ("文/*", "文", "文"),
        ("{src/a,src}", "", ""),
    ],
)
def test_every_match_begins_with_the_literal_prefix(pattern: str, prefix: str, caseless: str) -> None:
    """The prefix holds no magic; without regard to case it ends before the first cased letter."""
    assert compile_glob(pattern).literal_prefix == parts(prefix)
    assert compile_glob(pattern, case_sensitive=False).literal_prefix == parts(caseless)


@pytest.mark.parametrize(
    ("pattern", "entered", "pruned"),
    [
        ("*.py", "- a a/b", ""),
        ("src/*.py", "- src", "a src/x lib/src"),
        ("src/**/*.py", "- src src/x src/x/y", "a a/src"),
        ("src/a/b", "- src src/a", "src/a/b src/b a"),
        ("a/*/c/**", "- a a/x a/x/c a/x/c/d", "b a/x/y"),
        ("**/x/*.py", "- a a/b", ""),
        ("{src,lib}/x/*.py", "- src lib lib/x", "x src/y src/x/z"),
        ("a/[b]/c", "- a a/b a/[b]", "a/c b a/b/c a/[b]/c"),
        ("a", "- x", ""),
        ("./a", "-", "a x"),
    ],
)
def test_folders_without_matches_are_pruned(pattern: str, entered: str, pruned: str) -> None:
    """may_match_below is False for a folder in which nothing can match, and for no other."""
    glob = compile_glob(pattern)
    assert [path for path in entered.split() if not glob.may_match_below(parts(path.replace("-", "")))] == []
    assert [path for path in pruned.split() if glob.may_match_below(parts(path))] == []


@pytest.mark.parametrize(
    ("pattern", "covered", "others"),
    [
        ("**", "- a", ""),
        ("vendor/**", "vendor vendor/a", "- a"),
        ("vendor", "", "- vendor"),
        ("vendor/*", "", "- vendor vendor/a"),
        ("**/x/**", "x a/x a/x/b", "- a"),
        ("**/*/x", "", "- a a/x"),
        ("**/x/**/*.py", "", "x"),
        ("{a,b/c}/**", "a b/c", "- b"),
        ("a/**/{*,x}", "a a/b", "-"),
    ],
)
def test_a_folder_is_covered_by_all_that_is_below_it(pattern: str, covered: str, others: str) -> None:
    """A folder is covered if every path inside matches, however deep; `-` is the start folder."""
    glob = compile_glob(pattern)
    found = {path: glob.covers(parts(path.replace("-", ""))) for path in f"{covered} {others}".split()}
    assert found == dict.fromkeys(covered.split(), True) | dict.fromkeys(others.split(), False)


# --- filters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "accepted", "refused"),
    [
        ([], "a x/a", ""),
        (["*.py"], "a.py x/a.py", "a x/a"),
        (["*.py", "*.md"], "a.py a.md", "a.txt"),
        (["!*.py"], "a x/a", "a.py x/a.py"),
        (["*.py", "!test_*"], "a.py x/a.py", "test_a.py x/test_a.py a.md"),
        (["!test_*", "*.py"], "a.py", "test_a.py a.md"),
        (["!vendor"], "a vendors/a", "vendor vendor/a x/vendor/y/a"),
        (["!vendor/"], "a", "vendor vendor/a x/vendor/y/a"),
        (["!vendor/**"], "a vendor x/vendor/a", "vendor/a vendor/x/a"),
        (["!./vendor"], "x/vendor/a", "vendor/a"),
        (["*.py", "!{a,b}/**"], "c/x.py x.py", "a/x.py b/y/x.py"),
        (["\\!x"], "!x", "x"),
        (["!!x"], "x", "!x"),
    ],
)
def test_a_filter_takes_includes_less_excludes(patterns: list[str], accepted: str, refused: str) -> None:
    """An exclude wins, wherever it stands, and an excluded folder takes along what is in it."""
    chosen = compile_filter(patterns)
    assert [path for path in accepted.split() if not chosen.accepts(parts(path))] == []
    assert [path for path in refused.split() if chosen.accepts(parts(path))] == []


def test_a_filter_prunes_excluded_folders() -> None:
    """A folder excluded by name, by path or by all that is below it is not entered; nor one without includes."""
    chosen = compile_filter(["src/**/*.py", "!vendor", "!src/gen/**", "!src/x/*"])
    assert not chosen.excludes_folder(())
    assert chosen.excludes_folder(("src", "vendor"))
    assert chosen.excludes_folder(("src", "vendor", "deep"))
    assert chosen.excludes_folder(("src", "gen"))
    assert chosen.excludes_folder(("src", "gen", "deep"))
    assert not chosen.excludes_folder(("src", "x"))
    assert chosen.may_accept_below(())
    assert chosen.may_accept_below(("src", "ok"))
    assert not chosen.may_accept_below(("src", "gen"))
    assert not chosen.may_accept_below(("lib",))
    assert compile_filter(["!**"]).excludes_folder(())


def test_only_a_filter_negates() -> None:
    """`!` is an ordinary character for glob and an exclude in a filter; the globs say which they are."""
    assert not compile_glob("!x").negated
    chosen = compile_filter(["!x", "y"])
    assert [glob.pattern for glob in chosen.excludes if glob.negated] == ["!x"]
    assert [glob.pattern for glob in chosen.includes if not glob.negated] == ["y"]
    for alone in ("!", "!/x", "!../x", "!~"):
        with pytest.raises(GlobRefused):
            compile_filter([alone])


def test_a_glob_is_a_value() -> None:
    """Two globs of the same text and case are equal; none can be changed."""
    assert compile_glob("a*") == compile_glob("a*") != compile_glob("a*", case_sensitive=False)
    assert len({compile_glob("a*"), compile_glob("a*")}) == 1
    with pytest.raises(AttributeError):
        compile_glob("a*").pattern = "b"  # type: ignore[misc]


# --- absolute patterns ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "start", "wanted"),
    [
        ("*.py", "/mnt/ws", "*.py"),
        ("src/*.py", "/mnt/ws", "src/*.py"),
        ("/mnt/ws/*.py", "/mnt/ws", "./*.py"),
        ("/mnt/ws/src/**/*.py", "/mnt/ws/", "./src/**/*.py"),
        ("/mnt//ws/./a", "/mnt/ws", "./a"),
        ("/a/b", "/", "./a/b"),
        ("/mnt/[x]/a", "/mnt/[x]", "./a"),
        (r"/mnt/\[x\]/a", "/mnt/[x]", "./a"),
        ("/mnt/ws/..old/a", "/mnt/ws", "./..old/a"),
    ],
)
def test_an_absolute_pattern_below_the_start_is_rebased(pattern: str, start: str, wanted: str) -> None:
    """Re-basing cuts the start off and keeps the pattern anchored; a relative pattern is not touched."""
    assert rebase(pattern, start) == wanted
    compile_glob(wanted)


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("/etc/passwd", "absolute"),
        ("/mnt/ws2/a", "absolute"),
        ("/mnt", "absolute"),
        ("/mnt/*/a", "absolute"),
        ("/**/*.py", "absolute"),
        ("//mnt/ws/a", "absolute"),
        ("/mnt/ws", "empty"),
        ("/mnt/ws/", "empty"),
        ("/mnt/ws/../x", "dotdot"),
        ("/mnt/ws/a/../../../x", "dotdot"),
        ("~/x", "home"),
    ],
)
def test_an_absolute_pattern_elsewhere_is_refused(pattern: str, code: str) -> None:
    """Only what lies below the start, component by component, can be re-based."""
    with pytest.raises(GlobRefused) as refusal:
        rebase(pattern, "/mnt/ws")
    assert refusal.value.code == code


# --- letters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.PY", "a.py A.Py", "a.pyc"),
        ("src/*", "SRC/a Src/b", "lib/a"),
        ("[a-c]", "B c", "d D"),
        ("[A-C]", "b C", "d D"),
        ("[!a]", "b", "a A"),
        ("É", "é É", "e"),
        ("σ", "ς Σ", "s"),
        ("[σ]", "ς Σ", "s"),
        ("ß", "ß ẞ", "ss"),
        ("straße", "STRAẞE", "strasse"),
        ("k", "K \u212a", "x"),
        ("[\u212a]", "k K", "x"),
        ("[a-z]", "\u212a", "1"),
        ("İ", "İ", "i"),
        ("\udce9", "\udce9", "\udcc9"),
    ],
)
def test_case_folds_character_by_character(pattern: str, matching: str, others: str) -> None:
    """Without regard to case, characters are the same if their one-character folding is; `ß` is not `ss`."""
    glob = compile_glob(pattern, case_sensitive=False)
    assert [path for path in matching.split() if not glob.matches(parts(path))] == []
    assert [path for path in others.split() if glob.matches(parts(path))] == []


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    """Folding is per character, stable, and never changes how many there are."""
    assert len(fold_case(text)) == len(text)
    assert fold_case(text) == "".join(map(fold_case, text))


def test_what_folding_relies_on_in_unicode() -> None:
    """No character folds to nothing, and none folds to another that has no upper and lower case."""
    for char in map(chr, range(sys.maxunicode + 1)):
        folded = char.casefold()
        assert folded
        if folded != char:
            assert any(part.lower() != part.upper() for part in fold_case(char)), ascii(char)


def test_undecodable_bytes_are_characters() -> None:
    """A byte that is no UTF-8 arrives as a surrogate: `?` and `*` match it, and it matches itself."""
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    for pattern in ("caf?.txt", "*.txt", "caf*", "[a-c]??*.txt", name, "*" + name[3:], "caf[!a]*"):
        assert compile_glob(pattern).matches((name,)), ascii(pattern)
        assert compile_glob(pattern, case_sensitive=False).matches((name,)), ascii(pattern)
    assert not compile_glob("caf??.txt").matches((name,))


# --- issue rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        pytest.param("src/**/*.py", "src/app/main.py", "app/main.py", id="deepagents-3922"),
        pytest.param("**/*.py", "src/app/main.py main.py", "x", id="deepagents-1348"),
        pytest.param("*.py", "src/app/main.py main.py", "x", id="deepagents-3936"),
        pytest.param("src/*.js", "src/a.js", "other/b.js", id="deer-flow-4168"),
        pytest.param("docs/*.md", "docs/a.md", "x/docs/a.md", id="deepagents-3454"),
        pytest.param(".github/workflows/*.yml", ".github/workflows/a.yml", "a.yml", id="claude-code-33999"),
        pytest.param("src/lib/*.ts", "src/lib/a.ts", "a.ts", id="claude-code-47042"),
        pytest.param("*.py", "a.py", "a.pyc x.py.bak", id="mcp-servers-735"),
        pytest.param("src/x", "src/x", "x", id="fd-1873"),
        pytest.param("src/**/*.py", "src/x.py src/a/b/y.py", "x.py", id="deer-flow-rfc-shape"),
        pytest.param("*.{py,txt}", "a.py a.txt", "a.md", id="deer-flow-braces"),
        pytest.param("**/src/**/*.ts", "src/a.ts", "a.ts", id="deer-flow-inner-double-star"),
        pytest.param("**/**/*.py", "a.py", "a", id="deer-flow-two-double-stars"),
    ],
)
def test_what_went_wrong_elsewhere(pattern: str, matching: str, others: str) -> None:
    """Shapes on which other search tools gave wrong answers, with the right ones."""
    check(pattern, matching, others)


# --- against a reference that matches trees, not text ------------------------------------------------------

# A generated pattern is a tree; its text is made from the tree, and the reference never reads that text.
Item: TypeAlias = tuple[Any, ...]
ALPHABET = "ab.-]é\udce9"
SPECIAL = "\\*?[]{},!^-~/"


def class_text(negated: bool, members: Sequence[tuple[str, str]]) -> str:
    quoted = [
        "-".join("\\" + end if end in "]\\-!^[" else end for end in dict.fromkeys(pair)) for pair in members
    ]
    return "[" + ("!" if negated else "") + "".join(quoted) + "]"


def text_of(items: Sequence[Item]) -> str:
    text = ""
    for kind, *rest in items:
        if kind == "brace":
            text += "{" + ",".join(text_of(choice) for choice in rest) + "}"
        elif kind == "class":
            text += class_text(*rest)
        elif kind == "char":
            text += "\\" + str(rest[0]) if str(rest[0]) in SPECIAL else str(rest[0])
        else:
            text += str(kind)
    return text


simple_items = st.one_of(
    st.sampled_from(ALPHABET).map(lambda char: ("char", char)),
    st.sampled_from([("*",), ("?",), ("/",), ("*",), ("/",)]),
    st.tuples(
        st.just("class"),
        st.booleans(),
        st.lists(st.tuples(*[st.sampled_from(ALPHABET)] * 2), min_size=1, max_size=3).map(tuple),
    ),
)
trees = st.lists(
    st.recursive(
        simple_items,
        lambda inner: st.lists(st.lists(inner, max_size=4), min_size=2, max_size=3).map(
            lambda choices: ("brace", *map(tuple, choices))
        ),
        max_leaves=6,
    ),
    max_size=8,
)
names = st.text("abAB.-]é\udce9[{", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
paths = st.lists(names, max_size=5).map(tuple)


def flattened(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    choices: list[list[tuple[Item, ...]]] = []
    for item in items:
        if item[0] == "brace":
            choices.append([flat for choice in item[1:] for flat in flattened(choice)])
        else:
            choices.append([(item,)])
    return [sum(chosen, ()) for chosen in product(*choices)]


def item_takes(item: Item, char: str) -> bool:
    if item[0] == "class":
        listed = any(low <= char <= high for low, high in item[2])
        return listed is not item[1]
    return item[0] == "?" or item == ("char", char)


def name_fits(items: tuple[Item, ...], name: str) -> bool:
    if not items:
        return not name
    if items[0] == ("*",):
        return any(name_fits(items[1:], name[skip:]) for skip in range(len(name) + 1))
    return bool(name) and item_takes(items[0], name[0]) and name_fits(items[1:], name[1:])


def path_fits(components: Sequence[tuple[Item, ...]], path: tuple[str, ...]) -> bool:
    if not components:
        return not path
    if components[0] == (("*",), ("*",)):
        # As the last component it needs one name at least.
        least = 0 if components[1:] else 1
        return any(path_fits(components[1:], path[skip:]) for skip in range(least, len(path) + 1))
    return bool(path) and name_fits(components[0], path[0]) and path_fits(components[1:], path[1:])


def components_of(flat: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    components: list[tuple[Item, ...]] = [()]
    for item in flat:
        if item == ("/",):
            components.append(())
        else:
            components[-1] += (item,)
    return components


def reference(items: Sequence[Item], path: tuple[str, ...]) -> bool | None:
    """What the tree matches; None if it has to be refused."""
    wanted: list[bool] = []
    for flat in flattened(items):
        while flat and flat[-1] == ("/",) and flat != (("/",),):
            flat = flat[:-1]
        components = components_of(flat)
        if components[0] == () and len(components) > 1:
            return None
        kept = [part for part in components if part not in ((), (("char", "."),))]
        if (("char", "."), ("char", ".")) in kept:
            return None
        if kept:
            span: tuple[Item, ...] = (("*",), ("*",))
            # Spans in a row are one.
            chain = [span] * (len(components) == 1) + kept
            chain = [
                part for at, part in enumerate(chain) if part != span or chain[at + 1 : at + 2] != [span]
            ]
            wanted.append(path_fits(chain, path))
    if not wanted:
        return None
    text = text_of(items)
    if "\\" not in text and ("[" in text or "{" in text):
        spelt = tuple(part for part in text.split("/") if part not in ("", "."))
        wanted.append(path == spelt or (path[-1:] == spelt and "/" not in text.rstrip("/")))
    return any(wanted)


@given(trees, st.lists(paths, min_size=1, max_size=6))
@example([("*",), ("*",)], [()])
def test_patterns_mean_what_their_tree_means(items: list[Item], tried: list[tuple[str, ...]]) -> None:
    """Reading, expanding and matching together agree with a reference that works on the tree of the pattern."""
    assume(len(flattened(items)) <= 50)
    try:
        glob = compile_glob(text_of(items))
    except GlobRefused:
        assert reference(items, ()) is None
        return
    for path in tried:
        assert glob.matches(path) is reference(items, path), (glob.pattern, path)


# --- against a reference that reads raw text ---------------------------------------------------------------


@cache
def raw_fits(pattern: str, name: str) -> bool:
    """One component without braces, character by character, by the rules and nothing else."""
    if not pattern:
        return not name
    head, rest = pattern[0], pattern[1:]
    if head == "*":
        return raw_fits(rest, name) or (bool(name) and raw_fits(pattern, name[1:]))
    if not name:
        return False
    if head == "?":
        return raw_fits(rest, name[1:])
    if head == "[":
        members, negated, behind = raw_class(rest)
        if behind is not None:
            return (name[0] in members) is not negated and raw_fits(behind, name[1:])
    if head == "\\" and rest:
        head, rest = rest[0], rest[1:]
    return head == name[0] and raw_fits(rest, name[1:])


def raw_class(text: str) -> tuple[set[str], bool, str | None]:
    """The members (among the few characters that tests use), the negation, and what stands behind the `]`."""
    negated = text[:1] in ("!", "^") and text != ""
    text = text[1:] if negated else text
    ends: list[tuple[str, bool]] = []
    at = 0
    while not (text[at : at + 1] == "]" and at > 0):
        if at >= len(text):
            return set(), False, None
        escaped = text[at] == "\\" and at + 1 < len(text)
        ends.append((text[at + escaped], escaped))
        at += 1 + escaped
    members: set[str] = set()
    while ends:
        low = ends.pop(0)[0]
        if len(ends) >= 2 and ends[0] == ("-", False):
            high = ends[1][0]
            ends = ends[2:]
            members |= {char for char in map(chr, range(128)) if low <= char <= high}
        else:
            members.add(low)
    return members, negated, text[at + 1 :]


@given(
    st.text("ab*?[]!^-\\", min_size=1, max_size=10), st.lists(st.text("ab*?[]!^-\\", min_size=1, max_size=6))
)
@example("[a-]b]", ["ab]", "-b]"])
def test_raw_components_mean_what_the_rules_say(pattern: str, tried: list[str]) -> None:
    """Any text without `/` and braces, well formed or not, matches what a character-by-character reading does."""
    glob = compile_glob("./" + pattern)
    for name in [*tried, pattern]:
        span = pattern == "**"
        spelt = name == pattern and "\\" not in pattern and "[" in pattern
        assert glob.matches((name,)) is (span or spelt or raw_fits(pattern, name)), name


@given(st.text("ab*?[]!-", min_size=1, max_size=10), st.lists(st.text("ab*?[]!-", min_size=1, max_size=6)))
def test_components_mean_what_fnmatch_says(pattern: str, tried: list[str]) -> None:
    """Without escapes, `^` and braces, a component is what the standard library's fnmatch takes it for."""
    glob = compile_glob(pattern)
    for name in tried:
        assert glob.matches((name,)) is (name == pattern or fnmatch.fnmatchcase(name, pattern)), name


@given(st.text("ab*?[]{},!^-/.~\\", max_size=30), st.lists(paths, max_size=4), st.booleans())
def test_any_text_compiles_or_is_refused(pattern: str, tried: list[tuple[str, ...]], sensitive: bool) -> None:
    """No text leads to another error than GlobRefused, while compiling or while matching."""
    try:
        glob = compile_glob(pattern, case_sensitive=sensitive)
    except GlobRefused:
        return
    for path in tried:
        glob.matches(path)
        glob.may_match_below(path)


# --- what the walk relies on ------------------------------------------------------------------------------

# Short pieces that often match each other, so that the rules below are not met by chance alone.
piece_texts = st.sampled_from(
    [
        "**",
        "**",
        "*",
        "a",
        "b",
        "a*",
        "*a",
        "*a*",
        "a*b",
        "?",
        "[ab]",
        "{a,b}",
        "{a,*b}",
        "{a/b,b}",
        "{,a/}b",
        ".a",
        "1",
    ]
)
patterns = st.builds(
    lambda pieces, head: head + "/".join(pieces),
    st.lists(piece_texts, min_size=1, max_size=5),
    st.sampled_from(["", "./"]),
)
short_paths = st.lists(
    st.sampled_from(["a", "b", "ab", "ba", "aab", "c", ".a", "A", "1", "[ab]"]), max_size=5
).map(tuple)


def compiled(pattern: str, sensitive: bool = True) -> Glob:
    try:
        return compile_glob(pattern, case_sensitive=sensitive)
    except GlobRefused:
        assume(False)
        raise


@given(patterns, short_paths, st.booleans())
def test_pruning_never_loses_a_match(pattern: str, path: tuple[str, ...], sensitive: bool) -> None:
    """Above every match, each folder may match below, and the match begins with the literal prefix."""
    glob = compiled(pattern, sensitive)
    if glob.matches(path):
        assert all(glob.may_match_below(path[:depth]) for depth in range(len(path)))
        assert path[: len(glob.literal_prefix)] == glob.literal_prefix


@given(patterns, short_paths, short_paths)
def test_a_covered_folder_matches_throughout(
    pattern: str, folder: tuple[str, ...], rest: tuple[str, ...]
) -> None:
    """If a glob covers a folder, every path inside matches."""
    glob = compiled(pattern)
    if glob.covers(folder) and rest:
        assert glob.matches(folder + rest)


@given(st.lists(patterns, max_size=2), st.lists(patterns, max_size=2), short_paths)
def test_a_filter_prunes_only_what_it_refuses(
    includes: list[str], excludes: list[str], path: tuple[str, ...]
) -> None:
    """An accepted path has no excluded folder above it, and each folder above it may be entered."""
    try:
        chosen = compile_filter(includes + ["!" + text for text in excludes])
    except GlobRefused:
        assume(False)
        raise
    above = [path[:depth] for depth in range(len(path))]
    if chosen.accepts(path):
        assert all(chosen.may_accept_below(folder) and not chosen.excludes_folder(folder) for folder in above)
    wanted = not includes or any(compile_glob(text).matches(path) for text in includes)
    denied = any(compile_glob(text).matches(part) for text in excludes for part in [*above, path])
    assert chosen.accepts(path) is (wanted and not denied)


@given(patterns, short_paths)
def test_ignoring_case_is_matching_in_lower_case(pattern: str, path: tuple[str, ...]) -> None:
    """For letters of ASCII, a match without regard to case is one in lower case; and it loses no other match."""
    lower = tuple(name.lower() for name in path)
    assert compiled(pattern, False).matches(path) is compiled(pattern.lower()).matches(lower)
    assert compiled(pattern, False).matches(path) or not compiled(pattern).matches(path)


# --- fast ways and general ways ---------------------------------------------------------------------------

a_or_b = CharClass(frozenset("ab"), (), False)
name_pieces = st.sampled_from(["a", "b", "A", Wild.STAR, Wild.STAR, Wild.ANY, a_or_b])
name_patterns = st.lists(name_pieces, min_size=1, max_size=6).map(tuple)


@given(
    st.lists(name_patterns, min_size=1, max_size=12),
    st.lists(st.text("abAB", min_size=1, max_size=6)),
    st.booleans(),
)
def test_the_fast_tests_of_names_equal_the_machine(
    alternatives: list[Name], tried: list[str], sensitive: bool
) -> None:
    """Tests by str's methods decide exactly as the machine for any names, whatever their shape."""
    fold = keep_case if sensitive else fold_case
    fast, general = name_test(frozenset(alternatives), fold), NameMachine(alternatives, fold)
    for name in tried:
        assert fast(name) is general(name), name


@given(patterns, st.lists(short_paths, max_size=8))
def test_the_fast_ways_through_paths_equal_the_machine(pattern: str, tried: list[tuple[str, ...]]) -> None:
    """Merging chains and the short ways for common shapes change no answer of the path machine."""
    glob = compiled(pattern)
    chains = read_glob(pattern).chains
    alone = [merge_chains([chain])[0] for chain in chains]
    for general in (PathMachine(merge_chains(chains), keep_case), PathMachine(alone, keep_case)):
        for path in tried:
            assert glob.matches(path) is general.matches(path), path
            assert glob.may_match_below(path) is general.may_match_below(path), path
            assert glob.covers(path) is general.covers(path), path


def test_what_a_machine_remembers_is_bounded() -> None:
    """Names with ever new characters neither fill the memory nor change the answers."""
    machine = NameMachine([(Wild.ANY, Wild.STAR, "x", Wild.ANY)], keep_case)
    for code in range(0x4E00, 0x4E00 + 3 * REMEMBERED_CHARACTERS):
        assert machine(chr(code) + "xx")
        assert not machine(chr(code) + "y")
    assert len(machine._moves) <= REMEMBERED_CHARACTERS


# --- bombs ------------------------------------------------------------------------------------------------


def steps(action: Callable[[], object]) -> int:
    """How many lines of Python ran: a count that does not depend on the machine."""
    count = 0

    def tracer(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "pattern",
    [
        "*****a*****",
        "a*" * 1000 + "b",
        "*a" * 1000 + "b",
        "?*" * 1000,
        "[ab]*" * 500 + "c",
        "*[!b]" * 500 + "c",
        "{a*,*a}" * 9 + "b",
        "{a*a*a*b,*a*a*c}*",
    ],
)
def test_a_star_bomb_costs_a_step_a_character(pattern: str) -> None:
    """The steps for a name grow with its length alone, however many stars the pattern has."""
    glob = compile_glob(pattern)

    def cost(length: int) -> int:
        # Surrounding letters keep every state alive to the end.
        return steps(lambda: glob.matches(("a" * length,)))

    cost(10)
    assert cost(4000) <= 2.2 * cost(2000) + 50
    assert cost(4000) <= 10 * 4000


@pytest.mark.parametrize(
    "pattern",
    [
        "**/**/**/**/x",
        "**/a/" * 60 + "b",
        "a/**/" * 60 + "b",
        "**/*/" * 60 + "b",
        "{**/a,a/**}/" * 6 + "b",
        "**/a*a*a*b/**/c",
    ],
)
def test_a_double_star_bomb_costs_a_step_a_folder(pattern: str) -> None:
    """The steps for a path grow with its depth alone, however many `**` the pattern has."""
    glob = compile_glob(pattern)

    def cost(depth: int) -> int:
        return steps(lambda: (glob.matches(("aa", "a") * depth), glob.may_match_below(("a",) * depth)))

    cost(10)
    assert cost(800) <= 2.2 * cost(400) + 50


@pytest.mark.parametrize(
    "bomb",
    [
        lambda size: "[" * size,
        lambda size: "[!" * size,
        lambda size: "[a-" * size,
        lambda size: "{" * size,
        lambda size: "}" * size,
        lambda size: "{a," * size,
        lambda size: "{}" * size,
        lambda size: "{a}" * size,
        lambda size: "*" * size,
        lambda size: "*a" * size,
        lambda size: "?[a-b]" * size,
        lambda size: "\\" * size,
        lambda size: "{a," * 9 + "b" * size + "}" * 9,
    ],
)
def test_reading_grows_with_the_text(bomb: Callable[[int], str]) -> None:
    """Twice the text costs twice the steps, for brackets and braces that never close, too."""
    compile_glob(bomb(10))
    small, large = (steps(lambda size=size: compile_glob(bomb(size))) for size in (300, 600))  # type: ignore[misc]
    assert large <= 2.2 * small + 50


@pytest.mark.parametrize(
    "bomb",
    [
        "{a,b}" * 800,
        "{a,b,c,d,e,f,g,h,i,j}" * 190,
        "{a,b}/" * 680,
        "{a,{b,{c,{d,e}}}}" * 240,
        "{a,b}" * 9 + "x" * 3000,
        "{" + "a," * 2000 + "b}",
        "{a," * 1000 + "b" + "}" * 1000,
        "{{a,b}{c,d}{e,f},{g,h}}" * 170,
    ],
)
def test_a_brace_bomb_is_refused_before_it_goes_off(bomb: str) -> None:
    """A refusal takes some steps for each character of the pattern, and none for the alternatives it would have."""
    assert len(bomb) <= MAX_CHARACTERS

    def refuse() -> None:
        with pytest.raises(GlobRefused, match="too many patterns"):
            compile_glob(bomb)

    assert steps(refuse) <= 60 * len(bomb) + 5000
