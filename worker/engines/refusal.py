"""Why a pattern is not searched for at all, as one exception with a stable code.

Leaves the sentence for people and the hint to the supervisor, which owns the error catalogue (contract 7).
"""

from __future__ import annotations

from typing import Literal

RefusalCode = Literal["invalid", "empty", "too_long", "needs_multiline", "too_complex"]


class PatternRefused(Exception):
    """The pattern cannot be searched for; nothing was read.

    `message` is Python's own for "invalid" and `position` the code point in the pattern that it points at, where
    Python names one.
    """

    def __init__(self, code: RefusalCode, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.code: RefusalCode = code
        self.message = message
        self.position = position
