"""A result as text for a model, in the style that its host knows (contract 8).

Invariants: what incompleteness there is stands in the first line; every name and line has passed
`pool/escape.py`; no name and no line can begin a line of the text as one of our own lines begins; the text is
never longer than it was asked to be.

`claude.py` and `deerflow.py` say how each style looks, `budget.py` what gives way where room is short,
`names.py` and `lines.py` what is shown of paths and of lines.
"""

from __future__ import annotations

from typing import Final, Literal

from ...policy.errors import RequestError, shown
from ..results import SearchResult
from . import claude, deerflow
from .budget import fitted

Style = Literal["claude", "deerflow"]

LEAST_CHARS: Final = 200
"""Characters that state, sums and advice take at their shortest; less room holds no honest answer."""

_DRAFTS: Final = {"claude": claude.draft, "deerflow": deerflow.draft}


def render(result: SearchResult, style: Style, max_chars: int | None = None) -> str:
    """`result` in words: lines joined by line feeds, without one at the end.

    `max_chars`: the most code points that the text may have, at least `LEAST_CHARS`; None for no bound. Rows
    give way to it from the end, each entry as a whole, and a line then says how many entries are missing and
    where to go on. Raises RequestError (`argument_invalid`) for another style or a bound that is none.
    """
    if not isinstance(style, str) or style not in _DRAFTS:
        legal = ", ".join(sorted(_DRAFTS))
        raise RequestError("argument_invalid", f"style must be one of {legal}; found {shown(style)}.")
    if max_chars is not None and (
        isinstance(max_chars, bool) or not isinstance(max_chars, int) or max_chars < LEAST_CHARS
    ):
        raise RequestError(
            "argument_invalid",
            f"max_chars must be a whole number of at least {LEAST_CHARS}; found {shown(max_chars)}.",
        )
    return fitted(_DRAFTS[style](result), max_chars)
