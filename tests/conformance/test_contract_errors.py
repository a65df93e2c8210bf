"""Contract 7 and 9 through the API: one tree of errors, one answer for what is not to be seen, the example."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import grille

Show = Callable[..., grille.Workspace]


def tools(workspace: grille.Workspace) -> dict[str, Callable[..., Any]]:
    """Each tool, by a start path."""
    return {
        "glob": lambda path: workspace.glob("*", path),
        "grep": lambda path: workspace.grep("x", path),
        "ls": workspace.ls,
        "read": workspace.read,
    }


@pytest.mark.parametrize("tool", ["glob", "grep", "ls", "read"])
def test_outside_absent_and_denied_get_one_answer(show: Show, tmp_path: Path, tool: str) -> None:
    """Contract 7: a path outside the mounts, one that does not exist, one that is denied and a link that leads out
    get the same code and the same sentence from every tool (fault L16).
    """
    workspace = show({"denied/x": "x\n", "a": "x\n"}, deny=["denied/**"])
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("..")
    answers = set()
    inside = ["nope", "a/b", "denied", "denied/x", "denied/nope", "out", "up"]
    for path in ["/etc/passwd", "/nowhere", "/mnt/tree-x/a", *(f"/mnt/tree/{name}" for name in inside)]:
        with pytest.raises(grille.PathError) as refused:
            tools(workspace)[tool](path)
        answers.add((refused.value.code, str(refused.value).replace(repr(path), "PATH"), refused.value.hint))
    assert {code for code, _, _ in answers} == {"not_found"}
    assert len(answers) == 1


@pytest.mark.parametrize("tool", ["glob", "grep", "ls", "read"])
def test_names_near_a_path_are_guessed_and_tell_nothing_of_what_is_denied(show: Show, tool: str) -> None:
    """Contract 7, 6: a path that is not there is answered with one near it, a denied one as if it were not there; no
    guess is a name that is denied.
    """
    workspace = show(
        {"src/utils/x": "x\n", "keys1/x": "x\n", "keys2/x": "x\n", "vault/x": "x\n"}, deny=["keys2", "vault"]
    )

    def hint(path: str) -> str:
        with pytest.raises(grille.PathError) as refused:
            tools(workspace)[tool](f"/mnt/tree/{path}")
        assert refused.value.code == "not_found"
        return (refused.value.hint or "").replace(path, "PATH")

    assert "/mnt/tree/src/utils" in hint("src/utlis")
    assert hint("keys2") == hint("keys3")
    assert "keys1" in hint("keys2")
    assert "vault" not in hint("vaulty")
    assert "keys2" not in hint("keys")
    assert hint("vault") == hint("qqqqq")
    assert hint("vault/y") == hint("qqqqq/y")


@pytest.mark.parametrize("tool", ["glob", "grep", "ls", "read"])
@pytest.mark.parametrize("path", ["\\\\host\\share", "//host/share", "\\??\\UNC\\h\\s", "\\\\?\\GLOBALROOT"])
def test_network_names_are_refused_by_every_tool(show: Show, tool: str, path: str) -> None:
    """Contract 7: UNC and NT paths are refused on the raw string (fault L11)."""
    with pytest.raises(grille.PathError) as refused:
        tools(show({}))[tool](path)
    assert refused.value.code == "foreign"


def test_an_error_is_a_code_a_sentence_and_no_os_error(show: Show, tmp_path: Path) -> None:
    """Contract 7: each refusal has its class, a stable code, a sentence, and nothing of the host (fault M13)."""
    workspace = show({"a": "x\n"}, allow_no_ignore=False)
    cases: list[tuple[Callable[[], Any], type[grille.GrilleError], str]] = [
        (lambda: workspace.grep("("), grille.PatternError, "pattern_invalid"),
        (lambda: workspace.grep(""), grille.PatternError, "pattern_empty"),
        (lambda: workspace.glob("../*"), grille.PatternError, "glob_invalid"),
        (lambda: workspace.glob("/etc/*"), grille.PatternError, "glob_outside"),
        (lambda: workspace.grep("x", "/etc"), grille.PathError, "not_found"),
        (lambda: workspace.grep("x", "src"), grille.PathError, "not_absolute"),
        (lambda: workspace.grep("x", limit=-1), grille.LimitError, "limit_negative"),
        (lambda: workspace.grep("x", limit="1"), grille.LimitError, "limit_type"),  # type: ignore[arg-type]
        (lambda: workspace.grep("x", type="zzz"), grille.RequestError, "type_unknown"),
        (lambda: workspace.grep("x", no_ignore=True), grille.RequestError, "no_ignore_refused"),
    ]
    for call, kind, code in cases:
        with pytest.raises(grille.GrilleError) as refused:
            call()
        error = refused.value
        assert (type(error), error.code) == (kind, code)
        assert not isinstance(error, (OSError, TimeoutError))
        assert str(error).strip()
        assert str(tmp_path) not in str(error)


def test_an_invalid_pattern_is_refused_with_pythons_position(show: Show) -> None:
    """Contract 4, 7: the refusal of a pattern says where in it the fault is."""
    with pytest.raises(grille.PatternError) as refused:
        show({}).grep("ab(c")
    assert refused.value.position == 2
    assert "position 2" in str(refused.value)


def test_the_example_of_the_contract_runs(tmp_path: Path) -> None:
    """Contract 9: a pool, a policy, a workspace, a page with these fields."""
    (tmp_path / "a.py").write_text("# TODO: one\n")
    policy = grille.Policy(
        mounts=[grille.Mount("/mnt/user-data/workspace", host=str(tmp_path))],
        deny=["**/.ssh/**", "*.pem"],
        limits=grille.Limits(scan_seconds=0.5, request_seconds=20, worker_memory=256 * 2**20),
    )
    with grille.Pool() as pool:
        workspace = pool.open(policy)
        page = workspace.grep("TODO", glob="**/*.py", limit=50)
        (entry,) = page.entries
        assert (entry.path, entry.line_number, entry.line) == (
            "/mnt/user-data/workspace/a.py",
            1,
            "# TODO: one",
        )
        assert (page.truncated, page.incomplete, page.next_offset, page.skipped) == (False, False, None, ())
        assert page.totals.lines == 1
        assert asyncio.run(workspace.agrep("TODO")).entries == page.entries


def test_every_method_has_an_async_twin_with_the_same_arguments() -> None:
    """Contract 9: glob, grep, ls and read are there to be awaited as well, under the same signature."""
    for name in ("glob", "grep", "ls", "read"):
        method, twin = getattr(grille.Workspace, name), getattr(grille.Workspace, f"a{name}")
        assert inspect.signature(method) == inspect.signature(twin)
        assert inspect.iscoroutinefunction(twin)


def test_ls_and_read_can_be_awaited(show: Show) -> None:
    """Contract 9: the async twins of `ls` and `read` give what the methods give."""
    workspace = show({"a": "x\n"})

    async def both() -> tuple[Any, Any]:
        return await workspace.als(), await workspace.aread("/mnt/tree/a")

    listed, read = asyncio.run(both())
    assert listed.entries == workspace.ls().entries
    assert read.text == workspace.read("/mnt/tree/a").text == "x"


def test_one_line_searches_for_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract 9, 1: `grille.grep` and `grille.glob` search a folder, or one file, under its own path."""
    (tmp_path / "a.py").write_text("needle\n")
    (tmp_path / "b.txt").write_text("needle\n")
    monkeypatch.chdir(tmp_path)
    assert [e.path for e in grille.grep("needle").entries] == [f"{tmp_path}/a.py", f"{tmp_path}/b.txt"]
    assert [e.path for e in grille.grep("needle", "a.py").entries] == [f"{tmp_path}/a.py"]
    assert [e.path for e in grille.glob("*.txt", tmp_path).entries] == [f"{tmp_path}/b.txt"]
