"""Trees made to trap a searcher: links out, files that block, names that forge, shapes that have no end.

For every one of them: answered at once, each thing counted under its reason, nothing of what lies outside told, and
every other match found.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import grille

Open = Callable[..., grille.Workspace]
Said = Callable[[Any], str]
Skips = Callable[[Any], dict[str, int]]

TIB = 1 << 40
SECRET = "the canary sings"


def paths(result: grille.GrepResult | grille.GlobResult) -> list[str]:
    return [entry.path.removeprefix("/mnt/tree/") for entry in result.entries]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside the mount, with a secret in it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret.txt").write_text(f"{SECRET}: needle\n")
    return folder


@pytest.fixture
def zoo(tmp_path: Path, outside: Path) -> Iterator[Path]:
    """Two good files, at both ends of the order, and everything bad between them."""
    (tmp_path / "a.txt").write_text("needle one\n")
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "last.txt").write_text("needle last\n")
    (tmp_path / "link_to_folder").symlink_to("/etc")
    (tmp_path / "link_to_passwd").symlink_to("/etc/passwd")
    (tmp_path / "link_outside").symlink_to(outside / "secret.txt")
    (tmp_path / "link_up").symlink_to("../..")
    (tmp_path / "link_to_itself").symlink_to("link_to_itself")
    (tmp_path / "link_to_nothing").symlink_to("/nowhere/at/all")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "hidden.txt").write_text("needle hidden\n")
    locked.chmod(0)
    (tmp_path / "locked.txt").write_text("needle locked\n")
    (tmp_path / "locked.txt").chmod(0)
    with open(tmp_path / "sparse", "wb") as sparse:
        sparse.truncate(TIB)
    (tmp_path / "evil\n\x1b[2J: needle.txt").write_text("needle evil\n")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/latin-\xe9.txt"))).write_text("needle latin\n")
    yield tmp_path
    locked.chmod(0o700)


def test_a_tree_of_traps_is_answered_at_once_and_each_trap_is_counted(
    zoo: Path, open_tree: Open, skips: Skips
) -> None:
    """Contract 2.6 and 6: links, special files, locked and huge files are counted by reason; all else is
    found.
    """
    result = open_tree(zoo).grep("needle")
    assert paths(result) == ["a.txt", "evil\n\x1b[2J: needle.txt", "latin-\\x{e9}.txt", "z/last.txt"]
    assert skips(result) == {"symlink": 6, "special_file": 2, "unreadable": 2, "too_large": 1}
    assert result.incomplete
    assert result.reasons == ("unreadable",)
    assert result.elapsed_ms < 5000


def test_each_skip_names_its_first_entries(zoo: Path, open_tree: Open) -> None:
    """Contract 2.6: of everything not searched, the first few are named, in order, by virtual paths."""
    named = {skip.reason: skip.first for skip in open_tree(zoo).grep("needle").skipped}
    assert named["unreadable"] == ("/mnt/tree/locked", "/mnt/tree/locked.txt")
    assert named["special_file"] == ("/mnt/tree/fifo", "/mnt/tree/socket")
    assert named["too_large"] == ("/mnt/tree/sparse",)


@pytest.mark.parametrize("pattern", ["root:", SECRET, "hidden", "locked"])
def test_nothing_behind_a_link_or_a_lock_is_told(
    zoo: Path, open_tree: Open, said: Said, pattern: str
) -> None:
    """Contract 6: what a link points at and what cannot be read yields no entry, and not one byte of its
    text.
    """
    result = open_tree(zoo).grep(pattern)
    assert result.entries == ()
    text = said(result)
    assert SECRET not in text
    assert str(zoo) not in text
    for line in Path("/etc/passwd").read_text(errors="replace").splitlines():
        assert line not in text


def test_a_glob_lists_links_as_nothing_and_enters_none(zoo: Path, open_tree: Open, skips: Skips) -> None:
    """Contract 6: a walk follows no link, so no path through one is ever listed."""
    result = open_tree(zoo).glob("**/*")
    assert not [path for path in paths(result) if path.startswith("link_")]
    assert skips(result)["symlink"] == 6


@pytest.mark.parametrize(
    "start",
    ["link_to_folder", "link_to_passwd", "link_outside", "link_up", "link_to_itself", "link_to_nothing"],
)
def test_a_start_path_through_a_link_that_leaves_is_not_found(zoo: Path, open_tree: Open, start: str) -> None:
    """Contract 6 and 7: a link that leaves the mount gets the answer of a path that does not exist."""
    workspace = open_tree(zoo)
    with pytest.raises(grille.PathError) as absent:
        workspace.grep("needle", "/mnt/tree/no_such_thing")
    with pytest.raises(grille.PathError) as refused:
        workspace.grep("needle", f"/mnt/tree/{start}")
    assert refused.value.code == absent.value.code == "not_found"
    # The hint may offer names that a listing shows anyway; the answer itself is the same.
    assert refused.value.message.replace(start, "X") == absent.value.message.replace("no_such_thing", "X")
    assert f"mean /mnt/tree/{start}?" not in (refused.value.hint or "")


@pytest.mark.parametrize("start", ["fifo", "socket"])
def test_a_start_path_that_is_no_file_is_refused(zoo: Path, open_tree: Open, start: str) -> None:
    """Contract 6: a FIFO or a socket is never opened for reading, be it named directly."""
    with pytest.raises(grille.PathError) as refused:
        open_tree(zoo).grep("needle", f"/mnt/tree/{start}")
    assert refused.value.code == "not_file"


def test_a_start_path_through_a_link_that_stays_is_the_folder_it_means(
    tmp_path: Path, open_tree: Open
) -> None:
    """Contract 6: a start path may go through a link that stays within the mount; with or without a slash."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.txt").write_text("needle\n")
    (tmp_path / "link").symlink_to("real")
    workspace = open_tree(tmp_path)
    assert paths(workspace.grep("needle", "/mnt/tree/link")) == ["real/x.txt"]
    assert paths(workspace.grep("needle", "/mnt/tree/link/")) == ["real/x.txt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a device node")
def test_a_device_node_is_never_read(tmp_path: Path, open_tree: Open, skips: Skips) -> None:
    """Contract 6: a device without an end is counted `special_file` and not read."""
    try:
        os.mknod(tmp_path / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this container may make no device node")
    (tmp_path / "zz.txt").write_text("needle\n")
    result = open_tree(tmp_path).grep("needle")
    assert paths(result) == ["zz.txt"]
    assert skips(result) == {"special_file": 1}


def test_a_device_node_named_as_a_pattern_prefix_is_never_read(
    zoo: Path, open_tree: Open, skips: Skips
) -> None:
    """Contract 3: a glob that spells out a name goes straight to it; a FIFO there is still no file."""
    result = open_tree(zoo).grep("needle", glob="./fifo")
    assert result.entries == ()
    assert skips(result) == {"special_file": 1}


def test_a_file_that_turns_into_a_fifo_and_back_never_hangs(
    tmp_path: Path, open_tree: Open, skips: Skips
) -> None:
    """Fault K1, with a race: a name is a file or a FIFO by turns. Each search ends, and finds it or counts
    it.
    """
    shown = tmp_path / "shown"
    shown.mkdir()
    target, file, fifo = shown / "turning", tmp_path / "file", tmp_path / "fifo"
    (shown / "a.txt").write_text("needle\n")
    stop = threading.Event()

    def turn() -> None:
        while not stop.is_set():
            file.write_text("needle\n")
            file.rename(target)
            os.mkfifo(fifo)
            fifo.rename(target)

    workspace = open_tree(shown)
    turner = threading.Thread(target=turn)
    file.write_text("needle\n")
    file.rename(target)
    turner.start()
    try:
        for _ in range(300):
            result = workspace.grep("needle")
            counted = skips(result)
            assert set(counted) <= {"special_file", "vanished"}
            assert paths(result)[0] == "a.txt"
            assert len(result.entries) + sum(counted.values()) == 2
    finally:
        stop.set()
        turner.join()


@contextmanager
def deep_tree(root: Path, levels: int) -> Iterator[list[str]]:
    """Folders within folders, a file at each fifth of the depth; yields the files in the contract's order.

    Made and removed by descriptor: its paths are too long for any call.
    """
    every = levels // 5
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for level in range(levels + 1):
        if level % every == 0:
            file = os.open("needle.txt", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at)
            os.write(file, b"needle\n")
            os.close(file)
        if level < levels:
            os.mkdir("d", dir_fd=at)
            below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
    try:
        # Deepest first: `d` comes before `needle.txt` on every level.
        yield ["d/" * level + "needle.txt" for level in range(levels, -1, -every)]
    finally:
        for level in range(levels, -1, -1):
            if level % every == 0:
                os.unlink("needle.txt", dir_fd=at)
            above = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = above
            if level:
                os.rmdir("d", dir_fd=at)
        os.close(at)


@pytest.mark.parametrize("levels", [1000, pytest.param(5000, marks=pytest.mark.long)])
def test_a_deep_tree_is_searched_to_its_end(tmp_path: Path, open_tree: Open, levels: int) -> None:
    """No depth ends a walk: not descriptors, not recursion, not PATH_MAX. Only time does, where a policy
    gives too little.
    """
    with deep_tree(tmp_path, levels) as expected:
        workspace = open_tree(tmp_path, scan_seconds=30, folder_seconds=30, request_seconds=60)
        for found in (workspace.glob("*.txt"), workspace.grep("needle", output_mode="files_with_matches")):
            assert paths(found) == expected
            assert found.complete


def test_a_tree_of_5000_levels_is_answered_in_time_and_what_is_missing_is_told(
    tmp_path: Path, open_tree: Open, skips: Skips
) -> None:
    """Contract 2.5: what could not be reached in time is counted; what was reached is found, in order."""
    with deep_tree(tmp_path, 5000) as expected:
        began = time.monotonic()
        found = open_tree(tmp_path, scan_seconds=0.1, folder_seconds=0.1, request_seconds=2).grep("needle")
        assert time.monotonic() - began < 2 + 5
    assert paths(found) == [path for path in expected if path in paths(found)]
    assert found.complete == (paths(found) == expected)
    if found.incomplete:
        assert set(found.reasons) <= {"timed_out", "deadline", "repeated_timeouts"}
        assert skips(found).get("timed_out") or "deadline" in found.reasons


def test_a_folder_of_20000_names_is_listed_whole_and_in_order(tmp_path: Path, open_tree: Open) -> None:
    """Contract 2.1: the order is by bytes, and a wide folder, cut into many shards, keeps it."""
    names = sorted(f"{number * 7919 % 20000}.txt" for number in range(20000))
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    for name in names:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder))
    os.close(folder)
    (tmp_path / "7.txt").write_text("needle\n")
    workspace = open_tree(tmp_path, glob_ceiling=30_000)
    result = workspace.glob("*.txt", limit=0)
    assert paths(result) == names
    assert result.complete
    grepped = workspace.grep("needle")
    assert paths(grepped) == ["7.txt"]
    assert grepped.complete


def test_empty_files_and_folders_hold_no_line(tmp_path: Path, open_tree: Open) -> None:
    """An empty file has no line: even a pattern that matches the empty text finds nothing in it."""
    (tmp_path / "empty.txt").touch()
    (tmp_path / "void").mkdir()
    result = open_tree(tmp_path).grep("x*")
    assert result.entries == ()
    assert result.complete
    assert result.skipped == ()


def test_a_carriage_return_before_a_newline_belongs_to_the_line_end(tmp_path: Path, open_tree: Open) -> None:
    r"""Contract 4 (fault D1): `needle$` matches `needle\r\n`, and all three modes agree (D2)."""
    (tmp_path / "crlf.txt").write_bytes(b"one\r\nneedle\r\nthree\r\n")
    workspace = open_tree(tmp_path)
    (entry,) = workspace.grep("needle$").entries
    assert (entry.line_number, entry.line) == (2, "needle")
    assert paths(workspace.grep("needle$", output_mode="files_with_matches")) == ["crlf.txt"]
    assert workspace.grep("needle$", output_mode="count").entries[0].count == 1


def test_a_late_nul_ends_the_text_and_the_result_says_so(
    tmp_path: Path, open_tree: Open, skips: Skips
) -> None:
    """Contract 4 (fault C9): a NUL in the first 8 KiB skips a file; a later one ends its search there."""
    (tmp_path / "early.bin").write_bytes(b"needle\n\0\n")
    (tmp_path / "late.bin").write_bytes(b"needle 1\n" + b"filler\n" * 3000 + b"\0\nneedle 2\n")
    workspace = open_tree(tmp_path)
    result = workspace.grep("needle")
    assert [(entry.path, entry.line_number) for entry in result.entries] == [("/mnt/tree/late.bin", 1)]
    assert skips(result) == {"binary": 2}
    assert workspace.grep("needle", output_mode="count").entries[0].count == 1
    assert paths(workspace.grep("needle", output_mode="files_with_matches")) == ["late.bin"]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("utf-32-be", b"\0\0\xfe\xff"),
    ],
)
def test_marked_text_is_decoded_and_the_mark_is_no_part_of_it(
    tmp_path: Path, open_tree: Open, encoding: str, mark: bytes
) -> None:
    """Contract 4 (faults C3, C5): a byte-order mark decides the encoding; `^` matches right behind it."""
    (tmp_path / "marked.txt").write_bytes(mark + "needle é\nother\nneedle 2\n".encode(encoding))
    result = open_tree(tmp_path).grep("^needle")
    assert [(entry.line_number, entry.line) for entry in result.entries] == [(1, "needle é"), (3, "needle 2")]
    assert result.complete


def test_unmarked_utf16_is_counted_as_binary(tmp_path: Path, open_tree: Open, skips: Skips) -> None:
    """Contract 4 (fault C3): without a mark its NULs make it binary, and that is told, not silent."""
    (tmp_path / "bare.txt").write_bytes("needle\n".encode("utf-16-le"))
    result = open_tree(tmp_path).grep("needle")
    assert result.entries == ()
    assert skips(result) == {"binary": 1}


def test_bytes_that_are_no_utf8_are_shown_replaced_and_the_search_goes_on(
    tmp_path: Path, open_tree: Open
) -> None:
    """Contract 4 (faults B9, B10): such a byte is U+FFFD in the line; other lines and files are not
    touched.
    """
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 needle\nneedle\n")
    result = open_tree(tmp_path).grep("needle")
    assert [entry.line for entry in result.entries] == ["caf\ufffd needle", "needle"]


def test_one_line_of_ten_megabytes_is_shown_in_200_characters(
    tmp_path: Path, open_tree: Open, said: Said, skips: Skips
) -> None:
    """Contract 4: a long line is searched by the linear engine and shown cut, with its true length; the backtracking
    engine counts it as `long_line`."""
    line = "x" * 9_000_000 + "needle" + "y" * 1_000_000
    (tmp_path / "long.js").write_text(line)
    workspace = open_tree(tmp_path, max_file_bytes=20_000_000, scan_seconds=5)
    result = workspace.grep("needle")
    (entry,) = result.entries
    assert entry.line_length == len(line)
    assert entry.line is not None
    assert len(entry.line) <= 200
    assert len(said(result)) < 10_000
    backtracking = workspace.grep(r"(?=(e+))\1d")
    assert backtracking.entries == ()
    assert skips(backtracking) == {"long_line": 1}


def test_a_file_over_the_limit_is_counted(tmp_path: Path, open_tree: Open, skips: Skips) -> None:
    """Contract 4: a file of exactly the policy's size is searched, one byte more is `too_large`."""
    (tmp_path / "fits.txt").write_bytes(b"needle\n".ljust(200_000, b"."))
    (tmp_path / "over.txt").write_bytes(b"needle\n".ljust(200_001, b"."))
    result = open_tree(tmp_path, max_file_bytes=200_000).grep("needle")
    assert paths(result) == ["fits.txt"]
    assert skips(result) == {"too_large": 1}


def test_hard_links_are_files_like_any_other(tmp_path: Path, open_tree: Open) -> None:
    """A file with two names is found under both."""
    (tmp_path / "one.txt").write_text("needle\n")
    os.link(tmp_path / "one.txt", tmp_path / "two.txt")
    assert paths(open_tree(tmp_path).grep("needle")) == ["one.txt", "two.txt"]


def test_hard_links_are_left_out_where_the_policy_says_so(tmp_path: Path, pool: grille.Pool) -> None:
    """Policy.refuse_hardlinks: a file with more than one name is not searched."""
    (tmp_path / "single.txt").write_text("needle\n")
    (tmp_path / "one.txt").write_text("needle\n")
    os.link(tmp_path / "one.txt", tmp_path / "two.txt")
    policy = grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(tmp_path))], refuse_hardlinks=True)
    with pool.open(policy) as workspace:
        assert paths(workspace.grep("needle")) == ["single.txt"]


def test_denied_entries_are_neither_named_nor_counted(tmp_path: Path, pool: grille.Pool, said: Said) -> None:
    """Contract 2.6: what the policy denies leaves no trace in a result, whatever kind of thing it is."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "a.txt").write_text("needle\n")
    (tmp_path / "x.pem").write_text("needle\n")
    (tmp_path / "y.pem").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "z.pem")
    (tmp_path / "ok.txt").write_text("needle\n")
    policy = grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(tmp_path))], deny=["keys/**", "*.pem"])
    with pool.open(policy) as workspace:
        for result in (
            workspace.grep("needle"),
            workspace.glob("**"),
            workspace.glob("*.pem", no_ignore=True),
        ):
            assert not {"keys", "pem"} & set(said(result.entries and result).replace("/", ".").split("."))
            assert result.skipped == ()
            assert result.complete


def test_a_name_that_is_a_regex_or_a_glob_is_found_as_it_is(tmp_path: Path, open_tree: Open) -> None:
    """Contract 3: when a name holds `[` and that very path exists, it is found; colons and spaces are no
    separators.
    """
    names = ["app/[id]/page.tsx", "a:12:b.txt", "file with space.py", "{x}.txt", "- [ ].txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("needle\n")
    workspace = open_tree(tmp_path)
    assert sorted(paths(workspace.grep("needle"))) == sorted(names)
    for name in names:
        assert paths(workspace.glob(name)) == [name]


def test_a_file_that_grows_or_shrinks_while_it_is_read_ends(
    tmp_path: Path, open_tree: Open, skips: Skips
) -> None:
    """Faults J7 and its neighbours: a file truncated or growing under the scan costs no worker its life."""
    target = tmp_path / "moving.txt"
    target.write_bytes(b"needle\n")
    stop = threading.Event()

    def move() -> None:
        with open(target, "r+b") as file:
            while not stop.is_set():
                file.seek(0, 2)
                file.write(b"filler\n" * 50_000)
                file.truncate(7)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        workspace = open_tree(tmp_path, max_file_bytes=300_000)
        for _ in range(100):
            assert set(skips(workspace.grep("needle"))) <= {"too_large", "binary"}
    finally:
        stop.set()
        mover.join()
