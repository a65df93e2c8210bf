"""Texts for a model under hostile names and lines, and under little room.

The oracle reads a text back by the rules that the styles promise, and must find the entries it was made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.errors import RequestError
from grille.policy.wire import Found
from grille.policy.wire import Line as WireLine
from grille.pool import escape, page
from grille.pool.mask import Mask
from grille.pool.render import LEAST_CHARS, Style
from grille.pool.report import ConfinementReport
from grille.pool.results import (
    ContextLine,
    GlobEntry,
    GlobResult,
    GrepEntry,
    GrepResult,
    SearchResult,
    Skipped,
    Totals,
)
from grille.pool.search import Outcome

ROOT: Final = "/mnt/w"
STYLES: Final[tuple[Style, ...]] = ("claude", "deerflow")
ROW: Final = {
    "claude": re.compile(r'(?:"([^"]*)"|([^"#].*?))(?::(\d+)(?:-(\d+))?:|-(\d+)-)(.*)'),
    "deerflow": re.compile(r"(\A\Z)?(/.*?)(?::(\d+)(?:-(\d+))?: |-(\d+)- )(.*)"),
}
OUR_LINE: Final = {
    "claude": re.compile(r"# |--\Z"),
    "deerflow": re.compile(r"INCOMPLETE|Found |No |Results truncated\. |Note: "),
}

# What could pass for a piece of a row, a notice or a header, or break a line.
PIECES: Final = [
    "a.py", "b", "x", " ", "# ", "#", "--", "-", ":", '"', ":3:", ":3", "3:", "-4-", "-4", "4- ", ": ", ":7: ",
    ":3-4:", ":3-4",
    "3", "\u0663", "Found 9 matches", "# INCOMPLETE: ", "INCOMPLETE: ", "Note: ", "1. ", "/mnt/w/a.py:3: x", "...",
    "\n", "\r", "\t", "\x1b[2K", "\x85", "\x0b", "\u2028", "\u2029", "\u202e", "\u200b", "\u00a0", "\u3164", "é",
    "\\", r"\x{22}", r"\x{0a}", r"\x{5c}", "{", "}", "\U000e0001",
]  # fmt: skip
TEXTS: Final = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
NAMES: Final = (
    st.lists(st.sampled_from([*PIECES, "\udcff", "/"]), min_size=1, max_size=6)
    .map("".join)
    .map(lambda drawn: "/".join(part for part in drawn.split("/") if part not in ("", ".", "..")) or "n")
)


class Line(NamedTuple):
    """A line as a reader of the text must find it."""

    path: str
    first: int
    last: int
    text: str
    matches: bool


def entries_of(path: str, lines: Sequence[tuple[int, bool, str]]) -> Iterator[GrepEntry]:
    """Matches with the context lines about them, each told once: with the match before, if there is one."""
    before: list[ContextLine] = []
    held: GrepEntry | None = None
    number = 0
    for step, matches, text in lines:
        number += step
        if matches:
            if held is not None:
                yield held
            held = GrepEntry(path, number, text, len(text), before=tuple(before))
            before = []
        elif held is None:
            before.append(ContextLine(number, text))
        else:
            held = msgspec.structs.replace(held, after=(*held.after, ContextLine(number, text)))
    if held is not None:
        yield held


def result_fields(drawn: dict[str, Any]) -> dict[str, Any]:
    reasons, truncated = tuple(drawn["reasons"]), drawn["truncated"]
    return {
        "path": drawn["root"],
        "complete": not reasons and not truncated,
        "incomplete": bool(reasons),
        "reasons": reasons,
        "truncated": truncated,
        "offset": drawn["offset"],
        "limit": 10,
        "skipped": tuple(
            Skipped(reason, 9, tuple(f"{ROOT}/{escape.unicode_text(name)}" for name in names))
            for reason, names in drawn["skipped"]
        ),
        "notices": tuple(drawn["notices"]),
        "elapsed_ms": 1.0,
        "confinement": ConfinementReport("A", ()),
    }


def page_fields(drawn: dict[str, Any], entries: Sequence[Any]) -> dict[str, Any]:
    """A page's fields as page.py would fill them, sums included."""
    fields = result_fields(drawn)
    stop = drawn["offset"] + len(entries)
    fields["truncated"] = truncated = bool(drawn["truncated"] and entries)
    fields["complete"] = not truncated and not fields["incomplete"]
    fields["next_offset"] = stop if truncated else None
    if truncated:
        fields["notices"] += (f"More entries follow; go on with offset {stop}.",)
    total = stop + truncated if entries else 0
    fields["totals"] = Totals(total, min(total, 3), total, fields["complete"])
    fields["entries"] = tuple(entries)
    return fields


NOTHING_SPECIAL: Final[dict[str, Any]] = {
    "root": ROOT,
    "reasons": (),
    "truncated": False,
    "offset": 0,
    "skipped": (),
    "notices": (),
}
REASONS: Final = ["deadline", "unreadable", "lost_worker", "repeated_timeouts", "out_of_memory", "crashed"]
STATES: Final = st.fixed_dictionaries(
    {
        "root": st.sampled_from([ROOT, ROOT + "/", "/mnt//./w"]),
        "reasons": st.lists(st.sampled_from(REASONS), max_size=3, unique=True),
        "truncated": st.booleans(),
        "offset": st.sampled_from([0, 0, 1, 250, 99_999]),
        "skipped": st.lists(
            st.tuples(st.sampled_from(["ignored", "unreadable"]), st.lists(NAMES, max_size=5)), max_size=2
        ),
        "notices": st.lists(TEXTS, max_size=3),
    }
)
FILES: Final = st.lists(
    st.tuples(
        NAMES,
        st.lists(st.tuples(st.integers(1, 3), st.booleans(), TEXTS), min_size=1, max_size=6),
    ),
    max_size=5,
    unique_by=lambda file: file[0],
)


def content_result(drawn: tuple[dict[str, Any], list[tuple[str, list[tuple[int, bool, str]]]]]) -> GrepResult:
    state, files = drawn
    entries = [
        entry for name, lines in files for entry in entries_of(f"{ROOT}/{escape.unicode_text(name)}", lines)
    ]
    return GrepResult(output_mode="content", **page_fields(state, entries))


def files_result(drawn: tuple[dict[str, Any], list[tuple[str, bool]], str]) -> SearchResult:
    state, names, tool = drawn
    paths = [(f"{ROOT}/{escape.unicode_text(name)}", flag) for name, flag in names]
    if tool == "glob":
        return GlobResult(**page_fields(state, [GlobEntry(path, is_dir) for path, is_dir in paths]))
    counts = [GrepEntry(path, count=1 + flag if tool == "count" else None) for path, flag in paths]
    return GrepResult(output_mode=tool, **page_fields(state, counts))


CONTENT: Final = st.tuples(STATES, FILES).map(content_result)
PATHS: Final = st.tuples(
    STATES,
    st.lists(st.tuples(NAMES, st.booleans()), max_size=8, unique_by=lambda one: one[0]),
    st.sampled_from(["glob", "files_with_matches", "count"]),
).map(files_result)


def lines_of(result: GrepResult) -> list[Line]:
    """What a reader must find."""
    found = []
    for entry in result.entries:
        path = escape.unescape(entry.path)
        found += [Line(path, c.number, c.number, c.text, False) for c in entry.before]
        number = entry.line_number or 0
        found.append(Line(path, number, number, entry.line or "", True))
        found += [Line(path, c.number, c.number, c.text, False) for c in entry.after]
    return found


def rows_of(text: str, style: Style) -> list[str]:
    """The rows, which must stand in one piece between our own lines (but for the marks of gaps)."""
    lines = text.split("\n")
    assert lines == text.splitlines(), "something in a row ends a line"
    ours = [OUR_LINE[style].match(line) is not None for line in lines]
    rows = [line for line, is_ours in zip(lines, ours, strict=True) if not is_ours]
    if rows:
        first, last = ours.index(False), len(ours) - 1 - ours[::-1].index(False)
        between = [lines[at] for at in range(first, last + 1) if ours[at]]
        assert set(between) <= {"--"}
    return rows


def whole(name: str, style: Style) -> str:
    path = escape.unescape(name)
    return path if style == "deerflow" else f"{ROOT}/{path}"


def read_row(row: str, style: Style) -> Line:
    found = ROW[style].fullmatch(row)
    assert found is not None, row
    in_quotes, plain, first, last, near, text = found.groups()
    name = plain if in_quotes is None else in_quotes
    number = int(first or near)
    return Line(whole(name, style), number, int(last or number), escape.unescape(text), first is not None)


def read_name(row: str, style: Style) -> str:
    if style == "deerflow":
        row = re.sub(r"\A\d+\. ", "", row)
    elif row.startswith('"'):
        assert row.count('"') == 2 and row.endswith('"')
        row = row[1:-1]
    return whole(row, style)


@pytest.mark.parametrize("style", STYLES)
@given(result=CONTENT)
def test_no_name_and_no_line_forges_a_row_or_a_notice(style: Style, result: GrepResult) -> None:
    """Contract 8: whatever files and lines are called, a reader finds exactly the lines there are, each under
    its own name and number, and our own lines stand around them."""
    rows = rows_of(result.render(style), style)
    assert [read_row(row, style) for row in rows] == lines_of(result)


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        # of each match, with one line of context about it where no match has it already
        ([2, 3], ["1", "2", "3", "4"]),
        ([2, 4], ["1", "2", "3", "4", "5"]),
        ([2, 5], ["1", "2", "3", "4", "5", "6"]),
        ([2, 6], ["1", "2", "3", "--", "5", "6", "7"]),
        ([2, 7, 8], ["1", "2", "3", "--", "6", "7", "8", "9"]),
    ],
)
def test_gaps_are_marked(numbers: list[int], wanted: list[str]) -> None:
    """Contract 4, 8: with context, `--` stands exactly where lines of the file are missing in between."""
    lines = sorted({near for number in numbers for near in (number - 1, number, number + 1)})
    steps = [(at - before, at in numbers, "x") for before, at in pairwise([0, *lines])]
    entries = [*entries_of(f"{ROOT}/a", steps)]
    # A match has the lines before it that do not follow on the match before.
    for at in range(1, len(entries)):
        kept = [c for c in entries[at - 1].after if c.number == (entries[at - 1].line_number or 0) + 1]
        moved = tuple(c for c in entries[at - 1].after if c not in kept)
        entries[at - 1] = msgspec.structs.replace(entries[at - 1], after=tuple(kept))
        entries[at] = msgspec.structs.replace(entries[at], before=moved)
    result = GrepResult(output_mode="content", **page_fields(NOTHING_SPECIAL, entries))
    rows = result.render("claude").split("\n")[1:]
    assert [row if row == "--" else re.sub(r"a[:-](\d+)[:-]x", r"\1", row) for row in rows] == wanted


def test_a_new_file_is_a_gap_only_with_context() -> None:
    """Contract 8: without context, rows stand close; with it, `--` parts the files."""
    plain = [GrepEntry(f"{ROOT}/{name}", 1, "x") for name in "ab"]
    near = [msgspec.structs.replace(entry, after=(ContextLine(2, "y"),)) for entry in plain]
    texts = [
        GrepResult(output_mode="content", **page_fields(NOTHING_SPECIAL, entries)).render("claude")
        for entries in (plain, near)
    ]
    assert ["--" in text.split("\n") for text in texts] == [False, True]


@pytest.mark.parametrize("style", STYLES)
@given(name=NAMES, lines=st.lists(TEXTS, min_size=1, max_size=4), last=st.integers(1, 5))
def test_a_match_over_several_lines_keeps_its_numbers(
    style: Style, name: str, lines: list[str], last: int
) -> None:
    """Contract 4, 8: each line of a match has its own number where its lines are all there, else the match is
    one row with the first and the last."""
    text = "\n".join(lines)
    entry = GrepEntry(
        f"{ROOT}/{escape.unicode_text(name)}", 1, text, last_line_number=last if last > 1 else None
    )
    result = GrepResult(output_mode="content", **page_fields(NOTHING_SPECIAL, [entry]))
    path = escape.unescape(entry.path)
    lines = text.split("\n")
    wanted = [Line(path, 1, last, text, True)]
    if len(lines) == last:
        inner = [line.removesuffix("\r") for line in lines[:-1]] + lines[-1:]
        wanted = [Line(path, at, at, line, True) for at, line in enumerate(inner, start=1)]
    assert [read_row(row, style) for row in rows_of(result.render(style), style)] == wanted


@pytest.mark.parametrize("style", STYLES)
@given(result=PATHS)
def test_no_name_forges_an_entry(style: Style, result: SearchResult) -> None:
    """Contract 8: one row for each path or count, told back exactly."""
    rows = rows_of(result.render(style), style)
    assert isinstance(result, (GlobResult, GrepResult))
    if isinstance(result, GrepResult) and result.output_mode == "count":
        pairs = [row.rpartition(":") for row in rows]
        assert [int(count) for _, _, count in pairs] == [entry.count for entry in result.entries]
        rows = [name for name, _, _ in pairs]
    wanted = [
        escape.unescape(entry.path)
        + "/" * (style == "claude" and isinstance(entry, GlobEntry) and entry.is_dir)
        for entry in result.entries
    ]
    assert [read_name(row, style) for row in rows] == wanted


@pytest.mark.parametrize("style", STYLES)
@given(result=CONTENT | PATHS)
def test_nothing_hidden_and_nothing_raw(style: Style, result: SearchResult) -> None:
    """Contract 8: control, format and line-separator characters are escaped in names, lines and notices."""
    text = result.render(style)
    assert all(escape.line(line) == line or "\\" in line for line in text.split("\n"))
    assert not set(text) & {
        "\r",
        "\x1b",
        "\x85",
        "\x0b",
        "\u2028",
        "\u2029",
        "\u202e",
        "\u200b",
        "\U000e0001",
    }


@pytest.mark.parametrize("style", STYLES)
@given(result=CONTENT | PATHS)
def test_incompleteness_comes_first(style: Style, result: SearchResult) -> None:
    """Contract 2.5, 8: an incomplete result says so in its first line and never that nothing matches; a
    complete one says nothing of the kind."""
    own = [line for line in result.render(style).split("\n") if OUR_LINE[style].match(line)]
    says_so = own[0].removeprefix("# ").startswith("INCOMPLETE: not everything was searched (")
    assert says_so == result.incomplete
    none = any(re.match(r"(# )?No (matches|files) ", line) for line in own)
    assert none == (not result.entries and not result.incomplete)


@pytest.mark.parametrize("style", STYLES)
@given(result=CONTENT | PATHS, max_chars=st.integers(LEAST_CHARS, 1500))
def test_the_text_keeps_to_its_room(style: Style, result: SearchResult, max_chars: int) -> None:
    """Contract 8: never longer than `max_chars`; entries give way from the end and as a whole; state, sums,
    truncation and the right offset to go on with always stay."""
    text, full = result.render(style, max_chars), result.render(style)
    assert len(text) <= max_chars
    if len(full) <= max_chars:
        assert text == full
        return
    rows, every = rows_of(text, style), rows_of(full, style)
    assert rows == every[: len(rows)]
    sizes = [1 + len(e.before) + len(e.after) if isinstance(e, GrepEntry) else 1 for e in result.entries]
    ends = [sum(sizes[:kept]) for kept in range(len(sizes) + 1)]
    assert len(rows) in ends
    kept = ends.index(len(rows))
    lines = text.split("\n")
    assert lines[0].removeprefix("# ").startswith("INCOMPLETE") == result.incomplete
    assert sum(bool(re.match(r"(# )?(Found|No|Nothing) ", line)) for line in lines) >= 1
    if result.truncated and style == "deerflow":
        assert any(line.startswith("Results truncated. ") for line in lines)
    if kept < len(sizes):
        assert lines[-1].endswith(f"offset {result.offset + kept}.")
        if kept:
            assert re.search(rf"\b{len(sizes) - kept} ", lines[-1])
        else:
            needed = re.search(r"needs (\d+) characters", lines[-1])
            assert needed is not None and rows_of(result.render(style, int(needed[1])), style)
    elif result.truncated and style == "claude":
        assert lines[-1] == f"# More entries follow; go on with offset {result.next_offset}."


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("mode", ["glob", "content", "count", "files_with_matches"])
@pytest.mark.parametrize("line_chars", [1, 5000])
def test_the_least_room_holds_the_largest_numbers(style: Style, mode: str, line_chars: int) -> None:
    """Contract 8: 200 characters hold state, sums and advice with numbers of eight digits and any path."""
    state = {
        "root": "/" + "r" * 4000,
        "reasons": REASONS,
        "truncated": True,
        "offset": 99_999_000,
        "skipped": [("unreadable", ["n" * 250])],
        "notices": ["n" * 1000],
    }
    path = f"/{'r' * 4000}/{'p' * line_chars}"
    entry: Any = {
        "glob": GlobEntry(path),
        "content": GrepEntry(path, 99_999_999, "t" * line_chars, line_chars),
        "count": GrepEntry(path, count=99_999_999),
        "files_with_matches": GrepEntry(path),
    }[mode]
    fields: dict[str, Any] = page_fields(state, [entry] * 900) | {
        "totals": Totals(99_999_999, 99_999_999, 99_999_999, False)
    }
    result = GlobResult(**fields) if mode == "glob" else GrepResult(output_mode=mode, **fields)
    text = result.render(style, LEAST_CHARS)
    assert len(text) <= LEAST_CHARS
    assert (
        "INCOMPLETE" in text.split("\n", maxsplit=1)[0] and "offset 9999" in text.rsplit("\n", maxsplit=1)[-1]
    )


@pytest.mark.parametrize(
    ("style", "max_chars"),
    [("rfc", None), (None, None), (["claude"], None), ("claude", 199), ("claude", 0), ("claude", -1)]
    + [("claude", value) for value in (True, 200.0, "200", float("nan"))],
)
def test_what_is_no_style_and_no_room_is_refused(style: Any, max_chars: Any) -> None:
    """Contract 7, 8: a wrong style or bound is a RequestError with its code, on one line."""
    result = GlobResult(**page_fields(NOTHING_SPECIAL, []))
    with pytest.raises(RequestError) as caught:
        result.render(style, max_chars)
    assert caught.value.code == "argument_invalid" and "\n" not in str(caught.value)


def test_the_advice_for_the_next_page_is_given_once() -> None:
    """Contract 8: the notice that page.py puts into a truncated result and the advice at the text's end are
    one sentence, told once."""
    found = [Found(b"a", False, 3, tuple(WireLine(n, "x", 0, 1, 0) for n in (1, 2, 3)))]
    outcome = Outcome(
        found,
        skips=[],
        need=3,
        dropped=False,
        rules_cut=False,
        reasons=(),
        confinement=ConfinementReport("A", ()),
    )
    paths, window = page.Paths(ROOT), page.Window(0, 2)
    result = GrepResult(
        path=ROOT,
        output_mode="content",
        entries=page.grep_entries(outcome, paths, window, Mask([]), "content", 200),
        **page.common_fields(outcome, paths, window, 0.0),
    )
    assert result.render("claude").count("offset") == 1
    assert "offset" not in result.render("deerflow")
