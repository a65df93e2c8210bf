"""The scenery of an attempt: a mount with everything odd in it, a folder beside it that nobody inside may see.

Invariant: everything outside is readable by everybody, so that only the bars keep a worker from it, never its user id.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path

from .toolkit import KEPT, SECRET

_LINKS = {
    "to-passwd": "/etc/passwd",
    "to-secret": "../outside/secret.txt",
    "to-folder": "../outside",
    "to-proc": "/proc/self/root/etc/passwd",
    "to-cwd": "/proc/self/cwd",
    "loop": "loop",
    "to-kept": "kept.txt",
}


class Yard:
    """A fresh folder with `root` and `outside` in it."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="grille-escape-"))
        self.root = self.base / "root"
        self.outside = self.base / "outside"
        self._build()
        self.root_fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _build(self) -> None:
        for folder in (self.base, self.root, self.outside, self.root / "folder", self.root / "empty"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        for file, content in (
            (self.root / "kept.txt", KEPT),
            (self.root / "other.txt", KEPT),
            (self.root / "folder" / "inner.txt", b"inner\n"),
            (self.outside / "secret.txt", SECRET),
            (self.outside / "hard.txt", b"linked\n"),
            (self.outside / "public.txt", b"public\n"),
        ):
            file.write_bytes(content)
            file.chmod(0o666)
        shutil.copy("/bin/true", self.root / "program")
        (self.root / "program").chmod(0o755)
        for name, target in _LINKS.items():
            (self.root / name).symlink_to(target)
        (self.root / "hard.txt").hardlink_to(self.outside / "hard.txt")
        os.mkfifo(self.root / "fifo", 0o666)
        with open(self.root / "sparse", "wb") as sparse:
            sparse.truncate(1 << 40)
        # From inside the folder: a socket's path holds 107 bytes at most.
        with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(self.root):
            listener.bind("socket")
        (self.root / "socket").chmod(0o666)
        if os.geteuid() == 0:
            for name, major, minor in (("null", 1, 3), ("zero", 1, 5), ("tty", 5, 0)):
                os.mknod(self.root / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
                (self.root / name).chmod(0o666)

    def fingerprint(self) -> str:
        """A hash over every name, content and piece of metadata, both inside and outside; times of reading excepted."""
        digest = hashlib.sha256()
        for folder, folders, files in os.walk(self.base):
            folders.sort()
            for name in sorted([*folders, *files, "."]):
                path = os.path.join(folder, name)
                seen = os.lstat(path)
                digest.update(repr((path, seen[:7], seen.st_mtime_ns, seen.st_nlink, seen.st_rdev)).encode())
                with contextlib.suppress(OSError):
                    digest.update(repr(sorted(os.listxattr(path, follow_symlinks=False))).encode())
                if stat.S_ISREG(seen.st_mode) and seen.st_size < 1 << 20:
                    digest.update(Path(path).read_bytes())
                elif stat.S_ISLNK(seen.st_mode):
                    digest.update(os.readlink(path).encode())
        return digest.hexdigest()

    def close(self) -> None:
        """Remove everything."""
        os.close(self.root_fd)
        shutil.rmtree(self.base, ignore_errors=True)
