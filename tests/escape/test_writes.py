"""A worker changes nothing: no content, no name, no metadata, no lock, inside its mount or outside."""

from __future__ import annotations

from .harness import SUCCESS, Attempt, Jail, either, refused, rows
from .toolkit import AT_FDCWD, FOLDER, RESULT, ROOT, Place, call, errno, inside, os, struct


def open_and_write(at: Place, name: bytes, flags: int) -> int:
    """Open for writing inside, and write."""
    return call("write", call("openat", ROOT, name, flags, 0o666), b"changed", 7)


def only_open(at: Place, name: bytes, flags: int) -> int:
    """Open with flags that change something by themselves."""
    return call("openat", ROOT, name, flags, 0o666)


_NOFOLLOW = os.O_NOFOLLOW


@rows(
    Attempt(
        "O_WRONLY",
        open_and_write,
        arguments=(b"kept.txt", os.O_WRONLY | _NOFOLLOW),
        changes=True,
        stopped_at="openat",
    ),
    Attempt(
        "O_RDWR",
        open_and_write,
        arguments=(b"kept.txt", os.O_RDWR | _NOFOLLOW),
        changes=True,
        stopped_at="openat",
    ),
    Attempt(
        "O_APPEND",
        open_and_write,
        arguments=(b"kept.txt", os.O_WRONLY | os.O_APPEND | _NOFOLLOW),
        changes=True,
        stopped_at="openat",
    ),
    Attempt(
        "O_WRONLY with bits above",
        open_and_write,
        arguments=(b"kept.txt", os.O_WRONLY | _NOFOLLOW | 1 << 32),
        changes=True,
        stopped_at="openat",
    ),
    Attempt(
        "O_WRONLY|O_CREAT", only_open, arguments=(b"new", os.O_WRONLY | os.O_CREAT | _NOFOLLOW), changes=True
    ),
    Attempt("O_RDONLY|O_CREAT", only_open, arguments=(b"new", os.O_CREAT | _NOFOLLOW), changes=True),
    Attempt("O_RDONLY|O_TRUNC", only_open, arguments=(b"kept.txt", os.O_TRUNC | _NOFOLLOW), changes=True),
    Attempt(
        "O_TMPFILE", only_open, arguments=(b"folder", os.O_TMPFILE | os.O_WRONLY | _NOFOLLOW), changes=False
    ),
    Attempt("O_RDONLY with bits above", only_open, arguments=(b"kept.txt", _NOFOLLOW | 1 << 32), alone=True),
    Attempt(
        "O_RDONLY with all bits above",
        only_open,
        arguments=(b"kept.txt", _NOFOLLOW | 0xFFFF_FFFF << 32),
        alone=True,
    ),
    Attempt(
        "O_DIRECT",
        only_open,
        arguments=(b"kept.txt", os.O_DIRECT | _NOFOLLOW),
        alone=True,
        control=either(refused(errno.EINVAL), SUCCESS),
    ),
    Attempt("O_NOATIME", only_open, arguments=(b"kept.txt", os.O_NOATIME | _NOFOLLOW), alone=True),
    Attempt("O_ASYNC", only_open, arguments=(b"kept.txt", os.O_ASYNC | _NOFOLLOW), alone=True),
    Attempt("O_SYNC", only_open, arguments=(b"kept.txt", os.O_SYNC | _NOFOLLOW), alone=True),
    Attempt("creat", lambda at: call("creat", at.root + b"/new", 0o666), changes=True, calls=("creat",)),
    Attempt("truncate", lambda at: call("truncate", at.root + b"/kept.txt", 0), changes=True),
    Attempt("ftruncate", lambda at: call("ftruncate", at.leaked[6], 0)),
    Attempt("write outside, to a leaked descriptor", lambda at: call("write", at.leaked[6], b"x", 1)),
    Attempt(
        "write to the mount's descriptor",
        lambda at: call("write", ROOT, b"x", 1),
        control=refused(errno.EBADF),
    ),
    Attempt("write to stdout", lambda at: call("write", 1, b"x", 1)),
    Attempt("write to 3 with bits above", lambda at: call("write", RESULT | 1 << 32, b"", 0), alone=True),
    Attempt("pwrite64", lambda at: call("pwrite64", at.leaked[6], b"x", 1, 0)),
    Attempt("writev", lambda at: call("writev", RESULT, None, 0), alone=True),
    Attempt("sendfile", lambda at: call("sendfile", at.leaked[6], at.leaked[2], None, 1)),
    Attempt("splice", lambda at: call("splice", at.leaked[4], None, at.leaked[6], None, 1, 0)),
    Attempt(
        "copy_file_range", lambda at: call("copy_file_range", at.leaked[2], None, at.leaked[6], None, 1, 0)
    ),
    Attempt("fallocate", lambda at: call("fallocate", at.leaked[6], 0, 0, 1)),
)
def test_no_content_changes(attempt: Attempt, jail: Jail) -> None:
    """No file is opened for writing, made, cut or written."""
    jail.verify(attempt)


@rows(
    Attempt("unlinkat", lambda at: call("unlinkat", ROOT, b"kept.txt", 0), changes=True),
    Attempt("unlink", lambda at: call("unlink", at.root + b"/kept.txt"), changes=True, calls=("unlink",)),
    Attempt("rmdir", lambda at: call("unlinkat", ROOT, b"empty", 0x200), changes=True),
    Attempt("mkdirat", lambda at: call("mkdirat", ROOT, b"new", 0o777), changes=True),
    Attempt("mkdir", lambda at: call("mkdir", at.root + b"/new", 0o777), changes=True, calls=("mkdir",)),
    Attempt("renameat2", lambda at: call("renameat2", ROOT, b"kept.txt", ROOT, b"new", 0), changes=True),
    Attempt(
        "rename out of the mount",
        lambda at: call("renameat2", ROOT, b"kept.txt", ROOT, b"../outside/new", 0),
        changes=True,
    ),
    Attempt("linkat", lambda at: call("linkat", ROOT, b"kept.txt", ROOT, b"new", 0), changes=True),
    Attempt("symlinkat", lambda at: call("symlinkat", b"kept.txt", ROOT, b"new"), changes=True),
    Attempt("mknodat, a FIFO", lambda at: call("mknodat", ROOT, b"new", 0o010666, 0), changes=True),
    Attempt(
        "mknodat, a device",
        lambda at: call("mknodat", ROOT, b"new", 0o020666, 0x103),
        changes=True,
        needs_root="CAP_MKNOD",
    ),
)
def test_no_names_change(attempt: Attempt, jail: Jail) -> None:
    """No entry of any folder is made, removed or renamed."""
    jail.verify(attempt)


@rows(
    Attempt("fchmodat", lambda at: call("fchmodat", ROOT, b"kept.txt", 0o777), changes=True),
    Attempt("chmod", lambda at: call("chmod", at.root + b"/kept.txt", 0o777), changes=True, calls=("chmod",)),
    Attempt(
        "fchmod of a descriptor",
        lambda at: call("fchmod", inside(), 0o777),
        changes=True,
        stopped_at="fchmod",
    ),
    Attempt(
        "fchownat",
        lambda at: call("fchownat", ROOT, b"kept.txt", 12345, 12345, 0),
        changes=True,
        needs_root="CAP_CHOWN",
    ),
    Attempt(
        "fchown of a descriptor",
        lambda at: call("fchown", inside(), 12345, 12345),
        changes=True,
        stopped_at="fchown",
        needs_root="CAP_CHOWN",
    ),
    Attempt(
        "utimensat inside",
        lambda at: call("utimensat", ROOT, b"kept.txt", struct.pack("<4q", 1, 0, 1, 0), 0),
        changes=True,
    ),
    Attempt(
        "utimensat of a descriptor",
        lambda at: call("utimensat", inside(), None, struct.pack("<4q", 1, 0, 1, 0), 0),
        changes=True,
        stopped_at="utimensat",
    ),
    Attempt(
        "utimensat outside",
        lambda at: call("utimensat", AT_FDCWD, at.secret, struct.pack("<4q", 1, 0, 1, 0), 0),
        changes=True,
    ),
    Attempt(
        "setxattr",
        lambda at: call("setxattr", at.root + b"/kept.txt", b"user.grille", b"x", 1, 0),
        changes=True,
    ),
    Attempt(
        "fsetxattr",
        lambda at: call("fsetxattr", inside(), b"user.grille", b"x", 1, 0),
        changes=True,
        stopped_at="fsetxattr",
    ),
    Attempt(
        "removexattr", lambda at: call("fremovexattr", ROOT, b"user.grille"), control=refused(errno.ENODATA)
    ),
    Attempt(
        "FS_IOC_SETFLAGS",
        lambda at: call(
            "ioctl", call("openat", ROOT, b"other.txt", os.O_NOFOLLOW), 0x40086602, struct.pack("<q", 0x80)
        ),
        stopped_at="ioctl",
    ),
    Attempt("flock", lambda at: call("flock", inside(), 2), stopped_at="flock", alone=True),
    Attempt("F_SETLEASE", lambda at: call("fcntl", inside(), 1024, 0), stopped_at="fcntl", alone=True),
    Attempt(
        "F_SETLK",
        lambda at: call("fcntl", inside(), 6, struct.pack("<hhqqi", 0, 0, 0, 0, 0) + bytes(8)),
        stopped_at="fcntl",
        alone=True,
    ),
    Attempt(
        "F_NOTIFY",
        lambda at: call("fcntl", call("openat", ROOT, b".", FOLDER), 1026, 1),
        stopped_at="fcntl",
        alone=True,
    ),
    Attempt("fsync", lambda at: call("fsync", inside()), alone=True),
    Attempt("umask", lambda at: call("umask", 0), alone=True),
)
def test_no_metadata_changes(attempt: Attempt, jail: Jail) -> None:
    """Modes, owners, times, attributes, flags, locks and leases stay as they are."""
    jail.verify(attempt)
