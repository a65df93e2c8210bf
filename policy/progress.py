"""The progress page: a few words of memory in which a worker notes what it is about to do.

A store to shared memory costs a fraction of a microsecond, so every file is named before it is touched,
always; when a worker is killed, the page says which file cost its life, and nothing has to be run again to
find out. The counters make live progress free.

Invariant: the page is written by one hostile process and read by the supervisor, which believes it only as
far as the shard that it handed out (pool/frames.py). The memfd is sealed against shrinking, so a read cannot
fault.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

from .wire import MAX_PATH_BYTES


class Doing(IntEnum):
    """What a worker was last about to do."""

    NOTHING = 0
    COMPILING = 1
    LISTING = 2
    SCANNING = 3


COUNTERS: Final = struct.Struct("<QQ")  # files and bytes of this worker's life
NOW: Final = struct.Struct("<II")  # Doing, length of the path
NOW_AT: Final = COUNTERS.size
PATH_AT: Final = NOW_AT + NOW.size
PAGE_BYTES: Final = PATH_AT + MAX_PATH_BYTES
