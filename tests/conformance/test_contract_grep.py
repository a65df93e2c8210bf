"""Contract 4 through the API: patterns, modes, context, filters, with Python's `re` and ripgrep as judges.

What the engines make of a pattern is held by test_re_exactness.py; texts and their encodings by
test_contract_text.py.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grille

Files = Mapping[str, str | bytes]
Show = Callable[..., grille.Workspace]
Plot = Callable[[Files], tuple[grille.Workspace, str, Path]]


def names(result: Any) -> list[str]:
    return [entry.path.removeprefix("/mnt/tree/") for entry in result.entries]


def rows(result: grille.GrepResult) -> list[tuple[str, int | None, str | None]]:
    return [(e.path.removeprefix("/mnt/tree/"), e.line_number, e.line) for e in result.entries]


def lines_of(text: str) -> list[str]:
    """The lines of a text as the contract has them: they end at a newline, a `\\r` before it belongs to the end."""
    *whole, last = text.split("\n")
    return [line.removesuffix("\r") for line in whole] + ([last] if last else [])


# --- random trees and patterns --------------------------------------------------------------------------------------

WORDS = ["foo", "Foo", "bar", "x", "é", "foo_bar", " ", "\t", "(", "7", "\r", "\x0b", "\u2028"]
texts = st.lists(st.sampled_from([*WORDS, "\n", "\n", "\r\n"]), max_size=24).map("".join)
places = st.sampled_from(["a", "b/c", "b.c", "b/d/e", "B", "é"])
trees = st.dictionaries(places, texts, max_size=4)

ATOMS = [
    "foo",
    "o",
    ".",
    "^",
    "$",
    r"\b",
    r"\w+",
    r"\s",
    "[a-f]",
    "(?=.*r)",
    r"(o)\1",
    "x*",
    r"\(",
    "é",
    "bar|x",
]
regexes = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3).map("".join)


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    flags = {name: draw(st.booleans()) for name in ("literal", "case_sensitive", "word", "multiline")}
    return flags | {"max_per_file": draw(st.none() | st.integers(1, 3))}


@given(files=trees, pattern=regexes, chosen=options())
@settings(max_examples=80)
def test_the_three_modes_agree(
    plot: Plot, files: dict[str, str], pattern: str, chosen: dict[str, Any]
) -> None:
    """Contract 4: a file is in one output mode exactly when it is in the others, with as many lines as are counted,
    whatever the options (faults D2, I14).
    """
    workspace, start, _ = plot(files)

    def search(mode: Any) -> grille.GrepResult:
        return workspace.grep(pattern, start, output_mode=mode, limit=0, **chosen)

    counted = [
        (path, len(list(lines))) for path, lines in groupby(search("content").entries, lambda e: e.path)
    ]
    counts = search("count")
    assert [(entry.path, entry.count) for entry in counts.entries] == counted
    assert [entry.path for entry in search("files_with_matches").entries] == [path for path, _ in counted]
    assert counts.totals == grille.Totals(
        entries=len(counted), files=len(counted), lines=sum(lines for _, lines in counted), exact=True
    )


@given(files=trees, pattern=regexes, case_sensitive=st.booleans())
@settings(max_examples=80)
def test_lines_are_those_that_re_finds(
    plot: Plot, files: dict[str, str], pattern: str, case_sensitive: bool
) -> None:
    """Contract 4: line by line, with Python's meaning, in order; lines end at newlines and nowhere else."""
    workspace, start, _ = plot(files)
    compiled = re.compile(pattern, 0 if case_sensitive else re.IGNORECASE)
    expected = [
        (f"{start}/{path}", number, line)
        for path in sorted(files, key=lambda path: [part.encode() for part in path.split("/")])
        for number, line in enumerate(lines_of(files[path]), 1)
        if compiled.search(line)
    ]
    result = workspace.grep(pattern, start, case_sensitive=case_sensitive, limit=0)
    assert [(e.path, e.line_number, e.line) for e in result.entries] == expected
    assert result.complete


def spans(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """First and last line of each multiline entry, by `re` over the whole text: those that share a line are one."""
    first, last = 0, -1
    for found in re.compile(pattern, re.MULTILINE | re.DOTALL).finditer(text):
        if found.start() == len(text) and (not text or text.endswith("\n")):
            break  # behind the last newline there is no line
        begin = text.count("\n", 0, found.start()) + 1
        end = begin + found.group().removesuffix("\n").count("\n")
        if begin <= last:
            last = max(last, end)
            continue
        if last > 0:
            yield first, last
        first, last = begin, end
    if last > 0:
        yield first, last


ACROSS = [r"a\s+b", r"a.*?b", "a\nb", "^b$", r"b\n\n", "a.b|c", r"\n", r"(a)\n.*\1", "$", r"[^a]+", "c.*"]


@given(text=st.text(alphabet="abc \n", max_size=30), pattern=st.sampled_from(ACROSS))
@settings(max_examples=100)
def test_a_multiline_entry_has_a_first_and_a_last_line(plot: Plot, text: str, pattern: str) -> None:
    """Contract 4: with `multiline` `.` spans lines, entries are whole lines and those that share one are merged."""
    workspace, start, _ = plot({"a.txt": text})
    result = workspace.grep(pattern, start, multiline=True, case_sensitive=True, limit=0)
    found = [(entry.line_number, entry.last_line_number or entry.line_number) for entry in result.entries]
    expected = list(spans(pattern, text))
    assert found == expected
    for entry, (first, last) in zip(result.entries, expected, strict=True):
        assert entry.line == "\n".join(text.split("\n")[first - 1 : last])


# --- patterns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", [r"a\nb", "a\nb", r"foo[\n]", r"x\n"])
def test_what_needs_a_line_end_is_refused_and_multiline_named(show: Show, pattern: str) -> None:
    """Contract 4: a pattern that needs a newline is refused unless `multiline` is on, and the refusal names it (F7)."""
    workspace = show({"a": "a\nb\nfoo\nx\n"})
    with pytest.raises(grille.PatternError) as refused:
        workspace.grep(pattern)
    assert refused.value.code == "pattern_multiline"
    assert "multiline" in f"{refused.value} {refused.value.hint}"
    assert len(workspace.grep(pattern, multiline=True).entries) == 1


def test_literal_text_is_taken_as_it_stands(show: Show) -> None:
    """Contract 4: `literal` takes the pattern as plain text, case ignored unless asked for (faults F1, F5)."""
    workspace = show({"a": "a.b\naxb\nA.B\n- [ ] interface{}\n(\n"})
    assert rows(workspace.grep("a.b", literal=True)) == [("a", 1, "a.b"), ("a", 3, "A.B")]
    assert rows(workspace.grep("a.b", literal=True, case_sensitive=True)) == [("a", 1, "a.b")]
    assert rows(workspace.grep("- [ ]", literal=True)) == [("a", 4, "- [ ] interface{}")]
    assert rows(workspace.grep("interface{}")) == [("a", 4, "- [ ] interface{}")]
    assert rows(workspace.grep("(", literal=True)) == [("a", 5, "(")]


def test_case_is_ignored_unless_asked_for(show: Show) -> None:
    """Contract 4: `case_sensitive` is false by default, beyond ASCII too (fault C10)."""
    workspace = show({"a": "привет\nПривет\nПрИвЕт\n"})
    assert len(workspace.grep("привет").entries) == 3
    assert rows(workspace.grep("привет", case_sensitive=True)) == [("a", 1, "привет")]


WORDY = ["foo", "foobar", "bar foo baz", "FOO", "-foo x", "foo-", "föö", "a foo_ b", "barfoo", "xfoo foo"]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("foo", [0, 2, 3, 4, 5, 9]),
        ("foo|bar", [0, 2, 3, 4, 5, 9]),
        ("fo*", [0, 2, 3, 4, 5, 9]),
        ("-foo", [4]),
        ("(?i)foo", [0, 2, 3, 4, 5, 9]),
        ("f.*z", [2]),
        ("fö", []),
    ],
)
def test_a_word_has_no_word_character_beside_it(
    show: Show, ripgrep: str, tmp_path: Path, pattern: str, wanted: list[int]
) -> None:
    """Contract 4: `word` takes whole words alone, alternatives included, as ripgrep's -w does."""
    workspace = show({"a": "".join(line + "\n" for line in WORDY)})
    assert [entry.line for entry in workspace.grep(pattern, word=True).entries] == [WORDY[i] for i in wanted]
    command = [ripgrep, "--no-config", "-wiNI", "-e", pattern, str(tmp_path / "a")]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert said.splitlines() == [WORDY[i] for i in wanted]


# --- totals ---------------------------------------------------------------------------------------------------------


def test_counts_are_of_lines_and_totals_go_over_all_pages(show: Show) -> None:
    """Contract 4: `count` tells matching lines, not matches; its totals are over all pages, whatever page it is
    (faults I12, I14).
    """
    workspace = show({f"{number}.txt": "foo foo\nx\n" * (number + 1) for number in range(6)})
    pages: list[dict[str, Any]] = [
        {},
        {"limit": 2},
        {"limit": 1, "offset": 4},
        {"limit": 2, "sort": "mtime"},
        {"offset": 50},
    ]
    for page in pages:
        result = workspace.grep("foo", output_mode="count", context=2, **page)
        assert result.totals == grille.Totals(entries=6, files=6, lines=21, exact=True)
    assert [entry.count for entry in workspace.grep("foo", output_mode="count", limit=2).entries] == [1, 2]


def test_totals_of_a_search_that_went_to_the_end_are_exact(show: Show) -> None:
    """Contract 4: lines and files are summed, and a search that stopped behind its page says that it did."""
    workspace = show({"a": "foo\n" * 3, "b": "foo\n" * 2})
    assert workspace.grep("foo").totals == grille.Totals(entries=5, files=2, lines=5, exact=True)
    assert not workspace.grep("foo", limit=2).totals.exact


# --- context --------------------------------------------------------------------------------------------------------


def merged(matching: Sequence[int], total: int, before: int, after: int) -> list[tuple[int, bool]]:
    """The numbers of the lines that a search with context shows, each once, and whether it is a match."""
    shown = {n for m in matching for n in range(max(1, m - before), min(total, m + after) + 1)}
    return [(number, number in matching) for number in sorted(shown)]


def laid_out(entries: Sequence[grille.GrepEntry]) -> list[tuple[int, bool, str]]:
    """Entries with their context as a file shows them, from top to bottom."""
    shown: list[tuple[int, bool, str]] = []
    for entry in entries:
        assert entry.line_number is not None and entry.line is not None
        shown += [(line.number, False, line.text) for line in entry.before]
        shown.append((entry.line_number, True, entry.line))
        shown += [(line.number, False, line.text) for line in entry.after]
    return shown


marks = st.lists(st.booleans(), min_size=1, max_size=25)


@given(
    lines=marks, before=st.integers(0, 4), after=st.integers(0, 4), ending=st.sampled_from(["", "\n", "\r\n"])
)
@settings(max_examples=80)
def test_context_is_merged_and_each_line_shown_once(
    plot: Plot, lines: list[bool], before: int, after: int, ending: str
) -> None:
    """Contract 4: windows that overlap are one, each line stands once and in order, and none counts (fault I13)."""
    written = [f"needle {n}" if matches else f"hay {n}" for n, matches in enumerate(lines, 1)]
    end = ending or "\n"
    workspace, start, _ = plot({"a.txt": end.join(written) + ending})
    matching = [number for number, matches in enumerate(lines, 1) if matches]
    result = workspace.grep("needle", start, before=before, after=after, limit=0)
    assert laid_out(result.entries) == [
        (number, is_match, written[number - 1])
        for number, is_match in merged(matching, len(written), before, after)
    ]
    assert len(result.entries) == result.totals.entries == len(matching)


@pytest.mark.parametrize("context", [1, 2, 5])
def test_context_is_what_ripgrep_shows(show: Show, ripgrep: str, tmp_path: Path, context: int) -> None:
    """Contract 4: the same lines as `rg -C` on files whose matches lie near and far, at the top and at the end."""
    files = {
        f"{seed}.txt": "".join(
            ("needle" if (line * 7919 + seed * 31) % (seed + 2) == 0 else "hay") + f" {line}\n"
            for line in range(40 + seed)
        )
        for seed in range(12)
    }
    workspace = show(files)
    command = [ripgrep, "--no-config", "--json", "--sort=path", f"-C{context}", "needle", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = [
        (Path(row["data"]["path"]["text"]).name, row["data"]["line_number"], row["type"] == "match")
        for row in map(json.loads, said.splitlines())
        if row["type"] in {"match", "context"}
    ]
    entries = workspace.grep("needle", context=context, limit=0).entries
    assert len(entries) < 500
    shown = [
        (path.removeprefix("/mnt/tree/"), number, is_match)
        for path, of_file in groupby(entries, lambda entry: entry.path)
        for number, is_match, _ in laid_out(list(of_file))
    ]
    assert sorted(shown) == sorted(expected)


def test_context_never_counts_towards_the_limit(show: Show) -> None:
    """Contract 4: a page holds `limit` matches, whatever context they bring; other modes show none."""
    workspace = show({"a": "hay\nneedle\nhay\n" * 10})
    page = workspace.grep("needle", context=3, limit=4)
    assert [entry.line_number for entry in page.entries] == [2, 5, 8, 11]
    assert sum(len(entry.before) + len(entry.after) for entry in page.entries) > 4
    for entry in workspace.grep("needle", context=3, output_mode="count").entries:
        assert (entry.before, entry.after) == ((), ())


def test_context_of_pages_laid_end_to_end_is_that_of_the_whole(show: Show) -> None:
    """Contract 2.3, 4: where a page ends does not change which lines stand beside which match."""
    workspace = show({"a": "1\n2\nM\n4\nM\n6\n7\n8\nM\nM\n11\n"})
    whole = workspace.grep("M", context=2).entries
    pages = [entry for at in range(4) for entry in workspace.grep("M", context=2, limit=1, offset=at).entries]
    assert tuple(pages) == whole


def test_context_stands_around_all_lines_of_a_multiline_match(show: Show) -> None:
    """Contract 4: the lines before the first and behind the last line of a match over several."""
    workspace = show({"a": "1\n2\nf(\n 1,\n 2)\n6\n7\n"})
    (entry,) = workspace.grep(r"f\(.*?\)", multiline=True, context=1).entries
    assert (entry.line_number, entry.last_line_number, entry.line) == (3, 5, "f(\n 1,\n 2)")
    assert [(line.number, line.text) for line in (*entry.before, *entry.after)] == [(2, "2"), (6, "6")]


# --- which files ----------------------------------------------------------------------------------------------------


def test_a_type_is_ripgreps(show: Show, ripgrep: str, tmp_path: Path) -> None:
    """Contract 4: `type` takes ripgrep's names and takes the files that ripgrep takes; several add up."""
    paths = [
        "a.py",
        "b.pyi",
        "c.rs",
        "d.ts",
        "e.tsx",
        "f.js",
        "Makefile",
        "g.mk",
        "h.md",
        "i.txt",
        "CMakeLists.txt",
        "PY",
    ]
    workspace = show(dict.fromkeys(paths, "needle\n"))
    for name in ("py", "rust", "ts", "js", "make", "md", "markdown", "cmake", "txt"):
        command = [ripgrep, "--no-config", "--files", f"-t{name}", str(tmp_path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert names(workspace.grep("needle", type=name)) == sorted(Path(p).name for p in said.splitlines())
    assert names(workspace.grep("needle", type=["py", "rust"])) == ["a.py", "b.pyi", "c.rs"]
    assert names(workspace.grep("needle", type="py", glob="!b.*")) == ["a.py"]
    assert names(workspace.grep("needle", type="py", glob="*.rs")) == []


def test_an_unknown_type_is_refused_with_near_names(show: Show) -> None:
    """Contract 4: a type that ripgrep does not know is refused, and names near to it are told."""
    with pytest.raises(grille.RequestError) as refused:
        show({"a": ""}).grep("x", type="pyt")
    assert refused.value.code == "type_unknown"
    assert "py" in (refused.value.hint or "")


@pytest.mark.parametrize("sort", ["path", "mtime"])
def test_at_most_so_many_lines_of_a_file(show: Show, sort: Any) -> None:
    """Contract 4: `max_per_file` bounds each file, not the page: the first lines of each, and no cut is called."""
    workspace = show({"a": "needle\n" * 9, "b": "needle\n" * 2, "c": "needle\n"})
    result = workspace.grep("needle", max_per_file=2, sort=sort)
    assert sorted(row[:2] for row in rows(result)) == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)]
    assert result.complete
    page = workspace.grep("needle", max_per_file=2, limit=3)
    assert (len(page.entries), page.truncated) == (3, True)


def test_a_path_may_be_one_file(show: Show) -> None:
    """Contract 4: with a file as path that file alone is searched, ignored or not; filters take its name
    (faults G12, G13).
    """
    workspace = show(
        {"src/a.log": "needle\n", "src/b.py": "needle\n", ".git/HEAD": "", ".gitignore": "*.py\n"}
    )
    for name in ("src/a.log", "src/b.py"):
        assert rows(workspace.grep("needle", f"/mnt/tree/{name}")) == [(name, 1, "needle")]
    only = "/mnt/tree/src/b.py"
    assert names(workspace.grep("needle", only, glob="*.py")) == ["src/b.py"]
    assert names(workspace.grep("needle", only, glob="/mnt/tree/src/*.py")) == ["src/b.py"]
    assert names(workspace.grep("needle", only, glob="*.md")) == []
    assert names(workspace.grep("needle", only, glob="!*.py")) == []
    assert names(workspace.grep("needle", only, type="py")) == ["src/b.py"]
    assert names(workspace.grep("needle", only, type="rust")) == []
    assert workspace.grep("needle", only).skipped == ()
