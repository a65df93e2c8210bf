"""A worker starts no process and no program, and neither sees nor touches another process."""

from __future__ import annotations

from .harness import ANYWHERE, SUCCESS, Attempt, Jail, either, exits, refused, rows
from .toolkit import (
    AT_EMPTY_PATH,
    RESULT,
    ROOT,
    Place,
    address,
    buffer,
    call,
    errno,
    in_child,
    os,
    signal,
    slurp,
    struct,
    thread,
    vfork,
)


def clone3(at: Place) -> int:
    """A child by clone3; it ends at once."""
    child = call("clone3", struct.pack("<8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return 1


@rows(
    Attempt("fork", lambda at: in_child("fork"), calls=("fork",)),
    Attempt("clone", lambda at: in_child("clone")),
    Attempt("clone3", clone3),
    Attempt("vfork", lambda at: vfork(), calls=("vfork",), stopped_at="vfork"),
    Attempt("a thread", lambda at: thread(), stopped_at=ANYWHERE),
    Attempt("wait4", lambda at: call("wait4", -1, None, 1, None), control=refused(errno.ECHILD)),
)
def test_no_process_is_started(attempt: Attempt, jail: Jail) -> None:
    """A worker is alone and stays so: no child, no thread."""
    jail.verify(attempt)


def execute(at: Place, path: bytes) -> int:
    """execve(2) of a shell by its absolute path, to end with 42."""
    words = [path, b"-c", b"exit 42"]
    argv = struct.pack("<4Q", *[address(word) for word in words], 0)
    return call("execve", path, argv, struct.pack("<Q", 0))


def execute_inside(at: Place) -> int:
    """execveat(2) of the program in the mount."""
    name = b"program"
    return call("execveat", ROOT, name, struct.pack("<2Q", address(name), 0), struct.pack("<Q", 0), 0)


def execute_memory(at: Place) -> int:
    """A program from memory; only its first bytes, so that the kernel finds it and does not start it."""
    program = call("memfd_create", b"program", 0)
    call("write", program, slurp(ROOT, b"program"), 64)
    return call("execveat", program, b"", struct.pack("<Q", 0), struct.pack("<Q", 0), AT_EMPTY_PATH)


@rows(
    Attempt("execve /bin/sh", execute, arguments=(b"/bin/sh",), control=exits(42)),
    Attempt("execveat in the mount", execute_inside, control=exits(0)),
    Attempt("memfd_create", lambda at: call("memfd_create", b"x", 0), alone=True),
    Attempt(
        "memfd_secret",
        lambda at: call("memfd_secret", 0),
        control=either(SUCCESS, refused(errno.ENOSYS)),
        alone=True,
    ),
    Attempt(
        "memfd and execveat",
        execute_memory,
        stopped_at="memfd_create",
        control=refused(errno.ENOEXEC, errno.EACCES, errno.EFAULT, errno.EIO),
    ),
)
def test_no_program_is_started(attempt: Attempt, jail: Jail) -> None:
    """No program runs, from the host, from the mount or from memory."""
    jail.verify(attempt)


def read_memory(at: Place, name: str) -> int:
    """Another process's memory, at an address where nothing is: EFAULT comes from who was let through."""
    memory = buffer(8)
    here = struct.pack("<QQ", address(memory), 8)
    return call(name, at.victim, here, 1, struct.pack("<QQ", 4096, 8), 1, 0)


@rows(
    Attempt("ptrace attach", lambda at: call("ptrace", 16, at.victim, 0, 0)),
    Attempt("ptrace traceme", lambda at: call("ptrace", 0, 0, 0, 0), alone=True),
    Attempt("process_vm_readv", read_memory, arguments=("process_vm_readv",), control=refused(errno.EFAULT)),
    Attempt(
        "process_vm_writev", read_memory, arguments=("process_vm_writev",), control=refused(errno.EFAULT)
    ),
    Attempt("pidfd_open", lambda at: call("pidfd_open", at.victim, 0)),
    Attempt("pidfd_open of the cell", lambda at: call("pidfd_open", 1, 0), alone=True),
    Attempt(
        "pidfd_getfd",
        lambda at: call("pidfd_getfd", call("pidfd_open", at.victim, 0), 0, 0),
        stopped_at="pidfd_open",
    ),
    Attempt(
        "kcmp",
        lambda at: call("kcmp", at.victim, at.victim, 1, 0, 0),
        control=either(SUCCESS, refused(errno.ENOSYS)),
    ),
    Attempt(
        "process_madvise",
        lambda at: call(
            "process_madvise", call("pidfd_open", at.victim, 0), struct.pack("<QQ", 4096, 4096), 1, 20, 0
        ),
        stopped_at="pidfd_open",
        control=refused(errno.EFAULT, errno.ENOMEM, errno.EINVAL),
        needs_root="CAP_SYS_NICE",
    ),
    Attempt(
        "process_mrelease",
        lambda at: call("process_mrelease", -1, 0),
        control=refused(errno.EBADF, errno.ENOSYS),
    ),
    Attempt("get_robust_list", lambda at: call("get_robust_list", at.victim, buffer(8), buffer(8))),
    Attempt("getpgid", lambda at: call("getpgid", at.victim)),
    Attempt("getsid", lambda at: call("getsid", at.victim)),
    Attempt("sched_getaffinity", lambda at: call("sched_getaffinity", at.victim, 128, buffer(128))),
    Attempt(
        "move_pages",
        lambda at: call("move_pages", at.victim, 0, None, None, None, 0),
        control=either(SUCCESS, refused(errno.ENOSYS)),
    ),
)
def test_no_other_process_is_seen(attempt: Attempt, jail: Jail) -> None:
    """A worker neither traces nor reads nor names another process, be it its own user's."""
    jail.verify(attempt)


def queue_to_the_victim(at: Place, name: str) -> int:
    """Signal 0 with a value attached: only the rights are tested."""
    thread = [at.victim] if name == "rt_tgsigqueueinfo" else []
    return call(name, at.victim, *thread, 0, struct.pack("<3i", 0, 0, -1) + bytes(116))


@rows(
    Attempt("kill, the victim", lambda at: call("kill", at.victim, 0)),
    Attempt("kill, the cell", lambda at: call("kill", 1, 0), control=either(SUCCESS, refused(errno.EPERM))),
    Attempt("tgkill", lambda at: call("tgkill", at.victim, at.victim, 0)),
    Attempt("tkill", lambda at: call("tkill", at.victim, 0)),
    Attempt(
        "rt_sigqueueinfo", queue_to_the_victim, arguments=("rt_sigqueueinfo",), stopped_at="rt_sigqueueinfo"
    ),
    Attempt(
        "rt_tgsigqueueinfo",
        queue_to_the_victim,
        arguments=("rt_tgsigqueueinfo",),
        stopped_at="rt_tgsigqueueinfo",
    ),
    Attempt(
        "pidfd_send_signal",
        lambda at: call("pidfd_send_signal", call("pidfd_open", at.victim, 0), 0, None, 0),
        stopped_at="pidfd_open",
    ),
    Attempt("F_SETOWN", lambda at: call("fcntl", RESULT, 8, at.victim)),
    Attempt("setpgid", lambda at: call("setpgid", 0, 0), alone=True),
    Attempt("setsid", lambda at: call("setsid"), alone=True),
)
def test_no_signal_is_sent(attempt: Attempt, jail: Jail) -> None:
    """No signal leaves a worker. (The victim is looked at after each attempt.)"""
    jail.verify(attempt)


@rows(
    Attempt("prlimit64 of the victim", lambda at: call("prlimit64", at.victim, 7, None, buffer(16))),
    Attempt(
        "prlimit64, raising one's own",
        lambda at: call("prlimit64", 0, 4, struct.pack("<QQ", 1 << 30, 1 << 30), None),
        needs_root="CAP_SYS_RESOURCE",
    ),
    Attempt(
        "setrlimit",
        lambda at: call("setrlimit", 4, struct.pack("<QQ", 1 << 30, 1 << 30)),
        calls=("setrlimit",),
        needs_root="CAP_SYS_RESOURCE",
    ),
    Attempt("setpriority of the victim", lambda at: call("setpriority", 0, at.victim, 19)),
    Attempt("sched_setscheduler", lambda at: call("sched_setscheduler", at.victim, 0, struct.pack("<i", 0))),
    Attempt(
        "sched_setaffinity", lambda at: call("sched_setaffinity", at.victim, 8, struct.pack("<Q", 0xFFFF))
    ),
    Attempt("ioprio_set", lambda at: call("ioprio_set", 1, at.victim, 2 << 13 | 4)),
)
def test_no_limit_is_changed(attempt: Attempt, jail: Jail) -> None:
    """A worker changes no limit and no priority, of its own or of others."""
    jail.verify(attempt)


@rows(
    Attempt("setresuid 0", lambda at: call("setresuid", 0, 0, 0), needs_root="the id of root"),
    Attempt("setresgid 0", lambda at: call("setresgid", 0, 0, 0), needs_root="the id of root"),
    Attempt("setgroups", lambda at: call("setgroups", 1, struct.pack("<I", 0)), needs_root="CAP_SETGID"),
    Attempt(
        "capset",
        lambda at: call("capset", struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", 1, 1, 0, 0, 0, 0)),
        needs_root="capabilities",
    ),
    Attempt("setfsuid", lambda at: call("setfsuid", 0), alone=True),
    Attempt("getppid", lambda at: call("getppid"), alone=True),
    Attempt("getuid", lambda at: call("getuid"), alone=True),
)
def test_no_identity_changes(attempt: Attempt, jail: Jail) -> None:
    """A worker stays who it is, and cannot even ask."""
    jail.verify(attempt)
