"""The names that no walk looks at: version control, dependencies, build output, caches, editors' leavings
(contract 6).

Invariants: a name is matched alone and exactly, in bytes, whether it is a file's or a folder's; where a walk
starts is never matched, so a caller who names such a folder gets it. A wildcard has one `*` and nothing else
that is magic, so prefix and suffix tests decide it.

Leaves to others: `.gitignore` and its kin, what a policy denies, counting what was passed over.
"""

from __future__ import annotations

from typing import Final

NOISE_NAMES: Final = frozenset(
    {
        b".DS_Store",
        b".bzr",
        b".cache",
        b".classpath",
        b".coverage",
        b".eggs",
        b".env",  # secrets or a virtual environment; .env.local and the like are searched
        b".git",  # a file in worktrees and submodules
        b".hg",
        b".idea",
        b".jj",
        b".mypy_cache",
        b".next",
        b".nox",
        b".nuxt",
        b".nyc_output",
        b".output",  # Nitro's build
        b".project",
        b".pytest_cache",
        b".ruff_cache",
        b".settings",
        b".sl",  # Sapling
        b".svn",
        b".tox",
        b".turbo",
        b".venv",
        b".vscode",
        b"Thumbs.db",
        b"__pycache__",
        b"build",
        b"coverage",
        b"desktop.ini",
        b"dist",
        b"env",
        b"htmlcov",
        b"logs",  # not Logs: names are compared as they are
        b"node_modules",
        b"out",
        b"site-packages",
        b"target",  # Cargo's and Maven's
        b"venv",
    }
)
"""Names matched whole."""

NOISE_PATTERNS: Final[tuple[bytes, ...]] = (
    b"*.bak",
    b"*.cache",
    b"*.egg-info",
    b"*.lnk",
    b"*.log",
    b"*.swo",
    b"*.swp",
    b"*.temp",
    b"*.tmp",
    b"*~",
    b".upload-*.part",  # an upload that has not ended
)
"""Names matched by one `*`, which stands for any bytes, also none."""

_SUFFIXES: Final = tuple(pattern[1:] for pattern in NOISE_PATTERNS if pattern.startswith(b"*"))
_FRAMES: Final = tuple(
    (head, tail) for head, _, tail in (pattern.partition(b"*") for pattern in NOISE_PATTERNS) if head
)


def is_noise(name: bytes) -> bool:
    """Whether a walk passes over the entry `name`, a file or a folder below its start (contract 6)."""
    if name in NOISE_NAMES or name.endswith(_SUFFIXES):
        return True
    # What is cut off the front cannot count for the end as well.
    return any(name.startswith(head) and name[len(head) :].endswith(tail) for head, tail in _FRAMES)
