"""What a slice of work has yielded so far: findings and skips, in path order.

Invariant: skips stand in the order beside the findings. A page that is cut can so leave out exactly the
skips that lie past its cut, and says the same whatever the timing was (contract 2.1, 2.6).
"""

from __future__ import annotations

from ..policy.wire import SAMPLE_NAMES, SLICE_BYTES, Found, Line, Skip, SkipMark


class Harvest:
    """Collects until `full`; then the slice ends."""

    def __init__(self, need: int) -> None:
        self.found: list[Found] = []
        self.entries = 0
        self._need = need
        self._bytes = 0
        self._skips: dict[tuple[int, Skip], tuple[int, list[bytes]]] = {}

    @property
    def full(self) -> bool:
        """No more is wanted: the page cannot need it, or the reply grows too long."""
        return self.entries >= self._need or self._bytes >= SLICE_BYTES

    @property
    def wanted(self) -> int:
        """How many more entries could matter."""
        return self._need - self.entries

    def add(
        self,
        path: bytes,
        *,
        is_dir: bool = False,
        count: int = 1,
        lines: tuple[Line, ...] = (),
        modified: int = 0,
    ) -> None:
        """Something found. Each line is an entry; a path without lines is one."""
        self.found.append(Found(path, is_dir, count, lines, modified))
        self.entries += len(lines) or 1
        self._bytes += len(path) + 32 + sum(len(line.text) + 32 for line in lines)

    def skip(self, reason: Skip, path: bytes) -> None:
        """Something that was not searched, at this place in the order."""
        key = (len(self.found), reason)
        count, names = self._skips.get(key, (0, []))
        if count < SAMPLE_NAMES:
            names.append(path)
            self._bytes += len(path) + 16
        self._skips[key] = (count + 1, names)

    def marks(self) -> tuple[SkipMark, ...]:
        """The skips, grouped by place and reason."""
        return tuple(
            SkipMark(at, reason, count, tuple(names)) for (at, reason), (count, names) in self._skips.items()
        )
