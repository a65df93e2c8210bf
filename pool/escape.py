"""Text that cannot be shown as it is, in a form that can: on one line, readable, and told back exactly.

One form for names, lines and JSON: `\\x{HEX}`. Two digits are a byte (an ASCII control character, or a byte
of a name that is no UTF-8), four to six a code point: `\\x{1b}`, `\\x{0a}`, `\\x{ff}`, `\\x{2028}`,
`\\x{e0001}`. Where a text itself spells such an escape, its backslash becomes `\\x{5c}`; every other
backslash stays, so that code and ordinary names look as they do in the file.

Invariants: `unescape` undoes each of the functions below; what `name` and `line` return holds no character
of the categories Cc, Cf, Zl, Zp and Cs, but for the tab in `line`; nothing here knows where a text comes
from or goes to.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

_ESCAPE: Final = re.compile(r"\\x\{([0-9a-f]{2}|[0-9a-f]{4,6})\}")
_LOOKALIKE: Final = rf"\\(?={_ESCAPE.pattern.removeprefix(chr(92) * 2)})"

# Printable ASCII is settled by the pattern; what remains is asked for its category, one character at a time.
_NAME_SUSPECT: Final = re.compile(rf"[^ -~]|{_LOOKALIKE}")
_LINE_SUSPECT: Final = re.compile(rf"[^ -~\t]|{_LOOKALIKE}")
_JSON_SUSPECT: Final = re.compile(rf"[\ud800-\udfff]|{_LOOKALIKE}")
_ENCODED_SUSPECT: Final = re.compile(r"[^\n -~]")

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_LOW_SURROGATES: Final = range(0xDC80, 0xDD00)  # bytes 0x80 to 0xff, PEP 383


def name(text: str) -> str:
    """A path or a name, undecodable bytes given as surrogates (PEP 383), so that it stays in its row and
    acts on nothing.
    """
    return _NAME_SUSPECT.sub(_shown, text)


def line(text: str) -> str:
    """A line of a file. As `name`, and a tab stays: it moves nothing but what follows it."""
    return _LINE_SUSPECT.sub(_shown, text)


def unicode_text(text: str) -> str:
    """`text` without surrogates, for JSON and whatever else takes Unicode alone. Control characters stay."""
    return _JSON_SUSPECT.sub(_shown, text)


def encoded_json(document: str) -> str:
    """A JSON document with the same meaning, in which no hidden character stands raw.

    JSON's own rules let U+009B or U+202E through, and a terminal obeys them.
    """
    return _ENCODED_SUSPECT.sub(_json_escape, document)


def unescape(text: str) -> str:
    """What was given to `name`, `line` or `unicode_text`."""
    return _ESCAPE.sub(_meant, text)


def _shown(found: re.Match[str]) -> str:
    return _escaped(found[0])


@lru_cache(maxsize=4096)
def _escaped(character: str) -> str:
    if character != "\\" and unicodedata.category(character) not in _HIDDEN:
        return character
    point = ord(character)
    if point in _LOW_SURROGATES:
        return f"\\x{{{point - 0xDC00:02x}}}"
    return f"\\x{{{point:02x}}}" if point < 0x80 else f"\\x{{{point:04x}}}"


def _meant(found: re.Match[str]) -> str:
    digits = found[1]
    point = int(digits, 16)
    if len(digits) == 2 and point >= 0x80:
        point += 0xDC00
    return chr(point) if point < 0x110000 else found[0]


@lru_cache(maxsize=4096)
def _json_character(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _json_escape(found: re.Match[str]) -> str:
    return _json_character(found[0])
