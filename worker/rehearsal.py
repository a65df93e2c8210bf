"""One run of the whole job on a sample, before anything is locked down.

First calls import lazily, probe descriptors and fill caches; behind the bars each of these would be the
worker's death. What the rehearsal has done once, no worker does for the first time.
"""

from __future__ import annotations

import os
import signal

import msgspec

from ..policy.globs import compile_filter
from ..policy.syscalls import RESULT_FD
from ..policy.wire import (
    Avoid,
    Done,
    Found,
    FromWorker,
    Line,
    Query,
    Refused,
    Shard,
    Skip,
    SkipMark,
    Ticket,
    ToWorker,
)
from . import folders
from .engines import PatternRefused, compile_pattern
from .text import searchable

_PATTERNS = (
    r"\bw\w+[^a-c]",
    r"(?=(a+))\1b",
    r"(?i)straße|k",
    "plain",
    r"(?<!x)\d{2,3}$",
    r"^\s*(?P<n>é)(?(n)b|c)",
)
_REFUSED = ("(", "[[a]", r"\N{nothing}", "a{3,2}", "(?P<a>.)(?P<a>.)", "*", "(?<=a+)b", "\\")

_QUERY = Query(
    id=1,
    tool="grep",
    root=0,
    start=b"",
    single_file=False,
    pattern="x",
    literal=False,
    ignore_case=False,
    word=False,
    multiline=False,
    output="content",
    types=("*.py",),
    includes=("*.py",),
    case_sensitive_globs=True,
    include_dirs=False,
    noise=True,
    deny=(),
    need=1,
    compile_seconds=1.0,
    scan_seconds=1.0,
    folder_seconds=1.0,
    max_file_bytes=1,
    max_line_bytes=1,
    max_pattern_bytes=1,
    line_chars=1,
    margin_chars=1,
)


def run() -> None:
    """Do everything once. Raises nothing on a sound installation."""
    _compile_and_scan()
    folder = sample_folder()
    try:
        _list_and_read(folder)
    finally:
        os.close(folder)
    _encode_and_decode()
    compile_filter(["*.py", "!**/{a,b}*/[x-z]/**"]).accepts(("a", "b.py"))


def sample_folder() -> int:
    """A descriptor of a folder that is surely there: this module's own."""
    return os.open(os.path.dirname(os.path.realpath(__file__)), folders.OPEN_FOLDER)


def behind_bars(folder: int) -> None:
    """The same with the calls that a worker has: what preflight.py runs under the filter."""
    _compile_and_scan()
    _list_and_read(folder)
    _encode_and_decode()
    _use_memory()
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.write(RESULT_FD, b"done")


def _compile_and_scan() -> None:
    samples = [
        b"a word\nplain 12\n",
        "straße \u212a é\r\n\n".encode(),
        b"\xff\xfea\x00",
        b"bad \xff\n",
        b"\xef\xbb\xbfx",
        b"",
    ]
    for pattern in _PATTERNS:
        for ignore_case in (False, True):
            scanner = compile_pattern(pattern, ignore_case=ignore_case)
            for sample in samples:
                data = searchable(sample).data
                scanner.contains(data)
                scanner.scan(data, 10)
            scanner.span("a word 12 straße")
    for options in ({"literal": True}, {"word": True}, {"multiline": True}):
        compile_pattern("a.b", **options).scan(b"x a.b\n", 1)
    for pattern in _REFUSED:
        try:
            compile_pattern(pattern)
        except PatternRefused:
            continue


def _list_and_read(here: int) -> None:
    for entry in folders.list_folder(here, float("inf")):
        if entry.kind == folders.DT_REG:
            file = os.open(entry.name, folders.OPEN_FILE, dir_fd=here)
            os.read(file, 1 << 20)
            folders.status(file)
            os.close(file)
    os.close(folders.open_below(here, b""))
    folders.exists(here, b"\xff")
    folders.kind_of(here, b".")


def _use_memory() -> None:
    """Large and small, growing and shrinking: each way in which the allocators ask the kernel."""
    grown = bytearray()
    for _ in range(64):
        grown += bytes(1 << 16)
    small = [str(number) for number in range(50_000)]
    heap = [
        bytearray(4000) for _ in range(3000)
    ]  # beyond pymalloc's blocks and below malloc's maps: the heap itself
    del small, heap, grown[1 << 10 :]


def _encode_and_decode() -> None:
    line = Line(1, "text", 0, 4, 0)
    replies: list[FromWorker] = [
        Done(
            1,
            (Found(b"a", False, 1, (line,)),),
            (SkipMark(0, Skip.BINARY, 1, (b"b",)),),
            (Shard(b"", b"a", b"b"),),
            False,
            False,
        ),
        Refused(1, "pattern", "invalid", "no", 3),
    ]
    for reply in replies:
        msgspec.msgpack.decode(msgspec.msgpack.encode(reply), type=FromWorker)
    ticket = Ticket(1, 1, (Shard(b""),), 0.1, (Avoid(b"x", Skip.CRASHED),))
    for frame in (ticket, _QUERY):
        msgspec.msgpack.decode(msgspec.msgpack.encode(frame), type=ToWorker)
