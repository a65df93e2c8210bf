"""What the workers of a command may see and spend: the policy file's word, or the command line's own policy.

Without a policy file a person searches their own files and compares with other search commands, so nothing is
cut that can be helped: pages hold everything, files up to 1 GiB are searched, a search may take an hour.
Confinement stays strict.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from ..policy.limits import BOUNDS, GIB, Limits
from ..policy.loading import load_policy
from ..policy.mounts import Mount
from ..policy.tenant import MOST_MOUNTS, Policy
from .starts import Start, real_starts, virtual_starts

MAX_FILE_BYTES: Final = 1 * GIB
_WORKER_MEMORY: Final = 6 * GIB  # address space: such a file, read, joined and decoded
_SCAN_SECONDS: Final = 3.0  # most of such a file, from memory; a pattern that never ends costs as long
LINE_CHARS: Final = 200
LINE_CHARS_OF_MULTILINE: Final = 4_000  # what is shown of a match over several lines, all of them together
_PAGE: Final = int(BOUNDS["grep_ceiling"].greatest)


def policies(
    file: str | None, paths: Sequence[str], timeout: float | None, line_chars: int = LINE_CHARS
) -> Iterator[tuple[Policy, list[Start]]]:
    """The policies that a command works under, each with its starts. `line_chars` is for a policy of our
    own. Raises PolicyError, PathError.
    """
    if file is None:
        yield from own_policies(real_starts(paths), own_limits(timeout, line_chars))
    else:
        yield from_file(file, timeout), virtual_starts(paths)


def from_file(path: str, timeout: float | None) -> Policy:
    """The policy that a file says; `timeout` can lower its time for a request. Raises PolicyError."""
    policy = load_policy(path)
    if timeout is None or timeout >= policy.limits.request_seconds:
        return policy
    limits = msgspec.structs.replace(policy.limits, request_seconds=timeout)
    return msgspec.structs.replace(policy, limits=limits)


def own_limits(timeout: float | None, line_chars: int = LINE_CHARS) -> Limits:
    """The limits without a policy file."""
    return Limits(
        scan_seconds=_SCAN_SECONDS,
        request_seconds=BOUNDS["request_seconds"].greatest if timeout is None else timeout,
        worker_memory=_WORKER_MEMORY,
        worker_cpu_seconds=int(BOUNDS["worker_cpu_seconds"].greatest),
        workers=max(2, min(8, len(os.sched_getaffinity(0)))),
        max_file_bytes=MAX_FILE_BYTES,
        line_chars=line_chars,
        glob_default=_PAGE,
        glob_ceiling=_PAGE,
        grep_default=_PAGE,
        grep_ceiling=_PAGE,
    )


def own_policies(starts: Sequence[Start], limits: Limits) -> Iterator[tuple[Policy, list[Start]]]:
    """Policies that show just the starts' mounts, and the starts of each: as many as the number of mounts
    takes.
    """
    rest = list(starts)
    while rest:
        mounts = list(islice(dict.fromkeys(_mount_of(start) for start in rest), MOST_MOUNTS))
        count = next((at for at, start in enumerate(rest) if _mount_of(start) not in mounts), len(rest))
        yield Policy(mounts=mounts, limits=limits), rest[:count]
        rest = rest[count:]


def _mount_of(start: Start) -> Mount:
    assert start.mount is not None
    return start.mount
