"""`grille.grep` and `grille.glob`: one search for a script, with a pool of its own that is gone afterwards.

A host that searches more than once keeps a Pool open instead: starting one costs some tens of milliseconds.
"""

from __future__ import annotations

import os
from typing import Any

from .policy.tenant import Policy
from .pool.results import GlobResult, GrepResult
from .pool.workspace import Pool


def grep(pattern: str, path: str | os.PathLike[str] = ".", **options: Any) -> GrepResult:
    """`Workspace.grep` below one folder or in one file, shown under its own path. `options` are
    Workspace.grep's.
    """
    start = os.path.abspath(path)
    with Pool() as pool:
        return pool.open(Policy.for_paths([_folder_of(start)])).grep(pattern, start, **options)


def glob(pattern: str, path: str | os.PathLike[str] = ".", **options: Any) -> GlobResult:
    """`Workspace.glob` below one folder, shown under its own path. `options` are Workspace.glob's."""
    start = os.path.abspath(path)
    with Pool() as pool:
        return pool.open(Policy.for_paths([start])).glob(pattern, start, **options)


def _folder_of(path: str) -> str:
    return os.path.dirname(path) if os.path.isfile(path) else path
