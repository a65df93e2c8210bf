"""What the tests of the contract share: one pool for a module, trees written from a description, and workspaces."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import grille

Files = Mapping[str, str | bytes]
Show = Callable[..., grille.Workspace]
VIRTUAL = "/mnt/tree"


@pytest.fixture(scope="module")
def pool() -> Iterator[grille.Pool]:
    """One pool for the module."""
    with grille.Pool() as opened:
        yield opened


@pytest.fixture(scope="session")
def write() -> Callable[[Path, Files], None]:
    """Writes a tree: path -> content. A path that ends with a slash is a folder."""

    def write_(root: Path, files: Files) -> None:
        for path, content in files.items():
            place = root / path
            (place if path.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
            if not path.endswith("/"):
                place.write_bytes(content.encode() if isinstance(content, str) else content)

    return write_


@pytest.fixture
def show(pool: grille.Pool, tmp_path: Path, write: Callable[[Path, Files], None]) -> Iterator[Show]:
    """Writes a tree into the test's own folder and opens it under /mnt/tree. Keywords are the policy's, `limits` a
    dict.
    """
    with contextlib.ExitStack() as opened:

        def show_(
            files: Files, *, limits: Mapping[str, Any] | None = None, **policy: Any
        ) -> grille.Workspace:
            write(tmp_path, files)
            policy.setdefault("mounts", [grille.Mount(VIRTUAL, host=str(tmp_path))])
            made = grille.Policy(limits=grille.Limits(**(limits or {})), **policy)
            return opened.enter_context(pool.open(made))

        yield show_


@pytest.fixture(scope="module")
def plot(
    pool: grille.Pool, tmp_path_factory: pytest.TempPathFactory, write: Callable[[Path, Files], None]
) -> Iterator[Callable[[Files], tuple[grille.Workspace, str, Path]]]:
    """For very many small trees: each is written into a folder of its own, all under one workspace.

    Gives the workspace, the folder's virtual path, and its host path.
    """
    base = tmp_path_factory.mktemp("plots")
    numbers = itertools.count()
    limits = grille.Limits(glob_ceiling=100_000, grep_ceiling=100_000)
    with pool.open(grille.Policy(mounts=[grille.Mount(VIRTUAL, host=str(base))], limits=limits)) as workspace:

        def plot_(files: Files) -> tuple[grille.Workspace, str, Path]:
            name = f"plot{next(numbers)}"
            (base / name).mkdir()
            write(base / name, files)
            return workspace, f"{VIRTUAL}/{name}", base / name

        yield plot_


@pytest.fixture(scope="session")
def ripgrep() -> str:
    """ripgrep's path, or the test is skipped."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("rg", path=places)
    if found is None:
        pytest.skip("no ripgrep here")
    return found
