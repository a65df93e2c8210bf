"""The mounts' folders, opened once: what must never be shown is refused, and start paths are resolved
beneath them.

Invariants: the supervisor looks names up but never opens a file of a repository for reading; every look-up
stays beneath a mount (openat2 with RESOLVE_BENEATH), whatever is renamed meanwhile. No message holds a host
path of a mapped mount.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import stat
import struct
import threading
from typing import Final, Literal, NamedTuple

from ..policy.errors import PathError, PolicyError, PoolError
from ..policy.mounts import Mount

_OPENAT2: Final = 437
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_BENEATH: Final = 0x08
_OPEN_HOW: Final = struct.Struct("<3Q")  # flags, mode, resolve
_FSTATFS_BYTES: Final = 120
_MOST_NAMES: Final = 5000

# Kernel interfaces (linux/magic.h): reading there acts, blocks, or tells secrets. FUSE: its server may never
# answer.
_REFUSED_FILE_SYSTEMS: Final = {
    0x9FA0: "proc",
    0x62656572: "sysfs",
    0x27E0EB: "cgroup",
    0x63677270: "cgroup2",
    0x73636673: "securityfs",
    0x74726163: "tracefs",
    0x64626720: "debugfs",
    0x1CD1: "devpts",
    0x19800202: "mqueue",
    0xCAFE4A11: "bpf",
    0xDE5E81E4: "efivarfs",
    0x65735543: "fusectl",
    0x65735546: "fuse",
}
_REFUSED_DEVICE_FOLDERS: Final = ("/dev",)  # devtmpfs has tmpfs's magic

_libc: Final = ctypes.CDLL(None, use_errno=True)


class Target(NamedTuple):
    """Where a request starts: the real path below the mount, and whether it is a folder or one file."""

    path: bytes
    kind: Literal["folder", "file"]


class Root:
    """One mount's open folder. Close it when the workspace goes."""

    def __init__(self, mount: Mount, pseudo_filesystems: bool) -> None:
        """Raises PolicyError: the folder is not there, is no folder, or shows what is never shown."""
        self.mount = mount
        self._lock = threading.Lock()
        self._open = True
        try:
            self.real_path = os.path.realpath(mount.host_path)
            self.fd = os.open(self.real_path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError:
            raise PolicyError(
                "mount_not_folder", f"{mount.virtual} is not a folder; mount a folder."
            ) from None
        except FileNotFoundError:
            raise PolicyError(
                "mount_not_found", f"What {mount.virtual} shows does not exist; create it first."
            ) from None
        except UnicodeEncodeError:
            raise PolicyError(
                "mount_text", f"What {mount.virtual} shows holds characters that no path can."
            ) from None
        except OSError:
            raise PolicyError("mount_unreadable", f"What {mount.virtual} shows cannot be opened.") from None
        try:
            self._refuse_what_is_never_shown(pseudo_filesystems)
        except PolicyError:
            self.close()
            raise

    def close(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                os.close(self.fd)

    def _own_descriptor(self) -> int:
        """A copy of the descriptor for one look-up: ours may be closed meanwhile, and its number be
        another's.
        """
        with self._lock:
            if not self._open:
                raise PoolError("workspace_closed", "The workspace is closed; open it again.")
            return os.dup(self.fd)

    def resolve(self, path: str, virtual: str) -> Target:
        """The start path `path` (relative to the mount), its links followed as long as they stay beneath the
        mount.

        Raises PathError: absent, leaving the mount, or neither a folder nor a file. `virtual` is how
        messages call it.
        """
        own = self._own_descriptor()
        try:
            found = _open_beneath(own, os.fsencode(path) or b".")
        except OSError as error:
            os.close(own)
            raise _path_error(error, virtual) from None
        try:
            mode = os.fstat(found).st_mode
            if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                raise PathError("not_file", f"{virtual} is neither a folder nor a regular file.")
            real = os.readlink(f"/proc/self/fd/{found}")
            base = os.readlink(f"/proc/self/fd/{own}")
        finally:
            os.close(found)
            os.close(own)
        below = os.fsencode(os.path.relpath(real, base))
        return Target(b"" if below == b"." else below, "folder" if stat.S_ISDIR(mode) else "file")

    def names_in(self, path: str) -> list[str]:
        """Names in a folder, for guesses at what was meant; none where it cannot be listed. At most some
        thousands.
        """
        own = self._own_descriptor()
        try:
            folder = _open_beneath(own, os.fsencode(path) or b".", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return []
        finally:
            os.close(own)
        try:
            with os.scandir(folder) as entries:
                return [entry.name for entry in itertools.islice(entries, _MOST_NAMES)]
        except OSError:
            return []
        finally:
            os.close(folder)

    def _refuse_what_is_never_shown(self, pseudo_filesystems: bool) -> None:
        virtual = self.mount.virtual
        if self.real_path == "/":
            raise PolicyError("mount_refused", f"{virtual} would show the whole machine; name a folder.")
        for refused in ("/proc", "/sys", *_REFUSED_DEVICE_FOLDERS):
            if self.real_path == refused or self.real_path.startswith(refused + "/"):
                raise PolicyError("mount_refused", f"{virtual} would show {refused}, which is never shown.")
        kind = _REFUSED_FILE_SYSTEMS.get(file_system(self.fd))
        if kind is not None and not pseudo_filesystems:
            raise PolicyError(
                "mount_refused",
                f"{virtual} would show a {kind} file system.",
                hint="Set confinement.pseudo_filesystems if that is meant.",
            )


def _path_error(error: OSError, virtual: str) -> PathError:
    if error.errno in (errno.EXDEV, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EAGAIN):
        # One answer for all: a link that leaves the mount must not tell what it points at.
        return PathError("not_found", f"{virtual} does not exist.")
    if error.errno == errno.ENAMETOOLONG:
        return PathError("path_too_long", f"{virtual[:100]}... is longer than a path can be.")
    return PathError("unreadable", f"{virtual} cannot be read.")


def _open_beneath(root: int, path: bytes, flags: int = os.O_PATH) -> int:
    how = _OPEN_HOW.pack(flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    result = _libc.syscall(ctypes.c_long(_OPENAT2), ctypes.c_long(root), path, how, ctypes.c_long(len(how)))
    if result < 0:
        raise OSError(ctypes.get_errno(), "openat2")
    return int(result)


def file_system(folder: int) -> int:
    """The magic number of the file system that an open file or folder lies on (linux/magic.h). Raises OSError."""
    buffer = ctypes.create_string_buffer(_FSTATFS_BYTES)
    if _libc.fstatfs(folder, buffer):
        raise OSError(ctypes.get_errno(), "fstatfs")
    return int.from_bytes(buffer.raw[:8], "little") & 0xFFFF_FFFF
