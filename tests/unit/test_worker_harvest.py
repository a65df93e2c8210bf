"""A slice's harvest: skips stand in the order beside the findings, and a slice ends once it holds enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grille.policy.wire import SAMPLE_NAMES, SLICE_BYTES, Line, Skip
from grille.worker.harvest import Harvest

events = st.lists(st.sampled_from(["hit", *Skip]), max_size=60)


@given(events)
def test_skips_keep_their_place_their_count_and_their_first_names(happened: list[str | Skip]) -> None:
    """Contract 2.6: of what stands between two findings, each reason is one mark: how many, and the first
    few by name.
    """
    harvest = Harvest(1000)
    expected: dict[tuple[int, Skip], list[bytes]] = {}
    hits = 0
    for number, event in enumerate(happened):
        path = b"%04d" % number
        if isinstance(event, Skip):
            harvest.skip(event, path)
            expected.setdefault((hits, event), []).append(path)
        else:
            harvest.add(path)
            hits += 1
    assert [(mark.at, mark.reason, mark.count, mark.names) for mark in harvest.marks()] == [
        (at, reason, len(names), tuple(names[:SAMPLE_NAMES])) for (at, reason), names in expected.items()
    ]
    assert harvest.entries == len(harvest.found) == hits


@given(st.lists(st.integers(0, 4), max_size=20), st.integers(1, 30))
def test_a_harvest_is_full_when_it_holds_what_is_wanted(sizes: list[int], need: int) -> None:
    """A reply carries no more than the page can need: `wanted` and `full` count lines where there are
    lines.
    """
    harvest = Harvest(need)
    held = 0
    for number, size in enumerate(sizes):
        harvest.add(b"%d" % number, count=size or 1, lines=tuple(Line(n, "x", 0, 1, 0) for n in range(size)))
        held += size or 1
        assert harvest.wanted == need - held
        assert harvest.full == (held >= need)


def test_a_harvest_is_full_when_it_grows_too_long() -> None:
    """A reply stays far below the length that the supervisor takes, be it all text, all names, or all
    skips.
    """
    harvest = Harvest(10**9)
    harvest.add(b"a", lines=(Line(1, "x" * SLICE_BYTES, 0, 1, 0),))
    assert harvest.full
    names = Harvest(10**9)
    added = 0
    while not names.full:
        names.add(b"n" * 1000)
        added += 1
    assert added <= SLICE_BYTES // 1000
    skips = Harvest(10**9)
    for number in range(10**5):
        skips.skip(Skip.SYMLINK, b"%06d" % number)
    assert not skips.full, "a mark costs its first names, however many it counts"
