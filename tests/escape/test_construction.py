"""What a locked-down worker looks like: from outside, where the kernel answers, and from inside, under every layer but
the filter, which allows no questions."""

from __future__ import annotations

import os
import re
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from grille.pool.attest import pid_of
from grille.pool.filters import compiled_filter
from grille.worker.confine import rlimits

from .harness import Attempt, Inmate, Jail, Value, allow_all, open_jail, skip
from .toolkit import Place, buffer, call, errno_of, struct

_AS_ROOT = os.geteuid() == 0
_NOT_DUMPABLE = "a worker's folder in /proc is root's, since it is not dumpable"


@pytest.fixture(scope="module")
def worker(jail: Jail) -> Iterator[Inmate]:
    """A worker that is ready and waits."""
    ready = jail.spawn(jail.shared_cell(compiled_filter()))
    yield ready
    jail.end(ready)


def proc(worker: Inmate, name: str) -> Path:
    """A file of the worker's folder in /proc."""
    assert worker.worker.pidfd is not None
    return Path(f"/proc/{pid_of(worker.worker.pidfd)}/{name}")


def status(worker: Inmate) -> dict[str, str]:
    """What the kernel says of it."""
    lines = proc(worker, "status").read_text(encoding="utf-8").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("NoNewPrivs", "1"),
        ("Seccomp", "2"),
        ("Threads", "1"),
        ("CapInh", "0" * 16),
        ("CapPrm", "0" * 16),
        ("CapEff", "0" * 16),
        ("CapAmb", "0" * 16),
        ("TracerPid", "0"),
        ("SigBlk", "0" * 16),
        ("SigCgt", "0" * 16),
        ("SigIgn", f"{1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1:016x}"),  # Python's own
        ("Umask", "0777"),
    ],
)
def test_the_kernel_says_so(worker: Inmate, field: str, wanted: str) -> None:
    """One thread, a filter, no capability, nothing blocked, no handler that could put a kill off."""
    assert status(worker)[field] == wanted


def test_the_id_is_private(jail: Jail, worker: Inmate) -> None:
    """As root, a worker has an id of its own, no groups, and no capability that it could ever get back."""
    if not _AS_ROOT:
        skip("root", "an ordinary user's workers keep its id")
    private = jail.shared_cell(compiled_filter()).private_id
    seen = status(worker)
    assert seen["Uid"].split() == seen["Gid"].split() == [str(private)] * 4
    assert seen["Groups"] == ""
    assert seen["CapBnd"].strip("0") == ""


def test_descriptors_are_the_socket_and_the_mount(worker: Inmate) -> None:
    """Descriptors 3 and 4, and no other; 4 leads to the mount."""
    if not _AS_ROOT:
        skip("root", _NOT_DUMPABLE)
    folder = proc(worker, "fd")
    assert sorted(os.listdir(folder)) == ["3", "4"]
    assert os.readlink(folder / "3").startswith("socket:")


def test_namespaces_are_its_own(worker: Inmate) -> None:
    """No namespace is shared with the host but time, and users where root needs none."""
    if not _AS_ROOT:
        skip("root", _NOT_DUMPABLE)
    for kind in ("mnt", "pid", "net", "ipc", "uts", "cgroup"):
        assert os.readlink(proc(worker, f"ns/{kind}")) != os.readlink(f"/proc/self/ns/{kind}"), kind


def test_the_root_is_empty_and_the_environment_too(worker: Inmate) -> None:
    """`/` is one read-only file system without a name in it; nothing of the host's environment is there to be read."""
    if not _AS_ROOT:
        skip("root", _NOT_DUMPABLE)
    assert os.listdir(proc(worker, "root")) == []
    assert os.readlink(proc(worker, "cwd")) == "/"
    assert proc(worker, "environ").read_bytes() == b""
    (mount,) = proc(worker, "mountinfo").read_text(encoding="utf-8").splitlines()
    assert {"ro", "nosuid", "nodev", "noexec"} <= set(mount.split()[5].split(","))


def test_no_memory_is_both_writable_and_executable_and_little_is_shared(worker: Inmate) -> None:
    """Code cannot be written; only the progress page is shared with anybody."""
    if not _AS_ROOT:
        skip("root", _NOT_DUMPABLE)
    maps = proc(worker, "maps").read_text(encoding="utf-8").splitlines()
    modes = [(line.split()[1], line.split()[-1]) for line in maps]
    assert not [line for line in modes if "w" in line[0] and "x" in line[0]]
    shared = [line for line in maps if line.split()[1][1::2] == "ws"]
    assert len(shared) == 1 and "grille-progress" in shared[0]


def test_limits_are_in_force(worker: Inmate) -> None:
    """No core, no file, no process, no message queue; memory, time and descriptors bounded, with nothing to raise."""
    text = proc(worker, "limits").read_text(encoding="utf-8")
    limits = {m[1]: (m[2], m[3]) for m in re.finditer(r"^Max (.*?)\s{2,}(\S+)\s+(\S+)", text, re.MULTILINE)}
    for kind in (
        "core file size",
        "file size",
        "processes",
        "locked memory",
        "msgqueue size",
        "realtime priority",
    ):
        assert limits[kind] == ("0", "0"), kind
    assert limits["address space"] == (str(256 << 20),) * 2
    assert limits["open files"] == (str(rlimits.DESCRIPTORS),) * 2
    assert limits["cpu time"] == ("600", "601")


def flags_from_inside(at: Place) -> list[int]:
    """PDEATHSIG, DUMPABLE, NO_NEW_PRIVS, and how many capabilities the bounding set holds."""
    death = buffer(4)
    call("prctl", 2, death, 0, 0, 0)
    bounding = 0
    for capability in range(41):
        bounding += call("prctl", 23, capability, 0, 0, 0)
    return [
        struct.unpack("<i", death.raw)[0],
        call("prctl", 3, 0, 0, 0, 0),
        call("prctl", 39, 0, 0, 0, 0),
        bounding,
    ]


def test_flags_survive_the_change_of_identity(jail: Jail) -> None:
    """The parent's death still kills, no core is taken, no program raises rights: a change of ids clears the first and
    resets the second, so this holds the order of the lock-down."""
    outcome = jail.behind_bars(Attempt("flags", flags_from_inside), allow_all())
    assert isinstance(outcome, Value)
    death, dumpable, no_new_privs, bounding = outcome.value
    assert (death, dumpable, no_new_privs) == (signal.SIGKILL, 0, 1)
    assert bounding == 0 or not _AS_ROOT


def test_executable_memory_is_refused_by_the_kernel_too(jail: Jail) -> None:
    """Where the kernel knows MDWE, memory that was written cannot become code, filter or not."""
    ready = jail.spawn(jail.shared_cell(allow_all()))
    jail.end(ready)
    if not ready.ready.mdwe:
        skip("PR_SET_MDWE", "the filter alone says the same")
    attempt = Attempt(
        "mdwe",
        lambda at: [
            call("prctl", 66, 0, 0, 0, 0),
            errno_of("mprotect", call("mmap", 0, 4096, 3, 0x22, -1, 0), 4096, 5),
        ],
    )
    assert jail.behind_bars(attempt, allow_all()) == Value([1, 13])


def is_dead(pidfd: int, seconds: float) -> bool:
    """Whether a process ends within that time."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def test_workers_die_with_their_cell(jail: Jail) -> None:
    """A cell is pid 1 of its processes: when it is killed, so are they."""
    cell = jail.cell(compiled_filter())
    worker = jail.spawn(cell).worker
    assert worker.pidfd is not None
    signal.pidfd_send_signal(cell.pidfd, signal.SIGKILL)
    assert is_dead(worker.pidfd, 5)
    cell.close()


def test_workers_die_with_their_control_channel(jail: Jail) -> None:
    """When the supervisor is gone, its end of the channel closes, and the cell ends with all in it."""
    cell = jail.cell(compiled_filter())
    worker = jail.spawn(cell).worker
    assert worker.pidfd is not None
    cell.channel.close()
    assert is_dead(worker.pidfd, 5)
    cell.close()


def test_workers_die_with_the_zygote() -> None:
    """When the zygote is killed, its cells are, and their workers."""
    jail = open_jail()
    try:
        cell = jail.shared_cell(compiled_filter())
        worker = jail.spawn(cell).worker
        assert worker.pidfd is not None
        os.kill(jail.zygote.pid, signal.SIGKILL)
        assert is_dead(cell.pidfd, 5)
        assert is_dead(worker.pidfd, 5)
    finally:
        jail.close()


def test_a_dead_worker_is_reported_and_the_cell_goes_on(jail: Jail) -> None:
    """A worker killed by the filter is told of with its signal, and the cell serves the next one."""
    cell = jail.shared_cell(compiled_filter())
    for _ in range(3):
        outcome = jail.behind_bars(Attempt("forbidden", lambda at: call("getppid")), cell=cell)
        assert str(outcome) == "killed by SIGSYS"
