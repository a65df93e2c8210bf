"""Rules of grille.policy.key_lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.key_lines import LARGEST_TEXT, MOST_PARSES, line_of


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a = 1\nb = 2", "b", 2),
        ("# a = 1\n\n  a = 2", "a", 3),
        ("s = '''\na = 1\n'''\na = 2", "a", 4),
        ("[t]\na = 1\n[u]\na = 1", "u.a", 4),
        ("[t]\na = 1\n[u]\na = 1", "u", 3),
        ("t.a = 1\nt.b = 2", "t.b", 2),
        ("t = {a = 1,  b = 2}", "t.b", 1),
        ("[[m]]\nv = 1\n[[m]]\nv = 2", "m[1].v", 4),
        ("[[m]]\nv = 1\n[[m]]\nw = 2", "m[1].v", 3),
        ("m = [\n {v = 1},\n {v = 2}]", "m[1].v", 1),
        ('a = 1\n"b" = 2', "b", 2),
        ("a = 1", "b", None),
        ("", "b", None),
    ],
)
def test_finds_the_statement(text: str, key: str, line: int | None) -> None:
    """The line is where the statement starts that brings the key; for an absent key, where the table around
    it starts."""
    assert line_of(text, key) == line


@given(
    st.lists(
        st.sampled_from(
            ["", "# x", "# k0 = 1", "s{} = '''\nk0 = 1\n[k1]\n'''", "s{} = [\n'k0 = 1',\n'k1 = 2',\n]"]
        )
    ),
    st.data(),
)
def test_is_not_led_astray_by_strings_and_comments(noise: list[str], data: st.DataObject) -> None:
    """Whatever stands in strings, arrays and comments, the key found is the one that was put there."""
    blocks = [block.format(number) for number, block in enumerate(noise)]
    at = data.draw(st.integers(0, len(blocks)))
    lines_before = sum(block.count("\n") + 1 for block in blocks[:at])
    assert line_of("\n".join([*blocks[:at], "k0 = 5", *blocks[at:]]), "k0") == lines_before + 1


def test_gives_up_rather_than_search_long() -> None:
    """A text that is long, or made to need many parses, gets no line; the error itself does not wait for
    one."""
    assert line_of("#" * LARGEST_TEXT + "\na = 1", "a") is None
    assert line_of("x = [\n" + "'k = 1',\n" * (3 * MOST_PARSES) + "]\na = 1", "a") is None
