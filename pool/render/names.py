"""How paths stand in a text for a model: in their row, told back exactly, never to be taken for anything
else.

Results hold paths in the form of `escape.unicode_text`; here they are read back and shown in the form of
`escape.name`, in which no control character is left. Requests take either form.

Invariant: what these functions return is one line, and `escape.unescape` of it (without the quotes) is the
path.
"""

from __future__ import annotations

import re
from typing import Final

from .. import escape

# What follows a name in a row: `:12:`, `:12-14:` (a match over several lines), `-12-` (context), `:3` (a count).
# A name that holds such a thing, or ends so that what follows completes one, could pass for another name and
# another number.
_LIKE_A_ROW: Final = re.compile(r":\d+(?:-\d+)?(?::|\Z)|-\d+(?:-|\Z)")
_COLON_LIKE_A_ROW: Final = re.compile(r":(?=\d+(?:-\d+)?(?::|\Z))")
_DASH_LIKE_A_ROW: Final = re.compile(r"-(?=\d+- )")

# Printable ASCII without what begins our own lines (`#`, `--`), a quoted name (`"`), or looks like nothing. Any
# other character may look like one of these.
_PLAIN_START: Final = re.compile(r"[!$-,.-~]")


def path(virtual: str) -> str:
    """A whole path of a result."""
    return escape.name(escape.unescape(virtual))


def path_before_number(virtual: str) -> str:
    """A whole path that a number follows (`/a.py:12: text`): a colon or a dash in it that could pass for the
    one before the number is `\\x{3a}` or `\\x{2d}`.
    """
    shown = _COLON_LIKE_A_ROW.sub(r"\\x{3a}", path(virtual))
    return _DASH_LIKE_A_ROW.sub(r"\\x{2d}", shown)


def below(virtual: str, start: str) -> str:
    """A path relative to where the search started, still in the form of results. The start itself gives its
    own last name; a path outside it (the start was a link) stays absolute.
    """
    folder = "".join(f"/{part}" for part in escape.unescape(start).split("/") if part not in ("", "."))
    whole = escape.unescape(virtual)
    if whole == folder:
        whole = folder.rpartition("/")[2]
    return escape.unicode_text(whole.removeprefix(folder + "/"))


def label(relative: str) -> str:
    """A relative path alone in its row, quoted where it begins or ends like no ordinary name."""
    shown = path(relative)
    plain = _PLAIN_START.match(shown) and not shown[-1].isspace()
    return shown if plain else _in_quotes(shown)


def label_before_number(relative: str) -> str:
    """A relative path that a number follows: quoted also where it could be taken for a name and a number."""
    shown = path(relative)
    return _in_quotes(shown) if _LIKE_A_ROW.search(shown) else label(relative)


def quoted(relative: str) -> str:
    """A relative path within a sentence."""
    return _in_quotes(path(relative))


def sentence(notice: str) -> str:
    """A notice, which may name paths in either form, on one line."""
    return escape.line(escape.unescape(notice))


def shortened(shown: str, width: int) -> str:
    """The end of a path in at most `width` characters, for a line that must not grow."""
    return shown if len(shown) <= width else "..." + shown[len(shown) - width + 3 :]


def _in_quotes(shown: str) -> str:
    escaped = shown.replace('"', r"\x{22}")
    return f'"{escaped}"'
