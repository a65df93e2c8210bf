"""Start paths: refused on the raw string, found by components, opened beneath the mount, hidden where a
rule denies them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.errors import PathError
from grille.policy.globs import compile_filter
from grille.policy.mounts import Mount
from grille.pool.paths import Place, denied, locate, start_of
from grille.pool.roots import Root


@dataclass
class Opened:
    """What locating reads of a mount."""

    mount: Mount


ROOTS = cast(
    "list[Root]", [Opened(Mount(v, host="/h/x")) for v in ("/mnt/w", "/mnt/w/inner", "/data", "/mnt/w-evil")]
)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/mnt/w", Place(0, "")),
        ("/mnt/w/", Place(0, "")),
        ("/mnt/w/a/b", Place(0, "a/b")),
        ("/mnt//w/./a//b/.", Place(0, "a/b")),
        ("/mnt/w/inner", Place(1, "")),
        ("/mnt/w/inner/x", Place(1, "x")),
        ("/mnt/w/innermost", Place(0, "innermost")),
        ("/mnt/w-evil/x", Place(3, "x")),
        ("/data/..x", Place(2, "..x")),
        ("/data/x..", Place(2, "x..")),
        ("/data/~", Place(2, "~")),
    ],
)
def test_a_path_lies_in_the_innermost_mount(path: str, place: Place) -> None:
    """Contract 1 (fault L2): whole components decide, the longest virtual path wins; `/mnt/w-evil` is not
    in `/mnt/w`.
    """
    assert locate(path, ROOTS) == place


@pytest.mark.parametrize(
    "path", ["/", "/mnt", "/mnt/wx", "/mnt/w2/a", "/etc/passwd", "/dat", "/database", "/h/x"]
)
def test_what_lies_in_no_mount_is_not_found(path: str) -> None:
    """Contract 7: outside gets the answer of absent; a host path is no way in."""
    with pytest.raises(PathError) as refused:
        locate(path, ROOTS)
    assert refused.value.code == "not_found"


@given(st.text(max_size=30))
def test_any_text_is_located_or_refused(path: str) -> None:
    """No text makes anything but a place in a mount or a PathError; a place never holds `..` or an empty
    component.
    """
    for spelled in (path, "/mnt/w/" + path):
        try:
            place = locate(spelled, ROOTS)
        except PathError:
            continue
        assert not {"..", "."} & set(place.below.split("/"))
        assert "//" not in place.below
        assert "\0" not in place.below


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A real folder, opened as a mount: files, links that stay and links that leave."""
    shown = tmp_path / "shown"
    (shown / "real" / "deep").mkdir(parents=True)
    (shown / "real" / "file.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("x")
    (shown / "stays").symlink_to("real/deep")
    (shown / "stays_too").symlink_to("real/../real/file.txt")
    (shown / "leaves").symlink_to("../secret.txt")
    (shown / "absolute").symlink_to(shown / "real")
    (shown / "round").symlink_to("../shown/real")
    (shown / "magic").symlink_to("/proc/self/root")
    (shown / "loop").symlink_to("loop")
    os.mkfifo(shown / "fifo")
    opened = Root(Mount("/mnt/w", host=str(shown)), pseudo_filesystems=False)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("below", "path", "kind"),
    [
        ("", b"", "folder"),
        ("real", b"real", "folder"),
        ("real/file.txt", b"real/file.txt", "file"),
        ("stays", b"real/deep", "folder"),
        ("stays_too", b"real/file.txt", "file"),
    ],
)
def test_a_start_path_is_resolved_within_its_mount(root: Root, below: str, path: bytes, kind: str) -> None:
    """Contract 6: a start path may go through a link that stays within the mount, and is then the real
    folder.
    """
    assert root.resolve(below, "/mnt/w/x") == (path, kind)


@pytest.mark.parametrize(
    "below",
    ["leaves", "absolute", "round", "magic", "magic/etc", "loop", "nope", "real/file.txt/x", "real/nope/x"],
)
def test_what_leaves_is_as_what_is_not_there(root: Root, below: str) -> None:
    """Faults L1, L4: no link and no `..` within one leads out; the answer does not tell what is behind it."""
    with pytest.raises(PathError) as refused:
        root.resolve(below, "/mnt/w/x")
    assert (refused.value.code, str(refused.value)) == ("not_found", "/mnt/w/x does not exist.")


def test_a_fifo_is_no_start(root: Root) -> None:
    """Contract 6: what is neither folder nor regular file is refused without being opened for reading."""
    with pytest.raises(PathError) as refused:
        root.resolve("fifo", "/mnt/w/fifo")
    assert refused.value.code == "not_file"


def test_a_link_into_what_is_denied_is_denied(root: Root) -> None:
    """Contract 6: deny rules apply to what a start path really is, not only to how it is spelled."""
    deny = compile_filter(["!real/deep/**", "!real/deep"])
    for below in ("stays", "real/deep"):
        with pytest.raises(PathError) as refused:
            start_of(Place(0, below), f"/mnt/w/{below}", [root], deny)
        assert refused.value.code == "not_found"
    assert start_of(Place(0, "stays_too"), "/mnt/w/stays_too", [root], deny).kind == "file"


@pytest.mark.parametrize(
    ("rules", "below", "hidden"),
    [
        (["secret/**"], "secret/a/b", True),
        (["secret"], "secret/a/b", True),
        (["*.pem"], "a/b/key.pem", True),
        (["*.pem"], "a/b.pem/c", True),
        (["*.pem"], "a/pem", False),
        (["/a/*.txt", "b/**"], "b/c", True),
        (["a/*"], "x/a/b", False),
        (["**"], "", False),
    ],
)
def test_a_rule_hides_a_path_and_all_below_it(rules: list[str], below: str, hidden: bool) -> None:
    """Contract 6: a path is hidden if a rule denies it or a folder that it lies in."""
    deny = compile_filter(["!" + rule.removeprefix("/") for rule in rules])
    assert denied(below, deny) is hidden
