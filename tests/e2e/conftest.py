"""What the end-to-end tests share: trees with an oracle beside them, a bounded wait, and results as bytes
to compare.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil
import pytest

import grille

Result = grille.GrepResult | grille.GlobResult
WORDS = (
    "needle",
    "NEEDLE",
    "hay",
    "import asyncio",
    "x = 1",
    "foo(bar)",
    "straße",
    "日本語",
    "tab\there",
    "",
)


@dataclass(frozen=True)
class Tree:
    """A folder of text files, and what they hold, told without looking at the disk again."""

    root: Path
    files: dict[str, list[str]]
    """Relative path -> lines, in the contract's order."""

    @staticmethod
    def key(path: str) -> tuple[bytes, ...]:
        """The contract's order: component by component, as bytes."""
        return tuple(component.encode() for component in path.split("/"))

    def lines(self, pattern: str, flags: int = re.IGNORECASE) -> list[tuple[str, int, str]]:
        """What grep must find: path, line number and line, in order."""
        compiled = re.compile(pattern, flags)
        return [
            (path, number, line)
            for path, lines in self.files.items()
            for number, line in enumerate(lines, 1)
            if compiled.search(line)
        ]


def grow(root: Path, count: int, seed: int) -> Tree:
    """A tree of `count` files, unbalanced, its names chosen so that the order by component is not the order
    by string.
    """
    chance = random.Random(seed)
    folders = [""]
    names = ["a", "a-b", "a.b", "a b", "B", "b", "z", "é", "0", "_", "A-", "aa"]
    while len(folders) < count // 12 + 2:
        parent = chance.choice(folders[-20:])
        child = f"{parent}{chance.choice(names)}{chance.randrange(30)}/"
        if child not in folders:
            folders.append(child)
    found: dict[str, list[str]] = {}
    for number in range(count):
        suffix = chance.choice([".py", ".txt", ".md", ""])
        path = f"{chance.choice(folders)}{chance.choice(names)}{100 + number}{suffix}"
        found[path] = [chance.choice(WORDS) + f" {number}" for _ in range(chance.randrange(12))]
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for path, lines in found.items():
        (root / path).write_text("".join(line + "\n" for line in lines))
    return Tree(root, {path: found[path] for path in sorted(found, key=Tree.key)})


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """600 files. Nobody writes into it."""
    return grow(tmp_path_factory.mktemp("tree"), 600, seed=1)


@pytest.fixture(scope="session")
def grown() -> Callable[[Path, int, int], Tree]:
    """Grows a tree: folder, number of files, seed."""
    return grow


@pytest.fixture(scope="session")
def policy_for() -> Callable[..., grille.Policy]:
    """The policy that shows one folder as /mnt/tree, with limits by keyword."""

    def policy(root: Path, **limits: int | float) -> grille.Policy:
        mount = grille.Mount("/mnt/tree", host=str(root))
        return grille.Policy(mounts=[mount], limits=grille.Limits(**limits))  # type: ignore[arg-type]

    return policy


@pytest.fixture(scope="session")
def as_bytes() -> Callable[[Result], bytes]:
    """A result as JSON, without how long it took and what confined it: what must not differ between two
    runs.
    """

    def encode(result: Result) -> bytes:
        fields = msgspec.structs.asdict(result)
        del fields["elapsed_ms"], fields["confinement"]
        return msgspec.json.encode(fields)

    return encode


@pytest.fixture(scope="session")
def eventually() -> Callable[[Callable[[], object], float], None]:
    """Waits until a condition holds, at most so many seconds; fails then."""

    def wait(condition: Callable[[], object], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"did not come true within {seconds} s")
            time.sleep(0.01)

    return wait


@pytest.fixture(scope="session")
def strike() -> Callable[[int, signal.Signals], bool]:
    """Sends a signal to one descendant of this process; False when it is none (any more)."""

    def send(pid: int, number: signal.Signals) -> bool:
        # SAFETY: a number that is 0, -1 or somebody else's by now would hit a whole machine.
        if pid <= 1:
            return False
        try:
            victim = psutil.Process(pid)
            if os.getpid() not in [parent.pid for parent in victim.parents()]:
                return False
            victim.send_signal(number)
        except psutil.Error:
            return False
        return True

    return send
