"""Contract 3 through the API: what a glob means on a real tree, the same for the tool and for grep's filter.

The meaning of patterns in themselves is held by tests/unit/test_globs.py, ripgrep's and bash's by
test_globs_outside.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grille

Files = Mapping[str, str | bytes]
Show = Callable[..., grille.Workspace]
Plot = Callable[[Files], tuple[grille.Workspace, str, Path]]


def names(result: Any) -> list[str]:
    return [entry.path.removeprefix("/mnt/tree/") for entry in result.entries]


def planted(*paths: str) -> dict[str, str | bytes]:
    return dict.fromkeys(paths, "needle\n")


TREE = planted(
    ".github/w/a.yml",
    "README.md",
    "app/[id]/page.tsx",
    "app/i/page.tsx",
    "docs/a.md",
    "src/a.py",
    "src/x/b.txt",
    "src/x/y/a.py",
    "src..old/a.py",
    "star.txt",
    "st*r.txt",
    "z.py",
)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*.py", ["src/a.py", "src/x/y/a.py", "src..old/a.py", "z.py"]),
        ("a.*", [".github/w/a.yml", "docs/a.md", "src/a.py", "src/x/y/a.py", "src..old/a.py"]),
        ("src/*.py", ["src/a.py"]),
        ("/mnt/tree/src/*.py", ["src/a.py"]),
        ("./z.py", ["z.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"]),
        ("**/a.py", ["src/a.py", "src/x/y/a.py", "src..old/a.py"]),
        ("src/**", ["src/a.py", "src/x/b.txt", "src/x/y/a.py"]),
        ("src/?/b.txt", ["src/x/b.txt"]),
        ("[!s]*.py", ["src/a.py", "src/x/y/a.py", "src..old/a.py", "z.py"]),
        (
            "*.{py,txt}",
            ["src/a.py", "src/x/b.txt", "src/x/y/a.py", "src..old/a.py", "st*r.txt", "star.txt", "z.py"],
        ),
        ("{docs,src/{x,q}}/*", ["docs/a.md", "src/x/b.txt"]),
        (".github/w/*.yml", [".github/w/a.yml"]),
        ("*.yml", [".github/w/a.yml"]),
        ("src..old/*", ["src..old/a.py"]),
        ("app/[id]/page.tsx", ["app/[id]/page.tsx", "app/i/page.tsx"]),
        ("/mnt/tree/app/[id]/page.tsx", ["app/[id]/page.tsx", "app/i/page.tsx"]),
        ("st*r.txt", ["st*r.txt", "star.txt"]),
        ("readme.md", []),
        ("src", []),
        ("*****a*****.py", ["src/a.py", "src/x/y/a.py", "src..old/a.py"]),
    ],
)
def test_a_glob_and_the_filter_of_grep_are_one_rule(show: Show, pattern: str, wanted: list[str]) -> None:
    """Contract 3: what `glob` lists for a pattern is what grep searches under it (faults G1, G2, G4, G7, G17)."""
    workspace = show(TREE)
    assert sorted(names(workspace.glob(pattern))) == sorted(wanted)
    assert names(workspace.grep("needle", glob=pattern)) == names(workspace.glob(pattern))


PARTS = ["a", "b", "ab", "a.py", "[a]", "*", "?", "**", "a*", "*.py", "[ab]", "[!a]", "{a,b}", "{a,a.py}"]
patterns = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("/".join)
places = st.lists(st.sampled_from(["a", "b", "ab", "a.py", "[a]"]), min_size=1, max_size=3).map("/".join)


def free_of_clashes(paths: list[str]) -> list[str]:
    """Without those that would have a file as their folder."""
    return [p for p in paths if not any(other.startswith(p + "/") for other in paths)]


@given(paths=st.lists(places, max_size=8, unique=True), pattern=patterns)
@settings(max_examples=60)
def test_on_any_tree_the_two_are_one_rule(plot: Plot, paths: list[str], pattern: str) -> None:
    """Contract 3: on any tree and for any pattern, `glob` and the filter take the same, and `!` takes the rest."""
    workspace, start, _ = plot(planted(*free_of_clashes(paths)))
    listed = names(workspace.glob(pattern, start))
    everything = names(workspace.glob("**", start))
    assert names(workspace.grep("needle", start, glob=pattern)) == listed
    left = [name for name in everything if name not in listed]
    if not workspace.glob(pattern, start, include_dirs=True).totals.entries > len(listed):
        assert names(workspace.grep("needle", start, glob="!" + pattern)) == left
    else:  # an excluded folder takes with it all that lies in it
        assert set(names(workspace.grep("needle", start, glob="!" + pattern))) <= set(left)
    assert names(workspace.grep("needle", start, glob=["**", "!" + pattern])) == names(
        workspace.grep("needle", start, glob="!" + pattern)
    )


@pytest.mark.parametrize(
    ("globs", "wanted"),
    [
        ("!*.py", ["README.md", "app/i/page.tsx", "docs/a.md"]),
        ("!src", ["README.md", "app/i/page.tsx", "docs/a.md", "z.py"]),
        ("!src/", ["README.md", "app/i/page.tsx", "docs/a.md", "z.py"]),
        (["*.py", "*.md"], ["README.md", "docs/a.md", "src/a.py", "z.py"]),
        (["*.py", "!z.*"], ["src/a.py"]),
        (["!z.*", "*.py"], ["src/a.py"]),
        ("!/mnt/tree/src/**", ["README.md", "app/i/page.tsx", "docs/a.md", "z.py"]),
    ],
)
def test_a_leading_bang_excludes_in_a_filter(show: Show, globs: str | list[str], wanted: list[str]) -> None:
    """Contract 3: `!` in grep's filter excludes, whatever the order; excludes alone leave everything else."""
    workspace = show(planted("README.md", "app/i/page.tsx", "docs/a.md", "src/a.py", "z.py"))
    assert names(workspace.grep("needle", glob=globs)) == wanted


def test_a_bang_is_a_character_to_the_tool(show: Show) -> None:
    """Contract 3: `!` excludes in grep's filter alone: `glob` never lists what its pattern does not match."""
    workspace = show(planted("!a", "b"))
    assert names(workspace.glob("!a")) == ["!a"]
    assert names(workspace.glob("!*.py")) == []


def test_folders_are_listed_only_where_asked_for(show: Show) -> None:
    """Contract 3: `include_dirs` adds folders that match, in the order of paths; without it there are files alone."""
    workspace = show({"a/b/c": "", "a/x": "", "d/": "", "e": ""})

    def listed(pattern: str) -> list[tuple[str, bool]]:
        entries = workspace.glob(pattern, include_dirs=True).entries
        return [(entry.path.removeprefix("/mnt/tree/"), entry.is_dir) for entry in entries]

    assert listed("**") == [
        ("a", True), ("a/b", True), ("a/b/c", False), ("a/x", False), ("d", True), ("e", False),
    ]  # fmt: skip
    assert listed("a/*") == [("a/b", True), ("a/x", False)]
    assert listed("d/") == [("d", True)]
    assert names(workspace.glob("**")) == ["a/b/c", "a/x", "e"]


def test_case_counts_unless_it_is_switched_off(show: Show) -> None:
    """Contract 3: `case_sensitive` is true by default, for names and for the folders before them."""
    workspace = show(planted("Src/A.PY", "src/b.py"))
    assert names(workspace.glob("src/*.py")) == ["src/b.py"]
    assert names(workspace.glob("src/*.py", case_sensitive=False)) == ["Src/A.PY", "src/b.py"]
    assert names(workspace.glob("SRC/a.py", case_sensitive=False)) == ["Src/A.PY"]


@pytest.fixture
def two_mounts(pool: grille.Pool, tmp_path: Path, write: Callable[[Path, Files], None]) -> grille.Workspace:
    write(tmp_path, {"one/a.py": "needle\n", "two/a.py": "needle\n", "two/b/c.py": "needle\n"})
    mounts = [
        grille.Mount("/mnt/tree", host=str(tmp_path / "one")),
        grille.Mount("/mnt/tree2", host=str(tmp_path / "two")),
    ]
    return pool.open(grille.Policy(mounts=mounts))


def test_an_absolute_pattern_searches_the_mount_it_points_into(two_mounts: grille.Workspace) -> None:
    """Contract 3: an absolute pattern is re-based onto its mount; outside every mount it is refused."""
    assert names(two_mounts.glob("/mnt/tree2/**/*.py")) == ["/mnt/tree2/a.py", "/mnt/tree2/b/c.py"]
    assert names(two_mounts.glob("/mnt/tree/*.py")) == ["a.py"]
    for pattern in ("/mnt/tree3/*.py", "/mnt/*/a.py", "/etc/*"):
        with pytest.raises(grille.PatternError) as refused:
            two_mounts.glob(pattern)
        assert refused.value.code == "glob_outside"


def test_an_absolute_filter_searches_the_mount_it_points_into(two_mounts: grille.Workspace) -> None:
    """Contract 3: one rule for glob and for grep's filter, also for absolute patterns into another mount."""
    assert names(two_mounts.grep("needle", glob="/mnt/tree2/**/*.py")) == [
        "/mnt/tree2/a.py",
        "/mnt/tree2/b/c.py",
    ]


def test_the_walk_begins_at_the_literal_prefix(show: Show, tmp_path: Path) -> None:
    """Contract 3: what lies beside a pattern's literal prefix is not looked at, so it cannot fail (fault A2)."""
    workspace = show(planted("src/lib/a.py", "locked/x", "src/other/y"))
    for folder in ("locked", "src/other"):
        (tmp_path / folder).chmod(0)
    try:
        assert workspace.glob("src/lib/*.py").complete
        assert workspace.grep("needle", glob="src/lib/*.py").complete
        assert workspace.glob("**/*.py").incomplete
    finally:
        for folder in ("locked", "src/other"):
            (tmp_path / folder).chmod(0o700)


@pytest.mark.parametrize(
    ("pattern", "code"),
    [("..", "glob_invalid"), ("a/../b", "glob_invalid"), ("~/x", "glob_invalid"), ("~", "glob_invalid")],
)
def test_parents_and_tildes_are_refused_with_advice(show: Show, pattern: str, code: str) -> None:
    """Contract 3: `..` as a component and `~` are refused by the tool and by the filter alike (fault G6)."""
    workspace = show(TREE)
    for call in (lambda: workspace.glob(pattern), lambda: workspace.grep("x", glob=pattern)):
        with pytest.raises(grille.PatternError) as refused:
            call()
        assert refused.value.code == code


def test_a_mount_itself_is_no_pattern_and_one_answer_says_so(show: Show) -> None:
    """Contract 3: a pattern that names the mount, with or without a slash, gets one answer, and a true one."""
    workspace = show(TREE)

    def answer(pattern: str) -> tuple[str, str]:
        with pytest.raises(grille.PatternError) as refused:
            workspace.glob(pattern)
        return refused.value.code, str(refused.value)

    assert answer("/mnt/tree") == answer("/mnt/tree/")
    assert "outside" not in answer("/mnt/tree")[1]
