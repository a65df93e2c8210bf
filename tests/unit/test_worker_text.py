"""From bytes to searchable text: byte-order marks, NULs, bytes that are no UTF-8 (contract 4)."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.worker.text import BINARY_WINDOW, searchable

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
plain = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(plain, st.sampled_from(sorted(MARKS)))
def test_marked_text_is_its_text(text: str, encoding: str) -> None:
    """A mark decides the encoding and is no part of the text."""
    assert searchable(MARKS[encoding] + text.encode(encoding)) == (text.encode(), False)


@given(plain.filter(lambda text: not text.startswith("\ufeff")))
def test_unmarked_utf8_is_itself(text: str) -> None:
    """UTF-8 without a mark is searched as it is, be it empty or hold U+FFFD (fault C8)."""
    assert searchable(text.encode()) == (text.encode(), False)


@given(st.binary(max_size=300))
def test_the_result_is_always_valid_utf8_without_nul(raw: bytes) -> None:
    """Whatever a file holds, engines get valid UTF-8 with no NUL in it."""
    text = searchable(raw)
    text.data.decode("utf-8")
    assert 0 not in text.data


@given(st.binary(max_size=300).filter(lambda raw: 0 not in raw and raw[:2] not in (b"\xff\xfe", b"\xfe\xff")))
def test_bytes_that_are_no_utf8_become_replacement_characters(raw: bytes) -> None:
    """Faults B9, B10: each is U+FFFD, lines stay where they are, nothing is dropped or refused."""
    text = searchable(raw)
    assert text.data == raw.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace").encode()
    assert not text.binary
    assert text.data.count(b"\n") == raw.count(b"\n")


@pytest.mark.parametrize("at", [0, 1, 100, BINARY_WINDOW - 1])
def test_an_early_nul_makes_a_file_binary(at: int) -> None:
    """Contract 4: a NUL in the first 8 KiB: nothing of the file is text."""
    assert searchable(b"\n" * at + b"\0" + b"needle\n" * 10) == (b"", True)


@pytest.mark.parametrize("at", [BINARY_WINDOW, BINARY_WINDOW + 1, 50_000])
def test_a_late_nul_ends_the_text_at_the_last_whole_line(at: int) -> None:
    """Contract 4 (fault C9): lines before it are searched; the line it stands in is not, nor what follows."""
    head = (b"line\n" * at)[: at - 3] + b"\nab"
    assert len(head) == at
    text = searchable(head + b"\0c\nneedle\n")
    assert text == (head[:-2], True)


def test_a_nul_in_marked_text_is_a_nul_of_the_text() -> None:
    """UTF-16 is full of NUL bytes; only a NUL character makes it binary."""
    assert searchable(codecs.BOM_UTF16_LE + "a\0b".encode("utf-16-le")).binary
    assert not searchable(codecs.BOM_UTF16_LE + "ab".encode("utf-16-le")).binary


@pytest.mark.parametrize(
    "raw", [codecs.BOM_UTF16_LE + b"a", codecs.BOM_UTF16_LE + b"\x00\xd8", codecs.BOM_UTF32_LE + b"abc"]
)
def test_broken_marked_text_is_replaced_and_not_refused(raw: bytes) -> None:
    """Half a unit or half a pair at the end is U+FFFD (or `?`), and the search goes on."""
    searchable(raw).data.decode("utf-8")


def test_utf16_without_a_mark_is_binary() -> None:
    """Fault C3: its NULs say so; it is counted, not silently missed."""
    assert searchable("needle\n".encode("utf-16-le")) == (b"", True)
