"""What to try when nothing was found: sentences beside an empty result, and names near a path that is not
there.

Guesses (policy/hints.py) never change a result; they tell only what the caller could have found out itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..policy import hints
from .results import Skipped


def on_no_match(pattern: str, literal: bool, skipped: Sequence[Skipped]) -> tuple[str, ...]:
    """For a grep without an entry."""
    guesses = (
        [hints.looks_like_regex(pattern)]
        if literal
        else [hints.looks_like_glob(pattern), hints.escape_braces(pattern)]
    )
    return tuple(filter(None, [*guesses, _on_ignored(skipped)]))


def on_no_path(skipped: Sequence[Skipped]) -> tuple[str, ...]:
    """For a glob without an entry."""
    return tuple(filter(None, [_on_ignored(skipped)]))


def on_mounts_below(mounts: Sequence[str]) -> tuple[str, ...]:
    """For a walk from which other mounts are left out."""
    if not mounts:
        return ()
    return (f"Not searched from here, but by its own path: {', '.join(mounts)}.",)


def on_skipped_file(skipped: Sequence[Skipped]) -> tuple[str, ...]:
    """For a search in one file that was not searched at all."""
    return tuple(f"The file was not searched: {row.reason.replace('_', ' ')}." for row in skipped)


def _on_ignored(skipped: Sequence[Skipped]) -> str | None:
    count = sum(row.count for row in skipped if row.reason == "ignored")
    if not count:
        return None
    entries = "1 entry was" if count == 1 else f"{count} entries were"
    return (
        f"{entries} left out by ignore rules, folders with all that is in them; no_ignore=True searches them."
    )
