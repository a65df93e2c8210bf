"""A worker reaches no part of the kernel that its job does not need, in any calling convention."""

from __future__ import annotations

from .harness import ANYWHERE, SUCCESS, Attempt, Jail, either, refused, rows
from .toolkit import (
    NUMBERS,
    ROOT,
    Place,
    address,
    buffer,
    call,
    errno,
    inside,
    int_80,
    struct,
)

_ANON = 0x22  # MAP_PRIVATE | MAP_ANONYMOUS


def map_memory(at: Place, protection: int, flags: int) -> int:
    """mmap(2) of a page without a file."""
    return call("mmap", 0, 4096, protection, flags, -1, 0)


def map_file(at: Place, protection: int, flags: int) -> int:
    """mmap(2) of the file in the mount."""
    return call("mmap", 0, 4096, protection, flags, inside(), 0)


def make_executable(at: Place, name: str, last: tuple[int, ...]) -> int:
    """Memory that is written first and made executable then."""
    page = call("mmap", 0, 4096, 3, 0x22, -1, 0)
    return call(name, page, 4096, 5, *last)


def move_memory(at: Place, flags: int, target: int) -> int:
    """mremap(2) of a page of one's own."""
    page = call("mmap", 0, 4096, 3, 0x22, -1, 0)
    return call("mremap", page, 4096, 4096, flags, target)


_MAY_LACK_EXEC = either(
    SUCCESS, refused(errno.EACCES, errno.EPERM)
)  # where the host forbids it already, to everybody


@rows(
    Attempt("writable and executable", map_memory, arguments=(7, _ANON), control=_MAY_LACK_EXEC),
    Attempt("executable", map_memory, arguments=(5, _ANON), control=_MAY_LACK_EXEC, alone=True),
    Attempt("no access", map_memory, arguments=(0, _ANON), alone=True),
    Attempt("protection with bits above", map_memory, arguments=(3 | 1 << 32, _ANON), alone=True),
    Attempt("flags with bits above", map_memory, arguments=(3, _ANON | 1 << 32), alone=True),
    Attempt("shared", map_memory, arguments=(3, 0x21), alone=True),
    Attempt(
        "at a fixed address", lambda at: call("mmap", 0x6000_0000_0000, 4096, 3, 0x100022, -1, 0), alone=True
    ),
    Attempt(
        "huge pages",
        map_memory,
        arguments=(3, _ANON | 0x40000),
        control=either(SUCCESS, refused(errno.ENOMEM, errno.EINVAL)),
    ),
    Attempt("locked", map_memory, arguments=(3, _ANON | 0x2000)),
    Attempt("a file", map_file, arguments=(1, 2), stopped_at="mmap", alone=True),
    Attempt("a file, shared", map_file, arguments=(1, 1), stopped_at="mmap", alone=True),
    Attempt("a file, executable", map_file, arguments=(5, 2), stopped_at="mmap"),
    Attempt(
        "mprotect", make_executable, arguments=("mprotect", ()), stopped_at="mprotect", control=_MAY_LACK_EXEC
    ),
    Attempt(
        "pkey_mprotect",
        make_executable,
        arguments=("pkey_mprotect", (-1,)),
        stopped_at="pkey_mprotect",
        control=_MAY_LACK_EXEC,
    ),
    Attempt(
        "mremap to a fixed address",
        move_memory,
        arguments=(3, 0x6000_0000_0000),
        stopped_at="mremap",
        alone=True,
    ),
    Attempt("mremap without unmapping", move_memory, arguments=(5, 0), stopped_at="mremap", alone=True),
    Attempt(
        "mremap with bits above",
        move_memory,
        arguments=(1 | 1 << 32, 0),
        stopped_at="mremap",
        control=refused(errno.EINVAL),
    ),
    Attempt(
        "remap_file_pages",
        lambda at: call("remap_file_pages", 0x10000, 4096, 0, 0, 0),
        control=refused(errno.EINVAL, errno.ENOSYS),
    ),
    Attempt("madvise", lambda at: call("madvise", 0x10000, 0, 0), alone=True),
    Attempt("mlock", lambda at: call("mlock", 0x10000, 0), control=either(SUCCESS, refused(errno.EPERM))),
    Attempt("mlockall", lambda at: call("mlockall", 2), needs_root="CAP_IPC_LOCK"),
    Attempt(
        "userfaultfd",
        lambda at: call("userfaultfd", 1),
        alone=True,
        control=either(SUCCESS, refused(errno.ENOSYS)),
    ),
    Attempt(
        "map_shadow_stack",
        lambda at: call("map_shadow_stack", 0, 4096, 0),
        control=either(SUCCESS, refused(errno.ENOSYS, errno.EOPNOTSUPP)),
    ),
    Attempt(
        "pkey_alloc",
        lambda at: call("pkey_alloc", 0, 0),
        control=either(SUCCESS, refused(errno.ENOSYS, errno.ENOSPC, errno.EINVAL)),
    ),
)
def test_memory_is_private_and_never_code(attempt: Attempt, jail: Jail) -> None:
    """A worker gets private anonymous memory to read and write, and no other: no code, no file, nothing shared."""
    jail.verify(attempt)


def load_bpf(at: Place) -> int:
    """A BPF map of one entry."""
    return call("bpf", 0, struct.pack("<IIIII", 2, 4, 4, 1, 0) + bytes(100), 120)


@rows(
    Attempt(
        "io_uring_setup",
        lambda at: call("io_uring_setup", 1, buffer(120)),
        control=either(SUCCESS, refused(errno.ENOSYS, errno.EPERM)),
    ),
    Attempt(
        "io_setup",
        lambda at: call("io_setup", 1, buffer(8)),
        alone=True,
        control=either(SUCCESS, refused(errno.ENOSYS)),
    ),
    Attempt("bpf", load_bpf, needs_root="CAP_BPF"),
    Attempt(
        "perf_event_open",
        lambda at: call("perf_event_open", struct.pack("<IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0),
        needs_root="CAP_PERFMON",
    ),
    Attempt(
        "keyctl",
        lambda at: call("keyctl", 0, -3, 1),
        control=either(SUCCESS, refused(errno.ENOSYS)),
        alone=True,
    ),
    Attempt(
        "add_key",
        lambda at: call("add_key", b"user", b"grille", b"x", 1, -1),
        control=either(SUCCESS, refused(errno.ENOSYS)),
        alone=True,
    ),
    Attempt(
        "request_key",
        lambda at: call("request_key", b"user", b"grille-none", None, -1),
        control=refused(errno.ENOKEY, errno.ENOSYS),
    ),
    Attempt("syslog", lambda at: call("syslog", 10, None, 0), needs_root="CAP_SYSLOG"),
    Attempt(
        "swapon", lambda at: call("swapon", b"/grille-none", 0), control=refused(errno.ENOENT, errno.EPERM)
    ),
    Attempt(
        "init_module",
        lambda at: call("init_module", None, 0, b""),
        control=refused(errno.ENOEXEC, errno.EPERM, errno.ENOSYS),
    ),
    Attempt(
        "finit_module",
        lambda at: call("finit_module", -1, b"", 0),
        control=refused(errno.EBADF, errno.EPERM, errno.ENOSYS),
    ),
    Attempt(
        "delete_module",
        lambda at: call("delete_module", b"grille-none", 0),
        control=refused(errno.ENOENT, errno.EPERM, errno.ENOSYS),
    ),
    Attempt(
        "kexec_load",
        lambda at: call("kexec_load", 0, 17, None, 0),
        control=refused(errno.EINVAL, errno.EPERM, errno.ENOSYS),
    ),
    Attempt(
        "reboot, with a wrong magic",
        lambda at: call("reboot", 0, 0, 0, None),
        control=refused(errno.EINVAL, errno.EPERM),
    ),
    Attempt(
        "acct",
        lambda at: call("acct", b"/grille-none"),
        control=refused(errno.ENOENT, errno.EPERM, errno.ENOSYS),
    ),
    Attempt(
        "sethostname", lambda at: call("sethostname", b"grille", 6), needs_root="a host name of one's own"
    ),
    Attempt(
        "settimeofday",
        lambda at: call("settimeofday", struct.pack("<qq", 0, 10**9), None),
        control=refused(errno.EINVAL, errno.EPERM),
    ),
    Attempt(
        "clock_settime",
        lambda at: call("clock_settime", 99, None),
        control=refused(errno.EINVAL, errno.EFAULT),
    ),
    Attempt(
        "iopl", lambda at: call("iopl", 0), calls=("iopl",), control=either(SUCCESS, refused(errno.ENOSYS))
    ),
    Attempt(
        "ioperm",
        lambda at: call("ioperm", 0, 0, 0),
        calls=("ioperm",),
        control=either(refused(errno.EINVAL, errno.ENOSYS, errno.EPERM)),
    ),
    Attempt(
        "modify_ldt",
        lambda at: call("modify_ldt", 0, buffer(16), 16),
        calls=("modify_ldt",),
        control=either(SUCCESS, refused(errno.ENOSYS)),
        alone=True,
    ),
    Attempt(
        "arch_prctl", lambda at: call("arch_prctl", 0x1003, buffer(8)), calls=("arch_prctl",), alone=True
    ),
    Attempt("personality", lambda at: call("personality", 0xFFFF_FFFF), alone=True),
    Attempt("uname", lambda at: call("uname", buffer(400)), alone=True),
    Attempt("sysinfo", lambda at: call("sysinfo", buffer(128)), alone=True),
    Attempt("getcpu", lambda at: call("getcpu", buffer(4), buffer(4), None), alone=True),
    Attempt(
        "lookup_dcookie",
        lambda at: call("lookup_dcookie", 0, buffer(8), 8),
        control=refused(errno.ENOSYS, errno.EINVAL, errno.EPERM),
    ),
)
def test_no_kernel_subsystems(attempt: Attempt, jail: Jail) -> None:
    """Rings, programs, keys, modules, clocks, counters: none is within reach."""
    jail.verify(attempt)


@rows(
    Attempt("unshare, mounts", lambda at: call("unshare", 0x0002_0000), needs_root="CAP_SYS_ADMIN"),
    Attempt("unshare, users", lambda at: call("unshare", 0x1000_0000), alone=True),
    Attempt("setns", lambda at: call("setns", ROOT, 0), control=refused(errno.EINVAL)),
    Attempt(
        "mount",
        lambda at: call("mount", b"none", at.root + b"/folder", b"tmpfs", 0, None),
        needs_root="CAP_SYS_ADMIN",
    ),
    Attempt(
        "umount2", lambda at: call("umount2", b"/", 0x8000_0000), control=refused(errno.EINVAL, errno.EPERM)
    ),
    Attempt(
        "pivot_root",
        lambda at: call("pivot_root", b"/", b"/"),
        control=refused(errno.EINVAL, errno.EBUSY, errno.EPERM),
    ),
    Attempt("chroot", lambda at: call("chroot", at.outside), needs_root="CAP_SYS_CHROOT"),
    Attempt("open_tree", lambda at: call("open_tree", -100, at.outside, 1), needs_root="CAP_SYS_ADMIN"),
    Attempt(
        "open_tree of the mount, not a copy", lambda at: call("open_tree", ROOT, b"", 0x1000), alone=True
    ),
    Attempt(
        "move_mount",
        lambda at: call("move_mount", ROOT, b"", -100, at.outside, 4),
        control=refused(errno.EINVAL, errno.EPERM),
    ),
    Attempt("fsopen", lambda at: call("fsopen", b"tmpfs", 0), needs_root="CAP_SYS_ADMIN"),
    Attempt("fspick", lambda at: call("fspick", -100, b"/", 0), needs_root="CAP_SYS_ADMIN"),
    Attempt(
        "mount_setattr",
        lambda at: call("mount_setattr", ROOT, b"", 0x1000, struct.pack("<4Q", 0, 1, 0, 0), 32),
        control=either(SUCCESS, refused(errno.EINVAL, errno.EPERM)),
    ),
)
def test_no_mounts_and_no_namespaces(attempt: Attempt, jail: Jail) -> None:
    """Namespaces and mounts stay as the cell has built them."""
    jail.verify(attempt)


def load_filter(at: Place) -> int:
    """A seccomp filter that allows everything."""
    program = struct.pack("<HBBI", 6, 0, 0, 0x7FFF_0000)
    call("prctl", 38, 1, 0, 0, 0)
    return call("seccomp", 1, 0, struct.pack("<HxxxxxxQ", 1, address(program)))


@rows(
    Attempt("prctl, DUMPABLE", lambda at: call("prctl", 4, 1, 0, 0, 0), alone=True),
    Attempt("prctl, PDEATHSIG", lambda at: call("prctl", 1, 0, 0, 0, 0), alone=True),
    Attempt("prctl, SECCOMP", lambda at: call("prctl", 21, 0, 0, 0, 0), alone=True),
    Attempt(
        "prctl, MDWE",
        lambda at: call("prctl", 65, 0, 0, 0, 0),
        control=either(SUCCESS, refused(errno.EINVAL, errno.EPERM)),
    ),
    Attempt("seccomp, a filter", load_filter, stopped_at="prctl", alone=True),
    Attempt(
        "seccomp, a question", lambda at: call("seccomp", 2, 0, struct.pack("<I", 0x7FFF_0000)), alone=True
    ),
    Attempt("landlock_create_ruleset", lambda at: call("landlock_create_ruleset", None, 0, 1), alone=True),
    Attempt(
        "landlock_restrict_self",
        lambda at: call("landlock_restrict_self", -1, 0),
        control=refused(errno.EBADF, errno.EPERM),
    ),
)
def test_the_bars_are_out_of_reach(attempt: Attempt, jail: Jail) -> None:
    """What the lock-down set cannot be set again, nor asked for."""
    jail.verify(attempt)


@rows(
    Attempt(
        "TIOCSTI",
        lambda at: call("ioctl", at.leaked[7], 0x5412, b"x"),
        needs_root="a terminal that is not ours",
    ),
    Attempt(
        "TIOCSTI with bits above",
        lambda at: call("ioctl", at.leaked[7], 0x5412 | 1 << 32, b"x"),
        needs_root="a terminal that is not ours",
    ),
    Attempt(
        "TIOCLINUX",
        lambda at: call("ioctl", at.leaked[7], 0x541C, b"\x03"),
        control=refused(errno.ENOTTY, errno.EINVAL, errno.EPERM),
    ),
    Attempt("TCGETS", lambda at: call("ioctl", at.leaked[7], 0x5401, buffer(64))),
    Attempt("FIONREAD", lambda at: call("ioctl", 3, 0x541B, buffer(4)), alone=True),
)
def test_no_ioctl(attempt: Attempt, jail: Jail) -> None:
    """No device is controlled, a terminal least of all (CVE-2017-5226, CVE-2019-10063, CVE-2023-28100)."""
    jail.verify(attempt)


@rows(
    Attempt("shmget", lambda at: call("shmget", 0, 4096, 0o1600), alone=True),
    Attempt("msgget", lambda at: call("msgget", 0, 0o1600), alone=True),
    Attempt("semget", lambda at: call("semget", 0, 1, 0o1600), alone=True),
    Attempt(
        "mq_open",
        lambda at: call("mq_open", b"grille", 0o102, 0o600, None),
        control=either(SUCCESS, refused(errno.ENOSYS)),
    ),
    Attempt("pipe2", lambda at: call("pipe2", buffer(8), 0), alone=True),
    Attempt("eventfd2", lambda at: call("eventfd2", 0, 0), alone=True),
    Attempt("signalfd4", lambda at: call("signalfd4", -1, bytes(8), 8, 0), alone=True),
    Attempt("timerfd_create", lambda at: call("timerfd_create", 1, 0), alone=True),
    Attempt("futex", lambda at: call("futex", buffer(4), 1, 0, None, None, 0), alone=True),
)
def test_no_shared_objects(attempt: Attempt, jail: Jail) -> None:
    """No shared memory, queue, semaphore, pipe or event is made."""
    jail.verify(attempt)


@rows(
    Attempt("rt_sigaction", lambda at: call("rt_sigaction", 14, None, None, 8), alone=True),
    Attempt("rt_sigprocmask", lambda at: call("rt_sigprocmask", 0, bytes(8), None, 8), alone=True),
    Attempt("alarm", lambda at: call("alarm", 0), alone=True, calls=("alarm",)),
    Attempt("setitimer, PROF", lambda at: call("setitimer", 2, bytes(32), None), alone=True),
    Attempt("setitimer with bits above", lambda at: call("setitimer", 1 << 32, bytes(32), None), alone=True),
    Attempt("timer_create", lambda at: call("timer_create", 1, None, buffer(8)), alone=True),
    Attempt("nanosleep", lambda at: call("nanosleep", bytes(16), None), alone=True),
    Attempt("clock_gettime", lambda at: call("clock_gettime", 2, buffer(16)), alone=True),
    Attempt(
        "rt_sigtimedwait",
        lambda at: call("rt_sigtimedwait", bytes(8), None, bytes(16), 8),
        control=refused(errno.EAGAIN),
    ),
    Attempt("sched_yield", lambda at: call("sched_yield"), alone=True),
    Attempt("set_tid_address", lambda at: call("set_tid_address", buffer(8)), alone=True),
    Attempt(
        "membarrier",
        lambda at: call("membarrier", 0, 0, 0),
        alone=True,
        control=either(SUCCESS, refused(errno.ENOSYS)),
    ),
    Attempt("exit of one thread", lambda at: call("exit", 0), alone=True),
)
def test_signals_and_timers_stay_as_they_are(attempt: Attempt, jail: Jail) -> None:
    """The kill timer cannot be put off by a handler, a mask or another timer."""
    jail.verify(attempt)


_NO_SUCH_CALL = refused(errno.ENOSYS)


@rows(
    Attempt(
        "x32 read",
        lambda at: call(0x4000_0000, 3, buffer(1), 0),
        calls=("arch_prctl",),
        control=either(SUCCESS, refused(errno.ENOSYS)),
        stopped_at=str(0x4000_0000),
    ),
    Attempt(
        "x32 getpid",
        lambda at: call(0x4000_0000 | 39),
        calls=("arch_prctl",),
        control=either(SUCCESS, refused(errno.ENOSYS)),
        stopped_at=str(0x4000_0000 | 39),
    ),
    Attempt(
        "x32 execve",
        lambda at: call(0x4000_0000 | 520, None, None, None),
        calls=("arch_prctl",),
        control=refused(errno.ENOSYS, errno.EFAULT),
        stopped_at=str(0x4000_0000 | 520),
    ),
    Attempt("number -1", lambda at: call(-1), control=_NO_SUCH_CALL, stopped_at="-1"),
    Attempt("number 9999", lambda at: call(9999), control=_NO_SUCH_CALL, stopped_at="9999"),
    Attempt(
        "number 0x7fffffff", lambda at: call(0x7FFF_FFFF), control=_NO_SUCH_CALL, stopped_at=str(0x7FFF_FFFF)
    ),
    Attempt(
        "mkdirat with bits above its number",
        lambda at: call(NUMBERS["mkdirat"] | 5 << 32, ROOT, b"new", 0o777),
        control=SUCCESS,
        changes=True,
        stopped_at=ANYWHERE,
    ),
    Attempt("i386 getpid", lambda at: int_80(20), calls=("arch_prctl",), stopped_at="i386 20", alone=True),
    Attempt("i386 open", lambda at: int_80(5, at.secret, 0), calls=("arch_prctl",), stopped_at="i386 5"),
    Attempt(
        "i386 mkdir",
        lambda at: int_80(39, at.root + b"/new", 0o777),
        calls=("arch_prctl",),
        changes=True,
        stopped_at="i386 39",
    ),
    Attempt(
        "i386 restart_syscall, which is read by our numbers",
        lambda at: int_80(0),
        calls=("arch_prctl",),
        control=refused(errno.EINTR),
        stopped_at="i386 0",
    ),
    Attempt(
        "i386 execve, which is write by another",
        lambda at: int_80(11, b"/grille-none", 0, 0),
        calls=("arch_prctl",),
        control=refused(errno.ENOENT),
        stopped_at="i386 11",
    ),
)
def test_no_other_calling_convention(attempt: Attempt, jail: Jail) -> None:
    """The filter knows one architecture; a call by another convention is death, whatever its number means."""
    jail.verify(attempt)
