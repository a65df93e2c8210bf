"""What an attempt may use: raw system calls and a few shorthands, in a module that both sides load.

An attempt is a plain function in a test file. Its code object is sent to a process behind the bars (or, as the control,
to one outside) and runs there with this module as its globals: behind the bars nothing can be imported any more. So an
attempt names things of this module and its own arguments, nothing else.

Invariants: importing this module prepares all that an attempt needs (symbols resolved, machine code mapped); no
function here makes a system call other than those that it is asked for, so a kill is the attempt's own.
"""

from __future__ import annotations

import _thread
import ctypes
import errno
import mmap
import os
import platform
import signal
import struct
import time
from typing import Final, NamedTuple

ROOT: Final = 4
"""The mount's descriptor: the first behind the result socket (sequence.FIRST_ROOT_FD)."""
RESULT: Final = 3

AT_FDCWD: Final = -100
AT_EMPTY_PATH: Final = 0x1000
AT_SYMLINK_NOFOLLOW: Final = 0x100
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

NUMBERS: dict[str, int] = {}
"""System call numbers of this machine by name; filled by `know`."""

libc: Final = ctypes.CDLL(None, use_errno=True)
_syscall: Final = libc.syscall
_syscall.restype = ctypes.c_long
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF

Argument = int | bytes | ctypes.Array[ctypes.c_char] | None


class Place(NamedTuple):
    """Where an attempt stands, and what is there to be attacked. Paths are the host's."""

    base: bytes
    """Folder that holds `root` and `outside`."""
    root: bytes
    """The mount."""
    outside: bytes
    """A folder beside it, readable by everybody."""
    secret: bytes
    """A file in it, holding SECRET."""
    victim: int
    """A process of the same user that minds its own business."""
    port: int
    """A TCP port on the loopback that somebody listens on."""
    abstract: bytes
    """Name of an abstract unix socket that somebody listens on, without its leading NUL."""
    leaked: tuple[int, ...]
    """Descriptors left open on purpose before the lock-down, in the order of inside.LEAKS."""


SECRET: Final = b"the secret outside\n"
KEPT: Final = b"the file inside\n"


class Refused(OSError):
    """A call that the kernel refused; `call` is its name."""

    def __init__(self, call: str, number: int) -> None:
        super().__init__(number, os.strerror(number))
        self.call = call


def know(numbers: dict[str, int]) -> None:
    """Take the system call numbers over."""
    NUMBERS.update(numbers)


def call(name: str | int, *arguments: Argument) -> int:
    """One system call by name or number, its arguments as they are, to the 64th bit. Raises Refused."""
    number = name if isinstance(name, int) else NUMBERS[name]
    passed = [ctypes.c_ulong(a & _MASK) if isinstance(a, int) else a for a in arguments]
    result = int(_syscall(ctypes.c_ulong(number & _MASK), *passed))
    if result == -1:
        raise Refused(str(name), ctypes.get_errno())
    return result


def buffer(size: int) -> ctypes.Array[ctypes.c_char]:
    """Writable memory for the kernel."""
    return ctypes.create_string_buffer(size)


def address(memory: bytes | ctypes.Array[ctypes.c_char]) -> int:
    """Where it lies; the caller keeps it alive."""
    if isinstance(memory, bytes):
        return ctypes.cast(ctypes.c_char_p(memory), ctypes.c_void_p).value or 0
    return ctypes.addressof(memory)


def read(descriptor: int, size: int = 64) -> bytes:
    """read(2), once."""
    memory = buffer(size)
    filled = call("read", descriptor, memory, size)
    return memory.raw[:filled]


def slurp(folder: int, path: bytes, flags: int = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) -> bytes:
    """The first bytes of a file, opened below `folder`."""
    return read(call("openat", folder, path, flags))


def listing(folder: int) -> list[bytes]:
    """Names in an open folder, sorted, without `.` and `..`."""
    names = []
    memory = buffer(1 << 16)
    while filled := call("getdents64", folder, memory, 1 << 16):
        raw, at = memory.raw[:filled], 0
        while at < filled:
            length = struct.unpack_from("<H", raw, at + 16)[0]
            names.append(raw[at + 19 : raw.index(0, at + 19)])
            at += length
    return sorted(name for name in names if name not in (b".", b".."))


def inside() -> int:
    """A descriptor of a file in the mount, opened as a worker may."""
    return call("openat", ROOT, b"kept.txt", os.O_RDONLY | os.O_NOFOLLOW)


def errno_of(name: str | int, *arguments: Argument) -> int:
    """The errno that a call answers with, 0 when it works."""
    try:
        call(name, *arguments)
    except Refused as refused:
        return refused.errno or 0
    return 0


def say(frame: bytes) -> None:
    """One frame (policy.wire's header, then the body) to whoever watches."""
    left = memoryview(struct.pack("<I", len(frame)) + frame)
    while left:
        left = left[os.write(RESULT, left) :]


def pause() -> None:
    """Let the watching process do its part of the attempt, and go on."""
    say(b"\x91\xa5pause")  # msgpack of ["pause"]
    os.read(RESULT, 1)


def in_child(do_name: str) -> int:
    """The result of a fork-like call; a child that comes of it ends at once, and the parent waits for it."""
    child = call(do_name, *([signal.SIGCHLD, 0, 0, 0, 0] if do_name == "clone" else []))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return 1


def prepared_code(code: bytes) -> int:
    """Address of machine code, mapped from a file before anything is locked down."""
    memory = os.memfd_create("code", os.MFD_CLOEXEC)
    os.write(memory, code)
    os.ftruncate(memory, mmap.PAGESIZE)
    mapped = mmap.mmap(memory, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    os.close(memory)
    _kept.append(mapped)
    return _address_of_mapping(mapped)


def _address_of_mapping(mapped: mmap.mmap) -> int:
    # A read-only buffer gives no address to ctypes.from_buffer; the C API does.
    view = _PyBuffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(mapped), ctypes.byref(view), 0)
    start = int(view.buf)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    return start


class _PyBuffer(ctypes.Structure):
    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_kept: list[object] = []

X86_64: Final = platform.machine() == "x86_64"

# push rbx; mov eax, edi; mov ebx, esi; xchg edx, ecx; int 0x80; pop rbx; ret
_INT_80: Final = bytes.fromhex("53 89f8 89f3 87d1 cd80 5b c3")
# mov eax, 58 (vfork); syscall; test eax, eax; jnz +9; mov eax, 231 (exit_group); xor edi, edi; syscall; ret
_VFORK: Final = bytes.fromhex("b83a000000 0f05 85c0 7509 b8e7000000 31ff 0f05 c3")

if X86_64:
    _int_80 = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint)(
        prepared_code(_INT_80)
    )
    _vfork = ctypes.CFUNCTYPE(ctypes.c_int)(prepared_code(_VFORK))
    # An i386 call takes 32-bit pointers: MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT.
    _low_memory = int(
        _syscall(
            ctypes.c_long(9),
            None,
            ctypes.c_long(4096),
            ctypes.c_long(3),
            ctypes.c_long(0x62),
            ctypes.c_long(-1),
            0,
        )
    )


def int_80(number: int, path: bytes | None = None, *arguments: int) -> int:
    """A call by the i386 convention: `int 0x80`, i386's numbers, 32-bit pointers. Raises Refused."""
    first, *rest = arguments or (0,)
    if path is not None:
        ctypes.memmove(_low_memory, path + b"\0", len(path) + 1)
        first, rest = _low_memory, list(arguments)
    second, third = [*rest, 0, 0][:2]
    result = int(_int_80(number, first & 0xFFFF_FFFF, second & 0xFFFF_FFFF, third & 0xFFFF_FFFF))
    if -4096 < result < 0:
        raise Refused(f"i386 {number}", -result)
    return result


def vfork() -> int:
    """vfork(2), whose child ends at once. Machine code: the child would otherwise return into its parent's frame."""
    child = int(_vfork())
    if child < 0:
        raise Refused("vfork", -child)
    os.waitpid(child, 0)
    return 1


def thread() -> str:
    """Start a thread and wait until it has run."""
    lock = _thread.allocate_lock()
    lock.acquire()
    _thread.start_new_thread(lock.release, ())
    return "ran" if lock.acquire(True, 5) else "did not run"


def burn(seconds: float) -> str:
    """Use up processor time for about that long by the clock on the wall."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(20_000))
    return "burnt"


__all__ = [
    "AT_EMPTY_PATH",
    "AT_FDCWD",
    "AT_SYMLINK_NOFOLLOW",
    "FOLDER",
    "KEPT",
    "NUMBERS",
    "RESULT",
    "ROOT",
    "SECRET",
    "X86_64",
    "Place",
    "Refused",
    "address",
    "buffer",
    "burn",
    "call",
    "ctypes",
    "errno",
    "errno_of",
    "in_child",
    "inside",
    "int_80",
    "listing",
    "mmap",
    "os",
    "pause",
    "read",
    "say",
    "signal",
    "slurp",
    "struct",
    "thread",
    "time",
    "vfork",
]
