"""Names and lines of a hostile tree, as they may reach a terminal, a row or a JSON document."""

from __future__ import annotations

import json
import os
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.pool import escape

HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}
ANY_CHARACTER = [chr(point) for point in range(sys.maxunicode + 1)]

# Pieces that are hard to tell apart, rather than characters at random, which never meet.
PIECES = st.sampled_from(
    [
        "\\",
        "x",
        "{",
        "}",
        "1b",
        "5c",
        "ff",
        "0a",
        "2028",
        "\x1b",
        "\n",
        "\t",
        "\u2028",
        "\udcff",
        "\ud800",
        "é",
        "\\x{1b}",
    ]
)
TEXTS = st.lists(PIECES | st.characters(), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain name.py", "plain name.py"),
        ("a\nb", r"a\x{0a}b"),
        ("\x1b[31m", r"\x{1b}[31m"),
        (os.fsdecode(b"caf\xe9"), r"caf\x{e9}"),
        ("café", "café"),
        ("a\u2028b", r"a\x{2028}b"),
        ("a\u202eb", r"a\x{202e}b"),
        ("\x85", r"\x{0085}"),
        ("\U000e0001", r"\x{e0001}"),
        (r"dev-disk\x2duuid", r"dev-disk\x2duuid"),
        (r"C:\new\table", r"C:\new\table"),
        (r"\x{1b}", r"\x{5c}x{1b}"),
        ("tab\there", r"tab\x{09}here"),
    ],
)
def test_the_form_of_a_name(text: str, wanted: str) -> None:
    """What cannot be shown becomes `\\x{HEX}`; a byte has two digits, a code point more; all else stays."""
    assert escape.name(text) == wanted


def test_a_line_keeps_its_tabs_and_its_backslashes() -> None:
    """Code looks as it does in its file; what a terminal would obey does not get there."""
    assert escape.line('\tprint("\\x1b[0m\\n")') == '\tprint("\\x1b[0m\\n")'
    assert escape.line("a\x1b]0;title\x07\rb") == r"a\x{1b}]0;title\x{07}\x{0d}b"


@pytest.mark.parametrize("function", [escape.name, escape.line])
def test_every_hidden_character_is_escaped_and_no_other(function: object) -> None:
    """Contract 8: Cc, Cf, Zl, Zp, and surrogates, of all of Unicode; a tab in a line is the one exception."""
    assert callable(function)
    exceptions = {"\t"} if function is escape.line else set()
    for character in ANY_CHARACTER:
        hidden = unicodedata.category(character) in HIDDEN and character not in exceptions
        assert (function(character) != character) == hidden, hex(ord(character))


@given(TEXTS)
def test_nothing_is_lost(text: str) -> None:
    """Each form can be told back exactly."""
    for function in (escape.name, escape.line, escape.unicode_text):
        assert escape.unescape(function(text)) == text


@given(TEXTS, TEXTS)
def test_two_names_never_look_alike(one: str, other: str) -> None:
    """No name can be spelled so that it reads as another one."""
    assert (escape.name(one) == escape.name(other)) == (one == other)


@given(TEXTS)
def test_a_shown_text_is_one_harmless_line(text: str) -> None:
    """A name has no line break, no control character and a UTF-8 form."""
    shown = escape.name(text)
    assert not {unicodedata.category(character) for character in shown} & HIDDEN
    shown.encode("utf-8")


@given(TEXTS)
def test_text_for_json_has_a_utf8_form(text: str) -> None:
    """Surrogates are gone; without them, and without what looks like an escape, a text is not touched."""
    escape.unicode_text(text).encode("utf-8")
    if "\\" not in text and text.encode("utf-8", "replace").decode("utf-8") == text:
        assert escape.unicode_text(text) == text


@given(st.lists(st.text()))
def test_a_json_document_keeps_its_meaning(texts: list[str]) -> None:
    """Escaping within JSON changes how it is written, not what it says, and leaves nothing hidden in it."""
    document = escape.encoded_json(json.dumps(texts, ensure_ascii=False))
    assert json.loads(document) == texts
    assert not {unicodedata.category(character) for character in document} & HIDDEN


def test_astral_characters_become_surrogate_pairs_in_json() -> None:
    """JSON escapes are UTF-16 units: RFC 8259, section 7."""
    assert escape.encoded_json('"\U000e0001\x9b"') == r'"\udb40\udc01\u009b"'
