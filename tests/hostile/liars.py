"""Workers that lie: loaded into the product's own zygote, in the place of a worker's loop.

Everything else is the product's: zygote, cell, lock-down, frames, progress page. A worker that was taken over has all
that a liar has: the filter's twelve calls, its end of the socket, its progress page, its mounts.

Orders come through a page of shared memory: whose workers lie, by the inode of their mount, and which lie they tell. To
look costs no descriptor and no forbidden call, and is done anew at each stage, so that a test can call a workspace's
workers back to honesty. After a lie a liar lives on: to end it is the supervisor's work.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import random
import signal
import struct
import time
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from grille.policy.progress import NOW, NOW_AT, PAGE_BYTES, PATH_AT, Doing
from grille.policy.wire import (
    HEADER,
    MAX_READ_BYTES,
    MAX_REPLY_BYTES,
    MAX_REST,
    Attempted,
    Done,
    Found,
    Line,
    Loaded,
    NotLockedDown,
    Query,
    Ready,
    Refused,
    Shard,
    Skip,
    SkipMark,
    Ticket,
)

SOCKET: Final = 3
ROOT: Final = 4
ORDER: Final = struct.Struct("<QQ")
"""The mount's inode, and the place of the lie in the table."""
FOLDER: Final = b"d"
"""The folder that the requests are about, as the first mount knows it."""
MIB: Final = 1 << 20

READY: Final = Ready(7, 0, 2, 13, 0, True)


class Stage(Enum):
    """When a lie is told."""

    START = auto()
    """Locked down, `Ready` sent."""
    QUERY = auto()
    """In place of compiling."""
    TICKET = auto()
    """In place of searching."""
    AFTER = auto()
    """Behind an honest answer to a ticket."""


class Liar:
    """Stands where a worker's Server would. Honest but for the one stage that its order names."""

    def __init__(self, page: Any) -> None:
        from grille.worker import channel, serve

        self.page = page
        self._channel = channel
        self._honest = serve.Server(page)
        self.query: Query | None = None
        self._mount = _inode(ROOT)

    def forever(self) -> NoReturn:
        self._perhaps(Stage.START, None)
        while True:
            frame = self._channel.receive()
            stage = Stage.QUERY if isinstance(frame, Query) else Stage.TICKET
            if isinstance(frame, Query):
                self.query = frame
            if not self._perhaps(stage, frame):
                behind = self._order()  # asked for now: once the answer is out, the test may give another
                self._serve(frame)
                if stage is Stage.TICKET and behind.stage is Stage.AFTER:
                    behind.tell(self, frame)

    def _serve(self, frame: Query | Ticket) -> None:
        honest: Any = self._honest
        if isinstance(frame, Query):
            honest._load(frame)
        else:
            honest._work(frame)
        honest._timer.rest()
        self.page.note(Doing.NOTHING)

    def _order(self) -> Lie:
        mount, number = ORDER.unpack_from(_orders)
        return list(LIES.values())[number if mount == self._mount else 0]

    def _perhaps(self, stage: Stage, frame: Any) -> bool:
        order = self._order()
        if order.stage is not stage:
            return False
        order.tell(self, frame)
        return True

    def send(self, *frames: msgspec.Struct) -> None:
        """Well-formed frames, whatever they say."""
        for frame in frames:
            body = msgspec.msgpack.encode(frame)
            self.raw(HEADER.pack(len(body)) + body)

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        left = memoryview(data)
        while left:
            left = left[os.write(SOCKET, left) :]

    def note(self, doing: int, path: bytes, length: int | None = None) -> None:
        """Write on the progress page what no honest worker would."""
        page = self.page._page
        page[PATH_AT : PATH_AT + len(path)] = path
        NOW.pack_into(page, NOW_AT, doing, len(path) if length is None else length)


def _inode(descriptor: int) -> int:
    """By fstat(2) itself: the libc's would ask by a path."""
    from grille.worker.confine import kernel

    status = ctypes.create_string_buffer(256)
    kernel.syscall("fstat", descriptor, status)
    return int.from_bytes(status.raw[8:16], "little")


_orders = mmap.mmap(-1, mmap.PAGESIZE)


def zygote(control: int, orders: str) -> NoReturn:
    """The product's zygote, its workers under the orders of the page in the file `orders`."""
    global _orders  # noqa: PLW0603 - mapped before the forks, by which it reaches the workers
    from grille.worker import cell, zygote

    with open(orders, "rb") as file:
        _orders = mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ)
    _packed_million(_a_finding)
    _packed_million(_a_skip)
    cell.Server = Liar  # type: ignore[assignment, attr-defined]
    zygote.main(control)


Telling = Callable[[Liar, Any], object]


class Lie(NamedTuple):
    """When to lie, and how."""

    stage: Stage | None
    tell: Telling


LIES: Final[dict[str, Lie]] = {"honest": Lie(None, lambda liar, frame: None)}


def lie(name: str, *stages: Stage) -> Callable[[Telling], Telling]:
    """Put a lie into the table. One that can be told at several stages is told apart by their names."""

    def put(tell: Telling) -> Telling:
        for stage in stages:
            LIES[name if len(stages) == 1 else f"{name}, {stage.name.lower()}"] = Lie(stage, tell)
        return tell

    return put


EARLY: Final = (Stage.START, Stage.QUERY, Stage.TICKET)


# --- bytes that are no frame ----------------------------------------------------------------------------------------

BYTES: Final[dict[str, bytes]] = {
    "a length of 4 GiB": HEADER.pack(0xFFFF_FFFF),
    "a length of 17 MiB": HEADER.pack(17 * MIB) + b"x" * 1000,
    "a length one past the bound": HEADER.pack(MAX_REPLY_BYTES + 1),
    "no byte": HEADER.pack(0),
    "no msgpack": HEADER.pack(5) + b"\xc1\xc1\xc1\xc1\xc1",
    "half a msgpack": HEADER.pack(4) + msgspec.msgpack.encode(READY)[:4],
    "two msgpacks in one": HEADER.pack(20) + (msgspec.msgpack.encode(Loaded(1)) * 2).ljust(20, b"\xc0"),
    "nothing but nil": HEADER.pack(1) + b"\xc0",
    "an unknown frame": HEADER.pack(6) + msgspec.msgpack.encode(["oops"]),
    "a number for a tag": HEADER.pack(2) + msgspec.msgpack.encode([7]),
    "a map for a frame": HEADER.pack(4) + msgspec.msgpack.encode({"a": 1}),
    "arrays without end": HEADER.pack(100_000) + b"\x91" * 100_000,
    "an array of 4 billion": HEADER.pack(5) + b"\xdd\xff\xff\xff\xff",
    "an extension type": HEADER.pack(3) + b"\xd4\x05\x00",
    "text that is no UTF-8": HEADER.pack(10) + b"\x96\xa7refused"[:2] + b"\xff" * 8,
    "noise": random.Random(1).randbytes(4096),
}

for _name, _data in BYTES.items():
    lie(_name, Stage.TICKET)(lambda liar, frame, data=_data: liar.raw(data))  # type: ignore[misc]


@lie("a length of 4 GiB for an answer", Stage.START, Stage.QUERY, Stage.AFTER)
def _length(liar: Liar, frame: Any) -> None:
    liar.raw(BYTES["a length of 4 GiB"])


# --- frames of the wrong shape --------------------------------------------------------------------------------------


def shaped(*fields: Any) -> Telling:
    """A frame by its fields, without the structs that would hold an honest worker back."""
    body = msgspec.msgpack.encode(fields)
    return lambda liar, frame: liar.raw(HEADER.pack(len(body)) + body)


SHAPES: Final[dict[str, tuple[Any, ...]]] = {
    "a field too few": ("done", 1, (), (), ()),
    "a field too many": ("done", 1, (), (), (), False, 1),
    "a text for a number": ("done", "1", (), (), (), False),
    "a number below zero": ("done", 1, ((b"d/a", False, -1, ()),), (), (), False),
    "a number past 2**53": ("done", 1, ((b"d/a", False, 2**60, ()),), (), (), False),
    "a path of 65 KiB": ("done", 1, ((b"d/" + b"x" * (65 << 10), False, 1, ()),), (), (), False),
    "a path that is text": ("done", 1, (("d/a", False, 1, ()),), (), (), False),
    "a line of more than any reading holds": (
        "done",
        1,
        ((b"d/a", False, 1, ((1, "x" * (MAX_READ_BYTES + 1), 0, 1, 0),)),),
        (),
        (),
        False,
    ),
    "a reason that is none": ("done", 1, (), ((0, 99, 1, ()),), (), False),
    "six names in a mark": ("done", 1, (), ((0, 4, 6, [b"d/%d" % n for n in range(6)]),), (), False),
    "2049 rests": ("done", 1, (), (), [(b"d", b"%05d" % n, b"%05d" % n) for n in range(MAX_REST + 1)], False),
    "a rest with a name of 5 KiB": ("done", 1, (), (), ((b"d", b"x" * 5000, None),), False),
    "a rest with an empty name": ("done", 1, (), (), ((b"d", b"", b""),), False),
    "a refusal of more than 16 KiB": ("refused", 1, "pattern", "x", "x" * (17 << 10), None),
}
for _name, _fields in SHAPES.items():
    lie(_name, Stage.TICKET)(shaped(*_fields))


# --- frames out of turn ---------------------------------------------------------------------------------------------


@lie("ready again", Stage.START, Stage.QUERY, Stage.TICKET, Stage.AFTER)
def _ready_again(liar: Liar, frame: Any) -> None:
    liar.send(READY)


@lie("not locked down after all", *EARLY)
def _not_locked_down(liar: Liar, frame: Any) -> None:
    liar.send(NotLockedDown("landlock", 38))


@lie("an attempt to get out", *EARLY, Stage.AFTER)
def _attempted(liar: Liar, frame: Any) -> None:
    liar.send(Attempted("read /etc/passwd", 0))


@lie("done with what was never begun", Stage.START, Stage.QUERY, Stage.AFTER)
def _done_early(liar: Liar, frame: Any) -> None:
    liar.send(*(Done(ticket, (), (), (), False) for ticket in range(200)))


@lie("another ticket done", Stage.TICKET)
def _another_ticket(liar: Liar, frame: Ticket) -> None:
    liar.send(Done(frame.id + 1, (), (), (), False))


@lie("a ticket done twice", Stage.AFTER)
def _done_twice(liar: Liar, frame: Ticket) -> None:
    liar.send(Done(frame.id, (), (), (), False))


@lie("another query loaded", Stage.QUERY)
def _another_query(liar: Liar, frame: Query) -> None:
    liar.send(Loaded(frame.id + 1))


@lie("a query loaded twice", Stage.QUERY)
def _loaded_twice(liar: Liar, frame: Query) -> None:
    liar.send(Loaded(frame.id), Loaded(frame.id))


@lie("a query loaded that was not sent", Stage.START, Stage.TICKET, Stage.AFTER)
def _loaded(liar: Liar, frame: Any) -> None:
    liar.send(Loaded(liar.query.id if liar.query else 1))


@lie("another query refused", Stage.QUERY)
def _another_refused(liar: Liar, frame: Query) -> None:
    liar.send(Refused(frame.id + 1, "pattern", "x", "x", None))


@lie("refused in the middle of a ticket", Stage.TICKET)
def _refused_late(liar: Liar, frame: Ticket) -> None:
    liar.send(Refused(frame.query, "pattern", "x", "x", None))


@lie("refused with strange words", Stage.QUERY)
def _refused_strangely(liar: Liar, frame: Query) -> None:
    liar.send(Refused(frame.id, "pattern", "\x1b[2J", "\x1b]0;x\x07\n\u202e" + "x" * 16_000, 2**53))


# --- answers that cannot be -----------------------------------------------------------------------------------------


def line(number: int = 1, text: str = "x") -> Line:
    return Line(number, text, 0, len(text), 0)


def found(path: bytes, *numbers: int) -> Found:
    numbers = numbers or (1,)
    return Found(path, False, len(numbers), tuple(line(number) for number in numbers))


def answer(
    name: str,
    *,
    found: tuple[Found, ...] = (),
    skips: tuple[SkipMark, ...] = (),
    rest: tuple[Shard, ...] = (),
) -> None:
    """A lie that is the same frame for every ticket."""
    lie(name, Stage.TICKET)(lambda liar, ticket: liar.send(Done(ticket.id, found, skips, rest, False)))


PLACES: Final[dict[str, bytes]] = {
    "a file beside the folder": b"c.txt",
    "a file whose folder begins alike": b"dd/a.txt",
    "the folder itself": b"d",
    "nothing": b"",
    "up and out": b"d/../c.txt",
    "far up": b"d/../../../etc/passwd",
    "absolute": b"/etc/passwd",
    "doubly absolute": b"d//etc/passwd",
    "with a dot": b"d/./a.txt",
    "with a slash behind": b"d/a.txt/",
    "with a NUL": b"d/a\0.txt",
}
for _name, _path in PLACES.items():
    answer(f"a finding: {_name}", found=(found(_path),))
    answer(f"a skip: {_name}", skips=(SkipMark(0, Skip.UNREADABLE, 1, (_path,)),))

answer("findings out of order", found=(found(b"d/b.txt"), found(b"d/a.txt")))
answer("findings in the order of strings", found=(found(b"d/a.txt"), found(b"d/a/b.txt")))
answer("a finding twice", found=(found(b"d/a.txt"), found(b"d/a.txt")))
answer("more entries than asked for", found=(found(b"d/a.txt", *range(1, 2000)),))
answer("more files than asked for", found=tuple(found(b"d/%05d" % number) for number in range(2000)))
answer("a path without lines", found=(Found(b"d/a.txt", False, 1, ()),))
answer("a count that is not its lines'", found=(Found(b"d/a.txt", False, 7, (line(),)),))
answer("a count of nothing", found=(Found(b"d/a.txt", False, 0, ()),))
answer("lines out of order", found=(found(b"d/a.txt", 3, 2, 1),))
answer("a line twice", found=(found(b"d/a.txt", 1, 1),))
answer("a line of number zero", found=(found(b"d/a.txt", 0),))
answer(
    "more of a line than there is room for", found=(Found(b"d/a.txt", False, 1, (line(1, "x" * 100_000),)),)
)
answer("a match outside its line", found=(Found(b"d/a.txt", False, 1, (Line(1, "x", 2**53, 2**53, 2**53),)),))
answer("a line longer than told", found=(Found(b"d/a.txt", False, 1, (Line(1, "x" * 150, 0, 3, 2),)),))

answer("a skip behind the last finding", skips=(SkipMark(1, Skip.UNREADABLE, 1, ()),))
answer("a skip of fewer than it names", skips=(SkipMark(0, Skip.UNREADABLE, 1, (b"d/a", b"d/b")),))
answer(
    "skips out of order",
    found=(found(b"d/a.txt"),),
    skips=(SkipMark(1, Skip.BINARY, 1, ()), SkipMark(0, Skip.BINARY, 1, ())),
)
answer("a skip twice", skips=(SkipMark(0, Skip.BINARY, 1, (b"d/a",)),) * 2)
answer("skips past counting", skips=tuple(SkipMark(0, Skip.BINARY, 2**53, ()) for _ in range(5000)))

RESTS: Final[dict[str, tuple[Shard, ...]]] = {
    "the whole": (Shard(b"d"),),
    "more than the whole": (Shard(b""),),
    "the neighbour": (Shard(b"dd"),),
    "twice the same": (Shard(b"d", b"m", b"n"), Shard(b"d", b"m", b"n")),
    "2048 times the same": (Shard(b"d", b"m", b"n"),) * MAX_REST,
    "overlapping": (Shard(b"d", b"m", b"p"), Shard(b"d", b"n", b"q")),
    "out of order": (Shard(b"d", b"m", b"m"), Shard(b"d", b"b", b"b")),
    "a folder and then its parent's name": (Shard(b"d", b"m", b"m"), Shard(b"d/m")),
    "inverted": (Shard(b"d", b"z", b"b"),),
    "2048 inverted": (Shard(b"d", b"z", b"b"),) * MAX_REST,
    "up and out": (Shard(b"d/.."),),
    "a name that is a path": (Shard(b"d", b"m/../../c.txt", None),),
    "a name that is two dots": (Shard(b"d", b"..", b".."),),
    "a name with a NUL": (Shard(b"d", b"m\0", None),),
    "absolute": (Shard(b"/etc"),),
}
for _name, _rest in RESTS.items():
    answer(f"a rest: {_name}", rest=_rest)
answer("a rest before the last finding", found=(found(b"d/m.txt"),), rest=(Shard(b"d", b"b", b"c"),))
answer("a rest over the last finding", found=(found(b"d/m.txt"),), rest=(Shard(b"d", b"m", None),))


# --- too much -------------------------------------------------------------------------------------------------------


@lie("the same frame without end", *EARLY)
def _flood(liar: Liar, frame: Any) -> None:
    while True:
        liar.send(*[READY] * 1000)


@lie("16 MiB of bytes that never become a frame", *EARLY)
def _almost(liar: Liar, frame: Any) -> None:
    liar.raw(HEADER.pack(MAX_REPLY_BYTES) + b"\x91" * (MAX_REPLY_BYTES - 1))


@lie("a step more each time, without end", Stage.TICKET)
def _no_end(liar: Liar, ticket: Ticket) -> None:
    first, *others = ticket.shards
    name = b"%016x" % (int(first.first or b"0", 16) + 1)
    liar.send(Done(ticket.id, (), (), (Shard(first.folder, name, None), *others), False))


@lie("2048 shards for one, without end", Stage.TICKET)
def _multiply(liar: Liar, ticket: Ticket) -> None:
    first, *others = ticket.shards
    is_one_entry = first.first is not None and first.first == first.last
    folder = first.folder + b"/" + (first.first or b"") if is_one_entry else first.folder
    children = [Shard(folder, b"%05d" % n, b"%05d" % n) for n in range(1, MAX_REST - len(others))]
    liar.send(Done(ticket.id, (), (), (*children, *others), False))


def _next(ticket: Ticket, path: bytes) -> tuple[Shard, ...]:
    """What is left behind a path directly below the first shard's folder, with no end of names in it."""
    return (Shard(ticket.shards[0].folder, path + b"\x01", None), *ticket.shards[1:])


def _fresh_name(ticket: Ticket) -> bytes:
    """A name behind all that were told of before."""
    before = ticket.shards[0].first
    return b"%09d" % (1 if before is None else int(before.rstrip(b"\x01")) + 1)


@lie("lines of 1 MiB, without end", Stage.TICKET)
def _long_lines(liar: Liar, ticket: Ticket) -> None:
    name = _fresh_name(ticket)
    text = "\U0001f600" + "x" * (MIB - 1)  # one such letter makes Python keep four bytes for each
    told = Found(FOLDER + b"/" + name, False, 1, (line(1, text),))
    liar.send(Done(ticket.id, (told,), (), _next(ticket, name), False))


@lie("paths of 64 KiB, without end", Stage.TICKET)
def _long_paths(liar: Liar, ticket: Ticket) -> None:
    name = _fresh_name(ticket)
    told = found(FOLDER + b"/" + name + b"/x" * 32_000)
    liar.send(Done(ticket.id, (told,), (), _next(ticket, name), False))


@functools.cache
def _packed_million(one: Callable[[int], msgspec.Struct]) -> bytes:
    """A million structs as one array: made before the fork, since a worker's time is short."""
    return (
        b"\xdd"
        + (1_000_000).to_bytes(4, "big")
        + b"".join(msgspec.msgpack.encode(one(n)) for n in range(1_000_000))
    )


def _a_finding(number: int) -> Found:
    return Found(b"d/%06d" % number, False, 1, ())


def _a_skip(number: int) -> SkipMark:
    return SkipMark(0, Skip.BINARY, 1, ())


def _send_packed(liar: Liar, ticket: Ticket, found: bytes, skips: bytes, rest: tuple[Shard, ...]) -> None:
    body = (
        b"\x96\xa4done"
        + msgspec.msgpack.encode(ticket.id)
        + found
        + skips
        + msgspec.msgpack.encode(rest)
        + b"\xc2"
    )
    liar.raw(HEADER.pack(len(body)) + body)


@lie("a million skips, without end", Stage.TICKET)
def _million_skips(liar: Liar, ticket: Ticket) -> None:
    _send_packed(liar, ticket, b"\x90", _packed_million(_a_skip), _next(ticket, _fresh_name(ticket)))


@lie("a million findings", Stage.TICKET)
def _million_findings(liar: Liar, ticket: Ticket) -> None:
    _send_packed(liar, ticket, _packed_million(_a_finding), b"\x90", ())


@lie("skips named by 64 KiB each, without end", Stage.TICKET)
def _long_skips(liar: Liar, ticket: Ticket) -> None:
    name = _fresh_name(ticket)
    names = tuple(FOLDER + b"/" + name + b"/%d" % n + b"/x" * 32_000 for n in range(5))
    marks = tuple(SkipMark(0, reason, 5, names) for reason in Skip)
    liar.send(Done(ticket.id, (), marks, _next(ticket, name), False))


# --- silence --------------------------------------------------------------------------------------------------------


def spin() -> NoReturn:
    """Live on without a call: nothing but a kill ends this."""
    while True:
        pass


@lie("no answer", Stage.QUERY, Stage.TICKET)
def _stall(liar: Liar, frame: Any) -> None:
    """Waits for the next frame, which does not come."""


@lie("never reads", Stage.START, Stage.QUERY, Stage.TICKET, Stage.AFTER)
def _deaf(liar: Liar, frame: Any) -> None:
    spin()


@lie("half a frame, then silence", *EARLY)
def _half(liar: Liar, frame: Any) -> None:
    liar.raw(HEADER.pack(1000) + b"\x96")


@lie("half a header, then silence", *EARLY)
def _half_header(liar: Liar, frame: Any) -> None:
    liar.raw(b"\x01\x00")


@lie("a byte now and then", Stage.QUERY, Stage.TICKET)
def _drip(liar: Liar, frame: Any) -> None:
    liar.raw(HEADER.pack(MAX_REPLY_BYTES))
    while True:
        liar.raw(b"\x91")
        until = time.monotonic() + 0.01
        while time.monotonic() < until:
            pass


@lie("closes its socket and lives on", Stage.START, Stage.QUERY, Stage.TICKET, Stage.AFTER)
def _close(liar: Liar, frame: Any) -> None:
    os.close(SOCKET)
    spin()


# --- deaths ---------------------------------------------------------------------------------------------------------


def _by_the_clock() -> NoReturn:
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    spin()


DEATHS: Final[dict[str, Callable[[], object]]] = {
    "exit 0": lambda: os._exit(0),
    "exit 3": lambda: os._exit(3),
    "SIGSEGV": lambda: ctypes.string_at(16, 1),
    "SIGSYS": os.getppid,
    "abort": os.abort,
    "SIGALRM": _by_the_clock,
}
for _name, _end in DEATHS.items():
    lie(f"dies by {_name}", Stage.START, Stage.QUERY, Stage.TICKET, Stage.AFTER)(
        lambda liar, frame, end=_end: end()  # type: ignore[misc]
    )


# --- last words -----------------------------------------------------------------------------------------------------


def _names() -> Iterator[tuple[str, tuple[int, bytes, int | None]]]:
    scanning = int(Doing.SCANNING)
    yield "a deed that is none", (99, b"d/a.txt", None)
    yield "a length past the page", (scanning, b"d/a.txt", 0xFFFF_FFFF)
    yield "a length up to the page's end", (scanning, b"d/a.txt", PAGE_BYTES - PATH_AT)
    yield "noise", (scanning, random.Random(2).randbytes(PAGE_BYTES - PATH_AT), None)
    yield "nothing at all", (scanning, b"", None)
    yield "a neighbour", (scanning, b"c.txt", None)
    yield "up and out", (scanning, b"d/../c.txt", None)
    yield "far up", (int(Doing.LISTING), b"d/../../etc/passwd", None)
    yield "absolute", (scanning, b"/etc/passwd", None)
    yield "a NUL", (scanning, b"d/a\0.txt", None)
    yield "doubled slashes", (scanning, b"d//a.txt", None)
    yield "a file that is there", (scanning, b"d/a.txt", None)
    yield "a file that is not there", (scanning, b"d/nothing", None)
    yield "a terminal's language", (scanning, b"d/\x1b[2J\n", None)
    yield "64 KiB", (scanning, (b"d" + b"/x" * 40_000)[: 64 << 10].rstrip(b"/"), None)


WORDS: Final = dict(_names())
for _name, _said in WORDS.items():
    for _end_name in ("SIGALRM", "SIGSEGV"):

        def _tell(liar: Liar, frame: Any, said: Any = _said, end: Any = DEATHS[_end_name]) -> None:
            liar.note(*said)
            end()

        lie(f"last words: {_name}, then {_end_name}", Stage.TICKET)(_tell)


@lie("out of memory over another file each time", Stage.TICKET)
def _out_of_memory(liar: Liar, ticket: Ticket) -> None:
    liar.note(int(Doing.SCANNING), b"d/%d" % time.monotonic_ns() + b"/x" * 30_000)
    liar.send(Done(ticket.id, (), (), (), True))
