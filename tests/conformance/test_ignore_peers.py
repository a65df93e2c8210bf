"""Ignore files as other tools decide them: pathspec's plain backend on well-formed rules, ripgrep on `.ignore` files.

Neither is the truth where it differs from git; what is asked here are matters on which they agree with it, or on
which git has no say. Written against pathspec 1.1.1 and ripgrep 15.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from grille.worker.ignore.rules import parse_rules
from grille.worker.ignore.stack import EMPTY, IgnoreStack, Source

NAMES: Final = ["a", "b", "ab", "foo", "foo.o", ".a", "x-y"]

names = st.sampled_from(NAMES)
globs = st.sampled_from(["*", "*.o", "a*", "?", "f?o", "[ab]", "[!a]*", "foo.[a-o]", "*b*"])
components = st.lists(names | globs | st.just("**"), min_size=1, max_size=4)


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A rule that takes nothing back. `**` stands at no end: there pathspec differs on the folder itself (137)."""
    inner = draw(components)
    first, last = draw(names | globs), draw(names | globs)
    return draw(st.sampled_from([last, f"/{last}", "/".join([first, *inner, last]), f"**/{last}"]))


paths = st.lists(names, min_size=1, max_size=5).map(tuple)


def pruned_or_ignored(stack: IgnoreStack, path: tuple[str, ...]) -> bool:
    *above, name = (component.encode() for component in path)
    for folder in above:
        if stack.ignored(folder, True):
            return True
        stack = stack.enter(folder)
    return stack.ignored(name, False)


@given(st.lists(rules(), max_size=4), st.lists(paths, max_size=6))
def test_plain_rules_are_decided_as_pathspec_decides(lines: list[str], files: list[tuple[str, ...]]) -> None:
    """Two engines that share no code agree on rules without negation and without malformed parts."""
    spec = GitIgnoreSpec.from_lines(lines, backend="simple")
    stack = EMPTY.push(parse_rules("\n".join(lines).encode()), Source.GITIGNORE)
    ours = {path for path in files if pruned_or_ignored(stack, path)}
    assert ours == {path for path in files if spec.match_file("/".join(path))}


RG: Final = shutil.which(
    "rg", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
)


@pytest.mark.skipif(RG is None, reason="no ripgrep here")
@pytest.mark.parametrize("inner", [b"", b"x.log\n", b"!x.log\n", b"/x.log\n!only\n", b"*\n!only\n"])
@pytest.mark.parametrize("outer", [b"", b"x.log\n", b"!x.log\n", b"only\n!x.log\n", b"*.log\n/sub/y\n"])
@pytest.mark.parametrize("git_inner", [b"", b"x.log\n!only\n", b"!x.log\n"])
def test_ignore_files_rank_as_in_ripgrep(
    tmp_path: Path, outer: bytes, inner: bytes, git_inner: bytes
) -> None:
    """`.ignore` files of any folder outrank `.gitignore` files of any folder; among them the nearest decides."""
    assert RG is not None
    stack = EMPTY.begin_repository()
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    for folder, ignore, gitignore in (
        (tmp_path, outer, b"only\nx.log\n"),
        (tmp_path / "sub", inner, git_inner),
    ):
        (folder / ".ignore").write_bytes(ignore)
        (folder / ".gitignore").write_bytes(gitignore)
        for name in ("x.log", "only", "y"):
            (folder / name).touch()
    command = [RG, "--no-config", "--files", "--no-ignore-global", str(tmp_path / "sub")]
    run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode in (0, 1), run.stderr

    stack = stack.push(parse_rules(outer), Source.IGNORE).push(
        parse_rules(b"only\nx.log\n"), Source.GITIGNORE
    )
    stack = stack.enter(b"sub")
    stack = stack.push(parse_rules(inner), Source.IGNORE).push(parse_rules(git_inner), Source.GITIGNORE)
    everything = {b"x.log", b"only", b"y"}
    assert {os.path.basename(path) for path in run.stdout.split()} == everything - stack.ignored_files(
        everything
    )
