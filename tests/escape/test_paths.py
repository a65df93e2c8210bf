"""A worker opens nothing outside its mount, by whatever path or descriptor, and learns nothing of what is there."""

from __future__ import annotations

from .harness import Attempt, Jail, refused, returns, rows
from .toolkit import (
    AT_FDCWD,
    FOLDER,
    KEPT,
    ROOT,
    SECRET,
    Place,
    buffer,
    call,
    errno,
    errno_of,
    listing,
    os,
    pause,
    slurp,
    struct,
)
from .yard import Yard


@rows(
    Attempt(
        "an inside file by the mount's descriptor", lambda at: slurp(ROOT, b"kept.txt"), bars=returns(KEPT)
    ),
    Attempt(
        "a folder inside",
        lambda at: slurp(call("openat", ROOT, b"folder", FOLDER), b"inner.txt"),
        bars=returns(b"inner\n"),
    ),
    Attempt("a hard link to a file outside", lambda at: slurp(ROOT, b"hard.txt"), bars=returns(b"linked\n")),
)
def test_what_is_inside_is_readable(attempt: Attempt, jail: Jail) -> None:
    """The bars leave the job possible, so the refusals beside this mean something. Hard links inside are inside."""
    jail.verify(attempt)


@rows(
    Attempt("/etc/passwd from the working directory", lambda at: slurp(AT_FDCWD, b"/etc/passwd")),
    Attempt(
        "a relative path from the working directory",
        lambda at: call("openat", AT_FDCWD, b".", os.O_RDONLY | os.O_NOFOLLOW),
    ),
    Attempt(
        "the working directory, zero-extended",
        lambda at: call("openat", AT_FDCWD & 0xFFFF_FFFF, b".", os.O_NOFOLLOW),
    ),
    Attempt(
        "the working directory with other bits above",
        lambda at: call("openat", AT_FDCWD & 0xFFFF_FFFF | 5 << 32, b".", os.O_NOFOLLOW),
    ),
    Attempt("/etc/passwd from the mount", lambda at: slurp(ROOT, b"/etc/passwd"), bars=refused(errno.ENOENT)),
    Attempt(
        "the secret by its absolute path",
        lambda at: slurp(ROOT, at.secret),
        bars=refused(errno.ENOENT),
        control=returns(SECRET),
    ),
    Attempt(
        "the mount's own host path",
        lambda at: slurp(ROOT, at.root + b"/kept.txt"),
        bars=refused(errno.ENOENT),
    ),
    Attempt(
        "../outside",
        lambda at: slurp(ROOT, b"../outside/secret.txt"),
        bars=refused(errno.ENOENT),
        control=returns(SECRET),
    ),
    Attempt(
        "folder/../../outside",
        lambda at: slurp(ROOT, b"folder/../../outside/secret.txt"),
        bars=refused(errno.ENOENT),
        control=returns(SECRET),
    ),
    Attempt(
        "a long chain of ..",
        lambda at: slurp(ROOT, b"../" * 64 + b"etc/passwd"),
        bars=refused(errno.ENOENT),
    ),
    Attempt(
        ".. opened step by step",
        lambda at: slurp(
            call("openat", call("openat", ROOT, b"..", FOLDER), b"outside", FOLDER), b"secret.txt"
        ),
        bars=refused(errno.ENOENT),
        control=returns(SECRET),
    ),
    Attempt("list /", lambda at: listing(call("openat", ROOT, b"/", FOLDER)), bars=refused(errno.EACCES)),
    Attempt(
        "list ..",
        lambda at: b"outside" in listing(call("openat", ROOT, b"..", FOLDER)),
        bars=returns(False),
        control=returns(True),
    ),
)
def test_paths_lead_nowhere(attempt: Attempt, jail: Jail) -> None:
    """From the mount's descriptor there is no way up and no way across; from anywhere else there is none at all."""
    jail.verify(attempt)


@rows(
    Attempt("link to /etc/passwd, followed", lambda at: slurp(ROOT, b"to-passwd", os.O_RDONLY)),
    Attempt("relative link out, followed", lambda at: slurp(ROOT, b"to-secret", os.O_RDONLY)),
    Attempt("link to a file inside, followed", lambda at: slurp(ROOT, b"to-kept", os.O_RDONLY)),
    Attempt("link through /proc/self/root, followed", lambda at: slurp(ROOT, b"to-proc", os.O_RDONLY)),
    Attempt(
        "linked folder, followed", lambda at: call("openat", ROOT, b"to-folder", os.O_RDONLY | os.O_DIRECTORY)
    ),
    Attempt(
        "linked folder in the middle",
        lambda at: slurp(ROOT, b"to-folder/secret.txt"),
        bars=refused(errno.ELOOP),
        control=returns(SECRET),
    ),
    Attempt(
        "link to /proc/self/cwd in the middle",
        lambda at: call("openat", ROOT, b"to-cwd/.", FOLDER),
        bars=refused(errno.ELOOP),
    ),
    Attempt(
        "link to /etc/passwd, not followed",
        lambda at: slurp(ROOT, b"to-passwd"),
        bars=refused(errno.ELOOP),
        control=refused(errno.ELOOP),
    ),
    Attempt(
        "a link to itself",
        lambda at: slurp(ROOT, b"loop/x"),
        bars=refused(errno.ELOOP),
        control=refused(errno.ELOOP),
    ),
)
def test_links_are_not_followed(attempt: Attempt, jail: Jail) -> None:
    """No symbolic link is followed, in any component, wherever it leads."""
    jail.verify(attempt)


@rows(
    Attempt("/proc/self/maps", lambda at: slurp(ROOT, b"/proc/self/maps"), bars=refused(errno.ENOENT)),
    Attempt("/proc/self/environ", lambda at: slurp(ROOT, b"/proc/self/environ"), bars=refused(errno.ENOENT)),
    Attempt(
        "/proc/self/mem",
        lambda at: call("openat", ROOT, b"/proc/self/mem", os.O_NOFOLLOW),
        bars=refused(errno.ENOENT),
    ),
    Attempt(
        "another's /proc/N/root",
        lambda at: slurp(ROOT, b"/proc/%d/root/etc/passwd" % at.victim),
        bars=refused(errno.ENOENT),
    ),
    Attempt(
        "/proc/self/fd",
        lambda at: listing(call("openat", ROOT, b"/proc/self/fd", FOLDER)),
        bars=refused(errno.ENOENT),
    ),
    Attempt(
        "/proc/self/mem for writing",
        lambda at: call("openat", ROOT, b"/proc/self/mem", os.O_NOFOLLOW | os.O_RDWR),
    ),
    Attempt(
        "the own descriptor reopened for writing",
        lambda at: call("openat", ROOT, b"/proc/self/fd/%d" % at.leaked[6], os.O_RDWR),
    ),
    Attempt("/sys", lambda at: call("openat", ROOT, b"/sys", FOLDER), bars=refused(errno.ENOENT)),
    Attempt(
        "/dev/null", lambda at: call("openat", ROOT, b"/dev/null", os.O_NOFOLLOW), bars=refused(errno.ENOENT)
    ),
)
def test_no_kernel_file_systems(attempt: Attempt, jail: Jail) -> None:
    """There is no /proc, /sys or /dev where a worker lives."""
    jail.verify(attempt)


def errnos_of_existing_and_absent(at: Place) -> list[int]:
    """What the kernel answers for a file that exists outside, and for one that does not."""
    return [
        errno_of("openat", ROOT, at.secret, os.O_NOFOLLOW),
        errno_of("openat", ROOT, at.secret + b".absent", os.O_NOFOLLOW),
    ]


def errnos_of_folder_and_file(at: Place) -> list[int]:
    """The same for a path through a folder, and one through a file, outside."""
    return [
        errno_of("openat", ROOT, at.outside + b"/x", os.O_NOFOLLOW),
        errno_of("openat", ROOT, at.secret + b"/x", os.O_NOFOLLOW),
    ]


@rows(
    Attempt(
        "whether a file exists",
        errnos_of_existing_and_absent,
        bars=returns([errno.ENOENT] * 2),
        control=returns([0, errno.ENOENT]),
    ),
    Attempt(
        "whether a name is a folder",
        errnos_of_folder_and_file,
        bars=returns([errno.ENOENT] * 2),
        control=returns([errno.ENOENT, errno.ENOTDIR]),
    ),
)
def test_no_oracle_of_existence(attempt: Attempt, jail: Jail) -> None:
    """What exists outside and what does not look the same from inside."""
    jail.verify(attempt)


def by_handle(at: Place) -> int:
    """Open the secret by its file handle."""
    handle, mount = buffer(136), buffer(4)
    struct.pack_into("<Ii", handle, 0, 128, 0)
    call("name_to_handle_at", AT_FDCWD, at.secret, handle, mount, 0)
    return call("open_by_handle_at", ROOT, handle, os.O_RDONLY)


def handle_of(at: Place) -> int:
    """The secret's file handle."""
    handle, mount = buffer(136), buffer(4)
    struct.pack_into("<Ii", handle, 0, 128, 0)
    return call("name_to_handle_at", AT_FDCWD, at.secret, handle, mount, 0)


@rows(
    Attempt("openat2", lambda at: call("openat2", ROOT, at.secret, struct.pack("<QQQ", 0, 0, 0), 24)),
    Attempt(
        "openat2 beneath",
        lambda at: call("openat2", ROOT, b"kept.txt", struct.pack("<QQQ", os.O_NOFOLLOW, 0, 8), 24),
        alone=True,
    ),
    Attempt("open", lambda at: call("open", at.secret, os.O_RDONLY), calls=("open",)),
    Attempt("O_PATH", lambda at: call("openat", ROOT, at.secret, os.O_PATH | os.O_NOFOLLOW)),
    Attempt(
        "O_PATH inside", lambda at: call("openat", ROOT, b"kept.txt", os.O_PATH | os.O_NOFOLLOW), alone=True
    ),
    Attempt("name_to_handle_at", handle_of),
    Attempt("open_by_handle_at", by_handle, stopped_at="name_to_handle_at", needs_root="CAP_DAC_READ_SEARCH"),
    Attempt("chdir", lambda at: call("chdir", at.outside)),
    Attempt("fchdir", lambda at: call("fchdir", ROOT), alone=True),
    Attempt("getcwd", lambda at: call("getcwd", buffer(4096), 4096), alone=True),
)
def test_no_other_way_to_open(attempt: Attempt, jail: Jail) -> None:
    """`openat` with O_NOFOLLOW, for reading, from a real descriptor: every other way to open something is death."""
    jail.verify(attempt)


def held_while_it_moves(at: Place) -> list[int]:
    """Hold a folder while somebody moves it out of the mount, then go up from it."""
    folder = call("openat", ROOT, b"folder", FOLDER)
    pause()
    return [
        errno_of("openat", folder, b"../secret.txt", os.O_NOFOLLOW),
        errno_of("openat", folder, b"../outside/secret.txt", os.O_NOFOLLOW),
        errno_of("openat", folder, b"../../etc/passwd", os.O_NOFOLLOW),
    ]


def move_out_and_back(yard: Yard) -> None:
    """For the control, whose yard is thrown away, and for the shared one, which is put right by the test."""
    (yard.root / "folder").rename(yard.outside / "folder")


def test_a_folder_moved_out_of_the_mount_leads_nowhere(jail: Jail) -> None:
    """From a folder that was moved out while held, its new neighbours cannot be reached."""
    attempt = Attempt(
        "held while it moves",
        held_while_it_moves,
        bars=returns([errno.ENOENT] * 3),
        control=returns([0, errno.ENOENT, errno.ENOENT]),
        meanwhile=move_out_and_back,
    )
    outcome, _ = jail.without_bars(attempt)
    assert attempt.control(outcome), outcome
    try:
        outcome = jail.behind_bars(attempt)
    finally:
        (jail.yard.outside / "folder").rename(jail.yard.root / "folder")
    assert attempt.bars(outcome), outcome
