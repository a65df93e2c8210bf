"""What the hostile tests share: one pool, a way to open a folder, and a look at all that a result says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import grille

Open = Callable[..., grille.Workspace]
VIRTUAL = "/mnt/tree"


@pytest.fixture(scope="module")
def pool() -> Iterator[grille.Pool]:
    """One pool for the module: what one test does to it must not hurt the next."""
    with grille.Pool() as opened:
        yield opened


@pytest.fixture
def open_tree(pool: grille.Pool) -> Iterator[Open]:
    """Opens a folder under /mnt/tree, with limits by keyword; closes it after the test."""
    opened: list[grille.Workspace] = []

    def open_(folder: Path, **limits: Any) -> grille.Workspace:
        mount = grille.Mount(VIRTUAL, host=str(folder))
        opened.append(pool.open(grille.Policy(mounts=[mount], limits=grille.Limits(**limits))))
        return opened[-1]

    yield open_
    for workspace in opened:
        workspace.close()


@pytest.fixture(scope="session")
def said() -> Callable[[msgspec.Struct], str]:
    """Everything that a result says, as one text, so that a leak can be looked for in all of it."""
    return lambda result: json.dumps(msgspec.to_builtins(result), ensure_ascii=False)


@pytest.fixture(scope="session")
def skips() -> Callable[[grille.GrepResult | grille.GlobResult], dict[str, int]]:
    """The ledger of a result as reason -> count."""
    return lambda result: {skipped.reason: skipped.count for skipped in result.skipped}
