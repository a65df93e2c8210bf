"""What stays of a text when room is short, on drafts made for it (contract 8)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grille.pool.render.budget import Cut, Draft, Frame, fitted


def draft(blocks: list[str], full: int, brief: int) -> Draft:
    """A draft whose lines around the rows are `full` or `brief` characters long, less their line feed."""
    return Draft(
        blocks,
        lambda cut: Frame(("F" * full,), (_told(cut),)),
        lambda cut: Frame(("B" * brief,), (_told(cut),)),
    )


def _told(cut: Cut) -> str:
    return f"{cut.kept} {cut.left_out} {cut.needed}"


def read(text: str) -> tuple[str, list[str], list[int]]:
    head, *rows, told = text.split("\n")
    return head[:1], rows, [int(number) for number in told.split()]


@given(
    st.lists(st.integers(0, 90), max_size=30).map(lambda sizes: ["x" * size for size in sizes]),
    st.integers(40, 400),
    st.integers(0, 30),
    st.integers(120, 600),
)
def test_as_much_as_fits_and_no_more(blocks: list[str], full: int, brief: int, max_chars: int) -> None:
    """The blocks kept are the first ones, as many as fit beside the frame; the frame knows how many."""
    text = fitted(draft(blocks, full, brief), max_chars)
    frame, rows, (kept, left_out, needed) = read(text)
    assert len(text) <= max_chars
    assert rows == blocks[:kept] and kept + left_out == len(blocks)
    length = full if frame == "F" else brief
    if left_out and kept:
        told = len(_told(Cut(kept + 1, left_out - 1, 0)))
        assert length + told + sum(len(block) + 1 for block in blocks[: kept + 1]) + 1 > max_chars
    if frame == "F" and left_out:
        assert kept and length <= max_chars // 2
    assert (needed > 0) == bool(left_out and not kept)
    if needed:
        assert read(fitted(draft(blocks, full, brief), needed))[2][0] >= 1
        assert read(fitted(draft(blocks, full, brief), needed - 1))[2][0] == 0


def test_the_frame_gives_way_before_the_first_entry() -> None:
    """Where the full frame leaves no room for any entry and the brief one does, the brief one it is."""
    assert read(fitted(draft(["x" * 120, "y"], 80, 20), 200))[:2] == ("B", ["x" * 120, "y"])


def test_a_long_frame_does_not_push_rows_out() -> None:
    """A full frame of more than half of the room is not worth its rows."""
    assert read(fitted(draft(["x" * 9] * 50, 150, 20), 200))[0] == "B"
    assert read(fitted(draft(["x" * 9] * 50, 50, 20), 200))[0] == "F"


def test_without_a_bound_nothing_goes() -> None:
    """None is no bound."""
    assert read(fitted(draft(["x" * 900] * 50, 5000, 20), None))[1] == ["x" * 900] * 50
