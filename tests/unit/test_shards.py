"""The order of a search, against a model: a random tree, workers that finish in any order, die, and hand
back rests.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from grille.policy.wire import SAMPLE_NAMES, Done, Found, Line, Query, Shard, Skip, SkipMark
from grille.pool.frames import check_done
from grille.pool.shards import ShardList, Stretch, entry_count

Node = dict[bytes, "Node | int"]
"""A folder: name -> folder, or how many lines a file yields (-1: it is skipped)."""
File = tuple[tuple[bytes, ...], int]

NAMES = [b"a", b"a-", b"a.b", b"aa", b"b", b"B", b"\xff", b"\xc3\xa9", b"~", b"0"]
trees = st.recursive(
    st.dictionaries(st.sampled_from(NAMES), st.integers(-1, 3), max_size=6),
    lambda below: st.dictionaries(st.sampled_from(NAMES), below | st.integers(-1, 3), max_size=6),
    max_leaves=25,
)


def content_query(need: int) -> Query:
    """A query of which only `need` and the output matter."""
    return Query(
        id=1,
        tool="grep",
        root=0,
        start=b"",
        single_file=False,
        pattern="x",
        literal=False,
        ignore_case=False,
        word=False,
        multiline=False,
        output="content",
        includes=(),
        case_sensitive_globs=True,
        include_dirs=False,
        noise=True,
        deny=(),
        need=need,
        compile_seconds=1,
        scan_seconds=1,
        folder_seconds=1,
        max_file_bytes=1,
        max_line_bytes=1,
        max_pattern_bytes=1,
        line_chars=1,
        margin_chars=1,
    )


def walked(node: Node, at: tuple[bytes, ...] = ()) -> list[File]:
    """Every file below a folder, in the contract's order."""
    files: list[File] = []
    for name in sorted(node):
        below = node[name]
        files += walked(below, (*at, name)) if isinstance(below, dict) else [((*at, name), below)]
    return files


def folder_of(tree: Node, path: Sequence[bytes]) -> Node:
    for name in path:
        below = tree[name]
        assert isinstance(below, dict)
        tree = below
    return tree


def names_in(tree: Node, shard: Shard) -> list[bytes]:
    """The entries of a shard's run."""
    names = sorted(folder_of(tree, components(shard.folder)))
    return [
        n
        for n in names
        if (shard.first is None or n >= shard.first) and (shard.last is None or n <= shard.last)
    ]


def components(path: bytes) -> tuple[bytes, ...]:
    return tuple(path.split(b"/")) if path else ()


class Model:
    """A worker that does what an honest one does, for a number of files instead of a time."""

    def __init__(self, tree: Node, need: int, chance: random.Random) -> None:
        self.tree = tree
        self.need = need
        self.chance = chance

    def work(self, shards: Sequence[Shard]) -> Done:
        """A slice: at least one file, at most until `need` entries are held."""
        left = self.chance.randrange(1, 12)
        found: list[Found] = []
        skips: list[SkipMark] = []
        entries = 0
        for index, shard in enumerate(shards):
            base = components(shard.folder)
            inside = {name: folder_of(self.tree, base)[name] for name in names_in(self.tree, shard)}
            for path, lines in walked(inside, base):
                if not left or entries >= self.need:
                    raise AssertionError  # the slice ended with the file before
                left -= 1
                spelled = b"/".join(path)
                if lines < 0:
                    mark_skip(skips, len(found), spelled)
                elif lines:
                    shown = lines_of(min(lines, self.need - entries))
                    found.append(Found(spelled, False, len(shown), shown))
                    entries += len(shown)
                if not left or entries >= self.need:
                    rest = [*self.behind(path, shard), *shards[index + 1 :]]
                    return Done(1, tuple(found), tuple(skips), tuple(rest), False)
        return Done(1, tuple(found), tuple(skips), (), False)

    def behind(self, path: tuple[bytes, ...], shard: Shard) -> list[Shard]:
        """What stands behind a file in its shard: a run on each level, deepest first, cut at random."""
        rest: list[Shard] = []
        for depth in range(len(path) - 1, len(components(shard.folder)) - 1, -1):
            level = Shard(b"/".join(path[:depth]))
            if depth == len(components(shard.folder)):
                level = shard
            names = [name for name in names_in(self.tree, level) if name > path[depth]]
            while names:
                run = self.chance.randrange(1, len(names) + 1)
                rest.append(Shard(level.folder, names[0], names[run - 1]))
                names = names[run:]
        return rest


def mark_skip(skips: list[SkipMark], at: int, path: bytes) -> None:
    """As a worker groups its skips: one mark for each place, the first few names."""
    if skips and skips[-1].at == at:
        last = skips.pop()
        names = (*last.names, path)[:SAMPLE_NAMES]
        skips.append(SkipMark(at, Skip.BINARY, last.count + 1, names))
    else:
        skips.append(SkipMark(at, Skip.BINARY, 1, (path,)))


def lines_of(count: int) -> tuple[Line, ...]:
    return tuple(Line(number, "x", 0, 1, 0) for number in range(1, count + 1))


def entries_of(found: Sequence[Found]) -> list[tuple[bytes, int]]:
    return [(one.path, line.number) for one in found for line in one.lines]


def simulate(tree: Node, need: int, seed: int) -> tuple[ShardList, list[Stretch]]:
    """Runs a search to its end. Workers take, finish in any order, and die; those left over at the end are
    returned.
    """
    chance = random.Random(seed)
    model = Model(tree, need, chance)
    query = content_query(need)
    shards = ShardList(Shard(b""), need)
    running: list[Stretch] = []
    deaths = 30
    while not shards.finished:
        if shards.waiting and (not running or chance.random() < 0.5):
            taken = shards.take(chance.randrange(1, 8))
            assert taken is not None
            running.append(taken)
            continue
        stretch = running.pop(chance.randrange(len(running)))
        if deaths and chance.random() < 0.25:
            deaths -= 1
            shards.give_back(stretch)
            continue
        # One that was dropped while it ran holds its shards still, and its answer is not wanted any more.
        done = model.work(stretch.shards)
        check_done(done, stretch.shards, query)
        shards.settle(stretch, list(done.found), done.skips, done.rest)
        assert entry_count(shards.results()[0]) < 2 * need
    return shards, running


@given(trees, st.integers(0, 2**32))
def test_results_are_the_walk_in_order_whoever_finishes_first(tree: Node, seed: int) -> None:
    """Contract 2.1, 2.6: with nothing cut, the list spells every finding once, in order, and counts every skip at
    its place; the names that are kept begin with the first ones.
    """
    files = walked(tree)
    need = sum(max(lines, 0) for _, lines in files) + 1
    shards, running = simulate(tree, need, seed)
    found, skips = shards.results()
    assert running == []
    assert not shards.cut
    assert entries_of(found) == [(b"/".join(path), n) for path, lines in files for n in range(1, lines + 1)]
    hits_before = [sum(1 for _, lines in files[:at] if lines > 0) for at in range(len(files))]
    skipped = [(hits_before[at], b"/".join(path)) for at, (path, lines) in enumerate(files) if lines < 0]
    assert Counter({mark.at: mark.count for mark in skips}) == Counter(at for at, _ in skipped)
    assert [mark.at for mark in skips] == sorted({at for at, _ in skipped})
    assert [name for mark in skips for name in mark.names][:SAMPLE_NAMES] == [name for _, name in skipped][
        :SAMPLE_NAMES
    ]


@given(trees, st.integers(1, 12), st.integers(0, 2**32))
def test_an_early_stop_keeps_exactly_the_first_entries(tree: Node, need: int, seed: int) -> None:
    """Contract 2.2: what is kept begins with the first `need` of the order; only what cannot be on the page
    is dropped.
    """
    everything = [(b"/".join(path), n) for path, lines in walked(tree) for n in range(1, lines + 1)]
    shards, _ = simulate(tree, need, seed)
    kept = entries_of(shards.results()[0])
    assert kept[:need] == everything[:need]
    if shards.cut:
        assert len(everything) >= need
    if len(everything) < need:
        assert kept == everything
        assert not shards.cut


@given(trees, st.integers(1, 6), st.integers(0, 2**32))
def test_what_was_dropped_stays_dropped(tree: Node, need: int, seed: int) -> None:
    """A worker that comes back, or dies, after its stretch was dropped changes nothing any more."""
    shards, running = simulate(tree, need, seed)
    before = shards.results()
    for index, stretch in enumerate(running):
        if index % 2:
            shards.give_back(stretch)
        else:
            late = Found(b"late", False, 1, lines_of(1))
            shards.settle(stretch, [late], (SkipMark(0, Skip.BINARY, 1, ()),), (Shard(b"more"),))
    assert shards.results() == before
    assert shards.finished
    assert shards.take(5) is None


@given(trees, st.integers(1, 20), st.integers(0, 2**32))
def test_memory_is_bounded_by_what_is_wanted(tree: Node, need: int, seed: int) -> None:
    """Fault J1: less than twice the wanted entries are ever held, however many there are (asserted at each
    step).
    """
    shards, _ = simulate(tree, need, seed)
    assert entry_count(shards.results()[0]) < 2 * need


def test_the_earliest_waiting_stretch_is_taken_with_its_waiting_neighbours() -> None:
    """Work goes out in path order; a share joins neighbours only as long as nothing that runs lies between
    them.
    """
    shards = ShardList(Shard(b""), 100)
    first = shards.take(1)
    assert first is not None
    names = [b"a", b"b", b"c", b"d"]
    shards.settle(first, [], (), [Shard(b"", name, name) for name in names])
    assert shards.waiting == 4
    a = shards.take(1)
    b = shards.take(1)
    assert a is not None
    assert b is not None
    shards.give_back(a)
    again = shards.take(9)
    assert again is not None
    assert [shard.first for shard in again.shards] == [b"a"]
    rest = shards.take(9)
    assert rest is not None
    assert [shard.first for shard in rest.shards] == [b"c", b"d"]
    assert shards.take(9) is None
    assert (shards.waiting, shards.running) == (0, 3)


def test_a_late_early_shard_pushes_later_entries_off_the_page() -> None:
    """Contract 2.2: entries found first but later in the order give way to earlier ones that are found
    last.
    """
    shards = ShardList(Shard(b""), 2)
    first = shards.take(1)
    assert first is not None
    shards.settle(first, [], (), [Shard(b"", b"a", b"a"), Shard(b"", b"b", b"b"), Shard(b"", b"c", b"c")])
    a, b, c = shards.take(1), shards.take(1), shards.take(1)
    assert a is not None
    assert b is not None
    assert c is not None
    shards.settle(b, [Found(b"b", False, 2, lines_of(2))], (), ())
    assert shards.cut, "c cannot be on the page any more"
    assert not shards.finished, "a still can"
    shards.settle(c, [Found(b"c", False, 2, lines_of(2))], (), ())
    shards.settle(a, [Found(b"a", False, 2, lines_of(2))], (), ())
    assert shards.finished
    assert entries_of(shards.results()[0])[:2] == [(b"a", 1), (b"a", 2)]


@given(st.integers(2, 400), st.integers(0, 2**32))
@settings(max_examples=20)
def test_many_shards_keep_their_order(count: int, seed: int) -> None:
    """A wide folder, cut into single names that come back in any order, is still one list in order."""
    tree: Node = {str(number).encode(): 1 for number in range(count)}
    shards, _ = simulate(tree, count + 1, seed)
    assert entries_of(shards.results()[0]) == [(name, 1) for name in sorted(tree)]
