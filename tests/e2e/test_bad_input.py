"""Bad input of every kind: a typed error with a code of the table, at once, and never a host path.

A mount is shown as /mnt/tree; its folder on this machine has a name that stands nowhere else, so that one
look finds it in whatever is said.
"""

from __future__ import annotations

import copy
import json
import os
import random
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grille
from grille.policy.errors import CODES

HOST_NAME = "Kq7-host-secret"
TYPES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    b"bytes",
    "",
    [],
    ["x"],
    {},
    (),
    object(),
    float("nan"),
    10**400,
    "\0",
    "\ud800",
]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mapped tree that names its own host path in its files, and holds what is denied, locked or leads
    out.
    """
    root = tmp_path_factory.mktemp("pool") / HOST_NAME
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text(
        f"import x  # from {root}/src/a.py\nopen('{root}')\n{'z' * 190} {root}/y\n"
    )
    (root / "b.txt").write_text(f"{root}:{root}/b.txt:'{root}'\n" + "pad " * 60 + f"{root}/deep/file\n")
    (root / "denied").mkdir()
    (root / "denied" / "key.pem").write_text("secret\n")
    (root / "locked").mkdir(0)
    (root / "locked.txt").touch(0)
    (root / "out").symlink_to(root.parent)
    (root / "absolute").symlink_to(root / "src")
    os.mkfifo(root / "fifo")
    return root


@pytest.fixture(scope="module")
def pool() -> Iterator[grille.Pool]:
    """One pool for the module: no bad input may hurt what comes after it."""
    with grille.Pool() as opened:
        yield opened


@pytest.fixture(scope="module")
def workspace(pool: grille.Pool, host: Path) -> grille.Workspace:
    """The tree under /mnt/tree, `denied` hidden."""
    policy = grille.Policy(
        mounts=[grille.Mount("/mnt/tree", host=str(host))],
        deny=["denied/**", "denied"],
        allow_no_ignore=False,
        limits=grille.Limits(scan_seconds=0.5, request_seconds=10),
    )
    return pool.open(policy)


def all_of(error: BaseException) -> str:
    """Everything that an error says, its traceback's text and its causes included."""
    told = [str(error), repr(error), repr(error.args), repr(vars(error))]
    told.append("".join(traceback.format_exception_only(error)))
    for behind in (error.__cause__, None if error.__suppress_context__ else error.__context__):
        if behind is not None:
            told.append(all_of(behind))
    return "\n".join(told)


def require_sound(error: BaseException, kind: type[grille.GrilleError] = grille.GrilleError) -> None:
    """An error of ours, with a code of the table, a sentence, no host path, and not taken for an OSError."""
    assert isinstance(error, kind), repr(error)
    assert not isinstance(error, OSError | TimeoutError)
    assert error.code in CODES
    assert error.message
    assert HOST_NAME not in all_of(error)
    assert str(copy.deepcopy(error)) == str(error)


def refused(
    call: Callable[[], object], kind: type[grille.GrilleError] = grille.GrilleError
) -> grille.GrilleError:
    """The sound error that `call` must raise."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of which kind is what comes next
        call()
    require_sound(raised.value, kind)
    return cast("grille.GrilleError", raised.value)


def text_of(result: grille.GrepResult | grille.GlobResult) -> str:
    return json.dumps(msgspec.to_builtins(result), ensure_ascii=False) + repr(result)


# --- the pool and its policies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, True, False, 1.0, "4", None, [], float("inf"), 10**400 * -1])
def test_a_pool_refuses_a_budget_that_is_none(value: Any) -> None:
    """`max_workers` is a whole number of at least 1."""
    refused(lambda: grille.Pool(max_workers=value), grille.PolicyError)


@pytest.mark.parametrize("value", TYPES)
def test_open_wants_a_policy(pool: grille.Pool, value: Any) -> None:
    """Whatever is no Policy is refused by type, and not looked into."""
    assert refused(lambda: pool.open(value), grille.PolicyError).code == "wrong_type"


@pytest.mark.parametrize(
    ("host_path", "code"),
    [
        ("/", "mount_refused"),
        ("/proc", "mount_refused"),
        ("/proc/self", "mount_refused"),
        ("/sys/kernel", "mount_refused"),
        ("/dev", "mount_refused"),
        ("/dev/shm", "mount_refused"),
        (f"/nowhere/{HOST_NAME}", "mount_not_found"),
        (f"relative/{HOST_NAME}", "mount_not_absolute"),
        (f"/tmp/../{HOST_NAME}", "mount_not_normal"),
        (f"~/{HOST_NAME}", "mount_not_absolute"),
        (f"/tmp/{HOST_NAME}\0", "mount_text"),
        (f"/{HOST_NAME * 30}", "mount_not_normal"),
        (f"/tmp/{HOST_NAME}\ud800", "mount_text"),
        (f"/etc/passwd/{HOST_NAME}", "mount_not_folder"),
    ],
)
def test_a_mount_that_cannot_be_shown_is_refused(pool: grille.Pool, host_path: str, code: str) -> None:
    """Issue: a mount that does not exist or is `/` or `/proc` is a PolicyError that does not tell the host
    path.
    """
    error = refused(
        lambda: pool.open(grille.Policy(mounts=[grille.Mount("/mnt/tree", host=host_path)])),
        grille.PolicyError,
    )
    assert error.code in {code, "mount_not_found"}


@pytest.mark.parametrize("target", ["/", "/proc", "/proc/self/root", "/dev", "/sys"])
def test_a_link_to_what_is_never_shown_is_refused_too(pool: grille.Pool, tmp_path: Path, target: str) -> None:
    """Not the spelling decides, but what the folder is: a link to `/proc` is `/proc`."""
    (tmp_path / HOST_NAME).symlink_to(target)
    policy = grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(tmp_path / HOST_NAME))])
    assert refused(lambda: pool.open(policy), grille.PolicyError).code == "mount_refused"


@pytest.mark.parametrize("name", ["b.txt", "fifo", "locked.txt"])
def test_a_mount_that_is_no_folder_is_refused(pool: grille.Pool, host: Path, name: str) -> None:
    """A mount is a folder; what is none is told so, by its virtual path alone."""
    policy = grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(host / name))])
    assert refused(lambda: pool.open(policy), grille.PolicyError).code == "mount_not_folder"


def test_one_bad_mount_among_good_ones_leaks_nothing(pool: grille.Pool, host: Path) -> None:
    """When the last of several mounts is refused, the descriptors of the first are closed again."""
    mounts = [grille.Mount(f"/mnt/{number}", host=str(host)) for number in range(10)]
    policy = grille.Policy(mounts=[*mounts, grille.Mount("/mnt/bad", host=f"/nowhere/{HOST_NAME}")])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        refused(lambda: pool.open(policy), grille.PolicyError)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_mount_that_goes_away_after_opening_is_an_answer(pool: grille.Pool, tmp_path: Path) -> None:
    """A folder removed or renamed under an open workspace gives an empty or refused search, not a hang or a
    bare error.
    """
    root = tmp_path / HOST_NAME
    root.mkdir()
    (root / "a.txt").write_text("needle\n")
    with pool.open(grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(root))])) as opened:
        assert opened.grep("needle").entries
        root.rename(tmp_path / "elsewhere")
        assert opened.grep("needle").entries
        (tmp_path / "elsewhere" / "a.txt").unlink()
        (tmp_path / "elsewhere").rmdir()
        try:
            assert opened.grep("needle").entries == ()
        except grille.GrilleError as error:
            require_sound(error)


@pytest.mark.parametrize("field", [*msgspec.structs.asdict(grille.Limits())])
@pytest.mark.parametrize("value", [None, True, "1", -1, 0, float("nan"), float("inf"), 10**400, [], 1e300])
def test_limits_out_of_range_or_of_another_type_are_refused(field: str, value: Any) -> None:
    """Issue: negative limits and every other value outside the table are PolicyErrors that name the field."""
    error = refused(lambda: grille.Limits(**{field: value}), grille.PolicyError)
    assert error.code in {"wrong_type", "limit_out_of_range"}
    assert field in str(error)


@pytest.mark.parametrize(
    "rule", ["", "a" * 5000, "[", "{a", "../x", "/etc/**", "a\0b", "{a,b}" * 30, "\ud800", 7]
)
def test_a_deny_rule_is_legal_or_refused_and_never_ignored(pool: grille.Pool, host: Path, rule: Any) -> None:
    """A deny rule that does not mean anything must not be taken for one that denies."""

    mounts = [grille.Mount("/mnt/tree", host=str(host))]
    if rule in ("[", "{a"):
        pool.open(
            grille.Policy(mounts=mounts, deny=[rule])
        ).close()  # odd, and still a name that may be there
    else:
        error = refused(lambda: pool.open(grille.Policy(mounts=mounts, deny=[rule])), grille.PolicyError)
        assert error.code in {"deny_invalid", "wrong_type"}


def test_a_deny_rule_for_a_name_that_is_no_utf8_hides_it_or_is_refused(tmp_path: Path) -> None:
    """Contract 2.6: a rule for such a name hides it; if no rule can say it, opening refuses. Either way the pool
    goes on serving everybody.
    """
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad-\xff.txt")).write_text("needle\n")
    mount = grille.Mount("/mnt/tree", host=str(tmp_path))
    with grille.Pool() as pool, pool.open(grille.Policy(mounts=[mount])) as bystander:
        try:
            denying = pool.open(grille.Policy(mounts=[mount], deny=["bad-\udcff.txt"]))
        except grille.PolicyError as error:
            require_sound(error)
        else:
            assert denying.grep("needle").entries == ()
        assert len(bystander.grep("needle").entries) == 1


# --- requests -------------------------------------------------------------------------------------------------------

GREP: dict[str, tuple[list[Any], type[grille.GrilleError]]] = {
    "path": (
        [0, True, b"/mnt/tree", [], object(), "\ud800", "", "\0", "/mnt/tree/\ud800", "/mnt/tree/\udcff"],
        grille.PathError,
    ),
    "glob": (
        [0, True, b"*", {}, object(), [0], [None], [b"*"], "", [""], ["*"] * 65, "\ud800", "../*", "~/x"],
        grille.RequestError,
    ),
    "literal": ([0, 1, None, "true", []], grille.RequestError),
    "case_sensitive": ([0, 1, None, "true", []], grille.RequestError),
    "word": ([0, 1, None, "true", []], grille.RequestError),
    "output_mode": ([None, "", "lines", "CONTENT", 0, [], {}, b"content"], grille.RequestError),
    "limit": ([-1, -(10**400), 1.0, "5", True, [], float("nan"), b"1"], grille.LimitError),
    "offset": ([-1, -(10**400), 1.0, "5", True, [], float("nan"), b"1"], grille.LimitError),
    "no_ignore": ([0, 1, None, "true", True], grille.RequestError),
}
GLOB: dict[str, tuple[list[Any], type[grille.GrilleError]]] = {
    "path": (GREP["path"][0], grille.PathError),
    "include_dirs": ([0, 1, None, "true", []], grille.RequestError),
    "case_sensitive": ([0, 1, None, "true", []], grille.RequestError),
    "limit": (GREP["limit"][0], grille.LimitError),
    "offset": (GREP["offset"][0], grille.LimitError),
    "no_ignore": ([0, 1, None, "true", True], grille.RequestError),
}


@pytest.mark.parametrize("name", GREP)
def test_grep_refuses_every_wrong_argument(workspace: grille.Workspace, name: str) -> None:
    """Contract 2.4, 4, 7: a wrong type or value is refused by its own kind of error; nothing is guessed."""
    values, kind = GREP[name]
    for value in values:
        refused(partial(workspace.grep, "x", **{name: value}), kind)


@pytest.mark.parametrize("name", GLOB)
def test_glob_refuses_every_wrong_argument(workspace: grille.Workspace, name: str) -> None:
    """Contract 2.4, 3, 7: a wrong type or value is refused by its own kind of error; nothing is guessed."""
    values, kind = GLOB[name]
    for value in values:
        refused(partial(workspace.glob, "*", **{name: value}), kind)


@pytest.mark.parametrize("value", [None, True, 0, b"x", "", [], object(), "\ud800", "a" * 5000])
def test_a_pattern_that_is_none_is_refused(workspace: grille.Workspace, value: Any) -> None:
    """Contract 3, 4: what is no text, empty, too long or half a character is a PatternError of both tools."""
    refused(lambda: workspace.grep(value), grille.PatternError)
    refused(lambda: workspace.glob(value), grille.PatternError)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/", "not_found"),
        ("/etc", "not_found"),
        ("/etc/passwd", "not_found"),
        ("/mnt", "not_found"),
        ("/mnt/tree-evil", "not_found"),
        ("/mnt/treeX/../tree", "parent"),
        ("/mnt/tree/..", "parent"),
        ("/mnt/tree/src/../../..", "parent"),
        ("src", "not_absolute"),
        ("./src", "not_absolute"),
        ("", "not_absolute"),
        ("~", "tilde"),
        ("~root/x", "tilde"),
        ("//mnt/tree", "foreign"),
        ("\\\\host\\share", "foreign"),
        ("\\??\\UNC\\h\\s", "foreign"),
        ("\\\\?\\GLOBALROOT", "foreign"),
        ("/mnt/tree/a\0b", "path_text"),
        ("/mnt/tree/" + "a" * 300, "path_too_long"),
        ("/mnt/tree/" + "a/" * 40_000, "path_too_long"),
        ("/mnt/tree/nope", "not_found"),
        ("/mnt/tree/b.txt/x", "not_found"),
        ("/mnt/tree/out", "not_found"),
        ("/mnt/tree/denied", "not_found"),
        ("/mnt/tree/denied/key.pem", "not_found"),
        ("/mnt/tree/denied/nope", "not_found"),
        ("/mnt/tree/fifo", "not_file"),
        (f"/tmp/{HOST_NAME}", "not_found"),
    ],
)
def test_a_start_path_outside_absent_or_denied_is_refused(
    workspace: grille.Workspace, path: str, code: str
) -> None:
    """Contract 7: refused on the raw string where that suffices; outside, absent and denied get one answer."""
    for call in (lambda: workspace.grep("x", path), lambda: workspace.glob("*", path)):
        with pytest.raises(grille.PathError) as raised:
            call()
        # The path is the caller's own word, host name or not: only what we add may not hold it.
        assert HOST_NAME not in str(raised.value).replace(path, "")
        assert raised.value.code == code


def test_absent_and_denied_cannot_be_told_apart(workspace: grille.Workspace) -> None:
    """Contract 7: a path that does not exist under deny gets the same answer as one that does, to the
    letter.
    """

    def answer(name: str) -> tuple[str, str]:
        with pytest.raises(grille.PathError) as error:
            workspace.grep("x", f"/mnt/tree/{name}")
        return error.value.code, all_of(error.value).replace(name, "NAME")

    assert answer("denied") == answer("absent")
    assert answer("denied/key.pem") == answer("denied/nope") == answer("absent/nope")
    assert answer("denied/") == answer("absent/")


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("/etc/*", "glob_outside"),
        ("/*", "glob_outside"),
        ("../*", "glob_invalid"),
        ("src/../*", "glob_invalid"),
        ("~/*", "glob_invalid"),
        ("{a,b}" * 40, "glob_too_large"),
    ],
)
def test_a_glob_that_leaves_or_bursts_is_refused(
    workspace: grille.Workspace, pattern: str, code: str
) -> None:
    """Contract 3: absolute outside every mount, `..` as a component, `~`, and too many alternatives are
    refused.
    """
    assert refused(lambda: workspace.glob(pattern), grille.PatternError).code == code
    assert refused(lambda: workspace.grep("x", glob=pattern), grille.PatternError).code == code
    assert refused(lambda: workspace.grep("x", glob="!" + pattern), grille.PatternError).code == code


def test_what_is_no_bad_input_is_served(workspace: grille.Workspace) -> None:
    """`src..old` is no parent, doubled slashes and dots within a path are its folder, a trailing slash
    changes nothing.
    """
    assert workspace.glob("src..old").entries == ()
    for path in ("/mnt/tree/src", "/mnt/tree/src/", "/mnt/tree//src", "/mnt/tree/./src/."):
        assert [entry.path for entry in workspace.glob("*.py", path).entries] == ["/mnt/tree/src/a.py"]
    assert [entry.path for entry in workspace.glob("/mnt/tree/src/*.py").entries] == ["/mnt/tree/src/a.py"]
    assert workspace.grep("x", limit=10**400).entries == workspace.grep("x", limit=0).entries
    assert workspace.grep("x", offset=10**400).entries == ()


def test_a_request_for_no_ignore_is_refused_where_the_policy_says_so(workspace: grille.Workspace) -> None:
    """Contract 6: a request's `no_ignore` works only where the policy lets it."""
    for call in (lambda: workspace.grep("x", no_ignore=True), lambda: workspace.glob("*", no_ignore=True)):
        assert refused(call, grille.RequestError).code == "no_ignore_refused"


# --- nothing of the host in anything --------------------------------------------------------------------------------


def test_host_paths_in_lines_are_masked_before_the_cut(workspace: grille.Workspace) -> None:
    """Contract 2.7: lines that spell the host path show the virtual one; where a line is cut, no half of it
    is left.
    """
    result = workspace.grep("import|open|zzz|pad|b.txt")
    lines = [entry.line for entry in result.entries]
    assert "import x  # from /mnt/tree/src/a.py" in lines
    assert "open('/mnt/tree')" in lines
    assert "/mnt/tree:/mnt/tree/b.txt:'/mnt/tree'" in lines
    assert HOST_NAME not in text_of(result)
    assert not [line for line in lines if line and HOST_NAME[:6] in line]


def test_neither_policy_nor_workspace_nor_report_tells_the_host_path(workspace: grille.Workspace) -> None:
    """Contract 1: what ends up in a log or a traceback is free of host paths."""
    for said in (repr(workspace.policy), str(workspace.policy), repr(workspace), repr(workspace.confinement)):
        assert HOST_NAME not in said


PIECES = (
    "/mnt/tree", "/mnt", "/", "..", "~", "src", "a.py", "b.txt", "denied", "key.pem", "locked", "out", "absolute",
    "fifo", "*", "**", "?", "[a-z]", "{a,b}", "!", "\\", "\0", "\n", "\x1b[2J", "é", "\ud800", "\udcff", " ", "-",
    "(", ")", "+", "(?=a)", "x", "import", "root", "\\n", "\\N{DASH}", "[[", "(?i)", "a{9}", "//", ":", "'",
)  # fmt: skip


def random_request(chance: random.Random) -> tuple[str, dict[str, Any]]:
    def text() -> str:
        return chance.choice(["", "/"]).join(chance.choices(PIECES, k=chance.randrange(1, 5)))

    arguments: dict[str, Any] = {"pattern": text()}
    if chance.random() < 0.5:
        arguments["path"] = chance.choice([text(), "/mnt/tree/" + text(), "/mnt/tree/src"])
    if chance.random() < 0.4:
        arguments["limit"] = chance.choice([*TYPES, 1, 5, 500])
    if chance.random() < 0.3:
        arguments["offset"] = chance.choice([*TYPES, 1, 5])
    if chance.random() < 0.3:
        arguments["case_sensitive"] = chance.choice([True, False, *TYPES[:4]])
    if chance.random() < 0.5:
        return "glob", arguments
    if chance.random() < 0.4:
        arguments["glob"] = chance.choice([text(), [text(), "!" + text()], *TYPES])
    if chance.random() < 0.3:
        arguments["literal"] = chance.choice([True, False, *TYPES[:4]])
    if chance.random() < 0.3:
        arguments["word"] = True
    if chance.random() < 0.4:
        arguments["output_mode"] = chance.choice(["content", "files_with_matches", "count", "nonsense"])
    return "grep", arguments


def test_two_thousand_random_requests_are_answered_or_refused_and_tell_nothing(
    workspace: grille.Workspace,
) -> None:
    """Issue, "bad input": nothing hangs, nothing but GrilleErrors is raised, no host path is in any answer."""
    chance = random.Random(20)
    answered = 0
    for _ in range(2000):
        tool, arguments = random_request(chance)
        try:
            result = getattr(workspace, tool)(**arguments)
        except Exception as error:
            try:
                require_sound(error)
            except AssertionError as unsound:
                raise AssertionError(f"{tool}({arguments!r}) raised {error!r}") from unsound
        else:
            answered += 1
            assert HOST_NAME not in text_of(result), (tool, arguments)
            assert not any("denied" in entry.path for entry in result.entries)
            assert sum((result.complete, result.truncated or result.incomplete)) == 1
            assert all(entry.path.startswith("/mnt/tree/") for entry in result.entries)
    assert answered > 100
    assert workspace.grep("import").entries


@given(
    pattern=st.text(max_size=12), path=st.text(max_size=20) | st.text(max_size=8).map("/mnt/tree/{}".format)
)
@settings(max_examples=150)
def test_any_text_as_pattern_and_path_is_answered_or_refused(
    workspace: grille.Workspace, pattern: str, path: str
) -> None:
    """The same for texts that nobody thought of."""
    for call in (
        lambda: workspace.grep(pattern),
        lambda: workspace.glob(pattern),
        lambda: workspace.grep("x", path),
        lambda: workspace.grep("x", glob=pattern),
    ):
        try:
            assert HOST_NAME not in text_of(call())
        except grille.GrilleError as error:
            require_sound(error)


def test_a_result_with_any_name_is_json(pool: grille.Pool, tmp_path: Path) -> None:
    """Fault C2: a name that is no UTF-8 does not keep a result from being encoded, and leads back to its
    file.
    """
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/bad-\xff\n.txt")
    Path(odd).write_text("needle\n")
    with pool.open(grille.Policy(mounts=[grille.Mount("/mnt/tree", host=str(tmp_path))])) as opened:
        result = opened.grep("needle")
        (entry,) = result.entries
        assert opened.grep("needle", entry.path).entries == (entry,)
        assert json.loads(msgspec.json.encode(result))["entries"]
