"""Contract 6 through the real walk: ignore files with git and ripgrep as judges, the shared set, and who may lift it.

What single rules mean is held by test_git_check_ignore.py; here files are read from disk, folder by folder.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import grille

Files = Mapping[str, str | bytes]
Show = Callable[..., grille.Workspace]
Plot = Callable[[Files], tuple[grille.Workspace, str, Path]]

GIT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_TEMPLATE_DIR": "",
    "LC_ALL": "C",
}
IDENTITY = ("-c", "user.name=n", "-c", "user.email=e")


def git(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, check=True, env=GIT).stdout


def kept_by_git(folder: Path) -> list[str]:
    """What git calls a repository's files: tracked, or not ignored."""
    said = git(folder, "ls-files", "-co", "--exclude-standard", "-z")
    return sorted(os.fsdecode(name) for name in said.split(b"\0") if name)


def kept(workspace: grille.Workspace, start: str = "/mnt/tree", **options: Any) -> list[str]:
    result = workspace.glob("**", start, limit=0, **options)
    assert not result.truncated
    return sorted(entry.path.removeprefix(start + "/") for entry in result.entries)


def ignored(result: Any) -> tuple[int, list[str]]:
    (skip,) = [skipped for skipped in result.skipped if skipped.reason == "ignored"]
    return skip.count, [name.removeprefix("/mnt/tree/") for name in skip.first]


REPOSITORY = {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/": "", ".git/objects/": ""}

# --- random trees ---------------------------------------------------------------------------------------------------

NAMES = ["a", "b", "a.o", "b.o", "é", "a b"]
folders = st.lists(st.sampled_from(["a", "b", "é"]), max_size=2).map(
    lambda parts: "".join(p + "/" for p in parts)
)
files = st.builds(str.__add__, folders, st.sampled_from(NAMES))
PATTERNS = [
    "a",
    "b/",
    "*.o",
    "/a",
    "a/b",
    "/b/**",
    "**/a.o",
    "a/*",
    "*",
    "?",
    "[ab].o",
    "é",
    "a\\ b",
    "#a",
    "a/**/b",
    "b ",
]
rules = st.builds(str.__add__, st.sampled_from(["", "", "!"]), st.sampled_from(PATTERNS))
rule_files = st.lists(rules, max_size=4).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: "".join(line + end for line in lines))
)
many = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def without_clashes(paths: list[str]) -> list[str]:
    """Without those that would have a file as their folder."""
    return [path for path in paths if not any(other.startswith(path + "/") for other in paths)]


@st.composite
def repositories(draw: st.DrawFn, name: str) -> dict[str, str | bytes]:
    """A tree with ignore files called `name` at some of its folders."""
    paths = without_clashes(draw(st.lists(files, min_size=1, max_size=10, unique=True)))
    tree: dict[str, str | bytes] = dict.fromkeys(paths, "")
    places = {path[: at + 1] for path in paths for at in range(-1, len(path)) if at < 0 or path[at] == "/"}
    for place in sorted(places):
        text = draw(st.none() | rule_files, label=f"{place}{name}")
        if text is not None:
            tree[place + name] = text
    return tree


@given(tree=repositories(".gitignore"), exclude=st.none() | rule_files)
@many
def test_gitignores_on_the_walk_decide_as_git(
    plot: Plot, tree: dict[str, str | bytes], exclude: str | None
) -> None:
    """Contract 6: nested `.gitignore` files, negation and `info/exclude`: what is left is what git lists (H4, H5)."""
    if exclude is not None:
        tree |= {".git/info/exclude": exclude}
    workspace, start, host = plot(REPOSITORY | tree)
    assert kept(workspace, start) == kept_by_git(host)


@given(tree=repositories(".ignore"))
@many
def test_ignore_files_on_the_walk_decide_as_ripgrep(
    plot: Plot, ripgrep: str, tree: dict[str, str | bytes]
) -> None:
    """Contract 6: `.ignore` counts everywhere, repository or not, with the same rules: what is left is what ripgrep
    lists.
    """
    workspace, start, host = plot(tree)
    command = [
        ripgrep,
        "--no-config",
        "--files",
        "--hidden",
        "--no-ignore-global",
        "--no-ignore-parent",
        "-0",
        ".",
    ]
    said = subprocess.run(command, cwd=host, capture_output=True, check=False, env=GIT).stdout
    assert kept(workspace, start) == sorted(
        os.fsdecode(name).removeprefix("./") for name in said.split(b"\0") if name
    )


@given(tree=repositories(".gitignore"), folder=st.sampled_from(["a", "b", "a/b"]))
@many
def test_a_start_below_the_top_has_the_rules_of_its_parents(
    plot: Plot, tree: dict[str, str | bytes], folder: str
) -> None:
    """Contract 6: from a start folder that is not ignored itself, one finds what the whole search finds in it (H4)."""
    tree = {path: text for path, text in tree.items() if path != folder and not folder.startswith(path + "/")}
    workspace, start, host = plot(REPOSITORY | tree | {f"{folder}/kept": ""})
    whole = kept_by_git(host)
    assume(f"{folder}/kept" in whole)
    below = [path.removeprefix(folder + "/") for path in whole if path.startswith(folder + "/")]
    assert kept(workspace, f"{start}/{folder}") == below


# --- repositories ---------------------------------------------------------------------------------------------------


def test_each_repository_has_its_own_rules(show: Show, tmp_path: Path) -> None:
    """Contract 6: several repositories below a root that is none, and one within another: rules end at a
    repository's top, `.ignore` goes on, and `.gitignore` counts in repositories alone (fault H11).
    """
    workspace = show(
        {
            ".gitignore": "*\n",
            ".ignore": "*.never\n",
            **{f"one/{path}": text for path, text in REPOSITORY.items()},
            "one/.gitignore": "*.o\n",
            "one/a.o": "",
            "one/a.p": "",
            "one/a.never": "",
            **{f"one/in/{path}": text for path, text in REPOSITORY.items()},
            "one/in/.gitignore": "*.p\n",
            "one/in/a.o": "",
            "one/in/a.p": "",
            "one/in/a.never": "",
            "two/a.o": "",
        }
    )
    inner = [f"in/{path}" for path in kept_by_git(tmp_path / "one" / "in") if path != "a.never"]
    outer = [path for path in kept_by_git(tmp_path / "one") if path not in {"in/", "a.never"}]
    assert inner == ["in/.gitignore", "in/a.o"]
    assert kept(workspace, "/mnt/tree/one") == sorted(inner + outer)
    assert kept(workspace) == sorted(
        [".gitignore", ".ignore", "two/a.o", *(f"one/{p}" for p in inner + outer)]
    )


def test_a_worktree_is_a_repository(show: Show, tmp_path: Path) -> None:
    """Contract 6: where `.git` is a file, as in worktrees and submodules, `.gitignore` counts as in any repository."""
    main, tree = tmp_path / "main", tmp_path / "wt"
    main.mkdir()
    git(main, "init", "-q")
    (main / ".gitignore").write_text("*.o\n/sub/x\n")
    git(main, "add", ".")
    git(main, *IDENTITY, "commit", "-qm", "one")
    git(main, "worktree", "add", "-q", str(tree))
    workspace = show({"wt/a.o": "", "wt/a.c": "", "wt/sub/x": "", "wt/sub/y": ""})
    assert (tree / ".git").is_file()
    assert kept(workspace, "/mnt/tree/wt") == kept_by_git(tree) == [".gitignore", "a.c", "sub/y"]


def test_rules_above_the_mount_do_not_count(
    show: Show, pool: grille.Pool, tmp_path: Path, write: Callable[[Path, Files], None]
) -> None:
    """Contract 6: parents count as far as the mount shows them: what lies above is not read."""
    mount = grille.Mount("/mnt/tree", host=str(tmp_path / "inner"))
    workspace = show(
        REPOSITORY | {".gitignore": "*.o\n", ".ignore": "*.p\n", "inner/a.o": "", "inner/a.p": ""},
        mounts=[mount],
    )
    assert kept(workspace) == ["a.o", "a.p"]


# --- odd ignore files -----------------------------------------------------------------------------------------------

ODD: dict[str, bytes] = {
    "with a mark": b"\xef\xbb\xbfa.o\n",
    "binary": b"\0\xff\xfe\na.o\n\x80*\n",
    "without a last newline": b"b.o\na.o",
    "with carriage returns": b"a.o\r\nb.o\r\n",
    "empty": b"",
    "one long line": b"a" * 5000 + b"\na.o\n",
    "with escapes": b"\\#a\n\\!a\na.o\\ \n\\a.o\n",
    "with trailing blanks": b"a.o  \n b.o\n",
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_ignore_file_is_read_as_git_reads_it(show: Show, tmp_path: Path, kind: str) -> None:
    """Contract 6: marks, binary bytes, missing ends, blanks and escapes mean what they mean to git."""
    workspace = show(
        REPOSITORY
        | {
            "sub/.gitignore": ODD[kind],
            "sub/a.o": "",
            "sub/b.o": "",
            "sub/#a": "",
            "sub/!a": "",
            "sub/a.o ": "",
        }
    )
    assert kept(workspace) == kept_by_git(tmp_path)


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".git/info/exclude"])
@pytest.mark.parametrize("kind", ["folder", "fifo", "link out", "dangling link", "locked"])
def test_what_is_no_readable_file_holds_no_rules(show: Show, tmp_path: Path, name: str, kind: str) -> None:
    """Contract 6: an ignore file that is a folder, a FIFO, a link or unreadable is no rule file: it neither hangs nor
    hides the tree, and a link never leads out.
    """
    place = tmp_path / name
    (tmp_path / ".git" / "info").mkdir(parents=True)
    outside = tmp_path / "rules"
    outside.write_text("a.o\n")
    if kind == "folder":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "locked":
        place.write_text("a.o\n")
        place.chmod(0)
    else:
        place.symlink_to(outside if kind == "link out" else "nowhere")
    workspace = show(REPOSITORY | {"a.o": "", "b": ""})
    assert {"a.o", "b"} <= set(kept(workspace))


def test_an_ignore_file_without_bound_is_bounded_and_told(show: Show) -> None:
    """Contract 6: of an ignore file too large to hold, some rules are left out, and the result says that they are."""
    workspace = show(
        REPOSITORY
        | {".gitignore": "".join(f"n{n}\n" for n in range(100_000)), "n5": "", "n99999": "", "k": ""}
    )
    result = workspace.glob("**")
    assert {"/mnt/tree/k"} <= {entry.path for entry in result.entries}
    assert any("ignore" in notice.lower() for notice in result.notices)


# --- the shared set -------------------------------------------------------------------------------------------------


def test_the_shared_set_is_left_out_and_counted(show: Show) -> None:
    """Contract 6, 2.6: version control, dependencies, build output, caches and leavings are not searched, each
    pruned folder counts once and is not entered (faults H13, H14, H19).
    """
    noise = [
        ".git/x",
        ".svn/x",
        ".hg/x",
        "node_modules/d/x",
        "__pycache__/x",
        "dist/x",
        "a.swp",
        "b~",
        "c.log",
    ]
    workspace = show(dict.fromkeys([*noise, "src/ok", ".hidden/ok"], "needle\n"))
    for result in (workspace.glob("**"), workspace.grep("needle"), workspace.ls(depth=5)):
        assert [e.path for e in result.entries if e.path.endswith("ok")] == [
            "/mnt/tree/.hidden/ok",
            "/mnt/tree/src/ok",
        ]
        assert ignored(result)[0] == len(noise)


def test_hidden_files_are_searched(show: Show) -> None:
    """Contract 6: a leading dot hides nothing (fault H9)."""
    workspace = show(dict.fromkeys([".a", ".b/.c/d", ".env.local"], "needle\n"))
    assert kept(workspace) == [".a", ".b/.c/d", ".env.local"]
    assert len(workspace.grep("needle").entries) == 3


def test_the_count_is_of_what_is_ignored(show: Show) -> None:
    """Contract 2.6, 6: entries left out by rules are counted: a file as one, a folder with all in it as one."""
    workspace = show(
        REPOSITORY | {".gitignore": "gen/\n*.o\n", "gen/1": "", "gen/2": "", "a.o": "", "b": "", "s/c.o": ""}
    )
    count, first = ignored(workspace.glob("**"))
    assert (count, first) == (4, [".git", "a.o", "gen", "s/c.o"])


def test_who_names_a_folder_means_it(show: Show) -> None:
    """Contract 6: an ignored folder is searched where a request starts in it or spells it out in a glob; the rules
    for what is in it still hold, and one more glob takes nothing away (fault H10).
    """
    workspace = show(
        REPOSITORY
        | {
            ".gitignore": "gen/\n*.o\n",
            "gen/d/a": "x\n",
            "gen/b.o": "x\n",
            "build/node_modules/c": "x\n",
            "build/e": "x\n",
        }
    )
    assert kept(workspace) == [".gitignore"]
    assert kept(workspace, "/mnt/tree/gen") == ["d/a"]
    assert kept(workspace, "/mnt/tree/build") == ["e"]
    assert [e.path for e in workspace.glob("gen/**").entries] == ["/mnt/tree/gen/d/a"]
    assert [e.path for e in workspace.glob("build/*").entries] == ["/mnt/tree/build/e"]
    assert [e.path for e in workspace.glob("**/build/*").entries] == []
    both = [e.path for e in workspace.grep("x", glob=["gen/d/*", "build/e"]).entries]
    assert both == ["/mnt/tree/build/e", "/mnt/tree/gen/d/a"]


# --- switching it off -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["glob", "grep", "ls"])
def test_no_ignore_lifts_every_ignore_rule(show: Show, tool: str) -> None:
    """Contract 6: a request's `no_ignore` lifts ignore files and the shared set, where the policy lets it."""
    tree = REPOSITORY | {
        ".gitignore": "*.o\n",
        ".ignore": "*.p\n",
        "a.o": "x\n",
        "a.p": "x\n",
        "node_modules/m": "x\n",
    }
    workspace = show(tree)
    calls: dict[str, Callable[..., Any]] = {
        "glob": lambda **more: workspace.glob("**", **more),
        "grep": lambda **more: workspace.grep("x", **more),
        "ls": lambda **more: workspace.ls(depth=9, **more),
    }
    lifted = {entry.path for entry in calls[tool](no_ignore=True).entries}
    assert {f"/mnt/tree/{name}" for name in ("a.o", "a.p", "node_modules/m")} <= lifted
    assert calls[tool](no_ignore=True).skipped == ()
    assert not {"/mnt/tree/a.o", "/mnt/tree/node_modules/m"} & {e.path for e in calls[tool]().entries}


@pytest.mark.parametrize("tool", ["glob", "grep", "ls"])
def test_no_ignore_is_refused_where_the_policy_does_not_let_it(show: Show, tool: str) -> None:
    """Contract 6: with `allow_no_ignore` off the request is refused; nothing is searched under other rules silently."""
    workspace = show({"a": "x\n"}, allow_no_ignore=False)
    calls: dict[str, Callable[..., Any]] = {
        "glob": lambda **more: workspace.glob("**", **more),
        "grep": lambda **more: workspace.grep("x", **more),
        "ls": workspace.ls,
    }
    with pytest.raises(grille.RequestError) as refused:
        calls[tool](no_ignore=True)
    assert refused.value.code == "no_ignore_refused"
    assert len(calls[tool](no_ignore=False).entries) == 1


def test_a_policy_without_ignore_files_keeps_the_shared_set(show: Show) -> None:
    """Contract 6: `use_ignore_files` off switches ignore files off for every request; the shared set stays."""
    workspace = show(
        REPOSITORY | {".gitignore": "*.o\n", ".ignore": "*.p\n", "a.o": "", "a.p": "", "dist/x": ""},
        use_ignore_files=False,
    )
    assert kept(workspace) == [".gitignore", ".ignore", "a.o", "a.p"]


# --- links ----------------------------------------------------------------------------------------------------------


def test_links_are_counted_and_a_start_may_go_through_one(show: Show, tmp_path: Path) -> None:
    """Contract 6: links met on the walk are not followed but counted; a start path may go through one that stays in
    the mount, and results lie where the link leads (faults L6, L9).
    """
    workspace = show({"real/a": "needle\n"})
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "file").symlink_to("real/a")
    (tmp_path / "away").symlink_to("/etc")
    result = workspace.grep("needle")
    assert [entry.path for entry in result.entries] == ["/mnt/tree/real/a"]
    assert {s.reason: (s.count, s.first) for s in result.skipped} == {
        "symlink": (3, ("/mnt/tree/away", "/mnt/tree/file", "/mnt/tree/folder"))
    }
    for start in ("folder", "folder/", "folder/a", "file"):
        assert [e.path for e in workspace.grep("needle", f"/mnt/tree/{start}").entries] == [
            "/mnt/tree/real/a"
        ]
    with pytest.raises(grille.PathError) as refused:
        workspace.grep("needle", "/mnt/tree/away/passwd")
    assert refused.value.code == "not_found"
