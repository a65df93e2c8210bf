"""Contract 6 and 1: deny rules on every way in, and several mounts, nested ones included."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grille

Files = Mapping[str, str | bytes]
Show = Callable[..., grille.Workspace]
Write = Callable[[Path, Files], None]


def names(result: Any) -> list[str]:
    return [entry.path.removeprefix("/mnt/tree/") for entry in result.entries]


def all_of(result: msgspec.Struct) -> str:
    """Everything that a result says, without how long it took."""
    fields = msgspec.to_builtins(result)
    del fields["elapsed_ms"], fields["confinement"]
    return json.dumps(fields)


# --- deny rules -----------------------------------------------------------------------------------------------------

TREE = {
    ".ssh/id": "needle\n",
    "home/.ssh/id": "needle\n",
    "key.pem": "needle\n",
    "d/key.pem": "needle\n",
    "vault/deep/x": "needle\n",
    "open/x": "needle\n",
    "open/vault": "needle\n",
    "z": "needle\n",
}
HIDDEN = [
    ".ssh",
    ".ssh/id",
    "home/.ssh",
    "home/.ssh/id",
    "key.pem",
    "d/key.pem",
    "vault",
    "vault/deep",
    "vault/deep/x",
]
SHOWN = ["open/vault", "open/x", "z"]


@pytest.fixture
def denying(show: Show) -> grille.Workspace:
    return show(TREE, deny=["**/.ssh/**", "*.pem", "vault/**"])


def test_deny_rules_hold_for_every_entry_of_every_tool(denying: grille.Workspace) -> None:
    """Contract 6: what a rule denies is no entry of any tool, whatever the request says; a rule without a slash is for
    any depth, one with a slash for the path from the mount (fault L10).
    """
    requests: list[Any] = [
        denying.glob("**", include_dirs=True),
        denying.glob("**", include_dirs=True, no_ignore=True, sort="mtime"),
        denying.ls(depth=9),
        denying.ls(depth=9, no_ignore=True),
        denying.grep("needle"),
        denying.grep("needle", no_ignore=True, output_mode="count"),
        *(denying.glob(name, include_dirs=True, no_ignore=True) for name in HIDDEN),
        *(denying.grep("needle", glob=name, no_ignore=True) for name in HIDDEN),
    ]
    for result in requests:
        assert not set(names(result)) & set(HIDDEN)
    assert names(denying.grep("needle")) == SHOWN
    assert names(denying.grep("needle", no_ignore=True)) == SHOWN


def test_denied_start_paths_are_absent_to_every_tool(denying: grille.Workspace) -> None:
    """Contract 6, 7: to start at a denied path, or below one, is to start at nothing: one answer for all tools."""
    calls: list[Callable[[str], Any]] = [
        lambda path: denying.glob("*", path),
        lambda path: denying.grep("needle", path),
        denying.ls,
        denying.read,
    ]

    def answer(call: Callable[[str], Any], name: str) -> tuple[str, str]:
        with pytest.raises(grille.PathError) as refused:
            call(f"/mnt/tree/{name}")
        return refused.value.code, str(refused.value).replace(name, "NAME")

    for call in calls:
        wanted = answer(call, "absent")
        assert wanted[0] == "not_found"
        for name in [*HIDDEN, ".ssh/absent", "vault/absent", "absent.pem", "absent/x"]:
            assert answer(call, name) == wanted


def test_a_link_is_no_way_round_a_rule(show: Show, tmp_path: Path) -> None:
    """Contract 6: a start path through a link is judged by where it leads as well as by its name."""
    workspace = show({"vault/x": "needle\n"}, deny=["vault/**"])
    (tmp_path / "way").symlink_to("vault")
    (tmp_path / "file").symlink_to("vault/x")
    for call in (
        lambda: workspace.ls("/mnt/tree/way"),
        lambda: workspace.read("/mnt/tree/file"),
        lambda: workspace.read("/mnt/tree/way/x"),
    ):
        with pytest.raises(grille.PathError) as refused:
            call()
        assert refused.value.code == "not_found"


ODD = {
    "file": b"needle\n",
    "binary": b"\0",
    "large": b"x" * 1_100_000,
    "fifo": None,
    "link": None,
    "locked": b"x\n",
}


@pytest.mark.parametrize("kind", ODD)
def test_a_tree_with_what_is_denied_is_the_tree_without_it(
    pool: grille.Pool, tmp_path: Path, write: Write, kind: str
) -> None:
    """Contract 2.6, 6: neither entries nor counts nor states nor notices tell that something denied exists, whatever
    it is.
    """
    said = []
    for name in ("with", "without"):
        folder = tmp_path / name
        write(folder, {"a/x": "needle\n", "b": "hay\n"})
        if name == "with":
            for place in (folder / "secret", folder / "a" / "secret"):
                if kind == "fifo":
                    os.mkfifo(place)
                elif kind == "link":
                    place.symlink_to("b")
                else:
                    place.write_bytes(ODD[kind] or b"")
                if kind == "locked":
                    place.chmod(0)
        policy = grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(folder))], deny=["secret"])
        with pool.open(policy) as workspace:
            said.append(
                [
                    all_of(workspace.grep("needle")),
                    all_of(workspace.grep("x", output_mode="count")),
                    all_of(workspace.glob("**", include_dirs=True)),
                    all_of(workspace.glob("secret")),
                    all_of(workspace.glob("a/secret", no_ignore=True)),
                    all_of(workspace.ls(depth=3)),
                ]
            )
    assert said[0] == said[1]


PARTS = ["a", "b", "c.pem", "d"]
places = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("/".join)
RULES = ["a", "*.pem", "a/b", "**/d/**", "b/**", "a/*", "**/c.pem", "d/", "?"]


@given(
    paths=st.lists(places, min_size=1, max_size=8, unique=True),
    rules=st.lists(st.sampled_from(RULES), max_size=3),
)
@settings(max_examples=20)
@example(paths=["d"], rules=["**/d/**"])
def test_walk_and_start_paths_hide_the_same(
    pool: grille.Pool,
    tmp_path_factory: pytest.TempPathFactory,
    write: Write,
    paths: list[str],
    rules: list[str],
) -> None:
    """Contract 6: whatever the tree and the rules, a file is found by a walk exactly when it can be read and
    searched by its path, and a folder when it can be listed.
    """
    paths = [p for p in paths if not any(other.startswith(p + "/") for other in paths)]
    folder = tmp_path_factory.mktemp("deny")
    write(folder, dict.fromkeys(paths, "needle\n"))
    policy = grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(folder))], deny=rules)
    with pool.open(policy) as workspace:

        def answers(call: Callable[[str], Any], path: str) -> bool:
            try:
                call(f"/mnt/tree/{path}")
            except grille.PathError as refused:
                return refused.code != "not_found"
            return True

        walked = workspace.ls(depth=5).entries
        assert {e.path for e in walked if not e.is_dir} == {e.path for e in workspace.grep("needle").entries}
        for path in paths:
            shown = f"/mnt/tree/{path}" in {e.path for e in walked if not e.is_dir}
            assert answers(workspace.read, path) == shown
            assert answers(lambda p: workspace.grep("needle", p), path) == shown
            for depth in range(1, path.count("/") + 1):
                above = "/".join(path.split("/")[:depth])
                assert answers(workspace.ls, above) == (f"/mnt/tree/{above}" in {e.path for e in walked})


# --- mounts ---------------------------------------------------------------------------------------------------------


def open_mounts(pool: grille.Pool, host: Path, **mounts: str) -> grille.Workspace:
    """Mounts by host folder -> virtual path."""
    shown = [grille.Mount(virtual, host=str(host / folder)) for folder, virtual in mounts.items()]
    return pool.open(grille.Policy(mounts=shown))


def test_each_mount_is_searched_by_its_own_path(pool: grille.Pool, tmp_path: Path, write: Write) -> None:
    """Contract 1, 3: results lie under the mount they were found in; with no path, the first mount is searched."""
    write(tmp_path, {"one/a": "needle 1\n", "two/a": "needle 2\n"})
    with open_mounts(pool, tmp_path, one="/mnt/one", two="/srv/two") as workspace:
        assert [(e.path, e.line) for e in workspace.grep("needle").entries] == [("/mnt/one/a", "needle 1")]
        assert [(e.path, e.line) for e in workspace.grep("needle", "/srv/two").entries] == [
            ("/srv/two/a", "needle 2")
        ]
        assert workspace.read("/srv/two/a").text == "needle 2"
        assert [e.path for e in workspace.glob("*", "/srv/two/").entries] == ["/srv/two/a"]


def test_a_mounts_path_ends_at_a_slash(pool: grille.Pool, tmp_path: Path, write: Write) -> None:
    """Contract 1: mounts are told apart by whole components: `/mnt/src` is not `/mnt/src2` (fault L2)."""
    write(tmp_path, {"src/a": "needle 1\n", "src2/b": "needle 2\n"})
    with open_mounts(pool, tmp_path, src="/mnt/src") as workspace:
        for path in ("/mnt/src2", "/mnt/src2/b", "/mnt/sr", "/mnt/src../src2", "/mnt/src-old"):
            with pytest.raises(grille.PathError) as refused:
                workspace.grep("needle", path)
            assert refused.value.code == "not_found"
    with open_mounts(pool, tmp_path, src="/mnt/src", src2="/mnt/src2") as workspace:
        assert [e.path for e in workspace.grep("needle", "/mnt/src2").entries] == ["/mnt/src2/b"]
        assert [e.path for e in workspace.glob("/mnt/src2/*").entries] == ["/mnt/src2/b"]


def test_of_nested_mounts_the_longest_wins(pool: grille.Pool, tmp_path: Path, write: Write) -> None:
    """Contract 1: a path in two mounts lies in the one with the longer virtual path, and what a walk of the outer one
    names is what that path shows to every other call: never what the inner mount hides.
    """
    write(
        tmp_path,
        {
            "outer/in/x": "needle hidden\n",
            "outer/in/h": "needle h\n",
            "outer/a": "needle\n",
            "inner/x": "needle shown\n",
        },
    )
    with open_mounts(pool, tmp_path, outer="/mnt/o", inner="/mnt/o/in") as workspace:
        assert workspace.read("/mnt/o/in/x").text == "needle shown"
        assert [e.path for e in workspace.glob("*", "/mnt/o/in").entries] == ["/mnt/o/in/x"]
        assert [e.path for e in workspace.glob("/mnt/o/in/*").entries] == ["/mnt/o/in/x"]
        found = workspace.grep("needle", "/mnt/o").entries
        assert "/mnt/o/a" in [entry.path for entry in found]
        for entry in found:
            assert workspace.read(entry.path).text == entry.line
        for path in (e.path for e in workspace.glob("**", "/mnt/o").entries):
            workspace.read(path)
        with pytest.raises(grille.PathError):
            workspace.read("/mnt/o/in/h")


def test_deny_rules_hold_in_every_mount(pool: grille.Pool, tmp_path: Path, write: Write) -> None:
    """Contract 6: rules are the policy's: each mount is a top for them."""
    write(tmp_path, {"one/s/a": "needle\n", "two/s/a": "needle\n", "two/t/s/a": "needle\n"})
    mounts = [grille.Mount(f"/mnt/{name}", host=str(tmp_path / name)) for name in ("one", "two")]
    with pool.open(grille.Policy(mounts=mounts, deny=["s/**"])) as workspace:
        assert workspace.grep("needle", "/mnt/one").entries == ()
        assert [e.path for e in workspace.grep("needle", "/mnt/two").entries] == ["/mnt/two/t/s/a"]
