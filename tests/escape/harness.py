"""Attempts to escape, run behind the product's bars and without them, and judged from outside.

An attempt passes when all of this holds:

 * the control: without bars, it succeeds (or fails in a way that the row names); else the test would prove nothing;
 * behind the bars it ends as the row says: killed by SIGSYS, or refused with an errno, or with a harmless value;
 * a kill came from the very call that was attempted: under a filter that refuses instead of killing, that call is the
   one refused;
 * nothing changed: every file inside and outside is as it was, and the victim lives.

Leaves to others: what runs in the processes (inside.py), the files that are attacked (yard.py).
"""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn
from unittest import mock

import msgspec
import pyseccomp
import pytest

from grille.policy.errors import ConfinementError
from grille.policy.limits import MIB, Limits
from grille.policy.mounts import Mount
from grille.policy.tenant import Policy
from grille.policy.wire import HEADER, NotLockedDown, Ready, WorkerExited, WorkerSpawned
from grille.pool import zygote as product_zygote
from grille.pool.cells import Cell
from grille.pool.filters import compiled_filter
from grille.pool.roots import Root
from grille.pool.workers import Worker
from grille.pool.zygote import Zygote

from .inside import FIRST_LEAK, LEAKS, Settings
from .toolkit import Place
from .yard import Yard

_HANG_SECONDS: Final = 30
_LIMITS: Final = Limits(worker_memory=256 * MIB)

KILL: Final = 0x8000_0000
ALLOW: Final = 0x7FFF_0000
_REFUSAL: Final = errno.EREMOTEIO
_REFUSE: Final = 0x0005_0000 | _REFUSAL
_RETURN: Final = 0x06

_MUST_CONFINE: Final = bool(os.environ.get("GRILLE_MUST_CONFINE"))

MAY_LACK: Final = {
    "root": "an ordinary user's controls cannot do what they would show",
    "legacy calls": "architectures younger than x86_64 have no open, stat, fork, ...",
    "PR_SET_MDWE": "Linux 6.3",
}
"""For what a test may skip even where GRILLE_MUST_CONFINE is set."""


def skip(lacking: str, why: str) -> NoReturn:
    """Skip the test, or fail it where this machine must have what is lacking."""
    if _MUST_CONFINE and lacking not in MAY_LACK:
        pytest.fail(f"GRILLE_MUST_CONFINE is set, and this machine lacks {lacking}: {why}")
    pytest.skip(f"no {lacking} here: {why}")


# --- outcomes --------------------------------------------------------------------------------------------------------


class Killed(NamedTuple):
    """The process died by this signal."""

    signal: int

    def __str__(self) -> str:
        return f"killed by {signal.Signals(self.signal).name}"


class Exited(NamedTuple):
    """The process ended with this status and said nothing: an execve that worked."""

    status: int


class Errno(NamedTuple):
    """The kernel refused `call`."""

    number: int
    call: str

    def __str__(self) -> str:
        return f"{self.call}: {errno.errorcode.get(self.number, str(self.number))}"


class Raised(NamedTuple):
    """Python raised."""

    kind: str
    text: str


class Value(NamedTuple):
    """The attempt came through, with this."""

    value: Any


Outcome = Killed | Exited | Errno | Raised | Value
Expected = Callable[[Outcome], bool]


class Expectation(NamedTuple):
    """A test on an outcome that can say what it wants."""

    wanted: str
    holds: Expected

    def __call__(self, outcome: Outcome) -> bool:
        return self.holds(outcome)

    def __str__(self) -> str:
        return self.wanted


SUCCESS: Final = Expectation("success", lambda o: isinstance(o, Value | Exited))
ANYWHERE: Final = "*"
"""For `stopped_at`: the interpreter makes the call, and hides which one was refused."""
S: Final = Expectation("killed by SIGSYS", lambda o: o == Killed(signal.SIGSYS))


def refused(*numbers: int) -> Expectation:
    """The kernel refuses with one of these."""
    names = " or ".join(errno.errorcode[n] for n in numbers)
    return Expectation(names, lambda o: isinstance(o, Errno) and o.number in numbers)


def returns(value: object) -> Expectation:
    """The attempt returns just this."""
    return Expectation(f"the value {value!r}", lambda o: isinstance(o, Value) and o.value == value)


def killed(number: int) -> Expectation:
    """Another signal."""
    return Expectation(f"killed by {signal.Signals(number).name}", lambda o: o == Killed(number))


def raises(kind: str) -> Expectation:
    """A Python exception of this name."""
    return Expectation(kind, lambda o: isinstance(o, Raised) and o.kind == kind)


def exits(status: int) -> Expectation:
    """The process is replaced by a program that ends with this."""
    return Expectation(f"exit {status}", lambda o: o == Exited(status))


def either(*expectations: Expectation) -> Expectation:
    """Any of them: where kernels differ."""
    return Expectation(" or ".join(map(str, expectations)), lambda o: any(e(o) for e in expectations))


# --- attempts --------------------------------------------------------------------------------------------------------


class Attempt(NamedTuple):
    """One row: something forbidden, and how it must end."""

    name: str
    do: Callable[..., object]
    """Runs with toolkit.py as its globals. Gets the Place, then `arguments`."""
    bars: Expectation = S
    control: Expectation = SUCCESS
    arguments: tuple[Any, ...] = ()
    changes: bool = False
    """The control leaves traces in the yard, and a worker must not."""
    stopped_at: str = ""
    """The call at which the filter kills; needed only where `do` names several."""
    needs_root: str = ""
    """Why the control cannot be had by an ordinary user."""
    calls: tuple[str, ...] = ()
    """Calls that this machine's architecture may not have."""
    meanwhile: Callable[[Yard], object] | None = None
    """What the world does while the attempt pauses."""
    alone: bool | None = False
    """Nothing but the filter stops it. None: that depends on the kernel."""

    def __str__(self) -> str:
        return self.name


ATTEMPTS: Final[dict[str, Attempt]] = {}
"""All rows of the test modules loaded so far, by name."""


def rows(*attempts: Attempt) -> pytest.MarkDecorator:
    """Run the test once for each attempt."""
    for attempt in attempts:
        assert attempt.name not in ATTEMPTS, f"two attempts are named {attempt.name}"
        ATTEMPTS[attempt.name] = attempt
    return pytest.mark.parametrize("attempt", attempts, ids=str)


# --- filters ---------------------------------------------------------------------------------------------------------


def allow_all() -> bytes:
    """A filter in name only: every other layer stands."""
    return struct.pack("<HBBI", _RETURN, 0, 0, ALLOW)


def refusing(program: bytes) -> bytes:
    """The same filter, but it refuses with an errno that nothing else gives, where it would kill."""
    changed = bytearray(program)
    for at in range(0, len(program), 8):
        code, _, _, value = struct.unpack_from("<HBBI", program, at)
        if code == _RETURN and value == KILL:
            struct.pack_into("<I", changed, at + 4, _REFUSE)
    return bytes(changed)


# --- the processes ---------------------------------------------------------------------------------------------------


class NotReady(Exception):
    """A worker could not put a layer in force, and said so."""


class Inmate(NamedTuple):
    """One worker that is ready for an attempt."""

    worker: Worker
    cell: Cell

    @property
    def ready(self) -> Ready:
        """What it saw when it was locked down."""
        assert self.worker.ready is not None
        return self.worker.ready


class Jail:
    """The product's zygote with attempts for work, a process for controls, a victim, listeners, and the yard."""

    def __init__(self, change: str = "") -> None:
        """`change` names what is changed in the zygote beforehand (inside.CHANGES)."""
        self._change = change
        self.yard = Yard()
        self._ends = contextlib.ExitStack()
        self._cells: dict[bytes, Cell] = {}
        self._number = 0
        self._spare: Yard | None = None
        """A yard for the next control; one that was changed is thrown away."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        settings = self._settings()
        here = str(Path(__file__).resolve().parents[1])
        boot = (
            "import sys; sys.path[:0] = sys.argv[2:]; sys.argv[2:] = [];"
            f"sys.path.append({here!r});"
            f"from escape.inside import zygote; zygote(int(sys.argv[1]), {settings!r})"
        )
        with mock.patch.object(product_zygote, "_BOOT", boot.replace("{", "{{").replace("}", "}}")):
            self.zygote = Zygote()
        self._ends.callback(self.zygote.close)
        self._controls, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = os.pathsep.join([*filter(None, sys.path), here])
        with theirs:
            controls = subprocess.Popen(
                [sys.executable, "-B", "-m", "escape.inside", str(theirs.fileno()), settings],
                pass_fds=[theirs.fileno()],
                env={"PYTHONPATH": paths},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._ends.callback(_end, controls)
        self._ends.callback(self._controls.close)
        # It waits for its input, so that it ends with us, however we end.
        self.victim = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._ends.callback(_end, self.victim)
        self._tcp = self._ends.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._abstract = self._ends.enter_context(socket.socket(socket.AF_UNIX))
        self._abstract.bind(os.fsencode(f"\0{self.yard.base.name}"))
        self._abstract.listen()

    def _settings(self) -> str:
        numbers = {}
        for number in range(1024):
            with contextlib.suppress(ValueError, OSError):
                name = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, number)
                numbers[name.decode() if isinstance(name, bytes) else name] = number
        settings = Settings(
            numbers=numbers | _NEWER_CALLS,
            outside=str(self.yard.outside),
            secret=str(self.yard.outside / "secret.txt"),
            writable=str(self.yard.outside / "public.txt"),
            mount=str(self.yard.root),
            change=self._change,
        )
        path = self.yard.base.parent / (self.yard.base.name + ".settings")
        path.write_bytes(msgspec.msgpack.encode(settings))
        self._ends.callback(path.unlink)
        self.numbers = settings.numbers
        return str(path)

    def place(self, yard: Yard) -> Place:
        """Where an attempt on this yard stands."""
        return Place(
            base=os.fsencode(yard.base),
            root=os.fsencode(yard.root),
            outside=os.fsencode(yard.outside),
            secret=os.fsencode(yard.outside / "secret.txt"),
            victim=self.victim.pid,
            port=self._tcp.getsockname()[1],
            abstract=self._abstract.getsockname()[1:],
            leaked=tuple(range(FIRST_LEAK, FIRST_LEAK + len(LEAKS))),
        )

    # --- workers

    def cell(self, program: bytes, limits: Limits = _LIMITS, yard: Yard | None = None) -> Cell:
        """An open cell of the product, on the shared yard, its workers under the filter `program`."""
        self._number += 1
        mount = Mount("/mount", host=str((yard or self.yard).root))
        policy = Policy(mounts=[mount], limits=limits)
        root = Root(mount, pseudo_filesystems=False)
        try:
            return Cell(self._number, self.zygote, [root], policy, program)
        finally:
            root.close()

    def shared_cell(self, program: bytes) -> Cell:
        """The one cell with this filter; made on first use."""
        if program not in self._cells:
            self._cells[program] = self.cell(program)
        return self._cells[program]

    def spawn(self, cell: Cell) -> Inmate:
        """A worker that is locked down and attested, as the supervisor would have it."""
        self._number += 1
        worker = cell.spawn(self._number, None)
        for _ in _rounds(worker.channel, cell.channel):
            heard = cell.receive() or []  # first, so that what a worker said before its end is read below
            for frame in worker.receive() or []:
                if isinstance(frame, NotLockedDown):
                    raise NotReady(frame.layer, frame.errno)
                assert isinstance(frame, Ready), frame
                worker.ready = frame
            for told, descriptor in heard:
                if told.worker == worker.number:  # else it is the end of one that was given up
                    assert isinstance(told, WorkerSpawned), f"a worker died before it was ready: {told}"
                    worker.pidfd = descriptor
            if worker.ready is not None and worker.pidfd is not None:
                break
        assert worker.ready is not None and worker.pidfd is not None
        cell.attest(worker)
        return Inmate(worker, cell)

    def behind_bars(
        self, attempt: Attempt, program: bytes | None = None, *, cell: Cell | None = None
    ) -> Outcome:
        """The outcome in a fresh worker under `program` (the product's own filter when None)."""
        cell = cell or self.shared_cell(program or compiled_filter())
        worker = self.spawn(cell).worker
        try:
            send_attempt(worker.channel, attempt, self.place(self.yard))
            frames = _Frames(worker.channel, lambda: self._meanwhile(attempt, self.yard))
            for _ in _rounds(frames, cell.channel):
                frames.take()
                for told, _ in cell.receive() or []:
                    if isinstance(told, WorkerExited) and told.worker == worker.number:
                        frames.take()
                        return _outcome(frames.report, -told.signal or told.status)
            raise AssertionError("unreachable")
        finally:
            self.end(Inmate(worker, cell))

    @staticmethod
    def end(inmate: Inmate) -> None:
        """Kill a worker that is not needed any more, and give up what is held of it."""
        worker = inmate.worker
        worker.kill()
        inmate.cell.workers.pop(worker.number, None)
        worker.close()

    def without_bars(self, attempt: Attempt) -> tuple[Outcome, bool]:
        """The control's outcome, and whether it left traces; on a yard of its own."""
        yard = self._spare or Yard()
        self._spare = None
        before = yard.fingerprint()
        try:
            outcome = self._control(attempt, yard)
            changed = yard.fingerprint() != before
        except BaseException:
            yard.close()
            raise
        if changed:
            yard.close()
        else:
            self._spare = yard
        return outcome, changed

    def _control(self, attempt: Attempt, yard: Yard) -> Outcome:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                socket.send_fds(self._controls, [b"."], [theirs.fileno(), yard.root_fd])
            ours.setblocking(False)
            send_attempt(ours, attempt, self.place(yard))
            frames = _Frames(ours, lambda: self._meanwhile(attempt, yard))
            for readable in _rounds(frames, self._controls):
                frames.take()
                if self._controls in readable:
                    status = msgspec.msgpack.decode(self._controls.recv(64), type=int)
                    frames.take()
                    return _outcome(frames.report, status)
        raise AssertionError("unreachable")

    @staticmethod
    def _meanwhile(attempt: Attempt, yard: Yard) -> None:
        assert attempt.meanwhile is not None
        attempt.meanwhile(yard)

    # --- judgement

    def verify(self, attempt: Attempt) -> None:
        """Raises AssertionError unless the attempt ends as its row says, and its control as it must."""
        missing = [name for name in attempt.calls if name not in self.numbers]
        if missing:
            skip("legacy calls", f"{platform.machine()} does not know {', '.join(missing)}")
        if attempt.needs_root and os.geteuid() != 0:
            self.hold(attempt)
            skip("root", f"held behind the bars, but the control needs {attempt.needs_root}")
        outcome, changed = self.without_bars(attempt)
        assert attempt.control(outcome), f"vacuous: the control gave {outcome}, not {attempt.control}"
        assert changed or not attempt.changes, "vacuous: the control changed nothing"
        self.hold(attempt)

    def hold(self, attempt: Attempt) -> None:
        """The part of `verify` behind the bars."""
        before = self.yard.fingerprint()
        outcome = self.behind_bars(attempt)
        assert attempt.bars(outcome), f"got {outcome}, not {attempt.bars}"
        if attempt.bars is S:
            self._stopped_at_the_call(attempt)
            unfiltered = self.behind_bars(attempt, allow_all())
            assert attempt.alone in (SUCCESS(unfiltered), None), f"without the filter: {unfiltered}"
        assert self.yard.fingerprint() == before, "something changed in the yard"
        assert self.victim.poll() is None, "the victim died"

    def _stopped_at_the_call(self, attempt: Attempt) -> None:
        outcome = self.behind_bars(attempt, refusing(compiled_filter()))
        if attempt.stopped_at == ANYWHERE:
            assert isinstance(outcome, Raised) or outcome[0] == _REFUSAL, outcome
            return
        wanted = attempt.stopped_at or self._only_call(attempt)
        assert outcome == Errno(_REFUSAL, wanted), f"the filter stopped {outcome}, not {wanted}"

    def _only_call(self, attempt: Attempt) -> str:
        named = [
            c
            for c in (*_constants(attempt.do), *attempt.arguments)
            if isinstance(c, str) and c in self.numbers
        ]
        if not named and "slurp" in attempt.do.__code__.co_names:
            return "openat"
        assert len(set(named)) == 1, f"name the call that the filter stops, one of {named}"
        return named[0]

    def close(self) -> None:
        """End every process and remove the yard."""
        for cell in self._cells.values():
            cell.close()
        self._ends.close()
        self.yard.close()
        if self._spare is not None:
            self._spare.close()


_NEWER_CALLS: Final = {
    # Shared by all architectures, and newer than the libseccomp of some distributions.
    "close_range": 436,
    "openat2": 437,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "futex_waitv": 449,
    "cachestat": 451,
    "fchmodat2": 452,
    "map_shadow_stack": 453,
    "statmount": 457,
    "listmount": 458,
    "setxattrat": 463,
    "open_tree_attr": 467,
    "file_setattr": 469,
}


class _Frames:
    """What arrives from an attempt: pauses are served, the report is kept."""

    def __init__(self, channel: socket.socket, meanwhile: Callable[[], None]) -> None:
        self._channel = channel
        self._meanwhile = meanwhile
        self._data = b""
        self.report: list[Any] | None = None
        self.ended = False

    def fileno(self) -> int:
        """For select."""
        return self._channel.fileno()

    def take(self) -> None:
        """All that is there now."""
        try:
            while part := self._channel.recv(1 << 16):
                self._data += part
            self.ended = True
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.ended = True
        while len(self._data) >= HEADER.size:
            (size,) = HEADER.unpack_from(self._data)
            body, rest = self._data[HEADER.size : HEADER.size + size], self._data[HEADER.size + size :]
            if len(body) < size:
                return
            self._data = rest
            frame = msgspec.msgpack.decode(body)
            if frame == ["pause"]:
                self._meanwhile()
                self._channel.send(b"g")
            else:
                self.report = frame


def send_attempt(channel: socket.socket, attempt: Attempt, place: Place) -> None:
    """Give an attempt to a waiting process."""
    code = attempt.do.__code__
    assert not code.co_freevars, f"{attempt.name}: an attempt cannot carry a closure"
    body = msgspec.msgpack.encode((marshal.dumps(code), place, attempt.arguments))
    channel.send(HEADER.pack(len(body)) + body)


def _outcome(report: list[Any] | None, status: int) -> Outcome:
    if status < 0:
        return Killed(-status)
    match report:
        case None:
            return Exited(status)
        case ["value", value]:
            return Value(value)
        case ["errno", number, call]:
            return Errno(number, call)
        case [_, kind, text]:
            return Raised(kind, text)
    raise AssertionError(report)


def _constants(function: Callable[..., object]) -> Iterator[object]:
    yield from function.__code__.co_consts


def _rounds(attempt: _Frames | socket.socket, control: socket.socket) -> Iterator[Collection[object]]:
    """Wait for an attempt's channel, while it lives, and for whoever tells of its end; a hang is a failure."""
    until = time.monotonic() + _HANG_SECONDS
    while (left := until - time.monotonic()) > 0:
        over = isinstance(attempt, _Frames) and attempt.ended
        yield select.select([control] if over else [attempt, control], [], [], left)[0]
    raise AssertionError("hangs")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def open_jail(change: str = "") -> Jail:
    """A jail at tier A; where this machine gives none, a skip, or a failure."""
    jail = Jail(change)
    try:
        jail.shared_cell(compiled_filter())
    except ConfinementError as error:
        jail.close()
        skip("confinement", str(error))
    return jail
