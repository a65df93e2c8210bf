"""What may be said across the bars: every message's shape, and the greatest size of each.

Two channels. The *control* channel (SOCK_SEQPACKET, one message a packet, descriptors attached) joins the
supervisor to the zygote and to each cell; both ends are ours and read no tenant's byte. The *worker* channel
(SOCK_STREAM, a little-endian 32-bit length before each frame) joins the supervisor to one worker, which is
assumed hostile once it has read a byte of a repository.

Invariants: every frame is msgpack in a strict struct with bounded fields; a length is checked before a byte
of the body is read; nothing is ever unpickled. Paths are bytes, relative to the mount, joined by `/`. What
these structs cannot express (a path outside the shard handed out, entries out of order) is checked by
pool/frames.py.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Annotated, Final, Literal

import msgspec

from .confinement import Tier

HEADER: Final = struct.Struct("<I")
MAX_REQUEST_BYTES: Final = 1 << 20
"""Largest frame to a worker: a pattern and filters of a few KiB, a batch of shards, the names to avoid."""
MAX_REPLY_BYTES: Final = 16 << 20
"""Largest frame from a worker. A worker ends its slice once it holds SLICE_BYTES, so an honest one stays far
below; the margin is one file's lines."""
SLICE_BYTES: Final = 1 << 20
FILE_BYTES: Final = 6 << 20
"""Text of one file's lines that a reply may hold, before the file is left in the middle. Text of characters
that take three bytes stays below the bound on a reply, too."""
MAX_CONTROL_BYTES: Final = 64 << 10

MAX_PATH_BYTES: Final = 64 << 10
"""Longest path that is walked, relative to the mount. Deeper trees are counted as unreadable."""
MAX_REST: Final = 2048
"""Most shards that one reply may hand back."""
MAX_BATCH: Final = 64
"""Most shards that one ticket may hold."""
ALL: Final = 2**53
"""Stands for no bound where a number is wanted."""
MAX_FOUND: Final = 1 << 16
MAX_LINES: Final = 1 << 18
"""Most findings, skips, and lines of one file in a reply: what SLICE_BYTES and FILE_BYTES of the shortest
ones come to, and more. Decoding holds the interpreter, so millions of tiny structs would stop the whole host
for seconds."""
MAX_READ_BYTES: Final = 4 << 20
"""Most text that one `read` gives."""
MAX_CONTEXT: Final = 100
"""Most context lines on one side of a match."""
SAMPLE_NAMES: Final = 5
"""How many skipped entries of one reason are named: in a mark, and in a result. One number for both, or the
names would depend on how the work was cut."""

_Path = Annotated[bytes, msgspec.Meta(max_length=MAX_PATH_BYTES)]
_Name = Annotated[bytes, msgspec.Meta(min_length=1, max_length=4096)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Errno = Annotated[int, msgspec.Meta(ge=0, le=4096)]
_Short = Annotated[str, msgspec.Meta(max_length=16 << 10)]


class Skip(IntEnum):
    """Why something was not searched (contract 2.6). The number is what crosses the bars; the name is
    public.
    """

    BINARY = 1
    TOO_LARGE = 2
    LONG_LINE = 3
    UNREADABLE = 4
    SPECIAL_FILE = 5
    SYMLINK = 6
    VANISHED = 7
    TIMED_OUT = 8
    OUT_OF_MEMORY = 9
    CRASHED = 10
    IGNORED = 11
    UNDECODABLE = 12


class _Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Array-like: no key names on the wire, and no place for an unknown one.

    Without garbage collection: a frame is a tree of values and can hold no cycle, and tracking each one made
    decoding five times as slow.
    """


class Shard(_Frame, frozen=True):
    """A run of one folder's entries, names from `first` to `last` inclusive, with everything beneath them.

    `first` or `last` None leaves that side open. The folder is relative to the mount's root, b"" for the
    root itself. Bounds rather than lists: a folder may change between two looks at it, and every name still
    falls into one shard.
    """

    folder: _Path
    first: _Name | None = None
    last: _Name | None = None
    told: _Count = 0
    """Of a single file: how many of its matching lines an earlier reply held. The search goes on behind
    them.
    """


# --- supervisor -> worker


class Query(_Frame, tag="query", frozen=True, kw_only=True):
    """One request, as a worker needs to know it. Sent once to each worker that helps with it."""

    id: int
    tool: Literal["grep", "glob", "read"]
    sort: Literal["path", "mtime"] = "path"
    """mtime: report when each file was changed; the supervisor sorts."""
    root: int
    """Which of the workspace's mounts, by number."""
    start: bytes
    """The folder that filters are relative to, or the single file to search."""
    single_file: bool
    refuse_hardlinks: bool = False
    """Leave out files with more than one name, as if they were denied."""
    pattern: str
    literal: bool
    ignore_case: bool
    word: bool
    multiline: bool
    output: Literal["content", "files_with_matches", "count"]
    before: int = 0
    after: int = 0
    """Context lines to ship on either side of a match."""
    max_per_file: int = ALL
    """Most matching lines of one file."""
    first_line: int = 1
    last_line: int = ALL
    """For read: the lines that are wanted, from 1."""
    most_bytes: int = 1
    """For read: how much text is wanted at most; one line is always given, cut to it."""
    types: tuple[str, ...] = ()
    """Globs of the file type that is asked for; a file matches one of them as well as the others."""
    max_depth: int | None = None
    """For a listing: how many levels below the start are shown."""
    includes: tuple[str, ...]
    """Globs; for grep a leading "!" excludes. For glob the one pattern."""
    case_sensitive_globs: bool
    include_dirs: bool
    noise: bool
    """Leave out the shared ignore set (contract 6)."""
    ignore_files: bool = True
    """Leave out what .gitignore, .ignore and info/exclude say."""
    deny: tuple[bytes, ...]
    """Deny rules, relative to the mount; bytes, since a rule may be for a name that is no UTF-8."""
    covered: tuple[bytes, ...] = ()
    """Folders over which another mount lies: what is beneath them here is not what the tenant sees there."""
    need: int
    """Most entries that one reply may carry: the page's end and one more. A shard never has to yield more."""
    compile_seconds: float
    scan_seconds: float
    folder_seconds: float
    max_file_bytes: int
    max_line_bytes: int
    max_pattern_bytes: int
    line_chars: int
    margin_chars: int
    """Text to ship on either side of a line's window, so that a host path that straddles the cut is whole
    when the supervisor masks it. The worker is told a length, never a path."""


class Avoid(_Frame, frozen=True):
    """A path that cost a worker its life: reported as skipped for `reason`, and not touched again."""

    path: _Path
    reason: Skip


class Ticket(_Frame, tag="ticket", frozen=True):
    """Work: consecutive shards in path order, and the time after which to hand the rest back."""

    id: int
    query: int
    shards: tuple[Shard, ...]
    slice_seconds: float
    avoid: tuple[Avoid, ...] = ()


ToWorker = Query | Ticket


# --- worker -> supervisor


class Ready(_Frame, tag="ready", frozen=True):
    """Locked down. What the worker saw when it tried the bars from inside."""

    landlock_abi: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    """The ABI of the ruleset in force; 0 where there is none."""
    landlock_errno: _Errno
    """Why there is none; 0 where there is."""
    outside_errno: _Errno
    """errno of opening a world-readable file outside the mounts by its path; 0 would mean that it opened."""
    witness_errno: _Errno
    """errno of listing the folder that was `/` before, through a descriptor kept open for this one try. No
    mount and no chroot stands in that way, so EACCES is Landlock's own answer."""
    inside_errno: _Errno
    """errno of listing the first mount; must be 0."""
    mdwe: bool


class NotLockedDown(_Frame, tag="not_locked_down", frozen=True):
    """A layer could not be put in force: its name in policy/confinement.py, and errno. The worker has ended
    itself.
    """

    layer: Annotated[str, msgspec.Meta(max_length=64)]
    errno: _Errno


class Loaded(_Frame, tag="loaded", frozen=True):
    """The query's pattern and globs compiled."""

    query: int


class Refused(_Frame, tag="refused", frozen=True):
    """The pattern or a glob is not legal. `about` says which."""

    query: int
    about: Literal["pattern", "glob"]
    code: Annotated[str, msgspec.Meta(max_length=64)]
    message: _Short
    position: _Count | None


class Context(_Frame, frozen=True):
    """A line near a match: its number, its true length, and the shipped beginning of its text."""

    number: _Count
    text: Annotated[str, msgspec.Meta(max_length=1 << 20)]
    length: _Count


class Line(_Frame, frozen=True):
    """A match: the number of its (first) line, its true length, and the shipped window of its text.

    `before` characters of the text precede the window, `match_start` counts from the window's start. A match
    over several lines ends in line `last`.
    """

    number: _Count
    text: Annotated[str, msgspec.Meta(max_length=MAX_READ_BYTES)]
    before: _Count
    length: _Count
    match_start: _Count
    last: _Count = 0
    context_before: Annotated[tuple[Context, ...], msgspec.Meta(max_length=MAX_CONTEXT)] = ()
    context_after: Annotated[tuple[Context, ...], msgspec.Meta(max_length=MAX_CONTEXT)] = ()


class Found(_Frame, frozen=True):
    """A path with what was found in it. `count` is the number of its entries: matching lines, or 1 for a
    path.
    """

    path: _Path
    is_dir: bool
    count: Annotated[int, msgspec.Meta(ge=0, le=2**40)]
    lines: Annotated[tuple[Line, ...], msgspec.Meta(max_length=MAX_LINES)]
    modified: Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)] = 0


class SkipMark(_Frame, frozen=True):
    """Entries that were not searched, standing in the order before `found[at]`: how many, why, the first few
    names.
    """

    at: _Count
    reason: Skip
    count: Annotated[int, msgspec.Meta(ge=1, le=2**32)]
    names: Annotated[tuple[_Path, ...], msgspec.Meta(max_length=SAMPLE_NAMES)]


class Done(_Frame, tag="done", frozen=True):
    """What a ticket yielded, and what it has not reached, in path order."""

    ticket: int
    found: Annotated[tuple[Found, ...], msgspec.Meta(max_length=MAX_FOUND)]
    skips: Annotated[tuple[SkipMark, ...], msgspec.Meta(max_length=MAX_FOUND)]
    rest: Annotated[tuple[Shard, ...], msgspec.Meta(max_length=MAX_REST)]
    out_of_memory: bool
    """Memory ran out: the rest of this frame is empty, the progress page names the file, the worker is
    gone.
    """
    rules_cut: bool = False
    """Ignore files held more rules than are kept, so something may have been searched that they leave out."""


class Attempted(_Frame, tag="attempted", frozen=True):
    """For `doctor`: an attempt to get out, and the errno that stopped it; 0: it worked."""

    name: Annotated[str, msgspec.Meta(max_length=100)]
    errno: _Errno


FromWorker = Ready | NotLockedDown | Loaded | Refused | Done | Attempted


# --- supervisor <-> zygote, cell (trusted; descriptors travel beside)


class OpenCell(_Frame, tag="open_cell", frozen=True):
    """To the zygote, with the cell's control socket and one descriptor for each mount."""

    cell: int
    tiers: tuple[Tier, ...]
    """What the policy lets us try, the strongest first (policy/confinement.py)."""
    may_lack_landlock: bool
    landlock_ceiling: int
    """Highest Landlock ABI to use. Below the kernel's own only where a test plays an older kernel."""
    private_id: int | None
    """uid and gid of the workers when the zygote is root; None: stay who we are."""
    filter: bytes
    """The compiled seccomp program."""
    canary: bytes
    """A world-readable file outside every mount."""
    memory_bytes: int
    cpu_seconds: int


class TryFilter(_Frame, tag="try_filter", frozen=True):
    """To the zygote: run the sample job under this program, in a process of its own, and say how it ended."""

    filter: bytes


class FilterTried(_Frame, tag="filter_tried", frozen=True):
    """From the zygote: the signal that ended the sample job (0: none) and its exit status."""

    signal: int
    status: int


class ListAttempts(_Frame, tag="list_attempts", frozen=True):
    """To the zygote: which attempts to get out does it know?"""


class Attempts(_Frame, tag="attempts", frozen=True):
    """From the zygote: their names, in the order in which to show them."""

    names: tuple[str, ...]


class TryControl(_Frame, tag="try_control", frozen=True):
    """To the zygote, with a folder: make an attempt to get out in a process without bars, as the control."""

    attempt: str


class ControlTried(_Frame, tag="control_tried", frozen=True):
    """From the zygote: the errno that stopped the control; 0: it worked, so the bars have something to
    stop.
    """

    errno: int


class Missed(_Frame, frozen=True):
    """A layer that could not be built, and the kernel's errno (0: it was built and did not hold)."""

    layer: str
    errno: int


class CellOpened(_Frame, tag="cell_opened", frozen=True):
    """From the zygote, with a pidfd of the cell: the tier that was reached, and what was missed on the
    way.
    """

    cell: int
    tier: Tier
    pivoted: bool
    """The old root is gone altogether; False: it was left by chroot, which detached mounts make as good."""
    idmapped: bool
    user_namespace: bool
    missed: tuple[Missed, ...]


class CellFailed(_Frame, tag="cell_failed", frozen=True):
    """No tier that the policy allows could be built. `missed` says why, one or more for each."""

    cell: int
    missed: tuple[Missed, ...]


class SpawnWorker(_Frame, tag="spawn_worker", frozen=True):
    """To a cell, with the worker's socket and its progress page (a sealed memfd)."""

    worker: int
    root: int | None
    """Tier B: the mount to chroot into, the only one this worker sees. None: all of them."""
    attempt: str = ""
    """Not a worker but a victim for `doctor`: once locked down, make this attempt to get out, say how it
    went, end.
    """


class WorkerSpawned(_Frame, tag="worker_spawned", frozen=True):
    """From a cell, with the worker's pidfd."""

    worker: int


class WorkerExited(_Frame, tag="worker_exited", frozen=True):
    """From a cell: how a worker ended. `signal` 0 means an exit with `status`."""

    worker: int
    signal: int
    status: int


ToZygote = OpenCell | TryFilter | ListAttempts | TryControl
FromZygote = CellOpened | CellFailed | FilterTried | Attempts | ControlTried
ToCell = SpawnWorker
FromCell = WorkerSpawned | WorkerExited
