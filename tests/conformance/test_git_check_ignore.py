"""Ignore files are decided exactly as git decides them, with `git check-ignore` as the judge (contract 6).

Every example is a real tree on disk, with nested ignore files, `info/exclude` and nested repositories. The
engine walks a description of the same tree. Written against git 2.39.5; rules on which versions of git differ
are left out (`differs`).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grille.worker.ignore.rules import parse_rules
from grille.worker.ignore.stack import EMPTY, IgnoreStack, Source

Where = tuple[bytes, ...]  # a place in the tree, by components

GIT_ENVIRONMENT: Final = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "LC_ALL": "C",
}


def quick(examples: int) -> settings:
    """A git process an example: what counts is their number, not the time of one."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=examples, deadline=None, suppress_health_check=checks)


@dataclass
class Tree:
    """A repository: folders, files and links by place; ignore files by folder; repositories by top folder."""

    folders: set[Where] = field(default_factory=lambda: {()})
    files: set[Where] = field(default_factory=set)
    links: set[Where] = field(default_factory=set)
    gitignores: dict[Where, bytes] = field(default_factory=dict)
    excludes: dict[Where, bytes] = field(default_factory=lambda: {(): b""})

    def add_file(self, place: Where) -> None:
        """Adds a file and the folders above it, unless something else stands there."""
        above = [place[:depth] for depth in range(1, len(place))]
        if place not in self.folders and not (self.files | self.links) & set(above):
            self.folders.update(above)
            self.files.add(place)

    def repository_of(self, place: Where) -> Where:
        """The top of the repository that decides about an entry."""
        return max(
            (top for top in self.excludes if top == place[: len(top)] and len(top) < len(place)), key=len
        )


def write(tree: Tree, root: Path) -> None:
    at = os.fsencode(root)
    for place in sorted(tree.folders):
        os.makedirs(os.path.join(at, *place), exist_ok=True)
    for place in tree.files:
        Path(os.fsdecode(os.path.join(at, *place))).touch()
    for place in tree.links:
        os.symlink(b".", os.path.join(at, *place))
    for place, data in tree.gitignores.items():
        Path(os.fsdecode(os.path.join(at, *place, b".gitignore"))).write_bytes(data)
    for top, data in tree.excludes.items():
        make_repository(Path(os.fsdecode(os.path.join(at, *top))), data)


def make_repository(root: Path, exclude: bytes) -> None:
    """What `git init` leaves that check-ignore needs; written by hand, since a process takes ten times as long."""
    git = root / ".git"
    for name in ("objects", "refs", "info"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tignorecase = false\n"
    )
    (git / "info" / "exclude").write_bytes(exclude)


def ask_git(root: Path, paths: list[bytes]) -> set[bytes]:
    """Those of `paths`, relative to the repository's top, that git ignores."""
    if not paths:
        return set()
    command = ["git", "-C", str(root), "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"]
    asked = b"".join(b"./%s\0" % path for path in paths)  # a bare colon in front would be magic
    run = subprocess.run(command, input=asked, capture_output=True, env=GIT_ENVIRONMENT, check=False)
    assert run.returncode in (0, 1), run.stderr
    fields = run.stdout.split(b"\0")[:-1]
    answers = list(zip(fields[0::4], fields[2::4], fields[3::4], strict=True))
    assert [path for _, _, path in answers] == [b"./" + path for path in paths]
    return {path[2:] for source, pattern, path in answers if source and not pattern.startswith(b"!")}


def git_ignored(tree: Tree, root: Path) -> set[Where]:
    """Every entry that git ignores. What lies in an ignored folder is ignored, whoever decided on the folder."""
    ignored: set[Where] = set()
    entries = sorted((tree.folders | tree.files | tree.links) - {()})
    for top in tree.excludes:
        below = [place for place in entries if tree.repository_of(place) == top]
        named = {b"/".join(place[len(top) :]): place for place in below}
        found = ask_git(Path(os.fsdecode(os.path.join(os.fsencode(root), *top))), list(named))
        ignored |= {named[path] for path in found}
    return {place for place in entries if any(place[:depth] in ignored for depth in range(1, len(place) + 1))}


def our_ignored(tree: Tree) -> set[Where]:
    """Every entry that the engine ignores, on a walk that prunes what is ignored."""
    return set(_walk(tree, (), EMPTY))


def _walk(tree: Tree, here: Where, above: IgnoreStack) -> Iterator[Where]:
    stack = above
    if here in tree.excludes:
        stack = stack.begin_repository().push(parse_rules(tree.excludes[here]), Source.EXCLUDE)
    if here in tree.gitignores:
        stack = stack.push(parse_rules(tree.gitignores[here]), Source.GITIGNORE)
    folders = children(tree.folders, here)
    others = children(tree.files | tree.links, here)
    ignored = stack.ignored_files(others) | stack.ignored_folders(folders)
    assert {name for name in others if stack.ignored(name, False)} == ignored & set(others)
    assert {name for name in folders if stack.ignored(name, True)} == ignored & set(folders)
    yield from ((*here, name) for name in ignored)
    for name in folders:
        if name not in ignored:
            yield from _walk(tree, (*here, name), stack.enter(name))
        else:
            yield from (
                place
                for place in tree.folders | tree.files | tree.links
                if place[: len(here) + 1] == (*here, name)
            )


def children(places: set[Where], here: Where) -> list[bytes]:
    return [place[-1] for place in places if place and place[:-1] == here]


def check(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(tree, Path(folder))
        assert our_ignored(tree) == git_ignored(tree, Path(folder))


# --- what the examples are made of
# -----------------------------------------------------------------------------

NAMES: Final = [
    *(b"a", b"b", b"ab", b"ba", b"abc", b"A", b"foo", b"bar", b"foo.o", b"a.b.o", b".a", b"..a", b"-", b"1"),
    *(
        b" a",
        b"a ",
        b"a  ",
        b"#a",
        b"!a",
        b"\\a",
        b"a\\",
        b"*",
        b"a*",
        b"[a]",
        b"[",
        b"]",
        b"a]",
        b"a-b",
        b":a",
    ),
    *(b"a\xff", b"\xc3\xa9", b"\xef\xbb\xbfa", b"a\tb", b"a\r", b"a\nb", b"\x01"),
]

PIECES: Final = [
    *(
        b"*",
        b"**",
        b"***",
        b"?",
        b"/",
        b"/**/",
        b"**/",
        b"/**",
        b"/*",
        b"*/",
        b"\\",
        b"\\\\",
        b"\\/",
        b"\\*",
        b"\\ ",
    ),
    *(
        b"[a]",
        b"[!a]",
        b"[^a]",
        b"[a-c]",
        b"[b-a]",
        b"[]a]",
        b"[!]a]",
        b"[]-a]",
        b"[a-]",
        b"[-a]",
        b"[\\]a]",
        b"[\\a-\\c]",
    ),
    *(
        b"[[:alpha:]]",
        b"[![:alpha:]]",
        b"[[:digit:][:space:]]",
        b"[[:nope:]]",
        b"[[:",
        b"[[:]a]",
        b"[[::]a]",
        b"[a/b]",
    ),
    *(
        b"[",
        b"[a",
        b"[!",
        b"]",
        b"[\\",
        b"a",
        b"b",
        b"foo",
        b".",
        b".o",
        b"o",
        b"-",
        b"!",
        b"#",
        b" ",
        b"  ",
        b"\t",
    ),
    *(b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3\xa9", b":"),
]

CLASSES: Final = (
    *("alnum", "alpha", "blank", "cntrl", "digit", "graph"),
    *("lower", "print", "punct", "space", "upper", "xdigit"),
)

# Before 2.52 git took `**` right behind a literal beginning for a component of its own.
DIFFERS: Final = re.compile(rb"!?/?[^*?\[\\]*[^*?\[\\/]\*\*+(?:\\?/|$)", re.DOTALL)


def differs(line: bytes) -> bool:
    """Whether versions of git differ on a rule."""
    pattern = line.partition(b"\0")[0].rstrip(b"\r ").removesuffix(b"/").removeprefix(b"\xef\xbb\xbf")
    return b"/" in pattern and DIFFERS.match(pattern) is not None


names = st.sampled_from(NAMES)
places = st.lists(names, min_size=1, max_size=4).map(tuple)
near_patterns = st.lists(names | st.sampled_from(PIECES), min_size=1, max_size=5).map(b"".join)
path_patterns = st.lists(names | st.sampled_from([b"*", b"**", b"?*", b"[ab]*"]), min_size=1, max_size=5).map(
    b"/".join
)
wild_patterns = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map(b"".join)
patterns = near_patterns | path_patterns | wild_patterns | names
lines = st.builds(
    lambda before, pattern, after: before + pattern + after,
    st.sampled_from([b"", b"", b"", b"!", b"/", b"!/", b"\\", b"#", b" "]),
    patterns,
    st.sampled_from([b"", b"", b"", b"/", b"/**", b"/*", b" ", b"\\ ", b"\r", b" \r", b"\t"]),
).filter(lambda line: not any(differs(part) for part in line.split(b"\n")))
ignore_files = st.builds(
    lambda mark, lines, end: mark + b"\n".join(lines) + end,
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
    st.lists(lines, max_size=6),
    st.sampled_from([b"\n", b"", b"\r\n", b"\r"]),
)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    tree = Tree()
    for place in draw(st.lists(places, min_size=1, max_size=12)):
        tree.add_file(place)
    folders = sorted(tree.folders)
    for place in draw(st.lists(st.sampled_from(sorted(tree.files)), max_size=2)):
        tree.files.discard(place)
        tree.links.add(place)
    for place in draw(st.lists(st.sampled_from(folders), max_size=3, unique=True)):
        tree.gitignores[place] = draw(ignore_files)
    tree.gitignores.setdefault((), draw(ignore_files))
    for place in draw(st.lists(st.sampled_from(folders), max_size=1)):
        tree.excludes[place] = draw(ignore_files)
    return tree


@quick(200)
@given(trees())
def test_random_trees_are_decided_as_git_decides(tree: Tree) -> None:
    """The verdict on every entry is git's, for any nesting of rules, folders, links and repositories."""
    check(tree)


@pytest.mark.long
@pytest.mark.timeout(1800)
@quick(10_000)
@given(trees())
def test_very_many_random_trees_are_decided_as_git_decides(tree: Tree) -> None:
    """As above, for longer."""
    check(tree)


def test_the_examples_reach_every_verdict() -> None:
    """The judge and the examples are alive: among a few random trees git ignores much and spares much."""
    seen: set[tuple[bool, bool]] = set()

    @quick(30)
    @given(trees())
    def look(tree: Tree) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write(tree, Path(folder))
            ignored = git_ignored(tree, Path(folder))
        seen.update((place in ignored, place in tree.folders) for place in (tree.folders | tree.files) - {()})

    look()
    assert seen == {(ignored, is_folder) for ignored in (False, True) for is_folder in (False, True)}


# --- many patterns against many paths: nothing is on disk but the ignore files --------------------------

POOL: Final[list[Where]] = [
    *((name,) for name in NAMES),
    *((above, name) for above in (b"a", b"foo", b"ab") for name in NAMES),
    *(
        (b"a", above, name)
        for above in (b"a", b"b", b"foo")
        for name in (b"a", b"b", b"foo", b"foo.o", b"ab")
    ),
    *((b"x", b"a", above, name) for above in (b"x", b"b") for name in (b"a", b"b", b"foo", b"abc")),
]


def ignored_by(data: bytes) -> set[Where]:
    """The places of `POOL` that one ignore file ignores; their last component is no folder."""
    top = EMPTY.push(parse_rules(data), Source.GITIGNORE)
    stacks: dict[Where, IgnoreStack | None] = {(): top}
    return {place for place in POOL if _pruned(stacks, place[:-1]) or _here(stacks, place)}


def _here(stacks: dict[Where, IgnoreStack | None], place: Where) -> bool:
    stack = stacks[place[:-1]]
    return stack is None or stack.ignored(place[-1], False)


def _pruned(stacks: dict[Where, IgnoreStack | None], folder: Where) -> bool:
    if folder not in stacks:
        above = None if _pruned(stacks, folder[:-1]) else stacks[folder[:-1]]
        stacks[folder] = None if above is None or above.ignored(folder[-1], True) else above.enter(folder[-1])
    return stacks[folder] is None


def check_patterns(files: list[bytes]) -> None:
    """Compares with git what each of some ignore files says of all of `POOL`."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_repository(root, b"")
        for number, data in enumerate(files):
            (root / f"dir{number}").mkdir()
            (root / f"dir{number}" / ".gitignore").write_bytes(data)
        asked = {
            b"dir%d/" % number + b"/".join(place): (number, place)
            for number in range(len(files))
            for place in POOL
        }
        found = {asked[path] for path in ask_git(root, list(asked))}
        for number, data in enumerate(files):
            assert (data, ignored_by(data)) == (data, {place for at, place in found if at == number})


pattern_sets = st.lists(st.lists(lines, min_size=1, max_size=2).map(b"\n".join), min_size=20, max_size=40)


@quick(30)
@given(pattern_sets)
def test_random_patterns_match_as_git_matches(files: list[bytes]) -> None:
    """Every pattern matches the paths that git's wildmatch lets it match, malformed ones included."""
    check_patterns(files)


@pytest.mark.long
@pytest.mark.timeout(1800)
@quick(2000)
@given(pattern_sets)
def test_very_many_random_patterns_match_as_git_matches(files: list[bytes]) -> None:
    """As above, for longer."""
    check_patterns(files)


@pytest.mark.parametrize("negation", [b"", b"!"])
def test_every_byte_is_in_the_classes_that_git_puts_it_in(negation: bytes) -> None:
    """`[[:alpha:]]` and its like hold the bytes that git's tables hold, for every byte a name may have."""
    bytes_in_names = [bytes([byte]) for byte in range(1, 256) if byte != ord("/")]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_repository(root, b"")
        for name in CLASSES:
            (root / name).mkdir()
            data = b"x[%s[:%s:]]\n" % (negation, name.encode())
            (root / name / ".gitignore").write_bytes(data)
            found = ask_git(root, [name.encode() + b"/x" + byte for byte in bytes_in_names])
            stack = EMPTY.push(parse_rules(data), Source.GITIGNORE)
            ours = stack.ignored_files([b"x" + byte for byte in bytes_in_names])
            assert {path.partition(b"/")[2] for path in found} == ours, name
