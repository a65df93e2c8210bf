"""Patterns made to burn time or memory. Each costs at most its own limit, and costs nobody else anything.

`(a+)+$` is exponential for a backtracking engine and linear for another; `(?=(a+)+$)a+!` needs look-ahead, so
nothing but backtracking can run it, and the limit of the scan is what ends it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import grille

Open = Callable[..., grille.Workspace]
Skips = Callable[[Any], dict[str, int]]

BAIT = "a" * 30 + "!\n"
BACKTRACKING = "(?=(a+)+$)a+!"
MIB = 1 << 20


@pytest.fixture
def baited(tmp_path: Path) -> Path:
    """Twenty good files in order, and one between them that no backtracking match ends on."""
    for number in range(20):
        (tmp_path / f"f{number:02}.txt").write_text("needle\n")
    (tmp_path / "f10b.txt").write_text(BAIT)
    return tmp_path


def code_of(ask: Callable[[], object]) -> str | None:
    """The code of the PatternError that a request is refused with; None when it is answered."""
    try:
        ask()
    except grille.PatternError as refused:
        return refused.code
    return None


def timed_out(result: grille.GrepResult) -> list[str]:
    return [name for skip in result.skipped if skip.reason == "timed_out" for name in skip.first]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*)*=", "([a-z]+)*[!?]x"])
def test_a_catastrophe_that_a_linear_engine_can_run_is_answered_at_once(
    tmp_path: Path, open_tree: Open, pattern: str
) -> None:
    """Performance is not bought with time limits: what needs no backtracking gets none, and nothing times
    out.
    """
    (tmp_path / "bait.txt").write_text(BAIT + "a" * 5000 + "!\n")
    result = open_tree(tmp_path, scan_seconds=1).grep(pattern)
    assert result.complete
    assert result.skipped == ()


def test_a_scan_that_must_backtrack_ends_at_its_limit_and_its_file_is_named(
    baited: Path, open_tree: Open
) -> None:
    """Contract 2.5, 2.6: the file is `timed_out`, everything else is searched, and the call ends within a second of the
    limit."""
    workspace = open_tree(baited, scan_seconds=0.3)
    began = time.monotonic()
    result = workspace.grep(f"{BACKTRACKING}|needle")
    took = time.monotonic() - began
    assert timed_out(result) == ["/mnt/tree/f10b.txt"]
    assert [entry.path for entry in result.entries] == [f"/mnt/tree/f{number:02}.txt" for number in range(20)]
    assert result.incomplete
    assert not result.complete
    assert result.reasons == ("timed_out",)
    assert took < 0.3 + 1


def test_nothing_found_beside_a_timeout_never_reads_as_nothing_matched(baited: Path, open_tree: Open) -> None:
    """Contract 2.5: zero entries and incomplete says so in words."""
    result = open_tree(baited, scan_seconds=0.2).grep(BACKTRACKING)
    assert result.entries == ()
    assert result.incomplete
    assert "Nothing was found, but not everything was searched." in result.notices


def test_a_single_file_that_times_out_is_named(baited: Path, open_tree: Open) -> None:
    """The same holds when the request is for that one file."""
    result = open_tree(baited, scan_seconds=0.2).grep(BACKTRACKING, "/mnt/tree/f10b.txt")
    assert timed_out(result) == ["/mnt/tree/f10b.txt"]
    assert result.incomplete


@pytest.mark.parametrize("output_mode", ["content", "files_with_matches", "count"])
def test_three_timeouts_end_the_request_early(tmp_path: Path, open_tree: Open, output_mode: Any) -> None:
    """A pattern that blows up on three files is given up: incomplete, `repeated_timeouts`, the three files
    named.
    """
    for number in range(12):
        (tmp_path / f"bait{number:02}.txt").write_text(BAIT)
    workspace = open_tree(tmp_path, scan_seconds=0.2, workers=1)
    began = time.monotonic()
    result = workspace.grep(BACKTRACKING, output_mode=output_mode)
    took = time.monotonic() - began
    assert result.incomplete
    assert "repeated_timeouts" in result.reasons
    assert timed_out(result) == [f"/mnt/tree/bait{number:02}.txt" for number in range(3)]
    assert took < 3 * 0.3 + 1


@pytest.fixture
def tormented(pool: grille.Pool, baited: Path) -> Iterator[threading.Event]:
    """Another workspace of the same pool, in which a catastrophic pattern runs all the time. Set once it
    does.
    """
    running, stop = threading.Event(), threading.Event()
    policy = grille.Policy(
        mounts=[grille.Mount("/mnt/tree", host=str(baited))], limits=grille.Limits(scan_seconds=2)
    )

    def torment() -> None:
        with pool.open(policy) as workspace:
            running.set()
            while not stop.is_set():
                workspace.grep(BACKTRACKING)

    tormentor = threading.Thread(target=torment)
    tormentor.start()
    yield running
    stop.set()
    tormentor.join()


def test_another_workspace_does_not_feel_it(
    tormented: threading.Event, tmp_path_factory: pytest.TempPathFactory, open_tree: Open
) -> None:
    """Fault M1: while one tenant's scan burns until its limit of two seconds, no query of another waits for
    it.
    """
    calm = tmp_path_factory.mktemp("calm")
    for number in range(50):
        (calm / f"{number:02}.txt").write_text("needle\n")
    workspace = open_tree(calm)
    assert tormented.wait(20)
    slowest = 0.0
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        began = time.monotonic()
        assert len(workspace.grep("needle").entries) == 50
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 1


def test_another_query_of_the_same_workspace_goes_on(tmp_path: Path, open_tree: Open) -> None:
    """A slow scan holds one worker of its workspace, and not the others."""
    (tmp_path / "bait").mkdir()
    (tmp_path / "bait" / "a.txt").write_text(BAIT)
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "a.txt").write_text("needle\n")
    workspace = open_tree(tmp_path, scan_seconds=2, workers=2)
    slow = threading.Thread(target=workspace.grep, args=(BACKTRACKING, "/mnt/tree/bait"))
    slow.start()
    try:
        for _ in range(20):
            began = time.monotonic()
            assert len(workspace.grep("needle", "/mnt/tree/good").entries) == 1
            assert time.monotonic() - began < 1
    finally:
        slow.join()


BOMBS = {
    "nested repeats": "((((((((((a{1,100}){1,100}){1,100}){1,100}){1,100}){1,100}){1,100}){1,100}){1,100}){1,100})",
    "great repeats": "(?:(?:x{1000}){1000}){1000}",
    "repeats of classes": r"(?:[\w-]{500}\d{500}){500}",
    "4 KiB of classes": r"[\w\d\s]" * 500,
    "4 KiB of alternatives": "|".join(f"{number:03}" for number in range(1000)),
    "4 KiB of groups": "(a" * 1000 + ")" * 1000,
    "4 KiB of look-aheads": "(?=a)" * 800,
    "4 KiB of look-behinds": "(?<=a{99})" * 400,
    "4 KiB of optional": "a?" * 1000 + "a" * 1000,
    "4 KiB of conditionals": "(x)?" + "(?(1)a|b)" * 450,
    "repeat beyond the greatest": "a{99999999999999999999}",
    "greatest repeat": "(?:a{4294967294}){4294967294}",
    "unicode ranges, caseless": "(?i)" + "[\u0100-\uffff]{50}" * 200,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_compile_bomb_is_compiled_or_refused_within_its_limit(
    tmp_path: Path, open_tree: Open, name: str
) -> None:
    """Compiling has a limit of its own. A bomb gives a result or a PatternError, and the next query is
    served as ever.
    """
    (tmp_path / "a.txt").write_text("aaa needle\n")
    workspace = open_tree(tmp_path, compile_seconds=1, scan_seconds=1)
    pattern = (
        BOMBS[name].encode()[:4096].decode("utf-8", "ignore") if len(BOMBS[name]) > 5000 else BOMBS[name]
    )
    began = time.monotonic()
    code = code_of(lambda: workspace.grep(pattern))
    assert code in {None, "pattern_too_costly", "pattern_invalid", "pattern_too_long", "pattern_multiline"}
    assert time.monotonic() - began < 5
    assert len(workspace.grep("needle").entries) == 1


@pytest.mark.parametrize("pattern", ["(" * 200_000, "(" * 100_000 + ")" * 100_000, "é" * 2049])
def test_a_pattern_over_its_size_is_refused_before_anything_reads_it(
    tmp_path: Path, open_tree: Open, pattern: str
) -> None:
    """The limit is on bytes and checked first: what is too long is never parsed."""
    with pytest.raises(grille.PatternError) as refused:
        open_tree(tmp_path).grep(pattern)
    assert refused.value.code == "pattern_too_long"


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("(", "pattern_invalid"),
        ("*", "pattern_invalid"),
        ("a{3,2}", "pattern_invalid"),
        ("(?<=a+)b", "pattern_invalid"),
        (r"\N{no such name}", "pattern_invalid"),
        (r"\N", "pattern_invalid"),
        ("(?P<a>.)(?P<a>.)", "pattern_invalid"),
        (r"\1", "pattern_invalid"),
        ("a(?i)b", "pattern_invalid"),
        ("\\", "pattern_invalid"),
        ("", "pattern_empty"),
        (r"foo\nbar", "pattern_multiline"),
    ],
)
def test_an_illegal_pattern_is_refused_with_its_code(
    tmp_path: Path, open_tree: Open, pattern: str, code: str
) -> None:
    """Contract 4 and 7: an invalid pattern raises PatternError; a tree with an unreadable file changes
    nothing (A11).
    """
    (tmp_path / "a.txt").write_text("x\n")
    (tmp_path / "locked.txt").touch(0)
    with pytest.raises(grille.PatternError) as refused:
        open_tree(tmp_path).grep(pattern)
    assert refused.value.code == code


@pytest.mark.parametrize("pattern", ["(", "[a-", "x(?P<n", "(?z)"])
def test_an_invalid_pattern_is_refused_with_pythons_message_and_position(
    tmp_path: Path, open_tree: Open, pattern: str
) -> None:
    """Contract 4: an invalid pattern is refused with Python's own message and position."""
    import re

    with pytest.raises(re.error) as pythons:
        re.compile(pattern)
    with pytest.raises(grille.PatternError) as ours:
        open_tree(tmp_path).grep(pattern)
    assert ours.value.position == pythons.value.pos
    assert pythons.value.msg in str(ours.value)


@pytest.mark.parametrize("pattern", [r"\N{EM DASH}", r"\N{SNOWMAN}"])
def test_a_named_character_is_found_behind_the_bars(tmp_path: Path, open_tree: Open, pattern: str) -> None:
    r"""The meaning is always Python's: `\N{...}` needs a table that a confined worker can no longer load by
    itself.
    """
    (tmp_path / "a.txt").write_text("\N{EM DASH}\n\N{SNOWMAN}\n")
    assert len(open_tree(tmp_path).grep(pattern).entries) == 1


def test_no_pattern_makes_anyone_print(
    baited: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A warning is printed with its source line, which opens files: a worker prints nothing, whatever the
    pattern.
    """
    monkeypatch.setenv("GRILLE_DEBUG_ZYGOTE", "1")
    policy = grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(baited))])
    with grille.Pool() as pool, pool.open(policy) as workspace:
        for pattern in (
            "[[a]",
            "[a--b]",
            "[a||b]",
            "[a&&b]",
            "[a~~b]",
            r"\N{nothing}",
            "(" * 300,
            "(?s)a(?L)b",
        ):
            try:
                workspace.grep(pattern)
            except grille.PatternError:
                continue
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pattern", ["- [ ]", "->", "--pre=x", "-77", "interface{}", " ", "[[a]", "@(#)"])
def test_a_pattern_is_never_an_option_and_never_trimmed(
    tmp_path: Path, open_tree: Open, pattern: str
) -> None:
    """Faults F1, F9: what looks like a flag is text; a blank is a pattern like any other."""
    import re
    import warnings

    lines = ["- [ ] todo", "x->y", "--pre=x", "-77", "interface{}", "interface", "[a]", "@#"]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
    assert [entry.line for entry in open_tree(tmp_path).grep(pattern).entries] == expected


def test_a_request_deadline_gives_what_was_found(baited: Path, open_tree: Open) -> None:
    """Contract 2.5 (faults A1, A3, A5): when the time runs out, the matches so far are the result, marked
    `deadline`.
    """
    workspace = open_tree(baited, request_seconds=0.3, scan_seconds=30, workers=1)
    began = time.monotonic()
    result = workspace.grep(f"{BACKTRACKING}|needle")
    took = time.monotonic() - began
    assert "deadline" in result.reasons
    assert result.incomplete
    assert not result.complete
    assert result.notices
    assert took < 0.3 + 1
    found = [entry.path for entry in result.entries]
    assert found == [f"/mnt/tree/f{number:02}.txt" for number in range(20)][: len(found)]
    # The workspace is healthy: the worker that burned is replaced.
    assert len(workspace.grep("needle").entries) == 20


def test_a_deadline_with_nothing_found_says_so(tmp_path: Path, open_tree: Open) -> None:
    """Contract 2.5: a deadline before the first match never reads as "nothing matched"."""
    (tmp_path / "a.txt").write_text(BAIT)
    result = open_tree(tmp_path, request_seconds=0.2, scan_seconds=30).grep(BACKTRACKING)
    assert result.entries == ()
    assert result.reasons == ("deadline",)
    assert "Nothing was found, but not everything was searched." in result.notices


def test_a_file_that_takes_too_much_memory_is_named_and_the_rest_is_searched(
    tmp_path: Path, open_tree: Open, skips: Skips
) -> None:
    """Contract 2.6: `out_of_memory` is one file's skip; everything else is found, and the pool stays
    healthy.
    """
    (tmp_path / "a.txt").write_text("needle\n")
    with open(tmp_path / "huge.txt", "wb") as huge:
        for _ in range(100):
            huge.write(b"filler\n" * (MIB // 7))
    (tmp_path / "z.txt").write_text("needle\n")
    workspace = open_tree(tmp_path, worker_memory=128 * MIB, max_file_bytes=200 * MIB, scan_seconds=20)
    for _ in range(2):
        result = workspace.grep("needle")
        assert [entry.path for entry in result.entries] == ["/mnt/tree/a.txt", "/mnt/tree/z.txt"]
        assert skips(result) == {"out_of_memory": 1}
        assert result.skipped[0].first == ("/mnt/tree/huge.txt",)
        assert result.reasons == ("out_of_memory",)
    (tmp_path / "huge.txt").unlink()
    assert workspace.grep("needle").complete


def test_a_match_that_takes_too_much_memory_is_named(tmp_path: Path, open_tree: Open) -> None:
    """A backtracking stack is memory, too: a pattern that eats it costs its file and nothing else."""
    (tmp_path / "a.txt").write_text("needle\n")
    (tmp_path / "b.txt").write_text("ab" * 4_000_000 + "\n")
    (tmp_path / "z.txt").write_text("needle\n")
    workspace = open_tree(
        tmp_path,
        worker_memory=128 * MIB,
        max_file_bytes=64 * MIB,
        max_line_bytes=64 * MIB,
        scan_seconds=20,
    )
    result = workspace.grep(r"needle|^(?=((?:ab|cd)*))\1a")
    assert [entry.path for entry in result.entries] == ["/mnt/tree/a.txt", "/mnt/tree/z.txt"]
    assert [(skip.reason, skip.first) for skip in result.skipped] == [("out_of_memory", ("/mnt/tree/b.txt",))]


def test_globs_made_to_backtrack_do_not(tmp_path: Path, open_tree: Open) -> None:
    """Contract 3: matching is linear: many stars over a long name end at once."""
    (tmp_path / ("a" * 250)).write_text("needle\n")
    workspace = open_tree(tmp_path)
    for pattern in ("*a" * 100 + "b", "**/" * 100 + "b", "{a,aa}" * 5 + "*" * 50 + "b", "[!b]*" * 60 + "b"):
        assert code_of(partial(workspace.glob, pattern)) in {None, "glob_too_large", "glob_too_long"}


def test_a_glob_that_expands_without_bound_is_refused(tmp_path: Path, open_tree: Open) -> None:
    """Contract 3: braces have a cap on what they may expand to."""
    with pytest.raises(grille.PatternError) as refused:
        open_tree(tmp_path).glob("{a,b}" * 40)
    assert refused.value.code == "glob_too_large"
