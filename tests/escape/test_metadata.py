"""A worker learns nothing about a file but what `fstat` says of one that it could open."""

from __future__ import annotations

from .harness import SUCCESS, Attempt, Jail, either, refused, returns, rows
from .toolkit import AT_EMPTY_PATH, AT_FDCWD, ROOT, Place, address, buffer, call, errno, inside, struct


def of_the_secret(at: Place, name: str) -> int:
    """A call of the shape name(path, buffer)."""
    return call(name, at.secret, buffer(256), 256)


@rows(
    Attempt("fstat of the mount", lambda at: call("fstat", ROOT, buffer(144)), bars=returns(0)),
    Attempt(
        "fstat of a descriptor that is not ours",
        lambda at: call("fstat", at.leaked[2], buffer(144)),
        bars=refused(errno.EBADF),
    ),
    Attempt("stat", of_the_secret, arguments=("stat",), calls=("stat",)),
    Attempt("lstat", of_the_secret, arguments=("lstat",), calls=("lstat",)),
    Attempt("newfstatat, absolute", lambda at: call("newfstatat", AT_FDCWD, at.secret, buffer(144), 0)),
    Attempt(
        "newfstatat from the mount",
        lambda at: call("newfstatat", ROOT, b"kept.txt", buffer(144), 0),
        alone=True,
    ),
    Attempt(
        "newfstatat, AT_EMPTY_PATH and a path",
        lambda at: call("newfstatat", ROOT, at.secret, buffer(144), AT_EMPTY_PATH),
    ),
    Attempt("statx", lambda at: call("statx", AT_FDCWD, at.secret, 0, 0x7FF, buffer(256))),
    Attempt(
        "statx of the mount",
        lambda at: call("statx", ROOT, b"", AT_EMPTY_PATH, 0x7FF, buffer(256)),
        alone=True,
    ),
    Attempt("access", lambda at: call("access", at.secret, 0), calls=("access",)),
    Attempt("faccessat", lambda at: call("faccessat", ROOT, at.secret, 0)),
    Attempt("faccessat2", lambda at: call("faccessat2", ROOT, at.secret, 0, 0)),
    Attempt(
        "readlink", lambda at: call("readlink", at.root + b"/to-secret", buffer(64), 64), calls=("readlink",)
    ),
    Attempt("readlinkat", lambda at: call("readlinkat", ROOT, b"to-secret", buffer(64), 64), alone=True),
    Attempt(
        "readlinkat /proc/self/exe",
        lambda at: call("readlinkat", AT_FDCWD, b"/proc/self/exe", buffer(64), 64),
    ),
    Attempt("statfs", of_the_secret, arguments=("statfs",)),
    Attempt("fstatfs", lambda at: call("fstatfs", ROOT, buffer(256)), alone=True),
    Attempt("getxattr", lambda at: call("listxattr", at.secret, buffer(256), 256)),
    Attempt("flistxattr", lambda at: call("flistxattr", inside(), buffer(256), 256), alone=True),
    Attempt("lseek", lambda at: call("lseek", inside(), 0, 1), alone=True),
    Attempt(
        "cachestat",
        lambda at: call("cachestat", inside(), struct.pack("<QQ", 0, 4096), buffer(64), 0),
        stopped_at="cachestat",
        alone=True,
        control=either(returns(0), refused(errno.ENOSYS)),
    ),
    Attempt("mincore", lambda at: call("mincore", address(buffer(8)) & ~4095, 4096, buffer(8)), alone=True),
    Attempt(
        "statmount",
        lambda at: call("statmount", struct.pack("<IIQQQ", 32, 0, 1, 1, 0), buffer(512), 512, 0),
        control=refused(errno.ENOSYS, errno.ENOENT, errno.EPERM, errno.EINVAL),
    ),
    Attempt(
        "listmount",
        lambda at: call(
            "listmount", struct.pack("<IIQQQ", 32, 0, 0xFFFF_FFFF_FFFF_FFFF, 0, 0), buffer(512), 8, 0
        ),
        control=either(refused(errno.ENOSYS, errno.EPERM), SUCCESS),
        alone=True,
    ),
    Attempt("inotify_init1", lambda at: call("inotify_init1", 0), alone=True),
    Attempt("fanotify_init", lambda at: call("fanotify_init", 0, 0), needs_root="CAP_SYS_ADMIN"),
    Attempt(
        "quotactl",
        lambda at: call("quotactl", 0, None, 0, None),
        control=refused(errno.ENOSYS, errno.EINVAL, errno.ESRCH, errno.ENODEV, errno.EPERM),
    ),
)
def test_no_questions_about_files(attempt: Attempt, jail: Jail) -> None:
    """Asking for the metadata of any path is death, and so is asking more of a descriptor than `fstat` tells."""
    jail.verify(attempt)
