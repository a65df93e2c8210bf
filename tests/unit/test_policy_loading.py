"""Rules of grille.policy.loading."""

from __future__ import annotations

import os
import re
import socket
import textwrap
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy import loading
from grille.policy.confinement import Confinement
from grille.policy.errors import CODES, PolicyError
from grille.policy.limits import Limits
from grille.policy.loading import LARGEST_FILE, load_policy, parse_policy
from grille.policy.mounts import Mount
from grille.policy.tenant import Policy

MOUNTS = "[[mounts]]\nvirtual = '/mnt/ws'\nhost = '/srv/ws'\n"


def refusal(text: str) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p.toml")
    assert caught.value.code in CODES
    assert str(caught.value).startswith("p.toml")
    return caught.value


def file_refusal(path: str | os.PathLike[str]) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    return caught.value


def example() -> str:
    """The indented lines of the module's docstring."""
    lines = (loading.__doc__ or "").splitlines(keepends=True)
    return textwrap.dedent(
        "".join(line for line in lines if line.startswith("    ") or line == "\n")
    ).lstrip()


def test_the_documented_example_loads(tmp_path: Path) -> None:
    """The example in the module's docstring is a legal file and says what it seems to say."""
    path = tmp_path / "grille.toml"
    path.write_text(example())
    assert load_policy(path) == Policy(
        mounts=[Mount("/mnt/user-data/workspace", host="/srv/tenants/42/ws"), Mount("/usr/share/dict")],
        deny=["**/.ssh/**", "*.pem"],
        allow_no_ignore=False,
        limits=Limits(scan_seconds=0.5, worker_memory=256 * 2**20),
        confinement=Confinement(allow_missing=["landlock"]),
    )


def test_the_documented_example_is_complete() -> None:
    """The example shows every key there is."""
    table = tomllib.loads(example())
    assert set(table) == set(Policy.__struct_fields__)
    assert set(table["limits"]) == set(Limits.__struct_fields__)
    assert set(table["confinement"]) == set(Confinement.__struct_fields__)
    assert set(table["mounts"][0]) == set(Mount.__struct_fields__)


def test_a_mount_is_enough() -> None:
    """Everything but the mounts has a default."""
    assert parse_policy(MOUNTS, "p.toml") == Policy(mounts=[Mount("/mnt/ws", host="/srv/ws")])


@pytest.mark.parametrize(
    ("text", "line", "key", "code"),
    [
        ("", None, "mounts", "missing_key"),
        ("[[mounts]]\nhost = '/srv/x'", 1, "mounts[0].virtual", "missing_key"),
        (f"{MOUNTS}\n[[mounts]]\nvirtual = 'x'", 6, "mounts[1].virtual", "mount_not_absolute"),
        (f"{MOUNTS}{MOUNTS}", 5, "mounts[1].virtual", "mount_duplicate"),
        (
            "mounts = [\n {virtual = '/a'},\n {virtual = '/b', host = '/proc'},\n]",
            1,
            "mounts[1].host",
            "mount_refused",
        ),
        ("mounts = []", 1, "mounts", "mount_count"),
        ("mounts = ['/srv/x']", 1, "mounts[0]", "wrong_type"),
        (f"deny = [\n 'a = b',\n '''\n[limits]\nworkers = 1''',\n 7]\n{MOUNTS}", 1, "deny[2]", "wrong_type"),
        (f"{MOUNTS}\n[limits]\nworkers = 2\nline_chars = 1", 7, "limits.line_chars", "limit_out_of_range"),
        (f"{MOUNTS}\n[limits]\nworkers = true", 6, "limits.workers", "wrong_type"),
        (f"{MOUNTS}\n[limits]\nscan_seconds = nan", 6, "limits.scan_seconds", "limit_out_of_range"),
        (f"limits.workers = 99\n{MOUNTS}", 1, "limits.workers", "limit_out_of_range"),
        (f"limits = 5\n{MOUNTS}", 1, "limits", "wrong_type"),
        (
            f"{MOUNTS}\n[confinement]\nallow_missing = ['seccomp']",
            6,
            "confinement.allow_missing[0]",
            "layer_required",
        ),
        (f"{MOUNTS}\n[confinement]\nfresh_workers = 1", 6, "confinement.fresh_workers", "wrong_type"),
        (f"use_ignore_files = 'yes'\n{MOUNTS}", 1, "use_ignore_files", "wrong_type"),
        (f"deny = [1979-05-27]\n{MOUNTS}", 1, "deny[0]", "wrong_type"),
    ],
)
def test_errors_name_file_line_and_key(text: str, line: int | None, key: str, code: str) -> None:
    """A refusal says where: the file, the line of the statement if the key has one, the dotted key with its
    index."""
    error = refusal(text)
    assert (error.code, error.key) == (code, key)
    place = "p.toml" if line is None else f"p.toml, line {line}"
    assert str(error).startswith(f"{place}: {key}: ")


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        (f"denny = []\n{MOUNTS}", "denny", "Did you mean deny?"),
        (f"{MOUNTS}hosst = '/x'", "mounts[0].hosst", "Did you mean host?"),
        (f"{MOUNTS}[limits]\nscan_second = 1", "limits.scan_second", "Did you mean scan_seconds?"),
        (
            f"{MOUNTS}[confinement]\nfresh_worker = true",
            "confinement.fresh_worker",
            "Did you mean fresh_workers?",
        ),
        (f"scan_seconds = 1\n{MOUNTS}", "scan_seconds", "scan_seconds stands under [limits]."),
        (
            f"{MOUNTS}deny = ['*.pem']",
            "mounts[0].deny",
            "deny stands at the head of the file, above the first [section].",
        ),
        (f"{MOUNTS}'\\n' = 1", "mounts[0].'\\\\n'", None),
        (f"zzz = 1\n{MOUNTS}", "zzz", None),
    ],
)
def test_unknown_keys_get_the_nearest_legal_one(text: str, key: str, hint: str | None) -> None:
    """An unknown key is never ignored: the refusal lists the legal ones and names the one that was probably
    meant."""
    error = refusal(text)
    assert (error.code, error.key, error.hint) == ("unknown_key", key, hint)
    assert "legal are " in str(error)


def test_unknown_key_lists_all_legal_ones() -> None:
    """The legal keys in the refusal are those of the section at fault."""
    error = refusal(f"{MOUNTS}[limits]\nzzz = 1")
    assert all(name in error.problem for name in Limits.__struct_fields__)


def test_lone_brackets_get_a_hint() -> None:
    """[mounts] in place of [[mounts]] is the likely slip, and is told as such."""
    assert "[[mounts]]" in str(refusal("[mounts]\nvirtual = '/a'").hint)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = ", "line 1, column 5"),
        ("\n\n[limits\n", "line 3, column 8"),
        ("a = 1\na = 2", "line 2, column 6"),
        ("a = '''\nx", "line 2, column 2"),
        ("a = 1\r\nb = ?", "line 2, column 5"),
    ],
)
def test_syntax_errors_have_line_and_column(text: str, place: str) -> None:
    """A file that is not TOML is refused with the place of the fault."""
    error = refusal(text)
    assert error.code == "toml_syntax"
    assert str(error).startswith(f"p.toml, {place}: ")


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "9" * 5000, "a.b = {" * 50_000])
def test_hostile_syntax_is_a_refusal(text: str) -> None:
    """Text that breaks the parser's own bounds (nesting, digits) is refused like any other wrong text."""
    assert refusal(text).code == "toml_syntax"


@pytest.mark.parametrize(
    "text",
    [
        f"{MOUNTS}{{}} = 1",
        f"{MOUNTS}[{{}}]",
        f"{MOUNTS}[[ {{}} ]]",
        f"{MOUNTS}a = {{{{{{}} = 1}}}}",
        f"{MOUNTS}a = {{{{b = 1, {{}} = 1}}}}",
    ],
)
@pytest.mark.parametrize("part", ["a", "'a.b'", '"\\""', "a "])
def test_keys_have_few_parts(text: str, part: str) -> None:
    """A key of many parts is refused before the parser sees it, which would take memory in their square."""
    error = refusal(text.format(".".join([part] * 1000)))
    assert (error.code, error.problem) == ("toml_syntax", "a key has too many parts.")
    assert error.source == "p.toml, line 4"


def test_dots_in_values_are_no_parts_of_keys() -> None:
    """What a string or a comment holds is no key, however many dots it has."""
    dots = ".".join("a" * 1000)
    policy = parse_policy(f"# {dots}\ndeny = ['{dots}', '{dots}']\n{MOUNTS}", "p.toml")
    assert policy.deny == (dots, dots)


def test_huge_numbers_are_refused_by_range() -> None:
    """A number that Python itself refuses to print makes an ordinary error."""
    assert refusal(f"{MOUNTS}[limits]\nworkers = 0x{'f' * 9999}").code == "limit_out_of_range"


@pytest.mark.parametrize(
    "mount",
    [
        "host = 's3cret'",
        "host = '/srv/s3cret/'",
        "host = '/proc/s3cret'",
        "host = ['/srv/s3cret']",
        "host = {a = '/s3cret'}",
    ],
)
def test_no_error_tells_a_host_path(mount: str) -> None:
    """Host paths of mapped mounts stand in no error (contract 1), nor in what it was raised from."""
    error = refusal(f"[[mounts]]\nvirtual = '/mnt/ws'\n{mount}")
    assert error.key == "mounts[0].host"
    assert error.__suppress_context__
    assert "s3cret" not in str(error) + repr(error) + repr(vars(error)) + repr(error.args)


def outcome(text: str) -> Policy | PolicyError:
    """What becomes of a text; any other exception goes through and fails the test."""
    try:
        return parse_policy(text, "p.toml")
    except PolicyError as error:
        return error


@given(st.text())
def test_any_text_is_a_policy_or_a_refusal(text: str) -> None:
    """No text makes loading fail otherwise than by `PolicyError`, whose own text is one printable line."""
    found = outcome(text)
    assert isinstance(found, Policy) or (found.code in CODES and str(found).isprintable())


_VALUES = st.recursive(
    st.sampled_from(["1", "-1", "0.5", "true", "'x'", "'/a'", "nan", "1979-05-27", "'landlock'"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        inner.map(lambda item: f"{{virtual = {item}}}"),
    ),
    max_leaves=4,
)
_TOP = st.dictionaries(
    st.sampled_from([*Policy.__struct_fields__[1:5], "confinement", "hosst"]), _VALUES, max_size=3
)
_LIMITS = st.dictionaries(st.sampled_from([*Limits.__struct_fields__[:3], "deny"]), _VALUES, max_size=2)
_MOUNTS = st.one_of(st.just("[{virtual = '/a'}]"), _VALUES)


@given(_MOUNTS, _TOP, _LIMITS)
def test_any_table_is_a_policy_or_a_refusal(mounts: str, top: dict[str, str], limits: dict[str, str]) -> None:
    """Any value under any key is taken or refused by `PolicyError`, and the line told is the key's."""
    lines = [f"{key} = {value}" for key, value in {"mounts": mounts, **top}.items()]
    lines += ["[limits]", *(f"{key} = {value}" for key, value in limits.items())]
    found = outcome("\n".join(lines))
    if isinstance(found, PolicyError):
        assert found.code in CODES
        place = re.fullmatch(r"p\.toml, line (\d+)", found.source or "")
        name = re.findall(r"[a-z_]+", found.key or "")
        assert place is not None
        assert lines[int(place[1]) - 1].startswith(
            f"{name[1]} = " if name[0] == "limits" else f"{name[0]} = "
        )


def test_missing_file_is_named_as_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is named as the caller wrote it, not by some absolute path it resolves to."""
    monkeypatch.chdir(tmp_path)
    error = file_refusal("../absent/p.toml")
    assert error.code == "file_not_found"
    assert str(error).startswith("../absent/p.toml: ")


@pytest.mark.parametrize("path", ["", "x" * 300, "a\0b", "no\nsuch"])
def test_impossible_names_are_not_found(path: str) -> None:
    """A name that no file can have is a file that does not exist, and forges no line in the refusal."""
    error = file_refusal(path)
    assert error.code == "file_not_found"
    assert str(error).isprintable()


def test_below_a_file_there_is_nothing(tmp_path: Path) -> None:
    """A path that goes on below a file, or around a loop of links, names nothing."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert file_refusal(tmp_path / "file" / "p.toml").code == "file_not_found"
    assert file_refusal(tmp_path / "loop").code == "file_not_found"


@pytest.mark.timeout(10)
def test_what_is_no_regular_file_never_blocks(tmp_path: Path) -> None:
    """A FIFO without a writer, a socket, a device and a folder are refused at once."""
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(tmp_path / "socket"))
        for path in (tmp_path, tmp_path / "fifo", tmp_path / "socket", Path("/dev/null")):
            assert file_refusal(path).code == "file_not_regular"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_unreadable_file(tmp_path: Path) -> None:
    """A file that may not be read is told apart from one that is not there."""
    path = tmp_path / "p.toml"
    path.touch(mode=0)
    assert file_refusal(path).code == "file_unreadable"


def test_unreadable_file_by_errno(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words for a file that cannot be opened are ours: no text of the operating system's goes through."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied", "/srv/s3cret")

    monkeypatch.setattr(os, "open", refuse)
    error = file_refusal(tmp_path / "p.toml")
    assert error.code == "file_unreadable"
    assert "s3cret" not in str(error)


def test_size_has_a_bound(tmp_path: Path) -> None:
    """A file of the greatest size is read; one byte more is refused, and a sparse giant costs nothing."""
    path = tmp_path / "p.toml"
    path.write_text(MOUNTS + "#" * (LARGEST_FILE - len(MOUNTS)))
    assert load_policy(path).mounts[0].virtual == "/mnt/ws"
    for size in (LARGEST_FILE + 1, 2**40):
        os.truncate(path, size)
        assert file_refusal(path).code == "file_too_large"


def test_text_is_utf8(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are refused with their line; a byte-order mark is no part of the text."""
    path = tmp_path / "p.toml"
    path.write_bytes(b"# one\n# two \xff\n")
    error = file_refusal(path)
    assert error.code == "file_not_utf8"
    assert str(error).startswith(f"{path}, line 2: ")
    path.write_bytes(b"\xef\xbb\xbf" + MOUNTS.encode())
    assert load_policy(path) == parse_policy(MOUNTS, "p.toml")
