"""What was decided for a pattern, as data: shown by `explain`, and nothing is decided from it.

Invariant: one program for buffers that are ASCII throughout and one for all others; both answer alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "superset", "backtracking"]


@dataclass(frozen=True, slots=True)
class Program:
    """How one sort of buffer is searched.

    exact: the linear engine alone decides. superset: it names candidate lines and Python's `re` confirms each.
    backtracking: `re` looks at every line. `reasons` says why it is not exact (in the planner's words, for people);
    `text` is the linear engine's pattern, None where it has none.
    """

    kind: Kind
    reasons: tuple[str, ...]
    text: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Both programs of a pattern."""

    ascii: Program
    unicode: Program
