"""Folders by descriptor: opened one component at a time, listed with the kind of every entry.

Invariants: no path is ever looked up from the working directory or the root; no link is followed, in any
component. Names come in the contract's order: as bytes (contract 2.1).

Listed by raw getdents64: it gives each entry's kind without asking for its status, and it is the only call
of its kind that the filter has to allow.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import time
from typing import Final, NamedTuple

from .confine import kernel

OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

OPEN_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LONGEST_NAME: Final = 255  # bytes: NAME_MAX

DT_UNKNOWN: Final = 0
DT_SPECIAL: Final = 1  # DT_FIFO, standing here for every kind that is never read
DT_DIR: Final = 4
DT_REG: Final = 8
DT_LNK: Final = 10

# A call's worth of entries; large enough that an ordinary folder takes one call and the one that says "no
# more".
_BUFFER_BYTES: Final = 64 << 10
_buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
_view = memoryview(_buffer).cast("B")

# struct linux_dirent64: ino, off, reclen, type, name (NUL-terminated, padded)
_RECORD: Final = struct.Struct("<QqHB")
_NAME_AT: Final = 19

_STAT_BYTES: Final = 144
_stat_buffer = ctypes.create_string_buffer(_STAT_BYTES)
_MODE_AT: Final = {"x86_64": 24, "aarch64": 16}.get(kernel.MACHINE, 24)  # asm/stat.h
_LINKS: Final = {"x86_64": struct.Struct("<16xQ"), "aarch64": struct.Struct("<20xI")}.get(
    kernel.MACHINE, struct.Struct("<16xQ")
)
_SIZE_AT: Final = 48  # the same on both
_MODIFIED_AT: Final = 88  # likewise


class Entry(NamedTuple):
    """A name in a folder and its kind (a DT_ constant)."""

    name: bytes
    kind: int


class Status(NamedTuple):
    """Mode, size in bytes, number of names, and time of the last change in nanoseconds, of an open file."""

    mode: int
    size: int
    links: int
    modified: int


class TooSlow(Exception):
    """A folder took longer to list than the policy allows."""


def list_folder(folder: int, give_up_at: float) -> list[Entry]:
    """Every entry but `.` and `..`, sorted by name as bytes. Raises OSError, TooSlow past monotonic time
    `give_up_at`.
    """
    entries: list[Entry] = []
    unpack = _RECORD.unpack_from
    while filled := kernel.syscall("getdents64", folder, _buffer, _BUFFER_BYTES):
        raw = bytes(_view[:filled])
        at = 0
        while at < filled:
            _, _, length, kind = unpack(raw, at)
            name = raw[at + _NAME_AT : raw.index(0, at + _NAME_AT)]
            if name not in (b".", b".."):
                entries.append(Entry(name, kind))
            at += length
        if time.monotonic() > give_up_at:
            raise TooSlow
    entries.sort()
    return entries


def status(file: int) -> Status:
    """fstat(2) by its own number, which takes no path. Raises OSError."""
    kernel.syscall("fstat", file, _stat_buffer)
    raw = _stat_buffer.raw
    (mode,) = struct.unpack_from("<I", raw, _MODE_AT)
    (size,) = struct.unpack_from("<q", raw, _SIZE_AT)
    (links,) = _LINKS.unpack_from(raw)
    seconds, nanoseconds = struct.unpack_from("<qq", raw, _MODIFIED_AT)
    return Status(mode, size, links, seconds * 1_000_000_000 + nanoseconds)


def exists(parent: int, name: bytes) -> bool:
    """Whether the folder has such an entry, be it one that cannot be opened."""
    try:
        os.close(os.open(name, OPEN_FILE, dir_fd=parent))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def kind_of(parent: int, name: bytes) -> int:
    """The DT_ constant of one entry, found by opening it. Raises OSError; ELOOP means a link."""
    try:
        os.close(os.open(name, OPEN_FOLDER, dir_fd=parent))
    except NotADirectoryError:
        # O_DIRECTORY on a link says ENOTDIR, too; without it a link says ELOOP.
        file = os.open(name, OPEN_FILE, dir_fd=parent)
        try:
            return DT_REG if stat.S_ISREG(status(file).mode) else DT_SPECIAL
        finally:
            os.close(file)
    return DT_DIR


def modified(parent: int, name: bytes) -> int:
    """When an entry was last changed, in nanoseconds; 0 for what cannot be opened, so that it sorts last."""
    try:
        file = os.open(name, OPEN_FILE, dir_fd=parent)
    except OSError:
        return 0
    try:
        return status(file).modified
    finally:
        os.close(file)


def has_other_names(parent: int, name: bytes) -> bool:
    """Whether a file has hard links besides this one. What cannot be opened has none that could be read
    here.
    """
    try:
        file = os.open(name, OPEN_FILE, dir_fd=parent)
    except OSError:
        return False
    try:
        return status(file).links > 1
    finally:
        os.close(file)


def open_below(root: int, path: bytes) -> int:
    """A descriptor of the folder at `path` below the open folder `root`. Raises OSError.

    Component by component, so that O_NOFOLLOW holds for each and a path longer than PATH_MAX is no obstacle.
    """
    folder = os.open(b".", OPEN_FOLDER, dir_fd=root)
    for component in filter(None, path.split(b"/")):
        parent = folder
        try:
            folder = os.open(component, OPEN_FOLDER, dir_fd=parent)
        finally:
            os.close(parent)
    return folder


def join(folder: bytes, name: bytes) -> bytes:
    """The path of `name` in `folder`, relative to the mount."""
    return folder + b"/" + name if folder else name
