"""A file or folder that becomes a link, or moves, after it was listed and before it is opened never shows the outside.

The searches are real. Beside each runs a walker as people write it, which looks first and opens then: it must be caught
at least once, else the race was not one.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import grille

from .harness import Jail

SECRET = "the secret outside"
INSIDE = "a line inside"
FILES = 250
FOLDERS = 50
_MOST_ROUNDS_OF_THE_CONTROL = 2000

# Each name is now a hard link to a file inside, now a symbolic link to the secret.
_SWAP_FILES = """
import os, sys
root, outside, spare = sys.argv[1:]
names = sorted(n for n in os.listdir(root) if n != "kept.txt")
print("up", flush=True)
while True:
    for name in names:
        at = os.path.join(root, name)
        os.symlink(os.path.join(outside, "secret.txt"), spare)
        os.rename(spare, at)
    for name in names:
        at = os.path.join(root, name)
        os.link(os.path.join(root, "kept.txt"), spare)
        os.rename(spare, at)
"""

# Each name is now a folder, now a link to the folder outside; the folder stands beside the secret meanwhile.
_SWAP_FOLDERS = """
import os, sys
root, outside, spare = sys.argv[1:]
names = sorted(os.listdir(root))
print("up", flush=True)
while True:
    for name in names:
        at, away = os.path.join(root, name), os.path.join(outside, name)
        os.rename(at, away)
        os.symlink(outside, at)
    for name in names:
        at, away = os.path.join(root, name), os.path.join(outside, name)
        os.unlink(at)
        os.rename(away, at)
"""


class Ground:
    """Folders `root` and `outside`, and a process that swaps what lies in root without pause."""

    def __init__(self, fill: Callable[[Path], None], swap: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="grille-race-")
        base = Path(self._folder.name)
        base.chmod(0o755)
        self.root, self.outside = base / "root", base / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text(SECRET + "\n")
        fill(self.root)
        paths = [str(self.root), str(self.outside), str(base / "spare")]
        self._swapper = subprocess.Popen([sys.executable, "-c", swap, *paths], stdout=subprocess.PIPE)
        assert self._swapper.stdout is not None
        assert self._swapper.stdout.readline() == b"up\n"

    def close(self) -> None:
        """Stop swapping, remove everything."""
        self._swapper.kill()
        self._swapper.communicate()
        self._folder.cleanup()

    def naive_walk(self) -> str:
        """What a walker sees that looks at an entry's kind first, and opens it by its path then."""
        files = []
        for entry in os.scandir(self.root):
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    files.append(Path(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    files += [Path(entry.path, name) for name in os.listdir(entry.path)]
        seen = ""
        for file in files:
            with contextlib.suppress(OSError):
                seen += file.read_text()
        return seen


def fill_with_files(root: Path) -> None:
    """Hard links to one file."""
    (root / "kept.txt").write_text(INSIDE + "\n")
    for number in range(FILES):
        (root / f"n{number:04}.txt").hardlink_to(root / "kept.txt")


def fill_with_folders(root: Path) -> None:
    """A file in each."""
    for number in range(FOLDERS):
        (root / f"d{number:04}").mkdir()
        (root / f"d{number:04}" / "inner.txt").write_text(INSIDE + "\n")


@pytest.fixture(params=["files", "folders"])
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """Both kinds of race."""
    fill, swap = {"files": (fill_with_files, _SWAP_FILES), "folders": (fill_with_folders, _SWAP_FOLDERS)}[
        request.param
    ]
    with contextlib.closing(Ground(fill, swap)) as prepared:
        yield prepared


@pytest.fixture(scope="module")
def pool(jail: Jail) -> Iterator[grille.Pool]:
    """Real workers. (The jail is asked for because it skips where nothing can be confined.)"""
    with grille.Pool() as opened:
        yield opened


def race(ground: Ground, pool: grille.Pool, openings: int) -> None:
    """Search until so many entries were offered. Raises AssertionError when the outside was seen."""
    policy = grille.Policy(
        mounts=[grille.Mount("/tree", host=str(ground.root))],
        limits=grille.Limits(grep_ceiling=10_000),
    )
    inside = links = offered = 0
    with contextlib.closing(pool.open(policy)) as workspace:
        while offered < openings:
            result = workspace.grep("secret|inside", limit=0)
            assert not [entry for entry in result.entries if SECRET in (entry.line or "")]
            assert {entry.line for entry in result.entries} <= {INSIDE}
            inside += len(result.entries)
            links += sum(skip.count for skip in result.skipped if skip.reason == "symlink")
            offered += len(list(ground.root.iterdir()))
    assert inside and links, "nothing was swapped while the searches ran"


def test_the_race_catches_who_looks_first_and_opens_then(ground: Ground) -> None:
    """The control: by looking and opening, the secret is read."""
    assert any(SECRET in ground.naive_walk() for _ in range(_MOST_ROUNDS_OF_THE_CONTROL))


def test_a_search_never_sees_the_outside(ground: Ground, pool: grille.Pool) -> None:
    """Ten thousand openings, each of which may be of a link by then."""
    race(ground, pool, 10_000)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_long_search_never_sees_the_outside(ground: Ground, pool: grille.Pool) -> None:
    """A hundred thousand."""
    race(ground, pool, 100_000)
