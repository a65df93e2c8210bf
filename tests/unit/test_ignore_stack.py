"""Which ignore file decides: nesting, negation, repositories, `.ignore` files, and bounds (contract 6)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from grille.worker.ignore import rules as rules_module
from grille.worker.ignore import stack as stack_module
from grille.worker.ignore.cache import RuleCache
from grille.worker.ignore.rules import RuleFile, parse_rules
from grille.worker.ignore.stack import EMPTY, IgnoreStack, Source

KINDS = {".gitignore": Source.GITIGNORE, ".ignore": Source.IGNORE, "exclude": Source.EXCLUDE}


def searched(
    ignore_files: Mapping[str, bytes], entries: str, *, repositories: tuple[str, ...] = ("",)
) -> list[str]:
    """Those of `entries` that a pruning walk comes to. Keys are `sub/.gitignore` and the like; a folder ends in `/`."""
    files = {tuple(path.split("/")): data for path, data in ignore_files.items()}
    tops = {tuple(top.split("/")) if top else () for top in repositories}

    def come_to(path: str) -> bool:
        *above, name = path.rstrip("/").split("/")
        stack = arrive(EMPTY, ())
        for depth, folder in enumerate(above):
            if stack.ignored(folder.encode(), True):
                return False
            stack = arrive(stack.enter(folder.encode()), tuple(above[: depth + 1]))
        return not stack.ignored(name.encode(), path.endswith("/"))

    def arrive(stack: IgnoreStack, here: tuple[str, ...]) -> IgnoreStack:
        if here in tops:
            stack = stack.begin_repository()
        for name, source in KINDS.items():
            if (*here, name) in files:
                stack = stack.push(parse_rules(files[(*here, name)]), source)
        return stack

    return [path for path in entries.split() if come_to(path)]


def test_the_last_rule_of_the_nearest_file_decides() -> None:
    """Later rules override earlier ones, nearer files outer ones; `!` takes back."""
    files = {".gitignore": b"*.log\n!keep.log\nb.txt\n", "sub/.gitignore": b"keep.log\n!a.log\n"}
    entries = "a.log keep.log b.txt sub/a.log sub/b.log sub/keep.log sub/deep/a.log sub/b.txt"
    assert searched(files, entries) == ["keep.log", "sub/a.log", "sub/deep/a.log"]


def test_nothing_below_an_ignored_folder_comes_back() -> None:
    """git cannot include again what lies in an excluded folder; a folder that is only emptied by rules it can."""
    files = {".gitignore": b"gone/\n!gone/keep\nopen/*\n!open/keep\n", "gone/.gitignore": b"!*\n"}
    assert searched(files, "gone/ gone/keep open/ open/keep open/other") == ["open/", "open/keep"]


def test_a_rule_for_folders_spares_files_and_links() -> None:
    """`x/` speaks of folders alone, at any depth."""
    assert searched({".gitignore": b"x/\n"}, "x x/ a/x a/x/ x/y") == ["x", "a/x"]


def test_info_exclude_is_the_weakest() -> None:
    """Any `.gitignore` of the repository overrides its `info/exclude`, whose rules start at the top."""
    files = {"exclude": b"*.tmp\n/top\n!a.log\n", ".gitignore": b"*.log\n", "sub/.gitignore": b"!b.tmp\n"}
    entries = "a.tmp top sub/top a.log sub/a.tmp sub/b.tmp"
    assert searched(files, entries) == ["sub/top", "sub/b.tmp"]


def test_an_ignore_file_outranks_every_gitignore() -> None:
    """`.ignore` overrides `.gitignore`, also one that is nearer: ripgrep's order, asked of ripgrep 15."""
    files = {".ignore": b"!x.log\nonly\n", ".gitignore": b"x.log\n", "sub/.gitignore": b"x.log\n!only\n"}
    assert searched(files, "x.log sub/x.log sub/only sub/y") == ["x.log", "sub/x.log", "sub/y"]
    assert searched({**files, "sub/.ignore": b"x.log\n!only\n"}, "sub/x.log sub/only") == ["sub/only"]


def test_a_repository_within_another_starts_afresh() -> None:
    """The outer repository's rules end at the inner one's top, on which they still decide; `.ignore` goes on."""
    files = {
        ".gitignore": b"*.o\n/hidden/\n",
        "exclude": b"*.a\n",
        ".ignore": b"*.secret\n",
        "in/.gitignore": b"*.x\n",
        "in/exclude": b"*.y\n",
    }
    entries = "f.o f.a in/ in/f.o in/f.a in/f.secret in/f.x in/sub/f.y hidden/ hidden/f"
    assert searched(files, entries, repositories=("", "in", "hidden")) == ["in/", "in/f.o", "in/f.a"]


def test_several_repositories_under_a_root_that_is_none() -> None:
    """Each repository's rules hold below it and nowhere else (fault H11)."""
    files = {"a/.gitignore": b"*.a\n", "b/.gitignore": b"*.b\n", "b/exclude": b"x\n"}
    entries = "f.a a/f.a a/f.b a/x b/f.a b/f.b b/x b/c/f.b"
    assert searched(files, entries, repositories=("a", "b")) == ["f.a", "a/f.b", "a/x", "b/f.a"]


def test_the_stack_knows_whether_it_is_in_a_repository() -> None:
    """Whoever reads `.gitignore` files only within repositories can tell."""
    assert not EMPTY.in_repository
    inside = EMPTY.begin_repository()
    assert inside.in_repository
    assert inside.push(parse_rules(b"/a/b\n"), Source.GITIGNORE).enter(b"a").in_repository


# --- public faults (H rows) ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "entries", "wanted"),
    [
        # H4: nested files, and those of the parents up to the top; a start in sub/ comes the same way.
        (
            {".gitignore": b"*.log\n", "sub/.gitignore": b"*.tmp\n"},
            "sub/a.log sub/a.tmp a.tmp sub/in/a.tmp sub/in/a",
            "a.tmp sub/in/a",
        ),
        # H5: looks as if it kept bin/www/index.html, and does not: bin/www itself is ignored.
        ({".gitignore": b"bin/*\n!bin/www/*\n"}, "bin/ bin/www/ bin/www/index.html", "bin/"),
        ({".gitignore": b"bin/*\n!bin/www\n"}, "bin/ bin/a bin/www/index.html", "bin/ bin/www/index.html"),
        # H7: a rule with a slash in front starts at its file's folder, from wherever the search starts.
        (
            {"a/b/.gitignore": b"/haystack\n"},
            "a/b/haystack a/haystack a/b/c/haystack",
            "a/haystack a/b/c/haystack",
        ),
        # H9: names with a dot in front are nothing special, and can be taken back.
        ({".gitignore": b".*\n!.foo\n"}, ".foo .bar a", ".foo a"),
        ({".gitignore": b".a/b\n"}, ".a/b .a/c/file", ".a/c/file"),
        # H10, H19: an ignored folder prunes all below it.
        ({".gitignore": b"node_modules/\n"}, "node_modules/e/p.json a/node_modules/x p.json", "p.json"),
        # H14: copies of the tree below a folder that the outer repository ignores.
        (
            {".gitignore": b".claude/worktrees/\n"},
            ".claude/ .claude/worktrees/x/a.py .claude/a",
            ".claude/ .claude/a",
        ),
    ],
)
def test_public_faults_do_not_happen_here(files: dict[str, bytes], entries: str, wanted: str) -> None:
    """Trees on which other tools decided wrongly, or on which users expected what git does not do."""
    repositories = ("", ".claude/worktrees/x")
    assert searched(files, entries, repositories=repositories) == wanted.split()


# --- bounds --------------------------------------------------------------------------------------------------


def test_a_file_that_is_too_long_is_cut_between_lines_and_marked() -> None:
    """Bytes beyond the bound are no rules, half a rule neither, and the file says so."""
    data = b"first\n" + b"second-and-longer\n"
    whole = parse_rules(data, max_bytes=len(data))
    assert (whole.count, whole.truncated) == (2, False)
    for bound in range(6, len(data)):
        cut = parse_rules(data, max_bytes=bound)
        assert (cut.count, cut.truncated, cut.size) == (1, True, 6)
    assert parse_rules(b"x" * 100, max_bytes=50).count == 0


def test_a_file_with_too_many_rules_is_cut_and_marked() -> None:
    """Rules beyond the bound are missing; comments and empty lines do not count."""
    data = b"# x\n\na\nb\nc\n"
    assert (parse_rules(data, max_rules=3).count, parse_rules(data, max_rules=3).truncated) == (3, False)
    cut = parse_rules(data, max_rules=2)
    assert (cut.count, cut.truncated) == (2, True)
    stack = EMPTY.push(cut, Source.GITIGNORE)
    assert stack.truncated
    assert stack.ignored_files([b"a", b"b", b"c"]) == {b"a", b"b"}
    assert stack.enter(b"x").begin_repository().truncated


@pytest.mark.parametrize(("limit", "bound"), [("MAX_RULES_IN_FORCE", 4), ("MAX_BYTES_IN_FORCE", 9)])
def test_files_that_are_too_much_together_are_left_out_and_marked(
    monkeypatch: pytest.MonkeyPatch, limit: str, bound: int
) -> None:
    """Nested ignore files cannot pile up without bound (fault H16)."""
    monkeypatch.setattr(stack_module, limit, bound)
    stack = EMPTY.push(parse_rules(b"a\nb\n"), Source.GITIGNORE).push(parse_rules(b"c\nd\n"), Source.IGNORE)
    assert not stack.truncated
    fuller = stack.push(parse_rules(b"e\n"), Source.GITIGNORE)
    assert fuller.truncated
    assert fuller.ignored_files([b"a", b"c", b"e"]) == {b"a", b"c"}


def test_the_bounds_let_a_whole_file_in() -> None:
    """One file as long as is allowed is never left out by the bound on all."""
    assert rules_module.MAX_RULES < stack_module.MAX_RULES_IN_FORCE
    assert rules_module.MAX_BYTES < stack_module.MAX_BYTES_IN_FORCE


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(range(256)) * 20,
        b"\0" * 100,
        b"[" * 5000,
        b"\\" * 5000,
        b"[[:" * 5000 + b"]",
        b"/" * 5000,
        b"*" * 5000,
    ],
)
def test_any_bytes_are_an_ignore_file(data: bytes) -> None:
    """Binary content and malformed patterns raise nothing and do not spoil the rules around them."""
    stack = EMPTY.push(parse_rules(b"before\n" + data + b"\nafter\n"), Source.GITIGNORE)
    assert {b"before", b"after"} <= stack.ignored_files([b"before", b"after"])


@pytest.mark.parametrize("depth", [3, 300])
def test_chains_of_globstars_do_not_grow_with_the_path(depth: int) -> None:
    """`a/**/a/**/...`: the places such a rule may have reached are at most its steps, however deep the path is."""
    stack = EMPTY.push(parse_rules(b"a/" + b"**/a/" * 20 + b"b\n"), Source.GITIGNORE)
    for _ in range(depth):
        stack = stack.enter(b"a")
    assert stack.ignored(b"b", False) == (depth > 20)
    assert stack.enter(b"a").ignored(b"b", False) == (depth > 20)
    (layer,) = stack._git
    assert len(layer.trail._places) <= 22


def test_stacks_are_never_changed() -> None:
    """Entering and pushing make new stacks; the old one decides as before, so that siblings do not see each other."""
    top = EMPTY.push(parse_rules(b"a/b\n"), Source.GITIGNORE)
    in_a, in_b = top.enter(b"a"), top.enter(b"b")
    in_a.push(parse_rules(b"*\n"), Source.IGNORE)
    assert (in_a.ignored(b"b", False), in_b.ignored(b"b", False), top.ignored(b"b", False)) == (
        True,
        False,
        False,
    )
    assert not EMPTY.ignored(b"a", True)


def test_a_folder_where_nothing_differs_shares_its_parents_stack() -> None:
    """The common case costs a walk no memory."""
    top = EMPTY.push(parse_rules(b"*.o\n/here\n**/x/y\n"), Source.GITIGNORE)
    below = top.enter(b"a")
    assert below.enter(b"b") is below
    assert EMPTY.enter(b"a") is EMPTY


# --- the cache -----------------------------------------------------------------------------------------------


def test_the_cache_gives_what_parsing_gives_and_gives_it_again() -> None:
    """A file's content is the key; the same content is compiled once."""
    cache = RuleCache()
    first = cache.rules_of(b"a\n!b\n")
    assert cache.rules_of(bytes(bytearray(b"a\n!b\n"))) is first
    assert (first.count, first.size) == (2, 5)


@pytest.mark.parametrize(("most_rules", "most_bytes"), [(3, 1000), (1000, 7)])
def test_the_cache_forgets_what_was_used_longest_ago(most_rules: int, most_bytes: int) -> None:
    """What is held stays within both bounds; what alone exceeds them is compiled and not held."""
    cache = RuleCache(most_rules=most_rules, most_bytes=most_bytes)
    one, two, three = (cache.rules_of(data) for data in (b"1\n", b"2\n", b"3\n"))
    assert cache.rules_of(b"1\n") is one
    four = cache.rules_of(b"4\n")  # 2 goes
    assert [cache.rules_of(data) for data in (b"1\n", b"3\n", b"4\n")] == [one, three, four]
    assert cache.rules_of(b"2\n") is not two
    assert isinstance(cache.rules_of(b"a\nb\nc\nd\n"), RuleFile)
    assert cache.rules_of(b"a\nb\nc\nd\n").count == 4
