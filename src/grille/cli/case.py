"""Whether a search regards case: `-s`, `-i`, or `-S`, which decides by the pattern."""

from __future__ import annotations

import re
from typing import Final, Literal

Case = Literal["sensitive", "insensitive", "smart"]

# What holds letters that stand for no letter of the text: escapes, group names, inline flags. Linear, and no pattern is
# compiled here.
_NO_TEXT: Final = re.compile(
    r"\\N\{[^}]*\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\.|\(\?P[<=>][^)>]*|\(\?\([^)]*\)",
    re.DOTALL,
)


def is_case_sensitive(case: Case, pattern: str, literal: bool) -> bool:
    """`smart`: regards case when the pattern spells an upper-case letter; `\\S` and `(?P<Name>` spell
    none.
    """
    if case != "smart":
        return case == "sensitive"
    text = pattern if literal else _NO_TEXT.sub("", pattern)
    return any(character.isupper() for character in text)
