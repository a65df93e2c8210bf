"""Contract 5 through the API: `ls` and `read`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grille

Show = Callable[..., grille.Workspace]
Plot = Callable[..., Any]


def listed(result: Any) -> list[str]:
    return [entry.path.removeprefix("/mnt/tree/") + "/" * entry.is_dir for entry in result.entries]


TREE = {
    "b/c/d": "x\n",
    "b/a": "x\n",
    "b.x": "x\n",
    "e/": "",
    "f": "x\n",
    ".hidden": "x\n",
    "node_modules/g": "x\n",
}


def test_ls_lists_a_folder_as_deep_as_it_is_asked_to(show: Show, tmp_path: Path) -> None:
    """Contract 5, 2.1: `ls` lists files and folders, hidden ones too, in the order of paths, `depth` levels deep."""
    workspace = show(TREE)
    assert listed(workspace.ls()) == [".hidden", "b/", "b.x", "e/", "f"]
    assert listed(workspace.ls(depth=2)) == [".hidden", "b/", "b/a", "b/c/", "b.x", "e/", "f"]
    assert listed(workspace.ls("/mnt/tree/b", depth=64)) == ["b/a", "b/c/", "b/c/d"]
    assert listed(workspace.ls("/mnt/tree/e")) == []
    assert workspace.ls().complete
    assert {s.reason: s.count for s in workspace.ls().skipped} == {"ignored": 1}
    assert listed(workspace.ls("/mnt/tree/node_modules")) == ["node_modules/g"]


def test_ls_takes_what_glob_takes_of_the_same_folder(show: Show) -> None:
    """Contract 5: the same entries, rules and pages as a glob over everything with folders."""
    workspace = show(TREE)
    assert workspace.ls(depth=64).entries == workspace.glob("**", include_dirs=True).entries
    assert workspace.ls(depth=64, limit=2, offset=3).entries == workspace.ls(depth=64).entries[3:5]


@pytest.mark.parametrize("depth", [0, -1, 65, True, "1", 1.0, None])
def test_a_depth_out_of_range_is_refused(show: Show, depth: Any) -> None:
    """Contract 5, 7: a depth is a whole number from 1 to 64."""
    with pytest.raises(grille.RequestError) as refused:
        show({}).ls(depth=depth)
    assert refused.value.code == "argument_invalid"


def test_ls_of_a_file_and_read_of_a_folder_are_refused_with_the_other_name(show: Show) -> None:
    """Contract 5, 7: who takes one tool for the other is told which to use."""
    workspace = show(TREE)
    with pytest.raises(grille.PathError, match="read") as of_file:
        workspace.ls("/mnt/tree/f")
    with pytest.raises(grille.PathError, match="ls") as of_folder:
        workspace.read("/mnt/tree/b")
    assert (of_file.value.code, of_folder.value.code) == ("not_folder", "not_file")


lines = st.lists(st.text(alphabet="aé \t\r", max_size=6), max_size=12)


@given(
    lines=lines,
    end=st.sampled_from(["", "\n"]),
    first=st.integers(1, 14),
    count=st.none() | st.integers(0, 13),
)
@settings(max_examples=60)
def test_read_gives_the_lines_asked_for(
    plot: Plot, lines: list[str], end: str, first: int, count: int | None
) -> None:
    """Contract 5: lines `start_line` to `end_line`, counted from 1, both included, and how many there are in all."""
    text = "\n".join(lines) + end
    workspace, start, _ = plot({"a.txt": text})
    *ended, rest = text.split("\n")
    held = [line.removesuffix("\r") for line in ended] + ([rest] if rest else [])
    last = None if count is None else first + count
    result = workspace.read(f"{start}/a.txt", start_line=first, end_line=last)
    wanted = held[first - 1 : last]
    assert result.text == "\n".join(wanted)
    assert (result.start_line, result.end_line, result.total_lines) == (
        first,
        first - 1 + len(wanted),
        len(held),
    )
    assert (result.complete, result.truncated, result.next_line) == (True, False, None)


@given(lines=st.lists(st.text(alphabet="aé😀", max_size=9), min_size=1, max_size=9), most=st.integers(1, 40))
@settings(max_examples=60)
def test_read_in_parts_is_the_whole(plot: Plot, lines: list[str], most: int) -> None:
    """Contract 5: at most `max_bytes` of text, whole lines where one fits, and `next_line` leads through the file; a
    line that alone is too long is cut on a whole code point, and the result says so.
    """
    workspace, start, _ = plot({"a.txt": "\n".join(lines) + "\n"})
    at: int | None = 1
    told: list[str] = []
    while at is not None:
        part = workspace.read(f"{start}/a.txt", start_line=at, max_bytes=most)
        shown = part.text.split("\n")
        whole = lines[at - 1 : part.end_line]
        if shown != whole:
            assert part.truncated and not part.complete
            assert len(shown) == len(whole) == 1
            assert whole[0].startswith(shown[0].removesuffix("..."))
            assert len(whole[0].encode()) >= most
        assert len(part.text.encode()) <= most or len(shown) == 1
        assert part.truncated == (not part.complete)
        told += whole
        at = part.next_line
    assert told == lines


def test_a_cut_first_line_is_told(show: Show) -> None:
    """Contract 5: a line longer than `max_bytes` is never cut silently, nor in the middle of a character."""
    workspace = show({"a": "abcdefghij\n", "b": "é" * 10 + "\n"})
    for name in ("a", "b"):
        result = workspace.read(f"/mnt/tree/{name}", max_bytes=3)
        assert result.truncated and not result.complete
        assert "\ufffd" not in result.text


def test_a_whole_file_is_read_without_a_word_about_pages(show: Show) -> None:
    """Contract 5, 2.3: a file that was read whole has nothing more to show and says nothing of the kind."""
    result = show({"a": "1\n2\n3\n"}).read("/mnt/tree/a")
    assert (result.complete, result.truncated, result.next_offset, result.notices) == (True, False, None, ())


@pytest.mark.parametrize(
    ("content", "reason"), [(b"\0\1", "binary"), (b"x\n" * 600_000, "too_large")], ids=["binary", "large"]
)
def test_what_cannot_be_read_never_looks_like_an_empty_file(show: Show, content: bytes, reason: str) -> None:
    """Contract 5, 2.5: a binary or too large file has no text to show; the ledger and a notice say why."""
    workspace = show({"a": content, "empty": ""})
    result = workspace.read("/mnt/tree/a")
    assert result.text == ""
    assert [skipped.reason for skipped in result.skipped] == [reason]
    assert result.notices
    assert workspace.read("/mnt/tree/empty").notices == ()


def test_a_late_nul_ends_what_is_read_and_is_told(show: Show) -> None:
    """Contract 5, 4: `read` shows a file up to the NUL, as grep searches it, and says that it ended there."""
    result = show({"a": b"x\n" * 5000 + b"\0z\n"}).read("/mnt/tree/a")
    assert result.end_line == 5000
    assert [skipped.reason for skipped in result.skipped] == ["binary"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"start_line": 0},
        {"start_line": -1},
        {"start_line": True},
        {"start_line": 5, "end_line": 4},
        {"end_line": "9"},
        {"max_bytes": 0},
        {"max_bytes": 2**40},
        {"max_bytes": 1.5},
    ],
)
def test_read_refuses_numbers_out_of_range(show: Show, arguments: dict[str, Any]) -> None:
    """Contract 5, 7: every argument has a range, and what lies outside is refused by name."""
    workspace = show({"a": "x\n"})
    with pytest.raises(grille.RequestError) as refused:
        workspace.read("/mnt/tree/a", **arguments)
    assert refused.value.code == "argument_invalid"
    assert any(name in str(refused.value) for name in arguments)
