"""The exit statuses (contract 10). Scripts stand on them: a number never changes its meaning."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    FOUND = 0
    """Something was found and everything asked for was searched. Also: a command that searches nothing did
    its work.
    """

    NONE = 1
    """Everything was searched, and nothing was found."""

    FAILED = 2
    """The request was refused, or could not be carried out. Nothing is known about what exists."""

    INCOMPLETE = 3
    """Something was not searched that should have been, whether or not something was found."""
