"""Contract 4, "Text", through the API: encodings, line ends, binary files, sizes, and the window on a long line."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grille

Show = Callable[..., grille.Workspace]
MODES: tuple[Any, ...] = ("content", "count", "files_with_matches")


def rows(result: grille.GrepResult) -> list[tuple[str, int | None, str | None]]:
    return [(e.path.removeprefix("/mnt/tree/"), e.line_number, e.line) for e in result.entries]


def skips(result: Any) -> dict[str, int]:
    return {skipped.reason: skipped.count for skipped in result.skipped}


MARKED = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", MARKED)
def test_a_mark_is_no_part_of_line_1_in_any_mode(show: Show, encoding: str) -> None:
    """Contract 4: UTF-8, 16 and 32 with a mark are decoded, the mark is not searched, numbers and `^` are right in
    grep, in every mode, and in read (faults C3, C5).
    """
    text = "needle é 😀\r\nhay\nneedle\n"
    workspace = show({"a.txt": MARKED[encoding] + text.encode(encoding)})
    result = workspace.grep("^needle")
    assert rows(result) == [("a.txt", 1, "needle é 😀"), ("a.txt", 3, "needle")]
    assert result.entries[0].line_length == len("needle é 😀")
    assert workspace.grep("^needle", output_mode="count").entries[0].count == 2
    assert rows(workspace.grep("needle$")) == [("a.txt", 3, "needle")]
    assert workspace.read("/mnt/tree/a.txt").text == "needle é 😀\nhay\nneedle"


ODD = {
    "a lone CR": "\r",
    "VT": "\x0b",
    "FF": "\x0c",
    "FS": "\x1c",
    "NEL": "\x85",
    "LINE SEPARATOR": "\u2028",
    "PARAGRAPH SEPARATOR": "\u2029",
}


@pytest.mark.parametrize("name", ODD)
def test_nothing_but_a_newline_ends_a_line(show: Show, name: str) -> None:
    """Contract 4: lines end at `\\n` alone: what `str.splitlines` takes for an end is a character of the line."""
    odd = ODD[name]
    workspace = show({"a.txt": f"foo{odd}bar\nbar\n"})
    assert [e.line_number for e in workspace.grep("bar").entries] == [1, 2]
    assert [e.line_number for e in workspace.grep("^bar").entries] == [2]
    assert [e.line_number for e in workspace.grep("foo$").entries] == []
    assert [e.line_number for e in workspace.grep("foo.bar").entries] == [1]
    assert workspace.grep("foo", context=1).entries[0].after[0].text == "bar"
    assert workspace.read("/mnt/tree/a.txt", start_line=2).text == "bar"


def test_a_carriage_return_belongs_to_the_line_end_it_stands_before(show: Show) -> None:
    """Contract 4: `needle$` matches `needle\\r\\n`, the `\\r` is not shown; a lone one, or a last one, is text
    (faults D1, D2).
    """
    workspace = show({"a.txt": "needle\r\nx\r\r\nneedle\ry\n", "b.txt": "needle\r"})
    assert rows(workspace.grep("needle$")) == [("a.txt", 1, "needle")]
    assert rows(workspace.grep("^x")) == [("a.txt", 2, "x\r")]
    assert rows(workspace.grep(r"\r")) == [
        ("a.txt", 2, "x\r"),
        ("a.txt", 3, "needle\ry"),
        ("b.txt", 1, "needle\r"),
    ]


def test_an_early_nul_skips_the_file_and_a_late_one_ends_it(show: Show) -> None:
    """Contract 4: a NUL in the first 8 KiB makes a file binary; a later one ends the search there, and both are
    told, alike in every mode (fault C9).
    """
    workspace = show(
        {
            "early": b"needle\n" + b"x" * 8184 + b"\0\n",
            "late": b"needle\n" + b"x" * 8190 + b"\n\0\nneedle\n",
            "none": b"needle\n",
        }
    )
    for mode in MODES:
        result = workspace.grep("needle", output_mode=mode)
        assert [e.path for e in result.entries] == ["/mnt/tree/late", "/mnt/tree/none"]
        assert skips(result) == {"binary": 2}
    assert skips(workspace.grep("needle", "/mnt/tree/late", limit=1)) == {"binary": 1}


def test_bytes_that_are_no_utf8_are_replaced_and_searched_past(show: Show) -> None:
    """Contract 4: undecodable bytes show as U+FFFD, a true U+FFFD is text, and the search goes on (C8, B9, B10)."""
    workspace = show({"a": b"caf\xe9 needle\nneedle \xf0\x9f\n", "b": "'\ufffd' needle\n"})
    assert rows(workspace.grep("needle")) == [
        ("a", 1, "caf\ufffd needle"),
        ("a", 2, "needle \ufffd"),
        ("b", 1, "'\ufffd' needle"),
    ]
    assert rows(workspace.grep("caf. needle")) == [("a", 1, "caf\ufffd needle")]


def test_a_file_is_searched_up_to_the_policys_size_and_no_further(show: Show) -> None:
    """Contract 4: a file of exactly the bound is searched, one byte more is counted `too_large`, never cut."""
    workspace = show(
        {"fits": b"needle\n" + b"x" * 993, "over": b"needle\n" + b"x" * 994}, limits={"max_file_bytes": 1000}
    )
    for mode in MODES:
        result = workspace.grep("needle", output_mode=mode)
        assert [e.path for e in result.entries] == ["/mnt/tree/fits"]
        assert skips(result) == {"too_large": 1}


def test_a_single_file_that_was_not_searched_is_told(show: Show) -> None:
    """Contract 4: skipped is counted, never silent, also where the one file that was asked for is skipped."""
    workspace = show({"bin": b"\0", "large": b"x" * 2000}, limits={"max_file_bytes": 1000})
    assert skips(workspace.grep("x", "/mnt/tree/bin")) == {"binary": 1}
    assert skips(workspace.grep("x", "/mnt/tree/large")) == {"too_large": 1}


# --- long lines -----------------------------------------------------------------------------------------------------

ELLIPSIS = "..."


@given(
    before=st.text(alphabet="aé😀", max_size=400),
    after=st.text(alphabet="aé😀", max_size=400),
    width=st.sampled_from([20, 57, 200]),
)
@settings(max_examples=60)
def test_a_window_lies_on_the_match(plots: Any, before: str, after: str, width: int) -> None:
    """Contract 4: at most `line_chars` characters, the match among them, a mark exactly where text was left out, the
    rest as it stands in the file, and the true length beside it (faults I16, I17, I19).
    """
    line = f"{before}NEEDLE{after}"
    (entry,) = plots(width)(line).entries
    shown = entry.line
    assert entry.line_length == len(line)
    assert len(shown) <= width
    if len(line) <= width:
        assert shown == line
        return
    core = shown.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)
    assert "NEEDLE" in core
    at = line.index(core)
    assert shown.startswith(ELLIPSIS) == (at > 0)
    assert shown.endswith(ELLIPSIS) == (at + len(core) < len(line))


@pytest.fixture(scope="module")
def plots(
    pool: grille.Pool, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Callable[[str], Any]]:
    """A search of one line, for each width of the window."""
    folder = tmp_path_factory.mktemp("widths")
    mounts = [grille.Mount("/mnt/tree", host=str(folder))]
    opened: dict[int, grille.Workspace] = {}

    def for_width(width: int) -> Callable[[str], grille.GrepResult]:
        if width not in opened:
            opened[width] = pool.open(grille.Policy(mounts=mounts, limits=grille.Limits(line_chars=width)))

        def search(line: str) -> grille.GrepResult:
            (folder / "a.txt").write_text(line + "\n", encoding="utf-8")
            return opened[width].grep("NEEDLE")

        return search

    return for_width


def test_context_lines_are_cut_as_well(show: Show) -> None:
    """Contract 4: no line of a result is longer than the policy's width, context included."""
    workspace = show({"a": "x" * 999 + "\nneedle\n" + "é" * 201 + "\n"})
    (entry,) = workspace.grep("needle", context=1).entries
    assert [line.text for line in (*entry.before, *entry.after)] == [
        "x" * 197 + ELLIPSIS,
        "é" * 197 + ELLIPSIS,
    ]


def test_a_long_line_is_searched_to_its_end_by_the_linear_engine_alone(show: Show) -> None:
    """Contract 4: beyond `max_line_bytes` the linear engine still searches; the backtracking one counts `long_line`,
    and both say the same of shorter lines.
    """
    workspace = show({"a": "x" * 300 + "needle\n" + "needle\n"}, limits={"max_line_bytes": 100})
    assert [e.line_number for e in workspace.grep("needle").entries] == [1, 2]
    assert [e.line_number for e in workspace.grep("need[kl]e$").entries] == [1, 2]
    for mode in MODES:
        result = workspace.grep(r"(ne)(?!.*\1)edle", output_mode=mode)
        assert len(result.entries) == 1
        assert skips(result) == {"long_line": 1}
