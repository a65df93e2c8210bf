"""What a worker says is believed only as far as it is possible: every lie that the shards betray is caught."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.wire import (
    HEADER,
    MAX_PATH_BYTES,
    MAX_REPLY_BYTES,
    MAX_REST,
    Done,
    Found,
    FromWorker,
    Line,
    Loaded,
    Query,
    Ready,
    Refused,
    Shard,
    Skip,
    SkipMark,
)
from grille.pool.frames import FrameBuffer, WorkerLied, check_done, key, within

QUERY = Query(
    id=1,
    tool="grep",
    root=0,
    start=b"",
    single_file=False,
    refuse_hardlinks=False,
    pattern="x",
    literal=False,
    ignore_case=False,
    word=False,
    multiline=False,
    output="content",
    includes=(),
    case_sensitive_globs=True,
    include_dirs=False,
    noise=True,
    deny=(),
    need=5,
    compile_seconds=1,
    scan_seconds=1,
    folder_seconds=1,
    max_file_bytes=1,
    max_line_bytes=1,
    max_pattern_bytes=1,
    line_chars=1,
    margin_chars=1,
)
FILES = msgspec.structs.replace(QUERY, output="files_with_matches")
GLOB = msgspec.structs.replace(QUERY, tool="glob")
COUNT = msgspec.structs.replace(QUERY, output="count")


def framed(frame: object) -> bytes:
    body = msgspec.msgpack.encode(frame)
    return HEADER.pack(len(body)) + body


def line(number: int = 1) -> Line:
    return Line(number, "x", 0, 1, 0)


def hit(path: bytes, lines: int = 1) -> Found:
    return Found(path, False, lines, tuple(line(number) for number in range(1, lines + 1)))


def done(found: Sequence[Found] = (), skips: Sequence[SkipMark] = (), rest: Sequence[Shard] = ()) -> Done:
    return Done(1, tuple(found), tuple(skips), tuple(rest), False)


# --- bytes into frames ----------------------------------------------------------------------------------------------

HONEST: list[FromWorker] = [
    done([hit(b"a"), hit(b"b/c", 3)], [SkipMark(1, Skip.SYMLINK, 9, (b"ab",))], [Shard(b"b", b"d", None)]),
    Loaded(7),
    Refused(7, "pattern", "invalid", "missing )", 3),
    Refused(7, "glob", "absolute", "no", None),
]


@given(st.lists(st.sampled_from(HONEST), max_size=6), st.lists(st.integers(1, 40), min_size=1))
def test_frames_arrive_whole_however_the_bytes_are_cut(frames: list[FromWorker], sizes: list[int]) -> None:
    """A stream has no borders: the frames are the same however many bytes come at a time."""
    stream = b"".join(map(framed, frames))
    buffer = FrameBuffer()
    received: list[FromWorker] = []
    at, turn = 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        received += buffer.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert received == frames


@pytest.mark.parametrize("size", [MAX_REPLY_BYTES + 1, 2**31, 2**32 - 1])
def test_a_length_beyond_the_bound_is_a_lie_before_any_body_is_held(size: int) -> None:
    """The length is checked first, so a worker cannot make the supervisor hold what it announces."""
    with pytest.raises(WorkerLied):
        FrameBuffer().feed(HEADER.pack(size))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x00",
        b"\xff" * 20,
        b"not msgpack at all",
        msgspec.msgpack.encode(None),
        msgspec.msgpack.encode([]),
        msgspec.msgpack.encode({"type": "done"}),
        msgspec.msgpack.encode(["done"]),
        msgspec.msgpack.encode(["no such tag", 1]),
        msgspec.msgpack.encode(["query", 1]),
        msgspec.msgpack.encode(["loaded", "1"]),
        msgspec.msgpack.encode(["loaded", 1.5]),
        msgspec.msgpack.encode(["loaded", True]),
        msgspec.msgpack.encode(["loaded", 1, 2]),
        msgspec.msgpack.encode(["loaded", 1]) + b"\x00",
        msgspec.msgpack.encode(["done", 1, [["a", False, 1, []]], [], [], False]),
        msgspec.msgpack.encode(["done", 1, [[b"a", False, -1, []]], [], [], False]),
        msgspec.msgpack.encode(["done", 1, [[b"a", False, 2**60, []]], [], [], False]),
        msgspec.msgpack.encode(["done", 1, [[b"a", 0, 1, []]], [], [], False]),
        msgspec.msgpack.encode(["done", 1, [], [[0, 99, 1, []]], [], False]),
        msgspec.msgpack.encode(["done", 1, [], [[0, 1, 9, [b"x"] * 6]], [], False]),
        msgspec.msgpack.encode(["done", 1, [], [], [[b"", b"a", b"b"]] * (MAX_REST + 1), False]),
        msgspec.msgpack.encode(["done", 1, [], [], [[b"", b"", b"b"]], False]),
        msgspec.msgpack.encode(["done", 1, [[b"a" * (MAX_PATH_BYTES + 1), False, 1, []]], [], [], False]),
        msgspec.msgpack.encode(["refused", 1, "weather", "x", "y", None]),
        b"\x91" * 100_000,  # arrays within arrays
        b"\xdd\xff\xff\xff\xff",  # an array that says it has four thousand million items
        b"\xdb\xff\xff\xff\xff",  # a text of that length
    ],
)
def test_a_frame_of_another_shape_is_a_lie(body: bytes) -> None:
    """Frames are decoded strictly: wrong types, unknown tags, fields too many or too few, bounds passed, no
    msgpack.
    """
    with pytest.raises(WorkerLied):
        FrameBuffer().feed(HEADER.pack(len(body)) + body)


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_a_lie(body: bytes) -> None:
    """Whatever a worker sends, nothing but WorkerLied comes of it."""
    try:
        frames = FrameBuffer().feed(HEADER.pack(len(body)) + body)
    except WorkerLied:
        return
    assert all(isinstance(frame, Ready | Loaded | Refused | Done | msgspec.Struct) for frame in frames)


@given(st.sampled_from(HONEST), st.data())
def test_a_frame_with_one_byte_changed_is_a_frame_or_a_lie(frame: FromWorker, data: st.DataObject) -> None:
    """The same, near to the truth."""
    body = bytearray(msgspec.msgpack.encode(frame))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        FrameBuffer().feed(HEADER.pack(len(body)) + bytes(body))
    except WorkerLied:
        return


def test_a_lie_does_not_tell_a_frames_content() -> None:
    """The text of a lie goes to the operator's log: it names the kind of fault, not what a hostile worker
    wrote.
    """
    body = msgspec.msgpack.encode(["loaded", "\x1b[2J forged line"])
    with pytest.raises(WorkerLied) as lie:
        FrameBuffer().feed(HEADER.pack(len(body)) + body)
    assert "forged" not in str(lie.value)
    assert lie.value.__cause__ is None


# --- answers against shards -----------------------------------------------------------------------------------------

WHOLE = (Shard(b""),)
RUN = (Shard(b"src", b"b", b"m"),)
TWO = (Shard(b"src", b"b", b"m"), Shard(b"src", b"p", b"p"), Shard(b"t", None, b"c"))


@pytest.mark.parametrize(
    ("shards", "answer", "query"),
    [
        (WHOLE, done(), QUERY),
        (WHOLE, done([hit(b"a"), hit(b"a-b"), hit(b"b/a"), hit(b"b/b")]), QUERY),
        (WHOLE, done([hit(b"a/z"), hit(b"a-b")]), QUERY),  # by component: a before a-b, with all that a holds
        (WHOLE, done([hit(b"a", 5)]), QUERY),
        (WHOLE, done([hit(b"a", 2), hit(b"b", 3)], rest=[Shard(b"", b"c", b"z")]), QUERY),
        (WHOLE, done([hit(b"a/b/c")], rest=[Shard(b"a/b", b"d", b"d"), Shard(b"a", b"c", b"x")]), QUERY),
        (WHOLE, done([hit(b"a/b/c")], rest=[Shard(b"a/b", b"d"), Shard(b"", b"b", b"c")]), QUERY),
        (RUN, done([hit(b"src/b"), hit(b"src/m/deep/er")], rest=[Shard(b"src/m/deep", b"f", b"g")]), QUERY),
        (RUN, done([], [SkipMark(0, Skip.UNREADABLE, 1, (b"src",))]), QUERY),
        (RUN, done([], [SkipMark(0, Skip.SYMLINK, 50, (b"src/c", b"src/d"))]), QUERY),
        (TWO, done([hit(b"src/b"), hit(b"src/p"), hit(b"t/a")]), QUERY),
        (TWO, done([hit(b"t/a")], [SkipMark(1, Skip.BINARY, 1, (b"t/b",))], [Shard(b"t", b"b", b"c")]), QUERY),
        (TWO, done([hit(b"src/c")], rest=[Shard(b"src", b"d", b"m"), *TWO[1:]]), QUERY),
        (TWO, done(rest=TWO[1:]), QUERY),
        (WHOLE, done([Found(b"a", False, 1, ()), Found(b"b", False, 1, ())]), FILES),
        (WHOLE, done([Found(b"a", False, 900, ())]), COUNT),
        (WHOLE, done([Found(b"a", True, 1, ()), Found(b"a/b", False, 1, ())]), GLOB),
        (WHOLE, done([hit(b"\xff\n\x1b")]), QUERY),
    ],
)  # fmt: skip
def test_a_possible_answer_is_taken(shards: tuple[Shard, ...], answer: Done, query: Query) -> None:
    """Honest answers pass: cut anywhere, found on any level, several shards in one ticket."""
    check_done(answer, shards, query)


@pytest.mark.parametrize(
    ("shards", "answer", "query"),
    [
        pytest.param(RUN, done([hit(b"src/a")]), QUERY, id="before the run"),
        pytest.param(RUN, done([hit(b"src/n")]), QUERY, id="behind the run"),
        pytest.param(RUN, done([hit(b"src/m-")]), QUERY, id="just behind the run"),
        pytest.param(RUN, done([hit(b"other/c")]), QUERY, id="another folder"),
        pytest.param(RUN, done([hit(b"src")]), QUERY, id="the folder itself"),
        pytest.param(RUN, done([hit(b"srcc/c")]), QUERY, id="a sibling with the same beginning"),
        pytest.param(WHOLE, done([hit(b"")]), QUERY, id="no path"),
        pytest.param(WHOLE, done([hit(b"/etc/passwd")]), QUERY, id="absolute"),
        pytest.param(WHOLE, done([hit(b"../x")]), QUERY, id="parent first"),
        pytest.param(WHOLE, done([hit(b"a/../x")]), QUERY, id="parent within"),
        pytest.param(WHOLE, done([hit(b"a/..")]), QUERY, id="parent last"),
        pytest.param(WHOLE, done([hit(b"./a")]), QUERY, id="dot"),
        pytest.param(WHOLE, done([hit(b"a//b")]), QUERY, id="double slash"),
        pytest.param(WHOLE, done([hit(b"a/")]), QUERY, id="slash at the end"),
        pytest.param(WHOLE, done([hit(b"a\0b")]), QUERY, id="NUL"),
        pytest.param(WHOLE, done([hit(b"b"), hit(b"a")]), QUERY, id="out of order"),
        pytest.param(WHOLE, done([hit(b"a"), hit(b"a")]), QUERY, id="twice"),
        pytest.param(WHOLE, done([hit(b"a-b"), hit(b"a/b")]), QUERY, id="by string instead of by component"),
        pytest.param(TWO, done([hit(b"src/p"), hit(b"src/c")]), QUERY, id="back to an earlier shard"),
        pytest.param(WHOLE, done([hit(b"a", 6)]), QUERY, id="too many lines"),
        pytest.param(WHOLE, done([hit(bytes([n])) for n in range(65, 71)]), QUERY, id="too many files"),
        pytest.param(WHOLE, done([Found(b"a", False, 1, ())]), QUERY, id="content without lines"),
        pytest.param(WHOLE, done([Found(b"a", False, 2, (line(),))]), QUERY, id="a count that is not its lines'"),
        pytest.param(WHOLE, done([hit(b"a")]), FILES, id="lines where files were asked for"),
        pytest.param(WHOLE, done([hit(b"a")]), GLOB, id="lines for a glob"),
        pytest.param(WHOLE, done([Found(b"a", False, 0, ())]), COUNT, id="a count of none"),
        pytest.param(WHOLE, done([], [SkipMark(1, Skip.BINARY, 1, ())]), QUERY, id="a skip behind the end"),
        pytest.param(WHOLE, done([], [SkipMark(0, Skip.BINARY, 1, (b"a", b"b"))]), QUERY, id="more names than skips"),
        pytest.param(RUN, done([], [SkipMark(0, Skip.BINARY, 1, (b"src/a",))]), QUERY, id="a skip before the run"),
        pytest.param(RUN, done([], [SkipMark(0, Skip.BINARY, 1, (b"etc/c",))]), QUERY, id="a skip elsewhere"),
        pytest.param(WHOLE, done([], [SkipMark(0, Skip.BINARY, 1, (b"../c",))]), QUERY, id="a skip above"),
        pytest.param(RUN, done([], [SkipMark(0, Skip.BINARY, 1, (b"",))]), QUERY, id="a skip of the root"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"a", b"c")]), QUERY, id="a rest that begins too early"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"c", b"n")]), QUERY, id="a rest that ends too late"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"c", None)]), QUERY, id="a rest with no end"),
        pytest.param(RUN, done(rest=[Shard(b"src", None, b"c")]), QUERY, id="a rest with no beginning"),
        pytest.param(RUN, done(rest=[Shard(b"")]), QUERY, id="a rest above"),
        pytest.param(RUN, done(rest=[Shard(b"elsewhere")]), QUERY, id="a rest elsewhere"),
        pytest.param(RUN, done(rest=[Shard(b"src/../etc")]), QUERY, id="a rest through .."),
        pytest.param(RUN, done(rest=[Shard(b"src/c\0")]), QUERY, id="a rest with a NUL"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"c/../..", b"d")]), QUERY, id="a rest's name with a slash"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"..", b"d")]), QUERY, id="a rest's name .."),
        pytest.param(RUN, done(rest=RUN), QUERY, id="no progress"),
        pytest.param(WHOLE, done(rest=WHOLE), QUERY, id="no progress at all"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"c", b"d")] * 2), QUERY, id="a rest twice"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"c", b"f"), Shard(b"src", b"e", b"g")]), QUERY, id="rests overlap"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"e", b"f"), Shard(b"src", b"c", b"d")]), QUERY, id="disorder"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"c", b"f"), Shard(b"src/d")]), QUERY, id="a rest within a rest"),
        pytest.param(RUN, done(rest=[Shard(b"src", b"k", b"c")]), QUERY, id="a rest that ends before it begins"),
        pytest.param(RUN, done([hit(b"src/g")], rest=[Shard(b"src", b"c", b"m")]), QUERY, id="a rest before a finding"),
        pytest.param(RUN, done([hit(b"src/g")], rest=[Shard(b"src", b"g", b"m")]), QUERY, id="a rest with a finding"),
    ],
)  # fmt: skip
def test_an_impossible_answer_is_a_lie(shards: tuple[Shard, ...], answer: Done, query: Query) -> None:
    """Architecture: the supervisor believes nothing; what cannot have come of the shards handed out is a
    lie.
    """
    with pytest.raises(WorkerLied):
        check_done(answer, shards, query)


NAMES = st.sampled_from([b"a", b"a-", b"aa", b"b", b"c", b"\xff", b"..", b".", b"", b"x\0", b"d"])
PATHS = st.lists(NAMES, max_size=3).map(b"/".join)
SHARDS = st.builds(Shard, PATHS, st.none() | NAMES, st.none() | NAMES)
MARKS = st.builds(
    SkipMark,
    st.integers(0, 3),
    st.sampled_from(Skip),
    st.integers(0, 3),
    st.lists(PATHS, max_size=2).map(tuple),
)


@given(
    st.lists(SHARDS, min_size=1, max_size=3),
    st.lists(PATHS.map(hit), max_size=4),
    st.lists(MARKS, max_size=2),
    st.lists(SHARDS, max_size=4),
)
def test_whatever_is_taken_is_inside_and_in_order(
    shards: list[Shard], found: list[Found], marks: list[SkipMark], rest: list[Shard]
) -> None:
    """No answer that passes names a path outside its shards, a path that no folder holds, or one out of order; and what
    it hands back never overlaps, so the list of shards cannot grow beyond the tree."""
    answer = done(found, marks, rest)
    try:
        check_done(answer, shards, QUERY)
    except WorkerLied:
        return
    keys = [key(one.path) for one in found]
    assert keys == sorted(set(keys))
    for one in keys:
        assert any(within(one, shard) for shard in shards)
        assert not {b"", b".", b".."} & set(one)
    for mark in marks:
        assert mark.at <= len(found)
        assert all(b"\0" not in name and b".." not in name.split(b"/") for name in mark.names)
    for shard in rest:
        assert shard.first is None or shard.last is None or shard.first <= shard.last
        assert any(shard.folder == mine.folder or within(key(shard.folder), mine) for mine in shards)
    probes = [
        (*key(shard.folder), name) for shard in rest for name in (b"a", b"a-", b"aa", b"b", b"c", b"d", b"e")
    ]
    for probe in probes:
        assert sum(within(probe, shard) for shard in rest) <= 1, "two rests hold one path"
        if keys and any(within(probe, shard) for shard in rest):
            assert probe > keys[-1]


def test_a_reply_cannot_multiply() -> None:
    """Two thousand copies of one shard, or of one that holds nothing, are no rest: each reply could hold as
    many again.
    """
    for shard in (Shard(b"src", b"c", b"d"), Shard(b"src", b"k", b"c"), Shard(b"src/d")):
        with pytest.raises(WorkerLied):
            check_done(done(rest=[shard] * MAX_REST), RUN, QUERY)


def test_orders_agree() -> None:
    """The key orders paths by component, as bytes: what a folder holds stands where the folder stands."""
    paths: list[Any] = [
        b"",
        b"A",
        b"a",
        b"a/a",
        b"a/b/c",
        b"a/z",
        b"a b",
        b"a-b",
        b"a.b",
        b"aa",
        b"\xc3\xa9",
        b"\xff",
    ]
    assert [path for _, path in sorted((key(path), path) for path in paths)] == paths
