"""Masking: host paths in line text become virtual ones, before the cut, so that no cut shows half of one
(contract 2.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.mounts import Mount
from grille.policy.wire import Line
from grille.pool.mask import ELLIPSIS, Mask
from grille.pool.roots import Root

HOST = "/srv/tenants/42/ws"
VIRTUAL = "/mnt/w"


@dataclass
class Opened:
    """What a mask reads of an open mount."""

    mount: Mount
    real_path: str


def mask_of(*mounts: tuple[str, str | None], real: dict[str, str] | None = None) -> Mask:
    """A mask over mounts given as (virtual, host)."""
    opened = []
    for virtual, host in mounts:
        mount = Mount(virtual, host=host)
        opened.append(Opened(mount, (real or {}).get(mount.host_path, mount.host_path)))
    return Mask(cast("list[Root]", opened))


ONE = mask_of((VIRTUAL, HOST))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HOST}", "/mnt/w"),
        (f"{HOST}/a.py", "/mnt/w/a.py"),
        (f"{HOST}/", "/mnt/w/"),
        (f"cd {HOST}", "cd /mnt/w"),
        (f"'{HOST}'", "'/mnt/w'"),
        (f'"{HOST}/x"', '"/mnt/w/x"'),
        (f"({HOST})", "(/mnt/w)"),
        (f"[{HOST}]", "[/mnt/w]"),
        (f"<{HOST}>", "</mnt/w>"),
        (f"{HOST}:{HOST}/b:/usr", "/mnt/w:/mnt/w/b:/usr"),
        (f"PATH={HOST}/bin:$PATH", "PATH=/mnt/w/bin:$PATH"),
        (f"file://{HOST}/a", "file:///mnt/w/a"),
        (f"{HOST},{HOST};{HOST}", "/mnt/w,/mnt/w;/mnt/w"),
        (f"see {HOST}.", "see /mnt/w."),
        (f"see {HOST}. Then", "see /mnt/w. Then"),
        (f"{HOST}\\n", "/mnt/w\\n"),
        (f"\t{HOST}\r", "\t/mnt/w\r"),
        (f"-I{HOST}/include -L{HOST}/lib", "-I/mnt/w/include -L/mnt/w/lib"),
        (f"x{HOST}/y", "x/mnt/w/y"),
        (f"日本{HOST}", "日本/mnt/w"),
    ],
)
def test_a_root_is_masked_wherever_it_is_a_whole_path(text: str, expected: str) -> None:
    """A root is masked at the text's end and before `/`, quotes, brackets, `:`; what stands before it does
    not save it.
    """
    assert ONE.apply(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        f"{HOST}-old",
        f"{HOST}-old/a.py",
        f"{HOST}2",
        f"{HOST}_x",
        f"{HOST}.git",
        f"{HOST}é",
        "/srv/tenants/42",
        "/srv/tenants/42/",
        "/srv/tenants/42/wsx/",
        "srv/tenants/42/ws",
        "",
        "nothing here",
    ],
)
def test_a_sibling_is_not_touched(text: str) -> None:
    """Fault L12: a path that merely begins like a root is another path; it is not turned into one that does
    not exist.
    """
    assert ONE.apply(text).text == text


def test_the_longest_root_wins() -> None:
    """Of two roots, one within the other, the inner one is masked as itself, in whatever order they were
    given.
    """
    outer, inner = ("/mnt/outer", "/srv/a"), ("/mnt/inner", "/srv/a/b")
    for mask in (mask_of(outer, inner), mask_of(inner, outer)):
        text = mask.apply("/srv/a/b/c /srv/a/c /srv/a/bc /srv/a/b").text
        assert text == "/mnt/inner/c /mnt/outer/c /mnt/outer/bc /mnt/inner"


def test_both_spellings_of_a_linked_root_are_masked() -> None:
    """A host path that leads through a link is masked as it was given and as it really is."""
    mask = mask_of((VIRTUAL, "/home/link"), real={"/home/link": "/data/real"})
    assert mask.apply("/home/link/a /data/real/a").text == "/mnt/w/a /mnt/w/a"


def test_an_unmapped_mount_is_no_secret() -> None:
    """A mount shown under its own path has nothing to hide: text and margin stay as they are."""
    mask = mask_of(("/srv/ws", None))
    assert mask.apply("/srv/ws/a", 3) == ("/srv/ws/a", (3,))
    assert mask.margin == 0


def test_a_root_with_characters_of_a_pattern_is_text() -> None:
    """A host path is matched as it is spelled, not as a regular expression."""
    mask = mask_of((VIRTUAL, "/srv/a.b+(c)[d]"))
    assert mask.apply("/srv/a.b+(c)[d]/x /srv/axb+(c)[d]/x").text == "/mnt/w/x /srv/axb+(c)[d]/x"


TEXTS = st.lists(
    st.sampled_from(
        [HOST, HOST + "/", HOST[:9], HOST[9:], "-old", "/", ":", "'", " ", "x", "é", "日本", "." * 9]
    ),
    max_size=40,
).map("".join)


@given(TEXTS, st.data())
def test_places_move_with_the_text(text: str, data: st.DataObject) -> None:
    """A place that was outside every root is at the same character afterwards; one within a root is at its
    beginning.
    """
    place = data.draw(st.integers(0, len(text)))
    masked = ONE.apply(text, place)
    (moved,) = masked.places
    assert 0 <= moved <= len(masked.text)
    if ONE.apply(text[:place]).text + ONE.apply(text[place:]).text == masked.text:
        assert masked.text[moved:] == ONE.apply(text[place:]).text


@given(TEXTS)
def test_masking_twice_is_masking_once(text: str) -> None:
    """What is masked holds no root any more."""
    once = ONE.apply(text).text
    assert ONE.apply(once).text == once


def shipped(text: str, match: int, width: int, margin: int) -> Line:
    """What a worker sends of a line: a window that reaches a margin beyond whatever can be shown (contract
    2.7).
    """
    if len(text) <= width:
        return Line(1, text, 0, len(text), 0)
    first = max(0, match - width - margin)
    return Line(1, text[first : match + width + margin], first, len(text), match - first)


@given(TEXTS, st.integers(20, 120), st.data())
def test_no_cut_shows_half_a_root(text: str, width: int, data: st.DataObject) -> None:
    """Contract 2.7: what a cut line shows is a piece of the whole line, masked whole: never part of a host
    path.
    """
    match = data.draw(st.integers(0, len(text)))
    shown = ONE.window(shipped(text, match, width, ONE.margin), width)
    whole = ONE.apply(text).text
    assert len(shown) <= max(width, len(whole) if len(text) <= width else 0)
    assert shown == whole or core(shown) in whole
    assert "/srv/tenants/42/ws/" not in shown


def core(shown: str) -> str:
    """A shown line without its marks. A line that holds such dots itself loses them, too, and is still a
    piece.
    """
    return shown.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)


@given(st.text(st.sampled_from("abcé日"), max_size=400), st.integers(20, 80), st.data())
def test_the_match_is_in_the_window(text: str, width: int, data: st.DataObject) -> None:
    """Contract 4: the window lies on the match: its first character is shown, wherever in the line it is."""
    at = data.draw(st.integers(0, len(text)))
    line = text[:at] + "N" + text[at:]
    shown = ONE.window(shipped(line, at, width, ONE.margin), width)
    assert "N" in shown
    assert len(shown) <= width or shown == line


@given(st.text(max_size=300), st.integers(20, 80), st.data())
def test_a_line_that_fits_is_shown_whole_and_a_cut_is_marked(
    text: str, width: int, data: st.DataObject
) -> None:
    """Contract 4: at most `width` characters, with marks exactly where text was left out."""
    match = data.draw(st.integers(0, len(text)))
    shown = ONE.window(shipped(text, match, width, ONE.margin), width)
    if len(text) <= width:
        assert shown == text
    else:
        assert len(shown) <= width
        assert shown.startswith(ELLIPSIS) or shown.endswith(ELLIPSIS)
        if not shown.startswith(ELLIPSIS):
            assert text.startswith(shown.removesuffix(ELLIPSIS))
        if not shown.endswith(ELLIPSIS):
            assert text.endswith(shown.removeprefix(ELLIPSIS))


@given(
    st.text(st.sampled_from(HOST), max_size=200) | TEXTS,
    st.integers(0, 500),
    st.integers(0, 1000),
    st.integers(0, 500),
    st.integers(20, 200),
)
def test_a_line_that_lies_about_itself_is_cut_all_the_same(
    text: str, before: int, length: int, match: int, width: int
) -> None:
    """A worker may send any numbers: the window stays within its width, or is a short line shown whole."""
    shown = ONE.window(Line(1, text, before, length, match), width)
    assert len(shown) <= width


def test_masking_makes_a_line_longer_before_it_is_cut() -> None:
    """Contract 2.7: sort, mask, truncate: a line that fits and no longer does once masked is cut to its
    width.
    """
    mask = mask_of(("/a/very/long/virtual/name/indeed", "/h"))
    line = "/h " * 60
    shown = mask.window(Line(1, line, 0, len(line), 0), 200)
    assert len(shown) == 200
    assert shown.endswith(ELLIPSIS)
    assert "/h " not in shown
