"""Folders by descriptor, compared with os.scandir: names, kinds, order; and that no link is ever followed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.worker import folders

FOREVER = float("inf")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """An empty folder and a descriptor of it."""
    opened = os.open(tmp_path, folders.OPEN_FOLDER)
    yield tmp_path, opened
    os.close(opened)


def kind_by_scandir(entry: os.DirEntry[bytes]) -> int:
    if entry.is_symlink():
        return folders.DT_LNK
    if entry.is_dir(follow_symlinks=False):
        return folders.DT_DIR
    return folders.DT_REG if entry.is_file(follow_symlinks=False) else -1


def test_a_listing_has_the_names_and_kinds_of_scandir_in_the_order_of_bytes(folder: tuple[Path, int]) -> None:
    """Contract 2.1: sorted by name as bytes; every kind is told: files, folders, links, and all that is
    never read.
    """
    path, opened = folder
    here = os.fsencode(path)
    for name in (b"a", b"B", b"a-b", b"a b", b"\xff\xfe", b"\xc3\xa9", b"new\nline", b"\x01", b"n" * 255):
        os.close(os.open(here + b"/" + name, os.O_CREAT | os.O_WRONLY))
    (path / "sub").mkdir()
    (path / "link").symlink_to("sub")
    (path / "dangling").symlink_to("nowhere")
    os.mkfifo(path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path / "socket"))
    with os.scandir(here) as entries:
        expected = sorted((entry.name, kind_by_scandir(entry)) for entry in entries)
    listed = folders.list_folder(opened, FOREVER)
    read = (folders.DT_REG, folders.DT_DIR, folders.DT_LNK)
    assert [(name, kind if kind in read else -1) for name, kind in listed] == expected


@pytest.mark.parametrize("count", [0, 1, 2, 5000])
def test_a_listing_is_whole_however_many_calls_it_takes(folder: tuple[Path, int], count: int) -> None:
    """A folder that does not fit into one buffer is listed to its end, each name once."""
    path, opened = folder
    names = sorted(f"{number:0100}".encode() for number in range(count))
    for name in names:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=opened))
    assert [entry.name for entry in folders.list_folder(opened, FOREVER)] == names
    assert path.exists()


def test_a_listing_gives_up_when_its_time_is_over(folder: tuple[Path, int]) -> None:
    """A folder without end costs the time a policy gives it, and not more."""
    (folder[0] / "a").touch()
    with pytest.raises(folders.TooSlow):
        folders.list_folder(folder[1], -1.0)


def test_a_listing_of_what_is_no_folder_is_an_oserror(tmp_path: Path) -> None:
    """Errors arrive as OSError with their errno, so that they can be counted under a reason."""
    (tmp_path / "f").touch()
    file = os.open(tmp_path / "f", os.O_RDONLY)
    try:
        with pytest.raises(NotADirectoryError):
            folders.list_folder(file, FOREVER)
    finally:
        os.close(file)


def test_no_component_of_a_path_is_followed_through_a_link(folder: tuple[Path, int]) -> None:
    """Fault L4: O_NOFOLLOW holds for each component, not only for the last."""
    path, opened = folder
    (path / "real" / "deep").mkdir(parents=True)
    (path / "link").symlink_to("real")
    (path / "real" / "up").symlink_to("..")
    os.close(folders.open_below(opened, b"real/deep"))
    for through in (b"link", b"link/deep", b"real/up", b"real/up/real", b"real/up/real/deep"):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            folders.open_below(opened, through)


def test_opening_a_long_path_leaks_no_descriptor(folder: tuple[Path, int]) -> None:
    """Each folder on the way is closed again, whether the last one is there or not."""
    (folder[0] / "a" / "b" / "c").mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd"))
    os.close(folders.open_below(folder[1], b"a/b/c"))
    for missing in (b"x", b"a/x", b"a/b/c/x"):
        with pytest.raises(FileNotFoundError):
            folders.open_below(folder[1], missing)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_kind_of_one_entry_is_found_without_following_it(folder: tuple[Path, int]) -> None:
    """A shard of one name needs no listing: a file, a folder, a FIFO are told apart, and a link says ELOOP."""
    path, opened = folder
    (path / "f").touch()
    (path / "d").mkdir()
    os.mkfifo(path / "p")
    (path / "l").symlink_to("d")
    assert folders.kind_of(opened, b"f") == folders.DT_REG
    assert folders.kind_of(opened, b"d") == folders.DT_DIR
    assert folders.kind_of(opened, b"p") not in (folders.DT_REG, folders.DT_DIR, folders.DT_LNK)
    with pytest.raises(OSError, match="Too many levels"):
        folders.kind_of(opened, b"l")
    with pytest.raises(FileNotFoundError):
        folders.kind_of(opened, b"none")


@given(st.integers(0, 2**41))
def test_status_is_that_of_fstat(size: int) -> None:
    """Mode and size are read from the kernel's own structure, beyond 32 bits, too."""
    file = os.memfd_create("sized")
    try:
        os.ftruncate(file, size)
        known = os.fstat(file)
        assert folders.status(file)[:2] == (known.st_mode, known.st_size)
    finally:
        os.close(file)


def test_existence_is_told_of_what_cannot_be_opened_too(folder: tuple[Path, int]) -> None:
    """An entry that cannot be opened is there all the same: who tries to read it will find out why it
    cannot.
    """
    (folder[0] / "l").symlink_to("nowhere")
    (folder[0] / "f").touch(0)
    assert folders.exists(folder[1], b"l")
    assert folders.exists(folder[1], b"f")
    assert not folders.exists(folder[1], b"x")
