"""The far side of the harness: what runs in place of a worker's work, and the process that runs the controls.

Behind the bars everything is the product's own: its zygote, its builder, its cell, its lock-down. One name is replaced,
`Server`, the loop that a worker enters once it is locked down; here it waits for an attempt instead.

Invariant: both kinds of process run the same code for an attempt and report it in the same frames.
"""

from __future__ import annotations

import _thread
import contextlib
import marshal
import os
import resource
import signal
import socket
import sys
import types
from collections.abc import Callable
from typing import Any, Final, NoReturn

import msgspec

from . import toolkit

LEAKS: Final = ("folder", "path_folder", "secret", "memfd", "pipe", "socket", "writable", "tty")
"""What is left open on purpose, at FIRST_LEAK and up."""
FIRST_LEAK: Final = 400

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[bytes, toolkit.Place, list[Any]])


class Settings(msgspec.Struct):
    """From the harness, in a file, since a zygote's environment is empty."""

    numbers: dict[str, int]
    outside: str
    secret: str
    writable: str
    mount: str
    change: str
    """What is done to the zygote before it serves: a key of CHANGES."""


def perform() -> NoReturn:
    """Take one attempt from the result socket, run it, report, end. Never returns."""
    size = int.from_bytes(_read_exactly(4), "little")
    code, place, arguments = _decoder.decode(_read_exactly(size))
    attempt = types.FunctionType(marshal.loads(code), toolkit.__dict__)
    try:
        report: tuple[Any, ...] = ("value", attempt(place, *arguments))
    except toolkit.Refused as refused:
        report = ("errno", refused.errno, refused.call)
    except BaseException as error:
        report = ("raised", type(error).__name__, str(error)[:200])
    toolkit.say(_encoder.encode(report))
    os._exit(0)


def _read_exactly(size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(toolkit.RESULT, size - len(data))
        if not part:
            os._exit(2)
        data += part
    return data


class _AttemptServer:
    """Stands where a worker's Server would."""

    def __init__(self, *_: object) -> None:
        pass

    def forever(self) -> NoReturn:
        perform()


def prepare(settings_file: str) -> Settings:
    """Before anything is locked down: the numbers, and a rehearsal of the report."""
    with open(settings_file, "rb") as file:
        settings = msgspec.msgpack.decode(file.read(), type=Settings)
    toolkit.know(settings.numbers)
    with contextlib.suppress(toolkit.Refused):
        toolkit.call("close", -1)
    _encoder.encode(("raised", "MemoryError", "x"))
    return settings


def _leak(settings: Settings) -> None:
    memory = os.memfd_create("leak")
    os.write(memory, toolkit.SECRET)
    os.lseek(memory, 0, os.SEEK_SET)
    pipe, pipe_in = os.pipe()
    os.write(pipe_in, toolkit.SECRET)
    ours, theirs = socket.socketpair()
    theirs.send(toolkit.SECRET)
    _master, tty = os.openpty()
    opened = (
        os.open(settings.outside, os.O_RDONLY | os.O_DIRECTORY),
        os.open(settings.outside, os.O_PATH | os.O_DIRECTORY),
        os.open(settings.secret, os.O_RDONLY),
        memory,
        pipe,
        ours.detach(),
        os.open(settings.writable, os.O_RDWR),
        tty,
    )
    theirs.detach()
    for place, descriptor in enumerate(opened, start=FIRST_LEAK):
        os.dup2(descriptor, place, inheritable=True)
        os.close(descriptor)


def zygote(control: int, settings_file: str) -> NoReturn:
    """The product's zygote, its workers waiting for attempts."""
    from grille.worker import builder, cell, zygote
    from grille.worker.confine import descriptors

    cell.Server = _AttemptServer  # type: ignore[attr-defined, assignment]
    settings = prepare(settings_file)
    _leak(settings)
    CHANGES[settings.change](settings)
    if os.geteuid() == 0:
        os.setgroups([0, 4242])  # a service may run with groups, and a worker must lose them
    leaks = set(range(FIRST_LEAK, FIRST_LEAK + len(LEAKS)))
    # The cell closes what it does not need; here it forgets to, so that the worker's own closing is what is tested.
    builder.descriptors = types.SimpleNamespace(  # type: ignore[attr-defined, assignment]
        close_all_but=lambda kept: descriptors.close_all_but(leaks | set(kept))
    )
    zygote.main(control)


# --- changes: lock-downs that went wrong, and a mount within the mount ------------------------------


def _nothing(*_: object, **__: object) -> None:
    pass


def _without_prctl(*options: int) -> None:
    """The lock-down skips these options of prctl(2)."""
    from grille.worker.confine import kernel

    real = kernel.prctl
    kernel.prctl = lambda option, *rest: 0 if option in options else real(option, *rest)


def _without_seccomp(_: Settings) -> None:
    from grille.worker.confine import seccomp

    seccomp.load = _nothing


def _without_landlock(_: Settings) -> None:
    from grille.worker.confine import landlock

    landlock.restrict_self = _nothing


def _without_no_new_privs(settings: Settings) -> None:
    """The two layers that need it would fail, and be noticed; so they are left out with it."""
    _without_prctl(38)
    _without_seccomp(settings)
    _without_landlock(settings)


def _without_private_uid(_: Settings) -> None:
    from grille.worker.confine import identity

    identity.become = _nothing


def _without_rlimits(_: Settings) -> None:
    from grille.worker.confine import rlimits

    rlimits.apply = _nothing


def _without_empty_root(_: Settings) -> None:
    from grille.worker.confine import mounts

    mounts.enter_empty_root = lambda: True


def _without_closing(_: Settings) -> None:
    from grille.worker.confine import descriptors

    descriptors.close_all_but = _nothing


def _with_a_thread(_: Settings) -> None:
    from grille.worker.confine import identity

    real = identity.become

    def become(private_id: int | None) -> None:
        lock = _thread.allocate_lock()
        lock.acquire()
        _thread.start_new_thread(lock.acquire, ())  # for ever
        real(private_id)

    identity.become = become


def _with_a_submount(settings: Settings) -> None:
    """A file system of its own is mounted within the mount, for this zygote alone, with a link and a device in it."""
    from grille.worker.confine import kernel

    kernel.unshare(0x0002_0000)  # CLONE_NEWNS
    kernel.mount(b"none", b"/", None, 0x4000 | 0x40000)  # MS_REC | MS_PRIVATE
    place = os.path.join(settings.mount, "empty")
    kernel.mount(b"none", os.fsencode(place), b"tmpfs", 0)
    with open(os.path.join(place, "sub.txt"), "wb") as file:
        file.write(toolkit.KEPT)
    os.symlink("sub.txt", os.path.join(place, "to-sub"))
    os.symlink(settings.outside, os.path.join(place, "to-folder"))
    os.mknod(os.path.join(place, "zero"), 0o020666, os.makedev(1, 5))
    os.chmod(os.path.join(place, "zero"), 0o666)


CHANGES: Final[dict[str, Callable[[Settings], None]]] = {
    "": _nothing,
    "seccomp": _without_seccomp,
    "landlock": _without_landlock,
    "no_new_privs": _without_no_new_privs,
    "no_new_privs alone": lambda _: _without_prctl(38),
    "private_uid": _without_private_uid,
    "bounding set": lambda _: _without_prctl(24),
    "one thread": _with_a_thread,
    "empty root": _without_empty_root,
    "close_fds": _without_closing,
    "rlimits": _without_rlimits,
    "submount": _with_a_submount,
}


def controls(channel_fd: int, settings_file: str) -> NoReturn:
    """Run attempts without any bars: each in a child, in mount and IPC namespaces of its own where we may have them."""
    settings = prepare(settings_file)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    channel = socket.socket(fileno=channel_fd)
    while True:
        body, descriptors, _, _ = socket.recv_fds(channel, 4096, 8)
        if not body:
            os._exit(0)
        result, root = descriptors
        child = os.fork()
        if child == 0:
            try:
                _run_control(settings, result, root)
            finally:
                os._exit(3)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(_encoder.encode(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))


def _run_control(settings: Settings, result: int, root: int) -> NoReturn:
    if os.geteuid() == 0:
        from grille.worker.confine import kernel

        kernel.unshare(
            0x0002_0000 | 0x0400_0000 | 0x0800_0000
        )  # mounts, host name, IPC: what an attempt may leave behind
        kernel.mount(b"none", b"/", None, 0x4000 | 0x40000)
    signal.alarm(10)  # a control that hangs is a failure, and not the end of all controls
    _leak(settings)  # for each anew: a pipe that another control has read is empty
    moved = [os.dup(result), os.dup(root)]
    os.dup2(moved[0], toolkit.RESULT)
    os.dup2(moved[1], toolkit.ROOT)
    perform()


if __name__ == "__main__":
    controls(int(sys.argv[1]), sys.argv[2])
